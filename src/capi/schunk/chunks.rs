//! Chunks in and out of a super-chunk.

use super::handle::{Handle, Plan};
use super::{lazychunk, storage};
use crate::capi::border::{code, code64};
use crate::capi::compress::Input;
use crate::capi::decompress::read_chunk;
use crate::capi::types::*;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::scratch;
use oxiblosc_core::schunk::Where;
use oxiblosc_core::schunk::rules::Chunk;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::Change;
use oxiblosc_memory::{Buffer, List};
use std::ffi::{c_int, c_void};

/// Chunks of at most so many bytes of data are rather copied into memory of their own than compressed there, since that has
/// to be asked for and zeroed before anybody knows how much of it is needed.
const COPIED: i32 = 64 << 10;

/// A chunk as bytes: in the super-chunk, or apart from it.
pub enum Bytes {
    /// In memory that the super-chunk owns, until it changes.
    Inside(*const u8, usize),
    /// Made for this.
    Apart(Buffer),
}

impl Bytes {
    /// How many they are.
    pub fn count(&self) -> usize {
        match self {
            Self::Inside(_, len) => *len,
            Self::Apart(buffer) => buffer.len(),
        }
    }

    /// The bytes.
    ///
    /// # Safety
    /// The super-chunk was not changed since they were found.
    pub unsafe fn get(&self) -> &[u8] {
        match self {
            // SAFETY: by the caller's word.
            Self::Inside(ptr, len) => unsafe { std::slice::from_raw_parts(*ptr, *len) },
            Self::Apart(buffer) => buffer,
        }
    }
}

/// Checks the index of a chunk; one behind the last is allowed for insertions.
pub fn checked(nchunk: i64, count: i64) -> Result<usize> {
    if (0..count).contains(&nchunk) {
        Ok(nchunk as usize)
    } else {
        Err(Error::InvalidParam)
    }
}

/// The bytes of a chunk, within an operation on its super-chunk.
pub fn bytes_of(handle: &Handle, nchunk: usize) -> Result<Bytes> {
    let counts = handle.counts();
    let mut inner = handle.inner();
    match inner.store.find(nchunk)? {
        Where::Bytes(bytes) => {
            let inside = Bytes::Inside(bytes.as_ptr(), bytes.len());
            let nbytes = ChunkHeader::parse_basic(bytes)?.nbytes;
            inner.expect(&counts, nchunk, nbytes)?;
            Ok(inside)
        }
        Where::Stored(stored) => {
            // Other threads go on while this one reads.
            drop(inner);
            let bytes = stored.whole()?;
            let nbytes = ChunkHeader::parse_basic(&bytes)?.nbytes;
            handle.inner().expect(&counts, nchunk, nbytes)?;
            Ok(Bytes::Apart(bytes))
        }
        Where::Special(place) => {
            let nbytes = counts.nbytes_of(nchunk as i64).ok_or(Error::Data)?;
            let chunk = storage::special_chunk(handle, place, nbytes)?;
            Buffer::copy_of(&chunk).map(Bytes::Apart)
        }
    }
}

/// A chunk of the program's.
///
/// # Safety
/// `chunk` points to a chunk, all of it, which outlives what is returned.
unsafe fn chunk_from_c<'a>(chunk: *mut u8) -> Result<(&'a [u8], Chunk)> {
    let mut header = ChunkHeader::EMPTY;
    if chunk.is_null() {
        return Err(Error::NullPointer);
    }
    // SAFETY: by the caller's word; a chunk has as many bytes as it says.
    let bytes = unsafe { read_chunk(chunk.cast(), i32::MAX, &mut header)? };
    if bytes.len() < header.cbytes {
        // A lazy chunk is no chunk without the frame that it is from.
        return Err(Error::InvalidParam);
    }
    Ok((bytes, Chunk::new(&header)))
}

/// Where a chunk of the program's goes.
#[derive(Clone, Copy)]
enum To {
    End,
    Before(i64),
    Over(i64),
}

/// Puts a chunk into the super-chunk.
///
/// # Safety
/// As for [`chunk_from_c`]; without `copy`, `chunk` came from `malloc`, and is the super-chunk's if this succeeds.
unsafe fn put(handle: &Handle, to: To, chunk: *mut u8, copy: bool) -> Result<i64> {
    // SAFETY: by the caller's word.
    let (bytes, info) = unsafe { chunk_from_c(chunk)? };
    let inside = {
        let _unchanged = handle.share()?;
        let inside = copy && handle.inner().store.holds(bytes);
        inside.then(|| Buffer::copy_of(bytes)).transpose()?
    };
    if let Some(apart) = inside {
        // The frame's buffer may move while the chunk is put into it.
        return put_bytes(handle, to, &apart, info, &mut List::new());
    }
    let mut owned = List::new();
    if !copy {
        owned.reserve_exact(1)?;
        // SAFETY: by the caller's word; given back below if this fails.
        owned.push_within_capacity(unsafe { Buffer::from_raw(chunk, bytes.len()) });
    }
    let result = put_bytes(handle, to, bytes, info, &mut owned);
    if result.is_err() {
        for chunk in owned.drain(..) {
            chunk.into_raw();
        }
    }
    result
}

/// Puts a chunk into the super-chunk. If the bytes are `owned`, they are taken where chunks are kept each on its own.
fn put_bytes(
    handle: &Handle,
    to: To,
    bytes: &[u8],
    info: Chunk,
    owned: &mut List<Buffer>,
) -> Result<i64> {
    handle.with(true, |inner| {
        let counts = handle.counts();
        let keeping = inner.keeping();
        let (after, current) = match to {
            To::End => (counts.appended(&info, keeping)?, counts.nchunks),
            To::Before(nchunk) => {
                checked(nchunk, counts.nchunks + 1)?;
                (counts.inserted(nchunk, &info, keeping)?, nchunk)
            }
            To::Over(nchunk) => {
                let old = inner.chunk(&counts, checked(nchunk, counts.nchunks)?);
                let old = old.map_err(Error::or_failure)?;
                (counts.updated(nchunk, &old, &info, keeping)?, nchunk)
            }
        };
        let item = inner.item(after.chunksize, &info, bytes);
        let update = [(current as usize, item)];
        let change = match to {
            To::End => Change::Append(item),
            To::Before(nchunk) => Change::Insert(nchunk as usize, item),
            To::Over(_) => Change::Update(&update),
        };
        let taken = !inner.store.is_frame() && !owned.is_empty();
        handle.set_current(current);
        inner.apply(
            handle,
            &counts,
            Plan {
                counts: after,
                change,
                owned: taken.then_some(owned),
            },
        )
    })
}

/// Appends a chunk. With `copy` the chunk stays the program's; without, it came from `malloc` and is the super-chunk's if
/// this succeeds. Returns the number of chunks, or a negative error code.
///
/// # Safety
/// `schunk` is valid; `chunk` points to a whole chunk.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_append_chunk(
    schunk: *mut blosc2_schunk,
    chunk: *mut u8,
    copy: bool,
) -> i64 {
    // SAFETY: by the caller's word.
    code64("blosc2_schunk_append_chunk", || unsafe {
        put(Handle::from_c(schunk)?, To::End, chunk, copy)
    })
}

/// Inserts a chunk before chunk `nchunk`, or behind the last one; `copy` as in `blosc2_schunk_append_chunk`. Returns the
/// number of chunks, or a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_append_chunk`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_insert_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut u8,
    copy: bool,
) -> i64 {
    // SAFETY: by the caller's word.
    code64("blosc2_schunk_insert_chunk", || unsafe {
        let handle = Handle::from_c(schunk)?;
        checked(nchunk, handle.nchunks() + 1)?;
        put(handle, To::Before(nchunk), chunk, copy)
    })
}

/// Puts a chunk in the place of chunk `nchunk`; `copy` as in `blosc2_schunk_append_chunk`. Returns the number of chunks, or
/// a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_append_chunk`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_update_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut u8,
    copy: bool,
) -> i64 {
    // SAFETY: by the caller's word.
    code64("blosc2_schunk_update_chunk", || unsafe {
        let handle = Handle::from_c(schunk)?;
        checked(nchunk, handle.nchunks())?;
        put(handle, To::Over(nchunk), chunk, copy)
    })
}

/// Deletes chunk `nchunk`. Returns the number of chunks left, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_delete_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
) -> i64 {
    code64("blosc2_schunk_delete_chunk", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        handle.change(|inner, counts| {
            let at = checked(nchunk, counts.nchunks)?;
            let old = inner.chunk(counts, at).map_err(Error::or_failure)?;
            handle.set_current(nchunk);
            Ok(Plan {
                counts: counts.deleted(&old, inner.keeping()),
                change: Change::Delete(at),
                owned: None,
            })
        })
    })
}

/// Compresses `nbytes` bytes at `src` with the super-chunk's context and appends them as one chunk. Returns the number of
/// chunks, or a negative error code.
///
/// # Safety
/// `schunk` is valid, `src` has `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_append_buffer(
    schunk: *mut blosc2_schunk,
    src: *const c_void,
    nbytes: i32,
) -> i64 {
    code64("blosc2_schunk_append_buffer", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        // The context compresses one buffer at a time, and tells its functions which chunk that will be.
        let _changing = handle.reserve()?;
        handle.set_current(handle.nchunks());
        if nbytes <= COPIED || handle.inner().store.is_frame() {
            let mut scratch = scratch::borrow()?;
            let room = scratch.out.ensure(room_for(nbytes)?)?;
            // SAFETY: by the caller's word.
            let cbytes = unsafe { compress_into(room, handle, src.cast(), nbytes)? };
            let chunk = &room[..cbytes];
            let info = Chunk::new(&ChunkHeader::parse(chunk)?);
            return put_bytes(handle, To::End, chunk, info, &mut List::new());
        }
        // SAFETY: by the caller's word.
        let mut chunk = unsafe { compressed(handle, src.cast(), nbytes)? };
        chunk.shrink_if_wasteful();
        let info = Chunk::new(&ChunkHeader::parse(&chunk)?);
        // SAFETY: the buffer stays where it is, whoever owns it, until the super-chunk has it.
        let bytes = unsafe { std::slice::from_raw_parts(chunk.as_ptr(), chunk.len()) };
        put_bytes(handle, To::End, bytes, info, &mut List::of([chunk])?)
    })
}

/// Compresses with the super-chunk's context.
///
/// # Safety
/// `src` has `nbytes` bytes.
pub unsafe fn compressed(handle: &Handle, src: *const u8, nbytes: i32) -> Result<Buffer> {
    let mut chunk = Buffer::zeroed(room_for(nbytes)?)?;
    // SAFETY: by the caller's word.
    let cbytes = unsafe { compress_into(&mut chunk, handle, src, nbytes)? };
    chunk.resize(cbytes)?;
    Ok(chunk)
}

/// The most bytes that a chunk of `nbytes` bytes of data has.
fn room_for(nbytes: i32) -> Result<usize> {
    let nbytes = usize::try_from(nbytes).map_err(|_| Error::MaxBufsizeExceeded)?;
    Ok(nbytes + MAX_OVERHEAD)
}

/// Compresses with the super-chunk's context into the front of `room`; the chunk's bytes.
///
/// # Safety
/// As for [`compressed`].
unsafe fn compress_into(
    room: &mut [u8],
    handle: &Handle,
    src: *const u8,
    nbytes: i32,
) -> Result<usize> {
    let destsize = i32::try_from(room.len()).map_err(|_| Error::MaxBufsizeExceeded)?;
    // SAFETY: by the caller's word; there is this room.
    unsafe {
        let input = Input::Buffer(src);
        (handle.cctx()?).compress(&input, nbytes, room.as_mut_ptr(), destsize, true)
    }
}

/// Decompresses chunk `nchunk` into `dest`, which has `nbytes` bytes. Returns the size of its data, or a negative error
/// code.
///
/// # Safety
/// `schunk` is valid, `dest` has `nbytes` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_decompress_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    dest: *mut c_void,
    nbytes: i32,
) -> c_int {
    code("blosc2_schunk_decompress_chunk", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        let _reading = handle.read()?;
        let at = checked(nchunk, handle.counts().nchunks)?;
        handle.set_current(nchunk);
        let bytes = bytes_of(handle, at)?;
        // SAFETY: `_reading` keeps changes out.
        let src = unsafe { bytes.get() };
        let header = ChunkHeader::parse(src)?;
        if header.nbytes > usize::try_from(nbytes).unwrap_or(0) {
            let error = if handle.inner().store.is_frame() {
                Error::WriteBuffer
            } else {
                Error::InvalidParam
            };
            return Err(error);
        }
        // SAFETY: by the caller's word.
        unsafe {
            handle
                .dctx()?
                .decompress(src.as_ptr().cast(), src.len() as i32, dest, nbytes)
        }
    })
}

/// How a chunk is wanted: as [`bytes_of`] or as [`lazychunk::of`] gives it.
type Getter = fn(&Handle, usize) -> Result<Bytes>;

/// Gets chunk `nchunk` of a super-chunk, within an operation on it.
fn get(handle: &Handle, nchunk: i64, getter: Getter) -> Result<Bytes> {
    let at = checked(nchunk, handle.counts().nchunks)?;
    handle.set_current(nchunk);
    getter(handle, at)
}

/// Gets a chunk and hands it to C; gives its size.
///
/// # Safety
/// `schunk` is valid; the other pointers are null or can be written.
unsafe fn get_for_c(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut *mut u8,
    needs_free: *mut bool,
    getter: Getter,
) -> Result<usize> {
    // SAFETY: by the caller's word.
    let handle = unsafe { Handle::from_c(schunk)? };
    let _reading = handle.read()?;
    checked(nchunk, handle.counts().nchunks)?;
    if chunk.is_null() || needs_free.is_null() {
        handle.set_current(nchunk);
        return Err(Error::NullPointer);
    }
    let bytes = get(handle, nchunk, getter).inspect_err(|_| {
        // SAFETY: by the caller's word.
        unsafe { (*chunk, *needs_free) = (std::ptr::null_mut(), false) };
    })?;
    // SAFETY: by the caller's word.
    Ok(unsafe { hand_out(bytes, chunk, needs_free) })
}

/// Hands a chunk to C.
///
/// # Safety
/// The pointers can be written.
unsafe fn hand_out(bytes: Bytes, chunk: *mut *mut u8, needs_free: *mut bool) -> usize {
    // SAFETY: by the caller's word.
    unsafe {
        match bytes {
            Bytes::Inside(ptr, len) => {
                *chunk = ptr.cast_mut();
                *needs_free = false;
                len
            }
            Bytes::Apart(buffer) => {
                let len = buffer.len();
                *chunk = buffer.into_raw();
                *needs_free = true;
                len
            }
        }
    }
}

/// Gives chunk `nchunk`, whole. Where `*needs_free` is set, the program frees `*chunk` with `free`; else it is the
/// super-chunk's, until that changes. Returns the size of the chunk, or a negative error code.
///
/// # Safety
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut *mut u8,
    needs_free: *mut bool,
) -> c_int {
    // SAFETY: by the caller's word.
    code("blosc2_schunk_get_chunk", || unsafe {
        get_for_c(schunk, nchunk, chunk, needs_free, bytes_of)
    })
}

/// As `blosc2_schunk_get_chunk`, but of a chunk on disk only the front is read: header, block starts, and a trailer that
/// tells where the blocks are. The functions that decompress fetch what they need of it, through the context
/// `schunk->dctx` or another one that was made for this super-chunk.
///
/// # Safety
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_lazychunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut *mut u8,
    needs_free: *mut bool,
) -> c_int {
    // SAFETY: by the caller's word.
    code("blosc2_schunk_get_lazychunk", || unsafe {
        get_for_c(schunk, nchunk, chunk, needs_free, lazychunk::of)
    })
}

/// Decompresses block `nblock` of chunk `nchunk`, which is one of variable-length blocks. The program frees `*dest` with
/// `free`. Returns the size of the block, or a negative error code.
///
/// # Safety
/// All pointers are valid or NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_vlblock(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    nblock: i32,
    dest: *mut *mut u8,
    destsize: *mut i32,
) -> c_int {
    code("blosc2_schunk_get_vlblock", || {
        if schunk.is_null() || dest.is_null() || destsize.is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        let _reading = handle.read()?;
        let bytes = get(handle, nchunk, lazychunk::of)?;
        // SAFETY: as in `blosc2_schunk_decompress_chunk`.
        let result = unsafe {
            let src = bytes.get();
            let dctx = handle.fields().dctx;
            crate::capi::decompress::blosc2_vldecompress_block_ctx(
                dctx,
                src.as_ptr().cast(),
                src.len() as i32,
                nblock,
                dest,
                destsize,
            )
        };
        if result < 0 {
            return Err(Error::known(result).unwrap_or(Error::Failure));
        }
        Ok(result)
    })
}
