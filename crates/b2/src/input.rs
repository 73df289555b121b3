//! What a command is to read: a file, a directory, or what comes through a pipe.

use crate::failure::{Failure, Result};
use crate::scratch::Scratch;
use crate::source::frame_file;
use crate::store::{Extract, Store};
use oxiblosc_io::Storage;
use std::fs::{File, Metadata};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Bytes that are copied at once.
const PART: u64 = 1 << 20;

/// Something to read from.
pub struct Input {
    path: PathBuf,
    name: String,
    /// What was named: a path, which may be a store that holds it. None for a pipe.
    origin: Option<PathBuf>,
    /// A copy, where one had to be made.
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
                origin: Some(path.to_path_buf()),
                spooled: None,
            });
        }
        let (scratch, path, mut into) = spool()?;
        io::copy(&mut io::stdin().lock(), &mut into)?;
        Ok(Self {
            path,
            name: "standard input".into(),
            origin: None,
            spooled: Some(scratch),
        })
    }

    /// The frame with a key in the store at `path`. One that has no file of its own is copied into one that goes away afterwards.
    pub fn member(path: &Path, key: &str) -> Result<Self> {
        let whole = Self::new(path)?;
        let store = Store::open(&whole)?
            .ok_or_else(|| Failure::say(format!("{}: no store of python-blosc2", whole.name)))?;
        let name = format!("{}: {key}", whole.name);
        match store.extract(key, &whole.name)? {
            Extract::Path(path) => Ok(Self {
                path,
                name,
                ..whole
            }),
            Extract::Bytes(file) => {
                let (scratch, path, into) = spool()?;
                copy(&*file, &into, &name)?;
                Ok(Self {
                    path,
                    name,
                    origin: whole.origin,
                    spooled: Some(scratch),
                })
            }
        }
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What must not be written to while this is read: what was named, and what is within it.
    pub fn origin(&self) -> Option<&Path> {
        self.origin.as_deref()
    }

    /// Whether it has the path that was named.
    pub fn is_named(&self) -> bool {
        self.origin.as_deref() == Some(&self.path)
    }

    /// Opens the file.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }

    /// Whose mode and owner what is made of it gets: the file's, or that of the file with a directory's header.
    pub fn metadata(&self) -> Option<Metadata> {
        let origin = self.origin.as_ref()?;
        // A copy has the mode of what it is a copy of.
        let path = match self.spooled {
            Some(_) => origin,
            None => &self.path,
        };
        let metadata = std::fs::metadata(frame_file(path)).ok()?;
        metadata.is_file().then_some(metadata)
    }
}

/// A new file that goes away with its folder.
fn spool() -> Result<(Scratch, PathBuf, File)> {
    let folder = std::env::temp_dir();
    let scratch = Scratch::new(&folder).map_err(|error| Failure::at(&folder, &error))?;
    let path = scratch.path("copy");
    let file = File::create_new(&path).map_err(|error| Failure::at(&path, &error))?;
    Ok((scratch, path, file))
}

fn copy(from: &dyn Storage, mut into: &File, name: &str) -> Result<()> {
    let failed = |error| Failure::of(name, error);
    let size = from.size().map_err(failed)?;
    let mut part = vec![0; PART as usize];
    for pos in (0..size).step_by(PART as usize) {
        let part = &mut part[..PART.min(size - pos) as usize];
        from.read_at(pos, part).map_err(failed)?;
        into.write_all(part)?;
    }
    Ok(())
}
