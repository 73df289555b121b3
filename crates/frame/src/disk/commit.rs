//! Writing to a frame's file such that it is as before or as after, whenever the process is stopped or the power fails.
//!
//! See [`journal`](crate::journal) for the order in which things are written.

use super::Disk;
use crate::header::{Extent, Header};
use crate::journal::{Patch, Record, hash, put_back};
use crate::meta::Borrowed;
use crate::trailer;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::Storage;
use oxiblosc_memory::sort::sort_by_key;
use oxiblosc_memory::{List, ToList};

/// The header and the trailer as they are to be.
pub struct Next {
    /// From [`Header::encode`].
    pub header: List<u8>,
    /// `None`: as it is.
    pub trailer: Option<List<u8>>,
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

/// New bytes over others that count until the commit.
pub struct Overwrite<'a> {
    /// Where, from the start of the frame.
    pub pos: u64,
    /// The new bytes. Those behind the end of the old frame overwrite nothing.
    pub new: &'a [u8],
    /// The old bytes, where they are known.
    pub old: Option<List<u8>>,
}

/// What one change writes into the frame's file. Positions count from the start of the frame.
#[derive(Default)]
pub struct Writes<'a> {
    /// Where nothing is that counts.
    pub dead: List<(u64, &'a [u8])>,
    /// Over what counts; none over another.
    pub live: List<Overwrite<'a>>,
    /// The header, all of it, with its sizes.
    pub header: List<u8>,
}

impl<'a> Writes<'a> {
    /// Has `new` written over what is at `pos`.
    pub fn over(&mut self, pos: u64, new: &'a [u8]) -> Result<()> {
        let old = None;
        self.live.push(Overwrite { pos, new, old })
    }
}

/// A change that is ready to be written.
struct Prepared<'a> {
    dead: List<(u64, &'a [u8])>,
    /// In the order of writing: the header comes last.
    live: List<(u64, &'a [u8])>,
    record: Record,
}

impl Disk {
    /// Writes all of a change and commits it; what is known of header and sizes is then that of the new frame. When this fails
    /// the frame is as it was, or has a record that says so, and is to be read again.
    pub(super) fn write(&mut self, file: &dyn Storage, mut writes: Writes) -> Result<()> {
        let extent = Extent::parse(&writes.header)?;
        let header = std::mem::take(&mut writes.header);
        let prepared = self.prepare_writes(file, writes, &header, extent)?;
        if prepared.live.is_empty() && prepared.dead.is_empty() {
            return Ok(());
        }
        let record = prepared.record.encode()?;
        let cut_off = self.cut_off(file, extent.frame_len)?;
        let pos = prepared.record.pos().ok_or(Error::FileWrite)?;
        if let Err(error) = self.write_record(file, &prepared, pos, &record) {
            // What is behind the frame does not count; the next change cuts it off if that cannot be done now.
            let _ = file.truncate(self.base + self.view.extent.frame_len);
            return Err(error);
        }
        let applied = self
            .apply(file, &prepared)
            .and_then(|()| file.truncate(self.base + extent.frame_len));
        if let Err(error) = applied {
            self.undo(file, &prepared.record);
            return Err(error);
        }
        if self.options.durable
            && let Err(error) = file.sync()
        {
            // The file has no record any more, but needs one while the old bytes are put back. It counts only where the end of
            // the old frame is, which was cut off, so that comes first.
            let again = match cut_off.is_empty() {
                true => Ok(()),
                false => file
                    .write_at(self.base + extent.frame_len, &cut_off)
                    .map(|()| {
                        // On a disk that syncs nothing any more the record tells other handles at least.
                        let _ = file.sync();
                    }),
            };
            let again = again
                .and_then(|()| file.write_at(pos, &record))
                .and_then(|()| file.sync());
            match again {
                Ok(()) => self.undo(file, &prepared.record),
                Err(_) => self.stale = true,
            }
            return Err(error);
        }
        self.view.header = header;
        self.view.extent = extent;
        self.view.forget_index();
        Ok(())
    }

    /// The bytes of the frame that a durable change cuts off, which may have to be written again.
    fn cut_off(&self, file: &dyn Storage, new_len: u64) -> Result<List<u8>> {
        match self.view.extent.frame_len.checked_sub(new_len) {
            Some(len) if self.options.durable && len > 0 => {
                let len = usize::try_from(len).map_err(|_| Error::MemoryAlloc)?;
                self.old_bytes(file, new_len, len)
            }
            _ => Ok(List::new()),
        }
    }

    /// Looks up the old bytes, and splits what is written at the end of the old frame.
    fn prepare_writes<'a>(
        &self,
        file: &dyn Storage,
        writes: Writes<'a>,
        header: &'a [u8],
        extent: Extent,
    ) -> Result<Prepared<'a>> {
        let old = self.view.extent;
        let old_header = &self.view.header;
        let changed = changed_part(old_header, header);
        let mut dead = writes.dead;
        let (mut live, mut patches) = (List::new(), List::new());
        let count = writes.live.len() + 1;
        dead.reserve_exact(count)?;
        live.reserve_exact(count)?;
        patches.reserve_exact(count)?;
        let header_over = (!changed.is_empty()).then(|| Overwrite {
            pos: changed.start as u64,
            new: &header[changed.clone()],
            old: None,
        });
        for over in writes.live.into_iter().chain(header_over) {
            let inside = old.frame_len.saturating_sub(over.pos);
            let inside = usize::try_from(inside).map_or(over.new.len(), |n| n.min(over.new.len()));
            let (new, behind) = over.new.split_at(inside);
            if !behind.is_empty() {
                dead.push((over.pos + inside as u64, behind))?;
            }
            if new.is_empty() {
                continue;
            }
            live.push((over.pos, new))?;
            let bytes = match over.old {
                Some(bytes) if bytes.len() == new.len() => bytes,
                _ => self.old_bytes(file, over.pos, new.len())?,
            };
            let pos = over.pos;
            patches.push(Patch { pos, bytes })?;
        }
        sort_by_key(&mut patches, |patch| patch.pos);
        // A header that was moved or cut is told by its bytes as far as both have them.
        let both = changed.start..changed.end.min(old_header.len());
        let changed_new = header.get(both.clone()).unwrap_or_default();
        Ok(Prepared {
            dead,
            live,
            record: Record {
                identity: file.identity(),
                base: self.base,
                old_len: old.frame_len,
                new_len: extent.frame_len,
                header_len: old.header_len,
                header_hash: hash(old_header),
                changed_pos: both.start as u32,
                changed: changed_new.to_list()?,
                patches,
            },
        })
    }

    /// The bytes of the frame that a change goes over, as they are now.
    fn old_bytes(&self, file: &dyn Storage, pos: u64, len: usize) -> Result<List<u8>> {
        if let Some(known) = self.view.known(pos, len) {
            return known.to_list();
        }
        let mut bytes = List::filled(0, len)?;
        file.read_at(self.base + pos, &mut bytes)?;
        Ok(bytes)
    }

    fn write_record(
        &self,
        file: &dyn Storage,
        prepared: &Prepared,
        pos: u64,
        record: &[u8],
    ) -> Result<()> {
        let dead = prepared.dead.iter().map(|(at, new)| (self.base + at, *new));
        self.write_parts(file, dead.chain([(pos, record)]))
    }

    fn apply(&self, file: &dyn Storage, prepared: &Prepared) -> Result<()> {
        let live = prepared.live.iter();
        self.write_parts(file, live.map(|(at, new)| (self.base + at, *new)))
    }

    /// Writes parts at their positions in the file, those that follow one another together.
    fn write_parts<'a>(
        &self,
        file: &dyn Storage,
        parts: impl Iterator<Item = (u64, &'a [u8])>,
    ) -> Result<()> {
        let mut run: List<&[u8]> = List::with_capacity(parts.size_hint().0)?;
        let (mut start, mut end) = (0, 0);
        for (at, new) in parts {
            if at != end {
                file.write_all_at(start, &run)?;
                run.clear();
                start = at;
            }
            run.push(new)?;
            end = at + new.len() as u64;
        }
        file.write_all_at(start, &run)?;
        if self.options.durable {
            file.sync()?;
        }
        Ok(())
    }

    /// Takes back a change that was begun and not committed. Where that cannot be done, its record stays and says what the
    /// frame is; it is read again.
    fn undo(&mut self, file: &dyn Storage, record: &Record) {
        let durable = self.options.durable;
        let undone = put_back(file, self.base, durable, &record.patches)
            .and_then(|()| file.truncate(self.base + record.old_len))
            .and_then(|()| if durable { file.sync() } else { Ok(()) });
        self.stale |= undone.is_err();
    }
}

/// Which bytes of a new header differ from those of the old one. They never begin with the magic, which would make a record
/// look like the start of a frame.
fn changed_part(old: &[u8], new: &[u8]) -> std::ops::Range<usize> {
    let differs = |(old, new): (&u8, &u8)| old != new;
    let first = old.iter().zip(new).position(differs);
    if old.len() != new.len() {
        return first.unwrap_or(old.len().min(new.len()))..new.len();
    }
    let Some(first) = first else {
        return 0..0;
    };
    let behind = old.iter().rev().zip(new.iter().rev());
    let same = behind.take_while(|(old, new)| old == new).count();
    first..new.len() - same
}
