//! A stream and its data among other bytes. What copies in steps need not stop short of an end where more bytes follow.

/// A stream at the front of bytes. Those behind it may be read; they change nothing.
#[derive(Clone, Copy, Debug)]
pub struct Packed<'a> {
    bytes: &'a [u8],
    len: usize,
}

impl<'a> Packed<'a> {
    /// The first `len` of `bytes`; none if there are less.
    #[inline(always)]
    pub fn new(bytes: &'a [u8], len: usize) -> Option<Self> {
        (len <= bytes.len()).then_some(Self { bytes, len })
    }

    /// The stream alone.
    #[inline(always)]
    pub fn alone(self) -> &'a [u8] {
        &self.bytes[..self.len]
    }

    /// All bytes, and how many of them are the stream.
    #[inline(always)]
    pub fn among(self) -> (&'a [u8], usize) {
        (self.bytes, self.len)
    }
}

impl<'a> From<&'a [u8]> for Packed<'a> {
    #[inline(always)]
    fn from(bytes: &'a [u8]) -> Self {
        let len = bytes.len();
        Self { bytes, len }
    }
}

/// Room for data at the front of bytes. Those behind it may be overwritten.
#[derive(Debug)]
pub struct Room<'a> {
    bytes: &'a mut [u8],
    len: usize,
}

impl<'a> Room<'a> {
    /// The first `len` of `bytes`; none if there are less.
    #[inline(always)]
    pub fn new(bytes: &'a mut [u8], len: usize) -> Option<Self> {
        (len <= bytes.len()).then_some(Self { bytes, len })
    }

    /// The same room, for a while.
    #[inline(always)]
    pub fn again(&mut self) -> Room<'_> {
        Room {
            bytes: self.bytes,
            len: self.len,
        }
    }

    /// Bytes of the data.
    #[inline(always)]
    pub fn size(&self) -> usize {
        self.len
    }

    /// Bytes behind the room.
    #[inline(always)]
    pub fn behind(&self) -> usize {
        self.bytes.len() - self.len
    }

    /// The room alone.
    #[inline(always)]
    pub fn alone(self) -> &'a mut [u8] {
        &mut self.bytes[..self.len]
    }

    /// All bytes, and how many of them are the room.
    #[inline(always)]
    pub fn among(self) -> (&'a mut [u8], usize) {
        (self.bytes, self.len)
    }
}

impl<'a> From<&'a mut [u8]> for Room<'a> {
    #[inline(always)]
    fn from(bytes: &'a mut [u8]) -> Self {
        let len = bytes.len();
        Self { bytes, len }
    }
}
