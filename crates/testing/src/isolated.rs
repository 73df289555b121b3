//! Work in a process of its own, so that one that dies takes no other with it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::FromRawFd;

/// A child at work.
pub struct Child {
    process: libc::pid_t,
    said: File,
}

/// Starts `work` in a forked child that may take `seconds`.
///
/// The child has one thread alone: `work` must not wait for others that the parent has.
pub fn start(seconds: u32, work: impl FnOnce() -> Result<(), String>) -> Child {
    let mut ends = [0; 2];
    // SAFETY: two places for two descriptors, each owned once from here on.
    let (said, mut to) = unsafe {
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0, "a pipe");
        (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1]))
    };
    // SAFETY: the child leaves without unwinding into the parent's frames.
    let process = unsafe { libc::fork() };
    assert!(
        process >= 0,
        "no process: {}",
        std::io::Error::last_os_error()
    );
    if process == 0 {
        // SAFETY: as above.
        unsafe {
            libc::alarm(seconds);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(work));
            let said = match result {
                Ok(Ok(())) => String::new(),
                Ok(Err(said)) => said,
                Err(_) => "a panic".to_owned(),
            };
            // A parent that is gone hears nothing.
            let _ = to.write_all(&said.as_bytes()[..said.len().min(4000)]);
            libc::_exit(i32::from(!said.is_empty()));
        }
    }
    Child { process, said }
}

impl Child {
    /// Kills the child, wherever it is.
    pub fn kill(&self) {
        // SAFETY: this parent's child, not waited for yet.
        unsafe { libc::kill(self.process, libc::SIGKILL) };
    }

    /// Waits for the child; its error, or how it died.
    pub fn join(mut self) -> Result<(), String> {
        let mut said = Vec::new();
        self.said.read_to_end(&mut said).expect("a pipe");
        let mut status = 0;
        // SAFETY: this parent's child, waited for once.
        let waited = unsafe { libc::waitpid(self.process, &mut status, 0) };
        assert_eq!(waited, self.process);
        match status & 0x7f {
            0 if status == 0 => Ok(()),
            0 if said.is_empty() => Err(format!("exit code {}", status >> 8)),
            0 => Err(String::from_utf8_lossy(&said).into_owned()),
            signal => Err(format!("killed by signal {signal}")),
        }
    }
}

/// Runs `work` in a child, and waits for it.
pub fn isolated(seconds: u32, work: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    start(seconds, work).join()
}
