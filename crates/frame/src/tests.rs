//! Compares frames on disk and in memory with a list of chunks, also when a write fails or the
//! process dies in one.

use self::hooked::{Call, Hook, Hooked, Locks};
use self::model::*;
use self::unlucky::{Fate, Unlucky};
use super::change::{ArrangedChunk, Change, ChangedChunk};
use super::disk::{Disk, EncodedMetadata, Loaded, Metadata, Options};
use super::header::{FrameKind, Header};
use super::memory::Memory;
use super::meta::{self, Metalayer, MetalayerRef};
use super::offsets::Found;
use oxiblosc_base::memory::{CowBuffer, Shared, TryVec, shared_dyn};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::Special;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage};
use std::ffi::CString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

pub(crate) mod bare_file;
mod beside;
mod checksums;
mod costs;
mod handles;
mod hooked;
mod killed;
mod last_chunk;
mod model;
mod nested;
mod one_step;
/// Not on Windows, where modification times are updated late: so it cannot be known whether a
/// writer is at work.
#[cfg(unix)]
mod torn;
mod unlucky;

const CHUNKSIZE: i32 = 1000;

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

fn content(disk: &mut Disk) -> Result<Vec<ModelChunk>> {
    (0..disk.offsets().len())
        .map(|nchunk| match disk.find(nchunk)? {
            Found::Special(kind) => Ok(Err(kind)),
            Found::Stored(stored) => {
                let mut bytes = vec![0; stored.header()?.cbytes];
                stored.read(0, &mut bytes)?;
                Ok(Ok(bytes))
            }
        })
        .collect()
}

fn chunk_of(memory: &Memory, nchunk: usize) -> ModelChunk {
    match memory.find(nchunk).unwrap() {
        Found::Special(kind) => Err(kind),
        Found::Stored((chunk, _)) => Ok(chunk.to_vec()),
    }
}

fn whole(disk: &mut Disk, loaded: Loaded) -> Result<Model> {
    Ok(Model {
        chunks: content(disk)?,
        metalayers: loaded.header.metalayers.into(),
        vlmetalayers: loaded.vlmetalayers.into(),
    })
}

fn commit(disk: &mut Disk, model: &mut Model, step: &Step) -> Result<()> {
    let mut after = model.clone();
    step.apply(&mut after);
    disk.commit(
        &step.change(&step.items()),
        &[],
        step.next(&after, disk.kind()),
    )?;
    *model = after;
    Ok(())
}

pub(crate) struct Folder(pub PathBuf);

impl Folder {
    pub fn new(test: &str) -> Self {
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

pub(crate) fn c_path(path: &Path) -> CString {
    CString::new(oxiblosc_io::paths::path_bytes(path).unwrap()).unwrap()
}

/// The header of a contiguous frame without chunks and metalayers.
pub(crate) fn empty_header() -> TryVec<u8> {
    let header = header(&Model::default(), FrameKind::Contiguous);
    header.encode(&[]).expect("memory")
}

/// The path of the file with header, index and trailer.
fn frame_file_of(path: &Path, kind: FrameKind) -> PathBuf {
    match kind {
        FrameKind::Contiguous => path.to_owned(),
        FrameKind::Sparse => path.join("chunks.b2frame"),
    }
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

/// A back end whose writes succeed `left` times; the next one meets this fate.
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
        let kind = [FrameKind::Contiguous, FrameKind::Sparse][seed as usize % 2];
        let path = folder.0.join(format!("{seed}"));
        let name = c_path(&path);
        let mut random = Random(seed + 1);
        let mut model = Model::default();
        let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind)).unwrap();
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
                    // Another handle reads the changes, and makes the next ones.
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
        let file = frame_file_of(&path, kind);
        assert_eq!(std::fs::metadata(file).unwrap().len(), len);
    }
}

#[test]
fn frames_in_memory_hold_what_was_put_in() {
    let kind = FrameKind::Contiguous;
    let (seeds, steps) = if cfg!(miri) { (2, 5) } else { (60, 40) };
    for seed in 0..seeds {
        let mut random = Random(seed + 1);
        let mut model = Model::default();
        let mut memory = Memory::new(&header(&model, kind)).unwrap();
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
                assert!(&chunk_of(&memory, nchunk) == chunk, "{step:?}");
            }
            assert_eq!(memory.offsets().len(), model.chunks.len());
        }
    }
}

/// Creates a frame and changes it a few times. Returns also the step to be tried on it.
fn prepared(seed: u64, kind: FrameKind, path: &Path, backend: Options) -> (Disk, Model, Step) {
    remove(path);
    let name = c_path(path);
    let mut random = Random(seed + 1);
    let mut model = Model::default();
    let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind)).unwrap();
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
        let kind = [FrameKind::Contiguous, FrameKind::Sparse][seed as usize % 2];
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
                    // The handle can be used as before.
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
    let kind = FrameKind::Contiguous;
    let name = c_path(&path);
    let (disk, _) = Disk::create(plain(), &name, &header(&model, kind)).unwrap();
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
    assert_eq!(result, Err(Error::FILE_WRITE));
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
