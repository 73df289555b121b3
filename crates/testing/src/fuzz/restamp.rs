//! Computes the checksums of damaged frames and chunks anew, so that the code behind the checks is
//! fuzzed, too.

use oxiblosc_chunk::add_checksums::seal;
use oxiblosc_chunk::checksum::TableLayout;
use oxiblosc_chunk::header::{ChunkHeader, MIN_HEADER_LENGTH};
use oxiblosc_frame::fingerprint::{self, ChecksumScope, Stamp};
use std::ops::Range;

/// The shortest header of a frame.
const HEADER_MIN: usize = 0x57;

/// The big-endian number of `len` bytes at `at`. 0 if the frame ends before.
pub fn be(frame: &[u8], at: usize, len: usize) -> u64 {
    let bytes = frame.get(at..at + len).unwrap_or(&[]);
    bytes
        .iter()
        .fold(0, |value, &byte| value << 8 | u64::from(byte))
}

/// The range of the index chunk. None if it does not lie in the frame.
pub fn index(frame: &[u8], contiguous: bool) -> Option<Range<usize>> {
    let header = be(frame, 0x0b, 4) as usize;
    let start = match contiguous {
        true => header.checked_add(be(frame, 0x27, 8) as usize)?,
        false => header,
    };
    let cbytes = frame.get(start..)?.get(..32)?.get(12..16)?;
    let cbytes = u32::from_le_bytes([cbytes[0], cbytes[1], cbytes[2], cbytes[3]]) as usize;
    (start + cbytes <= frame.len()).then_some(start..start + cbytes)
}

/// Computes the checksums of header, index and trailer, if the frame has them. None if the sizes of
/// these parts are impossible.
pub fn frame(frame: &mut [u8], contiguous: bool) -> Option<()> {
    let len = frame.len();
    let header_len = be(frame, 0x0b, 4) as usize;
    let trailer_len = be(frame, len.checked_sub(22)?, 4) as usize;
    let crc = fingerprint::of_index(&frame[index(frame, contiguous)?]);
    let (prefix, trailer) = frame.split_at_mut(len.checked_sub(trailer_len)?);
    let header = prefix.get_mut(..header_len)?;
    if header.len() >= HEADER_MIN && fingerprint::is_in(trailer) {
        let (scope, stamp) = (ChecksumScope::of(trailer), Stamp::of(trailer));
        fingerprint::write(scope, Some(crc), stamp, header, trailer);
    }
    Some(())
}

/// Computes the checksums of the chunks of a contiguous frame, from the first one up to one whose
/// header is impossible.
pub fn chunks(frame: &mut [u8], with_blocks: bool) {
    let mut rest = frame.get_mut(be(frame, 0x0b, 4) as usize..);
    while let Some(prefix) = rest {
        chunk(prefix, with_blocks);
        let cbytes = ChunkHeader::parse(prefix).map_or(0, |header| header.cbytes);
        rest = match cbytes {
            0..MIN_HEADER_LENGTH => None,
            _ => prefix.get_mut(cbytes..),
        };
    }
}

/// Computes the checksums of a chunk: of its blocks, if they lie one behind the other and
/// `with_blocks` says so, and then of its front. None if it has no checksums, or does not fit into
/// `chunk`.
pub fn chunk(chunk: &mut [u8], with_blocks: bool) -> Option<()> {
    let header = ChunkHeader::parse(chunk).ok()?;
    let layout = TableLayout::of(&header);
    let starts = header.overhead();
    let table = starts.checked_add(4 * header.nblocks)?;
    let prefix = table.checked_add(layout.table_len())?;
    if !header.has_checksums() || chunk.len() < prefix.max(header.cbytes) {
        return None;
    }
    let start = |chunk: &[u8], nblock: usize| match nblock < header.nblocks {
        true => {
            let at = starts + 4 * nblock;
            i32::from_le_bytes([chunk[at], chunk[at + 1], chunk[at + 2], chunk[at + 3]]) as usize
        }
        false => header.cbytes,
    };
    for nblock in (0..header.nblocks).filter(|_| with_blocks) {
        let (begin, end) = (start(chunk, nblock), start(chunk, nblock + 1));
        if let Some((prefix, blocks)) = chunk.split_at_mut_checked(prefix)
            && let Some(begin) = begin.checked_sub(prefix.len())
            && let Some(streams) = blocks.get(begin..end.saturating_sub(prefix.len()))
            && streams.len() >= 4
        {
            layout.set_block(&mut prefix[table..], nblock, streams);
        }
    }
    seal(&mut chunk[..prefix], table);
    Some(())
}
