//! How a command ends, and the error messages.

use crate::paths::shown;
use oxiblosc_base::{Error, ErrorKind};
use std::fmt;
use std::io;
use std::path::Path;

/// How a command that could be done ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Fine,
    /// The data are damaged. The command has printed how.
    Damaged,
}

/// A command that could not be done.
#[derive(Debug)]
pub enum Failure {
    /// The message, which is one line.
    Message(String),
    /// The same, of a command that could not be done because its data are damaged.
    Damaged(String),
    /// The command has printed its messages itself.
    Reported,
    /// The reader of the output has closed its end, as `head` does: ends the program without a
    /// message.
    BrokenPipe,
}

/// The result of every part of the tool.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// A failure with this message.
    pub fn message(text: impl Into<String>) -> Self {
        Self::Message(text.into())
    }

    /// Damaged data, with this message.
    pub fn damaged(text: impl Into<String>) -> Self {
        Self::Damaged(text.into())
    }

    /// An error of the library; the message begins with `what`.
    pub fn of(what: impl fmt::Display, error: Error) -> Self {
        Self::Message(format!("{what}: {}", describe(error)))
    }

    /// An error of the library while something is read; the message begins with `what`. Tells
    /// damage from what is no fault of the data.
    pub fn unread(what: impl fmt::Display, error: Error) -> Self {
        let text = format!("{what}: {}", describe(error));
        match is_damage(error) {
            true => Self::Damaged(text),
            false => Self::Message(text),
        }
    }

    /// An error of the operating system; the message begins with the path.
    pub fn at(path: &Path, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        Self::Message(format!("{}: {}", shown(path).display(), explain(error)))
    }
}

/// The message of an error of the operating system, as it stands behind a colon.
pub fn explain(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".into(),
        io::ErrorKind::PermissionDenied => "permission denied".into(),
        io::ErrorKind::IsADirectory => "is a directory".into(),
        io::ErrorKind::OutOfMemory => NO_MEMORY.into(),
        _ if oxiblosc_base::system::files::is_link(error) => {
            "is a symbolic link, which is not followed within a directory \
             (cp -rL copies it without links)"
                .into()
        }
        _ => error.to_string(),
    }
}

/// The error of the system behind one of the library, if it refused something.
pub fn cause(error: Error) -> Option<io::Error> {
    error.os_error().map(io::Error::from_raw_os_error)
}

/// Whether an error of the library shows that data are damaged, and not that something is missing
/// to read them. Of files that cannot be opened or read, [`Faults`](crate::faults::Faults) knows
/// whether that is the system's fault.
pub fn is_damage(error: Error) -> bool {
    !matches!(
        error.kind(),
        ErrorKind::MemoryAlloc
            | ErrorKind::CodecSupport
            | ErrorKind::FilterPipeline
            | ErrorKind::VersionSupport
            | ErrorKind::FileWrite
            | ErrorKind::FileTruncate
            | ErrorKind::FileRemove
            | ErrorKind::ThreadCreate
            | ErrorKind::PluginIo
            | ErrorKind::Lock
            | ErrorKind::Registered
    )
}

/// The message for lack of memory.
pub const NO_MEMORY: &str = "not enough memory";

/// The message of an error of the library, in lower case, as it stands behind a colon.
pub fn describe(error: Error) -> String {
    if let Some(cause) = cause(error) {
        return explain(&cause);
    }
    match error.kind() {
        ErrorKind::Registered => format!("error {}", error.code()),
        ErrorKind::CodecSupport => {
            "needs a codec that b2 does not have (b2 info names it; python-blosc2 with its plugin reads it)".into()
        }
        ErrorKind::FilterPipeline => {
            "needs a filter that b2 does not have (b2 info names it; python-blosc2 with its plugin reads it)".into()
        }
        ErrorKind::VersionSupport => "is of a newer format than b2 knows".into(),
        ErrorKind::Failure | ErrorKind::Data | ErrorKind::Stream | ErrorKind::RunLength => {
            "its bytes make no sense".into()
        }
        ErrorKind::ReadBuffer => "ends too early".into(),
        ErrorKind::InvalidHeader => "its header makes no sense".into(),
        ErrorKind::CodecDict => "its dictionary makes no sense".into(),
        ErrorKind::FileWrite | ErrorKind::FileTruncate => {
            "cannot be written (is there room on the disk, and does it work?)".into()
        }
        ErrorKind::SchunkSpecial | ErrorKind::FrameSpecial | ErrorKind::MaxBufsizeExceeded => {
            "is larger than it may be".into()
        }
        ErrorKind::TwoGbLimit => "has a chunk of more than 2 GiB".into(),
        ErrorKind::ChunkAppend | ErrorKind::ChunkInsert | ErrorKind::ChunkUpdate => {
            "does not take a chunk of this size".into()
        }
        ErrorKind::CodecParam => "has a parameter that its codec does not take".into(),
        ErrorKind::InvalidParam => "has parameters that do not go together".into(),
        ErrorKind::FrameType => "is a frame of another kind".into(),
        ErrorKind::ThreadCreate => "no thread could be started (--threads 1 needs none)".into(),
        ErrorKind::Lock => "is locked by another process, or cannot be locked".into(),
        ErrorKind::MemoryAlloc => NO_MEMORY.into(),
        ErrorKind::FileOpen => "cannot be opened".into(),
        ErrorKind::FileRead => "cannot be read".into(),
        _ => format!("could not be done (error {})", error.code()),
    }
}

/// The advice for a frame that cannot be opened.
pub const REPAIR: &str = "b2 repair may bring back what is readable";
