//! Putting a chunk together of which some blocks were compressed again.

use super::decode::Chunk;
use super::encode_block::{BlockEncoder, difference};
use super::header::{ChunkHeader, Special};
use super::in_place;
use super::patch::Touched;
use crate::error::{Error, Result};
use crate::memory::{Buffer, Edit};

/// What of the chunk is another, if the blocks lie one after the other. None where the chunk has to be put together anew.
pub(super) fn as_edits(
    chunk: &Chunk,
    encoder: &BlockEncoder,
    touched: &[Touched],
    changed: &[Vec<u8>],
) -> Result<Option<Vec<Edit>>> {
    let header = chunk.header();
    let (table, body) = (header.overhead(), header.overhead() + 4 * header.nblocks);
    let mut order: Vec<(i32, usize)> = (0..header.nblocks)
        .map(|nblock| (chunk.start(nblock), nblock))
        .collect();
    order.sort_unstable();
    let mut edits: Vec<Edit> = Vec::new();
    let mut moves = false;
    for (t, new) in touched.iter().zip(changed) {
        let start = chunk.start(t.nblock);
        let old = chunk.compressed(t.nblock, |_| ())?;
        let (from, to) = (start as usize, start as usize + old.len());
        let i = order.partition_point(|place| *place < (start, t.nblock));
        let overlaps = i > 0 && order[i - 1].0 == start
            || order.get(i + 1).is_some_and(|next| (next.0 as usize) < to)
            || from < body;
        if overlaps {
            return Ok(None);
        }
        if old.len() != new.len() {
            moves = true;
            edits.push(Edit {
                at: from,
                len: old.len(),
                new: new.clone(),
            });
            continue;
        }
        let range = difference(new, old);
        if !range.is_empty() {
            edits.push(Edit {
                at: from + range.start,
                len: range.len(),
                new: new[range].to_vec(),
            });
        }
    }
    edits.sort_unstable_by_key(|edit| edit.at);
    if !moves {
        return Ok(Some(edits));
    }
    let grown: usize = edits.iter().map(|edit| edit.new.len()).sum();
    let shrunk: usize = edits.iter().map(|edit| edit.len).sum();
    let cbytes = header.cbytes + grown - shrunk;
    let zeros = cbytes - body <= 4 * encoder.total_streams(header.nbytes);
    if zeros || cbytes > header.nbytes + header.overhead() {
        return Ok(None);
    }
    let mut front = chunk.bytes()[..body].to_vec();
    ChunkHeader { cbytes, ..*header }.write(&mut front);
    let mut before = edits.iter().peekable();
    let (mut more, mut less) = (0, 0);
    for (start, nblock) in order {
        let start = usize::try_from(start).map_err(|_| Error::Data)?;
        while let Some(edit) = before.next_if(|edit| edit.at < start) {
            more += edit.new.len();
            less += edit.len;
        }
        let start = ((start + more - less) as i32).to_le_bytes();
        front[table + 4 * nblock..][..4].copy_from_slice(&start);
    }
    edits.insert(
        0,
        Edit {
            at: 0,
            len: body,
            new: front,
        },
    );
    Ok(Some(edits))
}

/// Puts the chunk together: the changed blocks, and the others as they are, with `slack` behind each.
pub(super) fn assemble(
    chunk: &Chunk,
    encoder: &BlockEncoder,
    touched: &[Touched],
    changed: &[Vec<u8>],
    slack: impl Fn(usize) -> usize,
) -> Result<Option<Buffer>> {
    let header = chunk.header();
    let most = header.nbytes + header.overhead();
    let body = header.overhead() + 4 * header.nblocks;
    let new: usize = changed.iter().map(Vec::len).sum();
    let mut bytes = Buffer::new();
    bytes.reserve(most.min(header.cbytes + new))?;
    bytes.resize(body)?;
    let mut changed = touched.iter().zip(changed).peekable();
    let mut full = 0;
    for nblock in 0..header.nblocks {
        let start = (bytes.len() as i32).to_le_bytes();
        let block = match changed.next_if(|(t, _)| t.nblock == nblock) {
            Some((_, block)) => block,
            None => chunk.compressed(nblock, |_| ())?,
        };
        let longest = in_place::longest(header);
        let room = slack(block.len()).min(longest.saturating_sub(block.len()));
        if block.len() + room > most.saturating_sub(bytes.len()) {
            return Ok(None);
        }
        bytes.extend(block)?;
        bytes.resize(bytes.len() + room)?;
        full += block.len();
        bytes[header.overhead() + 4 * nblock..][..4].copy_from_slice(&start);
    }
    let mut header = ChunkHeader {
        cbytes: bytes.len(),
        ..*header
    };
    if full == 4 * encoder.total_streams(header.nbytes) {
        // Every stream is a run of zeros.
        header.blosc2_flags |= Special::Zero.to_flags();
        header.cbytes = header.overhead();
        bytes.resize(header.cbytes)?;
    }
    header.write(&mut bytes);
    bytes.shrink();
    Ok(Some(bytes))
}
