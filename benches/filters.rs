//! The filters against the reference library's, alternating in one process on the same data.
//!
//! `OXIBLOSC_REFERENCE=.../libblosc2.so.9 cargo bench --bench filters [-- TYPESIZE...]` prints GB/s
//! of both and their ratio for blocks of 16 to 256 KiB, and the geometric mean of the ratios for
//! each filter.

use oxiblosc_filters::bitshuffle::{bitshuffle, bitunshuffle};
use oxiblosc_filters::shuffle::{shuffle, unshuffle};
use std::time::Instant;

/// `blosc2_shuffle` and its like: type size, bytes, source, destination.
type Theirs = unsafe extern "C" fn(i32, i32, *const u8, *mut u8) -> i32;
/// Our filter, with the same arguments.
type Ours = fn(usize, &[u8], &mut [u8]);

const FILTERS: [(&str, &str, Ours); 4] = [
    ("shuffle", "blosc2_shuffle", shuffle),
    ("unshuffle", "blosc2_unshuffle", unshuffle),
    ("bitshuffle", "blosc2_bitshuffle", bitshuffle),
    ("bitunshuffle", "blosc2_bitunshuffle", |t, src, dst| {
        bitunshuffle(t, src, dst, 5)
    }),
];
/// The bytes that each timed round processes.
const ROUND: usize = 8 << 20;
/// The number of rounds of each side. The fastest counts.
const ROUNDS: usize = 9;

/// GB/s of `work` on blocks of `block` bytes, in one round.
fn speed(block: usize, mut work: impl FnMut()) -> f64 {
    let times = ROUND / block;
    let start = Instant::now();
    for _ in 0..times {
        work();
    }
    (times * block) as f64 / start.elapsed().as_nanos() as f64
}

/// The `len` bytes of `buffer` from its first whole cache line on.
fn aligned(buffer: &mut [u8], len: usize) -> &mut [u8] {
    let start = buffer.as_ptr().align_offset(64);
    &mut buffer[start..start + len]
}

fn main() {
    let Some(path) = std::env::var_os("OXIBLOSC_REFERENCE") else {
        println!("skipped: OXIBLOSC_REFERENCE does not name the reference library");
        return;
    };
    let asked: Vec<usize> = std::env::args()
        .filter_map(|arg| arg.parse().ok())
        .collect();
    let typesizes = if asked.is_empty() {
        vec![
            1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 15, 16, 20, 24, 32, 48, 64, 100, 255,
        ]
    } else {
        asked
    };
    // SAFETY: loading the reference library runs its initialisers, which have no preconditions.
    let library = unsafe { libloading::Library::new(path) }.expect("the reference library loads");
    println!("kernels: {}", oxiblosc_filters::kernels_in_use());
    println!("filter,typesize,block,ours_gbs,reference_gbs,ratio");
    for (name, symbol, ours) in FILTERS {
        // SAFETY: the symbol has this type.
        let theirs = unsafe { library.get::<Theirs>(symbol.as_bytes()) }.expect(symbol);
        let mut logs = Vec::new();
        for &typesize in &typesizes {
            for block in [16 << 10, 32 << 10, 64 << 10, 128 << 10, 256 << 10] {
                let (mut src, mut dst) = (vec![0; block + 64], vec![0; block + 64]);
                let (src, dst) = (aligned(&mut src, block), aligned(&mut dst, block));
                for (i, byte) in src.iter_mut().enumerate() {
                    *byte = (i * i / 7) as u8;
                }
                let (mut best_ours, mut best_theirs) = (0.0_f64, 0.0_f64);
                for _ in 0..ROUNDS {
                    best_ours = best_ours.max(speed(block, || ours(typesize, src, dst)));
                    best_theirs = best_theirs.max(speed(block, || {
                        // SAFETY: both buffers hold `block` bytes.
                        unsafe {
                            theirs(
                                typesize as i32,
                                block as i32,
                                src.as_ptr(),
                                dst.as_mut_ptr(),
                            )
                        };
                    }));
                }
                let ratio = best_ours / best_theirs;
                logs.push(ratio.ln());
                println!("{name},{typesize},{block},{best_ours:.2},{best_theirs:.2},{ratio:.2}");
            }
        }
        let mean = (logs.iter().sum::<f64>() / logs.len() as f64).exp();
        println!("{name},all,all,,,{mean:.2}");
    }
}
