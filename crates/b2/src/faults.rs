//! Errors that show no damage: there is not enough memory, or the system cannot read a file that is
//! there.
//!
//! Many readers take whatever they cannot read as damaged, and go on. They note such errors here
//! first, and the command, before it believes that anything is damaged or writes its output, asks
//! whether there were any.

use crate::failure::{Failure, Result, cause, explain};
use crate::paths::{is_dir, shown};
use crate::place::as_c;
use oxiblosc::storage::FilesWithin;
use oxiblosc::storage::Filesystem;
use oxiblosc::storage::{Backend, Exclusion, Mode, Storage, Written};
use oxiblosc_base::Error;
use oxiblosc_base::memory::{Buffer, Shared, shared_dyn};
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags};
use oxiblosc_repair::{Files, is_fault};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind};
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

/// The first error that shows no damage, of everything that reads one input.
#[derive(Clone)]
pub struct Faults(Arc<Noted>);

struct Noted {
    /// The name of the input in messages.
    name: String,
    /// The message about the first error.
    first: OnceLock<String>,
    /// The directory that is read, if it is one.
    within: Option<FilesWithin>,
}

impl Faults {
    /// None yet, of what reads the input with this name.
    pub fn new(name: &str) -> Self {
        Self::of(name, None)
    }

    /// As [`Self::new`], of what may be a directory.
    pub fn of(name: &str, within: Option<FilesWithin>) -> Self {
        let (name, first) = (name.to_string(), OnceLock::new());
        Self(Arc::new(Noted {
            name,
            first,
            within,
        }))
    }

    /// Notes that the system could not do something with a file.
    pub fn note_file(&self, name: &str, error: &io::Error) {
        let line = || format!("{}: {}", shown(Path::new(name)).display(), explain(error));
        self.0.first.get_or_init(line);
    }

    /// The value, or none if it is damaged. An error that shows no damage is noted.
    pub fn readable<T>(&self, result: std::result::Result<T, Error>) -> Option<T> {
        (self as &dyn Files).readable(result)
    }

    /// The size of a file, or of all files in a directory, in bytes. 0 if it is not known, which is
    /// noted.
    pub fn size_of(&self, path: &Path) -> u64 {
        let size = crate::paths::size_of(path);
        size.unwrap_or_else(|error| {
            self.note_file(&path.display().to_string(), &error);
            0
        })
    }

    /// Whether a path leads to a directory. That the system cannot say is noted.
    pub fn is_dir(&self, path: &Path) -> std::result::Result<bool, Error> {
        is_dir(path).map_err(|error| {
            self.note_file(&path.display().to_string(), &error);
            Error::FILE_OPEN
        })
    }

    /// Fails if any error was noted.
    pub fn check(&self) -> Result<()> {
        match self.0.first.get() {
            Some(line) => Err(Failure::message(line.clone())),
            None => Ok(()),
        }
    }

    /// The error again, if it shows damage; otherwise the failure of the command.
    pub fn damage(&self, error: Error) -> Result<Error> {
        self.note(error);
        self.check().map(|()| error)
    }

    /// Opens a file as the system has it.
    pub fn file(&self, path: &Path, how: OpenFlags) -> io::Result<File> {
        let path = as_c(path)?;
        match &self.0.within {
            Some(within) => within.file(&path, how),
            None => files::open(&path, how, NewFileAccess::All),
        }
    }

    /// A back end that opens files for reading only, by [`Self::open`]. An unfinished change of
    /// another process is rolled back in memory, not in the file.
    pub fn backend(&self) -> std::result::Result<Shared<dyn Backend>, Error> {
        oxiblosc::storage::shared(ReadOnly(self.clone()))
    }
}

impl Files for Faults {
    fn open(&self, path: &CStr) -> std::result::Result<Shared<dyn Storage>, Error> {
        let opened = match &self.0.within {
            Some(within) => within.open(path, Mode::Read),
            None => Filesystem.open(path, Mode::Read),
        };
        let name = String::from_utf8_lossy(path.to_bytes()).into_owned();
        let file = opened.inspect_err(|error| {
            self.note(*error);
            if *error == Error::FILE_OPEN
                && let Some(why) = cause(*error)
                && !is_missing(&why)
            {
                self.note_file(&name, &why);
            }
        })?;
        let faults = self.clone();
        shared_dyn!(WatchedFile { file, name, faults } => dyn Storage)
    }

    fn note(&self, error: Error) {
        if is_fault(error) {
            let line = || format!("{}: {}", self.0.name, crate::failure::describe(error));
            self.0.first.get_or_init(line);
        }
    }

    fn has_fault(&self) -> bool {
        self.0.first.get().is_some()
    }
}

/// Whether a file was not opened as nothing is there.
fn is_missing(why: &io::Error) -> bool {
    [ErrorKind::NotFound, ErrorKind::NotADirectory].contains(&why.kind())
}

struct ReadOnly(Faults);

impl Backend for ReadOnly {
    fn open(&self, path: &CStr, mode: Mode) -> std::result::Result<Shared<dyn Storage>, Error> {
        match mode {
            Mode::Read => self.0.open(path),
            Mode::ReadWrite | Mode::Create | Mode::New => Err(Error::FILE_OPEN),
        }
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        Filesystem.identity(path)
    }

    fn is_filesystem(&self) -> bool {
        true
    }
}

/// A file that is read. If bytes cannot be read although the file has them, that is noted.
struct WatchedFile {
    file: Shared<dyn Storage>,
    name: String,
    faults: Faults,
}

impl WatchedFile {
    /// Notes why the system refused something. That a file ends before is no refusal, and a
    /// directory in its place is damage.
    fn failed(&self, error: Error) {
        if let Some(why) = cause(error)
            && why.kind() != ErrorKind::IsADirectory
        {
            self.faults.note_file(&self.name, &why);
        }
    }
}

impl Storage for WatchedFile {
    fn size(&self) -> std::result::Result<u64, Error> {
        self.file.size().inspect_err(|error| self.failed(*error))
    }

    fn read_at(&self, pos: u64, into: &mut [u8]) -> std::result::Result<(), Error> {
        let read = self.file.read_at(pos, into);
        read.inspect_err(|error| self.failed(*error))
    }

    fn append_to(&self, into: &mut Buffer, pos: u64, len: usize) -> std::result::Result<(), Error> {
        self.file.append_to(into, pos, len).inspect_err(|error| {
            match *error == Error::MEMORY_ALLOC {
                true => self.faults.note(*error),
                false => self.failed(*error),
            }
        })
    }

    fn write_at(&self, _: u64, _: &[u8]) -> std::result::Result<(), Error> {
        Err(Error::FILE_WRITE)
    }

    fn truncate(&self, _: u64) -> std::result::Result<(), Error> {
        Err(Error::FILE_TRUNCATE)
    }

    fn sync(&self) -> std::result::Result<(), Error> {
        Ok(())
    }

    fn lock_exclusive(&self) -> std::result::Result<Exclusion, Error> {
        self.file.lock_exclusive()
    }

    fn try_lock_exclusive(&self) -> Option<Exclusion> {
        self.file.try_lock_exclusive()
    }

    fn complete_lock(&self) -> bool {
        self.file.complete_lock()
    }

    fn lock_shared(&self, timeout: Duration) -> bool {
        self.file.lock_shared(timeout)
    }

    fn unlock(&self) {
        self.file.unlock();
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.file.identity()
    }

    fn written(&self) -> Option<Written> {
        self.file.written()
    }
}
