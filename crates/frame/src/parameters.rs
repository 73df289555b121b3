//! The compression parameters in the header of a frame.

use oxiblosc_chunk::header::MAX_FILTERS;

/// How new chunks of a frame are compressed, as its header records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of an item.
    pub typesize: i32,
    /// Bytes of a block; 0 lets the tuner choose.
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
