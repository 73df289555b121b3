//! What can still be found in a frame that is damaged or cut short.
//!
//! The header, the index and the trailer are taken where they can be read, and as far as their checksums say that they are right.
//! Chunks that the index does not lead to are looked for in the file: they lie one behind another, and a chunk's header says
//! enough to be told from other bytes.
//!
//! - [`image`]: the file
//! - [`header`], [`index`], [`end`]: header, index, and trailer with its checksums
//! - [`scan`], [`chunks`], [`budget`]: looking for chunks, reading them, and for how long
//! - [`start`]: where the header ended
//! - [`order`]: which chunk is which
//! - [`specials`]: chunks that only the index told of
//! - [`agree`]: what the chunks say better than a damaged header
//! - [`contiguous`](fn@contiguous), [`directory`]: putting it together

mod agree;
mod budget;
mod chunks;
mod contiguous;
mod directory;
mod end;
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
pub use rolled_back::RolledBackFile;

use crate::integrity::Integrity;
use crate::text::bytes;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_frame::header::{Extent, Header};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_frame::offsets::ChunkPlace;

/// Chunks of a frame that is repaired, at most.
const MOST_CHUNKS: usize = 1 << 24;

/// Bytes of a chunk's header.
const HEADER: usize = EXTENDED_HEADER_LENGTH;

/// Where a chunk of the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkLocation {
    /// At a position of the file, or in the file of this number.
    At(u64),
    /// Nowhere: its items are all the same.
    Special(Special),
    /// Unknown.
    Lost,
}

/// What a frame has besides its chunks.
pub struct PartStates {
    /// The header, with the fixed-length metalayers.
    pub header: Integrity,
    /// The index.
    pub index: Integrity,
    /// The trailer, with the variable-length metalayers.
    pub trailer: Integrity,
}

impl PartStates {
    /// Whether any has a checksum that could be read.
    pub fn has_checksums(&self) -> bool {
        [self.header, self.index, self.trailer].contains(&Integrity::Intact)
    }
}

/// What was found.
pub struct Salvage {
    /// The header, or what takes its place.
    pub header: Header,
    /// Whether the parts are as they were written.
    pub parts: PartStates,
    /// The chunks in order.
    pub locations: Vec<ChunkLocation>,
    /// Whether it is known which chunk is which, and no guess.
    pub in_order: bool,
    /// Whether the checksum of the index proves which chunks are of special values.
    pub specials_proven: bool,
    /// Where the last chunk ends at the latest.
    pub limit: u64,
    /// The variable-length metalayers.
    pub vlmetalayers: Vec<Metalayer>,
    /// What is lost or guessed, in words.
    pub notes: Vec<String>,
    /// What turned out to be lost later.
    pub lost: Vec<String>,
}

fn location(offset: i64, start: u64) -> ChunkLocation {
    match ChunkPlace::from_offset(offset) {
        Ok(ChunkPlace::At(at)) => start
            .checked_add(at)
            .map_or(ChunkLocation::Lost, ChunkLocation::At),
        Ok(ChunkPlace::Special(kind)) => ChunkLocation::Special(kind),
        Err(_) => ChunkLocation::Lost,
    }
}

/// What to say of bytes of a file that is shorter than its header says.
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
