//! Tests of a handle that reads its frame again within a call, since another handle has changed it,
//! while a call on a file fails. Then the handle and the frame are as before the call or as after
//! it, and the call can be made again.

use super::SuperChunk;
use super::tests::{Content, content};
use crate::schunk::chunks::Position;
use crate::schunk::open::{Place, Protection};
use crate::schunk::store::ChunkStore;
use crate::{Array, CParams, Compressor, Initial, Layout, Result, StorageParams};
use oxiblosc_base::Error;
use oxiblosc_base::memory::{Shared, shared_dyn};
use oxiblosc_frame::disk::Options;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Exclusion, Mode, Storage, Version, Written, shared};
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Which calls fail.
#[derive(Debug, Default)]
struct Faults {
    /// Whether calls are counted, and fail.
    armed: AtomicBool,
    /// How many calls were made.
    calls: AtomicUsize,
    /// The first one that fails.
    first: AtomicUsize,
    /// How many calls fail.
    count: AtomicUsize,
}

impl Faults {
    /// Counts a call. Gives whether it fails.
    fn fails(&self) -> bool {
        if !self.armed.load(Ordering::Relaxed) {
            return false;
        }
        let now = self.calls.fetch_add(1, Ordering::Relaxed);
        let behind = now.checked_sub(self.first.load(Ordering::Relaxed));
        behind.is_some_and(|behind| behind < self.count.load(Ordering::Relaxed))
    }

    fn check(&self, error: Error) -> Result<()> {
        if self.fails() { Err(error) } else { Ok(()) }
    }

    /// Makes `count` calls of `work` from call `first` on fail. Gives also how many calls it made.
    fn during<T>(&self, first: usize, count: usize, work: impl FnOnce() -> T) -> (T, usize) {
        self.calls.store(0, Ordering::Relaxed);
        self.first.store(first, Ordering::Relaxed);
        self.count.store(count, Ordering::Relaxed);
        self.armed.store(true, Ordering::Relaxed);
        let done = work();
        self.armed.store(false, Ordering::Relaxed);
        (done, self.calls.load(Ordering::Relaxed))
    }
}

/// The file system, or a back end that can only read and write.
#[derive(Clone)]
struct FailingFiles {
    faults: Arc<Faults>,
    is_filesystem: bool,
}

struct FailingFile(FailingFiles, Shared<dyn Storage>);

impl Backend for FailingFiles {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        self.faults.check(Error::FILE_OPEN)?;
        let file = FailingFile(self.clone(), Filesystem.open(path, mode)?);
        shared_dyn!(file => dyn Storage)
    }

    fn identity(&self, path: &CStr) -> Option<(u64, u64)> {
        (self.is_filesystem && !self.faults.fails()).then(|| Filesystem.identity(path))?
    }

    fn version(&self, path: &CStr) -> Option<Version> {
        (self.is_filesystem && !self.faults.fails()).then(|| Filesystem.version(path))?
    }

    fn is_filesystem(&self) -> bool {
        self.is_filesystem
    }
}

impl Storage for FailingFile {
    fn size(&self) -> Result<u64> {
        self.0.faults.check(Error::FILE_READ)?;
        self.1.size()
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        self.0.faults.check(Error::FILE_READ)?;
        self.1.read_at(pos, buf)
    }

    /// A write that fails has written a half, if it is the only one: a disk that is gone takes
    /// nothing.
    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        let faults = &self.0.faults;
        if faults.fails() {
            if faults.count.load(Ordering::Relaxed) == 1 {
                self.1.write_at(pos, &buf[..buf.len() / 2])?;
            }
            return Err(Error::FILE_WRITE);
        }
        self.1.write_at(pos, buf)
    }

    fn truncate(&self, size: u64) -> Result<()> {
        self.0.faults.check(Error::FILE_TRUNCATE)?;
        self.1.truncate(size)
    }

    fn sync(&self) -> Result<()> {
        self.0.faults.check(Error::FILE_WRITE)
    }

    fn lock_exclusive(&self) -> Result<Exclusion> {
        self.1.lock_exclusive()
    }

    fn try_lock_exclusive(&self) -> Option<Exclusion> {
        self.1.try_lock_exclusive()
    }

    fn complete_lock(&self) -> bool {
        // The frame takes no locks through a back end.
        !self.0.is_filesystem || self.1.complete_lock()
    }

    fn lock_shared(&self, timeout: Duration) -> bool {
        self.1.lock_shared(timeout)
    }

    fn unlock(&self) {
        self.1.unlock();
    }

    fn identity(&self) -> Option<(u64, u64)> {
        self.0.is_filesystem.then(|| self.1.identity())?
    }

    fn written(&self) -> Option<Written> {
        self.0.is_filesystem.then(|| self.1.written())?
    }
}

/// How the frame is kept.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kept {
    File,
    Directory,
    /// In a file, through a back end that can only read and write.
    BackEnd,
}

const KEPT: [Kept; 3] = [Kept::File, Kept::Directory, Kept::BackEnd];

impl Kept {
    fn place(self, path: &Path) -> Place<'_> {
        match self {
            Self::Directory => Place::Directory(path),
            Self::File | Self::BackEnd => Place::File(path),
        }
    }
}

fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
}

fn storage(place: Place) -> StorageParams {
    StorageParams {
        place,
        cparams: CParams {
            typesize: 1,
            ..CParams::default()
        },
        protection: Protection::with_checksums(true),
        ..StorageParams::default()
    }
}

fn bytes(seed: u8, len: usize) -> Vec<u8> {
    let byte = |i: usize| ((i * i) >> 3) as u8 ^ seed.wrapping_mul(i as u8 | 1);
    (0..len).map(byte).collect()
}

fn append_vlblocks(schunk: &SuperChunk, seed: u8) -> Result<()> {
    let blocks = [bytes(seed, 300), bytes(seed, 40)];
    let blocks = [&blocks[0][..], &blocks[1][..]];
    let chunk = Compressor::new(storage(Place::Memory).cparams).compress_vlblocks(&blocks)?;
    schunk.put_chunk(Position::End, &chunk).map(drop)
}

/// Removes the checksums of header, index and trailer, as the reference does when it changes a
/// frame.
fn leave_to_chunks(path: &Path) {
    let directory = path.join("chunks.b2frame");
    let path = if path.is_dir() { &*directory } else { path };
    let mut frame = std::fs::read(path).expect("a frame");
    frame[oxiblosc_frame::header::MARK] = 0;
    let fingerprint = frame.len() - 17;
    frame[fingerprint..].fill(0);
    std::fs::write(path, frame).expect("a frame");
}

/// A kind of frame: how it is made, what another handle changes in it, and what is called then.
struct Scenario {
    name: &'static str,
    make: fn(StorageParams) -> Result<()>,
    other: fn(&Path) -> Result<()>,
    calls: &'static [(&'static str, Call)],
}

/// A call. It gives what was asked for.
type Call = fn(&Opened) -> Result<Vec<u8>>;

/// The handle: of an array, or of another super-chunk.
enum Opened {
    Schunk(SuperChunk),
    Array(Array),
}

impl Opened {
    fn schunk(&self) -> &SuperChunk {
        match self {
            Self::Schunk(schunk) => schunk,
            Self::Array(array) => array.schunk(),
        }
    }

    fn array(&self) -> &Array {
        match self {
            Self::Schunk(_) => panic!("no array"),
            Self::Array(array) => array,
        }
    }
}

const NOTHING: Vec<u8> = Vec::new();

const SCENARIOS: [Scenario; 4] = [
    Scenario {
        name: "chunks",
        make: |storage| {
            let schunk = SuperChunk::create(storage)?;
            for seed in 1..5 {
                schunk.append_data(&bytes(seed, 400))?;
            }
            schunk.set_vlmetalayer(b"old", &bytes(9, 300))
        },
        other: |path| {
            let other = SuperChunk::open(path, 0, 1, Protection::default())?;
            // Now another chunk lies where the first one was.
            other.delete_chunk(0)?;
            other.reorder(&[1, 0, 2])?;
            other.set_vlmetalayer(b"other", &bytes(8, 500))
        },
        calls: &[
            ("read", |h| Ok(h.schunk().chunk(0)?.to_vec())),
            ("read a range", |h| {
                let mut data = vec![0; 700];
                h.schunk().read_bytes(200..900, &mut data)?;
                Ok(data)
            }),
            ("read items", |h| {
                let mut data = vec![0; 3];
                h.schunk().read_sparse(&[1100, 3, 500], &mut data)?;
                Ok(data)
            }),
            ("metalayer", |h| {
                Ok(h.schunk().get_vlmetalayer(b"other")?.to_vec())
            }),
            ("refresh", |h| h.schunk().refresh().map(|_| NOTHING)),
            ("append", |h| {
                h.schunk().append_data(&bytes(7, 400)).map(|_| NOTHING)
            }),
            ("delete", |h| h.schunk().delete_chunk(1).map(|_| NOTHING)),
            ("reorder", |h| {
                h.schunk().reorder(&[2, 0, 1]).map(|()| NOTHING)
            }),
            ("write", |h| {
                let new = bytes(6, 500);
                h.schunk().write_bytes(300, &new).map(|()| NOTHING)
            }),
            ("add a metalayer", |h| {
                let new = bytes(6, 50);
                h.schunk().set_vlmetalayer(b"new", &new).map(|()| NOTHING)
            }),
            ("transaction", |h| {
                let transaction = h.schunk().transaction()?;
                h.schunk().append_data(&bytes(7, 400))?;
                h.schunk().delete_chunk(0)?;
                transaction.commit().map(|()| NOTHING)
            }),
        ],
    },
    Scenario {
        name: "blocks of variable length",
        make: |storage| {
            let schunk = SuperChunk::create(storage)?;
            (1..4).try_for_each(|seed| append_vlblocks(&schunk, seed))
        },
        other: |path| {
            let other = SuperChunk::open(path, 0, 1, Protection::default())?;
            other.delete_chunk(0)?;
            append_vlblocks(&other, 4)
        },
        calls: &[
            ("read", |h| {
                Ok(h.schunk().decompress_vlblock(0, 1)?.to_vec())
            }),
            ("refresh", |h| h.schunk().refresh().map(|_| NOTHING)),
            ("append", |h| {
                append_vlblocks(h.schunk(), 5).map(|()| NOTHING)
            }),
            ("metalayer", |h| {
                let new = bytes(6, 50);
                h.schunk().set_vlmetalayer(b"new", &new).map(|()| NOTHING)
            }),
        ],
    },
    Scenario {
        name: "checksums of chunks alone",
        make: |storage| {
            let (Place::File(path) | Place::Directory(path)) = storage.place else {
                return Err(Error::FAILURE);
            };
            let schunk = SuperChunk::create(storage)?;
            for seed in 1..4 {
                schunk.append_data(&bytes(seed, 400))?;
            }
            drop(schunk);
            leave_to_chunks(path);
            Ok(())
        },
        other: |path| {
            let other = SuperChunk::open(path, 0, 1, Protection::default())?;
            other.set_vlmetalayer(b"other", &bytes(8, 500))?;
            drop(other);
            leave_to_chunks(path);
            Ok(())
        },
        calls: &[
            ("read", |h| Ok(h.schunk().chunk(1)?.to_vec())),
            ("refresh", |h| h.schunk().refresh().map(|_| NOTHING)),
        ],
    },
    Scenario {
        name: "array",
        make: |storage| {
            let layout = Layout {
                shape: &[20, 20],
                chunks: &[8, 10],
                blocks: &[4, 5],
                dtype: Some(b"|u1"),
                metalayers: &[],
            };
            Array::create(&layout, Initial::Items(&bytes(1, 400)), storage).map(drop)
        },
        other: |path| {
            let other = Array::open(path, 1, Protection::default())?;
            other.resize(&[24, 22])?;
            other.write(&[18, 5], &[24, 22], &bytes(3, 6 * 17))
        },
        calls: &[
            ("read", |h| {
                let mut items = vec![0; 10 * 12];
                h.array().read(&[14, 10], &[24, 22], &mut items)?;
                Ok(items)
            }),
            ("read items", |h| {
                let mut items = vec![0; 3];
                h.array().read_sparse(&[24 * 22 - 1, 3, 430], &mut items)?;
                Ok(items)
            }),
            ("shape", |h| {
                let shape = h.array().shape()?;
                Ok(shape.iter().map(|len| *len as u8).collect())
            }),
            ("write", |h| {
                let new = bytes(5, 10 * 12);
                h.array()
                    .write(&[14, 10], &[24, 22], &new)
                    .map(|()| NOTHING)
            }),
            ("grow", |h| h.array().resize(&[30, 31]).map(|()| NOTHING)),
            ("shrink", |h| h.array().resize(&[9, 9]).map(|()| NOTHING)),
            ("append", |h| {
                h.array().append(&bytes(6, 3 * 22), 0).map(|()| NOTHING)
            }),
            ("insert", |h| {
                h.array().insert(&bytes(6, 8 * 22), 0, 8).map(|()| NOTHING)
            }),
            ("delete", |h| h.array().delete(0, 8, 8).map(|()| NOTHING)),
        ],
    },
];

/// How many calls fail: one, some, after which the disk works again, or all.
const COUNTS: [usize; 8] = [1, 2, 3, 6, 12, 40, 120, usize::MAX];

/// What a handle shows, and whether new chunks get checksums.
fn shown(held: &Opened) -> (Content, bool) {
    let schunk = held.schunk();
    let shown = content(schunk);
    let state = schunk.read().expect("the state");
    (shown, state.has_checksums())
}

/// The frame of a scenario.
struct Case<'a> {
    scenario: &'a Scenario,
    kept: Kept,
    created: &'a Path,
    path: &'a Path,
}

impl Case<'_> {
    fn open(&self, faults: Arc<Faults>) -> Result<Opened> {
        let files = FailingFiles {
            faults,
            is_filesystem: self.kept != Kept::BackEnd,
        };
        let options = || {
            Ok(Options {
                backend: shared(files)?,
                locking: false,
                durable: false,
            })
        };
        let name = CString::new(self.path.to_str().expect("a text")).expect("no zero inside");
        let (store, loaded) = ChunkStore::open(&name, 0, options)?;
        let schunk = SuperChunk::of_loaded(store, loaded, 1)?;
        match self.scenario.name {
            "array" => Array::of(schunk).map(Opened::Array),
            _ => Ok(Opened::Schunk(schunk)),
        }
    }

    /// Opens the frame while calls on files fail, as [`Self::run`]. The handle shows what is there,
    /// if there is one.
    fn run_opening(&self, first: usize, count: usize) -> std::result::Result<usize, String> {
        remove(self.path);
        super::opening::copy_all(self.created, self.path);
        let expected = self.fresh();
        let faults: Arc<Faults> = Arc::default();
        let (opened, calls) = faults.during(first, count, || self.open(faults.clone()));
        match opened {
            Ok(held) if shown(&held) != expected => Err("the handle shows something else".into()),
            _ if self.fresh() != expected => Err("the frame is something else".into()),
            _ => Ok(calls),
        }
    }

    /// A handle of a copy of the frame, which another handle has changed since.
    fn start(&self, faults: &Arc<Faults>) -> Opened {
        remove(self.path);
        super::opening::copy_all(self.created, self.path);
        let own = self.open(faults.clone()).expect("a frame");
        shown(&own);
        (self.scenario.other)(self.path).expect("another handle's change");
        own
    }

    fn fresh(&self) -> (Content, bool) {
        shown(&self.open(Arc::default()).expect("a frame"))
    }

    /// Makes the call while `count` calls on files fail, from call `first` on. Gives how many such
    /// calls it made.
    fn run(&self, call: Call, first: usize, count: usize) -> std::result::Result<usize, String> {
        let faults = Arc::default();
        let own = self.start(&faults);
        let before = self.fresh();
        let answer = call(&own).expect("a call without faults");
        let after = shown(&own);
        drop(own);
        let own = self.start(&faults);
        let (done, calls) = faults.during(first, count, || call(&own));
        let is = match &done {
            Ok(given) if *given != answer => return Err("another answer".into()),
            Ok(_) => &after,
            Err(_) => &before,
        };
        let wrong = |what: &str| Err(format!("{:?}, {what}", done.as_ref().err()));
        if self.fresh() != *is {
            return wrong("the frame is something else");
        }
        if shown(&own) != *is {
            return wrong("the handle shows something else");
        }
        if done.is_err() {
            match call(&own) {
                Ok(given) if given == answer => {}
                again => return wrong(&format!("made again: {:?}", again.err())),
            }
            if shown(&own) != after {
                return wrong("made again, the handle shows something else");
            }
        }
        drop(own);
        match self.fresh() == after {
            true => Ok(calls),
            false => wrong("closed, the frame is something else"),
        }
    }
}

/// Runs cases with all numbers of calls from each call on, until none of them fails.
#[derive(Default)]
struct Sweep {
    cases: usize,
    wrong: Vec<String>,
}

impl Sweep {
    fn run(
        &mut self,
        name: &str,
        case: impl Fn(usize, usize) -> std::result::Result<usize, String>,
    ) {
        for count in COUNTS {
            for first in 0..300 {
                self.cases += 1;
                let run = case(first, count);
                if let Err(error) = &run {
                    let which = format!("{name}, {count} from call {first} on: {error}");
                    self.wrong.push(which);
                }
                if run.is_ok_and(|calls| calls <= first) {
                    break;
                }
            }
        }
    }

    fn finish(self) {
        println!("{} cases", self.cases);
        let few = &self.wrong[..self.wrong.len().min(40)];
        assert!(
            self.wrong.is_empty(),
            "{} wrong: {few:#?}",
            self.wrong.len()
        );
    }
}

/// Calls `body` for each scenario, made in each way.
fn each(folder: &str, mut body: impl FnMut(&Scenario, Case)) {
    let folder = super::opening::folder(folder);
    std::fs::create_dir_all(&folder).expect("a folder");
    let (created, path): (PathBuf, PathBuf) = (folder.join("made"), folder.join("frame"));
    for scenario in &SCENARIOS {
        for kept in KEPT {
            remove(&created);
            (scenario.make)(storage(kept.place(&created))).expect("a frame");
            let case = Case {
                scenario,
                kept,
                created: &created,
                path: &path,
            };
            body(scenario, case);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the folder");
}

#[test]
fn a_handle_that_follows_another_survives_every_failing_call() {
    let mut sweep = Sweep::default();
    each("failing-files", |scenario, case| {
        let kept = case.kept;
        for (name, call) in scenario.calls {
            // A file that such a back end cannot open may have been removed. Then a handle shows
            // the shape that it knows.
            if (kept, *name) != (Kept::BackEnd, "shape") {
                let name = format!("{}, {kept:?}, {name}", scenario.name);
                sweep.run(&name, |first, count| case.run(*call, first, count));
            }
        }
    });
    sweep.finish();
}

#[test]
fn an_opening_with_failing_calls_shows_what_is_there() {
    let mut sweep = Sweep::default();
    each("failing-opening", |scenario, case| {
        let name = format!("{}, {:?}", scenario.name, case.kept);
        sweep.run(&name, |first, count| case.run_opening(first, count));
    });
    sweep.finish();
}
