//! The enumerators of `blosc2.h` that only Blosc 2 has.

use core::ffi::c_int;

// Versions of the chunk format (byte 0 of a chunk).
/// Blosc before 1.0.
pub const BLOSC1_VERSION_FORMAT_PRE1: c_int = 1;
/// Blosc 1: a header of 16 bytes.
pub const BLOSC1_VERSION_FORMAT: c_int = 2;
/// The alphas of Blosc 2: the first headers of 32 bytes.
pub const BLOSC2_VERSION_FORMAT_ALPHA: c_int = 3;
/// The first beta of Blosc 2.
pub const BLOSC2_VERSION_FORMAT_BETA1: c_int = 4;
/// Blosc 2.
pub const BLOSC2_VERSION_FORMAT_STABLE: c_int = 5;
/// Blosc 2 with blocks of variable length.
pub const BLOSC2_VERSION_FORMAT_VL_BLOCKS: c_int = 6;
/// The newest version that the library reads.
pub const BLOSC2_VERSION_FORMAT: c_int = BLOSC2_VERSION_FORMAT_VL_BLOCKS;

// Versions of the frame format (four bits of a frame's header).
/// Frames from 2.0.0-beta2 on.
pub const BLOSC2_VERSION_FRAME_FORMAT_BETA2: c_int = 1;
/// Frames from 2.0.0-rc1 on.
pub const BLOSC2_VERSION_FRAME_FORMAT_RC1: c_int = 2;
/// Frames that may hold chunks with blocks of variable length.
pub const BLOSC2_VERSION_FRAME_FORMAT_VL_BLOCKS: c_int = 3;
/// The newest version that the library reads.
pub const BLOSC2_VERSION_FRAME_FORMAT: c_int = BLOSC2_VERSION_FRAME_FORMAT_VL_BLOCKS;

// Sizes of headers and buffers, in bytes.
/// Bytes of a Blosc 2 chunk header.
pub const BLOSC_EXTENDED_HEADER_LENGTH: c_int = 32;
/// What a chunk may need above the size of its data: a destination that much larger always
/// suffices.
pub const BLOSC2_MAX_OVERHEAD: c_int = BLOSC_EXTENDED_HEADER_LENGTH;
/// Largest buffer that one chunk takes (`INT_MAX` less the overhead).
pub const BLOSC2_MAX_BUFFERSIZE: c_int = 2_147_483_647 - BLOSC2_MAX_OVERHEAD;
/// Buffers shorter than this are stored, not compressed.
pub const BLOSC_MIN_BUFFERSIZE: c_int = 32;

// Ranges of tuner ids.
/// First id of the tuners that come with the library.
pub const BLOSC2_DEFINED_TUNER_START: c_int = 0;
/// Last id of the tuners that come with the library.
pub const BLOSC2_DEFINED_TUNER_STOP: c_int = 31;
/// First id of the tuners that the project registered for others.
pub const BLOSC2_GLOBAL_REGISTERED_TUNER_START: c_int = 32;
/// Last id of the tuners that the project registered for others.
pub const BLOSC2_GLOBAL_REGISTERED_TUNER_STOP: c_int = 159;
/// How many tuners the project registered so far.
pub const BLOSC2_GLOBAL_REGISTERED_TUNERS: c_int = 0;
/// First id that a program may register a tuner under.
pub const BLOSC2_USER_REGISTERED_TUNER_START: c_int = 160;
/// Last id that a program may register a tuner under.
pub const BLOSC2_USER_REGISTERED_TUNER_STOP: c_int = 255;

// Tuners.
/// The built-in tuner.
pub const BLOSC_STUNE: c_int = 0;
/// One past the last built-in tuner.
pub const BLOSC_LAST_TUNER: c_int = 1;
/// Last id in use among the registered tuners.
pub const BLOSC_LAST_REGISTERED_TUNE: c_int =
    BLOSC2_GLOBAL_REGISTERED_TUNER_START + BLOSC2_GLOBAL_REGISTERED_TUNERS - 1;

// Ranges of filter ids, and how many filters there may be.
/// First id of the filters that come with the library.
pub const BLOSC2_DEFINED_FILTERS_START: c_int = 0;
/// Last id of the filters that come with the library.
pub const BLOSC2_DEFINED_FILTERS_STOP: c_int = 31;
/// First id of the filters that the project registered for others.
pub const BLOSC2_GLOBAL_REGISTERED_FILTERS_START: c_int = 32;
/// Last id of the filters that the project registered for others.
pub const BLOSC2_GLOBAL_REGISTERED_FILTERS_STOP: c_int = 159;
/// How many filters the project registered so far.
pub const BLOSC2_GLOBAL_REGISTERED_FILTERS: c_int = 5;
/// First id that a program may register a filter under.
pub const BLOSC2_USER_REGISTERED_FILTERS_START: c_int = 160;
/// Last id that a program may register a filter under.
pub const BLOSC2_USER_REGISTERED_FILTERS_STOP: c_int = 255;
/// Slots of the filter pipeline.
pub const BLOSC2_MAX_FILTERS: usize = 6;
/// How many filters a program may register.
pub const BLOSC2_MAX_UDFILTERS: c_int = 16;

// Filters that Blosc 1 does not have.
/// Every block XORed with the chunk's first block. Takes no meta byte.
pub const BLOSC_DELTA: c_int = 3;
/// Zeroes low bits of the mantissa of floats. The meta byte, signed: bits to keep if positive, bits
/// to zero if negative.
pub const BLOSC_TRUNC_PREC: c_int = 4;
/// One past the last built-in filter.
pub const BLOSC_LAST_FILTER: c_int = 5;
/// Last id in use among the registered filters.
pub const BLOSC_LAST_REGISTERED_FILTER: c_int =
    BLOSC2_GLOBAL_REGISTERED_FILTERS_START + BLOSC2_GLOBAL_REGISTERED_FILTERS - 1;

// A bit of the flags byte of a chunk that Blosc 1 does not have.
/// The delta filter was applied.
pub const BLOSC_DODELTA: c_int = 0x8;

// Bits of the Blosc 2 flags byte of a chunk (offset `BLOSC2_CHUNK_BLOSC2_FLAGS`).
/// The streams need the dictionary that the chunk carries.
pub const BLOSC2_USEDICT: c_int = 0x1;
/// The data is big-endian.
pub const BLOSC2_BIGENDIAN: c_int = 0x2;
/// The chunk holds `blosc2_instr` measurements in place of data.
pub const BLOSC2_INSTR_CODEC: c_int = 0x80;

// Bits of the second flags byte of a chunk (offset `BLOSC2_CHUNK_BLOSC2_FLAGS2`).
/// The chunk's blocks have lengths of their own.
pub const BLOSC2_VL_BLOCKS: c_int = 0x1;

// Limits, in bytes.
/// Largest compression dictionary.
pub const BLOSC2_MAXDICTSIZE: c_int = 32 * 1024;
/// A trained dictionary shorter than this is dropped and the chunk compressed without one.
pub const BLOSC2_MINUSEFULDICT: c_int = 256;
/// Largest block.
pub const BLOSC2_MAXBLOCKSIZE: c_int = 536_866_816;
/// Largest item.
pub const BLOSC2_MAXTYPESIZE: c_int = BLOSC2_MAXBLOCKSIZE;

// Ranges of codec ids.
/// First id of the codecs that come with the library.
pub const BLOSC2_DEFINED_CODECS_START: c_int = 0;
/// Last id of the codecs that come with the library.
pub const BLOSC2_DEFINED_CODECS_STOP: c_int = 31;
/// First id of the codecs that the project registered for others.
pub const BLOSC2_GLOBAL_REGISTERED_CODECS_START: c_int = 32;
/// Last id of the codecs that the project registered for others.
pub const BLOSC2_GLOBAL_REGISTERED_CODECS_STOP: c_int = 159;
/// How many codecs the project registered so far.
pub const BLOSC2_GLOBAL_REGISTERED_CODECS: c_int = 5;
/// First id that a program may register a codec under.
pub const BLOSC2_USER_REGISTERED_CODECS_START: c_int = 160;
/// Last id that a program may register a codec under.
pub const BLOSC2_USER_REGISTERED_CODECS_STOP: c_int = 255;

// Ends of the lists of codecs.
/// One past the last built-in codec.
pub const BLOSC_LAST_CODEC: c_int = 6;
/// Last id in use among the registered codecs.
pub const BLOSC_LAST_REGISTERED_CODEC: c_int =
    BLOSC2_GLOBAL_REGISTERED_CODECS_START + BLOSC2_GLOBAL_REGISTERED_CODECS - 1;

// Compression libraries that Blosc 1 does not have.
/// A registered codec: its own id is in the chunk's header.
pub const BLOSC_UDCODEC_LIB: c_int = 6;
/// A super-chunk, where each chunk says its own.
pub const BLOSC_SCHUNK_LIB: c_int = 7;

// Stream formats that Blosc 1 does not have.
/// Format of a registered codec.
pub const BLOSC_UDCODEC_FORMAT: c_int = BLOSC_UDCODEC_LIB;

// Versions of stream formats that Blosc 1 does not have.
/// Version of the streams of a registered codec.
pub const BLOSC_UDCODEC_VERSION_FORMAT: c_int = 1;

// Where each field of a chunk's header begins, in bytes. Numbers are little-endian.
/// `u8`: version of the chunk format.
pub const BLOSC2_CHUNK_VERSION: c_int = 0x0;
/// `u8`: version of the codec's stream format.
pub const BLOSC2_CHUNK_VERSIONLZ: c_int = 0x1;
/// `u8`: flags, and the compression library in the top three bits.
pub const BLOSC2_CHUNK_FLAGS: c_int = 0x2;
/// `u8`: bytes of one item.
pub const BLOSC2_CHUNK_TYPESIZE: c_int = 0x3;
/// `i32`: bytes of the data.
pub const BLOSC2_CHUNK_NBYTES: c_int = 0x4;
/// `i32`: bytes of one block of the data.
pub const BLOSC2_CHUNK_BLOCKSIZE: c_int = 0x8;
/// `i32`: bytes of the chunk, its header included.
pub const BLOSC2_CHUNK_CBYTES: c_int = 0xc;
/// Six `u8`: the filters.
pub const BLOSC2_CHUNK_FILTER_CODES: c_int = 0x10;
/// Six `u8`: a meta byte for each filter.
pub const BLOSC2_CHUNK_FILTER_META: c_int = 0x18;
/// `u8`: the second byte of Blosc 2 flags.
pub const BLOSC2_CHUNK_BLOSC2_FLAGS2: c_int = 0x1e;
/// `u8`: the first byte of Blosc 2 flags; three of its bits tell a special value.
pub const BLOSC2_CHUNK_BLOSC2_FLAGS: c_int = 0x1F;

// Special values: a whole chunk told by its header.
/// An ordinary chunk.
pub const BLOSC2_NO_SPECIAL: c_int = 0x0;
/// All bytes are zero.
pub const BLOSC2_SPECIAL_ZERO: c_int = 0x1;
/// All items are NaN, of 4 or 8 bytes.
pub const BLOSC2_SPECIAL_NAN: c_int = 0x2;
/// All items equal the one that follows the header.
pub const BLOSC2_SPECIAL_VALUE: c_int = 0x3;
/// The data was never set; what it decompresses to is not defined.
pub const BLOSC2_SPECIAL_UNINIT: c_int = 0x4;
/// The last special value there is.
pub const BLOSC2_SPECIAL_LASTID: c_int = 0x4;
/// The three bits that hold a special value, once moved to the bottom of the flags byte.
pub const BLOSC2_SPECIAL_MASK: c_int = 0x7;

// Input/output back ends.
/// Files, through positioned reads and writes.
pub const BLOSC2_IO_FILESYSTEM: c_int = 0;
/// Files, through a memory map.
pub const BLOSC2_IO_FILESYSTEM_MMAP: c_int = 1;
/// One past the last built-in back end.
pub const BLOSC_IO_LAST_BLOSC_DEFINED: c_int = 2;
/// One past the last back end that the project registered for others.
pub const BLOSC_IO_LAST_REGISTERED: c_int = 32;

// Ranges of back-end ids: each value is one past its range.
/// Ids below are for back ends that come with the library.
pub const BLOSC2_IO_BLOSC_DEFINED: c_int = 32;
/// Ids below, from `BLOSC2_IO_BLOSC_DEFINED` on, are for back ends that the project registered for
/// others.
pub const BLOSC2_IO_REGISTERED: c_int = 160;
/// Ids below, from `BLOSC2_IO_REGISTERED` on, are for programs.
pub const BLOSC2_IO_USER_DEFINED: c_int = 256;
