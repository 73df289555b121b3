//! Threads of the program.

use super::*;

/// Calls of the threads callback, and the jobs they had.
static PARALLEL: [AtomicUsize; 2] = [AtomicUsize::new(0), AtomicUsize::new(0)];

extern "C" fn in_parallel(
    data: *mut c_void,
    job: DoJob,
    jobs: c_int,
    size: usize,
    jobdata: *mut c_void,
) {
    assert_eq!(data as usize, 0x77);
    PARALLEL[0].fetch_add(1, SeqCst);
    PARALLEL[1].fetch_add(jobs as usize, SeqCst);
    let base = jobdata as usize;
    std::thread::scope(|scope| {
        for n in 0..jobs as usize {
            scope.spawn(move || job((base + n * size) as *mut c_void));
        }
    });
}

#[test]
fn threads_callback() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    let src = Kind::WalkInt32.bytes(1 << 20, 5);
    for lib in [ours, reference] {
        // SAFETY: no context of this library is at work in this test binary while the turn is held.
        unsafe { (lib.f.blosc2_set_threads_callback)(Some(in_parallel), 0x77 as *mut c_void) };
    }
    let results = [ours, reference].map(|lib| {
        for counter in &PARALLEL {
            counter.store(0, SeqCst);
        }
        let cparams = CParams {
            compcode: LZ4,
            typesize: 4,
            nthreads: 3,
            blocksize: 1 << 16,
            ..CParams::default()
        };
        let (rc, chunk) = lib.compress(&cparams, &src);
        let (decompressed, out) = lib.decompress(&chunk, src.len(), 3);
        assert_eq!(out, src, "{}", lib.name);
        (
            rc,
            decompressed,
            PARALLEL[0].load(SeqCst),
            PARALLEL[1].load(SeqCst),
        )
    });
    for lib in [ours, reference] {
        // SAFETY: as above.
        unsafe { (lib.f.blosc2_set_threads_callback)(None, core::ptr::null_mut()) };
    }
    let [mine, theirs] = results;
    assert_eq!(mine, theirs, "return codes, calls and jobs");
    assert_eq!(mine.2, 2, "one call for each of the two operations");
}
