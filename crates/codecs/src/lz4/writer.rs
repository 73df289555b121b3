//! Writes the stream of LZ4HC. It gives up for lack of room exactly where the LZ4 library does, by
//! the same margins.

use super::format::{LAST_LITERALS, MIN_MATCH};
use super::sequence::{
    Sequence, extra_bytes, put_fitting_sequence, put_last_literals, put_sequence_unchecked,
};
use crate::unchecked::UncheckedDst;
use core::hint::cold_path;

/// A match: the `len` bytes at `start` are those at `start - distance`.
#[derive(Clone, Copy)]
pub(super) struct Match {
    pub(super) start: usize,
    pub(super) len: usize,
    pub(super) distance: usize,
}

impl Match {
    pub(super) fn end(&self) -> usize {
        self.start + self.len
    }
}

/// A stream that is being written.
pub(super) struct Writer<'a> {
    src: &'a [u8],
    dst: UncheckedDst<'a>,
    /// Where the next sequence is written.
    out: usize,
    /// All data before it are written.
    anchor: usize,
}

impl<'a> Writer<'a> {
    /// A stream of the data in `src` from `start` on.
    pub(super) fn new(src: &'a [u8], start: usize, dst: &'a mut [u8]) -> Self {
        Writer {
            src,
            dst: UncheckedDst::new(dst),
            out: 0,
            anchor: start,
        }
    }

    /// All data before this position are written.
    pub(super) fn anchor(&self) -> usize {
        self.anchor
    }

    /// Writes the literals before a match, and the match. `None` if they do not fit with the margin
    /// that the library demands.
    #[inline(always)]
    pub(super) fn put(&mut self, found: Match) -> Option<()> {
        let sequence = Sequence {
            anchor: self.anchor,
            literals: found.start - self.anchor,
            distance: (found.distance as u16).to_le_bytes(),
            extra_len: found.len - MIN_MATCH,
        };
        self.anchor = found.end();
        if sequence.has_margins(self.src, self.dst.len() - self.out) {
            // SAFETY: `has_margins` is what the function requires.
            self.out =
                unsafe { put_sequence_unchecked(&mut self.dst, self.out, self.src, sequence) };
            return Some(());
        }
        cold_path();
        self.put_checked(sequence)
    }

    fn put_checked(&mut self, sequence: Sequence) -> Option<()> {
        let dst = self.dst.slice();
        let (literals, extra_len) = (sequence.literals, sequence.extra_len);
        // The library's checks, which leave room for a last sequence.
        let before_match = 1 + literals + literals / 255 + 2;
        if before_match + 1 + LAST_LITERALS > dst.len() - self.out {
            return None;
        }
        let at_lengths = self.out + 1 + extra_bytes(literals) + literals + 2;
        if extra_len / 255 + 1 + LAST_LITERALS > dst.len() - at_lengths {
            return None;
        }
        self.out = put_fitting_sequence(dst, self.out, self.src, sequence);
        Some(())
    }

    /// Writes the data behind the last match as literals. Returns the length of the stream.
    pub(super) fn finish(mut self) -> Option<usize> {
        put_last_literals(self.dst.slice(), self.out, &self.src[self.anchor..])
    }
}
