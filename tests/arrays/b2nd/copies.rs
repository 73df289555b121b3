//! Copies and views.

use super::*;

/// Leaves a block as it is, but has every chunk compressed again where it is copied.
unsafe extern "C-unwind" fn same(params: *mut blosc2_postfilter_params) -> c_int {
    // SAFETY: the library gives buffers of this size.
    unsafe {
        let params = &*params;
        params.output.copy_from(params.input, params.size as usize);
    }
    0
}

#[test]
fn copies_that_c_does_not_see_have_the_bytes_of_those_that_it_sees() {
    const NDLZ: u8 = 32;
    let data: Vec<u8> = (0..90_000).map(|i| (i / 300 * (i % 7)) as u8).collect();
    // SAFETY: every pointer is valid as long as it is used; what is made is freed once.
    unsafe {
        let mut postparams: blosc2_postfilter_params = std::mem::zeroed();
        let mut cparams = blosc2_cparams {
            typesize: 1,
            compcode: NDLZ,
            compcode_meta: 4,
            filters: [0; 6],
            ..blosc2_cparams::defaults()
        };
        let mut dparams = blosc2_dparams {
            postfilter: Some(same),
            postparams: &raw mut postparams,
            ..blosc2_dparams::defaults()
        };
        let mut storage = blosc2_storage {
            cparams: &raw mut cparams,
            dparams: &raw mut dparams,
            ..blosc2_storage::defaults()
        };
        let (shape, chunks, blocks) = ([300, 300], [100, 100], [20, 52]);
        let ctx = b2nd_create_ctx(
            &raw const storage,
            2,
            shape.as_ptr(),
            chunks.as_ptr(),
            blocks.as_ptr(),
            null(),
            0,
            null(),
            0,
        );
        let mut array = null_mut();
        let len = data.len() as i64;
        let created = b2nd_from_cbuffer(ctx, &raw mut array, data.as_ptr().cast(), len);
        assert_eq!((created, b2nd_free_ctx(ctx)), (0, 0));
        let frame = |schunk, owned| {
            let (mut start, mut needs_free) = (null_mut(), false);
            let len = blosc2_schunk_to_buffer(schunk, &raw mut start, &raw mut needs_free);
            assert_eq!(needs_free, owned);
            let frame = std::slice::from_raw_parts(start, len as usize).to_vec();
            if owned {
                libc::free(start.cast());
            }
            frame
        };
        storage = blosc2_storage {
            contiguous: true,
            ..blosc2_storage::defaults()
        };
        let copy = blosc2_schunk_copy((*array).sc, &raw mut storage);
        assert_eq!(frame((*array).sc, true), frame(copy, false));
        assert_eq!((blosc2_schunk_free(copy), b2nd_free(array)), (0, 0));
    }
}

#[test]
fn a_view_keeps_the_chunks_of_a_freed_array() {
    let data = counted(60);
    let array = our_arrays()
        .array_of(&spec(&[4, 15], &[2, 7], &[1, 3], 1), &data)
        .unwrap();
    let view = array.expand(&[true, false, false]).unwrap();
    let further = view.expand(&[false, false, false, true]).unwrap();
    drop(array);
    assert_eq!(
        (view.shape(), further.shape()),
        (vec![1, 4, 15], vec![1, 4, 15, 1])
    );
    assert_eq!(view.set(&[0, 1, 2], &[1, 2, 3], &[1, 1, 1], &[99]), 0);
    drop(view);
    let mut expected = data;
    expected[17] = 99;
    assert_eq!(further.to_buffer().unwrap(), expected);
    // A frame of the view has the view's shape.
    let again = our_arrays()
        .open_frame(further.to_frame().unwrap(), true)
        .unwrap();
    assert_eq!(
        (again.shape(), again.to_buffer().unwrap()),
        (vec![1, 4, 15, 1], expected)
    );
    assert_eq!(further.resize(&[1, 5, 15, 1], None), -12);
}

/// The second array's chunks are stored, and have the size of their data as long as they are not
/// compressed again.
#[test]
fn arrays_that_are_joined_where_a_chunk_ends_keep_their_chunks() {
    let libs = [Some(our_arrays()), reference_arrays()];
    let libs = libs.map(|lib| lib.expect("the reference"));
    for (len, aligned) in [(80, true), (70, false)] {
        for axis in [0, 1] {
            let mut shape = [80, 90];
            shape[axis] = len;
            let first = spec(&shape, &[20, 40], &[10, 20], 1);
            let mut second = first.clone();
            second.cparams.clevel = 0;
            let data: Vec<u8> = (0..shape[0] * shape[1]).map(|i| (i / 999) as u8).collect();
            let joined = libs.map(|lib| {
                let (one, two) = (lib.array_of(&first, &data), lib.array_of(&second, &data));
                let array = one.unwrap().joined(&first, &two.unwrap(), axis as i8);
                let array = array.unwrap();
                // SAFETY: the super-chunk of an array that is there.
                let (nbytes, cbytes) = unsafe {
                    let schunk = &*array.fields().sc;
                    (schunk.nbytes, schunk.cbytes)
                };
                (array.to_buffer().unwrap(), nbytes, cbytes)
            });
            let [(ours, nbytes, cbytes), theirs] = &joined;
            assert_eq!((ours, nbytes), (&theirs.0, &theirs.1));
            if aligned {
                assert_eq!(cbytes, &theirs.2, "axis {axis}");
            }
            assert_eq!(*cbytes > nbytes / 3, aligned, "axis {axis}");
        }
    }
}
