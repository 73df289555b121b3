//! Forks, and programs that are started.

use std::ffi::CStr;
use std::io::Read;
use std::os::windows::io::AsRawHandle;
use std::os::windows::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::ptr::null_mut;
use std::sync::OnceLock;
use std::time::{Duration, Instant};
use windows_sys::Win32::System::Console::SetConsoleCtrlHandler;
use windows_sys::Win32::System::Pipes::PeekNamedPipe;
use windows_sys::Win32::System::Threading::CREATE_NO_WINDOW;

/// What stands between the directories of `PATH`.
pub const PATH_SEPARATOR: u8 = b';';

/// What stands behind the name of a program in the name of its file.
pub const PROGRAM_SUFFIX: &str = ".exe";

/// How often a pipe is looked at.
const PAUSE: Duration = Duration::from_millis(5);

/// Whether a path starts at a root: of a drive, or of another machine.
pub fn is_absolute(path: &[u8]) -> bool {
    match path {
        [a, b, ..] if [a, b].iter().all(|byte| super::files::is_separator(**byte)) => true,
        [drive, b':', c, ..] => drive.is_ascii_alphabetic() && super::files::is_separator(*c),
        _ => false,
    }
}

/// The result of `read` for the value of an environment variable; none if it is not set.
///
/// As with every use of `getenv`, the program must not change the environment at the same time.
pub fn environment<T>(name: &CStr, read: impl FnOnce(&CStr) -> T) -> Option<T> {
    // SAFETY: the name is a C string. The value is null or one, and is used before this function
    // returns.
    unsafe {
        let value = libc::getenv(name.as_ptr());
        (!value.is_null()).then(|| read(CStr::from_ptr(value)))
    }
}

/// Processes are not forked here: nothing is ever called.
pub fn on_fork(_in_child: extern "C" fn()) -> bool {
    true
}

/// From now on what a user or the system ends the program by calls `run` first.
pub fn before_end(run: fn()) {
    static RUN: OnceLock<fn()> = OnceLock::new();
    unsafe extern "system" fn handler(_event: u32) -> i32 {
        if let Some(run) = RUN.get() {
            run();
        }
        // The next handler ends the process.
        0
    }
    if RUN.set(run).is_ok() {
        // SAFETY: a function that any thread may run, and that stays where it is in a program.
        // Without it nothing is run.
        unsafe { SetConsoleCtrlHandler(Some(handler), 1) };
    }
}

/// What a program writes to its output, until a time, as much as there is room for; how many bytes
/// that was. None if it cannot be started or its output does not end in time. A program that goes
/// on after that is killed.
pub fn output(
    program: &CStr,
    arguments: &[&CStr; 3],
    buffer: &mut [u8],
    until: Instant,
) -> Option<usize> {
    let [one, two, three] = arguments.map(|text| text.to_str().unwrap_or_default());
    let mut child = Command::new(program.to_str().ok()?)
        .args([one, two, three])
        .creation_flags(CREATE_NO_WINDOW)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let len = child
        .stdout
        .take()
        .and_then(|pipe| read_until(pipe, buffer, until));
    if len.is_none() || !ends_until(&mut child, until) {
        // It may have ended meanwhile.
        let _ = child.kill();
        let _ = child.wait();
    }
    len
}

/// Waits for a program that has closed its output. Returns whether it ended in time.
fn ends_until(child: &mut Child, until: Instant) -> bool {
    loop {
        match child.try_wait() {
            Ok(None) if Instant::now() < until => std::thread::sleep(PAUSE),
            ended => return !matches!(ended, Ok(None)),
        }
    }
}

/// Reads to the end of a pipe, as much as there is room for; how much that was. None if the end did
/// not come in time.
fn read_until(mut pipe: ChildStdout, buffer: &mut [u8], until: Instant) -> Option<usize> {
    let mut len = 0;
    while len < buffer.len() {
        let mut ready = 0;
        // SAFETY: an open pipe, and room for a number; nothing else is asked for.
        let open = unsafe {
            let (no, none) = (null_mut(), null_mut());
            PeekNamedPipe(pipe.as_raw_handle(), null_mut(), 0, no, &mut ready, none) != 0
        };
        if !open {
            return Some(len);
        }
        if ready > 0 {
            len += pipe.read(&mut buffer[len..]).ok()?;
        } else if Instant::now() >= until {
            return None;
        } else {
            std::thread::sleep(PAUSE);
        }
    }
    // There may be more, which is not needed.
    None
}
