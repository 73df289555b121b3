//! LZ4HC's lazy parse: a match is written when neither of two later ones that overlap it is longer.
//!
//! It takes the matches that the LZ4 library 1.10 takes at levels 3 to 9, so the streams are the
//! same bytes, and a test compares the two. (The parse is that of Yann Collet's `lz4hc.c`.)

use super::chain::{Chains, Tables};
use super::format::{MF_LIMIT, MIN_MATCH, RUN_MASK};
use super::get_or_try_init;
use super::prefixed::PrefixedSrc;
use super::word_filter::{MAX_WORDS, NoFilter, SeenWords, WordFilter};
use super::writer::{Match, Writer};
use crate::hash_table::zeros;
use core::hint::cold_path;
use core::ops::Range;
use oxiblosc_base::Result;

/// The levels that search hash chains.
pub(super) const LEVELS: core::ops::RangeInclusive<u8> = 3..=9;
/// The longest match whose length needs no extra byte. A match that overlaps the next is cut to
/// this length at most.
const MAX_SHORT_MATCH: usize = MIN_MATCH + RUN_MASK - 1;
/// How close to the beginning of a match a longer one makes it not worth writing.
const MIN_START_DISTANCE: usize = 3;

/// After this many bytes without a match, the search uses a [`SeenWords`] filter, if at least
/// `MIN_REST` bytes are left. Text rarely has a stretch like that.
const NOISE: usize = 64;
const MIN_REST: usize = 4096;
/// A match of this length ends the noise, and with it the filter: recording the words of runs would
/// take longer than it saves.
const LONG_MATCH: usize = 64;

/// How many candidates a level tries. Levels below [`LEVELS`] try as many as in older releases of
/// the library.
pub(super) fn attempts(clevel: u8) -> u32 {
    (4 << clevel) >> LEVELS.start()
}

/// Compresses the data of `src` into `dst`, trying up to `attempts` candidates for each match.
/// Returns the bytes written, or 0 if they do not fit. With a dictionary, [`Tables::copy_from`]
/// must have been called.
pub(super) fn compress(
    tables: &mut Tables,
    attempts: u32,
    src: PrefixedSrc,
    dst: &mut [u8],
) -> Result<usize> {
    let skip_runs = attempts == self::attempts(*LEVELS.end());
    let (mut chains, bits) = tables.chains(src, attempts, skip_runs)?;
    let mut writer = Writer::new(src.bytes, src.start, dst);
    let len = src.bytes.len();
    // Where the search may begin to use a filter. With a dictionary it never does, since the filter
    // would have to hold the dictionary's words as well.
    let mut filterable = match src.start {
        0 => 0..len.saturating_sub(MIN_REST),
        _ => 0..0,
    };
    let mut at = src.start;
    loop {
        let stop = encode(&mut chains, &mut NoFilter, &filterable, &mut writer, at);
        let Some(begin) = stop else {
            return Ok(0);
        };
        at = begin;
        if at + MF_LIMIT > len || len - src.start <= MF_LIMIT {
            return Ok(writer.finish().unwrap_or(0));
        }
        let bits = get_or_try_init(bits, zeros)?;
        let mut seen = SeenWords::new(bits, chains.words_before(at), at, len);
        // A new filter begins with up to `MAX_WORDS / 2` words from before `at`. The next filter
        // begins no sooner than that many positions later, so filling filters takes time in
        // proportion to the stream.
        filterable.start = at + MAX_WORDS / 2;
        match encode(&mut chains, &mut seen, &(0..0), &mut writer, at) {
            Some(end) => at = end,
            None => return Ok(0),
        }
    }
}

/// Moves the beginning of `second` behind `first`, but so that `first` keeps no more than
/// `MAX_SHORT_MATCH` bytes where they overlap.
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

/// Writes the matches from `at` on. It stops at the end of the data, at a position in `filterable`
/// where noise begins, or when the filter is over. Returns where it stops, or `None` if the matches
/// do not fit.
#[inline(never)]
fn encode<W: WordFilter>(
    chains: &mut Chains,
    words: &mut W,
    filterable: &Range<usize>,
    writer: &mut Writer,
    mut at: usize,
) -> Option<usize> {
    let (len, start) = chains.extent();
    // Noise is assumed at `writer.anchor() + NOISE`. The variable may be behind that, as it is
    // updated only when `at` reaches it.
    let mut noise_at = writer.anchor() + NOISE;
    // Data of `MF_LIMIT` bytes get no match, although one would fit: the library does not search
    // them.
    'matches: while at + MF_LIMIT <= len && len - start > MF_LIMIT {
        if words.is_over(at) {
            break;
        }
        // SAFETY: the loop's condition leaves `MF_LIMIT` bytes. `at` is behind all searches: it
        // follows the last one, or is the end of the last match, and searches for longer matches
        // lie before the end of the match that they are to replace.
        let Some(mut first) = (unsafe { chains.longest(words, at) }) else {
            at += 1;
            if !W::RECORDS && at >= noise_at {
                cold_path();
                noise_at = writer.anchor() + NOISE;
                if at >= noise_at && filterable.contains(&at) {
                    break;
                }
                noise_at = noise_at.max(at + 1);
            }
            continue;
        };
        if W::RECORDS && first.len >= LONG_MATCH {
            break;
        }
        // The match that `first` was before a longer one replaced it.
        let mut earlier = first;
        'first: loop {
            // SAFETY: these chains found `first`, and each match that they find ends behind those
            // found before (a longer match does not begin sooner), so searches go forward.
            let Some(mut second) = (unsafe { chains.longer(words, first, 2) }) else {
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
                // SAFETY: as above. `second` ends at least one byte behind `first`, so three bytes
                // before its end is not before the search at two bytes before the end of `first`.
                // `separate` moves its beginning, not its end, and leaves it `MIN_MATCH` bytes.
                let Some(third) = (unsafe { chains.longer(words, second, 3) }) else {
                    writer.put(cut(first, second))?;
                    writer.put(second)?;
                    at = second.end();
                    continue 'matches;
                };
                if third.start < first.end() {
                    second = third;
                } else if third.start < first.end() + MIN_START_DISTANCE {
                    // The second has too little room between the others.
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
