//! How arrays read and compress the chunks of a super-chunk.

use super::chunks::PartSizes;
use crate::decoding::DecodeContext;
use crate::encoding::{EncodeContext, EncodePlan};
use crate::fill::{Fill, FilledBlocks};
use crate::schunk::{Location, State, SuperChunk};
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::workers::Workers;

/// The data of a chunk that is to be compressed.
#[derive(Clone, Copy)]
pub enum ChunkData<'a> {
    /// They are in memory, block after block.
    Contiguous(&'a [u8]),
    /// They are made block by block.
    Filled(&'a Fill<'a>),
}

/// The chunks of a super-chunk, during an operation on it.
pub struct StoredChunks<'a> {
    schunk: &'a SuperChunk,
    state: &'a State,
    decoder: &'a dyn DecodeContext,
}

impl<'a> StoredChunks<'a> {
    /// The chunks of this super-chunk, which has this state.
    ///
    /// # Errors
    /// [`Error::NULL_POINTER`] without a decompressor.
    pub fn new(schunk: &'a SuperChunk, state: &'a State) -> Result<Self> {
        Ok(Self {
            schunk,
            state,
            decoder: schunk.decoder()?,
        })
    }

    /// Finds a chunk. Several workers may call this at the same time.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; those of input.
    pub fn find(&self, nchunk: usize) -> Result<Location<'_>> {
        if self.decoder.has_postfilter() {
            self.schunk.set_current(nchunk);
        }
        self.state.store.find(nchunk)
    }

    /// The program's functions, for the chunk with this header, whose first bytes are `prefix`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn hooks<'h>(
        &'h self,
        header: &ChunkHeader,
        prefix: &'h [u8],
    ) -> Result<Box<dyn Hooks + 'h>> {
        self.decoder.hooks(header, prefix)
    }

    /// Whether several workers may decompress different chunks at the same time.
    pub fn is_shared(&self) -> bool {
        // A postfilter asks the super-chunk for the index of the chunk, which is recorded for one
        // chunk at a time.
        !self.decoder.has_postfilter()
    }
}

/// Makes chunks with the encoder of a super-chunk.
pub struct ChunkMaker<'a> {
    schunk: &'a SuperChunk,
    encoder: &'a dyn EncodeContext,
    nbytes: usize,
    block: usize,
    /// Whether the super-chunk keeps the buffers of its chunks, instead of copying or writing them.
    keeps_buffers: bool,
    /// None if the encoder has to compress every chunk itself; see [`EncodeContext::sees_chunks`].
    plan: Option<EncodePlan<'a>>,
}

impl<'a> ChunkMaker<'a> {
    /// A compressor of chunks of an array with these sizes.
    ///
    /// # Errors
    /// [`Error::NULL_POINTER`] without a compressor; those of invalid parameters.
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
            keeps_buffers: {
                let store = &schunk.peek()?.store;
                store.is_staged() || !store.is_frame()
            },
            plan: encoder.plan(sizes.chunk, false)?,
        })
    }

    /// The data of a chunk whose blocks `fill` makes.
    fn filled(&self, fill: &Fill) -> Result<Buffer> {
        let mut data = Buffer::zeroed(self.nbytes)?;
        for (nblock, block) in data.chunks_mut(self.block.max(1)).enumerate() {
            fill(nblock, block)?;
        }
        Ok(data)
    }

    /// Compresses data by this plan into `chunk`. Gives the header of the chunk.
    fn compressed(
        &self,
        plan: &EncodePlan,
        data: ChunkData,
        workers: Workers,
        chunk: &mut [u8],
    ) -> Result<Option<ChunkHeader>> {
        let params = EncodeParams {
            nthreads: workers.nthreads,
            ..plan.params.clone()
        };
        match data {
            ChunkData::Contiguous(data) => {
                let source = ChunkInput::Buffer(data);
                compress(&params, source, chunk, &*plan.hooks, workers.exec)
            }
            ChunkData::Filled(fill) => {
                let source = ChunkInput::Generated(self.nbytes);
                let hooks = FilledBlocks {
                    fill,
                    hooks: &*plan.hooks,
                };
                compress(&params, source, chunk, &hooks, workers.exec)
            }
        }
    }

    /// Compresses data into chunk `nchunk`.
    ///
    /// # Errors
    /// Those of compression, and of making the data.
    pub fn make(&self, nchunk: usize, data: ChunkData, workers: Workers) -> Result<Buffer> {
        // The chunk is compressed into its own buffer, because copying it would take a tenth of the
        // time that LZ4 needs for it.
        let mut chunk = Buffer::unspecified(self.nbytes + MAX_OVERHEAD)?;
        let header = match &self.plan {
            // The tuner chooses other blocks than the array's if these have only a few bytes. Such
            // chunks need their data in one buffer.
            Some(plan) if plan.params.blocksize == self.block => {
                self.compressed(plan, data, workers, &mut chunk)?
            }
            plan => {
                let copy;
                let data = match data {
                    ChunkData::Contiguous(data) => data,
                    ChunkData::Filled(fill) => {
                        copy = self.filled(fill)?;
                        &copy
                    }
                };
                if let Some(plan) = plan {
                    self.compressed(plan, ChunkData::Contiguous(data), workers, &mut chunk)?
                } else {
                    self.schunk.set_current(nchunk);
                    self.encoder
                        .compress(ChunkInput::Buffer(data), &mut chunk, false)?
                }
            }
        };
        let header = header.ok_or(Error::FAILURE)?;
        chunk.resize(header.cbytes)?;
        // Others are needed until the end of the change. What is copied out of a large one leaves
        // that for the next chunk.
        if self.keeps_buffers || chunk.len() <= self.nbytes / 2 {
            chunk.shrink_to_fit();
        }
        Ok(chunk)
    }

    /// As [`EncodeContext::hooks`].
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn hooks<'h>(&'h self, chunk: &'h Chunk) -> Result<Box<dyn Hooks + 'h>> {
        self.encoder.hooks(chunk.header(), chunk.bytes())
    }

    /// How chunks are compressed. None if single blocks cannot be.
    pub fn plan(&self) -> Option<&EncodePlan<'_>> {
        self.plan.as_ref()
    }
}
