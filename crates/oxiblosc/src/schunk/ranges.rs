//! Reading and writing ranges of items.

use super::parsed::{ReadExtent, patch_stored};
use super::recompress::buffer_for_data;
use super::slices::{ChunkPart, ChunkParts, ChunkSizes};
use super::state::State;
use super::store::{ChunkUpdate, Location};
use super::superchunk::SuperChunk;
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::fill::FilledBlocks;
use oxiblosc_base::memory::{Buffer, TryVec, lock};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::encode::{self, ChunkInput};
use oxiblosc_chunk::fast_path;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::patch::{PatchMode, Patched, Patcher, Touched};
use oxiblosc_chunk::scratch;
use oxiblosc_chunk::work_stealing::StealingQueue;
use oxiblosc_chunk::workers::Workers;
use std::ops::Range;
use std::sync::{Mutex, PoisonError};

impl ChunkPart {
    fn items(&self) -> ItemRange {
        ItemRange {
            start: self.from,
            len: self.len(),
        }
    }

    fn wanted(&self) -> ReadExtent {
        if self.is_whole() {
            ReadExtent::WholeChunk
        } else {
            ReadExtent::FewBlocks
        }
    }
}

/// Reads ranges of a super-chunk.
#[derive(Clone, Copy)]
pub(super) struct RangeReader<'a> {
    pub schunk: &'a SuperChunk,
    pub state: &'a State,
    pub decoder: &'a dyn DecodeContext,
}

impl<'a> RangeReader<'a> {
    pub fn new(schunk: &'a SuperChunk, state: &'a State) -> Result<Self> {
        Ok(Self {
            schunk,
            state,
            decoder: schunk.decoder()?,
        })
    }

    /// Reads a part of a chunk. False, and nothing is read, if that needs functions of the program.
    fn read_plain(&self, part: &ChunkPart, dest: &mut [u8], nthreads: usize) -> Result<bool> {
        let mut header = ChunkHeader::EMPTY;
        let found = self.state.store.in_memory(part.nchunk, &mut header);
        if let Some((bytes, checked)) = found {
            // The fast path would check checksums again that have been checked.
            if header.nbytes == part.nbytes
                && !checked.is_kept()
                && fast_path::read(&header, bytes, part.from, dest).is_some()
            {
                return Ok(true);
            }
            let mut place = None;
            let chunk = Chunk::parse_checked_into(&mut place, &header, bytes, checked)?;
            return self.decode_plain(chunk, part, dest, nthreads);
        }
        self.state
            .with_chunk(part.nchunk, part.wanted(), |chunk, _| {
                self.decode_plain(chunk, part, dest, nthreads)
            })
    }

    /// Decompresses a part of a chunk. False, and nothing is decompressed, if that needs functions
    /// of the program.
    fn decode_plain(
        &self,
        chunk: &Chunk,
        part: &ChunkPart,
        dest: &mut [u8],
        nthreads: usize,
    ) -> Result<bool> {
        let header = chunk.header();
        if !header.is_plain() {
            return Ok(false);
        }
        if header.nbytes != part.nbytes {
            return Err(Error::DATA);
        }
        if part.is_whole() {
            let workers = match nthreads {
                0 | 1 => Workers::ALONE,
                _ => self.decoder.workers(),
            };
            decompress(chunk, dest, None, &NoHooks, workers)?;
        } else {
            getitem::read(chunk, part.items(), dest, &NoHooks)?;
        }
        Ok(true)
    }

    /// Reads a part of a chunk through the decoder, which calls functions of the program.
    pub fn read_with_functions(&self, part: &ChunkPart, dest: &mut [u8]) -> Result<()> {
        self.schunk.set_current(part.nchunk);
        self.state
            .with_chunk(part.nchunk, part.wanted(), |chunk, prefix| {
                self.state.check_size(part.nchunk, chunk.header().nbytes)?;
                if !part.is_whole() {
                    let range = part.items();
                    return self.decoder.decompress_items(chunk, prefix, range, dest);
                }
                let nbytes = self.decoder.decompress_chunk(chunk, prefix, dest)?;
                if nbytes == dest.len() {
                    Ok(())
                } else {
                    Err(Error::FAILURE)
                }
            })
    }

    /// Reads `parts` of chunks, at most `len`, by several threads if `nworkers` is more than one.
    /// `plain` reads a part, or gives false where that needs functions of the program: then this
    /// thread reads it with `functions`.
    pub fn read_each<T: Send>(
        &self,
        mut parts: impl Iterator<Item = T>,
        (len, nworkers): (usize, usize),
        plain: impl Fn(&mut T) -> Result<bool> + Sync,
        functions: impl Fn(&mut T) -> Result<()>,
    ) -> Result<()> {
        if self.decoder.has_postfilter() {
            return parts.try_for_each(|mut part| functions(&mut part));
        }
        if nworkers <= 1 {
            return parts.try_for_each(|mut part| match plain(&mut part)? {
                true => Ok(()),
                false => functions(&mut part),
            });
        }
        let queue = StealingQueue::new(parts, len, nworkers)?;
        let left = Mutex::new(TryVec::new());
        queue.work(self.decoder.workers(), |tid| {
            while let Some(mut part) = queue.next(tid) {
                if !plain(&mut part)? {
                    lock(&left).push(part)?;
                }
            }
            Ok(())
        })?;
        (left.into_inner().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .try_for_each(|mut part| functions(&mut part))
    }

    /// Reads the bytes from `start` on into `dest`. If they are in several chunks, several threads
    /// read.
    fn read(&self, sizes: &ChunkSizes, start: u64, dest: &mut [u8]) -> Result<()> {
        let stop = start + dest.len() as u64;
        let parts = PendingParts {
            parts: sizes.parts(start, stop)?,
            dest,
        };
        let (first, last) = match start < stop {
            true => (sizes.chunk_of(start), sizes.chunk_of(stop - 1)),
            false => (0, 0),
        };
        let (len, nthreads) = (last - first + 1, self.decoder.nthreads());
        let nworkers = nthreads.min(len);
        // The threads share either the chunks or the blocks of the only one.
        let within = if nworkers > 1 { 1 } else { nthreads };
        self.read_each(
            parts,
            (len, nworkers),
            |(part, dest)| {
                if nworkers <= 1 && part.nchunk < last {
                    // The next chunk is loaded into the cache while this one is decompressed.
                    self.state.store.prefetch(part.nchunk + 1);
                }
                self.read_plain(part, dest, within)
            },
            |(part, dest)| self.read_with_functions(part, dest),
        )
    }
}

/// The parts of chunks that have not been read yet, and the rest of the destination.
struct PendingParts<'a> {
    parts: ChunkParts<'a>,
    dest: &'a mut [u8],
}

impl<'a> Iterator for PendingParts<'a> {
    type Item = (ChunkPart, &'a mut [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.parts.next()?;
        let (dest, rest) = std::mem::take(&mut self.dest).split_at_mut(part.len());
        self.dest = rest;
        Some((part, dest))
    }
}

/// Makes the updates that write parts of chunks.
struct RangeWriter<'a> {
    state: &'a State,
    encoder: &'a dyn EncodeContext,
    decoder: &'a dyn DecodeContext,
    schunk: &'a SuperChunk,
}

impl RangeWriter<'_> {
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
    fn rewrite(&self, part: &ChunkPart, new: &[u8]) -> Result<ChunkUpdate> {
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
                encoding: &*self.encoder.hooks(src)?,
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
            super::WholeChunk::Borrowed(_) if self.state.store.edits_in_place() => PatchMode::Edits,
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

impl State {
    /// The range of bytes that a range of items is, and its length.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if the range ends behind the data.
    fn range_of_items(&self, items: Range<u64>) -> Result<(Range<u64>, usize)> {
        let typesize = u64::try_from(self.parameters().typesize).map_err(|_| Error::FAILURE)?;
        let start = items.start.checked_mul(typesize).ok_or(Error::FAILURE)?;
        let end = items.end.checked_mul(typesize).ok_or(Error::FAILURE)?;
        if end > self.sizes()?.nbytes() {
            return Err(Error::FAILURE);
        }
        let len = usize::try_from(end - start).map_err(|_| Error::FAILURE)?;
        Ok((start..end, len))
    }
}

/// The items from `start` to before `stop`, if there are any between.
fn items_between(start: i64, stop: i64) -> Result<Option<Range<u64>>> {
    if stop <= start {
        return Ok(None);
    }
    let start = u64::try_from(start).map_err(|_| Error::FAILURE)?;
    Ok(Some(start..stop as u64))
}

impl SuperChunk {
    /// Reads a range of bytes of the data into `dest`, which must have its length. An empty range
    /// reads nothing.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a range that ends behind the data, and a `dest` of another length;
    /// those of damaged chunks, and of input.
    pub fn read_bytes(&self, range: Range<u64>, dest: &mut [u8]) -> Result<()> {
        self.read_known_bytes(&*self.read()?, range, dest)
    }

    /// As [`Self::read_bytes`], for a state that this thread has locked.
    ///
    /// # Errors
    /// As for [`Self::read_bytes`].
    pub fn read_known_bytes(
        &self,
        state: &State,
        range: Range<u64>,
        dest: &mut [u8],
    ) -> Result<()> {
        let sizes = state.sizes()?;
        if range.is_empty() {
            return Ok(());
        }
        if range.end > sizes.nbytes() || range.end - range.start != dest.len() as u64 {
            return Err(Error::FAILURE);
        }
        RangeReader::new(self, state)?
            .read(&sizes, range.start, dest)
            .map_err(Error::or_failure)?;
        self.set_current(sizes.chunk_of(range.end - 1));
        Ok(())
    }

    /// Reads the items from `start` to before `stop`, if there are any between. `dest` is called
    /// with their size in bytes, and gives a buffer of that size.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a negative `start`; those of `dest`; as for [`Self::read_bytes`].
    pub fn read_items<'d>(
        &self,
        start: i64,
        stop: i64,
        dest: impl FnOnce(usize) -> Result<&'d mut [u8]>,
    ) -> Result<()> {
        let Some(items) = items_between(start, stop)? else {
            return Ok(());
        };
        let state = self.read()?;
        let (range, len) = state.range_of_items(items)?;
        self.read_known_bytes(&state, range, dest(len)?)
    }

    /// Overwrites the items from `start` to before `stop`, if there are any between. `source` is
    /// called with their size in bytes, and gives their bytes. If this fails, nothing is written.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a negative `start`; those of `source`; as for [`Self::write_bytes`].
    pub fn write_items<'s>(
        &self,
        start: i64,
        stop: i64,
        source: impl FnOnce(usize) -> Result<&'s [u8]>,
    ) -> Result<()> {
        let Some(items) = items_between(start, stop)? else {
            return Ok(());
        };
        let changing = self.reserve()?;
        let (range, len) = changing.state()?.range_of_items(items)?;
        self.write_bytes(range.start, source(len)?)
    }

    /// Overwrites the bytes of the data from byte `start` on. If this fails, nothing is written. In
    /// a chunk that is written in part, only the blocks that change are compressed again.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a range that ends behind the data, for damaged chunks, and where a
    /// chunk cannot be compressed; those of output.
    pub fn write_bytes(&self, start: u64, mut new: &[u8]) -> Result<()> {
        let mut changing = self.reserve()?;
        let mut updates = TryVec::new();
        {
            let state = changing.state()?;
            let sizes = state.sizes()?;
            let stop = start.checked_add(new.len() as u64);
            let parts = sizes.parts(start, stop.ok_or(Error::FAILURE)?)?;
            let writer = RangeWriter {
                state: &state,
                encoder: self.encoder()?,
                decoder: self.decoder()?,
                schunk: self,
            };
            for part in parts {
                let (bytes, rest) = new.split_at(part.len());
                new = rest;
                self.set_current(part.nchunk);
                let update = writer.rewrite(&part, bytes).map_err(Error::or_failure)?;
                updates.push((part.nchunk, update))?;
            }
        }
        changing.commit(|state| state.update(self.host(), updates))
    }

    /// The indices of the chunks that have data in a range of bytes. What the range has behind the
    /// data is ignored.
    ///
    /// # Errors
    /// Those of reading a frame, and the sizes of its chunks; [`Error::MEMORY_ALLOC`].
    pub fn chunks_of(&self, range: Range<u64>) -> Result<TryVec<usize>> {
        use oxiblosc_base::memory::Collect;
        let sizes = self.read()?.sizes()?;
        let parts = sizes.parts(range.start, range.end.min(sizes.nbytes()))?;
        parts.map(|part| part.nchunk).collect_vec()
    }
}
