//! Where the chunks of a damaged frame are.

use crate::run_list::RunList;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_frame::offsets::ChunkPosition;

/// The most chunks of a frame that is repaired, unless they are of special values.
pub(crate) const MOST_CHUNKS: usize = 1 << 24;

/// Bytes of a chunk's header.
pub(crate) const HEADER: usize = EXTENDED_HEADER_LENGTH;

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

impl RunList<ChunkLocation> {
    /// The places of the chunks with bytes, in the order of the chunks.
    pub fn positions(&self) -> impl Iterator<Item = u64> + Clone {
        self.runs().flat_map(|(range, location)| {
            let (position, count) = match location {
                ChunkLocation::At(position) => (*position, range.len()),
                ChunkLocation::Special(_) | ChunkLocation::Lost => (0, 0),
            };
            std::iter::repeat_n(position, count)
        })
    }
}

/// The location of a chunk with this offset in the index. Offsets count from `start`.
pub(crate) fn location(offset: i64, start: u64) -> ChunkLocation {
    match ChunkPosition::from_offset(offset) {
        Ok(ChunkPosition::At(at)) => start
            .checked_add(at)
            .map_or(ChunkLocation::Lost, ChunkLocation::At),
        Ok(ChunkPosition::Special(kind)) => ChunkLocation::Special(kind),
        Err(_) => ChunkLocation::Lost,
    }
}

/// What is wrong where each chunk is right by itself, but not where it is.
pub const MISPLACED: &str =
    "chunks were swapped, or some are older than others: which are right is not known";

/// The number of the chunk in a file with this name, such as `0000000A.chunk`; none for other
/// files.
pub fn chunk_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".chunk")?;
    let is_number = digits.len() == 8
        && digits
            .bytes()
            .all(|digit| digit.is_ascii_digit() || (b'A'..=b'F').contains(&digit));
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}
