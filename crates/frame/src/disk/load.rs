//! Reading header, index and trailer of a frame.

use super::view::{FrameView, Pending, patches};
use crate::binding::Binding;
use crate::fingerprint;
use crate::header::{self, Extent, FrameKind, Header};
use crate::index::stored_header;
use crate::journal::{Overlay, overlay};
use crate::loaded::Loaded;
use crate::meta::Metalayer;
use crate::offsets::{Offsets, WIDTH};
use crate::trailer;
use oxiblosc_base::memory::{Shared, TryVec};
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_chunk::checksum::crc32c;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};
use oxiblosc_io::{Storage, StorageLock};
use std::cell::Cell;
use std::time::Duration;

/// How often a frame is read while another process changes it, and the pause between two attempts
/// in milliseconds.
const RETRIES: (usize, u64) = (50, 1);
/// How often a frame is read without a lock, before it is locked for reading.
const UNLOCKED: usize = 4;

/// If a locked file with an incomplete frame does not change in this many attempts, no writer is
/// expected to complete it. They take longer than the resolution of the modification times of file
/// systems.
const MAX_STILL: usize = 10;

/// A frame in its file, as it was before a change that is not committed.
struct FrameFile<'a> {
    file: &'a dyn Storage,
    /// Set when a call on the file fails.
    failed: &'a Cell<bool>,
    base: u64,
    /// The number of bytes of the file from the start of the frame on.
    size: u64,
    pending: Pending,
}

impl FrameFile<'_> {
    fn read(&self, pos: u64, len: u64) -> Result<TryVec<u8>> {
        // This is checked before memory is allocated, so that no more is allocated than the file
        // has bytes.
        let end = pos.checked_add(len).filter(|end| *end <= self.size);
        if end.is_none() {
            return Err(Error::FILE_READ);
        }
        let len = usize::try_from(len).map_err(|_| Error::MEMORY_ALLOC)?;
        let mut bytes = TryVec::filled(0, len)?;
        let read = self.file.read_at(self.base + pos, &mut bytes);
        noted(self.failed, read)?;
        overlay(patches(&self.pending), pos, &mut bytes);
        Ok(bytes)
    }
}

/// Sets `failed` if a call on a file has failed.
fn noted<T>(failed: &Cell<bool>, done: Result<T>) -> Result<T> {
    failed.set(failed.get() || done.is_err());
    done
}

/// A frame that was read: what its handle keeps, and what the handle's owner gets.
pub type Loading = (FrameView, Loaded);

/// Why a frame could not be read.
pub struct NotLoaded {
    pub error: Error,
    /// Whether the file could not be read, or there was no memory. Then nothing is known about the
    /// frame.
    pub is_unknown: bool,
}

/// Reads a frame with [`load`], and again as long as another handle may be in the middle of a
/// change. After a few attempts the file is locked against changes while it is read, unless this
/// handle has locked it already (`has_lock`). It is also locked before an error is returned, since
/// a reader may see a header that is only partly written.
///
/// While the file is locked, only a writer that does not use these locks, such as the reference,
/// may be in the middle of a change. It is waited for as long as the file changes.
pub fn load_patiently(
    file: &dyn Storage,
    base: u64,
    kind: FrameKind,
    patient: bool,
    has_lock: bool,
) -> std::result::Result<Loading, NotLoaded> {
    let failed = Cell::new(false);
    let loaded = load_in_attempts(file, base, kind, (patient, has_lock), &failed);
    // A private map cannot be read where the file has become shorter.
    let has_failed = failed.get() && !file.is_private();
    loaded.map_err(|error| NotLoaded {
        error,
        is_unknown: has_failed || error == Error::MEMORY_ALLOC,
    })
}

/// As [`load_patiently`]. After an error, `failed` says whether a call on the file failed in the
/// last attempt.
fn load_in_attempts(
    file: &dyn Storage,
    base: u64,
    kind: FrameKind,
    (patient, has_lock): (bool, bool),
    failed: &Cell<bool>,
) -> Result<Loading> {
    let (attempts, millis) = RETRIES;
    let pause = Duration::from_millis(millis);
    let mut doubted = false;
    let (mut last, mut still) = (None, 0);
    for attempt in 0..attempts {
        let locks = !has_lock && (doubted || attempt >= UNLOCKED);
        let lock = locks.then(|| StorageLock::shared(file, pause)).flatten();
        failed.set(false);
        let loaded = load(file, base, kind, patient, failed);
        let is_locked = has_lock || lock.is_some();
        drop(lock);
        match loaded {
            Ok(Some(done)) => return Ok(done),
            Err(error) if doubted || error == Error::MEMORY_ALLOC => return Err(error),
            Err(_) => {
                doubted = true;
                continue;
            }
            Ok(None) => {}
        }
        let now = file.written().zip(file.size().ok());
        let is_still = is_locked && now.is_some() && now == last;
        still = if is_still { still + 1 } else { 0 };
        if still == MAX_STILL {
            break;
        }
        last = now;
        std::thread::sleep(pause);
    }
    Err(Error::FILE_READ)
}

/// Reads a frame once. `None` if it changed while it was read; with `patient`, also if it is
/// damaged, since a writer may be at work.
fn load(
    file: &dyn Storage,
    base: u64,
    kind: FrameKind,
    patient: bool,
    failed: &Cell<bool>,
) -> Result<Option<Loading>> {
    let size = noted(failed, file.size())?;
    let mut source = FrameFile {
        file,
        failed,
        base,
        size: size.checked_sub(base).ok_or(Error::FILE_READ)?,
        pending: None,
    };
    match Overlay::find(file, size, base) {
        Ok(Some(pending)) => source.pending = Some(Shared::new(pending)?),
        Ok(None) => {}
        // The record was removed while it was read.
        Err(_) if noted(failed, file.size())? != size => return Ok(None),
        not_found => return noted(failed, not_found).map(|_| None),
    }
    let prefix = source.read(0, header::MIN_LEN as u64)?;
    if !Header::has_magic(&prefix) {
        // No writer changes the magic, so the file was truncated or replaced.
        return Err(Error::INVALID_HEADER.at(Doing::ReadHeader));
    }
    let result = read(&source, kind, &prefix);
    let changed =
        noted(failed, file.size())? != size || source.read(0, header::MIN_LEN as u64)? != prefix;
    if changed || (result.is_err() && patient) {
        Ok(None)
    } else {
        result.map(Some)
    }
}

/// Parses a frame that begins with `prefix`, which has the magic.
fn read(source: &FrameFile, kind: FrameKind, prefix: &[u8]) -> Result<Loading> {
    let (extent, header, parsed) = read_header(source, kind, prefix).doing(Doing::ReadHeader)?;
    let header_len = u64::from(extent.header_len);
    let trailer = read_trailer(source, &extent, &parsed).doing(Doing::ReadTrailer);
    let (trailer_pos, trailer, vlmetalayers) = trailer?;
    let index_pos = match kind {
        FrameKind::Contiguous => header_len.checked_add(extent.cbytes),
        FrameKind::Sparse => Some(header_len),
    };
    let index_pos = index_pos.ok_or(Error::INVALID_HEADER)?;
    let index = read_index(source, &parsed, index_pos, trailer_pos, &trailer);
    let index = index.doing(Doing::ReadIndex)?;
    index.offsets.check(kind, &extent).doing(Doing::ReadIndex)?;
    let coverage = fingerprint::check(&header, || index.crc, &trailer).doing(Doing::CheckSums)?;
    let checksums = coverage.scope(&trailer);
    let view = FrameView {
        header,
        extent,
        trailer_len: trailer.len(),
        tail: trailer,
        offsets: index.offsets,
        capacity: index.capacity,
        has_gap: index.has_gap,
        pending: source.pending.clone(),
        checksums,
        offsets_crc: index.offsets_crc,
        binding: index.binding.filter(|_| checksums.is_any()),
        positions_distinct: None,
    };
    Ok((
        view,
        Loaded {
            header: parsed,
            vlmetalayers,
            coverage,
        },
    ))
}

/// Reads the header, which begins with `prefix`.
fn read_header(
    source: &FrameFile,
    kind: FrameKind,
    prefix: &[u8],
) -> Result<(Extent, TryVec<u8>, Header)> {
    let extent = Extent::parse(prefix)?;
    if extent.frame_len > source.size {
        return Err(Error::INVALID_HEADER);
    }
    let header = source.read(0, u64::from(extent.header_len))?;
    let parsed = Header::parse(&header)?;
    match parsed.kind == kind {
        true => Ok((extent, header, parsed)),
        false => Err(Error::FRAME_TYPE),
    }
}

/// Reads the trailer of a frame with this header. Returns where it begins, its bytes, and the
/// metalayers in it.
fn read_trailer(
    source: &FrameFile,
    extent: &Extent,
    header: &Header,
) -> Result<(u64, TryVec<u8>, TryVec<Metalayer>)> {
    let (frame_len, header_len) = (extent.frame_len, u64::from(extent.header_len));
    let end = frame_len.checked_sub(trailer::MIN_LEN as u64);
    let end = source.read(end.ok_or(Error::INVALID_HEADER)?, trailer::MIN_LEN as u64)?;
    let len = trailer::len(&end, frame_len, header_len)? as u64;
    let bytes = source.read(frame_len - len, len)?;
    match trailer::parse(&bytes) {
        // The length in it is wrong; the trailer then begins right behind the header.
        Err(error) if header.tolerates(error) => {
            let mut bytes = source.read(header_len, frame_len - header_len)?;
            trailer::correct_len(&mut bytes)?;
            let vlmetalayers = trailer::parse(&bytes)?;
            Ok((header_len, bytes, vlmetalayers))
        }
        vlmetalayers => Ok((frame_len - len, bytes, vlmetalayers?)),
    }
}

/// An index that was read.
struct LoadedIndex {
    offsets: Offsets,
    /// The number of offsets for which there is room; none if it is compressed.
    capacity: Option<usize>,
    /// Whether there is free space behind it.
    has_gap: bool,
    /// Its checksum; 0 if the trailer has none to compare it with.
    crc: u32,
    /// The checksum of its offsets, if they are stored uncompressed.
    offsets_crc: Option<u32>,
    /// What binds the chunks to their places.
    binding: Option<Binding>,
}

const NO_CHUNKS: LoadedIndex = LoadedIndex {
    offsets: Offsets::EMPTY,
    capacity: None,
    has_gap: false,
    crc: 0,
    offsets_crc: None,
    binding: None,
};

fn read_index(
    source: &FrameFile,
    header: &Header,
    pos: u64,
    limit: u64,
    trailer: &[u8],
) -> Result<LoadedIndex> {
    let count = match header.nchunks() {
        // If the chunks have no data, only the index has their number.
        Some(0) if pos + EXTENDED_HEADER_LENGTH as u64 > limit => return Ok(NO_CHUNKS),
        Some(0) => None,
        Some(count) => Some(usize::try_from(count).map_err(|_| Error::INVALID_HEADER)?),
        None => None,
    };
    let room = limit.checked_sub(pos).ok_or(Error::INVALID_HEADER)?;
    if room < EXTENDED_HEADER_LENGTH as u64 {
        return Err(Error::INVALID_HEADER);
    }
    let prefix = source.read(pos, EXTENDED_HEADER_LENGTH as u64)?;
    let index = match ChunkHeader::parse(&prefix) {
        Ok(index) if index.cbytes as u64 <= room => index,
        _ if header.nbytes <= 0 => return Ok(NO_CHUNKS),
        Ok(_) => return Err(Error::INVALID_HEADER),
        Err(error) => return Err(error),
    };
    let bytes = source.read(pos, index.cbytes as u64)?;
    let offsets = match Offsets::decode(&bytes, count, header.kind, source.size) {
        Ok(offsets) => offsets,
        Err(error) if header.tolerates(error) => return Ok(NO_CHUNKS),
        Err(error) => return Err(error),
    };
    // In a compact frame the trailer follows immediately.
    let has_gap = room > index.cbytes as u64;
    if !has_gap && offsets.len() != index.nbytes / WIDTH {
        // Only an index that has free space behind it may have more offsets than the header says,
        // while another process appends.
        return Err(Error::INVALID_HEADER);
    }
    let capacity = (room as usize - EXTENDED_HEADER_LENGTH) / WIDTH;
    // An uncompressed index of another library may have another header. It is rewritten before
    // offsets are added.
    let prefix = stored_header(index.nbytes / WIDTH);
    let parts = bytes.split_first_chunk();
    let is_own = |own| parts.is_some_and(|(prefix, _)| Binding::without(*prefix) == own);
    // One that another writer left with what bound the chunks before is written anew, too.
    let is_known = fingerprint::is_in(trailer) || Binding::of_index(&bytes).is_none();
    let growing = has_gap && is_known && prefix.is_ok_and(is_own);
    let (mut crc, mut offsets_crc, mut binding) = (0, None, None);
    if let Some((prefix, stored)) = parts.filter(|_| fingerprint::is_in(trailer)) {
        let behind = crc32c(stored);
        crc = fingerprint::of_index_parts(prefix, behind);
        offsets_crc = growing.then_some(behind);
        binding = Binding::of_index(prefix);
    }
    Ok(LoadedIndex {
        offsets,
        capacity: growing.then_some(capacity),
        has_gap,
        crc,
        offsets_crc,
        binding,
    })
}
