//! Checksums of frames.

use crate::capi::prelude::*;

/// Gives a super-chunk in a frame checksums: its chunks, header, index and metalayers now, and all
/// that comes later, by this handle and by every other one of this library. Damage is then an error
/// of the read that meets it (`BLOSC2_ERROR_DATA`), and no wrong data. Other readers and writers of
/// the format pass over the checksums; chunks that those write have none.
///
/// Chunks that have none are written anew, some at a time, so that after an error some may have
/// checksums and others not. New frames get checksums by themselves where the environment variable
/// `BLOSC_CHECKSUMS` is set, neither empty nor `0`.
///
/// Returns 0, or a negative error code: `BLOSC2_ERROR_FRAME_TYPE` if the super-chunk is no frame,
/// `BLOSC2_ERROR_DATA` if a chunk is damaged.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_add_checksums(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.add_checksums()
}

/// Whether chunks that come into a super-chunk get checksums: 1 or 0, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_has_checksums(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.has_checksums()
}

/// Checks that each chunk of a frame is where it belongs, and the newest that was there, which its
/// own checksums do not tell. Returns 1 if so, 0 if the frame does not know it (it has no
/// checksums, or another library changed its chunks since), or a negative error code:
/// `BLOSC2_ERROR_DATA` if a chunk is not.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_check_places(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.check_places()
}

/// Checks all checksums of a chunk, without decompressing it. Returns 1 if they are right, 0 if the
/// chunk has none, or a negative error code: `BLOSC2_ERROR_DATA` if the chunk is damaged.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_check_chunk(
    schunk: *mut blosc2_schunk,
    nchunk: i64,
) -> c_int {
    ViewedSchunk::from_c(schunk)?.check_chunk(index(nchunk))
}
