//! Sources and destinations with padding behind them.
//!
//! Decoders copy in fixed steps, which may read or write past the end of what is copied. Bytes
//! behind a stream or behind its data that belong to the caller, such as those of the next stream
//! of the block, serve as padding: then fewer copies have to be exact, which is slower.

/// With so many bytes of padding behind the data their end is decoded as fast as the rest.
pub const PADDING: usize = 64;

/// A compressed stream, followed by padding: bytes that a decoder may read, but on which its result
/// does not depend.
#[derive(Clone, Copy, Debug)]
pub struct PaddedSrc<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> PaddedSrc<'a> {
    /// A stream of the first `len` bytes; the rest is padding. `None` if there are fewer than `len`
    /// bytes.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], len: usize) -> Option<Self> {
        (len <= bytes.len()).then_some(Self { bytes, len })
    }

    /// The stream without its padding.
    #[inline(always)]
    pub fn exact(self) -> &'a [u8] {
        &self.bytes[..self.len]
    }

    /// The stream with its padding, and the length of the stream, which is at most that of the
    /// slice.
    #[inline(always)]
    pub fn with_padding(self) -> (&'a [u8], usize) {
        (self.bytes, self.len)
    }
}

impl<'a> From<&'a [u8]> for PaddedSrc<'a> {
    /// A stream without padding.
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        let len = bytes.len();
        Self { bytes, len }
    }
}

/// The destination of decompressed data, followed by padding: bytes that a decoder may overwrite.
#[derive(Debug)]
pub struct PaddedDst<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> PaddedDst<'a> {
    /// A destination of the first `len` bytes; the rest is padding. `None` if there are fewer than
    /// `len` bytes.
    #[inline(always)]
    pub fn new(bytes: &'a mut [u8], len: usize) -> Option<Self> {
        (len <= bytes.len()).then_some(Self { bytes, len })
    }

    /// The same destination, borrowed for a shorter time.
    #[inline(always)]
    pub fn reborrow(&mut self) -> PaddedDst<'_> {
        PaddedDst {
            bytes: self.bytes,
            len: self.len,
        }
    }

    /// Length in bytes, without the padding.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.len
    }

    /// Length of the padding in bytes.
    #[inline(always)]
    pub fn padding(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// The destination without its padding.
    #[inline(always)]
    pub fn exact(self) -> &'a mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// The destination with its padding, and its length without it, which is at most that of the
    /// slice.
    #[inline(always)]
    pub fn with_padding(self) -> (&'a mut [u8], usize) {
        (self.bytes, self.len)
    }
}

impl<'a> From<&'a mut [u8]> for PaddedDst<'a> {
    /// A destination without padding.
    #[inline(always)]
    fn from(bytes: &'a mut [u8]) -> Self {
        let len = bytes.len();
        Self { bytes, len }
    }
}
