//! Frames on disk and in memory against a list of chunks, also when writes fail or the process dies in one.

use self::hooked::{Call, Hook, Hooked};
use super::change::{Change, Item, Slot};
use super::disk::{Disk, Found, Loaded, Next, Options};
use super::header::{Header, Kind};
use super::memory::Memory;
use super::meta::{self, Metalayer, MetalayerRef};
use super::offsets::ChunkPlace;
use super::parameters::Parameters;
use oxiblosc_chunk::header::Special;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage};
use oxiblosc_memory::{CowBuffer, List, Shared, shared_dyn};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

mod costs;
mod handles;
mod hooked;
mod killed;
mod nested;
mod torn;

const CHUNKSIZE: i32 = 1000;

/// What may happen to a write.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Fate {
    /// It fails, and nothing is written.
    Fails,
    /// It fails half-way.
    Torn,
    /// It and all later ones do nothing, as if the process had died before it.
    Dies,
    /// As `Dies`, but half of it was written.
    DiesTorn,
    /// The process ends before it.
    Ends,
    /// The process ends when half of it was written.
    EndsTorn,
}

/// One write goes wrong.
#[derive(Clone)]
struct Unlucky {
    /// Writes that still go well; below 0 it has happened.
    left: Arc<AtomicI64>,
    fate: Fate,
}

impl Hook for Unlucky {
    fn open(&self, mode: Mode) -> Result<()> {
        let is_dead = matches!(self.fate, Fate::Dies | Fate::DiesTorn)
            && self.left.load(Ordering::Relaxed) < 0;
        match mode == Mode::Create && is_dead {
            true => Err(Error::FileOpen),
            false => Ok(()),
        }
    }

    fn before(&self, call: Call, file: &dyn Storage) -> Result<()> {
        let error = match call {
            Call::Size | Call::Read(_) => return Ok(()),
            Call::Write(..) | Call::Sync => Error::FileWrite,
            Call::Truncate => Error::FileTruncate,
        };
        match (self.left.fetch_sub(1, Ordering::Relaxed), self.fate) {
            (0, Fate::Torn | Fate::DiesTorn | Fate::EndsTorn) => {
                if let Call::Write(pos, bytes) = call {
                    file.write_at(pos, &bytes[..bytes.len() / 2])?;
                }
            }
            (0, _) | (..0, Fate::Dies | Fate::DiesTorn) => {}
            _ => return Ok(()),
        }
        match self.fate {
            Fate::Ends | Fate::EndsTorn => std::process::exit(killed::DIED),
            _ => Err(error),
        }
    }
}

struct Random(u64);

impl Random {
    fn next(&mut self, most: usize) -> usize {
        self.0 = self
            .0
            .wrapping_mul(6364136223846793005)
            .wrapping_add(1442695040888963407);
        (self.0 >> 33) as usize % most
    }
}

/// A chunk that stores `len` bytes; `CHUNKSIZE` of data are claimed, since frames look only at sizes.
fn chunk(len: usize, fill: u8) -> Vec<u8> {
    let mut chunk = vec![fill; len + 32];
    chunk[..4].copy_from_slice(&[5, 1, 5, 1]);
    chunk[4..8].copy_from_slice(&CHUNKSIZE.to_le_bytes());
    chunk[8..12].copy_from_slice(&CHUNKSIZE.to_le_bytes());
    let cbytes = chunk.len() as i32;
    chunk[12..16].copy_from_slice(&cbytes.to_le_bytes());
    chunk[16..32].fill(0);
    chunk
}

/// What a frame should hold.
#[derive(Clone, Debug, PartialEq, Default)]
struct Model {
    chunks: Vec<std::result::Result<Vec<u8>, ChunkPlace>>,
    metalayers: Vec<Metalayer>,
    vlmetalayers: Vec<Metalayer>,
}

fn header(model: &Model, kind: Kind) -> Header {
    Header {
        kind,
        nbytes: model.chunks.len() as i64 * i64::from(CHUNKSIZE),
        chunksize: CHUNKSIZE,
        parameters: Parameters {
            typesize: 1,
            blocksize: 0,
            compcode: 0,
            compcode_meta: 0,
            clevel: 5,
            splitmode: 1,
            use_dict: false,
            filters: [0; 6],
            filters_meta: [0; 6],
        },
        nthreads_c: 1,
        nthreads_d: 1,
        has_vlmetalayers: !model.vlmetalayers.is_empty(),
        vlblocks: false,
        metalayers: List::new(),
    }
}

fn cbytes(model: &Model) -> u64 {
    let sizes = model
        .chunks
        .iter()
        .flatten()
        .map(|chunk| chunk.len() as u64);
    sizes.sum()
}

/// Compares chunks by size and first byte, since a difference in full is unreadable.
fn assert_same(
    found: &[std::result::Result<Vec<u8>, ChunkPlace>],
    expected: &[std::result::Result<Vec<u8>, ChunkPlace>],
    context: &str,
) {
    let short = |chunks: &[std::result::Result<Vec<u8>, ChunkPlace>]| {
        let short = chunks.iter().map(|chunk| match chunk {
            Ok(bytes) => (bytes.len(), bytes.last().copied()),
            Err(_) => (0, None),
        });
        short.collect::<Vec<_>>()
    };
    assert_eq!(short(found), short(expected), "{context}");
    assert!(found == expected, "{context}");
}

/// A change, as data that own what they hold.
#[derive(Clone)]
enum Step {
    Append(std::result::Result<Vec<u8>, ChunkPlace>),
    Insert(usize, std::result::Result<Vec<u8>, ChunkPlace>),
    Update(Vec<(usize, std::result::Result<Vec<u8>, ChunkPlace>)>),
    Delete(usize),
    Reorder(Vec<usize>),
    /// Chunks that stay or come in, those that go, and what all bytes of the first metalayer become.
    Arrange(Vec<Arranged>, Vec<usize>, u8),
    Meta(Metalayer),
    VlMeta(Metalayer),
}

/// A chunk of an arrangement.
#[derive(Clone)]
enum Arranged {
    Old(usize),
    New(std::result::Result<Vec<u8>, ChunkPlace>),
}

/// What a change borrows.
#[derive(Default)]
struct Parts<'a> {
    items: Vec<(usize, Item<'a>)>,
    slots: Vec<Slot<'a>>,
}

fn random_arrangement(random: &mut Random, count: usize, fill: u8) -> Step {
    let (mut slots, mut left) = (Vec::new(), Vec::new());
    for old in 0..count {
        match random.next(6) {
            0 => left.push(old),
            1 => {
                slots.push(Arranged::New(Ok(chunk(random.next(3000), fill))));
                slots.push(Arranged::Old(old));
            }
            2 => {
                left.push(old);
                slots.push(Arranged::New(Ok(chunk(random.next(3000), fill))));
            }
            _ => slots.push(Arranged::Old(old)),
        }
    }
    if random.next(2) == 0 {
        slots.push(Arranged::New(Err(ChunkPlace::Special(Special::Zero))));
    }
    Step::Arrange(slots, left, fill)
}

fn random_step(random: &mut Random, model: &Model) -> Step {
    let count = model.chunks.len();
    let fill = random.next(256) as u8;
    let size = [5, 40, 500, 30_000, 200_000][random.next(5).min(random.next(6))];
    let item = match random.next(6) {
        0 => Err(ChunkPlace::Special(Special::Zero)),
        _ => Ok(chunk(random.next(size), fill)),
    };
    match random.next(14) {
        12 | 13 => random_arrangement(random, count, fill),
        0..4 => Step::Append(item),
        4 | 5 => Step::Insert(random.next(count + 1), item),
        6 if count > 0 => Step::Update(vec![(random.next(count), item)]),
        7 if count > 3 => {
            let (a, b) = (random.next(count / 2), count / 2 + random.next(count / 2));
            let other = Ok(chunk(random.next(size), fill ^ 1));
            Step::Update(vec![(b, item), (a, other)])
        }
        8 if count > 0 => Step::Delete(random.next(count)),
        9 if count > 0 => {
            let by = random.next(count);
            Step::Reorder((0..count).map(|i| (i + by) % count).collect())
        }
        10 if cbytes(model) == 0 && model.metalayers.len() < 16 => Step::Meta(Metalayer {
            name: format!("meta{}", model.metalayers.len())
                .into_bytes()
                .into(),
            content: vec![fill; random.next(300)].into(),
        }),
        _ => Step::VlMeta(Metalayer {
            name: format!("vlmeta{}", model.vlmetalayers.len())
                .into_bytes()
                .into(),
            content: vec![fill; random.next(700)].into(),
        }),
    }
}

impl std::fmt::Debug for Step {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let size =
            |item: &std::result::Result<Vec<u8>, ChunkPlace>| item.as_ref().map_or(0, Vec::len);
        match self {
            Self::Append(item) => write!(f, "append {}", size(item)),
            Self::Insert(at, item) => write!(f, "insert {at} {}", size(item)),
            Self::Update(items) => items
                .iter()
                .try_for_each(|(at, item)| write!(f, "update {at} {} ", size(item))),
            Self::Delete(at) => write!(f, "delete {at}"),
            Self::Reorder(order) => write!(f, "reorder {order:?}"),
            Self::Arrange(slots, left, _) => {
                write!(f, "arrange {} less {left:?}", slots.len())
            }
            Self::Meta(layer) => write!(f, "meta {}", layer.content.len()),
            Self::VlMeta(layer) => write!(f, "vlmeta {}", layer.content.len()),
        }
    }
}

fn item(item: &std::result::Result<Vec<u8>, ChunkPlace>) -> Item<'_> {
    match item {
        Ok(chunk) => Item::Stored(chunk),
        Err(place) => Item::Special(*place),
    }
}

impl Step {
    fn apply(&self, model: &mut Model) {
        match self.clone() {
            Self::Append(chunk) => model.chunks.push(chunk),
            Self::Insert(at, chunk) => model.chunks.insert(at, chunk),
            Self::Update(items) => {
                for (at, chunk) in items {
                    model.chunks[at] = chunk;
                }
            }
            Self::Delete(at) => drop(model.chunks.remove(at)),
            Self::Reorder(order) => {
                model.chunks = order.iter().map(|i| model.chunks[*i].clone()).collect();
            }
            Self::Arrange(slots, _, fill) => {
                let old = std::mem::take(&mut model.chunks);
                let slots = slots.into_iter();
                let chunks = slots.map(|slot| match slot {
                    Arranged::Old(from) => old[from].clone(),
                    Arranged::New(chunk) => chunk,
                });
                model.chunks = chunks.collect();
                if let Some(layer) = model.metalayers.first_mut() {
                    layer.content.fill(fill);
                }
            }
            Self::Meta(layer) => model.metalayers.push(layer),
            Self::VlMeta(layer) => model.vlmetalayers.push(layer),
        }
    }

    fn items(&self) -> Parts<'_> {
        let mut parts = Parts::default();
        match self {
            Self::Update(items) => {
                parts.items = items.iter().map(|(at, it)| (*at, item(it))).collect();
            }
            Self::Arrange(slots, ..) => {
                let slots = slots.iter().map(|slot| match slot {
                    Arranged::Old(from) => Slot::Old(*from),
                    Arranged::New(chunk) => Slot::New(item(chunk)),
                });
                parts.slots = slots.collect();
            }
            _ => {}
        }
        parts
    }

    fn change<'a>(&'a self, parts: &'a Parts<'a>) -> Change<'a> {
        match self {
            Self::Append(chunk) => Change::Append(item(chunk)),
            Self::Insert(at, chunk) => Change::Insert(*at, item(chunk)),
            Self::Update(_) => Change::Update(&parts.items),
            Self::Arrange(_, left, _) => Change::Arrange {
                slots: &parts.slots,
                left,
            },
            Self::Delete(at) => Change::Delete(*at),
            Self::Reorder(order) => Change::Reorder(order),
            Self::Meta(_) | Self::VlMeta(_) => Change::Nothing,
        }
    }

    fn next(&self, after: &Model, kind: Kind) -> Next {
        let vlmetalayers = meta::borrow(&after.vlmetalayers).unwrap();
        let changed: Option<&[MetalayerRef]> =
            matches!(self, Self::VlMeta(_)).then_some(&vlmetalayers);
        Next::new(
            &header(after, kind),
            &meta::borrow(&after.metalayers).unwrap(),
            changed,
            cbytes(after),
        )
        .unwrap()
    }
}

fn content(disk: &mut Disk) -> Result<Vec<std::result::Result<Vec<u8>, ChunkPlace>>> {
    (0..disk.offsets().len())
        .map(|nchunk| match disk.find(nchunk)? {
            Found::Special(place) => Ok(Err(place)),
            Found::Stored(stored) => {
                let mut bytes = vec![0; stored.header()?.cbytes];
                stored.read(0, &mut bytes)?;
                Ok(Ok(bytes))
            }
        })
        .collect()
}

fn whole(disk: &mut Disk, loaded: Loaded) -> Result<Model> {
    Ok(Model {
        chunks: content(disk)?,
        metalayers: loaded.header.metalayers.into(),
        vlmetalayers: loaded.vlmetalayers.into(),
    })
}

struct Folder(PathBuf);

impl Folder {
    fn new(test: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("oxiblosc-{test}-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        Self(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn c_path(path: &Path) -> CString {
    CString::new(oxiblosc_io::paths::path_bytes(path).unwrap()).unwrap()
}

fn remove(path: &Path) {
    let _ = std::fs::remove_dir_all(path);
    let _ = std::fs::remove_file(path);
}

fn options(backend: Shared<dyn Backend>) -> Options {
    Options {
        backend,
        locking: false,
        durable: false,
    }
}

/// A back end whose writes go well so many times, and then meet this fate.
fn unlucky(left: &Arc<AtomicI64>, fate: Fate) -> Options {
    let left = Arc::clone(left);
    options(Hooked(Unlucky { left, fate }).shared())
}

fn plain() -> Options {
    options(shared_dyn!(Filesystem => dyn Backend).unwrap())
}

#[test]
fn frames_on_disk_hold_what_was_put_in() {
    let folder = Folder::new("frames");
    for seed in 0..60u64 {
        let kind = [Kind::Contiguous, Kind::Sparse][seed as usize % 2];
        let path = folder.0.join(format!("{seed}"));
        let name = c_path(&path);
        let mut random = Random(seed + 1);
        let mut model = Model::default();
        let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind), &[], &[]).unwrap();
        let (mut other, _) = Disk::open(plain(), &name, 0, kind).unwrap();
        for _ in 0..40 {
            let step = random_step(&mut random, &model);
            step.apply(&mut model);
            disk.commit(&step.change(&step.items()), &[], step.next(&model, kind))
                .unwrap();
            assert_same(
                &content(&mut disk).unwrap(),
                &model.chunks,
                &format!("{seed} {step:?}"),
            );
            match random.next(6) {
                0 => {
                    disk.close().unwrap();
                    let found = Disk::open(plain(), &name, 0, kind).unwrap();
                    disk = found.0;
                    assert!(whole(&mut disk, found.1).unwrap() == model);
                }
                1 => {
                    // Another handle follows, and from now on is the one that writes.
                    other.refresh().unwrap();
                    assert_same(
                        &content(&mut other).unwrap(),
                        &model.chunks,
                        "another handle",
                    );
                    std::mem::swap(&mut disk, &mut other);
                }
                2 => {
                    let (mut third, loaded) = Disk::open(plain(), &name, 0, kind).unwrap();
                    assert!(whole(&mut third, loaded).unwrap() == model);
                }
                _ => {}
            }
        }
        drop(other);
        disk.refresh().unwrap();
        disk.close().unwrap();
        let len = disk.frame_len();
        let file = if kind == Kind::Sparse {
            path.join("chunks.b2frame")
        } else {
            path
        };
        assert_eq!(std::fs::metadata(file).unwrap().len(), len);
    }
}

#[test]
fn frames_in_memory_hold_what_was_put_in() {
    let kind = Kind::Contiguous;
    let (seeds, steps) = if cfg!(miri) { (2, 5) } else { (60, 40) };
    for seed in 0..seeds {
        let mut random = Random(seed + 1);
        let mut model = Model::default();
        let mut memory = Memory::new(&header(&model, kind), &[], &[]).unwrap();
        for _ in 0..steps {
            let step = random_step(&mut random, &model);
            step.apply(&mut model);
            let next = step.next(&model, kind);
            memory
                .commit(&step.change(&step.items()), &[], next.header, next.trailer)
                .unwrap();
            if random.next(4) == 0 {
                let bytes = memory.whole().unwrap().to_vec().leak();
                let (again, loaded) = Memory::over(CowBuffer::borrow(bytes)).unwrap();
                assert_eq!(loaded.header.metalayers, model.metalayers);
                assert_eq!(loaded.vlmetalayers, model.vlmetalayers);
                memory = again;
            }
            for (nchunk, chunk) in model.chunks.iter().enumerate() {
                let found = memory
                    .find(nchunk)
                    .unwrap()
                    .map(|(chunk, _)| chunk.to_vec());
                assert!(&found == chunk, "{step:?}");
            }
            assert_eq!(memory.offsets().len(), model.chunks.len());
        }
    }
}

/// Makes a frame with some history, and gives the step to be tried on it.
fn prepared(seed: u64, kind: Kind, path: &Path, backend: Options) -> (Disk, Model, Step) {
    remove(path);
    let name = c_path(path);
    let mut random = Random(seed + 1);
    let mut model = Model::default();
    let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind), &[], &[]).unwrap();
    for _ in 0..random.next(8) {
        let step = random_step(&mut random, &model);
        step.apply(&mut model);
        disk.commit(&step.change(&step.items()), &[], step.next(&model, kind))
            .unwrap();
    }
    drop(disk);
    let (mut disk, _) = Disk::open(backend, &name, 0, kind).unwrap();
    for _ in 0..random.next(3) {
        let step = random_step(&mut random, &model);
        step.apply(&mut model);
        disk.commit(&step.change(&step.items()), &[], step.next(&model, kind))
            .unwrap();
    }
    let step = random_step(&mut random, &model);
    (disk, model, step)
}

#[test]
fn a_write_that_goes_wrong_loses_nothing() {
    let folder = Folder::new("unlucky");
    let path = folder.0.join("frame");
    let mut tried = 0;
    for seed in 0..120u64 {
        let kind = [Kind::Contiguous, Kind::Sparse][seed as usize % 2];
        let durable = seed % 4 > 1;
        for fate in [Fate::Fails, Fate::Torn, Fate::Dies, Fate::DiesTorn] {
            for point in 0.. {
                let left = Arc::new(AtomicI64::new(i64::MAX));
                let backend = Options {
                    durable,
                    ..unlucky(&left, fate)
                };
                let (mut disk, before, step) = prepared(seed, kind, &path, backend);
                let mut after = before.clone();
                step.apply(&mut after);
                left.store(point, Ordering::Relaxed);
                let result = disk.commit(&step.change(&step.items()), &[], step.next(&after, kind));
                let closing = disk.close();
                let happened = left.load(Ordering::Relaxed) < 0;
                left.store(i64::MAX, Ordering::Relaxed);
                let died = matches!(fate, Fate::Dies | Fate::DiesTorn);
                if !died {
                    // The handle goes on, from where it was.
                    let expected = if result.is_ok() { &after } else { &before };
                    let mut model = expected.clone();
                    disk.refresh().unwrap();
                    let context =
                        format!("{seed} {kind:?} {fate:?} {point} {step:?} {result:?} {closing:?}");
                    let found = content(&mut disk).expect(&context);
                    assert_same(&found, &model.chunks, &context);
                    let last = Step::Append(Ok(chunk(77, 7)));
                    last.apply(&mut model);
                    disk.commit(&last.change(&last.items()), &[], last.next(&model, kind))
                        .unwrap();
                    disk.close().unwrap();
                    let (mut again, loaded) = Disk::open(plain(), &c_path(&path), 0, kind).unwrap();
                    assert!(
                        whole(&mut again, loaded).unwrap() == model,
                        "{seed} {fate:?} {point}"
                    );
                } else {
                    drop(disk);
                    let (mut again, loaded) = Disk::open(plain(), &c_path(&path), 0, kind)
                        .unwrap_or_else(|error| {
                            panic!("{error} {seed} {kind:?} {fate:?} {point} {step:?}")
                        });
                    let found = whole(&mut again, loaded).unwrap();
                    assert!(
                        found == before || found == after,
                        "{seed} {fate:?} {point} {step:?}"
                    );
                    if result.is_ok() {
                        assert!(found == after);
                    }
                    let last = Step::Append(Ok(chunk(77, 7)));
                    let mut model = found.clone();
                    last.apply(&mut model);
                    let result =
                        again.commit(&last.change(&last.items()), &[], last.next(&model, kind));
                    assert_eq!(result, Ok(()), "{seed} {fate:?} {point} {step:?}");
                    again.close().unwrap();
                    let (mut again, loaded) = Disk::open(plain(), &c_path(&path), 0, kind).unwrap();
                    assert!(whole(&mut again, loaded).unwrap() == model);
                }
                tried += 1;
                if !happened {
                    assert_eq!((result, closing), (Ok(()), Ok(())));
                    break;
                }
            }
        }
    }
    assert!(tried > 1000, "{tried}");
}

#[test]
fn a_frame_before_another_in_a_file_is_not_written_over_it() {
    let folder = Folder::new("others");
    let path = folder.0.join("frame");
    let model = Model::default();
    let kind = Kind::Contiguous;
    let name = c_path(&path);
    let (disk, _) = Disk::create(plain(), &name, &header(&model, kind), &[], &[]).unwrap();
    drop(disk);
    let mut bytes = std::fs::read(&path).unwrap();
    let len = bytes.len() as u64;
    bytes.extend(bytes.clone());
    std::fs::write(&path, &bytes).unwrap();
    let step = Step::Append(Ok(chunk(77, 7)));
    let mut after = model.clone();
    step.apply(&mut after);
    let (mut first, _) = Disk::open(plain(), &name, 0, kind).unwrap();
    let result = first.commit(&step.change(&step.items()), &[], step.next(&after, kind));
    assert_eq!(result, Err(Error::FileWrite));
    drop(first);
    assert_eq!(std::fs::read(&path).unwrap(), bytes);
    let (mut second, _) = Disk::open(plain(), &name, len, kind).unwrap();
    second
        .commit(&step.change(&step.items()), &[], step.next(&after, kind))
        .unwrap();
    drop(second);
    let (mut second, loaded) = Disk::open(plain(), &name, len, kind).unwrap();
    assert_eq!(whole(&mut second, loaded).unwrap(), after);
    let (mut first, loaded) = Disk::open(plain(), &name, 0, kind).unwrap();
    assert_eq!(whole(&mut first, loaded).unwrap(), model);
}
