//! Copies of super-chunks, and super-chunks as buffers and files.

use super::chunks::{Bytes, bytes_of};
use super::create::{adopt, blosc2_schunk_free, discard, durable, make};
use super::handle::{Handle, Plan};
use super::meta::{blosc2_meta_add, blosc2_vlmeta_add};
use super::recompress::recompress;
use super::storage::local;
use crate::capi::border::{code64, pointer};
use crate::capi::io;
use crate::capi::types::*;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};
use oxiblosc_chunk::repack::repack;
use oxiblosc_core::schunk::Store;
use oxiblosc_core::schunk::rules::{Chunk, Counts, Keeping};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::Change;
use oxiblosc_frame::container;
use oxiblosc_frame::header::MIN_LEN;
use oxiblosc_frame::memory::Memory;
use oxiblosc_io::{Backend, Mode, paths, whole};
use oxiblosc_memory::{Buffer, CStrBuf, List};
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

/// A copy of a frame with more chunks of special values than this, and more than its bytes would explain, stays a frame: a few
/// bytes can tell of millions.
const MOST_APART: usize = 1 << 16;

/// Makes a super-chunk of a contiguous frame of `len` bytes at `cframe`. With `copy`, chunks are copied and kept each on
/// its own, and the buffer is used no more; a frame that tells of very many chunks in few bytes is copied as it is. Without, the buffer is the super-chunk's storage and must stay as long as the
/// super-chunk; it is still the program's to free, unless that is handed over with `blosc2_schunk_avoid_cframe_free`.
/// Returns NULL if the buffer is no frame.
///
/// # Safety
/// `cframe` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_from_buffer(
    cframe: *mut u8,
    len: i64,
    copy: bool,
) -> *mut blosc2_schunk {
    // SAFETY: by the caller's word.
    pointer("blosc2_schunk_from_buffer", || unsafe {
        from_buffer(cframe, len, copy)
    })
}

/// Opens the frame in a buffer; see `blosc2_schunk_from_buffer`.
///
/// # Safety
/// As for that.
pub unsafe fn from_buffer(cframe: *mut u8, len: i64, copy: bool) -> Result<*mut blosc2_schunk> {
    let len = usize::try_from(len).map_err(|_| Error::InvalidParam)?;
    if cframe.is_null() || len < MIN_LEN {
        return Err(Error::InvalidParam);
    }
    // SAFETY: by the caller's word; without `copy` for as long as the super-chunk uses it, with it until this returns.
    let (memory, loaded) = unsafe { Memory::borrow(std::slice::from_raw_parts_mut(cframe, len))? };
    // SAFETY: files are the back end.
    let schunk = unsafe { adopt(Store::Memory(memory), loaded, std::ptr::null())? };
    if !copy {
        return Ok(schunk);
    }
    // SAFETY: just made.
    let taken = unsafe { Handle::from_c(schunk).and_then(|handle| copy_frame(handle, len)) };
    if let Err(error) = taken {
        // SAFETY: just made, and used no more.
        unsafe { blosc2_schunk_free(schunk) };
        return Err(error);
    }
    Ok(schunk)
}

/// Makes a super-chunk over a frame of `len` bytes in somebody's buffer independent of that.
fn copy_frame(handle: &Handle, len: usize) -> Result<()> {
    {
        let mut inner = handle.inner();
        if let Store::Memory(memory) = &mut inner.store
            && memory.offsets().specials() > MOST_APART.max(len / MIN_LEN)
        {
            return memory.own();
        }
    }
    take_apart(handle)
}

/// Copies the chunks out of a frame, so that each is on its own.
fn take_apart(handle: &Handle) -> Result<()> {
    let mut counts = handle.counts();
    let (mut chunks, mut nbytes, mut blocksize) = (List::new(), 0, None);
    let (mut room, nchunks) = {
        let inner = handle.inner();
        (Room::of(&counts, inner.keeping()), inner.store.nchunks())
    };
    counts.cbytes = 0;
    for nchunk in 0..nchunks {
        let bytes = bytes_of(handle, nchunk)?;
        room.take(&bytes)?;
        // SAFETY: the frame is not changed here.
        let chunk = Buffer::copy_of(unsafe { bytes.get() })?;
        let header = ChunkHeader::parse(&chunk)?;
        nbytes += header.nbytes as i64;
        counts.cbytes += header.cbytes as i64;
        let this = header.blocksize_field() as i32;
        blocksize = Some(match blocksize {
            Some(other) if other != this => 0,
            _ => this,
        });
        chunks.push(chunk)?;
    }
    if nbytes != counts.nbytes {
        return Err(Error::Data);
    }
    let mut inner = handle.inner();
    inner.reserve_pointers(handle, chunks.len())?;
    inner.store = Store::Separate(chunks);
    inner.show_data(handle, &Change::Nothing);
    handle.set_counts(&counts);
    // SAFETY: the fields are the library's to write.
    unsafe {
        let c = handle.fields();
        c.frame = null_mut();
        (*c.storage).contiguous = false;
        if let Some(blocksize) = blocksize {
            c.blocksize = blocksize;
        }
    }
    Ok(())
}

/// What is left of the bytes of a contiguous frame when its chunks are copied. Chunks that share bytes would make large copies
/// of a small frame.
struct Room(Option<u64>);

impl Room {
    fn of(counts: &Counts, keeping: Keeping) -> Self {
        let contiguous = keeping == Keeping::Contiguous;
        Self(contiguous.then_some(counts.cbytes.max(0) as u64))
    }

    /// Takes those of a chunk.
    fn take(&mut self, chunk: &Bytes) -> Result<()> {
        // A chunk that is only a header may have been made of its offset.
        let len = chunk.count();
        if let Some(left) = &mut self.0
            && len > EXTENDED_HEADER_LENGTH
        {
            *left = left.checked_sub(len as u64).ok_or(Error::Data)?;
        }
        Ok(())
    }
}

/// Whether the super-chunk is a contiguous frame in memory, with its own metalayers.
///
/// # Safety
/// `schunk` is valid.
unsafe fn is_in_memory(schunk: *mut blosc2_schunk) -> Result<bool> {
    // SAFETY: by the caller's word.
    let (handle, shown) = unsafe { (Handle::from_c(schunk)?, Handle::shown(schunk)?) };
    let framed = matches!(handle.inner().store, Store::Memory(_));
    Ok(framed && !shown.is_view())
}

/// Copies a super-chunk into a contiguous frame in memory.
///
/// # Safety
/// `schunk` is valid.
unsafe fn in_memory(schunk: *mut blosc2_schunk) -> Result<*mut blosc2_schunk> {
    let storage = blosc2_storage {
        contiguous: true,
        ..blosc2_storage::defaults()
    };
    // SAFETY: by the caller's word.
    unsafe { copy(schunk, &storage) }.map_err(|error| error.or(Error::SchunkCopy))
}

/// Gives a super-chunk as a contiguous frame in a buffer. Where `*needs_free` is set, the program frees `*cframe` with
/// `free`; else the buffer is the super-chunk's, until that changes. Returns the size of the frame, or a negative error
/// code.
///
/// # Safety
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_to_buffer(
    schunk: *mut blosc2_schunk,
    cframe: *mut *mut u8,
    needs_free: *mut bool,
) -> i64 {
    code64("blosc2_schunk_to_buffer", || {
        if cframe.is_null() || needs_free.is_null() {
            return Err(Error::NullPointer);
        }
        // SAFETY: by the caller's word.
        unsafe {
            (*cframe, *needs_free) = (null_mut(), false);
            let handle = Handle::from_c(schunk)?;
            if is_in_memory(schunk)?
                && let Some(bytes) =
                    handle.with_frame(|bytes| Ok((bytes.as_mut_ptr(), bytes.len())))?
            {
                *cframe = bytes.0;
                return Ok(bytes.1 as i64);
            }
            let copy = in_memory(schunk)?;
            let mut len = Err(Error::Failure);
            let copied = Handle::from_c(copy)?;
            {
                let mut inner = copied.inner();
                if let Store::Memory(memory) = &mut inner.store {
                    len = memory.whole().map(|bytes| {
                        *cframe = bytes.as_mut_ptr();
                        bytes.len() as i64
                    });
                }
                inner.avoid_free = len.is_ok();
            }
            *needs_free = len.is_ok();
            blosc2_schunk_free(copy);
            len
        }
    })
}

/// Writes a file that has these bytes and no others. On the file system that is done in one step; the functions of other
/// back ends have none for that.
fn write_file(backend: &dyn Backend, path: &CStr, bytes: &[u8]) -> Result<()> {
    if backend.is_filesystem() {
        return whole::write(path, bytes, durable());
    }
    let is_new = backend.is_mmap() && paths::kind(path)?.is_none();
    let written = backend.open(path, Mode::Create).and_then(|file| {
        file.write_at(0, bytes)?;
        if durable() { file.sync() } else { Ok(()) }
    });
    written.inspect_err(|_| {
        if is_new {
            // It may not be there at all.
            let _ = paths::remove_file(path);
        }
    })
}

/// Writes a super-chunk into a file as a contiguous frame. Returns the size of the frame, or a negative error code.
///
/// A frame in memory replaces a file that is there, in one step: whoever opens it finds the old bytes or the new ones, and
/// mode, owner and group stay, as far as the process may give them. Links are followed. The directory must be writable, as
/// the bytes are written to a file beside it first. Any other super-chunk is written only where nothing is yet.
///
/// # Safety
/// `schunk` is valid, `urlpath` NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_to_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
) -> i64 {
    code64("blosc2_schunk_to_file", || {
        if urlpath.is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: by the caller's word.
        unsafe {
            let handle = Handle::from_c(schunk)?;
            if is_in_memory(schunk)? {
                let backend = io::backend((*handle.fields().storage).io)?;
                let written = handle.with_frame(|bytes| {
                    write_file(&*backend, local(CStr::from_ptr(urlpath)), bytes)?;
                    Ok(bytes.len() as i64)
                })?;
                return written.ok_or(Error::Failure);
            }
            let storage = blosc2_storage {
                contiguous: true,
                urlpath: urlpath.cast_mut(),
                ..blosc2_storage::defaults()
            };
            let copy = copy(schunk, &storage).map_err(|error| error.or(Error::SchunkCopy))?;
            let len = match &mut Handle::from_c(copy)?.inner().store {
                Store::Disk(disk) => disk.close().map(|()| disk.frame_len()),
                _ => Err(Error::Failure),
            };
            let len = len.and_then(|len| i64::try_from(len).map_err(|_| Error::Failure));
            match len {
                Ok(_) => drop(blosc2_schunk_free(copy)),
                Err(_) => discard(copy),
            }
            len
        }
    })
}

/// Appends a super-chunk to a file as a contiguous frame; `blosc2_schunk_open_offset` opens it there. Returns where the
/// frame begins in the file, or a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_to_file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_append_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
) -> i64 {
    code64("blosc2_schunk_append_file", || {
        if urlpath.is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: by the caller's word.
        unsafe {
            let apart = !is_in_memory(schunk)?;
            let source = if apart { in_memory(schunk)? } else { schunk };
            let done = (|| {
                let handle = Handle::from_c(source)?;
                let backend = io::backend((*handle.fields().storage).io)?;
                let path = local(CStr::from_ptr(urlpath));
                let append =
                    |bytes: &mut [u8]| container::append(&*backend, path, bytes, durable());
                let pos = handle.with_frame(append)?.ok_or(Error::Failure)?;
                i64::try_from(pos).map_err(|_| Error::Failure)
            })();
            if apart {
                blosc2_schunk_free(source);
            }
            done
        }
    })
}

/// Copies a super-chunk, with its metalayers, into the storage that is given. Chunks are copied as they are unless the
/// parameters in `storage` ask for others; NULL there means the same parameters. Returns NULL if the storage is there
/// already, or a chunk is damaged.
///
/// # Safety
/// Both pointers are valid, and those in `storage` NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_copy(
    schunk: *mut blosc2_schunk,
    storage: *mut blosc2_storage,
) -> *mut blosc2_schunk {
    pointer("blosc2_schunk_copy", || {
        // SAFETY: by the caller's word.
        unsafe { copy(schunk, storage.as_ref().ok_or(Error::NullPointer)?) }
    })
}

/// Copies a super-chunk; see `blosc2_schunk_copy`.
///
/// # Safety
/// As for that.
pub unsafe fn copy(
    schunk: *mut blosc2_schunk,
    storage: &blosc2_storage,
) -> Result<*mut blosc2_schunk> {
    // SAFETY: by the caller's word.
    unsafe {
        let handle = Handle::from_c(schunk)?;
        let shown = Handle::shown(schunk)?;
        let (mut cparams, same) = parameters(handle, storage)?;
        let new = make(&blosc2_storage {
            cparams: &raw mut cparams,
            ..*storage
        })?;
        let copied = Handle::from_c(new).and_then(|copy| fill(handle, shown, copy, same));
        if let Err(error) = copied {
            discard(new);
            return Err(error);
        }
        Ok(new)
    }
}

/// The parameters of a copy, and whether chunks can be copied as they are.
///
/// # Safety
/// The pointers in `storage` are null or valid.
unsafe fn parameters(handle: &Handle, storage: &blosc2_storage) -> Result<(blosc2_cparams, bool)> {
    let (cctx, dctx) = (handle.cctx()?, handle.dctx()?);
    // SAFETY: integers, bools, pointers and optional functions may be zero.
    let mut own: blosc2_cparams = unsafe { std::mem::zeroed() };
    // SAFETY: one field. A context forgets a typesize that does not fit into chunks.
    own.typesize = unsafe { handle.fields().typesize };
    own.clevel = cctx.clevel.get() as u8;
    own.compcode = cctx.compcode.get() as u8;
    own.compcode_meta = cctx.compcode_meta.get();
    own.splitmode = cctx.splitmode.get();
    own.use_dict = cctx.use_dict.get();
    own.blocksize = cctx.blocksize.get();
    own.filters = cctx.filters.get();
    own.filters_meta = cctx.filters_meta.get();
    // SAFETY: by the caller's word.
    let wanted = unsafe { storage.cparams.as_ref() }.copied().unwrap_or(own);
    let blocksize = if wanted.blocksize == 0 {
        own.blocksize
    } else {
        wanted.blocksize
    };
    let same = wanted.typesize == own.typesize
        && wanted.clevel == own.clevel
        && wanted.compcode == own.compcode
        && wanted.use_dict == own.use_dict
        && blocksize == own.blocksize
        && wanted.filters == own.filters
        && wanted.filters_meta == own.filters_meta
        && cctx.prefilter.get().is_none()
        && dctx.postfilter.get().is_none();
    Ok((wanted, same))
}

/// Copies chunks and metalayers; the fixed-length ones are those of `shown`, a view or `from` itself.
fn fill(from: &Handle, shown: &Handle, to: &Handle, same: bool) -> Result<()> {
    let _reading = from.read()?;
    let counts = from.counts();
    to.set_counts(&Counts {
        chunksize: counts.chunksize,
        flags2: counts.flags2,
        ..to.counts()
    });
    for (name, content) in shown.metalayers()? {
        let name = CStrBuf::new(name)?;
        let len = content.len() as i32;
        // SAFETY: the content is only read.
        let added =
            unsafe { blosc2_meta_add(to.as_c(), name.as_ptr(), content.as_ptr().cast_mut(), len) };
        if added < 0 {
            return Err(Error::of_code(added, Error::SchunkCopy));
        }
    }
    let vlblocks = counts.flags2 & crate::capi::constants::BLOSC2_VL_BLOCKS as u8 != 0;
    let nchunks = usize::try_from(counts.nchunks).unwrap_or(0);
    if same || vlblocks {
        let mut room = Room::of(&counts, from.inner().keeping());
        for nchunk in 0..nchunks {
            from.set_current(nchunk as i64);
            let bytes = bytes_of(from, nchunk)?;
            room.take(&bytes)?;
            // SAFETY: `_reading` keeps changes out.
            let chunk = unsafe { bytes.get() };
            // Changes of the chunk may have left free bytes in it; one that is damaged is copied as it is.
            let packed = repack(chunk).ok().flatten();
            put(to, packed.as_deref().unwrap_or(chunk))?;
        }
    } else {
        recompress(from, to, nchunks, |chunk| put(to, chunk))?;
    }
    copy_vlmetalayers(from, to)
}

fn put(to: &Handle, chunk: &[u8]) -> Result<()> {
    let info = Chunk::new(&ChunkHeader::parse(chunk)?);
    to.change(|inner, counts| {
        let after = counts.appended(&info, inner.keeping())?;
        let item = inner.item(after.chunksize, &info, chunk);
        Ok(Plan {
            counts: after,
            change: Change::Append(item),
            owned: None,
        })
    })?;
    Ok(())
}

fn copy_vlmetalayers(from: &Handle, to: &Handle) -> Result<()> {
    for (name, _) in from.vlmetalayers()? {
        let name = CStrBuf::new(name)?;
        let (mut content, mut len) = (null_mut(), 0);
        // SAFETY: the content is ours to free.
        let added = unsafe {
            let found = super::meta::blosc2_vlmeta_get(
                from.as_c(),
                name.as_ptr(),
                &raw mut content,
                &raw mut len,
            );
            let added = if found < 0 {
                found
            } else {
                blosc2_vlmeta_add(to.as_c(), name.as_ptr(), content, len, null_mut())
            };
            libc::free(content.cast());
            added
        };
        if added < 0 {
            return Err(Error::of_code(added, Error::SchunkCopy));
        }
    }
    Ok(())
}
