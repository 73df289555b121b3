//! Frames in which the header of one chunk is damaged, or its file. All others and the metalayers
//! can be read, also after any change: a change fails, or concerns what it was asked for and
//! nothing else.

use super::SuperChunk;
use crate::schunk::chunks::Position;
use crate::{CParams, Place, Protection, Result, StorageParams};
use oxiblosc_base::memory::Buffer;
use oxiblosc_frame::header::Extent;
use std::path::Path;

/// Items of a chunk, and bytes of an item.
const ITEMS: usize = 96;
const ITEM: usize = 8;

/// The data of the chunks. None for a chunk that may be damaged.
type Content = Vec<Option<Vec<u8>>>;

/// The name and the content of the two metalayers.
const FIXED: (&[u8], &[u8]) = (b"fixed", b"of one length");
const VARIABLE: (&[u8], &[u8]) = (b"variable", b"of any length");

fn noise(nbytes: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64 ^ nbytes as u64;
    let numbers = (0..nbytes.div_ceil(8)).flat_map(|_| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    numbers.take(nbytes).collect()
}

fn walk(seed: usize, nbytes: usize) -> Vec<u8> {
    let item = |i: usize| (seed * 1000 + i / 16) as u64;
    let data = (0..nbytes / ITEM).flat_map(|i| item(i).to_le_bytes());
    data.collect()
}

/// What is in a chunk.
#[derive(Clone, Copy)]
enum Kind {
    /// Data that does not compress.
    Noise,
    /// Data that compresses.
    Walk,
    /// Zeros, which are only an offset in the index unless chunks differ in size.
    Zeros,
}

use Kind::{Noise, Walk, Zeros};

/// The chunks of most frames.
const MIXED: &[Kind] = &[Walk, Noise, Zeros, Noise, Walk, Noise];
/// The chunks of frames of which a single one has bytes, at each place that it can have.
const ALONE: [&[Kind]; 5] = [
    &[Noise],
    &[Walk],
    &[Noise, Zeros],
    &[Zeros, Walk],
    &[Zeros, Noise, Zeros],
];

/// A frame, and how its chunks are kept.
struct Frame<'a> {
    name: &'static str,
    /// What is in its chunks.
    kinds: &'static [Kind],
    /// How often the items of a chunk are there. One of the frames has more than 1 MiB, which is
    /// changed in another way.
    times: usize,
    place: Place<'a>,
    /// Whether the last chunk is shorter than the others.
    short: bool,
    /// Whether all chunks differ in size.
    differ: bool,
}

impl Frame<'_> {
    fn nbytes(&self) -> usize {
        self.times * ITEMS * ITEM
    }

    /// Bytes of a chunk.
    fn len(&self, nchunk: usize) -> usize {
        match nchunk == self.kinds.len() {
            true => self.nbytes() / 2,
            false if self.differ => self.nbytes() - nchunk % 4 * ITEM,
            false => self.nbytes(),
        }
    }

    fn cparams(&self) -> CParams {
        CParams {
            blocksize: (self.nbytes() / 3) as i32,
            ..CParams::default()
        }
    }

    fn data(&self, nchunk: usize) -> Vec<u8> {
        let nbytes = self.nbytes();
        match self.kinds[nchunk] {
            Zeros => vec![0; nbytes],
            Noise => noise(nbytes),
            Walk => walk(nchunk, nbytes),
        }
    }

    /// Makes the frame. Gives its content.
    fn make(&self) -> (SuperChunk, Content) {
        let schunk = SuperChunk::create(StorageParams {
            place: self.place,
            cparams: self.cparams(),
            ..StorageParams::default()
        });
        let schunk = schunk.expect("a frame");
        let mut content: Content = (0..self.kinds.len())
            .map(|nchunk| Some(self.data(nchunk)))
            .collect();
        schunk.add_metalayer(FIXED.0, FIXED.1).expect("a metalayer");
        for (nchunk, data) in content.iter_mut().flatten().enumerate() {
            data.truncate(self.len(nchunk));
        }
        if self.short {
            content.push(Some(walk(9, self.len(self.kinds.len()))));
        }
        for data in content.iter().flatten() {
            schunk.append_data(data).expect("a chunk");
        }
        schunk
            .set_vlmetalayer(VARIABLE.0, VARIABLE.1)
            .expect("a metalayer");
        (schunk, content)
    }

    fn chunk(&self, data: &[u8]) -> Buffer {
        let schunk = SuperChunk::create(StorageParams {
            cparams: self.cparams(),
            ..StorageParams::default()
        });
        let schunk = schunk.expect("a super-chunk");
        schunk.append_data(data).expect("a chunk");
        schunk.chunk(0).expect("a chunk")
    }
}

/// What has happened to a chunk.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// Bits of this byte of it are others.
    Flip(usize, u8),
    /// Its file has only so many bytes.
    Cut(usize),
    /// Its file is not there.
    Gone,
}

impl Damage {
    /// Bits of each byte of the header, and for a chunk with a file of its own, all that can happen
    /// to that.
    fn all(in_files: bool) -> impl Iterator<Item = Self> {
        let flips =
            (0..32).flat_map(|at| [0x01, 0x10, 0x80, 0xff].map(|flip| Self::Flip(at, flip)));
        let cuts = [0, 1, 15, 16, 31, 32, 40].map(Self::Cut);
        let files = cuts.into_iter().chain([Self::Gone]);
        flips.chain(files.filter(move |_| in_files))
    }
}

/// The bytes of a frame, and where they are.
enum Bytes<'a> {
    Memory(Vec<u8>),
    File(&'a Path, Vec<u8>),
    Directory(&'a Path, Vec<(std::path::PathBuf, Vec<u8>)>),
}

impl Bytes<'_> {
    fn of<'a>(frame: &Frame<'a>, schunk: SuperChunk) -> Bytes<'a> {
        match frame.place {
            Place::File(path) => {
                drop(schunk);
                Bytes::File(path, std::fs::read(path).expect("a file"))
            }
            Place::Directory(path) => {
                drop(schunk);
                let files = std::fs::read_dir(path).expect("a directory");
                let files = files.map(|file| file.expect("a file").path());
                let files = files.map(|file| (file.clone(), std::fs::read(file).expect("a file")));
                Bytes::Directory(path, files.collect())
            }
            _ => Bytes::Memory(schunk.to_frame().expect("a frame").to_vec()),
        }
    }

    /// Damages the chunk with this offset, and opens the frame.
    fn open(&self, offset: i64, damage: Damage) -> Result<SuperChunk> {
        let damaged = |bytes: &[u8]| {
            let len = Extent::parse(bytes).expect("its sizes").header_len as usize;
            let mut bytes = bytes.to_vec();
            if let Damage::Flip(at, flip) = damage {
                bytes[len + offset as usize + at] ^= flip;
            }
            bytes
        };
        match self {
            Self::Memory(bytes) => {
                SuperChunk::from_frame(Buffer::copy_of(&damaged(bytes)).expect("memory"), 1)
            }
            Self::File(path, bytes) => {
                std::fs::write(path, damaged(bytes)).expect("a file");
                SuperChunk::open(path, 0, 1, Protection::default())
            }
            Self::Directory(path, files) => {
                for file in std::fs::read_dir(path).expect("a directory") {
                    std::fs::remove_file(file.expect("a file").path()).expect("it is removed");
                }
                let number = format!("{offset:08X}.chunk");
                for (file, bytes) in files {
                    let mut bytes = bytes.clone();
                    if file.ends_with(&number) {
                        match damage {
                            Damage::Flip(at, flip) => bytes[at] ^= flip,
                            Damage::Cut(len) => bytes.truncate(len),
                            Damage::Gone => continue,
                        }
                    }
                    std::fs::write(file, bytes).expect("a file");
                }
                SuperChunk::open(path, 0, 1, Protection::default())
            }
        }
    }

    fn open_again(&self, schunk: SuperChunk) -> Result<SuperChunk> {
        match self {
            Self::Memory(_) => SuperChunk::from_frame(schunk.to_frame()?, 1),
            Self::File(path, _) | Self::Directory(path, _) => {
                drop(schunk);
                SuperChunk::open(path, 0, 1, Protection::default())
            }
        }
    }
}

/// What is to be done to a frame of which chunk `victim` is damaged. It is done to the content,
/// too.
type Action = (
    &'static str,
    fn(&Frame, &SuperChunk, &mut Content, usize) -> Result<()>,
);

const ACTIONS: [Action; 11] = [
    ("nothing", |_, _, _, _| Ok(())),
    ("metalayers", |_, schunk, _, _| {
        schunk.set_vlmetalayer(b"another", b"content")?;
        schunk.update_metalayer(FIXED.0, FIXED.1).map(drop)
    }),
    ("append", |frame, schunk, content, _| {
        let data = noise(frame.nbytes());
        schunk.append_data(&data)?;
        content.push(Some(data));
        Ok(())
    }),
    ("insert", |frame, schunk, content, _| {
        let data = walk(20, frame.nbytes());
        schunk.put_chunk(Position::Before(1), &frame.chunk(&data))?;
        content.insert(1, Some(data));
        Ok(())
    }),
    ("replace it", |frame, schunk, content, victim| {
        let data = walk(30, frame.nbytes());
        schunk.put_chunk(Position::Over(victim), &frame.chunk(&data))?;
        content[victim] = Some(data);
        Ok(())
    }),
    (
        "replace the one behind it",
        |frame, schunk, content, victim| {
            let (nchunk, data) = ((victim + 1) % content.len(), noise(frame.nbytes()));
            schunk.put_chunk(Position::Over(nchunk), &frame.chunk(&data))?;
            content[nchunk] = Some(data);
            Ok(())
        },
    ),
    ("delete it", |_, schunk, content, victim| {
        schunk.delete_chunk(victim)?;
        content.remove(victim);
        Ok(())
    }),
    ("delete the last one", |_, schunk, content, _| {
        schunk.delete_chunk(content.len() - 1)?;
        content.pop();
        Ok(())
    }),
    ("delete the first one", |_, schunk, content, _| {
        schunk.delete_chunk(0)?;
        content.remove(0);
        Ok(())
    }),
    ("another order", |_, schunk, content, _| {
        let order: Vec<usize> = (0..content.len()).rev().collect();
        schunk.reorder(&order)?;
        content.reverse();
        Ok(())
    }),
    (
        "write items at its end",
        |frame, schunk, content, victim| {
            let len = frame.len(victim);
            let (from, data) = (len - 2 * ITEM, noise(2 * ITEM));
            let before: usize = content[..victim].iter().flatten().map(Vec::len).sum();
            schunk.write_bytes((before + from) as u64, &data)?;
            if let Some(content) = &mut content[victim] {
                content[from..].copy_from_slice(&data);
            }
            Ok(())
        },
    ),
];

/// Whether everything that is known of the content is there.
fn holds(schunk: &SuperChunk, content: &Content) -> std::result::Result<(), String> {
    let nchunks = schunk.nchunks().map_err(|error| format!("{error:?}"))?;
    if nchunks != content.len() {
        return Err(format!("{nchunks} chunks for {}", content.len()));
    }
    for (nchunk, expected) in content.iter().enumerate() {
        let Some(expected) = expected else {
            continue;
        };
        let mut data = vec![0; expected.len()];
        match schunk.decompress_chunk(nchunk, &mut data) {
            Ok(len) if len == expected.len() && data == *expected => {}
            Ok(_) => return Err(format!("chunk {nchunk} has other data")),
            Err(error) => return Err(format!("chunk {nchunk}: {error:?}")),
        }
    }
    let fixed = schunk.metalayer(FIXED.0);
    let variable = schunk.get_vlmetalayer(VARIABLE.0);
    match (fixed.as_deref(), variable.as_deref()) {
        (Ok(fixed), Ok(variable)) if (fixed, variable) == (FIXED.1, VARIABLE.1) => Ok(()),
        other => Err(format!("metalayers: {other:?}")),
    }
}

/// Damages each chunk in all ways, and makes every change. Of all that, one in `sample` is tried,
/// or with `OXIBLOSC_DAMAGE=full` everything.
fn try_all(frame: &Frame, sample: usize) {
    let is_full = std::env::var("OXIBLOSC_DAMAGE").is_ok_and(|wanted| wanted == "full");
    let step = if is_full { 1 } else { sample };
    let (schunk, whole) = frame.make();
    let offsets: Vec<i64> = schunk.offsets().expect("offsets").to_vec();
    let bytes = Bytes::of(frame, schunk);
    let stored = offsets
        .iter()
        .enumerate()
        .filter(|(_, offset)| **offset >= 0);
    let in_files = matches!(bytes, Bytes::Directory(..));
    let damages = stored.flat_map(|(victim, offset)| {
        Damage::all(in_files).map(move |damage| (victim, *offset, damage))
    });
    let cases = damages.flat_map(|damage| ACTIONS.map(|action| (damage, action)));
    let mut failures = Vec::new();
    for ((victim, offset, damage), (what, change)) in cases.step_by(step) {
        let case = format!("{}, {victim}, {damage:x?}, {what}", frame.name);
        if frame.differ && matches!(damage, Damage::Flip(4..8, _)) {
            // If only the sum of the sizes is wrong, nothing tells which of them is.
            continue;
        }
        let Ok(schunk) = bytes.open(offset, damage) else {
            failures.push(format!("{case}: it does not open"));
            continue;
        };
        let mut content = whole.clone();
        let mut data = vec![0; frame.nbytes()];
        let found = schunk.decompress_chunk(victim, &mut data);
        let is_sound = found.is_ok_and(|len| content[victim].as_deref() == Some(&data[..len]));
        if !is_sound {
            content[victim] = None;
        }
        // A change that fails leaves everything as it was.
        let before = content.clone();
        if change(frame, &schunk, &mut content, victim).is_err() {
            content = before;
        }
        let found = holds(&schunk, &content).map_err(|error| format!("{case}: {error}"));
        let again = bytes.open_again(schunk);
        let again = again.map_err(|error| format!("{case}, again: {error:?}"));
        let again = again.and_then(|schunk| {
            holds(&schunk, &content).map_err(|error| format!("{case}, again: {error}"))
        });
        failures.extend([found, again].into_iter().filter_map(|result| result.err()));
    }
    let some: Vec<&String> = failures.iter().take(20).collect();
    assert!(
        failures.is_empty(),
        "{} failures: {some:#?}",
        failures.len()
    );
}

/// [`try_all`] in memory, in a file and in a directory.
fn try_all_storages(path: &Path, kinds: &'static [Kind], short: bool, differ: bool) {
    for (name, place) in [
        ("memory", Place::Frame),
        ("file", Place::File(path)),
        ("directory", Place::Directory(path)),
    ] {
        let frame = Frame {
            name,
            kinds,
            times: 1,
            place,
            short,
            differ,
        };
        try_all(&frame, 7);
        super::tests::remove(path);
        let _ = std::fs::remove_dir_all(path);
    }
}

#[test]
fn a_damaged_chunk_takes_no_other_with_it() {
    let path = super::tests::temporary("damaged-chunks");
    try_all_storages(&path, MIXED, false, false);
    try_all_storages(&path, MIXED, true, false);
}

#[test]
fn nor_the_rest_of_a_frame_in_which_only_it_has_bytes() {
    let path = super::tests::temporary("damaged-alone");
    for kinds in ALONE {
        try_all_storages(&path, kinds, false, false);
    }
    // The chunk with bytes is the short one.
    for kinds in [&[][..], &[Zeros]] {
        try_all_storages(&path, kinds, true, false);
    }
}

#[test]
fn nor_where_chunks_differ_in_size() {
    let path = super::tests::temporary("damaged-differing");
    try_all_storages(&path, MIXED, false, true);
}

#[test]
fn nor_in_a_large_frame() {
    let path = super::tests::temporary("damaged-large");
    let frame = Frame {
        name: "large",
        kinds: MIXED,
        times: 600,
        place: Place::File(&path),
        short: true,
        differ: false,
    };
    try_all(&frame, 31);
    super::tests::remove(&path);
}
