//! What a command is to read: a file, a directory, or what comes through a pipe.

use crate::failure::{Failure, Result};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

/// A file that goes away with the value.
pub struct Temporary(PathBuf);

impl Temporary {
    /// A new file or directory beside `path`, which it is to become, or in the folder for such files.
    pub fn name(beside: Option<&Path>) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let unique = (std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let own = |name: &str| format!(".{name}.b2-{}-{}", unique.0, unique.1);
        Self(match beside {
            Some(path) => {
                let name = path.file_name().unwrap_or_default().to_string_lossy();
                path.with_file_name(own(&name))
            }
            None => std::env::temp_dir().join(own("pipe")),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Gives it its name for good.
    pub fn keep(self, path: &Path) -> Result<()> {
        std::fs::rename(&self.0, path).map_err(|error| Failure::at(path, &error))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        // Gone already where it was kept.
        if self.0.is_dir() {
            let _ = std::fs::remove_dir_all(&self.0);
        } else {
            let _ = std::fs::remove_file(&self.0);
        }
    }
}

/// Something to read from.
pub struct Input {
    path: PathBuf,
    name: String,
    spooled: Option<Temporary>,
}

impl Input {
    /// The file or directory at `path`, which must be there; `-` is what comes through the pipe, put into a file that
    /// goes away afterwards.
    pub fn new(path: &Path) -> Result<Self> {
        if path != Path::new("-") {
            std::fs::metadata(path).map_err(|error| Failure::at(path, &error))?;
            return Ok(Self {
                path: path.to_path_buf(),
                name: path.display().to_string(),
                spooled: None,
            });
        }
        let file = Temporary::name(None);
        let mut into =
            File::create_new(file.path()).map_err(|error| Failure::at(file.path(), &error))?;
        io::copy(&mut io::stdin().lock(), &mut into)?;
        Ok(Self {
            path: file.path().to_path_buf(),
            name: "standard input".into(),
            spooled: Some(file),
        })
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it came through a pipe.
    pub fn is_piped(&self) -> bool {
        self.spooled.is_some()
    }

    /// Opens the file.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }
}
