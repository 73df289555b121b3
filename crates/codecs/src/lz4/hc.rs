//! LZ4HC: which search a level uses, and dictionaries.

use super::prefixed::PrefixedSrc;
use super::{chain, lazy, mid};
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;

/// A dictionary that is hashed for one level.
pub(crate) struct HcEncodeDict(DictTables);

enum DictTables {
    Mid(mid::Tables),
    Chains(chain::Tables),
}

impl HcEncodeDict {
    pub(crate) fn new(bytes: &[u8], clevel: u8) -> Result<Self> {
        Ok(HcEncodeDict(if mid::LEVELS.contains(&clevel) {
            DictTables::Mid(mid::Tables::of_dict(bytes)?)
        } else {
            DictTables::Chains(chain::Tables::of_dict(bytes)?)
        }))
    }
}

/// The LZ4HC compressor.
#[derive(Default)]
pub(crate) struct HcCompressor {
    chains: chain::Tables,
    mid: mid::Tables,
    /// A dictionary and the data behind it.
    prefixed: TryVec<u8>,
}

impl HcCompressor {
    /// Returns the bytes written, or 0 if they do not fit. `src` and `dst` are at most `i32::MAX`
    /// long.
    pub(crate) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let src = PrefixedSrc::without_dict(src);
        if mid::LEVELS.contains(&clevel) {
            mid::compress(&mut self.mid, src, dst)
        } else {
            lazy::compress(&mut self.chains, lazy::attempts(clevel), src, dst)
        }
    }

    /// Like [`compress`](Self::compress), but writes the streams of release 1.9 of the library,
    /// which searches hash chains at every level.
    pub(crate) fn compress_as_blosc1(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let attempts = lazy::attempts(clevel).max(2);
        lazy::compress(
            &mut self.chains,
            attempts,
            PrefixedSrc::without_dict(src),
            dst,
        )
    }

    /// Like [`compress`](Self::compress), with a dictionary: its bytes, and its tables for this
    /// level.
    pub(crate) fn compress_with(
        &mut self,
        (bytes, dict): (&[u8], &HcEncodeDict),
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        self.prefixed.clear();
        self.prefixed.reserve_exact(bytes.len() + src.len())?;
        self.prefixed.extend_from_slice(bytes)?;
        self.prefixed.extend_from_slice(src)?;
        let src = PrefixedSrc {
            bytes: &self.prefixed,
            start: bytes.len(),
        };
        match &dict.0 {
            DictTables::Mid(tables) => {
                self.mid.copy_from(tables)?;
                mid::compress(&mut self.mid, src, dst)
            }
            DictTables::Chains(tables) => {
                self.chains.copy_from(tables, bytes.len())?;
                lazy::compress(&mut self.chains, lazy::attempts(clevel), src, dst)
            }
        }
    }
}
