//! Forks, and programs that are started.

use super::files::not_standard;
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// What stands between the directories of `PATH`.
pub const PATH_SEPARATOR: u8 = b':';

/// What stands behind the name of a program in the name of its file.
pub const PROGRAM_SUFFIX: &str = "";

/// Whether a path starts at a root.
pub fn is_absolute(path: &[u8]) -> bool {
    path.first() == Some(&b'/')
}

/// The result of `read` for the value of an environment variable; none if it is not set. For a
/// program that has more rights than its user, none is: the user has made them.
///
/// As with every use of `getenv`, the program must not change the environment at the same time.
pub fn environment<T>(name: &CStr, read: impl FnOnce(&CStr) -> T) -> Option<T> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    // SAFETY: a call with a number.
    let has_more_rights = unsafe { libc::getauxval(libc::AT_SECURE) != 0 };
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    // SAFETY: a call that takes nothing.
    let has_more_rights = unsafe { libc::issetugid() != 0 };
    if has_more_rights {
        return None;
    }
    // SAFETY: the name is a C string. The value is null or one, and is used before this function
    // returns.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| read(CStr::from_ptr(value)))
    }
}

/// From now on calls `in_child` in the child of each fork, before `fork` returns there. False if
/// the C library refuses (no memory).
pub fn on_fork(in_child: extern "C" fn()) -> bool {
    // SAFETY: the pointer is valid as long as the library is loaded, and the C library drops the
    // handlers of a library that it unloads.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) == 0 }
}

/// What a program writes to its output, until a time, as much as there is room for; how many bytes
/// that was. None if it cannot be started or its output does not end in time. A program that goes
/// on after that is killed.
pub fn output(
    program: &CStr,
    arguments: &[&CStr; 3],
    dst: &mut [u8],
    until: Instant,
) -> Option<usize> {
    // The standard library's way to start a process would make this library 40 KB larger.
    let (output, input) = std::io::pipe().ok()?;
    let output = not_standard(output.into()).ok()?;
    let input = not_standard(input.into()).ok()?;
    let child = spawn(program, arguments, input.as_raw_fd())?;
    drop(input);
    let len = read_until(output.as_raw_fd(), dst, until);
    if len.is_none() || !ends_until(child, until) {
        // SAFETY: the group of this process's own child, which was not waited for. It has what the
        // program itself started, too.
        unsafe { libc::kill(-child, libc::SIGKILL) };
        // SAFETY: this process's own child, which was killed, so it ends.
        while unsafe { libc::waitpid(child, null_mut(), 0) } < 0 && interrupted() {}
    }
    len
}

/// Waits for a child that has closed its output. Returns whether it ended in time, or somebody else
/// has waited for it.
fn ends_until(child: libc::pid_t, until: Instant) -> bool {
    loop {
        // SAFETY: this process's own child.
        let ended = unsafe { libc::waitpid(child, null_mut(), libc::WNOHANG) };
        if ended != 0 && !(ended < 0 && interrupted()) {
            return true;
        }
        if Instant::now() >= until {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}

/// Starts a program, its output going into `output`, in a process group of its own.
fn spawn(program: &CStr, arguments: &[&CStr; 3], output: c_int) -> Option<libc::pid_t> {
    unsafe extern "C" {
        static environ: *const *mut c_char;
    }
    let [one, two, three] = arguments.map(|text| text.as_ptr().cast_mut());
    let arguments = [program.as_ptr().cast_mut(), one, two, three, null_mut()];
    let mut child = 0;
    // SAFETY: both structures are initialised before they are used and destroyed once; strings and
    // the environment live across the call. What fails while they are filled in makes the spawn
    // fail, or leave an output as it is.
    let rc = unsafe {
        let mut files = std::mem::zeroed();
        let mut attributes = std::mem::zeroed();
        if libc::posix_spawn_file_actions_init(&mut files) != 0 {
            return None;
        }
        if libc::posix_spawnattr_init(&mut attributes) != 0 {
            libc::posix_spawn_file_actions_destroy(&mut files);
            return None;
        }
        let null = c"/dev/null".as_ptr();
        libc::posix_spawn_file_actions_addopen(&mut files, 0, null, libc::O_RDONLY, 0);
        libc::posix_spawn_file_actions_adddup2(&mut files, output, 1);
        libc::posix_spawn_file_actions_addopen(&mut files, 2, null, libc::O_WRONLY, 0);
        libc::posix_spawnattr_setflags(&mut attributes, libc::POSIX_SPAWN_SETPGROUP as _);
        let rc = libc::posix_spawn(
            &mut child,
            program.as_ptr(),
            &files,
            &attributes,
            arguments.as_ptr(),
            environ,
        );
        libc::posix_spawnattr_destroy(&mut attributes);
        libc::posix_spawn_file_actions_destroy(&mut files);
        rc
    };
    (rc == 0).then_some(child)
}

/// Reads to the end of a pipe, as much as there is place for; how much that was. None if the end
/// did not come in time.
fn read_until(pipe: c_int, buffer: &mut [u8], until: Instant) -> Option<usize> {
    let mut len = 0;
    while len < buffer.len() {
        let left = until.saturating_duration_since(Instant::now());
        let mut wait = libc::pollfd {
            fd: pipe,
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: one structure, and an open descriptor.
        let ready = unsafe { libc::poll(&mut wait, 1, left.as_millis() as c_int) };
        if ready < 0 && interrupted() {
            continue;
        }
        if ready <= 0 {
            return None;
        }
        let dst = &mut buffer[len..];
        // SAFETY: an open descriptor, and as much place as is said.
        let read = unsafe { libc::read(pipe, dst.as_mut_ptr().cast(), dst.len()) };
        match usize::try_from(read) {
            Ok(0) => return Some(len),
            Ok(more) => len += more,
            Err(_) if interrupted() => {}
            Err(_) => return None,
        }
    }
    // There may be more, which is not needed.
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a script writes, if the call ends soon after 300 ms at the latest.
    fn said(script: &CStr) -> Option<Vec<u8>> {
        let (since, patience) = (Instant::now(), Duration::from_millis(300));
        let mut dst = [0; 64];
        let len = output(
            c"/bin/sh",
            &[c"-c", script, c"sh"],
            &mut dst,
            since + patience,
        );
        assert!(since.elapsed() < 20 * patience, "{script:?}");
        len.map(|len| dst[..len].to_vec())
    }

    #[test]
    fn programs_that_do_not_end_are_not_waited_for() {
        assert_eq!(said(c"echo a").as_deref(), Some(&b"a\n"[..]));
        assert_eq!(said(c"echo a; exec sleep 60"), None);
        let closed = said(c"echo a; exec >&-; exec sleep 60");
        assert_eq!(closed.as_deref(), Some(&b"a\n"[..]));
        assert_eq!(said(c"sleep 60 & echo a"), None);
    }
}
