//! Shuffle: transposes the bytes of an array, so that the bytes of all elements at the same
//! position are together.
//!
//! A block of `n` elements of `typesize` bytes becomes `typesize` streams of `n` bytes. Stream `j`
//! has byte `j` of every element. Bytes after the last whole element are copied.

#[cfg(test)]
mod tests;

use super::{copy, simd};
use simd::shuffle as kernels;

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

/// Up to this many elements [`join_part`] copies byte by byte.
const MAX_BYTEWISE: usize = 8;

/// The largest number of streams that [`join`] accepts.
pub const MAX_JOINED: usize = kernels::generic::MAX_JOINED;

/// Whether [`join`] accepts `nstreams` streams of `n` bytes each, and is faster than unshuffling a
/// copy of them.
pub fn joins(nstreams: usize, n: usize) -> bool {
    n >= kernels::generic::MIN_JOINED_LEN && kernels::generic::can_join(nstreams)
}

/// Undoes [`shuffle`] for the elements from `first` on, as many as fit into `dst`. `src` is the
/// whole shuffled block, of elements of `typesize` bytes. Returns false and writes nothing if it is
/// as fast to undo the whole block.
///
/// # Panics
/// If `src` or `dst` is not a whole number of elements, or `src` has no such elements.
pub fn join_part(typesize: usize, src: &[u8], first: usize, dst: &mut [u8]) -> bool {
    let (all, n) = (src.len() / typesize, dst.len() / typesize);
    assert!(all * typesize == src.len() && n * typesize == dst.len());
    let stream = |j: usize| &src[j * all..][first..first + n];
    if n <= MAX_BYTEWISE {
        for j in 0..typesize {
            let bytes = dst[j..].iter_mut().step_by(typesize);
            bytes.zip(stream(j)).for_each(|(to, from)| *to = *from);
        }
        return true;
    }
    let joins = n >= kernels::columns::MAX_TILE && kernels::generic::can_join(typesize);
    if joins {
        let mut streams = [&src[..0]; MAX_JOINED];
        for (j, place) in streams[..typesize].iter_mut().enumerate() {
            *place = stream(j);
        }
        simd::best().join(&streams[..typesize], dst);
    }
    joins
}

/// Prefetches the beginning of a stream that will be joined. The streams are read in parallel, and
/// the processor's own prefetcher does not know streams that were not accessed yet.
pub fn prefetch(stream: &[u8]) {
    simd::vector::prefetch(stream.as_ptr(), stream.len());
}

/// Undoes [`shuffle`] for streams in separate buffers: byte `j` of the elements of `dst` is in
/// `streams[j]`.
///
/// # Panics
/// If [`joins`] returns false, or the sizes differ.
pub fn join(streams: &[&[u8]], dst: &mut [u8]) {
    simd::best().join(streams, dst);
}
