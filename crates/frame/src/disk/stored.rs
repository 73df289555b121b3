//! Finds and reads the bytes of chunks on disk.

use super::Disk;
use super::limits::MAX_COMPACT_LEN;
use super::view::{Pending, patches};
use crate::fingerprint::ChecksumScope;
use crate::header::FrameKind;
use crate::journal::overlay;
use crate::offsets::{ChunkPosition, Found, Offsets};
use oxiblosc_base::memory::{Buffer, Shared};
use oxiblosc_base::{Context, Doing, Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MIN_HEADER_LENGTH};
use oxiblosc_chunk::source::BlockSource;
use oxiblosc_io::{Mode, Storage};

/// The most bytes that a chunk is expected to have: no more are read before its header is known.
const MAX_EXPECTED: u64 = 64 << 20;

/// The bytes of a chunk on disk. Positions and lengths are in bytes.
pub struct Stored {
    /// The open file.
    pub file: Shared<dyn Storage>,
    /// Where the chunk begins in the file.
    pub pos: u64,
    /// The most bytes that it can have.
    pub max_len: u64,
    /// The number of bytes that it probably has.
    pub expected: Option<u64>,
    /// The number of free bytes behind it; none if it cannot be changed in place.
    pub tail: Option<u64>,
    /// Whether a chunk that replaces it may have free space between its blocks.
    pub slack: bool,
    /// Where the frame begins in the file.
    base: u64,
    /// See [`FrameView::pending`].
    pending: Pending,
    /// Which checksums the frame has.
    checksums: ChecksumScope,
}

impl BlockSource for Stored {
    fn read_at(&self, pos: usize, buf: &mut [u8]) -> Result<()> {
        self.read(pos as u64, buf)
    }
}

impl Stored {
    /// Fills `buf` with the bytes of the chunk from `at` on.
    ///
    /// # Errors
    /// [`Error::FILE_READ`].
    pub fn read(&self, at: u64, buf: &mut [u8]) -> Result<()> {
        if at.saturating_add(buf.len() as u64) > self.max_len {
            return Err(Error::FILE_READ);
        }
        self.file
            .read_at(self.pos + at, buf)
            .doing(Doing::ReadChunk)?;
        self.overlay(at, buf);
        Ok(())
    }

    /// Restores the old bytes, before an uncommitted change, in bytes that were read at `at`.
    fn overlay(&self, at: u64, bytes: &mut [u8]) {
        overlay(
            patches(&self.pending),
            (self.pos + at).saturating_sub(self.base),
            bytes,
        );
    }

    /// Reads the first bytes of the chunk and parses its header. At most `first` bytes are read,
    /// and at least the header.
    fn start(&self, first: u64) -> Result<(Buffer, ChunkHeader)> {
        let first = self.max_len.min(first) as usize;
        if first < MIN_HEADER_LENGTH {
            return Err(Error::FILE_READ);
        }
        let mut bytes = Buffer::new();
        self.extend(&mut bytes, first)?;
        let header = ChunkHeader::parse(&bytes).doing(Doing::ReadChunk)?;
        if header.cbytes as u64 > self.max_len {
            return Err(Error::INVALID_HEADER.at(Doing::ReadChunk));
        }
        self.checksums.check_chunk(&header)?;
        Ok((bytes, header))
    }

    /// Reads more of the chunk until `bytes` has its first `len` bytes.
    fn extend(&self, bytes: &mut Buffer, len: usize) -> Result<()> {
        let have = bytes.len();
        if len as u64 > self.max_len {
            return Err(Error::FILE_READ);
        }
        if len > have {
            let at = self.pos + have as u64;
            let read = self.file.append_to(bytes, at, len - have);
            read.doing(Doing::ReadChunk)?;
            self.overlay(have as u64, &mut bytes[have..]);
        }
        Ok(())
    }

    /// Reads the front of the chunk: its first `first` bytes, and at least up to the end of the
    /// table of block starts.
    ///
    /// # Errors
    /// Those of reading and of a damaged chunk; [`Error::MEMORY_ALLOC`].
    pub fn prefix(&self, first: u64) -> Result<(Buffer, ChunkHeader)> {
        let (mut bytes, header) = self.start(first)?;
        self.extend(&mut bytes, Chunk::prefix_wanted(&header))?;
        Ok((bytes, header))
    }

    /// Reads the whole chunk.
    ///
    /// # Errors
    /// As for [`Self::prefix`].
    pub fn whole(&self) -> Result<Buffer> {
        // Most chunks are read with one call.
        const FIRST: u64 = 64 << 10;
        let (mut bytes, header) = self.start(self.expected.unwrap_or(FIRST))?;
        self.extend(&mut bytes, header.cbytes)?;
        bytes.resize(header.cbytes)?;
        Ok(bytes)
    }

    /// Reads the chunk's header.
    ///
    /// # Errors
    /// Those of reading and of a damaged header.
    pub fn header(&self) -> Result<ChunkHeader> {
        let mut prefix = [0; EXTENDED_HEADER_LENGTH];
        let len = self.max_len.min(prefix.len() as u64) as usize;
        if len < MIN_HEADER_LENGTH {
            return Err(Error::FILE_READ);
        }
        self.read(0, &mut prefix[..len])?;
        let header = ChunkHeader::parse(&prefix[..len])?;
        if header.cbytes as u64 > self.max_len {
            return Err(Error::INVALID_HEADER);
        }
        Ok(header)
    }
}

impl Disk {
    /// Finds chunk `nchunk`, in the frame as it was last read.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; [`Error::INVALID_HEADER`] if it lies
    /// outside of the frame. [`Error::FILE_OPEN`] may mean that it was replaced since the frame was
    /// read, and its file removed.
    pub fn find(&mut self, nchunk: usize) -> Result<Found<Stored>> {
        let position = match self.view.offsets.position(nchunk)? {
            ChunkPosition::At(position) => position,
            ChunkPosition::Special(kind) => return Ok(Found::Special(kind)),
        };
        let extent = self.view.extent;
        match self.location.kind {
            FrameKind::Contiguous => {
                if position > extent.cbytes {
                    return Err(Error::INVALID_HEADER);
                }
                let stored = self.stored_at(position)?;
                let is_list = matches!(self.view.offsets, Offsets::List(_));
                let space = self.space.as_ref().filter(|_| is_list);
                Ok(Found::Stored(Stored {
                    expected: self.distance_to_next(nchunk, position),
                    tail: Some(space.map_or(0, |space| space.free.tail(position))),
                    ..stored
                }))
            }
            FrameKind::Sparse => self.stored_apart(position).map(Found::Stored),
        }
    }

    /// The chunk that begins `position` bytes behind the header of a contiguous frame. Callers have
    /// checked `position`.
    pub(super) fn stored_at(&mut self, position: u64) -> Result<Stored> {
        let extent = self.view.extent;
        Ok(Stored {
            file: self.current_reader()?,
            pos: self.location.base + u64::from(extent.header_len) + position,
            max_len: extent.cbytes.saturating_sub(position),
            expected: None,
            tail: None,
            slack: self.view.extent.frame_len > MAX_COMPACT_LEN,
            base: self.location.base,
            pending: self.view.pending.clone(),
            checksums: self.view.checksums,
        })
    }

    /// The chunk in the file with this number.
    pub(super) fn stored_apart(&self, number: u64) -> Result<Stored> {
        self.check_reachable()?;
        let mut paths = self.chunk_paths()?;
        let file = self.options.backend.open(paths.of(number)?, Mode::Read)?;
        let max_len = file.size()?;
        Ok(Stored {
            file,
            pos: 0,
            max_len,
            expected: Some(max_len).filter(|len| *len <= MAX_EXPECTED),
            tail: None,
            slack: false,
            base: 0,
            pending: None,
            checksums: self.view.checksums,
        })
    }

    /// The distance in bytes from a chunk to the next one, if that lies behind it: usually the
    /// length of the chunk.
    fn distance_to_next(&self, nchunk: usize, position: u64) -> Option<u64> {
        let next = u64::try_from(self.view.offsets.get(nchunk + 1)?).ok()?;
        next.checked_sub(position)
            .filter(|distance| (EXTENDED_HEADER_LENGTH as u64..=MAX_EXPECTED).contains(distance))
    }

    /// The chunk that a lazy chunk refers to. In a contiguous frame, `offset` is in bytes from the
    /// start of the frame, in a sparse one it is the number of a file.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for an offset outside of the frame; [`Error::FILE_OPEN`].
    pub fn at(&mut self, offset: i64) -> Result<Stored> {
        let offset = u64::try_from(offset).map_err(|_| Error::INVALID_PARAM)?;
        match self.location.kind {
            FrameKind::Contiguous => {
                // Nobody has compared the header before.
                self.forget_closed_reader();
                let extent = self.view.extent;
                let end = u64::from(extent.header_len).saturating_add(extent.cbytes);
                Ok(Stored {
                    pos: self.location.base + offset,
                    max_len: end.checked_sub(offset).ok_or(Error::INVALID_PARAM)?,
                    ..self.stored_at(0)?
                })
            }
            FrameKind::Sparse => self.stored_apart(offset),
        }
    }

    /// Where the last chunk ends, in bytes from the end of the header.
    pub(super) fn data_end(&mut self) -> Result<u64> {
        let Some(last) = self.view.offsets.positions().max() else {
            return Ok(0);
        };
        let chunk = self.stored_at(last)?;
        // If it cannot be read, it may be as long as possible.
        let len = chunk
            .header()
            .map_or(chunk.max_len, |header| header.cbytes as u64);
        Ok(last + len)
    }
}
