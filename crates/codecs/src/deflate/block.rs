//! Blocks: their symbols, and how they are written (RFC 1951, 3.2.3 to 3.2.7).

use super::bits::Bits;
use super::code::{MOST_SYMBOLS, codes, lengths};
use crate::table::zeros;
use oxiblosc_error::Result;
use oxiblosc_memory::boxed;

/// The symbols of one block, at most.
pub(super) const SYMBOLS: usize = 1 << 14;
/// The shortest and the longest match.
pub(super) const SHORTEST: usize = 3;
pub(super) const LONGEST: usize = 258;
/// The most bytes of one stored block.
const STORED: usize = 0xFFFF;
/// The symbol behind the last of a block, and the first of those for lengths.
const END: usize = 256;
const LENGTHS: usize = 257;
/// Symbols for literals and lengths that are used, at most, and for distances.
const LITERALS: usize = 286;
const DISTANCES: usize = 30;
/// Where a symbol keeps its distance less one; below are a byte, or 256 and a length less the shortest.
const DISTANCE: u32 = 9;
const LOW: u32 = (1 << DISTANCE) - 1;
/// Where it keeps the symbol for its distance, or the one for none.
const SLOT: u32 = 25;
const NO_DISTANCE: usize = 31;
/// The order in which the lengths of the codes for lengths are written.
const ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// How many further bits the symbols have that repeat a code's length.
const REPEAT_BITS: [u32; 3] = [2, 3, 7];

/// How a block is written.
#[derive(Clone, Copy)]
enum Kind {
    Stored = 0,
    Fixed = 1,
    Own = 2,
}

/// The symbol for a length less the shortest, counted from the first, and its further bits.
const fn length_symbol(len: u32) -> (usize, u32) {
    match len {
        0..8 => (len as usize, 0),
        255 => (28, 0),
        _ => {
            let bits = len.ilog2() - 2;
            ((4 * (bits + 1) + (len >> bits & 3)) as usize, bits)
        }
    }
}

/// The symbol for a distance less one.
#[inline(always)]
const fn distance_symbol(distance: u32) -> usize {
    if distance < 4 {
        distance as usize
    } else {
        let top = 31 - distance.leading_zeros();
        (2 * top + (distance >> (top - 1) & 1)) as usize
    }
}

/// The further bits of a distance's symbol.
const fn distance_bits(symbol: usize) -> u32 {
    if symbol < 4 { 0 } else { symbol as u32 / 2 - 1 }
}

/// Where a symbol's bits end, in what it is written as, and their number begins.
const NUMBER: u32 = 24;
/// Behind a distance's code, which of its bits follow, the length of the code, and that of all.
const FURTHER: u32 = 16;
const LENGTH: u32 = 32;
const ALL: u32 = 40;

/// The codes of a block.
struct Codes {
    literals: [u8; MOST_SYMBOLS],
    distances: [u8; DISTANCES + 2],
}

impl Codes {
    /// Those that need not be told.
    fn fixed() -> Self {
        let mut literals = [8; MOST_SYMBOLS];
        literals[144..256].fill(9);
        literals[256..280].fill(7);
        Codes {
            literals,
            distances: [5; DISTANCES + 2],
        }
    }
}

/// The lengths of a block's codes, as they are told.
struct Told {
    /// Symbols, each with its further bits above.
    symbols: [u16; LITERALS + DISTANCES],
    len: usize,
    literals: usize,
    distances: usize,
    /// Of the codes for these symbols, in their order, so many lengths are told.
    ordered: usize,
    lengths: [u8; 19],
}

impl Told {
    fn new(own: &Codes) -> Self {
        let used = |lengths: &[u8], least: usize| {
            let last = lengths.iter().rposition(|len| *len > 0);
            last.map_or(least, |last| (last + 1).max(least))
        };
        let literals = used(&own.literals[..LITERALS], LENGTHS);
        let distances = used(&own.distances[..DISTANCES], 1);
        let mut all = [0; LITERALS + DISTANCES];
        all[..literals].copy_from_slice(&own.literals[..literals]);
        all[literals..literals + distances].copy_from_slice(&own.distances[..distances]);
        let mut told = Told {
            symbols: [0; LITERALS + DISTANCES],
            len: 0,
            literals,
            distances,
            ordered: 0,
            lengths: [0; 19],
        };
        for run in all[..literals + distances].chunk_by(|a, b| a == b) {
            told.run(run[0], run.len());
        }
        let mut frequencies = [0; 19];
        for symbol in &told.symbols[..told.len] {
            frequencies[usize::from(symbol & 31)] += 1;
        }
        lengths(&frequencies, 7, &mut told.lengths);
        let last = ORDER.iter().rposition(|symbol| told.lengths[*symbol] > 0);
        told.ordered = last.map_or(4, |last| (last + 1).max(4));
        told
    }

    fn push(&mut self, symbol: u16, further: usize) {
        self.symbols[self.len] = symbol | (further as u16) << 5;
        self.len += 1;
    }

    /// Tells a length `n` times.
    fn run(&mut self, len: u8, mut n: usize) {
        if len == 0 {
            while n >= 11 {
                let times = n.min(138);
                self.push(18, times - 11);
                n -= times;
            }
            if n >= 3 {
                self.push(17, n - 3);
                n = 0;
            }
        } else {
            self.push(len.into(), 0);
            n -= 1;
            while n >= 3 {
                let times = n.min(6);
                self.push(16, times - 3);
                n -= times;
            }
        }
        for _ in 0..n {
            self.push(len.into(), 0);
        }
    }

    fn further_bits(symbol: u16) -> u32 {
        usize::from(symbol & 31)
            .checked_sub(16)
            .map_or(0, |repeat| REPEAT_BITS[repeat])
    }

    /// How many bits all of it takes.
    fn bits(&self) -> usize {
        let symbols = self.symbols[..self.len].iter().map(|symbol| {
            usize::from(self.lengths[usize::from(symbol & 31)])
                + Self::further_bits(*symbol) as usize
        });
        5 + 5 + 4 + 3 * self.ordered + symbols.sum::<usize>()
    }

    fn write(&self, bits: &mut Bits) -> Option<()> {
        bits.put((self.literals - 257) as u64, 5);
        bits.put((self.distances - 1) as u64, 5);
        bits.put((self.ordered - 4) as u64, 4);
        for symbol in &ORDER[..self.ordered] {
            bits.put(self.lengths[*symbol].into(), 3);
            bits.flush()?;
        }
        let codes = codes(&self.lengths);
        for symbol in &self.symbols[..self.len] {
            let this = usize::from(symbol & 31);
            bits.put(codes[this].into(), self.lengths[this].into());
            bits.put((symbol >> 5).into(), Self::further_bits(*symbol));
            bits.flush()?;
        }
        Some(())
    }
}

/// A block that is being made.
pub(super) struct Block {
    symbols: Box<[u32; SYMBOLS]>,
    /// How often each byte and each length occurs, and each symbol for distances.
    literals: [u32; 1 << DISTANCE],
    distances: [u32; DISTANCES + 2],
    /// The codes that need not be told.
    pub fixed: Box<Written>,
}

impl Block {
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub(super) fn new() -> Result<Self> {
        Ok(Block {
            symbols: zeros()?,
            literals: [0; 1 << DISTANCE],
            distances: [0; DISTANCES + 2],
            fixed: Self::fixed()?,
        })
    }

    /// A function of its own, so that what it needs of the stack is not needed beside what its callers do.
    #[inline(never)]
    fn fixed() -> Result<Box<Written>> {
        boxed(Written::new(&Codes::fixed()))
    }

    /// Forgets what was begun.
    pub(super) fn clear(&mut self) {
        self.literals.fill(0);
        self.distances.fill(0);
    }

    #[inline(always)]
    fn put(&mut self, i: usize, symbol: u32) {
        self.symbols[i] = symbol;
        self.literals[(symbol & LOW) as usize] += 1;
    }

    /// How many bytes there are as they are.
    pub(super) fn literals(&self) -> usize {
        self.literals[..END].iter().sum::<u32>() as usize
    }

    /// A byte as it is, as the symbol with this number.
    #[inline(always)]
    pub(super) fn literal(&mut self, i: usize, byte: u8) {
        self.put(i, u32::from(byte) | (NO_DISTANCE as u32) << SLOT);
    }

    /// A match of `SHORTEST..=LONGEST` bytes, as the symbol with this number.
    #[inline(always)]
    pub(super) fn copy(&mut self, i: usize, len: usize, distance: usize) {
        let (symbol, slot) = copy(len, distance);
        self.put(i, symbol);
        self.distances[slot] += 1;
    }

    /// Writes the block, so many symbols that stand for `bytes`, in the shortest way, and begins another one.
    #[inline(never)]
    pub(super) fn write(
        &mut self,
        bits: &mut Bits,
        symbols: usize,
        bytes: &[u8],
        last: bool,
    ) -> Option<()> {
        let (literals, further) = self.frequencies();
        let distances = &self.distances[..DISTANCES];
        let mut own = Codes {
            literals: [0; MOST_SYMBOLS],
            distances: [0; DISTANCES + 2],
        };
        lengths(&literals, 15, &mut own.literals);
        lengths(distances, 15, &mut own.distances);
        let told = Told::new(&own);
        let sum = |frequencies: &[u32], lengths: &[u8]| -> usize {
            let bits = frequencies.iter().zip(lengths);
            bits.map(|(n, len)| *n as usize * usize::from(*len)).sum()
        };
        let all = |codes: &Codes| {
            further + sum(&literals, &codes.literals) + sum(distances, &codes.distances)
        };
        let in_own = told.bits() + all(&own);
        let in_fixed = all(&Codes::fixed());
        let stored = {
            let blocks = bytes.len().div_ceil(STORED).max(1);
            let align = (bits.held() + 3).next_multiple_of(8) - bits.held() - 3;
            align as usize + (blocks - 1) * 8 + blocks * 32 + bytes.len() * 8
        };
        if stored <= in_own.min(in_fixed) {
            store(bits, bytes, last)?;
        } else if in_fixed <= in_own {
            begin(bits, Kind::Fixed, last)?;
            self.fixed.all(bits, &self.symbols[..symbols])?;
        } else {
            begin(bits, Kind::Own, last)?;
            told.write(bits)?;
            Written::new(&own).all(bits, &self.symbols[..symbols])?;
        }
        self.clear();
        Some(())
    }

    /// How often each symbol for literals and lengths occurs, and the further bits of all symbols.
    fn frequencies(&self) -> ([u32; MOST_SYMBOLS], usize) {
        let mut literals = [0; MOST_SYMBOLS];
        literals[..END].copy_from_slice(&self.literals[..END]);
        literals[END] = 1;
        let mut further = 0;
        for (len, &n) in self.literals[END..].iter().enumerate() {
            let (symbol, bits) = length_symbol(len as u32);
            literals[LENGTHS + symbol] += n;
            further += n as usize * bits as usize;
        }
        for (symbol, &n) in self.distances[..DISTANCES].iter().enumerate() {
            further += n as usize * distance_bits(symbol) as usize;
        }
        (literals, further)
    }
}

/// What symbols are written as.
pub(super) struct Written {
    /// A byte's or a length's code and further bits; from `NUMBER` on how many they are.
    literals: [u32; 1 << DISTANCE],
    /// A distance's code; from `FURTHER` on which bits of the distance follow, from `LENGTH` on the length of the code, from
    /// `ALL` on that of both. The last is for what has no distance.
    distances: [u64; DISTANCES + 2],
    end: u32,
}

impl Written {
    fn new(with: &Codes) -> Self {
        let codes_of_literals = codes(&with.literals);
        let literal = |symbol: usize, further: u32, n: u32| -> u32 {
            let len = u32::from(with.literals[symbol]);
            u32::from(codes_of_literals[symbol]) | further << len | (len + n) << NUMBER
        };
        let mut written = Written {
            literals: [0; 1 << DISTANCE],
            distances: [0; DISTANCES + 2],
            end: literal(END, 0, 0),
        };
        for symbol in 0..END {
            written.literals[symbol] = literal(symbol, 0, 0);
            let len = symbol as u32;
            let (symbol, n) = length_symbol(len);
            written.literals[END + len as usize] =
                literal(LENGTHS + symbol, len & ((1 << n) - 1), n);
        }
        let codes_of_distances = codes(&with.distances);
        for (symbol, distance) in written.distances[..DISTANCES].iter_mut().enumerate() {
            let n = distance_bits(symbol);
            let len = u32::from(with.distances[symbol]);
            *distance = u64::from(codes_of_distances[symbol])
                | ((1 << n) - 1) << FURTHER
                | u64::from(len) << LENGTH
                | u64::from(len + n) << ALL;
        }
        written
    }

    #[inline(always)]
    fn put(&self, bits: &mut Bits, symbol: u32) -> Option<()> {
        let literal = self.literals[(symbol & LOW) as usize];
        let n = literal >> NUMBER;
        let how = self.distances[(symbol >> SLOT) as usize % (DISTANCES + 2)];
        let further = how >> FURTHER & u64::from(symbol >> DISTANCE & 0x7FFF);
        let distance = how & 0xFFFF | further << (how >> LENGTH & 15);
        bits.put(
            u64::from(literal & ((1 << NUMBER) - 1)) | distance << n,
            n + (how >> ALL) as u32,
        );
        bits.flush()
    }

    /// A byte as it is; none where there is no room for it.
    #[inline(always)]
    pub(super) fn literal(&self, bits: &mut Bits, byte: u8) -> Option<()> {
        self.literal_or_end(bits, self.literals[usize::from(byte)])
    }

    /// A match; none where there is no room for it.
    #[inline(always)]
    pub(super) fn copy(&self, bits: &mut Bits, len: usize, distance: usize) -> Option<()> {
        self.put(bits, copy(len, distance).0)
    }

    /// The end of a block.
    pub(super) fn end(&self, bits: &mut Bits) -> Option<()> {
        self.literal_or_end(bits, self.end)
    }

    #[inline(always)]
    fn literal_or_end(&self, bits: &mut Bits, written: u32) -> Option<()> {
        bits.put(u64::from(written & ((1 << NUMBER) - 1)), written >> NUMBER);
        bits.flush()
    }

    /// Symbols and the end of their block.
    fn all(&self, bits: &mut Bits, symbols: &[u32]) -> Option<()> {
        bits.all(|mut bits| {
            for &symbol in symbols {
                self.put(&mut bits, symbol)?;
            }
            Some(bits)
        })?;
        self.end(bits)
    }
}

/// The symbol of a match of `SHORTEST..=LONGEST` bytes, and that of its distance.
#[inline(always)]
fn copy(len: usize, distance: usize) -> (u32, usize) {
    let distance = distance as u32 - 1;
    let slot = distance_symbol(distance) % (DISTANCES + 2);
    let low = (END + len - SHORTEST) as u32;
    ((slot as u32) << SLOT | distance << DISTANCE | low, slot)
}

/// Begins a block in codes that need not be told.
pub(super) fn begin_fixed(bits: &mut Bits, last: bool) -> Option<()> {
    begin(bits, Kind::Fixed, last)
}

fn begin(bits: &mut Bits, kind: Kind, last: bool) -> Option<()> {
    bits.put(u64::from(last) | (kind as u64) << 1, 3);
    bits.flush()
}

/// Writes bytes as they are.
pub(super) fn store(bits: &mut Bits, bytes: &[u8], last: bool) -> Option<()> {
    let mut rest = bytes;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(STORED));
        begin(bits, Kind::Stored, last && behind.is_empty())?;
        bits.align()?;
        let len = block.len() as u16;
        bits.bytes(&len.to_le_bytes())?;
        bits.bytes(&(!len).to_le_bytes())?;
        bits.bytes(block)?;
        rest = behind;
        if rest.is_empty() {
            return Some(());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_stand_for_what_the_format_says() {
        // The first length and the first distance of each symbol (RFC 1951, 3.2.5).
        let first_lengths = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99,
            115, 131, 163, 195, 227, 258,
        ];
        let first_distances = [
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025,
            1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
        ];
        for len in SHORTEST..=LONGEST {
            let (symbol, bits) = length_symbol((len - SHORTEST) as u32);
            let begin = first_lengths.iter().rposition(|first| *first <= len);
            assert_eq!(Some(symbol), begin, "{len}");
            let low = (len - SHORTEST) & ((1 << bits) - 1);
            assert_eq!(first_lengths[symbol] + low, len);
        }
        for distance in 1..=1 << 15 {
            let symbol = distance_symbol(distance - 1);
            let begin = first_distances.iter().rposition(|first| *first <= distance);
            assert_eq!(Some(symbol), begin, "{distance}");
            let low = (distance - 1) & ((1 << distance_bits(symbol)) - 1);
            assert_eq!(first_distances[symbol] + low, distance);
        }
    }
}
