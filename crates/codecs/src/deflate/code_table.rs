//! Lookup tables that give the bits of each symbol.

use core::hint::cold_path;

use super::bits::{BitWriter, MAX_PUT};
use super::code::codes;
use super::header::CodeLengths;
use super::symbols::{
    DISTANCE_CODE_SHIFT, DISTANCE_CODES, DISTANCE_SHIFT, END_BLOCK, FIRST_LENGTH, LITERAL_MASK,
    distance_extra_bits, length_code, match_symbol,
};

// An entry for a literal or length holds the bits to write (code and extra bits), and above
// `LITERAL_LEN_SHIFT` their number.
const LITERAL_LEN_SHIFT: u32 = 24;
// An entry for a distance code holds, from the lowest bit on: the code, a mask that selects the
// extra bits from the distance, the length of the code, and the length of code and extra bits
// together.
const EXTRA_MASK_SHIFT: u32 = 16;
const CODE_LEN_SHIFT: u32 = 32;
const TOTAL_LEN_SHIFT: u32 = 40;

/// The bits that are written for each symbol.
pub(super) struct CodeTable {
    /// For literals, and from `END_BLOCK` on for match lengths.
    literals: [u32; 1 << DISTANCE_SHIFT],
    /// For distance codes. The last entry, for `NO_DISTANCE`, has no bits.
    distances: [u64; DISTANCE_CODES + 2],
    end_block: u32,
}

impl CodeTable {
    pub(super) fn new(lengths: &CodeLengths) -> Self {
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

    /// The bits that are written for a symbol, and their number, which is at most 48.
    #[inline(always)]
    fn bits(&self, symbol: u32) -> (u64, u32) {
        let literal = self.literals[(symbol & LITERAL_MASK) as usize];
        let n = literal >> LITERAL_LEN_SHIFT;
        let entry = self.distances[(symbol >> DISTANCE_CODE_SHIFT) as usize % (DISTANCE_CODES + 2)];
        let extra = entry >> EXTRA_MASK_SHIFT & u64::from(symbol >> DISTANCE_SHIFT & 0x7FFF);
        let distance = entry & 0xFFFF | extra << (entry >> CODE_LEN_SHIFT & 15);
        (
            u64::from(literal & ((1 << LITERAL_LEN_SHIFT) - 1)) | distance << n,
            n + (entry >> TOTAL_LEN_SHIFT) as u32,
        )
    }

    #[inline(always)]
    fn write(&self, bits: &mut BitWriter, symbol: u32) -> Option<()> {
        let (code, n) = self.bits(symbol);
        bits.put(code, n);
        bits.flush()
    }

    /// Writes a literal. `None` if it does not fit, here and below.
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
        let code = entry & ((1 << LITERAL_LEN_SHIFT) - 1);
        bits.put(code.into(), entry >> LITERAL_LEN_SHIFT);
        bits.flush()
    }

    /// Writes the symbols of a block and its end.
    pub(super) fn write_all(&self, bits: &mut BitWriter, symbols: &[u32]) -> Option<()> {
        bits.with_local(|mut bits| {
            let (pairs, rest) = symbols.as_chunks::<2>();
            for pair in pairs {
                let [(first, n), (second, m)] = pair.map(|symbol| self.bits(symbol));
                bits.put(first, n);
                if n + m > MAX_PUT {
                    cold_path();
                    bits.flush()?;
                }
                bits.put(second, m);
                bits.flush()?;
            }
            for symbol in rest {
                self.write(&mut bits, *symbol)?;
            }
            Some(bits)
        })?;
        self.write_end(bits)
    }
}
