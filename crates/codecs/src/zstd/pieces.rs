//! Compresses a stream in pieces, each of which is a block of its own, where the library would
//! search longer than pays.
//!
//! The library chooses a search by level and length alone. At the levels that use large blocks it
//! tries as many candidates where they do not pay as elsewhere: where nothing is repeated.

use super::super::noise::NoiseDetector;
use super::{is_error, level, sys, written};
use core::ffi::c_int;
use oxiblosc_base::Result;
use sys::ZSTD_cParameter;
use sys::ZSTD_strategy::ZSTD_lazy2;

/// The lengths of whole blocks of many planes of bytes or bits at levels 7 and 8. The streams of
/// split blocks are shorter, by default.
const LARGE_BLOCK: usize = 512 << 10;

/// The length of the pieces into which a stream is cut, each of which gets blocks of its own: that
/// of some bit planes, and of one of sixteen planes in a block of half a megabyte. Where two planes
/// with different statistics share entropy codes, these are up to 8 % longer.
const PIECE: usize = 32 << 10;

/// If fewer of 256 words are repeated, shorter searches in pieces find as much as the level's,
/// since entropy codes of its own for each piece gain as much as a longer search.
const FEW_REPEATS: usize = 77;

/// Whether a block of several planes is searched in pieces. Measured numbers need this: it takes a
/// third less time, with noise two thirds.
#[inline(never)]
pub(super) fn pay(clevel: u8, stream: &[u8], noise: &mut NoiseDetector) -> Result<bool> {
    Ok(matches!(clevel, 7 | 8)
        && stream.len() >= LARGE_BLOCK
        && noise.repeats(stream, FEW_REPEATS)? < FEW_REPEATS)
}

/// `ZSTD_c_stableInBuffer`: the input does not move between calls, so the library need not copy it.
const STABLE_IN_BUFFER: ZSTD_cParameter = ZSTD_cParameter::ZSTD_c_experimentalParam9;
/// `ZSTD_c_stableOutBuffer`: the output does not move between calls, so the library need not copy
/// it.
const STABLE_OUT_BUFFER: ZSTD_cParameter = ZSTD_cParameter::ZSTD_c_experimentalParam10;

/// The parameters of a search in pieces and their values, for a stream of `len` bytes.
fn parameters(clevel: u8, len: usize) -> [(ZSTD_cParameter, c_int); 9] {
    use ZSTD_cParameter::*;
    const USE_ROW_MATCH_FINDER: ZSTD_cParameter = ZSTD_c_experimentalParam14;
    // A slot for each position, and no more, so that they stay in the caches.
    let table_log = len.next_power_of_two().ilog2() as c_int;
    [
        (ZSTD_c_compressionLevel, level(clevel)),
        (STABLE_IN_BUFFER, 1),
        (STABLE_OUT_BUFFER, 1),
        (ZSTD_c_strategy, ZSTD_lazy2 as c_int),
        // The binary logarithm of the number of candidates.
        (ZSTD_c_searchLog, if clevel == 7 { 5 } else { 6 }),
        (ZSTD_c_minMatch, 5),
        (ZSTD_c_hashLog, table_log),
        (ZSTD_c_chainLog, table_log),
        // 1: candidates are in rows, which are compared at once.
        (USE_ROW_MATCH_FINDER, 1),
    ]
}

/// Compresses a stream. Each piece begins a new block, which has codes of its own. Returns the
/// bytes written, or 0 if they do not fit.
///
/// # Safety
/// `cctx` is a context that nothing else uses during the call.
#[inline(never)]
pub(super) unsafe fn compress(
    cctx: *mut sys::ZSTD_CCtx,
    clevel: u8,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    use sys::ZSTD_EndDirective::{ZSTD_e_end, ZSTD_e_flush};
    let mut input = sys::ZSTD_inBuffer {
        src: src.as_ptr().cast(),
        size: 0,
        pos: 0,
    };
    let mut output = sys::ZSTD_outBuffer {
        dst: dst.as_mut_ptr().cast(),
        size: dst.len(),
        pos: 0,
    };
    // SAFETY: `cctx` is a context without another user (# Safety).
    unsafe {
        sys::ZSTD_CCtx_reset(
            cctx,
            sys::ZSTD_ResetDirective::ZSTD_reset_session_and_parameters,
        );
        for (parameter, value) in parameters(clevel, src.len()) {
            sys::ZSTD_CCtx_setParameter(cctx, parameter, value);
        }
        sys::ZSTD_CCtx_setPledgedSrcSize(cctx, src.len() as u64);
    }
    loop {
        input.size = src.len().min(input.size + PIECE);
        let whole = input.size == src.len();
        let end = if whole { ZSTD_e_end } else { ZSTD_e_flush };
        // SAFETY: as above. The library reads `src` up to `input.size`, which is at most its
        // length, and writes to `dst` up to its length. Neither buffer moves between the calls,
        // since both are borrowed.
        let left = unsafe { sys::ZSTD_compressStream2(cctx, &mut output, &mut input, end) };
        match left {
            0 if whole => return Ok(output.pos),
            0 => {}
            // What is left does not fit.
            left if !is_error(left) => return Ok(0),
            code => return written(code),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Compressor, Decompressor};
    use super::*;

    /// Random bytes below `values` (splitmix), each `run` times.
    fn random(len: usize, values: u64, run: usize) -> Vec<u8> {
        let mut seed = values;
        let next = || {
            seed = seed.wrapping_add(0x9E37_79B9_7F4A_7C15);
            let z = (seed ^ (seed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
            let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
            (((z >> 32) * values) >> 32) as u8
        };
        let runs = std::iter::repeat_with(next).flat_map(|byte| std::iter::repeat_n(byte, run));
        runs.take(len).collect()
    }

    #[test]
    fn large_blocks_in_which_little_is_repeated_are_searched_in_pieces() {
        let block = |len: usize| {
            let planes = [(256, 1), (200, 1), (9, 1), (5, 40)];
            planes
                .map(|(values, run)| random(len / 4, values, run))
                .concat()
        };
        let in_pieces = |clevel, stream: &[u8]| pay(clevel, stream, &mut NoiseDetector::default());
        for clevel in 1..=9 {
            let planned = in_pieces(clevel, &block(LARGE_BLOCK));
            assert_eq!(planned, Ok(matches!(clevel, 7 | 8)), "{clevel}");
            for other in [block(LARGE_BLOCK - 4), vec![7; LARGE_BLOCK]] {
                assert_eq!(in_pieces(clevel, &other), Ok(false));
            }
        }
    }

    /// Bytes of few values in the first half of each piece of a thousand bytes, and runs in the
    /// other.
    fn data(len: usize) -> Vec<u8> {
        let byte = |i: usize| match i % 1000 {
            ..500 => (i * i / 7 % 23) as u8,
            _ => (i / 1000) as u8,
        };
        (0..len).map(byte).collect()
    }

    #[test]
    fn the_context_is_as_new_after_pieces() {
        let src = data(100_000);
        let mut compressor = Compressor::default();
        let mut plain = vec![0; src.len()];
        let size = compressor.compress(7, &src, &mut plain, None).unwrap();
        let cctx = compressor.context().unwrap();
        // SAFETY: the context is used here alone.
        let in_pieces = |dst: &mut [u8]| unsafe { compress(cctx, 7, &src, dst) }.unwrap();
        let mut dst = vec![0; src.len()];
        let n = in_pieces(&mut dst);
        let mut out = vec![0; src.len()];
        let read = Decompressor::default().decompress(&dst[..n], &mut out);
        assert_eq!((read, &out), (Ok(src.len()), &src));
        for capacity in [0, 1, 10, n / 2, n - 1] {
            assert_eq!(in_pieces(&mut dst[..capacity]), 0, "{capacity}");
        }
        let mut again = vec![0; src.len()];
        assert_eq!(compressor.compress(7, &src, &mut again, None), Ok(size));
        assert!(again == plain);
    }
}
