//! The bit writer. It fills each byte from the lowest bit on (RFC 1951, 3.1.1).

use core::hint::cold_path;

use crate::copy::array_at_mut;

/// The most bits that may be appended between calls of [`BitWriter::flush`], which leaves up to 7.
pub(super) const MAX_PUT: u32 = 56;

/// A destination for bits. Bits that do not fill a byte yet are buffered.
pub(super) struct BitWriter<'a> {
    dst: &'a mut [u8],
    /// The number of bytes written.
    at: usize,
    bit_buffer: u64,
    bit_count: u32,
}

impl<'a> BitWriter<'a> {
    pub(super) fn new(dst: &'a mut [u8]) -> Self {
        BitWriter {
            dst,
            at: 0,
            bit_buffer: 0,
            bit_count: 0,
        }
    }

    /// The number of bytes written. Call [`align`](Self::align) before, so that no bits are
    /// missing.
    pub(super) fn written(&self) -> usize {
        self.at
    }

    /// The number of bits that are buffered.
    pub(super) fn pending_bits(&self) -> u32 {
        self.bit_count
    }

    /// Appends `count` bits. Higher bits of `bits` must be 0. At most [`MAX_PUT`] bits may be
    /// appended between calls of [`flush`](Self::flush).
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) {
        self.bit_buffer |= bits << self.bit_count;
        self.bit_count += count;
    }

    /// Writes all whole bytes. `None` if they do not fit.
    #[inline(always)]
    pub(super) fn flush(&mut self) -> Option<()> {
        let bytes = self.bit_count / 8;
        match array_at_mut(self.dst, self.at) {
            Some(place) => *place = self.bit_buffer.to_le_bytes(),
            None => {
                cold_path();
                let buffer = self.bit_buffer.to_le_bytes();
                let place = self.dst.get_mut(self.at..self.at + bytes as usize)?;
                place.copy_from_slice(&buffer[..place.len()]);
            }
        }
        self.at += bytes as usize;
        self.bit_buffer >>= 8 * bytes;
        self.bit_count %= 8;
        Some(())
    }

    /// Lets a function write to a local copy of this writer, which the compiler can keep in
    /// registers. If it fails, this writer is left without a destination.
    pub(super) fn with_local(&mut self, write: impl FnOnce(Self) -> Option<Self>) -> Option<()> {
        let bits = core::mem::replace(self, BitWriter::new(&mut []));
        *self = write(bits)?;
        Some(())
    }

    /// Pads the last byte with zeros and writes it.
    pub(super) fn align(&mut self) -> Option<()> {
        self.bit_count = self.bit_count.next_multiple_of(8);
        self.flush()
    }

    /// Writes whole bytes. Call [`align`](Self::align) before.
    pub(super) fn bytes(&mut self, bytes: &[u8]) -> Option<()> {
        self.dst
            .get_mut(self.at..)?
            .get_mut(..bytes.len())?
            .copy_from_slice(bytes);
        self.at += bytes.len();
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_fill_bytes_from_the_lowest_bit_until_there_is_no_room() {
        // Writes the numbers below `n`, each in 11 bits.
        let n = 40;
        let whole = (n * 11usize).div_ceil(8);
        for len in 0..whole + 10 {
            let mut dst = vec![0xAA; len];
            let mut bits = BitWriter::new(&mut dst);
            let written = (0..n).try_for_each(|i| {
                bits.put(i as u64, 11);
                bits.flush()
            });
            let written = written.and_then(|()| bits.align()).map(|()| bits.written());
            assert_eq!(written, (len >= whole).then_some(whole), "{len}");
            for i in 0..n {
                let bit = |at: usize| usize::from(dst[at / 8] >> (at % 8) & 1);
                if len >= whole {
                    let number = (0..11).fold(0, |all, b| all | bit(11 * i + b) << b);
                    assert_eq!(number, i);
                }
            }
        }
    }
}
