//! Run-length encoded lists of offsets: a run is chunks whose offsets are equal or rise by the same
//! step.
//!
//! A compressed index of a few kilobytes can have millions of offsets. If most chunks are special,
//! or files are numbered one after the other, a few runs hold all of them.

use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};
use std::ops::Range;

/// Chunks whose offsets are equal, or rise by the same step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct OffsetRun {
    /// The offset of the first chunk.
    first: i64,
    /// The number of that chunk.
    start: u32,
    /// The difference between one offset and the next; 0 for special chunks.
    step: u32,
}

/// Bytes of a run.
const WIDTH: usize = size_of::<OffsetRun>();

/// Offsets as runs.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Runs {
    runs: TryVec<OffsetRun>,
    len: usize,
}

impl Runs {
    /// The numbers `0..len`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`], also if `len` exceeds `u32::MAX`.
    pub fn rising(len: usize) -> Result<Self> {
        u32::try_from(len).map_err(|_| Error::MEMORY_ALLOC)?;
        let mut runs = TryVec::new();
        if len > 0 {
            runs.push(OffsetRun {
                first: 0,
                start: 0,
                step: 1,
            })?;
        }
        Ok(Self { runs, len })
    }

    /// How many offsets there are.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            runs: self.runs.try_clone()?,
            len: self.len,
        })
    }

    /// Bytes of memory that the runs occupy.
    pub fn bytes(&self) -> usize {
        self.runs.capacity() * WIDTH
    }

    /// Appends an offset.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn push(&mut self, offset: i64) -> Result<()> {
        let start = u32::try_from(self.len).map_err(|_| Error::MEMORY_ALLOC)?;
        if let Some(run) = self.runs.last_mut() {
            let count = start - run.start;
            // The second offset of a run determines its step.
            let step = match offset.checked_sub(run.first).map(u32::try_from) {
                Some(Ok(step)) if count == 1 => step,
                _ => run.step,
            };
            // A run has either special chunks, whose offsets are equal, or others, whose offsets
            // rise.
            let fits = (run.first < 0) == (step == 0);
            if fits && run.at(count.into(), step) == Some(offset) {
                run.step = step;
                self.len += 1;
                return Ok(());
            }
        }
        if self.runs.len() == self.runs.capacity() {
            let more = self.runs.len() / 4 + 64;
            self.runs.reserve_exact(more)?;
        }
        self.runs.push(OffsetRun {
            first: offset,
            start,
            step: 0,
        })?;
        self.len += 1;
        Ok(())
    }

    /// Appends the offsets of a run.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub fn push_span(&mut self, span: Span) -> Result<()> {
        // After these the last run has the step of the span, if it has more.
        const FIRST: usize = 3;
        let Span { first, step, count } = span;
        let end = self.len.checked_add(count);
        end.and_then(|end| u32::try_from(end).ok())
            .ok_or(Error::MEMORY_ALLOC)?;
        for i in 0..count.min(FIRST) {
            self.push(first + step * i as i64)?;
        }
        self.len += count.saturating_sub(FIRST);
        Ok(())
    }

    /// Replaces `removed` offsets from `at` on by `new`. If this fails, nothing has changed.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub fn splice(&mut self, at: usize, removed: usize, new: &[i64]) -> Result<()> {
        let mut next = Self::default();
        next.runs.reserve_exact(self.runs.len() + new.len() + 2)?;
        self.each_between(0..at, |span| next.push_span(span))?;
        new.iter().try_for_each(|offset| next.push(*offset))?;
        self.each_between(at + removed..self.len, |span| next.push_span(span))?;
        *self = next;
        Ok(())
    }

    /// Replaces the offsets from `at` on by those of `tail`. If this fails, nothing has changed.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub fn replace_from(&mut self, at: usize, tail: &Self) -> Result<()> {
        let mut next = Self::default();
        next.runs.reserve_exact(self.runs.len() + tail.runs.len())?;
        self.each_between(0..at, |span| next.push_span(span))?;
        tail.spans().try_for_each(|span| next.push_span(span))?;
        *self = next;
        Ok(())
    }

    /// The offsets with those that are not negative replaced by what `new` says.
    ///
    /// # Errors
    /// As for [`Self::push`].
    pub fn mapped(&self, mut new: impl FnMut(i64) -> i64) -> Result<Self> {
        let mut next = Self::default();
        for span in self.spans() {
            match span.first < 0 {
                true => next.push_span(span)?,
                false => (0..span.count as i64)
                    .try_for_each(|i| next.push(new(span.first + i * span.step)))?,
            }
        }
        Ok(next)
    }

    /// Calls `each` with the parts of runs that lie in a range of chunks.
    fn each_between(
        &self,
        range: Range<usize>,
        mut each: impl FnMut(Span) -> Result<()>,
    ) -> Result<()> {
        let before = self
            .runs
            .partition_point(|run| run.start as usize <= range.start);
        let mut start = self.runs[..before]
            .last()
            .map_or(0, |run| run.start as usize);
        let spans = Spans {
            runs: &self.runs[before.saturating_sub(1)..],
            len: self.len,
        };
        for Span { first, step, count } in spans {
            if start >= range.end {
                break;
            }
            let from = range.start.max(start) - start;
            let to = range.end.min(start + count) - start;
            each(Span {
                first: first + step * from as i64,
                step,
                count: to.saturating_sub(from),
            })?;
            start += count;
        }
        Ok(())
    }

    /// The offset of all chunks in a range, if they have the same.
    pub fn repeated(&self, range: Range<usize>) -> Option<i64> {
        let (run, end) = self.run_of(range.start)?;
        (run.step == 0 && end >= range.end).then_some(run.first)
    }

    /// How many chunks from `nchunk` on are known to have the same offset.
    pub fn alike_from(&self, nchunk: usize) -> usize {
        match self.run_of(nchunk) {
            Some((run, end)) if run.step == 0 => end - nchunk,
            found => found.map_or(0, |_| 1),
        }
    }

    /// The run of a chunk, and where it ends; none if there is no such chunk.
    fn run_of(&self, nchunk: usize) -> Option<(&OffsetRun, usize)> {
        let after = self
            .runs
            .partition_point(|run| run.start as usize <= nchunk);
        let next = self.runs.get(after);
        let end = next.map_or(self.len, |next| next.start as usize);
        let run = self.runs[..after].last()?;
        (nchunk < end).then_some((run, end))
    }

    /// The offset of chunk `nchunk`, if there is one.
    pub fn get(&self, nchunk: usize) -> Option<i64> {
        let (run, _) = self.run_of(nchunk)?;
        run.at(nchunk as i64 - i64::from(run.start), run.step)
    }

    /// Fills `out` with the offsets from chunk `from` on, as many as there are.
    pub fn read(&self, from: usize, out: &mut [[u8; 8]]) {
        let mut out = out.iter_mut();
        let range = from..(from + out.len()).min(self.len);
        // It does not fail: the closure does not.
        let _ = self.each_between(range, |span| {
            for (i, item) in out.by_ref().take(span.count).enumerate() {
                *item = (span.first + span.step * i as i64).to_le_bytes();
            }
            Ok(())
        });
    }

    /// The runs, with the number of offsets in each.
    pub fn spans(&self) -> Spans<'_> {
        Spans {
            runs: &self.runs,
            len: self.len,
        }
    }

    /// The number of offsets that are not negative, and the largest of them.
    pub fn extent(&self) -> (usize, Option<u64>) {
        let real = self.spans().filter(|span| span.first >= 0);
        real.fold((0, None), |(all, most), span| {
            let last = (span.first + (span.count as i64 - 1) * span.step) as u64;
            (all + span.count, most.max(Some(last)))
        })
    }
}

/// Offsets with the same distance from one to the next.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    /// The first.
    pub first: i64,
    /// The distance.
    pub step: i64,
    /// How many there are.
    pub count: usize,
}

/// The runs one after the other.
#[derive(Clone, Debug, Default)]
pub struct Spans<'a> {
    runs: &'a [OffsetRun],
    /// The number of all offsets, including those of runs that were returned already.
    len: usize,
}

impl Iterator for Spans<'_> {
    type Item = Span;

    fn next(&mut self) -> Option<Span> {
        let (run, rest) = self.runs.split_first()?;
        let end = rest.first().map_or(self.len, |next| next.start as usize);
        self.runs = rest;
        Some(Span {
            first: run.first,
            step: run.step.into(),
            count: end - run.start as usize,
        })
    }
}

impl OffsetRun {
    /// The offset of chunk `i` of the run.
    fn at(&self, i: i64, step: u32) -> Option<i64> {
        self.first.checked_add(i64::from(step).checked_mul(i)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offsets::Offsets;

    fn runs(offsets: &[i64]) -> Runs {
        let mut runs = Runs::default();
        for offset in offsets {
            runs.push(*offset).unwrap();
        }
        runs
    }

    #[test]
    fn what_is_put_in_comes_out() {
        let special = i64::MIN | 1 << 56;
        let lists: [&[i64]; 6] = [
            &[],
            &[5],
            &[0, 100, 200, 300, 250, 350, 450, 0, 0, 0],
            &[special, special, 7, special, special + 1, special, -1, -1],
            &[i64::MAX - 1, i64::MAX, i64::MIN, i64::MIN, 0, i64::MAX, 5],
            &[3, 3, 3, 2, 1, 0],
        ];
        for list in lists {
            let runs = runs(list);
            let each: Vec<i64> = (0..list.len()).map(|i| runs.get(i).unwrap()).collect();
            assert_eq!((each.as_slice(), runs.get(list.len())), (list, None));
            let real: Vec<u64> = list.iter().filter_map(|o| u64::try_from(*o).ok()).collect();
            let of_span =
                |span: Span| (0..span.count as i64).map(move |i| span.first + i * span.step);
            assert_eq!(runs.spans().flat_map(of_span).collect::<Vec<_>>(), list);
            assert_eq!(runs.extent(), (real.len(), real.iter().max().copied()));
        }
    }

    #[test]
    fn splicing_does_what_it_does_to_lists() {
        let special = i64::MIN | 1 << 56;
        let list: Vec<i64> = [
            &[special; 9][..],
            &[5, 7, 9, 11, 11, 12],
            &[special; 5],
            &[3],
        ]
        .concat();
        let whole = runs(&list);
        for at in 0..=list.len() {
            for removed in 0..=list.len() - at {
                for new in [&[][..], &[special], &[13], &[special, 15, 17]] {
                    let (mut expected, mut spliced) = (list.clone(), whole.try_clone().unwrap());
                    expected.splice(at..at + removed, new.iter().copied());
                    spliced.splice(at, removed, new).unwrap();
                    let mut read = vec![[0; 8]; expected.len()];
                    spliced.read(0, &mut read);
                    let read: Vec<i64> = read.into_iter().map(i64::from_le_bytes).collect();
                    assert_eq!(read, expected);
                    assert_eq!(spliced.len(), expected.len());
                }
                let part = &list[at..at + removed];
                let same = part
                    .first()
                    .copied()
                    .filter(|first| part.iter().all(|o| o == first));
                let found = whole.repeated(at..at + removed);
                assert!(
                    removed == 0 || found.is_none() || found == same,
                    "{at} {removed}"
                );
                assert!(found.is_some() || same.is_none_or(|same| same >= 0) || removed == 0);
            }
        }
        for (at, first) in list.iter().enumerate() {
            let alike = list[at..].iter().take_while(|offset| *offset == first);
            let expected = if *first < 0 { alike.count() } else { 1 };
            assert_eq!(whole.alike_from(at), expected);
            let listed = Offsets::List(list.clone().into());
            assert_eq!(listed.alike_from(at, 3), expected.min(3));
            let kept = Offsets::Runs(whole.try_clone().unwrap());
            assert_eq!(kept.alike_from(at, 4), expected.min(4));
        }
        assert_eq!(whole.alike_from(list.len()), 0);
        let moved = whole.mapped(|position| position * 2 + 1).unwrap();
        let expected = list.iter().map(|at| if *at < 0 { *at } else { at * 2 + 1 });
        assert_eq!(moved, runs(&expected.collect::<Vec<_>>()));
    }

    #[test]
    fn equal_and_equally_distant_offsets_take_one_run() {
        let special = i64::MIN | 1 << 56;
        let zeros = [special; 1000];
        let ascending: Vec<i64> = (0..1000).map(|i| 50 + 32 * i).collect();
        let list = [&zeros[..], &ascending, &zeros].concat();
        assert_eq!(runs(&list).runs.len(), 3);
    }
}
