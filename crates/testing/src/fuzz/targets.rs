//! What each fuzz target does with an input. A function that returns found nothing; one that panics
//! did.

pub mod b2nd;
pub mod compress;
pub mod decompress;
pub mod files;
pub mod frames;
pub mod getitem;
pub mod header;
pub mod patch;
pub mod registered;
pub mod streams;
pub mod vlblocks;

/// What runs one input.
pub type Target = fn(&[u8]);

/// The targets by name, as `fuzz/regressions` and `fuzz/corpus` have folders for them.
pub const ALL: [(&str, Target); 11] = [
    ("b2nd", b2nd::run),
    ("compress", compress::run),
    ("decompress", decompress::run),
    ("files", files::run),
    ("frames", frames::run),
    ("getitem", getitem::run),
    ("header", header::run),
    ("patch", patch::run),
    ("registered", registered::run),
    ("streams", streams::run),
    ("vlblocks", vlblocks::run),
];

use super::numbers::Input;
use oxiblosc_chunk::header::{Blocks, ChunkHeader, MIN_HEADER_LENGTH, Special, offset};

/// The largest data that an input is decompressed to; more would make runs slow.
const LARGEST: usize = 1 << 20;
/// The largest sizes that a header may claim where not the caller's buffer but the header decides
/// about memory.
const LARGEST_CLAIM: usize = 8 << 20;
/// The most blocks for which there is more to do than to decompress them.
const MANY_BLOCKS: usize = 4096;
/// Bytes in front of the chunk in inputs of targets that read one.
pub const OPTIONS: usize = 8;

/// Option: sizes in the header are made to agree with the input, so that it is looked at for
/// longer.
pub const REPAIR: u8 = 1;
/// Option: a postfilter is there.
pub const POSTFILTER: u8 = 2;
/// Option: some blocks are left out.
pub const MASK: u8 = 4;
/// Option of `vlblocks`: the input is data to compress.
pub const COMPRESS: u8 = 8;

/// A chunk that cannot be trusted, and what to do with it.
struct Case {
    bits: u8,
    /// What is left of the options.
    numbers: [u8; OPTIONS - 1],
    chunk: Box<[u8]>,
    /// The header as far as it makes sense.
    header: Option<ChunkHeader>,
}

impl Case {
    fn read(data: &[u8]) -> Self {
        super::user::register();
        let mut input = Input(data);
        let bits = input.byte();
        let numbers = std::array::from_fn(|_| input.byte());
        let mut chunk = input.rest();
        if bits & REPAIR != 0 && chunk.len() >= MIN_HEADER_LENGTH {
            // Sizes are positive and below 1 MiB.
            chunk[offset::NBYTES + 2] &= 0xf;
            chunk[offset::NBYTES + 3] = 0;
            chunk[offset::BLOCKSIZE + 3] &= 0x1f;
            let cbytes = super::calls::c_len(chunk.len()).to_le_bytes();
            chunk[offset::CBYTES..][..4].copy_from_slice(&cbytes);
        }
        let header = ChunkHeader::parse(&chunk).ok();
        Self {
            bits,
            numbers,
            chunk,
            header,
        }
    }

    /// The size of the data, if the header tells.
    fn nbytes(&self) -> usize {
        self.header.map_or(0, |header| header.nbytes)
    }

    /// Whether decompressing leaves bytes of the destination as they were.
    fn writes_all(&self) -> bool {
        self.header
            .is_some_and(|header| header.special() != Special::Uninit)
    }

    fn postfilter(&self) -> bool {
        self.bits & POSTFILTER != 0
            && self
                .header
                .is_none_or(|header| header.nblocks <= MANY_BLOCKS)
    }

    /// A mask of `nblocks` blocks, if there is to be one.
    fn mask(&self, nblocks: usize) -> Option<Vec<bool>> {
        let wanted = self.bits & MASK != 0 && nblocks <= MANY_BLOCKS;
        let bits = u64::from_le_bytes([0, 1, 2, 3, 4, 5, 6, 0].map(|i| self.numbers[i]));
        wanted.then(|| (0..nblocks).map(|i| bits >> (i % 61) & 1 != 0).collect())
    }

    /// The size of a block, where all but the last have the same.
    fn blocksize(&self) -> Option<usize> {
        match self.header?.blocks {
            Blocks::Regular { blocksize } => Some(blocksize),
            Blocks::Variable { .. } => None,
        }
    }
}
