//! The lock file beside a frame: how the handles of one frame, in this process or another, in this
//! library or the reference's, exclude each other.
//!
//! The lock is the system's advisory lock on the whole lock file (`flock`): shared for readers,
//! exclusive for a writer. Eight bytes at offset 8 of the lock file count the writers, in the
//! machine's byte order: each process that takes the exclusive lock adds one, so a handle that
//! finds another count than it last saw knows that the frame has changed. In a file that is too
//! short the count is zero. A file that is longer is no lock file, and is not overwritten. Neither
//! is a link: where it leads, a reader would make a file, and a writer would write into it.

use super::file::{read_at_least, write_up_to};
use super::{change_lock, operation, paths, turnstile};
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags};
use oxiblosc_base::system::locks::{self, OwnFile};
use oxiblosc_base::{Context, Doing, Error, OrError, Result};
use std::ffi::CStr;
use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

/// Where the count of writers lies.
const COUNT: u64 = 8;
/// Overlapping readers release the lock after this time, so that a writer gets it.
const MAX_SHARED_HOLD: Duration = Duration::from_millis(5);
/// The pause between two attempts of a wait with a time limit.
const PAUSE: Duration = Duration::from_millis(1);

/// What became of an attempt to take the lock.
pub enum Attempt {
    /// It was taken.
    Acquired {
        /// Whether there was a writer since this handle last had the lock, so that its state may be
        /// out of date.
        changed: bool,
    },
    /// An operation of this thread holds it through another handle, which excludes writers for this
    /// handle, too. So this one did not take it, and has nothing to release.
    AlreadyHeld {
        /// As for [`Self::Acquired`].
        changed: bool,
    },
    /// Others hold it, or wait for it and come first.
    Busy(Waiter),
}

/// Whether anybody may make files in the directory that contains a path, or that is not known.
fn is_writable_folder_of(path: &CStr) -> Result<bool> {
    let stat = paths::folder(path)?.map(|folder| files::stat(&folder, true));
    Ok(!matches!(stat, Some(Ok(stat)) if !stat.is_writable()))
}

/// Waits for the lock through an open file of its own. So other threads can use the handle
/// meanwhile, as it may be one of them that holds the lock.
pub struct Waiter {
    file: LockFile,
    exclusive: bool,
}

/// The lock for which a [`Waiter`] has waited. It is released when this is dropped, unless
/// [`SidecarLock::attempt`] transfers it to the handle.
pub struct LockGuard(Waiter);

impl Waiter {
    /// Waits for the lock. A reader lets waiting writers go first.
    ///
    /// # Errors
    /// [`Error::LOCK`], also after `timeout`, if there is one, or the limit that the environment
    /// sets.
    pub fn wait(self, timeout: Option<Duration>) -> Result<LockGuard> {
        let file = &self.file.file;
        let limit = change_lock::limit();
        let timeout = match (timeout, limit) {
            (Some(timeout), Some(limit)) => Some(timeout.min(limit)),
            (timeout, limit) => timeout.or(limit),
        };
        match (timeout, self.exclusive) {
            (None, true) => wait_exclusive(file).or_error(Error::LOCK)?,
            (None, false) => {
                turnstile::pass(file);
                uninterrupted(|| locks::lock_shared(file)).or_error(Error::LOCK)?;
            }
            (Some(timeout), exclusive) => {
                let end = Instant::now() + timeout;
                while !try_now(file, exclusive)? {
                    if Instant::now() >= end {
                        return Err(Error::LOCK);
                    }
                    std::thread::sleep(PAUSE);
                }
            }
        }
        Ok(LockGuard(self))
    }
}

/// The lock of one handle on a frame. It is taken by calls in pairs, which may nest; the file is
/// opened when it is first needed and stays open.
///
/// Only the outermost call takes the lock; nested ones count the depth, as in the reference. A
/// writer's call within a reader's leaves the lock shared: it excludes no readers and counts no
/// writer. So code that will write must take the lock exclusively in the outermost call.
///
/// In the child of a `fork`, the copy of the handle holds nothing, even if the parent has the lock.
/// The child must open the file again: the descriptor that it inherited shares its lock with the
/// parent's, so both could write, and the child would unlock for both.
#[derive(Debug)]
pub struct SidecarLock {
    path: CStrBuf,
    file: Option<LockFile>,
    /// How many calls of `lock` are waiting for their `unlock`.
    depth: usize,
    /// The count of writers when the lock was last taken.
    seen: u64,
    /// Device and inode of the lock file that was last locked. Counts in different files cannot be
    /// compared.
    identity: Option<(u64, u64)>,
    /// When the lock was taken, if it is held.
    since: Option<Instant>,
    /// The process that opened `file`.
    owner: u32,
    /// See [`Self::take_was_closed`].
    was_closed: bool,
}

/// An open lock file.
#[derive(Debug)]
struct LockFile {
    file: OwnFile,
    /// Its device and inode.
    identity: (u64, u64),
}

impl LockFile {
    fn open(path: &CStr) -> Result<Self> {
        let file = files::open(path, OpenFlags::OPEN_OR_CREATE, NewFileAccess::All);
        file.or_error(Error::LOCK)
            .doing(Doing::OpenLockFile)
            .and_then(Self::of)
    }

    /// As [`Self::open`], for readers, who may have no right to write to it. None if there is no
    /// such file, and neither this user nor anybody else may make it, as the file system or the
    /// directory can only be read: then nobody locks by it.
    fn open_to_share(path: &CStr) -> Result<Option<Self>> {
        let created = files::open(path, OpenFlags::OPEN_OR_CREATE, NewFileAccess::All);
        let refused = created.as_ref().err().map(io::Error::kind);
        let nobody_may = match refused {
            Some(ErrorKind::ReadOnlyFilesystem) => true,
            Some(ErrorKind::PermissionDenied) => !is_writable_folder_of(path)?,
            _ => {
                return created
                    .map_err(|_| Error::LOCK)
                    .and_then(Self::of)
                    .map(Some);
            }
        };
        match files::open(path, OpenFlags::EXISTING, NewFileAccess::All) {
            Ok(file) => Self::of(file).map(Some),
            Err(error) if nobody_may && error.kind() == ErrorKind::NotFound => Ok(None),
            Err(_) => Err(Error::LOCK),
        }
    }

    fn of(file: File) -> Result<Self> {
        let file = OwnFile::new(file);
        let identity = files::identity(&file).or_error(Error::LOCK)?;
        file.keep();
        Ok(Self { file, identity })
    }
}

impl SidecarLock {
    /// The lock of the frame at `path`. Its file is `path.b2lock` for a file, and `path/.b2lock`
    /// for a directory (`sparse`).
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
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
            identity: None,
            since: None,
            owner: std::process::id(),
            was_closed: false,
        }
    }

    /// Takes the lock, exclusively or shared with other readers. It waits without a limit; within
    /// another operation only for [`operation::TIMEOUT`]. Returns whether there was a writer since
    /// this handle last had the lock, so that its state may be out of date. A reader within an
    /// operation that holds the lock through another handle relies on that lock.
    ///
    /// # Errors
    /// [`Error::LOCK`] if the lock file cannot be created, locked or read, if a writer would wait
    /// for its own operation, or if the wait was too long. Then the lock is not taken.
    pub fn lock(&mut self, exclusive: bool) -> Result<bool> {
        let mut guard = None;
        loop {
            match self.attempt(exclusive, false, guard)? {
                Attempt::Acquired { changed } | Attempt::AlreadyHeld { changed } => {
                    return Ok(changed);
                }
                Attempt::Busy(waiter) => guard = Some(waiter.wait(operation::timeout(0))?),
            }
        }
    }

    /// As [`Self::lock`], without waiting. With `after_writers`, waiting writers come first.
    /// `guard` is the result of the waiter of the last attempt; its lock becomes the handle's or is
    /// released.
    ///
    /// # Errors
    /// As for that.
    pub fn attempt(
        &mut self,
        exclusive: bool,
        after_writers: bool,
        guard: Option<LockGuard>,
    ) -> Result<Attempt> {
        self.forget_in_child();
        if self.depth > 0 {
            self.depth += 1;
            return Ok(Attempt::Acquired { changed: false });
        }
        self.forget_closed();
        if !exclusive && self.file.is_none() {
            match LockFile::open_to_share(&self.path)? {
                None => {
                    self.since = Some(Instant::now());
                    self.depth = 1;
                    // The file system may be written elsewhere.
                    return Ok(Attempt::Acquired { changed: true });
                }
                there => self.file = there,
            }
        }
        if after_writers && turnstile::is_closed(&self.file()?.file) {
            return self.busy(exclusive);
        }
        let (mut is_locked, mut _until_return) = (false, None);
        match guard {
            Some(LockGuard(waiter)) if waiter.exclusive && exclusive => {
                (self.file, is_locked) = (Some(waiter.file), true);
            }
            // A shared lock excludes writers until this attempt has taken its own.
            guard => _until_return = guard,
        }
        let Some(LockFile { file, identity }) = self.acquire(exclusive, is_locked)? else {
            return self.held_by_others(exclusive);
        };
        let counted = count_in(&file).and_then(|before| {
            let count = before.wrapping_add(u64::from(exclusive));
            match exclusive
                && write_up_to(&file, COUNT, &count.to_ne_bytes(), &Default::default()) < 8
            {
                true => Err(Error::LOCK),
                false => Ok((before, count)),
            }
        });
        let (before, count) = counted.inspect_err(|_| {
            // If this fails, closing the file releases the lock.
            let _ = locks::unlock(&file);
        })?;
        let changed = self.has_changed(identity, before);
        self.seen = count;
        self.identity = Some(identity);
        self.since = Some(Instant::now());
        self.depth = 1;
        self.file = Some(LockFile { file, identity });
        Ok(Attempt::Acquired { changed })
    }

    /// The result of an attempt when others hold the lock.
    fn held_by_others(&mut self, exclusive: bool) -> Result<Attempt> {
        let LockFile { file, identity } = self.file()?;
        let identity = *identity;
        if !operation::has_locked(identity) {
            return self.busy(exclusive);
        }
        let count = count_in(file)?;
        match exclusive {
            true => Err(Error::LOCK.at(Doing::LockByThisThread)),
            false => Ok(Attempt::AlreadyHeld {
                changed: self.has_changed(identity, count),
            }),
        }
    }

    /// A waiter for the lock, with a file of its own: the lock and the turn of a writer belong to
    /// an open file, and when the lock becomes free, another thread may be using the handle's file.
    fn busy(&self, exclusive: bool) -> Result<Attempt> {
        let file = match exclusive {
            true => LockFile::open(&self.path)?,
            false => LockFile::open_to_share(&self.path)?.ok_or(Error::LOCK)?,
        };
        Ok(Attempt::Busy(Waiter { file, exclusive }))
    }

    /// Whether a writer has had the lock since this handle had it: the lock file is another one, or
    /// has another count of writers.
    fn has_changed(&self, identity: (u64, u64), count: u64) -> bool {
        count != self.seen || self.identity.is_some_and(|known| known != identity)
    }

    /// Whether an operation of this thread holds the lock through another handle.
    pub fn is_held_around(&self) -> bool {
        self.identity.is_some_and(operation::has_locked)
    }

    /// Device and inode of the lock file that is locked, if one is.
    pub fn locked_file(&self) -> Option<(u64, u64)> {
        self.identity.filter(|_| self.depth > 0)
    }

    /// The lock file, which is opened if necessary.
    fn file(&mut self) -> Result<&LockFile> {
        let file = match self.file.take() {
            Some(file) => file,
            None => LockFile::open(&self.path)?,
        };
        Ok(self.file.insert(file))
    }

    /// Whether the program has closed the descriptor of the lock file since the last call, and so
    /// perhaps others.
    pub fn take_was_closed(&mut self) -> bool {
        std::mem::take(&mut self.was_closed)
    }

    /// Forgets the lock file if the program has closed its descriptor, which has ended the lock if
    /// it was held.
    pub fn forget_closed(&mut self) {
        if self.file.as_ref().is_some_and(|lock| !lock.file.is_open()) {
            self.file = None;
            self.was_closed = true;
        }
    }

    /// Ends the last call of `lock`; the outermost one releases the lock. Without such a call it
    /// does nothing.
    pub fn unlock(&mut self) {
        self.forget_in_child();
        self.depth = match self.depth {
            0 => return,
            depth => depth - 1,
        };
        if self.depth > 0 {
            return;
        }
        if let Some(LockFile { file, .. }) = &self.file
            && locks::unlock(file).is_err()
        {
            // Closing the file releases the lock.
            self.file = None;
        }
    }

    /// Runs `body` while other readers may have the lock, but no writer.
    ///
    /// # Errors
    /// Those of [`Self::lock`] and of `body`.
    pub fn while_shared<T>(&mut self, body: impl FnOnce() -> Result<T>) -> Result<T> {
        self.lock(false)?;
        let done = body();
        self.unlock();
        done
    }

    /// Whether overlapping calls have held the lock for longer than [`MAX_SHARED_HOLD`], so that
    /// they should release it.
    pub fn is_held_for_long(&self) -> bool {
        let held = self.since.filter(|_| self.depth > 0);
        held.is_some_and(|since| since.elapsed() > MAX_SHARED_HOLD)
    }

    /// In a child process, forgets what the parent holds. Closing the file here does not release
    /// the parent's lock.
    fn forget_in_child(&mut self) {
        let process = std::process::id();
        if self.owner != process {
            self.file = None;
            self.depth = 0;
            self.owner = process;
        }
    }

    /// Locks the lock file, unless `is_locked`, and returns it; none if others hold the lock. If
    /// the file was removed or replaced since it was opened, the one that is there now is used, as
    /// other processes use that one.
    fn acquire(&mut self, exclusive: bool, mut is_locked: bool) -> Result<Option<LockFile>> {
        loop {
            let lock = match self.file.take() {
                Some(lock) => lock,
                None => LockFile::open(&self.path)?,
            };
            if !is_locked && !try_now(&lock.file, exclusive)? {
                self.file = Some(lock);
                return Ok(None);
            }
            is_locked = false;
            match files::stat(&self.path, true) {
                Ok(named) if named.identity != lock.identity => {}
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    // If none can be created, the frame's directory is gone, so nothing else can
                    // use the lock either.
                    match LockFile::open(&self.path) {
                        Ok(created) => self.file = Some(created),
                        Err(_) => return Ok(Some(lock)),
                    }
                }
                _ => return Ok(Some(lock)),
            }
        }
    }
}

/// The count of writers in a lock file; 0 if the file is too short for one.
///
/// # Errors
/// [`Error::LOCK`] if it cannot be read. To begin at 0 again would repeat counts that other handles
/// have seen. Also for a file that is longer than a lock file.
fn count_in(file: &File) -> Result<u64> {
    let mut bytes = [0; 9];
    // The first read shows whether there is a ninth byte. No other one asks for it.
    match (read_at_least(file, COUNT, &mut bytes, 8), bytes) {
        (8, [count @ .., _]) => Ok(u64::from_ne_bytes(count)),
        (9, _) => Err(Error::LOCK),
        _ => match file.metadata() {
            Ok(there) if there.len() < COUNT + 8 => Ok(0),
            _ => Err(Error::LOCK),
        },
    }
}

/// Locks a file if it is free. Returns whether it did.
fn try_now(file: &File, exclusive: bool) -> Result<bool> {
    loop {
        let locked = match exclusive {
            true => locks::try_lock(file),
            false => locks::try_lock_shared(file),
        };
        match locked {
            Ok(()) => return Ok(true),
            Err(TryLockError::WouldBlock) => return Ok(false),
            Err(TryLockError::Error(error)) if error.kind() == ErrorKind::Interrupted => {}
            Err(TryLockError::Error(_)) => return Err(Error::LOCK),
        }
    }
}

/// Locks a file exclusively, and waits for it.
fn wait_exclusive(file: &File) -> io::Result<()> {
    let _closed = turnstile::WriterTurn::new(file);
    uninterrupted(|| locks::lock(file))
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
        one.unlock();
        two.unlock();
        assert_eq!(one.lock(true), Ok(false));
        assert_eq!(one.lock(true), Ok(false));
        assert_eq!((one.depth, count(&path)), (2, 1));
        one.unlock();
        one.unlock();
        one.unlock();
        assert_eq!(two.lock(false), Ok(true));
        two.unlock();
        assert_eq!(two.lock(true), Ok(false));
        two.unlock();
        assert_eq!(two.lock(true), Ok(false));
        two.unlock();
        assert_eq!((one.lock(false), count(&path)), (Ok(true), 3));
        one.unlock();
        assert_eq!(one.lock(false), Ok(false));
    }

    #[test]
    fn a_count_that_cannot_be_read_does_not_begin_again() {
        let folder = Folder::new("blind");
        let name = folder.path("a.b2lock");
        let mut one = lock_at(&name);
        for _ in 0..3 {
            one.lock(true).expect("locks");
            one.unlock();
        }
        let mut seen = 3;
        for exclusive in [false, true] {
            let only_written = File::options().write(true).open(path(&name));
            let file = OwnFile::new(only_written.expect("there"));
            let identity = files::identity(&file).expect("it has one");
            one.file = Some(LockFile { file, identity });
            assert_eq!(one.lock(exclusive), Err(Error::LOCK));
            assert_eq!(count(&name), seen);
            let other = File::open(path(&name)).expect("there");
            assert!(locks::try_lock(&other).is_ok(), "still locked");
            drop(other);
            assert_eq!(one.lock(exclusive), Ok(false));
            one.unlock();
            seen += u64::from(exclusive);
            assert_eq!(count(&name), seen);
        }
    }

    #[cfg(unix)]
    #[test]
    fn what_is_no_lock_file_is_not_written_to() {
        let folder = Folder::new("nolockfile");
        let (name, target) = (folder.path("a.b2lock"), folder.path("text"));
        let (name_at, target_at) = (path(&name), path(&target));
        for len in 0..40 {
            let text = vec![b'x'; len];
            for is_link in [false, true] {
                let _ = std::fs::remove_file(name_at);
                std::fs::write(target_at, &text).expect("writes");
                match is_link {
                    false => std::fs::hard_link(target_at, name_at),
                    true => std::os::unix::fs::symlink(target_at, name_at),
                }
                .expect("links");
                let mut lock = lock_at(&name);
                let is_lock_file = len <= 16 && !is_link;
                for exclusive in [false, true] {
                    let locked = lock.lock(exclusive).map(|_| lock.unlock());
                    let expected = if is_lock_file {
                        Ok(())
                    } else {
                        Err(Error::LOCK)
                    };
                    assert_eq!(locked, expected, "{len} bytes, a link: {is_link}");
                }
                let is_same = std::fs::read(target_at).expect("there") == text;
                assert_eq!(is_same, !is_lock_file, "{len} bytes, a link: {is_link}");
            }
        }
        std::fs::remove_file(target_at).expect("removes");
        for exclusive in [false, true] {
            assert_eq!(lock_at(&name).lock(exclusive), Err(Error::LOCK));
            assert!(!target_at.exists(), "made where a link leads");
        }
    }

    /// Where nobody can write, frames are read without a lock file, or by the one that is there.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_file_system_that_can_only_be_read() {
        let folder = Folder::new("readonly");
        let (with, without) = (folder.path("with"), folder.path("without"));
        let mut writer = SidecarLock::new(CStrBuf::copy_of(&with).expect("memory"));
        writer.lock(true).expect("locks");
        writer.unlock();
        let place = folder.path("");
        // SAFETY: the child has mounts of its own, and leaves without unwinding.
        unsafe {
            let child = libc::fork();
            if child == 0 {
                let (null, bind) = (std::ptr::null(), libc::MS_BIND | libc::MS_REC);
                let only_read = libc::MS_BIND | libc::MS_REMOUNT | libc::MS_RDONLY;
                let at = place.as_ptr();
                let mounted = libc::unshare(libc::CLONE_NEWUSER | libc::CLONE_NEWNS) == 0
                    && libc::mount(at, at, null, bind, null.cast()) == 0
                    && libc::mount(at, at, null, only_read, null.cast()) == 0;
                if !mounted {
                    libc::_exit(2);
                }
                let is_as_expected = std::panic::catch_unwind(|| {
                    for name in [&with, &without] {
                        let mut lock = lock_at(name);
                        assert_eq!(lock.lock(true), Err(Error::LOCK));
                        for _ in 0..2 {
                            lock.lock(false).expect("a reader");
                            assert_eq!(lock.lock(false), Ok(false), "nested");
                            lock.unlock();
                            lock.unlock();
                        }
                        assert_eq!(lock.depth, 0);
                    }
                });
                libc::_exit(i32::from(is_as_expected.is_err()));
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            match libc::WEXITSTATUS(status) {
                2 if std::env::var_os("CI").is_none() => {
                    eprintln!("skipped: nothing can be mounted here")
                }
                code => assert_eq!((code, libc::WIFEXITED(status)), (0, true)),
            }
        }
    }

    /// As above, where the rights say that nobody may make a lock file. Where somebody else may,
    /// there may be a writer.
    #[cfg(target_os = "linux")]
    #[test]
    fn a_directory_in_which_nobody_may_write() {
        const NOBODY: u32 = 65534;
        let folder = Folder::new("norights");
        let (with, without) = (folder.path("with"), folder.path("without"));
        let mut writer = lock_at(&with);
        writer.lock(true).expect("locks");
        writer.unlock();
        let place = folder.path("");
        let give = |at: &CStr, mode| {
            // SAFETY: a C string.
            assert_eq!(unsafe { libc::chmod(at.as_ptr(), mode) }, 0);
        };
        give(&with, 0o444);
        // SAFETY: a call without arguments.
        let is_root = unsafe { libc::geteuid() } == 0;
        for (mode, nobody_may) in [(0o555, true), (0o755, false), (0o575, false)] {
            if !nobody_may && !is_root {
                // The folder is this user's own, who may write in it.
                continue;
            }
            give(&place, mode);
            // SAFETY: the child leaves without unwinding.
            unsafe {
                let child = libc::fork();
                if child == 0 {
                    let is_other = !is_root
                        || (libc::setgroups(0, std::ptr::null()) == 0
                            && libc::setgid(NOBODY) == 0
                            && libc::setuid(NOBODY) == 0);
                    let is_as_expected = std::panic::catch_unwind(|| {
                        let lock = |name, exclusive| {
                            let mut lock = lock_at(name);
                            lock.lock(exclusive).map(|_| lock.unlock())
                        };
                        let expected = if nobody_may { Ok(()) } else { Err(Error::LOCK) };
                        assert_eq!(lock(&with, false), Ok(()));
                        assert_eq!(lock(&without, false), expected);
                        for name in [&with, &without] {
                            assert_eq!(lock(name, true), Err(Error::LOCK));
                        }
                    });
                    libc::_exit(i32::from(!is_other || is_as_expected.is_err()));
                }
                let mut status = 0;
                assert_eq!(libc::waitpid(child, &mut status, 0), child);
                assert_eq!(status, 0, "{mode:o}");
            }
        }
        give(&place, 0o755);
    }

    #[test]
    fn a_removed_lock_file_locks_nothing() {
        let folder = Folder::new("replaced");
        let name = folder.path("a.b2lock");
        let mut one = lock_at(&name);
        one.lock(true).expect("locks");
        one.unlock();
        std::fs::remove_file(path(&name)).expect("removes");
        let mut two = lock_at(&name);
        two.lock(true).expect("locks");
        let waiting = AtomicBool::new(true);
        std::thread::scope(|scope| {
            let waiter = scope.spawn(|| {
                let changed = one.lock(true);
                one.unlock();
                (changed, waiting.load(Ordering::SeqCst))
            });
            std::thread::sleep(Duration::from_millis(30));
            waiting.store(false, Ordering::SeqCst);
            two.unlock();
            let (changed, was_waiting) = waiter.join().expect("joins");
            // One writer was counted in each file, so the counts are alike.
            assert_eq!((changed, was_waiting), (Ok(true), false));
        });
    }

    #[test]
    fn a_lock_that_cannot_be_had() {
        let folder = Folder::new("nolock");
        let mut lock = SidecarLock::of_frame(&folder.path("missing"), true).expect("memory");
        assert_eq!(lock.lock(false), Err(Error::LOCK));
        assert_eq!(lock.depth, 0);
        lock.unlock();
        assert_eq!(lock.depth, 0);
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
                        lock.unlock();
                    }
                });
            }
        });
        assert_eq!((turns.into_inner(), count(&path)), (600, 600));
    }
}
