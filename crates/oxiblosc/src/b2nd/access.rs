//! How arrays read and compress the chunks of a super-chunk.

use super::chunks::{Chunks, PartSizes};
use super::write::{ChunkCompressor, ChunkData};
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::fill::{Fill, FilledBlocks};
use crate::schunk::{Location, State, SuperChunk};
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::workers::Workers;

/// The chunks of a super-chunk, during an operation on it.
pub(super) struct StoredChunks<'a> {
    schunk: &'a SuperChunk,
    state: &'a State,
    decoder: &'a dyn DecodeContext,
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

    fn hooks<'h>(&'h self, _nchunk: usize, prefix: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        self.decoder.hooks(prefix)
    }

    fn is_shared(&self) -> bool {
        // A postfilter asks the super-chunk for the index of the chunk, which is recorded for one
        // chunk at a time.
        !self.decoder.has_postfilter()
    }
}

/// Makes chunks with the encoder of a super-chunk.
pub(super) struct ChunkMaker<'a> {
    schunk: &'a SuperChunk,
    encoder: &'a dyn EncodeContext,
    nbytes: usize,
    block: usize,
    /// None if the encoder has to compress every chunk itself; see [`EncodeContext::sees_chunks`].
    params: Option<EncodeParams>,
    hooks: Box<dyn Hooks + 'a>,
}

impl<'a> ChunkMaker<'a> {
    /// A compressor of chunks of an array with these sizes.
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

    /// The data of a chunk whose blocks `fill` makes.
    fn filled(&self, fill: &Fill) -> Result<Buffer> {
        let mut data = Buffer::zeroed(self.nbytes)?;
        for (nblock, block) in data.chunks_mut(self.block.max(1)).enumerate() {
            fill(nblock, block)?;
        }
        Ok(data)
    }

    /// Compresses data with these parameters into `chunk`. Gives the header of the chunk.
    fn compressed(
        &self,
        params: &EncodeParams,
        data: ChunkData,
        workers: Workers,
        chunk: &mut [u8],
    ) -> Result<Option<ChunkHeader>> {
        let params = EncodeParams {
            nthreads: workers.nthreads,
            ..params.clone()
        };
        match data {
            ChunkData::Contiguous(data) => {
                let source = ChunkInput::Buffer(data);
                compress(&params, source, chunk, &*self.hooks, workers.exec)
            }
            ChunkData::Filled(fill) => {
                let source = ChunkInput::Generated(self.nbytes);
                let hooks = FilledBlocks {
                    fill,
                    hooks: &*self.hooks,
                };
                compress(&params, source, chunk, &hooks, workers.exec)
            }
        }
    }
}

impl ChunkCompressor for ChunkMaker<'_> {
    fn make(&self, nchunk: usize, data: ChunkData, workers: Workers) -> Result<Buffer> {
        // The chunk is compressed into its own buffer, because copying it would take a tenth of the
        // time that LZ4 needs for it.
        let mut chunk = Buffer::unspecified(self.nbytes + MAX_OVERHEAD)?;
        let header = match &self.params {
            // The tuner chooses other blocks than the array's if these have only a few bytes. Such
            // chunks need their data in one buffer.
            Some(params) if params.blocksize == self.block => {
                self.compressed(params, data, workers, &mut chunk)?
            }
            params => {
                let copy;
                let data = match data {
                    ChunkData::Contiguous(data) => data,
                    ChunkData::Filled(fill) => {
                        copy = self.filled(fill)?;
                        &copy
                    }
                };
                if let Some(params) = params {
                    self.compressed(params, ChunkData::Contiguous(data), workers, &mut chunk)?
                } else {
                    self.schunk.set_current(nchunk);
                    self.encoder
                        .compress(ChunkInput::Buffer(data), &mut chunk, false)?
                }
            }
        };
        let header = header.ok_or(Error::FAILURE)?;
        chunk.resize(header.cbytes)?;
        chunk.shrink_to_fit();
        Ok(chunk)
    }

    fn parts(&self) -> Option<(&EncodeParams, &dyn Hooks)> {
        self.params.as_ref().map(|params| (params, &*self.hooks))
    }
}
