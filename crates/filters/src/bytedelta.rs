//! Bytedelta: replaces every byte by its difference from the previous one, in each of the byte
//! streams of a shuffled block.
//!
//! A block consists of as many streams of equal length as an item has bytes. The bytes behind them
//! are copied.

use super::simd;

/// The size of the vectors of the first release of the filter, in bytes.
const VECTOR: usize = 16;

/// Calls `kernel` for each stream of `src` and the same part of `dst`, and copies the rest.
fn by_stream(streams: usize, src: &[u8], dst: &mut [u8], mut kernel: impl FnMut(&[u8], &mut [u8])) {
    let dst = &mut dst[..src.len()];
    let len = src.len().checked_div(streams).unwrap_or(0);
    let (body, leftover) = src.split_at(streams * len);
    let (out, rest) = dst.split_at_mut(streams * len);
    if len > 0 {
        for (src, dst) in body.chunks_exact(len).zip(out.chunks_exact_mut(len)) {
            kernel(src, dst);
        }
    }
    rest.copy_from_slice(leftover);
}

/// Like [`by_stream`], but cuts each stream behind its last whole vector, where the first release
/// began anew.
fn by_cut_stream(streams: usize, src: &[u8], dst: &mut [u8], kernel: impl Fn(&[u8], &mut [u8])) {
    by_stream(streams, src, dst, |src, dst| {
        let cut = src.len() / VECTOR * VECTOR;
        kernel(&src[..cut], &mut dst[..cut]);
        kernel(&src[cut..], &mut dst[cut..]);
    });
}

/// Writes the differences of each of the `streams` streams of `src` to the first `src.len()` bytes
/// of `dst`.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn forward(streams: usize, src: &[u8], dst: &mut [u8]) {
    let kernels = simd::best();
    by_stream(streams, src, dst, |src, dst| kernels.differences(src, dst));
}

/// Undoes [`forward`].
///
/// # Panics
/// As for [`forward`].
pub fn backward(streams: usize, src: &[u8], dst: &mut [u8]) {
    let kernels = simd::best();
    by_stream(streams, src, dst, |src, dst| kernels.sums(src, dst));
}

/// Like [`forward`], in the form of the first release: the bytes of a stream that do not fill a
/// vector are a stream of their own.
///
/// # Panics
/// As for [`forward`].
pub fn forward_cut(streams: usize, src: &[u8], dst: &mut [u8]) {
    let kernels = simd::best();
    by_cut_stream(streams, src, dst, |src, dst| kernels.differences(src, dst));
}

/// Undoes [`forward_cut`].
///
/// # Panics
/// As for [`forward`].
pub fn backward_cut(streams: usize, src: &[u8], dst: &mut [u8]) {
    let kernels = simd::best();
    by_cut_stream(streams, src, dst, |src, dst| kernels.sums(src, dst));
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_testing::noise;

    fn expected(src: &[u8]) -> Vec<u8> {
        let before = std::iter::once(&0).chain(src);
        src.iter()
            .zip(before)
            .map(|(byte, before)| byte.wrapping_sub(*before))
            .collect()
    }

    #[test]
    fn every_kernel_computes_differences_and_sums() {
        let data = noise(1500);
        for kernels in simd::supported() {
            for len in (0..200).chain([255, 256, 257, 1000, 1499]) {
                for offset in [0, 1] {
                    let src = &data[offset..len.max(offset)];
                    let (mut out, mut back) = (vec![0xee; src.len()], vec![0xee; src.len()]);
                    kernels.differences(src, &mut out);
                    assert!(out == expected(src), "{} {len}", kernels.name());
                    kernels.sums(&out, &mut back);
                    assert!(back == src, "{} {len}", kernels.name());
                }
            }
        }
    }

    #[test]
    fn streams_are_independent_and_the_rest_is_copied() {
        let data = noise(515);
        for streams in [0, 1, 2, 3, 4, 7, 8, 255, 514, 516] {
            let len = data.len().checked_div(streams).unwrap_or(0);
            let (mut out, mut back) = (vec![0; 516], vec![0; 516]);
            forward(streams, &data, &mut out);
            for n in 0..streams {
                let part = n * len..(n + 1) * len;
                assert_eq!(out[part.clone()], expected(&data[part]));
            }
            assert_eq!(out[streams * len..515], data[streams * len..]);
            backward(streams, &out[..515], &mut back);
            assert!(back[..515] == data && out[515] == 0);
            // Each stream is cut behind its last whole vector.
            forward_cut(streams, &data, &mut out);
            for n in 0..streams {
                let (start, end) = (n * len, (n + 1) * len);
                let cut = start + len / 16 * 16;
                assert_eq!(out[start..cut], expected(&data[start..cut]));
                assert_eq!(out[cut..end], expected(&data[cut..end]));
            }
            backward_cut(streams, &out[..515], &mut back);
            assert!(back[..515] == data);
        }
    }
}
