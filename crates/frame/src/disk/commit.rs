//! Writing to a frame's file such that it is as before or as after, whenever the process is stopped or the power fails.
//!
//! See [`journal`](crate::journal) for the order in which things are written.

use super::Disk;
use crate::header::{Extent, Header, MIN_LEN};
use crate::journal::{Patch, Record, hash, put_back};
use crate::meta::Borrowed;
use crate::trailer;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::Storage;
use oxiblosc_memory::sort::sort_by_key;
use oxiblosc_memory::{List, ToList};

/// What goes over bytes of one page of a file, which has at least so many on every system, is copied before the process is stopped.
const PAGE: u64 = 4 << 10;

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
    /// Whether no offset and no chunk that counts is overwritten, but sizes alone.
    pub is_append: bool,
}

impl<'a> Writes<'a> {
    /// Has `new` written over what is at `pos`.
    pub fn over(&mut self, pos: u64, new: &'a [u8]) -> Result<()> {
        let old = None;
        self.live.push(Overwrite { pos, new, old })
    }
}

/// Bytes, and where in the frame they go.
type Piece = (u64, List<u8>);

/// A change that is ready to be written.
struct Prepared<'a> {
    dead: List<(u64, &'a [u8])>,
    /// In ascending order.
    live: List<(u64, &'a [u8])>,
    record: Record,
}

impl Disk {
    /// Writes all of a change and commits it; what is known of header and sizes is then that of the new frame. When this fails
    /// the frame is as it was, or has a record that says so, and is to be read again.
    pub(super) fn write(&mut self, file: &dyn Storage, mut writes: Writes) -> Result<()> {
        let extent = Extent::parse(&writes.header)?;
        let header = std::mem::take(&mut writes.header);
        let is_append = writes.is_append;
        let prepared = self.prepare_writes(file, writes, &header, extent)?;
        if prepared.live.is_empty() && prepared.dead.is_empty() {
            return Ok(());
        }
        let page = self.in_one_page(&prepared)?;
        match page {
            Some((pos, new)) if is_append && self.needs_no_record(&prepared, extent) => {
                self.write_without_record(file, &prepared, pos, &new)?;
            }
            page => self.write_with_record(file, prepared, page, extent.frame_len)?,
        }
        self.view.header = header;
        self.view.extent = extent;
        self.view.forget_index();
        Ok(())
    }

    /// What is overwritten as one piece, with what lies between, if all of that lies in one page.
    fn in_one_page(&self, prepared: &Prepared) -> Result<Option<Piece>> {
        let (Some((first, _)), Some((last, end))) = (prepared.live.first(), prepared.live.last())
        else {
            return Ok(None);
        };
        let end = last + end.len() as u64;
        if (self.base + first) / PAGE != (self.base + end - 1) / PAGE {
            return Ok(None);
        }
        let mut bytes = List::with_capacity((end - first) as usize)?;
        for (at, new) in &prepared.live {
            let from = first + bytes.len() as u64;
            let Some(between) = self.view.known(from, (at - from) as usize) else {
                return Ok(None);
            };
            bytes.extend_from_slice(between)?;
            bytes.extend_from_slice(new)?;
        }
        Ok(Some((*first, bytes)))
    }

    /// Whether a change that overwrites bytes of one page alone is committed by that: a process is stopped before it or after it,
    /// and the file then ends where the frame does. Readers without a lock must notice: the frame gets longer, and of the header only
    /// the part changes that they compare after reading.
    fn needs_no_record(&self, prepared: &Prepared, extent: Extent) -> bool {
        let ends = prepared.dead.iter().map(|(at, new)| at + new.len() as u64);
        let front = prepared.record.changed_pos as usize + prepared.record.changed.len();
        !self.options.durable
            && self.options.backend.is_filesystem()
            && extent.frame_len > self.view.extent.frame_len
            && ends.max() == Some(extent.frame_len)
            && front <= MIN_LEN
    }

    fn write_without_record(
        &mut self,
        file: &dyn Storage,
        prepared: &Prepared,
        pos: u64,
        new: &[u8],
    ) -> Result<()> {
        if let Err(error) = self.write_parts(file, &prepared.dead) {
            self.cut_behind(file);
            return Err(error);
        }
        file.write_at(self.base + pos, new)
            .inspect_err(|_| self.undo(file, &prepared.record))
    }

    /// Takes away what was written behind the frame. It does not count: the next change cuts it off if that cannot be done now.
    fn cut_behind(&self, file: &dyn Storage) {
        let _ = file.truncate(self.base + self.view.extent.frame_len);
    }

    /// Writes a change with a record of what it overwrites, until it is committed.
    fn write_with_record(
        &mut self,
        file: &dyn Storage,
        prepared: Prepared,
        page: Option<Piece>,
        frame_len: u64,
    ) -> Result<()> {
        let bytes = prepared.record.encode()?;
        let Prepared {
            mut dead,
            live,
            record,
        } = prepared;
        let cut_off = self.cut_off(file, frame_len)?;
        let pos = record.pos().ok_or(Error::FileWrite)?;
        dead.push((pos - self.base, &bytes))?;
        let written = self.write_parts(file, &dead);
        if let Err(error) = written.and_then(|()| self.sync(file)) {
            self.cut_behind(file);
            return Err(error);
        }
        let applied = self
            .apply(file, &live, page)
            .and_then(|()| file.truncate(self.base + frame_len));
        if let Err(error) = applied {
            self.undo(file, &record);
            return Err(error);
        }
        if self.options.durable
            && let Err(error) = file.sync()
        {
            // The file has no record any more, but needs one while the old bytes are put back. It counts only where the end of
            // the old frame is, which was cut off, so that comes first.
            let again = match cut_off.is_empty() {
                true => Ok(()),
                false => file.write_at(self.base + frame_len, &cut_off).map(|()| {
                    // On a disk that syncs nothing any more the record tells other handles at least.
                    let _ = file.sync();
                }),
            };
            let again = again
                .and_then(|()| file.write_at(pos, &bytes))
                .and_then(|()| file.sync());
            match again {
                Ok(()) => self.undo(file, &record),
                Err(_) => self.stale = true,
            }
            return Err(error);
        }
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
        mut writes: Writes<'a>,
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
        sort_by_key(&mut writes.live, |over| over.pos);
        for over in header_over.into_iter().chain(writes.live) {
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

    /// Overwrites, the header last, for readers that do not know of records.
    fn apply(&self, file: &dyn Storage, live: &[(u64, &[u8])], page: Option<Piece>) -> Result<()> {
        match page {
            Some((pos, new)) => self.write_parts(file, &[(pos, &new)])?,
            None => {
                let (header, others) = live.split_at(live.len().min(1));
                self.write_parts(file, others)?;
                self.write_parts(file, header)?;
            }
        }
        self.sync(file)
    }

    /// Writes parts at their positions in the frame, those that follow one another together.
    fn write_parts(&self, file: &dyn Storage, parts: &[(u64, &[u8])]) -> Result<()> {
        let mut run: List<&[u8]> = List::with_capacity(parts.len())?;
        let (mut start, mut end) = (0, 0);
        for (at, new) in parts {
            if *at != end {
                file.write_all_at(self.base + start, &run)?;
                run.clear();
                start = *at;
            }
            run.push(new)?;
            end = at + new.len() as u64;
        }
        file.write_all_at(self.base + start, &run)
    }

    fn sync(&self, file: &dyn Storage) -> Result<()> {
        match self.options.durable {
            true => file.sync(),
            false => Ok(()),
        }
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
