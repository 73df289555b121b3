//! What a command is to read: a file, a directory, or what comes through a pipe.

use crate::failure::{Failure, Result};
use crate::scratch::Scratch;
use crate::source::frame_file;
use std::fs::{File, Metadata};
use std::io;
use std::path::{Path, PathBuf};

/// Something to read from.
pub struct Input {
    path: PathBuf,
    name: String,
    spooled: Option<Scratch>,
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
        let folder = std::env::temp_dir();
        let scratch = Scratch::new(&folder).map_err(|error| Failure::at(&folder, &error))?;
        let path = scratch.path("pipe");
        let mut into = File::create_new(&path).map_err(|error| Failure::at(&path, &error))?;
        io::copy(&mut io::stdin().lock(), &mut into)?;
        Ok(Self {
            path,
            name: "standard input".into(),
            spooled: Some(scratch),
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

    /// Whose mode and owner what is made of it gets: the file's, or that of the file with a directory's header.
    pub fn metadata(&self) -> Option<Metadata> {
        let metadata = std::fs::metadata(frame_file(&self.path)).ok()?;
        (!self.is_piped() && metadata.is_file()).then_some(metadata)
    }
}
