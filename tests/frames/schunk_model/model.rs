//! The truth: a list of chunks, two lists of metalayers, and the rules for return codes.

use super::chunks::{ANY, Chunk, Special, Written};
use super::ops::{Op, Plan, Storage};
use oxiblosc_testing::schunk_state::Layer;
use std::rc::Rc;

pub const FAILURE: i64 = -1;
pub const DATA: i64 = -3;
pub const WRITE_BUFFER: i64 = -6;
pub const INVALID_PARAM: i64 = -12;
pub const NOT_FOUND: i64 = -16;
pub const CHUNK_INSERT: i64 = -19;
pub const CHUNK_APPEND: i64 = -20;
pub const CHUNK_UPDATE: i64 = -21;
pub const FRAME_SPECIAL: i64 = -28;
pub const SCHUNK_SPECIAL: i64 = -29;

/// The most bytes of a metalayer's name, and the most metalayers that a frame holds of each kind.
pub const MAX_NAME: usize = 31;
pub const MAX_LAYERS: usize = 16;
/// The flag of chunks with blocks of variable length.
const VL_BLOCKS: u8 = 1;

/// A return code that the model expects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Code {
    Is(i64),
    /// Some error; which one is the reference's to say.
    Error,
    /// No error.
    Fine,
    Unknown,
}

impl Code {
    pub fn fits(self, rc: i64) -> bool {
        match self {
            Code::Is(expected) => rc == expected,
            Code::Error => rc < 0,
            Code::Fine => rc >= 0,
            Code::Unknown => true,
        }
    }
}

/// What an operation must give.
#[derive(Clone, Debug)]
pub struct Expect {
    pub rc: Code,
    pub bytes: Option<Vec<u16>>,
    pub numbers: Option<Vec<i64>>,
}

impl Expect {
    fn code(rc: i64) -> Expect {
        Expect {
            rc: Code::Is(rc),
            bytes: None,
            numbers: None,
        }
    }

    fn some(rc: Code) -> Expect {
        Expect {
            rc,
            bytes: None,
            numbers: None,
        }
    }

    fn bytes(rc: i64, bytes: Vec<u16>) -> Expect {
        Expect {
            rc: Code::Is(rc),
            bytes: Some(bytes),
            numbers: None,
        }
    }

    fn numbers(rc: i64, numbers: Vec<i64>) -> Expect {
        Expect {
            rc: Code::Is(rc),
            bytes: None,
            numbers: Some(numbers),
        }
    }
}

/// The state of a super-chunk.
#[derive(Clone, Debug, Default)]
pub struct Model {
    pub chunks: Vec<Chunk>,
    /// -1 before the first chunk, 0 once sizes differ.
    pub chunksize: i64,
    pub flags2: u8,
    pub cbytes: i64,
    /// Whether the libraries compressed data themselves: they need not come to the same bytes.
    pub compressed_apart: bool,
    /// Whether a chunk went or was replaced, so that a contiguous frame may have holes.
    pub holes: bool,
    /// Whether each library goes on with what the other one wrote, which may be as many bytes as
    /// that one likes.
    pub exchanged: bool,
    pub meta: Vec<Layer>,
    pub vlmeta: Vec<Layer>,
    /// Bytes of one item.
    pub typesize: usize,
}

fn find(layers: &[Layer], name: &[u8]) -> Option<usize> {
    layers.iter().position(|layer| layer.0 == name)
}

impl Model {
    pub fn new(typesize: usize) -> Model {
        Model {
            chunksize: -1,
            typesize,
            ..Model::default()
        }
    }

    pub fn nbytes(&self) -> usize {
        self.chunks.iter().map(Chunk::len).sum()
    }

    /// Whole items of the data.
    pub fn nitems(&self) -> usize {
        self.nbytes() / self.typesize
    }

    /// All data in order.
    pub fn data(&self) -> Vec<u16> {
        self.chunks
            .iter()
            .flat_map(|chunk| chunk.data.iter().copied())
            .collect()
    }

    /// Whether a chunk that is not the last one has another size than `chunksize` says.
    pub fn irregular(&self) -> bool {
        let Some((last, before)) = self.chunks.split_last() else {
            return false;
        };
        let chunksize = self.chunksize;
        self.chunksize > 0
            && (before.iter().any(|chunk| chunk.len() as i64 != chunksize)
                || last.len() as i64 > chunksize)
    }

    /// The chunk at `at`, or the code for an index outside.
    fn chunk(&self, at: i64) -> Result<usize, i64> {
        match usize::try_from(at) {
            Ok(at) if at < self.chunks.len() => Ok(at),
            _ => Err(INVALID_PARAM),
        }
    }

    /// Bytes of the chunks that are there.
    pub fn payload(&self, storage: Storage) -> i64 {
        self.chunks
            .iter()
            .map(|chunk| Self::stored(chunk, storage))
            .sum()
    }

    /// Whether there is no data, and yet there are, or were, chunks: what they leave may count as
    /// data or not.
    pub fn leftovers(&self) -> bool {
        self.nbytes() == 0 && (self.holes || !self.chunks.is_empty())
    }

    /// What a chunk that comes adds to `cbytes`.
    pub fn stored(chunk: &Chunk, storage: Storage) -> i64 {
        match chunk.special {
            Some(_) if storage.framed() => 0,
            _ => chunk.raw.len() as i64,
        }
    }

    /// What a chunk that goes takes from `cbytes`.
    pub fn removed(chunk: &Chunk) -> i64 {
        match chunk.raw.len() {
            32 => 0,
            cbytes => cbytes as i64,
        }
    }

    fn mixes(&self, chunk: &Chunk, with: usize) -> bool {
        let other = self.chunks.get(with);
        other.is_some_and(|other| (other.flags2() ^ chunk.flags2()) & VL_BLOCKS != 0)
    }

    /// Puts a chunk in front of chunk `at`; `error` is the code for one that does not fit in.
    fn put(&mut self, at: usize, chunk: &Chunk, storage: Storage, error: i64) -> i64 {
        if self.mixes(chunk, 0) {
            return error;
        }
        let nbytes = chunk.len() as i64;
        match (self.chunksize, self.chunks.last()) {
            (-1, _) => self.chunksize = nbytes,
            (1.., Some(last)) => {
                let inside = at < self.chunks.len() && nbytes != self.chunksize;
                if (last.len() as i64) < self.chunksize || nbytes > self.chunksize || inside {
                    self.chunksize = 0;
                }
            }
            (1.., None) if nbytes > self.chunksize => return error,
            _ => {}
        }
        if self.chunks.is_empty() {
            self.flags2 = chunk.flags2();
        }
        self.cbytes += Self::stored(chunk, storage);
        self.chunks.insert(at, chunk.clone());
        self.chunks.len() as i64
    }

    fn update(&mut self, at: i64, chunk: &Chunk, storage: Storage) -> i64 {
        let at = match self.chunk(at) {
            Ok(at) => at,
            Err(code) => return code,
        };
        if self.mixes(chunk, usize::from(at == 0)) {
            return CHUNK_UPDATE;
        }
        if self.chunks.len() == 1 {
            self.flags2 = chunk.flags2();
        }
        let nbytes = chunk.len() as i64;
        let last = at + 1 == self.chunks.len();
        if self.chunksize > 0 && (nbytes > self.chunksize || (!last && nbytes != self.chunksize)) {
            self.chunksize = 0;
        }
        self.cbytes += Self::stored(chunk, storage) - Self::removed(&self.chunks[at]);
        self.chunks[at] = chunk.clone();
        self.holes = true;
        self.chunks.len() as i64
    }

    fn delete(&mut self, at: i64, storage: Storage) -> i64 {
        let at = match self.chunk(at) {
            Ok(at) => at,
            Err(code) => return code,
        };
        let chunk = self.chunks.remove(at);
        self.holes = true;
        if !storage.contiguous() {
            self.cbytes -= Self::removed(&chunk);
        }
        if self.chunks.is_empty() {
            self.flags2 = 0;
        }
        self.chunks.len() as i64
    }

    fn fill(&mut self, nitems: i64, kind: i32, chunksize: i32, plan: &Plan) -> i64 {
        let framed = plan.storage.framed();
        let typesize = self.typesize as i64;
        let per_chunk = i64::from(chunksize) / typesize;
        if nitems == 0 {
            return 0;
        }
        if nitems < 0 || chunksize <= 0 {
            return INVALID_PARAM;
        }
        if self.nbytes() > 0 || self.cbytes > 0 {
            return FRAME_SPECIAL;
        }
        if per_chunk == 0 {
            return INVALID_PARAM;
        }
        let special = match kind {
            1 => Special::Zeros,
            2 => Special::Nans,
            4 => Special::Uninit,
            _ if framed => return FRAME_SPECIAL,
            _ => return SCHUNK_SPECIAL,
        };
        if i64::from(chunksize) % typesize != 0 {
            return if framed {
                FRAME_SPECIAL
            } else {
                SCHUNK_SPECIAL
            };
        }
        let (full, left) = (nitems / per_chunk, nitems % per_chunk);
        let sizes = (0..full)
            .map(|_| per_chunk)
            .chain((left > 0).then_some(left));
        let sizes: Vec<usize> = sizes.map(|items| (items * typesize) as usize).collect();
        if !framed
            && self.chunksize > 0
            && self.chunks.is_empty()
            && sizes[0] as i64 > self.chunksize
        {
            return SCHUNK_SPECIAL;
        }
        if framed {
            self.chunksize = -1;
        }
        for nbytes in sizes {
            let chunk = plan.maker.special_of(special, nbytes);
            self.put(self.chunks.len(), &chunk, plan.storage, FAILURE);
        }
        if framed {
            self.chunksize = i64::from(chunksize);
        }
        self.chunks.len() as i64
    }

    /// A slice in bytes, or `None` where it is empty or reaches outside.
    fn slice(&self, start: i64, stop: i64) -> Option<std::ops::Range<usize>> {
        let typesize = self.typesize as i64;
        let inside = start >= 0 && stop <= self.nitems() as i64;
        inside.then(|| (start * typesize) as usize..(stop * typesize) as usize)
    }

    fn set_slice(&mut self, start: i64, stop: i64, data: &[u8]) -> Expect {
        if start >= stop {
            return Expect::code(0);
        }
        let Some(range) = self.slice(start, stop) else {
            return Expect::some(Code::Error);
        };
        self.compressed_apart = true;
        self.holes = true;
        let (mut at, mut from) = (0, 0);
        for chunk in &mut self.chunks {
            let end = at + chunk.len();
            let (first, last) = (range.start.max(at), range.end.min(end));
            if first < last {
                let mut bytes = chunk.data.to_vec();
                for place in &mut bytes[first - at..last - at] {
                    *place = u16::from(data[from]);
                    from += 1;
                }
                chunk.data = Rc::new(bytes);
                chunk.written = Some(Written::InPart);
            }
            at = end;
        }
        Expect::code(0)
    }

    fn reorder(&mut self, order: &[i64], storage: Storage) -> i64 {
        let mut seen = vec![false; order.len()];
        for &index in order {
            match usize::try_from(index)
                .ok()
                .and_then(|index| seen.get_mut(index))
            {
                Some(seen) if !*seen => *seen = true,
                _ => return DATA,
            }
        }
        if order.is_empty() && storage.framed() {
            return DATA;
        }
        self.chunks = order
            .iter()
            .map(|&index| self.chunks[index as usize].clone())
            .collect();
        0
    }

    fn add_layer(layers: &mut Vec<Layer>, name: &[u8], content: &[u8], capacity: usize) -> Expect {
        if find(layers, name).is_some() {
            return Expect::code(INVALID_PARAM);
        }
        if name.len() > MAX_NAME || layers.len() >= capacity {
            return Expect::some(Code::Error);
        }
        layers.push((name.to_vec(), content.to_vec()));
        Expect::code(layers.len() as i64 - 1)
    }

    /// The place of a metalayer, or the code for one that is not there.
    fn layer(layers: &[Layer], name: &[u8]) -> Result<usize, i64> {
        if name.len() > MAX_NAME {
            return Err(INVALID_PARAM);
        }
        find(layers, name).ok_or(NOT_FOUND)
    }

    /// Takes a step, and says what it must give.
    pub fn step(&mut self, op: &Op, plan: &Plan) -> Expect {
        let storage = plan.storage;
        let n = self.chunks.len();
        match op {
            Op::AppendBuffer { chunk } => {
                let rc = self.put(n, chunk, storage, CHUNK_APPEND);
                if rc > n as i64 {
                    self.compressed_apart = true;
                    self.chunks[n].written = Some(Written::Appended);
                }
                Expect::code(rc)
            }
            Op::Append { chunk, .. } => Expect::code(self.put(n, chunk, storage, CHUNK_APPEND)),
            Op::AppendShortOf { .. } => Expect::some(Code::Error),
            Op::Insert { at, chunk, .. } => match usize::try_from(*at) {
                Ok(at) if at <= n => Expect::code(self.put(at, chunk, storage, CHUNK_INSERT)),
                _ => Expect::code(INVALID_PARAM),
            },
            Op::Update { at, chunk, .. } => Expect::code(self.update(*at, chunk, storage)),
            Op::Delete { at } => Expect::code(self.delete(*at, storage)),
            Op::Decompress { at, capacity } => match self.chunk(*at) {
                Err(code) => Expect::code(code),
                Ok(at) if self.chunks[at].len() > *capacity => Expect::code(if storage.framed() {
                    WRITE_BUFFER
                } else {
                    INVALID_PARAM
                }),
                Ok(at) => {
                    let data = self.chunks[at].data.to_vec();
                    Expect::bytes(data.len() as i64, data)
                }
            },
            Op::Get { at } | Op::Lazy { at } => match self.chunk(*at) {
                Err(code) => Expect::code(code),
                Ok(at) => Expect {
                    rc: Code::Fine,
                    bytes: Some(self.chunks[at].data.to_vec()),
                    numbers: None,
                },
            },
            Op::VlBlock { at, block } => match self.chunk(*at).map(|at| &self.chunks[at].blocks) {
                Err(code) => Expect::code(code),
                Ok(None) => Expect::code(INVALID_PARAM),
                Ok(Some(blocks)) => match blocks.get(*block as usize) {
                    Some(block) => Expect::bytes(block.len() as i64, super::chunks::exactly(block)),
                    None => Expect::some(Code::Error),
                },
            },
            Op::GetSlice { start, stop } if start >= stop => Expect::code(0),
            Op::GetSlice { start, stop } => match self.slice(*start, *stop) {
                None => Expect::code(FAILURE),
                // The reference reads only whole chunks of this kind.
                Some(range) if self.flags2 & VL_BLOCKS != 0 => Expect {
                    rc: Code::Unknown,
                    ..Expect::bytes(0, self.data()[range].to_vec())
                },
                Some(range) => Expect::bytes(0, self.data()[range].to_vec()),
            },
            Op::SetSlice { start, stop, data } => self.set_slice(*start, *stop, data),
            Op::Sparse { coords } => self.sparse(coords),
            Op::SliceNchunks { start, stop } => self.slice_nchunks(*start, *stop),
            Op::Reorder { order } => Expect::code(self.reorder(order, storage)),
            Op::Fill {
                nitems,
                kind,
                chunksize,
            } => Expect::code(self.fill(*nitems, *kind, *chunksize, plan)),
            // Room for it would have to be made in front of the chunks.
            Op::MetaAdd { name, .. } if storage.framed() && n > 0 => {
                let there = find(&self.meta, name.to_bytes()).is_some();
                let sure = there || self.payload(storage) > 0;
                Expect::some(if sure {
                    Code::Is(INVALID_PARAM)
                } else {
                    Code::Unknown
                })
            }
            Op::MetaAdd { name, content } => {
                Self::add_layer(&mut self.meta, name.to_bytes(), content, MAX_LAYERS)
            }
            Op::MetaUpdate { name, content } => match Self::layer(&self.meta, name.to_bytes()) {
                Err(code) => Expect::code(code),
                Ok(at) => {
                    // One that is longer changes nothing, and is no error.
                    if let Some(place) = self.meta[at].1.get_mut(..content.len()) {
                        place.copy_from_slice(content);
                    }
                    Expect::code(at as i64)
                }
            },
            Op::VlAdd { name, content } => {
                let capacity = if storage.framed() { MAX_LAYERS } else { 8192 };
                Self::add_layer(&mut self.vlmeta, name.to_bytes(), content, capacity)
            }
            Op::VlUpdate { name, content } => match Self::layer(&self.vlmeta, name.to_bytes()) {
                Err(code) => Expect::code(code),
                Ok(at) => {
                    self.vlmeta[at].1 = content.clone();
                    Expect::code(at as i64)
                }
            },
            Op::VlGet { name } => match Self::layer(&self.vlmeta, name.to_bytes()) {
                Err(code) => Expect::code(code),
                Ok(at) => Expect::bytes(at as i64, super::chunks::exactly(&self.vlmeta[at].1)),
            },
            Op::VlExists { name } => {
                let at = Self::layer(&self.vlmeta, name.to_bytes());
                Expect::code(at.map_or_else(|code| code, |at| at as i64))
            }
            Op::VlDelete { name } => match Self::layer(&self.vlmeta, name.to_bytes()) {
                Err(code) => Expect::code(code),
                Ok(at) => {
                    self.vlmeta.remove(at);
                    Expect::code(self.vlmeta.len() as i64)
                }
            },
            Op::VlNames => {
                let names: Vec<Vec<u8>> = self.vlmeta.iter().map(|layer| layer.0.clone()).collect();
                Expect::bytes(names.len() as i64, super::chunks::exactly(&names.join(&0)))
            }
            Op::Offsets if !storage.framed() || n == 0 => Expect::code(FAILURE),
            Op::Offsets => Expect::some(Code::Is(n as i64)),
            Op::Refresh => Expect::code(0),
            Op::FrameLen | Op::Params | Op::Reopen | Op::Swap | Op::Verify => {
                Expect::some(Code::Fine)
            }
            Op::Copy { .. } | Op::Buffer { .. } | Op::ToFile { .. } => Expect::some(Code::Fine),
        }
    }

    fn sparse(&self, coords: &[i64]) -> Expect {
        let nitems = self.nitems() as i64;
        if coords.is_empty() {
            return Expect::code(0);
        }
        if coords.iter().any(|&coord| coord < 0 || coord >= nitems) {
            return Expect::code(INVALID_PARAM);
        }
        let data = self.data();
        let item = |&coord: &i64| data[coord as usize * self.typesize..][..self.typesize].to_vec();
        Expect {
            rc: Code::Unknown,
            bytes: Some(coords.iter().flat_map(item).collect()),
            numbers: None,
        }
    }

    fn slice_nchunks(&self, start: i64, stop: i64) -> Expect {
        let Some(range) = self.slice(start, stop).filter(|_| start <= stop) else {
            return Expect::some(Code::Unknown);
        };
        if range.is_empty() {
            return Expect::code(0);
        }
        let mut touched = Vec::new();
        let mut at = 0;
        for (index, chunk) in self.chunks.iter().enumerate() {
            let end = at + chunk.len();
            if range.start < end && at < range.end && chunk.len() > 0 {
                touched.push(index as i64);
            }
            at = end;
        }
        Expect::numbers(touched.len() as i64, touched)
    }

    /// Whether a byte string fits what the model knows.
    pub fn fits(expected: &[u16], bytes: &[u8]) -> bool {
        expected.len() == bytes.len()
            && expected
                .iter()
                .zip(bytes)
                .all(|(&e, &b)| e == ANY || e == u16::from(b))
    }
}
