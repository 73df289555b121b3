//! Frames of many kinds, and kinds of damage to them.

use crate::support::Folder;
use oxiblosc::format::chunk::ChunkInput;
use oxiblosc::format::chunk::header::{Blocks, ChunkHeader};
use oxiblosc::format::frame::header::{Extent, Header};
use oxiblosc::schunk::chunks::Position;
use oxiblosc::{Array, CParams, Layout, Place, Protection, StorageParams, SuperChunk};
use oxiblosc_testing::random::Rng;
use std::path::Path;

/// Names and contents of the files of a frame: one file without a name, or those of a directory.
pub type Files = Vec<(String, Vec<u8>)>;

/// A frame, its files and its content.
pub struct Original {
    pub name: String,
    pub files: Files,
    pub content: Content,
    /// The chunks: the index of their file, their position in it, and their length in bytes.
    places: Vec<(usize, usize, usize)>,
}

/// What a reader finds in a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Content {
    /// The data of each chunk.
    pub chunks: Vec<Vec<u8>>,
    /// The sizes of the blocks of each chunk, in bytes.
    pub blocks: Vec<Vec<usize>>,
    /// The fixed-length metalayers.
    pub metalayers: Vec<(Vec<u8>, Vec<u8>)>,
    /// The variable-length metalayers.
    pub vlmetalayers: Vec<(Vec<u8>, Vec<u8>)>,
}

/// The file with the header.
const INDEX: &str = "chunks.b2frame";
const LAYERS: [&[u8]; 2] = [b"notes", b"more"];

/// A series that changes slowly, with some noise, of items of `width` bytes.
fn series(rng: &mut Rng, nbytes: usize, width: usize) -> Vec<u8> {
    let mut value = rng.next() as i64 >> 40;
    let items = (0..nbytes.div_ceil(width)).flat_map(|_| {
        value += (rng.next() >> 59) as i64 - 15;
        value.to_le_bytes()[..width].to_vec()
    });
    items.take(nbytes).collect()
}

fn noise(rng: &mut Rng, nbytes: usize) -> Vec<u8> {
    (0..nbytes).map(|_| rng.next() as u8).collect()
}

/// How many kinds of content there are.
pub const KINDS: usize = 10;

/// Makes a frame of a kind.
fn make(kind: usize, place: Place, checksums: bool) {
    let mut rng = Rng(100 + kind as u64);
    let (codec, filter, typesize) = [
        (1, 1, 4),
        (4, 2, 8),
        (5, 1, 4),
        (0, 3, 4),
        (1, 0, 1),
        (1, 1, 4),
        (5, 1, 8),
        (1, 1, 4),
        (4, 1, 8),
        (5, 0, 1),
    ][kind];
    let mut cparams = CParams {
        codec,
        typesize,
        blocksize: 4096,
        use_dict: kind == 2,
        ..CParams::default()
    };
    cparams.filters = [0; 6];
    cparams.filters[5] = filter;
    let storage = StorageParams {
        place,
        cparams,
        protection: Protection::with_checksums(checksums),
        ..StorageParams::default()
    };
    if kind == 7 || kind == 8 {
        let (shape, chunks, blocks): (&[i64], &[i32], &[i32]) = match kind {
            7 => (&[200, 130], &[50, 130], &[10, 65]),
            _ => (&[20, 30, 40], &[10, 15, 20], &[5, 5, 10]),
        };
        let layout = Layout {
            shape,
            chunks,
            blocks,
            dtype: Some(b"<i4"),
            metalayers: &[(b"fixed", b"some content")],
        };
        let array = Array::zeros(&layout, storage).expect("an array");
        let items: i64 = shape.iter().product();
        let data = series(
            &mut rng,
            items as usize * typesize as usize,
            typesize as usize,
        );
        array
            .write(&vec![0; shape.len()], shape, &data)
            .expect("written");
        return finish(array.schunk(), kind);
    }
    let s = SuperChunk::create(storage).expect("a frame");
    if kind.is_multiple_of(2) {
        s.add_metalayer(b"fixed", b"some content")
            .expect("a metalayer");
    }
    let append = |data: &[u8]| {
        s.append_data(data).expect("a chunk");
    };
    match kind {
        0 => (0..12).for_each(|n| append(&series(&mut rng, 30_000 - n / 11 * 9000, 4))),
        1 => (0..9).for_each(|_| append(&series(&mut rng, 24_000, 8))),
        2 | 3 => (0..8).for_each(|_| append(&series(&mut rng, 40_000, 4))),
        // Stored chunks of different sizes.
        4 => [20_000, 9_000, 30_000, 500, 30_000]
            .into_iter()
            .for_each(|nbytes| append(&noise(&mut rng, nbytes))),
        // Many chunks of one size, half of them stored.
        5 => (0..300).for_each(|n| match n % 2 {
            0 => append(&series(&mut rng, 800, 4)),
            _ => append(&noise(&mut rng, 800)),
        }),
        6 => (0..16usize).for_each(|n| match n % 4 {
            1 => append(&[0; 16_000]),
            2 => append(&7i64.to_le_bytes().repeat(2000)),
            _ => append(&series(&mut rng, 16_000, 8)),
        }),
        // Blocks of different sizes.
        _ => (0..10).for_each(|n| {
            let blocks: Vec<Vec<u8>> = (0..6)
                .map(|i| series(&mut rng, 300 + 700 * ((n + i) % 5), 1))
                .collect();
            let blocks: Vec<&[u8]> = blocks.iter().map(Vec::as_slice).collect();
            let mut chunk = vec![0; 20_000];
            let encoder = s.encoder().expect("an encoder");
            let header = encoder.compress(ChunkInput::Variable(&blocks), &mut chunk, false);
            chunk.truncate(header.expect("compresses").expect("a chunk").cbytes);
            s.put_chunk(Position::End, &chunk).expect("a chunk");
        }),
    }
    finish(&s, kind);
}

fn finish(s: &SuperChunk, kind: usize) {
    if kind.is_multiple_of(3) {
        let encoder = oxiblosc::Compressor::new(CParams::default());
        for (name, len) in LAYERS.into_iter().zip([300, 5000]) {
            let content = series(&mut Rng(9), len, 1);
            s.add_vlmetalayer(name, &content, &encoder)
                .expect("a metalayer");
        }
    }
    s.close_frame().expect("closed");
}

fn block_sizes(header: &ChunkHeader, chunk: &[u8]) -> Vec<usize> {
    let number =
        |at: usize| i32::from_le_bytes(chunk[at..at + 4].try_into().expect("four")) as usize;
    let all = 0..header.nblocks;
    match header.blocks {
        Blocks::Regular { blocksize } => all
            .map(|nblock| blocksize.min(header.nbytes - nblock * blocksize))
            .collect(),
        // Each block begins with its size.
        Blocks::Variable { .. } => all.map(|nblock| number(number(32 + 4 * nblock))).collect(),
    }
}

/// The content of the frame at a path; none if it cannot be read.
pub fn content(path: &Path) -> Option<Content> {
    let s = SuperChunk::open(path, 0, 1, Protection::default()).ok()?;
    let (mut chunks, mut blocks) = (Vec::new(), Vec::new());
    for nchunk in 0..s.nchunks().ok()? {
        let (header, sizes) = {
            let state = s.read().ok()?;
            let chunk = state.chunk(nchunk).ok()?;
            let header = ChunkHeader::parse(&chunk).ok()?;
            (header, block_sizes(&header, &chunk))
        };
        let mut data = vec![0; header.nbytes];
        if s.decompress_chunk(nchunk, &mut data).is_err() {
            // Its codec or filter is unknown.
            data.clear();
        }
        blocks.push(sizes);
        chunks.push(data);
    }
    let file = if path.is_dir() {
        path.join(INDEX)
    } else {
        path.into()
    };
    let header = Header::parse(&std::fs::read(file).ok()?).ok()?;
    let layer = |name: &[u8]| {
        let (_, content) = s.vlmetalayer(name, s.decoder().ok()?).ok()?;
        Some((name.to_vec(), content.to_vec()))
    };
    Some(Content {
        chunks,
        blocks,
        metalayers: header
            .metalayers
            .iter()
            .map(|layer| (layer.name.to_vec(), layer.content.to_vec()))
            .collect(),
        vlmetalayers: LAYERS.into_iter().filter_map(layer).collect(),
    })
}

fn read_files(path: &Path) -> Files {
    if path.is_file() {
        return vec![(String::new(), std::fs::read(path).expect("a file"))];
    }
    let entries = path.read_dir().expect("a directory").flatten();
    let file = |entry: std::fs::DirEntry| {
        let name = entry.file_name().into_string().expect("an ASCII name");
        (name, std::fs::read(entry.path()).expect("a file"))
    };
    let mut files: Files = entries.map(file).collect();
    files.sort();
    files
}

/// Writes the files of a frame.
pub fn write_files(path: &Path, files: &Files) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
    match &files[..] {
        [] => {}
        [(name, bytes)] if name.is_empty() => std::fs::write(path, bytes).expect("a file"),
        _ => {
            std::fs::create_dir(path).expect("a directory");
            for (name, bytes) in files {
                std::fs::write(path.join(name), bytes).expect("a file");
            }
        }
    }
}

impl Original {
    /// The frame as a writer without checksums leaves it: only chunks have checksums.
    pub fn changed_by_another(mut self) -> Self {
        let prefix = self.prefix();
        let bytes = &mut self.files[prefix].1;
        let end = bytes.len();
        bytes[end - 17..].fill(0);
        bytes[86] = 0;
        self.name += "-changed";
        self
    }

    /// A frame of a kind, in a file or a directory.
    pub fn new(folder: &Folder, kind: usize, sparse: bool, checksums: bool) -> Self {
        let name = format!(
            "{kind}{}{}",
            if sparse { "-directory" } else { "-file" },
            if checksums { "-checked" } else { "" }
        );
        let path = folder.path(&name);
        let path = Path::new(&path);
        let place = match sparse {
            true => Place::Directory(path),
            false => Place::File(path),
        };
        make(kind, place, checksums);
        let content = content(path).expect("it can be read");
        let files = read_files(path);
        let s = SuperChunk::open(path, 0, 1, Protection::default()).expect("it opens");
        let offsets = s.offsets().expect("offsets");
        drop(s);
        write_files(path, &Vec::new());
        let mut original = Self {
            name,
            files,
            content,
            places: Vec::new(),
        };
        let (prefix, extent) = (original.prefix(), original.extent());
        for offset in offsets.iter().filter(|offset| **offset >= 0) {
            let (file, pos) = match sparse {
                true => {
                    let name = format!("{offset:08X}.chunk");
                    let file = original.files.iter().position(|(own, _)| *own == name);
                    (file.expect("the file"), 0)
                }
                false => (prefix, extent.header_len as usize + *offset as usize),
            };
            let header = ChunkHeader::parse(&original.files[file].1[pos..]).expect("a chunk");
            original.places.push((file, pos, header.cbytes));
        }
        original
    }

    /// The position of the n-th stored chunk in its file, and its length in bytes.
    pub fn place(&self, n: usize) -> (usize, usize) {
        let (_, pos, cbytes) = self.places[n];
        (pos, cbytes)
    }

    /// The index of the file with the n-th stored chunk.
    pub fn file(&self, n: usize) -> usize {
        self.places[n].0
    }

    /// The number of stored chunks.
    pub fn count(&self) -> usize {
        self.places.len()
    }

    /// The index of the file with the header.
    pub fn prefix(&self) -> usize {
        let prefix = self
            .files
            .iter()
            .position(|(name, _)| name.is_empty() || name == INDEX);
        prefix.expect("a header")
    }

    fn is_directory(&self) -> bool {
        self.files.len() > 1 || self.files[0].0 == INDEX
    }

    fn extent(&self) -> Extent {
        Extent::parse(&self.files[self.prefix()].1).expect("a header")
    }

    /// The positions at which index and trailer begin.
    pub fn tail(&self) -> (usize, usize) {
        let (prefix, extent) = (self.prefix(), self.extent());
        let index = match self.is_directory() {
            true => extent.header_len as usize,
            false => extent.header_len as usize + extent.cbytes as usize,
        };
        let header = ChunkHeader::parse(&self.files[prefix].1[index..]).expect("an index");
        (index, index + header.cbytes)
    }
}

/// A kind of damage to a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Damage {
    OneBit,
    TwentyBits,
    Page,
    First,
    Last,
    Cut,
    MissingFile,
    Header,
    Index,
    Trailer,
    Metalayers,
    BlockStarts,
}

impl Damage {
    pub const ALL: [(Self, &'static str); 12] = [
        (Self::OneBit, "one bit"),
        (Self::TwentyBits, "twenty bits"),
        (Self::Page, "a page of zeros"),
        (Self::First, "first 4 KB zeroed"),
        (Self::Last, "last 4 KB zeroed"),
        (Self::Cut, "cut"),
        (Self::MissingFile, "a file missing"),
        (Self::Header, "97 bytes of header zeroed"),
        (Self::Index, "index overwritten"),
        (Self::Trailer, "trailer overwritten"),
        (Self::Metalayers, "shape or metalayers overwritten"),
        (Self::BlockStarts, "block starts overwritten"),
    ];

    /// Whether all chunks of a frame with checksums must come back: no stream is damaged, and the
    /// rest can be rebuilt.
    pub fn spares(self) -> bool {
        use Damage::{BlockStarts, Header, Index, Metalayers};
        matches!(self, Header | Metalayers | Index | BlockStarts)
    }

    /// The files of the damaged frame. None if this damage does not apply, or changed nothing.
    pub fn done(self, original: &Original, rng: &mut Rng) -> Option<Files> {
        let mut files = original.files.clone();
        let prefix = original.prefix();
        let len = |files: &Files, file: usize| files[file].1.len();
        // Larger files are hit more often.
        let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
        // At the same fraction of a frame with checksums and without, so that the results can be
        // compared.
        let mut any = |files: &Files| {
            let mut at = (rng.unit() * total as f64) as usize;
            for (file, (_, bytes)) in files.iter().enumerate() {
                if at < bytes.len() {
                    return (file, at);
                }
                at -= bytes.len();
            }
            (prefix, 0)
        };
        match self {
            Self::OneBit | Self::TwentyBits => {
                let count = if self == Self::OneBit { 1 } else { 20 };
                for _ in 0..count {
                    let (file, at) = any(&files);
                    files[file].1[at] ^= 1 << (at * 5 % 8);
                }
            }
            Self::Page => {
                let (file, at) = any(&files);
                let (from, to) = (
                    at / 4096 * 4096,
                    len(&files, file).min(at / 4096 * 4096 + 4096),
                );
                files[file].1[from..to].fill(0);
            }
            Self::First => {
                let to = len(&files, prefix).min(4096);
                files[prefix].1[..to].fill(0);
            }
            Self::Last => {
                let from = len(&files, prefix).saturating_sub(4096);
                files[prefix].1[from..].fill(0);
            }
            Self::Cut => {
                let (file, at) = any(&files);
                files[file].1.truncate(at);
            }
            Self::MissingFile if !original.is_directory() => return None,
            Self::MissingFile => {
                // The file with the index in half of the cases.
                let file = match rng.below(2) {
                    0 => prefix,
                    _ => rng.below(files.len()),
                };
                files.remove(file);
            }
            Self::Header => files[prefix].1[..97].fill(0),
            Self::Index => {
                let (from, to) = original.tail();
                overwrite(&mut files[prefix].1[from..to], rng);
            }
            Self::Trailer => {
                let (_, from) = original.tail();
                overwrite(&mut files[prefix].1[from..], rng);
            }
            Self::Metalayers => {
                let to = original.extent().header_len as usize;
                // In an array mostly its shape.
                let shape = files[prefix].1[..to]
                    .windows(2)
                    .position(|two| two == [0x97, 0]);
                let from = shape.map_or(87, |at| at + 3);
                let to = shape.map_or(to, |_| to.min(from + 30));
                let some = from + rng.below(to - from);
                let end = to.min(some + 1 + rng.below(12));
                overwrite(&mut files[prefix].1[some..end], rng);
            }
            Self::BlockStarts => {
                let (file, pos, cbytes) = original.places[rng.below(original.places.len())];
                let header = ChunkHeader::parse(&files[file].1[pos..]).expect("a chunk");
                let end = (32 + 4 * header.nblocks).min(cbytes);
                if end <= 32 {
                    return None;
                }
                overwrite(&mut files[file].1[pos + 32..pos + end], rng);
            }
        }
        (files != original.files).then_some(files)
    }
}

fn overwrite(bytes: &mut [u8], rng: &mut Rng) {
    bytes.iter_mut().for_each(|byte| *byte = rng.next() as u8);
}
