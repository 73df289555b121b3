//! Where chunks go that come into a frame, and what becomes of the room of those that leave it.

use super::{Disk, Found};
use crate::chunk::header::EXTENDED_HEADER_LENGTH;
use crate::error::{Error, Result};
use crate::frame::change::{Change, Item};
use crate::frame::header::Kind;
use crate::frame::journal::Patch;
use crate::frame::offsets::{Offsets, Place};
use crate::frame::space::Space;
use crate::io::{Mode, paths};

/// With more chunks than this, nobody looks for room between them.
const MOST_SURVEYED: usize = 1 << 16;
/// Behind a chunk that was changed, room is left for one byte in so many; not for chunks of fewer bytes than that.
const TAIL: u64 = 8;
const MIN_TAILED: u64 = 4 << 10;

/// How many bytes to leave free behind a chunk of `len` bytes that comes in the place of another: chunks that were changed
/// once are often changed again.
pub(super) fn tail_of(change: &Change, len: u64) -> u64 {
    match change {
        Change::Update(_) if len >= MIN_TAILED => len / TAIL,
        _ => 0,
    }
}

/// Bytes of a chunk: where the chunk begins, from the end of the header; where in it they begin; and what they are.
pub(super) type Piece<'a> = (u64, u64, &'a [u8]);

impl Disk {
    /// The bytes that edits of chunks overwrite. What comes behind chunks is added to `pieces`, in room that is taken for it.
    pub(super) fn grow<'a>(
        &mut self,
        change: &Change<'a>,
        pieces: &mut Vec<Piece<'a>>,
    ) -> Result<Vec<Patch>> {
        let mut over = Vec::new();
        let Change::Update(items) = *change else {
            return Ok(over);
        };
        let header_len = u64::from(self.view.extent.header_len);
        for (nchunk, item) in items {
            let Item::Edited(edits) = *item else {
                continue;
            };
            let Place::At(place) = self.view.offsets.place(*nchunk)? else {
                return Err(Error::InvalidParam);
            };
            for edit in edits {
                let (at, new) = (edit.at as u64, &edit.new[..]);
                if edit.len == new.len() {
                    over.push(Patch {
                        pos: header_len + place + at,
                        bytes: new.to_vec(),
                    });
                    continue;
                }
                let writer = self.writer.as_mut().ok_or(Error::Failure)?;
                if edit.len != 0 || !writer.space.grow(place, at, new.len() as u64) {
                    return Err(Error::InvalidParam);
                }
                pieces.push((place, at, new));
            }
        }
        Ok(over)
    }

    /// Finds places for chunks. In a sparse frame, whose chunks will have `cbytes` bytes, writes them.
    pub(super) fn place(
        &mut self,
        change: &Change,
        chunks: &[&[u8]],
        cbytes: u64,
    ) -> Result<Vec<u64>> {
        let room = self.index_pos() - u64::from(self.view.extent.header_len);
        if self.kind == Kind::Contiguous {
            let writer = self.writer.as_mut().ok_or(Error::Failure)?;
            let mut places = Vec::new();
            for chunk in chunks {
                let len = chunk.len() as u64;
                let tail = tail_of(change, len);
                let place = writer.space.find(len + tail, room);
                let place = place.ok_or(Error::Failure)?;
                writer.space.take_with_tail(place, len, tail);
                places.push(place);
            }
            return Ok(places);
        }
        let known = self.writer.as_ref().and_then(|writer| writer.next_number);
        let first = known.unwrap_or_else(|| {
            let last = self.view.offsets.places().max();
            last.map_or(0, |number| number.saturating_add(1))
        });
        let places = self.numbers(first, chunks.len(), cbytes);
        let mut made = 0;
        let written = chunks.iter().zip(&places).try_for_each(|(chunk, number)| {
            let path = self.chunk_path(*number)?;
            made += 1;
            let storage = self.options.backend.open(&path, Mode::Create)?;
            storage.write_at(0, chunk)?;
            if self.options.durable {
                storage.sync()?;
            }
            Ok(())
        });
        let synced = match written {
            Ok(()) if self.options.durable && !places.is_empty() => paths::sync_dir(&self.path),
            other => other,
        };
        if let Err(error) = synced {
            self.remove_files(&places[..made]);
            return Err(error);
        }
        if let Some(writer) = &mut self.writer {
            let behind = places.iter().map(|number| number + 1);
            writer.next_number = behind.chain([first]).max();
        }
        Ok(places)
    }

    /// Numbers for new files: those behind the last one, as long as the reference takes them for offsets that can be, and
    /// then the lowest that are free.
    fn numbers(&self, first: u64, count: usize, cbytes: u64) -> Vec<u64> {
        let most = cbytes.saturating_sub(EXTENDED_HEADER_LENGTH as u64);
        if first + count as u64 <= most {
            return (first..).take(count).collect();
        }
        let mut used: Vec<u64> = self.view.offsets.places().collect();
        used.sort_unstable();
        let free = (0..).filter(|number| used.binary_search(number).is_err());
        free.take(count).collect()
    }

    /// The reference checks the numbers of a directory's files as if they were offsets among so many bytes of chunks. Where
    /// chunks left such that it would refuse what stays, files of low numbers take the places of those.
    pub(super) fn lower_numbers(&mut self) -> Result<()> {
        let most = (self.view.extent.cbytes).saturating_sub(EXTENDED_HEADER_LENGTH as u64);
        let is_high = |offset: i64| u64::try_from(offset).is_ok_and(|number| number > most);
        let offsets = self.view.offsets.iter().enumerate();
        let high = offsets.filter(|(_, offset)| is_high(*offset));
        let mut chunks = Vec::new();
        for nchunk in high.map(|(nchunk, _)| nchunk).collect::<Vec<_>>() {
            if let Found::Stored(stored) = self.find(nchunk)? {
                chunks.push((nchunk, stored.whole()?));
            }
        }
        if chunks.is_empty() {
            return Ok(());
        }
        let items: Vec<(usize, Item)> = chunks
            .iter()
            .map(|(nchunk, chunk)| (*nchunk, Item::Stored(chunk)))
            .collect();
        self.change(&Change::Update(&items), &[], self.unchanged())
    }

    pub(super) fn unplace(&mut self, chunks: &[&[u8]], places: &[u64]) {
        match self.kind {
            Kind::Contiguous => {
                for (chunk, place) in chunks.iter().zip(places) {
                    if let Some(writer) = &mut self.writer {
                        writer.space.give(*place, chunk.len() as u64);
                    }
                }
            }
            Kind::Sparse => {
                self.remove_files(places);
                self.forget_next(!places.is_empty());
            }
        }
    }

    /// Looks for the next number again if chunks `are_gone`.
    fn forget_next(&mut self, are_gone: bool) {
        if let Some(writer) = self.writer.as_mut().filter(|_| are_gone) {
            writer.next_number = None;
        }
    }

    fn remove_files(&self, numbers: &[u64]) {
        for number in numbers {
            if let Ok(path) = self.chunk_path(*number) {
                // A file that stays is in nobody's index.
                let _ = paths::remove_file(&path);
            }
        }
    }

    /// The places that the change leaves empty, and their bytes.
    pub(super) fn leaves(&mut self, change: &Change) -> Result<Vec<(u64, u64)>> {
        let mut left = Vec::new();
        for nchunk in change.leaves() {
            let Place::At(place) = self.view.offsets.place(nchunk)? else {
                continue;
            };
            if self.kind == Kind::Sparse {
                left.push((place, 0));
                continue;
            }
            self.survey()?;
            // The room of a chunk that cannot be read is not used again.
            if let Ok(header) = self.stored_at(place)?.header() {
                left.push((place, header.cbytes as u64));
            }
        }
        Ok(left)
    }

    /// Learns where chunks lie, so that the room of those that go can be used again.
    fn survey(&mut self) -> Result<()> {
        let surveyed = self.writer.as_ref().is_none_or(|writer| writer.surveyed);
        let Offsets::List(list) = &self.view.offsets else {
            return Ok(());
        };
        if surveyed || list.len() > MOST_SURVEYED {
            return Ok(());
        }
        let places: Vec<u64> = self.view.offsets.places().collect();
        let mut chunks = Vec::with_capacity(places.len());
        for place in places {
            match self.stored_at(place)?.header() {
                Ok(header) => chunks.push((place, header.cbytes as u64)),
                Err(_) => return Ok(()),
            }
        }
        if let Some(writer) = &mut self.writer {
            writer.space = Space::around(chunks);
            writer.surveyed = true;
        }
        Ok(())
    }

    pub(super) fn drop_left(&mut self, left: &[(u64, u64)]) {
        self.forget_next(!left.is_empty());
        for (place, len) in left {
            match (self.kind, &mut self.writer) {
                (Kind::Contiguous, Some(writer)) => writer.space.give(*place, *len),
                (Kind::Contiguous, None) => {}
                // Several offsets may name one file, though no frame that was written here does that.
                (Kind::Sparse, _) => {
                    if !self.view.offsets.places().any(|other| other == *place) {
                        self.remove_files(&[*place]);
                    }
                }
            }
        }
    }
}
