//! Chooses the size of blocks, and whether they are split into streams. The figures are those of
//! c-blosc 1.21.

use super::compressors::{BLOSCLZ, LZ4HC, SNAPPY, ZLIB, ZSTD};
use oxiblosc_chunk::blosc1::can_split;
use std::ffi::c_int;

const NEVER: c_int = 2;
const AUTO: c_int = 3;
/// The initial split mode.
pub const FORWARD_COMPAT: c_int = 4;

/// The largest block.
const MAX_BLOCKSIZE: i64 = (i32::MAX as i64 - 255 * 4) / 3;
/// The smallest block that a program may ask for.
const MIN_BLOCKSIZE: i64 = 128;
/// The size of the first-level cache for which block sizes are chosen.
const L1: i64 = 32 << 10;

/// The parameters on which the block size and the splits depend.
#[derive(Clone, Copy, Debug)]
pub struct BlockParams {
    /// The compressor's code.
    pub compcode: c_int,
    /// 0 to 9.
    pub clevel: c_int,
    /// 1 to 255.
    pub typesize: i64,
    /// The size of the buffer in bytes.
    pub nbytes: i64,
    /// The block size that the program asks for, or 0.
    pub forced: i64,
    /// One of the modes above. With any other number, all blocks that can be split are split.
    pub splitmode: c_int,
}

impl BlockParams {
    /// Whether the split mode wants blocks of this size to be split.
    fn wants_split(&self, blocksize: i64) -> bool {
        let fits = can_split(self.typesize as usize, blocksize as usize);
        match self.splitmode {
            NEVER => false,
            AUTO => fits && matches!(self.compcode, BLOSCLZ | SNAPPY),
            FORWARD_COMPAT => fits && self.compcode != ZSTD,
            _ => true,
        }
    }

    /// Whether blocks of this size are split. Blocks whose split readers could not recognise are
    /// not split, whatever the mode is. (c-blosc splits them, and cannot read these chunks.)
    pub fn split(&self, blocksize: usize) -> bool {
        self.wants_split(blocksize as i64) && can_split(self.typesize as usize, blocksize)
    }

    /// The size of a block in bytes, at least 1.
    pub fn blocksize(&self) -> usize {
        if self.nbytes < self.typesize {
            return 1;
        }
        let mut size = match self.forced {
            0 if self.nbytes >= L1 => self.automatic(),
            0 => self.nbytes,
            forced => forced.clamp(MIN_BLOCKSIZE, MAX_BLOCKSIZE),
        };
        if self.clevel > 0 && self.wants_split(size) {
            // Each stream gets the size that a block without a split would have, up to 256 KB; a
            // block gets 64 KB to 1 MB.
            size = (size.min(256 << 10) * self.typesize).clamp(64 << 10, 1 << 20);
        }
        size = size.min(self.nbytes);
        if size > self.typesize {
            size -= size % self.typesize;
        }
        size as usize
    }

    /// The block size for a level, for buffers that are larger than the cache.
    fn automatic(&self) -> i64 {
        let strong = matches!(self.compcode, LZ4HC | ZLIB | ZSTD);
        let base = if strong { 2 * L1 } else { L1 };
        match self.clevel {
            0 => base / 4,
            1 => base / 2,
            2 => base,
            3 => 2 * base,
            4 | 5 => 4 * base,
            9 if strong => 16 * base,
            _ => 8 * base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LZ4: BlockParams = BlockParams {
        compcode: 1,
        clevel: 5,
        typesize: 8,
        nbytes: 4 << 20,
        forced: 0,
        splitmode: FORWARD_COMPAT,
    };

    #[test]
    fn sizes_are_those_that_c_blosc_writes() {
        // From the headers of chunks that c-blosc 1.21.3 wrote.
        let size = |blocks: BlockParams| (blocks.blocksize(), blocks.split(blocks.blocksize()));
        assert_eq!(size(LZ4), (1 << 20, true));
        assert_eq!(size(BlockParams { typesize: 1, ..LZ4 }), (128 << 10, true));
        assert_eq!(
            size(BlockParams {
                splitmode: AUTO,
                ..LZ4
            }),
            (128 << 10, false)
        );
        assert_eq!(
            size(BlockParams {
                compcode: ZSTD,
                ..LZ4
            }),
            (256 << 10, false)
        );
        assert_eq!(
            size(BlockParams {
                typesize: 17,
                ..LZ4
            }),
            (131_070, false)
        );
        assert_eq!(
            size(BlockParams {
                forced: 1000,
                ..LZ4
            }),
            (1000, false)
        );
        assert_eq!(
            size(BlockParams {
                forced: 1024,
                ..LZ4
            }),
            (64 << 10, true)
        );
        assert_eq!(
            size(BlockParams {
                nbytes: 1003,
                ..LZ4
            }),
            (1000, false)
        );
        assert_eq!(size(BlockParams { nbytes: 7, ..LZ4 }), (1, false));
    }
}
