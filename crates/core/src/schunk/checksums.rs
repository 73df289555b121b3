//! Checksums of frames: of their chunks, block by block, and of header, index and trailer.

use super::parsed::with_bytes;
use super::rules::ChunkInfo;
use super::state::State;
use super::store::ChunkUpdate;
use super::superchunk::SuperChunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::checksum;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::Change;
use oxiblosc_memory::List;

/// Chunks get checksums in batches of about this many bytes.
const BATCH: usize = 16 << 20;

impl SuperChunk {
    /// Whether chunks that come into the frame get checksums, as the others have them.
    ///
    /// # Errors
    /// Those of reading the frame again, if another handle changed it.
    pub fn has_checksums(&self) -> Result<bool> {
        Ok(self.read()?.has_checksums())
    }

    /// Gives the frame checksums: its chunks, header, index and metalayers now, and all that comes later, by this handle and by
    /// every other one of this library. Damage is then an error of the read that meets it ([`Error::Data`]), and no wrong data.
    /// Other libraries ignore them: chunks that these write have none, and the other checksums stay valid.
    ///
    /// Chunks that have none are written anew, some at a time; an error, or a crash, leaves those that came before with checksums,
    /// and the others without. Chunks of Blosc 1 cannot have any, nor chunks of almost 2 GiB.
    ///
    /// # Errors
    /// [`Error::FrameType`] if the super-chunk is no frame; those of a damaged chunk, and of writing.
    ///
    /// # Examples
    /// ```
    /// use oxiblosc_core::{Place, StorageParams, SuperChunk};
    ///
    /// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, ..StorageParams::default() })?;
    /// schunk.append_data(&[7; 1000])?;
    /// schunk.add_checksums()?;
    /// assert!(schunk.has_checksums()?);
    /// # Ok::<(), oxiblosc_core::Error>(())
    /// ```
    pub fn add_checksums(&self) -> Result<()> {
        self.change(|state| {
            if !state.is_frame() {
                return Err(Error::FrameType);
            }
            let before = state.has_checksums();
            state.set_checksums(true)?;
            let added = self.add_to_chunks(state);
            if added.is_err() {
                state.set_checksums(before)?;
            }
            added
        })
    }

    /// Gives a new super-chunk checksums if it is a frame. Where that fails, what was made for it on disk is removed.
    ///
    /// # Errors
    /// Those of [`Self::add_checksums`].
    pub fn with_checksums(self) -> Result<Self> {
        let is_frame = self.peek()?.is_frame();
        let added = match is_frame {
            true => self.add_checksums(),
            false => Ok(()),
        };
        self.or_discard(added)
    }

    fn add_to_chunks(&self, state: &mut State) -> Result<()> {
        let (mut nchunk, mut all) = (0, true);
        while nchunk < state.nchunks() {
            let (mut updates, mut len) = (List::new(), 0);
            while nchunk < state.nchunks() && len < BATCH {
                if !self.has_own(state, nchunk)? {
                    let chunk = state.chunk(nchunk)?;
                    let added = checksum::add(&chunk)?;
                    all &= added.is_some();
                    if let Some(chunk) = added {
                        len += chunk.len();
                        updates.push((nchunk, ChunkUpdate::Whole(chunk)))?;
                    }
                }
                nchunk += 1;
            }
            state.update(self.host(), updates)?;
        }
        if all {
            state.store.set_all_checksums()?;
        }
        // Header, index and trailer get theirs also where no chunk changed.
        let plan = super::state::PlannedChange {
            counts: state.counts,
            change: Change::Nothing,
            owned: None,
        };
        state.apply(self.host(), plan).map(drop)
    }

    /// Whether a chunk has checksums, or needs none because its offset in the index says all of it.
    fn has_own(&self, state: &State, nchunk: usize) -> Result<bool> {
        let info: ChunkInfo = state.chunk_info(nchunk)?;
        Ok(info.checksums || info.special.is_some() && state.counts.chunksize > 0)
    }

    /// Checks all checksums of chunk `nchunk`, without decompressing it. Gives whether it has any; a special chunk without bytes is covered
    /// by the checksum of the index.
    ///
    /// # Errors
    /// [`Error::Data`] where the chunk is damaged; [`Error::InvalidParam`] if there is no such chunk; those of input.
    pub fn check_chunk(&self, nchunk: usize) -> Result<bool> {
        let state = self.read()?;
        state.check_index(nchunk)?;
        let chunk = state.chunk(nchunk)?;
        let own = with_bytes(&chunk, Checked::NEVER, |chunk, _| chunk.check_checksums())?;
        Ok(own || self.has_own(&state, nchunk)? && state.has_checksums())
    }
}
