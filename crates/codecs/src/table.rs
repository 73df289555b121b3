//! The table of codecs: all that is known of each, besides its streams. Names, the registry of the
//! C library, the tool's options and help, and the tests of all codecs come from here.

use crate::zfp::CompressionMode;
use crate::{blosclz, lz4, ndlz, zfp, zlib, zstd};
use oxiblosc_base::Result;
use oxiblosc_base::cells::BlockShape;
use std::ffi::CStr;
use std::ops::RangeInclusive;

/// A codec of the format, with a number in the flags of chunks. There are no more such numbers.
pub(crate) struct BuiltIn {
    /// The name in the C API.
    pub name: &'static CStr,
    /// The number in the top three bits of a chunk's flags.
    pub format: u8,
    /// The library that it comes from, and the version of that.
    pub library: &'static CStr,
    pub library_version: fn() -> &'static str,
    /// Whether chunks may contain a dictionary for it.
    pub supports_dict: bool,
}

/// All of them, in the order of `Codec::ALL`.
pub(crate) static BUILT_IN: [BuiltIn; 5] = [
    BuiltIn {
        name: c"blosclz",
        format: 0,
        library: c"BloscLZ",
        library_version: || blosclz::VERSION,
        supports_dict: false,
    },
    BuiltIn {
        name: c"lz4",
        format: 1,
        library: c"LZ4",
        library_version: lz4::version,
        supports_dict: true,
    },
    BuiltIn {
        name: c"lz4hc",
        format: 1,
        library: c"LZ4",
        library_version: lz4::version,
        supports_dict: true,
    },
    BuiltIn {
        name: c"zlib",
        format: 3,
        library: c"Zlib",
        library_version: || zlib::VERSION,
        supports_dict: false,
    },
    BuiltIn {
        name: c"zstd",
        format: 4,
        library: c"Zstd",
        library_version: zstd::version,
        supports_dict: true,
    },
];

/// Ids of the registered codecs that are part of the library.
pub mod codec_id {
    /// NDLZ: two-dimensional blocks of bytes, by cells; the meta byte is the side of a cell, 4 or
    /// 8.
    pub const NDLZ: u8 = 32;
    /// ZFP with an accuracy, lossy; the meta byte, as a signed number, is the exponent of ten of
    /// the largest error.
    pub const ZFP_ACCURACY: u8 = 33;
    /// ZFP with a precision, lossy; the meta byte is how many bit planes are kept.
    pub const ZFP_PRECISION: u8 = 34;
    /// ZFP at a fixed rate, lossy; the meta byte is the size in percent.
    pub const ZFP_RATE: u8 = 35;
}

/// A codec that is registered with the Blosc project.
pub struct RegisteredCodec {
    /// Its id.
    pub id: u8,
    /// The name in the C API.
    pub name: &'static CStr,
    /// What the library has of it; none if it is a plugin.
    pub own: Option<OwnCodec>,
}

/// A registered codec that is part of the library. All of them compress blocks of arrays.
pub struct OwnCodec {
    /// Its functions.
    pub functions: CodecFunctions,
    /// What its meta byte means.
    pub parameter: Parameter,
    /// The numbers of dimensions of the arrays that it takes.
    pub dims: RangeInclusive<usize>,
    /// The sizes of their items, in bytes,
    pub typesizes: &'static [usize],
    /// and what items these are, in words.
    pub items: &'static str,
}

/// The meta byte of a codec that needs one.
pub struct Parameter {
    /// Values, as people write them.
    pub examples: &'static [i8],
    /// Whether it takes no other values.
    pub is_closed: bool,
    /// What it is, in words,
    pub meaning: &'static str,
    /// and in one.
    pub word: &'static str,
}

/// From one buffer to the other: meta byte, shape, size of an item.
type OverNumbers<T> = fn(u8, BlockShape, usize, &[u8], &mut [u8]) -> Result<T>;
/// The same for some items; the last number is that of the first.
type ItemsOf = fn(u8, BlockShape, usize, &[u8], usize, &mut [u8]) -> Result<bool>;

/// The functions of a codec of the library. The first argument is its meta byte; then follow, as
/// far as it needs them, the shape of the block and the size of an item. Streams and data come
/// last.
pub enum CodecFunctions {
    /// For numbers: both ways depend on shape and size.
    Numbers {
        /// Returns the bytes written; 0 if the stream does not become smaller.
        compress: OverNumbers<usize>,
        /// Fills the block.
        decompress: OverNumbers<()>,
        /// Decompresses only items from the given one on, if the stream lets it.
        items: Option<ItemsOf>,
    },
    /// For bytes: the stream says the shape.
    Bytes {
        /// As for numbers.
        compress: fn(u8, BlockShape, &[u8], &mut [u8]) -> Result<usize>,
        /// Returns the bytes written.
        decompress: fn(u8, &[u8], &mut [u8]) -> Result<usize>,
    },
}

/// The row of a mode of ZFP.
macro_rules! zfp {
    ($mode:ident, $items:expr, $parameter:expr) => {
        Some(OwnCodec {
            functions: CodecFunctions::Numbers {
                compress: |meta, block, size, src, dst| {
                    zfp::compress((CompressionMode::$mode, meta), block, size, src, dst)
                },
                decompress: |meta, block, size, src, dst| {
                    zfp::decompress((CompressionMode::$mode, meta), block, size, src, dst)
                },
                items: $items,
            },
            parameter: $parameter,
            dims: 1..=4,
            typesizes: &[4, 8],
            items: "floating-point numbers of 4 or 8 bytes",
        })
    };
}

/// A codec that others have in a library of its own.
const fn plugin(id: u8, name: &'static CStr) -> RegisteredCodec {
    let own = None;
    RegisteredCodec { id, name, own }
}

/// All registered codecs.
pub static REGISTERED_CODECS: [RegisteredCodec; 9] = [
    RegisteredCodec {
        id: codec_id::NDLZ,
        name: c"ndlz",
        own: Some(OwnCodec {
            functions: CodecFunctions::Bytes {
                compress: ndlz::compress,
                decompress: ndlz::decompress,
            },
            parameter: Parameter {
                examples: &[4, 8],
                is_closed: true,
                meaning: "the side of a cell",
                word: "SIDE",
            },
            dims: 2..=2,
            typesizes: &[1],
            items: "items of 1 byte",
        }),
    },
    RegisteredCodec {
        id: codec_id::ZFP_ACCURACY,
        name: c"zfp_acc",
        own: zfp!(
            Accuracy,
            None,
            Parameter {
                examples: &[-3],
                is_closed: false,
                meaning: "a tolerance of 10 to that power",
                word: "EXPONENT",
            }
        ),
    },
    RegisteredCodec {
        id: codec_id::ZFP_PRECISION,
        name: c"zfp_prec",
        own: zfp!(
            Precision,
            None,
            Parameter {
                examples: &[10],
                is_closed: false,
                meaning: "bits of precision",
                word: "BITS",
            }
        ),
    },
    RegisteredCodec {
        id: codec_id::ZFP_RATE,
        name: c"zfp_rate",
        own: zfp!(
            Rate,
            Some(zfp::decompress_items),
            Parameter {
                examples: &[25],
                is_closed: false,
                meaning: "percent of the size",
                word: "PERCENT",
            }
        ),
    },
    plugin(36, c"openhtj2k"),
    plugin(37, c"grok"),
    plugin(38, c"openzl"),
    plugin(39, c"j2k"),
    plugin(40, c"htj2k"),
];

/// The registered codec of an id.
pub fn registered_codec(id: u8) -> Option<&'static RegisteredCodec> {
    REGISTERED_CODECS.iter().find(|codec| codec.id == id)
}

/// The registered codec of an id, if it is part of the library.
pub fn own_codec(id: u8) -> Option<&'static OwnCodec> {
    registered_codec(id)?.own.as_ref()
}
