//! The header of a chunk of Blosc 1, read as c-blosc 1.21 reads it.

use super::header::rules::Rules;
use super::header::{Blocks, ChunkHeader, MIN_HEADER_LENGTH, flags, i32_at, offset, version};
use oxiblosc_base::{Error, Result};

/// The id of Snappy, the codec that the [hooks](super::hooks::Hooks) bring.
pub const SNAPPY: u8 = 3;
/// Items with more bytes than this are not split.
const MAX_SPLITS: usize = 16;
/// A block is not split into streams shorter than this.
const MIN_STREAM: usize = 128;

/// Whether a block of `blocksize` bytes can be split into a stream for each byte of an item. If
/// not, readers take the block for one stream, whatever its flag for unsplit blocks says: that flag
/// was added to the format later.
pub fn can_split(typesize: usize, blocksize: usize) -> bool {
    typesize <= MAX_SPLITS && blocksize / typesize >= MIN_STREAM
}

/// Reads a header.
///
/// # Errors
/// [`Error::VERSION_SUPPORT`] for versions other than 2, [`Error::INVALID_HEADER`] for sizes that
/// contradict each other.
pub fn read_header(raw: &[u8; MIN_HEADER_LENGTH]) -> Result<ChunkHeader> {
    let mut raw = *raw;
    if raw[0] != version::BLOSC1 {
        return Err(Error::VERSION_SUPPORT);
    }
    // Blosc 1 has no extended header: if both bits are set, items of several bytes are shuffled by
    // bytes.
    if raw[2] & flags::EXTENDED == flags::EXTENDED {
        let other = if raw[3] == 1 {
            flags::SHUFFLE
        } else {
            flags::BITSHUFFLE
        };
        raw[2] &= !other;
    }
    let blocksize = usize::try_from(i32_at(&raw, offset::BLOCKSIZE)).unwrap_or(0);
    if blocksize == 0 {
        return Err(Error::INVALID_HEADER);
    }
    // The block size may be larger than Blosc 2 allows, so it is set below.
    raw[offset::BLOCKSIZE..][..4].copy_from_slice(&1i32.to_le_bytes());
    let mut header = ChunkHeader::parse_basic(&raw)?;
    if header.nbytes < blocksize || !can_split(header.typesize.into(), blocksize) {
        header.flags |= flags::DONT_SPLIT;
    }
    let blocksize = blocksize.min(header.nbytes.max(1));
    header.set_blocks(Blocks::Regular { blocksize });
    header.udcompcode = SNAPPY;
    header.rules = Rules::Blosc1;
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(flags: u8, typesize: u8, sizes: [i32; 3]) -> Result<ChunkHeader> {
        let mut raw = [2, 1, flags, typesize, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        for (i, size) in sizes.into_iter().enumerate() {
            raw[4 + 4 * i..][..4].copy_from_slice(&size.to_le_bytes());
        }
        read_header(&raw)
    }

    #[test]
    fn blocks_are_split_as_old_writers_did() {
        let is_split = |flags, typesize, nbytes, blocksize| {
            let header = header(flags, typesize, [nbytes, blocksize, 500]).unwrap();
            header.flags & flags::DONT_SPLIT == 0
        };
        assert!(is_split(0, 4, 4096, 512));
        assert!(!is_split(0x10, 4, 4096, 512));
        assert!(!is_split(0, 4, 4096, 508));
        assert!(!is_split(0, 17, 65536, 65536));
        assert!(!is_split(0, 4, 4096, 8192), "the only block is a short one");
    }

    #[test]
    fn sizes_are_checked_and_the_header_is_never_longer() {
        for sizes in [[-1, 8, 100], [8, 0, 100], [8, -8, 100], [8, 8, 15]] {
            assert_eq!(header(1, 4, sizes), Err(Error::INVALID_HEADER), "{sizes:?}");
        }
        let large = header(5, 4, [i32::MAX - 16, 700_000_000, 100]).unwrap();
        assert_eq!((large.overhead(), large.nblocks), (16, 4));
        assert_eq!(
            (large.flags & 7, header(5, 1, [8, 8, 99]).unwrap().flags & 7),
            (1, 4)
        );
    }
}
