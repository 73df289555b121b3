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

impl Error {
    /// The C return code.
    pub const fn code(self) -> i32 {
        self as i32
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

impl std::error::Error for Error {}
