//! The list of codecs, with their names and numbers in the C API and in the chunk format.

use std::ffi::CStr;

/// The names of the globally registered codecs; the first has the id [`FIRST_REGISTERED`]. Some are part of the library, others are plugins.
const REGISTERED: [&CStr; 9] = [
    c"ndlz",
    c"zfp_acc",
    c"zfp_prec",
    c"zfp_rate",
    c"openhtj2k",
    c"grok",
    c"openzl",
    c"j2k",
    c"htj2k",
];

/// The id of the first registered codec.
const FIRST_REGISTERED: i32 = 32;

/// The name of the registered codec of this id.
pub fn registered_name(code: i32) -> Option<&'static CStr> {
    let index = usize::try_from(code.checked_sub(FIRST_REGISTERED)?).ok()?;
    REGISTERED.get(index).copied()
}

/// The id of the registered codec of this name.
pub fn registered_code(name: &str) -> Option<i32> {
    let found = |known: &&CStr| known.to_bytes() == name.as_bytes();
    let index = REGISTERED.iter().position(found)?;
    Some(FIRST_REGISTERED + index as i32)
}

/// A codec that is part of the library. The discriminants are the C API's compressor codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// BloscLZ, made for shuffled data.
    BloscLz = 0,
    /// LZ4, fast.
    Lz4 = 1,
    /// LZ4HC: the LZ4 format, with a slower search that finds longer matches.
    Lz4hc = 2,
    /// Zlib: a deflate stream with zlib's header and checksum.
    Zlib = 4,
    /// Zstandard.
    Zstd = 5,
}

impl Codec {
    /// Every codec, in the order of their codes (also the order in which the C API lists them).
    pub const ALL: [Codec; 5] = [
        Codec::BloscLz,
        Codec::Lz4,
        Codec::Lz4hc,
        Codec::Zlib,
        Codec::Zstd,
    ];

    /// The codec with a compressor code (`BLOSC_BLOSCLZ` ...); `None` if there is none.
    #[inline]
    pub fn from_code(code: i32) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.code() == code)
    }

    /// The compressor code of the C API.
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The codec with a compressor name. Case matters, as in the C API.
    pub fn from_name(name: &str) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.name() == name)
    }

    /// The compressor name of the C API.
    pub const fn c_name(self) -> &'static CStr {
        match self {
            Codec::BloscLz => c"blosclz",
            Codec::Lz4 => c"lz4",
            Codec::Lz4hc => c"lz4hc",
            Codec::Zlib => c"zlib",
            Codec::Zstd => c"zstd",
        }
    }

    /// The compressor name of the C API, as a `str`.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or_default()
    }

    /// The number in the top three bits of a chunk's flags. LZ4 and LZ4HC share theirs, as they share the format.
    pub const fn format(self) -> u8 {
        match self {
            Codec::BloscLz => 0,
            Codec::Lz4 | Codec::Lz4hc => 1,
            Codec::Zlib => 3,
            Codec::Zstd => 4,
        }
    }

    /// The codec that decompresses a chunk with this format number: [`Codec::Lz4`] also for what LZ4HC wrote.
    #[inline]
    pub fn from_format(format: u8) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.format() == format)
    }

    /// The version of the codec's format, as a chunk's header holds it. It is 1 for all codecs.
    pub const fn format_version(self) -> u8 {
        1
    }

    /// The name of the library that the codec comes from.
    pub const fn library_name(self) -> &'static CStr {
        match self {
            Codec::BloscLz => c"BloscLZ",
            Codec::Lz4 | Codec::Lz4hc => c"LZ4",
            Codec::Zlib => c"Zlib",
            Codec::Zstd => c"Zstd",
        }
    }

    /// The version of that library.
    pub fn library_version(self) -> &'static str {
        match self {
            Codec::BloscLz => super::blosclz::VERSION,
            Codec::Lz4 | Codec::Lz4hc => super::lz4::version(),
            Codec::Zlib => super::zlib::VERSION,
            Codec::Zstd => super::zstd::version(),
        }
    }

    /// Whether chunks of this codec may contain a dictionary.
    pub const fn supports_dict(self) -> bool {
        matches!(self, Codec::Lz4 | Codec::Lz4hc | Codec::Zstd)
    }
}
