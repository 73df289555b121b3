//! What a command reads: a file, a directory, or a pipe.

use crate::failure::{Failure, Result};
use crate::scratch::ScratchFolder;
use crate::source::{REPAIR, frame_file};
use crate::store::{Extract, Store};
use crate::system::{self, GivenRights};
use oxiblosc_io::Storage;
use rawzip::Crc32;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes that are copied at a time.
const PART: u64 = 1 << 20;
/// The message for bytes that do not match their checksum in the archive.
pub const ALTERED: &str = "is not what the archive's checksum says";

/// A file or directory that can be read at any position.
pub struct Input {
    path: PathBuf,
    name: String,
    /// The path on the command line, which may be the store that contains the frame. None for a pipe.
    origin: Option<PathBuf>,
    /// The file whose mode and owner the output gets, if it is not `path`.
    rights_of: Option<PathBuf>,
    /// The folder of `path`, if that is a temporary copy.
    _copy: Option<ScratchFolder>,
    /// Whether it does not match its checksum in the archive.
    altered: bool,
}

/// A pipe, which can be read once, from its beginning to its end.
pub struct PipedInput {
    name: String,
    /// Bytes that have been read.
    front: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl PipedInput {
    /// Opens the pipe or character device at `path`; `-` is standard input. None for files, directories and disks, which can be read at
    /// any position.
    pub fn at(path: &Path) -> Result<Option<Self>> {
        let stream = |name: String, rest| Self {
            name,
            front: Vec::new(),
            rest,
        };
        if path == Path::new("-") {
            let name = "standard input";
            let rest = system::standard_input();
            let rest = rest.map_err(|error| Failure::at(Path::new(name), &error))?;
            return Ok(Some(stream(name.into(), Box::new(rest))));
        }
        let failed = |error| Failure::at(path, &error);
        let there = std::fs::metadata(path).map_err(failed)?;
        if there.is_file() || there.is_dir() || system::is_block_device(&there) {
            return Ok(None);
        }
        let rest = Box::new(File::open(path).map_err(failed)?);
        Ok(Some(stream(path.display().to_string(), rest)))
    }

    /// The first `len` bytes, or all if there are fewer.
    pub fn front(&mut self, len: usize) -> Result<&[u8]> {
        let more = len.saturating_sub(self.front.len()) as u64;
        let read = self.rest.by_ref().take(more).read_to_end(&mut self.front);
        read.map_err(|error| Failure::at(Path::new(&self.name), &error))?;
        Ok(&self.front)
    }

    /// All bytes, from the beginning.
    pub fn bytes(self) -> impl Read + Send {
        Cursor::new(self.front).chain(self.rest)
    }

    /// Copies all bytes into a temporary file.
    pub fn spooled(self) -> Result<Input> {
        let (scratch, path, mut into) = spool()?;
        let name = self.name.clone();
        io::copy(&mut self.bytes(), &mut into)?;
        Ok(Input {
            path,
            name,
            origin: None,
            rights_of: None,
            _copy: Some(scratch),
            altered: false,
        })
    }
}

impl Input {
    /// The file or directory at `path`. A pipe is copied into a temporary file. Fails if nothing exists at the path, and for devices that
    /// may have no end.
    pub fn new(path: &Path) -> Result<Self> {
        match PipedInput::at(path)? {
            Some(_) if is_device(path) => Err(Failure::message(format!(
                "{}: is a device, and may have no end: files, directories and pipes can be read",
                path.display()
            ))),
            Some(stream) => stream.spooled(),
            None => Ok(Self {
                path: path.to_path_buf(),
                name: path.display().to_string(),
                origin: Some(path.to_path_buf()),
                rights_of: None,
                _copy: None,
                altered: false,
            }),
        }
    }

    /// The frame with a key in the store at `path`. If it has no file of its own it is copied into a temporary one.
    pub fn member(path: &Path, key: &str) -> Result<Self> {
        let whole = Self::new(path)?;
        let store = Store::open(&whole)?.ok_or_else(|| {
            Failure::message(format!("{}: no store of python-blosc2", whole.name))
        })?;
        let name = format!("{}: {key}", whole.name);
        match store.extract(key, &whole.name)? {
            Extract::Path(path) => Ok(Self {
                path,
                name,
                ..whole
            }),
            Extract::Bytes(file, checksum) => {
                let (scratch, path, into) = spool()?;
                let copied = copy(&*file, &into, &name)?;
                Ok(Self {
                    path,
                    name,
                    rights_of: Some(store.file_of_embedded(&whole.path)),
                    origin: whole.origin,
                    _copy: Some(scratch),
                    altered: !checksum.fits(copied),
                })
            }
        }
    }

    /// The path to read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path on the command line, if it is no pipe. Neither it nor anything in it may be overwritten while this is read.
    pub fn origin(&self) -> Option<&Path> {
        self.origin.as_deref()
    }

    /// Whether the path on the command line is the one that is read, not a store that contains it.
    pub fn is_named(&self) -> bool {
        self.origin.as_deref() == Some(&self.path)
    }

    /// Whether it does not match its checksum in the archive.
    pub fn is_altered(&self) -> bool {
        self.altered
    }

    /// Fails if the data do not match their checksum in the archive.
    pub fn refuse_altered(&self) -> Result<()> {
        match self.altered {
            true => Err(Failure::message(format!(
                "{}: {ALTERED} ({REPAIR})",
                self.name
            ))),
            false => Ok(()),
        }
    }

    /// Opens the file.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }

    /// The mode and owner for what is made of it: those of the file, or of the file with the header in a directory. None for a pipe.
    pub fn rights(&self) -> Option<GivenRights> {
        self.origin.as_ref()?;
        let path = self.rights_of.as_ref().unwrap_or(&self.path);
        let rights = GivenRights::of(&frame_file(path)).ok()?;
        rights.source.is_file().then_some(rights)
    }
}

/// Whether it is a device such as `/dev/zero`, which may have no end.
fn is_device(path: &Path) -> bool {
    path != Path::new("-")
        && std::fs::metadata(path).is_ok_and(|there| system::is_character_device(&there))
}

/// Creates a temporary file, which is removed with its folder.
fn spool() -> Result<(ScratchFolder, PathBuf, File)> {
    let folder = std::env::temp_dir();
    let scratch = ScratchFolder::new(&folder).map_err(|error| Failure::at(&folder, &error))?;
    let path = scratch.path("copy");
    let file = File::create_new(&path).map_err(|error| Failure::at(&path, &error))?;
    Ok((scratch, path, file))
}

/// Copies all bytes, and returns their CRC-32, as zip archives have it.
fn copy(from: &dyn Storage, mut into: &File, name: &str) -> Result<u32> {
    let failed = |error| Failure::of(name, error);
    let size = from.size().map_err(failed)?;
    let mut part = vec![0; PART as usize];
    let mut crc = Crc32::new();
    for pos in (0..size).step_by(PART as usize) {
        let part = &mut part[..PART.min(size - pos) as usize];
        from.read_at(pos, part).map_err(failed)?;
        crc.update(part);
        into.write_all(part)?;
    }
    Ok(crc.checksum())
}
