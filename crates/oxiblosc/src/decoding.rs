//! How contexts decompress chunks. The contexts of the C library have, besides what those of Rust
//! programs have, callbacks and a mask of blocks.

use crate::exec::Pool;
use crate::lazy::{self, LazySource, LazyTrailer, is_lazy};
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode;
use oxiblosc_chunk::fast_path;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_chunk::workers::Workers;

/// A context that decompresses.
///
/// The provided methods decompress the chunks of a super-chunk.
pub trait DecodeContext: Sync {
    /// The program's functions, for the chunk with this header, whose first bytes are `prefix`, at
    /// least all of its header.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn hooks<'h>(&'h self, header: &ChunkHeader, prefix: &'h [u8]) -> Result<Box<dyn Hooks + 'h>>;

    /// Records the next chunk and its destination in the context, where functions of the program
    /// look for them. `dest` is the front of a buffer of `capacity` bytes; it is none if each block
    /// has a buffer of its own.
    fn describe(
        &self,
        _header: &ChunkHeader,
        _prefix: &[u8],
        _dest: Option<&mut [u8]>,
        _capacity: usize,
    ) {
    }

    /// As [`Self::describe`], but records only the size of an item.
    fn describe_typesize(&self, _header: &ChunkHeader) {}

    /// Whether there is a mask of blocks.
    fn has_mask(&self) -> bool {
        false
    }

    /// Which blocks of a chunk with `nblocks` blocks are not to be decompressed.
    ///
    /// # Errors
    /// [`Error::DATA`] for a mask of another length, [`Error::MEMORY_ALLOC`].
    fn mask(&self, _nblocks: usize) -> Result<Option<TryVec<bool>>> {
        Ok(None)
    }

    /// Where to read the blocks of a lazy chunk with this trailer. None if they are in memory.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the context belongs to no super-chunk; those of input.
    fn lazy_source(&self, _trailer: Result<LazyTrailer>) -> Result<LazySource> {
        Err(Error::INVALID_PARAM)
    }

    /// Whether a postfilter has to see every block that is read.
    fn has_postfilter(&self) -> bool {
        false
    }

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;

    /// Runs them.
    fn executor(&self) -> &dyn Executor {
        &Pool
    }

    /// The threads that work on a chunk.
    fn workers(&self) -> Workers<'_> {
        Workers {
            nthreads: self.nthreads(),
            exec: self.executor(),
        }
    }

    /// Decompresses a chunk that is in memory and has this header into the front of `dest`. Gives
    /// the size of its data in bytes.
    ///
    /// # Errors
    /// [`Error::WRITE_BUFFER`] if the data do not fit into `dest`; those of a damaged chunk, and of
    /// the program's functions.
    fn decompress(&self, header: &ChunkHeader, chunk: &[u8], dest: &mut [u8]) -> Result<usize> {
        let capacity = dest.len();
        let data = dest.get_mut(..header.nbytes).ok_or(Error::WRITE_BUFFER)?;
        let chunk = match is_lazy(header) {
            true => chunk,
            false => chunk.get(..header.cbytes).ok_or(Error::INVALID_HEADER)?,
        };
        decompress(self, header, chunk, data, capacity)
    }

    /// As [`Self::decompress`], for a chunk that may be in a file. `prefix` has its first bytes, at
    /// least all of its header.
    ///
    /// # Errors
    /// As for [`Self::decompress`], and those of input.
    fn decompress_chunk(&self, chunk: &Chunk, prefix: &[u8], dest: &mut [u8]) -> Result<usize> {
        let (header, capacity) = (chunk.header(), dest.len());
        self.describe(header, prefix, Some(dest), capacity);
        let mask = self.mask(header.nblocks)?;
        let hooks = self.hooks(header, prefix)?;
        decode::decompress(chunk, dest, mask.as_deref(), &*hooks, self.workers())
    }

    /// Decompresses a range of items of such a chunk.
    ///
    /// # Errors
    /// As for [`Self::decompress_chunk`].
    fn decompress_items(
        &self,
        chunk: &Chunk,
        prefix: &[u8],
        range: ItemRange,
        dest: &mut [u8],
    ) -> Result<()> {
        let capacity = dest.len();
        self.describe(chunk.header(), prefix, Some(dest), capacity);
        getitem::getitem(chunk, range, dest, &*self.hooks(chunk.header(), prefix)?)
    }

    /// Decompresses a block of such a chunk.
    ///
    /// # Errors
    /// As for [`Self::decompress_chunk`].
    fn decompress_block(
        &self,
        chunk: &Chunk,
        prefix: &[u8],
        nblock: usize,
        dest: &mut [u8],
    ) -> Result<()> {
        let header = chunk.header();
        self.describe(header, prefix, None, header.nbytes);
        self.mask(header.nblocks)?;
        decode::decompress_block(chunk, nblock, dest, &*self.hooks(header, prefix)?)
    }
}

/// Decompresses the chunk `src`, which has this header and may be lazy. `data` has the size of its
/// data, and is the front of a destination of `capacity` bytes. Gives the size of the data in
/// bytes.
///
/// # Errors
/// Those of a damaged chunk, of input, and of the program's functions.
pub fn decompress(
    ctx: &(impl DecodeContext + ?Sized),
    header: &ChunkHeader,
    src: &[u8],
    data: &mut [u8],
    capacity: usize,
) -> Result<usize> {
    let everything = !ctx.has_postfilter() && !ctx.has_mask();
    if everything && fast_path::decompress(header, src, data).is_some() {
        ctx.describe_typesize(header);
        return Ok(header.nbytes);
    }
    decompress_any(ctx, header, src, data, capacity)
}

/// [`decompress`] for any chunk. It is not inlined: the fast path would have to save the registers
/// that this needs, 3 % of the instructions for a small chunk.
#[inline(never)]
fn decompress_any(
    ctx: &(impl DecodeContext + ?Sized),
    header: &ChunkHeader,
    src: &[u8],
    data: &mut [u8],
    capacity: usize,
) -> Result<usize> {
    let workers = ctx.workers();
    let (mut source, mut chunk) = (None, None);
    let chunk = lazy::parse(
        |trailer| ctx.lazy_source(trailer),
        (header, src),
        &mut source,
        &mut chunk,
    )?;
    ctx.describe(header, src, Some(data), capacity);
    let mask = ctx.mask(header.nblocks)?;
    let hooks = ctx.hooks(header, src)?;
    decode::decompress(chunk, data, mask.as_deref(), &*hooks, workers).doing(Doing::Decompress)
}

/// Decompresses a range of items of the chunk `src`, which may be lazy. `dest` is called with the
/// bytes that will be read and the size of the range; it gives a buffer of that size, the front of
/// a destination of `capacity` bytes. Gives the size of the range in bytes.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for a chunk of variable-length blocks; those of `dest`; those of a
/// damaged chunk, of input, and of the program's functions.
pub fn decompress_items<'d>(
    ctx: &(impl DecodeContext + ?Sized),
    (header, src): (&ChunkHeader, &[u8]),
    range: impl FnOnce(&ChunkHeader) -> Result<ItemRange>,
    dest: impl FnOnce(&[u8], usize) -> Result<&'d mut [u8]>,
    capacity: usize,
) -> Result<usize> {
    if header.has_vlblocks() {
        return Err(Error::INVALID_PARAM);
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
    let chunk = lazy::parse(
        |trailer| ctx.lazy_source(trailer),
        (header, src),
        &mut source,
        &mut chunk,
    )?;
    let dest = dest(src, range.len)?;
    ctx.describe(header, src, Some(dest), capacity);
    getitem::getitem(chunk, range, dest, &*ctx.hooks(header, src)?)?;
    Ok(range.len)
}

/// Checks that a chunk has variable-length blocks.
pub(crate) fn check_vlchunk(header: &ChunkHeader) -> Result<()> {
    if !header.has_vlblocks() {
        return Err(Error::INVALID_PARAM);
    }
    if header.nbytes == 0 {
        // Without data there are no blocks, however many the header claims.
        return Err(Error::INVALID_HEADER);
    }
    Ok(())
}

/// Checks a chunk of variable-length blocks, and calls `body` with it.
fn with_vlchunk(
    ctx: &(impl DecodeContext + ?Sized),
    header: &ChunkHeader,
    src: &[u8],
    body: &mut dyn FnMut(&Chunk) -> Result<()>,
) -> Result<()> {
    check_vlchunk(header)?;
    ctx.describe(header, src, None, header.nbytes);
    let (mut source, mut chunk) = (None, None);
    let parsed = lazy::parse(
        |trailer| ctx.lazy_source(trailer),
        (header, src),
        &mut source,
        &mut chunk,
    )?;
    body(parsed)
}

/// Decompresses a chunk of at most `most` variable-length blocks, each into a buffer of its own.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for a chunk of another kind, or with more blocks;
/// [`Error::MEMORY_ALLOC`]; those of a damaged chunk, of input, and of the program's functions.
pub fn decompress_vlblocks(
    ctx: &(impl DecodeContext + ?Sized),
    header: &ChunkHeader,
    src: &[u8],
    most: usize,
) -> Result<TryVec<Buffer>> {
    let mut blocks = TryVec::new();
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
            return Err(Error::INVALID_PARAM);
        }
        let buffer = |nblock| Buffer::zeroed(chunk.block_nbytes(nblock)?);
        blocks = (0..nblocks).map(buffer).try_collect_vec()?;
        let buffers = blocks.iter_mut().map(|block| &mut **block);
        let (workers, hooks) = (ctx.workers(), ctx.hooks(header, src)?);
        decode::decompress_blocks(chunk, buffers, mask.as_deref(), &*hooks, workers)
    })?;
    Ok(blocks)
}

/// Decompresses one block of a chunk of variable-length blocks.
///
/// # Errors
/// As for [`decompress_vlblocks`]; [`Error::INVALID_PARAM`] if the chunk has no such block.
pub fn decompress_vlblock(
    ctx: &(impl DecodeContext + ?Sized),
    header: &ChunkHeader,
    src: &[u8],
    nblock: usize,
) -> Result<Buffer> {
    let mut block = Buffer::new();
    with_vlchunk(ctx, header, src, &mut |chunk| {
        ctx.mask(header.nblocks)?;
        if nblock >= header.nblocks {
            return Err(Error::INVALID_PARAM);
        }
        block = Buffer::zeroed(chunk.block_nbytes(nblock)?)?;
        decode::decompress_block(chunk, nblock, &mut block, &*ctx.hooks(header, src)?)
    })?;
    Ok(block)
}
