//! Header, index and trailer of a compact frame.

use crate::binding::Binding;
use crate::fingerprint::{self, ChecksumScope, Stamp};
use crate::header::{Extent, set_extent};
use crate::offsets::Offsets;
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;

/// A compact frame without its chunks.
pub struct Image {
    /// The header.
    pub header: TryVec<u8>,
    /// Index and trailer.
    pub body: TryVec<u8>,
    /// Where they begin, in bytes from the start of the frame.
    pub body_pos: u64,
    /// Bytes of the trailer, which is the end of the body.
    pub trailer_len: usize,
    /// Bytes of the index, which is the start of the body; 0 if there is none.
    index_len: usize,
}

impl Image {
    /// Assembles a frame from a header, by [`Header::encode`](crate::header::Header::encode), and a
    /// trailer. The body begins `data_len` bytes behind the header: between them are the chunks,
    /// unless they have files of their own. `cbytes` is described at [`Extent::cbytes`].
    ///
    /// # Errors
    /// Those of [`Offsets::encode`]; [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn new(
        mut header: TryVec<u8>,
        trailer: &[u8],
        offsets: &Offsets,
        data_len: u64,
        cbytes: u64,
    ) -> Result<Self> {
        let mut body = if offsets.is_empty() {
            TryVec::new()
        } else {
            offsets.encode()?
        };
        let index_len = body.len();
        body.extend_from_slice(trailer)?;
        let body_pos = header.len() as u64 + data_len;
        set_extent(&mut header, body_pos + body.len() as u64, cbytes);
        Ok(Self {
            header,
            body,
            body_pos,
            trailer_len: trailer.len(),
            index_len,
        })
    }

    /// Writes the fingerprint, and what binds the chunks to their places.
    pub fn write_fingerprint(
        &mut self,
        checksums: ChecksumScope,
        binding: Option<Binding>,
        stamp: Stamp,
    ) {
        let end = self.body.len() - self.trailer_len;
        let (before, trailer) = self.body.split_at_mut(end);
        let index = &mut before[..self.index_len];
        Binding::write(binding, index);
        let index_crc = checksums.is_any().then(|| fingerprint::of_index(index));
        let stamp = Some(stamp);
        fingerprint::write(checksums, index_crc, stamp, &mut self.header, trailer);
    }

    /// Makes the frame one byte longer, with a free byte before the trailer.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn lengthen(&mut self) -> Result<()> {
        let cbytes = Extent::parse(&self.header)?.cbytes;
        self.body.insert(self.body.len() - self.trailer_len, 0)?;
        let frame_len = self.frame_len();
        set_extent(&mut self.header, frame_len, cbytes);
        Ok(())
    }

    /// Bytes of the frame.
    pub fn frame_len(&self) -> u64 {
        self.body_pos + self.body.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tests::empty_header;
    use crate::trailer;

    /// A longer frame has the same trailer at its end, and its header says where that is.
    #[test]
    fn a_frame_grows_before_its_trailer() {
        let header = empty_header();
        let trailer = trailer::encode(&[]).expect("memory");
        let offsets = Offsets::List(vec![0, 40].into());
        let mut image = Image::new(header, &trailer, &offsets, 80, 80).expect("memory");
        let len = image.frame_len();
        assert_eq!(image.body_pos, image.header.len() as u64 + 80);
        image.lengthen().expect("memory");
        let extent = Extent::parse(&image.header).expect("a header");
        assert_eq!((extent.frame_len, extent.cbytes), (len + 1, 80));
        assert_eq!(image.frame_len(), len + 1);
        assert!(image.body.ends_with(&trailer));
    }
}
