//! Copies of super-chunks.

use super::chunks::{Position, WholeChunk};
use super::recompress::recompress;
use super::rules::StorageKind;
use super::state::State;
use super::store::ChunkStore;
use super::superchunk::SuperChunk;
use crate::context::{Compressor, Decompressor};
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::params::{CParams, DParams};
use crate::schunk::host::{Changed, WindowCounts};
use oxiblosc_base::memory::{TryVec, boxed};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};
use oxiblosc_chunk::repack::repack;
use oxiblosc_frame::header::MIN_LEN;
use oxiblosc_frame::meta::Metalayer;

/// A frame with more special chunks than this, and than its size explains, is copied as a frame: a
/// few bytes of index can stand for millions of chunks.
const MAX_SEPARATE_SPECIALS: usize = 1 << 16;

/// How many bytes may still be copied out of a contiguous frame: all chunks together have no more
/// bytes than the frame. In a damaged frame many chunks could share the same bytes, and the copy
/// would be much larger than the frame.
pub(crate) struct Budget(Option<u64>);

impl Budget {
    pub(crate) fn of(state: &State) -> Self {
        let contiguous = state.storage_kind() == StorageKind::Contiguous;
        Self(contiguous.then_some(state.counts.compressed_bytes()))
    }

    /// Subtracts the bytes of a chunk.
    ///
    /// # Errors
    /// [`Error::DATA`] if the chunks so far have more bytes than the frame.
    pub(crate) fn take(&mut self, chunk: &WholeChunk) -> Result<()> {
        // A chunk that is only a header may be an offset in the frame, and then has no bytes there.
        if let Some(left) = &mut self.0
            && chunk.len() > EXTENDED_HEADER_LENGTH
        {
            *left = left.checked_sub(chunk.len() as u64).ok_or(Error::DATA)?;
        }
        Ok(())
    }
}

/// How variable-length metalayers are copied.
pub struct VlmetalayerCoder {
    /// Decompresses the originals.
    pub decoder: Box<dyn DecodeContext>,
    /// Compresses the copies.
    pub encoder: Box<dyn EncodeContext>,
}

impl VlmetalayerCoder {
    /// A compressor and a decompressor with default parameters.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn defaults() -> Result<Self> {
        Ok(Self {
            decoder: boxed(Decompressor::new(DParams::default()))?,
            encoder: boxed(Compressor::new(CParams::default()))?,
        })
    }
}

impl SuperChunk {
    /// Copies the chunks and the metalayers of `from` into this super-chunk, which must be empty.
    /// If `view` is given, these are the fixed-length metalayers of the copy. `as_they_are` says
    /// whether chunks are copied or compressed again. Without a `coder`, variable-length metalayers
    /// are not copied.
    ///
    /// # Errors
    /// Those of damaged chunks, of compression and output.
    pub fn copy_from(
        &self,
        from: &Self,
        view: Option<&[Metalayer]>,
        as_they_are: bool,
        coder: Option<&VlmetalayerCoder>,
    ) -> Result<()> {
        let state = from.read()?;
        // What is not where it belongs would be in the copy.
        if state.store.check_places() == Err(Error::DATA) {
            return Err(Error::DATA);
        }
        let counts = state.counts;
        self.change(|state| {
            state.counts.flags2 = counts.flags2;
            state.set_chunksize(self.host(), counts.chunksize);
            Ok(())
        })?;
        for layer in view.unwrap_or(state.metalayers()) {
            self.add_metalayer(&layer.name, &layer.content)?;
        }
        if as_they_are || state.has_vlblocks() {
            let mut budget = Budget::of(&state);
            for nchunk in 0..counts.nchunks {
                from.set_current(nchunk);
                let chunk = state.chunk(nchunk)?;
                budget.take(&chunk)?;
                // Changes may have left unused bytes in the chunk. If it is damaged, it is copied
                // as it is.
                let packed = repack(&chunk)?;
                self.put_chunk(Position::End, packed.as_deref().unwrap_or(&chunk))?;
            }
        } else {
            recompress((from, &state), self, |mut chunk| {
                chunk.shrink_if_wasteful();
                let put = self.put_owned_chunk(Position::End, chunk);
                put.map(drop).map_err(|(error, _)| error)
            })?;
        }
        match coder {
            Some(coder) => self.copy_vlmetalayers(from, coder),
            None => Ok(()),
        }
    }

    /// Copies the variable-length metalayers of another super-chunk.
    ///
    /// # Errors
    /// Those of damaged ones, of compression and output.
    pub fn copy_vlmetalayers(&self, from: &Self, coder: &VlmetalayerCoder) -> Result<()> {
        let state = from.read()?;
        for layer in state.vlmetalayers() {
            let (_, content) = from.vlmetalayer(&layer.name, &*coder.decoder)?;
            self.add_vlmetalayer(&layer.name, &content, &*coder.encoder)?;
        }
        Ok(())
    }

    /// Makes a super-chunk whose frame is in a borrowed buffer of `len` bytes independent of that
    /// buffer: each chunk is copied into a buffer of its own. A frame with very many special chunks
    /// for its size, or chunks that overlap and have more bytes than it has, is copied as a frame.
    ///
    /// # Errors
    /// Those of a damaged frame.
    pub fn leave_buffer(&mut self, len: usize) -> Result<()> {
        let state = self.state_mut();
        if let ChunkStore::Memory(memory) = &mut state.store
            && memory.offsets().specials() > MAX_SEPARATE_SPECIALS.max(len / MIN_LEN)
        {
            return memory.own();
        }
        if !self.separate()?
            && let ChunkStore::Memory(memory) = &mut self.state_mut().store
        {
            memory.own()?;
        }
        Ok(())
    }

    /// Copies the chunks out of a frame, each into a buffer of its own. Returns false, and changes
    /// nothing, if they have more bytes than the frame.
    fn separate(&mut self) -> Result<bool> {
        let (mut chunks, mut nbytes, mut blocksize) = (TryVec::new(), 0, None);
        let (mut counts, nchunks) = {
            let state = self.state_mut();
            (state.counts, state.store.nchunks())
        };
        counts.cbytes = 0;
        let mut fits = true;
        {
            let state = self.peek()?;
            let mut budget = Budget::of(&state);
            for nchunk in 0..nchunks {
                let chunk = state.chunk(nchunk)?;
                fits = fits && budget.take(&chunk).is_ok();
                let header = ChunkHeader::parse(&chunk)?;
                nbytes += header.nbytes as i64;
                counts.cbytes += header.cbytes as i64;
                let this = header.blocksize_field() as i32;
                blocksize = Some(match blocksize {
                    Some(other) if other != this => 0,
                    _ => this,
                });
                if fits {
                    chunks.push(chunk.into_owned()?)?;
                }
            }
        }
        if nbytes != counts.nbytes {
            return Err(Error::DATA);
        }
        if fits {
            self.change(|state| {
                let count = WindowCounts {
                    separate: chunks.len(),
                    ..state.window_counts()
                };
                self.host().prepare(state, count)?;
                state.store = ChunkStore::Separate(chunks.into());
                state.counts = counts;
                state.parameters.blocksize = blocksize.unwrap_or(state.parameters.blocksize);
                self.host().show(state, Changed::Everything);
                Ok(())
            })?;
        }
        Ok(fits)
    }
}
