//! Byte transposition without vectors, for CPUs without a SIMD kernel, and where there are too few
//! elements for a vector.

/// How many elements are transposed together, so that the bytes read for one stream are still in
/// the cache for the next.
const TILE: usize = 64;

/// See [`crate::shuffle::shuffle`]; `typesize` is at least 1 and `dst` as long as `src`.
pub(crate) fn shuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / typesize;
    let (elements, leftover) = src.split_at(n * typesize);
    dst[elements.len()..].copy_from_slice(leftover);
    if n == 0 {
        return;
    }
    for (t, tile) in elements.chunks(TILE * typesize).enumerate() {
        let start = t * TILE;
        for (byte, stream) in dst[..elements.len()].chunks_exact_mut(n).enumerate() {
            for (to, element) in stream[start..].iter_mut().zip(tile.chunks_exact(typesize)) {
                *to = element[byte];
            }
        }
    }
}

/// See [`crate::shuffle::unshuffle`]; `typesize` is at least 1 and `dst` as long as `src`.
pub(crate) fn unshuffle(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let n = src.len() / typesize;
    let (streams, leftover) = src.split_at(n * typesize);
    dst[streams.len()..].copy_from_slice(leftover);
    if n > 0 {
        join_all(typesize, streams.chunks_exact(n), &mut dst[..n * typesize]);
    }
}

/// See [`crate::simd::Kernels::join`].
pub(crate) fn join(streams: &[&[u8]], dst: &mut [u8]) {
    join_all(streams.len(), streams.iter().copied(), dst);
}

/// Joins `typesize` streams into elements.
fn join_all<'a>(typesize: usize, streams: impl Iterator<Item = &'a [u8]> + Clone, dst: &mut [u8]) {
    for (t, tile) in dst.chunks_mut(TILE * typesize).enumerate() {
        let start = t * TILE;
        for (byte, stream) in streams.clone().enumerate() {
            for (from, element) in stream[start..].iter().zip(tile.chunks_exact_mut(typesize)) {
                element[byte] = *from;
            }
        }
    }
}
