//! Repeated reads and small writes use the same memory again. If `malloc` returned it to the system
//! after each call, the page faults of the next call could take longer than its work.
#![cfg(all(target_os = "linux", target_env = "gnu"))]

use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::abi::LZ4;
use oxiblosc_testing::b2nd::{Spec, our_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::schunk::our_schunks;

const SHAPE: [i64; 3] = [100, 200, 100];
const ITEM: usize = 8;
/// How often each call is made before its page faults are counted, and in each count.
const CALLS: [u8; 2] = [10, 40];
/// More page faults for each call than this mean that it gets memory from the system. A compressed
/// block has some 28 pages.
const MAX_FAULTS: i64 = 8;

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
fn check(what: &str, mut call: impl FnMut(u8)) {
    let [first, count] = CALLS;
    (0..first).for_each(&mut call);
    // The system may move pages for reasons of its own, so a bad count is repeated.
    let mut counts = (0..3).map(|round| {
        let (start, before) = (first + round * count, page_faults());
        (start..start + count).for_each(&mut call);
        (page_faults() - before) / i64::from(count)
    });
    assert!(
        counts.any(|each| each <= MAX_FAULTS),
        "{what}: more than {MAX_FAULTS} page faults for each call"
    );
}

#[test]
fn repeated_calls_get_no_memory_from_the_system() {
    oxiblosc_testing::own_process!();
    // The defaults of glibc. To set them keeps them from rising when large memory is freed, as in
    // this test.
    for param in [libc::M_TRIM_THRESHOLD, libc::M_MMAP_THRESHOLD] {
        // SAFETY: it takes any numbers.
        assert_eq!(unsafe { libc::mallopt(param, 128 << 10) }, 1);
    }
    let len = SHAPE.iter().product::<i64>() as usize * ITEM;
    let data = Kind::SmoothFloat64.bytes(len, 1);
    for (contiguous, nthreads) in [(false, 1), (false, 2), (true, 1), (true, 2)] {
        let place = format!("contiguous {contiguous}, {nthreads} threads");
        let spec = Spec {
            shape: SHAPE.to_vec(),
            chunks: vec![50, 200, 100],
            blocks: vec![10, 40, 50],
            cparams: cparams(nthreads, 0),
            nthreads,
            contiguous,
            path: None,
        };
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
            check(&format!("{name} read, {place}"), |_| {
                assert_eq!(array.get(&start, &stop, &shape, &mut buffer), 0);
            });
            check(&format!("{name} written, {place}"), |turn| {
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
        check(&format!("a slice read, {place}"), |_| {
            assert!(schunk.get_slice(30_000, 90_000, &mut slice) >= 0);
        });
        check(&format!("a slice written, {place}"), |turn| {
            slice[0] = turn;
            assert!(schunk.set_slice(30_000, 90_000, &slice) >= 0);
        });
    }
}
