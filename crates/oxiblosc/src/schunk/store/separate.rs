//! Chunks in memory, each in a buffer of its own.

use oxiblosc_base::memory::{Buffer, Edit, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::change::{ArrangedChunk, Change, ChangedChunk};

/// The chunks.
#[derive(Default)]
pub struct SeparateChunks(TryVec<Buffer>);

impl From<TryVec<Buffer>> for SeparateChunks {
    fn from(chunks: TryVec<Buffer>) -> Self {
        Self(chunks)
    }
}

impl SeparateChunks {
    /// No chunks.
    pub const EMPTY: Self = Self(TryVec::new());

    /// How many there are.
    pub fn nchunks(&self) -> usize {
        self.0.len()
    }

    /// A chunk.
    #[inline(always)]
    pub fn get(&self, nchunk: usize) -> Option<&Buffer> {
        self.0.get(nchunk)
    }

    /// A chunk.
    pub fn get_mut(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        self.0.get_mut(nchunk)
    }

    /// Allocates what [`Self::edit`] needs.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; [`Error::MEMORY_ALLOC`].
    pub fn prepare_edit(&mut self, nchunk: usize, edits: &[Edit]) -> Result<()> {
        let more: usize = edits.iter().map(|edit| edit.new.len()).sum();
        let less: usize = edits.iter().map(|edit| edit.len).sum();
        let chunk = self.0.get_mut(nchunk).ok_or(Error::INVALID_PARAM)?;
        chunk.reserve(more.saturating_sub(less))
    }

    /// Edits a chunk.
    ///
    /// # Errors
    /// As for [`Self::prepare_edit`]; none after that has succeeded.
    pub fn edit(&mut self, nchunk: usize, edits: &[Edit]) -> Result<()> {
        let chunk = self.0.get_mut(nchunk).ok_or(Error::INVALID_PARAM)?;
        chunk.edit(edits)
    }

    /// Applies a change. If `new` is given, it has the new chunks, which are moved into the list;
    /// otherwise they are copied. If this fails, nothing has changed, and `new` still has them.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for a change that does not fit the chunks, [`Error::FAILURE`] for a
    /// new chunk without bytes, and if there are more than in `new`; [`Error::MEMORY_ALLOC`].
    pub fn commit(&mut self, change: &Change, new: Option<&mut TryVec<Buffer>>) -> Result<()> {
        if let Some(new) = new {
            return self.apply(change, new);
        }
        let mut copies = TryVec::new();
        for item in change.items() {
            match item {
                ChangedChunk::Stored(chunk) => copies.push(Buffer::copy_of(chunk.bytes)?)?,
                ChangedChunk::Special(_) | ChangedChunk::Edited(_) => return Err(Error::FAILURE),
            }
        }
        self.apply(change, &mut copies)
    }

    fn apply(&mut self, change: &Change, new: &mut TryVec<Buffer>) -> Result<()> {
        let chunks = &mut self.0;
        // Only frames have chunks without bytes.
        let is_special = |slot: &ArrangedChunk| matches!(slot, ArrangedChunk::Specials(..));
        let specials =
            matches!(change, Change::Arrange { slots, .. } if slots.iter().any(is_special));
        if specials || !change.fits(chunks.len()) {
            return Err(Error::INVALID_PARAM);
        }
        chunks.reserve(new.len())?;
        match change {
            Change::Nothing => {}
            Change::Append(_) => new
                .drain(..)
                .for_each(|chunk| chunks.push_within_capacity(chunk)),
            Change::Insert(nchunk, _) => {
                for chunk in new.drain(..) {
                    chunks.insert(*nchunk, chunk)?;
                }
            }
            Change::Update(items) => {
                if items.len() > new.len() {
                    return Err(Error::FAILURE);
                }
                for ((nchunk, _), chunk) in items.iter().zip(new.drain(..)) {
                    chunks[*nchunk] = chunk;
                }
            }
            Change::Delete(nchunk) => drop(chunks.remove(*nchunk)),
            Change::Arrange { kept, slots, .. } => {
                let mut old = take_behind(chunks, *kept, slots.len())?;
                let mut new = new.drain(..);
                let chunk = |slot: &ArrangedChunk| match slot {
                    ArrangedChunk::Old(from) => old[*from - kept].take(),
                    ArrangedChunk::New(_) => new.next(),
                    ArrangedChunk::Specials(..) => None,
                };
                let arranged = slots.iter().filter_map(chunk);
                arranged.for_each(|chunk| chunks.push_within_capacity(chunk));
            }
            Change::Reorder(order) => {
                let mut old = take_behind(chunks, 0, order.len())?;
                // `Change::fits` made sure that there is an index for every chunk, and the caller
                // that no index is there twice.
                let reordered = order.iter().filter_map(|from| old[*from].take());
                reordered.for_each(|chunk| chunks.push_within_capacity(chunk));
            }
        }
        Ok(())
    }
}

/// Takes all chunks behind the first `kept` out of the list, and makes room for `count` behind
/// those, so that putting them back cannot fail.
fn take_behind(
    chunks: &mut TryVec<Buffer>,
    kept: usize,
    count: usize,
) -> Result<TryVec<Option<Buffer>>> {
    let behind = chunks.len() - kept;
    let mut old = TryVec::with_capacity(behind)?;
    chunks.reserve(count.saturating_sub(behind))?;
    for chunk in chunks.drain(kept..) {
        old.push_within_capacity(Some(chunk));
    }
    Ok(old)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_chunk::encoded::EncodedChunk;
    use oxiblosc_chunk::header::{ChunkHeader, Special};

    fn buffer(byte: u8) -> Buffer {
        Buffer::copy_of(&[byte]).expect("memory")
    }

    fn chunks(bytes: &[u8]) -> SeparateChunks {
        let buffers: Vec<Buffer> = bytes.iter().map(|byte| buffer(*byte)).collect();
        TryVec::from(buffers).into()
    }

    fn bytes(chunks: &SeparateChunks) -> Vec<u8> {
        (0..chunks.nchunks())
            .filter_map(|nchunk| chunks.get(nchunk).map(|chunk| chunk[0]))
            .collect()
    }

    fn stored(bytes: &[u8]) -> ChangedChunk<'_> {
        let header = ChunkHeader::EMPTY;
        ChangedChunk::Stored(EncodedChunk { bytes, header })
    }

    #[test]
    fn changes_are_made_with_moved_and_with_copied_chunks() {
        let new = stored(&[9]);
        let slots = [
            ArrangedChunk::Old(2),
            ArrangedChunk::New(new),
            ArrangedChunk::Old(1),
        ];
        let arrange = Change::Arrange {
            kept: 1,
            slots: &slots,
            left: &[],
        };
        let update = [(1, new)];
        for (change, expected, count) in [
            (Change::Nothing, &[0, 1, 2][..], 0),
            (Change::Append(new), &[0, 1, 2, 9], 1),
            (Change::Insert(1, new), &[0, 9, 1, 2], 1),
            (Change::Update(&update), &[0, 9, 2], 1),
            (Change::Delete(1), &[0, 2], 0),
            (arrange, &[0, 2, 9, 1], 1),
            (Change::Reorder(&[2, 0, 1]), &[2, 0, 1], 0),
        ] {
            let mut copied = chunks(&[0, 1, 2]);
            copied.commit(&change, None).expect("fits");
            assert_eq!(bytes(&copied), expected);
            let mut moved = chunks(&[0, 1, 2]);
            let mut owned: TryVec<Buffer> =
                (0..count).map(|_| buffer(9)).collect::<Vec<_>>().into();
            moved.commit(&change, Some(&mut owned)).expect("fits");
            assert_eq!((bytes(&moved), owned.len()), (expected.to_vec(), 0));
        }
    }

    #[test]
    fn a_change_that_fails_leaves_the_chunks_to_both_sides() {
        let specials = [ArrangedChunk::Specials(Special::Zero, 1)];
        let update = [(0, stored(&[])), (1, stored(&[]))];
        for (change, error) in [
            (Change::Delete(3), Error::INVALID_PARAM),
            (Change::appended(3, &specials), Error::INVALID_PARAM),
            (Change::Update(&update), Error::FAILURE),
        ] {
            let mut list = chunks(&[0, 1, 2]);
            let mut owned: TryVec<Buffer> = vec![buffer(9)].into();
            assert_eq!(list.commit(&change, Some(&mut owned)), Err(error));
            assert_eq!((bytes(&list), owned.len()), (vec![0, 1, 2], 1));
        }
        let special = Change::Append(ChangedChunk::Special(Special::Zero));
        assert_eq!(chunks(&[]).commit(&special, None), Err(Error::FAILURE));
    }
}
