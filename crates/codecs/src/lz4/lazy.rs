//! LZ4HC's lazy parse: a match is written when neither of two later ones that overlap it is longer.
//!
//! It takes the matches that the LZ4 library 1.10 takes at levels 3 to 9, so the streams are the same bytes, and a test compares
//! the two. (The parse is that of Yann Collet's `lz4hc.c`.)

use super::chain::{Chains, Tables};
use super::decompress::{MF_LIMIT, MIN_MATCH, RUN_MASK};
use super::high::Joined;
use super::writer::{Match, Writer};
use oxiblosc_error::Result;

/// The levels that search hash chains.
pub(super) const LEVELS: core::ops::RangeInclusive<u8> = 3..=9;
/// The longest match whose length needs no extra byte. A match that overlaps the next is cut to this length at most.
const MAX_SHORT_MATCH: usize = MIN_MATCH + RUN_MASK - 1;
/// How close to the beginning of a match a longer one makes it not worth writing.
const MIN_START_DISTANCE: usize = 3;

/// How many candidates a level tries; at levels below [`LEVELS`] as few as there were in older releases of the library.
pub(super) fn attempts(clevel: u8) -> u32 {
    (4 << clevel) >> LEVELS.start()
}

/// Compresses the data of `joined` into `dst`, trying so many candidates for each match. Returns the bytes written, or 0 if they do not
/// fit. Where there is a dictionary, [`Tables::copy_from`] was called.
pub(super) fn compress(
    tables: &mut Tables,
    attempts: u32,
    joined: Joined,
    dst: &mut [u8],
) -> Result<usize> {
    let chains = tables.chains(joined, attempts, attempts == self::attempts(*LEVELS.end()))?;
    let writer = Writer::new(joined.bytes, joined.start, dst);
    Ok(encode(chains, joined, writer).unwrap_or(0))
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
fn encode(mut chains: Chains, joined: Joined, mut writer: Writer) -> Option<usize> {
    let Joined { bytes: src, start } = joined;
    let mut at = start;
    // A stream of `MF_LIMIT` bytes has no match, although there would be room for one.
    'matches: while at + MF_LIMIT <= src.len() && src.len() - start > MF_LIMIT {
        let Some(mut first) = chains.longest(at) else {
            at += 1;
            continue;
        };
        // What `first` was before a longer one, which begins a little later, took its place.
        let mut earlier = first;
        'first: loop {
            let Some(mut second) = chains.longer(first, 2) else {
                writer.put(first)?;
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
                    writer.put(cut(first, second))?;
                    writer.put(second)?;
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
                    writer.put(first)?;
                    first = third;
                    earlier = second;
                    continue 'first;
                } else {
                    writer.put(cut(first, second))?;
                    first = second;
                    second = third;
                }
            }
        }
    }
    writer.finish()
}
