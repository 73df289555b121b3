//! Chunks in and out of a super-chunk.

use crate::capi::chunk::read_chunk;
use crate::capi::prelude::*;
use crate::capi::unwritten::unwritten;
use oxiblosc::format::chunk::ChunkInput;
use oxiblosc::format::chunk::header::ChunkHeader;
use oxiblosc::schunk::WholeChunk;
use oxiblosc::schunk::chunks::Position;
use oxiblosc::schunk::lazy::lazy_chunk;
use oxiblosc_base::memory::Buffer;

/// Puts a chunk into the super-chunk.
///
/// # Safety
/// `chunk` points to a chunk, all of it; without `copy` it came from `malloc`, and is the
/// super-chunk's if this succeeds.
unsafe fn put(schunk: &SuperChunk, place: Position, chunk: *mut u8, copy: bool) -> Result<usize> {
    not_null!(chunk)?;
    let mut header = ChunkHeader::EMPTY;
    // SAFETY: `# Safety` says that all of the chunk is there, and `read_chunk` reads no more than
    // the chunk says that it has.
    let bytes = unsafe { read_chunk(chunk.cast(), i32::MAX, &mut header)? };
    if copy {
        return schunk.put_chunk(place, bytes);
    }
    // SAFETY: without `copy`, `# Safety` says that it came from `malloc`; it is given back below
    // where this fails.
    let owned = unsafe { Buffer::from_raw(chunk, bytes.len()) };
    schunk
        .put_owned_chunk(place, owned)
        .map_err(|(error, chunk)| {
            chunk.into_raw();
            error
        })
}

/// Appends a chunk. With `copy` the chunk stays the program's; without, it came from `malloc` and
/// is the super-chunk's if this succeeds. Returns the number of chunks, or a negative error code.
///
/// # Safety
/// `schunk` is valid; `chunk` points to a whole chunk.
#[export]
pub unsafe extern "C" fn blosc2_schunk_append_chunk(
    schunk: *mut blosc2_schunk,
    chunk: *mut u8,
    copy: bool,
) -> i64 {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    put(schunk, Position::End, chunk, copy).map_err(unwritten(Error::CHUNK_APPEND))
}

/// Inserts a chunk before chunk `nchunk`, or behind the last one; `copy` as in
/// `blosc2_schunk_append_chunk`. Returns the number of chunks, or a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_append_chunk`.
#[export]
pub unsafe extern "C" fn blosc2_schunk_insert_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut u8,
    copy: bool,
) -> i64 {
    let place = Position::Before(size(nchunk)?);
    let schunk = &ViewedSchunk::from_c(schunk)?;
    put(schunk, place, chunk, copy).map_err(unwritten(Error::CHUNK_INSERT))
}

/// Puts a chunk in the place of chunk `nchunk`; `copy` as in `blosc2_schunk_append_chunk`. Returns
/// the number of chunks, or a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_append_chunk`.
#[export]
pub unsafe extern "C" fn blosc2_schunk_update_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut u8,
    copy: bool,
) -> i64 {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    let place = schunk.place_over(index(nchunk))?;
    put(schunk, place, chunk, copy).map_err(unwritten(Error::CHUNK_UPDATE))
}

/// Deletes chunk `nchunk`. Returns the number of chunks left, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_delete_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
) -> i64 {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    let deleted = schunk.delete_chunk(index(nchunk));
    // As in the reference; no code says that a chunk could not be deleted.
    deleted.map_err(unwritten(Error::CHUNK_UPDATE))
}

/// Compresses `nbytes` bytes at `src` with the super-chunk's context and appends them as one chunk.
/// Returns the number of chunks, or a negative error code.
///
/// # Safety
/// `schunk` is valid, `src` has `nbytes` bytes.
#[export]
pub unsafe extern "C" fn blosc2_schunk_append_buffer(
    schunk: *mut blosc2_schunk,
    src: *const c_void,
    nbytes: i32,
) -> i64 {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    let nbytes = usize::try_from(nbytes).map_err(|_| Error::MAX_BUFSIZE_EXCEEDED)?;
    let input = match src.is_null() && nbytes > 0 {
        true => ChunkInput::Generated(nbytes),
        false => ChunkInput::Buffer(bytes(src.cast(), nbytes)?),
    };
    schunk.append(input).map_err(unwritten(Error::CHUNK_APPEND))
}

/// Decompresses chunk `nchunk` into `dest`, which has `nbytes` bytes. Returns the size of its data,
/// or a negative error code.
///
/// # Safety
/// `schunk` is valid, `dest` has `nbytes` bytes.
#[export]
pub unsafe extern "C" fn blosc2_schunk_decompress_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    dest: *mut c_void,
    nbytes: i32,
) -> c_int {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    // Where there is no place, there must be nothing to write.
    let capacity = if dest.is_null() { 0 } else { or_zero(nbytes) };
    schunk.decompress_chunk(index(nchunk), bytes_mut(dest.cast(), capacity)?)
}

/// Gets a chunk, whole or lazy, and hands it to C; gives its size. After an error there is none,
/// and nothing to be freed.
///
/// # Safety
/// The pointers are null or can be written; `schunk` is null or valid.
unsafe fn get(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut *mut u8,
    needs_free: *mut bool,
    lazy: bool,
) -> Result<usize> {
    unsafe_granted!({
        give(chunk, null_mut());
        give(needs_free, false);
    });
    let schunk = &unsafe_granted!(ViewedSchunk::from_c(schunk))?;
    let (state, nchunk) = (schunk.read()?, index(nchunk));
    state.check_index(nchunk)?;
    schunk.set_current(nchunk);
    not_null!(chunk, needs_free)?;
    let bytes = match lazy {
        true => lazy_chunk(&state, nchunk)?,
        false => state.chunk(nchunk)?,
    };
    let len = bytes.len();
    let (start, owned) = match bytes {
        WholeChunk::Borrowed(bytes) => (bytes.as_ptr().cast_mut(), false),
        WholeChunk::Owned(buffer) => (buffer.into_raw(), true),
    };
    unsafe_granted!((*chunk, *needs_free) = (start, owned));
    Ok(len)
}

/// Gives chunk `nchunk`, whole. Where `*needs_free` is set, the program frees `*chunk` with `free`;
/// else it is the super-chunk's, until that changes. Returns the size of the chunk, or a negative
/// error code.
///
/// # Safety
/// All pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut *mut u8,
    needs_free: *mut bool,
) -> c_int {
    get(schunk, nchunk, chunk, needs_free, false)
}

/// As `blosc2_schunk_get_chunk`, but of a chunk on disk only the front is read: header, block
/// starts, and a trailer that tells where the blocks are. The functions that decompress fetch what
/// they need of it, through the context `schunk->dctx` or another one that was made for this
/// super-chunk.
///
/// # Safety
/// All pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_lazychunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    chunk: *mut *mut u8,
    needs_free: *mut bool,
) -> c_int {
    get(schunk, nchunk, chunk, needs_free, true)
}

/// Decompresses block `nblock` of chunk `nchunk`, which is one of variable-length blocks. The
/// program frees `*dest` with `free`. Returns the size of the block, or a negative error code.
///
/// # Safety
/// All pointers are valid or NULL.
#[export]
pub unsafe extern "C" fn blosc2_schunk_get_vlblock(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
    nblock: i32,
    dest: *mut *mut u8,
    destsize: *mut i32,
) -> c_int {
    not_null!(schunk, dest, destsize; INVALID_PARAM)?;
    let schunk = Handle::from_c(schunk)?.core();
    let block = schunk.decompress_vlblock(index(nchunk), index(nblock))?;
    Ok(hand_over(block, dest, destsize))
}
