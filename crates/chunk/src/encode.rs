//! Compressing a chunk: the header, the block starts, and the blocks, each a pure function of its own data.
//!
//! Blocks are compressed by any number of workers and placed in the order of their index, so the bytes do not
//! depend on how many workers there were.

use super::encode_block::BlockInput;
use super::encode_chunk::ChunkEncoder;
use super::header::{
    Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_FILTERS, MIN_HEADER_LENGTH, flags, flags2,
    version,
};
use super::hooks::{Executor, Hooks};
use super::pipeline::Pipeline;
use super::rules::Rules;
use super::uncompressed::UncompressedChunk;
use super::workers::Workers;
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::Release;
use std::sync::Mutex;

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
    /// Whether the header is extended (32 bytes) or that of Blosc 1 (16 bytes).
    pub extended: bool,
    /// Which library the chunk is for; with an extended header it is Blosc 2.
    pub rules: Rules,
    /// Whether the chunk gets [checksums](super::checksum), if it can have them and `dest` is long enough.
    pub checksums: bool,
    /// The most threads that compress it.
    pub nthreads: usize,
}

impl EncodeParams {
    /// The threads that compress the chunk.
    pub(super) fn workers<'a>(&self, exec: &'a dyn Executor) -> Workers<'a> {
        Workers {
            nthreads: self.nthreads,
            exec,
        }
    }

    /// Size of the header in bytes.
    pub(super) fn overhead(&self) -> usize {
        if self.extended {
            EXTENDED_HEADER_LENGTH
        } else {
            MIN_HEADER_LENGTH
        }
    }

    /// The release of Blosc whose streams the codec writes, which depends on whether blocks are split.
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
    /// A buffer that is cut into blocks of `blocksize` bytes.
    Buffer(&'a [u8]),
    /// This many bytes, which the prefilter generates.
    Generated(usize),
    /// A slice for each block.
    Variable(&'a [&'a [u8]]),
}

impl<'a> ChunkInput<'a> {
    /// Total number of bytes.
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

    /// The size of its largest block, if that is not `blocksize`. A block is not larger than the data: the header cannot express it, and whether
    /// a block is split depends on its size.
    fn max_blocksize(&self, blocksize: usize) -> Option<usize> {
        match self {
            Self::Variable(blocks) => blocks.iter().map(|block| block.len()).max(),
            other => Some(other.nbytes()).filter(|nbytes| (1..blocksize).contains(nbytes)),
        }
    }

    /// The block with index `nblock`.
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

/// Compresses `source` into `dest`. Returns the size of the chunk, or 0 if it does not fit.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if there are no variable-length blocks, or one of them is empty; [`Error::MEMORY_ALLOC`]; those of `hooks`.
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
        return Err(Error::INVALID_PARAM);
    }
    let within = (source.max_blocksize(params.blocksize)).map(|blocksize| EncodeParams {
        blocksize,
        ..params.clone()
    });
    let params = within.as_ref().unwrap_or(params);
    let mut header = header_for(params, nbytes, nblocks, variable);
    if dest.len() < params.overhead() {
        return Ok(0);
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
            if let Some(cbytes) = chunk.write(&mut header, dest, exec)? {
                return Ok(cbytes);
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
        (true, _) => Ok(0),
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

/// Size of the memory that a prefilter or postfilter may use.
pub fn ttmp_size(blocksize: usize, typesize: usize) -> usize {
    4 * (blocksize + 4 * typesize)
}

/// Locks a mutex, also if a thread panicked while it held it: the data under these locks are consistent at every moment.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
