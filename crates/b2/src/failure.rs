//! How a command ends, and the error messages.

use crate::paths::shown;
use oxiblosc_error::Error;
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
    /// The reader of the output has closed its end, as `head` does: ends the program without a message.
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

    /// An error of the library while something is written that has this name. Often the system has just said why.
    pub fn unwritten(name: impl fmt::Display, error: Error) -> Self {
        let why = io::Error::last_os_error();
        match error {
            Error::FileWrite | Error::FileTruncate | Error::FileOpen if is_of_disk(&why) => {
                Self::Message(format!("{name}: {}", explain(&why)))
            }
            error => Self::of(name, error),
        }
    }

    /// An error of the library while something is read; the message begins with `what`. Tells damage from what is no fault of the data.
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
        _ if oxiblosc_system::files::is_link(error) => {
            "is a symbolic link, which is not followed within a directory \
             (cp -rL copies it without links)"
                .into()
        }
        _ => error.to_string(),
    }
}

/// Whether an error of the system can be why a file was not written.
fn is_of_disk(error: &io::Error) -> bool {
    use io::ErrorKind::*;
    let kinds = [StorageFull, QuotaExceeded, FileTooLarge, ReadOnlyFilesystem];
    // An error of the device has no kind of its own.
    kinds.contains(&error.kind()) || error.to_string().starts_with("Input/output error")
}

/// Whether an error of the library shows that data are damaged, and not that something is missing to read them. Of files that cannot be opened
/// or read, [`Faults`](crate::faults::Faults) knows whether that is the system's fault.
pub fn is_damage(error: Error) -> bool {
    !matches!(
        error,
        Error::MemoryAlloc
            | Error::CodecSupport
            | Error::FilterPipeline
            | Error::VersionSupport
            | Error::FileWrite
            | Error::FileTruncate
            | Error::FileRemove
            | Error::ThreadCreate
            | Error::PluginIo
            | Error::Lock
            | Error::Registered(_)
    )
}

/// The message for lack of memory.
pub const NO_MEMORY: &str = "not enough memory";

/// The message of an error of the library, in lower case, as it stands behind a colon.
pub fn describe(error: Error) -> String {
    match error {
        Error::Registered(code) => format!("error {code}"),
        Error::CodecSupport => {
            "needs a codec that b2 does not have (b2 info names it; python-blosc2 with its plugin reads it)".into()
        }
        Error::FilterPipeline => {
            "needs a filter that b2 does not have (b2 info names it; python-blosc2 with its plugin reads it)".into()
        }
        Error::VersionSupport => "is of a newer format than b2 knows".into(),
        Error::Failure | Error::Data | Error::Stream | Error::RunLength => {
            "its bytes make no sense".into()
        }
        Error::ReadBuffer => "ends too early".into(),
        Error::InvalidHeader => "its header makes no sense".into(),
        Error::CodecDict => "its dictionary makes no sense".into(),
        Error::FileWrite | Error::FileTruncate => {
            "cannot be written (is there room on the disk, and does it work?)".into()
        }
        Error::SchunkSpecial | Error::FrameSpecial | Error::MaxBufsizeExceeded => {
            "is larger than it may be".into()
        }
        Error::TwoGbLimit => "has a chunk of more than 2 GiB".into(),
        Error::ChunkAppend | Error::ChunkInsert | Error::ChunkUpdate => {
            "does not take a chunk of this size".into()
        }
        Error::CodecParam => "has a parameter that its codec does not take".into(),
        Error::InvalidParam => "has parameters that do not go together".into(),
        Error::FrameType => "is a frame of another kind".into(),
        Error::ThreadCreate => "no thread could be started (--threads 1 needs none)".into(),
        Error::Lock => "is locked by another process, or cannot be locked".into(),
        Error::MemoryAlloc => NO_MEMORY.into(),
        Error::FileOpen => "cannot be opened".into(),
        Error::FileRead => "cannot be read".into(),
        known => format!("could not be done (error {})", known.code()),
    }
}
