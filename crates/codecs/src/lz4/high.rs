//! LZ4HC's lazy parse: a match is written when neither of two later ones that overlap it is longer.
//!
//! It takes the matches that the LZ4 library 1.10 takes at levels 3 to 9, so the streams are the same bytes, and a test compares
//! the two. (The parse is that of Yann Collet's `lz4hc.c`.)

use super::chain::{Chains, Match, Tables};
use super::compress::{
    Sequence, extra_bytes, put_fitting_sequence, put_last_literals, put_sequence_unchecked,
};
use super::decompress::{LAST_LITERALS, MF_LIMIT, MIN_MATCH, RUN_MASK};
use super::unchecked::UncheckedDst;
use core::hint::cold_path;
use oxiblosc_error::Result;

/// The levels that search hash chains.
pub(super) const LEVELS: core::ops::RangeInclusive<u8> = 3..=9;
/// The longest match whose length needs no extra byte. A match that overlaps the next is cut to this length at most.
const MAX_SHORT_MATCH: usize = MIN_MATCH + RUN_MASK - 1;
/// How close to the beginning of a match a longer one makes it not worth writing.
const MIN_START_DISTANCE: usize = 3;

/// How many candidates a level tries.
pub(super) fn attempts(clevel: u8) -> u32 {
    (4 << clevel) >> LEVELS.start()
}

/// Compresses `src` into `dst`, trying so many candidates for each match. Returns the bytes written, or 0 if they do not fit.
pub(super) fn compress(
    tables: &mut Tables,
    attempts: u32,
    src: &[u8],
    dst: &mut [u8],
) -> Result<usize> {
    let chains = tables.chains(src, attempts, attempts == self::attempts(*LEVELS.end()))?;
    let output = Output {
        src,
        dst: UncheckedDst::new(dst),
        out: 0,
        anchor: 0,
    };
    Ok(encode(chains, output).unwrap_or(0))
}

/// The stream as far as it is written.
struct Output<'a> {
    src: &'a [u8],
    dst: UncheckedDst<'a>,
    out: usize,
    /// The end of the data before it.
    anchor: usize,
}

impl Output<'_> {
    /// Writes the literals before a match, and the match. `None` if they do not fit, or almost: by the same margin as the library.
    #[inline(always)]
    fn put(&mut self, found: Match) -> Option<()> {
        let sequence = Sequence {
            anchor: self.anchor,
            literals: found.start - self.anchor,
            distance: (found.distance as u16).to_le_bytes(),
            extra_len: found.len - MIN_MATCH,
        };
        self.anchor = found.end();
        if sequence.has_margins(self.src, self.dst.len() - self.out) {
            // SAFETY: the condition above is what the function requires.
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
}

/// Moves the beginning of `second` to where `first` ends, if `first` is not to be cut to `MAX_SHORT_MATCH` bytes or less.
fn separate(first: Match, second: &mut Match) {
    let distance = second.start - first.start;
    if distance < MAX_SHORT_MATCH {
        let len = first
            .len
            .min(MAX_SHORT_MATCH)
            .min(distance + second.len - MIN_MATCH);
        let cut = len.saturating_sub(distance);
        second.start += cut;
        second.len -= cut;
    }
}

/// Cuts `first` where `second` begins.
fn cut(first: Match, second: Match) -> Match {
    Match {
        len: first.len.min(second.start - first.start),
        ..first
    }
}

/// Writes the stream. Returns its length, or `None` if it does not fit.
#[inline(never)]
fn encode(mut chains: Chains, mut output: Output) -> Option<usize> {
    let src = output.src;
    let mut at = 0;
    // A stream of `MF_LIMIT` bytes has no match, although there would be room for one.
    'matches: while at + MF_LIMIT <= src.len() && src.len() > MF_LIMIT {
        let Some(mut first) = chains.longest(at) else {
            at += 1;
            continue;
        };
        // What `first` was before a longer one, which begins a little later, took its place.
        let mut earlier = first;
        'first: loop {
            let Some(mut second) = chains.longer(first, 2) else {
                output.put(first)?;
                at = first.end();
                continue 'matches;
            };
            if earlier.start < first.start && second.start < first.start + earlier.len {
                first = earlier;
            }
            if second.start - first.start < MIN_START_DISTANCE {
                first = second;
                continue;
            }
            loop {
                separate(first, &mut second);
                let Some(third) = chains.longer(second, 3) else {
                    output.put(cut(first, second))?;
                    output.put(second)?;
                    at = second.end();
                    continue 'matches;
                };
                if third.start < first.end() {
                    second = third;
                } else if third.start < first.end() + MIN_START_DISTANCE {
                    // There is no room for the second between the others.
                    let overlap = first.end().saturating_sub(second.start);
                    second.start += overlap;
                    second.len = second.len.saturating_sub(overlap);
                    if second.len < MIN_MATCH {
                        second = third;
                    }
                    output.put(first)?;
                    first = third;
                    earlier = second;
                    continue 'first;
                } else {
                    output.put(cut(first, second))?;
                    first = second;
                    second = third;
                }
            }
        }
    }
    put_last_literals(output.dst.slice(), output.out, &src[output.anchor..])
}
