//! Keeps up what binds the chunks to their places: see [`binding`](crate::binding).

use super::Disk;
use super::edit::ChunkChange;
use super::stored::Stored;
use crate::binding::{Binding, sum_of};
use crate::change::{Change, ChangedChunk};
use crate::header::FrameKind;
use crate::offsets::ChunkPosition;
use oxiblosc_base::memory::{Collect, Edit};
use oxiblosc_base::{Doing, Error, Result};
use oxiblosc_chunk::checksum::prefix_sum;
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};

/// The checksum of a chunk's front after some edits, if it is right.
fn sum_after(stored: &Stored, edits: &[Edit]) -> Result<Option<u32>> {
    let read = |at: usize, buf: &mut [u8]| {
        stored.read(at as u64, buf)?;
        for edit in edits {
            let from = edit.at.max(at);
            let to = (edit.at + edit.new.len()).min(at + buf.len());
            if from < to {
                buf[from - at..to - at].copy_from_slice(&edit.new[from - edit.at..to - edit.at]);
            }
        }
        Ok(())
    };
    if edits.is_empty() {
        return prefix_sum(&stored.header()?, read);
    }
    let mut prefix = [0; EXTENDED_HEADER_LENGTH];
    read(0, &mut prefix)?;
    let header = ChunkHeader::parse(&prefix)?;
    match header.cbytes as u64 <= stored.max_len {
        true => prefix_sum(&header, read),
        false => Err(Error::INVALID_HEADER),
    }
}

impl Disk {
    /// The checksum of the front of the chunk at a place.
    pub(super) fn sum_at(&mut self, pos: u64) -> Result<Option<u32>> {
        sum_after(&self.chunk_at(pos)?, &[])
    }

    /// The chunk in a file, or in the part of the file, that the index calls this place.
    fn chunk_at(&mut self, pos: u64) -> Result<Stored> {
        match self.location.kind {
            FrameKind::Contiguous => self.stored_at(pos),
            FrameKind::Sparse => self.stored_apart(pos),
        }
    }

    /// What binds the chunks as they lie now.
    pub(super) fn bound(&mut self) -> Result<Binding> {
        let mut bound = Binding::EMPTY;
        for pos in self.view.offsets.positions().collect_vec()? {
            bound.add(pos, self.sum_at(pos)?);
        }
        Ok(bound)
    }

    /// Whether each chunk is known to be where it belongs, and to be the newest there. It is not
    /// where another handle changes the frame meanwhile.
    ///
    /// # Errors
    /// [`Error::DATA`] if one is not; [`Error::INVALID_HEADER`] if one is damaged, which tells
    /// nothing of the others; those of reading.
    pub fn check_places(&mut self) -> Result<bool> {
        let Some(binding) = self.view.binding else {
            return Ok(false);
        };
        match self.bound()? == binding {
            true => Ok(true),
            false if self.is_current() => Err(Error::DATA.at(Doing::CheckPlaces)),
            false => Ok(false),
        }
    }

    /// What binds the chunks after a change that gives the new `chunks` these places. None if that
    /// is unknown, also since a chunk that goes is damaged.
    pub(super) fn binding_after(
        &mut self,
        ChunkChange { change, leaves, .. }: ChunkChange,
        (chunks, positions): (&[EncodedChunk], &[u64]),
    ) -> Option<Binding> {
        if !self.view.checksums.is_any() {
            return None;
        }
        let rebound = self.rebound.take();
        let before = match self.view.offsets.is_empty() {
            true => Some(Binding::EMPTY),
            false => rebound.or(self.view.binding),
        };
        let mut binding = before?;
        for (pos, _) in leaves {
            binding.remove(*pos, self.sum_at(*pos).ok()?);
        }
        for (chunk, pos) in chunks.iter().zip(positions) {
            binding.add(*pos, sum_of(chunk).ok()?);
        }
        let Change::Update(items) = change else {
            return Some(binding);
        };
        for (nchunk, item) in *items {
            if let ChangedChunk::Edited(edits) = item {
                let ChunkPosition::At(pos) = self.view.offsets.position(*nchunk).ok()? else {
                    return None;
                };
                let stored = self.chunk_at(pos).ok()?;
                let (old, new) = (sum_after(&stored, &[]), sum_after(&stored, edits));
                binding = binding.replace((pos, old.ok()?), (pos, new.ok()?));
            }
        }
        Some(binding)
    }
}
