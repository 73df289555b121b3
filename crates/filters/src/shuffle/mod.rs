//! Shuffle: transposes the bytes of an array, so that equal byte positions of all elements are together.
//!
//! A block of `n` elements of `typesize` bytes becomes `typesize` streams of `n` bytes. Stream `j` has byte `j` of every element. Bytes
//! after the last whole element are copied.

pub(crate) mod generic;
pub(crate) mod portable;
#[cfg(test)]
mod tests;

use super::{copy, simd};

/// Shuffles `src` into the first `src.len()` bytes of `dst`.
///
/// Any `typesize` is allowed. With 0 or 1, or more than `src.len()`, this is a copy.
///
/// # Panics
/// If `dst` is shorter than `src`.
#[inline]
pub fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let dst = &mut dst[..src.len()];
    if typesize <= 1 || typesize > src.len() {
        copy(src, dst);
    } else {
        simd::best().shuffle(typesize, src, dst);
    }
}

/// Undoes [`shuffle`], from `src` into the first `src.len()` bytes of `dst`.
///
/// # Panics
/// If `dst` is shorter than `src`.
#[inline]
pub fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let dst = &mut dst[..src.len()];
    if typesize <= 1 || typesize > src.len() {
        copy(src, dst);
    } else {
        simd::best().unshuffle(typesize, src, dst);
    }
}

/// The most streams that [`join`] accepts.
pub const MAX_JOINED: usize = generic::MAX_JOINED;

/// Whether [`join`] accepts `nstreams` streams of `n` bytes each, and is faster than copying them together first.
pub fn joins(nstreams: usize, n: usize) -> bool {
    n >= generic::MIN_JOINED_LEN && generic::can_join(nstreams)
}

/// Prefetches the beginning of a stream that is to be joined. The streams are read in parallel, and the processor's own prefetcher does
/// not know those that have not been accessed yet.
pub fn prefetch(stream: &[u8]) {
    simd::vector::prefetch(stream.as_ptr(), stream.len());
}

/// Undoes [`shuffle`] for streams in separate buffers: byte `j` of the elements of `dst` is in `streams[j]`.
///
/// # Panics
/// If [`joins`] says no, or the sizes differ.
pub fn join(streams: &[&[u8]], dst: &mut [u8]) {
    simd::best().join(streams, dst);
}
