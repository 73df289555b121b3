//! Arrays: the metalayer against the reference, the fixtures, what the reference gets wrong, and damaged frames.
//!
//! `OXIBLOSC_HOSTILE_B2ND` is the number of damaged frames (2,000 by default), `OXIBLOSC_HOSTILE_B2ND_FIRST` that of the
//! first: the same number always gives the same frame.

mod common;

use blosc2::capi::b2nd::context::{b2nd_create_ctx, b2nd_free_ctx};
use blosc2::capi::b2nd::convert::b2nd_from_cbuffer;
use blosc2::capi::b2nd::create::b2nd_free;
use blosc2::capi::schunk::convert::{blosc2_schunk_copy, blosc2_schunk_to_buffer};
use blosc2::capi::schunk::create::blosc2_schunk_free;
use blosc2::capi::types::{
    blosc2_cparams, blosc2_dparams, blosc2_postfilter_params, blosc2_storage,
};
use common::b2nd::{Array, B2ndLib, Spec, c_path, our_arrays, reference_arrays};
use common::data::{Rng, mix};
use common::fixtures::fixtures;
use common::isolated::isolated;
use std::ffi::{CStr, c_int};
use std::ptr::{null, null_mut};

fn spec(shape: &[i64], chunks: &[i32], blocks: &[i32], typesize: i32) -> Spec {
    Spec {
        shape: shape.to_vec(),
        chunks: chunks.to_vec(),
        blocks: blocks.to_vec(),
        cparams: blosc2_cparams {
            typesize,
            ..blosc2_cparams::defaults()
        },
        nthreads: 1,
        contiguous: true,
        path: None,
    }
}

fn counted(len: usize) -> Vec<u8> {
    (0..len).map(|i| (i * 7 + i / 251) as u8).collect()
}

/// Dimensions; the shapes of the array, its chunks and its blocks.
type Shapes = (i8, Vec<i64>, Vec<i32>, Vec<i32>);

/// What a library reads out of a metalayer.
#[derive(Debug, PartialEq)]
struct Parsed {
    rc: i32,
    shapes: Option<Shapes>,
    dtype: Option<(i8, Vec<u8>)>,
}

fn parse(lib: &B2ndLib, smeta: &[u8]) -> Parsed {
    let (mut ndim, mut format, mut dtype) = (0, 0, null_mut());
    let (mut shape, mut chunks, mut blocks) = ([0; 16], [0; 16], [0; 16]);
    // SAFETY: shapes have room for 16 numbers; the dtype is freed once.
    unsafe {
        let rc = (lib.f.b2nd_deserialize_meta)(
            smeta.as_ptr(),
            smeta.len() as i32,
            &raw mut ndim,
            shape.as_mut_ptr(),
            chunks.as_mut_ptr(),
            blocks.as_mut_ptr(),
            &raw mut dtype,
            &raw mut format,
        );
        let text = (!dtype.is_null()).then(|| CStr::from_ptr(dtype).to_bytes().to_vec());
        libc::free(dtype.cast());
        let n = usize::try_from(ndim).unwrap_or(0).min(16);
        Parsed {
            rc,
            shapes: (rc >= 0).then(|| {
                let shapes = (
                    shape[..n].to_vec(),
                    chunks[..n].to_vec(),
                    blocks[..n].to_vec(),
                );
                (ndim, shapes.0, shapes.1, shapes.2)
            }),
            dtype: text.filter(|_| rc >= 0).map(|text| (format, text)),
        }
    }
}

fn serialize(lib: &B2ndLib, ndim: i8, shape: &[i64], cuts: &[i32], format: i8) -> (i32, Vec<u8>) {
    let mut smeta = null_mut();
    // SAFETY: as many numbers as dimensions; the result is freed once.
    unsafe {
        let rc = (lib.f.b2nd_serialize_meta)(
            ndim,
            shape.as_ptr(),
            cuts.as_ptr(),
            cuts.as_ptr(),
            c"<f8".as_ptr(),
            format,
            &raw mut smeta,
        );
        let len = usize::try_from(rc).unwrap_or(0);
        let bytes = match smeta.is_null() {
            true => Vec::new(),
            false => std::slice::from_raw_parts(smeta, len).to_vec(),
        };
        libc::free(smeta.cast());
        (rc, bytes)
    }
}

#[test]
fn metalayers_are_written_and_read_as_by_the_reference() {
    let ours = our_arrays();
    let Some(reference) = reference_arrays() else {
        return;
    };
    let mut rng = Rng(3);
    for case in 0..20_000 {
        let ndim = rng.below(17);
        let shape: Vec<i64> = (0..16)
            .map(|_| rng.next() as i64 >> rng.below(63))
            .collect();
        let cuts: Vec<i32> = (0..16)
            .map(|_| rng.next() as i32 >> rng.below(31))
            .collect();
        let format = rng.pick(&[0, 0, 1, 127, -1]);
        let written = serialize(ours, ndim as i8, &shape, &cuts, format);
        let expected = serialize(reference, ndim as i8, &shape, &cuts, format);
        assert_eq!(written.0, expected.0, "{case}");
        let mut smeta = expected.1;
        if expected.0 < 0 {
            continue;
        }
        assert_eq!(written.1, smeta, "{case}");
        match rng.below(3) {
            0 => smeta.truncate(rng.below(smeta.len() + 1)),
            1 => {
                for _ in 0..=rng.below(3) {
                    let at = rng.below(smeta.len());
                    smeta[at] = rng.next() as u8;
                }
            }
            _ => {}
        }
        assert_eq!(
            parse(ours, &smeta),
            parse(reference, &smeta),
            "{case}: {smeta:?}"
        );
    }
}

#[test]
fn the_fixtures_are_read_as_by_the_reference() {
    let (Some(folder), Some(reference)) = (fixtures(), reference_arrays()) else {
        return;
    };
    let names = ["example_day_month_temp.b2nd", "example_item_prices.b2nd"];
    let shapes: [&[i64]; 2] = [&[400, 3], &[12, 25, 250]];
    for (name, shape) in names.iter().zip(shapes) {
        let path = folder.join("b2nd").join(name);
        let ours = our_arrays().open_path(&path).expect(name);
        let theirs = reference.open_path(&path).expect(name);
        assert_eq!(ours.shape(), shape, "{name}");
        assert_eq!(ours.to_buffer(), theirs.to_buffer(), "{name}");
        let frame = std::fs::read(&path).expect(name);
        for copy in [false, true] {
            let again = our_arrays().open_frame(frame.clone(), copy).expect(name);
            assert_eq!(again.to_buffer(), theirs.to_buffer(), "{name}");
        }
    }
}

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
    let made = lib.make(&spec(&[4, 4], &[3, 3], &[2, 2], 4), |ctx, array| {
        // SAFETY: parameters, a place, and an item.
        unsafe { (lib.f.b2nd_full)(ctx, array, item.as_ptr().cast()) }
    });
    let array = made.expect("an array");
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
        let made = b2nd_from_cbuffer(ctx, &raw mut array, data.as_ptr().cast(), len);
        assert_eq!((made, b2nd_free_ctx(ctx)), (0, 0));
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

/// Chunks that lie together in the buffer, row by row or block by block, are compressed from there; those of a selection
/// that goes backwards are put together first.
#[test]
fn chunks_do_not_depend_on_how_their_data_lie_in_the_buffer() {
    let lib = our_arrays();
    let mut rng = Rng(7);
    let noise: Vec<u8> = (0..96 * 40 * 4).map(|_| rng.next() as u8).collect();
    let kinds = [
        vec![0; noise.len()],
        vec![9; noise.len()],
        counted(noise.len()),
        noise,
    ];
    let cuts: [(&[i64], &[i32], &[i32]); 5] = [
        (&[3840], &[1920], &[480]),
        (&[3840], &[1000], &[250]),
        (&[96, 40], &[96, 40], &[8, 40]),
        (&[96, 40], &[32, 40], &[8, 20]),
        (&[96, 40], &[50, 40], &[8, 40]),
    ];
    for data in &kinds {
        for (shape, chunks, blocks) in cuts {
            let spec = spec(shape, chunks, blocks, 4);
            let forwards = lib.array_of(&spec, data).unwrap();
            let backwards = lib.array_of(&spec, &vec![77; data.len()]).unwrap();
            let lists: Vec<Vec<i64>> = shape.iter().map(|len| (0..*len).rev().collect()).collect();
            let items: Vec<u8> = data.chunks_exact(4).rev().flatten().copied().collect();
            assert_eq!(backwards.set_picked(&lists, &items), 0);
            assert_eq!(forwards.to_buffer().unwrap(), *data);
            assert!(
                forwards.to_frame() == backwards.to_frame(),
                "{shape:?} {chunks:?} {blocks:?}"
            );
        }
    }
}

/// Bytes of address space that this process has.
fn address_space() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with("VmSize:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok());
    kilobytes.expect("a size") << 10
}

#[test]
fn a_slice_takes_no_more_memory_than_some_blocks() {
    const BLOCK: u64 = 10 * 40 * 50 * 8;
    let folder = std::env::temp_dir().join(format!("oxiblosc-slices-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let path = folder.join("array");
    let mut rng = Rng(3);
    let shape = [50, 200, 200];
    let data: Vec<u8> = (0..50 * 200 * 200)
        .flat_map(|i: u64| ((i << 20) | (rng.next() % 4096)).to_le_bytes())
        .collect();
    for nthreads in [1, 2] {
        let spec = Spec {
            nthreads,
            contiguous: true,
            path: Some(c_path(&path)),
            ..spec(&shape, &[50, 200, 100], &[10, 40, 50], 8)
        };
        let _ = std::fs::remove_file(&path);
        let read = isolated(60, || {
            let array = our_arrays().array_of(&spec, &data);
            let array = array.map_err(|rc| rc.to_string())?;
            let get = |start: [i64; 3], stop: [i64; 3], buffer: &mut [u8]| {
                let shape = [0, 1, 2].map(|d| stop[d] - start[d]);
                match array.get(&start, &stop, &shape, buffer) {
                    0 => Ok(()),
                    rc => Err(format!("{start:?} to {stop:?}: {rc}")),
                }
            };
            let mut buffer = vec![1; data.len()];
            // Threads, and what they keep, are there afterwards.
            get([0, 0, 0], [50, 200, 1], &mut buffer)?;
            limit_memory(address_space() + nthreads as u64 * 4 * BLOCK);
            get([0, 0, 0], shape, &mut buffer)?;
            get([3, 3, 3], [49, 190, 170], &mut buffer)?;
            get([7, 0, 0], [8, 200, 200], &mut buffer)
        });
        assert_eq!(read, Ok(()), "{nthreads} threads");
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
}

#[test]
fn large_items_go_through_a_contiguous_frame() {
    let data = counted(7 * 300);
    let array = our_arrays()
        .array_of(&spec(&[7], &[3], &[2], 300), &data)
        .unwrap();
    let frame = array.to_frame().unwrap();
    for copy in [false, true] {
        let again = our_arrays().open_frame(frame.clone(), copy).unwrap();
        assert_eq!(again.to_buffer().unwrap(), data);
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

#[test]
fn impossible_shapes_are_refused() {
    let refused = |shape: &[i64], chunks: &[i32], blocks: &[i32]| {
        our_arrays()
            .array_of(&spec(shape, chunks, blocks, 4), &[0; 64])
            .is_err()
    };
    assert!(refused(&[-1], &[1], &[1]));
    assert!(refused(&[5], &[0], &[0]));
    assert!(refused(&[5], &[2], &[0]));
    assert!(refused(&[i64::MAX], &[2], &[1]));
    assert!(refused(&[2, 2], &[1 << 16, 1 << 15], &[1, 1]));
    assert!(!refused(&[0], &[0], &[0]));
}

/// A few bytes may say that an array has millions of chunks: whatever would list them one by one is refused before it takes memory.
#[test]
fn chunks_without_end_are_not_listed_one_by_one() {
    const ITEMS: i64 = 2 * (9 << 20);
    let refused = isolated(60, || {
        // SAFETY: both are those of the call.
        let zeros = |ctx, array| unsafe { (our_arrays().f.b2nd_zeros)(ctx, array) };
        let array = our_arrays().make(&spec(&[ITEMS], &[2], &[2], 8), zeros);
        let array = array.map_err(|rc| rc.to_string())?;
        limit_memory(address_space() + (64 << 20));
        let items = [1; 16];
        let changes = [
            ("set", array.set(&[6], &[8], &[2], &items)),
            ("append", array.append(0, &items)),
            ("insert", array.insert(0, 4, &items)),
            ("delete", array.delete(0, 4, 2)),
            ("grow", array.resize(&[ITEMS + 10], None)),
            ("shrink", array.resize(&[ITEMS - 10], None)),
            ("picked", array.set_picked(&[vec![5, 9]], &items)),
        ];
        match changes.iter().find(|(_, rc)| *rc != -35) {
            None => Ok(()),
            Some(wrong) => Err(format!("{wrong:?}")),
        }
    });
    assert_eq!(refused, Ok(()));
}

/// Frames of arrays, to be damaged.
fn seeds() -> Vec<Vec<u8>> {
    let mut rng = Rng(11);
    let specs = [
        spec(&[30], &[7], &[3], 4),
        spec(&[9, 11], &[4, 5], &[3, 2], 8),
        spec(&[4, 5, 6], &[2, 3, 4], &[2, 2, 3], 2),
        spec(&[2, 2, 2, 2, 2], &[1, 2, 1, 2, 1], &[1, 1, 1, 2, 1], 1),
        spec(&[6, 0], &[2, 2], &[1, 1], 4),
        spec(&[], &[], &[], 8),
    ];
    let mut seeds = Vec::new();
    for (i, spec) in specs.iter().enumerate() {
        let items = spec.shape.iter().product::<i64>() as usize;
        let mut data = counted(items * spec.cparams.typesize as usize);
        if i % 2 == 1 {
            data.iter_mut().for_each(|byte| *byte = rng.next() as u8);
        }
        let array = our_arrays().array_of(spec, &data).unwrap();
        seeds.push(array.to_frame().unwrap());
    }
    seeds
}

/// The frame with something in it that should not be.
fn damaged(seed: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut frame = seed.to_vec();
    let meta = frame
        .windows(4)
        .position(|bytes| bytes == b"b2nd")
        .unwrap_or(0);
    for _ in 0..=rng.below(3) {
        // The header and the metalayer more often than the rest.
        let at = match rng.below(4) {
            0 => rng.below(frame.len()),
            1 => rng.below(100.min(frame.len())),
            _ => meta + rng.below(120),
        };
        let at = at.min(frame.len() - 1);
        match rng.below(4) {
            0 => frame[at] = rng.next() as u8,
            1 => frame[at] ^= 1 << rng.below(8),
            2 => {
                let value = rng.pick(&[0u8, 0xff, 0x7f, 0x80]);
                let end = frame.len().min(at + rng.pick(&[1, 4, 8]));
                frame[at..end].fill(value);
            }
            _ => {
                let end = frame.len().min(at + 4);
                let number = rng.pick(&[0i32, 1, -1, i32::MAX, i32::MIN, 1 << 20]);
                let number = number.to_be_bytes();
                frame[at..end].copy_from_slice(&number[..end - at]);
            }
        }
    }
    frame
}

/// Everything that can be done to an array, whatever it gives.
fn exercise(array: &Array, rng: &mut Rng) {
    let shape = array.shape();
    let nitems = array.fields().nitems;
    if nitems < 1 << 16 && array.typesize() <= 4096 {
        // The bytes of a damaged array cannot be judged.
        let _ = array.to_buffer();
    }
    let start: Vec<i64> = shape
        .iter()
        .map(|len| rng.next() as i64 % (len + 2).max(1))
        .collect();
    let stop: Vec<i64> = start
        .iter()
        .map(|at| at.saturating_add(1 + rng.below(3) as i64))
        .collect();
    let room: Vec<i64> = start
        .iter()
        .zip(&stop)
        .map(|(a, b)| (b - a).max(0))
        .collect();
    let items: i64 = room.iter().product();
    let len = (items as usize).saturating_mul(array.typesize());
    if len < 1 << 22 {
        let mut buffer = vec![1; len];
        array.get(&start, &stop, &room, &mut buffer);
        array.set(&start, &stop, &room, &buffer);
        let lists: Vec<Vec<i64>> = start.iter().map(|at| vec![*at, 0]).collect();
        let mut buffer = vec![1; array.typesize().saturating_mul(1 << lists.len())];
        array.get_picked(&lists, &mut buffer);
        array.set_picked(&lists, &buffer);
    }
    let mut item = vec![0; array.typesize().min(1 << 20)];
    array.get_sparse(&[rng.below(100) as i64], &mut item);
    let small: Vec<i64> = shape
        .iter()
        .map(|len| len.saturating_add(1).min(50))
        .collect();
    array.resize(&small, None);
    array.append(0, &item);
    drop(array.expand(&vec![false; shape.len()]));
    drop(array.squeeze());
    array.delete(0, 0, 1);
    drop(array.to_frame());
}

#[test]
fn damaged_frames_do_no_harm() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.replace('_', "").parse().expect(name))
    };
    let first = number("OXIBLOSC_HOSTILE_B2ND_FIRST", 0);
    let count = number("OXIBLOSC_HOSTILE_B2ND", 2000);
    let seeds = seeds();
    let mut bad = Vec::new();
    const BATCH: u64 = 50;
    let mut batch = first;
    while batch < first + count {
        let last = (batch + BATCH).min(first + count);
        let run = |numbers: std::ops::Range<u64>| {
            isolated(60, || {
                limit_memory(2 << 30);
                for number in numbers {
                    let mut rng = Rng(mix(number));
                    let frame = damaged(&seeds[number as usize % seeds.len()], &mut rng);
                    let copy = rng.below(2) == 0;
                    if let Ok(array) = our_arrays().open_frame(frame, copy) {
                        exercise(&array, &mut rng);
                    }
                }
                Ok(())
            })
        };
        if run(batch..last).is_err() {
            for number in batch..last {
                if let Err(how) = run(number..number + 1) {
                    bad.push(format!("{number}: {how}"));
                }
            }
        }
        batch = last;
    }
    assert!(bad.is_empty(), "{} of {count}: {bad:#?}", bad.len());
}

/// A frame that claims a lot must not get it.
fn limit_memory(bytes: u64) {
    let limit = libc::rlimit {
        rlim_cur: bytes,
        rlim_max: bytes,
    };
    // SAFETY: a limit of this process, which is a child.
    let rc = unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) };
    assert_eq!(rc, 0, "a limit");
}
