//! LZ4HC's lazy parse: a match is written when neither of two later ones that overlap it is longer.
//!
//! It takes the matches that the LZ4 library 1.10 takes at levels 3 to 9, so the streams are the same bytes, and a test compares
//! the two. (The parse is that of Yann Collet's `lz4hc.c`.)

use super::chain::{Chains, Tables};
use super::decompress::{MF_LIMIT, MIN_MATCH, RUN_MASK};
use super::get_or_make;
use super::high::Joined;
use super::seen::{MOST, NotNoted, Seen, Words};
use super::writer::{Match, Writer};
use crate::table::zeros;
use core::hint::cold_path;
use core::ops::Range;
use oxiblosc_error::Result;

/// The levels that search hash chains.
pub(super) const LEVELS: core::ops::RangeInclusive<u8> = 3..=9;
/// The longest match whose length needs no extra byte. A match that overlaps the next is cut to this length at most.
const MAX_SHORT_MATCH: usize = MIN_MATCH + RUN_MASK - 1;
/// How close to the beginning of a match a longer one makes it not worth writing.
const MIN_START_DISTANCE: usize = 3;

/// After so many bytes without a match, words are noted ([`Seen`]), if there are so many bytes left. Text has no such stretch.
const NOISE: usize = 64;
const MIN_REST: usize = 4096;
/// Where a match is as long, noise has ended: to note the words of runs would take longer than it saves.
const LONG_MATCH: usize = 64;

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
    let skip_runs = attempts == self::attempts(*LEVELS.end());
    let (mut chains, bits) = tables.chains(joined, attempts, skip_runs)?;
    let mut writer = Writer::new(joined.bytes, joined.start, dst);
    let len = joined.bytes.len();
    // Where words may be noted. The words of a dictionary would have to be, too.
    let mut notable = match joined.start {
        0 => 0..len.saturating_sub(MIN_REST),
        _ => 0..0,
    };
    let mut at = joined.start;
    loop {
        let stop = encode(&mut chains, &mut NotNoted, &notable, &mut writer, at);
        let Some(begin) = stop else {
            return Ok(0);
        };
        at = begin;
        if at + MF_LIMIT > len || len - joined.start <= MF_LIMIT {
            return Ok(writer.finish().unwrap_or(0));
        }
        let bits = get_or_make(bits, zeros)?;
        let mut seen = Seen::new(bits, chains.words_before(at), at, len);
        // Up to half of the set are words before this position, so they are noted once for as many others at most.
        notable.start = at + MOST / 2;
        match encode(&mut chains, &mut seen, &(0..0), &mut writer, at) {
            Some(end) => at = end,
            None => return Ok(0),
        }
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

/// Writes the matches from `at` on, to the end or until words should be noted, or should no longer. Returns where it ends, or `None` if
/// they do not fit.
#[inline(never)]
fn encode<W: Words>(
    chains: &mut Chains,
    words: &mut W,
    notable: &Range<usize>,
    writer: &mut Writer,
    mut at: usize,
) -> Option<usize> {
    let (len, start) = chains.extent();
    // There is noise before this position at the earliest: matches that are written move it on, but that is looked at only there.
    let mut noise_at = writer.anchor() + NOISE;
    // A stream of `MF_LIMIT` bytes has no match, although there would be room for one.
    'matches: while at + MF_LIMIT <= len && len - start > MF_LIMIT {
        if words.is_over(at) {
            break;
        }
        let Some(mut first) = chains.longest(words, at) else {
            at += 1;
            if !W::NOTED && at >= noise_at {
                cold_path();
                noise_at = writer.anchor() + NOISE;
                if at >= noise_at && notable.contains(&at) {
                    break;
                }
                noise_at = noise_at.max(at + 1);
            }
            continue;
        };
        if W::NOTED && first.len >= LONG_MATCH {
            break;
        }
        // What `first` was before a longer one, which begins a little later, took its place.
        let mut earlier = first;
        'first: loop {
            let Some(mut second) = chains.longer(words, first, 2) else {
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
                let Some(third) = chains.longer(words, second, 3) else {
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
    Some(at)
}
