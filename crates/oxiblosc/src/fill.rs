//! Chunks whose data are made block by block during compression, so that they are never in memory
//! all at once.

use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::hooks::{BlockPos, Hooks, RegisteredFunctions};

/// Writes the data of the block with this index into the buffer, which has the size of the block.
pub type Fill<'a> = dyn Fn(usize, &mut [u8]) -> Result<()> + Sync + 'a;

/// Hooks whose prefilter makes the blocks. All else is done by the program's functions.
pub struct FilledBlocks<'a> {
    /// Makes the data of a block.
    pub fill: &'a Fill<'a>,
    /// The program's functions.
    pub hooks: &'a dyn Hooks,
}

impl Hooks for FilledBlocks<'_> {
    fn has_prefilter(&self) -> bool {
        true
    }

    fn prefilter_is_plain(&self) -> bool {
        true
    }

    fn prefilter(
        &self,
        pos: BlockPos,
        _input: Option<&[u8]>,
        bsize: usize,
        out: &mut [u8],
        _ttmp: &mut [u8],
    ) -> Result<()> {
        let block = out.get_mut(..bsize).ok_or(Error::FAILURE)?;
        (self.fill)(pos.nblock, block)
    }

    fn registered(&self) -> &dyn RegisteredFunctions {
        self.hooks.registered()
    }
}
