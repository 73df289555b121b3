//! Filters with registered ids: the library's own, and behind them those of the program.

use super::header::filter_id;
use super::hooks::Hooks;
use crate::error::{Error, Result};
use crate::filter::{bytedelta, copy, int_trunc, ndcell, ndmean};

/// Streams of a block for bytedelta: the meta byte, or what the super-chunk says where that is 0.
fn streams(meta: u8, hooks: &dyn Hooks) -> Result<usize> {
    if meta != 0 {
        return Ok(meta.into());
    }
    let typesize = hooks.schunk_typesize().unwrap_or(0);
    match usize::try_from(typesize) {
        Ok(typesize) if typesize > 0 => Ok(typesize),
        _ => Err(Error::Failure),
    }
}

/// Runs filter `id` over a block of items of `typesize` bytes; `dst` is as long as `src`.
///
/// # Errors
/// [`Error::FilterPipeline`] where there is no such filter, or it cannot filter this.
pub fn forward(
    (id, meta): (u8, u8),
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<()> {
    let block = || hooks.block_shape();
    let result = match id {
        filter_id::NDCELL => {
            block().and_then(|block| ndcell::forward(block, meta, typesize, src, dst))
        }
        filter_id::NDMEAN => {
            block().and_then(|block| ndmean::forward(block, meta, typesize, src, dst))
        }
        filter_id::BYTEDELTA_BUGGY => {
            streams(meta, hooks).map(|streams| bytedelta::forward_cut(streams, src, dst))
        }
        filter_id::BYTEDELTA => {
            streams(meta, hooks).map(|streams| bytedelta::forward(streams, src, dst))
        }
        filter_id::INT_TRUNC => int_trunc::truncate(meta as i8, typesize, src, dst),
        _ => return hooks.filter_forward(id, meta, src, dst),
    };
    result.map_err(|_| Error::FilterPipeline)
}

/// Undoes filter `id`; `dst` is as long as `src`.
///
/// # Errors
/// [`Error::Failure`] where one of the library's own cannot undo this; else what the program's filter says.
pub fn backward((id, meta): (u8, u8), src: &[u8], dst: &mut [u8], hooks: &dyn Hooks) -> Result<()> {
    // Of the typesizes there are, the filters for arrays go by the super-chunk's.
    let array = || {
        let typesize = hooks.schunk_typesize().ok_or(Error::Failure)?;
        let typesize = usize::try_from(typesize).map_err(|_| Error::Failure)?;
        Ok((hooks.block_shape()?, typesize))
    };
    match id {
        filter_id::NDCELL => {
            let (block, typesize) = array()?;
            ndcell::backward(block, meta, typesize, src, dst)
        }
        filter_id::NDMEAN => {
            let (block, typesize) = array()?;
            ndmean::backward(block, meta, typesize, src, dst)
        }
        filter_id::BYTEDELTA_BUGGY => {
            bytedelta::backward_cut(streams(meta, hooks)?, src, dst);
            Ok(())
        }
        filter_id::BYTEDELTA => {
            bytedelta::backward(streams(meta, hooks)?, src, dst);
            Ok(())
        }
        // What is gone is gone.
        filter_id::INT_TRUNC => {
            copy(src, dst);
            Ok(())
        }
        _ => hooks.filter_backward(id, meta, src, dst),
    }
}
