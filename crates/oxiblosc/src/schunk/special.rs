//! Filling super-chunks with special values.

use super::rules::{ChunkInfo, Counts};
use super::state::PlannedChange;
use super::superchunk::{Changing, SuperChunk};
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{ArrangedChunk, Change, ChangedChunk};
use oxiblosc_frame::offsets::MAX_CHUNKS;
use oxiblosc_memory::{Buffer, TryVec};

/// Makes a chunk of special values, with so many bytes of data.
pub type Sample<'a> = dyn Fn(Special, i32) -> Result<TryVec<u8>> + 'a;

/// The number of chunks and of bytes that `nitems` items are. `typesize` and `chunksize` are in bytes. `error` is given if `chunksize` is no
/// multiple of `typesize`, and for more chunks than a frame can have.
fn sizes_of_fill(nitems: i64, typesize: i32, chunksize: i32, error: Error) -> Result<(usize, i64)> {
    let chunkitems = i64::from(chunksize / typesize);
    if chunkitems == 0 {
        return Err(Error::INVALID_PARAM);
    }
    let nbytes = nitems.checked_mul(i64::from(typesize));
    let nbytes = nbytes.ok_or(Error::SCHUNK_SPECIAL)?;
    if nitems / chunkitems > i64::from(i32::MAX) {
        return Err(Error::SCHUNK_SPECIAL);
    }
    let nchunks = usize::try_from((nitems + chunkitems - 1) / chunkitems).map_err(|_| error)?;
    if chunksize % typesize != 0 || nchunks > MAX_CHUNKS {
        return Err(error);
    }
    Ok((nchunks, nbytes))
}

impl SuperChunk {
    /// Fills an empty super-chunk with `nitems` items of a special value in chunks of `chunksize` bytes, which `sample` makes. `kind` is
    /// none if the program asked for a value that does not exist. In a frame the chunks take no bytes, however many they are. Gives the
    /// number of chunks.
    ///
    /// # Errors
    /// [`Error::FRAME_SPECIAL`] if there are data; [`Error::INVALID_PARAM`] if `chunksize` is 0, less than an item, or 2 GiB or more;
    /// [`Error::FRAME_SPECIAL`] or, without a frame, [`Error::SCHUNK_SPECIAL`] if `kind` is none, `chunksize` is no multiple of an item, and for too
    /// many chunks; those of `sample`, and of output.
    pub fn fill_special(
        &self,
        nitems: u64,
        kind: Option<Special>,
        chunksize: usize,
        sample: &Sample,
    ) -> Result<usize> {
        if nitems == 0 {
            return Ok(0);
        }
        let mut changing = self.reserve()?;
        let (typesize, counts, framed) = {
            let state = changing.state()?;
            (
                state.parameters.typesize,
                state.counts,
                state.store.is_frame(),
            )
        };
        let nitems = i64::try_from(nitems).map_err(|_| Error::INVALID_PARAM)?;
        let chunksize = i32::try_from(chunksize).map_err(|_| Error::INVALID_PARAM)?;
        if chunksize == 0 || typesize <= 0 {
            return Err(Error::INVALID_PARAM);
        }
        if counts.nbytes > 0 || counts.cbytes > 0 {
            return Err(Error::FRAME_SPECIAL);
        }
        let error = if framed {
            Error::FRAME_SPECIAL
        } else {
            Error::SCHUNK_SPECIAL
        };
        let (nchunks, nbytes) = sizes_of_fill(nitems, typesize, chunksize, error)?;
        let kind = kind.ok_or(error)?;
        let chunk = sample(kind, chunksize).map_err(|why| why.or(error))?;
        let last = (nbytes - (nchunks as i64 - 1) * i64::from(chunksize)) as i32;
        if framed {
            let filled = Counts {
                nchunks,
                nbytes,
                chunksize,
                ..counts
            };
            let blocksize = ChunkHeader::parse(&chunk)?.blocksize_field() as i32;
            self.fill_frame(&mut changing, filled, kind, blocksize)
        } else {
            let last = sample(kind, last)?;
            let done = self.fill_separate(&mut changing, (&chunk, &last), nchunks);
            done.map_err(|why| why.or(error))
        }
    }

    /// Fills a frame without chunks, whose counters are `filled` after that, as one change. Gives the number of chunks.
    fn fill_frame(
        &self,
        changing: &mut Changing,
        filled: Counts,
        kind: Special,
        blocksize: i32,
    ) -> Result<usize> {
        changing.commit(|state| {
            if state.store.nchunks() > 0 {
                return Err(Error::FRAME_SPECIAL);
            }
            let before = std::mem::replace(&mut state.parameters.blocksize, blocksize);
            let plan = PlannedChange {
                counts: filled,
                change: Change::Fill(kind, filled.nchunks),
                owned: None,
            };
            let done = state.apply(self.host(), plan);
            done.inspect_err(|_| state.parameters.blocksize = before)
        })
    }

    /// Appends `nchunks` chunks, of which the last is `last` and all others are `chunk`, as one change. Gives the number of chunks.
    fn fill_separate(
        &self,
        changing: &mut Changing,
        (chunk, last): (&[u8], &[u8]),
        nchunks: usize,
    ) -> Result<usize> {
        let (there, mut counts, storage) = {
            let state = changing.state()?;
            (state.nchunks(), state.counts, state.storage_kind())
        };
        let (mut slots, mut owned) = (TryVec::new(), TryVec::new());
        slots.reserve_exact(nchunks)?;
        owned.reserve_exact(nchunks)?;
        for nchunk in 1..=nchunks {
            let bytes = if nchunk == nchunks { last } else { chunk };
            let info = ChunkInfo::new(&ChunkHeader::parse(bytes)?);
            counts = counts.appended(&info, storage)?;
            slots.push_within_capacity(ArrangedChunk::New(ChangedChunk::Stored(bytes)));
            owned.push_within_capacity(Buffer::copy_of(bytes)?);
        }
        self.set_current((there + nchunks).saturating_sub(1));
        let plan = PlannedChange {
            counts,
            change: Change::Arrange {
                kept: there,
                slots: &slots,
                left: &[],
            },
            owned: Some(&mut owned),
        };
        changing.commit(|state| state.apply(self.host(), plan))
    }
}
