//! How large frames are, beside the reference's: while they are open, and when they are closed.
//!
//! Between two calls a file is one whole frame, as long as its header says, that any reader takes
//! from a buffer. A frame below 1 MB has no room in it; a larger one at most an eighth while it is
//! open, and one that was written once has none between its chunks. Closed, a frame that was
//! written once is no longer than the reference's, and one that was changed in places at most 3 %
//! longer.
//!
//! Chunks are at most 1 % larger than the reference's, also of streams that hold something else
//! where a few samples would be taken than in the rest: noise in zeros, and repeats between words
//! that would not be chosen.
//!
//! `OXIBLOSC_REFERENCE` names the reference's library; without it the tests are skipped, in CI they
//! fail. `OXIBLOSC_SIZES=full` takes the arrays of tens of megabytes, on which the reference needs
//! half a minute, and each of those streams at each level; all frames in all storages, and chunks
//! in memory of all shapes.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::b2nd::{Array, Library, Spec, c_path};
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::sample::{is_whole, takes};
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use std::fs;
use std::path::{Path, PathBuf};

/// A frame below this size has no room.
const MAX_COMPACT: u64 = 1 << 20;

/// Ours and the reference.
fn both() -> Option<[Library; 2]> {
    Some([Library::ours(), Library::reference()?])
}

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Storage {
    File,
    Directory,
    Memory,
}

/// What a script leaves open.
enum Open {
    Schunk(Schunk),
    Array(Array),
}

impl Open {
    /// The frame, as `to_buffer` gives it.
    fn frame(&self) -> Vec<u8> {
        match self {
            Open::Schunk(schunk) => schunk.to_buffer().1,
            Open::Array(array) => array.to_frame().expect("a frame"),
        }
    }
}

/// How a script writes, which says how long its frame may be.
#[derive(Clone, Copy, PartialEq)]
enum Writing {
    /// Everything once, from the first to the last.
    Once,
    /// Over what was there.
    InPlaces,
}

/// The library under test, and the place for what a script makes.
struct Desk {
    library: Library,
    storage: Storage,
    path: PathBuf,
    /// The arrays have their full size.
    full: bool,
}

/// A chunk of numbers that compress to a part of their size; each number gives others.
fn chunk_data(nbytes: usize, number: u64) -> Vec<u8> {
    Kind::WalkInt32.bytes(nbytes, number)
}

fn items_of_four() -> blosc2_cparams {
    blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    }
}

impl Desk {
    fn path(&self) -> Option<&Path> {
        (self.storage != Storage::Memory).then_some(self.path.as_path())
    }

    /// A super-chunk of so many chunks of so many bytes.
    fn schunk(&self, nchunks: u64, nbytes: usize) -> Schunk {
        let contiguous = self.storage != Storage::Directory;
        let library = self.library.schunks;
        let schunk = library
            .create(contiguous, self.path(), &items_of_four(), 1, None)
            .expect("a new super-chunk");
        for number in 0..nchunks {
            append(&schunk, nbytes, number);
        }
        schunk
    }

    /// A chunk that can be handed over.
    fn compressed(&self, nbytes: usize, number: u64) -> Vec<u8> {
        let cparams = CParams {
            typesize: 4,
            ..Default::default()
        };
        let data = chunk_data(nbytes, number);
        self.library.schunks.lib.compress(&cparams, &data).1
    }

    fn spec(&self, shape: [i64; 2], chunks: [i32; 2], blocks: [i32; 2]) -> Spec {
        Spec {
            shape: shape.to_vec(),
            chunks: chunks.to_vec(),
            blocks: blocks.to_vec(),
            cparams: items_of_four(),
            nthreads: 1,
            contiguous: self.storage != Storage::Directory,
            path: self.path().map(c_path),
        }
    }

    /// Rows and columns of the large array; its chunks and blocks.
    fn large(&self) -> ([i64; 2], Spec) {
        let shape = if self.full { [4000, 2500] } else { [1000, 625] };
        let chunks = [shape[0] as i32 / 8, shape[1] as i32 / 5];
        (
            shape,
            self.spec(shape, chunks, [chunks[0] / 5, chunks[1] / 5]),
        )
    }
}

fn append(schunk: &Schunk, nbytes: usize, number: u64) {
    let data = chunk_data(nbytes, number);
    assert!(schunk.append_buffer(&data, nbytes as i32) > 0);
}

/// The items of an array of this shape.
fn items(shape: [i64; 2]) -> Vec<u8> {
    Kind::NoisyFloat32.bytes((shape[0] * shape[1] * 4) as usize, 5)
}

fn one_chunk_updated(desk: &Desk) -> Open {
    let schunk = desk.schunk(1, 400);
    assert_eq!(schunk.update_chunk(0, &desk.compressed(400, 9), true), 1);
    Open::Schunk(schunk)
}

fn one_vlmetalayer(desk: &Desk) -> Open {
    let schunk = desk.schunk(3, 400);
    assert_eq!(schunk.vlmeta_add(c"note", b"what it is"), 0);
    Open::Schunk(schunk)
}

fn ten_appended(desk: &Desk) -> Open {
    Open::Schunk(desk.schunk(10, 4000))
}

fn a_thousand_appended(desk: &Desk) -> Open {
    Open::Schunk(desk.schunk(1000, 400))
}

fn large_appended(desk: &Desk) -> Open {
    Open::Schunk(desk.schunk(40, 200_000))
}

fn opened_and_appended(desk: &Desk) -> Open {
    let schunk = desk.schunk(5, 4000);
    let Some(path) = desk.path() else {
        return Open::Schunk(schunk);
    };
    drop(schunk);
    let schunk = desk.library.schunks.open_path(path).expect("the frame");
    append(&schunk, 4000, 5);
    Open::Schunk(schunk)
}

fn inserted_in_prefix(desk: &Desk) -> Open {
    let schunk = desk.schunk(1, 4000);
    for number in 0..50 {
        let chunk = desk.compressed(4000, number);
        assert_eq!(schunk.insert_chunk(0, &chunk, true), number as i64 + 2);
    }
    Open::Schunk(schunk)
}

fn every_second_deleted(desk: &Desk) -> Open {
    let schunk = desk.schunk(40, 4000);
    for n in 0..20 {
        assert_eq!(schunk.delete_chunk(n), 39 - n);
    }
    Open::Schunk(schunk)
}

fn updated_at_random(desk: &Desk, nchunks: u64, nbytes: usize, updates: u64) -> Open {
    let schunk = desk.schunk(nchunks, nbytes);
    let mut rng = Rng(3);
    for number in 0..updates {
        let nchunk = rng.below(nchunks as usize) as i64;
        let chunk = desk.compressed(nbytes, 1000 + number);
        assert_eq!(schunk.update_chunk(nchunk, &chunk, true), nchunks as i64);
    }
    Open::Schunk(schunk)
}

fn small_updated_at_random(desk: &Desk) -> Open {
    updated_at_random(desk, 30, 4000, 200)
}

/// Some hundred KB.
fn middling_updated_at_random(desk: &Desk) -> Open {
    updated_at_random(desk, 60, 20_000, 200)
}

fn large_updated_at_random(desk: &Desk) -> Open {
    updated_at_random(desk, 20, 400_000, 60)
}

/// Other numbers over parts of chunks, of lengths and at places without any order.
fn sliced_at_random(desk: &Desk, nchunks: u64, nbytes: usize, slices: u64) -> Open {
    let schunk = desk.schunk(nchunks, nbytes);
    let items = nchunks as usize * nbytes / 4;
    let mut rng = Rng(11);
    for number in 0..slices {
        let len = 1 + rng.below(nbytes / 8);
        let start = rng.below(items - len) as i64;
        let data = match number % 3 {
            0 => Kind::Random.bytes(4 * len, number),
            _ => chunk_data(4 * len, 1000 + number),
        };
        assert_eq!(schunk.set_slice(start, start + len as i64, &data), 0);
    }
    Open::Schunk(schunk)
}

fn small_sliced_at_random(desk: &Desk) -> Open {
    sliced_at_random(desk, 60, 20_000, 150)
}

fn large_sliced_at_random(desk: &Desk) -> Open {
    sliced_at_random(desk, 20, 400_000, 60)
}

fn a_growing_vlmetalayer(desk: &Desk) -> Open {
    let schunk = desk.schunk(3, 4000);
    assert_eq!(schunk.vlmeta_add(c"log", b""), 0);
    for len in 1..100 {
        let content = Kind::Random.bytes(len * 20, 1);
        assert_eq!(schunk.vlmeta_update(c"log", &content), 0);
    }
    Open::Schunk(schunk)
}

fn array_from_a_buffer(desk: &Desk) -> Open {
    let (shape, spec) = desk.large();
    let array = desk.library.arrays.array_of(&spec, &items(shape));
    Open::Array(array.expect("an array"))
}

fn empty(desk: &Desk, spec: &Spec) -> Array {
    let arrays = desk.library.arrays;
    let make = arrays.f.b2nd_empty;
    // SAFETY: the parameters and the place that `make` hands over.
    let array = arrays.make(spec, |ctx, array| unsafe { make(ctx, array) });
    array.expect("an empty array")
}

fn empty_array_set(desk: &Desk) -> Open {
    let (shape, spec) = desk.large();
    let array = empty(desk, &spec);
    assert_eq!(array.set(&[0, 0], &shape, &shape, &items(shape)), 0);
    Open::Array(array)
}

/// The way in which chunks come when somebody fills an array: one after the other.
fn empty_array_set_by_chunks(desk: &Desk) -> Open {
    let (shape, spec) = desk.large();
    let array = empty(desk, &spec);
    let rows = i64::from(spec.chunks[0]);
    let band = items([rows, shape[1]]);
    for start in (0..shape[0]).step_by(rows as usize) {
        let stop = [start + rows, shape[1]];
        assert_eq!(array.set(&[start, 0], &stop, &[rows, shape[1]], &band), 0);
    }
    Open::Array(array)
}

fn rows_written_one_by_one(desk: &Desk) -> Open {
    let (shape, spec) = desk.large();
    let array = desk.library.arrays.array_of(&spec, &items(shape));
    let array = array.expect("an array");
    let row = Kind::Random.bytes(shape[1] as usize * 4, 8);
    let rows = if desk.full { 100 } else { 25 };
    for n in 0..rows {
        let start = n * 37 % shape[0];
        let stop = [start + 1, shape[1]];
        assert_eq!(array.set(&[start, 0], &stop, &[1, shape[1]], &row), 0);
    }
    Open::Array(array)
}

fn rows_appended(desk: &Desk) -> Open {
    let shape = [100, 100];
    let spec = desk.spec(shape, [50, 100], [10, 100]);
    let array = desk.library.arrays.array_of(&spec, &items(shape));
    let array = array.expect("an array");
    for _ in 0..10 {
        assert_eq!(array.append(0, &items([50, 100])), 0);
    }
    Open::Array(array)
}

fn shrunk(desk: &Desk) -> Open {
    let shape = [200, 200];
    let spec = desk.spec(shape, [50, 50], [10, 10]);
    let array = desk.library.arrays.array_of(&spec, &items(shape));
    let array = array.expect("an array");
    assert_eq!(array.resize(&[100, 200], None), 0);
    Open::Array(array)
}

type Script = (&'static str, Writing, fn(&Desk) -> Open);

const SCRIPTS: [Script; 20] = [
    ("one chunk updated", Writing::InPlaces, one_chunk_updated),
    ("one vlmetalayer added", Writing::Once, one_vlmetalayer),
    ("10 chunks appended", Writing::Once, ten_appended),
    ("1000 chunks appended", Writing::Once, a_thousand_appended),
    ("8 MB appended", Writing::Once, large_appended),
    ("opened and appended", Writing::Once, opened_and_appended),
    ("inserted in front", Writing::Once, inserted_in_prefix),
    (
        "every second chunk deleted",
        Writing::InPlaces,
        every_second_deleted,
    ),
    (
        "updated at random",
        Writing::InPlaces,
        small_updated_at_random,
    ),
    (
        "8 MB updated at random",
        Writing::InPlaces,
        large_updated_at_random,
    ),
    (
        "1 MB updated at random",
        Writing::InPlaces,
        middling_updated_at_random,
    ),
    (
        "1 MB written in slices at random",
        Writing::InPlaces,
        small_sliced_at_random,
    ),
    (
        "8 MB written in slices at random",
        Writing::InPlaces,
        large_sliced_at_random,
    ),
    (
        "a vlmetalayer that grows",
        Writing::InPlaces,
        a_growing_vlmetalayer,
    ),
    ("array from a buffer", Writing::Once, array_from_a_buffer),
    ("empty array, set", Writing::Once, empty_array_set),
    (
        "empty array, set by chunks",
        Writing::Once,
        empty_array_set_by_chunks,
    ),
    (
        "rows written one by one",
        Writing::InPlaces,
        rows_written_one_by_one,
    ),
    ("rows appended", Writing::Once, rows_appended),
    ("array made smaller", Writing::InPlaces, shrunk),
];

/// The bytes of a file, or of all files in a directory.
fn bytes_at(path: &Path) -> u64 {
    if path.is_file() {
        return fs::metadata(path).expect("a file").len();
    }
    let files = fs::read_dir(path).expect("a directory");
    files
        .map(|file| file.and_then(|file| file.metadata()).expect("a file").len())
        .sum()
}

/// The length that a frame's header gives (big-endian, behind its type).
fn length_in_header(frame: &[u8]) -> u64 {
    u64::from_be_bytes(frame[16..24].try_into().expect("eight bytes"))
}

/// What a script left: bytes while it was open, and when it was closed.
struct Sizes {
    open: u64,
    closed: u64,
}

/// Runs a script; `Err` says what is wrong with the file between two calls.
fn run(
    desk: &Desk,
    script: fn(&Desk) -> Open,
    reader: &'static SchunkLib,
) -> Result<Sizes, String> {
    let open = script(desk);
    let frame = open.frame();
    if desk.storage == Storage::Memory {
        let closed = frame.len() as u64;
        let open = length_in_header(&frame);
        return Ok(Sizes { open, closed });
    }
    let whole = desk.storage == Storage::File;
    if whole {
        let file = fs::read(&desk.path).expect("the file");
        if length_in_header(&file) != file.len() as u64 {
            return Err(format!(
                "the header says {}, the file has {}",
                length_in_header(&file),
                file.len()
            ));
        }
        if reader.open_buffer(&file, true).is_none() {
            return Err("the open file is no frame for the reference".into());
        }
    }
    let open_size = bytes_at(&desk.path);
    drop(open);
    let closed = bytes_at(&desk.path);
    Ok(Sizes {
        open: open_size,
        closed,
    })
}

fn check(name: &str, writing: Writing, sizes: &[Sizes; 2], report: &mut Report) {
    let [ours, theirs] = sizes;
    let line = || {
        format!(
            "{name}: open {} for {}, closed {} for {}",
            ours.open, theirs.open, ours.closed, theirs.closed
        )
    };
    let most_open = match (ours.closed, writing) {
        (closed, _) if closed < MAX_COMPACT => closed,
        // Room for the index to grow, and none between chunks.
        (closed, Writing::Once) => closed / 48 * 49,
        (closed, Writing::InPlaces) => closed / 8 * 9 + MAX_COMPACT / 8,
    };
    report.check(ours.open <= most_open, "room while open", line);
    let most_closed = match writing {
        Writing::Once => theirs.closed,
        Writing::InPlaces => theirs.closed + theirs.closed * 3 / 100,
    };
    report.check(ours.closed <= most_closed, "longer when closed", line);
}

#[test]
fn frames_are_no_longer_than_the_reference_s() {
    let Some(libraries) = both() else { return };
    let folder = Folder::new("scripts");
    let full = is_whole("OXIBLOSC_SIZES");
    let mut report = Report::default();
    for (turn, storage) in [Storage::File, Storage::Directory, Storage::Memory]
        .into_iter()
        .enumerate()
    {
        for (number, (name, writing, script)) in SCRIPTS.into_iter().enumerate() {
            // Two of the three, by turns.
            if !full && (number + turn) % 3 == 0 {
                continue;
            }
            report.case();
            let name = format!("{name}, {storage:?}");
            let sizes = libraries.map(|library| {
                let path = folder.0.join("frame");
                let _ = fs::remove_file(&path);
                let _ = fs::remove_dir_all(&path);
                let desk = Desk {
                    library,
                    storage,
                    path,
                    full,
                };
                run(&desk, script, libraries[1].schunks)
            });
            match sizes {
                [Ok(ours), Ok(theirs)] => {
                    println!(
                        "{name}: open {} for {}, closed {} for {}",
                        ours.open, theirs.open, ours.closed, theirs.closed
                    );
                    check(&name, writing, &[ours, theirs], &mut report);
                }
                [Err(what), _] => report.fail("not one whole frame", format!("{name}: {what}")),
                [_, Err(what)] => panic!("{name}, the reference: {what}"),
            }
        }
    }
    report.finish("sizes");
}

/// What the chunks of an array take after each write of a point or of some items.
fn written_in_places(library: Library, spec: &Spec, data: &[u8]) -> Vec<i64> {
    let array = library.arrays.array_of(spec, data).expect("an array");
    let mut rng = Rng(6);
    let typesize = spec.cparams.typesize as usize;
    let mut sizes = Vec::new();
    for number in 0..24 {
        let count = [1, 2, 5, 40][number % 4];
        let start = rng.below((spec.shape[0] - count) as usize) as i64;
        let stop = start + count;
        let items = Kind::Random.bytes(count as usize * typesize, number as u64);
        assert_eq!(array.set(&[start], &[stop], &[count], &items), 0);
        // SAFETY: the super-chunk lives as long as the array.
        sizes.push(unsafe { (*array.fields().sc).cbytes });
    }
    sizes
}

/// Of a chunk in memory, which is changed where it is, at most an eighth is room; the reference
/// writes its own anew each time. That holds for chunks of few bytes, too, most of whose blocks are
/// runs.
#[test]
fn chunks_in_memory_have_little_room() {
    let Some(libraries) = both() else { return };
    let mut report = Report::default();
    let mut number = 0;
    let kinds = [Kind::Zeros, Kind::Runs, Kind::WalkInt32, Kind::Text];
    // BloscLZ, LZ4, zlib and Zstd.
    let codecs = [0, 1, 4, 5];
    for (kind, codec) in kinds
        .iter()
        .flat_map(|kind| codecs.map(|codec| (kind, codec)))
    {
        for (typesize, block, contiguous) in [1, 4, 8].into_iter().flat_map(|typesize| {
            [(256, false), (4096, false), (4096, true)].map(|(block, c)| (typesize, block, c))
        }) {
            number += 1;
            if !takes("OXIBLOSC_SIZES", number, 3) {
                continue;
            }
            report.case();
            let spec = Spec {
                shape: vec![1 << 17],
                chunks: vec![1 << 16],
                blocks: vec![block],
                cparams: blosc2_cparams {
                    compcode: codec,
                    typesize,
                    ..blosc2_cparams::defaults()
                },
                nthreads: 1,
                contiguous,
                path: None,
            };
            let data = kind.bytes((typesize as usize) << 17, 3);
            let [ours, theirs] = libraries.map(|library| written_in_places(library, &spec, &data));
            let of = |(ours, theirs): &(i64, i64)| ours * 1000 / theirs;
            let worst = ours.into_iter().zip(theirs).max_by_key(of);
            let (ours, theirs) = worst.expect("writes");
            report.check(ours <= theirs * 8 / 7, "more than an eighth", || {
                format!("{kind:?}, codec {codec}, {typesize}, {block}, {contiguous}: {ours} for {theirs}")
            });
        }
    }
    report.finish("chunks in memory");
}

/// Names, sizes, times of change and contents of the files at a path.
fn state_of(path: &Path) -> Vec<(PathBuf, u64, std::time::SystemTime, Vec<u8>)> {
    let mut files = match path.is_file() {
        true => vec![path.to_owned()],
        false => fs::read_dir(path)
            .expect("a directory")
            .map(|entry| entry.expect("an entry").path())
            .collect(),
    };
    files.sort();
    let state = |file: PathBuf| {
        let about = fs::metadata(&file).expect("a file");
        let content = fs::read(&file).expect("a file");
        (
            file,
            about.len(),
            about.modified().expect("a time"),
            content,
        )
    };
    files.into_iter().map(state).collect()
}

#[test]
fn reading_changes_no_file() {
    let library = Library::ours();
    let folder = Folder::new("reading");
    for storage in [Storage::File, Storage::Directory] {
        for (name, _, script) in SCRIPTS {
            let desk = Desk {
                library,
                storage,
                path: folder.0.join("frame"),
                full: false,
            };
            drop(script(&desk));
            let before = state_of(&desk.path);
            let schunk = library.schunks.open_path(&desk.path);
            let schunk = schunk.expect("the frame");
            let chunk = schunk.get_chunk(0);
            assert!(chunk.rc > 0, "{name}, {storage:?}: {}", chunk.rc);
            assert_eq!(schunk.refresh(), 0);
            assert!(schunk.to_buffer().0 > 0);
            drop(schunk);
            assert!(
                state_of(&desk.path) == before,
                "{name}, {storage:?}: the files changed"
            );
            let _ = fs::remove_file(&desk.path);
            let _ = fs::remove_dir_all(&desk.path);
        }
    }
}

/// A stream of `len` bytes that is not everywhere like some part of it.
type Stream = fn(usize, &mut Rng) -> Vec<u8>;

fn noise(len: usize, rng: &mut Rng) -> Vec<u8> {
    (0..len).map(|_| rng.next() as u8).collect()
}

/// The place of sample `i` within its group, as a fraction of 2^32: multiples of the golden ratio.
fn irregular(i: usize) -> u64 {
    u64::from((i as u32).wrapping_mul(0x9E37_79B9))
}

/// Zeros with noise in one quarter of each 256 bytes.
fn noise_in_quarters(len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut stream = vec![0; len];
    for (i, group) in stream.chunks_exact_mut(256).enumerate() {
        let at = (irregular(i) >> 30) as usize * 64;
        group[at..at + 64].copy_from_slice(&noise(64, rng));
    }
    stream
}

/// Zeros with noise in a few places: `number` groups of the same length have one each.
fn noise_in_places(number: usize, len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut stream = vec![0; len];
    for (i, group) in stream.chunks_exact_mut(len / number).enumerate() {
        let free = group.len() as u64 - 64;
        let at = ((free * irregular(i)) >> 32) as usize;
        let some = &mut group[at..at + 64];
        some.copy_from_slice(&noise(64, rng));
    }
    stream
}

fn noise_in_16_places(len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut stream = noise_in_places(8, len, rng);
    let more = noise_in_places(16, len, rng);
    for (byte, more) in stream.iter_mut().zip(more) {
        *byte = if *byte == 0 { more } else { *byte };
    }
    stream
}

/// Noise, of which the words that begin with some bytes never occur twice, and all others again and
/// again.
fn repeats_without_some_words(len: usize, rng: &mut Rng) -> Vec<u8> {
    let is_chosen = |byte: &u8| byte & 0x7f == 0x16;
    let repeated: Vec<u8> = noise(6000, rng)
        .into_iter()
        .filter(|byte| !is_chosen(byte))
        .collect();
    let mut stream = Vec::new();
    while stream.len() < len {
        stream.extend(noise(1024, rng));
        let at = rng.below(repeated.len() - 1024);
        stream.extend_from_slice(&repeated[at..at + 1024]);
    }
    stream.truncate(len);
    stream
}

/// Bytes of few values, of which each second stretch of 4,096 bytes or so is that before the last.
fn repeats_in_some_pieces(len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut stream: Vec<u8> = (0..len).map(|_| rng.below(12) as u8).collect();
    for piece in 8..len / 4096 {
        if matches!(piece % 8, 2 | 3 | 5 | 7) {
            stream.copy_within((piece - 8) * 4096..(piece - 7) * 4096, piece * 4096);
        }
    }
    stream
}

/// Runs of few values, and bytes of the same values without any order in 32 places.
fn order_but_in_some_places(len: usize, rng: &mut Rng) -> Vec<u8> {
    let mut stream = Vec::new();
    while stream.len() < len {
        let byte = rng.below(12) as u8;
        stream.extend(std::iter::repeat_n(byte, 1 + rng.below(6)));
    }
    stream.truncate(len);
    for group in stream.chunks_exact_mut(len / 32) {
        let some = group.len().min(2048);
        group[..some].fill_with(|| rng.below(12) as u8);
    }
    stream
}

const STREAMS: [(&str, Stream); 6] = [
    ("noise in quarters", noise_in_quarters),
    ("noise in places", noise_in_16_places),
    ("words that are not chosen", repeats_without_some_words),
    ("repeats in pieces", repeats_in_some_pieces),
    ("order", order_but_in_some_places),
    ("noise", noise),
];

#[test]
fn no_part_of_a_stream_stands_for_the_rest() {
    let Some(libraries) = both() else { return };
    let full = is_whole("OXIBLOSC_SIZES");
    let mut report = Report::default();
    let mut turn = 0;
    for codec in [0, 1, 2, 4, 5] {
        for clevel in 1..=9 {
            for (blocksize, typesize, filter) in [
                (64 << 10, 1, 0),
                (256 << 10, 4, 1),
                (64 << 10, 8, 1),
                (1 << 20, 1, 0),
                (1 << 20, 8, 1),
            ] {
                turn += 1;
                for (at, (name, stream)) in STREAMS.iter().enumerate() {
                    if !full && at != turn % STREAMS.len() {
                        continue;
                    }
                    report.case();
                    let mut rng = Rng(at as u64 + 1);
                    // Each plane of a block is such a stream, so that is what shuffling makes of
                    // the items.
                    let plane = blocksize / typesize;
                    let planes: Vec<_> = (0..typesize).map(|_| stream(plane, &mut rng)).collect();
                    let items = (0..plane).flat_map(|i| planes.iter().map(move |plane| plane[i]));
                    let data: Vec<u8> = items.collect();
                    let cparams = CParams {
                        compcode: codec,
                        clevel,
                        typesize: typesize as i32,
                        blocksize: blocksize as i32,
                        filters: [0, 0, 0, 0, 0, filter],
                        ..Default::default()
                    };
                    let sizes = libraries
                        .map(|library| library.schunks.lib.compress(&cparams, &data).1.len());
                    let [ours, theirs] = sizes;
                    report.check(ours * 100 <= theirs * 101 + 3200, "more than 1 % larger", || {
                        format!(
                            "{name}, codec {codec}, level {clevel}, {typesize} bytes, blocks of {blocksize}: {ours} for {theirs}"
                        )
                    });
                }
            }
        }
    }
    report.finish("streams that differ from their samples");
}
