//! Input and output for frames that are not in memory.
//!
//! A [`Backend`] opens files ([`Storage`]) by their paths; frames use files only through these.
//! Every access has its own position, so threads can share an open file.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

use oxiblosc_base::Result;
use oxiblosc_base::memory::{Buffer, Shared, TryVec, shared_dyn};
pub use oxiblosc_base::system::files::Written;
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags};
use std::ffi::CStr;
use std::fs::File;
use std::time::Duration;

/// User attributes and access control lists of files.
pub mod attributes;
/// Back ends that are C functions.
pub mod callbacks;
mod change_lock;
pub use change_lock::Exclusion;
/// Files of the file system.
pub mod file;
/// The lock file beside a frame.
pub mod lock;
/// Files through a memory map.
pub mod mmap;
pub mod operation;
/// Operations on paths: remove, rename, create, sync.
pub mod paths;
/// Limits how many read handles the process keeps open.
pub mod readers;
mod turnstile;
/// Whole files, written in one step.
pub mod whole;
/// The files within a directory.
pub mod within;

/// An open file of a back end. Positions and sizes are in bytes. Several threads may read at the
/// same time, also while one writes; what a read returns of bytes that are being written is
/// undefined.
pub trait Storage: Send + Sync {
    /// Size of the file.
    ///
    /// # Errors
    /// `Error::FILE_READ` if that fails.
    fn size(&self) -> Result<u64>;

    /// Fills `buf` with the bytes from `pos` on.
    ///
    /// # Errors
    /// `Error::FILE_READ` if not all of them can be read.
    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()>;

    /// Appends the `len` bytes from `pos` on to `buf`.
    ///
    /// # Errors
    /// `Error::FILE_READ` if not all of them can be read,
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC); `buf` is unchanged then.
    fn append_to(&self, buf: &mut Buffer, pos: u64, len: usize) -> Result<()> {
        let old = buf.len();
        buf.resize(old + len)?;
        let read = self.read_at(pos, &mut buf[old..]);
        if read.is_err() {
            buf.resize(old)?;
        }
        read
    }

    /// Writes `buf` at `pos`, and extends the file if necessary.
    ///
    /// # Errors
    /// `Error::FILE_WRITE` if that fails; a part may have been written then.
    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()>;

    /// As [`Storage::write_at`], for several parts, one behind the other. Back ends use one system
    /// call if they can: then a process that is killed has most likely written all or nothing.
    ///
    /// # Errors
    /// As for [`Storage::write_at`].
    fn write_all_at(&self, pos: u64, parts: &[&[u8]]) -> Result<()> {
        match parts {
            [] => Ok(()),
            [part] => self.write_at(pos, part),
            parts => {
                let mut whole = TryVec::with_capacity(parts.iter().map(|part| part.len()).sum())?;
                parts
                    .iter()
                    .try_for_each(|part| whole.extend_from_slice(part))?;
                self.write_at(pos, &whole)
            }
        }
    }

    /// Makes the file `size` bytes long.
    ///
    /// # Errors
    /// `Error::FILE_TRUNCATE` if that fails.
    fn truncate(&self, size: u64) -> Result<()>;

    /// Returns when what was written would survive a loss of power. A back end that cannot promise
    /// that returns at once.
    ///
    /// # Errors
    /// `Error::FILE_WRITE` if that fails.
    fn sync(&self) -> Result<()>;

    /// Locks the file exclusively until [`Self::unlock`], or until the file is closed. It waits for
    /// others that have it locked, up to a limit. For back ends without locks nobody else uses the
    /// file.
    ///
    /// # Errors
    /// [`Error::LOCK`](oxiblosc_base::Error::LOCK) if others keep the file locked, or the thread
    /// would wait for itself.
    fn lock_exclusive(&self) -> Result<Exclusion> {
        Ok(Exclusion::Granted)
    }

    /// As [`Self::lock_exclusive`], without waiting. None if others have it locked.
    fn try_lock_exclusive(&self) -> Option<Exclusion> {
        Some(Exclusion::Granted)
    }

    /// While the file is locked exclusively, takes all other kinds of locks that the system has for
    /// it, if they are free. Returns whether all are held now: then no other process can be in the
    /// middle of a change.
    fn complete_lock(&self) -> bool {
        true
    }

    /// Locks the file shared, which excludes [`Self::lock_exclusive`]; waits at most for `timeout`.
    /// Returns whether the file was locked.
    fn lock_shared(&self, _timeout: Duration) -> bool {
        true
    }

    /// Releases a lock that any of these took.
    fn unlock(&self) {}

    /// Prepares the file to be kept open from one call of the library to the next, while the
    /// program may close its descriptor. Returns whether it may be kept.
    fn keep(&self) -> bool {
        true
    }

    /// Whether a file that is kept open still has its descriptor. If the program has closed that,
    /// nothing must be done with the file, as the number of the descriptor may be another file's.
    fn is_open(&self) -> bool {
        true
    }

    /// Whether the file still has a name. What is written to a file without a name is lost.
    fn has_name(&self) -> bool {
        true
    }

    /// Whether this is a private map, whose [`Self::size`] stays that of the map when the file
    /// becomes shorter, and whose bytes may or may not be those that others write to the file.
    fn is_private(&self) -> bool {
        false
    }

    /// Device and inode of the open file, if the back end has them.
    fn identity(&self) -> Option<(u64, u64)> {
        None
    }

    /// When the open file was last written to, if that is known.
    fn written(&self) -> Option<Written> {
        None
    }
}

/// A lock of a file, released when this is dropped.
#[must_use = "the lock is released at once"]
pub struct StorageLock<'a>(&'a dyn Storage);

impl<'a> StorageLock<'a> {
    /// Takes [`Storage::lock_exclusive`]. A file that this call has created (`is_new`) may lie
    /// where there are no locks.
    ///
    /// # Errors
    /// As for that; [`Error::LOCK`](oxiblosc_base::Error::LOCK) where there are no locks.
    pub fn exclusive(file: &'a dyn Storage, is_new: bool) -> Result<Self> {
        let exclusion = file.lock_exclusive()?;
        let lock = Self(file);
        match exclusion == Exclusion::Granted || is_new {
            true => Ok(lock),
            false => Err(oxiblosc_base::Error::LOCK),
        }
    }

    /// Takes [`Storage::lock_shared`], if it gets it in time.
    pub fn shared(file: &'a dyn Storage, timeout: Duration) -> Option<Self> {
        file.lock_shared(timeout).then(|| Self(file))
    }
}

impl Drop for StorageLock<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

/// The version of a file that a path names at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Device and inode.
    pub identity: (u64, u64),
    /// How many bytes it has, if that is known.
    pub size: Option<u64>,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading a file that exists.
    Read,
    /// Reading and writing a file that exists.
    ReadWrite,
    /// Reading and writing a new file; an existing one is truncated.
    Create,
    /// Reading and writing a file that must not exist yet. An existing one is an error; back ends
    /// that cannot check this open it unchanged.
    New,
}

impl Mode {
    /// Opens a file of the file system.
    fn open(self, path: &CStr) -> std::io::Result<File> {
        let how = match self {
            Self::Read => OpenFlags::READ,
            Self::ReadWrite => OpenFlags::READ_WRITE,
            Self::Create => OpenFlags::CREATE_EMPTY,
            Self::New => OpenFlags::NEW,
        };
        files::open(path, how, NewFileAccess::All)
    }
}

/// A back end as a shared trait object.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
pub fn shared(backend: impl Backend + 'static) -> Result<Shared<dyn Backend>> {
    shared_dyn!(backend => dyn Backend)
}

/// A back end: opens files by their paths.
pub trait Backend: Send + Sync {
    /// Opens the file at `path`.
    ///
    /// # Errors
    /// `Error::FILE_OPEN` if that fails.
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>>;

    /// Device and inode of the file that the path names now, if the back end has them. They show
    /// whether a file was replaced since it was opened.
    fn identity(&self, _path: &CStr) -> Option<(u64, u64)> {
        None
    }

    /// The identity and the size of that file.
    fn version(&self, path: &CStr) -> Option<Version> {
        let identity = self.identity(path)?;
        Some(Version {
            identity,
            size: None,
        })
    }

    /// Whether the files are regular files of the file system, so that handles may be kept open,
    /// and the functions of [`paths`] work.
    fn is_filesystem(&self) -> bool;

    /// Whether the files are memory maps.
    fn is_mmap(&self) -> bool {
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::CString;
    use std::path::PathBuf;

    /// A folder for one test, removed at its end.
    pub struct Folder(PathBuf);

    impl Folder {
        pub fn new(test: &str) -> Self {
            let folder =
                std::env::temp_dir().join(format!("oxiblosc-io-{test}-{}", std::process::id()));
            let _ = std::fs::remove_dir_all(&folder);
            std::fs::create_dir(&folder).expect("a folder can be made");
            Self(folder)
        }

        pub fn path(&self, name: &str) -> CString {
            let path = self.0.join(name);
            CString::new(files::path_bytes(&path).expect("a text")).expect("no zero inside")
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    /// A back end with nothing but what it must have.
    struct MemoryFile(std::sync::Mutex<Vec<u8>>);

    impl Storage for MemoryFile {
        fn size(&self) -> Result<u64> {
            Ok(self.0.lock().expect("not poisoned").len() as u64)
        }
        fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
            let bytes = self.0.lock().expect("not poisoned");
            buf.copy_from_slice(&bytes[pos as usize..][..buf.len()]);
            Ok(())
        }
        fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
            let mut bytes = self.0.lock().expect("not poisoned");
            let end = pos as usize + buf.len();
            let len = bytes.len().max(end);
            bytes.resize(len, 0);
            bytes[pos as usize..end].copy_from_slice(buf);
            Ok(())
        }
        fn truncate(&self, size: u64) -> Result<()> {
            self.0
                .lock()
                .expect("not poisoned")
                .resize(size as usize, 0);
            Ok(())
        }
        fn sync(&self) -> Result<()> {
            Ok(())
        }
    }

    #[test]
    fn parts_without_a_call_of_their_own() {
        let memory = MemoryFile(Vec::new().into());
        memory.write_all_at(0, &[]).expect("writes nothing");
        memory.write_all_at(1, &[b"ab"]).expect("writes one");
        memory
            .write_all_at(3, &[b"c", b"", b"de"])
            .expect("writes three");
        assert_eq!(*memory.0.lock().expect("not poisoned"), b"\0abcde");
        let mut bytes = Buffer::copy_of(b"x").expect("one byte");
        memory
            .append_to(&mut bytes, 1, 3)
            .expect("three more bytes");
        assert_eq!(&bytes[..], b"xabc");
        assert_eq!(memory.identity(), None);
    }
}
