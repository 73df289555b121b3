//! Changes after which a frame is compact: header, chunks, compressed index and trailer, one behind
//! the other.

use super::Disk;
use super::commit::{EncodedMetadata, Writes};
use super::compact::{ClosedHoles, follow};
use super::edit::ChunkChange;
use super::image::Image;
use super::positions::allocate_each;
use crate::binding::Binding;
use crate::fingerprint;
use crate::free_list::FreeList;
use crate::header::FrameKind;
use crate::offsets::Offsets;
use oxiblosc_base::Result;
use oxiblosc_base::memory::sort::sort_by_key;
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_io::Storage;

impl Disk {
    /// Applies a change and makes the frame compact, with at most `holes` free bytes between its
    /// chunks. An empty frame must always be compact, since the reference expects its trailer right
    /// behind the header.
    pub(super) fn rewrite(
        &mut self,
        file: &dyn Storage,
        chunk_change: ChunkChange,
        next: EncodedMetadata,
        holes: u64,
    ) -> Result<()> {
        let ChunkChange { change, leaves, .. } = chunk_change;
        let chunks = chunk_change.new_chunks()?;
        let mut free = FreeList::default();
        let positions = match self.location.kind {
            FrameKind::Contiguous => {
                let stays = change.count(self.view.offsets.len()) > 0
                    && change.keeps_stored(&self.view.offsets);
                if stays {
                    free = self.free_list().try_clone()?;
                }
                for (pos, len) in leaves.iter().filter(|_| stays) {
                    free.free(*pos, *len);
                }
                let positions = allocate_each(&mut free, &chunks, u64::MAX, &[])?;
                free.commit();
                positions
            }
            FrameKind::Sparse => self.write_chunk_files(&chunks, next.cbytes)?,
        };
        let added = (&chunks[..], &positions[..]);
        let chunk_change = ChunkChange {
            binding: self.binding_after(chunk_change, added),
            ..chunk_change
        };
        let done = self.rewrite_around(file, chunk_change, next, added, (free, holes));
        done.inspect_err(|_| self.discard_files(&positions))?;
        self.drop_left(leaves);
        Ok(())
    }

    /// Writes the frame with these chunks at these places. `free` is the free list after the
    /// change; if it has more than `holes` bytes, holes are closed.
    fn rewrite_around(
        &mut self,
        file: &dyn Storage,
        ChunkChange {
            change,
            specials,
            leaves,
            mut binding,
        }: ChunkChange,
        next: EncodedMetadata,
        (chunks, positions): (&[EncodedChunk], &[u64]),
        (mut free, holes): (FreeList, u64),
    ) -> Result<()> {
        let mut offsets = self.view.offsets.try_clone()?;
        let delta = self.delta(change, specials, positions)?;
        delta.apply(&mut offsets)?;
        let header_len = next.header.len() as u64;
        let mut parts: TryVec<(u64, &[u8])> = TryVec::new();
        let edits = self.edited(change, None)?;
        let loose = edits.iter().map(|write| write.chunk).collect_vec()?;
        let mut tight = ClosedHoles::default();
        if self.location.kind == FrameKind::Contiguous {
            let added = chunks.iter().zip(positions);
            parts.extend(added.map(|(chunk, pos)| (*pos, chunk.bytes)))?;
            parts.extend(edits.iter().map(|write| (write.pos(), write.bytes)))?;
            if free.free_bytes() > holes
                && let Some(closed) = self.tighten(file, &mut free, &mut offsets, &parts)?
            {
                tight = closed;
                binding = binding.and_then(|binding| tight.bind(binding));
                parts.retain(|(pos, _)| *pos < tight.first);
                parts.push((tight.first, &tight.bytes))?;
            }
        }
        let image = self.image_of(next, &offsets, free.end(), binding)?;
        let mut writes = Writes {
            header: image.header,
            ..Writes::default()
        };
        parts.push((image.body_pos - header_len, &image.body))?;
        sort_by_key(&mut parts, |(pos, _)| *pos);
        for (pos, new) in parts {
            let was_free = self.free_list().is_hole(pos, new.len() as u64);
            let pos = header_len + pos;
            match was_free && header_len == self.view.header.len() as u64 {
                true => writes.dead.push((pos, new))?,
                false => writes.over(pos, new)?,
            }
        }
        self.write(file, writes)?;
        self.view.trailer_len = image.trailer_len;
        self.view.tail = image.body;
        self.view.offsets = offsets;
        self.view.capacity = None;
        self.view.offsets_crc = None;
        self.view.binding = binding;
        self.view.has_gap = false;
        if let Some(space) = &mut self.space {
            space.free = free;
            space.note(leaves, positions, &loose);
            if !tight.moved.is_empty() {
                space.note_moves(|pos| follow(&tight.moved, pos));
            }
        }
        Ok(())
    }

    /// Header, index and trailer of the compact frame, whose chunks end at `end`.
    fn image_of(
        &self,
        next: EncodedMetadata,
        offsets: &Offsets,
        end: u64,
        binding: Option<Binding>,
    ) -> Result<Image> {
        let before = self.view.trailer();
        let trailer = next.trailer.as_deref().unwrap_or(before);
        let is_other = *offsets != self.view.offsets
            || fingerprint::without(trailer) != fingerprint::without(before);
        let (data_len, cbytes) = match self.location.kind {
            FrameKind::Contiguous => (end, end),
            FrameKind::Sparse => (0, next.cbytes),
        };
        let mut image = Image::new(next.header, trailer, offsets, data_len, cbytes)?;
        let stamp = self.view.next_stamp();
        image.write_fingerprint(self.view.checksums, binding, stamp);
        if is_other && image.header == self.view.header && !offsets.is_empty() {
            // Handles of the reference notice a change by the frame's length only. So a change that
            // would keep the length adds a byte. Closing the frame does not remove it, since the
            // length would then be the old one again; the next change does.
            image.lengthen()?;
            image.write_fingerprint(self.view.checksums, binding, stamp);
        }
        Ok(image)
    }
}
