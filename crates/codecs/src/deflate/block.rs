//! Blocks: the symbols of a block, and the ways to write it (RFC 1951, 3.2.3 to 3.2.7). The names are zlib's or the RFC's.

use super::bits::BitWriter;
use super::code::{ALPHABET, codes, lengths};
use crate::table::zeros;
use oxiblosc_error::Result;
use oxiblosc_memory::boxed;

/// The most symbols in one block.
pub(super) const MAX_SYMBOLS: usize = 1 << 14;
/// The shortest and the longest match.
pub(super) const MIN_MATCH: usize = 3;
pub(super) const MAX_MATCH: usize = 258;
/// The most bytes of a stored block.
const MAX_STORED: usize = 0xFFFF;
/// The code for the end of a block, and the first code for lengths.
const END_BLOCK: usize = 256;
const FIRST_LENGTH: usize = 257;
/// The number of codes for literals and lengths, and for distances.
const LITERAL_CODES: usize = 286;
const DISTANCE_CODES: usize = 30;
/// The order in which the header has the lengths of the codes for code lengths.
const CODE_LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// The extra bits of the codes 16, 17 and 18, which repeat a code length.
const REPEAT_EXTRA_BITS: [u32; 3] = [2, 3, 7];

// A symbol is packed into 32 bits. The lowest `DISTANCE_SHIFT` bits are a byte, or `END_BLOCK` plus the length of a match less
// `MIN_MATCH`. Then come the distance less one, and from `DISTANCE_CODE_SHIFT` on the code for it, or `NO_DISTANCE`.
const DISTANCE_SHIFT: u32 = 9;
const LITERAL_MASK: u32 = (1 << DISTANCE_SHIFT) - 1;
const DISTANCE_CODE_SHIFT: u32 = 25;
const NO_DISTANCE: usize = 31;

/// The type of a block.
#[derive(Clone, Copy)]
enum Kind {
    Stored = 0,
    Fixed = 1,
    Dynamic = 2,
}

/// The code for a length, as an index from `FIRST_LENGTH` on, and the number of its extra bits. `len` is the length less
/// `MIN_MATCH`.
const fn length_code(len: u32) -> (usize, u32) {
    match len {
        0..8 => (len as usize, 0),
        255 => (28, 0),
        _ => {
            let bits = len.ilog2() - 2;
            ((4 * (bits + 1) + (len >> bits & 3)) as usize, bits)
        }
    }
}

/// The code for a distance, given less one.
#[inline(always)]
const fn distance_code(distance: u32) -> usize {
    if distance < 4 {
        distance as usize
    } else {
        let top = 31 - distance.leading_zeros();
        (2 * top + (distance >> (top - 1) & 1)) as usize
    }
}

/// The number of extra bits of a distance code.
const fn distance_extra_bits(code: usize) -> u32 {
    if code < 4 { 0 } else { code as u32 / 2 - 1 }
}

/// The code lengths of a block's two Huffman codes.
struct CodeLengths {
    literals: [u8; ALPHABET],
    distances: [u8; DISTANCE_CODES + 2],
}

impl CodeLengths {
    /// Those of the fixed codes.
    fn fixed() -> Self {
        let mut literals = [8; ALPHABET];
        literals[144..256].fill(9);
        literals[256..280].fill(7);
        CodeLengths {
            literals,
            distances: [5; DISTANCE_CODES + 2],
        }
    }
}

/// The header of a block with dynamic codes: their code lengths, run-length encoded.
struct DynamicHeader {
    /// The run-length encoded code lengths: a code from 0 to 18 in the low five bits, and its extra bits above.
    runs: [u16; LITERAL_CODES + DISTANCE_CODES],
    len: usize,
    /// How many code lengths of literals and of distances there are.
    literals: usize,
    distances: usize,
    /// The lengths of the codes that encode `runs`, and how many of them are written, in `CODE_LENGTH_ORDER`.
    lengths: [u8; 19],
    lengths_written: usize,
}

impl DynamicHeader {
    fn new(dynamic: &CodeLengths) -> Self {
        let used = |lengths: &[u8], least: usize| {
            let last = lengths.iter().rposition(|len| *len > 0);
            last.map_or(least, |last| (last + 1).max(least))
        };
        let literals = used(&dynamic.literals[..LITERAL_CODES], FIRST_LENGTH);
        let distances = used(&dynamic.distances[..DISTANCE_CODES], 1);
        let mut all = [0; LITERAL_CODES + DISTANCE_CODES];
        all[..literals].copy_from_slice(&dynamic.literals[..literals]);
        all[literals..literals + distances].copy_from_slice(&dynamic.distances[..distances]);
        let mut header = DynamicHeader {
            runs: [0; LITERAL_CODES + DISTANCE_CODES],
            len: 0,
            literals,
            distances,
            lengths: [0; 19],
            lengths_written: 0,
        };
        for run in all[..literals + distances].chunk_by(|a, b| a == b) {
            header.push_run(run[0], run.len());
        }
        let mut frequencies = [0; 19];
        for run in &header.runs[..header.len] {
            frequencies[usize::from(run & 31)] += 1;
        }
        lengths(&frequencies, 7, &mut header.lengths);
        let last = CODE_LENGTH_ORDER
            .iter()
            .rposition(|code| header.lengths[*code] > 0);
        header.lengths_written = last.map_or(4, |last| (last + 1).max(4));
        header
    }

    fn push(&mut self, code: u16, extra: usize) {
        self.runs[self.len] = code | (extra as u16) << 5;
        self.len += 1;
    }

    /// Appends `n` times the same code length.
    fn push_run(&mut self, len: u8, mut n: usize) {
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

    fn extra_bits(run: u16) -> u32 {
        usize::from(run & 31)
            .checked_sub(16)
            .map_or(0, |repeat| REPEAT_EXTRA_BITS[repeat])
    }

    /// The size of the header in bits.
    fn bits(&self) -> usize {
        let runs = self.runs[..self.len].iter().map(|run| {
            usize::from(self.lengths[usize::from(run & 31)]) + Self::extra_bits(*run) as usize
        });
        5 + 5 + 4 + 3 * self.lengths_written + runs.sum::<usize>()
    }

    fn write(&self, bits: &mut BitWriter) -> Option<()> {
        bits.put((self.literals - 257) as u64, 5);
        bits.put((self.distances - 1) as u64, 5);
        bits.put((self.lengths_written - 4) as u64, 4);
        for code in &CODE_LENGTH_ORDER[..self.lengths_written] {
            bits.put(self.lengths[*code].into(), 3);
            bits.flush()?;
        }
        let codes = codes(&self.lengths);
        for run in &self.runs[..self.len] {
            let code = usize::from(run & 31);
            bits.put(codes[code].into(), self.lengths[code].into());
            bits.put((run >> 5).into(), Self::extra_bits(*run));
            bits.flush()?;
        }
        Some(())
    }
}

/// The symbols of a block that is being made.
pub(super) struct Block {
    symbols: Box<[u32; MAX_SYMBOLS]>,
    /// The frequencies of bytes and match lengths, and of distance codes.
    literals: [u32; 1 << DISTANCE_SHIFT],
    distances: [u32; DISTANCE_CODES + 2],
    /// The fixed codes.
    pub fixed: Box<CodeTable>,
}

impl Block {
    /// # Errors
    /// [`Error::MemoryAlloc`](oxiblosc_error::Error::MemoryAlloc).
    pub(super) fn new() -> Result<Self> {
        Ok(Block {
            symbols: zeros()?,
            literals: [0; 1 << DISTANCE_SHIFT],
            distances: [0; DISTANCE_CODES + 2],
            fixed: Self::fixed()?,
        })
    }

    /// Not inlined, so that its stack frame does not add to that of the callers.
    #[inline(never)]
    fn fixed() -> Result<Box<CodeTable>> {
        boxed(CodeTable::new(&CodeLengths::fixed()))
    }

    /// Resets the frequencies.
    pub(super) fn clear(&mut self) {
        self.literals.fill(0);
        self.distances.fill(0);
    }

    /// How often a byte was pushed as a literal.
    #[inline(always)]
    pub(super) fn count(&self, byte: u8) -> u64 {
        self.literals[usize::from(byte)].into()
    }

    #[inline(always)]
    fn push(&mut self, i: usize, symbol: u32) {
        self.symbols[i] = symbol;
        self.literals[(symbol & LITERAL_MASK) as usize] += 1;
    }

    /// Makes symbol `i` a literal. Symbols are pushed in order.
    #[inline(always)]
    pub(super) fn push_literal(&mut self, i: usize, byte: u8) {
        self.push(
            i,
            u32::from(byte) | (NO_DISTANCE as u32) << DISTANCE_CODE_SHIFT,
        );
    }

    /// Makes symbol `i` a match of `MIN_MATCH..=MAX_MATCH` bytes.
    #[inline(always)]
    pub(super) fn push_match(&mut self, i: usize, len: usize, distance: usize) {
        let (symbol, distance_code) = match_symbol(len, distance);
        self.push(i, symbol);
        self.distances[distance_code] += 1;
    }

    /// Writes the first `symbols` symbols, which stand for `bytes`, as the type of block that is the shortest, and resets the
    /// frequencies for the next block. `None` if there is no room.
    #[inline(never)]
    pub(super) fn write(
        &mut self,
        bits: &mut BitWriter,
        symbols: usize,
        bytes: &[u8],
        last: bool,
    ) -> Option<()> {
        let (literals, extra) = self.frequencies();
        let distances = &self.distances[..DISTANCE_CODES];
        let mut dynamic = CodeLengths {
            literals: [0; ALPHABET],
            distances: [0; DISTANCE_CODES + 2],
        };
        lengths(&literals, 15, &mut dynamic.literals);
        lengths(distances, 15, &mut dynamic.distances);
        let header = DynamicHeader::new(&dynamic);
        let sum = |frequencies: &[u32], lengths: &[u8]| -> usize {
            let bits = frequencies.iter().zip(lengths);
            bits.map(|(n, len)| *n as usize * usize::from(*len)).sum()
        };
        let size = |codes: &CodeLengths| {
            extra + sum(&literals, &codes.literals) + sum(distances, &codes.distances)
        };
        let dynamic_size = header.bits() + size(&dynamic);
        let fixed_size = size(&CodeLengths::fixed());
        let stored_size = {
            let blocks = bytes.len().div_ceil(MAX_STORED).max(1);
            let pending = bits.pending_bits() + 3;
            let align = pending.next_multiple_of(8) - pending;
            align as usize + (blocks - 1) * 8 + blocks * 32 + bytes.len() * 8
        };
        if stored_size <= dynamic_size.min(fixed_size) {
            store(bits, bytes, last)?;
        } else if fixed_size <= dynamic_size {
            begin(bits, Kind::Fixed, last)?;
            self.fixed.write_all(bits, &self.symbols[..symbols])?;
        } else {
            begin(bits, Kind::Dynamic, last)?;
            header.write(bits)?;
            CodeTable::new(&dynamic).write_all(bits, &self.symbols[..symbols])?;
        }
        self.clear();
        Some(())
    }

    /// The frequencies of the codes for literals and lengths, and the number of extra bits of all symbols.
    fn frequencies(&self) -> ([u32; ALPHABET], usize) {
        let mut literals = [0; ALPHABET];
        literals[..END_BLOCK].copy_from_slice(&self.literals[..END_BLOCK]);
        literals[END_BLOCK] = 1;
        let mut extra = 0;
        for (len, &n) in self.literals[END_BLOCK..].iter().enumerate() {
            let (code, bits) = length_code(len as u32);
            literals[FIRST_LENGTH + code] += n;
            extra += n as usize * bits as usize;
        }
        for (code, &n) in self.distances[..DISTANCE_CODES].iter().enumerate() {
            extra += n as usize * distance_extra_bits(code) as usize;
        }
        (literals, extra)
    }
}

// The fields of an entry for literals and lengths: the bits to write (code and extra bits), and from here on their number.
const LITERAL_LEN_SHIFT: u32 = 24;
// The fields of an entry for distances: the code, a mask of the distance's bits that are extra bits, the length of the code, and the
// length of code and extra bits together.
const EXTRA_MASK_SHIFT: u32 = 16;
const CODE_LEN_SHIFT: u32 = 32;
const TOTAL_LEN_SHIFT: u32 = 40;

/// Lookup tables from symbols to the bits that are written for them.
pub(super) struct CodeTable {
    /// For bytes, and for match lengths from `END_BLOCK` on.
    literals: [u32; 1 << DISTANCE_SHIFT],
    /// For distance codes. The last entry, for `NO_DISTANCE`, writes nothing.
    distances: [u64; DISTANCE_CODES + 2],
    end_block: u32,
}

impl CodeTable {
    fn new(lengths: &CodeLengths) -> Self {
        let literal_codes = codes(&lengths.literals);
        let literal = |code: usize, extra: u32, n: u32| -> u32 {
            let len = u32::from(lengths.literals[code]);
            u32::from(literal_codes[code]) | extra << len | (len + n) << LITERAL_LEN_SHIFT
        };
        let mut table = CodeTable {
            literals: [0; 1 << DISTANCE_SHIFT],
            distances: [0; DISTANCE_CODES + 2],
            end_block: literal(END_BLOCK, 0, 0),
        };
        for i in 0..END_BLOCK {
            table.literals[i] = literal(i, 0, 0);
            let len = i as u32;
            let (code, n) = length_code(len);
            table.literals[END_BLOCK + i] = literal(FIRST_LENGTH + code, len & ((1 << n) - 1), n);
        }
        let distance_codes = codes(&lengths.distances);
        for (code, distance) in table.distances[..DISTANCE_CODES].iter_mut().enumerate() {
            let n = distance_extra_bits(code);
            let len = u32::from(lengths.distances[code]);
            *distance = u64::from(distance_codes[code])
                | ((1 << n) - 1) << EXTRA_MASK_SHIFT
                | u64::from(len) << CODE_LEN_SHIFT
                | u64::from(len + n) << TOTAL_LEN_SHIFT;
        }
        table
    }

    #[inline(always)]
    fn write(&self, bits: &mut BitWriter, symbol: u32) -> Option<()> {
        let literal = self.literals[(symbol & LITERAL_MASK) as usize];
        let n = literal >> LITERAL_LEN_SHIFT;
        let entry = self.distances[(symbol >> DISTANCE_CODE_SHIFT) as usize % (DISTANCE_CODES + 2)];
        let extra = entry >> EXTRA_MASK_SHIFT & u64::from(symbol >> DISTANCE_SHIFT & 0x7FFF);
        let distance = entry & 0xFFFF | extra << (entry >> CODE_LEN_SHIFT & 15);
        bits.put(
            u64::from(literal & ((1 << LITERAL_LEN_SHIFT) - 1)) | distance << n,
            n + (entry >> TOTAL_LEN_SHIFT) as u32,
        );
        bits.flush()
    }

    /// Writes a literal. `None` if there is no room, here and below.
    #[inline(always)]
    pub(super) fn write_literal(&self, bits: &mut BitWriter, byte: u8) -> Option<()> {
        self.write_entry(bits, self.literals[usize::from(byte)])
    }

    /// Writes a match.
    #[inline(always)]
    pub(super) fn write_match(
        &self,
        bits: &mut BitWriter,
        len: usize,
        distance: usize,
    ) -> Option<()> {
        self.write(bits, match_symbol(len, distance).0)
    }

    /// Writes the end of a block.
    pub(super) fn write_end(&self, bits: &mut BitWriter) -> Option<()> {
        self.write_entry(bits, self.end_block)
    }

    #[inline(always)]
    fn write_entry(&self, bits: &mut BitWriter, entry: u32) -> Option<()> {
        bits.put(
            u64::from(entry & ((1 << LITERAL_LEN_SHIFT) - 1)),
            entry >> LITERAL_LEN_SHIFT,
        );
        bits.flush()
    }

    /// Writes symbols and the end of their block.
    fn write_all(&self, bits: &mut BitWriter, symbols: &[u32]) -> Option<()> {
        bits.with_local(|mut bits| {
            for &symbol in symbols {
                self.write(&mut bits, symbol)?;
            }
            Some(bits)
        })?;
        self.write_end(bits)
    }
}

/// The packed symbol of a match of `MIN_MATCH..=MAX_MATCH` bytes, and its distance code.
#[inline(always)]
fn match_symbol(len: usize, distance: usize) -> (u32, usize) {
    let distance = distance as u32 - 1;
    let code = distance_code(distance) % (DISTANCE_CODES + 2);
    let low = (END_BLOCK + len - MIN_MATCH) as u32;
    (
        (code as u32) << DISTANCE_CODE_SHIFT | distance << DISTANCE_SHIFT | low,
        code,
    )
}

/// Begins a block with fixed codes.
pub(super) fn begin_fixed(bits: &mut BitWriter, last: bool) -> Option<()> {
    begin(bits, Kind::Fixed, last)
}

fn begin(bits: &mut BitWriter, kind: Kind, last: bool) -> Option<()> {
    bits.put(u64::from(last) | (kind as u64) << 1, 3);
    bits.flush()
}

/// Writes bytes as stored blocks.
pub(super) fn store(bits: &mut BitWriter, bytes: &[u8], last: bool) -> Option<()> {
    let mut rest = bytes;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(MAX_STORED));
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
    fn codes_are_those_of_the_format() {
        // The first length and the first distance of each code (RFC 1951, 3.2.5).
        let first_lengths = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99,
            115, 131, 163, 195, 227, 258,
        ];
        let first_distances = [
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025,
            1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
        ];
        for len in MIN_MATCH..=MAX_MATCH {
            let (code, bits) = length_code((len - MIN_MATCH) as u32);
            let begin = first_lengths.iter().rposition(|first| *first <= len);
            assert_eq!(Some(code), begin, "{len}");
            let low = (len - MIN_MATCH) & ((1 << bits) - 1);
            assert_eq!(first_lengths[code] + low, len);
        }
        for distance in 1..=1 << 15 {
            let code = distance_code(distance - 1);
            let begin = first_distances.iter().rposition(|first| *first <= distance);
            assert_eq!(Some(code), begin, "{distance}");
            let low = (distance - 1) & ((1 << distance_extra_bits(code)) - 1);
            assert_eq!(first_distances[code] + low, distance);
        }
    }
}
