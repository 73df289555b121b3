//! Reads frames and chunks. Nothing is ever written to them.

use crate::failure::{Failure, Result};
use crate::faults::Faults;
use crate::library::{c_path, zeros};
use crate::settings::Settings;
use oxiblosc::format::chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BLOCKSIZE, MAX_TYPESIZE, Special,
};
use oxiblosc::format::chunk::special::{self, SpecialChunk};
use oxiblosc::format::frame::disk::{Disk, Loaded, Options, Stored, frame_file as frame_file_of};
use oxiblosc::format::frame::fingerprint::Coverage;
use oxiblosc::format::frame::header::{Extent, FrameKind, Header, MIN_LEN};
use oxiblosc::format::frame::meta::Metalayer;
use oxiblosc::format::frame::offsets::{ChunkPosition, Found, Offsets};
use oxiblosc::storage::{Backend, Mode, Storage};
use oxiblosc_base::Error;
use oxiblosc_base::memory::{Buffer, Shared};
use oxiblosc_repair::{Contexts, Files, MISPLACED, array_layer};
use std::ffi::CStr;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// A back end for one file that is open already. Paths are ignored.
struct OneFile(Shared<dyn Storage>);

impl Backend for OneFile {
    fn open(&self, _: &CStr, mode: Mode) -> std::result::Result<Shared<dyn Storage>, Error> {
        match mode {
            Mode::Read => Ok(self.0.clone()),
            Mode::ReadWrite | Mode::Create | Mode::New => Err(Error::FILE_OPEN),
        }
    }

    fn is_filesystem(&self) -> bool {
        false
    }
}

/// A frame in a file or directory.
pub struct Frame {
    /// The header.
    pub header: Arc<Header>,
    /// The lengths in the header.
    pub extent: Extent,
    /// The variable-length metalayers: their contents are chunks.
    pub vlmetalayers: Vec<Metalayer>,
    /// Which parts besides the chunks have checksums.
    pub coverage: Coverage,
    disk: Disk,
    /// Errors of reading it that show no damage.
    pub faults: Faults,
}

/// A chunk of a frame.
pub enum StoredChunk {
    /// Special values: the chunk is only an offset in the index.
    Special(Special),
    /// The bytes of the chunk.
    Bytes(Buffer),
}

/// Where a chunk is, or where any number of chunks are that are of the same special values and
/// size.
pub struct ChunkRun {
    /// The number of the first chunk.
    pub first: usize,
    /// How many chunks there are.
    pub count: usize,
    /// Bytes of data of each, as the header of the frame says; 0 if its chunks differ in size.
    pub nbytes: usize,
    found: Found<Stored>,
}

impl ChunkRun {
    /// Reads the chunk.
    pub fn read(&self) -> std::result::Result<StoredChunk, Error> {
        match &self.found {
            Found::Special(kind) => Ok(StoredChunk::Special(*kind)),
            Found::Stored(stored) => stored.whole().map(StoredChunk::Bytes),
        }
    }

    /// The kind of special values of each; none for a chunk with bytes.
    pub fn special(&self) -> Option<Special> {
        match self.found {
            Found::Special(kind) => Some(kind),
            Found::Stored(_) => None,
        }
    }

    /// Bytes of data of all its chunks.
    pub fn all_nbytes(&self) -> u64 {
        self.nbytes as u64 * self.count as u64
    }
}

/// Goes over all chunks of a frame in order, in time for those that are stored and for the runs of
/// special ones, however many they are. See [`Frame::walk`].
pub struct ChunkWalk<'a> {
    frame: &'a mut Frame,
    next: usize,
    most: fn(Special) -> u64,
}

impl ChunkWalk<'_> {
    /// The frame.
    pub fn frame(&self) -> &Frame {
        self.frame
    }
}

impl Iterator for ChunkWalk<'_> {
    /// The number of the first chunk, and the run, or why that chunk is not found.
    type Item = (usize, std::result::Result<ChunkRun, Error>);

    fn next(&mut self) -> Option<Self::Item> {
        let nchunk = self.next;
        if nchunk >= self.frame.nchunks() {
            return None;
        }
        let found = self.frame.run_from(nchunk, self.most);
        self.next += found.as_ref().map_or(1, |run| run.count);
        Some((nchunk, found))
    }
}

impl Frame {
    /// Opens the frame at `path`. Errors of its files that show no damage are noted in `faults`,
    /// also later ones.
    pub fn open(path: &Path, faults: &Faults) -> std::result::Result<Self, Error> {
        let kind = match faults.is_dir(path)? {
            true => FrameKind::Sparse,
            false => FrameKind::Contiguous,
        };
        let name = c_path(path).map_err(|_| Error::FILE_OPEN)?;
        Self::open_by(faults.backend()?, (&name, kind), faults)
    }

    /// Opens the frame in a file, which contains nothing else. `faults` are those of the file.
    pub fn open_in(file: Shared<dyn Storage>, faults: &Faults) -> std::result::Result<Self, Error> {
        let backend = oxiblosc::storage::shared(OneFile(file))?;
        Self::open_by(backend, (c"the file", FrameKind::Contiguous), faults)
    }

    fn open_by(
        backend: Shared<dyn Backend>,
        (path, kind): (&CStr, FrameKind),
        faults: &Faults,
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
        let mut prefix = [0; MIN_LEN];
        let file = backend.open(&frame_file_of(path, kind)?, Mode::Read)?;
        file.read_at(0, &mut prefix)?;
        Ok(Self {
            header: Arc::new(header),
            extent: Extent::parse(&prefix)?,
            vlmetalayers: vlmetalayers.into(),
            coverage,
            disk,
            faults: faults.clone(),
        })
    }

    /// The number of chunks.
    pub fn nchunks(&self) -> usize {
        self.offsets().len()
    }

    /// The offsets of the chunks.
    pub fn offsets(&self) -> &Offsets {
        self.disk.offsets()
    }

    /// Bytes of data of a chunk, as the header of the frame says; 0 if its chunks differ in size.
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

    /// Finds a chunk, so that it can be read later, by another thread.
    pub fn locate(&mut self, nchunk: usize) -> std::result::Result<ChunkRun, Error> {
        self.run_from(nchunk, |_| 0)
    }

    /// Goes over all chunks. Those that follow each other and are of the same special values and
    /// size come together, as long as they have no more bytes of data than `most` says of the kind.
    pub fn walk(&mut self, most: fn(Special) -> u64) -> ChunkWalk<'_> {
        let next = 0;
        ChunkWalk {
            frame: self,
            next,
            most,
        }
    }

    /// Finds chunk `nchunk`, and those behind it that are alike.
    fn run_from(
        &mut self,
        nchunk: usize,
        most: fn(Special) -> u64,
    ) -> std::result::Result<ChunkRun, Error> {
        let mut found = self.disk.find(nchunk)?;
        let nbytes = self.chunk_nbytes(nchunk);
        let count = match &mut found {
            Found::Stored(_) => 1,
            Found::Special(kind) => {
                *kind = special_kind(*kind, nbytes, &self.header);
                let most = most(*kind) / nbytes.max(1) as u64;
                // The last chunk may be shorter.
                let whole = self.header.nbytes.max(0) as u64 / nbytes.max(1) as u64;
                let whole = whole.saturating_sub(nchunk as u64);
                let most = if nbytes > 0 { most.min(whole) } else { most };
                let most = usize::try_from(most).unwrap_or(usize::MAX).max(1);
                self.offsets().alike_from(nchunk, most)
            }
        };
        Ok(ChunkRun {
            first: nchunk,
            count,
            nbytes,
            found,
        })
    }

    /// The kind of special values that all of some chunks are. Uninitialised ones count as zeros.
    pub fn special_values(&self, chunks: Range<usize>) -> Option<Special> {
        let mut known = None;
        let mut next = chunks.start;
        while next < chunks.end {
            let Ok(ChunkPosition::Special(kind)) = self.offsets().position(next) else {
                return None;
            };
            let kind = match special_kind(kind, self.chunk_nbytes(next), &self.header) {
                Special::Uninit => Special::Zero,
                kind => kind,
            };
            if *known.get_or_insert(kind) != kind {
                return None;
            }
            next += self.offsets().alike_from(next, chunks.end - next);
        }
        known
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

    /// Whether some chunks are not those that belong where they are. What cannot be read tells
    /// nothing.
    pub fn has_misplaced(&mut self) -> bool {
        let checked = self.disk.check_places();
        checked.is_err_and(|error| {
            self.faults.note(error);
            error == Error::DATA
        })
    }

    /// Fails if some chunks are not those that belong where they are.
    pub fn refuse_misplaced(&mut self, name: impl Display) -> Result<()> {
        match self.has_misplaced() {
            true => Err(Failure::damaged(format!("{name}: {MISPLACED}"))),
            false => Ok(()),
        }
    }

    /// The parameters with which the chunks of this frame are compressed.
    pub fn settings(&self, threads: i16) -> Settings {
        Settings {
            checksums: self.coverage.is_any(),
            ..settings_of(&self.header, threads)
        }
    }

    /// The parts besides the chunks that have checksums, in words.
    pub fn covered(&self) -> &'static str {
        match self.coverage {
            Coverage::All => "header, index and metalayers",
            Coverage::AllButHeader => "index and variable-length metalayers",
            Coverage::None => "none",
        }
    }

    /// Contexts for the chunks of this frame.
    pub fn contexts(&self, threads: i16) -> std::result::Result<Contexts, Error> {
        Contexts::of_frame(&self.header, threads)
    }

    /// What the frame is for python-blosc2, if its data are computed or stored elsewhere.
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

    /// The content of the array's metalayer, if the frame is an array.
    pub fn array(&self) -> Option<&[u8]> {
        array_layer(&self.header.metalayers)
    }
}

/// The parameters of compression in a header.
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

/// The size of an item of a frame with this header, in bytes.
fn typesize_of(header: &Header) -> usize {
    usize::try_from(header.parameters.typesize)
        .unwrap_or(1)
        .max(1)
}

/// What chunks of special values of a kind have, if they have `nbytes` bytes of data each.
pub fn special_kind(kind: Special, nbytes: usize, header: &Header) -> Special {
    let typesize = typesize_of(header);
    let whole = nbytes.is_multiple_of(typesize) && typesize <= MAX_TYPESIZE;
    // Only floating-point items can be NaNs.
    match kind {
        Special::Nan if !matches!(typesize, 4 | 8) || !whole => Special::Zero,
        kind if !whole && kind != Special::Zero => Special::Zero,
        kind => kind,
    }
}

/// Writes special values of a kind, which are items of a frame with this header, into `items`.
/// Uninitialised ones are zeros.
pub fn fill(kind: Special, header: &Header, items: &mut [u8]) -> std::result::Result<(), Error> {
    items.fill(0);
    let chunk = ChunkHeader::parse(&special_chunk(kind, items.len(), header))?;
    special::fill(&chunk, &[], 0, items)
}

/// A chunk of special values, with `nbytes` bytes of data, for a frame with this header.
pub fn special_chunk(kind: Special, nbytes: usize, header: &Header) -> Vec<u8> {
    let (kind, typesize) = (special_kind(kind, nbytes, header), typesize_of(header));
    let typesize = if typesize > MAX_TYPESIZE { 1 } else { typesize };
    // The header may be damaged. Any size will do, since the blocks are empty.
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

/// The decompressed content of a variable-length metalayer. Fails with
/// [`Error::MAX_BUFSIZE_EXCEEDED`] if it has more than `most` bytes.
pub fn vlmeta_content(
    contexts: &Contexts,
    layer: &Metalayer,
    most: usize,
) -> std::result::Result<Buffer, Error> {
    let header = ChunkHeader::parse(&layer.content)?;
    if header.nbytes > most {
        return Err(Error::MAX_BUFSIZE_EXCEEDED);
    }
    let mut content = zeros(header.nbytes)?;
    let size = contexts.decompress(&layer.content, &mut content)?;
    content.resize(size)?;
    Ok(content)
}
