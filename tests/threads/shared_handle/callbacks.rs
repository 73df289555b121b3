//! Functions of the program that use the super-chunk or array for which they are called.

use super::*;

/// What the functions below are called for.
static OWN: AtomicPtr<blosc2_schunk> = AtomicPtr::new(null_mut());
/// What was wrong in them, and how often they were called.
static WRONG: AtomicI32 = AtomicI32::new(0);
static CALLS: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// Asks the super-chunk for which this is called all kinds of things.
fn ask() {
    if DEPTH.get() > 0 {
        return;
    }
    DEPTH.set(DEPTH.get() + 1);
    CALLS.fetch_add(1, Ordering::Relaxed);
    let own = SharedSchunk(OWN.load(Ordering::Relaxed));
    if !own.0.is_null() {
        let expect = |right: bool, what| {
            if !right {
                WRONG.store(what, Ordering::Relaxed);
            }
        };
        expect(own.vlmeta(c"value").is_ok(), 1);
        // SAFETY: a name.
        expect(
            unsafe { blosc2_vlmeta_exists(own.0, c"value".as_ptr()) } >= 0,
            2,
        );
        expect(own.chunk(1).is_ok(), 3);
        expect(own.slice(10, 5000).is_ok(), 4);
        // What would change it is refused.
        expect(own.vlmeta_set(c"value", 7) == LOCK, 5);
        expect(own.set(0, 10, 7) == LOCK, 6);
        expect(own.append(7) == i64::from(LOCK), 7);
        // SAFETY: as above.
        expect(unsafe { blosc2_schunk_lock(own.0) } == LOCK, 8);
    }
    DEPTH.set(DEPTH.get() - 1);
}

unsafe extern "C-unwind" fn asking_prefilter(params: *mut blosc2_prefilter_params) -> c_int {
    ask();
    // SAFETY: the buffers are as long as the block.
    unsafe {
        let params = &*params;
        let from = params.input;
        std::ptr::copy_nonoverlapping(from, params.output, params.output_size as usize);
    }
    0
}

unsafe extern "C-unwind" fn asking_postfilter(params: *mut blosc2_postfilter_params) -> c_int {
    ask();
    // SAFETY: as above.
    unsafe {
        let params = &*params;
        std::ptr::copy_nonoverlapping(params.input, params.output, params.size as usize);
    }
    0
}

/// Parameters with a postfilter.
fn with_postfilter(
    function: unsafe extern "C-unwind" fn(*mut blosc2_postfilter_params) -> c_int,
    nthreads: i16,
) -> blosc2_dparams {
    let mut dparams = blosc2_dparams::defaults();
    dparams.nthreads = nthreads;
    dparams.postfilter = Some(function);
    dparams.postparams = Box::leak(Box::new(zeroed()));
    dparams
}

/// Parameters with the functions that ask.
fn asking(nthreads: i16) -> (blosc2_cparams, blosc2_dparams) {
    let mut cparams = cparams(nthreads);
    cparams.prefilter = Some(asking_prefilter);
    cparams.preparams = Box::leak(Box::new(zeroed()));
    (cparams, with_postfilter(asking_postfilter, nthreads))
}

#[test]
fn functions_may_use_the_super_chunk_they_are_called_for() {
    let _alone = alone();
    let folder = Folder::new("shared-callbacks");
    for (nth, kept) in STORAGES.into_iter().enumerate() {
        for nthreads in [1, 3] {
            let path = folder.0.join(format!("{nth}-{nthreads}"));
            std::fs::create_dir(&path).expect("a folder");
            let (cparams, dparams) = asking(nthreads);
            let shared = SharedSchunk::new(kept, &path, cparams, dparams);
            assert!(shared.vlmeta_set(c"value", 0) >= 0);
            for _ in 0..CHUNKS {
                assert!(shared.append(3) > 0);
            }
            OWN.store(shared.0, Ordering::Relaxed);
            let before = CALLS.load(Ordering::Relaxed);
            let done = AtomicBool::new(false);
            thread::scope(|scope| {
                // Somebody always waits to change it.
                let writer = scope.spawn(|| {
                    let mut value = 0;
                    while !done.load(Ordering::Relaxed) {
                        value += 1;
                        assert!(shared.vlmeta_set(c"value", value) >= 0);
                    }
                });
                for round in 0..rounds().div_ceil(20) as u32 {
                    assert!(shared.set(100, 9000, round) >= 0, "{kept:?}");
                    assert!(shared.set(0, 2 * ITEMS, round) >= 0, "{kept:?}");
                    assert!(shared.append(round) > 0);
                    assert!(shared.chunk(2).is_ok());
                    assert!(shared.slice(50, 3 * ITEMS).is_ok());
                    assert!(shared.vlmeta(c"value").is_ok());
                }
                done.store(true, Ordering::Relaxed);
                writer.join().expect("a writer that found nothing wrong");
            });
            OWN.store(null_mut(), Ordering::Relaxed);
            assert_eq!(
                WRONG.load(Ordering::Relaxed),
                0,
                "{kept:?}, {nthreads} threads"
            );
            assert!(CALLS.load(Ordering::Relaxed) > before);
            shared.free();
        }
    }
}

#[test]
fn functions_may_use_the_array_they_are_called_for() {
    let _alone = alone();
    for nthreads in [1, 3] {
        let (shape, chunkshape, blockshape) = ([40, 600], [20, 200], [10, 100]);
        let (mut cparams, mut dparams) = asking(nthreads);
        let storage = blosc2_storage {
            contiguous: true,
            cparams: &mut cparams,
            dparams: &mut dparams,
            ..blosc2_storage::defaults()
        };
        let mut data = vec![5u32; 40 * 600];
        // SAFETY: the arrays and buffers have the lengths that are told.
        unsafe {
            let ctx = b2nd_create_ctx(
                &storage,
                2,
                shape.as_ptr(),
                chunkshape.as_ptr(),
                blockshape.as_ptr(),
                null_mut(),
                0,
                null_mut(),
                0,
            );
            assert!(!ctx.is_null());
            let mut array = null_mut();
            assert_eq!(b2nd_zeros(ctx, &raw mut array), 0);
            let own = SharedSchunk((*array).sc);
            assert!(own.vlmeta_set(c"value", 0) >= 0);
            let len = 4 * data.len() as i64;
            let (start, stop) = ([0i64, 0], [40i64, 600]);
            let set = |data: &[u32]| {
                let (data, shape) = (data.as_ptr().cast(), shape.as_ptr());
                b2nd_set_slice_cbuffer(data, shape, len, start.as_ptr(), stop.as_ptr(), array)
            };
            assert_eq!(set(&data), 0);
            OWN.store(own.0, Ordering::Relaxed);
            let before = CALLS.load(Ordering::Relaxed);
            assert_eq!(set(&data), 0);
            let rc = b2nd_get_slice_cbuffer(
                array,
                start.as_ptr(),
                stop.as_ptr(),
                data.as_mut_ptr().cast(),
                shape.as_ptr(),
                len,
            );
            assert_eq!(rc, 0);
            OWN.store(null_mut(), Ordering::Relaxed);
            assert!(CALLS.load(Ordering::Relaxed) > before);
            assert_eq!(WRONG.load(Ordering::Relaxed), 0, "{nthreads} threads");
            assert!(data.iter().all(|item| *item == 5));
            // An array cannot grow by itself; the reference says so too.
            let mut joined = null_mut();
            let rc = b2nd_concatenate(ctx, array, array, 0, false, &raw mut joined);
            assert_eq!(rc, INVALID_PARAM);
            assert_eq!(b2nd_free(array), 0);
            assert_eq!(b2nd_free_ctx(ctx), 0);
        }
    }
}

/// How many blocks said that they are of another chunk.
static OTHERS: AtomicI64 = AtomicI64::new(0);

unsafe extern "C-unwind" fn checking_postfilter(params: *mut blosc2_postfilter_params) -> c_int {
    // SAFETY: the buffers are as long as the block, which has items of four bytes.
    unsafe {
        let params = &*params;
        let item = params.input.cast::<u32>().read_unaligned();
        OTHERS.fetch_add((i64::from(item) != params.nchunk).into(), Ordering::Relaxed);
        std::ptr::copy_nonoverlapping(params.input, params.output, params.size as usize);
    }
    0
}

#[test]
fn a_postfilter_is_told_its_own_chunk() {
    let _alone = alone();
    let folder = Folder::new("shared-nchunk");
    for (nth, kept) in STORAGES.into_iter().enumerate() {
        let path = folder.0.join(nth.to_string());
        std::fs::create_dir(&path).expect("a folder");
        let dparams = with_postfilter(checking_postfilter, 2);
        let shared = SharedSchunk::new(kept, &path, cparams(1), dparams);
        for nchunk in 0..CHUNKS {
            assert!(shared.append(nchunk as u32) > 0);
        }
        thread::scope(|scope| {
            for reader in 0..8 {
                scope.spawn(move || {
                    let shared = shared;
                    for round in 0..rounds() {
                        let nchunk = (round * 5 + reader) % CHUNKS;
                        assert!(shared.chunk(nchunk).is_ok());
                        let from = nchunk * ITEMS + reader;
                        let to = (from + ITEMS).min(CHUNKS * ITEMS);
                        assert!(shared.slice(from, to).is_ok());
                    }
                });
            }
        });
        assert_eq!(OTHERS.swap(0, Ordering::Relaxed), 0, "{kept:?}");
        shared.free();
    }
}
