//! The list of codecs, with their names and numbers in the C API and in the chunk format.

/// A codec that is part of the library. The discriminants are the C API's compressor codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Codec {
    /// BloscLZ, made for shuffled data.
    BloscLz = 0,
    /// LZ4, fast.
    Lz4 = 1,
    /// LZ4HC: the LZ4 format, written with more effort.
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
    pub const fn name(self) -> &'static str {
        match self {
            Codec::BloscLz => "blosclz",
            Codec::Lz4 => "lz4",
            Codec::Lz4hc => "lz4hc",
            Codec::Zlib => "zlib",
            Codec::Zstd => "zstd",
        }
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
    pub fn from_format(format: u8) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.format() == format)
    }

    /// The version of the codec's format, which a chunk's header has. It is 1 for all codecs so far.
    pub const fn format_version(self) -> u8 {
        1
    }

    /// The name of the library that the codec comes from.
    pub const fn library_name(self) -> &'static str {
        match self {
            Codec::BloscLz => "BloscLZ",
            Codec::Lz4 | Codec::Lz4hc => "LZ4",
            Codec::Zlib => "Zlib",
            Codec::Zstd => "Zstd",
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

    /// Whether chunks of this codec may carry a dictionary.
    pub const fn supports_dict(self) -> bool {
        matches!(self, Codec::Lz4 | Codec::Lz4hc | Codec::Zstd)
    }
}
