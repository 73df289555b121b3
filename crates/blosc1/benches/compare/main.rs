//! This library beside c-blosc's in one process, in turns: `cargo bench -p oxiblosc-blosc1`. Both run with their own threads, through the
//! functions that share them (`blosc_compress`, not `blosc_compress_ctx`, for which c-blosc starts new threads).
//!
//! Each row is how many times as fast as c-blosc this library is; the last lines sum them up. `small2` are chunks of 4 to 64 KB made by
//! our libblosc2 instead, if cargo has built it: they are no slower than those of Blosc 1.

#[path = "../../tests/library/common.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod common;
#[path = "../../../../tests/common/data.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
mod data;
#[path = "../../../../tests/common/needs.rs"]
#[allow(dead_code, reason = "the tests use the rest")]
mod needs;
#[path = "../../../../tests/common/random.rs"]
#[allow(dead_code, unused_imports, reason = "the tests use the rest")]
mod random;

use common::{COMPRESSORS, Lib, OVERHEAD, built, ours, reference};
use data::Kind;
use std::ffi::{CStr, c_int, c_void};
use std::hint::black_box;
use std::time::{Duration, Instant};

const KB: usize = 1 << 10;
const SIZES: [usize; 6] = [4 * KB, 16 * KB, 64 * KB, 256 * KB, KB * KB, 8 * KB * KB];
const KINDS: [Kind; 3] = [Kind::SmoothFloat64, Kind::WalkInt32, Kind::Text];
const CLEVEL: c_int = 5;
/// Shorter runs are repeated.
const LEAST: Duration = Duration::from_micros(600);
/// How many turns each gets; the fastest counts.
const TURNS: usize = 5;
/// Items that are read one by one.
const ITEMS: usize = 64;

/// The time of one call, of so many.
fn time(calls: usize, call: &mut dyn FnMut()) -> f64 {
    let started = Instant::now();
    for _ in 0..calls {
        call();
    }
    started.elapsed().as_secs_f64() / calls as f64
}

/// How many times as fast the first is.
fn ratio(ours: &mut dyn FnMut(), theirs: &mut dyn FnMut()) -> f64 {
    let once = time(1, theirs).max(time(1, ours));
    let calls = (LEAST.as_secs_f64() / once) as usize + 1;
    let turns = if once > 0.1 { 2 } else { TURNS };
    let (mut best, mut their_best) = (f64::MAX, f64::MAX);
    for _ in 0..turns {
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

/// The data of a row, and what a library needs to work on them.
struct Case {
    kind: Kind,
    data: Vec<u8>,
    compressor: &'static CStr,
}

impl Case {
    fn compress(&self, lib: &Lib, chunk: &mut [u8]) -> usize {
        let (typesize, data) = (self.kind.typesize() as usize, &self.data);
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
        assert_eq!(black_box(code) as usize, self.data.len());
    }

    fn items(&self, lib: &Lib, chunk: &[u8]) {
        let typesize = self.kind.typesize() as usize;
        let items = self.data.len() / typesize;
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
            let (kb, name) = (self.data.len() / KB, self.compressor.to_string_lossy());
            format!(
                "{what:10} {name:8} {kb:5} KB  {nthreads} threads  {}",
                self.kind.name()
            )
        };
        let room = self.data.len() + OVERHEAD;
        let (mut chunk, mut their_chunk) = (vec![0; room], vec![0; room]);
        let size = self.compress(ours, &mut chunk);
        let compress = ratio(&mut || _ = self.compress(ours, &mut chunk), &mut || {
            _ = self.compress(theirs, &mut their_chunk)
        });
        rows.add(name("compress"), compress);
        // Both read the same chunk.
        chunk.truncate(size);
        let (mut back, mut their_back) = (self.data.clone(), self.data.clone());
        let decompress = ratio(
            &mut || self.decompress(ours, &chunk, &mut back),
            &mut || self.decompress(theirs, &chunk, &mut their_back),
        );
        rows.add(name("decompress"), decompress);
        if nthreads == 1 {
            let items = ratio(&mut || self.items(ours, &chunk), &mut || {
                self.items(theirs, &chunk)
            });
            rows.add(name("getitem"), items);
        }
    }
}

type Compress2 =
    unsafe extern "C" fn(c_int, c_int, i32, *const c_void, i32, *mut c_void, i32) -> c_int;
type Decompress2 = unsafe extern "C" fn(*const c_void, i32, *mut c_void, i32) -> c_int;
type SetCompressor2 = unsafe extern "C" fn(*const std::ffi::c_char) -> c_int;

/// Small chunks of our libblosc2 beside those of c-blosc.
fn measure_blosc2(theirs: &Lib, rows: &mut Rows) {
    let Some(path) = built("libblosc2.so", "OXIBLOSC_LIBRARY") else {
        return println!("no libblosc2.so beside this bench");
    };
    // SAFETY: it has no initialiser that touches the process; the functions are declared so in blosc2.h.
    let (_library, compress, decompress, set_compressor) = unsafe {
        let library = libloading::Library::new(path).expect("libblosc2.so");
        let compress: Compress2 = *library.get(b"blosc2_compress").expect("blosc2_compress");
        let decompress: Decompress2 = *library
            .get(b"blosc2_decompress")
            .expect("blosc2_decompress");
        let set: SetCompressor2 = *library
            .get(b"blosc1_set_compressor")
            .expect("blosc1_set_compressor");
        (library, compress, decompress, set)
    };
    // SAFETY: a plain setting.
    unsafe { (theirs.f.blosc_set_nthreads)(1) };
    for (size, kind) in SIZES[..3]
        .iter()
        .flat_map(|size| KINDS.map(|kind| (*size, kind)))
    {
        for compressor in COMPRESSORS.into_iter().filter(|name| *name != c"snappy") {
            let case = Case {
                kind,
                data: kind.bytes(size, 1),
                compressor,
            };
            theirs.set_compressor(compressor);
            // SAFETY: a C string.
            unsafe { set_compressor(compressor.as_ptr()) };
            let (mut chunk, mut their_chunk) = (vec![0u8; size + 32], vec![0u8; size + OVERHEAD]);
            let (len, room) = (size as i32, size as i32 + 32);
            let (from, to) = (case.data.as_ptr(), chunk.as_mut_ptr());
            // SAFETY: the buffers have these sizes.
            let ours = || unsafe {
                compress(
                    CLEVEL,
                    1,
                    kind.typesize(),
                    from.cast(),
                    len,
                    to.cast(),
                    room,
                )
            };
            let cbytes = ours();
            let their_size = case.compress(theirs, &mut their_chunk);
            let name = |what| {
                format!(
                    "small2 {what:10} {:8} {:3} KB  {}",
                    compressor.to_string_lossy(),
                    size / KB,
                    kind.name()
                )
            };
            let faster = ratio(&mut || _ = black_box(ours()), &mut || {
                _ = case.compress(theirs, &mut their_chunk)
            });
            rows.add(name("compress"), faster);
            their_chunk.truncate(their_size);
            let (mut back, mut their_back) = (case.data.clone(), case.data.clone());
            // SAFETY: the same.
            let mut ours = || unsafe {
                decompress(chunk.as_ptr().cast(), cbytes, back.as_mut_ptr().cast(), len)
            };
            let faster = ratio(&mut || _ = black_box(ours()), &mut || {
                case.decompress(theirs, &their_chunk, &mut their_back)
            });
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
                let case = Case {
                    kind,
                    data: kind.bytes(size, 1),
                    compressor,
                };
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
