//! Copies with another dtype than their source has.

use super::*;
use oxiblosc_testing::folder::Folder;
use std::ffi::CString;

const CHANGES: [&str; 5] = ["resize", "append", "insert", "delete", "concatenate"];

/// Copies an array of `|S4`, the default, into one of `dtype`, and changes the shape of the copy.
/// Gives the metalayer of the copy, and the shape and the dtype of what is read again from its
/// frame.
fn changed(
    lib: &'static B2ndLib,
    (dtype, format): (&CStr, i8),
    change: &str,
    path: Option<CString>,
) -> (Vec<u8>, Vec<i64>, Vec<u8>) {
    let items = counted(28);
    let source = lib
        .array_of(&spec(&[7], &[3], &[2], 4), &items)
        .expect("an array");
    let mut cparams = blosc2_cparams {
        typesize: 4,
        ..blosc2_cparams::defaults()
    };
    let storage = blosc2_storage {
        contiguous: true,
        urlpath: path
            .as_ref()
            .map_or(null_mut(), |path| path.as_ptr().cast_mut()),
        cparams: &raw mut cparams,
        ..blosc2_storage::defaults()
    };
    let (mut copy, more, new) = (null_mut(), counted(12), 9);
    // SAFETY: the parameters outlive their context, buffers are as long as they are said to be, and
    // what is made is freed once.
    unsafe {
        let ctx =
            (lib.f.b2nd_create_ctx)(&storage, 1, &7, &3, &2, dtype.as_ptr(), format, null(), 0);
        let buffer = more.as_ptr().cast();
        let rc = if change == "concatenate" {
            let (first, second) = (source.raw(), source.raw());
            (lib.f.b2nd_concatenate)(ctx, first, second, 0, true, &raw mut copy)
        } else {
            assert_eq!((lib.f.b2nd_copy)(ctx, source.raw(), &raw mut copy), 0);
            match change {
                "resize" => (lib.f.b2nd_resize)(copy, &raw const new, null()),
                "append" => (lib.f.b2nd_append)(copy, buffer, 12, 0),
                "insert" => (lib.f.b2nd_insert)(copy, buffer, 12, 0, 3),
                _ => (lib.f.b2nd_delete)(copy, 0, 6, 1),
            }
        };
        assert_eq!(rc, 0, "{change}");
        (lib.f.b2nd_free_ctx)(ctx);
        let layer = &*(*(*copy).sc).metalayers[0];
        let content = std::slice::from_raw_parts(layer.content, layer.content_len as usize);
        let content = content.to_vec();
        let (mut frame, mut len, mut needs_free) = (null_mut(), 0, false);
        let rc = (lib.f.b2nd_to_cframe)(copy, &raw mut frame, &raw mut len, &raw mut needs_free);
        assert_eq!(rc, 0);
        let again = std::slice::from_raw_parts(frame, len as usize).to_vec();
        if needs_free {
            libc::free(frame.cast());
        }
        (lib.f.b2nd_free)(copy);
        let again = our_arrays().open_frame(again, true).expect("an array");
        let dtype = CStr::from_ptr(again.fields().dtype).to_bytes().to_vec();
        (content, again.shape(), dtype)
    }
}

#[test]
fn a_copy_s_own_dtype_is_written_when_its_shape_changes() {
    let Some(reference) = reference_arrays() else {
        return;
    };
    let folder = Folder::new("dtypes");
    let dtypes = [(c"<f4", 0), (c"|V4", 0), (c"u1", 0), (c"<i4", 1)];
    for (number, (dtype, change)) in dtypes
        .iter()
        .flat_map(|dtype| CHANGES.map(|change| (*dtype, change)))
        .enumerate()
    {
        for on_disk in [false, true] {
            let path =
                |whose: &str| on_disk.then(|| c_path(&folder.join(&format!("{whose}{number}"))));
            let ours = changed(our_arrays(), dtype, change, path("ours"));
            let theirs = changed(reference, dtype, change, path("theirs"));
            assert_eq!(ours, theirs, "{change}, {dtype:?}");
            assert_eq!(ours.2, dtype.0.to_bytes(), "{change}");
        }
    }
}

/// The reference then leaves the old shape in the metalayer, which fits the chunks no more.
#[test]
fn a_dtype_that_the_metalayer_has_no_room_for_does_not_keep_the_shape_from_being_written() {
    let shapes = [9, 10, 10, 6, 14];
    for (change, shape) in CHANGES.into_iter().zip(shapes) {
        let (_, again, dtype) = changed(our_arrays(), (c"(2,)<u2", 0), change, None);
        assert_eq!((again, &dtype[..]), (vec![shape], &b"|S4"[..]), "{change}");
    }
}

/// The reference says of some that their shape was read again.
#[test]
fn the_shapes_of_new_arrays_are_current() {
    let lib = our_arrays();
    for (shape, cuts) in [(&[][..], &[][..]), (&[7], &[3]), (&[7, 5], &[3, 2])] {
        for contiguous in [false, true] {
            let spec = Spec {
                contiguous,
                ..spec(shape, cuts, cuts, 4)
            };
            let zeros = lib.make(&spec, |ctx, array| {
                // SAFETY: parameters and a place.
                unsafe { (lib.f.b2nd_zeros)(ctx, array) }
            });
            let zeros = zeros.expect("an array");
            let mut copy = null_mut();
            let copied = lib.with_ctx(&spec, |ctx| {
                // SAFETY: parameters, an array and a place.
                unsafe { (lib.f.b2nd_copy)(ctx, zeros.raw(), &raw mut copy) }
            });
            assert_eq!(copied, Some(0));
            // SAFETY: two arrays; the second is freed once.
            unsafe {
                assert_eq!((lib.f.b2nd_refresh)(zeros.raw()), 0);
                assert_eq!((lib.f.b2nd_refresh)(copy), 0);
                (lib.f.b2nd_free)(copy);
            }
        }
    }
}
