//! Reading and changing whole chunks.

use super::parsed::{ReadExtent, with_bytes, with_stored};
use super::rules::ChunkInfo;
use super::state::{PlannedChange, State};
use super::store::{ChunkStore, Location};
use super::superchunk::SuperChunk;
use crate::decoding::check_vlchunk;
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::checksum;
use oxiblosc_chunk::decode::prefetch;
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::encoded::{EncodedChunk, OwnedChunk};
use oxiblosc_chunk::header::{ChunkHeader, MAX_BUFFERSIZE, MAX_OVERHEAD};
use oxiblosc_chunk::repack::repack;
use oxiblosc_chunk::scratch;
use oxiblosc_frame::change::Change;
use std::ops::Deref;

/// Chunks with at most this many bytes of data are compressed into scratch memory and then copied:
/// a buffer of their own would have to be allocated before it is known how many bytes they need.
const MAX_COPIED: usize = 64 << 10;

/// All bytes of a chunk.
pub enum WholeChunk<'a> {
    /// In memory that the super-chunk owns.
    Borrowed(&'a [u8]),
    /// In a buffer made for the caller.
    Owned(Buffer),
}

impl WholeChunk<'_> {
    /// The chunk in a buffer of its own.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn into_owned(self) -> Result<Buffer> {
        match self {
            Self::Borrowed(bytes) => Buffer::copy_of(bytes),
            Self::Owned(bytes) => Ok(bytes),
        }
    }

    /// As [`Self::into_owned`], without the unused bytes that changes may have left in the chunk. A
    /// damaged chunk is copied as it is.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn into_packed(self) -> Result<Buffer> {
        match repack(&self)? {
            Some(packed) => Ok(packed),
            None => self.into_owned(),
        }
    }
}

impl Deref for WholeChunk<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Borrowed(bytes) => bytes,
            Self::Owned(bytes) => bytes,
        }
    }
}

/// The position at which a chunk is put into a super-chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// After the last chunk.
    End,
    /// Before the chunk with this index. If it is the number of chunks, the new one becomes the
    /// last.
    Before(usize),
    /// In place of the chunk with this index.
    Over(usize),
}

/// The size of the largest chunk with `nbytes` bytes of data.
fn capacity_for(nbytes: usize, checksums: bool) -> Result<usize> {
    if nbytes > MAX_BUFFERSIZE as usize + MAX_OVERHEAD {
        return Err(Error::MAX_BUFSIZE_EXCEEDED);
    }
    let more = if checksums {
        checksum::extra_len(nbytes)
    } else {
        0
    };
    Ok((nbytes + MAX_OVERHEAD + more).min(i32::MAX as usize))
}

impl State {
    /// Checks the index of a chunk.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk.
    pub fn check_index(&self, nchunk: usize) -> Result<()> {
        if nchunk < self.counts.nchunks {
            Ok(())
        } else {
            Err(Error::INVALID_PARAM)
        }
    }

    /// The bytes of a chunk.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk, [`Error::DATA`] if its size contradicts
    /// the frame; those of input.
    pub fn chunk(&self, nchunk: usize) -> Result<WholeChunk<'_>> {
        let bytes = self.chunk_bytes(nchunk)?;
        self.check_size(nchunk, ChunkHeader::parse_basic(&bytes)?.nbytes)?;
        Ok(bytes)
    }

    /// The bytes of a chunk whose size has not been checked.
    fn chunk_bytes(&self, nchunk: usize) -> Result<WholeChunk<'_>> {
        match self.store.find(nchunk)? {
            Location::Memory(bytes, _) => {
                prefetch(bytes);
                Ok(WholeChunk::Borrowed(bytes))
            }
            Location::File(stored) => stored.whole().map(WholeChunk::Owned),
            Location::Special(kind) => {
                let nbytes = self.counts.nbytes_of(nchunk).ok_or(Error::DATA)?;
                let chunk = self.special_chunk(kind, nbytes)?;
                Buffer::copy_of(&chunk).map(WholeChunk::Owned)
            }
        }
    }

    /// Runs `body` on a parsed chunk and its first bytes. `wanted` says how much of a chunk in a
    /// file is read before that.
    pub(crate) fn with_chunk<T>(
        &self,
        nchunk: usize,
        wanted: ReadExtent,
        body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
    ) -> Result<T> {
        let (mut header, mut slot) = (ChunkHeader::EMPTY, None);
        if let Some((bytes, checked)) = self.store.in_memory(nchunk, &mut header) {
            let chunk = Chunk::parse_checked_into(&mut slot, &header, bytes, checked)?;
            return body(chunk, bytes);
        }
        match self.store.find(nchunk)? {
            Location::Memory(bytes, checked) => with_bytes(bytes, checked, body),
            Location::File(stored) => with_stored(&stored, wanted, body),
            Location::Special(kind) => {
                let nbytes = self.counts.nbytes_of(nchunk).ok_or(Error::DATA)?;
                with_bytes(&self.special_chunk(kind, nbytes)?, Checked::NEVER, body)
            }
        }
    }

    /// Puts a chunk into its position. Gives the number of chunks. Without a frame, `owned` may
    /// have the chunk in a buffer, which is moved into the store.
    fn put(
        &mut self,
        schunk: &SuperChunk,
        position: Position,
        chunk: EncodedChunk,
        owned: Option<&mut TryVec<Buffer>>,
    ) -> Result<usize> {
        let with_checksums = self.with_checksums(chunk.bytes)?;
        let chunk = (with_checksums.as_ref()).map_or(chunk, OwnedChunk::encoded);
        let info = ChunkInfo::of(&chunk);
        let (counts, storage) = (self.counts, self.storage_kind());
        let nchunks = counts.nchunks;
        let (after, current) = match position {
            Position::End => (counts.appended(&info, storage)?, nchunks),
            Position::Before(nchunk) if nchunk > nchunks => return Err(Error::INVALID_PARAM),
            Position::Before(nchunk) => (counts.inserted(nchunk, &info, storage)?, nchunk),
            Position::Over(nchunk) => {
                self.check_index(nchunk)?;
                let old = self.chunk_info(nchunk).map_err(Error::or_failure)?;
                (counts.updated(nchunk, &old, &info, storage)?, nchunk)
            }
        };
        let item = self.changed_chunk(after.chunksize, &info, chunk);
        let update = [(current, item)];
        let change = match position {
            Position::End => Change::Append(item),
            Position::Before(nchunk) => Change::Insert(nchunk, item),
            Position::Over(_) => Change::Update(&update),
        };
        schunk.set_current(current);
        let plan = PlannedChange {
            counts: after,
            change,
            owned,
        };
        self.apply(schunk.host(), plan)
    }
}

impl SuperChunk {
    /// [`Position::Over`] for a chunk that this handle knows: the frame is not read again before
    /// this check.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk.
    pub fn place_over(&self, nchunk: usize) -> Result<Position> {
        self.peek()?.check_index(nchunk)?;
        Ok(Position::Over(nchunk))
    }

    /// Puts a copy of a chunk into the super-chunk. Gives the number of chunks.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for a position that does not exist; [`Error::CHUNK_APPEND`],
    /// [`Error::CHUNK_INSERT`] or [`Error::CHUNK_UPDATE`] for a chunk that cannot be together with
    /// the others; those of a damaged chunk, and of output.
    pub fn put_chunk(&self, position: Position, chunk: &[u8]) -> Result<usize> {
        // A lazy chunk, which has only the front, cannot be put into a super-chunk.
        let EncodedChunk { bytes, header } = EncodedChunk::parse(chunk)?;
        let mut changing = self.reserve()?;
        // The frame's buffer may move while the chunk is put into it.
        let apart = match &changing.state()?.store {
            ChunkStore::Memory(memory) if memory.holds(bytes) => Some(Buffer::copy_of(bytes)?),
            _ => None,
        };
        let bytes = apart.as_deref().unwrap_or(bytes);
        let chunk = EncodedChunk { bytes, header };
        changing.commit(|state| state.put(self, position, chunk, None))
    }

    /// As [`Self::put_chunk`], but the buffer of the chunk may be moved into the super-chunk.
    ///
    /// # Errors
    /// As for [`Self::put_chunk`]; the chunk is given back.
    pub fn put_owned_chunk(
        &self,
        position: Position,
        chunk: Buffer,
    ) -> std::result::Result<usize, (Error, Buffer)> {
        let header = match EncodedChunk::parse(&chunk) {
            Ok(encoded) => encoded.header,
            Err(error) => return Err((error, chunk)),
        };
        let mut owned = TryVec::new();
        if let Err(error) = owned.reserve_exact(1) {
            return Err((error, chunk));
        }
        owned.push_within_capacity(chunk);
        let result = self.change(|state| {
            if state.store.is_frame() {
                let bytes = &owned[0][..header.cbytes];
                return state.put(self, position, EncodedChunk { bytes, header }, None);
            }
            let chunk = EncodedChunk { bytes: &[], header };
            state.put(self, position, chunk, Some(&mut owned))
        });
        result.map_err(|error| (error, owned.pop().unwrap_or_default()))
    }

    /// Deletes a chunk. Gives the number of chunks left.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; those of output.
    pub fn delete_chunk(&self, nchunk: usize) -> Result<usize> {
        self.change_chunks(|state| {
            state.check_index(nchunk)?;
            let old = state.chunk_info(nchunk).map_err(Error::or_failure)?;
            self.set_current(nchunk);
            Ok(PlannedChange {
                counts: state.counts.deleted(&old, state.storage_kind()),
                change: Change::Delete(nchunk),
                owned: None,
            })
        })
    }

    /// Puts the chunks into another order: `order[i]` is the present index of the chunk that gets
    /// index `i`.
    ///
    /// # Errors
    /// [`Error::DATA`] unless `order` has every index once; those of output.
    pub fn reorder(&self, order: &[usize]) -> Result<()> {
        let count = order.len();
        let mut used = TryVec::filled(false, count)?;
        for from in order {
            let used = used.get_mut(*from).ok_or(Error::DATA)?;
            if std::mem::replace(used, true) {
                return Err(Error::DATA);
            }
        }
        let last_moved = order.last().is_some_and(|last| *last != count - 1);
        self.change_chunks(|state| {
            if state.counts.nchunks != count {
                return Err(Error::DATA);
            }
            Ok(PlannedChange {
                counts: state.counts.reordered(last_moved),
                change: Change::Reorder(order),
                owned: None,
            })
        })?;
        Ok(())
    }

    /// As [`Self::reorder`], but `order` is called with the number of chunks and gives their order.
    /// It is not called if there are no chunks.
    ///
    /// # Errors
    /// Those of `order`; [`Error::DATA`] for a frame without chunks; as for [`Self::reorder`].
    pub fn reorder_by(&self, order: impl FnOnce(usize) -> Result<TryVec<usize>>) -> Result<()> {
        let (nchunks, is_frame) = {
            let state = self.peek()?;
            (state.counts.nchunks, state.is_frame())
        };
        match nchunks {
            1.. => self.reorder(&order(nchunks)?),
            0 if is_frame => Err(Error::DATA),
            0 => Ok(()),
        }
    }

    /// Compresses data into a chunk and appends it. Gives the number of chunks.
    ///
    /// # Errors
    /// Those of compression, and of [`Self::put_chunk`].
    pub fn append(&self, source: ChunkInput) -> Result<usize> {
        // Callbacks of the encoder get the index of the chunk, which must not change after that. So
        // the frame is locked before compressing if there are callbacks; otherwise other handles
        // need not wait for the compression.
        let mut changing = self.reserve_here()?;
        if self.encoder()?.sees_chunks() {
            changing.lock()?;
        }
        let state = changing.state()?;
        let (nchunks, checksums) = (state.counts.nchunks, state.has_checksums());
        let framed = state.is_frame();
        drop(state);
        self.set_current(nchunks);
        let nbytes = source.nbytes();
        if nbytes <= MAX_COPIED || framed {
            let mut scratch = scratch::borrow()?;
            let buffer = scratch.out.ensure(capacity_for(nbytes, checksums)?)?;
            let header = self.encoder()?.compress(source, buffer, checksums)?;
            let header = header.ok_or(Error::READ_BUFFER)?;
            let chunk = EncodedChunk::written(buffer, header);
            changing.commit(|state| state.put(self, Position::End, chunk, None))
        } else {
            let (mut chunk, header) = self.compress_into_buffer(source, false)?;
            let header = header.ok_or(Error::READ_BUFFER)?;
            chunk.shrink_if_wasteful();
            let mut owned = TryVec::of([chunk])?;
            let chunk = EncodedChunk { bytes: &[], header };
            changing.commit(|state| state.put(self, Position::End, chunk, Some(&mut owned)))
        }
    }

    /// Compresses data into a chunk with the compressor of this super-chunk.
    ///
    /// # Errors
    /// Those of compression.
    pub fn compress(&self, source: ChunkInput, checksums: bool) -> Result<Buffer> {
        Ok(self.compress_into_buffer(source, checksums)?.0)
    }

    /// As [`Self::compress`], with the header of the chunk; the buffer is empty without one.
    fn compress_into_buffer(
        &self,
        source: ChunkInput,
        checksums: bool,
    ) -> Result<(Buffer, Option<ChunkHeader>)> {
        let mut chunk = Buffer::unspecified(capacity_for(source.nbytes(), checksums)?)?;
        let header = self.encoder()?.compress(source, &mut chunk, checksums)?;
        chunk.resize(header.map_or(0, |header| header.cbytes))?;
        Ok((chunk, header))
    }

    /// Decompresses a chunk into the front of `dest`. Gives the size of its data in bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; if `dest` is too small,
    /// [`Error::WRITE_BUFFER`] for a frame and [`Error::INVALID_PARAM`] otherwise; those of a
    /// damaged chunk, and of input.
    pub fn decompress_chunk(&self, nchunk: usize, dest: &mut [u8]) -> Result<usize> {
        let state = self.read_for(Some(nchunk))?;
        state.check_index(nchunk)?;
        self.show_current(nchunk);
        let mut header = ChunkHeader::EMPTY;
        let found;
        let chunk = match state.store.in_memory(nchunk, &mut header) {
            Some((chunk, _)) => chunk,
            None => {
                found = state.chunk_bytes(nchunk)?;
                header.read(&found, true)?;
                &found
            }
        };
        state.check_size(nchunk, header.nbytes)?;
        if header.nbytes > dest.len() {
            return Err(match state.is_frame() {
                false => Error::INVALID_PARAM,
                true => Error::WRITE_BUFFER,
            });
        }
        self.decoder()?.decompress(&header, chunk, dest)
    }

    /// Decompresses a block of a chunk of variable-length blocks.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk or block, or the chunk has blocks of one
    /// size; those of a damaged chunk, and of input.
    pub fn decompress_vlblock(&self, nchunk: usize, nblock: usize) -> Result<Buffer> {
        let state = self.read()?;
        state.check_index(nchunk)?;
        self.set_current(nchunk);
        state.with_chunk(nchunk, ReadExtent::FewBlocks, |chunk, prefix| {
            let header = chunk.header();
            state.check_size(nchunk, header.nbytes)?;
            check_vlchunk(header)?;
            if nblock >= header.nblocks {
                return Err(Error::INVALID_PARAM);
            }
            let mut block = Buffer::zeroed(chunk.block_nbytes(nblock)?)?;
            self.decoder()?
                .decompress_block(chunk, prefix, nblock, &mut block)?;
            Ok(block)
        })
    }

    /// The offsets of the chunks of a frame, as they are in its index: for a contiguous frame bytes
    /// from the end of the header, for a directory numbers of files. Negative ones are those of
    /// special chunks.
    ///
    /// # Errors
    /// [`Error::FRAME_TYPE`] without a frame, and in a transaction; [`Error::DATA`] if there are
    /// not as many as chunks.
    pub fn offsets(&self) -> Result<TryVec<i64>> {
        let state = self.read_cached()?;
        let offsets = state.store.offsets()?;
        if offsets.len() != state.counts.nchunks {
            return Err(Error::DATA);
        }
        Ok(offsets)
    }

    /// The size of the frame in bytes, with the index and trailer that are written when it is
    /// closed. Without a frame, an estimate.
    ///
    /// # Errors
    /// Those of writing the frame's index and trailer.
    pub fn frame_len(&self) -> Result<u64> {
        let on_disk = (self.peek()?.store).with_disk(None, |disk| Some(disk.frame_len()));
        if let Some(len) = on_disk {
            return Ok(len);
        }
        if let Some(len) = self.with_frame(|bytes| Ok(bytes.len() as u64))? {
            return Ok(len);
        }
        let counts = self.peek()?.counts;
        Ok(counts
            .compressed_bytes()
            .saturating_add(counts.nchunks as u64 * 8))
    }
}
