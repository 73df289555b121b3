//! Measures a row: the two libraries alternate, and the fastest turn of each counts, since
//! disturbances only make a turn slower.

use crate::rows::{Operation, Row, Storage};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::data::{Kind, Rng};
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::Duration;

const TYPESIZE: usize = 8;

/// The result of a row: the seconds of one operation, with ours and with the reference.
#[derive(Clone, Copy)]
pub struct Measured {
    pub seconds: [f64; 2],
}

impl Measured {
    /// How many times as fast ours is.
    pub fn ratio(&self) -> f64 {
        self.seconds[1] / self.seconds[0]
    }
}

fn parameters(row: &Row) -> blosc2_cparams {
    blosc2_cparams {
        compcode: oxiblosc_testing::abi::LZ4,
        typesize: TYPESIZE as i32,
        blocksize: row.blocksize,
        ..blosc2_cparams::defaults()
    }
}

fn remove(path: &Path) {
    // There is a file, a folder, or neither.
    let _ = std::fs::remove_file(path);
    let _ = std::fs::remove_dir_all(path);
}

/// Copies a file, or a folder of files.
fn copy(from: &Path, to: &Path) {
    if from.is_file() {
        std::fs::copy(from, to).expect("a file that can be copied");
        return;
    }
    std::fs::create_dir(to).expect("a folder");
    for entry in from.read_dir().expect("a folder").flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file");
    }
}

fn create(lib: &'static SchunkLib, row: &Row, path: &Path) -> Schunk {
    remove(path);
    let at = row.storage.on_disk().then_some(path);
    lib.create(
        row.storage.contiguous(),
        at,
        &parameters(row),
        row.threads,
        None,
    )
    .expect("a new super-chunk")
}

fn append_all(s: &Schunk, row: &Row, data: &[u8]) {
    for n in 0..row.chunks {
        // Each time another chunk.
        let at = (n * 8 * 1021) % (data.len() - row.chunksize);
        let rc = s.append_buffer(&data[at..at + row.chunksize], row.chunksize as i32);
        assert_eq!(rc, n as i64 + 1, "{}", s.lib.lib.name);
    }
}

/// Measures a row of appending. Removing files makes creating the next ones slower: the file system
/// does not reuse their inode numbers at once, and has to search for others. So the files of all
/// turns stay until the row is done.
fn measure_appending(
    row: &Row,
    libs: [&'static SchunkLib; 2],
    paths: &[PathBuf; 2],
    data: &[u8],
    quick: bool,
) -> Measured {
    let clock = Clock::of(row);
    let mut turn = 0;
    let seconds = take_turns(quick, |n| {
        turn += 1;
        let path = paths[n].with_extension(format!("{}-{turn}", row.chunks));
        let s = create(libs[n], row, &path);
        // The memory is mapped, for few chunks and for many.
        // SAFETY: the region is no longer used.
        unsafe { libc::malloc_trim(0) };
        let start = clock.now();
        append_all(&s, row, data);
        clock.now() - start
    });
    Measured { seconds }
}

/// Measures one row in `folder`. Both read what the reference wrote.
pub fn measure(row: &Row, libs: [&'static SchunkLib; 2], folder: &Path, quick: bool) -> Measured {
    let data = Kind::SmoothFloat64.bytes(4 << 20, 1);
    let paths = [folder.join("ours"), folder.join("reference")];
    // A frame does not store the number of threads. Opening one uses the library's global number.
    for lib in libs {
        // SAFETY: no operation is in progress.
        unsafe { (lib.lib.f.blosc2_set_nthreads)(row.threads) };
    }
    if row.operation == Operation::Append {
        return measure_appending(row, libs, &paths, &data, quick);
    }
    let clock = Clock::of(row);
    let written = create(libs[1], row, &paths[1]);
    append_all(&written, row, &data);
    let frame = match row.storage {
        Storage::Buffer => written.to_buffer().1,
        _ => Vec::new(),
    };
    let opened = match row.storage {
        Storage::Memory => {
            let ours = create(libs[0], row, &paths[0]);
            append_all(&ours, row, &data);
            [ours, written]
        }
        Storage::Buffer => libs.map(|lib| lib.open_buffer(&frame, false).expect("a frame")),
        _ => {
            drop(written);
            copy(&paths[1], &paths[0]);
            [0, 1].map(|n| libs[n].open_path(&paths[n]).expect("a frame"))
        }
    };
    let open = |n: usize| match row.storage {
        // SAFETY: the frame lives until the row is done, and is only read.
        Storage::Buffer => unsafe { libs[n].lend_buffer(&frame).expect("a frame") },
        _ => libs[n].open_path(&paths[n]).expect("a frame"),
    };
    let bytes = row.chunks * row.chunksize;
    let mut out = vec![0; bytes.max(10_000 * TYPESIZE)];
    let seconds = take_turns(quick, |n| {
        let start = clock.now();
        work(row, &opened[n], || open(n), &data, &mut out);
        clock.now() - start
    });
    drop(opened);
    paths.iter().for_each(|path| remove(path));
    Measured { seconds }
}

fn work(row: &Row, s: &Schunk, open: impl Fn() -> Schunk, data: &[u8], out: &mut [u8]) {
    let items = row.chunks * row.chunksize / TYPESIZE;
    let mut rng = Rng(7);
    match row.operation {
        Operation::Append => unreachable!("measured by itself"),
        Operation::Open => {
            let s = open();
            let rc = s.decompress_chunk(row.chunks as i64 / 2, &mut out[..row.chunksize]);
            assert_eq!(black_box(rc), row.chunksize as i64);
        }
        Operation::Scan => {
            for n in 0..row.chunks {
                let rc = s.decompress_chunk(n as i64, &mut out[..row.chunksize]);
                assert_eq!(black_box(rc), row.chunksize as i64);
            }
        }
        Operation::ScanSlice => {
            assert_eq!(black_box(s.get_slice(0, items as i64, out)), 0);
        }
        Operation::Slices => {
            for _ in 0..200 {
                let len = 1 + rng.below(10_000);
                let start = rng.below(items - len);
                let rc = s.get_slice(start as i64, (start + len) as i64, out);
                assert_eq!(black_box(rc), 0);
            }
        }
        Operation::Sparse => {
            let coords: Vec<i64> = (0..2000).map(|_| rng.below(items) as i64).collect();
            assert_eq!(black_box(s.get_sparse(&coords, out)), 0);
        }
        Operation::WriteSlices => {
            for _ in 0..20 {
                let chunk = rng.below(row.chunks) * row.chunksize / TYPESIZE;
                let start = (chunk + rng.below(row.chunksize / TYPESIZE - 1000)) as i64;
                let from = 8 * rng.below(10_000);
                let rc = s.set_slice(start, start + 1000, &data[from..]);
                assert_eq!(black_box(rc), 0);
            }
        }
    }
}

/// Reads a clock twice. Reads by one thread are measured in processor time of the process, which
/// other programs disturb less than the time of day. Writes, which wait for files, and several
/// threads, which wait for each other, are measured by the time of day.
#[derive(Clone, Copy)]
struct Clock(libc::clockid_t);

impl Clock {
    fn of(row: &Row) -> Clock {
        let writes = matches!(row.operation, Operation::Append | Operation::WriteSlices);
        Clock(match row.threads {
            1 if !writes => libc::CLOCK_PROCESS_CPUTIME_ID,
            _ => libc::CLOCK_MONOTONIC,
        })
    }

    fn now(self) -> Duration {
        let mut now = libc::timespec {
            tv_sec: 0,
            tv_nsec: 0,
        };
        // SAFETY: `now` is writable.
        let rc = unsafe { libc::clock_gettime(self.0, &mut now) };
        assert_eq!(rc, 0, "the clock is there");
        Duration::new(now.tv_sec as u64, now.tv_nsec as u32)
    }
}

/// The seconds of one `work(0)` and of one `work(1)`, each of which returns the time of its
/// measured part.
fn take_turns(quick: bool, mut work: impl FnMut(usize) -> Duration) -> [f64; 2] {
    let (turns, length) = match quick {
        true => (5, Duration::from_millis(10)),
        false => (9, Duration::from_millis(40)),
    };
    let mut best = [work(0), work(1)];
    let slower = best[0].max(best[1]);
    let turns = match slower.as_millis() {
        ..500 => turns,
        500..3000 => 2,
        _ => 1,
    };
    let faster = best[0].min(best[1]);
    let calls = (length.as_nanos() / faster.as_nanos().max(50)).clamp(1, 1000) as u32;
    for turn in 0..turns {
        for n in [turn % 2, 1 - turn % 2] {
            let calls = if best[n] > length { 1 } else { calls };
            let time: Duration = (0..calls).map(|_| work(n)).sum();
            best[n] = best[n].min(time / calls);
        }
    }
    best.map(|time| time.as_secs_f64())
}
