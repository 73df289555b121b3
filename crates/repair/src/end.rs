//! The end of a damaged frame: its trailer, and the checksums in it.

use crate::integrity::Integrity;
use crate::rolled_back::RolledBackFile;
use oxiblosc_frame::fingerprint::{Sums, sums, trailer_sum};
use oxiblosc_frame::header::{Extent, Header};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_frame::trailer;

/// The trailer, or the readable part of it.
pub struct End {
    /// Where the trailer begins; if it is lost, where the file ends.
    pub pos: u64,
    /// The variable-length metalayers.
    pub layers: Vec<Metalayer>,
    /// The checksums of all parts.
    pub sums: Option<Sums>,
    /// Whether the trailer is as it was written.
    pub state: Integrity,
}

impl End {
    /// Looks for the trailer before the end of the frame that the header names, and before the end
    /// of the file.
    pub fn find(
        image: &RolledBackFile,
        extent: &Extent,
        header: Option<&Header>,
        notes: &mut Vec<String>,
    ) -> Self {
        let ends = [extent.frame_len, image.size];
        let mut found: Option<Self> = None;
        for end in ends {
            let found_here = Self::at(image, end, extent.header_len.into());
            // Prefer a trailer with checksums.
            let better = found_here.as_ref().is_some_and(|new| {
                found.as_ref().is_none_or(|old| {
                    old.sums.is_none() && new.sums.is_some() || new.state == Integrity::Intact
                })
            });
            if better {
                found = found_here;
            }
        }
        let end = found.unwrap_or(Self {
            pos: image.size,
            layers: Vec::new(),
            sums: None,
            state: Integrity::Damaged,
        });
        if end.state == Integrity::Damaged {
            notes.push(match (header, end.layers.is_empty()) {
                (_, false) => {
                    "the trailer is damaged: the variable-length metalayers may be wrong".into()
                }
                (Some(header), _) if header.has_vlmetalayers => {
                    "the trailer is damaged: the variable-length metalayers are lost".into()
                }
                _ => "the trailer is damaged: it held no variable-length metalayers, or they are lost"
                    .into(),
            });
        }
        end
    }

    /// The trailer that ends at `end`.
    fn at(image: &RolledBackFile, end: u64, header_len: u64) -> Option<Self> {
        let pos = end.checked_sub(trailer::MIN_LEN as u64)?;
        let last = image.read(pos, trailer::MIN_LEN)?;
        let sums = sums(&last);
        let read = || {
            // If the header is damaged its length may be wrong, so the trailer is parsed without
            // it.
            let len = trailer::len(&last, end, header_len)
                .or_else(|_| trailer::len(&last, end, 0))
                .ok()?;
            let pos = end - len as u64;
            let bytes = image.read(pos, len)?;
            let layers = image.faults.readable(trailer::parse(&bytes))?;
            let state = match &sums {
                Some(sums) if trailer_sum(&bytes) == sums.trailer => Integrity::Intact,
                Some(_) => Integrity::Damaged,
                None => Integrity::Unknown,
            };
            Some((pos, layers.into(), state))
        };
        match read() {
            Some((pos, layers, state)) => Some(Self {
                pos,
                layers,
                sums,
                state,
            }),
            None => sums.map(|sums| Self {
                pos: end,
                layers: Vec::new(),
                sums: Some(sums),
                state: Integrity::Damaged,
            }),
        }
    }
}
