//! Contexts of Rust programs.

use crate::decoding::{self, DecodeContext};
use crate::encoding::{EncodeContext, EncodePlan, EncodeRequest};
use crate::ndim::meta::block_shape;
use crate::params::{CParams, DParams};
use crate::process::MemoryUser;
use oxiblosc_base::cells::BlockShape;
use oxiblosc_base::memory::{Buffer, TryVec, lock};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::getitem::ItemRange;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::hooks::{Hooks, RegisteredFunctions, if_needed};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_frame::meta::Metalayer;
use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicI32, Ordering};

/// What codecs and filters for arrays need to know about the super-chunk that a context belongs to.
#[derive(Clone, Copy, Debug)]
pub struct SchunkInfo {
    typesize: Option<i32>,
    block_shape: Result<BlockShape>,
}

impl Hooks for SchunkInfo {
    fn registered(&self) -> &dyn RegisteredFunctions {
        self
    }
}

impl RegisteredFunctions for SchunkInfo {
    fn schunk_typesize(&self) -> Option<i32> {
        self.typesize
    }

    fn block_shape(&self) -> Result<BlockShape> {
        self.block_shape
    }
}

impl Default for SchunkInfo {
    fn default() -> Self {
        Self {
            typesize: None,
            block_shape: Err(Error::FAILURE),
        }
    }
}

impl SchunkInfo {
    /// That of a super-chunk with these metalayers.
    pub(crate) fn new(typesize: i32, metalayers: &[Metalayer]) -> Self {
        Self {
            typesize: Some(typesize),
            block_shape: block_shape(metalayers),
        }
    }
}

/// Compresses data into chunks.
///
/// ```
/// use oxiblosc::{CParams, Compressor, Decompressor, DParams};
///
/// # fn main() -> Result<(), oxiblosc::Error> {
/// let data = [7u8; 10_000];
/// let chunk = Compressor::new(CParams::default()).compress(&data)?;
/// assert!(chunk.len() < 100);
/// let mut back = [0u8; 10_000];
/// let nbytes = Decompressor::new(DParams::default()).decompress(&chunk, &mut back)?;
/// assert_eq!((nbytes, back), (10_000, data));
/// # Ok(())
/// # }
/// ```
pub struct Compressor {
    params: CParams,
    /// The size of a block in bytes that an array has set; 0 for that of the parameters.
    blocksize: AtomicI32,
    pub(crate) schunk_info: Mutex<SchunkInfo>,
    _memory: MemoryUser,
}

impl fmt::Debug for Compressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Compressor");
        f.field("params", &self.params).finish_non_exhaustive()
    }
}

impl Compressor {
    /// A context with these parameters. They are checked when something is compressed.
    pub fn new(params: CParams) -> Self {
        Self {
            params,
            blocksize: AtomicI32::new(0),
            schunk_info: Mutex::default(),
            _memory: MemoryUser,
        }
    }

    /// The parameters.
    pub fn params(&self) -> &CParams {
        &self.params
    }

    /// Compresses data into a chunk.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the typesize is not positive or larger than the largest block,
    /// [`Error::CODEC_PARAM`] for a level above 9 and for a dictionary with a codec that takes
    /// none, [`Error::CODEC_SUPPORT`] for a codec that is not the library's,
    /// [`Error::MAX_BUFSIZE_EXCEEDED`] for more data than a chunk can have (2 GiB),
    /// [`Error::MEMORY_ALLOC`].
    pub fn compress(&self, data: &[u8]) -> Result<Buffer> {
        let chunk = Buffer::unspecified(data.len() + MAX_OVERHEAD)?;
        self.compress_into(ChunkInput::Buffer(data), chunk)
    }

    /// Compresses buffers into one chunk, in which each is a block.
    ///
    /// ```
    /// use oxiblosc::{CParams, Compressor, Decompressor, DParams};
    ///
    /// # fn main() -> Result<(), oxiblosc::Error> {
    /// let words: [&[u8]; 3] = [b"three", b"short", b"texts"];
    /// let params = CParams { typesize: 1, ..CParams::default() };
    /// let chunk = Compressor::new(params).compress_vlblocks(&words)?;
    /// let decompressor = Decompressor::new(DParams::default());
    /// assert_eq!(&*decompressor.decompress_vlblock(&chunk, 1)?, b"short");
    /// assert_eq!(decompressor.decompress_vlblocks(&chunk)?.len(), 3);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As for [`Self::compress`]; [`Error::INVALID_PARAM`] if there is no buffer, or an empty one.
    pub fn compress_vlblocks(&self, blocks: &[&[u8]]) -> Result<Buffer> {
        let source = ChunkInput::Variable(blocks);
        // A block costs four bytes in the table of block starts, and four for the size of its
        // stream.
        let sizes = 8 * blocks.len();
        let chunk = Buffer::unspecified(source.nbytes() + MAX_OVERHEAD + sizes)?;
        self.compress_into(source, chunk)
    }

    /// Compresses into a buffer, and cuts it behind the chunk.
    fn compress_into(&self, source: ChunkInput, mut chunk: Buffer) -> Result<Buffer> {
        let encoder: &dyn EncodeContext = self;
        let header = encoder.compress(source, &mut chunk, false)?;
        chunk.resize(header.map_or(0, |header| header.cbytes))?;
        Ok(chunk)
    }
}

impl EncodeContext for Compressor {
    fn parameters(&self) -> Parameters {
        let mut parameters = self.params.recorded();
        match self.blocksize.load(Ordering::Relaxed) {
            0 => {}
            blocksize => parameters.blocksize = blocksize,
        }
        parameters
    }

    fn begin<'h>(&'h self, request: EncodeRequest<'h, '_>) -> Result<EncodePlan<'h>> {
        let mut parameters = self.parameters();
        request.choose_blocksize(&mut parameters)?;
        self.params.check_codec()?;
        let mut params = request.check(&parameters)?;
        params.nthreads = self.nthreads();
        Ok(EncodePlan {
            hooks: if_needed(!params.is_plain(), || *lock(&self.schunk_info))?,
            params,
            started: None,
        })
    }

    fn hooks<'h>(&'h self, header: &ChunkHeader, _chunk: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        if_needed(!header.is_plain(), || *lock(&self.schunk_info))
    }

    fn set_blocksize(&self, blocksize: usize) {
        let blocksize = i32::try_from(blocksize).unwrap_or(0);
        self.blocksize.store(blocksize, Ordering::Relaxed);
    }

    fn nthreads(&self) -> usize {
        usize::try_from(self.params.nthreads).unwrap_or(1).max(1)
    }
}

/// Decompresses chunks; see [`Compressor`] for an example.
pub struct Decompressor {
    params: DParams,
    pub(crate) schunk_info: Mutex<SchunkInfo>,
    _memory: MemoryUser,
}

impl fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut f = f.debug_struct("Decompressor");
        f.field("params", &self.params).finish_non_exhaustive()
    }
}

impl Decompressor {
    /// A context with these parameters.
    pub fn new(params: DParams) -> Self {
        Self {
            params,
            schunk_info: Mutex::default(),
            _memory: MemoryUser,
        }
    }

    /// Decompresses a chunk into the front of `dest`. Gives the size of the data in bytes.
    ///
    /// # Errors
    /// [`Error::WRITE_BUFFER`] if the data do not fit into `dest`; those of a damaged chunk.
    pub fn decompress(&self, chunk: &[u8], dest: &mut [u8]) -> Result<usize> {
        DecodeContext::decompress(self, &ChunkHeader::parse(chunk)?, chunk, dest)
    }

    /// Decompresses `nitems` items of a chunk, from item `start` on, into the front of `dest`. An
    /// item has the typesize that the chunk records. Gives how many bytes they are.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for items out of range, and for a chunk of variable-length blocks;
    /// [`Error::WRITE_BUFFER`] if the items do not fit into `dest`; those of a damaged chunk.
    pub fn decompress_items(
        &self,
        chunk: &[u8],
        start: usize,
        nitems: usize,
        dest: &mut [u8],
    ) -> Result<usize> {
        decompress_items(self, chunk, start, nitems, dest)
    }

    /// Decompresses a chunk of variable-length blocks, each into a buffer of its own.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for a chunk of another kind; [`Error::MEMORY_ALLOC`]; those of a
    /// damaged chunk.
    pub fn decompress_vlblocks(&self, chunk: &[u8]) -> Result<TryVec<Buffer>> {
        decoding::decompress_vlblocks(self, &ChunkHeader::parse(chunk)?, chunk, usize::MAX)
    }

    /// Decompresses block `nblock` of a chunk of variable-length blocks.
    ///
    /// # Errors
    /// As for [`Self::decompress_vlblocks`]; [`Error::INVALID_PARAM`] if the chunk has no such
    /// block.
    pub fn decompress_vlblock(&self, chunk: &[u8], nblock: usize) -> Result<Buffer> {
        decoding::decompress_vlblock(self, &ChunkHeader::parse(chunk)?, chunk, nblock)
    }
}

/// [`Decompressor::decompress_items`] for any decoder.
///
/// # Errors
/// As for that function.
pub fn decompress_items(
    decoder: &dyn DecodeContext,
    chunk: &[u8],
    start: usize,
    nitems: usize,
    dest: &mut [u8],
) -> Result<usize> {
    let header = ChunkHeader::parse(chunk)?;
    if header.has_vlblocks() {
        return Err(Error::INVALID_PARAM);
    }
    let number = |number: usize| i32::try_from(number).map_err(|_| Error::INVALID_PARAM);
    let capacity = i32::try_from(dest.len()).unwrap_or(i32::MAX);
    let range = ItemRange::new(&header, number(start)?, number(nitems)?, capacity)?;
    if range.len == 0 {
        return Ok(0);
    }
    let dest = dest.get_mut(..range.len).ok_or(Error::WRITE_BUFFER)?;
    let parsed = Chunk::parse(&header, chunk)?;
    decoder.decompress_items(&parsed, chunk, range, dest)?;
    Ok(range.len)
}

impl DecodeContext for Decompressor {
    fn hooks<'h>(&'h self, header: &ChunkHeader, _prefix: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        if_needed(!header.is_plain(), || *lock(&self.schunk_info))
    }

    fn nthreads(&self) -> usize {
        usize::try_from(self.params.nthreads).unwrap_or(1).max(1)
    }
}
