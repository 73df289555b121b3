//! One error type for every layer. The numbers are the C API's return codes (`BLOSC2_ERROR_*`).

use core::fmt;

/// What went wrong; `as i32` gives the C return code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Error {
    /// Generic failure.
    Failure = -1,
    /// Bad stream.
    Stream = -2,
    /// Invalid data.
    Data = -3,
    /// Memory could not be allocated.
    MemoryAlloc = -4,
    /// Not enough space to read.
    ReadBuffer = -5,
    /// Not enough space to write.
    WriteBuffer = -6,
    /// Codec not supported.
    CodecSupport = -7,
    /// Invalid parameter supplied to a codec.
    CodecParam = -8,
    /// Codec dictionary error.
    CodecDict = -9,
    /// Version not supported.
    VersionSupport = -10,
    /// Invalid value in a header.
    InvalidHeader = -11,
    /// Invalid parameter supplied to a function.
    InvalidParam = -12,
    /// File read failure.
    FileRead = -13,
    /// File write failure.
    FileWrite = -14,
    /// File open failure.
    FileOpen = -15,
    /// Not found.
    NotFound = -16,
    /// Bad run length encoding.
    RunLength = -17,
    /// Filter pipeline error.
    FilterPipeline = -18,
    /// Chunk insert failure.
    ChunkInsert = -19,
    /// Chunk append failure.
    ChunkAppend = -20,
    /// Chunk update failure.
    ChunkUpdate = -21,
    /// Sizes larger than 2 GB are not supported.
    TwoGbLimit = -22,
    /// Super-chunk copy failure.
    SchunkCopy = -23,
    /// Wrong type for a frame.
    FrameType = -24,
    /// File truncate failure.
    FileTruncate = -25,
    /// Thread or thread context creation failure.
    ThreadCreate = -26,
    /// Postfilter failure.
    Postfilter = -27,
    /// Special frame failure.
    FrameSpecial = -28,
    /// Special super-chunk failure.
    SchunkSpecial = -29,
    /// I/O plugin error.
    PluginIo = -30,
    /// Remove file failure.
    FileRemove = -31,
    /// Pointer is null.
    NullPointer = -32,
    /// Invalid index.
    InvalidIndex = -33,
    /// Metalayer not found.
    MetalayerNotFound = -34,
    /// Maximum buffer size exceeded.
    MaxBufsizeExceeded = -35,
    /// Tuner failure.
    Tuner = -36,
    /// Frame lock failure.
    Lock = -37,
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
    pub const fn code(self) -> i32 {
        self as i32
    }

    /// The error that a caller's function reported by returning `code`; an unknown code gives `other`.
    pub fn from_code(code: i32, other: Self) -> Self {
        ALL.iter()
            .copied()
            .find(|error| error.code() == code)
            .unwrap_or(other)
    }

    /// What `blosc2_error_string` says.
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
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message().to_string_lossy())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_errors_are_one_to_one() {
        for (i, error) in ALL.iter().enumerate() {
            assert_eq!(error.code(), -1 - i as i32);
            assert_eq!(Error::from_code(error.code(), Error::Data), *error);
        }
        assert_eq!(Error::from_code(-1000, Error::Data), Error::Data);
    }
}
