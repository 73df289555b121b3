//! What a command reads: a file, a directory, or a pipe.

use crate::failure::{Failure, REPAIR, Result, describe, is_damage};
use crate::faults::Faults;
use crate::library::{protection, zeros};
use crate::memory;
use crate::paths::{frame_file, is_dir, lasting};
use crate::place::as_c;
use crate::scratch::{COPY, ScratchFolder};
use crate::system::{self, GivenRights};
use oxiblosc::storage::FilesWithin;
use oxiblosc::{Array, SuperChunk};
use oxiblosc_base::Error;
use oxiblosc_base::system::files::OpenFlags;
use std::fs::File;
use std::io::{self, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// Bytes that are copied at a time.
pub const PART: u64 = 1 << 20;
/// The message for bytes that do not match their checksum in the archive.
pub const ALTERED: &str = "is not what the archive's checksum says";

/// A file or directory that can be read at any position. It is opened once: what gets its name
/// later is not read, nor are the rights of another file taken for its own.
pub struct Input {
    /// The path by which it is read, and it as it was opened, if that is what the path leads to.
    path: PathBuf,
    opened: Option<File>,
    /// Whether it is the path on the command line, not something in a store.
    is_named: bool,
    name: String,
    /// The path on the command line, which may be the store that contains the frame. None for a
    /// pipe.
    origin: Option<PathBuf>,
    /// The file whose mode and owner the output gets, if it is not `path`, and what opens it.
    rights_of: Option<(PathBuf, Faults)>,
    /// The folder of `path`, if that is a temporary copy.
    _copy: Option<ScratchFolder>,
    /// Whether it does not match its checksum in the archive.
    altered: bool,
    /// Errors of reading it that show no damage.
    faults: Faults,
}

/// A pipe, which can be read once, from its beginning to its end.
pub struct PipedInput {
    name: String,
    /// Bytes that have been read.
    prefix: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl PipedInput {
    /// Opens the pipe or character device at `path`; `-` is standard input. None for files,
    /// directories and disks, which can be read at any position.
    pub fn at(path: &Path) -> Result<Option<Self>> {
        memory::reads(path);
        let stream = |name: String, rest| Self {
            name,
            prefix: Vec::new(),
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

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The first `len` bytes, or all if there are fewer.
    pub fn prefix(&mut self, len: usize) -> Result<&[u8]> {
        let more = len.saturating_sub(self.prefix.len()) as u64;
        let read = self.rest.by_ref().take(more).read_to_end(&mut self.prefix);
        read.map_err(|error| Failure::at(Path::new(&self.name), &error))?;
        Ok(&self.prefix)
    }

    /// All bytes, from the beginning.
    pub fn bytes(self) -> impl Read + Send {
        Cursor::new(self.prefix).chain(self.rest)
    }

    /// Copies all bytes into a temporary file.
    pub fn spooled(self) -> Result<Input> {
        let (scratch, path, mut into) = spool()?;
        let name = self.name.clone();
        let mut from = self.bytes();
        let mut part = zeros(PART as usize).map_err(|error| Failure::of(&name, error))?;
        loop {
            let read = match from.read(&mut part) {
                Ok(0) => break,
                Ok(read) => read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(Failure::at(Path::new(&name), &error)),
            };
            let written = into.write_all(&part[..read]);
            written.map_err(|error| Failure::at(&path, &error))?;
        }
        Ok(Input {
            faults: Faults::new(&name),
            path,
            opened: None,
            is_named: false,
            name,
            origin: None,
            rights_of: None,
            _copy: Some(scratch),
            altered: false,
        })
    }
}

impl Input {
    /// The file or directory at `path`. A pipe is copied into a temporary file. Fails if nothing
    /// exists at the path, and for devices that may have no end.
    pub fn new(path: &Path) -> Result<Self> {
        match PipedInput::at(path)? {
            Some(_) if is_device(path) => Err(Failure::message(format!(
                "{}: is a device, and may have no end: files, directories and pipes can be read",
                path.display()
            ))),
            Some(stream) => stream.spooled(),
            None => {
                let name = path.display().to_string();
                let opened = Self::opened(path, name, &Faults::new(""));
                opened.map_err(|error| Failure::at(path, &error))
            }
        }
    }

    /// Opens the file or directory at a path, which may be within what `around` is of.
    fn opened(path: &Path, name: String, around: &Faults) -> io::Result<Self> {
        let opened = match around.file(path, OpenFlags::READ) {
            // A directory that cannot be listed, but whose files can be read.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied && is_dir(path)? => {
                around.file(path, OpenFlags::STAT)?
            }
            opened => opened?,
        };
        let there = opened.metadata()?;
        if !there.is_file() && !there.is_dir() && !system::is_block_device(&there) {
            return Err(io::Error::other(
                "became something else while it was opened",
            ));
        }
        let lasting = lasting(&opened, path);
        let within = match there.is_dir() {
            true => Some(FilesWithin::open(&as_c(&lasting)?)?),
            false => None,
        };
        Ok(Self {
            path: lasting,
            opened: Some(opened),
            is_named: true,
            origin: Some(path.to_path_buf()),
            rights_of: None,
            _copy: None,
            altered: false,
            faults: Faults::of(&name, within),
            name,
        })
    }

    /// The file or directory at `path`, which is within this one and has a name in messages.
    pub fn inner(self, path: &Path, name: String) -> Result<Self> {
        let inner = Self::opened(path, name, &self.faults);
        Ok(Self {
            is_named: false,
            origin: self.origin,
            ..inner.map_err(|error| Failure::at(path, &error))?
        })
    }

    /// A temporary copy of a part of this file, or of the file at `whole` in this directory, which
    /// `write` makes. `write` gets the copy and its path, and returns whether it is unaltered.
    pub fn copied(
        self,
        whole: PathBuf,
        name: String,
        write: impl FnOnce(&File, &Path, &Faults) -> Result<bool>,
    ) -> Result<Self> {
        let (scratch, path, into) = spool()?;
        let unaltered = write(&into, &path, &self.faults)?;
        Ok(Self {
            faults: Faults::new(&name),
            path,
            opened: self.opened,
            is_named: false,
            name,
            rights_of: Some((whole, self.faults)),
            origin: self.origin,
            _copy: Some(scratch),
            altered: !unaltered,
        })
    }

    /// The path to read.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is a directory.
    pub fn is_dir(&self) -> Result<bool> {
        is_dir(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }

    /// The file with the header, if it is a frame.
    pub fn frame_file(&self) -> Result<PathBuf> {
        frame_file(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The path on the command line, if it is no pipe. Neither it nor anything in it may be
    /// overwritten while this is read.
    pub fn origin(&self) -> Option<&Path> {
        self.origin.as_deref()
    }

    /// Whether the path on the command line is the one that is read, not a store that contains it.
    pub fn is_named(&self) -> bool {
        self.is_named
    }

    /// Whether it does not match its checksum in the archive.
    pub fn is_altered(&self) -> bool {
        self.altered
    }

    /// Fails if the data do not match their checksum in the archive.
    pub fn refuse_altered(&self) -> Result<()> {
        match self.altered {
            true => Err(Failure::damaged(format!(
                "{}: {ALTERED} ({REPAIR})",
                self.name
            ))),
            false => Ok(()),
        }
    }

    /// Where errors of reading it are noted that show no damage.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// The failure of a command that needed what could not be read. `what` says which part it was.
    pub fn failure(&self, what: &str, error: Error) -> Failure {
        match self.faults.damage(error) {
            Ok(error) if is_damage(error) => {
                Failure::damaged(format!("{}: {what}{}", self.name, describe(error)))
            }
            Ok(error) => Failure::message(format!("{}: {what}{}", self.name, describe(error))),
            Err(failure) => failure,
        }
    }

    /// Opens the file.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }

    /// Opens the array for reading. `threads` decompress a read.
    pub fn open_array(&self, threads: i16) -> std::result::Result<Array, Error> {
        let path = as_c(&self.path).map_err(|_| Error::FILE_OPEN)?;
        let backend = self.faults.backend()?;
        let schunk = SuperChunk::open_by(backend, &path, threads, protection(false));
        Array::of(schunk?)
    }

    /// The mode and owner for what is made of it: those of the file, or of the file with the header
    /// in a directory. None for a pipe, and where that file is missing.
    pub fn rights(&self) -> Result<Option<GivenRights>> {
        if self.origin.is_none() {
            return Ok(None);
        }
        let own = (&self.path, &self.faults);
        let around = self.rights_of.as_ref().map(|(path, faults)| (path, faults));
        let (path, faults) = around.unwrap_or(own);
        let path = frame_file(path).map_err(|error| Failure::at(path, &error))?;
        match GivenRights::by(|how| faults.file(&path, how)) {
            Ok(rights) => Ok(Some(rights).filter(|rights| rights.source.is_file())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(Failure::at(&path, &error)),
        }
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
    let scratch = ScratchFolder::within(&folder).map_err(|error| Failure::at(&folder, &error))?;
    let path = scratch.path(COPY);
    let file = File::create_new(&path).map_err(|error| Failure::at(&path, &error))?;
    Ok((scratch, path, file))
}
