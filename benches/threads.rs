//! How reading from one super-chunk scales from one thread to two, for chunks in memory, a frame in
//! memory and a frame in a file. Threads of the reference each have a handle of their own, since
//! they cannot share one.
//!
//! Two rows show the limits of the machine: *own contexts*, in which threads share nothing and
//! decompress the same data, and *copies* of those data.
//!
//! `OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench threads` prints, for each storage and
//! size of chunk, MB/s with one thread and with two, and their ratio.

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::ctx::Ctx;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// The size of the data.
const TOTAL: usize = 64 << 20;
/// How often a thread reads the data: so often that the start of the second thread has little
/// effect.
const PASSES: usize = 6;
/// The number of rounds, in which one thread and two threads alternate. The fastest counts.
const ROUNDS: usize = 7;

/// The source from which a thread reads.
enum Source {
    Handle(Schunk),
    Chunks(Ctx, Vec<Vec<u8>>),
    Data(Vec<u8>),
}

// SAFETY: the threads of this library may share a handle; those of the reference each have their
// own, and each thread has its context.
unsafe impl Sync for Source {}

impl Source {
    fn read(&self, nchunk: usize, chunk: &mut [u8]) {
        match self {
            Self::Handle(schunk) => {
                let nbytes = schunk.decompress_chunk(nchunk as i64, chunk);
                assert_eq!(nbytes, chunk.len() as i64);
            }
            Self::Chunks(context, chunks) => {
                let nbytes = context.decompress(&chunks[nchunk], chunk);
                assert_eq!(nbytes, chunk.len() as i32);
            }
            Self::Data(data) => chunk.copy_from_slice(&data[nchunk * chunk.len()..][..chunk.len()]),
        }
    }
}

/// The seconds from the start of the first thread to the end of the last, with one thread for each
/// source.
fn seconds(sources: &[&Source], nbytes: usize) -> f64 {
    let nchunks = TOTAL / nbytes;
    let ready = AtomicUsize::new(0);
    let times: Vec<(Instant, Instant)> = std::thread::scope(|scope| {
        let threads: Vec<_> = sources
            .iter()
            .enumerate()
            .map(|(thread, source)| {
                let ready = &ready;
                scope.spawn(move || {
                    let mut chunk = vec![0; nbytes];
                    source.read(0, &mut chunk);
                    ready.fetch_add(1, Ordering::Relaxed);
                    while ready.load(Ordering::Relaxed) < sources.len() {
                        std::hint::spin_loop();
                    }
                    let start = Instant::now();
                    // Each thread has an order of its own.
                    for at in 0..PASSES * nchunks {
                        source.read((at + thread * nchunks / 2) % nchunks, &mut chunk);
                    }
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
    (last - first).as_secs_f64()
}

/// Prints a row.
fn compare(library: &str, storage: &str, nbytes: usize, sources: [&Source; 2]) {
    let (mut one, mut two) = (f64::INFINITY, f64::INFINITY);
    for _ in 0..ROUNDS {
        one = one.min(seconds(&sources[..1], nbytes));
        two = two.min(seconds(&sources, nbytes));
    }
    let mb = (PASSES * TOTAL) as f64 / 1e6;
    let (one, two) = (mb / one, 2.0 * mb / two);
    let ratio = two / one;
    println!("{library:10} {storage:15} {nbytes:8} {one:9.0} {two:11.0} {ratio:8.2}");
}

fn data(nbytes: usize) -> impl Iterator<Item = Vec<u8>> {
    (0..TOTAL / nbytes).map(move |nchunk| Kind::WalkInt32.bytes(nbytes, nchunk as u64))
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
    for chunk in data(nbytes) {
        assert!(schunk.append_buffer(&chunk, nbytes as i32) > 0);
    }
    schunk
}

/// The rows of threads that share nothing.
fn compare_apart(nbytes: usize) {
    let lib = oxiblosc_testing::library::ours();
    let cparams = CParams {
        typesize: 4,
        compcode: 1,
        ..CParams::default()
    };
    let chunks = || {
        let compress = |data: Vec<u8>| lib.compress(&cparams, &data).1;
        Source::Chunks(lib.dctx_threads(1), data(nbytes).map(compress).collect())
    };
    compare("ours", "own contexts", nbytes, [&chunks(), &chunks()]);
    let copies = || Source::Data(data(nbytes).flatten().collect());
    compare("", "copies", nbytes, [&copies(), &copies()]);
}

fn main() {
    let folder = Folder::new("bench-threads");
    let libraries = [
        ("ours", Some(our_schunks())),
        ("reference", reference_schunks()),
    ];
    println!("library    storage           chunk    1 thread   2 threads   ratio");
    for nbytes in [8 << 10, 256 << 10, 1 << 20] {
        compare_apart(nbytes);
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
                let first = Source::Handle(first);
                let second = second.map(Source::Handle);
                let sources = [&first, second.as_ref().unwrap_or(&first)];
                compare(name, storage, nbytes, sources);
            }
        }
    }
}
