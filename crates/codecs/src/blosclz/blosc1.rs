//! BloscLZ as in Blosc 1.21. Where its probe predicts a low ratio, it also takes shorter matches,
//! so streams are smaller than those of Blosc 2.

use super::compress::{Compressor, MAX_HASH_LOG, MIN_DST, MIN_RATIO, MIN_SRC};
use oxiblosc_base::Result;

/// Binary logarithm of the largest number of bytes, and of the number of slots, of a probe.
const PROBE_LOG: u32 = 12;
/// The probe takes the last `1 / PROBE_DIVISOR` of a stream.
const PROBE_DIVISOR: usize = 4;
/// The length shift (see [`super::compress::LENGTH_SHIFT`]) in the probe, and below `HIGH_RATIO`.
const SHORT_SHIFT: usize = 3;
/// The length shift from `HIGH_RATIO` on.
const LONG_SHIFT: usize = 4;
/// From this predicted ratio on, only longer matches are taken.
const HIGH_RATIO: f64 = 4.0;

impl Compressor {
    /// Like [`Compressor::compress`]. `split` says whether the blocks of the chunk are split into
    /// streams.
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
            true => self.reached_ratios::<PROBE_LOG, SHORT_SHIFT, 2>(src, PROBE_DIVISOR, wanted)?,
            false => {
                self.reached_ratios::<PROBE_LOG, SHORT_SHIFT, 1>(src, PROBE_DIVISOR, [wanted[0]])?
            }
        };
        if reached == 0 {
            return Ok(0);
        }
        let is_high = reached == wanted.len();
        match is_high {
            true => self.write_at::<LONG_SHIFT>(clevel, src, dst),
            false => self.write_at::<SHORT_SHIFT>(clevel, src, dst),
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
