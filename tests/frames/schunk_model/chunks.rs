//! Chunks as arguments: their bytes, and what the model knows of them.

use oxiblosc_testing::abi::{self, CParams};
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::library::Lib;
use std::rc::Rc;

/// Stands in the model for a byte that may have any value.
pub const ANY: u16 = 0x100;

/// The special values that a frame keeps in its index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Special {
    Zeros,
    Nans,
    Uninit,
}

/// A chunk with its data.
#[derive(Clone, PartialEq, Eq)]
pub struct Chunk {
    pub raw: Vec<u8>,
    pub data: Rc<Vec<u16>>,
    pub special: Option<Special>,
    /// The blocks, when they have variable lengths.
    pub blocks: Option<Vec<Vec<u8>>>,
    /// Whether the library compressed it since, so that `raw` is no more what is stored.
    pub written: Option<Written>,
}

/// How a library came to compress a chunk by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    Appended,
    InPart,
}

impl std::fmt::Debug for Chunk {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let (nbytes, cbytes) = (self.data.len(), self.raw.len());
        write!(f, "{nbytes}->{cbytes} {:?}", self.special)?;
        match &self.blocks {
            Some(blocks) => write!(f, " {} vl", blocks.len()),
            None => write!(
                f,
                " typesize {} blocksize {}",
                self.raw[3],
                self.blocksize()
            ),
        }
    }
}

impl Chunk {
    pub fn len(&self) -> usize {
        self.data.len()
    }

    /// The block size in the header.
    pub fn blocksize(&self) -> i32 {
        i32::from_le_bytes([self.raw[8], self.raw[9], self.raw[10], self.raw[11]])
    }

    /// What the header says in its last but one byte.
    pub fn flags2(&self) -> u8 {
        self.raw[30]
    }

    fn new(raw: Vec<u8>, data: Vec<u16>) -> Chunk {
        assert!(raw.len() >= 32, "a chunk of {} bytes", raw.len());
        let special = match raw[31] >> 4 & 7 {
            1 => Some(Special::Zeros),
            2 => Some(Special::Nans),
            4 => Some(Special::Uninit),
            _ => None,
        };
        Chunk {
            raw,
            data: Rc::new(data),
            special,
            blocks: None,
            written: None,
        }
    }

    /// The chunk as it is stored.
    pub fn stored_as(&self, raw: Vec<u8>) -> Chunk {
        let blocks = self.blocks.clone().filter(|_| raw[30] & 1 != 0);
        let new = Chunk::new(raw, Vec::new());
        Chunk {
            data: Rc::clone(&self.data),
            blocks,
            ..new
        }
    }
}

/// Widens bytes to what the model keeps.
pub fn exactly(bytes: &[u8]) -> Vec<u16> {
    bytes.iter().map(|&byte| u16::from(byte)).collect()
}

/// Makes chunks as a program would that has these parameters.
#[derive(Clone)]
pub struct Maker {
    pub lib: Option<&'static Lib>,
    pub cparams: CParams,
    kind: Kind,
}

impl Maker {
    pub fn new(rng: &mut Rng, typesize: i32, chunksize: usize) -> Maker {
        let filters = rng.pick(&[
            [0, 0, 0, 0, 0, abi::SHUFFLE],
            [0, 0, 0, 0, 0, abi::SHUFFLE],
            [0, 0, 0, 0, 0, abi::BITSHUFFLE],
            [0; 6],
            [0, 0, 0, 0, abi::DELTA, abi::SHUFFLE],
        ]);
        let blocksize = match rng.below(3) {
            0 => 0,
            _ => {
                let blocks = 1 + rng.below(6);
                let items = (chunksize / typesize as usize).div_ceil(blocks);
                items.max(1) as i32 * typesize
            }
        };
        Maker {
            lib: None,
            cparams: CParams {
                typesize,
                compcode: rng.pick(&[abi::BLOSCLZ, abi::LZ4, abi::ZSTD, abi::ZLIB]),
                clevel: rng.pick(&[0, 1, 5, 5, 9]),
                blocksize,
                filters,
                ..CParams::default()
            },
            kind: rng.pick(&[
                Kind::WalkInt32,
                Kind::SmoothFloat64,
                Kind::Runs,
                Kind::Random,
            ]),
        }
    }

    pub fn typesize(&self) -> usize {
        self.cparams.typesize as usize
    }

    fn lib(&self) -> &'static Lib {
        self.lib.expect("set before the first chunk")
    }

    /// Data, sometimes nothing but zeros.
    pub fn bytes(&self, rng: &mut Rng, nbytes: usize) -> Vec<u8> {
        match rng.below(8) {
            0 => vec![0; nbytes],
            1 => Kind::Random.bytes(nbytes, rng.next()),
            _ => self.kind.bytes(nbytes, rng.next()),
        }
    }

    /// A chunk as `append_buffer` makes it.
    pub fn buffer(&self, rng: &mut Rng, nbytes: usize) -> Rc<Chunk> {
        let bytes = self.bytes(rng, nbytes);
        self.compressed(&self.cparams, &bytes)
    }

    fn compressed(&self, cparams: &CParams, bytes: &[u8]) -> Rc<Chunk> {
        let (rc, raw) = self.lib().compress(cparams, bytes);
        assert!(rc > 0, "{rc} for {} bytes with {cparams:?}", bytes.len());
        Rc::new(Chunk::new(raw, exactly(bytes)))
    }

    /// Any chunk without blocks of variable length.
    pub fn any(&self, rng: &mut Rng, nbytes: usize) -> Rc<Chunk> {
        let typesize = self.typesize();
        // Special chunks hold whole items.
        if nbytes.is_multiple_of(typesize) && rng.below(3) == 0 {
            return self.special(rng, nbytes);
        }
        let bytes = self.bytes(rng, nbytes);
        let cparams = match rng.below(6) {
            0 => self.cparams.with_blocksize(0),
            1 => CParams {
                compcode: abi::LZ4,
                filters: [0; 6],
                clevel: 3,
                ..self.cparams
            },
            _ => self.cparams,
        };
        self.compressed(&cparams, &bytes)
    }

    /// A chunk as `fill_special` makes it.
    pub fn special_of(&self, special: Special, nbytes: usize) -> Chunk {
        let mut raw = vec![0; 32];
        let (f, to, len) = (&self.lib().f, raw.as_mut_ptr().cast(), nbytes as i32);
        // SAFETY: each writes a header into a buffer with room for one.
        let (rc, data) = unsafe {
            match special {
                Special::Zeros => (
                    (f.blosc2_chunk_zeros)(self.cparams, len, to, 32),
                    vec![0; nbytes],
                ),
                Special::Uninit => (
                    (f.blosc2_chunk_uninit)(self.cparams, len, to, 32),
                    vec![ANY; nbytes],
                ),
                Special::Nans => (
                    (f.blosc2_chunk_nans)(self.cparams, len, to, 32),
                    exactly(&self.nans(nbytes)),
                ),
            }
        };
        Chunk::new(checked(rc, raw), data)
    }

    fn nans(&self, nbytes: usize) -> Vec<u8> {
        let nan = match self.typesize() {
            4 => f32::NAN.to_le_bytes().to_vec(),
            _ => f64::NAN.to_le_bytes().to_vec(),
        };
        nan.repeat(nbytes / self.typesize())
    }

    fn special(&self, rng: &mut Rng, nbytes: usize) -> Rc<Chunk> {
        let typesize = self.typesize();
        let special = match rng.below(4) {
            0 if matches!(typesize, 4 | 8) => Special::Nans,
            1 => Special::Uninit,
            2 if typesize <= 255 && nbytes > 0 => {
                let mut raw = vec![0; 32 + typesize];
                let mut value = vec![0; typesize];
                value.fill_with(|| rng.next() as u8);
                let (to, from) = (raw.as_mut_ptr().cast(), value.as_ptr().cast());
                let (f, capacity) = (&self.lib().f, raw.len() as i32);
                // SAFETY: it writes a header and a value into a buffer with room for both.
                let rc = unsafe {
                    (f.blosc2_chunk_repeatval)(self.cparams, nbytes as i32, to, capacity, from)
                };
                let data = value.repeat(nbytes / typesize);
                return Rc::new(Chunk::new(checked(rc, raw), exactly(&data)));
            }
            _ => Special::Zeros,
        };
        Rc::new(self.special_of(special, nbytes))
    }

    /// A chunk with blocks of variable length.
    pub fn vl(&self, rng: &mut Rng, nbytes: usize) -> Rc<Chunk> {
        let mut blocks = Vec::new();
        let mut left = nbytes.max(1);
        while left > 0 && blocks.len() < 5 {
            let len = 1 + rng.below(left);
            blocks.push(self.bytes(rng, len));
            left -= len;
        }
        let cparams = CParams {
            // A delta reaches over blocks.
            filters: [0, 0, 0, 0, 0, self.cparams.filters[5]],
            ..self.cparams.with_blocksize(0)
        };
        let ctx = self.lib().cctx(&cparams).expect("valid parameters");
        let mut raw = vec![0; 2 * nbytes + 1000];
        let rc = ctx.vlcompress(&blocks, &mut raw);
        let mut chunk = Chunk::new(checked(rc, raw), exactly(&blocks.concat()));
        chunk.blocks = Some(blocks);
        Rc::new(chunk)
    }
}

/// The chunk that a call returned `rc` for.
fn checked(rc: i32, mut raw: Vec<u8>) -> Vec<u8> {
    assert!(rc > 0, "making a chunk: {rc}");
    raw.truncate(rc as usize);
    raw
}
