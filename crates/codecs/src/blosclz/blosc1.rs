//! BloscLZ as Blosc 1.21 compresses with it: where a probe finds less to gain it takes shorter matches, so streams are smaller than those
//! of Blosc 2.

use super::compress::{Compressor, MAX_HASH_LOG, MIN_DST, MIN_RATIO, MIN_SRC};
use oxiblosc_error::Result;

/// Binary logarithm of the most bytes, and of the slots, of a probe.
const PROBE_LOG: u32 = 12;
/// The probe looks at the last quarter of a stream.
const PROBED: usize = 4;
/// By how many bytes a match is coded shorter where there is less to gain, and in the probe ...
const SHORT: usize = 3;
/// ... and else.
const LONG: usize = 4;
/// The ratio from which on only longer matches are taken.
const HIGH_RATIO: f64 = 4.0;

impl Compressor {
    /// As [`Compressor::compress`]; `split` says whether the blocks of the chunk are split into streams.
    pub(crate) fn compress_as_blosc1(
        &mut self,
        split: bool,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        if src.len() < MIN_SRC || dst.len() < MIN_DST {
            return Ok(0);
        }
        let wanted = [MIN_RATIO[usize::from(clevel)], HIGH_RATIO];
        let reached = match split {
            true => self.reached::<PROBE_LOG, SHORT, 2>(src, PROBED, wanted)?,
            false => self.reached::<PROBE_LOG, SHORT, 1>(src, PROBED, [wanted[0]])?,
        };
        if reached == 0 {
            return Ok(0);
        }
        let is_high = reached == wanted.len();
        match is_high {
            true => self.write_at::<LONG>(clevel, src, dst),
            false => self.write_at::<SHORT>(clevel, src, dst),
        }
    }

    fn write_at<const SHIFT: usize>(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        match clevel {
            1 => self.write::<{ MAX_HASH_LOG - 2 }, SHIFT, false>(src, dst),
            2 => self.write::<{ MAX_HASH_LOG - 1 }, SHIFT, false>(src, dst),
            9 => self.write::<MAX_HASH_LOG, SHIFT, true>(src, dst),
            _ => self.write::<MAX_HASH_LOG, SHIFT, false>(src, dst),
        }
    }
}
