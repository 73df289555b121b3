//! A chunk wherever it is, parsed for as long as something is done with it.

use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::in_place::PatchTarget;
use oxiblosc_chunk::patch::{PatchMode, Patched, Touched};
use oxiblosc_error::Result;
use oxiblosc_frame::disk::Stored;
use oxiblosc_memory::{Buffer, List};

/// How much of a stored chunk is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Some blocks.
    Some,
    /// Most blocks.
    Most,
    /// All bytes, in memory.
    All,
}

/// The front of a chunk that is read before it is known how much is needed.
const FRONT: u64 = 4 << 10;
/// Chunks that are not larger are read in one go where most of their blocks are wanted.
const SMALL: u64 = 1 << 20;

/// Reads the front of a chunk: header and block starts, or all of it if that is not much more, or if so much is wanted.
fn front_of(stored: &Stored, wanted: Wanted) -> Result<(Buffer, ChunkHeader)> {
    let most = match wanted {
        Wanted::Some => 4 * FRONT,
        Wanted::Most | Wanted::All => SMALL,
    };
    let len = match stored.expected {
        Some(expected) if expected <= most => expected,
        _ => FRONT,
    };
    stored.front(len)
}

/// Runs `body` on the chunk that `bytes` are, of which some may have been checked before, and on them.
///
/// # Errors
/// Those of a damaged chunk, and of `body`.
pub fn with_bytes<T>(
    bytes: &[u8],
    checked: Checked,
    body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
) -> Result<T> {
    let (mut header, mut place) = (ChunkHeader::EMPTY, None);
    header.read(bytes, true)?;
    let chunk = Chunk::parse_checked_into(&mut place, &header, bytes, checked)?;
    body(chunk, bytes)
}

/// Runs `body` on a chunk in a file, and on those of its first bytes that were read; other blocks are read when `body` asks
/// for them.
///
/// # Errors
/// Those of a damaged chunk, of input, and of `body`.
pub fn with_stored<T>(
    stored: &Stored,
    wanted: Wanted,
    body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
) -> Result<T> {
    if wanted == Wanted::All {
        return with_bytes(&stored.whole()?, Checked::NEVER, body);
    }
    let (front, header) = front_of(stored, wanted)?;
    if front.len() >= header.cbytes {
        return body(&Chunk::parse(&header, &front)?, &front);
    }
    body(&Chunk::lazy(&header, &front, stored)?, &front)
}

/// Changes the blocks of a chunk in a file that `touched` names, such that it can stay where it is if that is possible: `patch`
/// gets the chunk as far as it was read, its first bytes, and which mode to ask for from a
/// [`Patcher`](oxiblosc_chunk::patch::Patcher). None where the chunk has to be read whole.
///
/// # Errors
/// Those of a damaged chunk, of input, and of `patch`.
pub fn patch_stored(
    stored: &Stored,
    touched: impl FnOnce(&ChunkHeader) -> Result<Option<List<Touched>>>,
    patch: impl FnOnce(&Chunk, &[u8], PatchMode) -> Result<Option<Patched>>,
) -> Result<Option<Patched>> {
    let Some(tail) = stored.tail else {
        return Ok(None);
    };
    let (front, header) = front_of(stored, Wanted::Some)?;
    let Some(touched) = touched(&header)? else {
        return Ok(None);
    };
    let room = (tail as usize, stored.slack);
    let Some(target) = PatchTarget::read(stored, &header, &front, &touched, room)? else {
        return Ok(None);
    };
    patch(
        &target.chunk()?,
        target.bytes(),
        PatchMode::InPlace(&target),
    )
}
