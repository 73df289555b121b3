//! Whether a writer makes chunks with such a header.

use crate::location::HEADER;
use oxiblosc_chunk::checksum::TableLayout;
use oxiblosc_chunk::header::{ChunkHeader, Special, flags2, version};
use oxiblosc_codecs::MAX_DICT_SIZE;
use oxiblosc_frame::header::Header;

/// Parses `bytes` as the header of a chunk, `capacity` bytes before the end of the file. None if no
/// writer makes such a chunk for a frame with the header `frame`.
pub(crate) fn plausible(
    bytes: &[u8],
    capacity: u64,
    frame: Option<&Header>,
) -> Option<ChunkHeader> {
    let known = (version::ALPHA..=version::VL_BLOCKS).contains(&bytes[0]);
    let header = known.then(|| ChunkHeader::parse(bytes).ok()).flatten()?;
    let sound = header.is_extended()
        && header.nbytes > 0
        && header.cbytes as u64 <= capacity
        && !header.is_lazy()
        && !matches!(header.special(), Special::Unknown(_));
    let fits = match header.special() {
        Special::None if header.is_memcpyed() => header.cbytes == header.nbytes + HEADER,
        Special::None => {
            HEADER + 4 * header.nblocks < header.cbytes
                && most_cbytes(&header).is_some_and(|most| header.cbytes <= most)
        }
        Special::Value => true,
        _ => header.cbytes == HEADER,
    };
    let belongs = frame.is_none_or(|frame| {
        let typesize = u8::try_from(frame.parameters.typesize).unwrap_or(1);
        header.typesize == typesize
            && header.has_vlblocks() == frame.vlblocks
            && (frame.chunksize <= 0 || header.nbytes <= frame.chunksize as usize)
    });
    (sound && fits && belongs).then_some(header)
}

/// Whether a writer makes chunks with such a header.
pub fn is_sound(chunk: &[u8]) -> bool {
    plausible(chunk, u64::MAX, None).is_some()
}

/// The most bytes of a chunk with this header; none if that is no number that a chunk can have.
pub(crate) fn most_cbytes(header: &ChunkHeader) -> Option<usize> {
    // Block starts, sizes of streams, a dictionary, checksums.
    let overhead = 4 + 5 * usize::from(header.typesize).max(1);
    let dict = match header.blosc2_flags & flags2::USE_DICT {
        0 => 0,
        _ => 4 + MAX_DICT_SIZE,
    };
    let sums = match header.has_checksums() {
        true => TableLayout::of(header).table_len(),
        false => 0,
    };
    let more = header.nbytes + HEADER + dict + sums;
    header.nblocks.checked_mul(overhead)?.checked_add(more)
}
