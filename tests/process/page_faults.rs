//! Repeated calls use the same memory again. If `malloc` returned it to the system after each call,
//! the page faults of the next call could take longer than its work. But what is kept is little,
//! and can be freed.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use blosc2::capi::constants::BLOSC2_ERROR_INVALID_PARAM;
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::{LZ4, ZSTD};
use oxiblosc_testing::b2nd::{Spec, our_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::library::{ours, own};
use oxiblosc_testing::schunk::our_schunks;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;

const SHAPE: [i64; 3] = [100, 200, 100];
const ITEM: usize = 8;
/// How often each call is made before its page faults are counted, and in each count.
const CALLS: [u8; 2] = [10, 40];
/// More page faults for each call than this mean that it gets memory from the system. A compressed
/// block has some 28 pages.
const MAX_FAULTS: i64 = 8;
/// As [`MAX_FAULTS`], for the making of an array whose chunks have some 1,100 pages.
const MAX_FAULTS_FOR_ARRAY: i64 = 100;

/// How many page faults the process has had that needed no input.
fn page_faults() -> i64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the call writes at most a `rusage`, for whose numbers zero is a value.
    unsafe {
        assert_eq!(libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr()), 0);
        usage.assume_init().ru_minflt
    }
}

fn cparams(nthreads: i16, blocksize: i32) -> blosc2_cparams {
    blosc2_cparams {
        compcode: LZ4,
        typesize: ITEM as i32,
        nthreads,
        blocksize,
        ..blosc2_cparams::defaults()
    }
}

/// Calls `call` with a number that differs each time.
fn check(what: &str, most: i64, mut call: impl FnMut(u8)) {
    let [first, count] = CALLS;
    (0..first).for_each(&mut call);
    // The system may move pages for reasons of its own, so a bad count is repeated.
    let mut seen = Vec::new();
    let mut counts = (0..3).map(|round| {
        let (start, before) = (first + round * count, page_faults());
        (start..start + count).for_each(&mut call);
        seen.push((page_faults() - before) / i64::from(count));
        seen[round as usize] <= most
    });
    assert!(
        counts.any(|few| few),
        "{what}: more than {most} page faults for each call: {seen:?}"
    );
}

/// Sets the defaults of glibc. To set them keeps them from rising when large memory is freed, as in
/// these tests.
fn set_thresholds() {
    for param in [libc::M_TRIM_THRESHOLD, libc::M_MMAP_THRESHOLD] {
        // SAFETY: it takes any numbers.
        assert_eq!(unsafe { libc::mallopt(param, 128 << 10) }, 1);
    }
}

/// An array with these chunks.
fn spec(nthreads: i16, contiguous: bool, path: Option<CString>) -> Spec {
    Spec {
        shape: SHAPE.to_vec(),
        chunks: vec![50, 200, 100],
        blocks: vec![10, 40, 50],
        cparams: cparams(nthreads, 0),
        nthreads,
        contiguous,
        path,
    }
}

#[test]
fn repeated_calls_get_no_memory_from_the_system() {
    oxiblosc_testing::own_process!();
    set_thresholds();
    let len = SHAPE.iter().product::<i64>() as usize * ITEM;
    let data = Kind::SmoothFloat64.bytes(len, 1);
    for (contiguous, nthreads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let place = format!("contiguous {contiguous}, {nthreads} threads");
        let spec = spec(nthreads, contiguous, None);
        let array = our_arrays().array_of(&spec, &data).expect("an array");
        let parts = [
            ("a point", [7, 33, 1], [8, 34, 2]),
            ("a row", [7, 33, 0], [8, 34, 100]),
            ("a plane", [7, 0, 0], [8, 200, 100]),
            ("a cube", [5, 20, 20], [25, 60, 60]),
        ];
        for (name, start, stop) in parts {
            let shape = [0, 1, 2].map(|d| stop[d] - start[d]);
            let mut buffer = vec![0; shape.iter().product::<i64>() as usize * ITEM];
            check(&format!("{name} read, {place}"), MAX_FAULTS, |_| {
                assert_eq!(array.get(&start, &stop, &shape, &mut buffer), 0);
            });
            check(&format!("{name} written, {place}"), MAX_FAULTS, |turn| {
                buffer[0] = turn;
                assert_eq!(array.set(&start, &stop, &shape, &buffer), 0);
            });
        }
        let schunk = our_schunks()
            .create(
                contiguous,
                None,
                &cparams(nthreads, 160_000),
                nthreads,
                None,
            )
            .expect("a super-chunk");
        for chunk in data.chunks(len / 10) {
            assert!(schunk.append_buffer(chunk, chunk.len() as i32) > 0);
        }
        let mut slice = data[30_000 * ITEM..90_000 * ITEM].to_vec();
        check(&format!("a slice read, {place}"), MAX_FAULTS, |_| {
            assert!(schunk.get_slice(30_000, 90_000, &mut slice) >= 0);
        });
        check(&format!("a slice written, {place}"), MAX_FAULTS, |turn| {
            slice[0] = turn;
            assert!(schunk.set_slice(30_000, 90_000, &slice) >= 0);
        });
    }
}

#[test]
fn arrays_are_made_in_memory_that_others_had() {
    oxiblosc_testing::own_process!();
    set_thresholds();
    let len = SHAPE.iter().product::<i64>() as usize * ITEM;
    let data = Kind::SmoothFloat64.bytes(len / 100 * 40, 1);
    let folder = Folder::new("made_in_kept_memory");
    for (contiguous, nthreads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        for on_disk in [false, true] {
            let place = format!("contiguous {contiguous}, on disk {on_disk}, {nthreads} threads");
            let mut numbers = 0..;
            let mut spec = spec(nthreads, contiguous, None);
            // 6.4 MB in chunks of 1.6 MB: all of it, and what it is made with, is kept.
            (spec.shape[0], spec.chunks[0]) = (40, 10);
            check(
                &format!("an array made, {place}"),
                MAX_FAULTS_FOR_ARRAY,
                |_| {
                    let name =
                        format!("{contiguous}{nthreads}{}", numbers.next().expect("endless"));
                    let path = folder.join(&name);
                    let path = on_disk.then(|| CString::new(path.as_os_str().as_bytes()));
                    spec.path = path.transpose().expect("no zero");
                    drop(our_arrays().array_of(&spec, &data).expect("an array"));
                },
            );
        }
    }
}

/// How many bytes of memory the process has.
fn resident() -> i64 {
    let statm = std::fs::read_to_string("/proc/self/statm").expect("Linux has it");
    let pages = statm
        .split(' ')
        .nth(1)
        .and_then(|pages| pages.parse::<i64>().ok());
    pages.expect("the second number") * 4096
}

#[test]
fn what_is_kept_is_little_and_can_be_freed() {
    oxiblosc_testing::own_process!();
    const LIMIT: i64 = 16 << 20;
    /// What `malloc` and the threads need for themselves.
    const SLACK: i64 = 4 << 20;
    set_thresholds();
    // SAFETY: it takes no argument.
    let free_resources = || unsafe { (ours().f.blosc2_free_resources)() };
    let set_kept_memory: extern "C" fn(i64) -> i64 = own("oxiblosc_set_kept_memory");
    let len = SHAPE.iter().product::<i64>() as usize * ITEM;
    let data = Kind::SmoothFloat64.bytes(len, 1);
    let mut back = vec![1; len];
    let mut use_it = || {
        for (compcode, contiguous) in [(LZ4, false), (LZ4, true), (ZSTD, false)] {
            let mut spec = spec(8, contiguous, None);
            spec.cparams.compcode = compcode;
            let arrays: Vec<_> = (0..4)
                .map(|_| our_arrays().array_of(&spec, &data).expect("an array"))
                .collect();
            for array in &arrays {
                assert_eq!(array.get(&[0; 3], &SHAPE, &SHAPE, &mut back), 0);
            }
        }
    };
    let before = resident();
    use_it();
    let kept = resident() - before;
    assert!(kept < LIMIT + SLACK, "{kept} bytes are kept");
    assert_eq!(free_resources(), 0);
    let left = resident() - before;
    assert!(left < SLACK, "{left} bytes are left");
    assert_eq!(set_kept_memory(0), LIMIT);
    use_it();
    let kept = resident() - before;
    assert!(kept < SLACK, "{kept} bytes are kept");
    assert_eq!(set_kept_memory(-1), BLOSC2_ERROR_INVALID_PARAM.into());
    assert_eq!(set_kept_memory(LIMIT), 0);
}
