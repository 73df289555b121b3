//! This library beside c-blosc's in one process, in turns: `cargo bench -p oxiblosc-blosc1`. Both
//! run with their own threads, through the functions that share them (`blosc_compress`, not
//! `blosc_compress_ctx`, for which c-blosc starts new threads).
//!
//! Each row is how many times as fast as c-blosc this library is; the last lines sum them up.
//! `small2` are chunks of 4 to 64 KB made by our libblosc2 instead, if cargo has built it: they are
//! no slower than those of Blosc 1.

#[path = "../../tests/library/common.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;

use common::{COMPRESSORS, Lib, OVERHEAD, built, ours, reference};
use oxiblosc_testing::data::Kind;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::time::{Duration, Instant};

const KB: usize = 1 << 10;
const SIZES: [usize; 6] = [4 * KB, 16 * KB, 64 * KB, 256 * KB, KB * KB, 8 * KB * KB];
const KINDS: [Kind; 3] = [Kind::SmoothFloat64, Kind::WalkInt32, Kind::Text];
const CLEVEL: c_int = 5;
/// The shortest time that is measured: quicker calls are repeated.
const LEAST: Duration = Duration::from_micros(600);
/// How long a row is measured. Each library gets at least three turns, and its fastest counts.
const ROW: Duration = Duration::from_millis(60);
/// How many items a row of `getitem` reads one by one.
const ITEMS: usize = 64;
/// Bytes of data in a row of small chunks. There are several different ones, since a processor
/// learns the branches of a repeated chunk.
const DATA: usize = 256 * KB;

/// The mean time of a call, in seconds.
fn time(calls: usize, call: &mut dyn FnMut()) -> f64 {
    let started = Instant::now();
    for _ in 0..calls {
        call();
    }
    started.elapsed().as_secs_f64() / calls as f64
}

/// The speed of the first call, as a multiple of the second one's.
fn ratio(ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> f64 {
    let once = time(1, theirs).max(time(1, ours));
    let calls = (LEAST.as_secs_f64() / once) as usize + 1;
    let turns = (ROW.as_secs_f64() / (once * calls as f64)) as usize;
    let (mut best, mut their_best) = (f64::MAX, f64::MAX);
    for _ in 0..turns.max(3) {
        their_best = their_best.min(time(calls, theirs));
        best = best.min(time(calls, ours));
    }
    their_best / best
}

/// Ratios of rows, with a name each.
#[derive(Default)]
struct Rows(Vec<(String, f64)>);

impl Rows {
    fn add(&mut self, name: String, ratio: f64) {
        println!("{name:60} {ratio:6.2}");
        self.0.push((name, ratio));
    }

    fn sum_up(&self, about: &str, wanted: impl Fn(&str) -> bool) {
        let mut rows: Vec<_> = self.0.iter().filter(|row| wanted(&row.0)).collect();
        if rows.is_empty() {
            return;
        }
        let mean = (rows.iter().map(|row| row.1.ln()).sum::<f64>() / rows.len() as f64).exp();
        rows.sort_by(|a, b| a.1.total_cmp(&b.1));
        let worst: Vec<_> = rows
            .iter()
            .take(3)
            .map(|row| format!("{} {:.2}", row.0.trim(), row.1))
            .collect();
        println!(
            "{about}: {mean:.2} in geometric mean of {} rows; least: {}",
            rows.len(),
            worst.join(", ")
        );
    }
}

/// A row: the data, and how they are compressed.
struct Case {
    kind: Kind,
    /// The data of each chunk, all of the same size.
    data: Vec<Vec<u8>>,
    compressor: &'static CStr,
}

impl Case {
    fn new(kind: Kind, size: usize, compressor: &'static CStr) -> Self {
        let chunks = (DATA / size).max(1) as u64;
        Self {
            kind,
            data: (1..=chunks).map(|seed| kind.bytes(size, seed)).collect(),
            compressor,
        }
    }

    fn size(&self) -> usize {
        self.data[0].len()
    }

    fn compress(&self, lib: &Lib, which: usize, chunk: &mut [u8]) -> usize {
        let (typesize, data) = (self.kind.typesize() as usize, &self.data[which]);
        // SAFETY: the buffers have these sizes.
        let code = unsafe {
            (lib.f.blosc_compress)(
                CLEVEL,
                1,
                typesize,
                data.len(),
                data.as_ptr().cast(),
                chunk.as_mut_ptr().cast(),
                chunk.len(),
            )
        };
        usize::try_from(black_box(code)).expect("it compresses")
    }

    fn decompress(&self, lib: &Lib, chunk: &[u8], back: &mut [u8]) {
        // SAFETY: a whole chunk, and the size of the buffer.
        let code = unsafe {
            (lib.f.blosc_decompress)(chunk.as_ptr().cast(), back.as_mut_ptr().cast(), back.len())
        };
        assert_eq!(black_box(code) as usize, self.size());
    }

    fn items(&self, lib: &Lib, chunk: &[u8]) {
        let typesize = self.kind.typesize() as usize;
        let items = self.size() / typesize;
        let mut item = [0u8; 8];
        for i in 0..ITEMS {
            let start = (i * 7919 % items) as c_int;
            // SAFETY: a whole chunk, and room for an item.
            let code = unsafe {
                (lib.f.blosc_getitem)(chunk.as_ptr().cast(), start, 1, item.as_mut_ptr().cast())
            };
            assert_eq!(black_box(code) as usize, typesize);
        }
    }

    fn measure(&self, (ours, theirs): (&Lib, &Lib), nthreads: c_int, rows: &mut Rows) {
        for lib in [ours, theirs] {
            lib.set_compressor(self.compressor);
            // SAFETY: a plain setting.
            unsafe { (lib.f.blosc_set_nthreads)(nthreads) };
        }
        let name = |what: &str| {
            let (kb, name) = (self.size() / KB, self.compressor.to_string_lossy());
            format!(
                "{what:10} {name:8} {kb:5} KB  {nthreads} threads  {}",
                self.kind.name()
            )
        };
        // With less room c-blosc stores what Snappy could compress; with several threads it stores
        // whole blocks all the same.
        let capacity = 2 * self.size() + OVERHEAD;
        let (mut chunk, mut their_chunk) = (vec![0; capacity], vec![0; capacity]);
        let all = 0..self.data.len();
        let chunks: Vec<_> = all
            .clone()
            .map(|which| {
                let size = self.compress(ours, which, &mut chunk);
                chunk[..size].to_vec()
            })
            .collect();
        if 2 * chunks[0].len() < self.compress(theirs, 0, &mut their_chunk) {
            return println!("{:60} stored by c-blosc", name(""));
        }
        let compress = |lib, to: &mut [u8]| {
            for which in all.clone() {
                self.compress(lib, which, to);
            }
        };
        let faster = ratio(&mut || compress(ours, &mut chunk), &mut || {
            compress(theirs, &mut their_chunk)
        });
        rows.add(name("compress"), faster);
        // Both read the same chunks.
        let mut back = vec![0; self.size()];
        let decompress = |lib, to: &mut [u8]| {
            for chunk in &chunks {
                self.decompress(lib, chunk, to);
            }
        };
        let mut their_back = back.clone();
        let faster = ratio(&mut || decompress(ours, &mut back), &mut || {
            decompress(theirs, &mut their_back)
        });
        rows.add(name("decompress"), faster);
        if nthreads == 1 {
            let items = |lib| {
                for chunk in &chunks {
                    self.items(lib, chunk);
                }
            };
            rows.add(
                name("getitem"),
                ratio(&mut || items(ours), &mut || items(theirs)),
            );
        }
    }
}

type Compress2 =
    unsafe extern "C" fn(c_int, c_int, i32, *const c_void, i32, *mut c_void, i32) -> c_int;
type Decompress2 = unsafe extern "C" fn(*const c_void, i32, *mut c_void, i32) -> c_int;
type SetCompressor2 = unsafe extern "C" fn(*const std::ffi::c_char) -> c_int;

/// Functions of our libblosc2.
struct Blosc2 {
    compress: Compress2,
    decompress: Decompress2,
    set_compressor: SetCompressor2,
    /// Keeps them loaded.
    _library: libloading::Library,
}

impl Blosc2 {
    fn open(path: impl AsRef<std::ffi::OsStr>) -> Self {
        // SAFETY: it has no initialiser that touches the process; the functions are declared so in
        // blosc2.h.
        unsafe {
            let library = libloading::Library::new(path).expect("libblosc2.so");
            Self {
                compress: *library.get(b"blosc2_compress").expect("blosc2_compress"),
                decompress: *library
                    .get(b"blosc2_decompress")
                    .expect("blosc2_decompress"),
                set_compressor: *library
                    .get(b"blosc1_set_compressor")
                    .expect("blosc1_set_compressor"),
                _library: library,
            }
        }
    }

    /// Compresses `data` into `to`, and returns the size of the chunk.
    fn compress(&self, kind: Kind, data: &[u8], to: &mut [u8]) -> usize {
        let (len, capacity) = (data.len() as i32, to.len() as i32);
        let (from, to) = (data.as_ptr().cast(), to.as_mut_ptr().cast());
        // SAFETY: the buffers have these sizes.
        let code = unsafe { (self.compress)(CLEVEL, 1, kind.typesize(), from, len, to, capacity) };
        usize::try_from(black_box(code)).expect("it compresses")
    }

    fn decompress(&self, chunk: &[u8], to: &mut [u8]) {
        let (len, capacity) = (chunk.len() as i32, to.len() as i32);
        let (from, to) = (chunk.as_ptr().cast(), to.as_mut_ptr().cast());
        // SAFETY: the buffers have these sizes.
        black_box(unsafe { (self.decompress)(from, len, to, capacity) });
    }
}

/// Small chunks of our libblosc2 beside those of c-blosc.
fn measure_blosc2(theirs: &Lib, rows: &mut Rows) {
    let Some(path) = built("libblosc2.so", "OXIBLOSC_LIBRARY") else {
        return println!("no libblosc2.so beside this bench");
    };
    let ours = Blosc2::open(path);
    // SAFETY: a plain setting.
    unsafe { (theirs.f.blosc_set_nthreads)(1) };
    for (size, kind) in SIZES[..3]
        .iter()
        .flat_map(|size| KINDS.map(|kind| (*size, kind)))
    {
        for compressor in COMPRESSORS.into_iter().filter(|name| *name != c"snappy") {
            let case = Case::new(kind, size, compressor);
            theirs.set_compressor(compressor);
            // SAFETY: a C string.
            unsafe { (ours.set_compressor)(compressor.as_ptr()) };
            let (mut chunk, mut their_chunk) = (vec![0u8; size + 32], vec![0u8; size + OVERHEAD]);
            let (chunks, their_chunks): (Vec<_>, Vec<_>) = (0..case.data.len())
                .map(|which| {
                    let size = ours.compress(kind, &case.data[which], &mut chunk);
                    let their_size = case.compress(theirs, which, &mut their_chunk);
                    (chunk[..size].to_vec(), their_chunk[..their_size].to_vec())
                })
                .unzip();
            let name = |what| {
                format!(
                    "small2 {what:10} {:8} {:3} KB  {}",
                    compressor.to_string_lossy(),
                    size / KB,
                    kind.name()
                )
            };
            let faster = ratio(
                &mut || {
                    for data in &case.data {
                        ours.compress(kind, data, &mut chunk);
                    }
                },
                &mut || {
                    for which in 0..case.data.len() {
                        case.compress(theirs, which, &mut their_chunk);
                    }
                },
            );
            rows.add(name("compress"), faster);
            let (mut back, mut their_back) = (vec![0u8; size], vec![0u8; size]);
            let faster = ratio(
                &mut || {
                    for chunk in &chunks {
                        ours.decompress(chunk, &mut back);
                    }
                },
                &mut || {
                    for chunk in &their_chunks {
                        case.decompress(theirs, chunk, &mut their_back);
                    }
                },
            );
            rows.add(name("decompress"), faster);
        }
    }
}

fn main() {
    let Some(theirs) = reference() else { return };
    let ours = ours();
    let mut rows = Rows::default();
    for size in SIZES {
        for kind in KINDS {
            for compressor in COMPRESSORS {
                let case = Case::new(kind, size, compressor);
                for nthreads in [1, 2] {
                    case.measure((ours, theirs), nthreads, &mut rows);
                }
            }
        }
    }
    measure_blosc2(theirs, &mut rows);
    rows.sum_up("all", |name| !name.starts_with("small2"));
    for what in ["compress", "decompress", "getitem"] {
        rows.sum_up(what, |name| name.starts_with(what));
    }
    for compressor in COMPRESSORS {
        let name = format!(" {} ", compressor.to_string_lossy());
        rows.sum_up(name.trim(), |row| {
            !row.starts_with("small2") && row.contains(&name)
        });
    }
    let small = |name: &str| {
        [" 4 KB", "16 KB", "64 KB"]
            .iter()
            .any(|size| name.contains(size))
    };
    rows.sum_up("4 to 64 KB", |name| {
        !name.starts_with("small2") && small(name)
    });
    rows.sum_up("libblosc2, 4 to 64 KB", |name| name.starts_with("small2"));
}
