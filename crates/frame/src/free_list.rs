//! The free list of a contiguous frame: which bytes between its header and its index hold no chunk.

use oxiblosc_error::Result;
use oxiblosc_memory::List;
use oxiblosc_memory::sort::sort;

/// Bytes that were left free behind a chunk for it to grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Tail {
    /// Where the chunk begins.
    chunk: u64,
    /// Where it ends.
    end: u64,
    /// How many bytes are free there.
    free: u64,
}

/// The free bytes between the header and the index of a frame. Positions and lengths are in bytes; positions count from the end of the header.
///
/// [`FreeList::alloc_with_tail`], [`FreeList::free`] and what they call never fail: [`FreeList::reserve`] allocates what they need.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct FreeList {
    /// The end of the last chunk.
    end: u64,
    /// Holes before `end`, in ascending order: position and length. No two touch, none is empty.
    holes: List<(u64, u64)>,
    /// The tails of chunks, in ascending order.
    tails: List<Tail>,
    /// Whether freed bytes are not used again, because chunks share bytes or it is not known where chunks lie.
    fixed: bool,
}

impl FreeList {
    /// The list of a frame without chunks.
    pub const EMPTY: Self = Self {
        end: 0,
        holes: List::new(),
        tails: List::new(),
        fixed: false,
    };

    /// A list in which chunks occupy all bytes up to `end`. Their places are not known, so none of these bytes become free.
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
    /// [`oxiblosc_error::Error::MemoryAlloc`].
    pub fn around(mut chunks: List<(u64, u64)>) -> Result<Self> {
        sort(&mut chunks);
        let mut list = Self::default();
        for (pos, len) in chunks {
            if pos > list.end {
                list.holes.push((list.end, pos - list.end))?;
            }
            list.fixed |= pos < list.end;
            list.end = list.end.max(pos.saturating_add(len));
        }
        Ok(list)
    }

    /// A copy.
    ///
    /// # Errors
    /// [`oxiblosc_error::Error::MemoryAlloc`].
    pub fn try_clone(&self) -> Result<Self> {
        Ok(Self {
            end: self.end,
            holes: self.holes.try_clone()?,
            tails: self.tails.try_clone()?,
            fixed: self.fixed,
        })
    }

    /// Allocates the memory that `freed` calls of [`Self::free`], and `tails` calls of [`Self::alloc_with_tail`] with a tail, may need. Others need
    /// none.
    ///
    /// # Errors
    /// [`oxiblosc_error::Error::MemoryAlloc`].
    pub fn reserve(&mut self, freed: usize, tails: usize) -> Result<()> {
        self.holes
            .reserve(freed)
            .and_then(|()| self.tails.reserve(tails))
    }

    /// The end of the last chunk.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Whether freed bytes are not used again.
    pub fn is_fixed(&self) -> bool {
        self.fixed
    }

    /// The position of the first free byte before [`Self::end`], if there is one: in a hole, or behind a chunk.
    pub fn first(&self) -> Option<u64> {
        let hole = self.holes.first().map(|(pos, _)| *pos);
        let mut tails = self.tails.iter().filter(|tail| tail.free > 0);
        let tail = tails.next().map(|tail| tail.end);
        hole.into_iter().chain(tail).min()
    }

    /// The number of free bytes before [`Self::end`].
    pub fn free_bytes(&self) -> u64 {
        let holes: u64 = self.holes.iter().map(|(_, len)| len).sum();
        let tails: u64 = self.tails.iter().map(|tail| tail.free).sum();
        holes + tails
    }

    /// Whether `len` bytes at `pos` lie in a hole.
    pub fn is_hole(&self, pos: u64, len: u64) -> bool {
        let behind = self.holes.partition_point(|(at, _)| *at <= pos);
        let before = behind.checked_sub(1).map(|i| self.holes[i]);
        before.is_some_and(|(at, size)| pos + len <= at + size)
    }

    fn tail_of(&self, chunk: u64) -> std::result::Result<usize, usize> {
        self.tails.binary_search_by_key(&chunk, |tail| tail.chunk)
    }

    /// The number of free bytes behind the chunk at `pos` into which it can grow.
    pub fn tail(&self, pos: u64) -> u64 {
        self.tail_of(pos).map_or(0, |i| self.tails[i].free)
    }

    /// As [`Self::alloc`], for a chunk of `len` bytes and `tail` more that are kept free for it alone.
    pub fn alloc_with_tail(&mut self, pos: u64, len: u64, tail: u64) {
        self.alloc(pos, len + tail);
        if let (true, Err(i)) = (tail > 0, self.tail_of(pos)) {
            let new = Tail {
                chunk: pos,
                end: pos + len,
                free: tail,
            };
            // This fails only without [`Self::reserve`]. Then the tail stays unused.
            let _ = self.tails.insert(i, new);
        }
    }

    /// Lets the chunk at `pos`, which has `len` bytes, grow by `more` bytes. Returns whether there are so many free bytes.
    pub fn grow(&mut self, pos: u64, len: u64, more: u64) -> bool {
        let Ok(i) = self.tail_of(pos) else {
            return false;
        };
        let tail = &mut self.tails[i];
        let fits = tail.end == pos + len && tail.free >= more;
        if fits {
            tail.end += more;
            tail.free -= more;
        }
        fits
    }

    /// Frees the ends of chunks. `cuts` are in ascending order: position, length, and new length of each chunk.
    ///
    /// # Errors
    /// [`oxiblosc_error::Error::MemoryAlloc`]; then the list is unchanged.
    pub fn cut_each(&mut self, cuts: &[(u64, u64, u64)]) -> Result<()> {
        let mut holes: List<(u64, u64)> = List::with_capacity(self.holes.len() + cuts.len())?;
        let mut all = List::with_capacity(self.holes.len() + cuts.len())?;
        let freed = |(pos, len, keep): &(u64, u64, u64)| (pos + keep, len + self.tail(*pos) - keep);
        all.extend(cuts.iter().map(freed).filter(|(_, len)| *len > 0))?;
        let is_cut = |chunk: u64| cuts.binary_search_by_key(&chunk, |cut| cut.0).is_ok();
        self.tails.retain(|tail| !is_cut(tail.chunk));
        if self.fixed {
            return Ok(());
        }
        all.extend_from_slice(&self.holes)?;
        sort(&mut all);
        for (pos, len) in all {
            match holes.last_mut() {
                Some((at, size)) if *at + *size >= pos => *size = (*size).max(pos + len - *at),
                _ => holes.push((pos, len))?,
            }
        }
        if let Some((pos, len)) = holes.last()
            && pos + len >= self.end
        {
            self.end = *pos;
            holes.pop();
        }
        self.holes = holes;
        Ok(())
    }

    /// Finds `len` free bytes before `limit`: in the smallest hole that is large enough, otherwise at the end. Returns their position.
    pub fn find(&self, len: u64, limit: u64) -> Option<u64> {
        let fits = self.holes.iter().filter(|(_, size)| *size >= len);
        if let Some((pos, _)) = fits.min_by_key(|(_, size)| *size) {
            return Some(*pos);
        }
        let end = self.end.checked_add(len)?;
        (end <= limit).then_some(self.end)
    }

    /// Marks `len` bytes at `pos`, which [`Self::find`] has found, as used.
    pub fn alloc(&mut self, pos: u64, len: u64) {
        match self.holes.binary_search_by_key(&pos, |(pos, _)| *pos) {
            Ok(i) if self.holes[i].1 > len => {
                self.holes[i] = (pos + len, self.holes[i].1 - len);
            }
            Ok(i) => drop(self.holes.remove(i)),
            Err(_) => self.end = self.end.max(pos + len),
        }
    }

    /// Frees the `len` bytes of the chunk at `pos`, and its tail.
    pub fn free(&mut self, mut pos: u64, mut len: u64) {
        if let Ok(i) = self.tail_of(pos) {
            let tail = self.tails.remove(i);
            len = tail.end + tail.free - pos;
        }
        if self.fixed || len == 0 || pos.saturating_add(len) > self.end {
            return;
        }
        // Holes that touch or contain the bytes are merged with them.
        let first = self.holes.partition_point(|(at, size)| at + size < pos);
        let last = self.holes.partition_point(|(at, _)| *at <= pos + len);
        for (at, size) in self.holes.drain(first..last) {
            let end = (pos + len).max(at + size);
            pos = pos.min(at);
            len = end - pos;
        }
        if pos + len >= self.end {
            self.end = pos;
        } else {
            // As in `alloc_with_tail`.
            let _ = self.holes.insert(first, (pos, len));
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
        list.alloc_with_tail(100, 80, 20);
        assert_eq!((list.end(), list.tail(0), list.tail(100)), (200, 0, 20));
        assert_eq!((list.first(), list.free_bytes()), (Some(180), 20));
        assert!(!list.grow(100, 79, 1) && !list.grow(100, 80, 21) && !list.grow(0, 100, 1));
        assert!(list.grow(100, 80, 15));
        assert_eq!((list.tail(100), list.first()), (5, Some(195)));
        assert!(list.grow(100, 95, 5));
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
        list.alloc_with_tail(500, 60, 40);
        list.cut_each(&[
            (0, 100, 30),
            (100, 90, 90),
            (200, 100, 99),
            (300, 100, 1),
            (500, 60, 10),
        ])
        .unwrap();
        assert_eq!(
            list,
            FreeList::around(chunks(&[30, 90, 99, 1, 100, 10]).into()).unwrap()
        );
        let mut fixed = FreeList::opaque(150);
        fixed.cut_each(&[(0, 100, 10)]).unwrap();
        assert_eq!((fixed.end(), fixed.free_bytes()), (150, 0));
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
                    list.alloc(pos, len);
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
