//! How the files of a damaged frame are read, and which errors show no damage.

use oxiblosc_base::Error;
use oxiblosc_base::memory::Shared;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage};
use std::ffi::CStr;
use std::sync::atomic::{AtomicBool, Ordering};

/// Opens files, and remembers errors that show no damage.
///
/// What cannot be read is taken as damaged. That must not happen for lack of memory, or because a
/// disk fails: such errors are noted, and whoever repairs asks whether there were any before
/// believing that something is lost.
pub trait Files {
    /// Opens a file for reading.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if there is none. Errors that show no damage are noted, too.
    fn open(&self, path: &CStr) -> Result<Shared<dyn Storage>, Error>;

    /// Notes an error, unless it shows damage ([`is_fault`]).
    fn note(&self, error: Error);

    /// Whether any error was noted.
    fn has_fault(&self) -> bool;
}

impl dyn Files + '_ {
    /// The value, or none if it is damaged. An error that shows no damage is noted.
    pub fn readable<T>(&self, result: Result<T, Error>) -> Option<T> {
        result.inspect_err(|error| self.note(*error)).ok()
    }
}

/// Whether an error is that of this run, and says nothing about the data.
pub fn is_fault(error: Error) -> bool {
    [
        Error::MEMORY_ALLOC,
        Error::THREAD_CREATE,
        Error::LOCK,
        Error::PLUGIN_IO,
    ]
    .contains(&error)
}

/// Files of the system. A file that the system cannot read counts as damaged.
#[derive(Default)]
pub struct SystemFiles(AtomicBool);

impl Files for SystemFiles {
    fn open(&self, path: &CStr) -> Result<Shared<dyn Storage>, Error> {
        let opened = Filesystem.open(path, Mode::Read);
        opened.inspect_err(|error| self.note(*error))
    }

    fn note(&self, error: Error) {
        if is_fault(error) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    fn has_fault(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
