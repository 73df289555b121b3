//! Checks whether a frame is as it was last read. Several threads can do so at once.

use super::refresh::Named;
use super::{Disk, Pending, is_there, is_written, patches};
use crate::journal::overlay;
use oxiblosc_error::Error;
use oxiblosc_io::{Backend, Storage, Written};
use oxiblosc_memory::{CStrBuf, Shared};

/// The longest header that is copied for a check. Frames with a longer one are checked under their lock.
const MAX_HEADER: usize = 512;

/// What a thread needs for the check.
pub struct Look {
    backend: Shared<dyn Backend>,
    path: Shared<CStrBuf>,
    file: Shared<dyn Storage>,
    identity: Option<(u64, u64)>,
    written: Option<Written>,
    base: u64,
    header: [u8; MAX_HEADER],
    len: usize,
    pending: Pending,
    /// The error of the last check whether the frame is there.
    missing: Option<Error>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The frame is as it was last read.
    Current,
    /// It is as it was last read, but its path was removed since the last check, or is there again: see [`Disk::set_missing`].
    Moved(Option<Error>),
    /// The frame may have changed, or cannot be read.
    Other,
}

impl Look {
    /// Does the check.
    pub fn take(&self) -> Seen {
        if !self.file.seems_open() {
            return Seen::Other;
        }
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
        let mut now = [0; MAX_HEADER];
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
    /// What a thread needs for the check. None if the frame has to be read again anyway, no file is kept open, or the header is too long.
    pub fn look(&self) -> Option<Look> {
        let reader = self.reader.as_ref()?;
        let known = &self.view.header;
        let stale = self.stale || self.news.is_some();
        if stale || !self.writes_to(self.identity) || known.len() > MAX_HEADER {
            return None;
        }
        let mut header = [0; MAX_HEADER];
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

    /// Records the result of a check ([`Seen::Moved`]): the error with which changes of the frame fail, if there is one.
    pub fn set_missing(&mut self, missing: Option<Error>) {
        self.missing = missing;
    }
}
