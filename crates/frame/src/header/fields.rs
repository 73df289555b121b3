//! The fields of a frame's header: a MessagePack array, in which every value has a fixed position.

use crate::msgpack;

/// A value in the header.
#[derive(Clone, Copy)]
pub struct Field {
    /// Its position. The byte before it says what it is.
    pub at: usize,
    /// Its bytes.
    pub len: usize,
    marker: u8,
}

impl Field {
    const fn new(at: usize, len: usize, marker: u8) -> Self {
        Self { at, len, marker }
    }

    /// Writes the value and what it is.
    pub fn put(&self, header: &mut [u8], value: &[u8]) {
        header[self.at - 1] = self.marker;
        header[self.at..self.at + self.len].copy_from_slice(value);
    }

    /// The value.
    pub fn get<const N: usize>(&self, header: &[u8]) -> [u8; N] {
        let mut value = [0; N];
        value.copy_from_slice(&header[self.at..self.at + self.len]);
        value
    }
}

/// What the header is: an array of so many values.
pub const ARRAY: u8 = msgpack::FIXARRAY + 14;
/// What it begins with.
pub const MAGIC: Field = Field::new(2, 8, msgpack::FIXSTR + 8);
/// Bytes of the header.
pub const HEADER_LEN: Field = Field::new(11, 4, msgpack::INT32);
/// Bytes of the frame.
pub const FRAME_LEN: Field = Field::new(16, 8, msgpack::UINT64);
/// Four bytes: [`flag`].
pub const FLAGS: Field = Field::new(25, 4, msgpack::FIXSTR + 4);
/// Bytes of data.
pub const NBYTES: Field = Field::new(30, 8, msgpack::INT64);
/// Bytes of chunks.
pub const CBYTES: Field = Field::new(39, 8, msgpack::INT64);
/// Bytes of an item.
pub const TYPESIZE: Field = Field::new(48, 4, msgpack::INT32);
/// Bytes of a block.
pub const BLOCKSIZE: Field = Field::new(53, 4, msgpack::INT32);
/// Bytes of a chunk's data.
pub const CHUNKSIZE: Field = Field::new(58, 4, msgpack::INT32);
/// Threads that compress.
pub const NTHREADS_C: Field = Field::new(63, 2, msgpack::INT16);
/// Threads that decompress.
pub const NTHREADS_D: Field = Field::new(66, 2, msgpack::INT16);
/// Whether there are variable-length metalayers: the marker itself is the value.
pub const HAS_VLMETALAYERS: usize = 68;
/// How many filters there may be (the type of an extension), and 16 bytes: [`filter`].
pub const FILTERS: Field = Field::new(70, 17, msgpack::FIXEXT16);

/// Positions in [`FLAGS`], from the start of the header.
pub mod flag {
    /// The version of the format, and bits.
    pub const GENERAL: usize = super::FLAGS.at;
    /// Contiguous or sparse.
    pub const KIND: usize = super::FLAGS.at + 1;
    /// The codec and its level.
    pub const CODECS: usize = super::FLAGS.at + 2;
    /// The split mode.
    pub const SPLIT: usize = super::FLAGS.at + 3;
}

/// Positions in [`FILTERS`], from the start of the header.
pub mod filter {
    /// How many slots there are.
    pub const COUNT: usize = super::FILTERS.at;
    /// The filters.
    pub const IDS: usize = super::FILTERS.at + 1;
    /// A codec that has no number of its own in [`flag::CODECS`](super::flag::CODECS).
    pub const CODEC: usize = super::FILTERS.at + 7;
    /// A parameter of the codec.
    pub const CODEC_META: usize = super::FILTERS.at + 8;
    /// A parameter of each filter.
    pub const METAS: usize = super::FILTERS.at + 9;
    /// More flags.
    pub const FLAGS: usize = super::FILTERS.at + 15;
    /// Not used by the format.
    pub const UNUSED: usize = super::FILTERS.at + 16;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_lie_one_behind_the_other() {
        let before = [
            MAGIC, HEADER_LEN, FRAME_LEN, FLAGS, NBYTES, CBYTES, TYPESIZE, BLOCKSIZE, CHUNKSIZE,
            NTHREADS_C, NTHREADS_D,
        ];
        let end = before.iter().fold(1, |end, field| {
            assert_eq!(field.at, end + 1);
            field.at + field.len
        });
        assert_eq!(HAS_VLMETALAYERS, end);
        assert_eq!(FILTERS.at, end + 2);
        assert_eq!(FILTERS.at + FILTERS.len, super::super::MIN_LEN);
        assert_eq!(filter::UNUSED, super::super::MIN_LEN - 1);
    }
}
