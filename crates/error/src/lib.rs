//! One error type for every layer. The numbers are the C API's return codes (`BLOSC2_ERROR_*`).
#![forbid(unsafe_code)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

use core::fmt;

/// What went wrong; [`Error::code`] gives the C return code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Error {
    /// Generic failure.
    Failure,
    /// Bad stream.
    Stream,
    /// Invalid data.
    Data,
    /// Memory could not be allocated.
    MemoryAlloc,
    /// Not enough space to read.
    ReadBuffer,
    /// Not enough space to write.
    WriteBuffer,
    /// Codec not supported.
    CodecSupport,
    /// Invalid parameter supplied to a codec.
    CodecParam,
    /// Codec dictionary error.
    CodecDict,
    /// Version not supported.
    VersionSupport,
    /// Invalid value in a header.
    InvalidHeader,
    /// Invalid parameter supplied to a function.
    InvalidParam,
    /// File read failure.
    FileRead,
    /// File write failure.
    FileWrite,
    /// File open failure.
    FileOpen,
    /// Not found.
    NotFound,
    /// Bad run length encoding.
    RunLength,
    /// Filter pipeline error.
    FilterPipeline,
    /// Chunk insert failure.
    ChunkInsert,
    /// Chunk append failure.
    ChunkAppend,
    /// Chunk update failure.
    ChunkUpdate,
    /// Sizes larger than 2 GB are not supported.
    TwoGbLimit,
    /// Super-chunk copy failure.
    SchunkCopy,
    /// Wrong type for a frame.
    FrameType,
    /// File truncate failure.
    FileTruncate,
    /// Thread or thread context creation failure.
    ThreadCreate,
    /// Postfilter failure.
    Postfilter,
    /// Special frame failure.
    FrameSpecial,
    /// Special super-chunk failure.
    SchunkSpecial,
    /// I/O plugin error.
    PluginIo,
    /// Remove file failure.
    FileRemove,
    /// Pointer is null.
    NullPointer,
    /// Invalid index.
    InvalidIndex,
    /// Metalayer not found.
    MetalayerNotFound,
    /// Maximum buffer size exceeded.
    MaxBufsizeExceeded,
    /// Tuner failure.
    Tuner,
    /// Frame lock failure.
    Lock,
    /// A registered function returned this code, which is not one of the above.
    Registered(i32),
}

/// The result of every fallible function of the core.
pub type Result<T> = core::result::Result<T, Error>;

/// Every error, in the order of the codes.
const ALL: [Error; 37] = [
    Error::Failure,
    Error::Stream,
    Error::Data,
    Error::MemoryAlloc,
    Error::ReadBuffer,
    Error::WriteBuffer,
    Error::CodecSupport,
    Error::CodecParam,
    Error::CodecDict,
    Error::VersionSupport,
    Error::InvalidHeader,
    Error::InvalidParam,
    Error::FileRead,
    Error::FileWrite,
    Error::FileOpen,
    Error::NotFound,
    Error::RunLength,
    Error::FilterPipeline,
    Error::ChunkInsert,
    Error::ChunkAppend,
    Error::ChunkUpdate,
    Error::TwoGbLimit,
    Error::SchunkCopy,
    Error::FrameType,
    Error::FileTruncate,
    Error::ThreadCreate,
    Error::Postfilter,
    Error::FrameSpecial,
    Error::SchunkSpecial,
    Error::PluginIo,
    Error::FileRemove,
    Error::NullPointer,
    Error::InvalidIndex,
    Error::MetalayerNotFound,
    Error::MaxBufsizeExceeded,
    Error::Tuner,
    Error::Lock,
];

impl Error {
    /// The C return code.
    pub fn code(self) -> i32 {
        match self {
            Self::Registered(code) => code,
            known => ALL
                .iter()
                .zip(1..)
                .find(|(error, _)| **error == known)
                .map_or(-1, |(_, n)| -n),
        }
    }

    /// The error of a function that returns `reported` for any failure. Lack of memory is returned as itself even so, since the same call
    /// may succeed later.
    pub fn or(self, reported: Self) -> Self {
        match self {
            Self::MemoryAlloc => self,
            _ => reported,
        }
    }

    /// As [`Self::or`], with [`Self::Failure`].
    pub fn or_failure(self) -> Self {
        self.or(Self::Failure)
    }

    /// The error for a code that another function returned: `reported`, unless memory was lacking, as by [`Self::or`].
    pub fn of_code(code: i32, reported: Self) -> Self {
        Self::known(code).map_or(reported, |error| error.or(reported))
    }

    /// The error with this code, if there is one.
    pub fn known(code: i32) -> Option<Self> {
        ALL.get(usize::try_from(-1i64 - i64::from(code)).ok()?)
            .copied()
    }

    /// The error that a registered function reported by returning `code`, which is not 0.
    pub fn registered(code: i32) -> Self {
        match Self::known(code) {
            Some(error) => error,
            None if code < 0 => Self::Registered(code),
            None => Self::Failure,
        }
    }

    /// The text that `blosc2_error_string` returns.
    pub const fn message(self) -> &'static core::ffi::CStr {
        match self {
            Self::Failure => c"Generic failure",
            Self::Stream => c"Bad stream",
            Self::Data => c"Invalid data",
            Self::MemoryAlloc => c"Memory alloc/realloc failure",
            Self::ReadBuffer => c"Not enough space to read",
            Self::WriteBuffer => c"Not enough space to write",
            Self::CodecSupport => c"Codec not supported",
            Self::CodecParam => c"Invalid parameter supplied to codec",
            Self::CodecDict => c"Codec dictionary error",
            Self::VersionSupport => c"Version not supported",
            Self::InvalidHeader => c"Invalid value in header",
            Self::InvalidParam => c"Invalid parameter supplied to function",
            Self::FileRead => c"File read failure",
            Self::FileWrite => c"File write failure",
            Self::FileOpen => c"File open failure",
            Self::NotFound => c"Not found",
            Self::RunLength => c"Bad run length encoding",
            Self::FilterPipeline => c"Filter pipeline error",
            Self::ChunkInsert => c"Chunk insert failure",
            Self::ChunkAppend => c"Chunk append failure",
            Self::ChunkUpdate => c"Chunk update failure",
            Self::TwoGbLimit => c"Sizes larger than 2gb not supported",
            Self::SchunkCopy => c"Super-chunk copy failure",
            Self::FrameType => c"Wrong type for frame",
            Self::FileTruncate => c"File truncate failure",
            Self::ThreadCreate => c"Thread or thread context creation failure",
            Self::Postfilter => c"Postfilter failure",
            Self::FrameSpecial => c"Special frame failure",
            Self::SchunkSpecial => c"Special super-chunk failure",
            Self::PluginIo => c"IO plugin error",
            Self::FileRemove => c"Remove file failure",
            Self::NullPointer => c"Pointer is null",
            Self::InvalidIndex => c"Invalid index",
            Self::MetalayerNotFound => c"Metalayer has not been found",
            Self::MaxBufsizeExceeded => c"Maximum buffersize exceeded",
            Self::Tuner => c"Tuner failure",
            Self::Lock => c"Frame lock failure",
            Self::Registered(_) => c"Unknown error",
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().to_str().unwrap_or_default())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_errors_are_one_to_one() {
        for (error, code) in ALL.iter().zip((-37..0).rev()) {
            assert_eq!(error.code(), code);
            assert_eq!(Error::known(code), Some(*error));
            assert_eq!(Error::registered(code), *error);
        }
        assert_eq!(
            (Error::known(0), Error::known(-38), Error::known(i32::MIN)),
            (None, None, None)
        );
        assert_eq!(Error::registered(-1000).code(), -1000);
        assert_eq!(Error::registered(5), Error::Failure);
    }
}
