//! Functions that run a closure on a parsed chunk, whether the chunk is in memory or in a file.

use oxiblosc_base::Result;
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::in_place::PatchTarget;
use oxiblosc_chunk::patch::{PatchMode, Patched, Touched};
use oxiblosc_frame::disk::Stored;

/// How much of a chunk in a file is needed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadExtent {
    /// Some blocks.
    FewBlocks,
    /// Most blocks.
    MostBlocks,
    /// All bytes, in memory.
    WholeChunk,
}

/// Bytes that are read of a chunk before its header is known.
const FRONT: u64 = 4 << 10;
/// Chunks of at most this many bytes are read at once if most of their blocks are needed.
const MAX_READ_AT_ONCE: u64 = 1 << 20;

/// Reads the front of a chunk: header and block starts, or all of a chunk that is small for what is
/// needed of it.
fn prefix_of(stored: &Stored, wanted: ReadExtent) -> Result<(Buffer, ChunkHeader)> {
    let most = match wanted {
        ReadExtent::FewBlocks => 4 * FRONT,
        ReadExtent::MostBlocks | ReadExtent::WholeChunk => MAX_READ_AT_ONCE,
    };
    let len = match stored.expected {
        Some(expected) if expected <= most => expected,
        _ => FRONT,
    };
    stored.prefix(len)
}

/// Runs `body` on a chunk in memory and its bytes. `checked` says which of its checksums have been
/// checked.
///
/// # Errors
/// Those of a damaged chunk, and of `body`.
pub fn with_bytes<T>(
    bytes: &[u8],
    checked: Checked,
    body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
) -> Result<T> {
    let (mut header, mut slot) = (ChunkHeader::EMPTY, None);
    header.read(bytes, true)?;
    let chunk = Chunk::parse_checked_into(&mut slot, &header, bytes, checked)?;
    body(chunk, bytes)
}

/// Runs `body` on a chunk in a file and on its first bytes, at least all of the header. Blocks
/// behind these are read when `body` decompresses them.
///
/// # Errors
/// Those of a damaged chunk, of input, and of `body`.
pub fn with_stored<T>(
    stored: &Stored,
    wanted: ReadExtent,
    body: impl FnOnce(&Chunk, &[u8]) -> Result<T>,
) -> Result<T> {
    if wanted == ReadExtent::WholeChunk {
        return with_bytes(&stored.whole()?, Checked::NEVER, body);
    }
    let (prefix, header) = prefix_of(stored, wanted)?;
    if prefix.len() >= header.cbytes {
        return body(&Chunk::parse(&header, &prefix)?, &prefix);
    }
    body(&Chunk::lazy(&header, &prefix, stored)?, &prefix)
}

/// Patches the blocks of a chunk in a file that `touched` names, in place. `patch` is called with
/// the chunk, of which only these blocks and the front were read, with its first bytes, and with
/// the mode for a [`Patcher`](oxiblosc_chunk::patch::Patcher). None if the chunk cannot be patched
/// in place.
///
/// # Errors
/// Those of a damaged chunk, of input, and of `patch`.
pub fn patch_stored(
    stored: &Stored,
    touched: impl FnOnce(&ChunkHeader) -> Result<Option<TryVec<Touched>>>,
    patch: impl FnOnce(&Chunk, &[u8], PatchMode) -> Result<Option<Patched>>,
) -> Result<Option<Patched>> {
    let Some(tail) = stored.tail else {
        return Ok(None);
    };
    let (prefix, header) = prefix_of(stored, ReadExtent::FewBlocks)?;
    let Some(touched) = touched(&header)? else {
        return Ok(None);
    };
    let behind = (tail as usize, stored.slack);
    let Some(target) = PatchTarget::read(stored, &header, &prefix, &touched, behind)? else {
        return Ok(None);
    };
    patch(
        &target.chunk()?,
        target.bytes(),
        PatchMode::InPlace(&target),
    )
}
