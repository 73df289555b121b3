//! Checks whether a frame is as it was last read. Several threads can do so at once.

use super::refresh::Named;
use super::{Disk, Pending, is_there, is_written, patches};
use crate::journal::overlay;
use oxiblosc_error::Error;
use oxiblosc_io::{Backend, Storage, Written};
use oxiblosc_memory::{CStrBuf, Shared};

/// The longest header that is copied for a look.
const LONGEST: usize = 512;

/// What a thread needs for the check.
pub struct Look {
    backend: Shared<dyn Backend>,
    path: Shared<CStrBuf>,
    file: Shared<dyn Storage>,
    identity: Option<(u64, u64)>,
    written: Option<Written>,
    base: u64,
    header: [u8; LONGEST],
    len: usize,
    pending: Pending,
    /// The result of the last look for the frame.
    missing: Option<Error>,
}

/// What was seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The frame is as it was last read.
    Current,
    /// The same, but its path names another file or nothing now, or again names the frame: see [`Disk::set_missing`].
    Moved(Option<Error>),
    /// The frame is another one, or cannot be read.
    Other,
}

impl Look {
    /// Does the check.
    pub fn take(&self) -> Seen {
        let named = match self.backend.version(&self.path) {
            Some(version) if Some(version.identity) == self.identity => {
                if is_written(self.written, version.written) {
                    return Seen::Other;
                }
                Named::Same
            }
            None => Named::Nothing,
            Some(_) => return Seen::Other,
        };
        let known = &self.header[..self.len];
        let mut now = [0; LONGEST];
        let now = &mut now[..self.len];
        if self.file.read_at(self.base, now).is_err() || !is_there(&self.pending, &*self.file) {
            return Seen::Other;
        }
        overlay(patches(&self.pending), 0, now);
        if now != known {
            return Seen::Other;
        }
        let missing = named.is_there().err();
        if missing == self.missing {
            Seen::Current
        } else {
            Seen::Moved(missing)
        }
    }
}

impl Disk {
    /// What a thread needs for the check. None if the frame has to be read again anyway, or no file is kept open.
    pub fn look(&self) -> Option<Look> {
        let reader = self.reader.as_ref()?;
        let known = &self.view.header;
        let stale = self.stale || self.news.is_some();
        if stale || !self.writes_to(self.identity) || known.len() > LONGEST {
            return None;
        }
        let mut header = [0; LONGEST];
        header[..known.len()].copy_from_slice(known);
        Some(Look {
            backend: self.options.backend.clone(),
            path: self.file.clone(),
            file: reader.file.clone(),
            identity: self.identity,
            written: self.written,
            base: self.base,
            header,
            len: known.len(),
            pending: self.view.pending.clone(),
            missing: self.missing,
        })
    }

    /// Records what a check has found out: whether there is a frame that can be changed.
    pub fn set_missing(&mut self, missing: Option<Error>) {
        self.missing = missing;
    }
}
