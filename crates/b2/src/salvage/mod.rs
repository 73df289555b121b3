//! Finds what is left of a frame that is damaged or truncated.
//!
//! The header, the index and the trailer are used if they can be read, and trusted if their checksums fit.
//! Chunks that the index does not lead to are searched for in the file: they lie one behind the other, and a chunk's header
//! has enough redundancy to be told from other bytes.
//!
//! - [`rolled_back`]: the file, without unfinished changes
//! - [`header`], [`index`], [`end`]: header, index, and trailer with its checksums
//! - [`scan`], [`chunks`], [`budget`]: searches for chunks, reads them, and limits the search
//! - [`start`]: where the header ended
//! - [`order`]: the order of the chunks
//! - [`specials`]: chunks of special values, which only the index named
//! - [`fields`]: fields of the chunks' headers that can be put right
//! - [`agree()`]: corrects a damaged header by the chunks
//! - [`contiguous`](fn@contiguous), [`directory`]: frames in a file, and in a directory

mod agree;
mod budget;
mod chunks;
mod contiguous;
mod directory;
mod end;
mod fields;
mod header;
mod index;
mod order;
mod rolled_back;
mod scan;
mod specials;
mod start;

pub use agree::{Sizes, agree};
pub use chunks::{ChunkFinder, is_proven, templates};
pub use contiguous::contiguous;
pub use directory::sparse;
pub use fields::{ChunkHints, Front, UsualFields};
pub use rolled_back::RolledBackFile;
pub use scan::is_sound;

use crate::integrity::Integrity;
use crate::run_list::RunList;
use crate::text::bytes;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_frame::header::{Extent, Header};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_frame::offsets::ChunkPlace;

/// The most chunks of a frame that is repaired, unless they are of special values.
const MOST_CHUNKS: usize = 1 << 24;

/// Bytes of a chunk's header.
const HEADER: usize = EXTENDED_HEADER_LENGTH;

/// Where a chunk of the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkLocation {
    /// At a position of the file, or in the file with this number.
    At(u64),
    /// Nowhere: it is a chunk of special values.
    Special(Special),
    /// Unknown.
    Lost,
}

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

impl RunList<ChunkLocation> {
    /// The places of the chunks with bytes, in the order of the chunks.
    pub fn places(&self) -> impl Iterator<Item = u64> + Clone {
        self.runs().flat_map(|(range, location)| {
            let (place, count) = match location {
                ChunkLocation::At(place) => (*place, range.len()),
                ChunkLocation::Special(_) | ChunkLocation::Lost => (0, 0),
            };
            std::iter::repeat_n(place, count)
        })
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

/// The location of a chunk with this offset in the index. Offsets count from `start`.
fn location(offset: i64, start: u64) -> ChunkLocation {
    match ChunkPlace::from_offset(offset) {
        Ok(ChunkPlace::At(at)) => start
            .checked_add(at)
            .map_or(ChunkLocation::Lost, ChunkLocation::At),
        Ok(ChunkPlace::Special(kind)) => ChunkLocation::Special(kind),
        Err(_) => ChunkLocation::Lost,
    }
}

/// The note about a file that is shorter than its header says.
fn shortfall(extent: &Extent, size: u64) -> Option<String> {
    let missing = extent
        .frame_len
        .checked_sub(size)
        .filter(|missing| *missing > 0)?;
    Some(format!(
        "the file is cut short: {} are missing",
        bytes(missing)
    ))
}
