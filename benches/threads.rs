//! How reading from one super-chunk scales from one thread to two, for chunks in memory, a frame in memory and one in a file;
//! beside the reference, whose threads each have a handle of their own, since they cannot share one.
//!
//! `OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench threads` prints, for each storage and size of chunk, MB/s with one
//! thread and with two, and their ratio.

#[path = "../tests/common/mod.rs"]
mod common;

use blosc2::capi::types::blosc2_cparams;
use common::data::Kind;
use common::folder::Folder;
use common::schunk::{SchunkLib, our_schunks, reference_schunks};
use common::schunk_calls::Schunk;
use std::path::Path;
use std::sync::Barrier;
use std::time::Instant;

/// Bytes of the data.
const TOTAL: usize = 64 << 20;
/// Rounds; the fastest counts.
const ROUNDS: usize = 7;

/// What one thread uses, and may use beside others as `shared` says.
struct Shared<'a>(&'a Schunk);

// SAFETY: the threads of this library may share a handle; those of the reference each have their own.
unsafe impl Sync for Shared<'_> {}
// SAFETY: as above.
unsafe impl Send for Shared<'_> {}

impl Shared<'_> {
    /// Reads every chunk, in an order of the thread's own.
    fn read_all(&self, thread: usize, nchunks: usize, chunk: &mut [u8]) {
        for at in 0..nchunks {
            let nchunk = (at + thread * nchunks / 2) % nchunks;
            let nbytes = self.0.decompress_chunk(nchunk as i64, chunk);
            assert_eq!(nbytes, chunk.len() as i64);
        }
    }
}

/// MB/s of as many threads as there are handles.
fn speed(handles: &[&Schunk], nbytes: usize) -> f64 {
    let nchunks = TOTAL / nbytes;
    let mut best = f64::INFINITY;
    for _ in 0..ROUNDS {
        let barrier = Barrier::new(handles.len());
        let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
            let threads: Vec<_> = handles
                .iter()
                .enumerate()
                .map(|(thread, handle)| {
                    let (shared, barrier) = (Shared(handle), &barrier);
                    scope.spawn(move || {
                        let shared = shared;
                        let mut chunk = vec![0; nbytes];
                        shared.read_all(thread, 1, &mut chunk);
                        barrier.wait();
                        let start = Instant::now();
                        shared.read_all(thread, nchunks, &mut chunk);
                        (start, Instant::now())
                    })
                })
                .collect();
            let end = |thread: std::thread::ScopedJoinHandle<_>| thread.join().expect("it reads");
            threads.into_iter().map(end).collect()
        });
        let first = times.iter().map(|(start, _)| *start).min();
        let last = times.iter().map(|(_, end)| *end).max();
        let (first, last) = first.zip(last).expect("a thread");
        best = best.min((last - first).as_secs_f64());
    }
    (handles.len() * TOTAL) as f64 / 1e6 / best
}

/// A super-chunk with the data in chunks of `nbytes`.
fn make(lib: &'static SchunkLib, contiguous: bool, path: Option<&Path>, nbytes: usize) -> Schunk {
    let cparams = blosc2_cparams {
        typesize: 4,
        compcode: 1,
        ..blosc2_cparams::defaults()
    };
    let schunk = lib
        .create(contiguous, path, &cparams, 1, None)
        .expect("a super-chunk");
    for nchunk in 0..TOTAL / nbytes {
        let data = Kind::WalkInt32.bytes(nbytes, nchunk as u64);
        assert!(schunk.append_buffer(&data, nbytes as i32) > 0);
    }
    schunk
}

fn main() {
    let folder = Folder::new("bench-threads");
    let libraries = [
        ("ours", Some(our_schunks())),
        ("reference", reference_schunks()),
    ];
    println!("library    storage           chunk    1 thread   2 threads   ratio");
    for nbytes in [8 << 10, 256 << 10, 1 << 20] {
        for (storage, contiguous, on_disk) in [
            ("memory", false, false),
            ("frame in memory", true, false),
            ("file", true, true),
        ] {
            for (name, lib) in libraries {
                let Some(lib) = lib else { continue };
                let path = folder.join(&format!("{name}-{nbytes}"));
                let path = on_disk.then_some(path.as_path());
                let first = make(lib, contiguous, path, nbytes);
                let second = match (name, path) {
                    ("ours", _) => None,
                    (_, Some(path)) => lib.open_path(path),
                    (_, None) => Some(make(lib, contiguous, None, nbytes)),
                };
                let second = second.as_ref().unwrap_or(&first);
                let one = speed(&[&first], nbytes);
                let two = speed(&[&first, second], nbytes);
                println!(
                    "{name:10} {storage:15} {nbytes:8} {one:9.0} {two:11.0} {:8.2}",
                    two / one
                );
            }
        }
    }
}
