//! Numbers: out of an input, and out of a generator.

/// An input, read from its front; zeros when it has come to its end.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else {
            return 0;
        };
        self.0 = rest;
        first
    }

    /// The next two bytes.
    pub fn short(&mut self) -> usize {
        usize::from(u16::from_le_bytes([self.byte(), self.byte()]))
    }

    /// The next four bytes.
    pub fn int(&mut self) -> i32 {
        i32::from_le_bytes([self.byte(), self.byte(), self.byte(), self.byte()])
    }

    /// What is left, in a buffer that ends where it does.
    pub fn rest(self) -> Box<[u8]> {
        self.0.into()
    }

    /// At most the next `len` bytes, likewise.
    pub fn take(&mut self, len: usize) -> Box<[u8]> {
        let (prefix, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        prefix.into()
    }
}

/// SplitMix64: the same numbers everywhere, and a good start from any state.
pub struct Random(pub u64);

impl Random {
    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let x = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let x = (x ^ (x >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        x ^ (x >> 31)
    }

    /// A number below `bound`, which is not 0.
    pub fn below(&mut self, bound: usize) -> usize {
        (self.bits() % bound as u64) as usize
    }

    /// One of a few.
    pub fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }
}
