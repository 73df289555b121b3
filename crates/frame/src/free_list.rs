//! The free list of a contiguous frame: which bytes between its header and its index hold no chunk.

use oxiblosc_base::Result;
use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{Sorted, TryVec};

/// Bytes that were left free behind a chunk for it to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Tail {
    /// Where the chunk begins.
    chunk: u64,
    /// Where it ends.
    end: u64,
    /// How many bytes are free there: at least one.
    free: u64,
}

/// What an uncommitted change has allocated.
#[derive(Debug, PartialEq, Eq)]
enum Allocation {
    /// The bytes of a new chunk, with its tail.
    Chunk { pos: u64, len: u64 },
    /// `more` bytes of the tail of the chunk at `pos`, which ended at `end` before.
    Tail { pos: u64, end: u64, more: u64 },
}

/// The free bytes between the header and the index of a frame. Positions and lengths are in bytes;
/// positions count from the end of the header.
///
/// A change takes what it needs with [`FreeList::alloc_with_tail`] and [`FreeList::grow`], and ends
/// with [`FreeList::commit`] or [`FreeList::roll_back`]. These and [`FreeList::free`] cannot fail:
/// what they have no memory to list stays unused.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FreeList {
    /// The end of the last chunk.
    end: u64,
    /// The number of free bytes before `end`.
    free: u64,
    /// Holes before `end`: position and length. No two touch, none touches `end`, none is empty.
    holes: Sorted<(u64, u64)>,
    /// The same holes by their lengths: length and position.
    lengths: Sorted<(u64, u64)>,
    /// The tails of chunks.
    tails: Sorted<Tail>,
    /// Whether freed bytes are not used again, because chunks share bytes or it is not known where
    /// chunks lie.
    fixed: bool,
    /// What was taken since the last commit.
    uncommitted: TryVec<Allocation>,
}

impl FreeList {
    /// The list of a frame without chunks.
    pub const EMPTY: Self = Self {
        end: 0,
        free: 0,
        holes: Sorted::new(),
        lengths: Sorted::new(),
        tails: Sorted::new(),
        fixed: false,
        uncommitted: TryVec::new(),
    };

    /// A list in which chunks occupy all bytes up to `end`. Their places are not known, so none of
    /// these bytes become free.
    pub fn opaque(end: u64) -> Self {
        Self {
            end,
            fixed: true,
            ..Self::default()
        }
    }

    /// A list in which chunks occupy all bytes up to `end`, one behind the other.
    pub fn packed(end: u64) -> Self {
        Self {
            end,
            ..Self::default()
        }
    }

    /// A list in which these chunks occupy their bytes: the position and the length of each.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`].
    pub fn around(mut chunks: TryVec<(u64, u64)>) -> Result<Self> {
        sort(&mut chunks);
        let mut list = Self::default();
        for (pos, len) in chunks {
            if pos > list.end {
                list.add_hole(list.end, pos - list.end)?;
            }
            list.fixed |= pos < list.end;
            list.end = list.end.max(pos.saturating_add(len));
        }
        Ok(list)
    }

    /// A copy.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`].
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            end: self.end,
            free: self.free,
            holes: self.holes.try_clone()?,
            lengths: self.lengths.try_clone()?,
            tails: self.tails.try_clone()?,
            fixed: self.fixed,
            uncommitted: TryVec::new(),
        })
    }

    /// The end of the last chunk.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether freed bytes are not used again.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The position of the first free byte before [`Self::end`], if there is one: in a hole, or
    /// behind a chunk.
    pub fn first(&self) -> Option<u64> {
        let hole = self.holes.first().map(|(pos, _)| pos);
        let tail = self.tails.first().map(|tail| tail.end);
        hole.into_iter().chain(tail).min()
    }

    /// The number of free bytes before [`Self::end`].
    pub fn free_bytes(&self) -> u64 {
        self.free
    }

    /// Whether `len` bytes at `pos` lie in a hole.
    pub fn is_hole(&self, pos: u64, len: u64) -> bool {
        let before = self.holes.last_before((pos, u64::MAX));
        before.is_some_and(|(at, size)| pos + len <= at + size)
    }

    fn add_hole(&mut self, pos: u64, len: u64) -> Result<()> {
        self.lengths.insert((len, pos))?;
        if let Err(error) = self.holes.insert((pos, len)) {
            self.lengths.remove((len, pos));
            return Err(error);
        }
        self.free += len;
        Ok(())
    }

    fn remove_hole(&mut self, (pos, len): (u64, u64)) {
        self.holes.remove((pos, len));
        self.lengths.remove((len, pos));
        self.free -= len;
    }

    fn add_tail(&mut self, chunk: u64, end: u64, free: u64) {
        if free > 0 && self.tails.insert(Tail { chunk, end, free }).is_ok() {
            self.free += free;
        }
    }

    /// Removes the tail of the chunk at `pos` from the list, if it has one.
    fn remove_tail(&mut self, pos: u64) -> Option<Tail> {
        let tail = self.tail_of(pos)?;
        self.tails.remove(tail);
        self.free -= tail.free;
        Some(tail)
    }

    fn tail_of(&self, chunk: u64) -> Option<Tail> {
        let (end, free) = (0, 0);
        let tail = self.tails.first_from(Tail { chunk, end, free });
        tail.filter(|tail| tail.chunk == chunk)
    }

    /// The number of free bytes behind the chunk at `pos` into which it can grow.
    pub fn tail(&self, pos: u64) -> u64 {
        self.tail_of(pos).map_or(0, |tail| tail.free)
    }

    /// Finds `len` free bytes before `limit`: in the smallest hole that is large enough, otherwise
    /// at the end. Returns their position.
    pub fn find(&self, len: u64, limit: u64) -> Option<u64> {
        if let Some((_, pos)) = self.lengths.first_from((len, 0)) {
            return Some(pos);
        }
        let end = self.end.checked_add(len)?;
        (end <= limit).then_some(self.end)
    }

    /// Takes the bytes at `pos`, where [`Self::find`] has found so many free ones, for a chunk of
    /// `len` bytes and `tail` more that are kept free for it alone.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`]; then nothing is taken.
    pub fn alloc_with_tail(&mut self, pos: u64, len: u64, tail: u64) -> Result<()> {
        let all = len + tail;
        let chunk = Allocation::Chunk { pos, len: all };
        self.uncommitted.push(chunk)?;
        let hole = self.holes.first_from((pos, 0));
        match hole.filter(|hole| hole.0 == pos) {
            Some((_, size)) => {
                self.remove_hole((pos, size));
                if size > all {
                    let _ = self.add_hole(pos + all, size - all);
                }
            }
            None => self.end = self.end.max(pos + all),
        }
        self.add_tail(pos, pos + len, tail);
        Ok(())
    }

    /// Lets the chunk at `pos`, which has `len` bytes, grow by `more` bytes. Returns whether there
    /// are so many free bytes.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`]; then it has not grown.
    pub fn grow(&mut self, pos: u64, len: u64, more: u64) -> Result<bool> {
        let tail = self.tail_of(pos);
        let fits = |tail: &Tail| tail.end == pos + len && tail.free >= more;
        let Some(Tail { end, free, .. }) = tail.filter(fits) else {
            return Ok(false);
        };
        self.uncommitted.push(Allocation::Tail { pos, end, more })?;
        self.remove_tail(pos);
        self.add_tail(pos, end + more, free - more);
        Ok(true)
    }

    /// Keeps what was taken since the last commit.
    pub fn commit(&mut self) {
        self.uncommitted = TryVec::new();
    }

    /// Gives back what was taken since the last commit.
    pub fn roll_back(&mut self) {
        let mut uncommitted = std::mem::take(&mut self.uncommitted);
        while let Some(last) = uncommitted.pop() {
            match last {
                Allocation::Chunk { pos, len } => {
                    self.remove_tail(pos);
                    self.release(pos, len);
                }
                Allocation::Tail { pos, end, more } => {
                    let left = self.remove_tail(pos).map_or(0, |tail| tail.free);
                    self.add_tail(pos, end, left + more);
                }
            }
        }
    }

    /// Frees the `len` bytes of the chunk at `pos`, and its tail.
    pub fn free(&mut self, pos: u64, mut len: u64) {
        if let Some(tail) = self.remove_tail(pos) {
            len = tail.end + tail.free - pos;
        }
        if !self.fixed && len > 0 && pos.saturating_add(len) <= self.end {
            self.release(pos, len);
        }
    }

    /// Makes a hole of used bytes. Holes that touch or contain them are merged with it.
    fn release(&mut self, mut pos: u64, mut len: u64) {
        while let Some((at, size)) = self.holes.last_before((pos + len, u64::MAX))
            && at + size >= pos
        {
            self.remove_hole((at, size));
            let end = (pos + len).max(at + size);
            pos = pos.min(at);
            len = end - pos;
        }
        if pos + len >= self.end {
            self.end = pos;
        } else {
            let _ = self.add_hole(pos, len);
        }
    }

    /// Frees the end of the chunk at `pos`, which had `len` bytes and has `keep` now, and its tail.
    pub fn cut(&mut self, pos: u64, len: u64, keep: u64) {
        let tail = self.remove_tail(pos).map_or(0, |tail| tail.free);
        let freed = len + tail - keep;
        if freed > 0 && !self.fixed {
            self.release(pos + keep, freed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_are_never_given_back() {
        let shared = FreeList::around(vec![(0, 100), (50, 100)].into()).unwrap();
        for mut list in [shared, FreeList::opaque(150)] {
            list.free(0, 100);
            assert_eq!((list.end(), list.find(10, 1000)), (150, Some(150)));
        }
    }

    #[test]
    fn a_chunk_grows_into_its_own_tail_alone() {
        let mut list = FreeList::around(vec![(0, 100)].into()).unwrap();
        list.alloc_with_tail(100, 80, 20).unwrap();
        assert_eq!((list.end(), list.tail(0), list.tail(100)), (200, 0, 20));
        assert_eq!((list.first(), list.free_bytes()), (Some(180), 20));
        for (pos, len, more) in [(100, 79, 1), (100, 80, 21), (0, 100, 1)] {
            assert_eq!(list.grow(pos, len, more), Ok(false));
        }
        assert_eq!(list.grow(100, 80, 15), Ok(true));
        assert_eq!((list.tail(100), list.first()), (5, Some(195)));
        assert_eq!(list.grow(100, 95, 5), Ok(true));
        assert_eq!((list.tail(100), list.first()), (0, None));
        assert_eq!(list.find(10, 1000), Some(200));
        list.free(100, 100);
        assert_eq!((list.end(), list.first()), (100, None));
    }

    #[test]
    fn chunks_are_cut() {
        let chunks = |lens: &[u64]| {
            (0..)
                .step_by(100)
                .zip(lens.iter().copied())
                .collect::<Vec<_>>()
        };
        let mut list = FreeList::around(chunks(&[100, 90, 100, 100, 100]).into()).unwrap();
        list.alloc_with_tail(500, 60, 40).unwrap();
        list.commit();
        for (pos, len, keep) in [
            (0, 100, 30),
            (100, 90, 90),
            (200, 100, 99),
            (300, 100, 1),
            (500, 60, 10),
        ] {
            list.cut(pos, len, keep);
        }
        assert_eq!(
            list,
            FreeList::around(chunks(&[30, 90, 99, 1, 100, 10]).into()).unwrap()
        );
        let mut fixed = FreeList::opaque(150);
        fixed.cut(0, 100, 10);
        assert_eq!((fixed.end(), fixed.free_bytes()), (150, 0));
    }

    #[test]
    fn what_a_failed_change_has_taken_is_given_back() {
        let around = FreeList::around(vec![(0, 100), (150, 50), (230, 70)].into()).unwrap();
        let shared = FreeList::around(vec![(0, 100), (150, 50), (160, 70)].into()).unwrap();
        for mut list in [around, shared, FreeList::opaque(300)] {
            list.alloc_with_tail(list.end(), 40, 60).unwrap();
            list.commit();
            let chunk = list.end() - 100;
            let before = list.try_clone().unwrap();
            for more in [60, 7] {
                for len in [50, 20, 30, 31, 1000] {
                    let pos = list.find(len + len % 3, 5000).unwrap();
                    list.alloc_with_tail(pos, len, len % 3).unwrap();
                }
                assert_eq!(list.grow(chunk, 40, more), Ok(true));
                assert_ne!(list, before);
                list.roll_back();
                assert_eq!(list, before);
            }
        }
    }

    #[test]
    fn behaves_as_a_map_of_bytes() {
        let mut list = FreeList::default();
        let mut taken: Vec<(u64, u64)> = Vec::new();
        let mut used = vec![false; 4000];
        let mut seed = 1u64;
        for _ in 0..if cfg!(miri) { 100 } else { 3000 } {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let random = (seed >> 33) as usize;
            if random & 1 == 0 && !taken.is_empty() {
                let (pos, len) = taken.swap_remove(random / 2 % taken.len());
                list.free(pos, len);
                used[pos as usize..(pos + len) as usize].fill(false);
            } else {
                let len = (random / 2 % 90 + 1) as u64;
                if let Some(pos) = list.find(len, 4000) {
                    let range = &mut used[pos as usize..(pos + len) as usize];
                    assert!(range.iter().all(|used| !used));
                    range.fill(true);
                    list.alloc_with_tail(pos, len, 0).unwrap();
                    list.commit();
                    taken.push((pos, len));
                }
            }
            let end = used.iter().rposition(|used| *used).map_or(0, |at| at + 1);
            assert_eq!(list.end(), end as u64);
            assert_eq!(
                list.free_bytes(),
                used[..end].iter().filter(|used| !**used).count() as u64
            );
            assert_eq!(FreeList::around(taken.clone().into()).unwrap(), list);
        }
    }
}
