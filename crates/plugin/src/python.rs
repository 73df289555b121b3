//! Asks Python where a plugin's package is, in a process of its own.
//!
//! Nothing that lies in the current directory may run because a file there names a plugin: Python is looked for in the
//! absolute directories of `PATH` alone, and starts in its isolated mode, in which it imports nothing from the current
//! directory. Packages of a virtual environment are found in that mode too; the line of Python adds what it leaves out and is
//! safe: absolute directories of `PYTHONPATH`, and outside of virtual environments the user's own packages.

use oxiblosc_error::Result;
use oxiblosc_io::paths;
use oxiblosc_memory::CStrBuf;
use oxiblosc_system::process::{self, PATH_SEPARATOR, PROGRAM_SUFFIX, is_absolute};
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// The longest path that is accepted.
const MAX_PATH: usize = 4096;
/// How long an answer is waited for. Python takes a tenth of a second, from a slow disk a few.
const PATIENCE: Duration = Duration::from_secs(10);

/// What comes before the import. It says nothing on the output.
const SEARCH: &str = "import os,site,sys;\
sys.path[:0]=[p for p in os.environ.get('PYTHONPATH','').split(os.pathsep) if os.path.isabs(p)];\
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
    let directories = path.to_bytes().split(|byte| *byte == PATH_SEPARATOR);
    for directory in directories.filter(|directory| is_absolute(directory)) {
        let file = [program, PROGRAM_SUFFIX].map(str::as_bytes);
        let found = CStrBuf::concat(&[directory, b"/", file[0], file[1]])?;
        if paths::is_regular(&found) {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// What Python writes until a time, if that is a path.
fn run(python: &CStr, line: &CStr, until: Instant) -> Result<Option<CStrBuf>> {
    let mut room = [0; MAX_PATH];
    let len = process::output(python, &[c"-I", c"-c", line], &mut room, until);
    let written = len.and_then(|len| room.get(..len)).unwrap_or_default();
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    match written.split(ends).next() {
        Some(path) if !path.is_empty() && path.len() < MAX_PATH && !path.contains(&0) => {
            CStrBuf::new(path).map(Some)
        }
        _ => Ok(None),
    }
}
