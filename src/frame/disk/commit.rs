//! Writing to a frame's file such that it is as before or as after, whenever the process is stopped.
//!
//! See [`journal`](crate::frame::journal) for the order in which things are written.

use super::{Disk, Writer};
use crate::error::{Error, Result};
use crate::frame::header::Kind;
use crate::frame::header::{Extent, Header};
use crate::frame::journal::{Patch, Record, hash};
use crate::frame::meta::Borrowed;
use crate::frame::space::Space;
use crate::frame::trailer;
use crate::io::{Mode, Storage};
use std::sync::Arc;

/// How far behind a frame others are looked for, so as not to write over them.
const LOOK_AHEAD: u64 = 1 << 20;
/// A record of more bytes is cut off when its change is done.
const LONG_RECORD: usize = 4 << 10;

/// The header and the trailer as they are to be.
pub struct Next {
    /// From [`Header::encode`].
    pub header: Vec<u8>,
    /// `None`: as it is.
    pub trailer: Option<Vec<u8>>,
    /// Bytes of all chunks; for a sparse frame.
    pub cbytes: u64,
}

impl Next {
    /// From what they are to say. Without `vlmetalayers`, the trailer stays as it is.
    pub fn new(
        header: &Header,
        metalayers: &[Borrowed],
        vlmetalayers: Option<&[Borrowed]>,
        cbytes: u64,
    ) -> Result<Self> {
        Ok(Self {
            header: header.encode(metalayers)?,
            trailer: vlmetalayers.map(trailer::encode).transpose()?,
            cbytes,
        })
    }
}

/// What one change writes into the frame's file. Positions count from the start of the frame.
#[derive(Default)]
pub struct Writes<'a> {
    /// Where nothing is that counts.
    pub dead: Vec<(u64, &'a [u8])>,
    /// The trailer, where nothing is that counts.
    pub trailer: Option<(u64, &'a [u8])>,
    /// Over what counts; what is there now, where that is known.
    pub live: Vec<(Patch, Option<Vec<u8>>)>,
    /// The header, all of it, with its sizes.
    pub header: Vec<u8>,
}

impl Disk {
    /// Makes sure that the frame can be written, and that it is known if it is not certain what is in it. Whoever asks for
    /// a change has called [`Disk::refresh`] under the lock under which the change is made.
    pub(super) fn prepare(&mut self) -> Result<Arc<dyn Storage>> {
        if self.stale {
            self.reread()?;
        }
        if let Some(Writer {
            file: Some(file), ..
        }) = &self.writer
        {
            return Ok(Arc::clone(file));
        }
        let file = self.options.backend.open(&self.file, Mode::ReadWrite)?;
        // Tells readers that a record they find belongs to a change under way, not to a process that died.
        let _ = file.try_own();
        self.replay(&*file)?;
        let size = file.size()?.checked_sub(self.base).ok_or(Error::FileRead)?;
        let kept = self
            .options
            .backend
            .is_filesystem()
            .then(|| Arc::clone(&file));
        match &mut self.writer {
            Some(writer) => {
                writer.size = size;
                writer.file = kept;
            }
            None => {
                self.refuse_to_write_over_others(&*file, size)?;
                let end = match self.kind {
                    Kind::Contiguous => self.data_end()?,
                    Kind::Sparse => 0,
                };
                self.writer = Some(Writer {
                    size,
                    space: Space::new(end),
                    surveyed: false,
                    next_number: None,
                    file: kept,
                });
            }
        }
        Ok(file)
    }

    /// Finishes a change that was not finished, if nobody else can be at it.
    pub(super) fn recover_if_alone(&mut self) -> Result<()> {
        if !self.options.backend.is_filesystem() {
            return Ok(());
        }
        let file = self.options.backend.open(&self.file, Mode::ReadWrite)?;
        if file.try_own() {
            self.replay(&*file)?;
        }
        Ok(())
    }

    fn replay(&mut self, file: &dyn Storage) -> Result<()> {
        for patch in self.view.pending.iter() {
            file.write_at(self.base + patch.pos, &patch.bytes)?;
        }
        if self.options.durable && !self.view.pending.is_empty() {
            file.sync()?;
        }
        self.view.pending = Arc::default();
        Ok(())
    }

    /// What is behind the frame may be another frame, which a change would destroy.
    fn refuse_to_write_over_others(&self, file: &dyn Storage, size: u64) -> Result<()> {
        const FRAME_START: &[u8] = b"\x9e\xa8b2frame\0";
        let len = self.view.extent.frame_len;
        if size <= len {
            return Ok(());
        }
        if let Some((pos, record)) = Record::find(file, self.base + size)?
            && record.base == self.base
            && pos >= self.base + len
        {
            return Ok(());
        }
        let mut behind = vec![0; (size - len).min(LOOK_AHEAD) as usize];
        file.read_at(self.base + len, &mut behind)?;
        if behind
            .windows(FRAME_START.len())
            .any(|bytes| bytes == FRAME_START)
        {
            return Err(Error::FileWrite);
        }
        Ok(())
    }

    /// Writes all of a change. When this fails, the frame is as it was.
    pub(super) fn write(&mut self, file: &dyn Storage, mut writes: Writes) -> Result<()> {
        let extent = Extent::parse(&writes.header)?;
        let old_len = self.view.extent.frame_len;
        let record_pos = old_len.max(extent.frame_len);
        let header_patch = changed_part(&self.view.header, &writes.header);
        let live = std::mem::take(&mut writes.live).into_iter();
        let most = live.len() + 1;
        let (mut patches, mut undo) = (Vec::with_capacity(most), Vec::with_capacity(most));
        for (patch, before) in live.chain(header_patch.map(|patch| (patch, None))) {
            undo.push(match before {
                Some(bytes) => Patch {
                    pos: patch.pos,
                    bytes,
                },
                None => self.as_is(file, &patch)?,
            });
            patches.push(patch);
        }
        let size = self.writer.as_ref().map_or(u64::MAX, |writer| writer.size);
        let record = Record {
            base: self.base,
            header_len: extent.header_len,
            header_hash: hash(&writes.header),
            patches,
        };
        let bytes = record.encode(size.saturating_sub(record_pos) as usize)?;
        if let Err(error) = self.write_record(file, &writes, record_pos, &bytes) {
            self.forget_record(file, old_len);
            return Err(error);
        }
        if let Err(error) = self.apply(file, &record.patches) {
            let undone = undo
                .iter()
                .try_for_each(|patch| file.write_at(self.base + patch.pos, &patch.bytes));
            if undone.is_ok() {
                self.forget_record(file, old_len);
            } else if let Some(writer) = &mut self.writer {
                writer.size = u64::MAX;
            }
            return Err(error);
        }
        if let Some(writer) = &mut self.writer {
            writer.size = record_pos + bytes.len() as u64;
        }
        self.view.header = writes.header;
        self.view.extent = extent;
        if bytes.len() > LONG_RECORD {
            // The next record would have to reach as far as this one.
            self.forget_record(file, extent.frame_len);
        }
        Ok(())
    }

    fn write_record(
        &self,
        file: &dyn Storage,
        writes: &Writes,
        pos: u64,
        record: &[u8],
    ) -> Result<()> {
        for (pos, bytes) in &writes.dead {
            file.write_at(self.base + pos, bytes)?;
        }
        if self.options.durable {
            file.sync()?;
        }
        match writes.trailer {
            Some((at, trailer)) if at + trailer.len() as u64 == pos => {
                file.write_all_at(self.base + at, &[trailer, record])?;
            }
            Some((at, trailer)) => {
                file.write_at(self.base + at, trailer)?;
                file.write_at(self.base + pos, record)?;
            }
            None => file.write_at(self.base + pos, record)?,
        }
        if self.options.durable {
            file.sync()?;
        }
        Ok(())
    }

    fn apply(&self, file: &dyn Storage, patches: &[Patch]) -> Result<()> {
        for patch in patches {
            file.write_at(self.base + patch.pos, &patch.bytes)?;
        }
        if self.options.durable {
            file.sync()?;
        }
        Ok(())
    }

    /// The bytes that a patch goes over, as they are now.
    fn as_is(&self, file: &dyn Storage, patch: &Patch) -> Result<Patch> {
        let (from, to) = (patch.pos as usize, patch.pos as usize + patch.bytes.len());
        if let Some(known) = self.view.header.get(from..to) {
            return Ok(Patch {
                pos: patch.pos,
                bytes: known.to_vec(),
            });
        }
        let mut bytes = vec![0; patch.bytes.len()];
        let there = self
            .writer
            .as_ref()
            .map_or(0, |writer| writer.size)
            .saturating_sub(patch.pos)
            .min(bytes.len() as u64);
        file.read_at(self.base + patch.pos, &mut bytes[..there as usize])?;
        Ok(Patch {
            pos: patch.pos,
            bytes,
        })
    }

    /// Cuts off what is behind the frame.
    pub(super) fn forget_record(&mut self, file: &dyn Storage, frame_len: u64) {
        let cut = file.truncate(self.base + frame_len);
        if let Some(writer) = &mut self.writer {
            writer.size = match cut {
                Ok(()) => frame_len,
                Err(_) => file
                    .size()
                    .map_or(u64::MAX, |size| size.saturating_sub(self.base)),
            };
        }
    }
}

/// The part of a header that is another, if any is. It never begins with the magic, which would make a record look like
/// the start of a frame.
fn changed_part(old: &[u8], new: &[u8]) -> Option<Patch> {
    let differs = |(old, new): (&u8, &u8)| old != new;
    let first = old.iter().zip(new).position(differs);
    let first = first.or((old.len() != new.len()).then_some(old.len().min(new.len())))?;
    let same_behind = if old.len() == new.len() {
        let behind = old.iter().rev().zip(new.iter().rev());
        behind.take_while(|(old, new)| old == new).count()
    } else {
        0
    };
    Some(Patch {
        pos: first as u64,
        bytes: new[first..new.len() - same_behind].to_vec(),
    })
}
