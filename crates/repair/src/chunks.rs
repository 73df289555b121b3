//! Reads the chunks of a damaged frame, in a file or in a directory.

use crate::files::Files;
use crate::location::{ChunkLocation, HEADER};
use crate::rolled_back::RolledBackFile;
use crate::run_list::RunList;
use oxiblosc_base::memory::{Buffer, CStrBuf};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::header::{ChunkHeader, MAX_BUFFERSIZE, Special};
use oxiblosc_chunk::rebuild;
use oxiblosc_io::paths::path_bytes;
use std::path::Path;

/// The header of a chunk as bytes.
pub type Front = [u8; HEADER];

/// How many chunks are looked at for templates.
const TRIED: usize = 64;

/// Reads chunks. A place is a position in the file, or in a directory the number of a file.
pub struct ChunkFinder<'a> {
    image: &'a RolledBackFile<'a>,
    /// The directory, if each chunk has a file of its own.
    folder: Option<&'a Path>,
    /// Where chunks begin, and the end of the last one, sorted.
    bounds: Vec<u64>,
}

impl<'a> ChunkFinder<'a> {
    /// For a frame in the file `image`, or in the directory `folder`.
    pub fn new(image: &'a RolledBackFile<'a>, folder: Option<&'a Path>) -> Self {
        Self {
            image,
            folder,
            bounds: Vec::new(),
        }
    }

    /// Where errors that show no damage are noted.
    pub fn faults(&self) -> &'a dyn Files {
        self.image.faults
    }

    /// Sets where the chunks are, for [`Self::bytes_to_next`]. The last one ends before `limit`.
    pub fn set_bounds(&mut self, locations: &RunList<ChunkLocation>, limit: u64) {
        self.bounds = locations.positions().chain([limit]).collect();
        self.bounds.sort_unstable();
    }

    /// Calls `read` with the file of a chunk and the position of the chunk in it.
    fn in_file<T>(
        &self,
        position: u64,
        read: impl FnOnce(&RolledBackFile, u64) -> Option<T>,
    ) -> Option<T> {
        let Some(folder) = self.folder else {
            return read(self.image, position);
        };
        let path = folder.join(format!("{position:08X}.chunk"));
        let faults = self.faults();
        let file = faults.readable(faults.open(&c_path(&path)?))?;
        // What this fails with is noted.
        let image = RolledBackFile::new(&*file, faults, &mut Vec::new()).ok()?;
        read(&image, 0)
    }

    /// The chunk, as long as its header says.
    pub fn read(&self, position: u64) -> Option<Buffer> {
        self.in_file(position, |image, pos| image.chunk(pos))
    }

    /// How many bytes there are from the chunk to the end of its file.
    pub fn bytes_available(&self, position: u64) -> usize {
        let available = self.in_file(position, |image, pos| image.size.checked_sub(pos));
        usize::try_from(available.unwrap_or(0)).unwrap_or(usize::MAX)
    }

    /// The bytes from the chunk to the next one, whatever its header says.
    pub fn bytes_to_next(&self, position: u64) -> Option<Buffer> {
        self.in_file(position, |image, pos| {
            let end = match self.folder {
                Some(_) => image.size,
                None => {
                    let next = self.bounds.partition_point(|bound| *bound <= position);
                    *self.bounds.get(next)?
                }
            };
            let len = end.min(image.size).checked_sub(pos)?;
            let len = usize::try_from(len).ok()?.min(MAX_BUFFERSIZE as usize);
            image.read(pos, len)
        })
    }

    /// The header of a chunk as bytes.
    pub fn prefix(&self, position: u64) -> Option<Front> {
        let prefix = self.in_file(position, |image, pos| image.read(pos, HEADER))?;
        prefix.first_chunk().copied()
    }

    /// The header of a chunk, and whether its checksum proves it.
    pub fn header(&self, position: u64) -> Option<(ChunkHeader, bool)> {
        let prefix = self.prefix(position)?;
        let header = ChunkHeader::parse(&prefix).ok()?;
        let proven = header.has_checksums() && is_proven(&self.read(position)?);
        Some((header, proven))
    }
}

/// A path as files are opened by it; none if it contains a null byte.
fn c_path(path: &Path) -> Option<CStrBuf> {
    path_bytes(path).and_then(|bytes| CStrBuf::new(bytes).ok())
}

/// Whether the checksum of a chunk's front fits.
pub fn is_proven(chunk: &[u8]) -> bool {
    ChunkHeader::parse(chunk).is_ok_and(|header| {
        // A block of variable length begins with its size, so damage to one of them keeps such a
        // chunk from being parsed.
        let fits = || match header.has_vlblocks() {
            true => rebuild::prefix_matches(&header, chunk),
            false => Chunk::parse(&header, chunk).is_ok(),
        };
        header.has_checksums() && fits()
    })
}

/// Headers of chunks that are proven by their checksums, one of each kind. Their sizes are those of
/// any chunk of that kind.
pub fn templates(locations: &RunList<ChunkLocation>, chunks: &ChunkFinder) -> Vec<ChunkHeader> {
    let mut templates: Vec<ChunkHeader> = Vec::new();
    for position in locations.positions().take(TRIED) {
        let Some((header, true)) = chunks.header(position) else {
            continue;
        };
        let is_new = !templates.iter().any(|other| kind(other) == kind(&header));
        if header.special() == Special::None && is_new {
            templates.push(header);
        }
    }
    templates
}

/// The fields that are the same in all chunks of a kind.
fn kind(header: &ChunkHeader) -> impl PartialEq + use<> {
    (
        [
            header.version,
            header.versionlz,
            header.flags,
            header.typesize,
        ],
        header.blocks,
        (header.filters, header.filters_meta),
        [header.udcompcode, header.compcode_meta],
        [header.blosc2_flags, header.blosc2_flags2],
    )
}
