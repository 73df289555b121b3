//! Filters and codecs with registered ids: the library's own, and behind them those of the program.

use super::hooks::RegisteredFunctions;
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{CodecFunctions, own_codec};
use oxiblosc_filters::{FilterKind, filter};

/// Number of streams of a block for bytedelta: the meta byte, or the super-chunk's typesize if that
/// is 0. A chunk that belongs to none is decompressed by the `typesize` in its header.
fn streams(meta: u8, typesize: Option<usize>, program: &dyn RegisteredFunctions) -> Result<usize> {
    if meta != 0 {
        return Ok(meta.into());
    }
    let typesize = match (program.schunk_typesize(), typesize) {
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
    program: &dyn RegisteredFunctions,
) -> Result<()> {
    let result = match filter(id).map(|filter| &filter.kind) {
        Some(FilterKind::Cells { forward, .. }) => program
            .block_shape()
            .and_then(|block| forward(block, meta, typesize, src, dst)),
        Some(FilterKind::Streams { forward, .. }) => {
            streams(meta, None, program).map(|streams| forward(streams, src, dst))
        }
        Some(FilterKind::Items(truncate)) => truncate(meta as i8, typesize, src, dst),
        Some(FilterKind::OfFormat) | None => return program.filter_forward(id, meta, src, dst),
    };
    result.map_err(|error| error.or(Error::FILTER_PIPELINE))
}

/// Undoes filter `id` in a chunk of items of `typesize` bytes; `dst` is as long as `src`.
///
/// # Errors
/// [`Error::FAILURE`] if one of the library's own filters fails; otherwise the error of the
/// program's filter.
pub fn backward(
    (id, meta): (u8, u8),
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    program: &dyn RegisteredFunctions,
) -> Result<()> {
    match filter(id).map(|filter| &filter.kind) {
        Some(FilterKind::Cells { backward, .. }) => {
            // That of the super-chunk, not of the chunk.
            let typesize = program.schunk_typesize().ok_or(Error::FAILURE)?;
            let typesize = usize::try_from(typesize).map_err(|_| Error::FAILURE)?;
            backward(program.block_shape()?, meta, typesize, src, dst)
        }
        Some(FilterKind::Streams { backward, .. }) => {
            backward(streams(meta, Some(typesize), program)?, src, dst);
            Ok(())
        }
        _ => program.filter_backward(id, meta, src, dst),
    }
}

/// The super-chunk's typesize, for codecs that use it instead of the chunk's.
fn typesize_of(program: &dyn RegisteredFunctions) -> Result<usize> {
    let typesize = program.schunk_typesize().ok_or(Error::DATA)?;
    usize::try_from(typesize).map_err(|_| Error::DATA)
}

/// Compresses a stream of items of `typesize` bytes with codec `compcode`. Returns 0 if it does not
/// become smaller.
///
/// # Errors
/// [`Error::DATA`] if one of the library's own codecs fails, [`Error::MEMORY_ALLOC`]; otherwise the
/// error of the program's codec.
pub fn encode(
    (compcode, meta): (u8, u8),
    typesize: usize,
    src: &[u8],
    dst: &mut [u8],
    program: &dyn RegisteredFunctions,
) -> Result<usize> {
    let result = match own_codec(compcode).map(|codec| &codec.functions) {
        // A chunk outside of a super-chunk belongs to no array, so its blocks have no shape.
        Some(CodecFunctions::Numbers { .. }) if program.schunk_typesize().is_none() => {
            return Ok(0);
        }
        Some(CodecFunctions::Numbers { compress, .. }) => program
            .block_shape()
            .and_then(|block| compress(meta, block, typesize, src, dst)),
        Some(CodecFunctions::Bytes { compress, .. }) => program
            .block_shape()
            .and_then(|block| compress(meta, block, src, dst)),
        None => return program.encode(compcode, meta, src, dst),
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
    program: &dyn RegisteredFunctions,
) -> Result<usize> {
    let result = match own_codec(compcode).map(|codec| &codec.functions) {
        Some(CodecFunctions::Numbers { decompress, .. }) => {
            let typesize = typesize_of(program)?;
            let block = program.block_shape();
            let done = block.and_then(|block| decompress(meta, block, typesize, src, dst));
            done.map(|()| dst.len())
        }
        Some(CodecFunctions::Bytes { decompress, .. }) => decompress(meta, src, dst),
        None => return program.decode(compcode, meta, src, dst),
    };
    result.map_err(|error| error.or(Error::DATA))
}

/// Decompresses only the items of a stream from byte `from` on, as many as fill `part`. Returns
/// false if its codec cannot do that.
///
/// # Errors
/// As [`decode`].
pub fn decode_part(
    (compcode, meta): (u8, u8),
    src: &[u8],
    from: usize,
    part: &mut [u8],
    program: &dyn RegisteredFunctions,
) -> Result<bool> {
    let functions = own_codec(compcode).map(|codec| &codec.functions);
    let Some(CodecFunctions::Numbers { items, .. }) = functions else {
        return Ok(false);
    };
    let Some(items) = items else {
        return Ok(false);
    };
    let typesize = typesize_of(program)?;
    if typesize == 0 || !from.is_multiple_of(typesize) || !part.len().is_multiple_of(typesize) {
        return Ok(false);
    }
    program
        .block_shape()
        .and_then(|block| items(meta, block, typesize, src, from / typesize, part))
        .map_err(|error| error.or(Error::DATA))
}
