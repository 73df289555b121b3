//! A back end in which one write goes wrong.

use super::hooked::{Call, Hook};
use super::killed;
use oxiblosc_base::{Error, Result};
use oxiblosc_io::{Mode, Storage};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

/// What may happen to a write.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Fate {
    /// It fails, and nothing is written.
    Fails,
    /// It fails after half of its bytes were written.
    Torn,
    /// It and all later ones do nothing, as if the process had died before it.
    Dies,
    /// As `Dies`, but half of it was written.
    DiesTorn,
    /// The process ends before it.
    Ends,
    /// The process ends after half of its bytes were written.
    EndsTorn,
}

/// One write goes wrong.
#[derive(Clone)]
pub struct Unlucky {
    /// The number of writes that still succeed; negative when one has gone wrong.
    pub left: Arc<AtomicI64>,
    pub fate: Fate,
}

impl Hook for Unlucky {
    fn open(&self, mode: Mode) -> Result<()> {
        let is_dead = matches!(self.fate, Fate::Dies | Fate::DiesTorn)
            && self.left.load(Ordering::Relaxed) < 0;
        match mode == Mode::Create && is_dead {
            true => Err(Error::FILE_OPEN),
            false => Ok(()),
        }
    }

    fn before(&self, call: Call, file: &dyn Storage) -> Result<()> {
        let error = match call {
            Call::Size | Call::Read(_) => return Ok(()),
            Call::Write(..) | Call::Sync => Error::FILE_WRITE,
            Call::Truncate => Error::FILE_TRUNCATE,
        };
        match (self.left.fetch_sub(1, Ordering::Relaxed), self.fate) {
            (0, Fate::Torn | Fate::DiesTorn | Fate::EndsTorn) => {
                if let Call::Write(pos, bytes) = call {
                    file.write_at(pos, &bytes[..bytes.len() / 2])?;
                }
            }
            (0, _) | (..0, Fate::Dies | Fate::DiesTorn) => {}
            _ => return Ok(()),
        }
        match self.fate {
            Fate::Ends | Fate::EndsTorn => std::process::exit(killed::DIED),
            _ => Err(error),
        }
    }
}
