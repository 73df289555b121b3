//! Compression parameters as contexts and the headers of frames have them, and their checks.

use super::header::rules::Rules;
use super::header::{
    MAX_BLOCKSIZE, MAX_BUFFERSIZE, MAX_FILTERS, MAX_OVERHEAD, MAX_TYPESIZE, filter_id,
};
use super::input::EncodeParams;
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::Codec;

/// How new chunks are compressed, as a context has it, or the header of a frame records it. Nothing
/// has been checked; [`Self::check`] does it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of an item.
    pub typesize: i32,
    /// Bytes of a block; 0 or less lets the built-in tuner choose.
    pub blocksize: i32,
    /// The codec's id.
    pub compcode: u8,
    /// A parameter of the codec.
    pub compcode_meta: u8,
    /// The compression level, from 0 (only store) to 9.
    pub clevel: u8,
    /// Whether blocks are split into streams: 1 always, 2 never, 3 as the tuner decides, 4 so that
    /// older versions can read them.
    pub splitmode: u8,
    /// Whether chunks are compressed with a dictionary.
    pub use_dict: bool,
    /// The filters, in the order in which they are applied.
    pub filters: [u8; MAX_FILTERS],
    /// A parameter of each filter.
    pub filters_meta: [u8; MAX_FILTERS],
}

impl Parameters {
    /// The defaults of the C API: BloscLZ at level 5, with shuffled items of 8 bytes.
    pub const DEFAULT: Self = Self {
        typesize: 8,
        blocksize: 0,
        compcode: Codec::BloscLz as u8,
        compcode_meta: 0,
        clevel: 5,
        splitmode: 4,
        use_dict: false,
        filters: [
            filter_id::NONE,
            filter_id::NONE,
            filter_id::NONE,
            filter_id::NONE,
            filter_id::NONE,
            filter_id::SHUFFLE,
        ],
        filters_meta: [0; MAX_FILTERS],
    };

    /// Checks all but the block size, which has been [chosen](Self::tuned_blocksize), for a chunk
    /// of `nbytes` bytes whose destination has `capacity` bytes. `in_buffer` says whether the data
    /// are in a buffer. Gives all that the bytes of the chunk depend on besides its data, for one
    /// thread.
    ///
    /// # Errors
    /// [`Error::MAX_BUFSIZE_EXCEEDED`] for too much data, and for a destination that is too small
    /// for a header; [`Error::CODEC_PARAM`] for a level that is not 0 to 9, and for a dictionary
    /// with a codec that takes none; [`Error::INVALID_PARAM`] for an item that is too large, or has
    /// no bytes.
    pub fn check(&self, nbytes: i32, capacity: usize, in_buffer: bool) -> Result<EncodeParams> {
        if nbytes > MAX_BUFFERSIZE || capacity < MAX_OVERHEAD {
            return Err(Error::MAX_BUFSIZE_EXCEEDED);
        }
        let takes_dict = Codec::from_code(self.compcode.into()).is_some_and(Codec::supports_dict);
        if self.clevel > 9 || (self.use_dict && in_buffer && !takes_dict) {
            return Err(Error::CODEC_PARAM);
        }
        if !(1..=MAX_BLOCKSIZE).contains(&self.typesize) {
            return Err(Error::INVALID_PARAM);
        }
        let mut typesize = self.typesize as usize;
        if typesize > MAX_TYPESIZE {
            // Larger items are compressed as bytes.
            typesize = 1;
        }
        Ok(EncodeParams {
            compcode: self.compcode,
            compcode_meta: self.compcode_meta,
            versionlz: 1,
            clevel: self.clevel,
            typesize,
            blocksize: self.blocksize as usize,
            filters: self.filters,
            filters_meta: self.filters_meta,
            split: Self {
                typesize: typesize as i32,
                ..*self
            }
            .split(self.blocksize),
            // Data that are only stored have no use for a dictionary.
            use_dict: self.use_dict && self.clevel > 0,
            instrumented: false,
            extended: true,
            rules: Rules::Blosc2,
            checksums: false,
            nthreads: 1,
        })
    }

    /// Whether chunks that were compressed with the parameters `known` can be copied to a frame
    /// with these without compressing them again. The codec's parameter and the split mode are not
    /// compared.
    pub fn keep(&self, known: &Self) -> bool {
        let blocksize = match self.blocksize {
            0 => known.blocksize,
            blocksize => blocksize,
        };
        let (compcode_meta, splitmode) = (known.compcode_meta, known.splitmode);
        *known
            == Self {
                blocksize,
                compcode_meta,
                splitmode,
                ..*self
            }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_kept_unless_what_decides_their_bytes_is_another() {
        let known = Parameters {
            typesize: 8,
            blocksize: 4096,
            compcode: 0,
            compcode_meta: 0,
            clevel: 5,
            splitmode: 4,
            use_dict: false,
            filters: [0, 0, 0, 0, 0, 1],
            filters_meta: [0; MAX_FILTERS],
        };
        let asked = |change: fn(&mut Parameters)| {
            let mut asked = known;
            change(&mut asked);
            asked.keep(&known)
        };
        assert!(asked(|_| ()));
        assert!(asked(|asked| asked.blocksize = 0), "any size will do");
        assert!(asked(
            |asked| (asked.splitmode, asked.compcode_meta) = (1, 7)
        ));
        assert!(!asked(|asked| asked.blocksize = 2048));
        assert!(!asked(|asked| asked.clevel = 9));
        assert!(!asked(|asked| asked.filters[0] = 3));
    }
}
