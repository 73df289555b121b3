//! Decompressing a chunk, whole or block by block.

use super::checked::Checked;
use super::checksum::{self, Checksums, Layout, PAGE};
use super::decode_block::{BlockDecoder, Streams};
use super::encode::workers;
use super::header::{Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, Special, flags2, i32_at};
use super::hooks::{BlockPos, Executor, Hooks};
use super::pipeline::Pipeline;
use super::scratch;
use super::source::{BlockSource, LazyBlocks, read_front};
use super::special;
use super::store::{copy, in_pieces};
use super::work_stealing::StealingQueue;
use oxiblosc_codecs::{Codec, Dict};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters as filters;
use oxiblosc_memory::{AlignedBuffer, List, boxed};

/// The byte of a chunk that says it is lazy.
const LAZY_FLAG: usize = EXTENDED_HEADER_LENGTH - 1;

/// A chunk whose header, block starts and dictionary were checked: what is left to find wrong is in the streams.
pub struct Chunk<'a> {
    pub(super) header: &'a ChunkHeader,
    /// The whole chunk, `header.cbytes` long; of a lazy one, only the front.
    bytes: &'a [u8],
    lazy: Option<Box<LazyBlocks<'a>>>,
    pub(super) dict: Option<Box<Dict>>,
    /// For variable-length blocks: where the data of each block begin in the chunk's data, and the end. Unknown, and
    /// empty, in a lazy chunk.
    pub(super) offsets: List<usize>,
    /// Where header, block starts and dictionary end.
    front_end: usize,
    /// Of the blocks, if the chunk has any.
    checksums: Option<Checksums<'a>>,
    /// What need not be checked by them.
    checked: Checked<'a>,
}

impl<'a> Chunk<'a> {
    /// Checks the chunk at the front of `src`, whose header has been read.
    pub fn parse(header: &'a ChunkHeader, src: &'a [u8]) -> Result<Self> {
        let mut chunk = None;
        Self::parse_into(&mut chunk, header, src)?;
        chunk.ok_or(Error::Failure)
    }

    /// The same, of which some may have been checked before.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn parse_checked(
        header: &'a ChunkHeader,
        src: &'a [u8],
        checked: Checked<'a>,
    ) -> Result<Self> {
        let mut chunk = None;
        Self::parse_parts(&mut chunk, header, src, checked)?;
        chunk.ok_or(Error::Failure)
    }

    /// The same as [`Self::parse`], into the caller's variable: moving a chunk takes as long as checking a small one.
    #[inline(always)]
    pub fn parse_into<'c>(
        place: &'c mut Option<Self>,
        header: &'a ChunkHeader,
        src: &'a [u8],
    ) -> Result<&'c Self> {
        Self::parse_parts(place, header, src, Checked::NEVER)
    }

    #[inline(never)]
    fn parse_parts<'c>(
        place: &'c mut Option<Self>,
        header: &'a ChunkHeader,
        src: &'a [u8],
        checked: Checked<'a>,
    ) -> Result<&'c Self> {
        if header.cbytes > src.len() && !header.is_lazy() {
            return Err(Error::InvalidHeader);
        }
        if header.is_lazy() && header.special() == Special::None {
            // The blocks of a lazy chunk are in a frame, which is not given here.
            return Err(Error::InvalidParam);
        }
        let chunk = place.insert(Self::unchecked(header, src));
        chunk.checked = checked;
        chunk.check(None)?;
        Ok(chunk)
    }

    /// Checks a chunk whose blocks are fetched from `source` when they are needed. `front` is the first bytes of the
    /// chunk, at least [`Self::front_len`].
    ///
    /// Everything can be done with it that can be done with a chunk in memory, and gives the same. A range of items or a
    /// block costs one read for each block that it touches; the bytes of a stored chunk are read where they are asked for,
    /// and of special values nothing is read.
    pub fn lazy(
        header: &'a ChunkHeader,
        front: &'a [u8],
        source: &'a dyn BlockSource,
    ) -> Result<Self> {
        if header.is_lazy() && header.has_checksums() {
            // They were made for another header.
            return Err(Error::Data);
        }
        Self::lazy_copy(header, front, source)
    }

    /// The same for a lazy chunk, which differs from the one in `source` by saying that it is lazy, and in all that follows its
    /// block starts.
    ///
    /// # Errors
    /// As for [`Self::lazy`].
    pub fn lazy_copy(
        header: &'a ChunkHeader,
        front: &'a [u8],
        source: &'a dyn BlockSource,
    ) -> Result<Self> {
        if front.len() < Self::front_len(header) {
            return Err(Error::ReadBuffer);
        }
        Self::new(header, front, Some(source))
    }

    /// How many bytes from the front of a chunk say where its blocks are: header and block starts, and checksums if there are
    /// any and no dictionary before them; or all there is of a chunk of special values.
    pub fn front_len(header: &ChunkHeader) -> usize {
        // In a lazy chunk there is something else behind the block starts.
        let more = match header.has_checksums() && !header.is_lazy() {
            true => Layout::of(header).table_len(),
            false => 0,
        };
        match header.special() {
            Special::None if header.is_memcpyed() => header.overhead(),
            Special::None => (header.overhead() + 4 * header.nblocks + more).min(header.cbytes),
            _ => header.cbytes,
        }
    }

    /// As [`Self::front_len`], and as much as says that there are really no checksums where the header says so.
    pub fn front_wanted(header: &ChunkHeader) -> usize {
        let more = match header.has_checksums() || header.special() != Special::None {
            true => 0,
            false => checksum::MAGIC.len(),
        };
        (Self::front_len(header) + more).min(header.cbytes)
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
            offsets: List::new(),
            front_end: header.overhead(),
            checksums: None,
            checked: Checked::NEVER,
        }
    }

    /// Checks the block starts, reads the dictionary, and finds out where variable-length blocks begin.
    #[inline(always)]
    fn check(&mut self, source: Option<&'a dyn BlockSource>) -> Result<()> {
        let header = self.header;
        if header.is_memcpyed() && header.cbytes != header.nbytes + header.overhead() {
            return Err(Error::Data);
        }
        let empty = header.nbytes == 0 && header.cbytes == header.overhead();
        let streams = self.has_streams() && !empty;
        if streams && self.starts_end() > self.bytes.len() {
            return Err(Error::ReadBuffer);
        }
        if let Some(source) = source {
            let starts = if streams { self.starts() } else { &[] };
            let lazy = LazyBlocks::new(source, starts, header.cbytes)?;
            self.lazy = Some(boxed(lazy)?);
        }
        if streams {
            self.front_end = self.starts_end();
            if header.blosc2_flags & flags2::USE_DICT != 0 {
                self.front_end += 4 + self.dict_len()?;
            }
        }
        if header.has_checksums() {
            self.checksums = self.read_checksums(streams)?;
        } else if checksum::is_denied(header, self.bytes) {
            return Err(Error::Data);
        }
        if streams {
            self.dict = self.read_dict()?;
            if header.has_vlblocks() {
                if header.nbytes == 0 {
                    // No block is empty.
                    return Err(Error::InvalidHeader);
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
                return Err(Error::Data);
            }
            checksum::check_header_only(self.bytes)?;
            return Ok(None);
        }
        let layout = Layout::of(self.header);
        let to = self.front_end + layout.table_len();
        if let Some(front) = self.bytes.get(..to) {
            if !self.checked.has_front() {
                checksum::check_front(front)?;
                self.checked.add_front();
            }
            return Checksums::in_table(&front[self.front_end..], layout).map(Some);
        }
        let Some(lazy) = self.lazy.as_ref().filter(|_| to <= self.header.cbytes) else {
            return Err(Error::Data);
        };
        let mut bytes = read_front(lazy.source, to)?;
        // What was used already is what has to be right.
        bytes[..self.bytes.len()].copy_from_slice(self.bytes);
        if self.header.is_lazy() {
            bytes[LAZY_FLAG] &= !flags2::LAZY;
        }
        Checksums::in_front(&bytes, self.header)?.kept().map(Some)
    }

    /// The checksums of the blocks.
    pub(super) fn checksums(&self) -> Option<&Checksums<'a>> {
        self.checksums.as_ref()
    }

    /// Whether all of block `nblock` was checked before.
    pub(super) fn was_checked(&self, nblock: usize) -> bool {
        self.checked.has_block(nblock)
    }

    /// Where header, block starts and dictionary end.
    pub(super) fn front_end(&self) -> usize {
        self.front_end
    }

    /// All bytes of a lazy chunk.
    pub fn load(&self) -> Result<List<u8>> {
        let source = self.lazy.as_ref().ok_or(Error::InvalidParam)?.source;
        let mut bytes = read_front(source, self.header.cbytes)?;
        // The header that was checked is the one that counts.
        let front = self.bytes.len().min(bytes.len());
        bytes[..front].copy_from_slice(&self.bytes[..front]);
        Ok(bytes)
    }

    /// The chunk that [`Self::load`] gave, with the header that was checked.
    pub fn loaded(header: &'a ChunkHeader, bytes: &'a [u8]) -> Result<Self> {
        if header.cbytes > bytes.len() {
            return Err(Error::InvalidHeader);
        }
        if header.is_lazy() && header.has_checksums() {
            // As in `lazy`.
            return Err(Error::Data);
        }
        Self::new(header, bytes, None)
    }

    /// Whether this is a lazy chunk: its blocks are fetched from a [`BlockSource`].
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
                    return Err(Error::ReadBuffer);
                }
                lazy.read(from, to - from, buf)
            }
            _ => self.bytes.get(from..to).ok_or(Error::ReadBuffer),
        }
    }

    /// What follows the header of a chunk without streams, from byte `from` on, to `out`.
    pub(super) fn stored(&self, from: usize, out: &mut [u8]) -> Result<()> {
        let from = self.header.overhead() + from;
        match &self.lazy {
            Some(lazy) if from + out.len() <= self.header.cbytes => lazy.source.read_at(from, out),
            _ => {
                let bytes = self.bytes.get(from..from + out.len());
                filters::copy(bytes.ok_or(Error::ReadBuffer)?, out);
                Ok(())
            }
        }
    }

    /// The repeated value that follows the header of a chunk of special values.
    pub(super) fn value(&self) -> &'a [u8] {
        &self.bytes[self.header.overhead()..]
    }

    /// The whole chunk; of a lazy one, only the front.
    pub(super) fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// From where to where the compressed bytes of block `nblock` go, at most: streams say themselves where they end.
    /// With `all`, to the end of the chunk, as a block may share bytes with others.
    #[inline(always)]
    fn span(&self, nblock: usize, all: bool) -> Result<(usize, usize)> {
        if self.header.has_vlblocks() {
            return self.vl_span(nblock).ok_or(Error::Data);
        }
        let start = usize::try_from(self.start(nblock)).map_err(|_| Error::Data)?;
        if start == 0 || start >= self.header.cbytes {
            return Err(Error::Data);
        }
        let end = match &self.lazy {
            Some(lazy) if !all => {
                // Many blocks may start where one does, and none is longer than this.
                let longest = start.saturating_add(self.longest_block());
                lazy.end(self.starts(), nblock).min(longest)
            }
            _ => self.header.cbytes,
        };
        Ok((start, end))
    }

    /// The most bytes that the streams of a block have: no stream is longer than its data, and each has its size in front.
    fn longest_block(&self) -> usize {
        self.header.blocksize_field() + 5 * usize::from(self.header.typesize)
    }

    /// These bytes; in a lazy chunk they are read into `buf`.
    #[inline(always)]
    pub(super) fn block_bytes<'s>(
        &'s self,
        nblock: usize,
        all: bool,
        buf: &'s mut AlignedBuffer,
    ) -> Result<&'s [u8]> {
        let (start, end) = self.span(nblock, all)?;
        let bytes = match &self.lazy {
            Some(lazy) if all => {
                let bytes = lazy.whole()?.get(start..end);
                bytes.ok_or(Error::ReadBuffer)
            }
            _ => self.fetch(start, end, buf),
        };
        match &self.checksums {
            None => bytes,
            Some(_) if self.was_checked(nblock) => bytes,
            Some(checksums) => self.checked(nblock, bytes?, checksums),
        }
    }

    /// The streams of block `nblock`, which begin with `bytes`, if they are as the checksums say.
    fn checked<'s>(
        &self,
        nblock: usize,
        bytes: &'s [u8],
        checksums: &Checksums,
    ) -> Result<&'s [u8]> {
        let streams = if self.header.has_vlblocks() {
            bytes
        } else {
            let size = self.block_nbytes(nblock)?;
            let len = streams_len(self.header, bytes, size, |_| ());
            &bytes[..len.map_err(|_| Error::Data)?]
        };
        checksums.check_block(nblock, streams)?;
        self.checked.add_block(nblock);
        Ok(streams)
    }

    /// The checksums of block `nblock`, of `bsize` bytes, if it is a stored stream whose pages can be checked; and where its data begin.
    fn stored_block(&self, nblock: usize, bsize: usize) -> Option<(&Checksums<'a>, usize)> {
        let sums = self.checksums.as_ref();
        let sums = sums.filter(|sums| sums.is_stored(nblock, bsize))?;
        Some((sums, usize::try_from(self.start(nblock)).ok()? + 4))
    }

    /// Whether block `nblock`, of `bsize` bytes, is such a block.
    pub(super) fn is_stored_block(&self, nblock: usize, bsize: usize) -> bool {
        self.stored_block(nblock, bsize).is_some()
    }

    /// Copies all of such a block into `out`. False for others.
    pub(super) fn copy_stored(
        &self,
        nblock: usize,
        out: &mut [u8],
        buf: &mut AlignedBuffer,
    ) -> Result<bool> {
        let Some((sums, start)) = self.stored_block(nblock, out.len()) else {
            return Ok(false);
        };
        let stream = self.fetch(start - 4, start + out.len(), buf)?;
        if self.was_checked(nblock) {
            filters::copy(&stream[4..], out);
        } else {
            sums.copy_pages(nblock, stream, out)?;
            self.checked.add_block(nblock);
        }
        Ok(true)
    }

    /// Copies the data from byte `start` on where they lie in such blocks that were checked. False where they do not; then `out` may be
    /// overwritten.
    pub(super) fn copy_checked(&self, start: usize, mut out: &mut [u8]) -> bool {
        let blocksize = self.header.blocksize_field();
        let mut at = start;
        while !out.is_empty() {
            let (nblock, from) = (at / blocksize, at % blocksize);
            let Some(bytes) = self.checked_part(nblock, from, out.len()) else {
                return false;
            };
            let len = bytes.len();
            let (part, rest) = out.split_at_mut(len);
            filters::copy(bytes, part);
            (at, out) = (at + len, rest);
        }
        true
    }

    /// The bytes from `from` on of such a block that was checked, at most `len`.
    fn checked_part(&self, nblock: usize, from: usize, len: usize) -> Option<&'a [u8]> {
        if !self.was_checked(nblock) {
            return None;
        }
        let bsize = self.block_nbytes(nblock).ok()?;
        let (_, data) = self.stored_block(nblock, bsize)?;
        let len = len.min(bsize.checked_sub(from)?);
        self.bytes
            .get(data + from..data + from + len)
            .filter(|bytes| !bytes.is_empty())
    }

    /// Where in a chunk of such blocks the data of the first begin, and how far apart those of all are, if each has room of its own.
    pub(super) fn stored_places(&self) -> Option<(usize, usize)> {
        let header = self.header;
        self.checksums.as_ref().filter(|sums| sums.has_pages())?;
        let size = 4 + header.blocksize_field();
        let first = header.cbytes - header.nbytes - 4 * header.nblocks;
        let is_apart = |nblock| self.start(nblock) as usize == first + nblock * size;
        let all = (0..header.nblocks).all(is_apart);
        all.then_some((first + 4, size))
    }

    /// The bytes from `from` to before `to`, or more, of such a block, and where in the block they begin.
    pub(super) fn stored_part<'s>(
        &'s self,
        (nblock, bsize): (usize, usize),
        (from, to): (usize, usize),
        buf: &'s mut AlignedBuffer,
    ) -> Result<(usize, &'s [u8])> {
        let (sums, start) = self.stored_block(nblock, bsize).ok_or(Error::Data)?;
        let (first, to) = (from / PAGE, to.next_multiple_of(PAGE).min(bsize));
        self.check_stored(nblock, bsize);
        let bytes = self.fetch(start + first * PAGE, start + to, buf)?;
        if !self.was_checked(nblock) {
            sums.check_part(nblock, first, bytes)?;
        }
        Ok((first * PAGE, bytes))
    }

    /// Checks all of such a block where that is remembered, since more reads and writes of it will come. Where other pages are damaged than
    /// those that are wanted, these are checked alone.
    pub(super) fn check_stored(&self, nblock: usize, bsize: usize) {
        if !self.checked.is_kept() || self.was_checked(nblock) {
            return;
        }
        if let Some((sums, start)) = self.stored_block(nblock, bsize)
            && let Some(stream) = self.bytes.get(start - 4..start + bsize)
            && sums.check_block(nblock, stream).is_ok()
        {
            self.checked.add_block(nblock);
        }
    }

    /// The streams of block `nblock`, in memory; a variable-length block is one.
    pub(super) fn block_streams(&self, nblock: usize) -> Result<&'a [u8]> {
        if !self.header.has_vlblocks() {
            return self.compressed(nblock, |_| ());
        }
        let (start, end) = self.vl_span(nblock).ok_or(Error::Data)?;
        self.bytes.get(start..end).ok_or(Error::ReadBuffer)
    }

    /// The streams of block `nblock`, in memory, if they are as the checksums say: they may get new checksums then.
    pub(super) fn checked_streams(&self, nblock: usize) -> Result<&'a [u8]> {
        let streams = self.compressed(nblock, |_| ())?;
        match &self.checksums {
            Some(sums) if !self.was_checked(nblock) => sums.check_block(nblock, streams)?,
            _ => {}
        }
        Ok(streams)
    }

    /// The compressed bytes of block `nblock`, all its streams and no more; `each` gets every stream with its size in
    /// front. Only of blocks in memory.
    pub(super) fn compressed(&self, nblock: usize, each: impl FnMut(&'a [u8])) -> Result<&'a [u8]> {
        let (start, end) = self.span(nblock, true)?;
        let bytes = self.bytes.get(start..end).ok_or(Error::ReadBuffer)?;
        let len = streams_len(self.header, bytes, self.block_nbytes(nblock)?, each)?;
        Ok(&bytes[..len])
    }

    fn dict_len(&self) -> Result<usize> {
        let at = self.starts_end();
        let mut buf = AlignedBuffer::default();
        let len = i32_at(self.fetch(at, at + 4, &mut buf)?, 0);
        let len = usize::try_from(len).unwrap_or(0);
        match (1..=oxiblosc_codecs::MAX_DICT_SIZE).contains(&len) {
            true => Ok(len),
            false if self.header.has_checksums() => Err(Error::Data),
            false => Err(Error::CodecDict),
        }
    }

    fn read_dict(&self) -> Result<Option<Box<Dict>>> {
        let at = self.starts_end();
        if self.front_end == at {
            return Ok(None);
        }
        let mut buf = AlignedBuffer::default();
        // What follows says whether there are really no checksums where the header says so.
        let end = (self.front_end + checksum::MAGIC.len()).min(self.header.cbytes);
        let bytes = self.fetch(at + 4, end, &mut buf)?;
        let (raw, behind) = bytes
            .split_at_checked(self.front_end - at - 4)
            .ok_or(Error::ReadBuffer)?;
        if behind == checksum::MAGIC && !self.header.has_checksums() {
            return Err(Error::Data);
        }
        match Codec::from_format(self.header.flags >> 5) {
            Some(codec) if codec.supports_dict() => {
                Ok(Some(boxed(Dict::for_decompression(codec, raw)?)?))
            }
            _ => Ok(None),
        }
    }

    /// Sizes of variable-length blocks stand at the front of each; starts must rise, sizes must add up.
    fn read_offsets(&self) -> Result<List<usize>> {
        let nblocks = self.header.nblocks;
        let mut offsets = List::new();
        offsets.reserve_exact(nblocks + 1)?;
        offsets.push(0)?;
        let mut total = 0usize;
        for nblock in 0..nblocks {
            let (start, end) = self.vl_span(nblock).ok_or(Error::InvalidHeader)?;
            if start < self.starts_end() || end - start < 4 {
                return Err(Error::InvalidHeader);
            }
            let nbytes = i32_at(self.bytes, start);
            if nbytes <= 0 {
                return Err(Error::InvalidHeader);
            }
            total += nbytes as usize;
            if total > self.header.nbytes {
                return Err(Error::InvalidHeader);
            }
            offsets.push(total)?;
        }
        if total == self.header.nbytes {
            Ok(offsets)
        } else {
            Err(Error::InvalidHeader)
        }
    }

    /// From where to where the variable-length block `nblock` goes in the chunk.
    pub(super) fn vl_span(&self, nblock: usize) -> Option<(usize, usize)> {
        let start = usize::try_from(self.start(nblock)).ok()?;
        let end = if nblock + 1 < self.header.nblocks {
            usize::try_from(self.start(nblock + 1)).ok()?
        } else {
            self.header.cbytes
        };
        (start < end && end <= self.header.cbytes).then_some((start, end))
    }

    /// Whether there is a block `nblock`. Whatever the header of a chunk without data says, it has none.
    fn has_block(&self, nblock: usize) -> bool {
        nblock < self.header.nblocks && self.header.nbytes > 0
    }

    /// Size of the data of block `nblock`. In a lazy chunk the size of a variable-length block is read, and no more than the header
    /// allows.
    pub fn block_nbytes(&self, nblock: usize) -> Result<usize> {
        if !self.has_block(nblock) {
            return Err(Error::InvalidParam);
        }
        match self.header.blocks {
            Blocks::Regular { blocksize } => {
                Ok(blocksize.min(self.header.nbytes - nblock * blocksize))
            }
            Blocks::Variable { .. } if self.lazy.is_some() => {
                let (start, end) = self.vl_span(nblock).ok_or(Error::InvalidHeader)?;
                if start < self.starts_end() || end - start < 4 {
                    return Err(Error::InvalidHeader);
                }
                let nbytes = i32_at(
                    self.fetch(start, start + 4, &mut AlignedBuffer::default())?,
                    0,
                );
                let nbytes = usize::try_from(nbytes).unwrap_or(0);
                if nbytes == 0 || nbytes > self.header.nbytes {
                    return Err(Error::InvalidHeader);
                }
                Ok(nbytes)
            }
            Blocks::Variable { .. } => Ok(self.offsets[nblock + 1] - self.offsets[nblock]),
        }
    }

    /// The largest block, as far as its size is known.
    pub fn max_block_nbytes(&self) -> usize {
        match self.header.blocks {
            Blocks::Regular { blocksize } => blocksize,
            Blocks::Variable { .. } => self
                .offsets
                .windows(2)
                .map(|w| w[1] - w[0])
                .max()
                .unwrap_or(0),
        }
    }

    /// Refuses a kind of special values that this library does not know.
    fn known(&self) -> Result<()> {
        match self.header.special() {
            Special::Unknown(_) => Err(Error::Data),
            _ => Ok(()),
        }
    }

    /// Prepares the decoding of blocks; `pipeline` is where the filters are written down.
    #[inline(always)]
    pub(super) fn decoder<'b>(
        &'b self,
        pipeline: &'b mut Pipeline,
        hooks: &'b dyn Hooks,
    ) -> Result<BlockDecoder<'b>> {
        let header = self.header;
        self.known()?;
        pipeline.set_typesize(header.typesize, header.version, header.rules);
        if self.has_streams() && header.blosc2_flags & flags2::INSTRUMENTED == 0 {
            pipeline.resolve(&header.filters, &header.filters_meta, true)?;
        }
        Ok(BlockDecoder {
            chunk: self,
            codec: Codec::from_format(header.flags >> 5),
            pipeline,
            hooks,
        })
    }
}

/// How much of a chunk is prefetched. The processor's own prefetcher goes on from there, and better than a longer burst would.
const PREFETCHED: usize = 1024;

/// Prefetches the front of a chunk that is about to be read. Its streams are looked up one after the other, and each of these steps would
/// wait for memory.
#[inline]
pub fn prefetch(chunk: &[u8]) {
    filters::shuffle::prefetch(&chunk[..chunk.len().min(PREFETCHED)]);
}

/// Decompresses a chunk into `dest`. Blocks that `maskout` marks are left as they are in `dest`.
/// Gives the size of the data.
pub fn decompress(
    chunk: &Chunk,
    dest: &mut [u8],
    maskout: Option<&[bool]>,
    nthreads: usize,
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<usize> {
    let header = chunk.header();
    let nbytes = header.nbytes;
    let nblocks = header.nblocks;
    chunk.known()?;
    let dest = dest.get_mut(..nbytes).ok_or(Error::WriteBuffer)?;
    if maskout.is_some_and(|mask| mask.len() != nblocks) {
        return Err(Error::Data);
    }
    if nbytes == 0 {
        return Ok(0);
    }
    if !chunk.has_streams() && maskout.is_none() && !hooks.has_postfilter() {
        match header.special() {
            Special::None if chunk.is_lazy() => chunk.stored(0, dest)?,
            Special::None => copy(&chunk.bytes[header.overhead()..], dest, nthreads, exec)?,
            Special::Uninit => {}
            _ => in_pieces(dest, nthreads, exec, |at, piece| {
                special::fill(header, chunk.value(), at, piece)
            })?,
        }
        return Ok(nbytes);
    }
    if chunk.is_lazy() && header.has_vlblocks() {
        // Where the data of a block begin depends on all blocks before it.
        let bytes = chunk.load()?;
        let loaded = Chunk::loaded(header, &bytes)?;
        return decompress(&loaded, dest, maskout, nthreads, hooks, exec);
    }
    let copies = nthreads <= 1 && maskout.is_none() && !hooks.has_postfilter();
    if copies && chunk.copy_checked(0, dest) {
        return Ok(nbytes);
    }
    match header.blocks {
        Blocks::Regular { blocksize } => {
            let blocks = dest.chunks_mut(blocksize);
            decompress_blocks(chunk, blocks, maskout, nthreads, hooks, exec)?;
        }
        Blocks::Variable { .. } => {
            let blocks = split_at_offsets(dest, &chunk.offsets)?;
            decompress_blocks(chunk, blocks.into_iter(), maskout, nthreads, hooks, exec)?;
        }
    }
    Ok(nbytes)
}

fn split_at_offsets<'d>(mut dest: &'d mut [u8], offsets: &[usize]) -> Result<List<&'d mut [u8]>> {
    let mut blocks = List::with_capacity(offsets.len())?;
    for pair in offsets.windows(2) {
        let (block, rest) = dest.split_at_mut(pair[1] - pair[0]);
        blocks.push(block)?;
        dest = rest;
    }
    Ok(blocks)
}

/// Shorter blocks are left to the caller alone: a queue of them would take many times the memory of their data, and a header of 32 bytes
/// can claim very many.
const MIN_QUEUED: usize = 32;

/// Decompresses every block into its own slice, which has the block's size.
pub fn decompress_blocks<'d>(
    chunk: &Chunk,
    mut blocks: impl Iterator<Item = &'d mut [u8]>,
    maskout: Option<&[bool]>,
    nthreads: usize,
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<()> {
    let mut pipeline = Pipeline::EMPTY;
    let decoder = chunk.decoder(&mut pipeline, hooks)?;
    let nblocks = chunk.header.nblocks;
    let masked = |nblock: usize| maskout.is_some_and(|mask| mask[nblock]);
    let position = |nblock: usize, tid: usize| BlockPos {
        nblock,
        offset: decoder.offset(nblock),
        tid,
    };
    // The others are compared with the first block, so it is decoded before them, and apart from `dest` where the
    // caller changes it or does not want it.
    let first_apart;
    let mut reference: Option<&[u8]> = None;
    let mut from = 0;
    if decoder.needs_reference() && nblocks > 1 {
        if hooks.has_postfilter() || masked(0) {
            first_apart = decoder.reference()?;
            reference = Some(&first_apart);
        } else if let Some(first) = blocks.next() {
            decoder.decode(position(0, 0), None, first, scratch::borrow()?.parts())?;
            reference = Some(first);
            from = 1;
        }
    }
    let blocks = (from..).zip(blocks);
    let nthreads = match chunk.header.blocks {
        Blocks::Regular { blocksize } if blocksize < MIN_QUEUED => 1,
        _ => nthreads,
    };
    let nworkers = workers(
        exec,
        nthreads,
        nblocks - from,
        chunk.header.nbytes,
        hooks.has_postfilter(),
    );
    if nworkers <= 1 {
        let mut scratch = scratch::borrow()?;
        for (nblock, dst) in blocks {
            if !masked(nblock) {
                decoder.decode(position(nblock, 0), reference, dst, scratch.parts())?;
            }
        }
        return Ok(());
    }
    let queue = StealingQueue::new(blocks, nblocks - from, nworkers)?;
    queue.work(nthreads, exec, |tid| {
        let mut scratch = scratch::borrow()?;
        while let Some((nblock, dst)) = queue.next(tid) {
            if !masked(nblock) {
                decoder.decode(position(nblock, tid), reference, dst, scratch.parts())?;
            }
        }
        Ok(())
    })
}

/// How many of `bytes` are the streams of a block with `bsize` bytes of data; `each` gets every stream with its size in front.
pub(super) fn streams_len<'a>(
    header: &ChunkHeader,
    bytes: &'a [u8],
    bsize: usize,
    mut each: impl FnMut(&'a [u8]),
) -> Result<usize> {
    let mut streams = Streams::new(header, bytes, bsize)?;
    let mut at = 0;
    for _ in 0..bsize / streams.neblock {
        streams.next()?;
        let next = bytes.len() - streams.left();
        each(&bytes[at..next]);
        at = next;
    }
    Ok(at)
}

/// Decompresses block `nblock` into `dst`, which has the block's size ([`Chunk::block_nbytes`]).
pub fn decompress_block(
    chunk: &Chunk,
    nblock: usize,
    dst: &mut [u8],
    hooks: &dyn Hooks,
) -> Result<()> {
    if !chunk.has_block(nblock) {
        return Err(Error::InvalidParam);
    }
    let mut pipeline = Pipeline::EMPTY;
    let decoder = chunk.decoder(&mut pipeline, hooks)?;
    let pos = BlockPos {
        nblock,
        offset: decoder.offset(nblock),
        tid: 0,
    };
    let reference = if decoder.needs_reference() && nblock > 0 {
        Some(decoder.reference()?)
    } else {
        None
    };
    decoder.decode(pos, reference.as_deref(), dst, scratch::borrow()?.parts())
}
