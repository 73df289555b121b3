//! Kernels that work on bytes, for the compiler to make vectors of.

/// How many bytes are compared before the result is tested.
pub(crate) const PIECE: usize = 256;

/// The difference of each byte from the previous one, and of the first from 0. It is inlined, so
/// that it is compiled for the CPU features of its caller.
#[inline(always)]
pub(crate) fn differences(src: &[u8], dst: &mut [u8]) {
    let Some((first, dst)) = dst.split_first_mut() else {
        return;
    };
    *first = src[0];
    for ((to, from), before) in dst.iter_mut().zip(&src[1..]).zip(src) {
        *to = from.wrapping_sub(*before);
    }
}

/// The prefix sum of the bytes of `src`, starting from `sum`: the inverse of [`differences`],
/// without vectors.
#[inline(always)]
pub(crate) fn sums_from(mut sum: u8, src: &[u8], dst: &mut [u8]) {
    for (to, from) in dst.iter_mut().zip(src) {
        sum = sum.wrapping_add(*from);
        *to = sum;
    }
}

/// The prefix sum of the bytes of `src`.
pub(crate) fn sums(src: &[u8], dst: &mut [u8]) {
    sums_from(0, src, dst);
}

/// Whether all of `data` is `value`.
#[inline(always)]
pub(crate) fn repeats(value: u8, data: &[u8]) -> bool {
    let differ = |piece: &[u8]| piece.iter().fold(0, |differ, byte| differ | (byte ^ value));
    let (pieces, rest) = data.as_chunks::<PIECE>();
    pieces.iter().all(|piece| differ(piece) == 0) && differ(rest) == 0
}
