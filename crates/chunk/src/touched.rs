//! Which blocks of a chunk a change touches.

use super::header::{Blocks, ChunkHeader};
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_base::{Error, Result};

/// A block that will be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// The index of the block.
    pub nblock: usize,
    /// Whether all of its bytes will be overwritten, so that it need not be read.
    pub whole: bool,
}

impl Touched {
    /// The blocks that contain the `len` bytes from `start` on. None for variable-length blocks.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] when the range is not within the data.
    pub fn of_range(
        header: &ChunkHeader,
        start: usize,
        len: usize,
    ) -> Result<Option<TryVec<Self>>> {
        let stop = start.checked_add(len).ok_or(Error::INVALID_PARAM)?;
        if stop > header.nbytes {
            return Err(Error::INVALID_PARAM);
        }
        let Blocks::Regular { blocksize } = header.blocks else {
            return Ok(None);
        };
        let touched = (start / blocksize..stop.div_ceil(blocksize)).map(|nblock| {
            let from = nblock * blocksize;
            let to = header.nbytes.min(from + blocksize);
            let whole = start <= from && to <= stop;
            Self { nblock, whole }
        });
        Ok(Some(touched.collect_vec()?))
    }
}
