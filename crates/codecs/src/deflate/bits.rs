//! Bits written to a buffer, the first lowest (RFC 1951, 3.1.1).

use core::hint::cold_path;

use crate::copy::array_at_mut;

/// What is written, with the bits that are not yet a byte.
pub(super) struct Bits<'a> {
    dst: &'a mut [u8],
    at: usize,
    held: u64,
    count: u32,
}

impl<'a> Bits<'a> {
    pub(super) fn new(dst: &'a mut [u8]) -> Self {
        Bits {
            dst,
            at: 0,
            held: 0,
            count: 0,
        }
    }

    /// The bytes written; after [`align`](Self::align), all that was put.
    pub(super) fn written(&self) -> usize {
        self.at
    }

    /// The bits that are held until there are enough for a byte.
    pub(super) fn held(&self) -> u32 {
        self.count
    }

    /// Puts the lowest `count` bits of a number, which has no others; 56 at most between one [`flush`](Self::flush) and
    /// the next.
    #[inline(always)]
    pub(super) fn put(&mut self, bits: u64, count: u32) {
        self.held |= bits << self.count;
        self.count += count;
    }

    /// Writes all whole bytes; none where there is no room for them.
    #[inline(always)]
    pub(super) fn flush(&mut self) -> Option<()> {
        let bytes = self.count / 8;
        match array_at_mut(self.dst, self.at) {
            Some(room) => *room = self.held.to_le_bytes(),
            None => {
                cold_path();
                let held = self.held.to_le_bytes();
                let room = self.dst.get_mut(self.at..self.at + bytes as usize)?;
                room.copy_from_slice(&held[..room.len()]);
            }
        }
        self.at += bytes as usize;
        self.held >>= 8 * bytes;
        self.count %= 8;
        Some(())
    }

    /// Writes by a function that has these bits to itself, so that they are at hand; nothing more once it could not.
    pub(super) fn all(&mut self, write: impl FnOnce(Self) -> Option<Self>) -> Option<()> {
        let bits = core::mem::replace(self, Bits::new(&mut []));
        *self = write(bits)?;
        Some(())
    }

    /// Fills up the last byte with zeros and writes it.
    pub(super) fn align(&mut self) -> Option<()> {
        self.count = self.count.next_multiple_of(8);
        self.flush()
    }

    /// Writes whole bytes, where a byte begins.
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
    fn bits_fill_bytes_from_below_as_far_as_there_is_room() {
        // 11 bits a time: their numbers.
        let n = 40;
        let whole = (n * 11usize).div_ceil(8);
        for room in 0..whole + 10 {
            let mut dst = vec![0xAA; room];
            let mut bits = Bits::new(&mut dst);
            let written = (0..n).try_for_each(|i| {
                bits.put(i as u64, 11);
                bits.flush()
            });
            let written = written.and_then(|()| bits.align()).map(|()| bits.written());
            assert_eq!(written, (room >= whole).then_some(whole), "{room}");
            for i in 0..n {
                let bit = |at: usize| usize::from(dst[at / 8] >> (at % 8) & 1);
                if room >= whole {
                    let number = (0..11).fold(0, |all, b| all | bit(11 * i + b) << b);
                    assert_eq!(number, i);
                }
            }
        }
    }
}
