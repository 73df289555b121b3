//! Tuners of the program.

use super::*;

extern "C" fn tuner_init(config: *mut c_void, cctx: *mut Context, dctx: *mut Context) -> c_int {
    saw(format!(
        "init {config:?} {} {}",
        cctx.is_null(),
        dctx.is_null()
    ));
    0
}

extern "C" fn tuner_blocksize(ctx: *mut Context) -> c_int {
    saw(format!("next_blocksize {}", ctx.is_null()));
    0
}

extern "C" fn tuner_cparams(ctx: *mut Context) -> c_int {
    saw(format!("next_cparams {}", ctx.is_null()));
    0
}

extern "C" fn tuner_update(ctx: *mut Context, time: f64) -> c_int {
    saw(format!("update {} {}", ctx.is_null(), time >= 0.0));
    0
}

extern "C" fn tuner_free(ctx: *mut Context) -> c_int {
    saw(format!("free {}", ctx.is_null()));
    0
}

#[test]
fn tuners() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let _turn = turn();
    for lib in [ours, reference] {
        let mut tuner = Tuner {
            init: Some(tuner_init),
            next_blocksize: Some(tuner_blocksize),
            next_cparams: Some(tuner_cparams),
            update: Some(tuner_update),
            free: Some(tuner_free),
            id: 180,
            name: c"recorder".as_ptr().cast_mut(),
        };
        // SAFETY: the struct lives across the call, the name for ever.
        assert_eq!(unsafe { (lib.f.blosc2_register_tuner)(&mut tuner) }, 0);
    }
    let src = Kind::WalkInt32.bytes(100_000, 5);
    // Without a block size the tuner must choose one; only the reference's private headers say how.
    for blocksize in [8192, 50_000] {
        let cparams = CParams {
            compcode: LZ4,
            typesize: 4,
            blocksize,
            tuner_id: 180,
            tuner_params: 0x99 as *mut c_void,
            ..CParams::default()
        };
        let sequences = [ours, reference].map(|lib| {
            take();
            let ctx = lib.cctx(&cparams).expect("valid parameters");
            let mut dest = vec![0u8; src.len() + MAX_OVERHEAD];
            let mut codes: Vec<i32> = (0..3).map(|_| ctx.compress(&src, &mut dest)).collect();
            codes.push(lib.decompress(&dest, src.len(), 1).0);
            drop(ctx);
            (
                codes,
                std::mem::take(&mut *SEEN.lock().expect("not poisoned")),
            )
        });
        let [mine, theirs] = sequences;
        assert_eq!(mine, theirs, "blocksize {blocksize}");
        assert!(!mine.1.is_empty(), "no tuner function was called");
    }
}
