//! Changes data that are stored uncompressed.

use super::{DataChange, PatchMode, Patched, Patcher, Touched, part_of};
use crate::Chunk;
use crate::checksum::{Checksums, PAGE, TableLayout, crc32c, difference, shifted};
use crate::header::ChunkHeader;
use crate::in_place::{PatchTarget, blocksize_of, checksums_at, push_edits};
use crate::streams::difference as changed_range;
use oxiblosc_base::memory::sort::sort_by_key;
use oxiblosc_base::memory::{Buffer, Collect, Edit, ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};

impl Patcher<'_> {
    /// Changes a chunk whose data are stored uncompressed.
    pub(super) fn patch_stored(
        &self,
        touched: &[Touched],
        change: &DataChange,
        mode: PatchMode,
    ) -> Result<Patched> {
        let header = self.chunk.header();
        let blocksize = header.blocksize_field();
        let edit = |(i, t): (usize, &Touched)| -> Result<Option<Edit>> {
            let from = header.overhead() + t.nblock * blocksize;
            let old = match mode {
                PatchMode::InPlace(target) => target.block(i),
                _ => &self.chunk.bytes()[from..header.cbytes.min(from + blocksize)],
            };
            let (at, new, kept);
            match *change {
                DataChange::Bytes { start, new: bytes } => {
                    (at, new) = part_of(start, bytes, t.nblock * blocksize, old.len());
                }
                DataChange::Blocks(change) => {
                    let mut block = old.to_try_vec()?;
                    change(t.nblock, &mut block);
                    kept = block;
                    (at, new) = (0, &kept[..]);
                }
            }
            let range = changed_range(new, &old[at..at + new.len()]);
            if range.is_empty() {
                return Ok(None);
            }
            Ok(Some(Edit {
                at: from + at + range.start,
                len: range.len(),
                new: Buffer::transient_copy(&new[range])?,
            }))
        };
        let edits = touched.iter().enumerate().map(edit);
        let edits = edits.filter_map(Result::transpose).try_collect_vec()?;
        let mut bytes = match mode {
            PatchMode::Edits => return Ok(Patched::Edits(edits)),
            PatchMode::InPlace(target) if target.may_overwrite(&edits) => {
                return Ok(Patched::Edits(edits));
            }
            PatchMode::InPlace(target) => target.whole()?.ok_or(Error::FAILURE)?,
            PatchMode::Whole => Buffer::copy_of(self.chunk.bytes())?,
        };
        bytes.edit(&edits)?;
        Ok(Patched::Whole(bytes))
    }

    /// Overwrites the data from `start` on with `new` in a chunk of stored streams with checksums
    /// of pages; only the changed pages are checked. None if the chunk or a touched block is of
    /// another kind. The blocks stay stored, even if the new data would compress.
    pub(super) fn patch_pages(
        &self,
        touched: &[Touched],
        (start, new): (usize, &[u8]),
        mode: PatchMode,
    ) -> Result<Option<Patched>> {
        let (Some(stored), Some(first)) = (StoredPages::new(self.chunk, mode)?, touched.first())
        else {
            return Ok(None);
        };
        let (header, layout) = (stored.header, TableLayout::of(stored.header));
        let blocksize = header.blocksize_field();
        let (table, prefix) = (checksums_at(header), stored.prefix);
        let first_page = (start - first.nblock * blocksize) / PAGE;
        let from = table + layout.page_place(first.nblock, first_page);
        let mut tail = Buffer::copy_of(&prefix[from..])?;
        let (mut changed, mut data_edits) = (0, TryVec::new());
        for (i, t) in touched.iter().enumerate() {
            let bsize = blocksize_of(header, t.nblock);
            let (begin, new) = part_of(start, new, t.nblock * blocksize, bsize);
            let Some((place, data)) = stored.data(i, t.nblock, bsize) else {
                return Ok(None);
            };
            let range = changed_range(new, &data[begin..begin + new.len()]);
            let at = table + layout.page_place(t.nblock, begin / PAGE) - from;
            let count = stored.sum_pages((t.nblock, data), (begin, new), &mut tail[at..])?;
            changed = at + 4 * count;
            if !range.is_empty() {
                data_edits.push(Edit {
                    at: place + begin + range.start,
                    len: range.len(),
                    new: Buffer::transient_copy(&new[range])?,
                })?;
            }
        }
        if data_edits.is_empty() && prefix[from..].starts_with(&tail[..changed]) {
            return Ok(Some(Patched::Edits(data_edits)));
        }
        let sums = difference(&prefix[from..from + changed], &tail[..changed]);
        if let Some((before, sum)) = tail.split_last_chunk_mut() {
            let behind = before.len() - changed;
            *sum = (u32::from_le_bytes(*sum) ^ shifted(sums, behind)).to_le_bytes();
        }
        let mut edits = TryVec::new();
        push_edits(&mut edits, from, tail, std::iter::once(0..changed))?;
        sort_by_key(&mut data_edits, |edit| edit.at);
        edits.extend(data_edits)?;
        let fits = stored
            .target
            .is_none_or(|target| target.may_overwrite(&edits));
        Ok(fits.then_some(Patched::Edits(edits)))
    }
}

/// A chunk of stored streams with checksums of pages, some of which are to be changed.
struct StoredPages<'a> {
    header: &'a ChunkHeader,
    chunk: &'a Chunk<'a>,
    /// The target, if the chunk is in a file.
    target: Option<&'a PatchTarget<'a>>,
    /// If the chunk is in memory: where the data of the first block begin, and the distance from
    /// block to block.
    places: (usize, usize),
    prefix: &'a [u8],
    sums: Checksums<'a>,
}

impl<'a> StoredPages<'a> {
    /// None for other chunks.
    fn new(chunk: &'a Chunk<'a>, mode: PatchMode<'a>) -> Result<Option<Self>> {
        let (header, target, places) = match mode {
            PatchMode::InPlace(target) => (target.header(), Some(target), Some((0, 0))),
            PatchMode::Edits => (chunk.header(), None, chunk.stored_places()),
            PatchMode::Whole => return Ok(None),
        };
        let layout = TableLayout::of(header);
        let Some(places) = places.filter(|_| header.has_checksums() && layout.has_pages()) else {
            return Ok(None);
        };
        let prefix = match target {
            Some(target) => target.prefix(),
            None => &chunk.bytes()[..checksums_at(header) + layout.table_len()],
        };
        Ok(Some(Self {
            header,
            chunk,
            target,
            places,
            prefix,
            sums: Checksums::in_checked_prefix(prefix, header)?,
        }))
    }

    /// The offset in the chunk of the data of block `nblock`, the `i`th touched one, and the data.
    /// None if the block is not stored.
    fn data(&self, i: usize, nblock: usize, bsize: usize) -> Option<(usize, &[u8])> {
        let (place, bytes) = match self.target {
            Some(target) => {
                let (place, capacity) = target.block_at(i);
                (place + 4, capacity.get(4..)?)
            }
            None => {
                let place = self.places.0 + nblock * self.places.1;
                (place, self.chunk.bytes().get(place..)?)
            }
        };
        let is_stored = self.sums.is_stored(nblock, bsize);
        Some((place, bytes.get(..bsize).filter(|_| is_stored)?))
    }

    /// Updates the checksums `sums` of the pages that change when `new` is written at `begin` in
    /// the data of a block. Pages of which a part stays are checked first. Returns the number of
    /// pages.
    ///
    /// The checksum of a partly changed page is computed from its old checksum and the changed
    /// bytes. So if a byte of the page was damaged after the check, the new checksum does not match
    /// the page either.
    fn sum_pages(
        &self,
        (nblock, data): (usize, &[u8]),
        (begin, new): (usize, &[u8]),
        sums: &mut [u8],
    ) -> Result<usize> {
        let end = begin + new.len();
        let pages = begin / PAGE..end.div_ceil(PAGE);
        for (page, sum) in pages.clone().zip(sums.as_chunks_mut().0) {
            let (first, behind) = (page * PAGE, data.len().min((page + 1) * PAGE));
            let (from, to) = (begin.max(first), end.min(behind));
            let new = &new[from - begin..to - begin];
            let crc = if (from, to) == (first, behind) {
                crc32c(new)
            } else {
                self.chunk.check_stored(nblock, data.len());
                if !self.chunk.was_checked(nblock) {
                    self.sums.check_part(nblock, page, &data[first..behind])?;
                }
                let changed = difference(&data[from..to], new);
                u32::from_le_bytes(*sum) ^ shifted(changed, behind - to)
            };
            *sum = crc.to_le_bytes();
        }
        Ok(pages.len())
    }
}
