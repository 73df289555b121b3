//! A chunk together with its header, so that nobody has to parse it again.

use super::header::ChunkHeader;
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::{Error, Result};

/// The bytes of a chunk, and what its header says.
#[derive(Clone, Copy, Debug)]
pub struct EncodedChunk<'a> {
    /// All of the chunk.
    pub bytes: &'a [u8],
    /// What stands at its front.
    pub header: ChunkHeader,
}

impl<'a> EncodedChunk<'a> {
    /// No chunk: what stands for one whose bytes are elsewhere.
    pub const NONE: EncodedChunk<'static> = EncodedChunk {
        bytes: &[],
        header: ChunkHeader::EMPTY,
    };

    /// The chunk at the front of `bytes`.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if it is cut short, as a lazy chunk is; those of its header.
    pub fn parse(bytes: &'a [u8]) -> Result<Self> {
        let header = ChunkHeader::parse(bytes)?;
        let bytes = bytes.get(..header.cbytes).ok_or(Error::INVALID_PARAM)?;
        Ok(Self { bytes, header })
    }

    /// The chunk that was just written to the front of `dest`, with this header.
    pub fn written(dest: &'a [u8], header: ChunkHeader) -> Self {
        let bytes = &dest[..header.cbytes];
        debug_assert_eq!(ChunkHeader::parse(bytes), Ok(header));
        Self { bytes, header }
    }
}

/// A chunk in a buffer of its own, and what its header says.
pub struct OwnedChunk {
    /// All of the chunk, and perhaps more.
    pub bytes: Buffer,
    /// What stands at its front.
    pub header: ChunkHeader,
}

impl OwnedChunk {
    /// The chunk at the front of `bytes`.
    ///
    /// # Errors
    /// As for [`EncodedChunk::parse`].
    pub fn parse(bytes: Buffer) -> Result<Self> {
        let header = EncodedChunk::parse(&bytes)?.header;
        Ok(Self { bytes, header })
    }

    /// The chunk. If its bytes were taken, it has none.
    pub fn encoded(&self) -> EncodedChunk<'_> {
        let bytes = self.bytes.get(..self.header.cbytes).unwrap_or_default();
        let header = self.header;
        EncodedChunk { bytes, header }
    }
}
