//! The operations of a sequence, and a generator that knows what would be valid.

use super::chunks::{Chunk, Maker};
use super::model::Model;
use oxiblosc_testing::data::Rng;
use std::ffi::CString;
use std::rc::Rc;

/// Where a super-chunk keeps its chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Each in memory.
    Memory,
    /// In a contiguous frame in memory.
    Buffer,
    /// In a contiguous frame in a file.
    File,
    /// In a sparse frame in a directory.
    Directory,
}

impl Storage {
    pub const ALL: [Storage; 4] = [
        Storage::Memory,
        Storage::Buffer,
        Storage::File,
        Storage::Directory,
    ];

    pub fn contiguous(self) -> bool {
        matches!(self, Storage::Buffer | Storage::File)
    }

    pub fn on_disk(self) -> bool {
        matches!(self, Storage::File | Storage::Directory)
    }

    pub fn framed(self) -> bool {
        self != Storage::Memory
    }
}

/// One step of a sequence.
#[derive(Clone, Debug)]
pub enum Op {
    AppendBuffer {
        chunk: Rc<Chunk>,
    },
    AppendShortOf {
        data: Vec<u8>,
        nbytes: i32,
    },
    Append {
        chunk: Rc<Chunk>,
        copy: bool,
    },
    Insert {
        at: i64,
        chunk: Rc<Chunk>,
        copy: bool,
    },
    Update {
        at: i64,
        chunk: Rc<Chunk>,
        copy: bool,
    },
    Delete {
        at: i64,
    },
    Decompress {
        at: i64,
        capacity: usize,
    },
    Get {
        at: i64,
    },
    Lazy {
        at: i64,
    },
    VlBlock {
        at: i64,
        block: i32,
    },
    GetSlice {
        start: i64,
        stop: i64,
    },
    SetSlice {
        start: i64,
        stop: i64,
        data: Vec<u8>,
    },
    Sparse {
        coords: Vec<i64>,
    },
    SliceNchunks {
        start: i64,
        stop: i64,
    },
    Reorder {
        order: Vec<i64>,
    },
    Fill {
        nitems: i64,
        kind: i32,
        chunksize: i32,
    },
    MetaAdd {
        name: CString,
        content: Vec<u8>,
    },
    MetaUpdate {
        name: CString,
        content: Vec<u8>,
    },
    VlAdd {
        name: CString,
        content: Vec<u8>,
    },
    VlUpdate {
        name: CString,
        content: Vec<u8>,
    },
    VlGet {
        name: CString,
    },
    VlExists {
        name: CString,
    },
    VlDelete {
        name: CString,
    },
    VlNames,
    Offsets,
    FrameLen,
    Refresh,
    Params,
    /// A copy into another storage, looked at and given up; with other compression parameters or
    /// the same.
    Copy {
        storage: Storage,
        recompress: bool,
    },
    /// Into a buffer and back, looked at and given up.
    Buffer {
        copy: bool,
    },
    /// Written to a file and opened again, behind so many bytes of something else.
    ToFile {
        behind: usize,
    },
    /// Closed and opened again.
    Reopen,
    /// Closed, and opened by the other library.
    Swap,
    /// Everything is read.
    Verify,
}

/// Names of metalayers; the last two are longer than allowed.
const NAMES: [&str; 7] = [
    "a",
    "beta",
    "a name with blanks",
    "meta",
    "0123456789012345678901234567890",
    "01234567890123456789012345678901",
    "a name that is much longer than the 31 bytes that fit into its place",
];

/// What a sequence is about.
pub struct Plan {
    pub storage: Storage,
    pub maker: Maker,
    pub nthreads: i16,
    /// Bytes of most chunks.
    pub chunksize: usize,
    /// Whether chunks of any size occur, and not only a short last one.
    pub any_sizes: bool,
    /// Whether chunks have blocks of variable length.
    pub vl: bool,
    /// Whether arguments are sometimes invalid.
    pub invalid: bool,
}

impl Plan {
    pub fn new(rng: &mut Rng) -> Plan {
        let typesize = match rng.below(10) {
            0 => 255,
            1 => 300,
            _ => 1 + rng.below(16) as i32,
        };
        let items = match rng.below(4) {
            0 => 1 + rng.below(8),
            1 => 100 + rng.below(100),
            2 => 10 + rng.below(1000),
            _ => 1 + rng.below(3000),
        };
        let chunksize = (items * typesize as usize).min(40_000) / typesize as usize;
        let chunksize = chunksize.max(1) * typesize as usize;
        Plan {
            storage: rng.pick(&Storage::ALL),
            maker: Maker::new(rng, typesize, chunksize),
            nthreads: if rng.below(8) == 0 { 2 } else { 1 },
            chunksize,
            any_sizes: rng.below(2) == 0,
            vl: rng.below(12) == 0,
            invalid: rng.below(2) == 0,
        }
    }

    fn chunk(&self, rng: &mut Rng, model: &Model) -> Rc<Chunk> {
        let full = if model.chunksize > 0 {
            model.chunksize as usize
        } else {
            self.chunksize
        };
        let typesize = self.maker.typesize();
        let other = |rng: &mut Rng| rng.below(2 * full / typesize + 1) * typesize;
        let nbytes = match rng.below(20) {
            0 if self.any_sizes => 0,
            1 if self.any_sizes => rng.below(2 * full + 1),
            2..7 if self.any_sizes => other(rng),
            7 if self.invalid => other(rng),
            _ => full,
        };
        let mixed = self.invalid && rng.below(15) == 0;
        match self.vl != mixed {
            true => self.maker.vl(rng, nbytes),
            false => self.maker.any(rng, nbytes),
        }
    }

    /// An index into the chunks; rarely outside.
    fn at(&self, rng: &mut Rng, n: usize) -> i64 {
        match rng.below(10) {
            0 if self.invalid => -1 - rng.below(3) as i64,
            1 if self.invalid => (n + rng.below(3)) as i64,
            2..5 => n.saturating_sub(1) as i64,
            _ => rng.below(n) as i64,
        }
    }

    /// A slice in items; rarely outside, empty or backwards.
    fn slice(&self, rng: &mut Rng, model: &Model) -> (i64, i64) {
        let n = model.nitems();
        let (a, b) = (rng.below(n + 1) as i64, rng.below(n + 1) as i64);
        let (start, stop) = (a.min(b), a.max(b));
        match rng.below(12) {
            0 if self.invalid => (stop, start),
            1 if self.invalid => (-1 - rng.below(5) as i64, stop),
            2 if self.invalid => (start, n as i64 + 1 + rng.below(n + 5) as i64),
            3 if self.invalid => (n as i64 + 2, n as i64 + 3),
            4 => (0, n as i64),
            5 => (start, (start + 3).min(n as i64)),
            6 => self.chunk_slice(rng, model),
            _ => (start, stop),
        }
    }

    /// A slice of exactly one chunk.
    fn chunk_slice(&self, rng: &mut Rng, model: &Model) -> (i64, i64) {
        let typesize = self.maker.typesize();
        let which = rng.below(model.chunks.len());
        let before: usize = model.chunks.iter().take(which).map(Chunk::len).sum();
        let len = model.chunks.get(which).map_or(0, Chunk::len);
        (
            (before / typesize) as i64,
            ((before + len) / typesize) as i64,
        )
    }

    fn name(&self, rng: &mut Rng) -> CString {
        let names = if self.invalid && rng.below(4) == 0 {
            7
        } else {
            5
        };
        CString::new(NAMES[rng.below(names)]).expect("no NUL")
    }

    fn content(rng: &mut Rng) -> Vec<u8> {
        let len = rng.pick(&[0, 1, 5, 20, 20, 300]);
        let byte = rng.next() as u8;
        (0..len).map(|i| byte.wrapping_add((i / 7) as u8)).collect()
    }

    /// The next step.
    pub fn op(&self, rng: &mut Rng, model: &Model) -> Op {
        match self.any_op(rng, model) {
            // Whether what deleted chunks left counts as data is not the same everywhere.
            Op::Fill { .. } | Op::MetaAdd { .. } if model.leftovers() => Op::Verify,
            op => op,
        }
    }

    fn any_op(&self, rng: &mut Rng, model: &Model) -> Op {
        let n = model.chunks.len();
        let copy = rng.below(2) == 0;
        match rng.below(100) {
            0..8 if !self.vl => {
                let nbytes = self.chunk(rng, model).len();
                Op::AppendBuffer {
                    chunk: self.maker.buffer(rng, nbytes),
                }
            }
            8 if self.invalid => Op::AppendShortOf {
                data: vec![1; 8],
                nbytes: rng.pick(&[-1, -8, i32::MIN]),
            },
            0..18 => Op::Append {
                chunk: self.chunk(rng, model),
                copy,
            },
            18..24 => {
                let at = self.at(rng, n + 1);
                Op::Insert {
                    at,
                    chunk: self.chunk(rng, model),
                    copy,
                }
            }
            24..31 => {
                let at = self.at(rng, n);
                Op::Update {
                    at,
                    chunk: self.chunk(rng, model),
                    copy,
                }
            }
            31..36 => Op::Delete {
                at: self.at(rng, n),
            },
            36..40 => {
                let at = self.at(rng, n);
                let len = model.chunks.get(at.max(0) as usize).map_or(0, Chunk::len);
                let capacity = match rng.below(6) {
                    0 if self.invalid => rng.below(len),
                    1 => len + rng.below(100),
                    _ => len,
                };
                Op::Decompress { at, capacity }
            }
            40..43 => Op::Get {
                at: self.at(rng, n),
            },
            43..46 => Op::Lazy {
                at: self.at(rng, n),
            },
            46..48 => {
                let at = self.at(rng, n);
                Op::VlBlock {
                    at,
                    block: rng.below(5) as i32 - i32::from(self.invalid),
                }
            }
            48..53 => {
                let (start, stop) = self.slice(rng, model);
                Op::GetSlice { start, stop }
            }
            // Slices of blocks of variable length are not written.
            53..59 if model.flags2 & 1 == 0 => {
                let (start, stop) = self.slice(rng, model);
                let items = (stop - start).max(0) as usize;
                let data = self.maker.bytes(rng, items * self.maker.typesize());
                Op::SetSlice { start, stop, data }
            }
            59..62 => {
                let items = model.nitems();
                let count = rng.pick(&[0, 1, 2, 10, 40]);
                let mut coords: Vec<i64> = (0..count).map(|_| rng.below(items) as i64).collect();
                if self.invalid && rng.below(4) == 0 {
                    coords.push(rng.pick(&[-1, items as i64, i64::MAX]));
                }
                Op::Sparse { coords }
            }
            62 => {
                let (start, stop) = self.slice(rng, model);
                Op::SliceNchunks { start, stop }
            }
            63..66 => {
                let mut order: Vec<i64> = (0..n as i64).collect();
                for i in (1..n).rev() {
                    order.swap(i, rng.below(i + 1));
                }
                if self.invalid && n > 0 && rng.below(3) == 0 {
                    order[rng.below(n)] = rng.pick(&[-1, 0, n as i64 - 1, n as i64]);
                }
                Op::Reorder { order }
            }
            66..69 => self.fill(rng),
            69..72 => Op::MetaAdd {
                name: self.name(rng),
                content: Self::content(rng),
            },
            72..74 => Op::MetaUpdate {
                name: self.name(rng),
                content: Self::content(rng),
            },
            74..78 => Op::VlAdd {
                name: self.name(rng),
                content: Self::content(rng),
            },
            78..80 => Op::VlUpdate {
                name: self.name(rng),
                content: Self::content(rng),
            },
            80 => Op::VlGet {
                name: self.name(rng),
            },
            81 => Op::VlExists {
                name: self.name(rng),
            },
            82..84 => Op::VlDelete {
                name: self.name(rng),
            },
            84 => Op::VlNames,
            85 => Op::Offsets,
            86 => rng.pick(&[0, 1, 2]).into_op(),
            87..90 => Op::Copy {
                storage: rng.pick(&Storage::ALL),
                recompress: rng.below(2) == 0,
            },
            90 => Op::Buffer { copy },
            91 => Op::ToFile {
                behind: rng.pick(&[0, 0, 1, 100]),
            },
            92..95 => Op::Reopen,
            95..97 => Op::Swap,
            _ => Op::Verify,
        }
    }

    fn fill(&self, rng: &mut Rng) -> Op {
        let typesize = self.maker.typesize() as i32;
        let chunksize = match rng.below(8) {
            0 if self.invalid => rng.pick(&[0, -1, typesize - 1]),
            1 if self.invalid => self.chunksize as i32 + 1,
            _ => self.chunksize as i32,
        };
        let per_chunk = (chunksize / typesize).max(1) as i64;
        let nitems = match rng.below(8) {
            0 if self.invalid => rng.pick(&[-1, 0]),
            1 => 3 * per_chunk,
            _ => rng.below(5 * per_chunk as usize) as i64,
        };
        let kind = if self.invalid && rng.below(6) == 0 {
            rng.pick(&[0, 3, 5, -1])
        } else {
            rng.pick(&[1, if matches!(typesize, 4 | 8) { 2 } else { 1 }, 4])
        };
        Op::Fill {
            nitems,
            kind,
            chunksize,
        }
    }
}

trait IntoOp {
    fn into_op(self) -> Op;
}

impl IntoOp for usize {
    fn into_op(self) -> Op {
        match self {
            0 => Op::FrameLen,
            1 => Op::Refresh,
            _ => Op::Params,
        }
    }
}
