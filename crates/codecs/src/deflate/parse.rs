//! Which of the matches are taken.

use super::Stream;
use super::bits::Bits;
use super::block::{self, Block, LONGEST, SYMBOLS};
use super::finder::{Effort, HASHED, Match, Places};

/// The level at which speed is all.
pub(super) const QUICK: u8 = 1;

/// The level from which on matches of three bytes are taken.
pub(super) const THREE: u8 = 9;

/// What a level does.
#[derive(Clone, Copy)]
struct Plan {
    effort: Effort,
    how: How,
}

#[derive(Clone, Copy)]
enum How {
    /// Takes the first match; enters so many of its places, those at both ends, here and below.
    First { entered: usize },
    /// Looks whether the next one reaches back far enough to make one superfluous; aims at what is longer where that pays.
    Next { entered: usize },
    /// The same, and aims at what is longer everywhere.
    Aimed { entered: usize },
    /// Looks for a longer one a byte further, where one is shorter than `patience`, and less far where it is `good`.
    Longer { patience: usize, good: usize },
    /// The same, and takes matches of three bytes.
    Shortest,
}

/// The plans of the levels, with about the ratios that the levels of zlib are known for.
///
/// The figures are those of zlib-ng's `configuration_table` (depth is its `max_chain`, nice `nice_length`, patience `max_lazy`, good
/// `good_length`), but for level 6, where its depth is 128. `Longer` and `Shortest` are zlib's lazy evaluation (`deflate_slow`), `Next` and
/// `Aimed` the strategy that zlib-ng calls medium (`deflate_medium`, first written at Intel): look at the match behind this one, and
/// let it reach back. Figures and ideas are theirs, the code is not.
const fn plan(clevel: u8) -> Plan {
    let (depth, nice, how) = match clevel {
        ..=2 => (4, 8, How::First { entered: 16 }),
        3 => (6, 16, How::First { entered: 32 }),
        4 => (24, 32, How::First { entered: 32 }),
        5 => (32, 32, How::Next { entered: 32 }),
        6 => (32, 128, How::Aimed { entered: 64 }),
        7 => (
            256,
            128,
            How::Longer {
                patience: 32,
                good: 8,
            },
        ),
        8 => (
            1024,
            LONGEST,
            How::Longer {
                patience: 128,
                good: 32,
            },
        ),
        9.. => (4096, LONGEST, How::Shortest),
    };
    Plan {
        effort: Effort { depth, nice },
        how,
    }
}

/// A search at work.
struct Search<'a> {
    places: Places<'a>,
    src: &'a [u8],
    end: usize,
    effort: Effort,
    /// What lies before it is entered.
    entered: usize,
}

impl Search<'_> {
    /// Enters the places before `to` that are not yet, to be found later.
    #[inline(always)]
    fn enter<const THREE: bool>(&mut self, to: usize) {
        self.entered = self.places.enter_all::<THREE>(self.entered, to);
    }

    /// Enters `at`; the number of the last place like it, and how long a match can be. None if there are too few bytes.
    #[inline(always)]
    fn enter_here(&mut self, at: usize) -> Option<(usize, usize)> {
        let rest = self.end - at;
        if rest < HASHED {
            return None;
        }
        self.places.move_on(at);
        self.entered = at + 1;
        Some((self.places.enter(at), LONGEST.min(rest)))
    }

    /// Enters `at`; the longest match there. If `AIM`, one for whose length its distance pays.
    #[inline(always)]
    fn find<const AIM: bool>(&mut self, at: usize) -> Match {
        let effort = self.effort;
        if AIM {
            return self.find_better::<false>(at, Match::default(), effort);
        }
        let Some((candidate, most)) = self.enter_here(at) else {
            return Match::default();
        };
        self.places.longest((at, candidate), most, effort)
    }

    /// Enters `at`; a better match there than one that is known.
    #[inline(always)]
    fn find_better<const THREE: bool>(&mut self, at: usize, known: Match, effort: Effort) -> Match {
        let Some((candidate, most)) = self.enter_here(at) else {
            return Match::default();
        };
        // Looked up in any case and early, since it takes as long as the search.
        let three = if THREE {
            self.places.enter_three(at).last_like_it()
        } else {
            Match::default()
        };
        let found = self.places.longer((at, candidate), known, most, effort);
        if THREE && found.len == 0 && known.len == 0 {
            three
        } else {
            found
        }
    }

    /// How many of the last bytes before `at` are those `distance` before them, at most `most`.
    #[inline(always)]
    fn agree_before(&self, at: usize, distance: usize, most: usize) -> usize {
        let most = most.min(at - distance);
        let (now, then) = (&self.src[at - most..at], &self.src[at - distance - most..]);
        (1..=most)
            .take_while(|back| now[most - back] == then[most - back])
            .count()
    }
}

/// The block that is being made.
struct Made<'a, 'b> {
    block: &'a mut Block,
    bits: &'a mut Bits<'b>,
    src: &'a [u8],
    /// Where it begins,
    from: usize,
    /// and how many symbols it has.
    symbols: usize,
}

impl Made<'_, '_> {
    /// Writes the block when it is full.
    #[inline(always)]
    fn make_room(&mut self, at: usize) -> Option<()> {
        if self.symbols == SYMBOLS {
            self.block
                .write(self.bits, self.symbols, &self.src[self.from..at], false)?;
            self.from = at;
            self.symbols = 0;
        }
        Some(())
    }

    #[inline(always)]
    fn literal(&mut self, at: usize) {
        self.block.literal(self.symbols, self.src[at]);
        self.symbols += 1;
    }

    #[inline(always)]
    fn copy(&mut self, found: Match) {
        self.block.copy(self.symbols, found.len, found.distance);
        self.symbols += 1;
    }
}

impl Stream<'_> {
    /// What [`search`](Self::search) does from `at` on, as quickly as can be, where the places from `from` on are not yet
    /// entered: each place is compared with the last one of the same hash, what a match has is not entered, and the codes
    /// are those that need not be told.
    #[inline(never)]
    fn search_quickly(&mut self, from: usize, at: usize, end: usize, last: bool) -> Option<()> {
        block::begin_fixed(&mut self.bits, last)?;
        let mut places = self.finder.open(self.src);
        places.enter_all::<false>(from, at);
        self.entered = end;
        let (src, fixed) = (self.src, &self.block.fixed);
        let mut base = places.base;
        self.bits.all(|mut bits| {
            let mut at = at;
            while at < end {
                if end - at >= HASHED {
                    places.move_on(at);
                    let found = places.last(at, LONGEST.min(end - at));
                    if found.len > 0 {
                        fixed.copy(&mut bits, found.len, found.distance)?;
                        at += found.len;
                        continue;
                    }
                }
                fixed.literal(&mut bits, src[at])?;
                at += 1;
            }
            base = places.base;
            Some(bits)
        })?;
        self.finder.close(base);
        fixed.end(&mut self.bits)
    }

    /// The next `len` bytes with references to what they repeat from `seen_from` on; none where there is no room.
    #[inline(never)]
    pub(crate) fn search(&mut self, len: usize, seen_from: usize) -> Option<()> {
        let (at, end, last) = self.next(len);
        let entered = self.entered.max(seen_from).max(Places::reach(at));
        if self.clevel <= QUICK {
            return self.search_quickly(entered, at, end, last);
        }
        let Plan { effort, how } = plan(self.clevel);
        let mut search = Search {
            places: self.finder.open(self.src),
            src: self.src,
            end,
            effort,
            entered,
        };
        let mut made = Made {
            block: self.block,
            bits: &mut self.bits,
            src: self.src,
            from: at,
            symbols: 0,
        };
        match how {
            How::First { entered } => {
                parse_first::<false, false>(&mut search, &mut made, at, entered)
            }
            How::Next { entered } => parse_mixed(&mut search, &mut made, at, entered),
            How::Aimed { entered } => {
                parse_first::<true, true>(&mut search, &mut made, at, entered)
            }
            How::Longer { patience, good } => {
                parse_longer::<false>(&mut search, &mut made, at, patience, good)
            }
            How::Shortest => parse_longer::<true>(&mut search, &mut made, at, LONGEST, 32),
        }?;
        let Made { from, symbols, .. } = made;
        self.entered = search.entered;
        let base = search.places.base;
        self.finder.close(base);
        self.block
            .write(&mut self.bits, symbols, &self.src[from..end], last)
    }
}

/// The symbols of a block that tell what the others are like.
const TELLING: usize = SYMBOLS / 16;

/// Aims at what is longer in blocks that have hardly a byte as it is: there are long matches.
#[inline(always)]
fn parse_mixed(search: &mut Search, made: &mut Made, at: usize, entered: usize) -> Option<()> {
    search.enter::<false>(at);
    let plain = search.effort;
    let aimed = Effort {
        depth: plain.depth / 4,
        ..plain
    };
    let mut begin = (at, None);
    let mut aim = false;
    while begin.0 < search.end {
        made.make_room(begin.0)?;
        for until in [TELLING, SYMBOLS] {
            begin = if aim {
                search.effort = aimed;
                parse_block::<true, true>(search, made, begin, entered, until)
            } else {
                search.effort = plain;
                parse_block::<true, false>(search, made, begin, entered, until)
            };
            aim = made.block.literals() < made.symbols / 8;
        }
    }
    Some(())
}

#[inline(always)]
fn parse_first<const NEXT: bool, const AIM: bool>(
    search: &mut Search,
    made: &mut Made,
    at: usize,
    entered: usize,
) -> Option<()> {
    search.enter::<false>(at);
    let mut begin = (at, None);
    while begin.0 < search.end {
        made.make_room(begin.0)?;
        begin = parse_block::<NEXT, AIM>(search, made, begin, entered, SYMBOLS);
    }
    Some(())
}

/// Goes on until the block has so many symbols; how far that is, and what is known of that place.
#[inline(always)]
fn parse_block<const NEXT: bool, const AIM: bool>(
    search: &mut Search,
    made: &mut Made,
    (mut at, mut known): (usize, Option<Match>),
    entered: usize,
    until: usize,
) -> (usize, Option<Match>) {
    while at < search.end && made.symbols < until {
        let found = match known.take() {
            Some(found) => found,
            None => search.find::<AIM>(at),
        };
        if found.len == 0 {
            made.literal(at);
            at += 1;
            continue;
        }
        let behind = at + found.len;
        if found.len > entered {
            search.enter::<false>(at + entered / 2);
            search.entered = search.entered.max(behind - entered / 2);
        }
        search.enter::<false>(behind);
        if NEXT {
            let next = search.find::<AIM>(behind);
            known = Some(next);
            if next.len > 0 {
                let most = found.len.min(LONGEST - next.len);
                let back = search.agree_before(behind, next.distance, most);
                if back + 1 >= found.len {
                    if back < found.len {
                        made.literal(at);
                    }
                    at = behind - back;
                    known = Some(Match {
                        len: next.len + back,
                        ..next
                    });
                    continue;
                }
            }
        }
        made.copy(found);
        at = behind;
    }
    (at, known)
}

#[inline(always)]
fn parse_longer<const THREE: bool>(
    search: &mut Search,
    made: &mut Made,
    mut at: usize,
    patience: usize,
    good: usize,
) -> Option<()> {
    search.enter::<THREE>(at);
    let mut before = Match::default();
    // Whether the byte before is not yet written.
    let mut pending = false;
    while at < search.end {
        made.make_room(at - usize::from(pending))?;
        let mut here = Match::default();
        if before.len < patience {
            let mut effort = search.effort;
            if before.len >= good {
                effort.depth /= 4;
            }
            here = search.find_better::<THREE>(at, before, effort);
        }
        if before.len > 0 && here.len == 0 {
            made.copy(before);
            at += before.len - 1;
            search.enter::<THREE>(at);
            before = Match::default();
            pending = false;
        } else {
            if pending {
                made.literal(at - 1);
            }
            pending = true;
            before = here;
            at += 1;
        }
    }
    if pending {
        made.make_room(at - 1)?;
        made.literal(at - 1);
    }
    Some(())
}
