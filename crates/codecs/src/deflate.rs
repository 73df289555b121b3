//! The deflate compressor (RFC 1951), which writes the body of zlib streams.

mod bits;
mod block;
mod code;
mod code_table;
mod finder;
mod header;
mod levels;
mod match3;
mod parse;
mod skips;
mod symbols;
mod tables;
mod window;

use bits::BitWriter;
use block::{Block, MAX_SYMBOLS};

pub(super) use levels::BLOSC1_EFFORT;
use oxiblosc_base::Result;
use tables::HashTables;

/// The tables and buffers of a compressor, reused from stream to stream.
pub(super) struct Deflater {
    tables: HashTables,
    block: Block,
}

/// A stream that is being written. Each call writes the blocks of the next stretch of `src`.
pub(super) struct DeflateStream<'a> {
    tables: &'a mut HashTables,
    block: &'a mut Block,
    bits: BitWriter<'a>,
    src: &'a [u8],
    clevel: u8,
    /// All bytes of `src` before it are written.
    at: usize,
    /// All positions before it are in the hash tables, or need not be.
    inserted: usize,
}

impl Deflater {
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub(super) fn new() -> Result<Self> {
        Ok(Deflater {
            tables: HashTables::new()?,
            block: Block::new()?,
        })
    }

    /// Begins to compress `src` into `dst`.
    pub(super) fn stream<'a>(
        &'a mut self,
        clevel: u8,
        src: &'a [u8],
        dst: &'a mut [u8],
    ) -> DeflateStream<'a> {
        let quick = clevel <= levels::QUICK_LEVEL;
        self.tables
            .start(src.len(), quick, levels::buckets_shift(clevel));
        self.block.clear();
        DeflateStream {
            tables: &mut self.tables,
            block: &mut self.block,
            bits: BitWriter::new(dst),
            src,
            clevel,
            at: 0,
            inserted: 0,
        }
    }
}

impl DeflateStream<'_> {
    /// Advances by `len` bytes. Returns where they begin and end, and whether they are the last of
    /// `src`.
    fn advance(&mut self, len: usize) -> (usize, usize, bool) {
        let (at, end) = (self.at, self.at + len);
        self.at = end;
        (at, end, end == self.src.len())
    }

    /// Writes the next `len` bytes as stored blocks. `None` if they do not fit, here and below.
    pub(super) fn store(&mut self, len: usize) -> Option<()> {
        let (at, end, last) = self.advance(len);
        block::store(&mut self.bits, &self.src[at..end], last)
    }

    /// Writes the next `len` bytes as literals with Huffman codes, without a search for matches.
    pub(super) fn huffman_only(&mut self, len: usize) -> Option<()> {
        let (at, end, last) = self.advance(len);
        let mut rest = &self.src[at..end];
        loop {
            let (bytes, behind) = rest.split_at(rest.len().min(MAX_SYMBOLS));
            let last = last && behind.is_empty();
            for (i, byte) in bytes.iter().enumerate() {
                self.block.push_literal(i, *byte);
            }
            self.block.write(&mut self.bits, bytes.len(), bytes, last)?;
            rest = behind;
            if rest.is_empty() {
                return Some(());
            }
        }
    }

    /// Pads the last byte. Returns the number of bytes written.
    pub(super) fn finish(mut self) -> Option<usize> {
        self.bits.align()?;
        Some(self.bits.written())
    }
}

#[cfg(test)]
mod tests;
