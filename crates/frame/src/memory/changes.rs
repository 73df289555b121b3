//! Changes of a frame in a buffer.

use super::Memory;
use crate::change::{Change, ChangedChunk, Delta};
use crate::offsets::{ChunkPosition, special_offset};
use crate::replace::{Replaced, Replacement};
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checked::CheckedChunks;

impl Memory {
    /// Applies a change, and sets header and trailer (none: it stays); see
    /// [`Disk::commit`](crate::disk::Disk::commit). If it fails, the frame is as it was.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the header changes its length, though chunks with bytes stay;
    /// those of [`Change::check`] and [`Change::delta`]; [`Error::MEMORY_ALLOC`].
    pub fn commit(
        &mut self,
        change: &Change,
        specials: &[(usize, TryVec<u8>)],
        header: TryVec<u8>,
        trailer: Option<TryVec<u8>>,
    ) -> Result<()> {
        if header.len() != self.header_len && change.keeps_stored(&self.offsets) {
            return Err(Error::INVALID_PARAM);
        }
        change.check(&self.offsets)?;
        self.forget_checked(change, specials);
        let new: usize = change.items().map(|item| item_len(&item)).sum();
        let stored: usize = specials.iter().map(|(_, chunk)| chunk.len()).sum();
        // Everything that can fail is done before anything changes.
        self.open_end()?
            .reserve_to_grow(new + stored + header.len())?;
        for nchunk in change.leaves() {
            self.stored_len(nchunk)?;
        }
        if let Change::Update(items) = change
            && self.offsets.is_listable()
        {
            let over = self.replaced(items)?;
            if !specials.is_empty() || !items.is_empty() {
                self.offsets.list_mut()?;
            }
            for (nchunk, chunk) in specials {
                let at = self.put(chunk)?;
                Delta::Set(*nchunk, at).apply(&mut self.offsets)?;
            }
            self.loose = true;
            self.update(items, over)?;
        } else {
            let mut delta = self.delta(change, specials)?;
            let runs =
                match change.stays_listable(&self.offsets) && !matches!(delta, Delta::Runs(..)) {
                    true => {
                        delta.reserve(&mut self.offsets)?;
                        None
                    }
                    false => {
                        let mut runs = self.offsets.try_clone()?;
                        std::mem::replace(&mut delta, Delta::Same).apply(&mut runs)?;
                        Some(runs)
                    }
                };
            self.loose |= matches!(change, Change::Update(_));
            for (_, chunk) in specials {
                self.put(chunk)?;
            }
            for item in change.items() {
                if let ChangedChunk::Stored(chunk) = item {
                    self.put(chunk.bytes)?;
                }
            }
            match runs {
                Some(runs) => self.offsets = runs,
                None => delta.apply(&mut self.offsets)?,
            }
        }
        self.forget_shared();
        if self.offsets.is_empty() {
            self.data_len = 0;
            self.open_end()?;
        }
        self.set_header(&header)?;
        self.checksums = change.checksums(self.checksums);
        if let Some(trailer) = trailer {
            self.trailer = trailer;
        }
        Ok(())
    }

    /// Forgets which checksums were compared, for chunks that a change replaces or moves. If the
    /// change fails, they are only compared again.
    fn forget_checked(&mut self, change: &Change, specials: &[(usize, TryVec<u8>)]) {
        match change {
            Change::Nothing if specials.is_empty() => {}
            Change::Append(_) if specials.is_empty() => self.checked.append(),
            Change::Update(items) if specials.is_empty() => {
                (items.iter()).for_each(|(nchunk, _)| self.checked.forget(*nchunk));
            }
            Change::Arrange { kept, .. } if specials.is_empty() => {
                let count = change.count(self.offsets.len());
                self.checked.forget_from(*kept, count);
            }
            _ => self.checked = CheckedChunks::default(),
        }
    }

    /// How the offsets change if the chunks of `specials`, and then the new ones, are appended to
    /// the others.
    fn delta(&self, change: &Change, specials: &[(usize, TryVec<u8>)]) -> Result<Delta> {
        let mut end = self.data_len;
        let mut next = |len: usize| {
            let at = end as i64;
            end += len;
            at
        };
        let placed = specials
            .iter()
            .map(|(nchunk, chunk)| (*nchunk, next(chunk.len())))
            .collect_vec()?;
        let new = change.items().map(|item| match item {
            ChangedChunk::Stored(chunk) => Ok(next(chunk.bytes.len())),
            ChangedChunk::Special(kind) => Ok(special_offset(kind)),
            ChangedChunk::Edited(_) => Err(Error::INVALID_PARAM),
        });
        let new = new.try_collect_vec()?;
        change.delta_with(&self.offsets, placed.iter().copied(), &new)
    }

    /// Writes a chunk behind the others. Returns its offset.
    fn put(&mut self, chunk: &[u8]) -> Result<i64> {
        self.open_end()?.extend(chunk)?;
        let at = self.data_len as i64;
        self.data_len += chunk.len();
        Ok(at)
    }

    /// The chunks that are replaced in their places. None if any shares bytes with another chunk:
    /// then the new chunks are written behind the others.
    fn replaced<'a>(
        &mut self,
        items: &[(usize, ChangedChunk<'a>)],
    ) -> Result<Option<Replacement<'a>>> {
        let mut over = TryVec::with_capacity(items.len())?;
        for (nchunk, item) in items {
            let ChunkPosition::At(pos) = self.offsets.position(*nchunk)? else {
                continue;
            };
            if !self.is_alone(*nchunk)? {
                return Ok(None);
            }
            over.push_within_capacity(Replaced {
                at: pos as usize,
                len: self.stored_len(*nchunk)?,
                new: match item {
                    ChangedChunk::Stored(chunk) => chunk.bytes,
                    ChangedChunk::Special(_) => &[],
                    ChangedChunk::Edited(_) => return Err(Error::INVALID_PARAM),
                },
            });
        }
        Replacement::new(over)
    }

    /// Replaces chunks in their places. Those without a place, and all if `over` is none, are
    /// written behind the last chunk.
    fn update(&mut self, items: &[(usize, ChangedChunk)], over: Option<Replacement>) -> Result<()> {
        let in_place = over.is_some();
        let (header_len, data_len) = (self.header_len, self.data_len);
        if let Some(over) = over {
            self.open_end()?;
            if let Some(buffer) = self.bytes.owned_mut() {
                self.data_len = over.apply(buffer, header_len, data_len, &mut self.offsets)?;
            }
        }
        for (nchunk, item) in items {
            let has_position = matches!(self.offsets.position(*nchunk)?, ChunkPosition::At(_));
            let offset = match item {
                ChangedChunk::Stored(_) if in_place && has_position => continue,
                ChangedChunk::Stored(chunk) => self.put(chunk.bytes)?,
                ChangedChunk::Special(kind) => special_offset(*kind),
                ChangedChunk::Edited(_) => return Err(Error::INVALID_PARAM),
            };
            Delta::Set(*nchunk, offset).apply(&mut self.offsets)?;
        }
        Ok(())
    }

    fn set_header(&mut self, header: &[u8]) -> Result<()> {
        let old = self.header_len;
        if let Some(buffer) = self.bytes.owned_mut() {
            if header.len() == old {
                buffer[..old].copy_from_slice(header);
            } else {
                replace(buffer, 0, old, header)?;
                self.header_len = header.len();
            }
        }
        Ok(())
    }
}

fn item_len(item: &ChangedChunk) -> usize {
    match item {
        ChangedChunk::Stored(chunk) => chunk.bytes.len(),
        ChangedChunk::Special(_) | ChangedChunk::Edited(_) => 0,
    }
}

/// Replaces `len` bytes at `at` by `new`, and moves the bytes behind them if the lengths differ.
fn replace(buffer: &mut Buffer, at: usize, len: usize, new: &[u8]) -> Result<()> {
    let end = buffer.len();
    if new.len() > len {
        buffer.resize(end + new.len() - len)?;
    }
    if new.len() != len {
        buffer.copy_within(at + len..end, at + new.len());
        buffer.resize(end + new.len() - len)?;
    }
    buffer[at..at + new.len()].copy_from_slice(new);
    Ok(())
}
