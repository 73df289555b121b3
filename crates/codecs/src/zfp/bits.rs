//! The bit writer and the bit reader. Bits fill each byte from the lowest on, and are written in
//! words of 64 bits.

/// Writes bits to a buffer. Bits that do not fit are dropped, and then [`BitWriter::finish`]
/// returns `None`.
pub struct BitWriter<'a> {
    out: &'a mut [u8],
    /// The number of bytes written, including those that did not fit.
    at: usize,
    /// The bits that do not fill a word yet.
    word: u64,
    /// The number of these bits, less than 64.
    len: u32,
}

impl<'a> BitWriter<'a> {
    /// A writer that starts at the front of `out`.
    pub fn new(out: &'a mut [u8]) -> Self {
        Self {
            out,
            at: 0,
            word: 0,
            len: 0,
        }
    }

    /// Whether bits were dropped.
    pub fn is_full(&self) -> bool {
        self.at > self.out.len()
    }

    #[inline(always)]
    fn put_word(&mut self, word: u64) {
        if let Some(place) = self.out.get_mut(self.at..self.at + 8) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.at += 8;
    }

    /// Appends the `count` (0 to 64) low bits of `bits`. Higher bits must be 0.
    #[inline(always)]
    pub fn put(&mut self, bits: u64, count: u32) {
        self.word |= bits << self.len;
        let len = self.len + count;
        if len >= 64 {
            self.put_word(self.word);
            // The number of `bits` that went into the word. It is 64 only if `self.len` was 0; then
            // none are left.
            let used = 64 - self.len;
            self.word = bits.checked_shr(used).unwrap_or(0);
            self.len = len - 64;
        } else {
            self.len = len;
        }
    }

    /// Appends zeros.
    pub fn put_zeros(&mut self, count: usize) {
        let mut left = count;
        while left > 0 {
            let part = left.min(64);
            self.put(0, part as u32);
            left -= part;
        }
    }

    /// Pads the last word with zeros. Returns the bytes written, or `None` if they did not fit.
    pub fn finish(mut self) -> Option<usize> {
        if self.len > 0 {
            self.put_word(self.word);
        }
        (self.at <= self.out.len()).then_some(self.at)
    }
}

/// Reads bits from a buffer. Behind the end of the buffer it reads zeros.
pub struct BitReader<'a> {
    bytes: &'a [u8],
    /// The position in bits.
    at: usize,
}

impl<'a> BitReader<'a> {
    /// A reader that starts at bit `at` of `bytes`.
    pub fn new(bytes: &'a [u8], at: usize) -> Self {
        Self { bytes, at }
    }

    /// The next 64 bits, without skipping them.
    #[inline(always)]
    pub fn peek(&self) -> u64 {
        let (byte, shift) = (self.at / 8, self.at as u32 % 8);
        match self.bytes.get(byte..).and_then(<[u8]>::first_chunk::<9>) {
            Some(bytes) => {
                let [low @ .., high] = *bytes;
                let high = u64::from(high) << 1 << (63 - shift);
                u64::from_le_bytes(low) >> shift | high
            }
            None => self.peek_at_end(byte, shift),
        }
    }

    #[cold]
    fn peek_at_end(&self, byte: usize, shift: u32) -> u64 {
        let rest = self.bytes.get(byte..).unwrap_or(&[]);
        let mut bits = [0; 16];
        bits[..rest.len().min(9)].copy_from_slice(&rest[..rest.len().min(9)]);
        (u128::from_le_bytes(bits) >> shift) as u64
    }

    /// Skips `count` bits.
    #[inline(always)]
    pub fn skip(&mut self, count: usize) {
        self.at += count;
    }

    /// Whether all that was read so far lies in the buffer.
    pub fn is_within(&self) -> bool {
        self.at <= 8 * self.bytes.len()
    }

    /// Whether it also has the zeros behind that which fill a word of 64 bits.
    pub fn is_within_words(&self) -> bool {
        self.at.next_multiple_of(64) <= 8 * self.bytes.len()
    }

    /// Reads the next `count` (0 to 64) bits.
    #[inline(always)]
    pub fn take(&mut self, count: u32) -> u64 {
        let bits = self.peek() & u64::MAX.checked_shr(64 - count).unwrap_or(0);
        self.at += count as usize;
        bits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let value = |i: u32| u64::from(i).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let low = |bits: u64, count: u32| match count {
            0 => 0,
            _ => bits << (64 - count) >> (64 - count),
        };
        let mut out = vec![0; 3000];
        let mut writer = BitWriter::new(&mut out);
        for i in 0..500 {
            writer.put(low(value(i), i % 65), i % 65);
        }
        writer.put_zeros(100);
        let len = writer.finish().expect("there is room");
        assert_eq!(len % 8, 0);
        let mut reader = BitReader::new(&out[..len], 0);
        for i in 0..500 {
            assert_eq!(reader.take(i % 65), low(value(i), i % 65), "{i}");
        }
        // Zeros written, the rest of the last word, and what is behind the end.
        for _ in 0..10 {
            assert_eq!(reader.take(64), 0);
        }
        reader.skip(usize::MAX / 2);
        assert_eq!(reader.peek(), 0);
    }

    #[test]
    fn what_does_not_fit_is_told() {
        for (capacity, fits) in [(0, false), (15, false), (16, true)] {
            let mut out = vec![0; capacity];
            let mut writer = BitWriter::new(&mut out);
            writer.put(u64::MAX, 64);
            writer.put(1, 1);
            assert_eq!(writer.is_full(), capacity < 8);
            assert_eq!(writer.finish(), fits.then_some(16));
        }
    }
}
