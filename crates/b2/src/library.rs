//! The library as the tool uses it: super-chunks, whose contexts compress and decompress, and
//! arrays.

use crate::failure::{Failure, Result};
use crate::place::as_c;
use crate::settings::Settings;
use oxiblosc::environment;
pub use oxiblosc::format::chunk::ChunkInput;
use oxiblosc::format::chunk::checksum;
use oxiblosc::format::chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc::schunk::chunks;
use oxiblosc::{
    Array, CParams, Compressor, DParams, Error, Layout, NewChunks, Protection, Split, StorageParams,
};
use oxiblosc_base::memory::{Buffer, CStrBuf};
use oxiblosc_repair::Contexts;
use std::ops::Deref;
use std::path::Path;

/// The result of most functions here.
type Done<T> = std::result::Result<T, Error>;

/// A path as the library opens files by it. Fails if it contains a null byte.
pub fn c_path(path: &Path) -> Result<CStrBuf> {
    as_c(path).map_err(|_| Failure::message(format!("{}: not a path", path.display())))
}

/// A buffer of zeros. Pages of large buffers take no memory until they are written to.
pub fn zeros(len: usize) -> Done<Buffer> {
    Buffer::zeroed(len)
}

/// Locking and checksums follow the environment, as in all programs that use the library;
/// `checksums` adds checksums. Single changes are not durable, since the finished output is synced
/// once.
pub fn protection(checksums: bool) -> Protection {
    Protection {
        locking: environment::locking(),
        durable: false,
        checksums: checksums || environment::checksums(),
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

pub use oxiblosc::Place;

/// A super-chunk: contexts that know the metalayers, which some codecs need, and storage for
/// chunks.
pub struct SuperChunk {
    contexts: Contexts,
    /// How many chunks were appended.
    count: usize,
    /// Chunks that are appended later, and how many bytes they have.
    waiting: Vec<Waiting>,
    waiting_bytes: usize,
}

/// A chunk that is to be appended, so many times.
struct Waiting {
    chunk: Vec<u8>,
    count: usize,
}

impl Waiting {
    fn as_new(&self) -> Done<NewChunks<'_>> {
        if self.count == 1 {
            return Ok(NewChunks::One(&self.chunk));
        }
        let header = ChunkHeader::parse(&self.chunk)?;
        Ok(NewChunks::Specials {
            kind: header.special(),
            count: self.count,
            nbytes: header.nbytes as i32,
        })
    }
}

/// In a frame of more chunks than this, every change writes the whole index. So chunks wait there
/// until they have so many bytes.
const MANY_CHUNKS: usize = 1 << 23;
const WAITING_BYTES: usize = 16 << 20;

impl Deref for SuperChunk {
    type Target = Contexts;

    fn deref(&self) -> &Contexts {
        &self.contexts
    }
}

impl SuperChunk {
    /// A new one without chunks. Fails if something exists at the place.
    pub fn new(place: Place, settings: &Settings) -> Done<Self> {
        Ok(Self {
            contexts: Contexts::of(oxiblosc::SuperChunk::create(storage(place, settings))?),
            count: 0,
            waiting: Vec::new(),
            waiting_bytes: 0,
        })
    }

    /// Adds a fixed-length metalayer. To be called before the first chunk is added.
    pub fn add_meta(&mut self, name: &[u8], content: &[u8]) -> Done<()> {
        self.contexts
            .super_chunk()
            .add_metalayer(name, content)
            .map(drop)
    }

    /// Adds a variable-length metalayer. `content` is not compressed yet.
    pub fn add_vlmeta(&mut self, name: &[u8], content: &[u8]) -> Done<()> {
        self.append_waiting()?;
        add_vlmeta(self.contexts.super_chunk(), name, content)
    }

    /// Appends a chunk. Fails if it is not exactly as long as its header says.
    pub fn append_chunk(&mut self, chunk: &[u8]) -> Done<()> {
        if ChunkHeader::parse(chunk)?.cbytes != chunk.len() {
            return Err(Error::INVALID_HEADER);
        }
        if self.waits(1) {
            return self.wait(chunk, 1);
        }
        self.contexts
            .super_chunk()
            .put_chunk(chunks::Position::End, chunk)
            .map(drop)
    }

    /// Appends a chunk of special values `count` times. In a frame whose chunks have one size that
    /// takes no time for each.
    pub fn append_specials(&mut self, chunk: &[u8], count: usize) -> Done<()> {
        match count {
            0 => Ok(()),
            1 => self.append_chunk(chunk),
            _ if self.waits(count) => self.wait(chunk, count),
            _ => append_all(
                self.contexts.super_chunk(),
                &[Waiting {
                    chunk: chunk.to_vec(),
                    count,
                }],
            ),
        }
    }

    /// Counts chunks that are appended. Whether they have to wait.
    fn waits(&mut self, count: usize) -> bool {
        self.count = self.count.saturating_add(count);
        self.count > MANY_CHUNKS
    }

    fn wait(&mut self, chunk: &[u8], count: usize) -> Done<()> {
        let chunk = chunk.to_vec();
        self.waiting_bytes += chunk.len() + size_of::<Waiting>();
        self.waiting.push(Waiting { chunk, count });
        match self.waiting_bytes < WAITING_BYTES {
            true => Ok(()),
            false => self.append_waiting(),
        }
    }

    /// Appends the chunks that wait.
    fn append_waiting(&mut self) -> Done<()> {
        self.waiting_bytes = 0;
        append_all(
            self.contexts.super_chunk(),
            &std::mem::take(&mut self.waiting),
        )
    }

    /// Whether its chunks have checksums.
    pub fn has_checksums(&self) -> Done<bool> {
        self.contexts.super_chunk().has_checksums()
    }

    /// Compresses data into a chunk for another super-chunk, with checksums if `checksums`. The
    /// chunk is written to the front of `buffer`, which grows if necessary. Returns its length in
    /// bytes.
    pub fn compress_into(&self, data: &[u8], checksums: bool, buffer: &mut Buffer) -> Done<usize> {
        let more = if checksums {
            checksum::extra_len(data.len())
        } else {
            0
        };
        let most = data.len() + MAX_OVERHEAD + more;
        if buffer.len() < most {
            *buffer = zeros(most)?;
        }
        let data = ChunkInput::Buffer(data);
        let encoder = self.contexts.super_chunk().encoder()?;
        let header = encoder.compress(data, buffer, checksums)?;
        Ok(header.map_or(0, |header| header.cbytes))
    }

    /// Finishes the frame and closes it.
    pub fn close(mut self) -> Done<()> {
        self.append_waiting()?;
        match self.contexts.super_chunk().close_frame() {
            Ok(_) => Ok(()),
            // The chunks are in memory, without a frame.
            Err(error) if error == Error::FAILURE => Ok(()),
            Err(error) => Err(error),
        }
    }
}

/// Appends chunks as one change. Where special ones have to be stored, one after the other.
fn append_all(schunk: &oxiblosc::SuperChunk, all: &[Waiting]) -> Done<()> {
    if all.is_empty() {
        return Ok(());
    }
    let new: Done<Vec<NewChunks>> = all.iter().map(Waiting::as_new).collect();
    match schunk.append_all(&new?) {
        Err(error) if [Error::CHUNK_APPEND, Error::FRAME_TYPE].contains(&error) => {
            all.iter().try_for_each(|waiting| {
                (0..waiting.count).try_for_each(|_| {
                    let put = schunk.put_chunk(chunks::Position::End, &waiting.chunk);
                    put.map(drop)
                })
            })
        }
        done => done.map(drop),
    }
}

/// Adds a variable-length metalayer. `content` is not compressed yet.
pub fn add_vlmeta(schunk: &oxiblosc::SuperChunk, name: &[u8], content: &[u8]) -> Done<()> {
    let encoder = Compressor::new(CParams::default());
    schunk.add_vlmetalayer(name, content, &encoder).map(drop)
}

/// The shapes of an array, and the type of its items.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArrayLayout {
    /// Items along each dimension.
    pub shape: Vec<i64>,
    /// Items of a chunk along each dimension.
    pub chunks: Vec<i32>,
    /// Items of a block along each dimension.
    pub blocks: Vec<i32>,
    /// The dtype as NumPy writes it.
    pub dtype: String,
}

/// A new array of zeros, with additional metalayers (names and contents). Fails if something exists
/// at the place.
pub fn new_array(
    place: Place,
    settings: &Settings,
    shape: &ArrayLayout,
    metalayers: &[(&[u8], &[u8])],
) -> Done<Array> {
    let layout = Layout {
        shape: &shape.shape,
        chunks: &shape.chunks,
        blocks: &shape.blocks,
        dtype: Some(shape.dtype.as_bytes()),
        metalayers,
    };
    Array::zeros(&layout, storage(place, settings))
}
