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

    /// An error of the library; the message begins with `what`.
    pub fn of(what: impl fmt::Display, error: Error) -> Self {
        Self::Message(format!("{what}: {}", describe(error)))
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
        _ => error.to_string(),
    }
}

/// The message for lack of memory.
pub const NO_MEMORY: &str = "not enough memory";

/// The message of an error of the library, in lower case, as it stands behind a colon.
pub fn describe(error: Error) -> String {
    match error {
        Error::Registered(code) => format!("error {code}"),
        Error::CodecSupport => "a codec that this build does not have".into(),
        Error::FilterPipeline => "a filter that this build does not have".into(),
        Error::MemoryAlloc => NO_MEMORY.into(),
        Error::FileOpen => "cannot be opened".into(),
        Error::FileRead => "cannot be read".into(),
        known => known.to_string().to_lowercase(),
    }
}
