//! Access to the chunks of an array.

use crate::schunk::parsed::{ReadExtent, with_bytes, with_stored};
use crate::schunk::{Location, WholeChunk};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, MAX_TYPESIZE};
use oxiblosc_chunk::special::SpecialChunk;

/// The sizes of an array's parts, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct PartSizes {
    /// An item.
    pub item: usize,
    /// A block's data.
    pub block: usize,
    /// A chunk's data.
    pub chunk: usize,
}

/// Runs `body` on a chunk and its first bytes. `most` says that most of its blocks are needed.
///
/// # Errors
/// Those of a damaged chunk, of input, and of `body`; [`Error::DATA`] for a chunk of another size
/// than the array's.
pub fn with_chunk<T>(
    found: &Location,
    sizes: PartSizes,
    most: bool,
    body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
) -> Result<T> {
    let of_size = |chunk: &Chunk, prefix: &[u8]| {
        if chunk.header().nbytes == sizes.chunk && !chunk.header().has_vlblocks() {
            body(chunk, prefix)
        } else {
            Err(Error::DATA)
        }
    };
    match found {
        Location::Memory(bytes, was_checked) => with_bytes(bytes, *was_checked, of_size),
        Location::Special(kind) => {
            let chunk = SpecialChunk {
                special: *kind,
                nbytes: sizes.chunk,
                blocksize: sizes.block.max(1),
                typesize: match sizes.item > MAX_TYPESIZE {
                    true => 1,
                    false => sizes.item,
                },
                value: &[],
            };
            let mut bytes = [0; EXTENDED_HEADER_LENGTH];
            chunk.write(&mut bytes);
            with_bytes(&bytes, Checked::NEVER, of_size)
        }
        Location::File(stored) => {
            let wanted = if most {
                ReadExtent::MostBlocks
            } else {
                ReadExtent::FewBlocks
            };
            with_stored(stored, wanted, of_size)
        }
    }
}

/// All bytes of a chunk. None for a special chunk that is only an offset.
///
/// # Errors
/// Those of input.
pub fn whole<'a>(found: &Location<'a>) -> Result<Option<WholeChunk<'a>>> {
    match found {
        Location::Memory(bytes, _) => Ok(Some(WholeChunk::Borrowed(bytes))),
        Location::Special(_) => Ok(None),
        Location::File(stored) => Ok(Some(WholeChunk::Owned(stored.whole()?))),
    }
}
