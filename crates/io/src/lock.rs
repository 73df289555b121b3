//! The lock file beside a frame: how the handles of one frame, in this process or another, in this library or the
//! reference's, keep out of each other's way.
//!
//! The lock is the system's advisory lock on the whole lock file (`flock`): readers share it, a writer has it alone.
//! Eight bytes at offset 8 of the lock file count the writers, in the machine's byte order: a process that takes the lock
//! alone adds one, so a handle that finds another count than it last saw knows that the frame has changed. A file that
//! is too short counts zero.

use super::file::{read_up_to, write_up_to};
use super::turnstile;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::CStrBuf;
use oxiblosc_system::files::{self, Access, How};
use oxiblosc_system::locks::{self, OwnFile};
use std::ffi::CStr;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Where the count of writers lies.
const COUNT: u64 = 8;
/// Readers that overlap give the lock back after this time, so that a writer gets it.
const LONG: Duration = Duration::from_millis(5);

/// A writer that waits for the lock of a frame.
pub struct WaitingWriter(OwnFile);

impl WaitingWriter {
    /// Waits until it has had the lock, or is gone.
    pub fn wait(self) {
        turnstile::pass(&self.0);
    }
}

/// The lock of one handle on a frame. It is taken by calls in pairs, which may nest; the file is opened when it is
/// first needed and stays open.
///
/// Nesting counts depth only, as in the reference: a writer's lock inside a reader's is still a reader's lock, which
/// keeps no reader out and counts no writer. Code that will write must ask for the lock alone at the outermost call.
///
/// The child of a `fork` gets a copy of the handle that holds nothing, whatever the parent holds: the system would let
/// both through, as it takes their descriptor for one, and the child's unlocking for the parent's.
#[derive(Debug)]
pub struct SidecarLock {
    path: CStrBuf,
    file: Option<OwnFile>,
    depth: usize,
    seen: u64,
    /// When the lock was taken that is held.
    since: Option<Instant>,
    /// The process that opened `file`.
    owner: u32,
}

impl SidecarLock {
    /// The lock of the frame at `path`: `path.b2lock` for a file, `path/.b2lock` for a directory (`sparse`).
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub fn of_frame(path: &CStr, sparse: bool) -> Result<Self> {
        let name: &[u8] = if sparse { b"/.b2lock" } else { b".b2lock" };
        Ok(Self::new(CStrBuf::concat(&[path.to_bytes(), name])?))
    }

    /// The lock whose file is at `path`.
    pub fn new(path: CStrBuf) -> Self {
        Self {
            path,
            file: None,
            depth: 0,
            seen: 0,
            since: None,
            owner: std::process::id(),
        }
    }

    /// Takes the lock, alone (`exclusive`) or with other readers, waiting for it as long as it takes. Returns whether
    /// another process has had it alone since this handle last looked, so that what is known of the frame may be out of
    /// date. `Error::Lock` if the lock file cannot be made, locked or read; then the lock is not taken. A reader comes before
    /// writers that wait, but for [`Self::lock_after_writers`].
    pub fn lock(&mut self, exclusive: bool) -> Result<bool> {
        self.leave_to_parent();
        self.take(exclusive)
    }

    /// The rest of it.
    fn take(&mut self, exclusive: bool) -> Result<bool> {
        if self.depth > 0 {
            self.depth += 1;
            return Ok(false);
        }
        let (file, replaced) = self.acquire(exclusive).map_err(|_| Error::Lock)?;
        let mut count = [0; 8];
        if read_up_to(&file, COUNT, &mut count) < count.len() {
            count = [0; 8];
        }
        let mut count = u64::from_ne_bytes(count);
        let changed = replaced || count != self.seen;
        if exclusive {
            count = count.wrapping_add(1);
            if write_up_to(&file, COUNT, &count.to_ne_bytes()) < 8 {
                // Whether it is unlocked here or by closing the file, the lock is gone.
                let _ = unlock(&file);
                return Err(Error::Lock);
            }
        }
        self.seen = count;
        self.since = Some(Instant::now());
        self.depth = 1;
        self.file = Some(file);
        Ok(changed)
    }

    /// As [`Self::lock`], with other readers, but after a writer that waits, who is given then and the lock not taken. He is waited for
    /// with nothing locked that a reader may need who keeps him waiting. Where this handle has the lock already, it is taken anyway.
    ///
    /// # Errors
    /// As for that.
    pub fn lock_after_writers(&mut self) -> Result<std::result::Result<bool, WaitingWriter>> {
        self.leave_to_parent();
        if self.depth == 0 {
            let file = match &self.file {
                Some(file) => file,
                None => self.file.insert(self.open()?),
            };
            if turnstile::is_closed(file) {
                // The turn belongs to an open file, and that one may be a writer's of this handle by then.
                return Ok(Err(WaitingWriter(self.open()?)));
            }
        }
        self.take(false).map(Ok)
    }

    fn open(&self) -> Result<OwnFile> {
        let file = files::open(&self.path, How::MADE, Access::All);
        file.map(OwnFile::new).map_err(|_| Error::Lock)
    }

    /// Ends what the last `lock` began; without one it does nothing. Where the system refuses, the lock goes with its file.
    pub fn unlock(&mut self) -> Result<()> {
        self.leave_to_parent();
        if self.depth > 1 {
            self.depth -= 1;
            return Ok(());
        }
        if self.depth == 0 {
            return Ok(());
        }
        self.depth = 0;
        let unlocked = self.file.as_ref().map_or(Ok(()), |file| unlock(file));
        if unlocked.is_err() {
            // Closing the file takes the lock with it. Whatever was done under it was done.
            self.file = None;
        }
        Ok(())
    }

    /// Whether calls that overlap have held the lock for so long that others wait for it.
    pub fn is_held_for_long(&self) -> bool {
        let held = self.since.filter(|_| self.depth > 0);
        held.is_some_and(|since| since.elapsed() > LONG)
    }

    /// How many calls of `lock` are waiting for their `unlock`.
    pub fn depth(&self) -> usize {
        self.depth
    }

    /// In a child process, forgets what the parent holds. Closing the file here unlocks nothing there.
    fn leave_to_parent(&mut self) {
        let process = std::process::id();
        if self.owner != process {
            self.file = None;
            self.depth = 0;
            self.owner = process;
        }
    }

    /// The lock file, locked. A file that was removed or replaced while it was open or waited for is let go: processes that
    /// come later would not look at it. True beside the file then: the counts of two files say nothing of each other.
    fn acquire(&mut self, exclusive: bool) -> io::Result<(OwnFile, bool)> {
        let mut replaced = false;
        loop {
            let file = match self.file.take() {
                Some(file) => file,
                None => OwnFile::new(files::open(&self.path, How::MADE, Access::All)?),
            };
            if exclusive {
                wait_alone(&file)?;
            } else {
                uninterrupted(|| locks::lock_shared(&file))?;
            }
            let (open, named) = (files::identity(&file)?, files::stat(&self.path, true));
            match named {
                Ok(named) if named.identity != open => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                _ => return Ok((file, replaced)),
            }
            replaced = true;
        }
    }
}

/// Has a file alone, once all others have left it.
fn wait_alone(file: &File) -> io::Result<()> {
    let wait = || uninterrupted(|| locks::lock(file));
    match locks::try_lock(file) {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let _closed = turnstile::WriterTurn::new(file);
            wait()
        }
        Err(TryLockError::Error(_)) => wait(),
    }
}

fn unlock(file: &File) -> io::Result<()> {
    locks::unlock(file)
}

fn uninterrupted(call: impl Fn() -> io::Result<()>) -> io::Result<()> {
    loop {
        match call() {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            done => return done,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;
    use crate::file::path;
    use std::ffi::CString;
    use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

    fn count(name: &CString) -> u64 {
        let bytes = std::fs::read(path(name)).expect("there");
        assert_eq!(bytes.len(), 16);
        u64::from_ne_bytes(bytes[8..].try_into().expect("eight"))
    }

    fn lock_at(path: &CStr) -> SidecarLock {
        SidecarLock::new(CStrBuf::copy_of(path).expect("memory"))
    }

    #[test]
    fn writers_are_counted_and_seen() {
        let folder = Folder::new("lock");
        let path = folder.path("a.b2lock");
        let mut one = SidecarLock::of_frame(&folder.path("a"), false).expect("memory");
        let mut two = lock_at(&path);
        assert_eq!(one.lock(false), Ok(false));
        assert_eq!(two.lock(false), Ok(false));
        one.unlock().expect("unlocks");
        two.unlock().expect("unlocks");
        assert_eq!(one.lock(true), Ok(false));
        assert_eq!(one.lock(true), Ok(false));
        assert_eq!((one.depth(), count(&path)), (2, 1));
        one.unlock().expect("unlocks");
        one.unlock().expect("unlocks");
        one.unlock().expect("does nothing");
        assert_eq!(two.lock(false), Ok(true));
        two.unlock().expect("unlocks");
        assert_eq!(two.lock(true), Ok(false));
        two.unlock().expect("unlocks");
        assert_eq!(two.lock(true), Ok(false));
        two.unlock().expect("unlocks");
        assert_eq!((one.lock(false), count(&path)), (Ok(true), 3));
        one.unlock().expect("unlocks");
        assert_eq!(one.lock(false), Ok(false));
    }

    #[test]
    fn a_removed_lock_file_locks_nothing() {
        let folder = Folder::new("replaced");
        let name = folder.path("a.b2lock");
        let mut one = lock_at(&name);
        one.lock(true).expect("locks");
        one.unlock().expect("unlocks");
        std::fs::remove_file(path(&name)).expect("removes");
        let mut two = lock_at(&name);
        two.lock(true).expect("locks");
        let waiting = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let changed = one.lock(true);
                (changed, waiting.load(Ordering::SeqCst), one.unlock())
            });
            std::thread::sleep(Duration::from_millis(30));
            waiting.store(false, Ordering::SeqCst);
            two.unlock().expect("unlocks");
            let (changed, was_waiting, unlocked) = waiter.join().expect("joins");
            // One writer was counted in each file, so the counts are alike.
            assert_eq!((changed, was_waiting, unlocked), (Ok(true), false, Ok(())));
        });
    }

    #[test]
    fn a_lock_that_cannot_be_had() {
        let folder = Folder::new("nolock");
        let mut lock = SidecarLock::of_frame(&folder.path("missing"), true).expect("memory");
        assert_eq!(lock.lock(false), Err(Error::Lock));
        assert_eq!(lock.depth(), 0);
        assert_eq!(lock.unlock(), Ok(()));
    }

    #[test]
    fn one_writer_at_a_time() {
        let folder = Folder::new("writers");
        let path = folder.path("a.b2lock");
        let (inside, turns) = (AtomicBool::new(false), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for exclusive in [true, true, true, false, false] {
                let mut lock = lock_at(&path);
                let (inside, turns) = (&inside, &turns);
                scope.spawn(move || {
                    for _ in 0..200 {
                        lock.lock(exclusive).expect("locks");
                        if exclusive {
                            assert!(!inside.swap(true, Ordering::SeqCst));
                            turns.fetch_add(1, Ordering::SeqCst);
                            inside.store(false, Ordering::SeqCst);
                        } else {
                            assert!(!inside.load(Ordering::SeqCst));
                        }
                        lock.unlock().expect("unlocks");
                    }
                });
            }
        });
        assert_eq!((turns.into_inner(), count(&path)), (600, 600));
    }
}
