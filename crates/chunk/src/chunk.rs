//! A chunk whose header, block starts, dictionary and checksums were checked.

mod blocks;

use super::checked::Checked;
use super::checksum::{self, Checksums, TableLayout};
use super::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special, flags2, i32_at};
use super::source::{BlockSource, LazyBlocks, read_prefix};
use oxiblosc_base::memory::{AlignedBuffer, TryVec, boxed};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{Codec, Dict};
use oxiblosc_filters as filters;

/// Offset of the flags byte that says whether a chunk is lazy.
const LAZY_FLAG: usize = EXTENDED_HEADER_LENGTH - 1;

/// A chunk whose header, block starts and dictionary were checked; only its streams may still turn
/// out to be damaged.
pub struct Chunk<'a> {
    pub(super) header: &'a ChunkHeader,
    /// The whole chunk, `header.cbytes` long; only the front of a lazy one.
    bytes: &'a [u8],
    lazy: Option<Box<LazyBlocks<'a>>>,
    pub(super) dict: Option<Box<Dict>>,
    /// For variable-length blocks: where the data of each block begin in the chunk's data, and
    /// where the last ends. Empty in a lazy chunk, where this is unknown.
    pub(super) offsets: TryVec<usize>,
    /// Where header, block starts and dictionary end.
    table_start: usize,
    /// The checksums of the blocks, if there are any.
    checksums: Option<Checksums<'a>>,
    /// Which blocks need not be checked again.
    checked: Checked<'a>,
}

impl<'a> Chunk<'a> {
    /// Checks the chunk at the front of `src`, whose header has been read.
    ///
    /// # Errors
    /// [`Error::INVALID_HEADER`] if `src` is cut short, or header and blocks contradict each other;
    /// [`Error::DATA`] if a checksum is wrong.
    pub fn parse(header: &'a ChunkHeader, src: &'a [u8]) -> Result<Self> {
        let mut chunk = None;
        Self::parse_into(&mut chunk, header, src)?;
        chunk.ok_or(Error::FAILURE)
    }

    /// The same for a chunk of which some parts were checked before.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn parse_checked(
        header: &'a ChunkHeader,
        src: &'a [u8],
        checked: Checked<'a>,
    ) -> Result<Self> {
        let mut chunk = None;
        Self::parse_checked_into(&mut chunk, header, src, checked)?;
        chunk.ok_or(Error::FAILURE)
    }

    /// The same as [`Self::parse`], but into the caller's variable, since moving a `Chunk` takes as
    /// long as checking a small one.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    #[inline(always)]
    pub fn parse_into<'c>(
        place: &'c mut Option<Self>,
        header: &'a ChunkHeader,
        src: &'a [u8],
    ) -> Result<&'c Self> {
        Self::parse_checked_into(place, header, src, Checked::NEVER)
    }

    /// The same as [`Self::parse_checked`], but into the caller's variable.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    #[inline(never)]
    pub fn parse_checked_into<'c>(
        place: &'c mut Option<Self>,
        header: &'a ChunkHeader,
        src: &'a [u8],
        checked: Checked<'a>,
    ) -> Result<&'c Self> {
        if header.cbytes > src.len() && !header.is_lazy() {
            return Err(Error::INVALID_HEADER);
        }
        if header.is_lazy() && header.special() == Special::None {
            // The blocks of a lazy chunk are in a frame, which is not known here.
            return Err(Error::INVALID_PARAM);
        }
        let chunk = place.insert(Self::unchecked(header, src));
        chunk.checked = checked;
        chunk.check(None)?;
        Ok(chunk)
    }

    /// Checks a chunk whose blocks are read from `source` when they are needed. `prefix` is the
    /// first bytes of the chunk, at least [`Self::prefix_len`].
    ///
    /// It can be used as a chunk in memory, with the same results. To read items or a block costs
    /// one read for each block that is touched; of a stored chunk exactly the wanted bytes are
    /// read, and of special values none.
    ///
    /// # Errors
    /// As for [`Self::parse`]; [`Error::DATA`] for a lazy chunk with checksums;
    /// [`Error::MEMORY_ALLOC`].
    pub fn lazy(
        header: &'a ChunkHeader,
        prefix: &'a [u8],
        source: &'a dyn BlockSource,
    ) -> Result<Self> {
        if header.is_lazy() && header.has_checksums() {
            // The checksums belong to the header of the chunk in the frame, which is not lazy.
            return Err(Error::DATA);
        }
        Self::lazy_copy(header, prefix, source)
    }

    /// The same for a lazy chunk. It differs from the chunk in `source` in the flag that says so
    /// and in everything behind its block starts.
    ///
    /// # Errors
    /// As for [`Self::lazy`].
    pub fn lazy_copy(
        header: &'a ChunkHeader,
        prefix: &'a [u8],
        source: &'a dyn BlockSource,
    ) -> Result<Self> {
        if prefix.len() < Self::prefix_len(header) {
            return Err(Error::READ_BUFFER);
        }
        Self::new(header, prefix, Some(source))
    }

    /// The length of a chunk's front, which says where its blocks are: header, block starts and
    /// checksums (those behind a dictionary are not counted). For a chunk of special values it is
    /// the length of the chunk.
    pub fn prefix_len(header: &ChunkHeader) -> usize {
        // A lazy chunk has a trailer behind its block starts instead of checksums.
        let more = match header.has_checksums() && !header.is_lazy() {
            true => TableLayout::of(header).table_len(),
            false => 0,
        };
        match header.special() {
            Special::None if header.is_memcpyed() => header.overhead(),
            Special::None => (header.overhead() + 4 * header.nblocks + more).min(header.cbytes),
            _ => header.cbytes,
        }
    }

    /// As [`Self::prefix_len`], with what follows if the header says that there are no checksums,
    /// so that this can be checked.
    pub fn prefix_wanted(header: &ChunkHeader) -> usize {
        let more = match header.has_checksums() || header.special() != Special::None {
            true => 0,
            false => checksum::MAGIC.len(),
        };
        (Self::prefix_len(header) + more).min(header.cbytes)
    }

    fn new(
        header: &'a ChunkHeader,
        src: &'a [u8],
        source: Option<&'a dyn BlockSource>,
    ) -> Result<Self> {
        let mut chunk = Self::unchecked(header, src);
        chunk.check(source)?;
        Ok(chunk)
    }

    /// A chunk that is still to be checked.
    #[inline(always)]
    fn unchecked(header: &'a ChunkHeader, src: &'a [u8]) -> Self {
        Self {
            header,
            bytes: &src[..header.cbytes.min(src.len())],
            lazy: None,
            dict: None,
            offsets: TryVec::new(),
            table_start: header.overhead(),
            checksums: None,
            checked: Checked::NEVER,
        }
    }

    /// Checks the block starts, reads the dictionary, and finds out where variable-length blocks
    /// begin.
    #[inline(always)]
    fn check(&mut self, source: Option<&'a dyn BlockSource>) -> Result<()> {
        let header = self.header;
        if header.is_memcpyed() && header.cbytes != header.nbytes + header.overhead() {
            return Err(Error::DATA);
        }
        let empty = header.nbytes == 0 && header.cbytes == header.overhead();
        let streams = self.has_streams() && !empty;
        if streams && self.starts_end() > self.bytes.len() {
            return Err(Error::READ_BUFFER);
        }
        if let Some(source) = source {
            let starts = if streams { self.starts() } else { &[] };
            let lazy = LazyBlocks::new(source, starts, header.cbytes)?;
            self.lazy = Some(boxed(lazy)?);
        }
        if streams {
            self.table_start = self.starts_end();
            if header.blosc2_flags & flags2::USE_DICT != 0 {
                self.table_start += 4 + self.dict_len()?;
            }
        }
        if header.has_checksums() {
            self.checksums = self.read_checksums(streams)?;
        } else if checksum::has_unflagged_checksums(header, self.bytes) {
            return Err(Error::DATA);
        }
        if streams {
            self.dict = self.read_dict()?;
            if header.has_vlblocks() {
                if header.nbytes == 0 {
                    // No block is empty.
                    return Err(Error::INVALID_HEADER);
                }
                if source.is_none() {
                    self.offsets = self.read_offsets()?;
                }
            }
        }
        Ok(())
    }

    fn read_checksums(&self, streams: bool) -> Result<Option<Checksums<'a>>> {
        if !streams {
            if self.header.nbytes > 0 && !self.is_special() {
                return Err(Error::DATA);
            }
            checksum::check_header_only(self.bytes)?;
            return Ok(None);
        }
        let layout = TableLayout::of(self.header);
        let to = self.table_start + layout.table_len();
        if let Some(prefix) = self.bytes.get(..to) {
            if !self.checked.has_prefix() {
                checksum::check_prefix(prefix)?;
                self.checked.add_prefix();
            }
            return Checksums::in_table(&prefix[self.table_start..], layout).map(Some);
        }
        let Some(lazy) = self.lazy.as_ref().filter(|_| to <= self.header.cbytes) else {
            return Err(Error::DATA);
        };
        let mut bytes = read_prefix(lazy.source, to)?;
        // The front that was used until now is the one that has to match.
        bytes[..self.bytes.len()].copy_from_slice(self.bytes);
        if self.header.is_lazy() {
            bytes[LAZY_FLAG] &= !flags2::LAZY;
        }
        Checksums::in_prefix(&bytes, self.header)?.kept().map(Some)
    }

    /// The checksums of the blocks.
    pub(super) fn checksums(&self) -> Option<&Checksums<'a>> {
        self.checksums.as_ref()
    }

    /// Whether block `nblock` was checked before, and need not be again.
    pub(super) fn was_checked(&self, nblock: usize) -> bool {
        self.checked.has_block(nblock)
    }

    /// Where header, block starts and dictionary end.
    pub(super) fn table_start(&self) -> usize {
        self.table_start
    }

    /// All bytes of a lazy chunk.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the chunk is not lazy; those of reading it;
    /// [`Error::MEMORY_ALLOC`].
    pub fn load(&self) -> Result<TryVec<u8>> {
        let source = self.lazy.as_ref().ok_or(Error::INVALID_PARAM)?.source;
        let mut bytes = read_prefix(source, self.header.cbytes)?;
        // The source may have changed since: everything else relies on the header that was checked.
        let prefix = self.bytes.len().min(bytes.len());
        bytes[..prefix].copy_from_slice(&self.bytes[..prefix]);
        Ok(bytes)
    }

    /// The chunk that [`Self::load`] returned; `header` is that of the lazy chunk.
    ///
    /// # Errors
    /// As for [`Self::lazy`].
    pub fn loaded(header: &'a ChunkHeader, bytes: &'a [u8]) -> Result<Self> {
        if header.cbytes > bytes.len() {
            return Err(Error::INVALID_HEADER);
        }
        if header.is_lazy() && header.has_checksums() {
            // As in `lazy`.
            return Err(Error::DATA);
        }
        Self::new(header, bytes, None)
    }

    /// Whether this is a lazy chunk, whose blocks are read from a [`BlockSource`].
    pub fn is_lazy(&self) -> bool {
        self.lazy.is_some()
    }

    /// The header.
    pub fn header(&self) -> &'a ChunkHeader {
        self.header
    }

    /// Whether there are block starts and streams.
    pub(super) fn has_streams(&self) -> bool {
        self.header.special() == Special::None && !self.header.is_memcpyed()
    }

    fn starts_end(&self) -> usize {
        self.header.overhead() + 4 * self.header.nblocks
    }

    /// The table of block starts.
    #[inline(always)]
    fn starts(&self) -> &'a [u8] {
        &self.bytes[self.header.overhead()..self.starts_end()]
    }

    /// Where block `nblock` starts in the chunk, as its table says.
    #[inline(always)]
    pub(super) fn start(&self, nblock: usize) -> i32 {
        i32_at(self.bytes, self.header.overhead() + 4 * nblock)
    }

    /// The bytes of the chunk from `from` to `to`, read into `buf` in a lazy chunk.
    #[inline(always)]
    fn fetch<'s>(&'s self, from: usize, to: usize, buf: &'s mut AlignedBuffer) -> Result<&'s [u8]> {
        match &self.lazy {
            Some(lazy) if to > self.bytes.len() => {
                if from > to || to > self.header.cbytes {
                    return Err(Error::READ_BUFFER);
                }
                lazy.read(from, to - from, buf)
            }
            _ => self.bytes.get(from..to).ok_or(Error::READ_BUFFER),
        }
    }

    /// Copies to `out` what follows the header of a chunk without streams, from byte `from` on.
    pub(super) fn stored(&self, from: usize, out: &mut [u8]) -> Result<()> {
        let from = self.header.overhead() + from;
        match &self.lazy {
            Some(lazy) if from + out.len() <= self.header.cbytes => lazy.source.read_at(from, out),
            _ => {
                let bytes = self.bytes.get(from..from + out.len());
                filters::copy(bytes.ok_or(Error::READ_BUFFER)?, out);
                Ok(())
            }
        }
    }

    /// The repeated value that follows the header of a chunk of special values.
    pub(super) fn value(&self) -> &'a [u8] {
        &self.bytes[self.header.overhead()..]
    }

    /// The whole chunk; only the front of a lazy one.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    fn dict_len(&self) -> Result<usize> {
        let at = self.starts_end();
        let mut buf = AlignedBuffer::default();
        let len = i32_at(self.fetch(at, at + 4, &mut buf)?, 0);
        let len = usize::try_from(len).unwrap_or(0);
        match (1..=oxiblosc_codecs::MAX_DICT_SIZE).contains(&len) {
            true => Ok(len),
            false if self.header.has_checksums() => Err(Error::DATA),
            false => Err(Error::CODEC_DICT),
        }
    }

    fn read_dict(&self) -> Result<Option<Box<Dict>>> {
        let at = self.starts_end();
        if self.table_start == at {
            return Ok(None);
        }
        let mut buf = AlignedBuffer::default();
        // The bytes behind the dictionary tell whether there are checksums although the header says
        // that there are none.
        let end = (self.table_start + checksum::MAGIC.len()).min(self.header.cbytes);
        let bytes = self.fetch(at + 4, end, &mut buf)?;
        let (raw, behind) = bytes
            .split_at_checked(self.table_start - at - 4)
            .ok_or(Error::READ_BUFFER)?;
        if behind == checksum::MAGIC && !self.header.has_checksums() {
            return Err(Error::DATA);
        }
        match Codec::from_format(self.header.flags >> 5) {
            Some(codec) if codec.supports_dict() => {
                Ok(Some(boxed(Dict::for_decompression(codec, raw)?)?))
            }
            _ => Ok(None),
        }
    }

    /// Reads where the data of variable-length blocks begin: each block has the size of its data in
    /// front. The starts must ascend, and the sizes add up to that of the chunk's data.
    fn read_offsets(&self) -> Result<TryVec<usize>> {
        let nblocks = self.header.nblocks;
        let mut offsets = TryVec::new();
        offsets.reserve_exact(nblocks + 1)?;
        offsets.push(0)?;
        let mut total = 0usize;
        for nblock in 0..nblocks {
            let (start, end) = self.vl_span(nblock).ok_or(Error::INVALID_HEADER)?;
            if start < self.starts_end() || end - start < 4 {
                return Err(Error::INVALID_HEADER);
            }
            let nbytes = i32_at(self.bytes, start);
            if nbytes <= 0 {
                return Err(Error::INVALID_HEADER);
            }
            total += nbytes as usize;
            if total > self.header.nbytes {
                return Err(Error::INVALID_HEADER);
            }
            offsets.push(total)?;
        }
        if total == self.header.nbytes {
            Ok(offsets)
        } else {
            Err(Error::INVALID_HEADER)
        }
    }
}
