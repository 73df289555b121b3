//! Why a command did not do what it was asked for.

use oxiblosc_error::Error;
use std::fmt;
use std::io;
use std::path::Path;

/// How a command ends when all is well, or when what it found is not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing to complain of.
    Fine,
    /// The data are damaged, and that was said.
    Damaged,
}

/// A command that could not be done.
#[derive(Debug)]
pub enum Failure {
    /// One line for the person who asked.
    Said(String),
    /// One line for each of several things, which stand there already.
    AlreadySaid,
    /// The reader of the output has closed its end, as `head` does: ends the program without a message.
    BrokenPipe,
}

/// What every part of the tool returns.
pub type Result<T> = std::result::Result<T, Failure>;

impl Failure {
    /// Says it.
    pub fn say(text: impl Into<String>) -> Self {
        Self::Said(text.into())
    }

    /// A failure of the library, about `what`.
    pub fn of(what: impl fmt::Display, error: Error) -> Self {
        Self::Said(format!("{what}: {}", describe(error)))
    }

    /// A failure of the system, about a path.
    pub fn at(path: &Path, error: &io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            return Self::BrokenPipe;
        }
        let what = match error.kind() {
            io::ErrorKind::NotFound => "no such file or directory".to_string(),
            io::ErrorKind::PermissionDenied => "permission denied".to_string(),
            io::ErrorKind::IsADirectory => "is a directory".to_string(),
            _ => error.to_string(),
        };
        Self::Said(format!("{}: {what}", path.display()))
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        if error.kind() == io::ErrorKind::BrokenPipe {
            Self::BrokenPipe
        } else {
            Self::Said(error.to_string())
        }
    }
}

/// An error of the library in words that stand behind a colon.
pub fn describe(error: Error) -> String {
    match error {
        Error::Registered(code) => format!("error {code}"),
        Error::CodecSupport => "a codec that this build does not have".into(),
        Error::FilterPipeline => "a filter that this build does not have".into(),
        Error::FileOpen => "cannot be opened".into(),
        Error::FileRead => "cannot be read".into(),
        known => known.to_string().to_lowercase(),
    }
}
