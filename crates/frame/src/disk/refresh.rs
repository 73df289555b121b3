//! Reads a frame again after another handle or process has changed it.

use super::Disk;
use super::currency::{has_bytes, is_written_since};
use super::load::{self, NotLoaded};
use super::reader::{KeptReader, Named, OpenedFile};
use super::view::{is_there, patches};
use crate::loaded::Loaded;
use oxiblosc_base::memory::Shared;
use oxiblosc_base::{Error, Result};
use oxiblosc_io::{Mode, Storage};

impl Disk {
    /// A file to read from. It is kept open, if the back end and the number of open files allow it.
    /// If the path leads to another file, that one is opened; if it leads to nothing, the open file
    /// is used.
    pub(super) fn reader(&mut self) -> Result<OpenedFile> {
        let own = self.checked_writer();
        if own.is_none() {
            self.forget_closed_reader();
        }
        let backend = &self.options.backend;
        let (file, found) = match &self.reader {
            None => {
                let file = backend.open(&self.location.file, Mode::Read)?;
                let is_other =
                    backend.is_filesystem() && file.identity() != self.last_read.identity;
                if !is_other {
                    self.keep_reader(&file);
                }
                (
                    file,
                    if is_other {
                        Named::Another
                    } else {
                        Named::Same
                    },
                )
            }
            Some(reader) => {
                // Reading from the file that is open for changes does not set the time of the last
                // access.
                let file = own.unwrap_or_else(|| reader.file.clone());
                match backend.version(&self.location.file) {
                    Some(version) if Some(version.identity) == self.last_read.identity => {
                        return Ok(OpenedFile {
                            file,
                            found: Named::Same,
                            size: version.size,
                        });
                    }
                    None => (file, Named::Nothing),
                    Some(_) => (
                        backend.open(&self.location.file, Mode::Read)?,
                        Named::Another,
                    ),
                }
            }
        };
        // To ask a map for its size is to check its descriptor, which the program may have closed.
        let size = file.size().ok();
        Ok(OpenedFile { file, found, size })
    }

    /// Keeps the file that the frame was read from open, if the back end and the number of open
    /// files allow it.
    pub(super) fn keep_reader(&mut self, file: &Shared<dyn Storage>) {
        self.reader = None;
        if self.options.backend.is_filesystem() {
            self.reader = KeptReader::keep(file);
        }
    }

    /// Forgets the file that is kept open for reading, if the program has closed its descriptor.
    pub(super) fn forget_closed_reader(&mut self) {
        self.reader = self.reader.take().filter(|reader| reader.file.is_open());
    }

    /// Reads the frame again if another handle or process has changed it. Returns what was read, if
    /// it was read again since the last call.
    ///
    /// If that is impossible, since the file was removed, truncated or replaced by something else,
    /// the view stays as it is, as in the reference, and changes of the frame fail.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; [`Error::FILE_READ`] if reading the file failed. Then it is not
    /// known where the chunks are now, and the next call tries it again.
    pub fn refresh(&mut self) -> Result<Option<Loaded>> {
        self.undo_left();
        match self.follow() {
            Ok(()) => self.last_read.missing = None,
            Err(NotLoaded { error, is_unknown }) if is_unknown => return Err(error),
            Err(gone) => self.last_read.missing = Some(gone.error),
        }
        Ok(self.last_read.reloaded.take())
    }

    /// Makes the next [`Self::refresh`] return `loaded` again, which its caller could not use.
    pub fn put_back(&mut self, loaded: Loaded) {
        self.last_read.reloaded = Some(loaded);
    }

    /// Whether the frame is as it was last read, so that [`Self::refresh`] would return none.
    pub fn is_current(&mut self) -> bool {
        self.check_current() == Ok(true)
    }

    /// As [`Self::is_current`].
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if no file is kept open, and the path leads to none.
    pub fn check_current(&mut self) -> Result<bool> {
        let source = self.reader()?;
        let current = self.last_read.reloaded.is_none() && self.is_current_in(&source);
        if current {
            self.last_read.missing = source.found.is_there().err();
            self.note_size(&source);
        }
        Ok(current)
    }

    /// Keeps the size of the file, which holds the frame as it is known, for [`Disk::prepare`] if
    /// it is locked for a change.
    fn note_size(&mut self, source: &OpenedFile) {
        let locked = self.locks.is_granted();
        self.locks.size = source.size.filter(|_| locked);
    }

    fn is_current_in(&self, source: &OpenedFile) -> bool {
        let file = &*source.file;
        let is_same = source.found != Named::Another
            && self.writes_to(self.last_read.identity)
            && !is_written_since(file, self.last_read.written);
        !self.last_read.stale
            && is_same
            && is_there(&self.view.pending, file)
            && self.has_state_of(file)
    }

    /// Reads the frame again if it has changed.
    fn follow(&mut self) -> std::result::Result<(), NotLoaded> {
        let gone = |error| NotLoaded {
            error,
            is_unknown: error == Error::MEMORY_ALLOC,
        };
        // What looks like a change may be another file, which has got the number of a closed
        // descriptor.
        self.forget_closed_reader();
        let mut source = self.reader().map_err(gone)?;
        if self.is_current_in(&source) {
            self.note_size(&source);
        } else {
            if self.locks.changing > 0 && !self.writes_to(source.file.identity()) {
                // The path leads to another file now, which has to be locked before it is read.
                self.lock_anew().map_err(gone)?;
                source = self.reader().map_err(gone)?;
            }
            self.reload(&source)?;
        }
        source.found.is_there().map_err(gone)
    }

    /// Reads the frame again, even if nothing shows that it has changed. The next [`Self::refresh`]
    /// returns what was read.
    ///
    /// # Errors
    /// Those of reading; [`Error::FILE_OPEN`] during a change, for which the frame has just been
    /// read, and if the frame was removed: then there is nothing new to read.
    pub fn reread(&mut self) -> Result<()> {
        self.locks.leave_to_parent();
        if self.locks.changing > 0 {
            return Err(Error::FILE_OPEN);
        }
        self.forget_closed_reader();
        let source = self.reader()?;
        if source.found == Named::Nothing {
            return Err(Error::FILE_OPEN);
        }
        self.reload(&source).map_err(|not_loaded| not_loaded.error)
    }

    /// Whether the file still has header and fingerprint of the view.
    pub(super) fn has_state_of(&self, file: &dyn Storage) -> bool {
        let (pending, marks) = (patches(&self.view.pending), self.view.state_marks());
        has_bytes(file, self.location.base, pending, marks)
    }

    fn reload(&mut self, source: &OpenedFile) -> std::result::Result<(), NotLoaded> {
        let (base, kind, file) = (self.location.base, self.location.kind, &source.file);
        // If the frame could not be read the last time, it is not waited for again.
        let patient = !self.last_read.stale || self.locks.changing > 0;
        let has_lock = self.has_change_lock(&**file);
        self.last_read.stale = true;
        let written = file.written();
        let (view, loaded) = load::load_patiently(&**file, base, kind, patient, has_lock)?;
        if source.found == Named::Another {
            self.keep_reader(file);
            self.last_read.identity = file.identity();
            self.creation.is_name_durable = false;
        }
        if !self.writes_to(self.last_read.identity) {
            self.locks.write_handle = None;
        }
        self.last_read.written = written.filter(|_| view.stamp().is_none());
        self.view = view;
        self.locks.size = None;
        self.space = None;
        self.last_read.stale = false;
        self.last_read.reloaded = Some(loaded);
        Ok(())
    }
}
