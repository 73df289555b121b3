//! LZ4HC: which search a level takes, and dictionaries.

use super::{chain, lazy, mid};
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// Data to compress, from `start` on, behind the dictionary to which matches may refer.
#[derive(Clone, Copy)]
pub(super) struct Joined<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) start: usize,
}

impl<'a> Joined<'a> {
    /// Data without a dictionary.
    pub(super) fn without_dict(bytes: &'a [u8]) -> Self {
        Joined { bytes, start: 0 }
    }
}

/// The hashes of a dictionary, for the search of one level.
pub(crate) struct HighDict(Tables);

enum Tables {
    Mid(mid::Tables),
    Chains(chain::Tables),
}

impl HighDict {
    pub(crate) fn new(bytes: &[u8], clevel: u8) -> Result<Self> {
        Ok(HighDict(if mid::LEVELS.contains(&clevel) {
            Tables::Mid(mid::Tables::of_dict(bytes)?)
        } else {
            Tables::Chains(chain::Tables::of_dict(bytes)?)
        }))
    }
}

/// The LZ4HC compressor.
#[derive(Default)]
pub(crate) struct High {
    chains: chain::Tables,
    mid: mid::Tables,
    joined: List<u8>,
}

impl High {
    /// Returns the bytes written, or 0 if they do not fit. `src` and `dst` are at most `i32::MAX` long.
    pub(crate) fn compress(&mut self, clevel: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let joined = Joined::without_dict(src);
        if mid::LEVELS.contains(&clevel) {
            mid::compress(&mut self.mid, joined, dst)
        } else {
            lazy::compress(&mut self.chains, lazy::attempts(clevel), joined, dst)
        }
    }

    /// Like [`compress`](Self::compress), with the streams of release 1.9 of the library, which searches hash chains at the lowest
    /// levels, too.
    #[cfg(feature = "blosc1")]
    pub(crate) fn compress_as_blosc1(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let attempts = lazy::attempts(clevel).max(2);
        lazy::compress(&mut self.chains, attempts, Joined::without_dict(src), dst)
    }

    /// Like [`compress`](Self::compress), with a dictionary: its bytes, and what was made of them for this level.
    pub(crate) fn compress_with(
        &mut self,
        (bytes, dict): (&[u8], &HighDict),
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        self.joined.clear();
        self.joined.reserve_exact(bytes.len() + src.len())?;
        self.joined.extend_from_slice(bytes)?;
        self.joined.extend_from_slice(src)?;
        let joined = Joined {
            bytes: &self.joined,
            start: bytes.len(),
        };
        match &dict.0 {
            Tables::Mid(tables) => {
                self.mid.copy_from(tables)?;
                mid::compress(&mut self.mid, joined, dst)
            }
            Tables::Chains(tables) => {
                self.chains.copy_from(tables, bytes.len())?;
                lazy::compress(&mut self.chains, lazy::attempts(clevel), joined, dst)
            }
        }
    }
}
