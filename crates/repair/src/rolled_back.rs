//! A file that may be damaged, or contain an unfinished change.

use crate::files::Files;
use crate::location::HEADER;
use crate::plausible::most_cbytes;
use crate::salvage::{Result, Unrepairable};
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_frame::journal::{Patch, Record, overlay};
use oxiblosc_io::Storage;

/// A file as it was before an uncommitted change.
pub struct RolledBackFile<'a> {
    /// None if it is missing.
    file: Option<&'a dyn Storage>,
    /// Its length in bytes.
    pub(crate) size: u64,
    /// The bytes that the change overwrote, from the undo record.
    pending: TryVec<Patch>,
    /// Errors of reading it that show no damage.
    pub(crate) faults: &'a dyn Files,
}

impl<'a> RolledBackFile<'a> {
    /// Opens a file, and looks for an undo record. Adds a note if there is one. Errors that show no
    /// damage are noted in `faults`.
    ///
    /// # Errors
    /// [`Unrepairable::Unread`] if the file cannot be read.
    pub fn new(
        file: &'a dyn Storage,
        faults: &'a dyn Files,
        notes: &mut Vec<String>,
    ) -> Result<Self> {
        let size = faults.readable(file.size());
        if faults.has_fault() {
            return Err(Unrepairable::Unread);
        }
        let size = size.unwrap_or(0);
        let mut image = Self {
            file: Some(file),
            size,
            pending: TryVec::new(),
            faults,
        };
        let record = faults.readable(Record::find(file, size, Some(0)));
        if faults.has_fault() {
            return Err(Unrepairable::Unread);
        }
        if let Some(Some(record)) = record {
            notes.push(
                "a change was under way when the writer ended: taken back in the copy".into(),
            );
            image.size = record.old_len;
            image.pending = record.patches;
        }
        Ok(image)
    }

    /// A file that does not exist.
    pub fn missing(faults: &'a dyn Files) -> Self {
        Self {
            file: None,
            size: 0,
            pending: TryVec::new(),
            faults,
        }
    }

    /// Reads `len` bytes; none if the file ends before. None, too, if they cannot be read for a
    /// reason that shows no damage, which is noted.
    pub fn read(&self, pos: u64, len: usize) -> Option<Buffer> {
        pos.checked_add(len as u64)
            .filter(|end| *end <= self.size)?;
        let mut bytes = self.faults.readable(Buffer::zeroed(len))?;
        self.faults.readable(self.file?.read_at(pos, &mut bytes))?;
        overlay(&self.pending, pos, &mut bytes);
        Some(bytes)
    }

    /// The chunk at a position, as long as its header says, padded as by [`Self::bytes`]. None if
    /// its header asks for more bytes than any chunk with so much data has.
    pub fn chunk(&self, pos: u64) -> Option<Buffer> {
        let prefix = self.read(pos, HEADER)?;
        let header = ChunkHeader::parse(&prefix).ok()?;
        let is_possible = most_cbytes(&header).is_some_and(|most| header.cbytes <= most);
        is_possible.then(|| self.bytes(pos, header.cbytes))?
    }

    /// Reads `len` bytes. If the file ends before, they are padded with bytes with which no stream
    /// begins. (Zeros would be valid: they stand for a run of zeros.)
    pub fn bytes(&self, pos: u64, len: usize) -> Option<Buffer> {
        let available = self.size.checked_sub(pos)?;
        let available = len.min(usize::try_from(available).unwrap_or(usize::MAX));
        let mut bytes = self.read(pos, available)?;
        self.faults.readable(bytes.resize(len))?;
        bytes[available..].fill(0x80);
        Some(bytes)
    }
}
