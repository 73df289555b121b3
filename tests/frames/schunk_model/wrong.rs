//! Where the reference is known to be wrong, and why. There it is not asked, and what ours does
//! must be what the model says.

use super::chunks::{Chunk, Special};
use super::model::{MAX_LAYERS, MAX_NAME, Model};
use super::ops::{Op, Plan, Storage};
use oxiblosc_testing::abi::DELTA;

/// What a wrong of the reference means for a test.
pub enum Wrong {
    /// It is not asked this; its super-chunk is as it was.
    Skip(&'static str),
    /// Its super-chunk is no more what it should be.
    Lost(&'static str),
}

const PARTS: &str =
    "a chunk with a part of an item, compressed by a super-chunk, is not read again";

/// Whether what a super-chunk holds, after a step, is more than the reference can hold.
pub fn state(model: &Model, plan: &Plan) -> Option<&'static str> {
    let specials = model.chunks.iter().any(|chunk| chunk.special.is_some());
    let framed = plan.storage.framed();
    if plan.storage == Storage::File && model.leftovers() && model.cbytes > 0 {
        return Some("a file whose chunks are all deleted counts their bytes, and forgets them");
    }
    if framed && specials && model.chunksize == 0 {
        return Some(
            "special chunks of a frame are sized by chunksize, which is 0 when sizes differ",
        );
    }
    if framed && specials && model.irregular() {
        return Some("special chunks of a frame are sized by their place");
    }
    let parts =
        |chunk: &Chunk| chunk.special.is_some() && !chunk.len().is_multiple_of(model.typesize);
    if framed && model.chunks.iter().any(parts) {
        return Some("a special chunk of a frame must have whole items");
    }
    if framed && model.chunks.iter().any(|chunk| chunk.len() == 0) {
        return Some(
            "an empty chunk in a frame is taken for a special one, and the chunks are counted by their bytes",
        );
    }
    None
}

/// Whether the reference does wrong in a step from this state.
pub fn step(model: &Model, op: &Op, plan: &Plan) -> Option<Wrong> {
    let differ = model.chunksize == 0 || model.irregular();
    let nitems = model.nitems() as i64;
    let parts = model
        .chunks
        .iter()
        .any(|chunk| !chunk.len().is_multiple_of(model.typesize));
    match op {
        Op::SetSlice { .. } if parts => Some(Wrong::Lost(PARTS)),
        Op::AppendBuffer { chunk } if !chunk.len().is_multiple_of(model.typesize) => {
            Some(Wrong::Lost(PARTS))
        }
        Op::Copy {
            recompress: true, ..
        } if parts => Some(Wrong::Skip(PARTS)),
        Op::GetSlice { .. } | Op::Sparse { .. } if parts => {
            Some(Wrong::Skip("an item that lies in two chunks is not read"))
        }
        Op::GetSlice { .. } | Op::Sparse { .. } if model.chunks.iter().any(stored) => Some(
            Wrong::Skip("a part of a chunk that is stored is sometimes read from the wrong place"),
        ),
        Op::GetSlice { .. } | Op::SliceNchunks { .. } | Op::Sparse { .. } if differ => {
            Some(Wrong::Skip("slices where sizes differ divide by chunksize"))
        }
        Op::Offsets if plan.storage == Storage::Buffer && model.chunks.is_empty() => Some(
            Wrong::Skip("the offsets of an empty frame in memory are read nowhere"),
        ),
        Op::Append { chunk, .. } | Op::AppendBuffer { chunk }
            if short_after_short(model, chunk, plan) =>
        {
            Some(Wrong::Lost(
                "a short chunk behind one short chunk is refused, and yet counted",
            ))
        }
        Op::Lazy { .. } if plan.storage.on_disk() && model.flags2 & 1 != 0 => Some(Wrong::Skip(
            "a lazy chunk with blocks of variable length does not decompress",
        )),
        Op::GetSlice { .. } | Op::Sparse { .. } if plan.maker.cparams.filters.contains(&DELTA) => {
            Some(Wrong::Skip(
                "a part of a chunk is decoded without the block that its delta needs",
            ))
        }
        Op::GetSlice { start, stop, .. } if block_for_block(model, *start, *stop) => {
            Some(Wrong::Skip(
                "as many items as a block has are taken for a block, wherever in the chunk they begin",
            ))
        }
        Op::SliceNchunks { start, stop } if start >= stop || *start < 0 || *stop > nitems => Some(
            Wrong::Skip("the chunks of an empty slice, or of one outside, are made up"),
        ),
        Op::SetSlice { .. } if differ => {
            Some(Wrong::Lost("slices where sizes differ divide by chunksize"))
        }
        Op::SetSlice { start, stop, .. } if cuts(model, *start, *stop) => Some(Wrong::Lost(
            "a chunk written up to where the last one ends is cut there",
        )),
        Op::SetSlice { start, stop, .. } if *start < *stop && (*start < 0 || *stop > nitems) => {
            Some(Wrong::Lost(
                "a slice that reaches outside is written in part",
            ))
        }
        Op::Append { chunk, .. } | Op::AppendBuffer { chunk } | Op::Insert { chunk, at: 0, .. }
            if model.chunks.is_empty()
                && (1..chunk.len() as i64).contains(&model.chunksize)
                && chunk.flags2() != model.flags2 =>
        {
            Some(Wrong::Lost("a chunk that is refused leaves its flags"))
        }
        Op::MetaAdd { name, .. } | Op::VlAdd { name, .. } if name.as_bytes().len() > MAX_NAME => {
            Some(Wrong::Lost(
                "a name that is too long is taken, and then not found or the frame not written",
            ))
        }
        Op::MetaAdd { .. } if plan.storage.framed() && model.cbytes > 0 => Some(Wrong::Lost(
            "a metalayer that comes too late is refused, and yet stays; after that the frame cannot be written",
        )),
        Op::MetaAdd { .. } if plan.storage.framed() && !model.chunks.is_empty() => Some(
            Wrong::Lost("a metalayer added in front of special chunks is written over their index"),
        ),
        Op::MetaAdd { .. } if model.meta.len() >= MAX_LAYERS => Some(Wrong::Lost(
            "one metalayer more than there is room for is written behind the array",
        )),
        Op::Copy {
            storage,
            recompress,
        } => copies(model, *storage, *recompress, plan),
        Op::Buffer { .. } | Op::ToFile { .. } if plan.storage != Storage::Buffer => {
            copies(model, Storage::Buffer, false, plan)
        }
        _ => None,
    }
}

/// Whether a slice ends in a chunk as far in as the last chunk is long, which the reference takes
/// for the last one.
fn cuts(model: &Model, start: i64, stop: i64) -> bool {
    let (typesize, chunksize) = (model.typesize as i64, model.chunksize);
    if chunksize <= 0 || start < 0 || stop > model.nitems() as i64 || start >= stop {
        return false;
    }
    let (from, to) = (start * typesize, stop * typesize);
    let whole = from <= to - to % chunksize;
    whole
        && to % chunksize != 0
        && to % chunksize == model.nbytes() as i64 % chunksize
        && to < model.nbytes() as i64
}

/// Whether a slice takes of a chunk as many bytes as the block has that begins inside of it, the
/// last one perhaps shorter.
fn block_for_block(model: &Model, start: i64, stop: i64) -> bool {
    let typesize = model.typesize as i64;
    let mut begin = 0;
    model.chunks.iter().any(|chunk| {
        let len = chunk.len() as i64;
        let from = start.saturating_mul(typesize).max(begin) - begin;
        let to = stop.saturating_mul(typesize).min(begin + len) - begin;
        let blocksize = i64::from(chunk.blocksize());
        begin += len;
        from < to && {
            let next = (from / blocksize + 1) * blocksize;
            next < to && blocksize.min(len - next) == to - from
        }
    })
}

/// Whether a chunk holds its data as they are, in more than one block.
fn stored(chunk: &Chunk) -> bool {
    chunk.raw[2] & 2 != 0 && chunk.len() as i64 > i64::from(chunk.blocksize())
}

fn short_after_short(model: &Model, chunk: &Chunk, plan: &Plan) -> bool {
    let only = !model.chunks.is_empty() && (model.nbytes() as i64) < model.chunksize;
    plan.storage.framed() && only && (chunk.len() as i64) < model.chunksize
}

fn copies(model: &Model, storage: Storage, recompress: bool, plan: &Plan) -> Option<Wrong> {
    let to = Plan {
        storage,
        maker: plan.maker.clone(),
        ..*plan
    };
    if let Some(why) = state(model, &to) {
        return Some(Wrong::Skip(why));
    }
    if model
        .chunks
        .iter()
        .any(|chunk| chunk.special == Some(Special::Nans))
    {
        return Some(Wrong::Skip(
            "a copy of a chunk of NaNs is, once in some ten thousand copies, not read again",
        ));
    }
    let last = model.chunks.last().map_or(0, Chunk::len) as i64;
    if recompress && (model.chunksize == 0 || model.irregular() || last < model.chunksize) {
        return Some(Wrong::Skip(
            "a copy with other parameters takes every chunk for a full one",
        ));
    }
    None
}
