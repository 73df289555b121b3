//! Filling super-chunks with special values.

use super::rules::{ChunkInfo, Counts};
use super::state::PlannedChange;
use super::superchunk::{Changing, SuperChunk};
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encoded::{EncodedChunk, OwnedChunk};
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_frame::change::{ArrangedChunk, Change, ChangedChunk};
use oxiblosc_frame::offsets::MAX_CHUNKS;

/// Makes a chunk of special values, with so many bytes of data.
pub type Sample<'a> = dyn Fn(Special, i32) -> Result<TryVec<u8>> + 'a;

/// The number of chunks and of bytes that `nitems` items are. `typesize` and `chunksize` are in
/// bytes. `error` is given if `chunksize` is no multiple of `typesize`, and for more chunks than a
/// frame can have.
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

/// What [`SuperChunk::append_all`] appends.
#[derive(Clone, Copy, Debug)]
pub enum NewChunks<'a> {
    /// A chunk: its bytes.
    One(&'a [u8]),
    /// So many chunks of special values of one kind, which are only offsets in the index.
    Specials {
        /// Their kind: zeros, NaNs or uninitialised.
        kind: Special,
        /// How many there are.
        count: usize,
        /// Bytes of data of each.
        nbytes: i32,
    },
}

impl SuperChunk {
    /// Appends chunks to a frame, as one change. Special chunks take no time and no memory each,
    /// however many they are. Gives the number of chunks.
    ///
    /// # Errors
    /// [`Error::FRAME_TYPE`] without a frame; [`Error::CHUNK_APPEND`] for special chunks in a frame
    /// whose chunks differ in size; [`Error::INVALID_PARAM`] for a chunk that is not all there;
    /// those of a damaged chunk and of output.
    pub fn append_all(&self, new: &[NewChunks]) -> Result<usize> {
        let mut changing = self.reserve()?;
        changing.commit(|state| {
            if !state.is_frame() {
                return Err(Error::FRAME_TYPE);
            }
            let (mut counts, storage) = (state.counts, state.storage_kind());
            let mut ones = TryVec::new();
            let mut has_specials = false;
            for part in new {
                counts = match *part {
                    NewChunks::One(bytes) => {
                        let chunk = EncodedChunk::parse(bytes)?;
                        let with_checksums = state.with_checksums(chunk.bytes)?;
                        let added = with_checksums.as_ref();
                        let info = ChunkInfo::of(&added.map_or(chunk, OwnedChunk::encoded));
                        ones.push((chunk, with_checksums, info))?;
                        counts.appended(&info, storage)?
                    }
                    NewChunks::Specials {
                        kind,
                        count,
                        nbytes,
                    } => {
                        has_specials = true;
                        let info = ChunkInfo::of_special(kind, nbytes);
                        counts.appended_specials(&info, count, storage)?
                    }
                };
            }
            if has_specials && counts.chunksize <= 0 {
                return Err(Error::CHUNK_APPEND);
            }
            let mut ones = ones.iter().map(|(chunk, with_checksums, info)| {
                let added = with_checksums.as_ref();
                let chunk = added.map_or(*chunk, OwnedChunk::encoded);
                ArrangedChunk::New(state.changed_chunk(counts.chunksize, info, chunk))
            });
            let slot = |part: &NewChunks| match *part {
                NewChunks::One(_) => ones.next().ok_or(Error::FAILURE),
                NewChunks::Specials { kind, count, .. } => Ok(ArrangedChunk::Specials(kind, count)),
            };
            let slots = new.iter().map(slot).try_collect_vec()?;
            let plan = PlannedChange {
                counts,
                change: Change::appended(state.nchunks(), &slots),
                owned: None,
            };
            self.set_current(counts.nchunks.saturating_sub(1));
            state.apply(self.host(), plan)
        })
    }

    /// Fills an empty super-chunk with `nitems` items of a special value in chunks of `chunksize`
    /// bytes, which `sample` makes. `kind` is none if the program asked for a value that does not
    /// exist. In a frame the chunks take no bytes, however many they are. Gives the number of
    /// chunks.
    ///
    /// # Errors
    /// [`Error::FRAME_SPECIAL`] if there are data; [`Error::INVALID_PARAM`] if `chunksize` is 0,
    /// less than an item, or 2 GiB or more; [`Error::FRAME_SPECIAL`] or, without a frame,
    /// [`Error::SCHUNK_SPECIAL`] if `kind` is none, `chunksize` is no multiple of an item, and for
    /// too many chunks; those of `sample`, and of output.
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
        let state = changing.state()?;
        let (typesize, counts) = (state.parameters.typesize, state.counts);
        let framed = state.is_frame();
        drop(state);
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

    /// Fills a frame without chunks, whose counters are `filled` after that, as one change. Gives
    /// the number of chunks.
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
            let slots = [ArrangedChunk::Specials(kind, filled.nchunks)];
            let plan = PlannedChange {
                counts: filled,
                change: Change::appended(0, &slots),
                owned: None,
            };
            let done = state.apply(self.host(), plan);
            done.inspect_err(|_| state.parameters.blocksize = before)
        })
    }

    /// Appends `nchunks` chunks, of which the last is `last` and all others are `chunk`, as one
    /// change. Gives the number of chunks.
    fn fill_separate(
        &self,
        changing: &mut Changing,
        (chunk, last): (&[u8], &[u8]),
        nchunks: usize,
    ) -> Result<usize> {
        let state = changing.state()?;
        let (before, mut counts, storage) = (state.nchunks(), state.counts, state.storage_kind());
        drop(state);
        let (mut slots, mut owned) = (TryVec::new(), TryVec::new());
        slots.reserve_exact(nchunks)?;
        owned.reserve_exact(nchunks)?;
        for nchunk in 1..=nchunks {
            let bytes = if nchunk == nchunks { last } else { chunk };
            let chunk = EncodedChunk::parse(bytes)?;
            counts = counts.appended(&ChunkInfo::new(&chunk.header), storage)?;
            slots.push_within_capacity(ArrangedChunk::New(ChangedChunk::Stored(chunk)));
            owned.push_within_capacity(Buffer::copy_of(chunk.bytes)?);
        }
        self.set_current((before + nchunks).saturating_sub(1));
        let plan = PlannedChange {
            counts,
            change: Change::appended(before, &slots),
            owned: Some(&mut owned),
        };
        changing.commit(|state| state.apply(self.host(), plan))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CParams, Place, Position, Protection, StorageParams};

    /// Chunks of eight bytes, and fewer at the end.
    fn parts(compressor: &crate::Compressor) -> Vec<(Buffer, Option<(Special, usize)>)> {
        let chunk = |data: &[u8]| compressor.compress(data).unwrap();
        let (one, other, last) = (chunk(&[1; 8]), chunk(b"differen"), chunk(&[3; 5]));
        let special = |kind, count| {
            let bytes = crate::schunk::state::special_chunk(kind, 8, 8, 0).unwrap();
            (Buffer::copy_of(&bytes).unwrap(), Some((kind, count)))
        };
        vec![
            special(Special::Zero, 40),
            (one, None),
            special(Special::Nan, 1),
            special(Special::Uninit, 3),
            (other, None),
            special(Special::Zero, 2),
            (last, None),
        ]
    }

    #[test]
    fn chunks_appended_together_are_as_those_appended_one_by_one() {
        let compressor = crate::Compressor::new(CParams::default());
        for (checksums, most) in [(false, 7), (true, 7), (false, 2), (true, 4)] {
            let make = || {
                let protection = Protection::with_checksums(checksums);
                let storage = StorageParams {
                    place: Place::Frame,
                    protection,
                    ..StorageParams::default()
                };
                SuperChunk::create(storage).unwrap()
            };
            let (all, each) = (make(), make());
            let parts = parts(&compressor);
            for parts in parts.chunks(most) {
                let new = |(bytes, special): &(Buffer, Option<(Special, usize)>)| match special {
                    Some((kind, count)) => Ok(NewChunks::Specials {
                        kind: *kind,
                        count: *count,
                        nbytes: 8,
                    }),
                    None => Err(bytes.to_vec()),
                };
                let new: Vec<_> = parts.iter().map(new).collect();
                let new = new.iter().map(|part| match part {
                    Ok(specials) => *specials,
                    Err(bytes) => NewChunks::One(bytes),
                });
                all.append_all(&new.collect::<Vec<_>>()).unwrap();
                for (bytes, special) in parts {
                    for _ in 0..special.map_or(1, |(_, count)| count) {
                        each.put_chunk(Position::End, bytes).unwrap();
                    }
                }
            }
            assert_eq!(all.nchunks(), Ok(49));
            assert!(all.to_frame().unwrap()[..] == each.to_frame().unwrap()[..]);
        }
    }

    #[test]
    fn special_chunks_need_chunks_of_one_size() {
        let storage = StorageParams {
            place: Place::Frame,
            ..StorageParams::default()
        };
        let frame = SuperChunk::create(storage).unwrap();
        let specials = |nbytes, count| NewChunks::Specials {
            kind: Special::Zero,
            count,
            nbytes,
        };
        assert_eq!(frame.append_all(&[specials(8, 1 << 25)]), Ok(1 << 25));
        for wrong in [specials(16, 1), specials(4, 2), specials(8, usize::MAX)] {
            assert!(frame.append_all(&[wrong]).is_err());
            assert_eq!(frame.nchunks(), Ok(1 << 25));
        }
        assert_eq!(frame.append_all(&[specials(4, 1)]), Ok((1 << 25) + 1));
        let alone = SuperChunk::create(StorageParams::default()).unwrap();
        assert_eq!(alone.append_all(&[specials(8, 2)]), Err(Error::FRAME_TYPE));
    }
}
