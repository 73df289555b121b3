//! Closing the holes that replaced and deleted chunks left between others.
//!
//! Chunks behind the first hole are copied behind all others, and the index is changed; then they are copied back, one
//! behind the other, and the index is changed again. Each copy goes where nothing is that counts, so that the frame is
//! whole all the time.

use super::Disk;
use crate::error::{Error, Result};
use crate::frame::change::Delta;
use crate::frame::header::Kind;
use crate::frame::space::Space;
use crate::io::Storage;

/// Copying so many bytes is not worth a thought.
const CHEAP: u64 = 4 << 20;
/// More than that is copied only where it gains at least one byte in so many.
const WORTH: u64 = 3;
/// Bytes that are copied at once.
const PIECE: usize = 1 << 20;

/// What closing the holes would do.
pub(super) struct Closing {
    /// The first hole.
    first: u64,
    /// Behind the last chunk, before.
    end: u64,
    /// Bytes of all holes.
    pub(super) gain: u64,
}

/// A chunk that moves: its number, where it is, its bytes.
type Moving = (usize, u64, u64);

impl Disk {
    /// What closing the holes would do, if that is worth it.
    pub(super) fn closing(&self) -> Option<Closing> {
        let writer = self.writer.as_ref().filter(|writer| writer.surveyed)?;
        let (first, gain) = writer.space.holes()?;
        let end = writer.space.end();
        let worth = self.kind == Kind::Contiguous && end - first <= CHEAP.max(gain * WORTH);
        worth.then_some(Closing { first, end, gain })
    }

    /// Closes the holes, if that is worth it.
    pub(super) fn compact(&mut self, file: &dyn Storage) -> Result<()> {
        let Some(Closing { first, end, .. }) = self.closing() else {
            return Ok(());
        };
        let mut moving: Vec<Moving> = Vec::new();
        for nchunk in 0..self.view.offsets.len() {
            let place = self.view.offsets.get(nchunk).unwrap_or(-1);
            if let Ok(place) = u64::try_from(place)
                && place >= first
            {
                let len = self.stored_at(place)?.header()?.cbytes as u64;
                moving.push((nchunk, place, len));
            }
        }
        moving.sort_unstable_by_key(|(_, place, _)| *place);
        let bytes: u64 = moving.iter().map(|(_, _, len)| len).sum();
        let count = self.view.offsets.len();
        if let Some(writer) = &mut self.writer {
            // Holes are not to be filled now.
            writer.space = Space::new(end);
        }
        self.make_room(file, count, bytes)?;
        let away = self.shift(file, &moving, end)?;
        if let Some(writer) = &mut self.writer {
            writer.space = Space::new(end + bytes);
        }
        self.shift(file, &away, first)?;
        if let Some(writer) = &mut self.writer {
            writer.space = Space::new(first + bytes);
            writer.surveyed = false;
        }
        Ok(())
    }

    /// Copies chunks one behind the other to `to`, and has the index name the copies.
    fn shift(&mut self, file: &dyn Storage, moving: &[Moving], to: u64) -> Result<Vec<Moving>> {
        let data = self.base + u64::from(self.view.extent.header_len);
        let mut offsets = self.view.offsets.clone();
        let list = offsets.list_mut()?;
        let mut piece = vec![0; PIECE];
        let mut moved = Vec::with_capacity(moving.len());
        let mut end = to;
        for (nchunk, place, len) in moving {
            let mut done = 0;
            while done < *len {
                let part = &mut piece[..(len - done).min(PIECE as u64) as usize];
                file.read_at(data + place + done, part)?;
                file.write_at(data + end + done, part)?;
                done += part.len() as u64;
            }
            *list.get_mut(*nchunk).ok_or(Error::Failure)? = end as i64;
            moved.push((*nchunk, end, *len));
            end += len;
        }
        let delta = Delta::From(0, offsets.iter().collect());
        let unchanged = self.unchanged();
        self.write_edit(file, delta, &[], Vec::new(), unchanged)?;
        Ok(moved)
    }
}
