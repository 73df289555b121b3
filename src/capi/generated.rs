//! Chunks whose data are never in memory all at once: they are made block by block while they are compressed.

use super::compress::Input;
use super::constants::BLOSC_STUNE;
use super::context::Context;
use super::hooks::ContextHooks;
use oxiblosc_cells::BlockShape;
use oxiblosc_chunk::encode::EncodeParams;
use oxiblosc_chunk::header::MAX_OVERHEAD;
use oxiblosc_chunk::hooks::{BlockPos, Hooks};
use oxiblosc_core::b2nd::write::Fill;
use oxiblosc_error::{Error, Result};
use std::ptr::null_mut;

/// What chunks of `nbytes` bytes are compressed with; none where the context wants to see every chunk itself.
///
/// # Errors
/// [`Error::InvalidParam`] for a context that cannot compress, [`Error::MaxBufsizeExceeded`].
pub fn params(cctx: &Context, nbytes: usize) -> Result<Option<EncodeParams>> {
    let plain = cctx.prefilter.get().is_none()
        && cctx.tuner_id.get() == BLOSC_STUNE
        && cctx.tuner_params.get().is_null();
    if !plain {
        return Ok(None);
    }
    let room = i32::try_from(nbytes + MAX_OVERHEAD).map_err(|_| Error::MaxBufsizeExceeded)?;
    cctx.prepare_compression(&Input::Nothing, nbytes as i32, null_mut(), room)?;
    if cctx.clevel.get() == 0 {
        cctx.use_dict.set(0);
    }
    Ok(Some(cctx.encode_params(true)))
}

/// Has the engine make the blocks as it goes, with the program's codecs and filters behind that.
pub struct Filling<'a> {
    /// Makes the data of a block.
    pub fill: &'a Fill<'a>,
    /// The program's functions.
    pub hooks: &'a ContextHooks<'a>,
}

impl Hooks for Filling<'_> {
    fn has_prefilter(&self) -> bool {
        true
    }

    fn prefilter_is_plain(&self) -> bool {
        true
    }

    fn prefilter(
        &self,
        pos: BlockPos,
        bsize: usize,
        out: &mut [u8],
        _ttmp: &mut [u8],
    ) -> Result<()> {
        let block = out.get_mut(..bsize).ok_or(Error::Failure)?;
        (self.fill)(pos.nblock, block)
    }

    fn schunk_typesize(&self) -> Option<i32> {
        self.hooks.schunk_typesize()
    }

    fn block_shape(&self) -> Result<BlockShape> {
        self.hooks.block_shape()
    }

    fn filter_forward(&self, id: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<()> {
        self.hooks.filter_forward(id, meta, src, dst)
    }

    fn filter_backward(&self, id: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<()> {
        self.hooks.filter_backward(id, meta, src, dst)
    }

    fn encode(&self, compcode: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.hooks.encode(compcode, meta, src, dst)
    }

    fn decode(&self, compcode: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.hooks.decode(compcode, meta, src, dst)
    }
}
