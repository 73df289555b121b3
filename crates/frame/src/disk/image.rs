//! Header, index and trailer of a frame as the format's documents show them: one behind the other.

use crate::fingerprint::{self, ChecksumScope};
use crate::header::{Extent, set_extent};
use crate::offsets::Offsets;
use oxiblosc_error::Result;
use oxiblosc_memory::List;

/// A frame in the layout of the format's documents, without its chunks.
pub struct Image {
    /// The header.
    pub header: List<u8>,
    /// Index and trailer.
    pub body: List<u8>,
    /// Where they begin.
    pub body_pos: u64,
    /// Bytes of the trailer, at the end of the body.
    pub trailer_len: usize,
    /// Bytes of the index, at the front of the body.
    index_len: usize,
}

impl Image {
    /// Puts a frame together, of a header from [`Header::encode`](crate::header::Header::encode) and a trailer. The body begins `data_len`
    /// bytes behind the header: the chunks lie there, unless they are in files of their own.
    pub fn new(
        mut header: List<u8>,
        trailer: &[u8],
        offsets: &Offsets,
        data_len: u64,
        cbytes: u64,
    ) -> Result<Self> {
        let mut body = if offsets.is_empty() {
            List::new()
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

    /// Writes checksums of all parts, or takes them out.
    pub fn stamp(&mut self, checksums: ChecksumScope) {
        let end = self.body.len() - self.trailer_len;
        let (front, trailer) = self.body.split_at_mut(end);
        let index = &front[..self.index_len];
        let index_crc = checksums.is_any().then(|| fingerprint::of_index(index));
        fingerprint::stamp(checksums, index_crc, &mut self.header, trailer);
    }

    /// Leaves one byte free before the trailer.
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
