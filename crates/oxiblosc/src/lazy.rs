//! Lazy chunks: the header and the block starts of a chunk on disk, and a trailer that says where
//! in the frame the chunk is.

use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MIN_HEADER_LENGTH, Special, i32_at, offset,
};
use oxiblosc_chunk::source::BlockSource;

/// Where a chunk is in its frame, as the trailer of a lazy chunk says. The values have not been
/// checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LazyTrailer {
    /// The index of the chunk. In a directory, the number of its file.
    pub nchunk: i32,
    /// Bytes from the start of the frame to the chunk. In a directory, the number of its file.
    pub offset: i64,
}

/// Whether the chunk with this header is lazy. Chunks of special values never are, whatever the
/// flag says.
#[inline]
pub fn is_lazy(header: &ChunkHeader) -> bool {
    header.is_lazy() && header.special() == Special::None
}

/// Bytes of the table of block starts. A lazy chunk has one even if the data are stored, and then
/// does not use it.
pub fn table_len(header: &ChunkHeader) -> usize {
    4 * header.nblocks
}

/// Bytes of the lazy chunk with this header: header, block starts, index of the chunk, its offset,
/// and the size of each block.
pub fn size(header: &ChunkHeader) -> usize {
    header.overhead() + table_len(header) + 4 + 8 + table_len(header)
}

/// How many of the `size` bytes of a buffer have to be read to parse the header of the chunk in it.
/// `basic` are its first [`MIN_HEADER_LENGTH`] bytes.
#[inline]
pub fn prefix_len(basic: &[u8], size: usize) -> usize {
    let cbytes = usize::try_from(i32_at(basic, offset::CBYTES)).unwrap_or(0);
    size.min(cbytes.clamp(MIN_HEADER_LENGTH, EXTENDED_HEADER_LENGTH))
}

/// How many of the `size` bytes of a buffer belong to the chunk with this header. A lazy chunk may
/// be cut short.
///
/// # Errors
/// [`Error::INVALID_HEADER`] for any other chunk that is cut short.
#[inline]
pub fn len_within(header: &ChunkHeader, size: usize) -> Result<usize> {
    match header.cbytes {
        _ if is_lazy(header) => Ok(size.min(self::size(header))),
        cbytes if cbytes > size => Err(Error::INVALID_HEADER),
        cbytes => Ok(cbytes),
    }
}

/// Reads the trailer of a whole lazy chunk.
///
/// # Errors
/// [`Error::READ_BUFFER`] if `lazy` is cut short; [`Error::INVALID_HEADER`] if the size of a block
/// is not what the block starts say.
pub fn trailer(header: &ChunkHeader, lazy: &[u8]) -> Result<LazyTrailer> {
    if lazy.len() < size(header) {
        return Err(Error::READ_BUFFER);
    }
    let (table, trailer) = lazy[header.overhead()..].split_at(table_len(header));
    let expected = sizes(header, table)?;
    let given = trailer[12..].chunks_exact(4).map(|size| i32_at(size, 0));
    if !given.take(header.nblocks).eq(expected.iter().copied()) {
        return Err(Error::INVALID_HEADER);
    }
    let (low, high) = (i32_at(trailer, 4), i32_at(trailer, 8));
    Ok(LazyTrailer {
        nchunk: i32_at(trailer, 0),
        offset: i64::from(high) << 32 | i64::from(low as u32),
    })
}

/// The source of a lazy chunk; none for other chunks.
pub type LazySource = Option<Box<dyn BlockSource>>;

/// Parses a chunk that may be lazy, in which case `find` gives the source of its blocks. It gets
/// what is wrong with the trailer, which counts less than what is wrong with the context. The
/// parsed chunk is put into `slot`, and that source into `kept`, so that both outlive this call.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for a lazy chunk without a super-chunk, or with one whose chunks are in
/// memory; [`Error::READ_BUFFER`] for one that is cut short; those of a damaged chunk.
#[inline(always)]
pub fn parse<'a, 'c>(
    find: impl FnOnce(Result<LazyTrailer>) -> Result<LazySource>,
    (header, src): (&'a ChunkHeader, &'a [u8]),
    kept: &'a mut LazySource,
    slot: &'c mut Option<Chunk<'a>>,
) -> Result<&'c Chunk<'a>> {
    if is_lazy(header) {
        Ok(slot.insert(parse_lazy(find, header, src, kept)?))
    } else {
        Chunk::parse_into(slot, header, src)
    }
}

#[cold]
fn parse_lazy<'a>(
    find: impl FnOnce(Result<LazyTrailer>) -> Result<LazySource>,
    header: &'a ChunkHeader,
    src: &'a [u8],
    kept: &'a mut LazySource,
) -> Result<Chunk<'a>> {
    if src.len() < header.overhead() + table_len(header) {
        return Err(Error::READ_BUFFER);
    }
    *kept = find(trailer(header, src))?;
    let source = kept.as_deref().ok_or(Error::INVALID_PARAM)?;
    let prefix = src.get(..Chunk::prefix_len(header));
    Chunk::lazy_copy(header, prefix.ok_or(Error::READ_BUFFER)?, source)
}

/// The size of each compressed block: the bytes up to the block that is stored next, which may be
/// any in the table.
pub(crate) fn sizes(header: &ChunkHeader, table: &[u8]) -> Result<TryVec<i32>> {
    if header.is_memcpyed() {
        let blocksize = header.blocksize_field();
        let blocks = (0..header.nblocks)
            .map(|nblock| blocksize.min(header.nbytes - nblock * blocksize) as i32);
        return blocks.collect_vec();
    }
    let start = |nblock: usize| i64::from(i32_at(table, 4 * nblock));
    let mut order: TryVec<(i64, usize)> =
        (0..header.nblocks).map(|n| (start(n), n)).collect_vec()?;
    sort(&mut order);
    let mut sizes = TryVec::filled(0, header.nblocks)?;
    for (i, (start, nblock)) in order.iter().enumerate() {
        let next = order.get(i + 1).map_or(header.cbytes as i64, |next| next.0);
        sizes[*nblock] = (next - start) as i32;
    }
    Ok(sizes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_chunk::header::flags2;

    #[test]
    fn the_trailer_follows_the_block_starts() {
        let mut lazy = vec![0u8; 32];
        lazy[..4].copy_from_slice(&[5, 1, 5, 8]);
        for (at, size) in [(4, 4000i32), (8, 1600), (12, 500)] {
            lazy[at..at + 4].copy_from_slice(&size.to_le_bytes());
        }
        lazy[31] = 8;
        lazy.extend([44, 100, 200i32].map(i32::to_le_bytes).concat());
        lazy.extend(7i32.to_le_bytes());
        lazy.extend((5i64 << 32 | 0xffff_fff0).to_le_bytes());
        lazy.extend([56, 100, 300i32].map(i32::to_le_bytes).concat());
        let header = ChunkHeader::parse(&lazy).unwrap();
        assert_eq!((is_lazy(&header), size(&header)), (true, lazy.len()));
        assert_eq!(
            trailer(&header, &lazy),
            Ok(LazyTrailer {
                nchunk: 7,
                offset: 5 << 32 | 0xffff_fff0
            })
        );
        for size in [0, -1, 1, 55, 57, 5000, i32::MAX] {
            let mut other = lazy.clone();
            other[56..60].copy_from_slice(&i32::to_le_bytes(size));
            assert_eq!(trailer(&header, &other), Err(Error::INVALID_HEADER));
        }
        let short = &lazy[..lazy.len() - 1];
        assert_eq!(trailer(&header, short), Err(Error::READ_BUFFER));
        let no_owner = |_| Err(Error::INVALID_PARAM);
        let (mut kept, mut slot) = (None, None);
        let parsed = parse(no_owner, (&header, &lazy), &mut kept, &mut slot).map(|_| ());
        assert_eq!(parsed, Err(Error::INVALID_PARAM));
    }

    #[test]
    fn no_more_is_read_than_a_header_says() {
        let mut header = ChunkHeader {
            nbytes: 100,
            cbytes: 50,
            nblocks: 1,
            ..ChunkHeader::EMPTY
        };
        let mut basic = [0; MIN_HEADER_LENGTH];
        for (cbytes, size, prefix) in [(50, 99, 32), (20, 99, 20), (50, 18, 18), (-1, 99, 16)] {
            basic[offset::CBYTES..].copy_from_slice(&i32::to_le_bytes(cbytes));
            assert_eq!(prefix_len(&basic, size), prefix);
        }
        assert_eq!(len_within(&header, 60), Ok(50));
        assert_eq!(len_within(&header, 49), Err(Error::INVALID_HEADER));
        header.blosc2_flags = flags2::LAZY;
        assert_eq!(
            len_within(&header, 20),
            Ok(20),
            "how long it is only the size says"
        );
        assert_eq!(len_within(&header, 1000), Ok(size(&header)));
    }
}
