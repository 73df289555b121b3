//! Compressing a chunk: the header, the block starts, and the blocks, each a pure function of its own data.
//!
//! Blocks are compressed by any number of workers and placed in the order of their index, so the bytes do not
//! depend on how many workers there were.

use super::checksum;
use super::encode_block::BlockInput;
use super::encode_chunk::ChunkEncoder;
use super::header::{
    Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_FILTERS, MIN_HEADER_LENGTH, flags, flags2,
    version,
};
use super::hooks::{Executor, Hooks};
use super::rules::Rules;
use super::store::store;
use oxiblosc_codecs::Release;
use oxiblosc_error::{Error, Result};
use std::sync::Mutex;

/// Below this many bytes a job is not worth the hand-off to another thread.
pub const PARALLEL_MIN: usize = 64 << 10;

/// Everything that decides the bytes of a chunk, apart from its data.
#[derive(Clone, Debug)]
pub struct EncodeParams {
    /// The codec's id.
    pub compcode: u8,
    /// A parameter of a registered codec.
    pub compcode_meta: u8,
    /// Version of the codec's format, for the header.
    pub versionlz: u8,
    /// 0 (store) to 9.
    pub clevel: u8,
    /// Bytes of an item, 1 to 255.
    pub typesize: usize,
    /// Bytes of a block, at least 1; variable-length blocks have their own sizes.
    pub blocksize: usize,
    /// The pipeline.
    pub filters: [u8; MAX_FILTERS],
    /// Its parameters.
    pub filters_meta: [u8; MAX_FILTERS],
    /// Whether a block is cut into as many streams as an item has bytes.
    pub split: bool,
    /// Whether a dictionary is built from the data.
    pub use_dict: bool,
    /// Whether measurements are stored instead of data.
    pub instrumented: bool,
    /// Header of 32 bytes; else a Blosc 1 header.
    pub extended: bool,
    /// Which library the chunk is for; with a header of 32 bytes it is Blosc 2.
    pub rules: Rules,
    /// Whether the chunk gets [checksums](super::checksum), if it can have any and `dest` has [room](checksum::room) for them.
    pub checksums: bool,
    /// The most workers.
    pub nthreads: usize,
}

impl EncodeParams {
    /// Bytes of the header.
    pub(super) fn overhead(&self) -> usize {
        if self.extended {
            EXTENDED_HEADER_LENGTH
        } else {
            MIN_HEADER_LENGTH
        }
    }

    /// Whose streams are written, in a chunk whose blocks are split or not.
    #[inline(always)]
    #[cfg_attr(
        not(feature = "blosc1"),
        allow(
            unused_variables,
            reason = "one release writes the same streams in both"
        )
    )]
    pub(super) fn release(&self, split: bool) -> Release {
        match self.rules {
            Rules::Blosc2 => Release::Blosc2,
            #[cfg(feature = "blosc1")]
            Rules::Blosc1 => Release::Blosc1 { split },
        }
    }

    /// Whether the chunk gets checksums.
    pub(super) fn has_checksums(&self) -> bool {
        self.checksums && self.extended && !self.instrumented
    }
}

/// The data to compress.
#[derive(Clone, Copy)]
pub enum ChunkInput<'a> {
    /// A buffer, cut into blocks of `blocksize`.
    Buffer(&'a [u8]),
    /// No data: the prefilter makes this many bytes.
    Generated(usize),
    /// One slice a block.
    Variable(&'a [&'a [u8]]),
}

impl<'a> ChunkInput<'a> {
    /// How many bytes they are.
    pub fn nbytes(&self) -> usize {
        match self {
            Self::Buffer(data) => data.len(),
            Self::Generated(nbytes) => *nbytes,
            Self::Variable(blocks) => blocks.iter().map(|block| block.len()).sum(),
        }
    }

    fn nblocks(&self, blocksize: usize) -> usize {
        match self {
            Self::Variable(blocks) => blocks.len(),
            other => other.nbytes().div_ceil(blocksize),
        }
    }

    /// The block of index `nblock`, and where it begins.
    pub fn block(&self, nblock: usize, blocksize: usize) -> BlockInput<'a> {
        match *self {
            Self::Buffer(data) => {
                let start = nblock * blocksize;
                let data = &data[start..data.len().min(start + blocksize)];
                BlockInput {
                    data: Some(data),
                    bsize: data.len(),
                    offset: start,
                }
            }
            Self::Generated(nbytes) => {
                let start = nblock * blocksize;
                BlockInput {
                    data: None,
                    bsize: blocksize.min(nbytes - start),
                    offset: start,
                }
            }
            Self::Variable(blocks) => BlockInput {
                data: Some(blocks[nblock]),
                bsize: blocks[nblock].len(),
                offset: 0,
            },
        }
    }
}

/// Compresses `source` into `dest`. Gives the chunk's size, or 0 if it does not fit.
///
/// # Errors
/// [`Error::InvalidParam`] for variable-length blocks of which there is none, or an empty one; [`Error::MemoryAlloc`]; those of `hooks`.
pub fn compress(
    params: &EncodeParams,
    source: ChunkInput,
    dest: &mut [u8],
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<usize> {
    let nbytes = source.nbytes();
    let nblocks = source.nblocks(params.blocksize);
    let variable = matches!(source, ChunkInput::Variable(_));
    if let ChunkInput::Variable(blocks) = source
        && (blocks.is_empty() || blocks.iter().any(|block| block.is_empty()))
    {
        return Err(Error::InvalidParam);
    }
    let within;
    let params = if variable || (nbytes > 0 && params.blocksize > nbytes) {
        let largest = |blocks: &[&[u8]]| blocks.iter().map(|block| block.len()).max();
        within = EncodeParams {
            // The header can only say that a block is as large as the data, which decides whether it is split.
            blocksize: match source {
                ChunkInput::Variable(blocks) => largest(blocks).unwrap_or(1),
                _ => nbytes,
            },
            ..params.clone()
        };
        &within
    } else {
        params
    };
    let mut header = header_for(params, nbytes, nblocks, variable);
    if dest.len() < params.overhead() {
        return Ok(0);
    }
    let large_enough = nbytes >= params.rules.min_buffersize();
    let compressible = (variable || (params.clevel > 0 && large_enough))
        && params.overhead() + 4 * nblocks <= dest.len();
    if compressible || params.rules.is_blosc1() {
        let chunk = ChunkEncoder::new(params, source, hooks, nblocks)?;
        // In Blosc 1 what is stored says, too, how it would have been compressed.
        header.flags |= chunk.format_flags();
        if compressible && let Some(cbytes) = chunk.write(header, dest, exec)? {
            return Ok(cbytes);
        }
    }
    match (variable, params.has_checksums()) {
        (true, _) => Ok(0),
        (false, true) => store_with_checksums(params, header, source, dest, hooks, exec),
        (false, false) => store(params, header, source, dest, hooks, exec),
    }
}

/// As [`store`], with checksums where there is room for them.
fn store_with_checksums(
    params: &EncodeParams,
    header: ChunkHeader,
    source: ChunkInput,
    dest: &mut [u8],
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<usize> {
    let nbytes = source.nbytes();
    if nbytes > 0
        && let ChunkInput::Buffer(data) = source
        && !hooks.has_prefilter()
        && let Some(chunk) = checksum::stored_size(&header).and_then(|size| dest.get_mut(..size))
    {
        checksum::store(&header, data, chunk);
        return Ok(chunk.len());
    }
    let cbytes = store(params, header, source, dest, hooks, exec)?;
    if nbytes == 0 {
        let header = ChunkHeader::parse(&dest[..cbytes])?;
        checksum::write_header_only(&header, &mut dest[..cbytes]);
    }
    Ok(cbytes)
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

/// How many workers a job of `nblocks` blocks and `nbytes` bytes gets from `exec`. Where a function of the program's is called for each
/// block (`calls`), which may wait for something, it gets as many as it asked for.
pub fn workers(
    exec: &dyn Executor,
    nthreads: usize,
    nblocks: usize,
    nbytes: usize,
    calls: bool,
) -> usize {
    if nbytes < PARALLEL_MIN {
        1
    } else if calls {
        nthreads.min(nblocks).max(1)
    } else {
        exec.workers(nthreads, nblocks)
    }
}

/// Size of the memory that a prefilter or postfilter may use.
pub fn ttmp_size(blocksize: usize, typesize: usize) -> usize {
    4 * (blocksize + 4 * typesize)
}

/// A lock whose holder never panics while the data are inconsistent.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
