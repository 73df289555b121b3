//! Blocks: collects the symbols of a block, and writes it as the type that is shortest (RFC
//! 1951, 3.2.3 to 3.2.7). The names are zlib's or the RFC's.

use super::bits::BitWriter;
use super::code::{ALPHABET, HuffmanCode, MAX_BITS, lengths};
use super::code_table::CodeTable;
use super::header::{CodeLengths, DynamicHeader};
use super::symbols::{
    DISTANCE_CODE_SHIFT, DISTANCE_CODES, DISTANCE_SHIFT, END_BLOCK, FIRST_LENGTH, LITERAL_MASK,
    NO_DISTANCE, distance_extra_bits, length_code, match_symbol,
};
use crate::hash_table::zeros;
use oxiblosc_base::Result;
use oxiblosc_base::memory::boxed;

/// The most symbols in one block.
pub(super) const MAX_SYMBOLS: usize = 1 << 14;
/// The most bytes of a stored block.
const MAX_STORED: usize = 0xFFFF;

/// If the header is this part of a block with dynamic codes, shorter codes are tried: they have
/// fewer different lengths, so their header is shorter.
const LARGE_HEADER: usize = 10;
/// The highest limit of the shorter codes, enough for a whole alphabet. With fewer symbols the
/// limit is lower.
const SHORT_CODE: usize = 9;

/// The type of a block.
#[derive(Clone, Copy)]
enum BlockType {
    Stored = 0,
    Fixed = 1,
    Dynamic = 2,
}

/// The symbols of a block that is being collected.
pub(super) struct Block {
    symbols: Box<[u32; MAX_SYMBOLS]>,
    /// The frequencies of literals and match lengths, by the lowest bits of the symbols.
    literals: [u32; 1 << DISTANCE_SHIFT],
    /// The frequencies of distance codes.
    distances: [u32; DISTANCE_CODES + 2],
    /// The fixed codes.
    pub fixed: Box<CodeTable>,
}

impl Block {
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
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

    /// How often a byte was pushed as a literal of this block.
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

    /// Writes the first `symbols` symbols, which encode `bytes`, as the type of block that is
    /// shortest, and resets the frequencies for the next block. `None` if it does not fit.
    #[inline(never)]
    pub(super) fn write(
        &mut self,
        bits: &mut BitWriter,
        symbols: usize,
        bytes: &[u8],
        last: bool,
    ) -> Option<()> {
        let frequencies = self.frequencies();
        let dynamic = DynamicCodes::new(&frequencies);
        let fixed_size = frequencies.bits(&CodeLengths::fixed());
        let stored_size = {
            let blocks = bytes.len().div_ceil(MAX_STORED).max(1);
            let pending = bits.pending_bits() + 3;
            let align = pending.next_multiple_of(8) - pending;
            align as usize + (blocks - 1) * 8 + blocks * 32 + bytes.len() * 8
        };
        let symbols = &self.symbols[..symbols];
        if stored_size <= dynamic.bits.min(fixed_size) {
            store(bits, bytes, last)?;
        } else if fixed_size <= dynamic.bits {
            begin(bits, BlockType::Fixed, last)?;
            self.fixed.write_all(bits, symbols)?;
        } else {
            begin(bits, BlockType::Dynamic, last)?;
            dynamic.header.write(bits)?;
            CodeTable::new(&dynamic.lengths).write_all(bits, symbols)?;
        }
        self.clear();
        Some(())
    }

    fn frequencies(&self) -> Frequencies {
        let mut literals = [0; ALPHABET];
        literals[..END_BLOCK].copy_from_slice(&self.literals[..END_BLOCK]);
        literals[END_BLOCK] = 1;
        let mut extra = 0;
        for (len, &n) in self.literals[END_BLOCK..].iter().enumerate() {
            if n > 0 {
                let (code, bits) = length_code(len as u32);
                literals[FIRST_LENGTH + code] += n;
                extra += n as usize * bits as usize;
            }
        }
        for (code, &n) in self.distances[..DISTANCE_CODES].iter().enumerate() {
            extra += n as usize * distance_extra_bits(code) as usize;
        }
        Frequencies {
            literals,
            distances: *self.distances.first_chunk().expect("two more than that"),
            extra,
        }
    }
}

/// The frequencies of the codes of a block.
struct Frequencies {
    /// Of literals, the end of the block, and match lengths.
    literals: [u32; ALPHABET],
    distances: [u32; DISTANCE_CODES],
    /// The number of extra bits of all symbols.
    extra: usize,
}

impl Frequencies {
    /// The number of bits of all symbols with these codes, without a header.
    fn bits(&self, codes: &CodeLengths) -> usize {
        let sum = |frequencies: &[u32], lengths: &[u8]| -> u32 {
            let bits = frequencies.iter().zip(lengths);
            bits.map(|(n, len)| n * u32::from(*len)).sum()
        };
        // A block has at most `MAX_SYMBOLS` symbols, so the sums fit.
        let literals = sum(&self.literals, &codes.literals);
        let distances = sum(&self.distances, &codes.distances);
        self.extra + literals as usize + distances as usize
    }
}

/// The codes of a block with dynamic codes.
struct DynamicCodes {
    lengths: CodeLengths,
    header: DynamicHeader,
    /// The size of the block.
    bits: usize,
}

impl DynamicCodes {
    /// The Huffman codes, or shorter ones if they and their header take fewer bits. Not inlined, so
    /// that its stack frame does not add to that of the caller.
    #[inline(never)]
    fn new(frequencies: &Frequencies) -> Self {
        let mut distances = [0; DISTANCE_CODES + 2];
        lengths::<DISTANCE_CODES>(&frequencies.distances, MAX_BITS, &mut distances);
        let code = HuffmanCode::<ALPHABET>::new(&frequencies.literals);
        let limited = |limit| {
            let mut literals = [0; ALPHABET];
            code.lengths(limit, &mut literals);
            let lengths = CodeLengths {
                literals,
                distances,
            };
            let header = DynamicHeader::new(&lengths);
            DynamicCodes {
                bits: header.bits() + frequencies.bits(&lengths),
                lengths,
                header,
            }
        };
        let optimal = limited(MAX_BITS);
        if LARGE_HEADER * optimal.header.bits() < optimal.bits {
            return optimal;
        }
        // One bit more than if all codes had the same length: enough for all symbols.
        let limit = (code.symbols().next_power_of_two().ilog2() as usize + 1).min(SHORT_CODE);
        let longest = optimal.lengths.literals.iter().max();
        if longest.is_some_and(|longest| usize::from(*longest) > limit) {
            let short = limited(limit);
            if short.bits < optimal.bits {
                return short;
            }
        }
        optimal
    }
}

/// Begins a block with fixed codes.
pub(super) fn begin_fixed(bits: &mut BitWriter, last: bool) -> Option<()> {
    begin(bits, BlockType::Fixed, last)
}

fn begin(bits: &mut BitWriter, kind: BlockType, last: bool) -> Option<()> {
    bits.put(u64::from(last) | (kind as u64) << 1, 3);
    bits.flush()
}

/// Writes bytes as stored blocks. `None` if they do not fit.
pub(super) fn store(bits: &mut BitWriter, bytes: &[u8], last: bool) -> Option<()> {
    let mut rest = bytes;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(MAX_STORED));
        begin(bits, BlockType::Stored, last && behind.is_empty())?;
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
