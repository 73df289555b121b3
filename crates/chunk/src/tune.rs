//! The built-in tuner: chooses the block size, and whether blocks are split into streams.

use super::header::filter_id;
use super::parameters::Parameters;
use oxiblosc_codecs::Codec;

const ALWAYS_SPLIT: u8 = 1;
/// The split mode of chunks whose blocks are never cut into streams.
pub const NEVER_SPLIT: u8 = 2;
const BLOSCLZ: u8 = Codec::BloscLz as u8;
const LZ4: u8 = Codec::Lz4 as u8;
const LZ4HC: u8 = Codec::Lz4hc as u8;
const ZLIB: u8 = Codec::Zlib as u8;
const ZSTD: u8 = Codec::Zstd as u8;
const OPENZL: u8 = 38;
/// The size of L1 cache that block sizes are based on.
const L1: i32 = 32 << 10;
/// Items with more bytes than this are not split.
const MAX_STREAMS: i32 = 16;
/// A block is not split into streams shorter than this.
const MIN_STREAM: i32 = 32;

impl Parameters {
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
        fast && self.filters.contains(&filter_id::SHUFFLE)
            && self.typesize <= MAX_STREAMS
            && blocksize / self.typesize >= MIN_STREAM
    }

    /// The block size in bytes for a chunk of `nbytes` bytes: the one in the parameters or, if that
    /// is 0 or less, the tuner's choice. In an empty chunk it is the one in the parameters,
    /// whatever that is.
    pub fn tuned_blocksize(&self, nbytes: i32) -> i32 {
        let user = self.blocksize.max(0);
        if user == 0 && nbytes < self.typesize {
            return 1;
        }
        if nbytes == 0 {
            return user;
        }
        let wanted = match user {
            0 => self.automatic_blocksize(nbytes),
            _ => user,
        };
        let blocksize = wanted.min(nbytes);
        if blocksize > self.typesize {
            blocksize / self.typesize * self.typesize
        } else {
            blocksize
        }
    }

    fn automatic_blocksize(&self, nbytes: i32) -> i32 {
        if self.clevel > 0 && self.split(nbytes) {
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
        if nbytes < L1 {
            return nbytes;
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

    const LZ4_SHUFFLED: Parameters = Parameters {
        compcode: LZ4,
        ..Parameters::DEFAULT
    };

    #[test]
    fn split_codecs_get_a_stream_per_byte() {
        assert!(LZ4_SHUFFLED.split(512 << 10));
        assert_eq!(LZ4_SHUFFLED.tuned_blocksize(4 << 20), 512 << 10);
        let others = [
            Parameters {
                filters: [filter_id::NONE; 6],
                ..LZ4_SHUFFLED
            },
            Parameters {
                typesize: 17,
                ..LZ4_SHUFFLED
            },
            Parameters {
                compcode: ZLIB,
                ..LZ4_SHUFFLED
            },
        ];
        for other in others {
            assert!(!other.split(512 << 10), "{other:?}");
        }
    }

    #[test]
    fn blocks_are_whole_items_within_the_buffer() {
        for (nbytes, user, expected) in [
            (4 << 20, 1003, 1000),
            (4 << 20, 5, 5),
            (4 << 20, -1, 512 << 10),
            (100, 0, 96),
            (7, 0, 1),
            // Of less than an item, and of nothing, there are blocks of the size that was asked
            // for.
            (7, 5, 5),
            (7, 100, 7),
            (0, 0, 1),
            (0, 5, 5),
            (0, 1003, 1003),
        ] {
            let parameters = Parameters {
                blocksize: user,
                ..LZ4_SHUFFLED
            };
            let blocksize = parameters.tuned_blocksize(nbytes);
            assert_eq!(blocksize, expected, "{nbytes} {user}");
        }
        let zlib = Parameters {
            compcode: ZLIB,
            ..LZ4_SHUFFLED
        };
        assert_eq!(zlib.tuned_blocksize(4 << 20), 256 << 10);
    }
}
