//! The cost of starting a parallel run, and the size of work from which it pays.
//!
//! `cargo bench --bench dispatch`; with `OXIBLOSC_REFERENCE` set to the path of the reference's
//! library, the cost of its hand-off is measured beside ours: a chunk of two tiny blocks, with two
//! threads and with one.

use std::hint::black_box;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use oxiblosc_pool as pool;

/// The nanoseconds of one call: the lower decile over `batches` batches of `calls`, because the
/// median depends more on other programs.
fn decile_ns(batches: usize, calls: u32, mut call: impl FnMut()) -> f64 {
    let mut times: Vec<f64> = (0..batches)
        .map(|_| {
            let start = Instant::now();
            (0..calls).for_each(|_| call());
            start.elapsed().as_nanos() as f64 / f64::from(calls)
        })
        .collect();
    times.sort_by(f64::total_cmp);
    times[times.len() / 10]
}

/// The nanoseconds of one call, in a loop and with a pause before each.
fn hot_and_cold(mut call: impl FnMut()) -> [f64; 2] {
    let hot = decile_ns(50, 200, &mut call);
    let mut cold: Vec<f64> = (0..200)
        .map(|_| {
            std::thread::sleep(Duration::from_micros(500));
            let start = Instant::now();
            call();
            start.elapsed().as_nanos() as f64
        })
        .collect();
    cold.sort_by(f64::total_cmp);
    [hot, cold[cold.len() / 10]]
}

/// One pass over `bytes`, in blocks of 4 KiB that the workers claim; the work is a hash at about
/// the speed of a fast codec.
fn hash_blocks(nthreads: usize, bytes: &[u8]) -> u64 {
    let blocks: Vec<&[u8]> = bytes.chunks(4096).collect();
    let next = AtomicUsize::new(0);
    let sum = AtomicU64::new(0);
    let done = pool::run_tasks(nthreads, blocks.len(), &|_| {
        while let Some(block) = blocks.get(next.fetch_add(1, Ordering::Relaxed)) {
            let hash = block.chunks_exact(8).fold(0u64, |hash, word| {
                let word = word
                    .iter()
                    .fold(0, |word, &byte| word << 8 | u64::from(byte));
                (hash ^ word)
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .rotate_left(29)
            });
            sum.fetch_add(hash, Ordering::Relaxed);
        }
    });
    assert!(done.is_ok());
    sum.into_inner()
}

fn ours() {
    let nothing = |_| {};
    for nthreads in [1, 2, 4] {
        let [hot, cold] = hot_and_cold(|| assert!(pool::run(nthreads, &nothing).is_ok()));
        println!(
            "run({nthreads}), nothing to do:       {hot:6.0} ns in a loop, {cold:6.0} ns after 0.5 ms of rest"
        );
    }
    let [hot, cold] = hot_and_cold(|| {
        let inside = AtomicUsize::new(0);
        let done = pool::run(2, &|_| {
            inside.fetch_add(1, Ordering::Relaxed);
            while inside.load(Ordering::Relaxed) < 2 {
                std::hint::spin_loop();
            }
        });
        assert!(done.is_ok());
    });
    println!(
        "run(2), until both are there: {hot:6.0} ns in a loop, {cold:6.0} ns after 0.5 ms of rest"
    );
    let bytes = vec![7u8; 4 << 20];
    for kib in [8, 16, 32, 64, 128, 256, 1024, 4096] {
        let bytes = &bytes[..kib << 10];
        let calls = (4096 / kib as u32).max(2);
        let [one, two] = [1, 2].map(|nthreads| {
            decile_ns(100, calls / 4 + 1, || {
                black_box(hash_blocks(nthreads, black_box(bytes)));
            })
        });
        println!(
            "{kib:5} KiB: 1 thread {:8.1} us, 2 threads {:8.1} us, speed-up {:.2}",
            one / 1e3,
            two / 1e3,
            one / two
        );
    }
}

type Compress = unsafe extern "C" fn(i32, i32, usize, usize, *const u8, *mut u8, usize) -> i32;

fn reference(path: &str) -> Result<(), libloading::Error> {
    let source = [7u8; 512];
    let mut packed = [0u8; 2048];
    // SAFETY: the signatures are those of the reference's headers, the buffers have the lengths
    // that are passed, and the library stays open until its threads have ended.
    unsafe {
        let library = libloading::Library::new(path)?;
        let init = library.get::<extern "C" fn()>(b"blosc2_init")?;
        let destroy = library.get::<extern "C" fn()>(b"blosc2_destroy")?;
        let set_nthreads = library.get::<extern "C" fn(i16) -> i16>(b"blosc2_set_nthreads")?;
        let set_blocksize = library.get::<extern "C" fn(usize)>(b"blosc1_set_blocksize")?;
        let compress = library.get::<Compress>(b"blosc1_compress")?;
        init();
        set_blocksize(256);
        for nthreads in [1, 2, 4] {
            set_nthreads(nthreads);
            let ns = decile_ns(50, 500, || {
                let size = compress(
                    5,
                    0,
                    1,
                    512,
                    source.as_ptr(),
                    packed.as_mut_ptr(),
                    packed.len(),
                );
                assert!(size > 0);
            });
            println!("reference, chunk of 2 blocks of 256 bytes, {nthreads} threads: {ns:.0} ns");
        }
        destroy();
    }
    Ok(())
}

fn main() {
    ours();
    match std::env::var("OXIBLOSC_REFERENCE") {
        Ok(path) => reference(&path).expect("the library named by OXIBLOSC_REFERENCE"),
        Err(_) => println!("reference: skipped, OXIBLOSC_REFERENCE is not set"),
    }
    pool::shutdown();
}
