//! Checks whether a frame is as it was last read. Several threads can do so at once.
//!
//! What stands in the file decides: each change by this library gives the frame another
//! fingerprint, and each by another library removes that or changes the header. Only of a frame
//! without a fingerprint, where the changes before and after a look were both another library's,
//! does the time of the file's last change tell more.

use super::Disk;
use super::reader::Named;
use super::view::{Pending, is_there, patches};
use crate::fingerprint;
use crate::journal::{Patch, overlay};
use oxiblosc_base::Error;
use oxiblosc_base::memory::{CStrBuf, Shared};
use oxiblosc_io::{Backend, Storage, Written};

/// The longest header that is copied for a check. Frames with a longer one are checked under their
/// lock.
const MAX_HEADER: usize = 512;

/// Whether the file has these bytes at these positions of the frame at `base`, under the old ones
/// of a pending change.
pub(super) fn has_bytes(
    file: &dyn Storage,
    base: u64,
    pending: &[Patch],
    marks: [(u64, &[u8]); 2],
) -> bool {
    let mut now = [0; MAX_HEADER];
    marks.into_iter().all(|(mut pos, known)| {
        known.chunks(now.len()).all(|known| {
            let now = &mut now[..known.len()];
            let read = file.read_at(base + pos, now);
            overlay(pending, pos, now);
            pos += known.len() as u64;
            read.is_ok() && now == known
        })
    })
}

/// Whether a file was written to since a moment, as far as both are known.
pub(super) fn is_written_since(file: &dyn Storage, moment: Option<Written>) -> bool {
    moment.is_some_and(|moment| file.written().is_some_and(|now| now != moment))
}

/// What a thread needs for the check.
pub struct CurrencyCheck {
    backend: Shared<dyn Backend>,
    path: Shared<CStrBuf>,
    file: Shared<dyn Storage>,
    identity: Option<(u64, u64)>,
    /// When the file was last written to, if that counts.
    written: Option<Written>,
    base: u64,
    header: [u8; MAX_HEADER],
    len: usize,
    fingerprint: (u64, [u8; fingerprint::LEN]),
    pending: Pending,
    /// The error of the last check whether the frame is there.
    missing: Option<Error>,
}

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Currency {
    /// The frame is as it was last read.
    Current,
    /// It is as it was last read, but its path was removed since the last check, or is there again:
    /// see [`Disk::set_missing`].
    Moved(Option<Error>),
    /// The frame may have changed, or cannot be read.
    Other,
}

impl CurrencyCheck {
    /// Does the check.
    pub fn run(&self) -> Currency {
        if !self.file.is_open() {
            return Currency::Other;
        }
        let named = match self.backend.version(&self.path) {
            Some(version) if Some(version.identity) == self.identity => Named::Same,
            None => Named::Nothing,
            Some(_) => return Currency::Other,
        };
        let file = &*self.file;
        let (pos, fingerprint) = &self.fingerprint;
        let marks = [(0, &self.header[..self.len]), (*pos, &fingerprint[..])];
        if is_written_since(file, self.written)
            || !is_there(&self.pending, file)
            || !has_bytes(file, self.base, patches(&self.pending), marks)
        {
            return Currency::Other;
        }
        let missing = named.is_there().err();
        if missing == self.missing {
            Currency::Current
        } else {
            Currency::Moved(missing)
        }
    }
}

impl Disk {
    /// What a thread needs for the check. None if the frame has to be read again anyway, no file is
    /// kept open, or the header is too long.
    pub fn currency_check(&self) -> Option<CurrencyCheck> {
        let reader = self.reader.as_ref()?;
        let [(_, known), (pos, fingerprint)] = self.view.state_marks();
        let stale = self.last_read.stale || self.last_read.reloaded.is_some();
        if stale || !self.writes_to(self.last_read.identity) || known.len() > MAX_HEADER {
            return None;
        }
        let mut header = [0; MAX_HEADER];
        header[..known.len()].copy_from_slice(known);
        let fingerprint = (pos, *fingerprint.last_chunk()?);
        Some(CurrencyCheck {
            backend: self.options.backend.clone(),
            path: self.location.file.clone(),
            file: reader.file.clone(),
            identity: self.last_read.identity,
            written: self.last_read.written,
            base: self.location.base,
            header,
            len: known.len(),
            fingerprint,
            pending: self.view.pending.clone(),
            missing: self.last_read.missing,
        })
    }

    /// Records the result of a check ([`Currency::Moved`]): the error with which changes of the
    /// frame fail, if there is one.
    pub fn set_missing(&mut self, missing: Option<Error>) {
        self.last_read.missing = missing;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::bare_file::BareFile;

    #[test]
    fn marks_are_compared_as_they_were_before_a_pending_change() {
        let file = BareFile {
            bytes: b"--headab chunks index.print".to_vec().into(),
            ..BareFile::default()
        };
        let has = |pending: &[Patch], header: &[u8], fingerprint: &[u8]| {
            has_bytes(&file, 2, pending, [(0, header), (20, fingerprint)])
        };
        assert!(has(&[], b"headab", b"print"));
        assert!(!has(&[], b"headAB", b"print"));
        assert!(!has(&[], b"headab", b"prinT"));
        assert!(
            !has(&[], b"headab", b"print and more"),
            "the file ends before"
        );
        let pending = Patch {
            pos: 4,
            bytes: b"AB".to_vec().into(),
        };
        assert!(has(&[pending], b"headAB", b"print"));
    }
}
