//! Where a command puts what it makes: nothing appears under the name that was asked for before it is whole.

use crate::failure::{Failure, Result};
use crate::input::Temporary;
use std::fs::File;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Something to be written.
pub struct Output {
    file: Temporary,
    to: Option<PathBuf>,
    replace: bool,
}

impl Output {
    /// A file or directory at `path`; `-` is the pipe. One that is there already is replaced only if `replace`.
    pub fn new(path: &Path, replace: bool) -> Result<Self> {
        if path == Path::new("-") {
            if io::stdout().is_terminal() {
                return Err(Failure::say(
                    "will not write compressed or binary data to a terminal: name a file or use a pipe",
                ));
            }
            return Ok(Self {
                file: Temporary::name(None),
                to: None,
                replace,
            });
        }
        if !replace && path.symlink_metadata().is_ok() {
            return Err(Failure::say(format!(
                "{}: is there already (--force replaces it)",
                path.display()
            )));
        }
        Ok(Self {
            file: Temporary::name(Some(path)),
            to: Some(path.to_path_buf()),
            replace,
        })
    }

    /// Where to write it.
    pub fn path(&self) -> &Path {
        self.file.path()
    }

    /// A new file there.
    pub fn create(&self) -> Result<File> {
        let made = File::options()
            .read(true)
            .write(true)
            .create_new(true)
            .open(self.path());
        made.map_err(|error| Failure::at(self.to.as_deref().unwrap_or(self.path()), &error))
    }

    /// What to call it.
    pub fn name(&self) -> String {
        let to = self.to.as_ref();
        to.map_or_else(
            || "standard output".into(),
            |path| path.display().to_string(),
        )
    }

    /// Bytes that were written.
    pub fn size(&self) -> u64 {
        size_of(self.path())
    }

    /// Puts it where it was asked for.
    pub fn finish(self) -> Result<()> {
        let Some(to) = &self.to else {
            let mut from =
                File::open(self.path()).map_err(|error| Failure::at(self.path(), &error))?;
            io::copy(&mut from, &mut io::stdout().lock())?;
            return Ok(());
        };
        if self.replace && to.is_dir() && !to.is_symlink() {
            std::fs::remove_dir_all(to).map_err(|error| Failure::at(to, &error))?;
        } else if self.replace && self.path().is_dir() && to.symlink_metadata().is_ok() {
            std::fs::remove_file(to).map_err(|error| Failure::at(to, &error))?;
        }
        self.file.keep(to)
    }
}

/// Bytes of a file, or of the files in a directory.
pub fn size_of(path: &Path) -> u64 {
    let Ok(there) = std::fs::metadata(path) else {
        return 0;
    };
    if !there.is_dir() {
        return there.len();
    }
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.metadata().ok())
        .map(|file| file.len())
        .sum()
}

/// A line for the reader of the output.
pub fn say(line: &str) -> Result<()> {
    Ok(writeln!(io::stdout().lock(), "{line}")?)
}
