//! Where the blocks of an array come from.

use crate::schunk::parsed::{Wanted, with_bytes, with_stored};
use oxiblosc_chunk::decode::Chunk;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, MAX_TYPESIZE, Special};
use oxiblosc_chunk::hooks::Hooks;
use oxiblosc_chunk::special;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::disk::Stored;
use oxiblosc_memory::Buffer;

/// Where a chunk is.
pub enum Found<'a> {
    /// In memory, all of it.
    Bytes(&'a [u8]),
    /// Nowhere: its items are all of this kind.
    Special(Special),
    /// In a file.
    Stored(Stored),
}

/// The chunks of an array.
pub trait Chunks: Sync {
    /// Finds a chunk. Workers ask for several at once.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] when there is none; those of input.
    fn find(&self, nchunk: usize) -> Result<Found<'_>>;

    /// The program's functions, for chunk `nchunk`, whose first bytes are `front`.
    fn hooks<'h>(&'h self, nchunk: usize, front: &'h [u8]) -> Result<Box<dyn Hooks + 'h>>;

    /// Whether chunks may be decoded by several workers at once.
    fn is_shared(&self) -> bool;
}

/// The sizes of an array's parts, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// An item.
    pub item: usize,
    /// A block's data.
    pub block: usize,
    /// A chunk's data.
    pub chunk: usize,
}

/// Runs `body` on a chunk and its first bytes. `most`: most of its blocks are wanted.
///
/// # Errors
/// Those of a damaged chunk, of input, and of `body`; [`Error::Data`] for a chunk of another size than the array's.
pub fn with_chunk<T>(
    found: &Found,
    sizes: Sizes,
    most: bool,
    body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
) -> Result<T> {
    let checked = |chunk: &Chunk, front: &[u8]| {
        if chunk.header().nbytes == sizes.chunk && !chunk.header().has_vlblocks() {
            body(chunk, front)
        } else {
            Err(Error::Data)
        }
    };
    match found {
        Found::Bytes(bytes) => with_bytes(bytes, checked),
        Found::Special(kind) => {
            let mut bytes = [0; EXTENDED_HEADER_LENGTH];
            let typesize = if sizes.item > MAX_TYPESIZE {
                1
            } else {
                sizes.item
            };
            let blocksize = sizes.block.max(1);
            special::write(*kind, sizes.chunk, blocksize, typesize, &[], &mut bytes);
            with_bytes(&bytes, checked)
        }
        Found::Stored(stored) => {
            let wanted = if most { Wanted::Most } else { Wanted::Some };
            with_stored(stored, wanted, checked)
        }
    }
}

/// All bytes of a chunk that is not a special one.
pub enum Whole<'a> {
    /// Where they are.
    Here(&'a [u8]),
    /// Read for this.
    Read(Buffer),
}

impl std::ops::Deref for Whole<'_> {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        match self {
            Self::Here(bytes) => bytes,
            Self::Read(bytes) => bytes,
        }
    }
}

/// All bytes of a chunk; none of one that is told by its kind alone.
///
/// # Errors
/// Those of input.
pub fn whole<'a>(found: &Found<'a>) -> Result<Option<Whole<'a>>> {
    match found {
        Found::Bytes(bytes) => Ok(Some(Whole::Here(bytes))),
        Found::Special(_) => Ok(None),
        Found::Stored(stored) => Ok(Some(Whole::Read(stored.whole()?))),
    }
}
