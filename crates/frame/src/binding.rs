//! Binds the chunks of a frame with checksums to their places.
//!
//! The checksums of a chunk say that it is one of the frame's, but neither that it belongs where it
//! lies, nor that it is the newest one there: two chunks that were swapped, or a chunk file of an
//! older state of a directory, have right checksums. So the index carries a sum over all chunks
//! with checksums, of a term that mixes a chunk's place (its offset in the index) with the checksum
//! of its front. A change adds and removes terms: it never makes the sum anew, which would take
//! what was swapped before for right.
//!
//! It is in the first four bytes of the `filters_meta` of the index's header, little-endian, where
//! the index has no filters. Readers of the format ignore them. Other writers write zeros with each
//! change of chunks, and with any other an empty fingerprint: either way it is unknown then. The
//! checksum of the index takes these bytes for zeros, so that it stays a checksum of the offsets.

use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checksum::{IN_HEADER, prefix_sum};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::EXTENDED_HEADER_LENGTH;

/// The sum.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Binding(u32);

impl Binding {
    /// That of a frame without chunks. It is not zero, which stands for an unknown sum.
    pub const EMPTY: Self = Self(0x6f78_6962);

    /// The sum in an index; none if it is unknown.
    pub fn of_index(index: &[u8]) -> Option<Self> {
        let word = index.get(IN_HEADER)?.first_chunk()?;
        Some(Self(u32::from_le_bytes(*word))).filter(|sum| sum.0 != 0)
    }

    /// Writes the sum into an index, or that it is unknown.
    pub fn write(sum: Option<Self>, index: &mut [u8]) {
        if let Some(word) = index.get_mut(IN_HEADER) {
            word.copy_from_slice(&sum.map_or(0, |sum| sum.0).to_le_bytes());
        }
    }

    /// The header of an index without the sum.
    pub(crate) fn without(
        mut header: [u8; EXTENDED_HEADER_LENGTH],
    ) -> [u8; EXTENDED_HEADER_LENGTH] {
        Self::write(None, &mut header);
        header
    }

    /// Adds a chunk with this place and checksum of its front; one without checksums adds nothing.
    pub fn add(&mut self, pos: u64, sum: Option<u32>) {
        if let Some(sum) = sum {
            self.0 = self.0.wrapping_add(term(pos, sum));
        }
    }

    /// Removes what [`Self::add`] has added.
    pub fn remove(&mut self, pos: u64, sum: Option<u32>) {
        if let Some(sum) = sum {
            self.0 = self.0.wrapping_sub(term(pos, sum));
        }
    }

    /// Replaces a chunk, or moves it: the place and the checksum of the front before and after.
    pub fn replace(mut self, old: (u64, Option<u32>), new: (u64, Option<u32>)) -> Self {
        self.remove(old.0, old.1);
        self.add(new.0, new.1);
        self
    }

    /// Adds the difference of two sums: what was wrong before a change stays wrong.
    pub(crate) fn shifted(self, from: Self, to: Self) -> Self {
        Self(self.0.wrapping_sub(from.0).wrapping_add(to.0))
    }
}

/// The checksum of the front of a chunk in memory, if it is right.
///
/// # Errors
/// [`Error::INVALID_HEADER`] if it is wrong; [`Error::MEMORY_ALLOC`].
pub fn sum_of(chunk: &EncodedChunk) -> Result<Option<u32>> {
    prefix_sum(&chunk.header, |at, buf| {
        let bytes = chunk.bytes.get(at..at + buf.len());
        buf.copy_from_slice(bytes.ok_or(Error::INVALID_HEADER)?);
        Ok(())
    })
}

/// Mixes place and checksum, with the finaliser of MurmurHash3 for 64 bits (Austin Appleby, public
/// domain).
fn term(pos: u64, sum: u32) -> u32 {
    let mut mixed = pos.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ u64::from(sum);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    mixed = (mixed ^ (mixed >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    (mixed >> 32) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_tells_who_is_where() {
        let sum = |chunks: &[(u64, u32)]| {
            let mut sum = Binding::EMPTY;
            chunks
                .iter()
                .for_each(|(pos, prefix)| sum.add(*pos, Some(*prefix)));
            sum
        };
        let all = sum(&[(0, 7), (1, 8), (500, 7)]);
        assert_eq!(all, sum(&[(500, 7), (0, 7), (1, 8)]));
        for other in [
            [(0, 8), (1, 7), (500, 7)],
            [(0, 7), (1, 8), (501, 7)],
            [(0, 7), (1, 8), (500, 9)],
        ] {
            assert_ne!(all, sum(&other));
        }
        let mut without = all;
        without.remove(1, Some(8));
        without.remove(9, None);
        assert_eq!(without, sum(&[(0, 7), (500, 7)]));
        let mut index = [1; 40];
        Binding::write(Some(all), &mut index);
        assert_eq!(Binding::of_index(&index), Some(all));
        Binding::write(None, &mut index);
        assert_eq!(Binding::of_index(&index), None);
        assert_eq!(index[28..], [1; 12]);
    }
}
