//! Deflate, the format of zlib's streams (RFC 1951): the compressor.

mod bits;
mod block;
mod code;
mod finder;
mod parse;

use bits::Bits;
use block::{Block, SYMBOLS};
use finder::Finder;

use oxiblosc_error::Result;

/// What is kept between streams.
pub(super) struct Deflater {
    finder: Finder,
    block: Block,
}

/// A stream that is being written: blocks for one stretch of `src` after the other.
pub(super) struct Stream<'a> {
    finder: &'a mut Finder,
    block: &'a mut Block,
    bits: Bits<'a>,
    src: &'a [u8],
    clevel: u8,
    /// What lies before it is written,
    at: usize,
    /// or entered.
    entered: usize,
}

impl Deflater {
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub(super) fn new() -> Result<Self> {
        Ok(Deflater {
            finder: Finder::new()?,
            block: Block::new()?,
        })
    }

    /// Begins a stream at a level, of `src` into `dst`.
    pub(super) fn stream<'a>(
        &'a mut self,
        clevel: u8,
        src: &'a [u8],
        dst: &'a mut [u8],
    ) -> Stream<'a> {
        self.finder
            .start(src.len(), clevel <= parse::QUICK, clevel >= parse::THREE);
        self.block.clear();
        Stream {
            finder: &mut self.finder,
            block: &mut self.block,
            bits: Bits::new(dst),
            src,
            clevel,
            at: 0,
            entered: 0,
        }
    }
}

impl Stream<'_> {
    /// The next bytes, so many, and those behind them.
    fn next(&mut self, len: usize) -> (usize, usize, bool) {
        let (at, end) = (self.at, self.at + len);
        self.at = end;
        (at, end, end == self.src.len())
    }

    /// The next `len` bytes as they are; none where there is no room for them, here and below.
    pub(super) fn store(&mut self, len: usize) -> Option<()> {
        let (at, end, last) = self.next(len);
        block::store(&mut self.bits, &self.src[at..end], last)
    }

    /// The next `len` bytes in codes for single bytes.
    pub(super) fn code(&mut self, len: usize) -> Option<()> {
        let (at, end, last) = self.next(len);
        let mut rest = &self.src[at..end];
        loop {
            let (bytes, behind) = rest.split_at(rest.len().min(SYMBOLS));
            for (i, byte) in bytes.iter().enumerate() {
                self.block.literal(i, *byte);
            }
            let last = last && behind.is_empty();
            self.block.write(&mut self.bits, bytes.len(), bytes, last)?;
            rest = behind;
            if rest.is_empty() {
                return Some(());
            }
        }
    }

    /// Fills up the last byte; how many were written.
    pub(super) fn finish(mut self) -> Option<usize> {
        self.bits.align()?;
        Some(self.bits.written())
    }
}

#[cfg(test)]
mod tests;
