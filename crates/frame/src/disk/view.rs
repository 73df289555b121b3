//! What a handle knows of its frame: header, index and trailer as they were last read or written.

use crate::binding::Binding;
use crate::fingerprint::{self, ChecksumScope, Stamp};
use crate::header::Extent;
use crate::journal::{Overlay, Patch};
use crate::offsets::Offsets;
use crate::trailer;
use oxiblosc_base::memory::{Shared, TryVec};
use oxiblosc_io::Storage;

/// A frame as this handle knows it.
pub(super) struct FrameView {
    /// The bytes of the header on disk.
    pub(super) header: TryVec<u8>,
    pub(super) extent: Extent,
    /// The last bytes of the frame: the trailer, and before it the index if this handle wrote both
    /// at once.
    pub(super) tail: TryVec<u8>,
    /// The number of bytes of the trailer.
    pub(super) trailer_len: usize,
    pub(super) offsets: Offsets,
    /// The number of offsets for which there is room in the index; none if it is compressed.
    pub(super) capacity: Option<usize>,
    /// Whether there is free space between index and trailer, which closing the frame removes.
    pub(super) has_gap: bool,
    /// The bytes that an uncommitted change has overwritten, if the file has the record of one.
    pub(super) pending: Pending,
    /// Which checksums the frame has; see [`fingerprint`](crate::fingerprint).
    pub(super) checksums: ChecksumScope,
    /// The checksum of the offsets in an uncompressed index, if it is known.
    pub(super) offsets_crc: Option<u32>,
    /// What binds the chunks to their places, as the index has it. None if it is unknown.
    pub(super) binding: Option<Binding>,
    /// Whether all chunks have different places, if that was checked. It stays valid: no change
    /// gives two chunks the same place.
    pub(super) positions_distinct: Option<bool>,
}

impl FrameView {
    /// The trailer's bytes.
    pub(super) fn trailer(&self) -> &[u8] {
        &self.tail[self.tail.len() - self.trailer_len..]
    }

    /// The `len` bytes at `pos` of the frame, if the header or the tail has them in memory.
    pub(super) fn in_memory(&self, pos: u64, len: usize) -> Option<&[u8]> {
        let tail = self.extent.frame_len - self.tail.len() as u64;
        let (bytes, from) = match pos.checked_sub(tail) {
            Some(from) => (&self.tail, from),
            None => (&self.header, pos),
        };
        let from = usize::try_from(from).ok()?;
        bytes.get(from..from.checked_add(len)?)
    }

    /// The stamp of this state; none if another library has written it.
    pub(super) fn stamp(&self) -> Option<Stamp> {
        Stamp::of(self.trailer())
    }

    /// The stamp of the next change.
    pub(super) fn next_stamp(&self) -> Stamp {
        let is_new = || self.offsets.is_empty() && self.trailer_len == trailer::EMPTY_LEN;
        match self.stamp() {
            Some(stamp) => stamp.next(),
            None if is_new() => Stamp::default().next(),
            None => Stamp::random(),
        }
    }

    /// What tells this state of the frame from others, as it is on the disk: header and
    /// fingerprint, with their positions in the frame.
    pub(super) fn state_marks(&self) -> [(u64, &[u8]); 2] {
        let at = self.tail.len().saturating_sub(fingerprint::LEN);
        let fingerprint = &self.tail[at..];
        let end = self.extent.frame_len;
        [
            (0, &self.header),
            (end.saturating_sub(fingerprint.len() as u64), fingerprint),
        ]
    }

    /// Drops the index from the tail, after a change that may have moved it.
    pub(super) fn forget_index(&mut self) {
        let index = self.tail.len() - self.trailer_len;
        self.tail.drain(..index);
    }
}

/// See [`FrameView::pending`].
pub(super) type Pending = Option<Shared<Overlay>>;

pub(super) fn patches(pending: &Pending) -> &[Patch] {
    pending.as_ref().map_or(&[], |pending| &pending.patches[..])
}

/// Whether the record of the pending change, if there was one, is still there.
pub(super) fn is_there(pending: &Pending, file: &dyn Storage) -> bool {
    pending.as_ref().is_none_or(|pending| pending.is_in(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A frame of 100 bytes: a header of 4 bytes, and at its end an index of 6 and a trailer.
    fn view(trailer: &[u8]) -> FrameView {
        let tail = [b"index.", trailer].concat();
        FrameView {
            header: b"head".to_vec().into(),
            extent: Extent {
                header_len: 4,
                frame_len: 100,
                cbytes: 0,
            },
            tail: tail.into(),
            trailer_len: trailer.len(),
            offsets: Offsets::EMPTY,
            capacity: None,
            has_gap: false,
            pending: None,
            checksums: ChecksumScope::None,
            offsets_crc: None,
            binding: None,
            positions_distinct: None,
        }
    }

    #[test]
    fn what_is_in_memory_is_the_header_and_the_tail() {
        let mut view = view(b"trailer, of 20 bytes");
        assert_eq!(view.in_memory(1, 3), Some(&b"ead"[..]));
        assert_eq!(view.in_memory(0, 5), None);
        assert_eq!(view.in_memory(50, 1), None);
        assert_eq!(view.in_memory(74, 8), Some(&b"index.tr"[..]));
        assert_eq!(view.in_memory(80, 21), None);
        view.forget_index();
        assert_eq!(view.in_memory(74, 8), None);
        assert_eq!(view.in_memory(80, 7), Some(&b"trailer"[..]));
        let [header, fingerprint] = view.state_marks();
        assert_eq!(header, (0, &b"head"[..]));
        let from = 100 - fingerprint::LEN;
        assert_eq!(fingerprint, (from as u64, &view.trailer()[from - 80..]));
    }

    #[test]
    fn each_change_has_a_stamp_of_its_own() {
        let mut trailer = trailer::encode(&[]).expect("memory");
        let new = view(&trailer).next_stamp();
        assert_eq!(new, Stamp::default().next());
        let header = &mut [0; 100];
        fingerprint::write(ChecksumScope::None, None, Some(new), header, &mut trailer);
        assert_eq!(view(&trailer).next_stamp(), new.next());
        let other = |view: FrameView| view.next_stamp();
        let changed = b"a trailer that another library has written";
        assert_ne!(other(view(changed)), other(view(changed)));
    }
}
