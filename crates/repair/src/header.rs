//! The header of a damaged frame.

use crate::integrity::Integrity;
use crate::rolled_back::RolledBackFile;
use crate::salvage::{Result, Unrepairable};
use oxiblosc::b2nd::meta::{Meta, NAME};
use oxiblosc_chunk::checksum::crc32c;
use oxiblosc_frame::fingerprint::Sums;
use oxiblosc_frame::header::{Extent, Header, MARK, MIN_LEN};
use oxiblosc_frame::meta::Metalayer;

/// The most bytes of a header that are searched for metalayers.
const MAX_SEARCHED: usize = 1 << 20;

/// The header that was read; if it is lost, one made from the chunks. Adds a note if it is not
/// intact.
pub fn header_or(
    prefix: Option<SalvagedHeader>,
    state: Integrity,
    notes: &mut Vec<String>,
    from_chunks: impl FnOnce() -> Option<Header>,
) -> Result<Header> {
    let Some(prefix) = prefix else {
        notes.push("the header is lost: what it says is taken from the chunks".into());
        return from_chunks().ok_or(Unrepairable::Nothing);
    };
    if state == Integrity::Damaged {
        notes.push("the header is damaged: what it says may be wrong".into());
    }
    Ok(prefix.header)
}

/// A header, or the readable part of it.
pub struct SalvagedHeader {
    /// The parsed header.
    pub header: Header,
    /// The lengths in it.
    pub extent: Extent,
    /// Its bytes, if all of them could be parsed.
    whole: Option<Vec<u8>>,
}

impl SalvagedHeader {
    /// Reads the header, without the metalayers if they are damaged. None if its fixed fields make
    /// no sense.
    pub fn read(image: &RolledBackFile, notes: &mut Vec<String>) -> Option<Self> {
        let mut prefix = image.read(0, MIN_LEN)?.to_vec();
        let has_magic = Header::has_magic(&prefix);
        if !has_magic {
            notes.push("the magic bytes at the start are damaged".into());
        }
        let extent = Extent::parse(&prefix).ok();
        if let Some(extent) = extent
            && let Some(whole) = image.read(0, extent.header_len as usize)
            && let Some(header) = image.faults.readable(Header::parse(&whole))
        {
            let whole = has_magic.then(|| whole.to_vec());
            return Some(Self {
                header,
                extent,
                whole,
            });
        }
        // The metalayers are damaged. Parse the fixed fields alone, with an empty list of
        // metalayers.
        let empty = [0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0];
        prefix.extend(empty);
        let len = prefix.len() as u32;
        prefix[11..15].copy_from_slice(&len.to_be_bytes());
        prefix[16..24].copy_from_slice(&u64::from(len).to_be_bytes());
        let mut header = image.faults.readable(Header::parse(&prefix))?;
        let len = extent
            .map_or(MAX_SEARCHED, |extent| extent.header_len as usize)
            .min(MAX_SEARCHED);
        let len = len.min(usize::try_from(image.size).unwrap_or(MAX_SEARCHED));
        let array = image.read(0, len).and_then(|bytes| array_in(&bytes));
        image.faults.readable(header.metalayers.extend(array))?;
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

    /// Whether it is as it was written. A header that was changed by a writer without checksums has
    /// none.
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

/// The lengths of a header in which they make no sense.
pub const NO_EXTENT: Extent = Extent {
    header_len: MIN_LEN as u32,
    frame_len: 0,
    cbytes: 0,
};

/// Searches a header for the metalayer of an array.
fn array_in(header: &[u8]) -> Option<Metalayer> {
    let mut all = (MIN_LEN..header.len()).filter_map(|at| {
        let bytes = &header[at..];
        let (dimensions, list) = (*bytes.get(2)?, *bytes.get(3)?);
        // In msgpack: a list of seven values, version 0, the number of dimensions, and a list with
        // as many lengths.
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
