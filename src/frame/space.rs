//! Which parts of a contiguous frame's chunks nobody needs any more, so that they can be used again.

use std::collections::BTreeMap;

/// The room between the header and the index of a frame. Positions count from the end of the header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Space {
    /// Behind the last chunk.
    end: u64,
    /// Where nothing is, before `end`: from where, how many bytes. No two touch, none is empty.
    holes: BTreeMap<u64, u64>,
    /// What was left free behind chunks for them to grow: where each chunk begins and ends, and how many bytes are free.
    tails: BTreeMap<u64, (u64, u64)>,
    /// Whether room that is given back may be used: not where chunks share bytes, or where nobody knows.
    fixed: bool,
}

impl Space {
    /// Room that is taken up to `end`, by whom nobody knows.
    pub fn new(end: u64) -> Self {
        Self {
            end,
            holes: BTreeMap::new(),
            tails: BTreeMap::new(),
            fixed: true,
        }
    }

    /// Room in which chunks lie: from where each goes, and how many bytes it has.
    pub fn around(mut chunks: Vec<(u64, u64)>) -> Self {
        chunks.sort_unstable();
        let mut space = Self::default();
        for (pos, len) in chunks {
            if pos > space.end {
                space.holes.insert(space.end, pos - space.end);
            }
            space.fixed |= pos < space.end;
            space.end = space.end.max(pos.saturating_add(len));
        }
        space
    }

    /// Behind the last chunk.
    pub fn end(&self) -> u64 {
        self.end
    }

    /// Where the first hole is, and how many bytes all holes have, with those left free behind chunks; none where nobody
    /// knows.
    pub fn holes(&self) -> Option<(u64, u64)> {
        let free = self.tails.values().filter(|(_, room)| *room > 0);
        let all = self.holes.iter().chain(free.map(|(end, room)| (end, room)));
        let first = all.clone().map(|(pos, _)| *pos).min();
        let first = first.filter(|_| !self.fixed)?;
        Some((first, all.map(|(_, len)| *len).sum()))
    }

    /// How many bytes are free for the chunk at `pos` to grow.
    pub fn tail(&self, pos: u64) -> u64 {
        self.tails.get(&pos).map_or(0, |(_, room)| *room)
    }

    /// Takes room as [`Self::take`] does, `len` bytes for a chunk and `tail` more to be free for it alone.
    pub fn take_with_tail(&mut self, pos: u64, len: u64, tail: u64) {
        self.take(pos, len + tail);
        if tail > 0 {
            self.tails.insert(pos, (pos + len, tail));
        }
    }

    /// Lets the chunk at `pos`, that has `len` bytes, grow by `more`; whether there is room for that.
    pub fn grow(&mut self, pos: u64, len: u64, more: u64) -> bool {
        match self.tails.get_mut(&pos) {
            Some((end, room)) if *end == pos + len && *room >= more => {
                *end += more;
                *room -= more;
                true
            }
            _ => false,
        }
    }

    /// Takes back what [`Self::grow`] did.
    pub fn shrink(&mut self, pos: u64, more: u64) {
        if let Some((end, room)) = self.tails.get_mut(&pos) {
            *end -= more;
            *room += more;
        }
    }

    /// Finds room for `len` bytes that ends before `limit`, in the first hole that is large enough, else at the end.
    pub fn find(&self, len: u64, limit: u64) -> Option<u64> {
        let hole = self.holes.iter().find(|(_, size)| **size >= len);
        if let Some((pos, _)) = hole {
            return Some(*pos);
        }
        self.end
            .checked_add(len)
            .is_some_and(|end| end <= limit)
            .then_some(self.end)
    }

    /// Takes room that [`Self::find`] found.
    pub fn take(&mut self, pos: u64, len: u64) {
        if let Some(size) = self.holes.remove(&pos) {
            if size > len {
                self.holes.insert(pos + len, size - len);
            }
        } else {
            self.end = self.end.max(pos + len);
        }
    }

    /// Gives room back, with what was free behind it.
    pub fn give(&mut self, mut pos: u64, mut len: u64) {
        if let Some((end, room)) = self.tails.remove(&pos) {
            len = end + room - pos;
        }
        if self.fixed || len == 0 || pos.saturating_add(len) > self.end {
            return;
        }
        if let Some((before, size)) = self.holes.range(..pos).next_back()
            && before + size >= pos
        {
            let before = *before;
            let size = *size;
            len = (pos + len).max(before + size) - before;
            pos = before;
            self.holes.remove(&before);
        }
        while let Some((after, size)) = self.holes.range(pos..=pos + len).next() {
            let after = *after;
            len = (after + size).max(pos + len) - pos;
            self.holes.remove(&after);
        }
        if pos + len >= self.end {
            self.end = pos;
        } else {
            self.holes.insert(pos, len);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shared_bytes_are_never_given_back() {
        for mut space in [Space::around(vec![(0, 100), (50, 100)]), Space::new(150)] {
            space.give(0, 100);
            assert_eq!((space.end(), space.find(10, 1000)), (150, Some(150)));
        }
    }

    #[test]
    fn a_chunk_grows_into_its_own_tail_alone() {
        let mut space = Space::around(vec![(0, 100)]);
        space.take_with_tail(100, 80, 20);
        assert_eq!((space.end(), space.tail(0), space.tail(100)), (200, 0, 20));
        assert_eq!(space.holes(), Some((180, 20)));
        assert!(!space.grow(100, 79, 1) && !space.grow(100, 80, 21) && !space.grow(0, 100, 1));
        assert!(space.grow(100, 80, 15));
        assert_eq!((space.tail(100), space.holes()), (5, Some((195, 5))));
        space.shrink(100, 15);
        assert!(space.grow(100, 80, 20));
        assert_eq!((space.tail(100), space.holes()), (0, None));
        assert_eq!(space.find(10, 1000), Some(200));
        space.give(100, 100);
        assert_eq!((space.end(), space.holes()), (100, None));
    }

    #[test]
    fn behaves_as_a_map_of_bytes() {
        let mut space = Space::default();
        let mut taken: Vec<(u64, u64)> = Vec::new();
        let mut used = vec![false; 4000];
        let mut seed = 1u64;
        for _ in 0..3000 {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            let random = (seed >> 33) as usize;
            if random & 1 == 0 && !taken.is_empty() {
                let (pos, len) = taken.swap_remove(random / 2 % taken.len());
                space.give(pos, len);
                used[pos as usize..(pos + len) as usize].fill(false);
            } else {
                let len = (random / 2 % 90 + 1) as u64;
                if let Some(pos) = space.find(len, 4000) {
                    let range = &mut used[pos as usize..(pos + len) as usize];
                    assert!(range.iter().all(|used| !used));
                    range.fill(true);
                    space.take(pos, len);
                    taken.push((pos, len));
                }
            }
            let end = used.iter().rposition(|used| *used).map_or(0, |at| at + 1);
            assert_eq!(space.end(), end as u64);
            let free: u64 = space.holes.values().sum();
            assert_eq!(
                free,
                used[..end].iter().filter(|used| !**used).count() as u64
            );
            assert_eq!(Space::around(taken.clone()), space);
        }
    }
}
