//! Operations that need two handles, of two frames or of one, beside others that need them too:
//! none waits for ever, and each knows what the other has done to its frame.
//!
//! Each test runs in a process of its own, which ends after a time.

use blosc2::capi::types::{blosc2_cparams, blosc2_io};
use oxiblosc::{Error, Place, Protection, StorageParams, SuperChunk};
use oxiblosc_testing::b2nd::{Array, Spec, c_path, our_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::{isolated, start};
use oxiblosc_testing::maps::{map_io, map_params};
use oxiblosc_testing::schunk::our_schunks;
use oxiblosc_testing::schunk_calls::Schunk;
use std::path::Path;
use std::sync::Barrier;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Seconds after which something hangs.
const PATIENCE: u32 = 100;
const ITEMS: i64 = 100;
/// Long enough for a thread to get where it waits.
const SOON: Duration = Duration::from_millis(100);

/// What threads share.
struct AssertSync(Array);

// SAFETY: this is what is tested.
unsafe impl Sync for AssertSync {}

impl AssertSync {
    fn get(&self) -> &Array {
        &self.0
    }
}

fn spec(contiguous: bool, path: Option<&Path>) -> Spec {
    Spec {
        chunks: vec![ITEMS as i32],
        contiguous,
        path: path.map(c_path),
        ..Spec::of_int32(ITEMS)
    }
}

fn make(contiguous: bool, path: Option<&Path>) -> Result<Array, String> {
    let data: Vec<u8> = (0..ITEMS as u32).flat_map(u32::to_le_bytes).collect();
    let created = our_arrays().array_of(&spec(contiguous, path), &data);
    created.map_err(|rc| format!("no array: {rc}"))
}

/// Opens an array whose handles keep each other out.
fn open(path: &Path) -> Result<Array, String> {
    let schunk = our_schunks().open_locking(path).ok_or("does not open")?;
    // SAFETY: a super-chunk of our library.
    let array = unsafe { our_arrays().adopt(schunk.into_raw()) };
    array.map_err(|rc| format!("no array: {rc}"))
}

fn said(what: &str, rc: i32) -> Result<(), String> {
    match rc {
        0 => Ok(()),
        rc => Err(format!("{what}: {rc}")),
    }
}

/// Puts `other` behind `array` again and again.
fn extend_on(array: &Array, other: &Array, rounds: usize) -> Result<(), String> {
    for _ in 0..rounds {
        said("extend", array.extend(other, 0))?;
        said("resize", array.resize(&[ITEMS], None))?;
    }
    Ok(())
}

fn joined<T>(thread: thread::ScopedJoinHandle<Result<T, String>>) -> Result<T, String> {
    thread.join().map_err(|_| "a panic".to_owned())?
}

#[test]
fn arrays_grow_by_each_other() {
    oxiblosc_testing::own_process!();
    for contiguous in [false, true] {
        let done = isolated(PATIENCE, || {
            let (one, two) = (
                AssertSync(make(contiguous, None)?),
                AssertSync(make(contiguous, None)?),
            );
            thread::scope(|scope| {
                let other = scope.spawn(|| extend_on(two.get(), one.get(), 2000));
                extend_on(one.get(), two.get(), 2000)?;
                joined(other)
            })
        });
        assert_eq!(done, Ok(()), "contiguous: {contiguous}");
    }
}

#[test]
fn arrays_of_processes_grow_by_each_other() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("two-processes");
    let (one, two) = (folder.join("one.b2nd"), folder.join("two.b2nd"));
    for path in [&one, &two] {
        drop(make(true, Some(path)).expect("an array"));
    }
    let child =
        |one: &Path, two: &Path| start(PATIENCE, || extend_on(&open(one)?, &open(two)?, 1000));
    let children = [child(&one, &two), child(&two, &one)];
    for child in children {
        assert_eq!(child.join(), Ok(()));
    }
}

#[test]
fn a_frame_grows_by_itself_through_another_handle() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("two-of-one");
    let path = folder.join("one.b2nd");
    let before = make(true, Some(&path)).expect("an array");
    let before = before.to_buffer().expect("items");
    let done = isolated(PATIENCE, || {
        let (one, two) = (open(&path)?, open(&path)?);
        said("extend", one.extend(&two, 0))?;
        let after = one.to_buffer().map_err(|rc| format!("reading: {rc}"))?;
        match after == before.repeat(2) {
            true => Ok(()),
            false => Err("other items".into()),
        }
    });
    assert_eq!(done, Ok(()));
}

#[test]
fn a_frame_is_joined_with_itself_beside_a_writer() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("two-and-writer");
    let path = folder.join("one.b2nd");
    drop(make(true, Some(&path)).expect("an array"));
    let done = isolated(PATIENCE, || {
        let (one, two, three) = (open(&path)?, open(&path)?, AssertSync(open(&path)?));
        let done = AtomicBool::new(false);
        thread::scope(|scope| {
            let writer = scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    said("set", three.get().set(&[3], &[4], &[1], &[1; 4]))?;
                }
                Ok(())
            });
            let join = |_| match one.joined(&spec(false, None), &two, 0) {
                Ok(array) if array.shape() == [2 * ITEMS] => Ok(()),
                Ok(array) => Err(format!("a shape of {:?}", array.shape())),
                Err(rc) => Err(format!("join: {rc}")),
            };
            // Under a sanitizer, each join can wait long for the writer, which hardly ever does
            // anything else than change the frame.
            let end = Instant::now() + Duration::from_secs(u64::from(PATIENCE) / 4);
            let mut joins = (0..5000).take_while(|_| Instant::now() < end);
            let read = joins.try_for_each(join);
            done.store(true, Ordering::Relaxed);
            read.and(joined(writer))
        })
    });
    assert_eq!(done, Ok(()));
}

fn wrong(error: Error) -> String {
    format!("{error:?}")
}

/// Handles of a new frame that keep each other out.
fn handles(path: &Path) -> Result<[SuperChunk; 3], String> {
    let locking = Protection {
        locking: true,
        ..Protection::default()
    };
    let created = SuperChunk::create(StorageParams {
        place: Place::File(path),
        protection: locking,
        ..StorageParams::default()
    });
    created
        .and_then(|created| created.append_data(&[7; 4000]))
        .map_err(wrong)?;
    let open = || SuperChunk::open(path, 0, 1, locking).map_err(wrong);
    Ok([open()?, open()?, open()?])
}

/// A writer of the frame that waits for a reader does not wait for ever because that reads the
/// frame through another handle too. Whoever reads nothing yet comes after the writer.
#[test]
fn a_thread_reads_two_handles_of_a_frame_for_which_a_writer_waits() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("two-readings");
    let path = folder.join("frame");
    let done = isolated(PATIENCE, || {
        let [one, two, three] = handles(&path)?;
        let seen_by_stranger = thread::scope(|scope| {
            let first = one.read().map_err(wrong)?;
            let writer = scope.spawn(|| three.append_data(&[8; 4000]).map_err(wrong));
            thread::sleep(SOON);
            let stranger = scope.spawn(|| two.nchunks().map_err(wrong));
            thread::sleep(SOON);
            let second = two.read().map_err(wrong)?;
            if (first.nchunks(), second.nchunks()) != (1, 1) {
                return Err("the writer did not wait".into());
            }
            drop(second);
            drop(first);
            joined(writer)?;
            joined(stranger)
        })?;
        match seen_by_stranger {
            2 => Ok(()),
            other => Err(format!("the stranger sees {other} chunks")),
        }
    });
    assert_eq!(done, Ok(()));
}

/// Readers give the lock back after a time, for a writer to get it; but they wait for no reader
/// that waits for them.
#[test]
fn threads_read_two_handles_of_a_frame_crosswise() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("two-crosswise");
    let path = folder.join("frame");
    let done = isolated(PATIENCE, || {
        let [one, two, _] = handles(&path)?;
        let both = Barrier::new(2);
        let read = |one: &SuperChunk, two: &SuperChunk| {
            let _first = one.read().map_err(wrong)?;
            both.wait();
            thread::sleep(SOON);
            two.nchunks().map_err(wrong)
        };
        thread::scope(|scope| {
            let other = scope.spawn(|| read(&two, &one));
            read(&one, &two)?;
            joined(other)
        })?;
        Ok(())
    });
    assert_eq!(done, Ok(()));
}

/// Where two handles of a frame meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Meeting {
    File,
    Directory,
    /// A file of which one handle has a map.
    Map,
}

/// Data that do not compress, so that chunks of the same number of bytes leave a header the same.
fn noise(nbytes: usize, seed: u64) -> Vec<u8> {
    Kind::Random.bytes(nbytes, seed)
}

/// Two handles of a new frame.
struct Pair {
    handles: [Schunk; 2],
    /// The chunks, as the seeds of their data.
    chunks: Vec<u64>,
    nbytes: usize,
    next: u64,
}

impl Pair {
    fn new(meeting: Meeting, path: &Path, io: &blosc2_io, (count, nbytes): (u64, usize)) -> Self {
        let cparams = blosc2_cparams::defaults();
        let lib = our_schunks();
        let created = lib.create(meeting != Meeting::Directory, Some(path), &cparams, 1, None);
        let created = created.expect("a frame");
        for seed in 0..count {
            let chunk = noise(nbytes, seed);
            assert!(created.append_buffer(&chunk, nbytes as i32) > 0);
        }
        drop(created);
        let first = match meeting {
            Meeting::Map => lib.open_io(path, io),
            Meeting::File | Meeting::Directory => lib.open_path(path),
        };
        Self {
            handles: [first, lib.open_path(path)].map(|handle| handle.expect("opens")),
            chunks: (0..count).collect(),
            nbytes,
            next: count,
        }
    }

    /// A change through one of the handles, after which the header may be what it was.
    fn change(&mut self, by: usize, kind: usize, at: usize) {
        let (handle, last) = (&self.handles[by], self.chunks.len() - 1);
        let seed = self.next;
        let data = noise(self.nbytes, seed);
        let (at, nbytes) = (at % last, self.nbytes as i32);
        self.next += 1;
        match kind {
            0 => {
                let mut order: Vec<i64> = (0..=last as i64).collect();
                order.swap(at, last);
                assert_eq!(handle.reorder(&order), 0);
                self.chunks.swap(at, last);
            }
            1 => {
                assert!(handle.delete_chunk(at as i64) >= 0);
                assert!(handle.append_buffer(&data, nbytes) > 0);
                self.chunks.remove(at);
                self.chunks.push(seed);
            }
            _ => {
                let items = (self.nbytes / 8) as i64;
                let start = at as i64 * items;
                assert_eq!(handle.set_slice(start, start + items, &data), 0);
                self.chunks[at] = seed;
            }
        }
    }

    fn check(&self, by: usize, what: &str) {
        let handle = &self.handles[by];
        assert_eq!(handle.get().nchunks, self.chunks.len() as i64, "{what}");
        for (nchunk, seed) in self.chunks.iter().enumerate() {
            let mut data = vec![0; self.nbytes];
            let rc = handle.decompress_chunk(nchunk as i64, &mut data);
            assert_eq!(rc, self.nbytes as i64, "{what}: chunk {nchunk}");
            assert!(data == noise(self.nbytes, *seed), "{what}: chunk {nchunk}");
        }
    }
}

/// However many changes another handle has made: the header may be again what it was before them.
#[test]
fn a_handle_knows_what_another_one_has_done() {
    oxiblosc_testing::own_process!();
    let folder = Folder::new("two-changes");
    let small = [Meeting::File, Meeting::Directory, Meeting::Map].map(|at| (at, (5, 800)));
    // Their index grows in its place.
    let large = [Meeting::File, Meeting::Map].map(|at| (at, (300, 8000)));
    for (meeting, size) in small.into_iter().chain(large) {
        for kind in 0..3 {
            let what = format!("{meeting:?} {size:?} kind {kind}");
            let path = folder.join(&what);
            let mut params = map_params(c"r+");
            let io = map_io(&mut params);
            let mut pair = Pair::new(meeting, &path, &io, size);
            for round in 0..12 {
                let (by, beside) = (round % 2, 1 - round % 2);
                pair.check(beside, &what);
                for change in 0..=round / 2 {
                    pair.change(by, kind, round + 7 * change);
                }
                // It builds upon what it has not looked at.
                pair.change(beside, 1, round);
                pair.check(by, &what);
            }
            let chunks = std::mem::take(&mut pair.chunks);
            drop(pair.handles);
            let again = [(); 2].map(|()| our_schunks().open_path(&path).expect("opens"));
            let whole = Pair {
                handles: again,
                chunks,
                ..pair
            };
            whole.check(0, &what);
        }
    }
}

/// Threads that each have a handle of their own change a frame without any lock of the program's.
#[test]
fn handles_of_threads_lose_no_change() {
    oxiblosc_testing::own_process!();
    const CHANGES: usize = 150;
    for contiguous in [true, false] {
        let done = isolated(PATIENCE, || {
            let folder = Folder::new("own-handles");
            let path = folder.join("frame");
            let (lib, data) = (our_schunks(), noise(800, 0));
            let cparams = blosc2_cparams::defaults();
            let created = lib.create(contiguous, Some(&path), &cparams, 1, None);
            created.ok_or("no frame")?.append_buffer(&data, 800);
            let changes = || {
                let handle = lib.open_path(&path).ok_or("does not open")?;
                for _ in 0..CHANGES {
                    // One is kept of two, and the header is often what it was before.
                    for append in [true, false, true] {
                        let rc = match append {
                            true => handle.append_buffer(&data, 800),
                            false => handle.delete_chunk(0),
                        };
                        if rc < 0 {
                            return Err(format!("append {append}: {rc}"));
                        }
                    }
                }
                Ok(())
            };
            thread::scope(|scope| {
                let threads = [(); 3].map(|()| scope.spawn(changes));
                threads.into_iter().try_for_each(joined)
            })?;
            let frame = lib.open_path(&path).ok_or("does not open at the end")?;
            match frame.get().nchunks as usize {
                n if n == 1 + 3 * CHANGES => Ok(()),
                n => Err(format!("{n} chunks")),
            }
        });
        assert_eq!(done, Ok(()), "contiguous: {contiguous}");
    }
}
