//! Removes the free bytes between blocks that changes in place leave.

use super::Chunk;
use super::add_checksums;
use super::checksum::{CHECKSUMS, TableLayout};
use super::encoded::EncodedChunk;
use super::header::{ChunkHeader, Special, flags2};
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::{Error, Result};

/// The chunk in `bytes`, without gaps between its blocks. None if it has no gaps or no table of
/// block starts, or is damaged.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn repack(bytes: &[u8]) -> Result<Option<Buffer>> {
    match packed(bytes) {
        Err(error) if error == Error::MEMORY_ALLOC => Err(error),
        Err(_) => Ok(None),
        packed => packed,
    }
}

/// Whether a chunk has free bytes between its blocks. It need not be sound.
pub fn has_gaps(chunk: &EncodedChunk) -> bool {
    let (header, bytes) = (&chunk.header, chunk.bytes);
    has_table(header)
        && Chunk::parse(header, bytes)
            .and_then(|chunk| packed_len(&chunk))
            .is_ok_and(|len| len < bytes.len())
}

/// Whether the chunk has a table of block starts, and blocks that can be moved.
fn has_table(header: &ChunkHeader) -> bool {
    let other = flags2::USE_DICT | flags2::INSTRUMENTED | flags2::LAZY;
    header.is_extended()
        && header.special() == Special::None
        && !header.is_memcpyed()
        && !header.has_vlblocks()
        && header.blosc2_flags & other == 0
        && header.nbytes > 0
}

/// The size of a chunk without gaps between its blocks, in bytes.
fn packed_len(chunk: &Chunk) -> Result<usize> {
    let header = chunk.header();
    let mut len = header.overhead() + 4 * header.nblocks;
    if header.has_checksums() {
        len += TableLayout::of(header).table_len();
    }
    for nblock in 0..header.nblocks {
        len += chunk.compressed(nblock, |_| ())?.len();
    }
    Ok(len)
}

fn packed(bytes: &[u8]) -> Result<Option<Buffer>> {
    let header = ChunkHeader::parse(bytes)?;
    if !has_table(&header) {
        return Ok(None);
    }
    let chunk = Chunk::parse(&header, bytes)?;
    let len = packed_len(&chunk)?;
    if len >= header.cbytes {
        return Ok(None);
    }
    let table = header.overhead();
    let mut packed = Buffer::new();
    packed.reserve(len)?;
    packed.resize(table + 4 * header.nblocks)?;
    for nblock in 0..header.nblocks {
        let start = (packed.len() as i32).to_le_bytes();
        packed[table + 4 * nblock..][..4].copy_from_slice(&start);
        // Blocks get new checksums below, which would hide damage if the old ones were not checked.
        packed.extend(chunk.checked_streams(nblock)?)?;
    }
    let plain = ChunkHeader {
        cbytes: packed.len(),
        blosc2_flags2: header.blosc2_flags2 & !CHECKSUMS,
        ..header
    };
    plain.write(&mut packed);
    if header.has_checksums() {
        return add_checksums::add(&packed);
    }
    Ok(Some(packed))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encode::{ChunkInput, EncodeParams, compress};
    use crate::header::rules::Rules;
    use crate::hooks::{NoHooks, Serial};

    fn compressed(data: &[u8], clevel: u8) -> Vec<u8> {
        let params = EncodeParams {
            compcode: 0,
            compcode_meta: 0,
            versionlz: 1,
            clevel,
            typesize: 8,
            blocksize: 4096,
            filters: [0, 0, 0, 0, 0, 1],
            filters_meta: [0; 6],
            split: false,
            use_dict: false,
            instrumented: false,
            extended: true,
            rules: Rules::Blosc2,
            checksums: false,
            nthreads: 1,
        };
        let mut chunk = vec![0; data.len() + 32];
        let header = compress(
            &params,
            ChunkInput::Buffer(data),
            &mut chunk,
            &NoHooks,
            &Serial,
        )
        .unwrap();
        chunk.truncate(header.expect("it fits").cbytes);
        chunk
    }

    /// The chunk with `gap` zeros behind each block.
    fn spaced(chunk: &[u8], gap: usize) -> Vec<u8> {
        let header = ChunkHeader::parse(chunk).unwrap();
        let parsed = Chunk::parse(&header, chunk).unwrap();
        let table = header.overhead();
        let mut out = chunk[..table + 4 * header.nblocks].to_vec();
        for nblock in 0..header.nblocks {
            let start = (out.len() as i32).to_le_bytes();
            out[table + 4 * nblock..][..4].copy_from_slice(&start);
            out.extend(parsed.compressed(nblock, |_| ()).unwrap());
            out.extend(vec![0; gap]);
        }
        let cbytes = out.len();
        ChunkHeader { cbytes, ..header }.write(&mut out);
        out
    }

    #[test]
    fn gaps_go_and_blocks_stay() {
        let items = if cfg!(miri) { 1100 } else { 5000u64 };
        let data: Vec<u8> = (0..items).flat_map(|i| (i * i).to_le_bytes()).collect();
        let chunk = compressed(&data, 5);
        assert!(repack(&chunk).unwrap().is_none());
        for gap in [1, 8, 300] {
            let packed = repack(&spaced(&chunk, gap)).unwrap().unwrap();
            assert_eq!(packed[..], chunk[..], "{gap}");
        }
        let zeros = compressed(&vec![0; data.len()], 5);
        let stored = compressed(&data, 0);
        assert!(repack(&zeros).unwrap().is_none() && repack(&stored).unwrap().is_none());
        for cut in (0..64).step_by(if cfg!(miri) { 9 } else { 1 }) {
            assert!(!matches!(repack(&spaced(&chunk, 8)[..cut]), Ok(Some(_))));
        }
    }
}
