//! The chunks of a super-chunk, as arrays read and make them.

use super::chunks::{Chunks, PartSizes};
use super::read::Workers;
use super::write::ChunkCompressor;
use crate::coder::{Decoder, Encoder};
use crate::fill::{Fill, FilledBlocks};
use crate::schunk::{Location, State, SuperChunk};
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::MAX_OVERHEAD;
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::scratch;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::Buffer;

/// The chunks, within an operation on the super-chunk.
pub(super) struct StoredChunks<'a> {
    schunk: &'a SuperChunk,
    state: &'a State,
    decoder: &'a dyn Decoder,
}

impl<'a> StoredChunks<'a> {
    pub fn new(schunk: &'a SuperChunk, state: &'a State) -> Result<Self> {
        Ok(Self {
            schunk,
            state,
            decoder: schunk.decoder()?,
        })
    }
}

impl Chunks for StoredChunks<'_> {
    fn find(&self, nchunk: usize) -> Result<Location<'_>> {
        if self.decoder.has_postfilter() {
            self.schunk.set_current(nchunk);
        }
        self.state.store.find(nchunk)
    }

    fn hooks<'h>(&'h self, _nchunk: usize, front: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        self.decoder.hooks(front)
    }

    fn is_shared(&self) -> bool {
        // A postfilter learns from the super-chunk which chunk it is about.
        !self.decoder.has_postfilter()
    }
}

/// Makes chunks with the encoder of a super-chunk.
pub(super) struct ChunkMaker<'a> {
    schunk: &'a SuperChunk,
    encoder: &'a dyn Encoder,
    nbytes: usize,
    block: usize,
    /// None where the encoder wants to see every chunk itself.
    params: Option<EncodeParams>,
    hooks: Box<dyn Hooks + 'a>,
}

impl<'a> ChunkMaker<'a> {
    /// For chunks of an array with parts of these sizes.
    pub fn new(schunk: &'a SuperChunk, sizes: PartSizes) -> Result<Self> {
        let encoder = schunk.encoder()?;
        if sizes.block > 0 {
            encoder.set_blocksize(sizes.block);
        }
        Ok(Self {
            schunk,
            encoder,
            nbytes: sizes.chunk,
            block: sizes.block,
            params: encoder.params(sizes.chunk, false)?,
            hooks: encoder.hooks(None)?,
        })
    }

    /// All data of a chunk.
    fn data(&self, fill: &Fill) -> Result<Buffer> {
        let mut data = Buffer::zeroed(self.nbytes)?;
        for (nblock, block) in data.chunks_mut(self.block.max(1)).enumerate() {
            fill(nblock, block)?;
        }
        Ok(data)
    }
}

/// A chunk of `cbytes` bytes, in memory that it fills.
fn finished(chunk: &[u8], cbytes: usize) -> Result<Buffer> {
    match chunk.get(..cbytes) {
        Some(chunk) if !chunk.is_empty() => Buffer::copy_of(chunk),
        _ => Err(Error::Failure),
    }
}

impl ChunkCompressor for ChunkMaker<'_> {
    fn make(&self, nchunk: usize, fill: &Fill, workers: Workers) -> Result<Buffer> {
        // Room for the largest chunk is kept from one chunk to the next: to get it from the system costs more than the copy.
        let mut scratch = scratch::borrow()?;
        let chunk = scratch.out.ensure(self.nbytes + MAX_OVERHEAD)?;
        let Some(params) = &self.params else {
            let data = self.data(fill)?;
            self.schunk.set_current(nchunk);
            let cbytes = self
                .encoder
                .compress(ChunkInput::Buffer(&data), chunk, false)?;
            return finished(chunk, cbytes);
        };
        let params = EncodeParams {
            nthreads: workers.nthreads,
            ..params.clone()
        };
        if params.blocksize != self.block {
            // Blocks of a few bytes are not worth having to the tuner.
            let data = self.data(fill)?;
            let source = ChunkInput::Buffer(&data);
            let cbytes = compress(&params, source, chunk, &*self.hooks, workers.exec)?;
            return finished(chunk, cbytes);
        }
        let hooks = FilledBlocks {
            fill,
            hooks: &*self.hooks,
        };
        let source = ChunkInput::Generated(self.nbytes);
        let cbytes = compress(&params, source, chunk, &hooks, workers.exec)?;
        finished(chunk, cbytes)
    }

    fn parts(&self) -> Option<(&EncodeParams, &dyn Hooks)> {
        self.params.as_ref().map(|params| (params, &*self.hooks))
    }
}
