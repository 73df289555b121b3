//! The edits that put changed blocks into a chunk, or the decision that the chunk has to be
//! rewritten.

use super::{ChunkBytes, MAX_UNUSED, PatchTarget, body, checksums_at, max_block_distance};
use crate::Chunk;
use crate::checksum::{self, TableLayout};
use crate::header::ChunkHeader;
use crate::streams::difference;
use crate::touched::Touched;
use oxiblosc_base::Result;
use oxiblosc_base::memory::sort::{sort, sort_by_key};
use oxiblosc_base::memory::{Buffer, Edit, ToTryVec, TryVec};
use std::ops::Range;

/// In a file at most one byte in this many is overwritten. Overwritten bytes are written twice (to
/// the undo record, too), so beyond that a new chunk costs less.
const MAX_OVERWRITTEN: usize = 2;
/// A chunk is rewritten if a block leaves more of its room unused than it fills, and more than this
/// many bytes. A chunk in memory is also rewritten if its blocks have no more bytes than this on
/// average: that is little work, and may turn it into a chunk of zeros.
const WASTE: usize = 64;

/// The edits that put changed blocks into a chunk.
#[derive(Default)]
struct BlockEdits {
    /// Writes of blocks that fit into their spans.
    overwrites: TryVec<Edit>,
    /// Changes of the table of block starts, for the other blocks.
    starts: TryVec<Edit>,
    /// The bytes of those other blocks, which are appended to the chunk.
    appended: Buffer,
    /// The starts of the appended blocks before the change, ascending.
    old_starts: TryVec<usize>,
    /// The starts of the appended blocks after the change, ascending.
    new_starts: TryVec<usize>,
    /// Whether the length of any block changes.
    resized: bool,
}

impl PatchTarget<'_> {
    /// Whether the edits overwrite so little that they cost less than a new chunk.
    pub(in super::super) fn may_overwrite(&self, edits: &[Edit]) -> bool {
        let overwritten: usize = edits.iter().map(|edit| edit.len).sum();
        matches!(self.chunk_bytes, ChunkBytes::Memory(_))
            || overwritten <= self.header.cbytes / MAX_OVERWRITTEN
    }

    /// Whether a chunk in memory is dense enough not to be rewritten: not tiny, and with few unused
    /// bytes. `cbytes` is its size with the changed blocks.
    fn is_dense(
        &self,
        chunk: &Chunk,
        touched: &[Touched],
        changed: &[Option<Buffer>],
        cbytes: usize,
    ) -> bool {
        let header = self.header;
        let body = body(header);
        if header.cbytes - body <= WASTE * header.nblocks {
            return false;
        }
        if cbytes == header.cbytes {
            return true;
        }
        let mut changed = touched.iter().zip(changed).peekable();
        // A damaged block counts as unused.
        let len = |nblock| match changed.next_if(|(t, _)| t.nblock == nblock) {
            Some((_, Some(new))) => new.len(),
            _ => chunk.compressed(nblock, |_| ()).map_or(0, <[u8]>::len),
        };
        let used: usize = (0..header.nblocks).map(len).sum();
        cbytes - body <= used + cbytes / MAX_UNUSED
    }

    /// Whether the reference can read single blocks after the starts `old` have become `new`, both
    /// ascending.
    fn is_readable(&self, old: &[usize], new: &[usize], cbytes: usize) -> bool {
        let most = max_block_distance(self.header);
        let stay = |start: &&usize| old.binary_search(start).is_err();
        let starts = self.starts.iter().filter(stay).chain(new);
        let ends = starts.clone().skip(1).chain([&cbytes]);
        let mut gaps = starts.zip(ends).map(|(start, end)| end.checked_sub(*start));
        gaps.all(|gap| gap.is_some_and(|gap| gap <= most))
    }

    /// The edits that replace the blocks in `touched` by those in `changed`. They are in ascending
    /// order, so an edit of the header comes first. None if the chunk must be rewritten.
    pub(in super::super) fn edits(
        &self,
        chunk: &Chunk,
        touched: &[Touched],
        changed: &[Option<Buffer>],
    ) -> Result<Option<TryVec<Edit>>> {
        let header = self.header;
        let Some(mut blocks) = self.block_edits(chunk, touched, changed)? else {
            return Ok(None);
        };
        let cbytes = header.cbytes + blocks.appended.len();
        if !self.may_overwrite(&blocks.overwrites)
            || blocks.appended.len() > self.free_behind
            || cbytes > header.nbytes + header.overhead() + self.prefix().len() + 4 * self.sums()
        {
            return Ok(None);
        }
        let grows = !blocks.appended.is_empty();
        if grows
            && !(self.is_readable(&blocks.old_starts, &blocks.new_starts, cbytes)
                && self.keeps_layout(cbytes))
        {
            return Ok(None);
        }
        let in_memory = matches!(self.chunk_bytes, ChunkBytes::Memory(_));
        if in_memory && blocks.resized && !self.is_dense(chunk, touched, changed, cbytes) {
            return Ok(None);
        }
        let mut edits = TryVec::new();
        if grows {
            let mut prefix = Buffer::copy_of(&self.bytes()[..header.overhead()])?;
            ChunkHeader { cbytes, ..*header }.write(&mut prefix);
            edits.push(Edit {
                at: 0,
                len: prefix.len(),
                new: prefix,
            })?;
            edits.extend(blocks.starts)?;
        }
        if self.sums() > 0 && (grows || !blocks.overwrites.is_empty()) {
            self.add_checksums(touched, changed, &mut edits)?;
        }
        sort_by_key(&mut blocks.overwrites, |edit| edit.at);
        edits.extend(blocks.overwrites)?;
        if grows {
            edits.push(Edit {
                at: header.cbytes,
                len: 0,
                new: blocks.appended,
            })?;
        }
        Ok(Some(edits))
    }

    /// The edits for the blocks alone, without header and checksums. None if a block became so much
    /// smaller that the chunk must be rewritten.
    fn block_edits(
        &self,
        chunk: &Chunk,
        touched: &[Touched],
        changed: &[Option<Buffer>],
    ) -> Result<Option<BlockEdits>> {
        let header = self.header;
        let mut edits = BlockEdits::default();
        for ((t, new), span) in touched.iter().zip(changed).zip(&self.spans) {
            let Some(new) = new else {
                continue;
            };
            let old = chunk.compressed(t.nblock, |_| ())?;
            edits.resized |= new.len() != old.len();
            if new.len() > span.len() {
                let start = header.cbytes + edits.appended.len();
                edits.starts.push(Edit {
                    at: header.overhead() + 4 * t.nblock,
                    len: 4,
                    new: Buffer::transient_copy(&(start as i32).to_le_bytes())?,
                })?;
                edits.old_starts.push(span.start)?;
                edits.new_starts.push(start)?;
                edits.appended.extend(new)?;
                continue;
            }
            let smaller = new.len() < old.len();
            if smaller && span.len() - new.len() > new.len().max(WASTE) {
                return Ok(None);
            }
            let range = if new.len() == old.len() {
                difference(new, old)
            } else {
                0..new.len()
            };
            if !range.is_empty() {
                edits.overwrites.push(Edit {
                    at: span.start + range.start,
                    len: range.len(),
                    new: Buffer::transient_copy(&new[range])?,
                })?;
            }
        }
        sort(&mut edits.old_starts);
        Ok(Some(edits))
    }

    /// How many checksums the chunk has.
    fn sums(&self) -> usize {
        match self.header.has_checksums() {
            true => self.header.nblocks,
            false => 0,
        }
    }

    /// Whether the table of checksums keeps its layout if the chunk gets `cbytes` bytes.
    fn keeps_layout(&self, cbytes: usize) -> bool {
        let grown = ChunkHeader {
            cbytes,
            ..*self.header
        };
        !self.header.has_checksums() || TableLayout::of(&grown) == TableLayout::of(self.header)
    }

    /// Adds the edits of the checksums. `edits` must hold those of header and block starts, which
    /// the checksum of the front covers.
    fn add_checksums(
        &self,
        touched: &[Touched],
        changed: &[Option<Buffer>],
        edits: &mut TryVec<Edit>,
    ) -> Result<()> {
        let changed = touched.iter().zip(changed);
        let changed = changed.filter_map(|(t, new)| Some((t.nblock, new.as_ref()?)));
        let Some((first, _)) = changed.clone().next() else {
            return Ok(());
        };
        let layout = TableLayout::of(self.header);
        let prefix = self.prefix();
        let begin = layout.place(first).start;
        let from = checksums_at(self.header) + begin;
        let mut tail = Buffer::copy_of(&prefix[from..])?;
        let place = |nblock| {
            let place = layout.place(nblock);
            place.start - begin..place.end - begin
        };
        for (nblock, new) in changed.clone() {
            layout.sum_block(&mut tail[place(nblock)], new);
        }
        if let Some((sums, sum)) = tail.split_last_chunk_mut() {
            let crc = match edits.is_empty() {
                true => {
                    let was = &prefix[from..prefix.len() - sum.len()];
                    u32::from_le_bytes(*sum) ^ checksum::difference(was, sums)
                }
                false => {
                    let mut head = prefix[..from].to_try_vec()?;
                    for edit in edits.iter() {
                        head[edit.at..][..edit.len].copy_from_slice(&edit.new);
                    }
                    checksum::extended(checksum::crc32c(&head), sums)
                }
            };
            *sum = crc.to_le_bytes();
        }
        push_edits(edits, from, tail, changed.map(|(nblock, _)| place(nblock)))
    }
}

/// If the table of checksums has at most this many bytes from the first change to its end, these
/// become one edit. In a file each edit costs two system calls.
const ONE_PIECE: usize = 1024;

/// Adds edits for the changed ranges `places`, ascending, of `tail`, the end of a table of
/// checksums, and for the checksum of the front at its end. `tail` is at `at` in the chunk.
pub(in super::super) fn push_edits(
    edits: &mut TryVec<Edit>,
    at: usize,
    tail: Buffer,
    places: impl Iterator<Item = Range<usize>>,
) -> Result<()> {
    let edit = |at: usize, new: Buffer| Edit {
        at,
        len: new.len(),
        new,
    };
    if tail.len() <= ONE_PIECE {
        return edits.push(edit(at, tail));
    }
    let sum = tail.len() - 4..tail.len();
    for place in places.chain(std::iter::once(sum)) {
        edits.push(edit(
            at + place.start,
            Buffer::transient_copy(&tail[place])?,
        ))?;
    }
    Ok(())
}
