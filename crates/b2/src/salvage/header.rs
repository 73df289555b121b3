//! The header of a damaged frame.

use super::RolledBackFile;
use crate::failure::{Failure, Result};
use crate::integrity::Integrity;
use oxiblosc_chunk::checksum::crc32c;
use oxiblosc_core::b2nd::meta::{Meta, NAME};
use oxiblosc_frame::fingerprint::Sums;
use oxiblosc_frame::header::{Extent, Header, MARK, MIN_LEN};
use oxiblosc_frame::meta::Metalayer;

/// The longest header that is searched for metalayers.
const MOST: usize = 1 << 20;

/// Why there is nothing to be salvaged.
pub fn nothing() -> Failure {
    Failure::say("nothing that can be read: no header and no chunks")
}

/// The header that was read, or, where it is lost, one that is made from the chunks.
pub fn header_or(
    front: Option<SalvagedHeader>,
    state: Integrity,
    notes: &mut Vec<String>,
    from_chunks: impl FnOnce() -> Option<Header>,
) -> Result<Header> {
    let Some(front) = front else {
        notes.push("the header is lost: what it says is taken from the chunks".into());
        return from_chunks().ok_or_else(nothing);
    };
    if state == Integrity::Damaged {
        notes.push("the header is damaged: what it says may be wrong".into());
    }
    Ok(front.header)
}

/// A header, or as much of it as makes sense.
pub struct SalvagedHeader {
    /// What it says.
    pub header: Header,
    /// The sizes in it.
    pub extent: Extent,
    /// Its bytes, if all of them make sense.
    whole: Option<Vec<u8>>,
}

impl SalvagedHeader {
    /// Reads what is there.
    pub fn read(image: &RolledBackFile, notes: &mut Vec<String>) -> Option<Self> {
        let mut front = image.read(0, MIN_LEN)?.to_vec();
        let has_magic = Header::has_magic(&front);
        if !has_magic {
            notes.push("the magic bytes at the start are damaged".into());
        }
        let extent = Extent::parse(&front).ok();
        if let Some(extent) = extent
            && let Some(whole) = image.read(0, extent.header_len as usize)
            && let Ok(header) = Header::parse(&whole)
        {
            let whole = has_magic.then(|| whole.to_vec());
            return Some(Self {
                header,
                extent,
                whole,
            });
        }
        // Without the metalayers: those of an empty header instead.
        let empty = [0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0];
        front.extend(empty);
        let len = front.len() as u32;
        front[11..15].copy_from_slice(&len.to_be_bytes());
        front[16..24].copy_from_slice(&u64::from(len).to_be_bytes());
        let mut header = Header::parse(&front).ok()?;
        let len = extent
            .map_or(MOST, |extent| extent.header_len as usize)
            .min(MOST);
        let len = len.min(usize::try_from(image.size).unwrap_or(MOST));
        let array = image.read(0, len).and_then(|bytes| array_in(&bytes));
        header.metalayers.extend(array).ok()?;
        notes.push(if header.metalayers.is_empty() {
            "the header's metalayers are damaged: they are lost".into()
        } else {
            "the header's metalayers are damaged: only that of the array was found".into()
        });
        Some(Self {
            header,
            extent: extent.unwrap_or(NO_EXTENT),
            whole: None,
        })
    }

    /// Whether it is as it was written. A header that another writer changed has no checksum.
    pub fn state(&self, sums: Option<&Sums>) -> Integrity {
        match (&self.whole, sums) {
            (None, _) => Integrity::Damaged,
            (Some(_), None) => Integrity::Unknown,
            (Some(bytes), Some(sums)) if crc32c(bytes) == sums.header => Integrity::Intact,
            (Some(bytes), Some(_)) if bytes[MARK] == 0 => Integrity::Unknown,
            _ => Integrity::Damaged,
        }
    }
}

/// What stands for the sizes of a header that has none.
pub const NO_EXTENT: Extent = Extent {
    header_len: MIN_LEN as u32,
    frame_len: 0,
    cbytes: 0,
};

/// The metalayer of an array, somewhere in a header.
fn array_in(header: &[u8]) -> Option<Metalayer> {
    let mut all = (MIN_LEN..header.len()).filter_map(|at| {
        let bytes = &header[at..];
        let (dimensions, list) = (*bytes.get(2)?, *bytes.get(3)?);
        // An array of seven, version 0, and a list of as many as there are dimensions.
        if bytes[0] != 0x97 || bytes[1] != 0 || dimensions > 15 || list != 0x90 + dimensions {
            return None;
        }
        let (meta, len) = Meta::parse(bytes, true).ok()?;
        meta.geometry().ok()?.nchunks().ok()?;
        Some(Metalayer {
            name: NAME.to_vec().into(),
            content: bytes[..len].to_vec().into(),
        })
    });
    all.next()
}
