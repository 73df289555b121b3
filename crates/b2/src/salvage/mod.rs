//! What can still be found in a contiguous frame that is damaged or cut short.
//!
//! The header, the index and the trailer are taken where they can be read. Chunks that the index does not lead to are
//! looked for in the file: they lie one behind another, and a chunk's header says enough to be told from other bytes.
//!
//! - [`image`]: the file
//! - [`scan`]: looking for chunks in it
//! - [`order`]: which of them is which

mod image;
mod order;
mod scan;

pub use image::Image;

use crate::failure::{Failure, Result};
use crate::library::SuperChunk;
use crate::text::bytes;
use order::{arrange, numbered};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::{Meta, NAME};
use oxiblosc_frame::header::{Extent, Header, Kind, MIN_LEN};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_frame::offsets::Place;
use oxiblosc_frame::trailer;
use scan::{Scan, header_from, index, plausible, scan};

/// The longest header that is searched for metalayers.
const MOST_HEADER: usize = 1 << 20;

/// Chunks of a frame that is mended, at most.
const MOST_CHUNKS: usize = 1 << 24;

/// Bytes of a chunk's header.
const HEADER: usize = EXTENDED_HEADER_LENGTH;

/// Where a chunk of the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// At a position of the file, or in the file of this number.
    At(u64),
    /// Nowhere: its items are all the same.
    Special(Special),
    /// Unknown.
    Lost,
}

/// What was found.
pub struct Salvage {
    /// The header, or what takes its place.
    pub header: Header,
    /// The chunks in order.
    pub slots: Vec<Slot>,
    /// The variable-length metalayers.
    pub vlmetalayers: Vec<Metalayer>,
    /// What is lost or guessed, in words.
    pub notes: Vec<String>,
}

/// The header: as it is, or as much of it as makes sense. Gives how long it is, too.
pub fn header(image: &Image, notes: &mut Vec<String>) -> Option<(Header, Extent)> {
    let mut front = image.read(0, MIN_LEN)?.to_vec();
    if !Header::has_magic(&front) {
        notes.push("the magic bytes at the start are damaged".into());
    }
    let extent = Extent::parse(&front).ok();
    if let Some(extent) = extent
        && let Some(whole) = image.read(0, extent.header_len as usize)
        && let Ok(header) = Header::parse(&whole)
    {
        return Some((header, extent));
    }
    // Without the metalayers: those of an empty header instead.
    let empty = [0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0];
    front.extend(empty);
    let len = front.len() as u32;
    front[11..15].copy_from_slice(&len.to_be_bytes());
    front[16..24].copy_from_slice(&u64::from(len).to_be_bytes());
    let mut kept = Header::parse(&front).ok()?;
    let len = extent
        .map_or(MOST_HEADER, |extent| extent.header_len as usize)
        .min(MOST_HEADER);
    let len = len.min(usize::try_from(image.size).unwrap_or(MOST_HEADER));
    let array = image.read(0, len).and_then(|bytes| array_in(&bytes));
    kept.metalayers.extend(array).ok()?;
    notes.push(if kept.metalayers.is_empty() {
        "the header's metalayers are damaged: they are lost".into()
    } else {
        "the header's metalayers are damaged: only that of the array was found".into()
    });
    let extent = extent.unwrap_or(Extent {
        header_len: MIN_LEN as u32,
        ..Extent::default()
    });
    Some((kept, extent))
}

/// The metalayer of an array, somewhere in a header.
fn array_in(header: &[u8]) -> Option<Metalayer> {
    let all = (MIN_LEN..header.len()).filter_map(|at| {
        let bytes = &header[at..];
        let (dimensions, list) = (*bytes.get(2)?, *bytes.get(3)?);
        // An array of seven, version 0, and a list of as many as there are dimensions.
        if bytes[0] != 0x97 || bytes[1] != 0 || dimensions > 15 || list != 0x90 + dimensions {
            return None;
        }
        let (meta, len) = Meta::parse(bytes, true).ok()?;
        let chunks = &meta.chunkshape;
        let geometry = Geometry::new(meta.ndim, &meta.shape, chunks, &meta.blockshape).ok()?;
        geometry.nchunks().ok()?;
        Some(Metalayer {
            name: NAME.to_vec().into(),
            content: bytes[..len].to_vec().into(),
        })
    });
    let mut all = all;
    all.next()
}

/// Finds what there is.
pub fn contiguous(image: &Image, contexts: &SuperChunk, mut notes: Vec<String>) -> Result<Salvage> {
    let found = header(image, &mut notes);
    let (known, extent) = match found {
        Some((header, extent)) => (Some(header), extent),
        None => {
            notes.push("the header is lost: what it says is taken from the chunks".into());
            let extent = Extent {
                header_len: MIN_LEN as u32,
                ..Extent::default()
            };
            (None, extent)
        }
    };
    let start = u64::from(extent.header_len);
    let vlmetalayers = trailer_of(image, &extent, known.as_ref(), &mut notes);
    let index_pos = start.checked_add(extent.cbytes);
    let offsets = index_pos.and_then(|pos| index(image, contexts, pos));
    let complete = known
        .as_ref()
        .zip(offsets.as_ref())
        .and_then(|(header, index)| {
            if index.offsets.iter().any(Option::is_none) {
                return None;
            }
            let slots = index.counted(header).iter();
            let slots: Vec<Slot> = slots
                .map(|offset| slot(offset.unwrap_or(i64::MIN), start))
                .collect();
            lead_to_chunks(&slots, image, header).then_some(slots)
        });
    let known = match (known, complete) {
        (Some(header), Some(slots)) => {
            return Ok(Salvage {
                header: agreeing(header, image, &slots, &mut notes),
                slots,
                vlmetalayers,
                notes,
            });
        }
        (known, _) => known,
    };
    let mut chunks = scan(image, start, known.as_ref(), contexts);
    if chunks.chunks.is_empty() && known.is_some() {
        // It may be the header that is wrong about its chunks.
        chunks = scan(image, start, None, contexts);
    }
    let header = match known {
        Some(header) => header,
        None => header_from(&chunks)
            .ok_or_else(|| Failure::say("nothing that can be read: no header and no chunks"))?,
    };
    let slots = arrange(&header, offsets, chunks, start, image.size, &mut notes);
    Ok(Salvage {
        header: agreeing(header, image, &slots, &mut notes),
        slots,
        vlmetalayers,
        notes,
    })
}

/// Whether an index leads to chunks, each to one of its own: it has no checksum, so it may be wrong and look right.
fn lead_to_chunks(slots: &[Slot], image: &Image, header: &Header) -> bool {
    let mut ends = Vec::new();
    for slot in slots {
        match slot {
            Slot::At(pos) => {
                let room = image.size.saturating_sub(*pos);
                let front = image.read(*pos, HEADER);
                let Some(chunk) = front.and_then(|front| plausible(&front, room, Some(header)))
                else {
                    return false;
                };
                ends.push((*pos, *pos + chunk.cbytes as u64));
            }
            Slot::Special(_) => {}
            Slot::Lost => return false,
        }
    }
    ends.sort_unstable();
    ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// The header, with the size of items that the chunks have: each of them says it too.
fn agreeing(mut header: Header, image: &Image, slots: &[Slot], notes: &mut Vec<String>) -> Header {
    let mut sizes = slots.iter().take(16).filter_map(|slot| match slot {
        Slot::At(pos) => ChunkHeader::parse(&image.read(*pos, HEADER)?).ok(),
        _ => None,
    });
    let Some(first) = sizes.next().map(|chunk| i32::from(chunk.typesize)) else {
        return header;
    };
    // Large items are said to be of one byte.
    let wrong = header.typesize != first && (first > 1 || header.typesize <= 255);
    if wrong && sizes.all(|chunk| i32::from(chunk.typesize) == first) {
        notes.push(format!(
            "the header says that items have {}, the chunks say {first}",
            bytes(header.typesize as u64)
        ));
        header.typesize = first;
    }
    header
}

pub(super) fn slot(offset: i64, start: u64) -> Slot {
    match Place::from_offset(offset) {
        Ok(Place::At(at)) => start.checked_add(at).map_or(Slot::Lost, Slot::At),
        Ok(Place::Special(kind)) => Slot::Special(kind),
        Err(_) => Slot::Lost,
    }
}

/// The variable-length metalayers.
fn trailer_of(
    image: &Image,
    extent: &Extent,
    header: Option<&Header>,
    notes: &mut Vec<String>,
) -> Vec<Metalayer> {
    let header_len = u64::from(extent.header_len);
    // Where the frame ends, as the header has it, or as the file has.
    for end in [extent.frame_len, image.size] {
        let read = || {
            let pos = end.checked_sub(trailer::MIN_LEN as u64)?;
            let last = image.read(pos, trailer::MIN_LEN)?;
            let len = trailer::len(&last, end, header_len).ok()?;
            trailer::parse(&image.read(end - len as u64, len)?).ok()
        };
        if let Some(layers) = read() {
            return layers.into();
        }
    }
    notes.push(match header {
        Some(header) if header.has_vlmetalayers => {
            "the trailer is damaged: the variable-length metalayers are lost".into()
        }
        _ => {
            "the trailer is damaged: it held no variable-length metalayers, or they are lost".into()
        }
    });
    Vec::new()
}

/// What to say of bytes of a file that is shorter than its header says.
pub fn shortfall(extent: &Extent, size: u64) -> Option<String> {
    let missing = extent
        .frame_len
        .checked_sub(size)
        .filter(|missing| *missing > 0)?;
    Some(format!(
        "the file is cut short: {} are missing",
        bytes(missing)
    ))
}

/// Finds what there is in a directory.
pub fn sparse(
    image: &Image,
    folder: &std::path::Path,
    contexts: &SuperChunk,
    mut notes: Vec<String>,
) -> Result<Salvage> {
    let found = header(image, &mut notes);
    let numbers = numbers(folder)?;
    let read = |number: u64| std::fs::read(folder.join(format!("{number:08X}.chunk"))).ok();
    let first = || {
        let chunks = numbers.iter().filter_map(|number| {
            let header = ChunkHeader::parse(&read(*number)?).ok()?;
            Some((*number, header))
        });
        let scan = Scan {
            chunks: chunks.collect(),
            gaps: Vec::new(),
            index: None,
        };
        header_from(&scan)
    };
    let (mut known, extent) = match found {
        Some(found) => found,
        None => {
            notes.push("the header is lost: what it says is taken from the chunks".into());
            let header = first()
                .ok_or_else(|| Failure::say("nothing that can be read: no header and no chunks"))?;
            (header, Extent::default())
        }
    };
    known.kind = Kind::Sparse;
    let vlmetalayers = trailer_of(image, &extent, Some(&known), &mut notes);
    let expected = known
        .nchunks()
        .filter(|count| *count > 0)
        .map(|n| n as usize);
    let offsets = index(image, contexts, extent.header_len.into());
    let slots = match offsets {
        Some(index) => {
            let offsets = index.counted(&known);
            if offsets.iter().any(Option::is_none) {
                notes.push("the index is damaged: the places of some chunks are lost".into());
            }
            let offsets = offsets.iter();
            offsets
                .map(|offset| offset.map_or(Slot::Lost, |offset| slot(offset, 0)))
                .collect()
        }
        None if expected.is_none() && numbers.is_empty() => Vec::new(),
        None => {
            notes.push("the index is lost: chunks are taken in the order of their numbers".into());
            numbered(&numbers, expected)
        }
    };
    Ok(Salvage {
        header: known,
        slots,
        vlmetalayers,
        notes,
    })
}

/// The numbers of the chunks' files.
fn numbers(folder: &std::path::Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Failure::at(folder, &error))? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".chunk"));
        numbers.extend(number.and_then(|digits| u64::from_str_radix(digits, 16).ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
