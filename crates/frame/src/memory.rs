//! A contiguous frame in a buffer.
//!
//! Header and chunks are always in the buffer. Index and trailer are put behind them when the whole frame is asked for, so that an
//! append costs no more than its chunk.

use super::change::{Change, Delta, Item};
use super::disk::Loaded;
use super::fingerprint::{self, ChecksumScope};
use super::header::{Extent, FrameKind, Header, set_extent};
use super::offsets::{ChunkPlace, Found, Offsets, WIDTH, special_offset};
use super::replace::{Replaced, Replacement};
use super::trailer;
use oxiblosc_chunk::checked::{Checked, CheckedChunks};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};
use oxiblosc_chunk::repack::repack;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Buffer, Collect, CowBuffer, HandedOver, List, ToList};

/// A contiguous frame in memory.
pub struct Memory {
    /// A borrowed buffer is always a whole frame.
    bytes: CowBuffer,
    header_len: usize,
    /// Bytes of the chunks, and of what lies between them.
    data_len: usize,
    offsets: Offsets,
    trailer: List<u8>,
    /// Whether index and trailer are in the buffer.
    whole: bool,
    /// Whether chunks may have free bytes between their blocks, since some were changed.
    loose: bool,
    /// Whether the whole frame has [checksums](super::fingerprint).
    checksums: ChecksumScope,
    /// Which parts of the chunks were checked since they came into the buffer.
    checked: CheckedChunks,
}

impl Memory {
    /// A new frame without chunks and metalayers.
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
            checked: CheckedChunks::default(),
            bytes: Buffer::copy_of(&bytes)?.into(),
        })
    }

    /// Uses a whole frame in place. If it is borrowed, it is copied before it is changed.
    ///
    /// # Errors
    /// Those of a damaged frame, [`Error::MemoryAlloc`].
    pub fn over(bytes: CowBuffer) -> Result<(Self, Loaded)> {
        let (extent, loaded, offsets, trailer) = parse(&bytes)?;
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
                checked: CheckedChunks::default(),
                bytes,
            },
            loaded,
        ))
    }

    /// Sets whether the whole frame gets checksums of header, index and trailer.
    pub fn set_checksums(&mut self, checksums: bool) -> Result<()> {
        self.change_checksums(self.checksums.wanted(checksums))
    }

    /// Makes the whole frame record that every chunk has checksums.
    pub fn set_all_checksums(&mut self) -> Result<()> {
        self.change_checksums(ChecksumScope::All)
    }

    fn change_checksums(&mut self, checksums: ChecksumScope) -> Result<()> {
        if self.checksums != checksums {
            self.open_end()?;
            self.checksums = checksums;
        }
        Ok(())
    }

    /// Whether other bytes are part of the buffer.
    pub fn holds(&self, other: &[u8]) -> bool {
        let (own, other) = (self.bytes.as_ptr_range(), other.as_ptr_range());
        own.start < other.end && other.start < own.end
    }

    /// Makes [`Self::whole`] leave out free bytes: those of chunks that are gone, and between the blocks of others.
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

    /// Bytes of all chunks, and of what lies between them.
    pub fn cbytes(&self) -> u64 {
        self.data_len as u64
    }

    /// Finds chunk `nchunk`: its bytes, and what of them was checked.
    pub fn find(&self, nchunk: usize) -> Result<Found<(&[u8], Checked<'_>)>> {
        self.find_and_read(nchunk, &mut { ChunkHeader::EMPTY })
    }

    /// The same, and reads the chunk's header into `header`.
    pub fn find_and_read(
        &self,
        nchunk: usize,
        header: &mut ChunkHeader,
    ) -> Result<Found<(&[u8], Checked<'_>)>> {
        let place = match self.offsets.place(nchunk)? {
            ChunkPlace::At(place) => place,
            ChunkPlace::Special(kind) => return Ok(Found::Special(kind)),
        };
        let data = &self.bytes[self.header_len..self.header_len + self.data_len];
        let chunk = usize::try_from(place).ok().and_then(|at| data.get(at..));
        let chunk = chunk.ok_or(Error::InvalidHeader)?;
        header.read(chunk, true)?;
        if header.cbytes < EXTENDED_HEADER_LENGTH {
            return Err(Error::InvalidHeader);
        }
        self.checksums.check_chunk(header)?;
        let chunk = chunk.get(..header.cbytes).ok_or(Error::InvalidHeader)?;
        Ok(Found::Stored((chunk, self.checked(nchunk, header))))
    }

    fn checked(&self, nchunk: usize, header: &ChunkHeader) -> Checked<'_> {
        let nchunks = self.offsets.len();
        // A small frame may claim very many chunks.
        let bounded = nchunks <= self.data_len / EXTENDED_HEADER_LENGTH;
        // A borrowed buffer may be a map of a file, whose pages may be read from the disk again, with new damage.
        match header.has_checksums() && bounded && self.bytes.borrowed().is_none() {
            true => self.checked.chunk(nchunk, nchunks),
            false => Checked::NEVER,
        }
    }

    /// The bytes of chunk `nchunk`, to be changed in place. The caller must leave a valid chunk of the same length with right checksums, as it is
    /// not checked again.
    pub fn chunk_mut(&mut self, nchunk: usize) -> Result<&mut [u8]> {
        let ChunkPlace::At(place) = self.offsets.place(nchunk)? else {
            return Err(Error::InvalidParam);
        };
        let len = self.stored_len(nchunk)?;
        let from = self.header_len + place as usize;
        let bytes = self.bytes.to_mut()?;
        self.loose = true;
        bytes.get_mut(from..from + len).ok_or(Error::Failure)
    }

    /// How many bytes chunk `nchunk` has in the frame.
    fn stored_len(&self, nchunk: usize) -> Result<usize> {
        Ok(match self.find(nchunk)? {
            Found::Stored((chunk, _)) => chunk.len(),
            Found::Special(_) => 0,
        })
    }

    /// A buffer that can be changed, with nothing behind the chunks.
    fn open_end(&mut self) -> Result<&mut Buffer> {
        let end = self.header_len + self.data_len;
        let buffer = self.bytes.front_to_mut(end)?;
        self.whole = false;
        buffer.resize(end)?;
        Ok(buffer)
    }

    /// Applies a change; see [`Disk::commit`](super::disk::Disk::commit). If it fails, the frame is as it was.
    pub fn commit(
        &mut self,
        change: &Change,
        specials: &[(usize, List<u8>)],
        header: List<u8>,
        trailer: Option<List<u8>>,
    ) -> Result<()> {
        if header.len() != self.header_len && change.keeps_stored(&self.offsets) {
            return Err(Error::InvalidParam);
        }
        change.check(&self.offsets)?;
        self.forget_checked(change, specials);
        self.checksums = change.checksums(self.checksums);
        let coming: usize = change.items().map(|item| item_len(&item)).sum();
        let parted: usize = specials.iter().map(|(_, chunk)| chunk.len()).sum();
        // Everything that can fail comes before everything that changes something.
        self.open_end()?
            .reserve_to_grow(coming + parted + header.len())?;
        for nchunk in change.leaves() {
            self.stored_len(nchunk)?;
        }
        if let Change::Update(items) = change {
            let over = self.replaced(items)?;
            if !specials.is_empty() || !items.is_empty() {
                self.offsets.list_mut()?;
            }
            for (nchunk, chunk) in specials {
                let at = self.put(chunk)?;
                Delta::Set(*nchunk, at).apply(&mut self.offsets)?;
            }
            self.loose = true;
            self.update(items, over)?;
        } else {
            let delta = self.delta(change, specials)?;
            delta.reserve(&mut self.offsets)?;
            for (_, chunk) in specials {
                self.put(chunk)?;
            }
            for item in change.items() {
                if let Item::Stored(chunk) = item {
                    self.put(chunk)?;
                }
            }
            delta.apply(&mut self.offsets)?;
        }
        if self.offsets.is_empty() {
            self.data_len = 0;
            self.open_end()?;
        }
        self.set_header(&header)?;
        if let Some(trailer) = trailer {
            self.trailer = trailer;
        }
        Ok(())
    }

    /// Forgets what was checked of chunks that a change replaces or moves. If the change fails, they are checked again.
    fn forget_checked(&mut self, change: &Change, specials: &[(usize, List<u8>)]) {
        match change {
            Change::Nothing if specials.is_empty() => {}
            Change::Append(_) if specials.is_empty() => self.checked.append(),
            Change::Update(items) if specials.is_empty() => {
                (items.iter()).for_each(|(nchunk, _)| self.checked.forget(*nchunk));
            }
            _ => self.checked = CheckedChunks::default(),
        }
    }

    /// How the offsets change when the chunks of `specials`, and then the new ones, are put behind the others.
    fn delta(&self, change: &Change, specials: &[(usize, List<u8>)]) -> Result<Delta> {
        let mut end = self.data_len;
        let mut next = |len: usize| {
            let at = end as i64;
            end += len;
            at
        };
        let parted = specials.iter();
        let parted = parted.map(|(nchunk, chunk)| (*nchunk, next(chunk.len())));
        let placed = parted.list()?;
        let new = change.items().map(|item| match item {
            Item::Stored(chunk) => Ok(next(chunk.len())),
            Item::Special(kind) => Ok(special_offset(kind)),
            Item::Edited(_) => Err(Error::InvalidParam),
        });
        let new = new.try_list()?;
        change.delta_with(&self.offsets, placed.iter().copied(), &new)
    }

    /// Puts a chunk behind the others; gives its offset.
    fn put(&mut self, chunk: &[u8]) -> Result<i64> {
        self.open_end()?.extend(chunk)?;
        let at = self.data_len as i64;
        self.data_len += chunk.len();
        Ok(at)
    }

    /// The chunks that are replaced. None if they share bytes with others: then each new chunk gets bytes of its own.
    fn replaced<'a>(&self, items: &[(usize, Item<'a>)]) -> Result<Option<Replacement<'a>>> {
        let mut over = List::with_capacity(items.len())?;
        for (nchunk, item) in items {
            let ChunkPlace::At(place) = self.offsets.place(*nchunk)? else {
                continue;
            };
            over.push_within_capacity(Replaced {
                at: place as usize,
                len: self.stored_len(*nchunk)?,
                new: match item {
                    Item::Stored(chunk) => chunk,
                    Item::Special(_) => &[],
                    Item::Edited(_) => return Err(Error::InvalidParam),
                },
            });
        }
        Replacement::new(over)
    }

    /// Puts chunks in the places of others. Those that cannot have that place go behind the last chunk.
    fn update(&mut self, items: &[(usize, Item)], over: Option<Replacement>) -> Result<()> {
        let in_place = over.is_some();
        let (header_len, data_len) = (self.header_len, self.data_len);
        if let Some(over) = over {
            self.open_end()?;
            if let Some(buffer) = self.bytes.owned_mut() {
                self.data_len = over.apply(buffer, header_len, data_len, &mut self.offsets)?;
            }
        }
        for (nchunk, item) in items {
            let has_place = matches!(self.offsets.place(*nchunk)?, ChunkPlace::At(_));
            let offset = match item {
                Item::Stored(_) if in_place && has_place => continue,
                Item::Stored(chunk) => self.put(chunk)?,
                Item::Special(kind) => special_offset(*kind),
                Item::Edited(_) => return Err(Error::InvalidParam),
            };
            Delta::Set(*nchunk, offset).apply(&mut self.offsets)?;
        }
        Ok(())
    }

    fn set_header(&mut self, header: &[u8]) -> Result<()> {
        let old = self.header_len;
        if let Some(buffer) = self.bytes.owned_mut() {
            if header.len() == old {
                buffer[..old].copy_from_slice(header);
            } else {
                replace(buffer, 0, old, header)?;
                self.header_len = header.len();
            }
        }
        Ok(())
    }

    /// Removes free bytes: those of chunks that are gone, and between the blocks of others.
    fn pack(&mut self) -> Result<()> {
        let mut places = self.offsets.places().list()?;
        places.sort_unstable();
        places.dedup();
        let data = &self.bytes[self.header_len..self.header_len + self.data_len];
        let mut packed = Buffer::new();
        packed.reserve(self.header_len + self.data_len)?;
        packed.extend(&self.bytes[..self.header_len])?;
        let mut moved = List::with_capacity(places.len())?;
        let mut end = 0;
        for place in places {
            let chunk = data.get(place as usize..).ok_or(Error::InvalidHeader)?;
            let header = ChunkHeader::parse(chunk)?;
            let chunk = chunk.get(..header.cbytes).ok_or(Error::InvalidHeader)?;
            if (place as usize) < end {
                return Err(Error::InvalidHeader);
            }
            end = place as usize + header.cbytes;
            moved.push((place, packed.len() - self.header_len))?;
            match repack(chunk)? {
                Some(chunk) => packed.extend(&chunk)?,
                None => packed.extend(chunk)?,
            }
        }
        for offset in self.offsets.list_mut()?.iter_mut() {
            let found = moved.binary_search_by_key(offset, |(from, _)| *from as i64);
            *offset = found.map_or(*offset, |i| moved[i].1 as i64);
        }
        self.data_len = packed.len() - self.header_len;
        self.bytes = packed.into();
        self.checked = CheckedChunks::default();
        self.whole = false;
        Ok(())
    }

    /// Whether [`Self::whole`] changes nothing.
    pub fn is_whole(&self) -> bool {
        self.whole && !self.loose
    }

    /// The whole frame, if [`Self::whole`] need not change anything.
    pub fn as_whole(&self) -> Option<&[u8]> {
        self.is_whole().then_some(&*self.bytes)
    }

    /// The whole frame.
    pub fn whole(&mut self) -> Result<&mut [u8]> {
        if self.loose {
            match self.pack() {
                Err(Error::MemoryAlloc) => return Err(Error::MemoryAlloc),
                // A frame with damaged chunks, or chunks that share bytes, stays as it is.
                Ok(()) | Err(_) => self.loose = false,
            }
        }
        if !self.whole {
            let index = match self.offsets.len() {
                0 => List::new(),
                _ => self.offsets.encode()?,
            };
            let data_len = self.data_len as u64;
            let more = index.len() + self.trailer.len();
            self.open_end()?.reserve(more)?;
            if let Some(buffer) = self.bytes.owned_mut() {
                buffer.extend(&index)?;
                buffer.extend(&self.trailer)?;
                let len = buffer.len();
                set_extent(buffer, len as u64, data_len);
                let (front, trailer) = buffer.split_at_mut(len - self.trailer.len());
                let header = &mut front[..self.header_len];
                let any = self.checksums.is_any();
                let index_crc = any.then(|| fingerprint::of_index(&index));
                fingerprint::stamp(self.checksums, index_crc, header, trailer);
            }
            self.whole = true;
        }
        Ok(self.bytes.in_place())
    }

    /// Bytes of the whole frame.
    pub fn frame_len(&mut self) -> Result<u64> {
        Ok(self.whole()?.len() as u64)
    }

    /// Copies a borrowed buffer, so that the original is not used any more.
    pub fn own(&mut self) -> Result<()> {
        self.bytes.to_mut().map(drop)
    }

    /// Where the frame is, if its buffer is borrowed.
    pub fn borrowed(&self) -> Option<*const u8> {
        self.bytes.borrowed()
    }

    /// Makes the borrowed buffer the frame's own.
    pub fn take_over(&mut self, buffer: HandedOver) {
        self.bytes.take_over(buffer);
    }

    /// The whole frame as a buffer.
    ///
    /// # Errors
    /// [`Error::Failure`] for one that is borrowed; those of [`Self::whole`].
    pub fn into_frame(mut self) -> Result<Buffer> {
        self.whole()?;
        self.bytes.into_owned().ok_or(Error::Failure)
    }
}

fn item_len(item: &Item) -> usize {
    match item {
        Item::Stored(chunk) => chunk.len(),
        Item::Special(_) | Item::Edited(_) => 0,
    }
}

/// Writes `new` over `len` bytes at `at`, moving those behind if the sizes differ.
fn replace(buffer: &mut Buffer, at: usize, len: usize, new: &[u8]) -> Result<()> {
    let end = buffer.len();
    if new.len() > len {
        buffer.resize(end + new.len() - len)?;
    }
    if new.len() != len {
        buffer.copy_within(at + len..end, at + new.len());
        buffer.resize(end + new.len() - len)?;
    }
    buffer[at..at + new.len()].copy_from_slice(new);
    Ok(())
}

/// The index at the front of bytes.
fn index_bytes(bytes: &[u8]) -> &[u8] {
    let len = ChunkHeader::parse_basic(bytes).map_or(0, |header| header.cbytes);
    bytes.get(..len).unwrap_or_default()
}

/// How many offsets an index has.
fn held(index: &[u8]) -> Result<usize> {
    Ok(ChunkHeader::parse_basic(index)?.nbytes / WIDTH)
}

/// The offsets in the index of a frame with this header; there may be no index.
fn offsets_in(index: Option<&[u8]>, header: &Header, frame_len: u64) -> Result<Offsets> {
    let count = match (header.nchunks(), index) {
        // The reference leaves the size as it is when the last chunk is deleted.
        (Some(0), None | Some([])) => Some(0),
        (_, None) => return Err(Error::InvalidHeader),
        (Some(0) | None, _) => None,
        (Some(count), _) => Some(usize::try_from(count).map_err(|_| Error::InvalidHeader)?),
    };
    match (count, index) {
        // Only in a file may an index have more offsets than count, during an append.
        (Some(count), Some(index)) if count > 0 && held(index)? != count => {
            Err(Error::InvalidHeader)
        }
        (Some(0), _) | (_, None) => Ok(Offsets::EMPTY),
        (count, Some(index)) => match Offsets::decode(index, count, header.kind, frame_len) {
            Err(_) if header.nbytes <= 0 => Ok(Offsets::EMPTY),
            other => other,
        },
    }
}

fn parse(bytes: &[u8]) -> Result<(Extent, Loaded, Offsets, List<u8>)> {
    if !Header::has_magic(bytes) {
        return Err(Error::InvalidHeader);
    }
    let extent = Extent::parse(bytes)?;
    if extent.frame_len != bytes.len() as u64 {
        return Err(Error::InvalidHeader);
    }
    let header = Header::parse(bytes)?;
    if header.kind != FrameKind::Contiguous {
        return Err(Error::FrameType);
    }
    let header_len = u64::from(extent.header_len);
    let end = bytes
        .len()
        .checked_sub(trailer::MIN_LEN)
        .ok_or(Error::InvalidHeader)?;
    let trailer_len = trailer::len(&bytes[end..], extent.frame_len, header_len)?;
    let mut trailer_pos = bytes.len() - trailer_len;
    let mut trailer = bytes[trailer_pos..].to_list()?;
    let vlmetalayers = match trailer::parse(&trailer) {
        // In a frame without data the trailer begins behind the header, whatever length it records at its end.
        Err(_) if header.nbytes <= 0 => {
            trailer_pos = extent.header_len as usize;
            trailer = bytes[trailer_pos..].to_list()?;
            trailer::correct_len(&mut trailer)?;
            trailer::parse(&trailer)?
        }
        parsed => parsed?,
    };
    let index = header_len
        .checked_add(extent.cbytes)
        .filter(|pos| *pos <= trailer_pos as u64)
        .map(|pos| &bytes[pos as usize..trailer_pos]);
    let offsets = offsets_in(index, &header, extent.frame_len)?;
    offsets.check(header.kind, &extent)?;
    let index_crc = || match index {
        Some(index) if !offsets.is_empty() => fingerprint::of_index(index_bytes(index)),
        _ => 0,
    };
    let coverage = fingerprint::check(&bytes[..extent.header_len as usize], index_crc, &trailer)?;
    Ok((
        extent,
        Loaded {
            header,
            vlmetalayers,
            coverage,
        },
        offsets,
        trailer,
    ))
}
