//! Keeps readers whose locks overlap from starving a writer.
//!
//! `flock` grants a shared lock while others hold one, even if a writer waits for the exclusive lock. So a waiting writer holds a
//! second lock, on one byte far behind the file's contents, and a new reader first waits until that one is free. It belongs to the
//! open file, so the system releases it when the process ends. The reference library does not use it: its readers do not wait for our
//! writers, and its writers may starve as before.

use std::fs::File;

#[cfg(target_os = "linux")]
mod system {
    use std::fs::File;
    use std::os::fd::AsRawFd;

    /// The position of the byte.
    const AT: i64 = 1 << 40;

    fn call(file: &File, command: i32, kind: i32) -> std::io::Result<i32> {
        // SAFETY: every field of the struct is a number, for which zero is a value.
        let mut lock: libc::flock = unsafe { std::mem::zeroed() };
        lock.l_type = kind as libc::c_short;
        lock.l_whence = libc::SEEK_SET as libc::c_short;
        lock.l_start = AT;
        lock.l_len = 1;
        loop {
            // SAFETY: the descriptor is open, and the struct is the one that these commands take.
            if unsafe { libc::fcntl(file.as_raw_fd(), command, &raw mut lock) } == 0 {
                return Ok(i32::from(lock.l_type));
            }
            let error = std::io::Error::last_os_error();
            if error.kind() != std::io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
    }

    pub fn close(file: &File) {
        // Where there are no such locks, writers wait as long as it takes.
        let _ = call(file, libc::F_OFD_SETLKW, libc::F_WRLCK);
    }

    pub fn open(file: &File) {
        let _ = call(file, libc::F_OFD_SETLK, libc::F_UNLCK);
    }

    pub fn pass(file: &File) {
        let found = call(file, libc::F_OFD_GETLK, libc::F_RDLCK);
        if found.is_ok_and(|kind| kind != libc::F_UNLCK) {
            let _ = call(file, libc::F_OFD_SETLKW, libc::F_RDLCK);
            open(file);
        }
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use std::fs::File;

    pub fn close(_file: &File) {}
    pub fn open(_file: &File) {}
    pub fn pass(_file: &File) {}
}

/// A writer's turn: new readers wait until this is dropped.
pub struct WriterTurn<'a>(&'a File);

impl<'a> WriterTurn<'a> {
    /// Waits until no other writer has the turn.
    pub fn new(file: &'a File) -> Self {
        system::close(file);
        Self(file)
    }
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        system::open(self.0);
    }
}

/// Waits while a writer waits.
pub fn pass(file: &File) {
    system::pass(file);
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn readers_wait_for_a_writer_that_waits() {
        let folder = Folder::new("turnstile");
        let path = folder.path("lock");
        let open = || {
            let mut options = File::options();
            let path = OsStr::from_bytes(path.to_bytes());
            let options = options.read(true).write(true).create(true);
            options.truncate(false).open(path).expect("a file")
        };
        let (one, two) = (open(), open());
        pass(&two);
        let closed = WriterTurn::new(&one);
        let open_again = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                pass(&two);
                open_again.load(Ordering::SeqCst)
            });
            std::thread::sleep(Duration::from_millis(30));
            open_again.store(true, Ordering::SeqCst);
            drop(closed);
            assert!(reader.join().expect("joins"));
        });
        pass(&two);
    }
}
