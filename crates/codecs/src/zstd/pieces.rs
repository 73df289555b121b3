//! Compresses a stream in pieces, each of which is a block of its own.

use super::{is_error, sys, written};
use oxiblosc_base::Result;

/// Compresses a stream with the parameters of the context. Each piece of `piece` bytes begins a new
/// block, which has codes of its own. Returns the bytes written, or 0 if they do not fit.
///
/// # Safety
/// `cctx` is a context that nothing else uses during the call, in a session that has not begun.
#[inline(never)]
pub(super) unsafe fn compress(
    cctx: *mut sys::ZSTD_CCtx,
    piece: usize,
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
    unsafe { sys::ZSTD_CCtx_setPledgedSrcSize(cctx, src.len() as u64) };
    loop {
        input.size = src.len().min(input.size + piece);
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
    use super::super::search::{Plan, Search};
    use super::super::{Compressor, Decompressor, compress_by_plan};
    use super::*;

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
        let cctx = compressor.context().unwrap();
        let compress = |plan, dst: &mut [u8]| {
            // SAFETY: the context is used here alone.
            unsafe { compress_by_plan(cctx, 13, plan, &src, dst) }.unwrap()
        };
        let mut plain = vec![0; src.len()];
        let size = compress(Plan::Level, &mut plain);
        let search = Search::rows(sys::ZSTD_strategy::ZSTD_lazy2, 5, 5);
        let mut dst = vec![0; src.len()];
        let n = compress(Plan::SearchPieces(search), &mut dst);
        let mut out = vec![0; src.len()];
        let read = Decompressor::default().decompress(&dst[..n], &mut out);
        assert_eq!((read, &out), (Ok(src.len()), &src));
        for capacity in [0, 1, 10, n / 2, n - 1] {
            let plan = Plan::SearchPieces(search);
            assert_eq!(compress(plan, &mut dst[..capacity]), 0, "{capacity}");
        }
        let mut again = vec![0; src.len()];
        assert_eq!(compress(Plan::Level, &mut again), size);
        assert!(again == plain);
    }
}
