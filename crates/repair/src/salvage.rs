//! What is left of a damaged frame.

use crate::integrity::Integrity;
use crate::location::ChunkLocation;
use crate::run_list::RunList;
use oxiblosc_frame::header::Header;
use oxiblosc_frame::meta::Metalayer;
use std::{fmt, io};

/// The states of the parts of a frame besides its chunks.
pub struct PartStates {
    /// The header, with the fixed-length metalayers.
    pub header: Integrity,
    /// The index.
    pub index: Integrity,
    /// The trailer, with the variable-length metalayers.
    pub trailer: Integrity,
}

impl PartStates {
    /// Whether the checksum of any part fits, which shows that the frame has checksums.
    pub fn has_checksums(&self) -> bool {
        [self.header, self.index, self.trailer].contains(&Integrity::Intact)
    }
}

/// What was found of a frame.
pub struct Salvage {
    /// The header, or one that was made from the chunks.
    pub header: Header,
    /// The states of the parts besides the chunks.
    pub parts: PartStates,
    /// The chunks in order.
    pub locations: RunList<ChunkLocation>,
    /// Whether the order of the chunks is certain, and not a guess.
    pub in_order: bool,
    /// Whether the checksum of the index proves which chunks are of special values.
    pub specials_proven: bool,
    /// The position before which the last chunk ends.
    pub limit: u64,
    /// The variable-length metalayers.
    pub vlmetalayers: Vec<Metalayer>,
    /// What is lost or guessed, in words.
    pub notes: Vec<String>,
    /// What was found to be lost while the new frame was written.
    pub lost: Vec<String>,
}

/// Why a frame cannot be repaired.
#[derive(Debug)]
#[non_exhaustive]
pub enum Unrepairable {
    /// The reader of its files noted an error that shows no damage.
    Unread,
    /// There is no header, and there are no chunks.
    Nothing,
    /// Its directory cannot be listed.
    Folder(io::Error),
}

impl fmt::Display for Unrepairable {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Unread => f.write_str("it cannot be read"),
            Self::Nothing => f.write_str("nothing that can be read: no header and no chunks"),
            Self::Folder(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unrepairable {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Folder(error) => Some(error),
            Self::Unread | Self::Nothing => None,
        }
    }
}

/// The result of a search for what is left.
pub type Result<T> = std::result::Result<T, Unrepairable>;
