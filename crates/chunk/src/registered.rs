//! Filters and codecs with registered ids: the library's own, and behind them those of the program.

use super::header::filter_id;
use super::hooks::Hooks;
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{ndlz, zfp};
use oxiblosc_filters::{bytedelta, int_trunc, ndcell, ndmean};

/// Number of streams of a block for bytedelta: the meta byte, or the super-chunk's typesize if that is 0. A chunk that belongs to none is decompressed by
/// the `typesize` in its header.
fn streams(meta: u8, typesize: Option<usize>, hooks: &dyn Hooks) -> Result<usize> {
    if meta != 0 {
        return Ok(meta.into());
    }
    let typesize = match (hooks.schunk_typesize(), typesize) {
        (None, Some(typesize)) => return Ok(typesize),
        (of_schunk, _) => of_schunk.unwrap_or(0),
    };
    match usize::try_from(typesize) {
        Ok(typesize) if typesize > 0 => Ok(typesize),
        _ => Err(Error::FAILURE),
    }
}

/// Runs filter `id` over a block of items of `typesize` bytes; `dst` is as long as `src`.
///
/// # Errors
/// [`Error::FILTER_PIPELINE`] if there is no such filter, or it refuses these data.
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
            streams(meta, None, hooks).map(|streams| bytedelta::forward_cut(streams, src, dst))
        }
        filter_id::BYTEDELTA => {
            streams(meta, None, hooks).map(|streams| bytedelta::forward(streams, src, dst))
        }
        filter_id::INT_TRUNC => int_trunc::truncate(meta as i8, typesize, src, dst),
        _ => return hooks.filter_forward(id, meta, src, dst),
    };
    result.map_err(|error| error.or(Error::FILTER_PIPELINE))
}

/// Undoes filter `id` in a chunk of items of `typesize` bytes; `dst` is as long as `src`.
///
/// # Errors
/// [`Error::FAILURE`] if one of the library's own filters fails; otherwise the error of the program's filter.
pub fn backward(
    (id, meta): (u8, u8),
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<()> {
    // The filters for arrays use the typesize of the super-chunk, not that of the chunk.
    let array = || {
        let typesize = hooks.schunk_typesize().ok_or(Error::FAILURE)?;
        let typesize = usize::try_from(typesize).map_err(|_| Error::FAILURE)?;
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
            bytedelta::backward_cut(streams(meta, Some(typesize), hooks)?, src, dst);
            Ok(())
        }
        filter_id::BYTEDELTA => {
            bytedelta::backward(streams(meta, Some(typesize), hooks)?, src, dst);
            Ok(())
        }
        _ => hooks.filter_backward(id, meta, src, dst),
    }
}

/// Ids of the registered codecs that are part of the library.
pub mod codec_id {
    /// NDLZ: two-dimensional blocks of bytes, by cells; the meta byte is the side of a cell, 4 or 8.
    pub const NDLZ: u8 = 32;
    /// ZFP with an accuracy, lossy; the meta byte, as a signed number, is the exponent of ten of the largest error.
    pub const ZFP_ACCURACY: u8 = 33;
    /// ZFP with a precision, lossy; the meta byte is how many bit planes are kept.
    pub const ZFP_PRECISION: u8 = 34;
    /// ZFP at a fixed rate, lossy; the meta byte is the size in percent.
    pub const ZFP_RATE: u8 = 35;
}

/// The mode of the ZFP codec with this id.
fn zfp_mode(compcode: u8) -> Option<zfp::CompressionMode> {
    match compcode {
        codec_id::ZFP_ACCURACY => Some(zfp::CompressionMode::Accuracy),
        codec_id::ZFP_PRECISION => Some(zfp::CompressionMode::Precision),
        codec_id::ZFP_RATE => Some(zfp::CompressionMode::Rate),
        _ => None,
    }
}

/// The super-chunk's typesize, for codecs that use it instead of the chunk's.
fn typesize_of(hooks: &dyn Hooks) -> Result<usize> {
    let typesize = hooks.schunk_typesize().ok_or(Error::DATA)?;
    usize::try_from(typesize).map_err(|_| Error::DATA)
}

/// Compresses a stream of items of `typesize` bytes with codec `compcode`. Returns 0 if it does not become smaller.
///
/// # Errors
/// [`Error::DATA`] if one of the library's own codecs fails, [`Error::MEMORY_ALLOC`]; otherwise the error of the program's codec.
pub fn encode(
    (compcode, meta): (u8, u8),
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<usize> {
    let result = if let Some(mode) = zfp_mode(compcode) {
        // A chunk outside of a super-chunk belongs to no array, so its blocks have no shape.
        if hooks.schunk_typesize().is_none() {
            return Ok(0);
        }
        hooks
            .block_shape()
            .and_then(|block| zfp::compress((mode, meta), block, typesize, src, dst))
    } else if compcode == codec_id::NDLZ {
        hooks
            .block_shape()
            .and_then(|block| ndlz::compress(meta, block, src, dst))
    } else {
        return hooks.encode(compcode, meta, src, dst);
    };
    result.map_err(|error| error.or(Error::DATA))
}

/// Decompresses a stream. Returns the number of bytes written.
///
/// # Errors
/// As [`encode`].
pub fn decode(
    (compcode, meta): (u8, u8),
    src: &[u8],
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<usize> {
    let result = if let Some(mode) = zfp_mode(compcode) {
        let typesize = typesize_of(hooks)?;
        hooks
            .block_shape()
            .and_then(|block| zfp::decompress((mode, meta), block, typesize, src, dst))
            .map(|()| dst.len())
    } else if compcode == codec_id::NDLZ {
        ndlz::decompress(meta, src, dst)
    } else {
        return hooks.decode(compcode, meta, src, dst);
    };
    result.map_err(|error| error.or(Error::DATA))
}

/// Decompresses only the items of a stream from byte `from` on, as many as fill `part`. Returns false if its codec cannot do that.
///
/// # Errors
/// As [`decode`].
pub fn decode_part(
    (compcode, meta): (u8, u8),
    src: &[u8],
    from: usize,
    part: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<bool> {
    if compcode != codec_id::ZFP_RATE {
        return Ok(false);
    }
    let typesize = typesize_of(hooks)?;
    if typesize == 0 || !from.is_multiple_of(typesize) || !part.len().is_multiple_of(typesize) {
        return Ok(false);
    }
    hooks
        .block_shape()
        .and_then(|block| zfp::decompress_items(meta, block, typesize, src, from / typesize, part))
        .map_err(|error| error.or(Error::DATA))
}
