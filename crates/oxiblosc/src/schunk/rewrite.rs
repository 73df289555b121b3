//! Writes parts of chunks.

use super::chunks::WholeChunk;
use super::parsed::patch_stored;
use super::recompress::buffer_for_data;
use super::slices::ChunkPart;
use super::state::State;
use super::store::{ChunkUpdate, Location};
use super::superchunk::SuperChunk;
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::fill::FilledBlocks;
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::encode::{self, ChunkInput};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::patch::{PatchMode, Patched, Patcher, Touched};
use oxiblosc_chunk::scratch;

/// Makes the updates that write parts of chunks.
pub(super) struct RangeWriter<'a> {
    state: &'a State,
    encoder: &'a dyn EncodeContext,
    decoder: &'a dyn DecodeContext,
    schunk: &'a SuperChunk,
}

impl<'a> RangeWriter<'a> {
    pub fn new(schunk: &'a SuperChunk, state: &'a State) -> Result<Self> {
        Ok(Self {
            state,
            encoder: schunk.encoder()?,
            decoder: schunk.decoder()?,
            schunk,
        })
    }

    /// A chunk of special values with `new` written over a part of it. The data are made block by
    /// block, as a chunk of a few bytes may have 2 GiB of them. None if that needs functions of the
    /// program.
    fn fill_special(&self, chunk: &Chunk, part: &ChunkPart, new: &[u8]) -> Result<Option<Buffer>> {
        let nbytes = chunk.header().nbytes;
        if self.decoder.has_postfilter() {
            return Ok(None);
        }
        let Some(plan) = self.encoder.plan(nbytes, false)? else {
            return Ok(None);
        };
        let fill = |nblock: usize, block: &mut [u8]| {
            let at = nblock * plan.params.blocksize;
            chunk.fill_special(at, block)?;
            let (from, to) = (part.from.max(at), part.to.min(at + block.len()));
            if from < to {
                block[from - at..to - at].copy_from_slice(&new[from - part.from..to - part.from]);
            }
            Ok(())
        };
        let hooks = FilledBlocks {
            fill: &fill,
            hooks: &*plan.hooks,
        };
        let mut created = Buffer::unspecified(nbytes + MAX_OVERHEAD)?;
        let source = ChunkInput::Generated(nbytes);
        let exec = self.encoder.workers().exec;
        let header = encode::compress(&plan.params, source, &mut created, &hooks, exec)?;
        created.resize(header.ok_or(Error::FAILURE)?.cbytes)?;
        created.shrink_to_fit();
        Ok(Some(created))
    }

    /// The update that writes `new` over a part of a chunk.
    pub fn rewrite(&self, part: &ChunkPart, new: &[u8]) -> Result<ChunkUpdate> {
        if part.is_whole() {
            let chunk = self.compressed(new)?;
            return Ok(ChunkUpdate::Whole(chunk));
        }
        let Parameters {
            compcode, clevel, ..
        } = self.encoder.parameters();
        let patch = |chunk: &Chunk, src: &[u8], mode: PatchMode| {
            Patcher {
                chunk,
                compcode,
                clevel,
                decoding: &*self.decoder.hooks(chunk.header(), src)?,
                encoding: &*self.encoder.hooks(chunk.header(), src)?,
                workers: self.encoder.workers(),
            }
            .range(part.from, new, mode)
        };
        let found = self.state.store.find(part.nchunk)?;
        if let Location::File(stored) = &found {
            let touched = |header: &ChunkHeader| Touched::of_range(header, part.from, new.len());
            if let Some(patched) = patch_stored(stored, touched, patch)? {
                return Ok(patched.into());
            }
            // The chunk has to be read whole, so it is written whole.
            let whole = (&stored.whole()?[..], Checked::NEVER);
            return self.rewrite_whole(whole, part, new, PatchMode::Whole, patch);
        }
        let bytes = self.state.chunk(part.nchunk)?;
        let mode = match bytes {
            WholeChunk::Borrowed(_) if self.state.store.edits_in_place() => PatchMode::Edits,
            _ => PatchMode::Whole,
        };
        self.rewrite_whole((&bytes, found.checked()), part, new, mode, patch)
    }

    fn rewrite_whole(
        &self,
        (src, checked): (&[u8], Checked),
        part: &ChunkPart,
        new: &[u8],
        mode: PatchMode,
        patch: impl FnOnce(&Chunk, &[u8], PatchMode) -> Result<Option<Patched>>,
    ) -> Result<ChunkUpdate> {
        let header = ChunkHeader::parse(src)?;
        let chunk = Chunk::parse_checked(&header, src, checked)?;
        if chunk.is_special()
            && let Some(created) = self.fill_special(&chunk, part, new)?
        {
            return Ok(ChunkUpdate::Whole(created));
        }
        if let Some(patched) = patch(&chunk, src, mode)? {
            return Ok(patched.into());
        }
        let mut scratch = scratch::borrow()?;
        let data = buffer_for_data(&mut scratch.data, &header)?;
        self.decoder.decompress(&header, src, data)?;
        data[part.from..part.to].copy_from_slice(new);
        Ok(ChunkUpdate::Whole(self.compressed(data)?))
    }

    fn compressed(&self, data: &[u8]) -> Result<Buffer> {
        let checksums = self.state.has_checksums();
        self.schunk.compress(ChunkInput::Buffer(data), checksums)
    }
}

impl From<Patched> for ChunkUpdate {
    fn from(patched: Patched) -> Self {
        match patched {
            Patched::Whole(chunk) => Self::Whole(chunk),
            Patched::Edits(edits) => Self::Edits(edits),
        }
    }
}
