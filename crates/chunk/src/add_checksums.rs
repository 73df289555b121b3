//! Adds checksums to chunks.

use super::Chunk;
use super::checksum::{CHECKSUMS, IN_HEADER, MAGIC, TableLayout, crc32c, of_header_only};
use super::header::{Blocks, ChunkHeader, MAX_FILTERS, Special, flags, flags2, i32_at, version};
use super::streams::write_raw;
use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_base::{Error, Result};

/// The chunk with checksums. None if it has checksums already, or cannot have them: chunks of Blosc
/// 1, and those that would become too long.
///
/// # Errors
/// Those of a damaged chunk, [`Error::MEMORY_ALLOC`].
pub fn add(chunk: &[u8]) -> Result<Option<Buffer>> {
    let header = ChunkHeader::parse(chunk)?;
    let known = [version::STABLE, version::VL_BLOCKS].contains(&header.version);
    let other = flags2::LAZY | flags2::INSTRUMENTED;
    if !header.is_extended() || !known || header.blosc2_flags & other != 0 || header.has_checksums()
    {
        return Ok(None);
    }
    let chunk = chunk.get(..header.cbytes).ok_or(Error::INVALID_HEADER)?;
    let is_empty = header.nbytes == 0 && header.cbytes == header.overhead();
    if header.special() != Special::None || is_empty {
        return add_to_header(&header, chunk).map(Some);
    }
    if header.nbytes == 0 {
        return Ok(None);
    }
    if header.is_memcpyed() {
        return add_to_stored(&header, chunk);
    }
    let parsed = Chunk::parse(&header, chunk)?;
    let blocks = parsed.blocks_in_order()?;
    let Some(first_start) = blocks.first().map(|(start, _)| *start) else {
        return Ok(None);
    };
    let table_start = parsed.table_start();
    // Blocks that share bytes cannot each have a checksum.
    let apart = blocks.windows(2).all(|pair| pair[0].1 <= pair[1].0);
    let layout = TableLayout::plain(header.nblocks);
    let more = layout.table_len();
    let mut cbytes = header.cbytes + more;
    if (TableLayout::of(&ChunkHeader { cbytes, ..header })).has_pages() {
        // The size decides which layout readers expect, so it must not be that of a chunk of stored
        // streams.
        cbytes += 1;
    }
    if first_start < table_start || !apart || i32::try_from(cbytes).is_err() {
        return Ok(None);
    }
    let mut bytes = Buffer::new();
    bytes.reserve(cbytes)?;
    bytes.extend(&chunk[..table_start])?;
    bytes.resize(table_start + more)?;
    bytes.extend(&chunk[table_start..])?;
    bytes.resize(cbytes)?;
    for nblock in 0..header.nblocks {
        let at = header.overhead() + 4 * nblock;
        let start = i32_at(&bytes, at) + more as i32;
        bytes[at..at + 4].copy_from_slice(&start.to_le_bytes());
        let streams = parsed.block_streams(nblock)?;
        layout.set_block(&mut bytes[table_start..], nblock, streams);
    }
    let header = ChunkHeader { cbytes, ..header };
    finish(header, layout, table_start, &mut bytes);
    Ok(Some(bytes))
}

/// Completes a chunk with checksums: writes the header, the magic and the checksum of the front.
fn finish(header: ChunkHeader, layout: TableLayout, table_start: usize, bytes: &mut [u8]) {
    let header = ChunkHeader {
        blosc2_flags2: header.blosc2_flags2 | CHECKSUMS,
        ..header
    };
    header.write(bytes);
    seal(&mut bytes[..table_start + layout.table_len()], table_start);
}

/// Completes the front of a chunk, whose table begins at `at`: writes the magic and the checksum of
/// the front.
pub fn seal(prefix: &mut [u8], at: usize) {
    prefix[at..at + MAGIC.len()].copy_from_slice(&MAGIC);
    if let Some((before, sum)) = prefix.split_last_chunk_mut() {
        *sum = crc32c(before).to_le_bytes();
    }
}

/// Writes header and table of a chunk whose blocks are already there, one behind the other. Returns
/// false if readers would take it for a chunk of stored streams.
pub fn write(header: ChunkHeader, table_start: usize, chunk: &mut [u8]) -> bool {
    let layout = TableLayout::plain(header.nblocks);
    let (prefix, streams) = chunk.split_at_mut(table_start + layout.table_len());
    let start = |prefix: &[u8], nblock: usize| match nblock < header.nblocks {
        true => i32_at(prefix, header.overhead() + 4 * nblock) as usize - prefix.len(),
        false => streams.len(),
    };
    for nblock in 0..header.nblocks {
        let streams = &streams[start(prefix, nblock)..start(prefix, nblock + 1)];
        layout.set_block(&mut prefix[table_start..], nblock, streams);
    }
    finish(header, layout, table_start, chunk);
    !TableLayout::of(&header).has_pages()
}

fn add_to_header(header: &ChunkHeader, chunk: &[u8]) -> Result<Buffer> {
    let mut bytes = Buffer::copy_of(chunk)?;
    write_header_only(header, &mut bytes);
    Ok(bytes)
}

/// Writes the header, with the checksum, of a chunk without blocks.
pub fn write_header_only(header: &ChunkHeader, chunk: &mut [u8]) {
    let header = ChunkHeader {
        blosc2_flags2: header.blosc2_flags2 | CHECKSUMS,
        filters: [0; MAX_FILTERS],
        filters_meta: [0; MAX_FILTERS],
        ..*header
    };
    header.write(chunk);
    let sum = of_header_only(chunk).to_le_bytes();
    chunk[IN_HEADER].copy_from_slice(&sum);
}

/// Converts a chunk of stored data, without block starts, to a chunk of stored streams.
fn add_to_stored(header: &ChunkHeader, chunk: &[u8]) -> Result<Option<Buffer>> {
    let data = &chunk[header.overhead()..];
    let mut bytes = Buffer::new();
    let Some(size) = stored_size(header).filter(|_| data.len() == header.nbytes) else {
        return Ok(None);
    };
    bytes.resize(size)?;
    store(header, data, &mut bytes);
    Ok(Some(bytes))
}

/// The size of a chunk of stored streams that has the data of a chunk with this header. None if it
/// cannot have checksums.
pub fn stored_size(header: &ChunkHeader) -> Option<usize> {
    let Blocks::Regular { blocksize } = header.blocks else {
        return None;
    };
    let table = TableLayout::paged(header.nblocks, blocksize, header.nbytes).table_len();
    let size = header.overhead() + 8 * header.nblocks + table + header.nbytes;
    i32::try_from(size).is_ok().then_some(size)
}

/// Writes a chunk of stored streams into `dest`, whose length is [`stored_size`].
pub fn store(header: &ChunkHeader, data: &[u8], dest: &mut [u8]) {
    let blocksize = header.blocksize_field();
    let layout = TableLayout::paged(header.nblocks, blocksize, header.nbytes);
    let table_start = header.overhead() + 4 * header.nblocks;
    let body = table_start + layout.table_len();
    let (prefix, streams) = dest.split_at_mut(body);
    let blocks = data
        .chunks(blocksize)
        .zip(streams.chunks_mut(4 + blocksize));
    for (nblock, (block, stream)) in blocks.enumerate() {
        let start = (body + nblock * (4 + blocksize)) as i32;
        prefix[header.overhead() + 4 * nblock..][..4].copy_from_slice(&start.to_le_bytes());
        write_raw(block, stream);
        layout.set_block(&mut prefix[table_start..], nblock, stream);
    }
    let header = ChunkHeader {
        cbytes: dest.len(),
        flags: (header.flags & !flags::MEMCPYED) | flags::DONT_SPLIT,
        filters: [0; MAX_FILTERS],
        filters_meta: [0; MAX_FILTERS],
        blosc2_flags: 0,
        ..*header
    };
    finish(header, layout, table_start, dest);
}

impl Chunk<'_> {
    /// Start and end of each block in the chunk, ascending.
    fn blocks_in_order(&self) -> Result<TryVec<(usize, usize)>> {
        let span = |nblock: usize| {
            let streams = self.block_streams(nblock)?;
            let start = usize::try_from(self.start(nblock)).map_err(|_| Error::DATA)?;
            Ok((start, start + streams.len()))
        };
        let mut blocks: TryVec<(usize, usize)> =
            (0..self.header().nblocks).map(span).try_collect_vec()?;
        sort(&mut blocks);
        Ok(blocks)
    }
}
