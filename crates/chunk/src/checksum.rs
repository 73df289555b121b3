//! Checksums in a chunk, stored where readers that do not know them skip them.
//!
//! Readers find blocks by the table of block starts, so a writer may leave free bytes before the
//! first block. A chunk with checksums has a table there, behind its block starts and its
//! dictionary, and a bit in its second flags byte (`CHECKSUMS`):
//!
//! | bytes | |
//! |---|---|
//! | 4 | `MAGIC` |
//! | 4 for each block | checksum of its streams, with their sizes |
//! | 4 | checksum of the front: of all bytes of the chunk before it |
//!
//! All are CRC-32C, little-endian. A read of a part of a stored stream should check only that part.
//! So a chunk all of whose blocks are stored streams has a longer table, with a checksum for each
//! page. The checksums are part of the chunk: they are copied with it, and a writer that does not
//! know them replaces them together with the chunk.
//!
//! A chunk without blocks (a repeated value, or no data) has no filters, and the checksum of its
//! bytes in the first four bytes of `filters_meta`, which are taken as zeros for it. A chunk whose
//! data are stored without block starts is converted to one with a stored stream for each block.

pub use crate::header::CHECKSUMS;
use crate::header::{
    Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_FILTERS, Special, flags, flags2, i32_at,
};
use oxiblosc_base::memory::{ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
pub use oxiblosc_filters::crc32c::{crc32c, difference, extended, shifted};
use std::ops::Range;

/// Offset of the flags byte that says whether the header is extended.
const HEADER_FLAGS: usize = 2;
/// Offset of the flags byte with the bit [`CHECKSUMS`].
const FLAGS: usize = EXTENDED_HEADER_LENGTH - 2;
/// The table begins with this. Without a table the size of a stream would be there, which cannot
/// have this value.
pub const MAGIC: [u8; 4] = [0xc5, 0x5c, 0xa3, 0x9a];
/// The bytes of a header that a chunk without filters does not need: they hold the checksum of one
/// without blocks.
pub const IN_HEADER: Range<usize> = 24..28;

/// Bytes of a page of a stored stream.
pub const PAGE: usize = 4096;

/// What the table of a chunk holds for each block. This is the checksum of the block's streams; or,
/// in a chunk that was made of stored streams, a copy of the size in front of the stream, and a
/// checksum for each [`PAGE`] of its data (the last page may be shorter). Which of the two it is
/// follows from the size of the chunk: no other chunk may be as large as one of stored streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLayout {
    nblocks: usize,
    /// With pages: bytes of data in a block, and in the last block.
    paged: Option<(usize, usize)>,
}

impl TableLayout {
    /// The layout of the table in a chunk with this header.
    pub fn of(header: &ChunkHeader) -> Self {
        let Blocks::Regular { blocksize } = header.blocks else {
            return Self::plain(header.nblocks);
        };
        let stored = header.flags & (flags::DONT_SPLIT | flags::MEMCPYED) == flags::DONT_SPLIT
            && header.filters == [0; MAX_FILTERS]
            && header.blosc2_flags & !flags2::LAZY == 0
            && header.nblocks > 0;
        let paged = Self::paged(header.nblocks, blocksize, header.nbytes);
        let nstarts = header.overhead() + 4 * header.nblocks;
        let cbytes = nstarts + paged.table_len() + 4 * header.nblocks + header.nbytes;
        match stored && header.cbytes == cbytes {
            true => paged,
            false => Self::plain(header.nblocks),
        }
    }

    /// A checksum for each block.
    pub fn plain(nblocks: usize) -> Self {
        let paged = None;
        Self { nblocks, paged }
    }

    /// A checksum for each page.
    pub(super) fn paged(nblocks: usize, blocksize: usize, nbytes: usize) -> Self {
        let last = nbytes.saturating_sub(nblocks.saturating_sub(1) * blocksize);
        let paged = Some((blocksize, last));
        Self { nblocks, paged }
    }

    /// Whether there is a checksum for each page.
    pub fn has_pages(&self) -> bool {
        self.paged.is_some()
    }

    /// Size of the table in bytes.
    pub fn table_len(&self) -> usize {
        self.prefix_place().end
    }

    /// The part of the table that belongs to block `nblock`.
    pub fn place(&self, nblock: usize) -> Range<usize> {
        let words = |bytes: usize| 1 + bytes.div_ceil(PAGE);
        let (each, own) = match self.paged {
            None => (1, 1),
            Some((block, last)) if nblock + 1 == self.nblocks => (words(block), words(last)),
            Some((block, _)) => (words(block), words(block)),
        };
        let at = MAGIC.len() + 4 * each * nblock;
        at..at + 4 * own
    }

    /// The part of the table that holds the checksum of the front.
    pub fn prefix_place(&self) -> Range<usize> {
        let last = self.nblocks.checked_sub(1).map(|last| self.place(last));
        let at = last.map_or(MAGIC.len(), |place| place.end);
        at..at + 4
    }

    /// Computes the checksums of block `nblock`, whose streams are `streams`, and writes them into
    /// the table.
    pub fn set_block(&self, table: &mut [u8], nblock: usize, streams: &[u8]) {
        self.sum_block(&mut table[self.place(nblock)], streams);
    }

    /// Computes the checksums of a block and writes them into its [part](Self::place) of the table.
    pub fn sum_block(&self, place: &mut [u8], streams: &[u8]) {
        if !self.has_pages() {
            place.copy_from_slice(&crc32c(streams).to_le_bytes());
            return;
        }
        let (size, data) = streams.split_at(4);
        place.fill(0);
        place[..4].copy_from_slice(size);
        for (sum, page) in place[4..].chunks_exact_mut(4).zip(data.chunks(PAGE)) {
            sum.copy_from_slice(&crc32c(page).to_le_bytes());
        }
    }

    /// Whether the streams of block `nblock` match their checksums in the table.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn fits(&self, table: &[u8], nblock: usize, streams: &[u8]) -> Result<bool> {
        let known = &table[self.place(nblock)];
        let mut own = known.to_try_vec()?;
        self.sum_block(&mut own, streams);
        Ok(own[..] == *known)
    }

    /// The offset in the table of the checksum of page `page` of block `nblock`.
    pub fn page_place(&self, nblock: usize, page: usize) -> usize {
        self.place(nblock).start + 4 + 4 * page
    }
}

/// The checksum of a chunk without blocks.
pub(super) fn of_header_only(chunk: &[u8]) -> u32 {
    let (prefix, behind) = chunk.split_at(EXTENDED_HEADER_LENGTH);
    let mut header = [0; EXTENDED_HEADER_LENGTH];
    header.copy_from_slice(prefix);
    header[IN_HEADER].fill(0);
    extended(crc32c(&header), behind)
}

/// The table of a chunk whose front was checked.
pub struct Checksums<'a> {
    layout: TableLayout,
    table: TableBytes<'a>,
}

enum TableBytes<'a> {
    /// Part of the chunk's bytes.
    Borrowed(&'a [u8]),
    /// A copy.
    Owned(TryVec<u8>),
}

impl<'a> Checksums<'a> {
    /// The table of a chunk with this header. `prefix` is the chunk's front up to the end of the
    /// table; it is checked.
    ///
    /// # Errors
    /// [`Error::DATA`].
    #[inline]
    pub fn in_prefix(prefix: &'a [u8], header: &ChunkHeader) -> Result<Self> {
        check_prefix(prefix)?;
        Self::in_checked_prefix(prefix, header)
    }

    /// The same for a front that was checked before.
    ///
    /// # Errors
    /// [`Error::DATA`].
    #[inline]
    pub fn in_checked_prefix(prefix: &'a [u8], header: &ChunkHeader) -> Result<Self> {
        let layout = TableLayout::of(header);
        let at = prefix.len().checked_sub(layout.table_len());
        Self::in_table(&prefix[at.ok_or(Error::DATA)?..], layout)
    }

    /// The checksums in a table that was checked before.
    ///
    /// # Errors
    /// [`Error::DATA`].
    #[inline]
    pub(super) fn in_table(table: &'a [u8], layout: TableLayout) -> Result<Self> {
        if !table.starts_with(&MAGIC) {
            return Err(Error::DATA);
        }
        let table = TableBytes::Borrowed(table);
        Ok(Self { layout, table })
    }

    /// A copy that does not borrow the chunk.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn kept<'b>(&self) -> Result<Checksums<'b>> {
        Ok(Checksums {
            layout: self.layout,
            table: TableBytes::Owned(self.table().to_try_vec()?),
        })
    }

    fn table(&self) -> &[u8] {
        match &self.table {
            TableBytes::Borrowed(bytes) => bytes,
            TableBytes::Owned(bytes) => bytes,
        }
    }

    fn of_block(&self, nblock: usize) -> Result<&[u8]> {
        self.table()
            .get(self.layout.place(nblock))
            .ok_or(Error::DATA)
    }

    /// Checks the streams of block `nblock`.
    ///
    /// # Errors
    /// [`Error::DATA`].
    #[inline]
    pub fn check_block(&self, nblock: usize, streams: &[u8]) -> Result<()> {
        let sums = self.of_block(nblock)?;
        if !self.layout.has_pages() {
            return check(sums, streams);
        }
        let (size, data) = streams.split_at_checked(4).ok_or(Error::DATA)?;
        match sums[..4] == *size && data.len().div_ceil(PAGE) < sums.len() / 4 {
            true => check_pages(&sums[4..], data),
            false => Err(Error::DATA),
        }
    }

    /// Whether there is a checksum for each page.
    pub fn has_pages(&self) -> bool {
        self.layout.has_pages()
    }

    /// Whether block `nblock`, of `bsize` bytes, is a stored stream of which pages can be checked.
    pub fn is_stored(&self, nblock: usize, bsize: usize) -> bool {
        let stored = (bsize as i32).to_le_bytes();
        self.layout.has_pages() && self.of_block(nblock).is_ok_and(|sums| sums[..4] == stored)
    }

    /// Checks whole pages of a stored stream, from page `first` on; the last page of the block may
    /// be shorter.
    ///
    /// # Errors
    /// [`Error::DATA`].
    pub fn check_part(&self, nblock: usize, first: usize, data: &[u8]) -> Result<()> {
        let sums = self.of_block(nblock)?;
        check_pages(sums.get(4 + 4 * first..).ok_or(Error::DATA)?, data)
    }

    /// Copies the data of a stored stream, which has its size in front, to `out`, and checks each
    /// page while it is in the cache.
    ///
    /// # Errors
    /// As [`Self::check_part`].
    pub fn copy_pages(&self, nblock: usize, stream: &[u8], out: &mut [u8]) -> Result<()> {
        let (size, data) = stream.split_at(4);
        if self.of_block(nblock)?[..4] != *size {
            return Err(Error::DATA);
        }
        let pages = data.chunks(PAGE).zip(out.chunks_mut(PAGE)).enumerate();
        for (i, (page, out)) in pages {
            self.check_part(nblock, i, page)?;
            oxiblosc_filters::copy(page, out);
        }
        Ok(())
    }
}

/// Checks the front of a chunk, which ends with its table.
///
/// # Errors
/// [`Error::DATA`].
#[inline]
pub(super) fn check_prefix(prefix: &[u8]) -> Result<()> {
    match prefix.split_last_chunk() {
        Some((before, sum)) if crc32c(before) == u32::from_le_bytes(*sum) => Ok(()),
        _ => Err(Error::DATA),
    }
}

/// Checks pages against their checksums.
fn check_pages(sums: &[u8], data: &[u8]) -> Result<()> {
    sums.chunks_exact(4)
        .zip(data.chunks(PAGE))
        .try_for_each(|(sum, page)| check(sum, page))
}

#[inline]
fn check(sum: &[u8], bytes: &[u8]) -> Result<()> {
    match sum == crc32c(bytes).to_le_bytes() {
        true => Ok(()),
        false => Err(Error::DATA),
    }
}

/// Checks a chunk without blocks whose header says that it has a checksum.
///
/// # Errors
/// [`Error::DATA`] if the checksum is another, [`Error::READ_BUFFER`] if it is not there.
pub fn check_header_only(chunk: &[u8]) -> Result<()> {
    let sum = chunk.get(IN_HEADER).ok_or(Error::READ_BUFFER)?;
    match sum == of_header_only(chunk).to_le_bytes() {
        true => Ok(()),
        false => Err(Error::DATA),
    }
}

/// The checksum of a chunk's front. Those of its blocks are in the front, so it stands for the
/// whole chunk. None if the chunk has no checksums. `read` fills a buffer with the chunk's bytes
/// from a position on. The chunk has as many bytes as its header says.
///
/// # Errors
/// Those of `read`; [`Error::INVALID_HEADER`] if the checksum is wrong; [`Error::MEMORY_ALLOC`].
pub fn prefix_sum(
    header: &ChunkHeader,
    read: impl Fn(usize, &mut [u8]) -> Result<()>,
) -> Result<Option<u32>> {
    if !header.has_checksums() {
        return Ok(None);
    }
    let word = |bytes: &[u8]| bytes.last_chunk().map(|word| u32::from_le_bytes(*word));
    if header.special() != Special::None || header.nbytes == 0 {
        let mut chunk = TryVec::filled(0, header.cbytes)?;
        read(0, &mut chunk)?;
        check_header_only(&chunk).map_err(|_| Error::INVALID_HEADER)?;
        return Ok(word(&chunk[IN_HEADER]));
    }
    let mut end = header.overhead() + 4 * header.nblocks;
    if header.blosc2_flags & flags2::USE_DICT != 0 {
        let mut size = [0; 4];
        read(end, &mut size)?;
        end = end
            .saturating_add(4)
            .saturating_add(u32::from_le_bytes(size) as usize);
    }
    end = end.saturating_add(TableLayout::of(header).table_len());
    if end > header.cbytes {
        return Err(Error::INVALID_HEADER);
    }
    let mut prefix = TryVec::filled(0, end)?;
    read(0, &mut prefix)?;
    check_prefix(&prefix).map_err(|_| Error::INVALID_HEADER)?;
    Ok(word(&prefix))
}

/// Whether a chunk has checksums although its header says that it has none: then the bit in the
/// header is damaged. `bytes` is the chunk, or as much of its front as was read.
#[inline]
pub fn has_unflagged_checksums(header: &ChunkHeader, bytes: &[u8]) -> bool {
    let magic_at = |at: usize| bytes.get(at..at + MAGIC.len()) == Some(&MAGIC);
    if !header.is_extended() {
        // A flipped bit in the flags makes an extended header look like a short one.
        return magic_at(EXTENDED_HEADER_LENGTH + 4 * header.nblocks)
            && is_unflagged_extended_header(bytes);
    }
    if header.special() != Special::None || header.nbytes == 0 {
        let sum = header.filters == [0; MAX_FILTERS] && header.filters_meta != [0; MAX_FILTERS];
        return sum
            && bytes
                .get(..header.cbytes)
                .is_some_and(is_unflagged_without_blocks);
    }
    let mut at = header.overhead() + 4 * header.nblocks;
    if header.blosc2_flags & flags2::USE_DICT != 0 {
        let Some(size) = bytes.get(at..at + 4) else {
            return false;
        };
        at += 4 + usize::try_from(i32_at(size, 0)).unwrap_or(0);
    }
    !header.is_memcpyed() && magic_at(at)
}

/// Whether [`has_unflagged_checksums`] may be true of a chunk of compressed regular blocks without
/// a dictionary.
#[inline(always)]
pub fn may_be_unflagged(header: &ChunkHeader, bytes: &[u8]) -> bool {
    let at = EXTENDED_HEADER_LENGTH + 4 * header.nblocks;
    bytes.get(at..at + MAGIC.len()) == Some(&MAGIC)
}

/// Whether the checksum of the front is right if the header is taken for an extended one. [`MAGIC`]
/// alone does not decide it: the data of a chunk with a short header may contain these bytes where
/// a table would begin.
#[cold]
fn is_unflagged_extended_header(bytes: &[u8]) -> bool {
    let Some(mut start) = bytes.first_chunk::<EXTENDED_HEADER_LENGTH>().copied() else {
        return false;
    };
    start[HEADER_FLAGS] |= flags::EXTENDED;
    let Ok(header) = ChunkHeader::parse(&start) else {
        return false;
    };
    let with_dict = header.blosc2_flags & flags2::USE_DICT != 0;
    let table_start = header.overhead() + 4 * header.nblocks;
    let to = table_start + TableLayout::of(&header).table_len();
    match bytes.get(EXTENDED_HEADER_LENGTH..to) {
        // A dictionary would lie in front of the magic.
        Some(rest) if header.has_checksums() && !with_dict => rest
            .split_last_chunk()
            .is_some_and(|(rest, sum)| extended(crc32c(&start), rest).to_le_bytes() == *sum),
        Some(_) => false,
        // If the whole chunk was read, a table that does not fit into it was never there.
        None => header.has_checksums() && to <= header.cbytes,
    }
}

/// Whether the checksum of a chunk without blocks is right if the header is taken to say that it
/// has one.
#[cold]
fn is_unflagged_without_blocks(chunk: &[u8]) -> bool {
    let (prefix, behind) = chunk.split_at(EXTENDED_HEADER_LENGTH);
    let mut header = [0; EXTENDED_HEADER_LENGTH];
    header.copy_from_slice(prefix);
    header[FLAGS] |= CHECKSUMS;
    extended(of_header_only(&header), behind).to_le_bytes() == chunk[IN_HEADER]
}

/// How many bytes more the checksums need in nearly every chunk with `nbytes` bytes of data.
pub fn extra_len(nbytes: usize) -> usize {
    nbytes / 256 + 256
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_the_standard() {
        // RFC 3720, appendix B.4.
        assert_eq!(crc32c(&[0; 32]), 0x8a91_36aa);
        assert_eq!(crc32c(&[0xff; 32]), 0x62a8_ab43);
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    /// Stored chunks of Blosc 1 that have the magic at any place of their data, and any flags where
    /// a longer header has them. Some are too short for the table that they would have.
    #[test]
    fn data_that_look_like_the_start_of_a_table_are_no_checksums() {
        for (nbytes, blocksize) in [(24u32, 24u32), (24, 8), (60, 60), (200, 200), (200, 64)] {
            let mut plain = vec![2, 1, flags::MEMCPYED, 1];
            for field in [nbytes, blocksize, nbytes + 16] {
                plain.extend(field.to_le_bytes());
            }
            plain.extend((0..nbytes).map(|i| ((i * i) >> 3) as u8));
            for at in 16..=plain.len() - MAGIC.len() {
                for flags in [0, CHECKSUMS, CHECKSUMS | 1, 0xff] {
                    let mut chunk = plain.clone();
                    chunk[FLAGS] = flags;
                    chunk[FLAGS + 1] = 0;
                    chunk[at..at + MAGIC.len()].copy_from_slice(&MAGIC);
                    let header = ChunkHeader::parse(&chunk).unwrap();
                    assert!(
                        !has_unflagged_checksums(&header, &chunk),
                        "{nbytes} {at} {flags:x}"
                    );
                }
            }
        }
    }

    #[test]
    fn a_checksum_goes_on() {
        let bytes: Vec<u8> = (0..70_000u32)
            .map(|i| (i.wrapping_mul(i) >> 3) as u8)
            .collect();
        for (first, len) in [
            (0, 0),
            (5, 0),
            (0, 7),
            (1, 1),
            (32, 8),
            (9, 32),
            (100, 65_541),
        ] {
            let whole = &bytes[..first + len];
            let (prefix, behind) = whole.split_at(first);
            assert_eq!(extended(crc32c(prefix), behind), crc32c(whole));
        }
    }
}
