//! Checksums of frames: of their chunks, block by block, and of header, index and trailer.

use super::parsed::with_bytes;
use super::rules::ChunkInfo;
use super::state::State;
use super::store::ChunkUpdate;
use super::superchunk::SuperChunk;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::add_checksums;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_frame::change::Change;

/// Chunks get checksums in batches of about this many bytes, each of which is one change of the
/// frame.
const BATCH: usize = 16 << 20;

impl SuperChunk {
    /// Whether new chunks of the frame get checksums, as the others have them.
    ///
    /// # Errors
    /// Those of reading the frame again, if another handle changed it.
    pub fn has_checksums(&self) -> Result<bool> {
        Ok(self.read()?.has_checksums())
    }

    /// Adds checksums to the frame: to its chunks, header, index and metalayers, and to all that
    /// this library writes into it later, through any handle. Reading damaged data is then an error
    /// ([`Error::DATA`]) and does not give wrong data. Other libraries ignore checksums: chunks
    /// that these write have none, and the other checksums stay valid.
    ///
    /// Chunks without checksums are rewritten, about 16 MiB at a time. After an error or a crash
    /// some chunks may have checksums and others not. Chunks of Blosc 1 cannot have any, nor chunks
    /// of almost 2 GiB.
    ///
    /// # Errors
    /// [`Error::FRAME_TYPE`] if the super-chunk is not in a frame; those of a damaged chunk, and of
    /// output.
    ///
    /// # Examples
    /// ```
    /// use oxiblosc::{Place, StorageParams, SuperChunk};
    ///
    /// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, ..StorageParams::default() })?;
    /// schunk.append_data(&[7; 1000])?;
    /// schunk.add_checksums()?;
    /// assert!(schunk.has_checksums()?);
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    pub fn add_checksums(&self) -> Result<()> {
        self.change(|state| {
            if !state.is_frame() {
                return Err(Error::FRAME_TYPE);
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

    /// Adds checksums to a new super-chunk if it is in a frame. If that fails, its files are
    /// removed.
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
            let (mut updates, mut len) = (TryVec::new(), 0);
            while nchunk < state.nchunks() && len < BATCH {
                if !self.has_own(state, nchunk)? {
                    let chunk = state.chunk(nchunk)?;
                    let added = add_checksums::add(&chunk)?;
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
        state.store.note_checksums(all)?;
        // Header, index and trailer get theirs even if no chunk was changed.
        let plan = super::state::PlannedChange {
            counts: state.counts,
            change: Change::Nothing,
            owned: None,
        };
        state.apply(self.host(), plan).map(drop)
    }

    /// Whether a chunk has checksums, or needs none because it is only an offset in the index.
    fn has_own(&self, state: &State, nchunk: usize) -> Result<bool> {
        let info: ChunkInfo = state.chunk_info(nchunk)?;
        Ok(info.checksums || info.special.is_some() && state.counts.chunksize > 0)
    }

    /// Checks that each chunk is where it belongs, and the newest that was there. Their own
    /// checksums do not tell this: chunks may have been swapped, and files of a directory be older
    /// than others. Gives whether the frame knows it. It does not if it has no checksums, or since
    /// another library changed its chunks: then [`Self::add_checksums`] notes it anew. Where a
    /// chunk is not, `b2 repair` makes a new frame of what is there.
    ///
    /// # Errors
    /// [`Error::DATA`] if a chunk is not; those of input.
    pub fn check_places(&self) -> Result<bool> {
        self.read()?.store.check_places()
    }

    /// Checks all checksums of chunk `nchunk`, without decompressing it. Gives whether it has any.
    /// For a special chunk that is only an offset, this is whether the index has a checksum.
    ///
    /// # Errors
    /// [`Error::DATA`] if the chunk is damaged; [`Error::INVALID_PARAM`] if there is no such chunk;
    /// those of input.
    pub fn check_chunk(&self, nchunk: usize) -> Result<bool> {
        let state = self.read()?;
        state.check_index(nchunk)?;
        let chunk = state.chunk(nchunk)?;
        let own = with_bytes(&chunk, Checked::NEVER, |chunk, _| chunk.check_checksums())?;
        Ok(own || self.has_own(&state, nchunk)? && state.has_checksums())
    }
}
