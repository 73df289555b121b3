//! Assembles a chunk from blocks that were compressed again and blocks that stay as they are.

use super::Chunk;
use super::checksum::CHECKSUMS;
use super::encode_block::BlockEncoder;
use super::header::{ChunkHeader, Special};
use super::in_place;
use super::touched::Touched;
use oxiblosc_base::Result;
use oxiblosc_base::memory::Buffer;

/// Assembles the chunk: the changed blocks, and the others as they are, each followed by `slack`
/// free bytes.
pub(super) fn assemble(
    chunk: &Chunk,
    encoder: &BlockEncoder,
    touched: &[Touched],
    changed: &[Option<Buffer>],
    slack: impl Fn(usize) -> usize,
) -> Result<Option<Buffer>> {
    let header = chunk.header();
    let most = header.nbytes + header.overhead();
    let body = header.overhead() + 4 * header.nblocks;
    let new: usize = changed.iter().flatten().map(|new| new.len()).sum();
    let mut bytes = Buffer::new();
    bytes.reserve(most.min(header.cbytes + new))?;
    bytes.resize(body)?;
    let mut changed = touched.iter().zip(changed).peekable();
    let mut full = 0;
    for nblock in 0..header.nblocks {
        let start = (bytes.len() as i32).to_le_bytes();
        let block = match changed.next_if(|(t, _)| t.nblock == nblock) {
            Some((_, Some(block))) => block,
            _ => chunk.checked_streams(nblock)?,
        };
        let max_distance = in_place::max_block_distance(header);
        let capacity = slack(block.len()).min(max_distance.saturating_sub(block.len()));
        if block.len() + capacity > most.saturating_sub(bytes.len()) {
            return Ok(None);
        }
        bytes.extend(block)?;
        bytes.resize(bytes.len() + capacity)?;
        full += block.len();
        bytes[header.overhead() + 4 * nblock..][..4].copy_from_slice(&start);
    }
    let mut header = ChunkHeader {
        cbytes: bytes.len(),
        // The caller adds new checksums if it needs them.
        blosc2_flags2: header.blosc2_flags2 & !CHECKSUMS,
        ..*header
    };
    if full == 4 * encoder.total_streams(header.nbytes) {
        // Every stream is a run of zeros.
        header.blosc2_flags |= Special::Zero.to_flags();
        header.cbytes = header.overhead();
        bytes.resize(header.cbytes)?;
    }
    header.write(&mut bytes);
    bytes.shrink_to_fit();
    Ok(Some(bytes))
}
