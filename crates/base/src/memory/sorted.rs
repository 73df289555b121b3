//! Sorted items, in pieces.

use super::TryVec;
use super::sort::sort;
use crate::error::Result;

/// The most items of a piece.
const PIECE: usize = 256;

/// Items in ascending order; equal ones may occur several times. Finding, adding or removing one
/// moves the items of one piece at most, which takes about as long for very many items as for a
/// few.
#[derive(Debug)]
pub struct Sorted<T> {
    /// The items: at least one and at most [`PIECE`] in each.
    pieces: TryVec<TryVec<T>>,
}

impl<T: Copy + Ord> Sorted<T> {
    /// No items, without an allocation.
    pub const fn new() -> Self {
        Self {
            pieces: TryVec::new(),
        }
    }

    /// These items.
    ///
    /// # Errors
    /// [`crate::error::Error::MEMORY_ALLOC`].
    pub fn of(mut items: TryVec<T>) -> Result<Self> {
        sort(&mut items);
        let mut pieces = TryVec::with_capacity(items.len().div_ceil(PIECE / 2))?;
        for piece in items.chunks(PIECE / 2) {
            pieces.push(TryVec::copy_of(piece)?)?;
        }
        Ok(Self { pieces })
    }

    /// A copy.
    ///
    /// # Errors
    /// [`crate::error::Error::MEMORY_ALLOC`].
    pub fn try_clone(&self) -> Result<Self> {
        let mut pieces = TryVec::with_capacity(self.pieces.len())?;
        for piece in &self.pieces {
            pieces.push(piece.try_clone()?)?;
        }
        Ok(Self { pieces })
    }

    /// The items in their order.
    pub fn iter(&self) -> impl Iterator<Item = T> + '_ {
        self.pieces.iter().flat_map(|piece| piece.iter().copied())
    }

    /// Whether no two items are equal.
    pub fn are_different(&self) -> bool {
        self.iter().is_sorted_by(|before, item| before < item)
    }

    /// Whether there are no items.
    pub fn is_empty(&self) -> bool {
        self.pieces.is_empty()
    }

    /// The first item.
    pub fn first(&self) -> Option<T> {
        self.pieces.first()?.first().copied()
    }

    /// The last item.
    pub fn last(&self) -> Option<T> {
        self.pieces.last()?.last().copied()
    }

    /// The first item that is not less than `least`.
    pub fn first_from(&self, least: T) -> Option<T> {
        let before = |piece: &TryVec<T>| piece.last().is_some_and(|last| *last < least);
        let piece = self.pieces.get(self.pieces.partition_point(before))?;
        piece
            .get(piece.partition_point(|item| *item < least))
            .copied()
    }

    /// The last item that is less than `end`.
    pub fn last_before(&self, end: T) -> Option<T> {
        let begins = |piece: &TryVec<T>| piece[0] < end;
        let behind = self.pieces.partition_point(begins);
        let piece = &self.pieces[behind.checked_sub(1)?];
        let at = piece.partition_point(|item| *item < end);
        piece.get(at.checked_sub(1)?).copied()
    }

    /// Whether the item is there.
    pub fn contains(&self, item: T) -> bool {
        self.first_from(item) == Some(item)
    }

    /// The last piece that does not begin behind `item`, or the first one.
    fn piece_of(&self, item: T) -> usize {
        let behind = self.pieces.partition_point(|piece| piece[0] <= item);
        behind.saturating_sub(1)
    }

    /// Adds an item.
    ///
    /// # Errors
    /// [`crate::error::Error::MEMORY_ALLOC`]; then the items are as they were.
    pub fn insert(&mut self, item: T) -> Result<()> {
        if self.pieces.is_empty() {
            return self.pieces.push(TryVec::of([item])?);
        }
        let mut number = self.piece_of(item);
        if self.pieces[number].len() >= PIECE {
            let behind = TryVec::copy_of(&self.pieces[number][PIECE / 2..])?;
            self.pieces.insert(number + 1, behind)?;
            self.pieces[number].truncate(PIECE / 2);
            number = self.piece_of(item);
        }
        let piece = &mut self.pieces[number];
        piece.insert(piece.partition_point(|other| *other < item), item)
    }

    /// Removes an item, or one of several that are equal. Returns whether it was there.
    pub fn remove(&mut self, item: T) -> bool {
        let number = self.piece_of(item);
        let piece = self.pieces.get_mut(number);
        let Some((piece, at)) = piece.and_then(|piece| {
            let at = piece.binary_search(&item).ok()?;
            Some((piece, at))
        }) else {
            return false;
        };
        piece.remove(at);
        if piece.is_empty() {
            self.pieces.remove(number);
        }
        true
    }
}

impl<T> Default for Sorted<T> {
    fn default() -> Self {
        Self {
            pieces: TryVec::new(),
        }
    }
}

impl<T: Copy + Ord> PartialEq for Sorted<T> {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl<T: Copy + Ord> Eq for Sorted<T> {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sorted_items_do_what_a_sorted_vector_does() {
        let mut seed = 1u64;
        let mut random = |most: u64| {
            seed = seed
                .wrapping_mul(6364136223846793005)
                .wrapping_add(1442695040888963407);
            (seed >> 33) % most
        };
        let (turns, most) = if cfg!(miri) {
            (200, 40)
        } else {
            (20_000, 3000)
        };
        // Growing, then shrinking until nothing is left.
        let (mut sorted, mut model) = (Sorted::new(), Vec::new());
        for turn in 0..2 * turns {
            let item = random(most);
            let at = model.partition_point(|other| *other < item);
            if random(4) < if turn < turns { 3 } else { 1 } {
                sorted.insert(item).unwrap();
                model.insert(at, item);
            } else {
                let there = model.get(at) == Some(&item);
                assert_eq!(sorted.contains(item), there);
                assert_eq!(sorted.remove(item), there);
                if there {
                    model.remove(at);
                }
            }
            let item = random(most);
            let at = model.partition_point(|other| *other < item);
            assert_eq!(sorted.first_from(item), model.get(at).copied());
            let before = at.checked_sub(1).map(|at| model[at]);
            assert_eq!(sorted.last_before(item), before);
            assert_eq!(sorted.first(), model.first().copied());
            assert_eq!(sorted.last(), model.last().copied());
            assert_eq!(sorted.is_empty(), model.is_empty());
            if turn % 100 == 0 {
                assert!(sorted.iter().eq(model.iter().copied()));
                let different = model.windows(2).all(|two| two[0] < two[1]);
                assert_eq!(sorted.are_different(), different);
                assert_eq!(sorted.try_clone().unwrap(), sorted);
                let mut anew: Vec<u64> = model.clone();
                anew.reverse();
                assert_eq!(Sorted::of(anew.into()).unwrap(), sorted);
                let full = |piece: &TryVec<u64>| (1..=PIECE).contains(&piece.len());
                assert!(sorted.pieces.iter().all(full));
            }
        }
        for item in model {
            assert!(sorted.remove(item));
        }
        assert!(sorted.is_empty() && sorted.pieces.is_empty());
    }
}
