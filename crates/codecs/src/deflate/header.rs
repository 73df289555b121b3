//! Code lengths, and the header of a block with dynamic codes, which holds them (RFC 1951, 3.2.7).

use super::bits::BitWriter;
use super::code::{ALPHABET, codes, lengths};
use super::symbols::{DISTANCE_CODES, FIRST_LENGTH, LITERAL_CODES};

/// The order in which the header holds the lengths of the codes for code lengths.
const CODE_LENGTH_ORDER: [usize; 19] = [
    16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
];
/// The extra bits of the codes 16, 17 and 18, which repeat a code length.
const REPEAT_EXTRA_BITS: [u32; 3] = [2, 3, 7];

/// The code lengths of a block's two Huffman codes.
pub(super) struct CodeLengths {
    pub literals: [u8; ALPHABET],
    pub distances: [u8; DISTANCE_CODES + 2],
}

impl CodeLengths {
    /// The code lengths of the fixed codes.
    pub(super) fn fixed() -> Self {
        let mut literals = [8; ALPHABET];
        literals[144..256].fill(9);
        literals[256..280].fill(7);
        CodeLengths {
            literals,
            distances: [5; DISTANCE_CODES + 2],
        }
    }
}

/// The header of a block with dynamic codes. It holds their code lengths, run-length encoded.
pub(super) struct DynamicHeader {
    /// The run-length encoded code lengths: a code from 0 to 18 in the low five bits, and its extra
    /// bits above.
    runs: [u16; LITERAL_CODES + DISTANCE_CODES],
    /// The number of `runs`.
    len: usize,
    /// The number of code lengths of literals and match lengths.
    literals: usize,
    /// The number of code lengths of distances.
    distances: usize,
    /// The lengths of the codes that encode `runs`.
    lengths: [u8; 19],
    /// How many of `lengths` are written, in `CODE_LENGTH_ORDER`.
    lengths_written: usize,
}

impl DynamicHeader {
    pub(super) fn new(dynamic: &CodeLengths) -> Self {
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
        lengths::<19>(&frequencies, 7, &mut header.lengths);
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

    /// Appends a run of `n` equal code lengths.
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

    /// The number of extra bits of one of `runs`.
    fn extra_bits(run: u16) -> u32 {
        usize::from(run & 31)
            .checked_sub(16)
            .map_or(0, |repeat| REPEAT_EXTRA_BITS[repeat])
    }

    /// The size of the header in bits.
    pub(super) fn bits(&self) -> usize {
        let runs = self.runs[..self.len].iter().map(|run| {
            usize::from(self.lengths[usize::from(run & 31)]) + Self::extra_bits(*run) as usize
        });
        5 + 5 + 4 + 3 * self.lengths_written + runs.sum::<usize>()
    }

    pub(super) fn write(&self, bits: &mut BitWriter) -> Option<()> {
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
