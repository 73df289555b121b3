//! What is done with chunks by contexts that decompress: those of Rust programs, and those of the C library, which has callbacks and a
//! mask of blocks besides.

use crate::coder::SchunkDecoder;
use crate::exec::Pool;
use crate::schunk::SuperChunk;
use crate::schunk::lazy::{self, is_lazy};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode;
use oxiblosc_chunk::fast_path;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Buffer, Collect, List};

/// A context that decompresses.
pub trait DecodeContext: Sync {
    /// The program's functions, for one chunk.
    type Hooks<'h>: Hooks
    where
        Self: 'h;

    /// The functions for the chunk that begins with `front`, all of its header at least.
    fn functions<'h>(&'h self, front: &'h [u8]) -> Self::Hooks<'h>;

    /// Tells functions that look into the context which chunk comes next, and where its data go: to the front of a buffer of `room`
    /// bytes, unless each block has a buffer of its own.
    fn describe(
        &self,
        _header: &ChunkHeader,
        _front: &[u8],
        _dest: Option<&mut [u8]>,
        _room: usize,
    ) {
    }

    /// Tells only the size of an item of the chunk that is decompressed.
    fn describe_typesize(&self, _header: &ChunkHeader) {}

    /// Whether there is a mask of blocks.
    fn has_mask(&self) -> bool {
        false
    }

    /// Which blocks of a chunk with so many are to be left as they are.
    ///
    /// # Errors
    /// [`Error::Data`] for a mask of another length, [`Error::MemoryAlloc`].
    fn mask(&self, _nblocks: usize) -> Result<Option<List<bool>>> {
        Ok(None)
    }

    /// The super-chunk whose lazy chunks the context can decompress.
    ///
    /// # Errors
    /// [`Error::NullPointer`] where there is none.
    fn owner(&self) -> Result<&SuperChunk> {
        Err(Error::NullPointer)
    }

    /// Whether a postfilter has to see every block that is read.
    fn has_postfilter(&self) -> bool {
        false
    }

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;
}

/// Decompresses the chunk `src`, which may be lazy, with this header into `data`, which has the size of its data and is the front of a
/// destination of `room` bytes. Gives the size of the data.
///
/// # Errors
/// Those of a damaged chunk, of input, and of the program's functions.
pub fn decompress(
    ctx: &impl DecodeContext,
    header: &ChunkHeader,
    src: &[u8],
    data: &mut [u8],
    room: usize,
) -> Result<usize> {
    let workers = Pool::workers(ctx.nthreads());
    let everything = !ctx.has_postfilter() && !ctx.has_mask();
    if everything && fast_path::decompress(header, src, data).is_some() {
        ctx.describe_typesize(header);
        return Ok(header.nbytes);
    }
    let (mut source, mut chunk) = (None, None);
    let chunk = lazy::parse(|| ctx.owner(), (header, src), &mut source, &mut chunk)?;
    ctx.describe(header, src, Some(data), room);
    let mask = ctx.mask(header.nblocks)?;
    let hooks = ctx.functions(src);
    decode::decompress(chunk, data, mask.as_deref(), &hooks, workers)
}

/// Decompresses a range of items of the chunk `src`, which may be lazy. `dest` gets the bytes that are read meanwhile, and gives as
/// many bytes as the range has, the front of a destination of `room` bytes. Gives how many they are.
///
/// # Errors
/// [`Error::InvalidParam`] for a chunk of variable-length blocks; those of `dest`; those of a damaged chunk, of input, and of the
/// program's functions.
pub fn decompress_items<'d>(
    ctx: &impl DecodeContext,
    (header, src): (&ChunkHeader, &[u8]),
    range: impl FnOnce(&ChunkHeader) -> Result<ItemRange>,
    dest: impl FnOnce(&[u8], usize) -> Result<&'d mut [u8]>,
    room: usize,
) -> Result<usize> {
    if header.has_vlblocks() {
        return Err(Error::InvalidParam);
    }
    let range = range(header)?;
    if range.len == 0 {
        return Ok(0);
    }
    if !ctx.has_postfilter()
        && let Some(items) = getitem::stored(header, src, range)?
    {
        oxiblosc_filters::copy(items, dest(items, items.len())?);
        return Ok(items.len());
    }
    let (mut source, mut chunk) = (None, None);
    let chunk = lazy::parse(|| ctx.owner(), (header, src), &mut source, &mut chunk)?;
    let dest = dest(src, range.len)?;
    ctx.describe(header, src, Some(dest), room);
    getitem::getitem(chunk, range, dest, &ctx.functions(src))?;
    Ok(range.len)
}

/// Checks a chunk of variable-length blocks, and gives it to `body`.
fn with_vlchunk(
    ctx: &impl DecodeContext,
    header: &ChunkHeader,
    src: &[u8],
    body: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<()> {
    if !header.has_vlblocks() {
        return Err(Error::InvalidParam);
    }
    if header.nbytes == 0 {
        // A header alone stands for no data, however many blocks it claims; there is no block to give.
        return Err(Error::InvalidHeader);
    }
    ctx.describe(header, src, None, header.nbytes);
    let (mut source, mut chunk) = (None, None);
    let parsed = lazy::parse(|| ctx.owner(), (header, src), &mut source, &mut chunk)?;
    body(parsed)
}

/// Decompresses a chunk of at most `most` variable-length blocks, each into a buffer of its own.
///
/// # Errors
/// [`Error::InvalidParam`] for a chunk of another kind, or with more blocks; [`Error::MemoryAlloc`]; those of a damaged chunk, of input,
/// and of the program's functions.
pub fn decompress_vlblocks(
    ctx: &impl DecodeContext,
    header: &ChunkHeader,
    src: &[u8],
    most: usize,
) -> Result<List<Buffer>> {
    let mut blocks = List::new();
    with_vlchunk(ctx, header, src, &mut |chunk| {
        let (loaded, whole);
        let chunk = if chunk.is_lazy() {
            loaded = chunk.load()?;
            whole = Chunk::loaded(chunk.header(), &loaded)?;
            &whole
        } else {
            chunk
        };
        let nblocks = chunk.header().nblocks;
        let mask = ctx.mask(nblocks)?;
        if nblocks > most {
            return Err(Error::InvalidParam);
        }
        let buffer = |nblock| Buffer::zeroed(chunk.block_nbytes(nblock)?);
        blocks = (0..nblocks).map(buffer).try_list()?;
        let buffers = blocks.iter_mut().map(|block| &mut **block);
        let (workers, hooks) = (Pool::workers(ctx.nthreads()), ctx.functions(src));
        decode::decompress_blocks(chunk, buffers, mask.as_deref(), &hooks, workers)
    })?;
    Ok(blocks)
}

/// Decompresses one block of a chunk of variable-length blocks.
///
/// # Errors
/// As for [`decompress_vlblocks`]; [`Error::InvalidParam`] for a block that there is not.
pub fn decompress_vlblock(
    ctx: &impl DecodeContext,
    header: &ChunkHeader,
    src: &[u8],
    nblock: usize,
) -> Result<Buffer> {
    let mut block = Buffer::new();
    with_vlchunk(ctx, header, src, &mut |chunk| {
        ctx.mask(header.nblocks)?;
        if nblock >= header.nblocks {
            return Err(Error::InvalidParam);
        }
        block = Buffer::zeroed(chunk.block_nbytes(nblock)?)?;
        decode::decompress_block(chunk, nblock, &mut block, &ctx.functions(src))
    })?;
    Ok(block)
}

impl<C: DecodeContext> SchunkDecoder for C {
    fn decompress(&self, header: &ChunkHeader, chunk: &[u8], dest: &mut [u8]) -> Result<usize> {
        let room = dest.len();
        let data = dest.get_mut(..header.nbytes).ok_or(Error::WriteBuffer)?;
        let chunk = match is_lazy(header) {
            true => chunk,
            false => chunk.get(..header.cbytes).ok_or(Error::InvalidHeader)?,
        };
        decompress(self, header, chunk, data, room)
    }

    fn decompress_chunk(&self, chunk: &Chunk, front: &[u8], dest: &mut [u8]) -> Result<usize> {
        let (header, room) = (chunk.header(), dest.len());
        self.describe(header, front, Some(dest), room);
        let mask = self.mask(header.nblocks)?;
        let workers = Pool::workers(DecodeContext::nthreads(self));
        let hooks = self.functions(front);
        decode::decompress(chunk, dest, mask.as_deref(), &hooks, workers)
    }

    fn decompress_items(
        &self,
        chunk: &Chunk,
        front: &[u8],
        range: ItemRange,
        dest: &mut [u8],
    ) -> Result<()> {
        let room = dest.len();
        self.describe(chunk.header(), front, Some(dest), room);
        getitem::getitem(chunk, range, dest, &self.functions(front))
    }

    fn decompress_block(
        &self,
        chunk: &Chunk,
        front: &[u8],
        nblock: usize,
        dest: &mut [u8],
    ) -> Result<()> {
        let header = chunk.header();
        self.describe(header, front, None, header.nbytes);
        self.mask(header.nblocks)?;
        decode::decompress_block(chunk, nblock, dest, &self.functions(front))
    }

    fn hooks<'h>(&'h self, front: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        Ok(oxiblosc_memory::boxed(self.functions(front))?)
    }

    fn has_postfilter(&self) -> bool {
        DecodeContext::has_postfilter(self)
    }

    fn nthreads(&self) -> usize {
        DecodeContext::nthreads(self)
    }

    fn executor(&self) -> &dyn Executor {
        &Pool
    }
}
