//! Frames and chunks as they lie on disk, read without ever writing to them.

use crate::failure::{Failure, Result, describe};
use crate::input::Input;
use crate::library::{SuperChunk, c_path, zeros};
use crate::settings::Settings;
use crate::store::Store;
use oxiblosc_chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BLOCKSIZE, MAX_TYPESIZE, MIN_HEADER_LENGTH, Special,
};
use oxiblosc_chunk::special::SpecialChunk;
use oxiblosc_core::b2nd::meta::{Meta, NAME, OLD_NAME};
use oxiblosc_core::codec;
use oxiblosc_error::Error;
use oxiblosc_frame::disk::{Disk, Loaded, Options, Stored, frame_file as frame_file_of};
use oxiblosc_frame::fingerprint::Coverage;
use oxiblosc_frame::header::{Extent, FrameKind, Header, MIN_LEN};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_frame::offsets::{Found, Offsets};
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage};
use oxiblosc_memory::{Buffer, Shared};
use std::ffi::CStr;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

/// Files that cannot be written: a change that another process left half done is read as done, and not finished here.
struct ReadOnly;

impl Backend for ReadOnly {
    fn open(&self, path: &CStr, mode: Mode) -> std::result::Result<Shared<dyn Storage>, Error> {
        match mode {
            Mode::Read => Filesystem.open(path, mode),
            Mode::ReadWrite | Mode::Create | Mode::New => Err(Error::FileOpen),
        }
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        Filesystem.identity(path)
    }

    fn is_filesystem(&self) -> bool {
        true
    }
}

/// A file that is open already, whatever its path is.
struct OneFile(Shared<dyn Storage>);

impl Backend for OneFile {
    fn open(&self, _: &CStr, mode: Mode) -> std::result::Result<Shared<dyn Storage>, Error> {
        match mode {
            Mode::Read => Ok(self.0.clone()),
            Mode::ReadWrite | Mode::Create | Mode::New => Err(Error::FileOpen),
        }
    }

    fn is_filesystem(&self) -> bool {
        false
    }
}

/// A frame in a file or directory.
pub struct Frame {
    /// What the header says.
    pub header: Arc<Header>,
    /// Where things are, as the header says.
    pub extent: Extent,
    /// The variable-length metalayers: their contents are chunks.
    pub vlmetalayers: Vec<Metalayer>,
    /// Which checksums there are besides those of chunks.
    pub coverage: Coverage,
    disk: Disk,
}

/// What to do about a frame that cannot be opened.
pub const REPAIR: &str = "b2 repair may bring back what is readable";

/// What a command was given to read.
pub enum FrameOrChunk {
    /// A frame.
    Frame(Box<Frame>),
    /// A chunk alone.
    Chunk(Vec<u8>),
}

/// A chunk of a frame.
pub enum StoredChunk {
    /// As many bytes of data, all told by the offset.
    Special(Special, usize),
    /// The chunk.
    Bytes(Buffer),
}

/// Where a chunk is, and how much data it has if all of it is told by that.
pub struct Located(Found<Stored>, usize);

impl Located {
    /// Reads the chunk.
    pub fn read(&self) -> std::result::Result<StoredChunk, Error> {
        match &self.0 {
            Found::Special(kind) => Ok(StoredChunk::Special(*kind, self.1)),
            Found::Stored(stored) => stored.whole().map(StoredChunk::Bytes),
        }
    }
}

/// The file with the header of the frame at `path`.
pub fn frame_file(path: &Path) -> std::path::PathBuf {
    if path.is_dir() {
        path.join("chunks.b2frame")
    } else {
        path.to_path_buf()
    }
}

impl Frame {
    /// Opens the frame at `path`.
    pub fn open(path: &Path) -> std::result::Result<Self, Error> {
        let kind = if path.is_dir() {
            FrameKind::Sparse
        } else {
            FrameKind::Contiguous
        };
        let name = c_path(path).map_err(|_| Error::FileOpen)?;
        Self::open_by(oxiblosc_io::shared(ReadOnly)?, &name, kind)
    }

    /// Opens the frame that is all of a file.
    pub fn open_in(file: Shared<dyn Storage>) -> std::result::Result<Self, Error> {
        let backend = oxiblosc_io::shared(OneFile(file))?;
        Self::open_by(backend, c"the file", FrameKind::Contiguous)
    }

    fn open_by(
        backend: Shared<dyn Backend>,
        path: &CStr,
        kind: FrameKind,
    ) -> std::result::Result<Self, Error> {
        let options = Options {
            backend: backend.clone(),
            locking: false,
            durable: false,
        };
        let (disk, loaded) = Disk::open(options, path, 0, kind)?;
        let Loaded {
            header,
            vlmetalayers,
            coverage,
        } = loaded;
        let mut front = [0; MIN_LEN];
        let file = backend.open(&frame_file_of(path, kind)?, Mode::Read)?;
        file.read_at(0, &mut front)?;
        Ok(Self {
            header: Arc::new(header),
            extent: Extent::parse(&front)?,
            vlmetalayers: vlmetalayers.into(),
            coverage,
            disk,
        })
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        self.offsets().len()
    }

    /// Where they are.
    pub fn offsets(&self) -> &Offsets {
        self.disk.offsets()
    }

    /// Bytes of the data of a chunk, where all chunks but the last have the same.
    pub fn chunk_nbytes(&self, nchunk: usize) -> usize {
        let size = self.header.chunksize.max(0) as u64;
        let start = size.saturating_mul(nchunk as u64);
        (self.header.nbytes.max(0) as u64)
            .saturating_sub(start)
            .min(size) as usize
    }

    /// Reads a chunk.
    pub fn chunk(&mut self, nchunk: usize) -> std::result::Result<StoredChunk, Error> {
        self.locate(nchunk)?.read()
    }

    /// Says where a chunk is, so that it can be read while others are.
    pub fn locate(&mut self, nchunk: usize) -> std::result::Result<Located, Error> {
        let found = self.disk.find(nchunk)?;
        Ok(Located(found, self.chunk_nbytes(nchunk)))
    }

    /// Reads the header of a chunk; none for a chunk of special values, which is only an offset.
    pub fn chunk_header(
        &mut self,
        nchunk: usize,
    ) -> std::result::Result<Option<ChunkHeader>, Error> {
        match self.disk.find(nchunk)? {
            Found::Special(_) => Ok(None),
            Found::Stored(stored) => stored.header().map(Some),
        }
    }

    /// The parameters that chunks of this frame are made with.
    pub fn settings(&self, threads: i16) -> Settings {
        Settings {
            checksums: self.coverage.is_any(),
            ..settings_of(&self.header, threads)
        }
    }

    /// What of the frame, besides its chunks, has checksums.
    pub fn covered(&self) -> &'static str {
        match self.coverage {
            Coverage::All => "header, index and metalayers",
            Coverage::AllButHeader => "index and variable-length metalayers",
            Coverage::None => "none",
        }
    }

    /// Contexts for chunks of this frame.
    pub fn contexts(&self, threads: i16) -> std::result::Result<SuperChunk, Error> {
        contexts(&self.header, threads)
    }

    /// What python-blosc2 takes the frame for, if it stands for data that are computed or lie elsewhere.
    pub fn stands_for(&self) -> Option<&'static str> {
        // Metalayers of python-blosc2 4.14, as its `schunk.py` looks for them.
        let kinds: [(&[u8], &str); 3] = [
            (b"LazyArray", "a lazy expression"),
            (b"b2o", "an object"),
            (b"proxy-source", "a proxy"),
        ];
        let layers = &self.header.metalayers;
        let kind = kinds
            .iter()
            .find(|(name, _)| layers.iter().any(|layer| layer.name == *name));
        kind.map(|(_, what)| *what)
    }

    /// The content of the metalayer that makes this an array.
    pub fn array(&self) -> Option<&[u8]> {
        array_layer(&self.header.metalayers)
    }
}

/// The content of the metalayer that makes a frame an array.
pub fn array_layer(metalayers: &[Metalayer]) -> Option<&[u8]> {
    let find = |name: &[u8]| metalayers.iter().find(|layer| layer.name == name);
    let layer = find(NAME).or_else(|| find(OLD_NAME))?;
    Some(&layer.content)
}

/// What an array's metalayer says, where it can be read.
pub fn array_meta(content: &[u8]) -> Option<Meta<'_>> {
    Meta::parse(content, true).ok().map(|(meta, _)| meta)
}

/// The parameters that a header names.
pub fn settings_of(header: &Header, threads: i16) -> Settings {
    let parameters = &header.parameters;
    Settings {
        codec: parameters.compcode,
        codec_meta: parameters.compcode_meta,
        level: parameters.clevel.min(9),
        filters: parameters.filters,
        filters_meta: parameters.filters_meta,
        typesize: parameters.typesize,
        blocksize: parameters.blocksize,
        splitmode: parameters.splitmode.into(),
        dict: parameters.use_dict,
        checksums: false,
        threads,
    }
}

/// Contexts for the chunks of a frame with this header, with the metalayers that codecs may ask for.
pub fn contexts(header: &Header, threads: i16) -> std::result::Result<SuperChunk, Error> {
    let settings = Settings {
        // What counts for decompression stands in the chunks.
        blocksize: 0,
        dict: false,
        ..settings_of(header, threads)
    };
    let mut contexts = SuperChunk::new(crate::library::Place::Memory, &settings)?;
    for layer in &header.metalayers {
        contexts.add_meta(&layer.name, &layer.content)?;
    }
    Ok(contexts)
}

/// Contexts for chunks without a header of a frame.
pub fn plain_contexts(threads: i16) -> std::result::Result<SuperChunk, Error> {
    let settings = Settings {
        codec: codec::BLOSCLZ,
        codec_meta: 0,
        level: 5,
        filters: [0; 6],
        filters_meta: [0; 6],
        typesize: 1,
        blocksize: 0,
        splitmode: 4,
        dict: false,
        checksums: false,
        threads,
    };
    SuperChunk::new(crate::library::Place::Memory, &settings)
}

/// A chunk whose items are all the same.
pub fn special_chunk(kind: Special, nbytes: usize, header: &Header) -> Vec<u8> {
    let typesize = usize::try_from(header.parameters.typesize)
        .unwrap_or(1)
        .max(1);
    let whole = nbytes.is_multiple_of(typesize) && typesize <= MAX_TYPESIZE;
    // Only floating-point items can be NaNs.
    let kind = match kind {
        Special::Nan if !matches!(typesize, 4 | 8) || !whole => Special::Zero,
        kind if !whole && kind != Special::Zero => Special::Zero,
        kind => kind,
    };
    let typesize = if typesize > MAX_TYPESIZE { 1 } else { typesize };
    // What the header says may be wrong; there is nothing in the blocks.
    let blocksize = match usize::try_from(header.parameters.blocksize) {
        Ok(size) if (1..=nbytes).contains(&size) => size,
        _ => nbytes.max(1),
    }
    .min(MAX_BLOCKSIZE as usize);
    let mut chunk = vec![0; EXTENDED_HEADER_LENGTH];
    let special = SpecialChunk {
        special: kind,
        nbytes,
        blocksize,
        typesize,
        value: &[],
    };
    special.write(&mut chunk);
    chunk
}

/// The content of a variable-length metalayer, if it is no larger than `most`.
pub fn vlmeta_content(
    contexts: &SuperChunk,
    layer: &Metalayer,
    most: usize,
) -> std::result::Result<Buffer, Error> {
    let header = ChunkHeader::parse(&layer.content)?;
    if header.nbytes > most {
        return Err(Error::MaxBufsizeExceeded);
    }
    let mut content = zeros(header.nbytes)?;
    let size = contexts.decompress(&layer.content, &mut content)?;
    content.resize(size)?;
    Ok(content)
}

/// The chunk that a file is, if it is nothing else.
fn lone_chunk(input: &Input) -> Result<Option<Vec<u8>>> {
    let mut file = input.open()?;
    let size = file.metadata()?.len();
    let mut front = Vec::new();
    (&mut file)
        .take(EXTENDED_HEADER_LENGTH as u64)
        .read_to_end(&mut front)?;
    let header = match ChunkHeader::parse(&front) {
        Ok(header) => header,
        Err(_) => return Ok(None),
    };
    let plausible = (1..=6).contains(&header.version) && header.cbytes >= MIN_HEADER_LENGTH;
    if !plausible || header.cbytes as u64 != size {
        return Ok(None);
    }
    let mut chunk = front;
    file.read_to_end(&mut chunk)?;
    Ok((chunk.len() == header.cbytes).then_some(chunk))
}

/// Refuses a store: one of its frames has to be chosen.
pub fn refuse_store(input: &Input) -> Result<()> {
    match Store::open(input)? {
        Some(store) if !store.is_file() => Err(Failure::say(format!(
            "{}: a {} of python-blosc2, which has several frames (b2 info lists them, --key takes one)",
            input.name(),
            store.kind.name()
        ))),
        _ => Ok(()),
    }
}

impl FrameOrChunk {
    /// Opens what is there.
    pub fn open(input: &Input) -> Result<Self> {
        match Self::try_open(input)? {
            Ok(source) => Ok(source),
            Err(error) => Err(Failure::say(format!(
                "{}: {} ({REPAIR})",
                input.name(),
                describe(error)
            ))),
        }
    }

    /// Opens what is there; a frame that cannot be opened is told apart from a file that is no frame.
    pub fn try_open(input: &Input) -> Result<std::result::Result<Self, Error>> {
        let path = input.path();
        refuse_store(input)?;
        let file = frame_file(path);
        let mut front = Vec::new();
        std::fs::File::open(&file)
            .and_then(|file| file.take(16).read_to_end(&mut front))
            .map_err(|error| match Failure::at(&file, &error) {
                Failure::Said(line) if path.is_dir() => Failure::Said(format!("{line} ({REPAIR})")),
                other => other,
            })?;
        if Header::has_magic(&front) {
            return Ok(Frame::open(path).map(|frame| Self::Frame(Box::new(frame))));
        }
        if !path.is_dir()
            && let Some(chunk) = lone_chunk(input)?
        {
            return Ok(Ok(Self::Chunk(chunk)));
        }
        Err(Failure::say(format!(
            "{}: no Blosc2 frame or chunk (if it was one, {REPAIR})",
            input.name()
        )))
    }
}
