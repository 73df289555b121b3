//! What was being done when an error came up.

use super::{Error, Result};
use core::fmt;
use std::io;

/// Defines what can be attempted, with the words for it.
macro_rules! attempts {
    ($($name:ident $words:literal)+) => {
        /// What was being done.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u16)]
        #[non_exhaustive]
        pub enum Doing {
            /// Nobody said it.
            Unsaid,
            $(#[doc = $words] $name,)+
        }

        /// The words for each.
        const WORDS: &[&str] = &["", $($words),+];
    };
}

attempts! {
    OpenFile "opening the file"
    CreateFile "creating the file"
    SizeOfFile "asking for the size of the file"
    SyncFile "syncing the file to the disk"
    RenameFile "giving the file its name"
    RemoveFile "removing the file"
    CreateFolder "creating the directory"
    WriteReadOnly "writing to what was opened to be read"
    OpenLockFile "opening the lock file"
    WaitForLock "waiting for others who have the frame locked"
    LockByThisThread "locking a frame that this thread has locked"
    ChangeWithoutLocks "changing a frame where the file system has no locks"
    ReadHeader "reading the frame's header"
    ReadIndex "reading the frame's index"
    ReadTrailer "reading the frame's trailer"
    CheckSums "comparing the checksums of header, index and trailer"
    CheckPlaces "comparing which chunk is where"
    ReadChunk "reading a chunk"
    WriteChunk "writing a chunk"
    WriteFrame "writing the frame"
    WriteHeader "writing the frame's header"
    CutFile "cutting the file behind the frame"
    CheckParameters "checking the parameters of compression"
    Compress "compressing a chunk"
    Decompress "decompressing a chunk"
    Prefilter "calling the prefilter"
    Postfilter "calling the postfilter"
    RegisteredFilter "calling a registered filter"
    RegisteredCodec "calling a registered codec"
}

impl fmt::Display for Doing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(WORDS.get(*self as usize).copied().unwrap_or_default())
    }
}

/// Explains the error of a result.
pub trait Context<T> {
    /// The result, whose error says what was being done.
    ///
    /// # Errors
    /// That of the result.
    fn doing(self, doing: Doing) -> Result<T>;
}

impl<T> Context<T> for Result<T> {
    #[inline]
    fn doing(self, doing: Doing) -> Result<T> {
        self.map_err(|error| error.at(doing))
    }
}

/// Turns an error of the operating system into one of the library, which has its number.
pub trait OrError<T> {
    /// The result, with this error for that of the system; lack of memory stays what it is.
    ///
    /// # Errors
    /// As said.
    fn or_error(self, error: Error) -> Result<T>;
}

impl<T> OrError<T> for io::Result<T> {
    #[inline]
    fn or_error(self, error: Error) -> Result<T> {
        self.map_err(|cause| match (cause.kind(), cause.raw_os_error()) {
            // Not the system refused it: there was no memory for a path.
            (io::ErrorKind::OutOfMemory, None) => Error::MEMORY_ALLOC,
            _ => error.because(&cause),
        })
    }
}
