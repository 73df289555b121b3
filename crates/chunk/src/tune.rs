//! The built-in tuner: chooses the block size, and whether blocks are split into streams.

use oxiblosc_codecs::Codec;

/// What the tuner's choices depend on.
#[derive(Clone, Copy, Debug)]
pub struct BlocksizeRequest {
    /// The codec's id.
    pub compcode: i32,
    /// 0 to 9. The caller refuses other values later, so the choice for them does not matter.
    pub clevel: i32,
    /// Bytes of an item, at least 1.
    pub typesize: i32,
    /// Bytes of the buffer.
    pub nbytes: i32,
    /// Whether a byte shuffle is in the pipeline.
    pub shuffle: bool,
    /// One of the modes below.
    pub splitmode: i32,
}

const ALWAYS_SPLIT: i32 = 1;
/// The split mode of chunks whose blocks are never cut into streams.
pub const NEVER_SPLIT: i32 = 2;
/// Split as versions without a choice of the split mode did.
const FORWARD_COMPAT_SPLIT: i32 = 4;
const BLOSCLZ: i32 = Codec::BloscLz as i32;
const LZ4: i32 = Codec::Lz4 as i32;
const LZ4HC: i32 = Codec::Lz4hc as i32;
const ZLIB: i32 = Codec::Zlib as i32;
const ZSTD: i32 = Codec::Zstd as i32;
const OPENZL: i32 = 38;
/// The size of L1 cache that block sizes are based on.
const L1: i32 = 32 << 10;
/// Items with more bytes than this are not split.
const MAX_STREAMS: i32 = 16;
/// A block is not split into streams shorter than this.
const MIN_STREAM: i32 = 32;

impl BlocksizeRequest {
    /// The defaults of the C API: BloscLZ at level 5, with a byte shuffle.
    pub const DEFAULT: Self = Self {
        compcode: BLOSCLZ,
        clevel: 5,
        typesize: 8,
        nbytes: 0,
        shuffle: true,
        splitmode: FORWARD_COMPAT_SPLIT,
    };

    /// Whether the codec is one for high compression ratios, which gain from large blocks.
    fn prefers_large_blocks(&self) -> bool {
        matches!(self.compcode, LZ4HC | ZLIB | ZSTD)
    }

    /// Whether a block of `blocksize` bytes is cut into one stream for each byte of an item.
    pub fn split(&self, blocksize: i32) -> bool {
        match self.splitmode {
            ALWAYS_SPLIT => return true,
            NEVER_SPLIT => return false,
            _ if self.compcode == OPENZL => return false,
            _ => {}
        }
        let fast =
            matches!(self.compcode, BLOSCLZ | LZ4) || (self.compcode == ZSTD && self.clevel <= 5);
        fast && self.shuffle
            && self.typesize <= MAX_STREAMS
            && blocksize / self.typesize >= MIN_STREAM
    }

    /// The block size in bytes; `user` is the one in the parameters, or 0 for the tuner's choice.
    /// In an empty chunk it is the one in the parameters, whatever that is.
    pub fn blocksize(&self, user: i32) -> i32 {
        if user == 0 && self.nbytes < self.typesize {
            return 1;
        }
        if self.nbytes == 0 {
            return user;
        }
        let wanted = if user != 0 {
            user
        } else {
            self.automatic_blocksize()
        };
        let blocksize = wanted.min(self.nbytes);
        if blocksize > self.typesize {
            blocksize / self.typesize * self.typesize
        } else {
            blocksize
        }
    }

    fn automatic_blocksize(&self) -> i32 {
        if self.clevel > 0 && self.split(self.nbytes) {
            // This much for each stream; the block as a whole fits into an L3 cache.
            let stream = match self.clevel {
                ..=3 => 32 << 10,
                4..=6 => 64 << 10,
                7 => 128 << 10,
                8 => 256 << 10,
                _ => 512 << 10,
            };
            return (stream * self.typesize.min(MAX_STREAMS * 16)).clamp(L1, 4 << 20);
        }
        if self.nbytes < L1 {
            return self.nbytes;
        }
        let large = self.prefers_large_blocks();
        let base = if large { 2 * L1 } else { L1 };
        match self.clevel {
            0 => base / 4,
            1 => base / 2,
            2 => base,
            3 => base * 2,
            4 | 5 => base * 4,
            6..=8 => base * 8,
            9 if large => base * 16,
            9 => base * 8,
            _ => base,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LZ4_SHUFFLED: BlocksizeRequest = BlocksizeRequest {
        compcode: LZ4,
        clevel: 5,
        typesize: 8,
        nbytes: 4 << 20,
        shuffle: true,
        splitmode: 4,
    };

    #[test]
    fn split_codecs_get_a_stream_per_byte() {
        assert!(LZ4_SHUFFLED.split(512 << 10));
        assert_eq!(LZ4_SHUFFLED.blocksize(0), 512 << 10);
        assert!(
            !BlocksizeRequest {
                shuffle: false,
                ..LZ4_SHUFFLED
            }
            .split(512 << 10)
        );
        assert!(
            !BlocksizeRequest {
                typesize: 17,
                ..LZ4_SHUFFLED
            }
            .split(512 << 10)
        );
        assert!(
            !BlocksizeRequest {
                compcode: ZLIB,
                ..LZ4_SHUFFLED
            }
            .split(512 << 10)
        );
    }

    #[test]
    fn blocks_are_whole_items_within_the_buffer() {
        assert_eq!(LZ4_SHUFFLED.blocksize(1003), 1000);
        assert_eq!(LZ4_SHUFFLED.blocksize(5), 5);
        assert_eq!(
            BlocksizeRequest {
                nbytes: 100,
                ..LZ4_SHUFFLED
            }
            .blocksize(0),
            96
        );
        assert_eq!(
            BlocksizeRequest {
                nbytes: 7,
                ..LZ4_SHUFFLED
            }
            .blocksize(0),
            1
        );
        // Of less than an item, and of nothing, there are blocks of the size that was asked for.
        for (nbytes, user, expected) in [
            (7, 5, 5),
            (7, 100, 7),
            (0, 0, 1),
            (0, 5, 5),
            (0, 1003, 1003),
        ] {
            let request = BlocksizeRequest {
                nbytes,
                ..LZ4_SHUFFLED
            };
            assert_eq!(request.blocksize(user), expected, "{nbytes} {user}");
        }
        let zlib = BlocksizeRequest {
            compcode: ZLIB,
            ..LZ4_SHUFFLED
        };
        assert_eq!(zlib.blocksize(0), 256 << 10);
    }
}
