//! Changing data that are stored as they are.

use super::checksum::{self, Checksums, Layout, PAGE};
use super::encode_block::difference;
use super::in_place::{PatchTarget, blocksize_of, checksums_at};
use super::patch::{DataChange, PatchMode, Patched, Patcher, Touched, part_of};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::sort::sort_by_key;
use oxiblosc_memory::{Buffer, Collect, Edit, List, ToList};

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
                PatchMode::InPlace(target) => target.room(i),
                _ => &self.chunk.bytes()[from..header.cbytes.min(from + blocksize)],
            };
            let (at, new, kept);
            match *change {
                DataChange::Bytes { start, new: bytes } => {
                    (at, new) = part_of(start, bytes, t.nblock * blocksize, old.len());
                }
                DataChange::Blocks(change) => {
                    let mut block = old.to_list()?;
                    change(t.nblock, &mut block);
                    kept = block;
                    (at, new) = (0, &kept[..]);
                }
            }
            let range = difference(new, &old[at..at + new.len()]);
            if range.is_empty() {
                return Ok(None);
            }
            Ok(Some(Edit {
                at: from + at + range.start,
                len: range.len(),
                new: new[range].to_list()?,
            }))
        };
        let edits = touched.iter().enumerate().map(edit);
        let edits = edits.filter_map(Result::transpose).try_list()?;
        let mut bytes = match mode {
            PatchMode::Edits => return Ok(Patched::Edits(edits)),
            PatchMode::InPlace(target) if target.may_overwrite(&edits) => {
                return Ok(Patched::Edits(edits));
            }
            PatchMode::InPlace(target) => target.whole()?.ok_or(Error::Failure)?,
            PatchMode::Whole => Buffer::copy_of(self.chunk.bytes())?,
        };
        bytes.edit(&edits)?;
        Ok(Patched::Whole(bytes))
    }

    /// Writes `new` to `start` in the data of a chunk of stored streams whose checksums are of pages, and checks no other pages. None for
    /// other chunks and blocks. Like a stored chunk without checksums it stays stored.
    pub(super) fn patch_pages(
        &self,
        touched: &[Touched],
        (start, new): (usize, &[u8]),
        mode: PatchMode,
    ) -> Result<Option<Patched>> {
        let header = match mode {
            PatchMode::InPlace(target) => target.header(),
            PatchMode::Edits => self.chunk.header(),
            PatchMode::Whole => return Ok(None),
        };
        let layout = Layout::of(header);
        if !header.has_checksums() || !layout.has_pages() {
            return Ok(None);
        }
        let here;
        let target = match mode {
            PatchMode::InPlace(target) => target,
            _ => {
                let Some(target) = PatchTarget::of(self.chunk, touched)? else {
                    return Ok(None);
                };
                here = target;
                &here
            }
        };
        let sums = Checksums::in_checked_front(target.front(), header)?;
        let mut front = target.front().to_list()?;
        let table = checksums_at(header);
        let (mut edits, mut data_edits) = (List::new(), List::new());
        for (i, t) in touched.iter().enumerate() {
            let bsize = blocksize_of(header, t.nblock);
            let offset = t.nblock * header.blocksize_field();
            let (from, new) = part_of(start, new, offset, bsize);
            let to = from + new.len();
            if !sums.is_stored(t.nblock, bsize) {
                return Ok(None);
            }
            let (place, room) = target.room_at(i);
            let data = room.get(4..4 + bsize).ok_or(Error::Data)?;
            let first = from / PAGE;
            let pages = &data[first * PAGE..to.next_multiple_of(PAGE).min(bsize)];
            if !self.chunk.was_checked(t.nblock) {
                sums.check_part(t.nblock, first, pages)?;
            }
            let range = difference(new, &data[from..to]);
            if range.is_empty() {
                continue;
            }
            let mut pages = pages.to_list()?;
            pages[from - first * PAGE..][..new.len()].copy_from_slice(new);
            let at = table + layout.set_pages(&mut front[table..], t.nblock, first, &pages);
            let len = 4 * pages.len().div_ceil(PAGE);
            edits.push(Edit {
                at,
                len,
                new: front[at..at + len].to_list()?,
            })?;
            data_edits.push(Edit {
                at: place + 4 + from + range.start,
                len: range.len(),
                new: new[range].to_list()?,
            })?;
        }
        if edits.is_empty() {
            return Ok(Some(Patched::Edits(edits)));
        }
        checksum::seal(&mut front, table);
        let last = layout.front_place();
        edits.push(Edit {
            at: table + last.start,
            len: last.len(),
            new: front[table..][last].to_list()?,
        })?;
        sort_by_key(&mut data_edits, |edit| edit.at);
        edits.extend(data_edits)?;
        Ok(target
            .may_overwrite(&edits)
            .then_some(Patched::Edits(edits)))
    }
}
