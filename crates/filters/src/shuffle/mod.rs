//! Shuffle: the bytes of an array's elements sorted by their place in the element.
//!
//! A block of `n` elements of `typesize` bytes becomes `typesize` streams of `n` bytes, stream `j` holding byte `j` of
//! every element. What is left of the block after the last whole element is copied as it is.

pub(crate) mod generic;
pub(crate) mod portable;
#[cfg(test)]
mod tests;

use super::{copy, simd};

/// Shuffles `src` into the first `src.len()` bytes of `dst`.
///
/// Any `typesize` is allowed; one of 0 or 1, or more than `src.len()`, makes it a copy.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let dst = &mut dst[..src.len()];
    if typesize <= 1 || typesize > src.len() {
        copy(src, dst);
    } else {
        simd::best().shuffle(typesize, src, dst);
    }
}

/// Undoes [`shuffle`]: the first `src.len()` bytes of `dst` become what was shuffled into `src`.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let dst = &mut dst[..src.len()];
    if typesize <= 1 || typesize > src.len() {
        copy(src, dst);
    } else {
        simd::best().unshuffle(typesize, src, dst);
    }
}

/// The most streams that [`join`] takes.
pub const MAX_JOINED: usize = generic::MAX_JOINED;

/// Whether [`join`] takes `nstreams` streams of `n` bytes each, and is worth it.
pub fn joins(nstreams: usize, n: usize) -> bool {
    n >= generic::JOINED && generic::can_join(nstreams)
}

/// Asks for the beginning of a stream that is to be joined: all of them are read side by side, which the processor does not
/// expect of those that it has not seen yet.
pub fn prefetch(stream: &[u8]) {
    simd::vector::prefetch(stream.as_ptr(), stream.len());
}

/// Undoes [`shuffle`] where each stream is in a place of its own: byte `j` of the elements of `dst` is in `streams[j]`.
///
/// # Panics
/// If [`joins`] says no, or the sizes differ.
pub fn join(streams: &[&[u8]], dst: &mut [u8]) {
    simd::best().join(streams, dst);
}
