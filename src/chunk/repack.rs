//! Packing a chunk whose blocks were changed where they are: without the free bytes that this left between them.

use super::decode::Chunk;
use super::header::{ChunkHeader, Special, flags2};
use crate::error::Result;
use crate::memory::Buffer;

/// The chunk that `bytes` are, with its blocks one behind the other. None where they are so already, and where there is no table
/// of blocks to tell.
///
/// # Errors
/// Those of a damaged chunk, and [`Error::MemoryAlloc`](crate::error::Error::MemoryAlloc).
pub fn repack(bytes: &[u8]) -> Result<Option<Buffer>> {
    let header = ChunkHeader::parse(bytes)?;
    let other = flags2::USE_DICT | flags2::INSTRUMENTED | flags2::LAZY;
    let has_table = header.is_extended()
        && header.special() == Special::None
        && !header.is_memcpyed()
        && !header.has_vlblocks()
        && header.blosc2_flags & other == 0
        && header.nbytes > 0;
    if !has_table {
        return Ok(None);
    }
    let chunk = Chunk::parse(&header, bytes)?;
    let table = header.overhead();
    let mut cbytes = table + 4 * header.nblocks;
    for nblock in 0..header.nblocks {
        cbytes += chunk.compressed(nblock, |_| ())?.len();
    }
    if cbytes >= header.cbytes {
        return Ok(None);
    }
    let mut packed = Buffer::new();
    packed.reserve(cbytes)?;
    packed.resize(table + 4 * header.nblocks)?;
    for nblock in 0..header.nblocks {
        let start = (packed.len() as i32).to_le_bytes();
        packed[table + 4 * nblock..][..4].copy_from_slice(&start);
        packed.extend(chunk.compressed(nblock, |_| ())?)?;
    }
    ChunkHeader { cbytes, ..header }.write(&mut packed);
    Ok(Some(packed))
}
