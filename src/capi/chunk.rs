//! The bytes of a chunk to which a C program points.

use crate::capi::prelude::*;
use oxiblosc::format::chunk::header::{ChunkHeader, MIN_HEADER_LENGTH};
use oxiblosc::lazy;

/// Reads the header of the chunk at `src` into `header`, and gives the bytes that it says belong to
/// the chunk, as far as `srcsize` reaches.
///
/// # Safety
/// `src` points to a chunk, or to `srcsize` bytes if those are fewer; to `srcsize` bytes of a lazy
/// chunk.
pub unsafe fn read_chunk<'a>(
    src: *const c_void,
    srcsize: i32,
    header: &mut ChunkHeader,
) -> Result<&'a [u8]> {
    let src = src.cast::<u8>();
    let size = or_zero(srcsize);
    if size < MIN_HEADER_LENGTH {
        return Err(Error::READ_BUFFER);
    }
    // SAFETY: at least this much is there. `srcsize` may be more than there is, so the rest is
    // looked at only as far as the header reaches.
    let basic = unsafe { bytes(src, MIN_HEADER_LENGTH)? };
    // SAFETY: a chunk has as many bytes as it says, and `srcsize` are there if that is less.
    let prefix = unsafe { bytes(src, lazy::prefix_len(basic, size))? };
    header.read(prefix, true)?;
    // SAFETY: a chunk has as many bytes as it says; `srcsize` is all that says how long a lazy
    // chunk is.
    unsafe { bytes(src, lazy::len_within(header, size)?) }
}
