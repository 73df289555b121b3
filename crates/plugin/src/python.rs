//! Asks Python where a plugin's package is, in a process of its own.
//!
//! Nothing that lies in the current directory may run because a file there names a plugin: Python is looked for in the
//! absolute directories of `PATH` alone, and starts in its isolated mode, in which it imports nothing from the current
//! directory. Packages of a virtual environment are found in that mode too; the line of Python adds what it leaves out and is
//! safe: absolute directories of `PYTHONPATH`, and outside of virtual environments the user's own packages.

use oxiblosc_error::Result;
use oxiblosc_io::paths;
use oxiblosc_memory::CStrBuf;
use std::ffi::{CStr, c_char, c_int};
use std::os::fd::AsRawFd;
use std::ptr::null_mut;
use std::time::{Duration, Instant};

/// A longer path is none.
const MAX_PATH: usize = 4096;
/// How long an answer is waited for. Python takes a tenth of a second, from a slow disk a few.
const PATIENCE: Duration = Duration::from_secs(10);

/// What comes before the import. It says nothing on the output.
const SEARCH: &str = "import os,site,sys;\
sys.path[:0]=[p for p in os.environ.get('PYTHONPATH','').split(':') if p[:1]=='/'];\
[site.addsitedir(p) for p in [site.getusersitepackages()] if sys.prefix==sys.base_prefix and os.path.isdir(p)]";

/// Where the Python package of a plugin, whose name is valid, says that its library is.
///
/// # Errors
/// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
pub fn ask(name: &str) -> Result<Option<CStrBuf>> {
    let until = Instant::now() + PATIENCE;
    let name = name.as_bytes();
    let line = CStrBuf::concat(&[
        SEARCH.as_bytes(),
        b";import blosc2_",
        name,
        b";blosc2_",
        name,
        b".print_libpath()",
    ])?;
    for program in ["python", "python3"] {
        if let Some(python) = in_path(program)?
            && let Some(path) = run(&python, &line, until)?
        {
            return Ok(Some(path));
        }
    }
    Ok(None)
}

/// The first program of this name in an absolute directory of `PATH`.
fn in_path(program: &str) -> Result<Option<CStrBuf>> {
    // SAFETY: the value, if any, is a C string, copied at once.
    let path = unsafe {
        let value = libc::getenv(c"PATH".as_ptr());
        if value.is_null() {
            return Ok(None);
        }
        CStrBuf::copy_of(CStr::from_ptr(value))?
    };
    let directories = path.to_bytes().split(|byte| *byte == b':');
    for directory in directories.filter(|directory| directory.first() == Some(&b'/')) {
        let found = CStrBuf::concat(&[directory, b"/", program.as_bytes()])?;
        if paths::is_regular(&found) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// What Python writes until a time, if that is a path.
fn run(python: &CStr, line: &CStr, until: Instant) -> Result<Option<CStrBuf>> {
    let mut path = [0; MAX_PATH];
    match answer(python, line, until, &mut path) {
        Some(path) => CStrBuf::new(path).map(Some),
        None => Ok(None),
    }
}

fn answer<'a>(python: &CStr, line: &CStr, until: Instant, path: &'a mut [u8]) -> Option<&'a [u8]> {
    // The standard library's way to start a process would make this library 40 KB larger.
    let (output, input) = std::io::pipe().ok()?;
    let child = spawn(python, line, input.as_raw_fd())?;
    drop(input);
    let len = read_until(output.as_raw_fd(), path, until);
    if len.is_none() {
        // SAFETY: the group of this process's own child, which was not waited for. It has what Python itself started, too.
        unsafe { libc::kill(-child, libc::SIGKILL) };
    }
    // SAFETY: this process's own child. It has closed its output or was killed, so it ends.
    while unsafe { libc::waitpid(child, null_mut(), 0) } < 0 && interrupted() {}
    let path = path.get(..len?)?.split(|byte| *byte == b'\n').next()?;
    let whole = !path.is_empty() && path.len() < MAX_PATH;
    (whole && !path.contains(&0)).then_some(path)
}

fn interrupted() -> bool {
    std::io::Error::last_os_error().raw_os_error() == Some(libc::EINTR)
}

/// Starts Python with this program, its output going into `output`, in a process group of its own.
fn spawn(python: &CStr, line: &CStr, output: c_int) -> Option<libc::pid_t> {
    unsafe extern "C" {
        static environ: *const *mut c_char;
    }
    let arguments = [python, c"-I", c"-c", line].map(|text| text.as_ptr().cast_mut());
    let arguments: [*mut c_char; 5] = [
        arguments[0],
        arguments[1],
        arguments[2],
        arguments[3],
        null_mut(),
    ];
    let mut child = 0;
    // SAFETY: both structures are initialised before they are used and destroyed once; strings and the environment live
    // across the call. What fails while they are filled in makes the spawn fail, or leave an output as it is.
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
            python.as_ptr(),
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

/// Reads to the end of a pipe, as much as there is place for; how much that was. None if the end did not come in time.
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
        let room = &mut buffer[len..];
        // SAFETY: an open descriptor, and as much place as is said.
        let read = unsafe { libc::read(pipe, room.as_mut_ptr().cast(), room.len()) };
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
