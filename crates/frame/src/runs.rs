//! Run-length encoded lists of offsets: a run is chunks whose offsets are equal or rise by the same step.
//!
//! A compressed index of a few kilobytes can have millions of offsets. If most chunks are special, or files are numbered one after the
//! other, a few runs hold all of them.

use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;

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
    runs: List<OffsetRun>,
    len: usize,
}

impl Runs {
    /// The numbers `0..len`.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`], also if `len` exceeds `u32::MAX`.
    pub fn rising(len: usize) -> Result<Self> {
        u32::try_from(len).map_err(|_| Error::MemoryAlloc)?;
        let mut runs = List::new();
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
    /// [`Error::MemoryAlloc`].
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
    /// [`Error::MemoryAlloc`].
    pub fn push(&mut self, offset: i64) -> Result<()> {
        let start = u32::try_from(self.len).map_err(|_| Error::MemoryAlloc)?;
        if let Some(run) = self.runs.last_mut() {
            let count = start - run.start;
            // The second offset of a run determines its step.
            let step = match offset.checked_sub(run.first).map(u32::try_from) {
                Some(Ok(step)) if count == 1 => step,
                _ => run.step,
            };
            // A run has either special chunks, whose offsets are equal, or others, whose offsets rise.
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

    /// The offset of chunk `nchunk`, if there is one.
    pub fn get(&self, nchunk: usize) -> Option<i64> {
        if nchunk >= self.len {
            return None;
        }
        let after = self
            .runs
            .partition_point(|run| run.start as usize <= nchunk);
        let run = &self.runs[after - 1];
        run.at(nchunk as i64 - i64::from(run.start), run.step)
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

/// The offsets `first`, `first + step` and so on, `count` in all.
#[derive(Clone, Copy, Debug)]
pub struct Span {
    pub first: i64,
    pub step: i64,
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
    fn equal_and_equally_distant_offsets_take_one_run() {
        let special = i64::MIN | 1 << 56;
        let zeros = [special; 1000];
        let ascending: Vec<i64> = (0..1000).map(|i| 50 + 32 * i).collect();
        let list = [&zeros[..], &ascending, &zeros].concat();
        assert_eq!(runs(&list).runs.len(), 3);
    }
}
