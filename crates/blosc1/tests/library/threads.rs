//! Many threads, many libraries, and forks.

use super::common::{COMPRESSORS, Lib, OVERHEAD, Settings, alone, built, ours};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::isolated;
use oxiblosc_testing::needs::skip;
use std::ffi::{c_int, c_void};
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

const ZSTD: Settings = Settings {
    clevel: 3,
    shuffle: 1,
    typesize: 4,
    compressor: c"zstd",
    blocksize: 0,
    nthreads: 2,
};

#[test]
fn the_bytes_do_not_depend_on_the_number_of_threads() {
    let (lib, _alone) = (ours(), alone());
    for compressor in COMPRESSORS {
        for kind in [Kind::WalkInt32, Kind::Random, Kind::Runs] {
            let data = kind.bytes(2_500_001, 1);
            // All the room there can be, just enough to store them, a byte less, and half of it.
            for capacity in [
                3_000_000,
                data.len() + OVERHEAD,
                data.len() + OVERHEAD - 1,
                data.len() / 2,
            ] {
                let settings = Settings {
                    compressor,
                    nthreads: 1,
                    blocksize: 50_000,
                    ..ZSTD
                };
                let alone = lib.compress(&settings, &data, capacity);
                for nthreads in [2, 3, 8] {
                    let together = lib.compress(
                        &Settings {
                            nthreads,
                            ..settings
                        },
                        &data,
                        capacity,
                    );
                    assert!(
                        together == alone,
                        "{compressor:?} {kind:?} {capacity} {nthreads}"
                    );
                }
                if alone.0 > 0 {
                    assert!(
                        lib.decompress(&alone.1, data.len(), 5)
                            == (data.len() as c_int, data.clone())
                    );
                }
            }
        }
    }
}

/// Compresses and decompresses for a while with one library. Returns what went wrong.
fn work(lib: &Lib, seed: u64, rounds: usize) -> Result<(), String> {
    for round in 0..rounds {
        let data = Kind::WalkInt32.bytes(300_000 + 1000 * round, seed);
        let compressor = COMPRESSORS[(seed as usize + round) % COMPRESSORS.len()];
        let capacity = data.len() + OVERHEAD;
        let (code, chunk) = match seed % 2 {
            0 => lib.compress(&Settings { compressor, ..ZSTD }, &data, capacity),
            _ => lib.compress_global((5, 1, 4), &data, capacity),
        };
        let (size, back) = match seed % 3 {
            0 => lib.decompress_global(&chunk, data.len()),
            _ => lib.decompress(&chunk, data.len(), 2),
        };
        if code <= 0 || size as usize != data.len() || back != data {
            return Err(format!(
                "{}: {code}, {size} in round {round} of {seed}",
                lib.name
            ));
        }
    }
    Ok(())
}

#[test]
fn many_threads_call_any_function() {
    let (lib, _alone) = (ours(), alone());
    // SAFETY: a plain setting.
    unsafe { (lib.f.blosc_set_nthreads)(3) };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..8)
            .map(|seed| scope.spawn(move || work(lib, seed, 10)))
            .collect();
        for round in 0..40 {
            lib.set_compressor(COMPRESSORS[round % COMPRESSORS.len()]);
            // SAFETY: plain settings, and memory that is taken anew.
            unsafe {
                (lib.f.blosc_set_nthreads)(1 + round as c_int % 4);
                (lib.f.blosc_set_blocksize)(round * 4096);
                if round % 10 == 9 {
                    (lib.f.blosc_free_resources)();
                }
            }
            std::thread::yield_now();
        }
        for worker in workers {
            worker.join().expect("no panic").expect("all comes back");
        }
    });
}

#[test]
fn children_of_a_process_at_work_work() {
    let (lib, _alone) = (ours(), alone());
    // SAFETY: a plain setting.
    unsafe { (lib.f.blosc_set_nthreads)(3) };
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2)
            .map(|seed| {
                let done = &done;
                scope.spawn(move || {
                    while !done.load(Relaxed) {
                        work(lib, seed, 1).expect("the parent works on");
                    }
                })
            })
            .collect();
        for seed in 0..12 {
            isolated::start(120, || work(lib, seed, 2))
                .join()
                .expect("a child compresses");
        }
        done.store(true, Relaxed);
        for worker in workers {
            worker.join().expect("no panic");
        }
    });
}

type Compress2 =
    unsafe extern "C" fn(c_int, c_int, i32, *const c_void, i32, *mut c_void, i32) -> c_int;
type Decompress2 = unsafe extern "C" fn(*const c_void, i32, *mut c_void, i32) -> c_int;

#[test]
fn both_libraries_work_in_one_process() {
    let (lib, _alone) = (ours(), alone());
    let Some(path) = built("libblosc2.so", "OXIBLOSC_LIBRARY") else {
        return skip("cargo built no libblosc2.so beside this test");
    };
    use libloading::os::unix::{Library, RTLD_GLOBAL, RTLD_NOW};
    // Global, as a program sees it that is linked to both.
    // SAFETY: it has no initialiser that touches the process; it stays open.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_GLOBAL) };
    let library: &'static Library = Box::leak(Box::new(library.expect("libblosc2.so")));
    // SAFETY: declared so in blosc2.h.
    let (compress, decompress) = unsafe {
        let compress: Compress2 = *library.get(b"blosc2_compress").expect("blosc2_compress");
        let decompress: Decompress2 = *library
            .get(b"blosc2_decompress")
            .expect("blosc2_decompress");
        (compress, decompress)
    };
    for name in super::common::Functions::NAMES {
        // SAFETY: nothing is called.
        assert!(
            unsafe { library.get::<unsafe extern "C" fn()>(name.as_bytes()) }.is_err(),
            "{name} is in both"
        );
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..4u64)
            .map(|seed| {
                scope.spawn(move || match seed % 2 {
                    0 => work(lib, seed, 8).expect("all comes back"),
                    _ => {
                        for round in 0..8 {
                            let data = Kind::WalkInt32.bytes(300_000, seed + round);
                            let (mut chunk, mut back) = (vec![0u8; 310_000], vec![0u8; 300_000]);
                            let (from, to) = (data.as_ptr().cast(), chunk.as_mut_ptr().cast());
                            // SAFETY: the buffers have these sizes.
                            let size = unsafe { compress(5, 1, 4, from, 300_000, to, 310_000) };
                            // SAFETY: the same.
                            let code = unsafe {
                                decompress(
                                    chunk.as_ptr().cast(),
                                    size,
                                    back.as_mut_ptr().cast(),
                                    300_000,
                                )
                            };
                            assert!(code == 300_000 && back == data);
                            // And what Blosc 1 wrote is read by Blosc 2.
                            let (_, old) = lib.compress(
                                &Settings {
                                    compressor: c"lz4",
                                    ..ZSTD
                                },
                                &data,
                                310_000,
                            );
                            // SAFETY: the same.
                            let code = unsafe {
                                decompress(
                                    old.as_ptr().cast(),
                                    old.len() as i32,
                                    back.as_mut_ptr().cast(),
                                    300_000,
                                )
                            };
                            assert!(code == 300_000 && back == data);
                        }
                    }
                })
            })
            .collect();
        for worker in workers {
            worker.join().expect("no panic");
        }
    });
}
