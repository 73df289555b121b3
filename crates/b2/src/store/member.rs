//! The members of a store.

use std::ops::Range;
use std::path::PathBuf;

/// A frame of a store, or another file in an archive.
pub struct Member {
    /// The key, such as `/group/matrix`; for files without a key, the name of the file.
    pub key: String,
    /// Its file in the store, if it has one of its own.
    pub file: Option<String>,
    pub(super) place: MemberLocation,
}

impl Member {
    pub(super) fn other(file: String, place: MemberLocation) -> Self {
        Self {
            key: file.clone(),
            file: Some(file),
            place,
        }
    }

    /// Why it cannot be read, if that is known without reading it.
    pub fn unreadable(&self) -> Option<&'static str> {
        match self.place {
            MemberLocation::Nowhere(why) => Some(why),
            _ => None,
        }
    }
}

/// Where a member is.
pub(super) enum MemberLocation {
    /// A file or a directory.
    Path(PathBuf),
    /// A range of bytes of the archive, and their checksum.
    Archive(Range<u64>, u32),
    /// A range of bytes of the data of the EmbedStore.
    Embedded(Range<u64>),
    /// Outside of the store, at this address.
    Elsewhere(String),
    /// It cannot be read, for this reason.
    Nowhere(&'static str),
}
