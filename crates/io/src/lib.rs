//! Input and output: where the bytes of a frame lie when they do not lie in memory.
//!
//! A [`Backend`] opens files ([`Storage`]) by their paths; frames use files in no other way. Every access has its own position, so
//! an open file has no cursor that threads would have to share.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]
// What ends the process where there is no memory: clippy.toml names it, and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

use oxiblosc_error::Result;
use oxiblosc_memory::{Buffer, List, Shared, shared_dyn};
pub use oxiblosc_system::files::Written;
use oxiblosc_system::files::{self, Access, How};
use std::ffi::CStr;
use std::fs::File;
use std::time::Duration;

/// What a file has besides its bytes, its owner and its mode.
pub mod attributes;
/// Back ends that are C functions.
pub mod callbacks;
mod change_lock;
/// Files of the file system.
pub mod file;
/// The lock file beside a frame.
pub mod lock;
/// Files through a memory map.
pub mod mmap;
pub mod operation;
/// Paths: remove, rename, make, flush.
pub mod paths;
/// How many read handles the process keeps open.
pub mod readers;
mod turnstile;
/// Whole files, written in one step.
pub mod whole;

/// An open file of some back end. Positions and sizes are in bytes. Reads may come from several threads at once, and
/// beside them a write; what a read sees of a write to the same bytes at the same time is not defined.
pub trait Storage: Send + Sync {
    /// Bytes of the file.
    fn size(&self) -> Result<u64>;

    /// Fills `buf` with the bytes from `pos` on, all of it, else `Error::FileRead`.
    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()>;

    /// Adds the `len` bytes from `pos` on to the end of `buf`, all of them, else `Error::FileRead` and none.
    fn append_to(&self, buf: &mut Buffer, pos: u64, len: usize) -> Result<()> {
        let old = buf.len();
        buf.resize(old + len)?;
        let read = self.read_at(pos, &mut buf[old..]);
        if read.is_err() {
            buf.resize(old)?;
        }
        read
    }

    /// Writes all of `buf` from `pos` on, extending the file where it must, else `Error::FileWrite`; then a part may
    /// have been written.
    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()>;

    /// As [`Storage::write_at`], for the parts one after another: in one system call where the back end can, so that a
    /// process that dies has most likely written all or nothing.
    fn write_all_at(&self, pos: u64, parts: &[&[u8]]) -> Result<()> {
        match parts {
            [] => Ok(()),
            [part] => self.write_at(pos, part),
            parts => {
                let mut whole = List::with_capacity(parts.iter().map(|part| part.len()).sum())?;
                parts
                    .iter()
                    .try_for_each(|part| whole.extend_from_slice(part))?;
                self.write_at(pos, &whole)
            }
        }
    }

    /// Makes the file `size` bytes long, else `Error::FileTruncate`.
    fn truncate(&self, size: u64) -> Result<()>;

    /// Returns once what was written would survive a loss of power; a back end that cannot promise it returns at once.
    fn sync(&self) -> Result<()>;

    /// Keeps others that ask for a lock out until [`Self::unlock`], or until the file is closed. It waits for others that have such a
    /// lock as long as it takes, and a while for strangers that lock all of the file. Back ends that have no such locks do nothing.
    ///
    /// # Errors
    /// [`Error::Lock`](oxiblosc_error::Error::Lock), for a stranger that goes on, and where the thread would wait for itself.
    fn lock_exclusive(&self) -> Result<()> {
        Ok(())
    }

    /// As [`Self::lock_exclusive`], without waiting. Whether it was done.
    fn try_lock_exclusive(&self) -> bool {
        true
    }

    /// Keeps those out that ask for [`Self::lock_exclusive`], and waits for them at most as long as `patience`. Whether it was done.
    fn lock_shared(&self, _patience: Duration) -> bool {
        true
    }

    /// Ends what any of these began.
    fn unlock(&self) {}

    /// Whether the file has a name still: what is written to one that has none is lost.
    fn has_name(&self) -> bool {
        true
    }

    /// Device and inode of the open file, where there are such things.
    fn identity(&self) -> Option<(u64, u64)> {
        None
    }

    /// When the open file was last written to, where that is known.
    fn written(&self) -> Option<Written> {
        None
    }

    /// Makes [`Self::written`] later than `before`, if it is not and that can be done; gives what it is then.
    fn written_after(&self, _before: Written) -> Option<Written> {
        self.written()
    }
}

/// A file that a path names, as it is at some moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version {
    /// Device and inode.
    pub identity: (u64, u64),
    /// When it was last written to, where that is known.
    pub written: Option<Written>,
}

/// What a file is opened for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Reading a file that exists.
    Read,
    /// Reading and writing a file that exists.
    ReadWrite,
    /// Reading and writing a new file; one that is there is emptied.
    Create,
    /// Reading and writing a file that is not there yet. One that is there stays as it is: files are then not opened,
    /// and back ends that cannot check this open it.
    New,
}

impl Mode {
    /// Opens a file of the file system.
    fn open(self, path: &CStr) -> std::io::Result<File> {
        let how = match self {
            Self::Read => How::READ,
            Self::ReadWrite => How::READ_WRITE,
            Self::Create => How::EMPTIED,
            Self::New => How::NEW,
        };
        files::open(path, how, Access::All)
    }
}

/// A back end with one owner, which knows only that it is one.
///
/// # Errors
/// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
pub fn shared(backend: impl Backend + 'static) -> Result<Shared<dyn Backend>> {
    shared_dyn!(backend => dyn Backend)
}

/// A back end: opens files by their paths.
pub trait Backend: Send + Sync {
    /// Opens the file at `path`, else `Error::FileOpen`.
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>>;

    /// Device and inode that the path names now, where there are such things: shows whether a file was replaced since
    /// it was opened.
    fn identity(&self, _path: &CStr) -> Option<(u64, u64)> {
        None
    }

    /// As [`Self::identity`], and when that file was last written to.
    fn version(&self, path: &CStr) -> Option<Version> {
        let identity = self.identity(path)?;
        Some(Version {
            identity,
            written: None,
        })
    }

    /// Whether these are plain files of the file system: handles may be kept open, and the functions of [`paths`] work
    /// on the paths.
    fn is_filesystem(&self) -> bool;

    /// Whether these are memory maps.
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
    struct Memory(std::sync::Mutex<Vec<u8>>);

    impl Storage for Memory {
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
        let memory = Memory(Vec::new().into());
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
