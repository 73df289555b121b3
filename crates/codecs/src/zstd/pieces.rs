//! Compresses a stream in pieces, each of which is a block of its own. For pieces of literals a sequence producer tells the library that there
//! are no matches; the library searches the others itself.

use core::ffi::{c_int, c_void};

use super::search::Pieces;
use super::{is_error, sys, written};
use oxiblosc_error::Result;

/// `ZSTD_c_enableSeqProducerFallback`: where the sequence producer returns an error, the library searches.
const PRODUCER_FALLBACK: sys::ZSTD_cParameter = sys::ZSTD_cParameter::ZSTD_c_experimentalParam17;
/// `ZSTD_c_maxBlockSize`. The library reserves room for the most sequences that a block can have.
const MAX_BLOCK_SIZE: sys::ZSTD_cParameter = sys::ZSTD_cParameter::ZSTD_c_experimentalParam18;
/// `ZSTD_SEQUENCE_PRODUCER_ERROR`: what a sequence producer returns if it has no sequences.
const NO_SEQUENCES: usize = usize::MAX;

/// A stream and its pieces: the state of [`produce`].
struct Stream {
    /// The address of its first byte.
    address: usize,
    pieces: Pieces,
}

impl Stream {
    /// Whether the block at this address is to be written as literals.
    fn is_literal(&self, block: usize) -> bool {
        let piece = block.wrapping_sub(self.address) / self.pieces.len;
        piece < u64::BITS as usize && self.pieces.literals >> piece & 1 == 1
    }
}

/// The sequence producer, which the library calls for each block of `len` bytes at `block`: the only sequence of a piece of literals, and
/// [`NO_SEQUENCES`] for others.
///
/// # Safety
/// `stream` is a [`Stream`], and `sequences` has room for `capacity` of them.
unsafe extern "C" fn produce(
    stream: *mut c_void,
    sequences: *mut sys::ZSTD_Sequence,
    capacity: usize,
    block: *const c_void,
    len: usize,
    _dict: *const c_void,
    _dict_len: usize,
    _level: c_int,
    _window: usize,
) -> usize {
    // SAFETY: the caller promises it (# Safety).
    let stream = unsafe { &*stream.cast::<Stream>() };
    if capacity == 0 || !stream.is_literal(block.addr()) {
        return NO_SEQUENCES;
    }
    let only = sys::ZSTD_Sequence {
        offset: 0,
        litLength: len as u32,
        matchLength: 0,
        rep: 0,
    };
    // SAFETY: there is room for one (# Safety).
    unsafe { sequences.write(only) };
    1
}

/// Compresses a stream with the parameters of the context, in pieces. Returns the bytes written, or 0 if they do not fit.
///
/// # Safety
/// `cctx` is a context that nothing else uses during the call, in a session that has not begun.
pub(super) unsafe fn compress(
    cctx: *mut sys::ZSTD_CCtx,
    pieces: Pieces,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    if pieces.literals == 0 {
        // SAFETY: the same conditions (# Safety).
        return unsafe { compress_each(cctx, pieces, src, dst) };
    }
    let mut stream = Stream {
        address: src.as_ptr().addr(),
        pieces,
    };
    // SAFETY: the same conditions (# Safety). `stream` outlives the calls of `produce`: after the reset the context has neither. The library
    // passes it an array for the sequences of a block.
    unsafe {
        sys::ZSTD_CCtx_setParameter(cctx, PRODUCER_FALLBACK, 1);
        sys::ZSTD_CCtx_setParameter(cctx, MAX_BLOCK_SIZE, pieces.len as c_int);
        sys::ZSTD_registerSequenceProducer(cctx, (&raw mut stream).cast(), Some(produce));
        let written = compress_each(cctx, pieces, src, dst);
        sys::ZSTD_CCtx_reset(
            cctx,
            sys::ZSTD_ResetDirective::ZSTD_reset_session_and_parameters,
        );
        written
    }
}

/// Compresses a stream with the parameters of the context. Each piece begins a new block, which has codes of its own.
///
/// # Safety
/// `cctx` is a context that nothing else uses during the call.
#[inline(never)]
unsafe fn compress_each(
    cctx: *mut sys::ZSTD_CCtx,
    pieces: Pieces,
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
        input.size = src.len().min(input.size + pieces.len);
        let whole = input.size == src.len();
        let end = if whole { ZSTD_e_end } else { ZSTD_e_flush };
        // SAFETY: as above. The library reads `src` up to `input.size`, which is at most its length, and writes to `dst` up to its
        // length. Neither buffer moves between the calls, since both are borrowed.
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

    /// Bytes of few values in the first half of each piece of a thousand bytes, and runs in the other.
    fn data(len: usize) -> Vec<u8> {
        let byte = |i: usize| match i % 1000 {
            ..500 => (i * i / 7 % 23) as u8,
            _ => (i / 1000) as u8,
        };
        (0..len).map(byte).collect()
    }

    #[test]
    fn any_pieces_may_be_literals_and_the_context_is_as_new_afterwards() {
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
        let mut sizes = Vec::new();
        for literals in [0, 1, 0b1010, 0b1111111, u64::MAX] {
            let pieces = Pieces {
                len: 16 << 10,
                literals,
            };
            let plan = Plan::SearchPieces(search, pieces);
            let mut dst = vec![0; src.len()];
            let n = compress(plan, &mut dst);
            let mut out = vec![0; src.len()];
            let read = Decompressor::default().decompress(&dst[..n], &mut out);
            assert_eq!((read, &out), (Ok(src.len()), &src), "{literals:b}");
            for room in [0, 1, 10, n / 2, n - 1] {
                assert_eq!(compress(plan, &mut dst[..room]), 0, "{literals:b}, {room}");
            }
            sizes.push(n);
            let mut again = vec![0; src.len()];
            assert_eq!(compress(Plan::Level, &mut again), size);
            assert!(again == plain, "{literals:b}");
        }
        // The more is written as literals, the less is found.
        assert!(sizes.is_sorted() && sizes[0] < sizes[1], "{sizes:?}");
    }
}
