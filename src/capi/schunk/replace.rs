//! Chunks in the places of others.

use super::handle::{Handle, Inner, Plan};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_core::schunk::rules::Chunk;
use oxiblosc_core::schunk::{Made, New, Where};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{Change, Item};
use oxiblosc_memory::{Buffer, Collect, Edit, List};

/// What counts of chunk `nchunk` after edits; of these, one of the header comes first.
fn edited(old: &Chunk, edits: &[Edit]) -> Result<Chunk> {
    match edits.first() {
        Some(first) if first.at == 0 => Ok(Chunk::new(&ChunkHeader::parse(&first.new)?)),
        _ => Ok(*old),
    }
}

/// Puts chunks in the places of others, all at once.
pub fn replace(handle: &Handle, inner: &mut Inner, new: List<New>) -> Result<()> {
    let counts = handle.counts();
    let keeping = inner.keeping();
    let mut after = counts;
    let (mut wholes, mut edits) = (List::new(), List::new());
    for (nchunk, made) in new {
        let old = inner.chunk(&counts, nchunk)?;
        let info = match made {
            Made::Edits(list) if list.is_empty() => continue,
            Made::Edits(list) if inner.store.takes(nchunk, &list) => {
                let info = edited(&old, &list)?;
                edits.push((nchunk, list))?;
                info
            }
            Made::Edits(list) => {
                let mut chunk = match inner.store.find(nchunk)? {
                    Where::Bytes(bytes) => Buffer::copy_of(bytes)?,
                    Where::Stored(stored) => stored.whole()?,
                    Where::Special(_) => return Err(Error::Failure),
                };
                chunk.edit(&list)?;
                let info = Chunk::new(&ChunkHeader::parse(&chunk)?);
                wholes.push((nchunk, chunk, info))?;
                info
            }
            Made::Whole(chunk) => {
                let info = Chunk::new(&ChunkHeader::parse(&chunk)?);
                wholes.push((nchunk, chunk, info))?;
                info
            }
        };
        after = after.updated(nchunk as i64, &old, &info, keeping)?;
    }
    let apart = if inner.store.commits_edits() {
        List::new()
    } else {
        std::mem::take(&mut edits)
    };
    inner.store.ready(&apart)?;
    if !wholes.is_empty() || !edits.is_empty() {
        let take = |whole: &mut (usize, Buffer, Chunk)| std::mem::take(&mut whole.1);
        let mut owned = None;
        if !inner.store.is_frame() {
            owned = Some(wholes.iter_mut().map(take).list()?);
        }
        let mut items: List<(usize, Item)> = wholes
            .iter()
            .map(|(nchunk, chunk, info)| (*nchunk, inner.item(after.chunksize, info, chunk)))
            .list()?;
        let edited = edits
            .iter()
            .map(|(nchunk, edits)| (*nchunk, Item::Edited(edits)));
        items.extend(edited)?;
        let plan = Plan {
            counts: after,
            change: Change::Update(&items),
            owned: owned.as_mut(),
        };
        inner.apply(handle, &counts, plan)?;
    }
    inner.edit(handle, &after, &apart)
}
