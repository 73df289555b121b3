//! The file system, with a hook at the calls on its files.

use oxiblosc_base::Result;
use oxiblosc_base::memory::{Shared, shared_dyn};
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Exclusion, Mode, Storage, Version, Written};
use std::ffi::CStr;
use std::time::Duration;

/// A call that reads or changes a file.
pub enum Call<'a> {
    Size,
    /// The number of bytes.
    Read(usize),
    /// Position and bytes.
    Write(u64, &'a [u8]),
    Truncate,
    Sync,
}

/// The locks of the files.
#[derive(Clone, Copy, PartialEq)]
pub enum Locks {
    /// As if nobody else used them.
    Alone,
    /// Those of the system.
    System,
    /// The file system refuses them.
    Unavailable,
}

/// What a test does before such calls.
pub trait Hook: Clone + Send + Sync + 'static {
    /// The locks of the files. Only with those of the system do they have modification times.
    const LOCKS: Locks = Locks::Alone;

    /// Called before a file is opened. An error becomes the result of opening it.
    fn open(&self, _mode: Mode) -> Result<()> {
        Ok(())
    }

    /// Called before a call. An error becomes the result of the call, which is not made then.
    fn before(&self, call: Call, file: &dyn Storage) -> Result<()>;
}

/// The back end.
#[derive(Clone)]
pub struct Hooked<H>(pub H);

struct HookedFile<H> {
    hook: H,
    file: Shared<dyn Storage>,
}

impl<H: Hook> Hooked<H> {
    pub fn shared(&self) -> Shared<dyn Backend> {
        let backend = self.clone();
        shared_dyn!(backend => dyn Backend).unwrap()
    }
}

impl<H: Hook> Backend for Hooked<H> {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        self.0.open(mode)?;
        let (hook, file) = (self.0.clone(), Filesystem.open(path, mode)?);
        let file = HookedFile { hook, file };
        shared_dyn!(file => dyn Storage)
    }
    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        Filesystem.identity(path)
    }
    fn version(&self, path: &CStr) -> Option<Version> {
        Filesystem.version(path)
    }
    fn is_filesystem(&self) -> bool {
        true
    }
}

impl<H: Hook> HookedFile<H> {
    fn before(&self, call: Call) -> Result<()> {
        self.hook.before(call, &*self.file)
    }
}

impl<H: Hook> Storage for HookedFile<H> {
    fn size(&self) -> Result<u64> {
        self.before(Call::Size)?;
        self.file.size()
    }
    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        self.before(Call::Read(buf.len()))?;
        self.file.read_at(pos, buf)
    }
    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        self.before(Call::Write(pos, buf))?;
        self.file.write_at(pos, buf)
    }
    fn truncate(&self, size: u64) -> Result<()> {
        self.before(Call::Truncate)?;
        self.file.truncate(size)
    }
    /// The power is never cut in these tests.
    fn sync(&self) -> Result<()> {
        self.before(Call::Sync)
    }
    fn lock_exclusive(&self) -> Result<Exclusion> {
        match H::LOCKS {
            Locks::System => self.file.lock_exclusive(),
            Locks::Alone => Ok(Exclusion::Granted),
            Locks::Unavailable => Ok(Exclusion::Unavailable),
        }
    }
    fn try_lock_exclusive(&self) -> Option<Exclusion> {
        match H::LOCKS {
            Locks::System => self.file.try_lock_exclusive(),
            _ => self.lock_exclusive().ok(),
        }
    }
    fn complete_lock(&self) -> bool {
        match H::LOCKS {
            Locks::System => self.file.complete_lock(),
            other => other == Locks::Alone,
        }
    }
    fn lock_shared(&self, timeout: Duration) -> bool {
        match H::LOCKS {
            Locks::System => self.file.lock_shared(timeout),
            other => other == Locks::Alone,
        }
    }
    fn unlock(&self) {
        if H::LOCKS == Locks::System {
            self.file.unlock();
        }
    }
    fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }
    fn written(&self) -> Option<Written> {
        self.file.written().filter(|_| H::LOCKS == Locks::System)
    }
}
