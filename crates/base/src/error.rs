//! The error of every layer: which of the C API's return codes it is (`BLOSC2_ERROR_*`), what was
//! being done, and why the system refused it.
#![forbid(unsafe_code)]

mod doing;

pub use doing::{Context, Doing, OrError};

use core::ffi::CStr;
use core::fmt;
use core::hash::{Hash, Hasher};
use std::io;

/// The result of every fallible function of the core.
pub type Result<T> = core::result::Result<T, Error>;

/// Defines the kinds of errors, in the order of their codes: -1, -2 and so on. Each line has the
/// name of the kind, that of the error without a cause, and what `blosc2_error_string` says.
macro_rules! kinds {
    ($($(#[$doc:meta])+ $kind:ident $error:ident $message:literal)+) => {
        /// What went wrong, by the code that a C function returns.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[non_exhaustive]
        pub enum ErrorKind {
            $($(#[$doc])+ $kind,)+
            /// A registered function returned a code that is not one of the above.
            Registered,
        }

        /// The kinds, in the order of their codes.
        const KINDS: &[ErrorKind] = &[$(ErrorKind::$kind),+];
        /// Their texts.
        const MESSAGES: &[&CStr] = &[$($message),+];

        impl Error {
            $($(#[$doc])+ pub const $error: Self = Self::of_kind(ErrorKind::$kind);)+
        }
    };
}

kinds! {
    /// Generic failure.
    Failure FAILURE c"Generic failure"
    /// Bad stream.
    Stream STREAM c"Bad stream"
    /// Invalid data.
    Data DATA c"Invalid data"
    /// Memory could not be allocated.
    MemoryAlloc MEMORY_ALLOC c"Memory alloc/realloc failure"
    /// Not enough space to read.
    ReadBuffer READ_BUFFER c"Not enough space to read"
    /// Not enough space to write.
    WriteBuffer WRITE_BUFFER c"Not enough space to write"
    /// Codec not supported.
    CodecSupport CODEC_SUPPORT c"Codec not supported"
    /// Invalid parameter supplied to a codec.
    CodecParam CODEC_PARAM c"Invalid parameter supplied to codec"
    /// Codec dictionary error.
    CodecDict CODEC_DICT c"Codec dictionary error"
    /// Version not supported.
    VersionSupport VERSION_SUPPORT c"Version not supported"
    /// Invalid value in a header.
    InvalidHeader INVALID_HEADER c"Invalid value in header"
    /// Invalid parameter supplied to a function.
    InvalidParam INVALID_PARAM c"Invalid parameter supplied to function"
    /// File read failure.
    FileRead FILE_READ c"File read failure"
    /// File write failure.
    FileWrite FILE_WRITE c"File write failure"
    /// File open failure.
    FileOpen FILE_OPEN c"File open failure"
    /// Not found.
    NotFound NOT_FOUND c"Not found"
    /// Bad run length encoding.
    RunLength RUN_LENGTH c"Bad run length encoding"
    /// Filter pipeline error.
    FilterPipeline FILTER_PIPELINE c"Filter pipeline error"
    /// Chunk insert failure.
    ChunkInsert CHUNK_INSERT c"Chunk insert failure"
    /// Chunk append failure.
    ChunkAppend CHUNK_APPEND c"Chunk append failure"
    /// Chunk update failure.
    ChunkUpdate CHUNK_UPDATE c"Chunk update failure"
    /// Sizes larger than 2 GB are not supported.
    TwoGbLimit TWO_GB_LIMIT c"Sizes larger than 2gb not supported"
    /// Super-chunk copy failure.
    SchunkCopy SCHUNK_COPY c"Super-chunk copy failure"
    /// Wrong type for a frame.
    FrameType FRAME_TYPE c"Wrong type for frame"
    /// File truncate failure.
    FileTruncate FILE_TRUNCATE c"File truncate failure"
    /// Thread or thread context creation failure.
    ThreadCreate THREAD_CREATE c"Thread or thread context creation failure"
    /// Postfilter failure.
    Postfilter POSTFILTER c"Postfilter failure"
    /// Special frame failure.
    FrameSpecial FRAME_SPECIAL c"Special frame failure"
    /// Special super-chunk failure.
    SchunkSpecial SCHUNK_SPECIAL c"Special super-chunk failure"
    /// I/O plugin error.
    PluginIo PLUGIN_IO c"IO plugin error"
    /// Remove file failure.
    FileRemove FILE_REMOVE c"Remove file failure"
    /// Pointer is null.
    NullPointer NULL_POINTER c"Pointer is null"
    /// Invalid index.
    InvalidIndex INVALID_INDEX c"Invalid index"
    /// Metalayer not found.
    MetalayerNotFound METALAYER_NOT_FOUND c"Metalayer has not been found"
    /// Maximum buffer size exceeded.
    MaxBufsizeExceeded MAX_BUFSIZE_EXCEEDED c"Maximum buffersize exceeded"
    /// Tuner failure.
    Tuner TUNER c"Tuner failure"
    /// Frame lock failure.
    Lock LOCK c"Frame lock failure"
}

/// An error. Two are equal if they are of the same kind: what was being done only explains it.
#[derive(Clone, Copy)]
pub struct Error {
    /// The C return code.
    code: i32,
    doing: Doing,
    /// The error number of the system; 0 if it did not refuse anything.
    errno: u16,
}

// It is returned in one register.
const _: () = assert!(size_of::<Error>() == 8);

impl Error {
    const fn of_kind(kind: ErrorKind) -> Self {
        Self::of_code(-1 - kind as i32)
    }

    const fn of_code(code: i32) -> Self {
        Self {
            code,
            doing: Doing::Unsaid,
            errno: 0,
        }
    }

    /// The C return code.
    pub const fn code(self) -> i32 {
        self.code
    }

    /// What went wrong.
    pub fn kind(self) -> ErrorKind {
        let at = usize::try_from(-1 - i64::from(self.code)).ok();
        let kind = at.and_then(|at| KINDS.get(at));
        kind.copied().unwrap_or(ErrorKind::Registered)
    }

    /// What was being done.
    pub const fn doing(self) -> Doing {
        self.doing
    }

    /// Why the system refused it: its error number (`errno`), if it did.
    pub fn os_error(self) -> Option<i32> {
        (self.errno != 0).then_some(self.errno.into())
    }

    /// Whether it tells more than its kind.
    pub fn is_explained(self) -> bool {
        self.errno != 0 || self.doing != Doing::Unsaid
    }

    /// What it tells more than its kind: "writing the frame's header: No space left on device".
    pub fn explanation(self) -> Explanation {
        Explanation(self)
    }

    /// The error with what was being done, unless that is known already: who is nearer knows
    /// better.
    #[must_use]
    #[cold]
    pub const fn at(self, doing: Doing) -> Self {
        match self.doing {
            Doing::Unsaid => Self { doing, ..self },
            _ => self,
        }
    }

    /// The error with the reason of the operating system.
    #[must_use]
    #[cold]
    pub fn because(self, cause: &io::Error) -> Self {
        let errno = cause.raw_os_error().and_then(|errno| errno.try_into().ok());
        let errno = errno.unwrap_or(self.errno);
        Self { errno, ..self }
    }

    /// The error of a function that returns `reported` for any failure, with the same cause. Lack
    /// of memory is returned as itself even so, since the same call may succeed later.
    #[must_use]
    pub fn or(self, reported: Self) -> Self {
        match self.kind() {
            ErrorKind::MemoryAlloc => self,
            _ => Self {
                code: reported.code,
                ..self
            },
        }
    }

    /// As [`Self::or`], with [`Self::FAILURE`].
    #[must_use]
    pub fn or_failure(self) -> Self {
        self.or(Self::FAILURE)
    }

    /// The error with this code, if there is one.
    pub fn known(code: i32) -> Option<Self> {
        let error = Self::of_code(code);
        (error.kind() != ErrorKind::Registered).then_some(error)
    }

    /// The error that a registered function reported by returning `code`, which is not 0.
    pub fn registered(code: i32) -> Self {
        match code < 0 {
            true => Self::of_code(code),
            false => Self::FAILURE,
        }
    }

    /// The text that `blosc2_error_string` returns.
    pub fn message(self) -> &'static CStr {
        let message = MESSAGES.get(self.kind() as usize);
        message.copied().unwrap_or(c"Unknown error")
    }
}

impl PartialEq for Error {
    fn eq(&self, other: &Self) -> bool {
        self.code == other.code
    }
}

impl Eq for Error {}

impl Hash for Error {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.code.hash(state);
    }
}

/// See [`Error::explanation`].
#[derive(Clone, Copy)]
pub struct Explanation(Error);

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Error { doing, .. } = self.0;
        let cause = self.0.os_error().map(io::Error::from_raw_os_error);
        match (doing, cause) {
            (Doing::Unsaid, None) => Ok(()),
            (Doing::Unsaid, Some(cause)) => cause.fmt(f),
            (doing, None) => doing.fmt(f),
            (doing, Some(cause)) => write!(f, "{doing}: {cause}"),
        }
    }
}

impl fmt::Display for Error {
    /// What went wrong, and what explains it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.message().to_str().unwrap_or_default())?;
        match self.is_explained() {
            true => write!(f, " ({})", self.explanation()),
            false => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", self.kind())?;
        match self.is_explained() {
            true => write!(f, "({})", self.explanation()),
            false => Ok(()),
        }
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_and_kinds_are_one_to_one() {
        for (kind, code) in KINDS.iter().zip((-37..0).rev()) {
            let error = Error::of_kind(*kind);
            assert_eq!((error.code(), error.kind()), (code, *kind));
            assert_eq!(Error::known(code), Some(error));
            assert_eq!(Error::registered(code), error);
        }
        assert_eq!(KINDS.len(), 37);
        for unknown in [0, -38, i32::MIN, i32::MAX] {
            assert_eq!(Error::known(unknown), None);
        }
        assert_eq!(Error::registered(-1000).code(), -1000);
        assert_eq!(Error::registered(-1000).message(), c"Unknown error");
        assert_eq!(Error::registered(5), Error::FAILURE);
    }

    #[test]
    fn an_error_says_what_was_done_and_why() {
        let full = io::Error::from_raw_os_error(28);
        let error = Error::FILE_WRITE.because(&full).at(Doing::WriteHeader);
        assert_eq!(error, Error::FILE_WRITE);
        assert_eq!(error.os_error(), Some(28));
        let text = error.to_string();
        let start = "File write failure (writing the frame's header: ";
        assert!(text.starts_with(start), "{text}");
        assert!(text.contains("28"), "{text}");
        assert_eq!(error.at(Doing::ReadHeader).doing(), Doing::WriteHeader);
        let reported = error.or(Error::CHUNK_APPEND);
        assert_eq!(reported, Error::CHUNK_APPEND);
        assert_eq!(
            (reported.doing(), reported.os_error()),
            (Doing::WriteHeader, Some(28))
        );
        assert_eq!(Error::MEMORY_ALLOC.or_failure(), Error::MEMORY_ALLOC);
        assert_eq!(Error::DATA.to_string(), "Invalid data");
    }
}
