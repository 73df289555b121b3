//! Where the blocks of an array come from.

use crate::chunk::decode::Chunk;
use crate::chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_TYPESIZE, Special};
use crate::chunk::hooks::Hooks;
use crate::chunk::special;
use crate::error::{Error, Result};
use crate::frame::disk::Stored;
use crate::memory::Buffer;

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
    fn hooks<'h>(&'h self, nchunk: usize, front: &'h [u8]) -> Box<dyn Hooks + 'h>;

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

/// The front of a chunk that is read before anybody knows how much is needed.
const FRONT: u64 = 4 << 10;
/// Chunks that are not larger are read in one go where most of their blocks are wanted.
const SMALL: u64 = 1 << 20;

/// Reads the front of a chunk: header and block starts, or all of it if that is not much more, or if `whole` is wanted.
fn front_of(stored: &Stored, whole: bool) -> Result<(Buffer, ChunkHeader)> {
    let most = if whole { SMALL } else { 4 * FRONT };
    let wanted = stored.expected.map_or(
        FRONT,
        |expected| {
            if expected <= most { expected } else { FRONT }
        },
    );
    stored.front(wanted)
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
    let checked = |chunk: Chunk, front: &[u8]| {
        if chunk.header().nbytes == sizes.chunk && !chunk.header().has_vlblocks() {
            body(&chunk, front)
        } else {
            Err(Error::Data)
        }
    };
    match found {
        Found::Bytes(bytes) => {
            let header = ChunkHeader::parse(bytes)?;
            checked(Chunk::parse(&header, bytes)?, bytes)
        }
        Found::Special(kind) => {
            let mut bytes = [0; EXTENDED_HEADER_LENGTH];
            let typesize = if sizes.item > MAX_TYPESIZE {
                1
            } else {
                sizes.item
            };
            let blocksize = sizes.block.max(1);
            special::write(*kind, sizes.chunk, blocksize, typesize, &[], &mut bytes);
            let header = ChunkHeader::parse(&bytes)?;
            checked(Chunk::parse(&header, &bytes)?, &bytes)
        }
        Found::Stored(stored) => {
            let (front, header) = front_of(stored, most)?;
            if front.len() >= header.cbytes {
                return checked(Chunk::parse(&header, &front)?, &front);
            }
            checked(Chunk::lazy(&header, &front, stored)?, &front)
        }
    }
}

/// All bytes of a chunk that is not a special one.
pub enum Whole<'a> {
    /// Where they are.
    Here(&'a [u8]),
    /// Read for this.
    Read(Vec<u8>),
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
        Found::Stored(stored) => {
            let (front, header) = front_of(stored, true)?;
            let mut bytes = crate::chunk::source::read_front(stored, header.cbytes)?;
            // The header that was checked is the one that counts.
            let known = front.len().min(bytes.len());
            bytes[..known].copy_from_slice(&front[..known]);
            Ok(Some(Whole::Read(bytes)))
        }
    }
}
