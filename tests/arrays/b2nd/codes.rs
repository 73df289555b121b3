//! Return codes of creations that cannot be made.

use super::*;
use blosc2::capi::types::blosc2_metalayer;

/// Makes an array with each function that needs no data; gives their codes.
fn created(lib: &B2ndLib, len: i64, chunk: i32, names: &[&CStr]) -> [i32; 4] {
    let mut content = *b"bytes";
    let layers: Vec<blosc2_metalayer> = names
        .iter()
        .map(|name| {
            // SAFETY: a structure of pointers and numbers, all of them set below or null.
            let mut layer: blosc2_metalayer = unsafe { std::mem::zeroed() };
            layer.name = name.as_ptr().cast_mut();
            layer.content = content.as_mut_ptr();
            layer.content_len = content.len() as i32;
            layer
        })
        .collect();
    let makes = [
        lib.f.b2nd_uninit,
        lib.f.b2nd_empty,
        lib.f.b2nd_zeros,
        lib.f.b2nd_nans,
    ];
    makes.map(|make| {
        let mut array = null_mut();
        // SAFETY: the parameters outlive the context; what was made is freed once.
        unsafe {
            let storage: blosc2_storage = std::mem::zeroed();
            let dtype = c"<f8".as_ptr();
            let (count, at) = (layers.len() as i32, layers.as_ptr());
            let ctx =
                (lib.f.b2nd_create_ctx)(&storage, 1, &len, &chunk, &chunk, dtype, 0, at, count);
            assert!(!ctx.is_null(), "parameters");
            let rc = make(ctx, &raw mut array);
            if rc == 0 {
                (lib.f.b2nd_free)(array);
            }
            (lib.f.b2nd_free_ctx)(ctx);
            rc
        }
    })
}

#[test]
fn creations_that_fail_have_the_reference_s_codes() {
    let Some(reference) = reference_arrays() else {
        return;
    };
    let cases: [(&str, i64, i32, &[&CStr]); 4] = [
        ("two metalayers", 100, 10, &[c"one", c"two"]),
        ("one name twice", 100, 10, &[c"one", c"one"]),
        ("many chunks", 1 << 60, 10, &[]),
        ("the most items", i64::MAX, 10, &[]),
    ];
    for (name, len, chunk, names) in cases {
        let ours = created(our_arrays(), len, chunk, names);
        let theirs = created(reference, len, chunk, names);
        assert_eq!(ours, theirs, "{name}");
    }
}
