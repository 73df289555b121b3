//! What Blosc 1 does differently from Blosc 2 in chunks with the same header.
//!
//! Without the codecs' feature `blosc1` nothing follows its rules, so that every function here is
//! constant and compiles to nothing.

use super::{MIN_BUFFERSIZE, version};
use oxiblosc_codecs::HAS_BLOSC1;

/// The number in a chunk's flags of codecs that the program registered.
pub const UDCODEC_FORMAT: u8 = 6;

/// The library for which a chunk is written, or by whose rules it is read. Blosc 2 also reads
/// chunks of Blosc 1, and accepts more of them than Blosc 1 does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rules {
    /// c-blosc2.
    #[default]
    Blosc2,
    /// c-blosc 1.21, with the codecs' feature `blosc1`.
    Blosc1,
}

impl Rules {
    /// Whether these are the rules of Blosc 1.
    #[inline(always)]
    pub fn is_blosc1(self) -> bool {
        HAS_BLOSC1 && matches!(self, Self::Blosc1)
    }

    /// The version of regular chunks.
    pub(crate) fn version(self) -> u8 {
        if self.is_blosc1() {
            version::BLOSC1
        } else {
            version::STABLE
        }
    }

    /// Buffers below this size are stored.
    pub(crate) fn min_buffersize(self) -> usize {
        if self.is_blosc1() {
            128
        } else {
            MIN_BUFFERSIZE
        }
    }

    /// The number in a chunk's flags for codecs of the [hooks](crate::hooks::Hooks): those of the
    /// program, or Snappy.
    #[inline(always)]
    pub(crate) fn other_codec(self) -> u8 {
        if self.is_blosc1() { 2 } else { UDCODEC_FORMAT }
    }
}
