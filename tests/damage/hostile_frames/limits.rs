//! Opening and looking at a frame takes memory and time in proportion to its bytes and to what is
//! asked for: frames that are built to take more, each in a child of its own.

use super::built::{self, Built, Verdict};
use super::exercise::{ROOM, look};
use super::seeds::Seed;
use oxiblosc_testing::b2nd::our_arrays;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::memory_use::{forget_peaks, status};
use oxiblosc_testing::report::Report;
use oxiblosc_testing::sample::is_whole;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use std::path::Path;

/// Memory that any frame may take, and how often its bytes.
const FREE: usize = 16 << 20;
const TIMES: usize = 8;
/// Seconds of the processor that any frame may take, and bytes that may take another one each.
const SECONDS: f64 = 2.0;
const BYTES_A_SECOND: f64 = 4e6;
/// Seconds after which a child that waits for something is ended.
const PATIENCE: u32 = 120;

/// How a frame is opened.
#[derive(Clone, Copy, Debug)]
enum Way {
    Path,
    Copied,
    Lent,
    Array,
}

/// Seconds that this process took of the processor.
fn seconds() -> f64 {
    // SAFETY: a struct of numbers, filled in by the call.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, &mut usage), 0);
        usage
    };
    let time = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// Opens the frame and looks at it; whether it opened.
fn open(lib: &'static SchunkLib, seed: &Seed, way: Way, path: &Path, buffer: &mut [u8]) -> bool {
    let schunk = match (seed, way) {
        (Seed::Contiguous(frame), Way::Copied) => lib.open_buffer(frame, true),
        // SAFETY: the frame outlives the super-chunk.
        (Seed::Contiguous(frame), Way::Lent) => unsafe { lib.lend_buffer(frame) },
        (_, Way::Array) => {
            let Ok(array) = our_arrays().open_path(path) else {
                return false;
            };
            let (start, stop) = (vec![0; array.shape().len()], vec![1; array.shape().len()]);
            array.get(&start, &stop, &stop, &mut buffer[..array.typesize()]);
            let last: Vec<i64> = array.shape().iter().map(|len| len - 1).collect();
            array.get_sparse(&last, &mut buffer[..array.typesize()]);
            return true;
        }
        _ => lib.open_path(path),
    };
    schunk.is_some_and(|schunk| {
        look(&schunk, buffer);
        true
    })
}

/// What one way took, in a child: whether it opened, or what it took too much of.
fn measured(
    lib: &'static SchunkLib,
    built: &Built,
    way: Way,
    path: &Path,
    limited: bool,
) -> Result<bool, String> {
    let size = built.seed.size();
    let most = FREE + TIMES * size + built.asked;
    let time = SECONDS + (size + built.asked) as f64 / BYTES_A_SECOND;
    let mut buffer = vec![1; ROOM];
    // What is loaded or made at first use is not the frame's.
    let small = built::small();
    for way in [Way::Copied, Way::Lent] {
        open(lib, &small, way, path, &mut buffer);
    }
    forget_peaks();
    let (addresses, resident, begun) = (status("VmSize"), status("VmRSS"), seconds());
    if limited {
        let limit = libc::rlimit {
            rlim_cur: (addresses + most) as u64,
            rlim_max: libc::RLIM_INFINITY,
        };
        // SAFETY: this child's own limit.
        assert_eq!(unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) }, 0);
    }
    let opened = open(lib, &built.seed, way, path, &mut buffer);
    let took = seconds() - begun;
    let grown = [("VmPeak", addresses), ("VmHWM", resident)];
    for (what, before) in grown {
        let grown = status(what).saturating_sub(before);
        if grown > most {
            return Err(format!(
                "{what} grew by {grown} bytes for {size}, {} asked for",
                built.asked
            ));
        }
    }
    if took > time {
        return Err(format!("{took:.1} seconds for {size} bytes"));
    }
    Ok(opened)
}

/// One frame in one way, without a limit of memory and with one, or in a sample with either.
fn one(
    lib: &'static SchunkLib,
    built: &Built,
    (number, way): (usize, Way),
    path: &Path,
) -> Result<(), String> {
    let (whole, has_limit) = (is_whole("OXIBLOSC_DAMAGE"), number.is_multiple_of(2));
    for limited in [false, true] {
        if !whole && limited != has_limit {
            continue;
        }
        isolated(PATIENCE, || {
            let opened = measured(lib, built, way, path, limited)?;
            // The super-chunk below an array is fine by itself.
            let verdict = match way {
                Way::Path if built.name.starts_with("array") => Verdict::Opens,
                _ => built.verdict,
            };
            match (verdict, opened) {
                (Verdict::Opens, false) => Err(format!("does not open, limited: {limited}")),
                (Verdict::Refused, true) => Err("opens".into()),
                _ => Ok(()),
            }
        })?;
    }
    Ok(())
}

#[test]
fn nothing_costs_more_than_its_bytes() {
    oxiblosc_testing::own_process!();
    let lib = our_schunks();
    let folder = std::env::temp_dir().join(format!("oxiblosc-limits-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join("frame");
    let mut report = Report::default();
    let mut number = 0;
    for built in built::all(lib) {
        built.seed.write(&path);
        let ways: &[Way] = match &built.seed {
            _ if built.name.starts_with("array") => &[Way::Path, Way::Array],
            Seed::Contiguous(_) => &[Way::Path, Way::Copied, Way::Lent],
            Seed::Directory(_) => &[Way::Path],
        };
        for way in ways {
            report.case();
            number += 1;
            if let Err(wrong) = one(lib, &built, (number, *way), &path) {
                report.fail(&wrong, format!("{} ({way:?})", built.name));
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    report.finish("frames that are built to cost much");
}
