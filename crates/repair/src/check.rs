//! Checks whether a chunk, or each of its blocks, can be decompressed.

use crate::contexts::Contexts;
use crate::files::is_fault;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::header::{Blocks, ChunkHeader, MAX_TYPESIZE, Special};
use std::ops::Range;

/// Chunks with more bytes of data than this are decompressed block by block, so that a small file
/// cannot make the tool allocate much memory.
const WHOLE: usize = 64 << 20;

/// What is wrong with a chunk.
#[derive(Debug, PartialEq, Eq)]
pub struct Damage {
    /// The error of the library.
    pub error: Error,
    /// The blocks that cannot be decompressed, in order; empty if it is not known which.
    pub blocks: Vec<usize>,
}

/// The range of each block in the data of a chunk, in bytes; none if its blocks cannot be
/// decompressed one by one.
pub fn blocks(header: &ChunkHeader) -> Option<impl Iterator<Item = Range<usize>> + use<>> {
    let Blocks::Regular { blocksize } = header.blocks else {
        return None;
    };
    let (nbytes, typesize) = (header.nbytes, usize::from(header.typesize));
    let whole = blocksize.is_multiple_of(typesize) && nbytes.is_multiple_of(typesize);
    let ranges = (0..header.nblocks)
        .map(move |nblock| nblock * blocksize..nbytes.min((nblock + 1) * blocksize));
    whole.then_some(ranges)
}

/// Decompresses the block with this range of bytes into the front of `data`. `bytes` are those of
/// the chunk, which is parsed once for all of its blocks.
///
/// # Errors
/// Those of a damaged chunk.
pub fn block(
    contexts: &Contexts,
    (chunk, bytes): (&Chunk, &[u8]),
    range: Range<usize>,
    data: &mut [u8],
) -> Result<(), Error> {
    let data = data.get_mut(..range.len()).ok_or(Error::DATA)?;
    contexts.block(chunk, bytes, range, data)
}

/// Checks that a chunk can be decompressed, and that it has `expected` bytes of data, if that is
/// known.
///
/// # Errors
/// What is wrong, and which blocks are damaged.
pub fn chunk(contexts: &Contexts, chunk: &[u8], expected: Option<usize>) -> Result<(), Damage> {
    let all = |error| Damage {
        error,
        blocks: Vec::new(),
    };
    let header = ChunkHeader::parse(chunk).map_err(all)?;
    if expected.is_some_and(|expected| expected != header.nbytes) {
        return Err(all(Error::DATA));
    }
    let parsed = Chunk::parse(&header, chunk).map_err(all)?;
    match header.special() {
        Special::Unknown(_) => return Err(all(Error::DATA)),
        Special::None => {}
        // It has no blocks. No writer puts anything behind the header of those without a value:
        // these are bytes of a chunk whose header is damaged.
        Special::Zero | Special::Nan | Special::Uninit if header.cbytes > header.overhead() => {
            return Err(all(Error::INVALID_HEADER));
        }
        Special::Zero | Special::Nan | Special::Uninit | Special::Value => return Ok(()),
    }
    if header.nbytes <= WHOLE {
        let mut data = Buffer::zeroed(header.nbytes).map_err(all)?;
        return match contexts.decompress(chunk, &mut data) {
            Ok(size) if size == header.nbytes => Ok(()),
            Ok(_) => Err(all(Error::DATA)),
            Err(error) => Err(Damage {
                error,
                blocks: damaged_blocks(contexts, (&parsed, chunk)).map_err(all)?,
            }),
        };
    }
    if blocks(&header).is_none() {
        let mut data = Buffer::zeroed(header.nbytes).map_err(all)?;
        return contexts
            .decompress(chunk, &mut data)
            .map(|_| ())
            .map_err(all);
    }
    match damaged_blocks(contexts, (&parsed, chunk)).map_err(all)? {
        blocks if blocks.is_empty() => Ok(()),
        blocks => Err(Damage {
            error: Error::DATA,
            blocks,
        }),
    }
}

/// Checks that a chunk has items of the size that its frame says. With another size the shuffles
/// give wrong data without an error.
///
/// # Errors
/// [`Error::INVALID_HEADER`] if it has others.
pub fn item_size(chunk: &[u8], typesize: i32) -> Result<(), Damage> {
    let said = ChunkHeader::parse(chunk).map(|header| i32::from(header.typesize));
    match said {
        // The header of a chunk has one byte for the size of items, and says 1 for larger ones.
        Ok(1) if typesize > MAX_TYPESIZE as i32 => Ok(()),
        Ok(said) if said == typesize => Ok(()),
        _ => Err(Damage {
            error: Error::INVALID_HEADER,
            blocks: Vec::new(),
        }),
    }
}

/// The blocks that cannot be decompressed, in order. Fails with an error that does not show that a
/// block is damaged.
fn damaged_blocks(contexts: &Contexts, chunk: (&Chunk, &[u8])) -> Result<Vec<usize>, Error> {
    let header = chunk.0.header();
    let Some(ranges) = blocks(header) else {
        return Ok(Vec::new());
    };
    let mut data = Buffer::zeroed(header.blocksize_field())?;
    let mut bad = Vec::new();
    for (nblock, range) in ranges.enumerate() {
        match block(contexts, chunk, range, &mut data) {
            Ok(()) => {}
            Err(error) if is_fault(error) => return Err(error),
            Err(_) => bad.push(nblock),
        }
    }
    Ok(bad)
}
