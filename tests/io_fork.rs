//! A lock that was open before a `fork`. A process of its own, with one test: only the thread that forks lives on.

use oxiblosc_io::lock::SidecarLock;
use oxiblosc_memory::CStrBuf;
use std::ffi::CString;
use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;
use std::time::Duration;

/// Runs `work` in a child, and gives the end of a pipe that it writes to.
fn in_child(work: impl FnOnce(File)) -> File {
    let mut ends = [0; 2];
    // SAFETY: both ends are used by one process each; the child ends here, without running anybody's destructors.
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

#[test]
fn a_child_holds_nothing_of_its_parent_s() {
    let path = std::env::temp_dir().join(format!("oxiblosc-fork-{}", std::process::id()));
    let name = CString::new(path.to_str().expect("is text")).expect("no zero inside");
    let mut lock = SidecarLock::new(CStrBuf::concat(&[name.as_bytes()]).expect("memory"));
    lock.lock(true).expect("locks");

    // The child's unlocking is nothing to the parent.
    let mut answer = in_child(|mut say| {
        let nothing = lock.unlock();
        let _ = say.write_all(if nothing.is_ok() { b"y" } else { b"n" });
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
        let _ = say.write_all(if lock.unlock().is_ok() { b"c" } else { b"n" });
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
    lock.unlock().expect("unlocks");
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"b");

    // And the parent for what the child holds, which it sees has written.
    assert_eq!(lock.lock(false), Ok(true));
    answer.read_exact(&mut said).expect("answers");
    assert_eq!(&said, b"c");
    lock.unlock().expect("unlocks");
    let _ = std::fs::remove_file(path);
}
