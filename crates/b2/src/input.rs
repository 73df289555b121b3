//! What a command is to read: a file, a directory, or what comes through a pipe.

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

/// Bytes that are copied at once.
const PART: u64 = 1 << 20;
/// What to say of bytes whose checksum in the archive is another one.
pub const ALTERED: &str = "is not what the archive's checksum says";

/// Something to read from.
pub struct Input {
    path: PathBuf,
    name: String,
    /// What was named: a path, which may be a store that holds it. None for a pipe.
    origin: Option<PathBuf>,
    /// The file whose mode and owner count, if that is another one than the one that is read.
    rights_of: Option<PathBuf>,
    /// The folder of a copy, where one had to be made.
    _copy: Option<ScratchFolder>,
    /// Whether it is other than the archive that it is from says.
    altered: bool,
}

/// What can be read once, from its beginning to its end.
pub struct PipedInput {
    name: String,
    /// What was read already.
    front: Vec<u8>,
    rest: Box<dyn Read + Send>,
}

impl PipedInput {
    /// What comes through the pipe that is named: `-` is standard input. None for what can be read again: files, directories, disks.
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

    /// As many bytes from its beginning, or all where there are fewer.
    pub fn front(&mut self, len: usize) -> Result<&[u8]> {
        let more = len.saturating_sub(self.front.len()) as u64;
        let read = self.rest.by_ref().take(more).read_to_end(&mut self.front);
        read.map_err(|error| Failure::at(Path::new(&self.name), &error))?;
        Ok(&self.front)
    }

    /// All its bytes.
    pub fn bytes(self) -> impl Read + Send {
        Cursor::new(self.front).chain(self.rest)
    }

    /// All its bytes in a file that goes away afterwards.
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
    /// The file or directory at `path`, which must be there. What comes through a pipe is put into a file that goes away afterwards.
    pub fn new(path: &Path) -> Result<Self> {
        match PipedInput::at(path)? {
            Some(_) if is_device(path) => Err(Failure::say(format!(
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
            Extract::Bytes(file, checksum) => {
                let (scratch, path, into) = spool()?;
                let copied = copy(&*file, &into, &name)?;
                Ok(Self {
                    path,
                    name,
                    // A copy has the mode of what it is a copy of.
                    rights_of: Some(store.file_of_embedded(&whole.path)),
                    origin: whole.origin,
                    _copy: Some(scratch),
                    altered: !checksum.fits(copied),
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

    /// Whether it is other than the archive that it is from says.
    pub fn is_altered(&self) -> bool {
        self.altered
    }

    /// Refuses data that are other than the archive that they are from says.
    pub fn refuse_altered(&self) -> Result<()> {
        match self.altered {
            true => Err(Failure::say(format!("{}: {ALTERED} ({REPAIR})", self.name))),
            false => Ok(()),
        }
    }

    /// Opens the file.
    pub fn open(&self) -> Result<File> {
        File::open(&self.path).map_err(|error| Failure::at(&self.path, &error))
    }

    /// Whose mode and owner what is made of it gets: the file's, or that of the file with a directory's header.
    pub fn rights(&self) -> Option<GivenRights> {
        // What came through a pipe has none.
        self.origin.as_ref()?;
        let path = self.rights_of.as_ref().unwrap_or(&self.path);
        let rights = GivenRights::of(&frame_file(path)).ok()?;
        rights.source.is_file().then_some(rights)
    }
}

/// Whether it is a device such as `/dev/zero`. What comes through a pipe has an end.
fn is_device(path: &Path) -> bool {
    path != Path::new("-")
        && std::fs::metadata(path).is_ok_and(|there| system::is_character_device(&there))
}

/// A new file that goes away with its folder.
fn spool() -> Result<(ScratchFolder, PathBuf, File)> {
    let folder = std::env::temp_dir();
    let scratch = ScratchFolder::new(&folder).map_err(|error| Failure::at(&folder, &error))?;
    let path = scratch.path("copy");
    let file = File::create_new(&path).map_err(|error| Failure::at(&path, &error))?;
    Ok((scratch, path, file))
}

/// Copies all of it; gives its checksum, as archives have it.
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
