//! Changes of a frame's chunks, and how each changes the offsets.

use super::fingerprint::ChecksumScope;
use super::offsets::{MAX_CHUNKS, MAX_LISTED, Offsets, special_offset};
use super::runs::{Runs, Span};
use oxiblosc_base::memory::{Collect, Edit, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::Special;

/// A chunk that is added to a frame or changed in it.
#[derive(Clone, Copy, Debug)]
pub enum ChangedChunk<'a> {
    /// A chunk that is stored.
    Stored(EncodedChunk<'a>),
    /// A chunk of special values, which is only an offset in the index.
    Special(Special),
    /// Edits of a chunk that stays in its place, in ascending order. Those behind its end use the
    /// free bytes that [`FreeList::tail`](super::free_list::FreeList::tail) found. Only for updates
    /// of contiguous frames in files.
    Edited(&'a [Edit]),
}

impl ChangedChunk<'_> {
    /// Whether the chunk stays in its place.
    pub fn stays(&self) -> bool {
        matches!(self, Self::Edited(_))
    }

    /// Whether the chunk stays in its place and becomes longer.
    pub fn grows(&self) -> bool {
        matches!(self, Self::Edited(edits) if edits.iter().any(|edit| edit.len < edit.new.len()))
    }
}

/// A chunk in the new order of [`Change::Arrange`].
#[derive(Clone, Copy, Debug)]
pub enum ArrangedChunk<'a> {
    /// A chunk of the frame: its old position.
    Old(usize),
    /// A chunk that is added.
    New(ChangedChunk<'a>),
    /// This many special chunks of one kind, which are added.
    Specials(Special, usize),
}

impl ArrangedChunk<'_> {
    /// How many chunks there are.
    fn count(&self) -> usize {
        match self {
            Self::Old(_) | Self::New(_) => 1,
            Self::Specials(_, count) => *count,
        }
    }
}

/// One change of a frame's chunks. [`Change::check`] checks the positions.
#[derive(Clone, Debug)]
pub enum Change<'a> {
    /// No change of chunks: only the header or the trailer changes.
    Nothing,
    /// A chunk behind the last one.
    Append(ChangedChunk<'a>),
    /// A chunk before another.
    Insert(usize, ChangedChunk<'a>),
    /// Replaces or edits chunks: their positions, each at most once, and the new chunks.
    Update(&'a [(usize, ChangedChunk<'a>)]),
    /// The chunk at this position is removed.
    Delete(usize),
    /// The chunks in another order: the old position of the first one, of the second one, and so
    /// on.
    Reorder(&'a [usize]),
    /// Chunks are added, removed and moved. No chunk occurs twice.
    Arrange {
        /// So many chunks at the front stay as they are. Those that are not told one by one cost
        /// nothing.
        kept: usize,
        /// All chunks behind them afterwards, in their order.
        slots: &'a [ArrangedChunk<'a>],
        /// The positions of the chunks that are removed.
        left: &'a [usize],
    },
}

/// How the offsets change.
#[derive(Debug, PartialEq, Eq)]
pub enum Delta {
    /// They stay as they are.
    Same,
    /// This one is appended.
    Push(i64),
    /// The one at this position is replaced.
    Set(usize, i64),
    /// From this position on, they are replaced by these.
    From(usize, TryVec<i64>),
    /// The ones at these positions are replaced. Only of offsets that are no list.
    Sets(TryVec<(usize, i64)>),
    /// From this position on so many are replaced by these. Only of offsets that are no list.
    Splice(usize, usize, TryVec<i64>),
    /// From this position on, they are replaced by these, of which a list would be out of
    /// proportion.
    Runs(usize, Runs),
}

impl Delta {
    /// The number of offsets after the change, if there are `count` now.
    pub fn count(&self, count: usize) -> usize {
        match self {
            Self::Same | Self::Set(..) | Self::Sets(_) => count,
            Self::Splice(_, removed, new) => count - removed + new.len(),
            Self::Push(_) => count + 1,
            Self::From(from, list) => from + list.len(),
            Self::Runs(from, runs) => from + runs.len(),
        }
    }

    /// Makes the offsets a list if they can be one, and allocates the memory that [`Self::apply`]
    /// needs, which then does not fail.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline(never)]
    pub fn reserve(&self, offsets: &mut Offsets) -> Result<()> {
        let count = offsets.len();
        if matches!(self, Self::Same | Self::Runs(..)) || !offsets.is_listable() {
            return Ok(());
        }
        let list = offsets.list_mut()?;
        let more = self.count(count).saturating_sub(count);
        list.reserve(more)
    }

    /// Changes the offsets.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; none for a list after [`Self::reserve`].
    #[inline(never)]
    pub fn apply(self, offsets: &mut Offsets) -> Result<()> {
        if !offsets.is_listable() || matches!(self, Self::Runs(..)) {
            return self.apply_to_runs(offsets);
        }
        match self {
            Self::Same => {}
            Self::Push(offset) => {
                let list = offsets.list_mut()?;
                list.push(offset)?;
            }
            Self::Set(nchunk, offset) => offsets.list_mut()?[nchunk] = offset,
            Self::From(from, tail) => {
                let list = offsets.list_mut()?;
                list.truncate(from);
                list.extend_from_slice(&tail)?;
            }
            Self::Sets(_) | Self::Splice(..) | Self::Runs(..) => return Err(Error::FAILURE),
        }
        Ok(())
    }

    fn apply_to_runs(self, offsets: &mut Offsets) -> Result<()> {
        let count = offsets.len();
        match self {
            Self::Same => Ok(()),
            Self::Runs(from, tail) => {
                let runs = offsets.runs_mut()?;
                runs.replace_from(from, &tail)?;
                *offsets = Offsets::of_runs(std::mem::take(runs));
                Ok(())
            }
            Self::Push(offset) => offsets.runs_mut()?.splice(count, 0, &[offset]),
            Self::Set(nchunk, offset) => offsets.runs_mut()?.splice(nchunk, 1, &[offset]),
            Self::From(from, tail) => offsets.runs_mut()?.splice(from, count - from, &tail),
            Self::Splice(from, removed, new) => offsets.runs_mut()?.splice(from, removed, &new),
            Self::Sets(list) => {
                let runs = offsets.runs_mut()?;
                list.iter()
                    .try_for_each(|(nchunk, offset)| runs.splice(*nchunk, 1, &[*offset]))
            }
        }
    }
}

/// Checks that each of the offsets can be listed.
///
/// # Errors
/// [`Error::MAX_BUFSIZE_EXCEEDED`] if a list of them is out of proportion.
pub fn check_listable(offsets: &Offsets) -> Result<()> {
    match offsets.is_listable() {
        true => Ok(()),
        false => Err(Error::MAX_BUFSIZE_EXCEEDED),
    }
}

impl<'a> Change<'a> {
    /// `slots`, which are all new, behind the `count` chunks of a frame.
    pub fn appended(count: usize, slots: &'a [ArrangedChunk<'a>]) -> Self {
        Self::Arrange {
            kept: count,
            slots,
            left: &[],
        }
    }

    /// The chunks that are added, replace others or are edited.
    pub fn items(&self) -> impl Iterator<Item = ChangedChunk<'a>> + use<'a> {
        let (one, items, slots): (_, &[(usize, ChangedChunk)], &[ArrangedChunk]) = match *self {
            Self::Append(item) | Self::Insert(_, item) => (Some(item), &[], &[]),
            Self::Update(items) => (None, items, &[]),
            Self::Arrange { slots, .. } => (None, &[], slots),
            _ => (None, &[], &[]),
        };
        let new = slots.iter().filter_map(|slot| match slot {
            ArrangedChunk::New(item) => Some(*item),
            ArrangedChunk::Old(_) | ArrangedChunk::Specials(..) => None,
        });
        let items = items.iter().map(|(_, item)| *item);
        one.into_iter().chain(items).chain(new)
    }

    /// Which checksums the frame has after the change, if it has `before` now.
    pub fn checksums(&self, before: ChecksumScope) -> ChecksumScope {
        let has = |item: ChangedChunk| match item {
            ChangedChunk::Stored(chunk) => chunk.header.has_checksums(),
            ChangedChunk::Special(_) | ChangedChunk::Edited(_) => true,
        };
        match before {
            ChecksumScope::All => before.with_chunk(self.items().all(has)),
            other => other,
        }
    }

    /// The number of chunks after the change, if there are `count` now.
    pub fn count(&self, count: usize) -> usize {
        match self {
            Self::Append(_) | Self::Insert(..) => count + 1,
            Self::Delete(_) => count.saturating_sub(1),
            Self::Arrange { kept, slots, .. } => {
                let counts = slots.iter().map(ArrangedChunk::count);
                counts.fold(*kept, usize::saturating_add)
            }
            Self::Nothing | Self::Update(_) | Self::Reorder(_) => count,
        }
    }

    /// Whether the positions in the change are possible in a frame of `count` chunks.
    pub fn fits(&self, count: usize) -> bool {
        match *self {
            Self::Nothing | Self::Append(_) => true,
            Self::Insert(nchunk, _) => nchunk <= count,
            Self::Update(items) => items.iter().all(|(nchunk, _)| *nchunk < count),
            Self::Delete(nchunk) => nchunk < count,
            Self::Reorder(order) => order.len() == count,
            Self::Arrange { kept, slots, left } => {
                let exists = |slot: &ArrangedChunk| !matches!(slot, ArrangedChunk::Old(from) if !(kept..count).contains(from));
                let goes = |from: &usize| (kept..count).contains(from);
                kept <= count && slots.iter().all(exists) && left.iter().all(goes)
            }
        }
    }

    /// Whether a list of the offsets after the change is in proportion to what they stand for, if
    /// these are the offsets before it.
    pub(super) fn stays_listable(&self, offsets: &Offsets) -> bool {
        let count = self.count(offsets.len());
        let adds_many = count > MAX_LISTED
            && matches!(self, Self::Arrange { slots, .. }
                if slots.iter().any(|slot| matches!(slot, ArrangedChunk::Specials(..))));
        let is_larger = || offsets.real().1 >= Some((count * size_of::<i64>()) as u64);
        offsets.is_listable() && (!adds_many || is_larger())
    }

    /// Checks that the change can be made to the chunks with these offsets.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for positions out of range.
    #[inline(never)]
    pub fn check(&self, offsets: &Offsets) -> Result<()> {
        match self.fits(offsets.len()) {
            true => Ok(()),
            false => Err(Error::INVALID_PARAM),
        }
    }

    /// Whether any chunk with bytes stays in a frame with these offsets.
    pub fn keeps_stored(&self, offsets: &Offsets) -> bool {
        let stored = |from: usize| offsets.get(from).is_some_and(|offset| offset >= 0);
        match *self {
            Self::Arrange { kept, slots, .. } => {
                let old = slots.iter().filter_map(|slot| match slot {
                    ArrangedChunk::Old(from) => Some(*from),
                    ArrangedChunk::New(_) | ArrangedChunk::Specials(..) => None,
                });
                offsets.has_stored_before(kept) || old.into_iter().any(stored)
            }
            _ => offsets.positions().next().is_some(),
        }
    }

    /// The old positions of the chunks whose bytes are not needed after the change.
    pub fn leaves(&self) -> impl Iterator<Item = usize> + use<'a> {
        let (one, items, left): (_, &[(usize, ChangedChunk)], &[usize]) = match *self {
            Self::Delete(nchunk) => (Some(nchunk), &[], &[]),
            Self::Update(items) => (None, items, &[]),
            Self::Arrange { left, .. } => (None, &[], left),
            _ => (None, &[], &[]),
        };
        let replaced = items.iter().filter(|(_, item)| !item.stays());
        let replaced = replaced.map(|(nchunk, _)| *nchunk);
        one.into_iter().chain(replaced).chain(left.iter().copied())
    }

    /// How `offsets` change if the new chunks get the offsets `new`, in the order of
    /// [`Self::items`].
    ///
    /// # Errors
    /// [`Error::DATA`] for more than [`MAX_CHUNKS`] chunks; [`Error::INVALID_PARAM`] or
    /// [`Error::DATA`] for positions out of range; [`Error::MEMORY_ALLOC`].
    pub fn delta(&self, offsets: &Offsets, new: &[i64]) -> Result<Delta> {
        let tail = |from: usize| offsets.iter().skip(from);
        let delta = match *self {
            Self::Nothing => Delta::Same,
            Self::Update(items) if items.iter().all(|(_, item)| item.stays()) => Delta::Same,
            Self::Append(_) => Delta::Push(new[0]),
            Self::Insert(nchunk, _) if !offsets.is_listable() => {
                Delta::Splice(nchunk, 0, [new[0]].into_iter().collect_vec()?)
            }
            Self::Delete(nchunk) if !offsets.is_listable() => {
                Delta::Splice(nchunk, 1, TryVec::new())
            }
            Self::Update(items) if !offsets.is_listable() => {
                let positions = items.iter().map(|(nchunk, _)| *nchunk);
                Delta::Sets(positions.zip(new.iter().copied()).collect_vec()?)
            }
            Self::Insert(nchunk, _) => Delta::From(
                nchunk,
                [new[0]].into_iter().chain(tail(nchunk)).collect_vec()?,
            ),
            Self::Update([(nchunk, _)]) => Delta::Set(*nchunk, new[0]),
            Self::Update(items) => {
                let first = items.iter().map(|(nchunk, _)| *nchunk).min().unwrap_or(0);
                let mut list: TryVec<i64> = tail(first).collect_vec()?;
                for ((nchunk, _), offset) in items.iter().zip(new) {
                    *list.get_mut(nchunk - first).ok_or(Error::INVALID_PARAM)? = *offset;
                }
                Delta::From(first, list)
            }
            Self::Delete(nchunk) => Delta::From(nchunk, tail(nchunk + 1).collect_vec()?),
            Self::Reorder(order) => {
                let offset = |from: &usize| offsets.get(*from).ok_or(Error::DATA);
                Delta::From(0, order.iter().map(offset).try_collect_vec()?)
            }
            Self::Arrange { kept, slots, .. } => {
                let same = |(i, slot): &(usize, &ArrangedChunk)| matches!(slot, ArrangedChunk::Old(from) if *from == kept + i);
                let first = slots.iter().enumerate().take_while(same).count();
                let mut new = new.iter();
                let mut offset = |slot: &ArrangedChunk| match slot {
                    ArrangedChunk::Old(from) => offsets.get(*from).ok_or(Error::DATA),
                    ArrangedChunk::New(_) => new.next().copied().ok_or(Error::DATA),
                    ArrangedChunk::Specials(kind, _) => Ok(special_offset(*kind)),
                };
                if self.count(offsets.len()) > MAX_CHUNKS {
                    return Err(Error::DATA);
                }
                let (from, slots) = (kept + first, &slots[first..]);
                // An empty frame that gets one kind of special chunks keeps one offset for all.
                let is_fill = offsets.is_empty() && matches!(slots, [ArrangedChunk::Specials(..)]);
                match self.stays_listable(offsets) && !is_fill {
                    true => {
                        let mut list = TryVec::new();
                        for slot in slots {
                            list.resize(list.len() + slot.count(), offset(slot)?)?;
                        }
                        Delta::From(from, list)
                    }
                    false => {
                        let mut runs = Runs::default();
                        for slot in slots {
                            let (first, step, count) = (offset(slot)?, 0, slot.count());
                            runs.push_span(Span { first, step, count })?;
                        }
                        Delta::Runs(from, runs)
                    }
                }
            }
        };
        if delta.count(offsets.len()) > MAX_CHUNKS {
            return Err(Error::DATA);
        }
        Ok(delta)
    }

    /// As [`Self::delta`], if special chunks get bytes before the change: `placed` has their
    /// positions and their new offsets.
    ///
    /// # Errors
    /// Those of [`Self::delta`].
    #[inline(never)]
    pub fn delta_with(
        &self,
        offsets: &Offsets,
        placed: impl ExactSizeIterator<Item = (usize, i64)>,
        new: &[i64],
    ) -> Result<Delta> {
        if placed.len() == 0 {
            return self.delta(offsets, new);
        }
        check_listable(offsets)?;
        let mut offsets = offsets.try_clone()?;
        let list = offsets.list_mut()?;
        for (nchunk, offset) in placed {
            *list.get_mut(nchunk).ok_or(Error::INVALID_PARAM)? = offset;
        }
        self.delta(&offsets, new)?.apply(&mut offsets)?;
        Ok(Delta::From(0, offsets.iter().collect_vec()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_do_to_offsets_what_they_say() {
        let item = ChangedChunk::Stored(EncodedChunk::NONE);
        let after = |change: Change| {
            let mut offsets = Offsets::List(vec![10, 20, 30].into());
            let delta = change.delta(&offsets, &[99, 98]).unwrap();
            let count = delta.count(3);
            delta.apply(&mut offsets).unwrap();
            assert_eq!(offsets.len(), count);
            offsets.iter().collect::<Vec<_>>()
        };
        assert_eq!(after(Change::Nothing), [10, 20, 30]);
        assert_eq!(after(Change::Append(item)), [10, 20, 30, 99]);
        assert_eq!(after(Change::Insert(1, item)), [10, 99, 20, 30]);
        assert_eq!(after(Change::Insert(3, item)), [10, 20, 30, 99]);
        assert_eq!(after(Change::Update(&[(1, item)])), [10, 99, 30]);
        assert_eq!(after(Change::Update(&[(2, item), (1, item)])), [10, 98, 99]);
        assert_eq!(after(Change::Update(&[])), [10, 20, 30]);
        let edited = ChangedChunk::Edited(&[]);
        assert_eq!(after(Change::Update(&[(1, edited)])), [10, 20, 30]);
        assert_eq!(
            Change::Update(&[(1, edited), (2, item)])
                .leaves()
                .collect::<Vec<_>>(),
            [2]
        );
        assert_eq!(after(Change::Delete(0)), [20, 30]);
        assert_eq!(after(Change::Reorder(&[2, 0, 1])), [30, 10, 20]);
        let arrange = |kept: usize, slots: &[ArrangedChunk], left: &[usize]| {
            after(Change::Arrange { kept, slots, left })
        };
        let (new, old) = (ArrangedChunk::New(item), ArrangedChunk::Old);
        assert_eq!(
            arrange(0, &[old(0), new, old(2), new], &[1]),
            [10, 99, 30, 98]
        );
        assert_eq!(arrange(1, &[new, old(2), new], &[1]), [10, 99, 30, 98]);
        assert_eq!(arrange(1, &[old(1), old(2), new], &[]), [10, 20, 30, 99]);
        assert_eq!(arrange(3, &[new, new], &[]), [10, 20, 30, 99, 98]);
        assert_eq!(arrange(0, &[old(0), old(1)], &[2]), [10, 20]);
        assert_eq!(arrange(2, &[], &[2]), [10, 20]);
        assert!(arrange(0, &[], &[0, 1, 2]).is_empty());
        let slots = [old(3)];
        let named = |kept| Change::Arrange {
            kept,
            slots: &slots,
            left: &[],
        };
        assert!(named(0).fits(4) && named(3).fits(4) && !named(0).fits(3));
        // A chunk that is kept is neither moved nor removed.
        assert!(!named(4).fits(5));
        let removed = Change::Arrange {
            kept: 2,
            slots: &[],
            left: &[1],
        };
        assert!(!removed.fits(2));
        let zeros = i64::MIN | 1 << 56;
        let two = ArrangedChunk::Specials(Special::Zero, 2);
        assert_eq!(arrange(0, &[two], &[0, 1, 2]), [zeros; 2]);
        assert_eq!(
            arrange(1, &[two, new, two, old(2)], &[1]),
            [10, zeros, zeros, 99, zeros, zeros, 30]
        );
        let alike = |count| Offsets::Repeated { offset: -1, count };
        let check = |change: Change, count| change.check(&alike(count));
        assert_eq!(check(Change::Delete(0), 100), Ok(()));
        assert_eq!(check(Change::Delete(100), 100), Err(Error::INVALID_PARAM));
    }

    /// A few chunks with bytes among very many without.
    #[test]
    fn very_many_offsets_are_changed_as_runs() {
        let zeros = i64::MIN | 1 << 56;
        let count = 200_000_000;
        let mut offsets = Offsets::Repeated {
            offset: zeros,
            count,
        };
        assert_eq!(check_listable(&offsets), Err(Error::MAX_BUFSIZE_EXCEEDED));
        let item = ChangedChunk::Stored(EncodedChunk::NONE);
        let mut change = |change: Change, new: &[i64]| {
            assert_eq!(change.check(&offsets), Ok(()));
            let delta = change.delta(&offsets, new).unwrap();
            let after = delta.count(offsets.len());
            delta.reserve(&mut offsets).unwrap();
            delta.apply(&mut offsets).unwrap();
            assert_eq!(offsets.len(), after);
            offsets.try_clone().unwrap()
        };
        change(Change::Append(item), &[7]);
        change(Change::Insert(1_000_000, item), &[100]);
        change(Change::Update(&[(5, item), (6, item)]), &[200, 300]);
        change(Change::Delete(4), &[]);
        let slots = [ArrangedChunk::New(item), ArrangedChunk::Old(count)];
        let left = [count - 1, count - 2];
        let arranged = Change::Arrange {
            kept: count - 2,
            slots: &slots,
            left: &left,
        };
        change(arranged, &[400]);
        let many = [
            ArrangedChunk::Specials(Special::Nan, 1 << 25),
            ArrangedChunk::New(item),
        ];
        let after = change(Change::appended(count, &many), &[500]);
        assert!(matches!(after, Offsets::Runs(_)));
        assert_eq!(after.len(), count + (1 << 25) + 1);
        assert_eq!(after.get(count), Some(special_offset(Special::Nan)));
        let found = |at: usize| after.get(at).unwrap();
        assert_eq!(
            [4, 5, 999_999, count - 2, count - 1].map(found),
            [200, 300, 100, 400, 7]
        );
        assert_eq!([0, 3, 6, 1_000_000, count - 3].map(found), [zeros; 5]);
        assert_eq!(
            after.positions().collect::<Vec<_>>(),
            [200, 300, 100, 400, 7, 500]
        );
        assert!(after.has_stored_before(5) && !after.has_stored_before(4));
    }

    #[test]
    fn many_offsets_are_listed_if_their_chunks_have_bytes() {
        let runs = |count| Offsets::Runs(Runs::rising(count).unwrap());
        let few = MAX_LISTED;
        // Chunks of 40 bytes each.
        let mut apart = Runs::default();
        for nchunk in 0..few as i64 + 1 {
            apart.push(40 * nchunk).unwrap();
        }
        let apart = Offsets::Runs(apart);
        assert_eq!(check_listable(&runs(few)), Ok(()));
        let refused = check_listable(&runs(few + 1));
        assert_eq!(refused, Err(Error::MAX_BUFSIZE_EXCEEDED));
        assert_eq!(check_listable(&apart), Ok(()));
    }
}
