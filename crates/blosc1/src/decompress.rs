//! Decompresses whole chunks and ranges of items.

use super::border::{FAILED, failed, ok_or_code, print_warning};
use super::compress::nthreads_of_environment;
use super::header::RawHeader;
use super::settings;
use super::snappy::Snappy;
use super::threads::{self, WorkerThreads};
use oxiblosc_base::Error;
use oxiblosc_border::{buffers, guard};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::fast_path;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::workers::Workers;
use std::ffi::{c_int, c_void};

/// The code for an unknown version.
const OTHER_VERSION: c_int = -9;
/// The code for a stream that cannot be decompressed.
const BAD_STREAM: c_int = -2;

/// Decompresses a chunk. Returns the size of its data, or an error code.
///
/// # Safety
/// `src` is null or a whole chunk; `dest` has `destsize` bytes.
unsafe fn run(
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
    nthreads: c_int,
) -> Result<c_int, c_int> {
    // SAFETY: `src` is null or a whole chunk, which has a header of 16 bytes (# Safety).
    let raw = unsafe { RawHeader::read(src) }.ok_or(FAILED)?;
    if raw.nbytes() == 0 {
        return Ok(0);
    }
    if raw.has_blocks_over(destsize) || !raw.is_known() || raw.has_unknown_flags() {
        return Err(FAILED);
    }
    if usize::try_from(raw.nbytes()).is_ok_and(|nbytes| nbytes > destsize) {
        return Err(FAILED);
    }
    let header = raw.check(|nblocks| nblocks)?;
    let nthreads = threads::count(nthreads, header.nbytes, header.blocksize_field())?;
    // SAFETY: `src` is a whole chunk, as its header says, and `dest` has `destsize` bytes, at least
    // those of the data (# Safety).
    let buffers = unsafe { buffers((src.cast(), header.cbytes), (dest.cast(), header.nbytes)) };
    let (src, dest) = buffers.map_err(failed)?;
    if fast_path::decompress(&header, src, dest).is_none() {
        let mut chunk = None;
        let workers = Workers {
            nthreads,
            exec: &WorkerThreads,
        };
        Chunk::parse_into(&mut chunk, &header, src)
            .and_then(|chunk| decompress(chunk, dest, None, &Snappy, workers))
            .map_err(failed)?;
    }
    Ok(header.nbytes as c_int)
}

/// Decompresses the chunk at `src` into `dest`, which has `destsize` bytes. `BLOSC_NTHREADS`
/// overrides the number of threads that was set. `blosc_cbuffer_validate` tells how large the data
/// are. Returns the size of the data, or 0 or a negative code if the chunk is damaged or `dest` is
/// too small.
///
/// # Safety
/// `src` has as many bytes as its header says; `dest` has `destsize` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_decompress(
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
) -> c_int {
    settings::init();
    guard(FAILED, || {
        // SAFETY: `src` has what its header says and `dest` has `destsize` bytes, by `# Safety`.
        ok_or_code(
            nthreads_of_environment()
                .and_then(|()| unsafe { run(src, dest, destsize, settings::nthreads()) }),
        )
    })
}

/// Works like `blosc_decompress`, but takes the number of threads as an argument.
///
/// # Safety
/// As for `blosc_decompress`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_decompress_ctx(
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
    numinternalthreads: c_int,
) -> c_int {
    guard(FAILED, || {
        // SAFETY: `src` has what its header says and `dest` has `destsize` bytes, by `# Safety`.
        ok_or_code(unsafe { run(src, dest, destsize, numinternalthreads) })
    })
}

/// The range of the bytes of `nitems` items, from item `start` on.
fn range_of(header: &ChunkHeader, start: c_int, nitems: c_int) -> Result<ItemRange, c_int> {
    let range = ItemRange::new(header, start, nitems, c_int::MAX);
    let whole = start >= 0 && i64::from(start) * i64::from(header.typesize) <= header.nbytes as i64;
    match range {
        Ok(range) if whole => Ok(range),
        _ => {
            print_warning(format_args!(
                "items {start} and {nitems} more are not all in the chunk"
            ));
            Err(FAILED)
        }
    }
}

/// Decompresses `nitems` items of the chunk at `src`, from item `start` on, into `dest`. Returns
/// their size in bytes, or a negative code.
///
/// # Safety
/// `src` has as many bytes as its header says; `dest` has room for the items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_getitem(
    src: *const c_void,
    start: c_int,
    nitems: c_int,
    dest: *mut c_void,
) -> c_int {
    let run = || {
        // SAFETY: `src` has a header, by `# Safety`.
        let raw = unsafe { RawHeader::read(src) }.ok_or(FAILED)?;
        if !raw.is_known() {
            return Err(OTHER_VERSION);
        }
        if raw.has_blocks_over(usize::try_from(raw.nbytes()).unwrap_or(0)) {
            return Err(FAILED);
        }
        let header = raw.check(|nblocks| nblocks + 1)?;
        let range = range_of(&header, start, nitems)?;
        // SAFETY: `src` has what its header says and `dest` has room for the range, by `# Safety`.
        let buffers = unsafe { buffers((src.cast(), header.cbytes), (dest.cast(), range.len)) };
        let (src, dest) = buffers.map_err(failed)?;
        let mut chunk = None;
        Chunk::parse_into(&mut chunk, &header, src)
            .and_then(|chunk| getitem::getitem(chunk, range, dest, &Snappy))
            .map_err(|error| {
                if error == Error::DATA {
                    BAD_STREAM
                } else {
                    FAILED
                }
            })?;
        Ok(range.len as c_int)
    };
    guard(FAILED, || ok_or_code(run()))
}
