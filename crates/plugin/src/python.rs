//! Asks Python where a plugin's package is, in a process of its own.
//!
//! Code in the current directory must never run just because a file names a plugin. So Python is
//! only searched for in the absolute directories of `PATH`, and starts in its isolated mode, in
//! which it imports nothing from the current directory. This mode finds packages of a virtual
//! environment, but ignores `PYTHONPATH` and the user's own packages. The line of Python adds the
//! absolute directories of the former, and the latter outside of virtual environments, which is
//! safe.
//!
//! A program that has more rights than its user has no `PATH`, so Python is not asked.

use oxiblosc_base::Result;
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_base::memory::env::environment;
use oxiblosc_base::system::process::{self, PATH_SEPARATOR, PROGRAM_SUFFIX, is_absolute};
use oxiblosc_io::paths;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// The longest path that is accepted.
const MAX_PATH: usize = 4096;
/// How long to wait for an answer. Python takes a tenth of a second, and a few seconds if it comes
/// from a slow disk.
const PATIENCE: Duration = Duration::from_secs(10);

/// The Python code before the import. It prints nothing.
const SEARCH: &str = "import os,site,sys;\
sys.path[:0]=[p for p in os.environ.get('PYTHONPATH','').split(os.pathsep) if os.path.isabs(p)];\
[site.addsitedir(p) for p in [site.getusersitepackages()] if sys.prefix==sys.base_prefix and os.path.isdir(p)]";

/// The path of a plugin's library, which its Python package prints. The name of the plugin is
/// valid. None if no Python has the package.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
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
    let Some(path) = environment(c"PATH", CStrBuf::copy_of).transpose()? else {
        return Ok(None);
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

/// The path that Python prints in the first line, if it ends before `until`.
fn run(python: &CStr, line: &CStr, until: Instant) -> Result<Option<CStrBuf>> {
    let mut buffer = [0; MAX_PATH];
    let len = process::output(python, &[c"-I", c"-c", line], &mut buffer, until);
    let written = len.and_then(|len| buffer.get(..len)).unwrap_or_default();
    let ends = |byte: &u8| matches!(byte, b'\n' | b'\r');
    match written.split(ends).next() {
        Some(path) if !path.is_empty() && path.len() < MAX_PATH && !path.contains(&0) => {
            CStrBuf::new(path).map(Some)
        }
        _ => Ok(None),
    }
}
