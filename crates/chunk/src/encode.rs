//! Compressing a chunk: the header, the block starts, and the blocks, each a pure function of its
//! own data.
//!
//! Blocks are compressed by any number of workers and placed in the order of their index, so the
//! bytes do not depend on how many workers there were.

use super::encode_chunk::ChunkEncoder;
use super::header::{Blocks, ChunkHeader, flags, flags2, version};
use super::hooks::{Executor, Hooks};
pub use super::input::{ChunkInput, EncodeParams};
use super::pipeline::Pipeline;
use super::uncompressed::UncompressedChunk;
use oxiblosc_base::{Error, Result};

/// Compresses `source` into the front of `dest`. Returns the header of the chunk, or none if it
/// does not fit.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if there are no variable-length blocks, or one of them is empty;
/// [`Error::MEMORY_ALLOC`]; those of `hooks`.
pub fn compress(
    params: &EncodeParams,
    source: ChunkInput,
    dest: &mut [u8],
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<Option<ChunkHeader>> {
    let header = encode(params, source, dest, hooks, exec)?;
    match header {
        // A checksum stands in fields of the header.
        Some(_) if params.has_checksums() => ChunkHeader::parse(dest).map(Some),
        header => Ok(header),
    }
}

/// As [`compress`]; but the header is the one before checksums were added.
fn encode(
    params: &EncodeParams,
    source: ChunkInput,
    dest: &mut [u8],
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<Option<ChunkHeader>> {
    let nbytes = source.nbytes();
    let nblocks = source.nblocks(params.blocksize);
    let variable = matches!(source, ChunkInput::Variable(_));
    if let ChunkInput::Variable(blocks) = source
        && (blocks.is_empty() || blocks.iter().any(|block| block.is_empty()))
    {
        return Err(Error::INVALID_PARAM);
    }
    let within = (source.max_blocksize(params.blocksize)).map(|blocksize| EncodeParams {
        blocksize,
        ..params.clone()
    });
    let params = within.as_ref().unwrap_or(params);
    let mut header = header_for(params, nbytes, nblocks, variable);
    if dest.len() < params.overhead() {
        return Ok(None);
    }
    let large_enough = nbytes >= params.rules.min_buffersize();
    let compressible = (variable || (params.clevel > 0 && large_enough))
        && params.overhead() + 4 * nblocks <= dest.len();
    if compressible || params.rules.is_blosc1() {
        let mut pipeline = Pipeline::EMPTY;
        let chunk = ChunkEncoder::new(params, source, hooks, nblocks, &mut pipeline)?;
        // In Blosc 1 the header of a stored chunk, too, has the flags of its codec and filters.
        header.flags |= chunk.format_flags();
        if compressible {
            let flags = header.flags;
            if chunk.write(&mut header, dest, exec)? {
                return Ok(Some(header));
            }
            header = header_for(params, nbytes, nblocks, variable);
            header.flags = flags;
        }
    }
    let stored = UncompressedChunk {
        params,
        source,
        hooks,
        exec,
    };
    match (variable, params.has_checksums()) {
        (true, _) => Ok(None),
        (false, true) => stored.write_with_checksums(header, dest),
        (false, false) => stored.write(header, dest),
    }
}

fn header_for(params: &EncodeParams, nbytes: usize, nblocks: usize, variable: bool) -> ChunkHeader {
    let mut header = ChunkHeader {
        version: if variable {
            version::VL_BLOCKS
        } else {
            params.rules.version()
        },
        versionlz: params.versionlz,
        flags: if params.extended { flags::EXTENDED } else { 0 },
        typesize: params.typesize as u8,
        nbytes,
        filters: params.filters,
        filters_meta: params.filters_meta,
        udcompcode: params.compcode,
        compcode_meta: params.compcode_meta,
        blosc2_flags: if params.instrumented {
            flags2::INSTRUMENTED
        } else {
            0
        },
        blosc2_flags2: if variable { flags2::VL_BLOCKS } else { 0 },
        ..ChunkHeader::EMPTY
    };
    let most = if nbytes > 0 { nbytes } else { params.blocksize };
    header.set_blocks(match variable {
        true => Blocks::Variable { nblocks },
        false => Blocks::Regular {
            blocksize: params.blocksize.min(most),
        },
    });
    header
}
