//! A contiguous frame in a buffer.
//!
//! Header and chunks are always in the buffer. Index and trailer are written behind them only when
//! the whole frame is needed, so that the cost of an append is that of its chunk.

mod changes;
mod parse;

use super::binding::{Binding, sum_of};
use super::change::Change;
use super::fingerprint::{self, ChecksumScope};
use super::header::{Header, set_extent};
use super::loaded::Loaded;
use super::offsets::{ChunkPosition, Found, Offsets};
use super::trailer;
use oxiblosc_base::memory::{Buffer, Collect, CowBuffer, MallocOwned, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checked::{Checked, CheckedChunks};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};
use oxiblosc_chunk::repack::repack;
use parse::{Parsed, parse};

/// A contiguous frame in memory.
pub struct Memory {
    /// Header, chunks, and perhaps index and trailer. A borrowed buffer is always a whole frame.
    bytes: CowBuffer,
    header_len: usize,
    /// Bytes of the chunks, and of free space between them.
    data_len: usize,
    offsets: Offsets,
    trailer: TryVec<u8>,
    /// Whether index and trailer are in the buffer.
    whole: bool,
    /// Whether there may be free bytes, between chunks or between the blocks of changed ones, that
    /// [`Self::whole`] removes.
    loose: bool,
    /// Whether the whole frame has [checksums](super::fingerprint).
    checksums: ChecksumScope,
    /// What [binds](super::binding) the chunks to their places, as the index had it before the
    /// first change; none if it is unknown.
    binding: Option<Binding>,
    /// What bound them in truth then, once there was a change.
    bound: Option<Binding>,
    /// Which parts of the chunks were checked since they came into the buffer.
    checked: CheckedChunks,
    /// The places of chunks that share bytes with others, in ascending order; none if that was not
    /// looked for yet. No change makes chunks share bytes, but the index of a frame that was opened
    /// may.
    shared: Option<TryVec<i64>>,
}

impl Memory {
    /// A new frame without chunks and metalayers.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn new(header: &Header) -> Result<Self> {
        let bytes = header.encode(&[])?;
        Ok(Self {
            header_len: bytes.len(),
            data_len: 0,
            offsets: Offsets::EMPTY,
            trailer: trailer::encode(&[])?,
            whole: false,
            loose: false,
            checksums: ChecksumScope::None,
            binding: Some(Binding::EMPTY),
            bound: Some(Binding::EMPTY),
            checked: CheckedChunks::default(),
            shared: Some(TryVec::new()),
            bytes: Buffer::copy_of(&bytes)?.into(),
        })
    }

    /// The frame in a buffer, which is used in place. A borrowed buffer is copied before it is
    /// changed.
    ///
    /// # Errors
    /// Those of a damaged frame; [`Error::FRAME_TYPE`] for a sparse one; [`Error::MEMORY_ALLOC`].
    pub fn over(bytes: CowBuffer) -> Result<(Self, Loaded)> {
        let Parsed {
            extent,
            loaded,
            offsets,
            trailer,
            binding,
        } = parse(&bytes)?;
        let checksums = loaded.coverage.scope(&trailer);
        Ok((
            Self {
                header_len: extent.header_len as usize,
                data_len: if offsets.is_empty() {
                    0
                } else {
                    extent.cbytes as usize
                },
                offsets,
                trailer,
                whole: true,
                loose: false,
                checksums,
                binding: binding.filter(|_| checksums.is_any()),
                bound: None,
                checked: CheckedChunks::default(),
                shared: None,
                bytes,
            },
            loaded,
        ))
    }

    /// Sets whether the whole frame gets checksums of header, index and trailer.
    ///
    /// # Errors
    /// Those of [`Change::check`]; [`Error::MEMORY_ALLOC`].
    pub fn set_checksums(&mut self, checksums: bool) -> Result<()> {
        self.change_checksums(self.checksums.wanted(checksums))
    }

    /// Makes the whole frame record where each chunk is, and, if `all`, that every chunk has
    /// checksums.
    ///
    /// # Errors
    /// As for [`Self::set_checksums`].
    pub fn note_checksums(&mut self, all: bool) -> Result<()> {
        if all {
            self.change_checksums(ChecksumScope::All)?;
        }
        if self.binding.is_none() {
            self.open_end()?;
            let bound = self.bind_all().ok();
            (self.binding, self.bound) = (bound, bound);
        }
        Ok(())
    }

    /// What binds the chunks as they lie now.
    fn bind_all(&self) -> Result<Binding> {
        let mut bound = Binding::EMPTY;
        for pos in self.offsets.positions() {
            bound.add(pos, sum_of(&self.chunk_at(pos)?)?);
        }
        Ok(bound)
    }

    /// The chunks' bytes from this position on.
    #[inline]
    fn data_from(&self, pos: u64) -> Result<&[u8]> {
        let data = &self.bytes[self.header_len..self.header_len + self.data_len];
        let data = usize::try_from(pos).ok().and_then(|at| data.get(at..));
        data.ok_or(Error::INVALID_HEADER)
    }

    /// The chunk at this position.
    fn chunk_at(&self, pos: u64) -> Result<EncodedChunk<'_>> {
        let data = self.data_from(pos)?;
        let header = ChunkHeader::parse(data)?;
        let bytes = data.get(..header.cbytes).ok_or(Error::INVALID_HEADER)?;
        Ok(EncodedChunk { bytes, header })
    }

    /// Notes what binds the chunks, before the first change: what was wrong then has to stay wrong.
    fn note_bound(&mut self) {
        if self.bound.is_none() && self.binding.is_some() {
            self.bound = self.bind_all().ok();
            self.binding = self.binding.filter(|_| self.bound.is_some());
        }
    }

    /// As [`Disk::check_places`](super::disk::Disk::check_places).
    ///
    /// # Errors
    /// As for that.
    pub fn check_places(&self) -> Result<bool> {
        match (self.binding, self.bound) {
            (None, _) => Ok(false),
            (Some(_), _) if !self.checksums.is_any() => Ok(false),
            (Some(binding), Some(bound)) if binding == bound => Ok(true),
            (Some(binding), None) if binding == self.bind_all()? => Ok(true),
            _ => Err(Error::DATA),
        }
    }

    fn change_checksums(&mut self, checksums: ChecksumScope) -> Result<()> {
        if self.checksums != checksums {
            Change::Nothing.check(&self.offsets)?;
            self.open_end()?;
            self.checksums = checksums;
        }
        Ok(())
    }

    /// Whether `other` overlaps the buffer.
    pub fn holds(&self, other: &[u8]) -> bool {
        let (own, other) = (self.bytes.as_ptr_range(), other.as_ptr_range());
        own.start < other.end && other.start < own.end
    }

    /// Makes [`Self::whole`] remove free bytes: those of removed chunks, and those between the
    /// blocks of others.
    pub fn loosen(&mut self) {
        self.loose = true;
    }

    /// Bytes of the header.
    pub fn header_len(&self) -> u64 {
        self.header_len as u64
    }

    /// The offsets.
    pub fn offsets(&self) -> &Offsets {
        &self.offsets
    }

    /// Bytes of all chunks, and of free space between them.
    pub fn cbytes(&self) -> u64 {
        self.data_len as u64
    }

    /// Finds chunk `nchunk`: its bytes, and which of its checksums were compared already.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; those of a damaged one.
    pub fn find(&self, nchunk: usize) -> Result<Found<(&[u8], Checked<'_>)>> {
        self.find_and_read(nchunk, &mut { ChunkHeader::EMPTY })
    }

    /// As [`Self::find`], and reads the chunk's header into `header`.
    ///
    /// # Errors
    /// As for that.
    pub fn find_and_read(
        &self,
        nchunk: usize,
        header: &mut ChunkHeader,
    ) -> Result<Found<(&[u8], Checked<'_>)>> {
        let pos = match self.offsets.position(nchunk)? {
            ChunkPosition::At(pos) => pos,
            ChunkPosition::Special(kind) => return Ok(Found::Special(kind)),
        };
        let chunk = self.data_from(pos)?;
        header.read(chunk, true)?;
        if header.cbytes < EXTENDED_HEADER_LENGTH {
            return Err(Error::INVALID_HEADER);
        }
        self.checksums.check_chunk(header)?;
        let chunk = chunk.get(..header.cbytes).ok_or(Error::INVALID_HEADER)?;
        Ok(Found::Stored((chunk, self.checked(nchunk, header))))
    }

    fn checked(&self, nchunk: usize, header: &ChunkHeader) -> Checked<'_> {
        let nchunks = self.offsets.len();
        // A small frame may claim very many chunks. Memory for all of them would be out of
        // proportion.
        let bounded = nchunks <= self.data_len / EXTENDED_HEADER_LENGTH;
        // A borrowed buffer may be a map of a file. Its pages may be read from the disk again, and
        // be damaged then.
        match header.has_checksums() && bounded && self.bytes.borrowed().is_none() {
            true => self.checked.chunk(nchunk, nchunks),
            false => Checked::NEVER,
        }
    }

    /// Whether chunk `nchunk` can be changed in place: it has bytes, and shares none with another
    /// chunk.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn is_alone(&mut self, nchunk: usize) -> Result<bool> {
        let Ok(ChunkPosition::At(pos)) = self.offsets.position(nchunk) else {
            return Ok(false);
        };
        let shared = match self.shared.take() {
            Some(known) => known,
            None => self.find_shared()?,
        };
        let is_shared = shared.binary_search(&(pos as i64)).is_ok();
        self.shared = Some(shared);
        Ok(!is_shared)
    }

    /// The places of chunks that share bytes with others, in ascending order. Chunks that cannot be
    /// read are taken to be as short as possible.
    fn find_shared(&self) -> Result<TryVec<i64>> {
        let mut shared = TryVec::new();
        if let Offsets::Repeated { offset, count } = self.offsets {
            if count > 1 {
                shared.push(offset)?;
            }
            return Ok(shared);
        }
        let mut positions = self.offsets.positions().collect_vec()?;
        if !positions.is_sorted() {
            positions.sort_unstable();
        }
        let mut header = ChunkHeader::EMPTY;
        // The place before, whether its chunk shares bytes, and the end of all chunks so far.
        let (mut last, mut end) = (None, 0);
        for pos in positions {
            let chunk = self.data_from(pos).unwrap_or_default();
            let is_readable = header.read(chunk, true).is_ok() && header.cbytes <= chunk.len();
            let len = match is_readable {
                true => header.cbytes,
                false => EXTENDED_HEADER_LENGTH,
            };
            let overlaps = pos < end;
            if let Some((before, false)) = last
                && overlaps
            {
                shared.push(before)?;
            }
            if overlaps && shared.last() != Some(&(pos as i64)) {
                shared.push(pos as i64)?;
            }
            last = Some((pos as i64, overlaps));
            end = end.max(pos + len as u64);
        }
        Ok(shared)
    }

    /// Forgets where chunks share bytes, after a change that may have moved them. That none do
    /// stays known.
    fn forget_shared(&mut self) {
        self.shared.take_if(|shared| !shared.is_empty());
    }

    /// The bytes of chunk `nchunk`, to be changed in place. The caller must leave a valid chunk of
    /// the same length with correct checksums, as it is not checked again.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for a chunk without bytes; those of [`Self::find`];
    /// [`Error::MEMORY_ALLOC`].
    pub fn chunk_mut(&mut self, nchunk: usize) -> Result<&mut [u8]> {
        let ChunkPosition::At(pos) = self.offsets.position(nchunk)? else {
            return Err(Error::INVALID_PARAM);
        };
        let len = self.stored_len(nchunk)?;
        let from = self.header_len + pos as usize;
        self.note_bound();
        let bytes = self.bytes.to_mut()?;
        self.loose = true;
        bytes.get_mut(from..from + len).ok_or(Error::FAILURE)
    }

    /// The number of bytes that chunk `nchunk` has in the frame.
    fn stored_len(&self, nchunk: usize) -> Result<usize> {
        Ok(match self.find(nchunk)? {
            Found::Stored((chunk, _)) => chunk.len(),
            Found::Special(_) => 0,
        })
    }

    /// The buffer, owned and with nothing behind the chunks.
    fn open_end(&mut self) -> Result<&mut Buffer> {
        self.note_bound();
        let end = self.header_len + self.data_len;
        let buffer = self.bytes.prefix_to_mut(end)?;
        self.whole = false;
        buffer.resize(end)?;
        Ok(buffer)
    }

    /// Removes free bytes: those of removed chunks, and those between the blocks of others.
    fn pack(&mut self) -> Result<()> {
        self.note_bound();
        let mut positions = self.offsets.positions().collect_vec()?;
        positions.sort_unstable();
        positions.dedup();
        let mut packed = Buffer::new();
        packed.reserve(self.header_len + self.data_len)?;
        packed.extend(&self.bytes[..self.header_len])?;
        let mut moved = TryVec::with_capacity(positions.len())?;
        let mut end = 0;
        for pos in positions {
            let EncodedChunk { bytes, header } = self.chunk_at(pos)?;
            if pos < end {
                return Err(Error::INVALID_HEADER);
            }
            end = pos + header.cbytes as u64;
            moved.push((pos, packed.len() - self.header_len))?;
            packed.extend(repack(bytes)?.as_deref().unwrap_or(bytes))?;
        }
        self.offsets.map_positions(|pos| {
            let found = moved.binary_search_by_key(&pos, |(from, _)| *from);
            found.map_or(pos, |i| moved[i].1 as u64)
        })?;
        self.data_len = packed.len() - self.header_len;
        self.bytes = packed.into();
        self.checked = CheckedChunks::default();
        self.forget_shared();
        self.whole = false;
        Ok(())
    }

    /// Whether [`Self::whole`] changes nothing.
    pub fn is_whole(&self) -> bool {
        self.whole && !self.loose
    }

    /// The whole frame, if [`Self::whole`] would change nothing.
    pub fn as_whole(&self) -> Option<&[u8]> {
        self.is_whole().then_some(&*self.bytes)
    }

    /// The whole frame: writes index and trailer, if they are not there, and removes free bytes.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; those of [`Offsets::encode`].
    pub fn whole(&mut self) -> Result<&mut [u8]> {
        if self.loose {
            match self.pack() {
                Err(error) if error == Error::MEMORY_ALLOC => return Err(error),
                // A frame with damaged chunks, chunks that share bytes, or very many chunks stays
                // as it is.
                Ok(()) | Err(_) => self.loose = false,
            }
        }
        if !self.whole {
            let mut index = match self.offsets.len() {
                0 => TryVec::new(),
                _ => self.offsets.encode()?,
            };
            if self.checksums.is_any() {
                let before = self.binding.zip(self.bound);
                let now = before.zip(self.bind_all().ok());
                let now = now.map(|((binding, before), now)| binding.shifted(before, now));
                Binding::write(now, &mut index);
            }
            let data_len = self.data_len as u64;
            let more = index.len() + self.trailer.len();
            self.open_end()?.reserve(more)?;
            if let Some(buffer) = self.bytes.owned_mut() {
                buffer.extend(&index)?;
                buffer.extend(&self.trailer)?;
                let len = buffer.len();
                set_extent(buffer, len as u64, data_len);
                let (prefix, trailer) = buffer.split_at_mut(len - self.trailer.len());
                let header = &mut prefix[..self.header_len];
                let any = self.checksums.is_any();
                let index_crc = any.then(|| fingerprint::of_index(&index));
                fingerprint::write(self.checksums, index_crc, None, header, trailer);
            }
            self.whole = true;
        }
        Ok(self.bytes.in_place())
    }

    /// Bytes of the whole frame.
    ///
    /// # Errors
    /// Those of [`Self::whole`].
    pub fn frame_len(&mut self) -> Result<u64> {
        Ok(self.whole()?.len() as u64)
    }

    /// Copies a borrowed buffer, so that the original is not used any more.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn own(&mut self) -> Result<()> {
        self.bytes.to_mut().map(drop)
    }

    /// The address of the frame, if its buffer is borrowed.
    pub fn borrowed(&self) -> Option<*const u8> {
        self.bytes.borrowed()
    }

    /// Makes the frame the owner of its borrowed buffer.
    pub fn take_over(&mut self, buffer: MallocOwned) {
        self.bytes.take_over(buffer);
    }

    /// The whole frame as a buffer.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if it is borrowed; those of [`Self::whole`].
    pub fn into_frame(mut self) -> Result<Buffer> {
        self.whole()?;
        self.bytes.into_owned().ok_or(Error::FAILURE)
    }
}
