//! The built-in codecs by code, name and format, and the names of registered ones.

use crate::table::{BUILT_IN, BuiltIn, REGISTERED_CODECS, own_codec, registered_codec};
use std::ffi::CStr;

/// The name of the registered codec of this id.
pub fn registered_name(code: i32) -> Option<&'static CStr> {
    Some(registered_codec(u8::try_from(code).ok()?)?.name)
}

/// The id of the registered codec of this name.
pub fn registered_code(name: &str) -> Option<i32> {
    let mut codecs = REGISTERED_CODECS.iter();
    let found = codecs.find(|codec| codec.name.to_bytes() == name.as_bytes())?;
    Some(found.id.into())
}

/// Whether the library has a codec, built in or registered.
pub fn has_codec(code: u8) -> bool {
    Codec::from_code(code.into()).is_some() || own_codec(code).is_some()
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

    fn row(self) -> &'static BuiltIn {
        // The position in the table: there is no codec 3.
        &BUILT_IN[self as usize - usize::from(self as usize > 3)]
    }

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
    pub fn c_name(self) -> &'static CStr {
        self.row().name
    }

    /// The compressor name of the C API, as a `str`.
    pub fn name(self) -> &'static str {
        self.c_name().to_str().unwrap_or_default()
    }

    /// The number in the top three bits of a chunk's flags. LZ4 and LZ4HC share theirs, as they
    /// share the format.
    pub fn format(self) -> u8 {
        self.row().format
    }

    /// The codec that decompresses a chunk with this format number: [`Codec::Lz4`] also for what
    /// LZ4HC wrote.
    #[inline]
    pub fn from_format(format: u8) -> Option<Codec> {
        Self::ALL.into_iter().find(|c| c.format() == format)
    }

    /// The version of the codec's format, as a chunk's header holds it. It is 1 for all codecs.
    pub const fn format_version(self) -> u8 {
        1
    }

    /// The name of the library that the codec comes from.
    pub fn library_name(self) -> &'static CStr {
        self.row().library
    }

    /// The version of that library.
    pub fn library_version(self) -> &'static str {
        (self.row().library_version)()
    }

    /// Whether chunks of this codec may contain a dictionary.
    pub fn supports_dict(self) -> bool {
        self.row().supports_dict
    }
}
