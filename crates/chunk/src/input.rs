//! What is compressed, and how: the data of a chunk and of its blocks, and the parameters.

use super::header::rules::Rules;
use super::header::{EXTENDED_HEADER_LENGTH, MAX_FILTERS, MIN_HEADER_LENGTH, are_built_in};
use super::hooks::Executor;
use super::workers::Workers;
use oxiblosc_codecs::{Codec, Dialect};

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
    /// Whether the chunk gets [checksums](super::checksum), if it can have them and `dest` is long
    /// enough.
    pub checksums: bool,
    /// The most threads that compress it.
    pub nthreads: usize,
}

impl EncodeParams {
    /// Whether they need only codecs and filters of the library, and none that is registered.
    pub fn is_plain(&self) -> bool {
        Codec::from_code(self.compcode.into()).is_some() && are_built_in(&self.filters)
    }

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

    /// The library whose streams the codec writes; for Blosc 1 that depends on whether blocks are
    /// split.
    #[inline(always)]
    pub(super) fn dialect(&self, split: bool) -> Dialect {
        match self.rules {
            Rules::Blosc2 => Dialect::Blosc2,
            Rules::Blosc1 => Dialect::Blosc1 { split },
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

    pub(super) fn nblocks(&self, blocksize: usize) -> usize {
        match self {
            Self::Variable(blocks) => blocks.len(),
            other => other.nbytes().div_ceil(blocksize),
        }
    }

    /// The size of its largest block, if that is not `blocksize`. A block is not larger than the
    /// data: the header cannot express it, and whether a block is split depends on its size.
    pub(super) fn max_blocksize(&self, blocksize: usize) -> Option<usize> {
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

/// The data of a block to be encoded.
#[derive(Clone, Copy)]
pub struct BlockInput<'a> {
    /// The data; none if the prefilter generates them.
    pub data: Option<&'a [u8]>,
    /// Their size.
    pub bsize: usize,
    /// Where they begin in the chunk's data; 0 for variable-length blocks, which are independent of
    /// each other.
    pub offset: usize,
}

/// Size of the memory that a prefilter or postfilter may use.
pub fn ttmp_size(blocksize: usize, typesize: usize) -> usize {
    4 * (blocksize + 4 * typesize)
}
