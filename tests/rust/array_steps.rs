//! Arrays of Rust programs take the same steps as those of C programs, in every place: the same
//! items come out, and what is refused there is refused here. (`tests/arrays/b2nd_model` compares
//! those of C programs with the reference's.)

use blosc2::capi::types::blosc2_cparams;
use oxiblosc::{
    Array, CParams, Chunking, Error, Initial, Place, Protection, StorageParams, SuperChunk, codec,
};
use oxiblosc_testing::b2nd::{Array as CArray, Spec, our_arrays, reference_arrays};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::rust_arrays::{CUT, cparams, layout, make, storage};
use std::path::Path;

/// The same in C, in memory.
fn spec(shape: &[i64], cut: Chunking) -> Spec {
    Spec {
        shape: shape.to_vec(),
        chunks: cut.chunks.to_vec(),
        blocks: cut.blocks.to_vec(),
        cparams: blosc2_cparams {
            compcode: codec::LZ4,
            typesize: 4,
            ..blosc2_cparams::defaults()
        },
        nthreads: 1,
        contiguous: true,
        path: None,
    }
}

/// So many items, each another one.
fn items(range: std::ops::Range<i32>) -> Vec<u8> {
    range.flat_map(i32::to_le_bytes).collect()
}

fn shape_of(array: &Array) -> Vec<i64> {
    array.shape().expect("a shape").to_vec()
}

fn all_of(array: &Array) -> Vec<u8> {
    let shape = shape_of(array);
    let mut all = vec![0; 4 * shape.iter().product::<i64>() as usize];
    let start = vec![0; shape.len()];
    array.read(&start, &shape, &mut all).expect("all items");
    all
}

/// Both took a step: they say the same of it, and are the same after it.
fn compare(array: &Array, c: &CArray, done: Result<(), Error>, rc: i32, what: &str) {
    assert_eq!(
        done.map_err(|_| ()),
        [Ok(()), Err(())][usize::from(rc < 0)],
        "{what}"
    );
    assert_eq!(shape_of(array), c.shape(), "{what}");
    assert!(all_of(array) == c.to_buffer().expect("all items"), "{what}");
}

/// Runs `body` for an array of `shape` in each place, and its like in C.
fn in_every_place(name: &str, shape: &[i64], body: impl Fn(&Array, &CArray, &Path, &str)) {
    let folder = Folder::new(name);
    let (file, directory) = (folder.join("file"), folder.join("directory"));
    let places = [
        Place::Memory,
        Place::Frame,
        Place::File(&file),
        Place::Directory(&directory),
    ];
    let data = items(0..shape.iter().product::<i64>() as i32);
    let library = our_arrays();
    for (i, place) in places.into_iter().enumerate() {
        let array = make(place, shape, Initial::Items(&data)).expect("an array");
        let c = library
            .array_of(&spec(shape, CUT), &data)
            .expect("an array");
        let what = format!("{place:?}");
        compare(&array, &c, Ok(()), 0, &what);
        body(&array, &c, &folder.join(&format!("more-{i}")), &what);
    }
}

/// A step by name: in Rust, and in C.
type Step<'a> = (
    &'a str,
    &'a dyn Fn() -> Result<(), Error>,
    &'a dyn Fn() -> i32,
);

#[test]
fn shapes_change_as_in_c() {
    in_every_place("rust-arrays-shapes", &[20, 15], |array, c, _, what| {
        let rows = items(-100..-100 + 16 * 15);
        let columns = items(500..500 + 36 * 2);
        let steps: [Step; 12] = [
            ("insert", &|| array.insert(&rows, 0, 8), &|| {
                c.insert(0, 8, &rows)
            }),
            (
                "insert within a chunk",
                &|| array.insert(&rows, 0, 9),
                &|| c.insert(0, 9, &rows),
            ),
            ("append", &|| array.append(&columns, 1), &|| {
                c.append(1, &columns)
            }),
            (
                "append no whole rows",
                &|| array.append(&columns[4..], 1),
                &|| c.append(1, &columns[4..]),
            ),
            (
                "append to an axis that there is not",
                &|| array.append(&columns, 2),
                &|| c.append(2, &columns),
            ),
            ("delete a chunk", &|| array.delete(0, 8, 8), &|| {
                c.delete(0, 8, 8)
            }),
            ("delete the end", &|| array.delete(1, 14, 3), &|| {
                c.delete(1, 14, 3)
            }),
            ("delete beyond the end", &|| array.delete(1, 14, 3), &|| {
                c.delete(1, 14, 3)
            }),
            ("grow", &|| array.resize(&[31, 17]), &|| {
                c.resize(&[31, 17], None)
            }),
            ("shrink", &|| array.resize(&[9, 5]), &|| {
                c.resize(&[9, 5], None)
            }),
            ("to nothing", &|| array.resize(&[0, 5]), &|| {
                c.resize(&[0, 5], None)
            }),
            ("and back", &|| array.resize(&[10, 10]), &|| {
                c.resize(&[10, 10], None)
            }),
        ];
        for (step, rust, in_c) in steps {
            compare(array, c, rust(), in_c(), &format!("{what}, {step}"));
        }
    });
}

#[test]
fn items_are_picked_as_in_c() {
    in_every_place("rust-arrays-items", &[20, 15], |array, c, _, what| {
        let picks: [[Vec<i64>; 2]; 4] = [
            [vec![3, 19, 3, 0], vec![14, 0, 7]],
            [(0..20).collect(), vec![5]],
            [vec![], vec![1]],
            [vec![20], vec![1]],
        ];
        for lists in &picks {
            let count = 4 * lists[0].len() * lists[1].len();
            let (mut got, mut expected) = (vec![9; count], vec![9; count]);
            let refs = lists.each_ref().map(Vec::as_slice);
            let read = array.read_selection(&refs, &mut got);
            let rc = c.get_picked(lists, &mut expected);
            compare(array, c, read, rc, &format!("{what}, {lists:?}"));
            assert!(got == expected, "{what}, {lists:?}");
            let new = items(1000..1000 + count as i32 / 4);
            let (written, rc) = (
                array.write_selection(&refs, &new),
                c.set_picked(lists, &new),
            );
            compare(array, c, written, rc, &format!("{what}, {lists:?} written"));
        }
        let mut wrong = vec![0; 11];
        assert_eq!(
            array.read_selection(&[&[1], &[1]], &mut wrong),
            Err(Error::INVALID_PARAM)
        );
        assert_eq!(
            array.read_selection(&[&[1]], &mut [0; 4]),
            Err(Error::INVALID_PARAM)
        );
        for coords in [vec![299, 0, 17, 17], vec![], vec![300], vec![-1]] {
            let (mut got, mut expected) = (vec![9; 4 * coords.len()], vec![9; 4 * coords.len()]);
            let read = array.read_sparse(&coords, &mut got);
            let rc = c.get_sparse(&coords, &mut expected);
            compare(array, c, read, rc, &format!("{what}, {coords:?}"));
            assert!(rc < 0 || got == expected, "{what}, {coords:?}");
        }
    });
}

#[test]
fn arrays_are_copied_and_joined_as_in_c() {
    in_every_place("rust-arrays-copies", &[20, 15], |array, c, path, what| {
        array
            .schunk()
            .set_vlmetalayer(b"unit", b"metre")
            .expect("a metalayer");
        // A slice, copies in the same and in other chunks.
        let other = Chunking {
            chunks: &[5, 5],
            blocks: &[5, 2],
        };
        let bounds = (&[3i64, 2][..], &[17, 15][..]);
        let sliced = array.slice(bounds, other, storage(Place::Memory));
        let c_sliced = c
            .slice(&spec(&[14, 13], other), bounds.0, bounds.1)
            .expect("a slice");
        compare(
            &sliced.expect("a slice"),
            &c_sliced,
            Ok(()),
            0,
            &format!("{what}, slice"),
        );
        for cut in [CUT, other] {
            let copy = array.copy_to(cut, storage(Place::File(path)));
            let copy = copy.expect("a copy");
            compare(&copy, c, Ok(()), 0, &format!("{what}, copy"));
            let (chunks, blocks) = copy.chunks_and_blocks().expect("shapes");
            assert_eq!([&*chunks, &*blocks], [cut.chunks, cut.blocks]);
            assert_eq!(copy.dtype().expect("a dtype").as_deref(), Some(&b"<i4"[..]));
            assert_eq!(
                *copy.schunk().get_vlmetalayer(b"unit").expect("content"),
                *b"metre"
            );
            drop(copy);
            for library in [Some(our_arrays()), reference_arrays()]
                .into_iter()
                .flatten()
            {
                let opened = library.open_path(path).expect("an array");
                assert!(
                    opened.to_buffer().expect("all items") == all_of(array),
                    "{what}"
                );
            }
            std::fs::remove_file(path).expect("a file");
        }
        let wider = CParams {
            typesize: 8,
            ..cparams()
        };
        for cut in [CUT, other] {
            let copy = array.copy_to(
                cut,
                StorageParams {
                    cparams: wider.clone(),
                    ..storage(Place::Memory)
                },
            );
            assert_eq!(copy.err(), Some(Error::INVALID_PARAM), "{what}");
        }
        // Joins: with one whose other dimension is alike, with one whose is not, and with itself.
        for (shape, axis) in [([7, 15], 0), ([20, 4], 1), ([7, 15], 1), ([27, 1], 2)] {
            let data = items(7000..7000 + (shape[0] * shape[1]) as i32);
            let more = make(Place::Memory, &shape, Initial::Items(&data)).expect("an array");
            let c_more = c.lib.array_of(&spec(&shape, CUT), &data).expect("an array");
            let (joined, rc) = (array.join(&more, axis), c.extend(&c_more, axis as i8));
            compare(
                array,
                c,
                joined,
                rc,
                &format!("{what}, {shape:?} along {axis}"),
            );
        }
        assert_eq!(array.join(array, 0), Err(Error::INVALID_PARAM), "{what}");
    });
}

#[test]
fn views_show_and_change_what_is_there() {
    in_every_place("rust-arrays-views", &[1, 15], |array, c, _, what| {
        let axes = [true, false, true, false];
        let (view, c_view) = (array.expand_dims(&axes), c.expand(&axes).expect("a view"));
        let view = view.expect("a view");
        assert_eq!(*view.shape().expect("a shape"), c_view.shape(), "{what}");
        view.write(&[0, 0, 0, 3], &[1, 1, 1, 5], &items(70..72))
            .expect("a change");
        let rc = c_view.set(&[0, 0, 0, 3], &[1, 1, 1, 5], &[1, 1, 1, 2], &items(70..72));
        compare(array, c, Ok(()), rc, what);
        for wrong in [&axes[..3], &[true; 17]] {
            assert_eq!(
                array.expand_dims(wrong).err(),
                Some(Error::INVALID_PARAM),
                "{what}"
            );
        }
        // Chunks of eight rows are padded along the first axis.
        assert_eq!(array.squeeze().is_err(), c.squeeze().is_err(), "{what}");
        assert_eq!(
            array.squeeze_axes(&[false, true]).err(),
            Some(Error::INVALID_INDEX),
            "{what}"
        );
    });
    let thin = Chunking {
        chunks: &[1, 6],
        blocks: &[1, 4],
    };
    let data = items(0..15);
    let array = Array::create(
        &layout(&[1, 15], thin),
        Initial::Items(&data),
        storage(Place::Memory),
    )
    .expect("an array");
    let mut part = [0; 8];
    let view = array.squeeze().expect("a view");
    view.read(&[4], &[6], &mut part).expect("items");
    assert_eq!(part, data[16..24]);
    array.append(&items(0..15), 0).expect("a row");
    assert_eq!(view.shape().err(), Some(Error::INVALID_INDEX));
}

#[test]
fn new_arrays_have_what_was_asked_for() {
    let (shape, n) = ([20, 15], 300);
    for (initial, expected) in [
        (Initial::Zeros, vec![0; 4 * n]),
        (Initial::Item(&[1, 2, 3, 4]), [1, 2, 3, 4].repeat(n)),
        (Initial::Nans, f32::NAN.to_le_bytes().repeat(n)),
    ] {
        let array = make(Place::Frame, &shape, initial).expect("an array");
        assert!(all_of(&array) == expected, "{initial:?}");
        let frame = array.schunk().to_frame().expect("a frame");
        let again = Array::of(SuperChunk::from_frame(frame, 1).expect("a frame"));
        assert!(all_of(&again.expect("an array")) == expected, "{initial:?}");
    }
    let uninit = make(Place::Memory, &shape, Initial::Uninit).expect("an array");
    assert_eq!(shape_of(&uninit), shape);
    for wrong in [Initial::Item(&[1]), Initial::Items(&[0; 4 * 299])] {
        let created = make(Place::Memory, &shape, wrong);
        assert_eq!(created.err(), Some(Error::INVALID_PARAM), "{wrong:?}");
    }
    let empty = make(Place::Memory, &[0, 15], Initial::Item(&[1, 2, 3, 4])).expect("an array");
    assert!(all_of(&empty).is_empty());
}

/// What is made of an array, named.
type Derivation = (&'static str, fn(Array) -> Result<Array, Error>);

const DERIVATIONS: [Derivation; 6] = [
    ("slice", |array| {
        array.slice((&[1, 2], &[19, 14]), CUT, storage(Place::Memory))
    }),
    ("other chunks", |array| {
        let other = Chunking {
            chunks: &[5, 9],
            blocks: &[2, 3],
        };
        array.copy_to(other, storage(Place::Memory))
    }),
    ("another codec", |array| {
        let mut storage = storage(Place::Memory);
        storage.cparams.codec = codec::ZSTD;
        array.copy_to(CUT, storage)
    }),
    ("behind a part of a chunk", |array| joined(20, &array)),
    ("behind whole chunks", |array| joined(16, &array)),
    ("an item written", |array| {
        array.write(&[0, 0], &[1, 1], &[0; 4])?;
        Ok(array)
    }),
];

/// Zeros in `len` rows, and an array behind them.
fn joined(len: i64, array: &Array) -> Result<Array, Error> {
    let zeros = make(Place::Memory, &[len, 15], Initial::Zeros)?;
    zeros.join(array, 0)?;
    Ok(zeros)
}

/// Memory that had the data of another array does not show where an array has nothing.
#[test]
fn items_that_were_never_written_show_no_other_array() {
    for (name, derive) in DERIVATIONS {
        for place in [Place::Memory, Place::Frame] {
            let of = |initial| derive(make(place, &[20, 15], initial)?);
            let before = of(Initial::Item(&[7; 4])).expect("an array");
            assert!(all_of(&before).contains(&7), "{name}");
            let never = of(Initial::Uninit).expect("an array");
            assert!(all_of(&never).iter().all(|byte| *byte == 0), "{name}");
        }
    }
}

#[test]
fn super_chunks_become_files() {
    let folder = Folder::new("rust-arrays-saved");
    let (file, created) = (folder.join("saved"), folder.join("made"));
    for place in [Place::Memory, Place::Frame, Place::File(&created)] {
        let schunk = SuperChunk::create(storage(place)).expect("one");
        schunk
            .add_metalayer(b"fixed", b"content")
            .expect("a metalayer");
        schunk
            .set_vlmetalayer(b"more", b"content")
            .expect("a metalayer");
        schunk.append_data(&items(0..5000)).expect("a chunk");
        let len = schunk.save(&file, true).expect("a file");
        assert_eq!(file.metadata().expect("a file").len(), len, "{place:?}");
        // A frame in memory replaces a file; the others write where there is nothing.
        let again = schunk.save(&file, false);
        let expected = if place == Place::Frame {
            Ok(len)
        } else {
            Err(Error::FILE_OPEN)
        };
        assert_eq!(again, expected, "{place:?}");
        let start = schunk.append_to_file(&file, true).expect("room");
        assert_eq!(start, len, "{place:?}");
        for at in [0, start] {
            let opened = SuperChunk::open(&file, at, 1, Protection::default()).expect("a frame");
            let chunks = [&opened, &schunk].map(|of| of.chunk(0).expect("a chunk").to_vec());
            assert!(chunks[0] == chunks[1], "{place:?}");
            assert_eq!(opened.metalayer(b"fixed").as_deref(), Ok(&b"content"[..]));
            assert_eq!(opened.metalayer(b"other").err(), Some(Error::NOT_FOUND));
            let names = opened.vlmetalayer_names().expect("names");
            assert!(names.iter().map(|name| &name[..]).eq([b"more"]));
            assert!(
                opened
                    .metalayer_names()
                    .expect("names")
                    .iter()
                    .map(|name| &name[..])
                    .eq([b"fixed"])
            );
        }
        std::fs::remove_file(&file).expect("a file");
    }
}
