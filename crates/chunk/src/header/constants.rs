//! The sizes, versions, flags and filters of the chunk format.

/// Length of a Blosc 1 header, and of the part that both versions share.
pub const MIN_HEADER_LENGTH: usize = 16;
/// Length of a Blosc 2 header.
pub const EXTENDED_HEADER_LENGTH: usize = 32;
/// The most bytes that a chunk is larger than its data: the header, if the data are stored.
pub const MAX_OVERHEAD: usize = EXTENDED_HEADER_LENGTH;
/// The largest buffer that can be compressed.
pub const MAX_BUFFERSIZE: i32 = i32::MAX - MAX_OVERHEAD as i32;
/// Buffers below this size are stored as they are.
pub const MIN_BUFFERSIZE: usize = 32;
/// The largest block, and the largest typesize.
pub const MAX_BLOCKSIZE: i32 = 536_866_816;
/// The largest typesize that the header can hold; larger ones are recorded as 1.
pub const MAX_TYPESIZE: usize = 255;
/// Slots of the filter pipeline.
pub const MAX_FILTERS: usize = 6;

/// In the second flags byte: the chunk has [checksums](crate::checksum).
pub const CHECKSUMS: u8 = 0x80;

/// Chunk format versions.
pub mod version {
    /// Blosc 1.x, where bitshuffle does not change a block whose number of items is no multiple of
    /// eight.
    pub const BLOSC1: u8 = 2;
    /// The Blosc 2 alphas: five filter slots.
    pub const ALPHA: u8 = 3;
    /// Regular chunks are written as this version.
    pub const STABLE: u8 = 5;
    /// Chunks of variable-length blocks are written as this version, the highest known.
    pub const VL_BLOCKS: u8 = 6;
}

/// Bits of the `flags` byte; the upper three bits are the codec's format.
pub mod flags {
    /// Byte shuffle was applied; with [`BITSHUFFLE`]: the header is extended.
    pub const SHUFFLE: u8 = 0x1;
    /// The data are stored as they are.
    pub const MEMCPYED: u8 = 0x2;
    /// Bit shuffle was applied; with [`SHUFFLE`]: the header is extended.
    pub const BITSHUFFLE: u8 = 0x4;
    /// Delta was applied.
    pub const DELTA: u8 = 0x8;
    /// A block is one stream.
    pub const DONT_SPLIT: u8 = 0x10;
    /// Both of these mark an extended header.
    pub const EXTENDED: u8 = SHUFFLE | BITSHUFFLE;
}

/// Bits of the `blosc2_flags` byte; bits 4 to 6 hold the kind of special value.
pub mod flags2 {
    /// A dictionary follows the block starts.
    pub const USE_DICT: u8 = 0x1;
    /// Only header, block starts and a trailer are here; the blocks are on disk.
    pub const LAZY: u8 = 0x8;
    /// The streams hold measurements of the codec instead of data.
    pub const INSTRUMENTED: u8 = 0x80;
    /// In the second flags byte: blocks of different sizes.
    pub const VL_BLOCKS: u8 = 0x1;
}

/// Offsets of header fields that are rewritten after the blocks were written.
pub mod offset {
    /// `nbytes`, int32.
    pub const NBYTES: usize = 4;
    /// `blocksize`, int32.
    pub const BLOCKSIZE: usize = 8;
    /// `cbytes`, int32.
    pub const CBYTES: usize = 12;
}

pub use oxiblosc_filters::filter_id;

/// The bits of the header's `flags` byte that filters decide.
#[inline]
pub fn filter_flags(filters: &[u8; MAX_FILTERS]) -> u8 {
    // The bits of all ids that have some.
    const BITS: [u8; 4] = [0, flags::SHUFFLE, flags::BITSHUFFLE, flags::DELTA];
    const { assert!(filter_id::SHUFFLE == 1 && filter_id::BITSHUFFLE == 2 && filter_id::DELTA == 3) };
    let bits = |id: &u8| BITS.get(usize::from(*id)).copied().unwrap_or(0);
    filters.iter().fold(0, |all, id| all | bits(id))
}
