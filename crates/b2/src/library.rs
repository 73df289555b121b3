//! The library as the tool uses it: contexts and super-chunks for data on their way in or out, and arrays.

use crate::failure::{Failure, Result};
use crate::settings::Settings;
use oxiblosc_chunk::checksum;
pub use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_core::schunk::chunks;
use oxiblosc_core::{
    CParams, Compressor, DParams, Error, Layout, Protection, Split, StorageParams,
};
use oxiblosc_io::paths::path_bytes;
use oxiblosc_memory::{Buffer, CStrBuf};
use std::ffi::OsStr;
use std::path::Path;

/// What most of this gives.
type Done<T> = std::result::Result<T, Error>;

/// A path as files are opened by.
pub fn c_path(path: &Path) -> Result<CStrBuf> {
    path_bytes(path)
        .and_then(|bytes| CStrBuf::new(bytes).ok())
        .ok_or_else(|| Failure::say(format!("{}: not a path", path.display())))
}

/// Zeros, or an error where there is no memory for them; what is never written takes none.
pub fn zeros(len: usize) -> Done<Buffer> {
    Buffer::zeroed(len)
}

/// Whether an environment variable of the library asks for something.
fn is_set(name: &str) -> bool {
    std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != OsStr::new("0"))
}

/// Whether what is made is to survive a loss of power.
pub fn is_durable() -> bool {
    is_set("BLOSC_DURABLE")
}

/// Frames are locked, and new ones have checksums, if the environment says so, as it does for all programs of the library; checksums
/// also where they are asked for. What is made is synced once, when it is whole.
fn protection(checksums: bool) -> Protection {
    Protection {
        locking: is_set("BLOSC_LOCKING"),
        durable: false,
        checksums: checksums || is_set("BLOSC_CHECKSUMS"),
    }
}

fn cparams(settings: &Settings) -> CParams {
    CParams {
        codec: settings.codec,
        codec_meta: settings.codec_meta,
        level: settings.level,
        use_dict: settings.dict,
        typesize: settings.typesize,
        blocksize: settings.blocksize,
        split: Split::from_code(settings.splitmode).unwrap_or_default(),
        filters: settings.filters,
        filters_meta: settings.filters_meta,
        nthreads: settings.threads,
    }
}

fn storage<'a>(place: Place<'a>, settings: &Settings) -> StorageParams<'a> {
    StorageParams {
        place,
        cparams: cparams(settings),
        dparams: DParams {
            nthreads: settings.threads,
        },
        protection: protection(settings.checksums),
    }
}

pub use oxiblosc_core::Place;

/// A super-chunk: contexts with the metalayers that some codecs ask for, and a place for chunks.
pub struct SuperChunk(oxiblosc_core::SuperChunk);

impl SuperChunk {
    /// A new one without chunks; what is at the place already must be gone.
    pub fn new(place: Place, settings: &Settings) -> Done<Self> {
        oxiblosc_core::SuperChunk::create(storage(place, settings)).map(Self)
    }

    /// Puts a fixed-length metalayer into it, which has no chunks yet.
    pub fn add_meta(&mut self, name: &[u8], content: &[u8]) -> Done<()> {
        self.0.add_metalayer(name, content).map(drop)
    }

    /// Puts a variable-length metalayer into it, uncompressed as it is given.
    pub fn add_vlmeta(&mut self, name: &[u8], content: &[u8]) -> Done<()> {
        add_vlmeta(&self.0, name, content)
    }

    /// Puts a chunk behind the last one.
    pub fn append_chunk(&mut self, chunk: &[u8]) -> Done<()> {
        if ChunkHeader::parse(chunk)?.cbytes != chunk.len() {
            return Err(Error::InvalidHeader);
        }
        self.0.put_chunk(chunks::Position::End, chunk).map(drop)
    }

    /// Whether its chunks have checksums.
    pub fn has_checksums(&self) -> Done<bool> {
        self.0.has_checksums()
    }

    /// Compresses data into a chunk.
    pub fn compress(&self, data: ChunkInput) -> Done<Buffer> {
        self.0.compress(data, self.0.has_checksums()?)
    }

    /// Compresses data into a chunk for another super-chunk, with checksums or not. It is the front of `room`, which grows as it has to;
    /// gives its length.
    pub fn compress_into(&self, data: &[u8], checksums: bool, room: &mut Buffer) -> Done<usize> {
        let more = if checksums {
            checksum::room(data.len())
        } else {
            0
        };
        let most = data.len() + MAX_OVERHEAD + more;
        if room.len() < most {
            *room = zeros(most)?;
        }
        let data = ChunkInput::Buffer(data);
        self.0.encoder()?.compress(data, room, checksums)
    }

    /// Decompresses a chunk, in the super-chunk or not, into the front of `data`.
    pub fn decompress(&self, chunk: &[u8], data: &mut [u8]) -> Done<usize> {
        let header = ChunkHeader::parse(chunk)?;
        self.0.decoder()?.decompress(&header, chunk, data)
    }

    /// Decompresses `count` items of a chunk, from item `start` on, into `data`.
    pub fn items(&self, chunk: &[u8], start: usize, count: usize, data: &mut [u8]) -> Done<usize> {
        let decoder = self.0.decoder()?;
        oxiblosc_core::context::decompress_items(decoder, chunk, start, count, data)
    }

    /// Puts the frame in order and closes it.
    pub fn close(self) -> Done<()> {
        match self.0.close_frame() {
            Ok(_) => Ok(()),
            // There is none.
            Err(Error::Failure) => Ok(()),
            Err(error) => Err(error),
        }
    }
}

fn add_vlmeta(schunk: &oxiblosc_core::SuperChunk, name: &[u8], content: &[u8]) -> Done<()> {
    let encoder = Compressor::new(CParams::default());
    schunk.add_vlmetalayer(name, content, &encoder).map(drop)
}

/// How an array is cut, and what its items are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayLayout {
    /// Items along each dimension.
    pub shape: Vec<i64>,
    /// Items of a chunk along each dimension.
    pub chunks: Vec<i32>,
    /// Items of a block along each dimension.
    pub blocks: Vec<i32>,
    /// The dtype in NumPy's way.
    pub dtype: String,
}

/// An n-dimensional array.
pub struct Array(oxiblosc_core::Array);

impl Array {
    /// A new one, of zeros, with metalayers by name beside its own; what is at the place already must be gone.
    pub fn new(
        place: Place,
        settings: &Settings,
        shape: &ArrayLayout,
        metalayers: &[(&[u8], &[u8])],
    ) -> Done<Self> {
        let layout = Layout {
            shape: &shape.shape,
            chunks: &shape.chunks,
            blocks: &shape.blocks,
            dtype: Some(shape.dtype.as_bytes()),
            metalayers,
        };
        oxiblosc_core::Array::zeros(&layout, storage(place, settings)).map(Self)
    }

    /// Opens an array in a file or directory, to be read by so many threads.
    pub fn open(path: &Path, threads: i16) -> Done<Self> {
        oxiblosc_core::Array::open(path, threads, protection(false)).map(Self)
    }

    /// Reads the items from `start` to before `stop` into `items`, which has exactly that many, in C order.
    pub fn read(&self, start: &[i64], stop: &[i64], items: &mut [u8]) -> Done<()> {
        self.0.read(start, stop, items)
    }

    /// Writes the items from `start` to before `stop`, which lie in C order.
    pub fn write(&mut self, start: &[i64], stop: &[i64], items: &[u8]) -> Done<()> {
        self.0.write(start, stop, items)
    }

    /// Puts a variable-length metalayer into the array.
    pub fn add_vlmeta(&mut self, name: &[u8], content: &[u8]) -> Done<()> {
        add_vlmeta(self.0.schunk(), name, content)
    }

    /// Puts the frame in order and closes it.
    pub fn close(self) -> Done<()> {
        self.0.schunk().close_frame().map(drop)
    }
}
