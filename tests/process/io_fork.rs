//! A lock that was open before a `fork`. A process of its own, with one test: only the thread that
//! forks lives on.

use oxiblosc_base::memory::CStrBuf;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::lock::SidecarLock;
use oxiblosc_io::mmap::{Map, OpenMode};
use oxiblosc_io::{Backend, Mode, Storage};
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::time::Duration;

/// Runs `work` in a child, and gives the end of a pipe that it writes to.
fn in_child(work: impl FnOnce(File)) -> File {
    let mut ends = [0; 2];
    // SAFETY: both ends are used by one process each; the child ends here, without running
    // anybody's destructors.
    unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        let (reading, writing) = (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]));
        match libc::fork() {
            0 => {
                work(writing);
                libc::_exit(0);
            }
            child => assert!(child > 0),
        }
        drop(writing);
        reading
    }
}

/// A process that has forked is killed while it has a lock, and its child lives on: the lock is
/// free.
fn a_lock_ends_with_its_process(take: impl Fn(), is_free: impl Fn() -> bool, open: impl Fn()) {
    let mut ready = in_child(|mut say| {
        open();
        // SAFETY: the child of the child does nothing, until it is killed.
        match unsafe { libc::fork() } {
            0 => std::thread::sleep(Duration::from_secs(30)),
            child => {
                take();
                let reported = [std::process::id().to_ne_bytes(), child.to_ne_bytes()];
                let _ = say.write_all(&reported.concat());
                std::thread::sleep(Duration::from_secs(30));
            }
        }
    });
    let mut reported = [0; 8];
    ready.read_exact(&mut reported).expect("two numbers");
    let number = |at| {
        libc::pid_t::from_ne_bytes([
            reported[at],
            reported[at + 1],
            reported[at + 2],
            reported[at + 3],
        ])
    };
    assert!(!is_free());
    // SAFETY: this process's child, which is waited for, and the child's.
    let freed = unsafe {
        libc::kill(number(0), libc::SIGKILL);
        libc::waitpid(number(0), std::ptr::null_mut(), 0);
        // The child may not have begun to run.
        let freed = (0..300).any(|_| {
            std::thread::sleep(Duration::from_millis(10));
            is_free()
        });
        libc::kill(number(4), libc::SIGKILL);
        freed
    };
    assert!(freed, "a child has the lock of a process that was killed");
}

fn a_killed_process_holds_nothing(folder: &std::path::Path) {
    let text = |name: &str| {
        let path = folder.join(name);
        CString::new(path.to_str().expect("is text")).expect("no zero inside")
    };
    let (file, lock) = (text("file"), text("lock"));
    std::fs::write(folder.join("file"), "content").expect("writes");
    let is_free = || {
        let other = Filesystem.open(&file, Mode::ReadWrite).expect("opens");
        other.try_lock_exclusive().is_some()
    };
    let opened = std::cell::OnceCell::new();
    let handle = || opened.get_or_init(|| Filesystem.open(&file, Mode::ReadWrite).expect("opens"));
    let open = || {
        handle();
    };
    a_lock_ends_with_its_process(|| assert!(handle().lock_exclusive().is_ok()), is_free, open);
    a_lock_ends_with_its_process(
        || assert!(handle().lock_shared(Duration::ZERO)),
        is_free,
        open,
    );

    // Its lock is taken by another file than the one that is mapped.
    let mapped = std::cell::OnceCell::new();
    let map = || mapped.get_or_init(|| Map::open(&file, OpenMode::ReadWrite, 0).expect("maps"));
    let open = || {
        map();
    };
    a_lock_ends_with_its_process(|| assert!(map().lock_exclusive().is_ok()), is_free, open);

    let sidecar =
        std::cell::RefCell::new(SidecarLock::new(CStrBuf::copy_of(&lock).expect("memory")));
    let open = || {
        let mut lock = sidecar.borrow_mut();
        assert!(lock.lock(true).is_ok());
        lock.unlock();
    };
    let take = || assert!(sidecar.borrow_mut().lock(true).is_ok());
    let is_free = || {
        File::open(folder.join("lock"))
            .expect("opens")
            .try_lock()
            .is_ok()
    };
    a_lock_ends_with_its_process(take, is_free, open);
}

/// A map that parent and child have is locked by one of them at a time.
fn a_map_is_locked_by_one_process(folder: &std::path::Path) {
    let path = folder.join("file");
    let name = CString::new(path.to_str().expect("is text")).expect("no zero inside");
    let map = Map::open(&name, OpenMode::ReadWrite, 0).expect("maps");
    map.lock_exclusive().expect("locks");
    let mut answer = in_child(|mut say| {
        map.unlock();
        let free = map.try_lock_exclusive().is_some();
        let _ = say.write_all(if free { b"n" } else { b"y" });
        let locked = map.lock_exclusive();
        let _ = say.write_all(if locked.is_ok() { b"y" } else { b"n" });
    });
    let mut said = [0];
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"y", "the parent has it");
    map.unlock();
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"y", "it is free");
}

#[test]
fn a_child_holds_nothing_of_its_parent_s() {
    oxiblosc_testing::own_process!();
    let folder = std::env::temp_dir().join(format!("oxiblosc-forks-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    a_killed_process_holds_nothing(&folder);
    a_map_is_locked_by_one_process(&folder);
    std::fs::remove_dir_all(&folder).expect("the test's own folder");

    let path = std::env::temp_dir().join(format!("oxiblosc-fork-{}", std::process::id()));
    let name = CString::new(path.to_str().expect("is text")).expect("no zero inside");
    let mut lock = SidecarLock::new(CStrBuf::concat(&[name.as_bytes()]).expect("memory"));
    lock.lock(true).expect("locks");

    // The child's unlocking is nothing to the parent.
    let mut answer = in_child(|mut say| {
        lock.unlock();
        let _ = say.write_all(b"y");
    });
    let mut said = [0];
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"y");

    // The child waits for what the parent holds.
    let mut answer = in_child(|mut say| {
        let _ = say.write_all(b"a");
        let locked = lock.lock(true);
        let _ = say.write_all(if locked == Ok(false) { b"b" } else { b"n" });
        std::thread::sleep(Duration::from_millis(100));
        lock.unlock();
        let _ = say.write_all(b"c");
    });
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"a");
    let mut watched = libc::pollfd {
        fd: std::os::fd::AsRawFd::as_raw_fd(&answer),
        events: libc::POLLIN,
        revents: 0,
    };
    // SAFETY: one descriptor, which is open.
    assert_eq!(
        unsafe { libc::poll(&mut watched, 1, 100) },
        0,
        "the child did not wait"
    );
    lock.unlock();
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"b");

    // And the parent for what the child holds, which it sees has written.
    assert_eq!(lock.lock(false), Ok(true));
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"c");
    lock.unlock();
    let _ = std::fs::remove_file(path);
}
