//! Writes a change to a frame's file atomically: whenever the process is killed or the power fails,
//! the file has all of the change or nothing of it.
//!
//! [`journal`](crate::journal) explains the order of the writes.

use super::Disk;
use crate::header::{Extent, Header, MIN_LEN};
use crate::journal::{Patch, Record, hash, put_back, roll_back};
use crate::leftovers::{DeferredWrites, FileWrite, hold_back};
use crate::meta::MetalayerRef;
use crate::trailer;
use oxiblosc_base::memory::sort::sort_by_key;
use oxiblosc_base::memory::{Collect, ToTryVec, TryVec};
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_io::Storage;

/// The smallest page size of any system. A write within one page is not interrupted by a signal
/// that kills the process.
const PAGE: u64 = 4 << 10;

/// The metadata of a frame after a change.
#[derive(Clone, Copy)]
pub struct Metadata<'a> {
    /// The header. [`Self::metalayers`] are written instead of those in it.
    pub header: &'a Header,
    /// The fixed-length metalayers.
    pub metalayers: &'a [MetalayerRef<'a>],
    /// The variable-length metalayers. None if they do not change.
    pub vlmetalayers: Option<&'a [MetalayerRef<'a>]>,
    /// Bytes of all chunks; used for a sparse frame only.
    pub cbytes: u64,
}

impl Metadata<'_> {
    /// Encodes header and trailer.
    ///
    /// # Errors
    /// Those of [`Header::encode`] and [`trailer::encode`].
    pub fn encode(&self) -> Result<EncodedMetadata> {
        Ok(EncodedMetadata {
            header: self.header.encode(self.metalayers)?,
            trailer: self.vlmetalayers.map(trailer::encode).transpose()?,
            cbytes: self.cbytes,
        })
    }
}

/// The header and the trailer of a frame after a change.
pub struct EncodedMetadata {
    /// The header, by [`Header::encode`].
    pub header: TryVec<u8>,
    /// The trailer, by [`trailer::encode`]. None if it does not change.
    pub trailer: Option<TryVec<u8>>,
    /// Bytes of all chunks; used for a sparse frame only.
    pub cbytes: u64,
}

/// New bytes that overwrite old ones which are in use until the commit.
pub struct Overwrite<'a> {
    /// Their position, in bytes from the start of the frame.
    pub pos: u64,
    /// The new bytes. Those behind the end of the old frame overwrite nothing.
    pub new: &'a [u8],
    /// The old bytes, if they are known.
    pub old: Option<TryVec<u8>>,
}

impl<'a> Overwrite<'a> {
    /// The new bytes before `end`, and those from there on.
    fn split_at(&self, end: u64) -> (&'a [u8], &'a [u8]) {
        let before = usize::try_from(end.saturating_sub(self.pos)).unwrap_or(usize::MAX);
        self.new.split_at(before.min(self.new.len()))
    }
}

/// What one change writes into the frame's file. Positions count from the start of the frame.
#[derive(Default)]
pub struct Writes<'a> {
    /// Bytes where the old frame uses none: in its free space, or behind its end.
    pub dead: TryVec<FileWrite<'a>>,
    /// Bytes over those of the old frame. They do not overlap each other.
    pub live: TryVec<Overwrite<'a>>,
    /// The whole new header, with its sizes.
    pub header: TryVec<u8>,
    /// Whether only sizes in header and index are overwritten, no offset and no chunk.
    pub is_append: bool,
}

impl<'a> Writes<'a> {
    /// Adds a write of `new` over the bytes at `pos`.
    pub fn over(&mut self, pos: u64, new: &'a [u8]) -> Result<()> {
        let old = None;
        self.live.push(Overwrite { pos, new, old })
    }
}

/// A change that is ready to be written.
struct PreparedChange<'a> {
    dead: TryVec<FileWrite<'a>>,
    /// In the order in which they are written: the header is last.
    live: TryVec<FileWrite<'a>>,
    /// The first byte of what may look like a frame behind the old one. It is written after all
    /// others: if it lies where the old frame ends, it makes the record invalid.
    last: Option<FileWrite<'a>>,
    record: Record,
}

impl Disk {
    /// Writes and commits a change. Then `self.view` has the new header and sizes. If this fails,
    /// the frame is as it was; or it has a record that restores it, and `self.last_read.stale` is
    /// set.
    pub(super) fn write(&mut self, file: &dyn Storage, mut writes: Writes) -> Result<()> {
        let extent = Extent::parse(&writes.header)?;
        let header = std::mem::take(&mut writes.header);
        let is_append = writes.is_append;
        let prepared = self.prepare_writes(file, writes, &header, extent)?;
        if prepared.live.is_empty() && prepared.dead.is_empty() {
            return Ok(());
        }
        let step = match is_append {
            true => self.in_one_step(&prepared, &header, extent.frame_len)?,
            false => None,
        };
        match step {
            Some((pos, new)) => {
                let written = self.write_parts(file, &prepared.dead);
                if let Err(error) = written.doing(Doing::WriteFrame) {
                    self.cut_behind(file);
                    return Err(error);
                }
                if let Err(error) = file.write_at(pos, &new).doing(Doing::WriteHeader) {
                    if !self.undo(file, &prepared.record, None) {
                        // Some bytes may be new. If a record can be written elsewhere, readers
                        // restore the old ones.
                        let record = &prepared.record;
                        let _ = record.encode().and_then(|encoded| {
                            self.write_parts(file, &encoded.writes_at(record.pos_in_frame())?)
                        });
                    }
                    return Err(error);
                }
            }
            None => self.write_with_record(file, prepared, extent.frame_len)?,
        }
        self.last_read.written = None;
        self.view.header = header;
        self.view.extent = extent;
        self.view.forget_index();
        Ok(())
    }

    /// The write that commits an append, if one is enough, with its position in the file. It must
    /// be within one page, so that a killed process has made it or not, and afterwards the file
    /// must end where the frame does. Readers without a lock must notice the change: so the frame
    /// must become longer, and in the header only bytes may change that they compare after reading.
    fn in_one_step(
        &self,
        prepared: &PreparedChange,
        header: &[u8],
        frame_len: u64,
    ) -> Result<Option<(u64, TryVec<u8>)>> {
        // The sizes of a directory's index follow the header.
        let (at, sizes) = match *prepared.live {
            [(at, _)] => (at, &[][..]),
            [(sizes_at, sizes), (at, _)] if sizes_at == header.len() as u64 => (at, sizes),
            _ => return Ok(None),
        };
        let rest = header.get(at as usize..).unwrap_or_default();
        let end = at + (rest.len() + sizes.len()) as u64;
        let changed = prepared.record.changed_pos as usize + prepared.record.changed.len();
        let is_last = |(at, new): &(u64, &[u8])| at + new.len() as u64 == frame_len;
        let is_possible = !self.options.durable
            && prepared.last.is_none()
            && self.options.backend.is_filesystem()
            && changed <= MIN_LEN
            && frame_len > self.view.extent.frame_len
            && prepared.dead.last().is_some_and(is_last)
            && (self.location.base + at) / PAGE == (self.location.base + end - 1) / PAGE;
        if !is_possible {
            return Ok(None);
        }
        let mut new = rest.to_try_vec()?;
        new.extend_from_slice(sizes)?;
        Ok(Some((self.location.base + at, new)))
    }

    /// Truncates what was written behind the frame. If that fails, the next change does it.
    fn cut_behind(&self, file: &dyn Storage) {
        let _ = file.truncate(self.location.base + self.view.extent.frame_len);
    }

    /// Writes and commits a change, with a record of what it overwrites.
    fn write_with_record(
        &mut self,
        file: &dyn Storage,
        prepared: PreparedChange,
        frame_len: u64,
    ) -> Result<()> {
        let PreparedChange {
            mut dead,
            live,
            last,
            record,
        } = prepared;
        let encoded = record.encode()?;
        let cut_off = self.cut_off(file, frame_len)?;
        let record_writes = encoded.writes_at(record.pos_in_frame())?;
        dead.extend_from_slice(&record_writes)?;
        let written = self.write_parts(file, &dead).doing(Doing::WriteFrame);
        if let Err(error) = written.and_then(|()| self.sync(file)) {
            self.cut_behind(file);
            return Err(error);
        }
        let applied = self
            .write_parts(file, &live)
            .doing(Doing::WriteHeader)
            .and_then(|()| self.sync(file))
            .and_then(|()| match last {
                Some(last) => self
                    .write_parts(file, &[last])
                    .and_then(|()| self.sync(file)),
                None => Ok(()),
            })
            .and_then(|()| {
                file.truncate(self.location.base + frame_len)
                    .doing(Doing::CutFile)
            });
        if let Err(error) = applied {
            self.undo(file, &record, last);
            return Err(error);
        }
        if self.options.durable
            && let Err(error) = file.sync()
        {
            // While the old bytes are restored, the file needs the record again. A record is valid
            // only behind the old frame, whose last bytes were truncated, so these are written
            // first.
            let again = match cut_off.is_empty() {
                true => Ok(()),
                false => file
                    .write_at(self.location.base + frame_len, &cut_off)
                    .map(|()| {
                        // If this fails, other handles see the record nevertheless.
                        let _ = file.sync();
                    }),
            };
            let again = again
                .and_then(|()| self.write_parts(file, &record_writes))
                .and_then(|()| file.sync());
            match again {
                Ok(()) => drop(self.undo(file, &record, last)),
                Err(_) => (self.last_read.stale, self.has_left_record) = (true, true),
            }
            return Err(error);
        }
        Ok(())
    }

    /// The last bytes of the frame, which a durable change truncates. They are needed if it has to
    /// be undone after that.
    fn cut_off(&self, file: &dyn Storage, new_len: u64) -> Result<TryVec<u8>> {
        match self.view.extent.frame_len.checked_sub(new_len) {
            Some(len) if self.options.durable && len > 0 => {
                let len = usize::try_from(len).map_err(|_| Error::MEMORY_ALLOC)?;
                self.old_bytes(file, new_len, len)
            }
            _ => Ok(TryVec::new()),
        }
    }

    /// Reads the old bytes for the record, and splits writes that extend beyond the end of the old
    /// frame.
    fn prepare_writes<'a>(
        &self,
        file: &dyn Storage,
        writes: Writes<'a>,
        header: &'a [u8],
        extent: Extent,
    ) -> Result<PreparedChange<'a>> {
        let old = self.view.extent;
        let old_header = &self.view.header;
        let changed = changed_part(old_header, header);
        let mut dead = writes.dead;
        let (mut live, mut patches) = (TryVec::new(), TryVec::new());
        let count = writes.live.len() + 1;
        live.reserve_exact(count)?;
        patches.reserve_exact(count)?;
        let header_over = (!changed.is_empty()).then(|| Overwrite {
            pos: changed.start as u64,
            new: &header[changed.clone()],
            old: None,
        });
        for over in writes.live.into_iter().chain(header_over) {
            let (new, behind) = over.split_at(old.frame_len);
            if !behind.is_empty() {
                dead.push((over.pos + new.len() as u64, behind))?;
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
        if patches.windows(2).any(|two| two[0].end() > two[1].pos) {
            // Chunks overlap. A record of their old bytes would not be valid, so the change could
            // not be rolled back.
            return Err(Error::INVALID_HEADER);
        }
        let DeferredWrites {
            first: last,
            mut rest,
        } = hold_back(&mut dead, old.frame_len)?;
        if !rest.is_empty() {
            rest.append(&mut live)?;
            live = rest;
        }
        // If the header becomes shorter or longer, the record has the changed bytes in the part
        // that both headers have.
        let both = changed.start..changed.end.min(old_header.len());
        let changed = header.get(both.clone()).unwrap_or_default().to_try_vec()?;
        Ok(PreparedChange {
            dead,
            live,
            last,
            record: Record {
                identity: file.identity(),
                base: self.location.base,
                old_len: old.frame_len,
                new_len: extent.frame_len,
                header_len: old.header_len,
                header_hash: hash(old_header),
                changed_pos: both.start as u32,
                changed,
                patches,
            },
        })
    }

    /// Bytes of the frame as they are before the change.
    fn old_bytes(&self, file: &dyn Storage, pos: u64, len: usize) -> Result<TryVec<u8>> {
        if let Some(known) = self.view.in_memory(pos, len) {
            return known.to_try_vec();
        }
        let mut bytes = TryVec::filled(0, len)?;
        file.read_at(self.location.base + pos, &mut bytes)?;
        Ok(bytes)
    }

    /// Writes parts at their positions in the frame. Adjacent parts are one write.
    fn write_parts(&self, file: &dyn Storage, parts: &[FileWrite]) -> Result<()> {
        let adjoin = |(at, new): &FileWrite, next: &FileWrite| at + new.len() as u64 == next.0;
        for run in parts.chunk_by(adjoin) {
            match run {
                // Most writes are by themselves, and need no list.
                [(at, new)] => file.write_at(self.location.base + at, new)?,
                run => {
                    let pieces = run.iter().map(|(_, new)| *new).collect_vec()?;
                    file.write_all_at(self.location.base + run[0].0, &pieces)?;
                }
            }
        }
        Ok(())
    }

    fn sync(&self, file: &dyn Storage) -> Result<()> {
        match self.options.durable {
            true => file.sync(),
            false => Ok(()),
        }
    }

    /// Undoes a change of this handle that could not be committed. Returns whether that was
    /// possible. If not, its record stays, if it has one, and `self.last_read.stale` is set.
    fn undo(&mut self, file: &dyn Storage, record: &Record, last: Option<FileWrite>) -> bool {
        let durable = self.options.durable;
        // Without the byte at `last`, the record is valid if this is interrupted.
        let record_is_valid = match last {
            Some((pos, _)) => file
                .write_at(self.location.base + pos, &[0])
                .and_then(|()| self.sync(file)),
            None => Ok(()),
        };
        let undone = record_is_valid
            .and_then(|()| put_back(file, self.location.base, durable, &record.patches))
            .and_then(|()| file.truncate(self.location.base + record.old_len))
            .and_then(|()| if durable { file.sync() } else { Ok(()) });
        self.last_read.stale |= undone.is_err();
        self.has_left_record |= undone.is_err();
        undone.is_ok()
    }

    /// Tries once more to undo a change of this handle that failed, for readers of other libraries,
    /// which do not know records. If that fails, this handle goes on reading the frame as it was
    /// before the change.
    pub(super) fn undo_left(&mut self) {
        if self.has_left_record {
            let undone = self.while_locked(|disk| {
                let file = disk.lock_file(true)?.ok_or(Error::LOCK)?;
                roll_back(&*file, Some(disk.location.base), disk.options.durable).map(drop)
            });
            self.has_left_record = undone.is_err();
        }
    }
}

/// The range of bytes of a new header that differ from the old one. It never includes the magic, so
/// a record, which has these bytes, does not look like a frame.
pub(super) fn changed_part(old: &[u8], new: &[u8]) -> std::ops::Range<usize> {
    let first = same_prefix(old, new);
    if old.len() != new.len() {
        return first..new.len();
    }
    if first == new.len() {
        return 0..0;
    }
    first..new.len() - same_back(old, new)
}

/// How many bytes are compared at a time.
const STEP: usize = 16;

/// The number of bytes at the front of both that are the same.
fn same_prefix(a: &[u8], b: &[u8]) -> usize {
    let (a_steps, b_steps) = (a.as_chunks::<STEP>().0, b.as_chunks::<STEP>().0);
    let steps = a_steps.iter().zip(b_steps);
    let at = STEP * steps.take_while(|(a, b)| a == b).count();
    let rest = a[at..].iter().zip(&b[at..]);
    at + rest.take_while(|(a, b)| a == b).count()
}

/// The number of bytes at the end of both that are the same.
fn same_back(a: &[u8], b: &[u8]) -> usize {
    let (a_steps, b_steps) = (a.as_rchunks::<STEP>().1, b.as_rchunks::<STEP>().1);
    let steps = a_steps.iter().rev().zip(b_steps.iter().rev());
    let back = STEP * steps.take_while(|(a, b)| a == b).count();
    let rest = a[..a.len() - back].iter().rev();
    let rest = rest.zip(b[..b.len() - back].iter().rev());
    back + rest.take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_changed_part_is_from_the_first_to_the_last_byte_that_differs() {
        for len in [0, 1, 15, 16, 17, 48, 97] {
            let old = vec![7; len];
            assert_eq!(changed_part(&old, &old), 0..0);
            for first in 0..len {
                for last in first..len {
                    let mut new = old.clone();
                    (new[first], new[last]) = (8, 9);
                    assert_eq!(changed_part(&old, &new), first..last + 1, "{len}");
                }
                assert_eq!(changed_part(&old, &old[..first]), first..first, "{len}");
                assert_eq!(changed_part(&old[..first], &old), first..len, "{len}");
            }
        }
    }
}
