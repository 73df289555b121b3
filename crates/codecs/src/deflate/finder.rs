//! Where the bytes at a place were seen before: chains of places whose first four bytes have the same hash.

use core::hint::{cold_path, select_unpredictable};

use super::block::LONGEST;
use crate::copy::{match_len, read4};
use crate::table::{KNUTH_MULTIPLIER, zeros};
use crate::unaligned::{first_mismatch, load};
use oxiblosc_error::Result;

/// The bits of a distance that one byte more of a match makes up for.
const WORTH: u32 = 6;
/// Matches reach back less than this.
const WINDOW: usize = 1 << 15;
/// How far back they are looked for.
const REACH: usize = WINDOW - 1;
/// Logarithms of the slots for the longest streams and for the shortest.
const MOST_BITS: u32 = 17;
const LEAST_BITS: u32 = 9;
/// That of the slots for a quick search: as many as a processor has at hand.
const QUICK_BITS: u32 = 15;
/// That of those for three bytes, and the bits of the rest of their hash, which tells them from others in the same slot.
const THREE_BITS: u32 = 14;
const THREE_REST: u32 = 24 - THREE_BITS;
/// How many places are looked at that are so near that a match would repeat itself.
const NEAR: u32 = 4;
/// The bits of a place's number.
const PLACE: u32 = 0xFFFF;
/// The bytes that are hashed.
pub(super) const HASHED: usize = 4;
/// A place is numbered by what it is behind `base`, which moves on before numbers get larger than this.
const HIGHEST: usize = (1 << 16) - 2 * LONGEST;

/// Bytes that were there before; of no length if there are none.
#[derive(Clone, Copy, Default, Debug)]
pub(super) struct Match {
    pub len: usize,
    pub distance: usize,
}

impl Match {
    /// By how many bytes one from so far must be more than one byte longer, to make up for the bits of its distance.
    #[inline(always)]
    fn gain_for(self, distance: usize) -> usize {
        let bits = (distance | 1)
            .ilog2()
            .saturating_sub((self.distance | 1).ilog2());
        match self.len {
            0 => 0,
            _ => (bits / WORTH) as usize,
        }
    }
}

/// How hard is searched.
#[derive(Clone, Copy)]
pub(super) struct Effort {
    /// So many places are looked at,
    pub depth: u32,
    /// until a match is so long.
    pub nice: usize,
}

/// The places of one stream at a time.
pub(super) struct Finder {
    /// The last place with each hash; 0 for none, which is why none is found that is numbered so.
    last: Box<[u16; 1 << MOST_BITS]>,
    /// The one before each place.
    before: Box<[u16; WINDOW]>,
    /// The last places with each hash of three bytes, where that is asked for: the last one lowest, each below the rest of
    /// its hash.
    three: Box<[[u32; 4]; 1 << THREE_BITS]>,
    bits: u32,
    /// Whether matches of three bytes are asked for.
    of_three: bool,
    base: usize,
}

impl Finder {
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub(super) fn new() -> Result<Self> {
        Ok(Finder {
            last: zeros()?,
            before: zeros()?,
            three: zeros()?,
            bits: LEAST_BITS,
            of_three: false,
            base: 0,
        })
    }

    /// Forgets all, for a stream of `len` bytes. The shorter it is, the less there is to clear.
    pub(super) fn start(&mut self, len: usize, quick: bool, of_three: bool) {
        let most = if quick { QUICK_BITS } else { MOST_BITS };
        self.bits = (usize::BITS - len.leading_zeros() + 1).clamp(LEAST_BITS, most);
        self.last[..1 << self.bits].fill(0);
        self.of_three = of_three;
        if of_three {
            self.three.as_flattened_mut().fill(0);
        }
        self.base = 0;
    }

    /// To look for places in `src`; [`close`](Self::close) takes back what this one counts.
    #[inline(always)]
    pub(super) fn open<'a>(&'a mut self, src: &'a [u8]) -> Places<'a> {
        Places {
            src,
            last: &mut self.last,
            before: &mut self.before,
            three: match self.of_three {
                true => &mut self.three[..],
                false => &mut [],
            },
            shift: 32 - self.bits,
            base: self.base,
        }
    }

    pub(super) fn close(&mut self, base: usize) {
        self.base = base;
    }
}

/// A finder at work: what changes with every byte is at hand.
pub(super) struct Places<'a> {
    src: &'a [u8],
    last: &'a mut [u16; 1 << MOST_BITS],
    before: &'a mut [u16; WINDOW],
    three: &'a mut [[u32; 4]],
    shift: u32,
    pub base: usize,
}

/// How many bytes from `at` on, at most `most`, are those from `from` on, given that the first four are: what
/// [`match_len`] says, where what ends within 36 bytes does so without a branch.
#[inline(always)]
fn length(src: &[u8], at: usize, from: usize, most: usize) -> usize {
    let mut n = HASHED;
    while n < most {
        if at + n + 32 > src.len() {
            cold_path();
            return match_len(src, at, from, at + most, n);
        }
        // SAFETY: there are 32 bytes at `at + n`, and `from` is before `at`.
        if let Some(first) = unsafe { first_mismatch(src, from + n, at + n) } {
            return most.min(n + first);
        }
        n += 32;
    }
    most
}

impl Places<'_> {
    /// The earliest place that is found from `at`.
    pub(super) fn reach(at: usize) -> usize {
        at.saturating_sub(REACH)
    }

    /// Makes ready for places up to a match behind `at`.
    #[inline(always)]
    pub(super) fn move_on(&mut self, at: usize) {
        let number = at - self.base;
        if number > HIGHEST {
            self.slide(number / WINDOW * WINDOW);
        }
    }

    /// Numbers all places `by` less.
    #[cold]
    fn slide(&mut self, by: usize) {
        let less = u16::try_from(by).unwrap_or(u16::MAX);
        for places in [&mut self.last[..1 << (32 - self.shift)], self.before] {
            for place in places {
                *place = place.saturating_sub(less);
            }
        }
        for place in self.three.as_flattened_mut() {
            *place -= (*place & PLACE).min(less.into());
        }
        self.base += by;
    }

    /// Enters a place, of which there are four bytes; the number of the last one like it.
    #[inline(always)]
    pub(super) fn enter(&mut self, at: usize) -> usize {
        let number = at - self.base;
        let slot = self.slot(read4(self.src, at));
        let last = core::mem::replace(&mut self.last[slot], number as u16);
        self.before[number % WINDOW] = last;
        last.into()
    }

    /// Enters the places of `from..to` that have four bytes, to be found later; the first that is not entered.
    #[inline(always)]
    pub(super) fn enter_all<const THREE: bool>(&mut self, from: usize, to: usize) -> usize {
        let mut at = from;
        let to = to.min(self.src.len().saturating_sub(HASHED - 1));
        while at < to {
            self.move_on(at);
            let to = to.min(at + LONGEST);
            while at < to {
                self.enter(at);
                if THREE {
                    self.enter_three(at);
                }
                at += 1;
            }
        }
        at
    }

    /// Where the last place is with these four bytes, or others of the same hash.
    #[inline(always)]
    fn slot(&self, four: u32) -> usize {
        (four.wrapping_mul(KNUTH_MULTIPLIER) >> self.shift) as usize % (1 << MOST_BITS)
    }

    /// Enters a place, for this search alone; the match with the last one like it, of at most `most` bytes, which are at
    /// least four.
    #[inline(always)]
    pub(super) fn last(&mut self, at: usize, most: usize) -> Match {
        debug_assert!(HASHED <= most && most <= self.src.len() - at);
        // SAFETY: there are four bytes at `at`.
        let four = unsafe { load::<u32>(self.src, at) };
        let number = at - self.base;
        let slot = self.slot(four);
        let last = core::mem::replace(&mut self.last[slot], number as u16);
        let distance = number.wrapping_sub(last.into());
        let limit = number.saturating_sub(1).min(REACH);
        let within = distance.wrapping_sub(1) < limit;
        // Nobody can guess that; what is compared instead counts for nothing.
        let from = at - select_unpredictable(within, distance, 0);
        // SAFETY: no distance is more than `number`.
        let xor = unsafe { load::<u32>(self.src, from) } ^ four;
        if xor | u32::from(!within) != 0 {
            return Match::default();
        }
        Match {
            len: match_len(self.src, at, from, at + most, HASHED),
            distance,
        }
    }

    /// Enters a place for its first three bytes alone; what was there before.
    #[inline(always)]
    pub(super) fn enter_three(&mut self, at: usize) -> Threes {
        // An odd factor changes no more than the order of all there are.
        let hash = read4(self.src, at).wrapping_mul(KNUTH_MULTIPLIER) & 0xFF_FFFF;
        let number = (at - self.base) as u32;
        let rest = hash << 16 & ((1 << (16 + THREE_REST)) - 1) & !PLACE;
        let place = number | rest;
        let slot = &mut self.three[(hash >> THREE_REST) as usize];
        let before = *slot;
        *slot = [place, before[0], before[1], before[2]];
        Threes { place, before }
    }

    /// The longest match at `at`, of at most `most` bytes, which are at least four; of no length if there is none. The
    /// number of the first candidate is given.
    #[inline(always)]
    pub(super) fn longest(
        &self,
        (at, candidate): (usize, usize),
        most: usize,
        effort: Effort,
    ) -> Match {
        let number = at - self.base;
        debug_assert!(HASHED <= most && most <= self.src.len() - at);
        let limit = number.saturating_sub(1).min(REACH);
        let mut best = Match::default();
        let mut chain = Chain {
            candidate,
            behind: 0,
            beaten: HASHED - 1,
        };
        let mut turns = effort.depth;
        while let (Some(distance), left) = self.next_alike(&mut chain, at, limit, turns) {
            turns = left;
            let len = match_len(self.src, at, at - distance, at + most, HASHED);
            if len > chain.beaten {
                best = Match { len, distance };
                if len >= effort.nice || len >= most {
                    break;
                }
                chain.beaten = len;
            }
        }
        best
    }

    /// A match at `at` that is better than one that is known, of at most `most` bytes, which are at least four; of no length
    /// if there is none. The number of the first candidate is given.
    #[inline(always)]
    pub(super) fn longer(
        &self,
        (at, candidate): (usize, usize),
        known: Match,
        most: usize,
        effort: Effort,
    ) -> Match {
        let src = self.src;
        let none = Match::default();
        let number = at - self.base;
        debug_assert!(HASHED <= most && most <= src.len() - at);
        // Distances are at most this, and do not go back to number 0.
        let limit = number.saturating_sub(1).min(REACH);
        if number.wrapping_sub(candidate).wrapping_sub(1) >= limit {
            return none;
        }
        let mut chain = Chain {
            candidate,
            behind: 0,
            beaten: HASHED - 1,
        };
        let mut best = none;
        let mut to_beat = known;
        let mut depth = effort.depth;
        let mut near = NEAR;
        // How far back it is looked on this chain: all the way where it is the chain for what is to be beaten. What is so
        // near that it repeats itself ends where nothing is entered yet.
        let mut reach = match known.len < HASHED {
            true => limit,
            false => limit.min(known.len - 3),
        };
        loop {
            let nearby = reach < limit;
            let turns = if nearby { near.min(depth) } else { depth };
            let (alike, left) = self.next_alike(&mut chain, at, reach, turns);
            depth -= turns - left;
            if nearby {
                cold_path();
                near -= turns - left;
                if near == 0 {
                    reach = 0;
                }
            }
            if let Some(distance) = alike {
                let len = length(src, at, at - distance, most);
                if len > chain.beaten && len > to_beat.len + to_beat.gain_for(distance) {
                    best = Match { len, distance };
                    to_beat = best;
                    if len >= effort.nice || len >= most {
                        break;
                    }
                    reach = match near {
                        0 => 0,
                        _ => limit.min(len - 3),
                    };
                }
            } else if depth == 0 || !nearby || chain.distance(number).wrapping_sub(1) >= limit {
                break;
            } else {
                match self.rarer(chain, to_beat, (at, most, limit)) {
                    Some(rarer) => chain = rarer,
                    None => break,
                }
                reach = limit;
            }
        }
        best
    }

    /// Goes along a chain for so many turns at most, not farther back than `reach`, to the next place where what is at both
    /// ends of a match is that of one from `at` on that is long enough; how far back it is, and the turns that are left.
    #[inline(always)]
    fn next_alike(
        &self,
        chain: &mut Chain,
        at: usize,
        reach: usize,
        turns: u32,
    ) -> (Option<usize>, u32) {
        match chain.beaten {
            ..7 => self.next_alike_in::<u32>(chain, at, reach, turns),
            7..15 => self.next_alike_in::<u64>(chain, at, reach, turns),
            15.. => self.next_alike_in::<u128>(chain, at, reach, turns),
        }
    }

    /// The same, with ends of the width of `T`, which are not more than what must be alike.
    #[inline(always)]
    fn next_alike_in<T: Copy + PartialEq>(
        &self,
        chain: &mut Chain,
        at: usize,
        reach: usize,
        mut turns: u32,
    ) -> (Option<usize>, u32) {
        let src = self.src;
        let number = at - self.base;
        let last = chain.beaten + 1 - size_of::<T>();
        // SAFETY: more than `beaten` bytes are at `at`.
        let ends = unsafe { (load::<T>(src, at), load::<T>(src, at + last)) };
        while turns > 0 {
            let distance = chain.distance(number);
            if distance.wrapping_sub(1) >= reach {
                break;
            }
            turns -= 1;
            let from = at - distance;
            // SAFETY: `from` is in the bytes, since no distance is more than `number`, and before `at`.
            let alike =
                unsafe { load::<T>(src, from + last) == ends.1 && load::<T>(src, from) == ends.0 };
            chain.candidate = self.before[chain.candidate % WINDOW].into();
            if alike {
                return (Some(distance), turns);
            }
        }
        (None, turns)
    }

    /// Where to look for what is better than `best`: it has the four bytes that it must end with, too. If they were last seen
    /// farther back than the next candidate is, none that is nearer will do; if so far back that it would have to be longer,
    /// the bytes that it must end with then are what counts. None if there are no such bytes.
    #[inline(always)]
    fn rarer(
        &self,
        chain: Chain,
        best: Match,
        (at, most, limit): (usize, usize, usize),
    ) -> Option<Chain> {
        let mut beaten = best.len;
        while beaten < most {
            // SAFETY: more than `beaten` bytes are at `at`, and three at least are beaten.
            let end = unsafe { load::<u32>(self.src, at + beaten - 3) };
            let candidate = usize::from(self.last[self.slot(end)]);
            let distance = (at - self.base + beaten - 3).wrapping_sub(candidate);
            if distance.wrapping_sub(1) >= limit {
                return None;
            }
            let least = best.len + best.gain_for(distance);
            if least <= beaten {
                let farther = candidate + chain.behind < chain.candidate + beaten - 3;
                return Some(if farther {
                    Chain {
                        candidate,
                        behind: beaten - 3,
                        beaten,
                    }
                } else {
                    Chain { beaten, ..chain }
                });
            }
            beaten = least;
        }
        None
    }
}

/// A place, below the rest of the hash of its first three bytes, and the ones that were last seen in its slot.
pub(super) struct Threes {
    place: u32,
    before: [u32; 4],
}

impl Threes {
    /// The match with the last one that begins with the same bytes.
    #[inline(always)]
    pub(super) fn last_like_it(self) -> Match {
        let number = self.place & PLACE;
        let limit = number.saturating_sub(1).min(REACH as u32);
        let mut distance = 0;
        for before in self.before.into_iter().rev() {
            let this = number.wrapping_sub(before & PLACE);
            // Nobody can guess that.
            let like = ((before ^ self.place) & !PLACE == 0) & (this.wrapping_sub(1) < limit);
            distance = select_unpredictable(like, this, distance);
        }
        Match {
            len: if distance > 0 { 3 } else { 0 },
            distance: distance as usize,
        }
    }
}

/// Places that are looked at.
#[derive(Clone, Copy)]
struct Chain {
    /// The number of the next one, which is so many bytes behind where a match would begin.
    candidate: usize,
    behind: usize,
    /// A match must have more bytes than this.
    beaten: usize,
}

impl Chain {
    /// How far back the match would be.
    #[inline(always)]
    fn distance(self, number: usize) -> usize {
        number
            .wrapping_sub(self.candidate)
            .wrapping_add(self.behind)
    }
}
