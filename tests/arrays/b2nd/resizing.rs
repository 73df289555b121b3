//! Arrays that grow and shrink, and their public shapes.

use super::*;

#[test]
fn one_chunk_appended_to_a_length_that_is_no_multiple() {
    let data = counted(5 * 4);
    let array = our_arrays()
        .array_of(&spec(&[5], &[4], &[2], 4), &data)
        .unwrap();
    let more: Vec<u8> = (0..16).map(|i| 200 - i).collect();
    assert_eq!(array.append(0, &more), 0);
    assert_eq!(array.shape(), [9]);
    assert_eq!(array.to_buffer().unwrap(), [data, more].concat());
}

#[test]
fn as_many_items_as_a_padded_chunk_has_are_appended() {
    for len in [5, 10, 12] {
        let data = counted(len);
        let array = our_arrays()
            .array_of(&spec(&[len as i64], &[5], &[3], 1), &data)
            .unwrap();
        let more = [200, 201, 202, 203, 204, 205];
        assert_eq!(array.append(0, &more), 0);
        assert_eq!(array.to_buffer().unwrap(), [&data[..], &more].concat());
    }
}

#[test]
fn nothing_is_inserted_into_an_array_of_nothing() {
    let array = our_arrays()
        .array_of(&spec(&[0, 3], &[4, 2], &[2, 2], 1), &[])
        .unwrap();
    assert_eq!(array.append(1, &[]), 0);
    assert_eq!(array.append(1, &[1, 2]), -12);
    assert_eq!(array.append(0, &[1, 2, 3, 4, 5, 6]), 0);
    assert_eq!(array.shape(), [2, 3]);
    assert_eq!(array.to_buffer().unwrap(), [1, 2, 3, 4, 5, 6]);
}

#[test]
fn what_grows_after_a_shrink_is_zeros() {
    let array = our_arrays()
        .array_of(&spec(&[8, 3], &[4, 3], &[2, 2], 1), &counted(24))
        .unwrap();
    assert_eq!(
        (array.resize(&[3, 2], None), array.resize(&[6, 3], None)),
        (0, 0)
    );
    let mut expected = vec![0; 18];
    for (row, kept) in expected.chunks_mut(3).zip(counted(24).chunks(3).take(3)) {
        row[..2].copy_from_slice(&kept[..2]);
    }
    assert_eq!(array.to_buffer().unwrap(), expected);
}

#[test]
fn a_repeated_item_goes_on_to_the_end_of_its_chunks_until_something_is_cut_off() {
    let lib = our_arrays();
    let item = 7u32.to_le_bytes();
    let created = lib.make(&spec(&[4, 4], &[3, 3], &[2, 2], 4), |ctx, array| {
        // SAFETY: parameters, a place, and an item.
        unsafe { (lib.f.b2nd_full)(ctx, array, item.as_ptr().cast()) }
    });
    let array = created.expect("an array");
    let numbers = |array: &Array| -> Vec<u32> {
        let data = array.to_buffer().expect("data");
        let items = data
            .chunks(4)
            .map(|item| item.try_into().expect("four bytes"));
        items.map(u32::from_le_bytes).collect()
    };
    assert_eq!(array.resize(&[4, 7], None), 0);
    assert_eq!(numbers(&array), [7, 7, 7, 7, 7, 7, 0].repeat(4));
    assert_eq!(array.resize(&[4, 5], None), 0);
    assert_eq!(array.resize(&[5, 6], None), 0);
    let row = [7, 7, 7, 7, 7, 0];
    // Of the last row, the chunk that was not cut shows what it had.
    let last = [7, 7, 7, 0, 0, 0];
    assert_eq!(numbers(&array), [row.repeat(4), last.to_vec()].concat());
}

#[test]
fn the_public_shapes_are_shown_and_not_read_back() {
    let data = counted(8 * 3);
    let array = our_arrays()
        .array_of(&spec(&[8, 3], &[4, 3], &[2, 2], 1), &data)
        .unwrap();
    let shown = |array: &Array| {
        // SAFETY: the array is there.
        let c = unsafe { &*array.raw() };
        (c.shape, c.nitems, c.item_array_strides)
    };
    let before = shown(&array);
    // SAFETY: as above; no pointer is changed.
    unsafe {
        let c = &mut *array.raw();
        (c.ndim, c.shape, c.chunkshape, c.blockshape) = (7, [1; 16], [9; 16], [5; 16]);
        (c.nitems, c.item_array_strides, c.dtype_format) = (-1, [3; 16], 99);
    }
    let mut read = vec![0; data.len()];
    assert_eq!(array.get(&[0, 0], &[8, 3], &[8, 3], &mut read), 0);
    assert_eq!(read, data);
    assert_eq!(
        (array.resize(&[9, 3], None), array.resize(&[8, 3], None)),
        (0, 0)
    );
    assert_eq!(shown(&array), before);
}
