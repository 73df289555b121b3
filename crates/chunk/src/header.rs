//! The chunk header: 16 bytes of Blosc 1, or 32 bytes of Blosc 2 when both shuffle bits are set.
//!
//! It is parsed once, into numbers that are checked against each other. The format is described in
//! the chunk format document, "Header".

mod constants;
/// Which library a chunk is for.
pub mod rules;

pub use constants::*;

use oxiblosc_base::{Error, Result};
use rules::Rules;

/// A chunk whose content follows from its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    /// An ordinary chunk.
    None,
    /// Zeros.
    Zero,
    /// NaNs, of 4 or 8 bytes.
    Nan,
    /// One value, stored after the header, repeated.
    Value,
    /// Undefined: never written.
    Uninit,
    /// A kind this library does not know.
    Unknown(u8),
}

impl Special {
    fn from_flags(blosc2_flags: u8) -> Self {
        match (blosc2_flags >> 4) & 7 {
            0 => Self::None,
            1 => Self::Zero,
            2 => Self::Nan,
            3 => Self::Value,
            4 => Self::Uninit,
            other => Self::Unknown(other),
        }
    }

    /// The kind with this number in the C API, if super-chunks can be filled with it.
    pub fn fillable(number: i32) -> Option<Self> {
        match number {
            1 => Some(Self::Zero),
            2 => Some(Self::Nan),
            4 => Some(Self::Uninit),
            _ => None,
        }
    }

    /// The bits of `blosc2_flags` that mark this kind.
    pub fn to_flags(self) -> u8 {
        let kind = match self {
            Self::None => 0,
            Self::Zero => 1,
            Self::Nan => 2,
            Self::Value => 3,
            Self::Uninit => 4,
            Self::Unknown(other) => other,
        };
        kind << 4
    }
}

/// How the data of a chunk are cut into blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocks {
    /// Blocks of `blocksize` bytes (at most `nbytes`), the last one perhaps shorter.
    Regular {
        /// Bytes of a block, at least 1.
        blocksize: usize,
    },
    /// Blocks of any size; their number is at least 1.
    Variable {
        /// Number of blocks.
        nblocks: usize,
    },
}

/// A checked header. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkHeader {
    /// Chunk format version.
    pub version: u8,
    /// Version of the codec's format.
    pub versionlz: u8,
    /// See [`flags`].
    pub flags: u8,
    /// Bytes of an item, 1 to 255 (larger items are recorded as 1).
    pub typesize: u8,
    /// Size of the data.
    pub nbytes: usize,
    /// Size of the chunk, header included.
    pub cbytes: usize,
    /// How the data are cut.
    pub blocks: Blocks,
    /// Number of blocks.
    pub nblocks: usize,
    /// The pipeline, in the order of compression; 0 is an empty slot.
    pub filters: [u8; MAX_FILTERS],
    /// The parameter of each filter.
    pub filters_meta: [u8; MAX_FILTERS],
    /// Id of a registered codec.
    pub udcompcode: u8,
    /// A parameter of the codec.
    pub compcode_meta: u8,
    /// See [`flags2`].
    pub blosc2_flags: u8,
    /// Second byte of flags; see [`flags2::VL_BLOCKS`] and [`CHECKSUMS`].
    pub blosc2_flags2: u8,
    /// Which library's rules the streams follow.
    pub rules: Rules,
}

/// Whether none of the filters is one that is registered.
#[inline]
pub fn are_built_in(filters: &[u8; MAX_FILTERS]) -> bool {
    filters.iter().all(|id| *id <= filter_id::TRUNC_PREC)
}

#[inline(always)]
fn read_size(src: &[u8; MIN_HEADER_LENGTH], at: usize) -> Result<usize> {
    let size = i32::from_le_bytes([src[at], src[at + 1], src[at + 2], src[at + 3]]);
    usize::try_from(size).map_err(|_| Error::INVALID_HEADER)
}

/// The little-endian int32 at `at`; the caller has checked that it is there.
#[inline]
pub fn i32_at(src: &[u8], at: usize) -> i32 {
    let four = &src[at..at + 4];
    i32::from_le_bytes([four[0], four[1], four[2], four[3]])
}

impl ChunkHeader {
    /// A header for [`Self::read`].
    pub const EMPTY: Self = Self {
        version: 0,
        versionlz: 0,
        flags: 0,
        typesize: 1,
        nbytes: 0,
        cbytes: 0,
        blocks: Blocks::Regular { blocksize: 1 },
        nblocks: 0,
        filters: [0; MAX_FILTERS],
        filters_meta: [0; MAX_FILTERS],
        udcompcode: 0,
        compcode_meta: 0,
        blosc2_flags: 0,
        blosc2_flags2: 0,
        rules: Rules::Blosc2,
    };

    /// Reads the header at the front of `src`, all of it.
    ///
    /// # Errors
    /// [`Error::READ_BUFFER`] if `src` is too short, [`Error::VERSION_SUPPORT`] for a later version
    /// of the format, [`Error::INVALID_HEADER`] if the fields contradict each other.
    pub fn parse(src: &[u8]) -> Result<Self> {
        let mut header = Self::EMPTY;
        header.read(src, true)?;
        Ok(header)
    }

    /// Checks that `cbytes` bytes beginning with `prefix` can be a chunk, by its header alone.
    /// Returns the size of its data.
    ///
    /// # Errors
    /// [`Error::WRITE_BUFFER`] for fewer bytes than a header has, [`Error::INVALID_HEADER`] if the
    /// header says another size, [`Error::MEMORY_ALLOC`] for more data than a chunk can have; as
    /// for [`Self::parse_basic`].
    pub fn validate(prefix: &[u8], cbytes: usize) -> Result<usize> {
        if cbytes < MIN_HEADER_LENGTH {
            return Err(Error::WRITE_BUFFER);
        }
        let header = Self::parse_basic(prefix)?;
        if header.cbytes != cbytes {
            return Err(Error::INVALID_HEADER);
        }
        if header.nbytes > MAX_BUFFERSIZE as usize {
            return Err(Error::MEMORY_ALLOC);
        }
        Ok(header.nbytes)
    }

    /// Reads only the 16 bytes that every chunk begins with.
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn parse_basic(src: &[u8]) -> Result<Self> {
        let mut header = Self::EMPTY;
        header.read(src, false)?;
        Ok(header)
    }

    /// As [`Self::parse`] or [`Self::parse_basic`], in place. To return the header would copy it
    /// right after its bytes were written one by one, which stalls the processor for longer than
    /// all checks take (store forwarding).
    ///
    /// # Errors
    /// As for [`Self::parse`].
    pub fn read(&mut self, src: &[u8], extended: bool) -> Result<()> {
        let Some(prefix) = src.first_chunk::<MIN_HEADER_LENGTH>() else {
            return Err(Error::READ_BUFFER);
        };
        let cbytes = read_size(prefix, offset::CBYTES)?;
        let blocksize = read_size(prefix, offset::BLOCKSIZE)?;
        let nbytes = read_size(prefix, offset::NBYTES)?;
        if cbytes < MIN_HEADER_LENGTH
            || blocksize == 0
            || blocksize > MAX_BLOCKSIZE as usize
            || prefix[3] == 0
        {
            return Err(Error::INVALID_HEADER);
        }
        let header = self;
        *header = Self::EMPTY;
        header.version = prefix[0];
        header.versionlz = prefix[1];
        header.flags = prefix[2];
        header.typesize = prefix[3];
        header.nbytes = nbytes;
        header.cbytes = cbytes;
        if extended && header.is_extended() {
            header.read_extension(src)?;
        } else {
            header.filters_from_flags();
        }
        if header.version > version::VL_BLOCKS && header.blosc2_flags2 & !flags2::VL_BLOCKS != 0 {
            return Err(Error::VERSION_SUPPORT);
        }
        if header.blosc2_flags2 & flags2::VL_BLOCKS != 0 {
            if header.is_memcpyed() {
                return Err(Error::INVALID_HEADER);
            }
            header.set_blocks(Blocks::Variable { nblocks: blocksize });
        } else {
            let most = if nbytes > 0 { nbytes } else { blocksize };
            header.set_blocks(Blocks::Regular {
                blocksize: blocksize.min(most),
            });
        }
        Ok(())
    }

    /// Whether the chunk needs only codecs and filters of the library, and none that is registered.
    #[inline]
    pub fn is_plain(&self) -> bool {
        are_built_in(&self.filters)
            && (self.udcompcode == 0 || self.flags >> 5 != rules::UDCODEC_FORMAT)
    }

    #[inline(always)]
    fn read_extension(&mut self, src: &[u8]) -> Result<()> {
        if self.cbytes < EXTENDED_HEADER_LENGTH {
            return Err(Error::INVALID_HEADER);
        }
        let Some(ext) = src.get(MIN_HEADER_LENGTH..EXTENDED_HEADER_LENGTH) else {
            return Err(Error::READ_BUFFER);
        };
        self.filters.copy_from_slice(&ext[..6]);
        self.udcompcode = ext[6];
        self.compcode_meta = ext[7];
        self.filters_meta.copy_from_slice(&ext[8..14]);
        self.blosc2_flags2 = ext[14];
        self.blosc2_flags = ext[15];
        let special = self.special();
        if special != Special::None && self.blosc2_flags2 & flags2::VL_BLOCKS != 0 {
            return Err(Error::INVALID_HEADER);
        }
        match special {
            Special::None | Special::Zero => {}
            Special::Value => {
                let width = self.cbytes - EXTENDED_HEADER_LENGTH;
                let possible = width > 0 && width <= MAX_BLOCKSIZE as usize && width <= self.nbytes;
                if !possible || !self.nbytes.is_multiple_of(width) {
                    return Err(Error::INVALID_HEADER);
                }
            }
            Special::Nan | Special::Uninit | Special::Unknown(_) => {
                if !self.nbytes.is_multiple_of(usize::from(self.typesize)) {
                    return Err(Error::INVALID_HEADER);
                }
            }
        }
        if self.version == version::ALPHA {
            // The alphas had five filter slots, and wrote uninitialised memory where the sixth is
            // now.
            self.filters[5] = 0;
            self.filters_meta[5] = 0;
        }
        Ok(())
    }

    fn filters_from_flags(&mut self) {
        if self.flags & flags::SHUFFLE != 0 {
            self.filters[MAX_FILTERS - 1] = filter_id::SHUFFLE;
        }
        if self.flags & flags::BITSHUFFLE != 0 {
            self.filters[MAX_FILTERS - 1] = filter_id::BITSHUFFLE;
        }
        if self.flags & flags::DELTA != 0 {
            self.filters[MAX_FILTERS - 2] = filter_id::DELTA;
        }
    }

    /// Whether this is a header of 32 bytes.
    pub fn is_extended(&self) -> bool {
        self.flags & flags::EXTENDED == flags::EXTENDED
    }

    /// Bytes of the header itself.
    pub fn overhead(&self) -> usize {
        if self.is_extended() {
            EXTENDED_HEADER_LENGTH
        } else {
            MIN_HEADER_LENGTH
        }
    }

    /// Whether the data are stored as they are.
    pub fn is_memcpyed(&self) -> bool {
        self.flags & flags::MEMCPYED != 0
    }

    /// The kind of special value.
    pub fn special(&self) -> Special {
        Special::from_flags(self.blosc2_flags)
    }

    /// Whether this is a lazy chunk, whose blocks are not part of it.
    pub fn is_lazy(&self) -> bool {
        self.blosc2_flags & flags2::LAZY != 0
    }

    /// Whether there are [checksums](crate::checksum).
    pub fn has_checksums(&self) -> bool {
        self.blosc2_flags2 & CHECKSUMS != 0
    }

    /// Whether the blocks have sizes of their own.
    pub fn has_vlblocks(&self) -> bool {
        matches!(self.blocks, Blocks::Variable { .. })
    }

    /// Sets how the data are cut. `nbytes` must have been set.
    pub fn set_blocks(&mut self, blocks: Blocks) {
        self.blocks = blocks;
        self.nblocks = match blocks {
            Blocks::Regular { blocksize } if self.nbytes <= blocksize => {
                usize::from(self.nbytes > 0)
            }
            Blocks::Regular { blocksize } => self.nbytes.div_ceil(blocksize),
            Blocks::Variable { nblocks } => nblocks,
        };
    }

    /// The value of the header's `blocksize` field: bytes of a block, or the number of
    /// variable-length blocks.
    pub fn blocksize_field(&self) -> usize {
        match self.blocks {
            Blocks::Regular { blocksize } => blocksize,
            Blocks::Variable { nblocks } => nblocks,
        }
    }

    /// Writes the header at the front of `dest`, 16 or 32 bytes as [`Self::is_extended`] says.
    /// Sizes above `i32::MAX` cannot occur: the encoder refuses such buffers.
    pub fn write(&self, dest: &mut [u8]) {
        let int32 = |n: usize| (n as i32).to_le_bytes();
        dest[..4].copy_from_slice(&[self.version, self.versionlz, self.flags, self.typesize]);
        dest[offset::NBYTES..][..4].copy_from_slice(&int32(self.nbytes));
        dest[offset::BLOCKSIZE..][..4].copy_from_slice(&int32(self.blocksize_field()));
        dest[offset::CBYTES..][..4].copy_from_slice(&int32(self.cbytes));
        if self.is_extended() {
            dest[16..22].copy_from_slice(&self.filters);
            dest[22] = self.udcompcode;
            dest[23] = self.compcode_meta;
            dest[24..30].copy_from_slice(&self.filters_meta);
            dest[30] = self.blosc2_flags2;
            dest[31] = self.blosc2_flags;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> [u8; 32] {
        let mut raw = [0u8; 32];
        raw[..4].copy_from_slice(&[5, 1, 5, 8]);
        raw[4..8].copy_from_slice(&4000i32.to_le_bytes());
        raw[8..12].copy_from_slice(&1600i32.to_le_bytes());
        raw[12..16].copy_from_slice(&500i32.to_le_bytes());
        raw[21] = 1;
        raw
    }

    #[test]
    fn writes_what_it_reads() {
        let raw = sample();
        let header = ChunkHeader::parse(&raw).unwrap();
        assert_eq!(header.nblocks, 3);
        assert_eq!(
            (header.nbytes, header.cbytes, header.typesize),
            (4000, 500, 8)
        );
        let mut out = [0u8; 32];
        header.write(&mut out);
        assert_eq!(out, raw);
    }

    #[test]
    fn refuses_sizes_that_contradict_each_other() {
        let with = |at: usize, value: i32| {
            let mut raw = sample();
            raw[at..at + 4].copy_from_slice(&value.to_le_bytes());
            ChunkHeader::parse(&raw)
        };
        assert_eq!(with(4, -1), Err(Error::INVALID_HEADER));
        assert_eq!(with(8, 0), Err(Error::INVALID_HEADER));
        assert_eq!(with(8, MAX_BLOCKSIZE + 1), Err(Error::INVALID_HEADER));
        assert_eq!(with(12, 31), Err(Error::INVALID_HEADER));
        assert_eq!(with(12, 15), Err(Error::INVALID_HEADER));
        assert_eq!(ChunkHeader::parse(&sample()[..31]), Err(Error::READ_BUFFER));
        assert_eq!(ChunkHeader::parse(&sample()[..15]), Err(Error::READ_BUFFER));
    }

    #[test]
    fn a_block_is_never_larger_than_the_data() {
        let mut raw = sample();
        raw[8..12].copy_from_slice(&1_000_000i32.to_le_bytes());
        let header = ChunkHeader::parse(&raw).unwrap();
        assert_eq!(header.blocks, Blocks::Regular { blocksize: 4000 });
    }

    #[test]
    fn a_repeated_value_must_divide_the_data() {
        let mut raw = sample();
        raw[31] = Special::Value.to_flags();
        for (width, good) in [
            (0, false),
            (8, true),
            (3000, false),
            (4000, true),
            (4001, false),
        ] {
            raw[12..16].copy_from_slice(&(32i32 + width).to_le_bytes());
            assert_eq!(ChunkHeader::parse(&raw).is_ok(), good, "width {width}");
        }
    }

    #[test]
    fn filters_fills_and_sizes_are_told_from_numbers() {
        assert_eq!(
            filter_flags(&[0, 0, 0, 0, 3, 1]),
            flags::DELTA | flags::SHUFFLE
        );
        assert_eq!(filter_flags(&[2, 0, 35, 0, 0, 0]), flags::BITSHUFFLE);
        let kinds = [0, 1, 2, 3, 4].map(Special::fillable);
        let (zero, nan) = (Some(Special::Zero), Some(Special::Nan));
        assert_eq!(kinds, [None, zero, nan, None, Some(Special::Uninit)]);
        let mut chunk = [0; EXTENDED_HEADER_LENGTH];
        let zeros = crate::special::SpecialChunk {
            special: Special::Zero,
            nbytes: 800,
            blocksize: 800,
            typesize: 4,
            value: &[],
        };
        zeros.write(&mut chunk);
        let prefix = &chunk[..MIN_HEADER_LENGTH];
        assert_eq!(ChunkHeader::validate(prefix, 32), Ok(800));
        assert_eq!(
            ChunkHeader::validate(prefix, 33),
            Err(Error::INVALID_HEADER)
        );
        assert_eq!(ChunkHeader::validate(&[], 15), Err(Error::WRITE_BUFFER));
    }
}
