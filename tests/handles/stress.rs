//! Processes of several threads each that append to one locked frame and read it, at once: beside
//! processes of the reference, and killed at random. Nothing that was acknowledged is lost, nothing
//! is torn, and the frame can be read at the end.
//!
//! `OXIBLOSC_STRESS` is how many seconds each test takes (2 by default). Processes of the reference
//! are not among those that are killed: what a process has left in the middle of a change, the
//! reference does not know how to undo.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::{Child, start};
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of a chunk.
const NBYTES: usize = 2000;
/// Processes of each library at once.
const PROCESSES: u32 = 2;
/// Threads of a process of ours that append, and as many that read.
const THREADS: u32 = 2;

fn seconds() -> u64 {
    let given = std::env::var("OXIBLOSC_STRESS").ok();
    given.and_then(|value| value.parse().ok()).unwrap_or(2)
}

/// The data of a chunk: who wrote it, and which of his it is, and what follows from that.
fn data(writer: u32, count: u32) -> Vec<u8> {
    let seed = u64::from(writer) << 32 | u64::from(count);
    let mut data = Kind::WalkInt32.bytes(NBYTES, seed);
    data[..4].copy_from_slice(&writer.to_le_bytes());
    data[4..8].copy_from_slice(&count.to_le_bytes());
    data
}

/// Who wrote a chunk, and which of his it is.
fn parse(chunk: &[u8]) -> Result<(u32, u32), String> {
    let number = |at: usize| chunk[at..at + 4].try_into().map(u32::from_le_bytes);
    let (writer, count) = (number(0).unwrap(), number(4).unwrap());
    if chunk == data(writer, count) {
        Ok((writer, count))
    } else {
        Err(format!("torn: writer {writer}, number {count}"))
    }
}

fn open(lib: &'static SchunkLib, path: &Path) -> Result<Schunk, String> {
    let opened = lib.open_locking(path);
    opened.ok_or_else(|| format!("{}: the frame does not open", lib.lib.name))
}

/// A handle that threads share.
#[derive(Clone, Copy)]
struct SharedSchunk<'a>(&'a Schunk);

// SAFETY: the threads of this library may share a handle; those of the reference do not.
unsafe impl Sync for SharedSchunk<'_> {}
// SAFETY: as above.
unsafe impl Send for SharedSchunk<'_> {}

impl SharedSchunk<'_> {
    /// Appends until the time is over, and writes down what was acknowledged.
    fn append(
        &self,
        writer: u32,
        log: &Path,
        known: &AtomicI64,
        until: Instant,
    ) -> Result<(), String> {
        let log = OpenOptions::new().append(true).open(log);
        let mut log = log.map_err(|error| error.to_string())?;
        let mut count = 0;
        while Instant::now() < until {
            let rc = self.0.append_buffer(&data(writer, count), NBYTES as i32);
            if rc < 1 {
                return Err(format!("writer {writer}, append {count}: {rc}"));
            }
            known.fetch_max(rc, Ordering::Relaxed);
            log.write_all(format!("{writer} {count}\n").as_bytes())
                .map_err(|error| error.to_string())?;
            count += 1;
        }
        Ok(())
    }

    /// Reads until the time is over.
    fn read(&self, seed: u32, known: &AtomicI64, until: Instant) -> Result<(), String> {
        let (mut rng, mut chunk) = (Rng(seed.into()), vec![0; NBYTES]);
        while Instant::now() < until {
            let nchunk = rng.below(known.load(Ordering::Relaxed) as usize) as i64;
            let rc = self.0.decompress_chunk(nchunk, &mut chunk);
            if rc != NBYTES as i64 {
                return Err(format!("chunk {nchunk}: {rc}"));
            }
            parse(&chunk)?;
        }
        Ok(())
    }
}

/// Lets one test run at a time: a child must not find a lock of the library held by a thread that
/// it has not.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One process: threads that append and threads that read, through one handle.
fn process(lib: &'static SchunkLib, number: u32, path: &Path, log: &Path, until: Instant) -> Child {
    start(280, || {
        let schunk = open(lib, path)?;
        let (shared, known) = (SharedSchunk(&schunk), AtomicI64::new(1));
        if lib.lib.name != our_schunks().lib.name {
            return shared.append(number, log, &known, until);
        }
        std::thread::scope(|scope| {
            let known = &known;
            let threads: Vec<_> = (0..2 * THREADS)
                .map(|thread| {
                    scope.spawn(move || {
                        let shared = shared;
                        let id = number * 100 + thread;
                        match thread % 2 {
                            0 => shared.append(id, log, known, until),
                            _ => shared.read(id, known, until),
                        }
                    })
                })
                .collect();
            let end = |thread: std::thread::ScopedJoinHandle<Result<(), String>>| {
                thread.join().unwrap_or_else(|_| Err("a panic".into()))
            };
            threads.into_iter().map(end).collect::<Result<Vec<_>, _>>()
        })?;
        Ok(())
    })
}

/// A frame with one chunk, and where what is acknowledged is written down.
fn frame(folder: &Folder, contiguous: bool) -> (PathBuf, PathBuf) {
    let (path, log) = (folder.join("frame"), folder.join("log"));
    let cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    let schunk = our_schunks().create(contiguous, Some(&path), &cparams, 1, None);
    let rc = schunk
        .expect("a frame")
        .append_buffer(&data(0, 0), NBYTES as i32);
    assert_eq!(rc, 1);
    fs::write(&log, "0 0\n").expect("a log");
    (path, log)
}

/// Checks what is in the frame against what was acknowledged; `unfinished` appends may be there
/// beside that.
fn check(lib: &'static SchunkLib, path: &Path, log: &Path, unfinished: usize) -> usize {
    let name = lib.lib.name;
    let mut schunk = open(lib, path).expect("the frame opens");
    if path.is_file() && name != our_schunks().lib.name {
        // For each chunk of a file the reference reads the whole index again.
        let frame = fs::read(path).expect("a file");
        schunk = lib.open_buffer(&frame, true).expect("the frame in memory");
    }
    let mut there = BTreeSet::new();
    let mut chunk = vec![0; NBYTES];
    for nchunk in 0..schunk.get().nchunks {
        let rc = schunk.decompress_chunk(nchunk, &mut chunk);
        assert_eq!(rc, NBYTES as i64, "{name}: chunk {nchunk}");
        let found = parse(&chunk).unwrap_or_else(|torn| panic!("{name}: chunk {nchunk}: {torn}"));
        assert!(there.insert(found), "{name}: {found:?} is there twice");
    }
    let acknowledged: BTreeSet<(u32, u32)> = fs::read_to_string(log)
        .expect("a log")
        .lines()
        .map(|line| {
            let (writer, count) = line.split_once(' ').expect("two numbers");
            (writer.parse().expect("one"), count.parse().expect("one"))
        })
        .collect();
    let lost: Vec<_> = acknowledged.difference(&there).collect();
    assert!(lost.is_empty(), "{name}: lost {lost:?}");
    let more = there.difference(&acknowledged).count();
    assert!(
        more <= unfinished,
        "{name}: {more} appends that were not made"
    );
    there.len()
}

fn beside_the_reference(contiguous: bool, name: &str) {
    let _alone = alone();
    let Some(reference) = reference_schunks() else {
        return;
    };
    let folder = Folder::new(name);
    let (path, log) = frame(&folder, contiguous);
    let until = Instant::now() + Duration::from_secs(seconds());
    let children: Vec<Child> = (1..=2 * PROCESSES)
        .map(|number| match number % 2 {
            0 => process(reference, number, &path, &log, until),
            _ => process(our_schunks(), number, &path, &log, until),
        })
        .collect();
    for child in children {
        assert_eq!(child.join(), Ok(()));
    }
    let chunks = check(our_schunks(), &path, &log, 0);
    assert_eq!(check(reference, &path, &log, 0), chunks);
    println!("{name}: {chunks} chunks");
}

fn killed_at_random(contiguous: bool, name: &str) {
    let _alone = alone();
    let folder = Folder::new(name);
    let (path, log) = frame(&folder, contiguous);
    let mut rng = Rng(2026);
    let until = Instant::now() + Duration::from_secs(seconds());
    let mut number = 0;
    let mut next = || {
        number += 1;
        process(our_schunks(), number, &path, &log, until)
    };
    let mut children: Vec<Child> = (0..PROCESSES + 1).map(|_| next()).collect();
    let mut killed = 0;
    while Instant::now() + Duration::from_millis(100) < until {
        std::thread::sleep(Duration::from_millis(5 + rng.below(40) as u64));
        let at = rng.below(children.len());
        let child = std::mem::replace(&mut children[at], next());
        child.kill();
        match child.join() {
            Err(died) if died == "killed by signal 9" => killed += 1,
            other => panic!("{name}: a process ended by itself: {other:?}"),
        }
    }
    for child in children {
        assert_eq!(child.join(), Ok(()), "{name}");
    }
    let unfinished = killed * THREADS as usize;
    let chunks = check(our_schunks(), &path, &log, unfinished);
    if let Some(reference) = reference_schunks() {
        assert_eq!(check(reference, &path, &log, unfinished), chunks, "{name}");
    }
    println!("{name}: {chunks} chunks, {killed} processes killed");
}

#[test]
fn a_file_beside_the_reference() {
    oxiblosc_testing::own_process!();
    beside_the_reference(true, "stress-file");
}

#[test]
fn a_directory_beside_the_reference() {
    oxiblosc_testing::own_process!();
    beside_the_reference(false, "stress-directory");
}

#[test]
fn a_file_and_processes_killed_at_random() {
    oxiblosc_testing::own_process!();
    killed_at_random(true, "stress-file-killed");
}

#[test]
fn a_directory_and_processes_killed_at_random() {
    oxiblosc_testing::own_process!();
    killed_at_random(false, "stress-directory-killed");
}
