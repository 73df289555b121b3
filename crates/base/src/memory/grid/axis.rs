//! One axis of a grid: which positions along it belong to which part.

use super::runs::{Part, Run};
use crate::error::{Error, Result};
use crate::memory::TryVec;
use std::ops::Range;

/// The positions `0..len` along an axis. Each belongs to exactly one part.
pub struct Axis(Parts);

enum Parts {
    Even(Even),
    Listed(Listed),
}

/// A range of positions in an array, divided into its chunks and blocks.
struct Even {
    /// The range in the array.
    range: Range<usize>,
    chunk: usize,
    block: usize,
    /// Number of blocks of a chunk.
    blocks: usize,
    /// The first block that overlaps the range, and how many do. Blocks are numbered through all
    /// chunks.
    first: usize,
    count: usize,
}

impl Even {
    /// The part of the range that lies in the `part`th of these blocks. Parts are disjoint and
    /// ascend, as blocks do.
    fn part(&self, part: usize) -> Run {
        let (chunk, block) = (
            (self.first + part) / self.blocks,
            (self.first + part) % self.blocks,
        );
        let before = block * self.block;
        let start = chunk * self.chunk + before;
        let end = start + self.block.min(self.chunk - before);
        let (from, to) = (start.max(self.range.start), end.min(self.range.end));
        Run {
            inside: from - start,
            at: from - self.range.start,
            len: to - from,
        }
    }
}

/// Positions in any order.
struct Listed {
    /// They contain every position once.
    runs: TryVec<Run>,
    /// The index of the first run of each part, then the number of runs.
    firsts: TryVec<usize>,
    len: usize,
}

/// Whether runs of `len` positions in total contain every position in `0..len` once.
fn are_all(runs: &[Run], len: usize) -> Result<bool> {
    // The common case, without memory: each run begins where the last one ends.
    let mut end = 0;
    let ascend = runs.iter().all(|run| {
        let next = run.at == end;
        end += run.len;
        next
    });
    if ascend {
        return Ok(true);
    }
    let mut seen = TryVec::filled(0u64, len.div_ceil(64))?;
    for run in runs {
        if run.at > len || run.len > len - run.at {
            return Ok(false);
        }
        for index in run.at..run.at + run.len {
            let (word, bit) = (&mut seen[index / 64], 1 << (index % 64));
            if *word & bit != 0 {
                return Ok(false);
            }
            *word |= bit;
        }
    }
    Ok(true)
}

impl Axis {
    /// The positions `range` of an array that is divided into chunks of `chunk` positions, and each
    /// chunk into blocks of `block`. The parts are the blocks that overlap the range. The last
    /// block of a chunk may be shorter.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if any of these is empty, or larger than `isize::MAX`.
    pub fn even(range: Range<usize>, chunk: usize, block: usize) -> Result<Self> {
        let most = isize::MAX as usize;
        if range.is_empty() || range.end > most || !(1..=most).contains(&chunk) || block == 0 {
            return Err(Error::INVALID_PARAM);
        }
        let blocks = chunk.div_ceil(block);
        let number = |index: usize| index / chunk * blocks + index % chunk / block;
        let first = number(range.start);
        let count = number(range.end - 1) - first + 1;
        Ok(Self(Parts::Even(Even {
            range,
            chunk,
            block,
            blocks,
            first,
            count,
        })))
    }

    /// The positions of `runs`, which must contain every position from 0 on once, in any order.
    /// Part `i` begins with run `firsts[i]`; the last entry of `firsts` is the number of runs.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for other runs or parts, and for empty ones;
    /// [`Error::MEMORY_ALLOC`].
    pub fn listed(runs: TryVec<Run>, firsts: TryVec<usize>) -> Result<Self> {
        let len = runs.iter().try_fold(0usize, |len, run| {
            let len = len.checked_add(run.len);
            len.filter(|len| run.len > 0 && *len <= isize::MAX as usize)
                .ok_or(Error::INVALID_PARAM)
        })?;
        let ascend = firsts.windows(2).all(|pair| pair[0] < pair[1]);
        let cut = ascend && firsts.first() == Some(&0) && firsts.last() == Some(&runs.len());
        if !cut || !are_all(&runs, len)? {
            return Err(Error::INVALID_PARAM);
        }
        Ok(Self(Parts::Listed(Listed { runs, firsts, len })))
    }

    /// Number of positions.
    #[expect(clippy::len_without_is_empty, reason = "an axis is never empty")]
    #[inline]
    pub fn len(&self) -> usize {
        match &self.0 {
            Parts::Even(even) => even.range.len(),
            Parts::Listed(listed) => listed.len,
        }
    }

    /// Number of parts.
    #[inline]
    pub fn count(&self) -> usize {
        match &self.0 {
            Parts::Even(even) => even.count,
            Parts::Listed(listed) => listed.firsts.len() - 1,
        }
    }

    /// The positions of a part.
    ///
    /// # Panics
    /// If there is no such part.
    #[inline]
    pub fn part(&self, part: usize) -> Part<'_> {
        assert!(part < self.count(), "a part that the axis has");
        match &self.0 {
            Parts::Even(even) => even.part(part).into(),
            Parts::Listed(listed) => {
                Part::of(&listed.runs[listed.firsts[part]..listed.firsts[part + 1]])
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every place of every part, and which part it is.
    fn indices(axis: &Axis) -> Vec<(usize, usize)> {
        let of_part = |part| {
            let runs = axis.part(part).runs().to_vec();
            runs.into_iter()
                .flat_map(move |run| (run.at..run.at + run.len).map(move |at| (at, part)))
        };
        let mut indices: Vec<_> = (0..axis.count()).flat_map(of_part).collect();
        indices.sort_unstable();
        indices
    }

    #[test]
    fn blocks_have_every_index_once() {
        for (chunk, block) in [(1, 1), (5, 2), (6, 3), (4, 9), (7, 7)] {
            let starts = (0..20).step_by(if cfg!(miri) { 9 } else { 1 });
            for (start, end) in
                starts.flat_map(|start| (start + 1..24).map(move |end| (start, end)))
            {
                let axis = Axis::even(start..end, chunk, block).unwrap();
                let number = |index: usize| (index / chunk, index % chunk / block);
                let mut parts: Vec<_> = (start..end).map(number).collect();
                let expected = parts.clone();
                parts.dedup();
                assert_eq!((axis.len(), axis.count()), (end - start, parts.len()));
                for (at, part) in indices(&axis) {
                    assert_eq!(parts[part], expected[at]);
                    let first = axis.part(part).runs()[0];
                    let inside = (start + at) % chunk % block;
                    assert_eq!(first.inside + at - first.at, inside);
                }
                assert_eq!(indices(&axis).len(), axis.len());
            }
        }
        let refused = |range, chunk, block| Axis::even(range, chunk, block).is_err();
        assert!(refused(3..3, 1, 1) && refused(0..1, 0, 1) && refused(0..1, 1, 0));
        assert!(refused(0..usize::MAX, 1, 1) && refused(0..1, usize::MAX, 1));
        let most = isize::MAX as usize;
        let axis = Axis::even(most - 1..most, most, usize::MAX).unwrap();
        assert_eq!((axis.len(), axis.count()), (1, 1));
        assert_eq!(axis.part(0).runs()[0].inside, most - 1);
    }

    fn listed(runs: &[(usize, usize)], firsts: &[usize]) -> Result<Axis> {
        let run = |(at, len): &(usize, usize)| Run {
            inside: 0,
            at: *at,
            len: *len,
        };
        let runs: Vec<_> = runs.iter().map(run).collect();
        Axis::listed(runs.into(), firsts.to_vec().into())
    }

    #[test]
    fn lists_have_every_index_once() {
        let axis = listed(&[(2, 3), (0, 1), (5, 70), (1, 1)], &[0, 1, 3, 4]).unwrap();
        assert_eq!((axis.len(), axis.count()), (75, 3));
        let parts: Vec<_> = indices(&axis).into_iter().map(|(_, part)| part).collect();
        assert_eq!(parts[..6], [1, 2, 0, 0, 0, 1]);
        assert_eq!(parts.len(), 75);
        assert_eq!(
            indices(&listed(&[(0, 2), (2, 1)], &[0, 2]).unwrap()).len(),
            3
        );
        for (runs, firsts) in [
            // Twice, and beyond the end.
            (&[(1, 2), (0, 2)][..], &[0, 1, 2][..]),
            (&[(1, 1), (1, 1)], &[0, 2]),
            (&[(2, 1), (0, 1)], &[0, 2]),
            (&[(usize::MAX, 1), (0, 1)], &[0, 2]),
            (&[(1, 1)], &[0, 1]),
            // Nothing, and too much.
            (&[(0, 1), (1, 0)], &[0, 2]),
            (&[(0, usize::MAX), (1, 2)], &[0, 2]),
            // Parts that are not cut as they should be.
            (&[(0, 1), (1, 1)], &[0, 1]),
            (&[(0, 1), (1, 1)], &[1, 2]),
            (&[(0, 1), (1, 1)], &[0, 0, 2]),
            (&[(0, 1), (1, 1)], &[0, 2, 1, 2]),
            (&[(0, 1), (1, 1)], &[0, 3]),
            (&[(0, 1), (1, 1)], &[]),
        ] {
            assert!(listed(runs, firsts).is_err(), "{runs:?} {firsts:?}");
        }
    }
}
