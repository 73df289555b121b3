//! Arrays of Rust programs take no more memory than they need, and no metalayer makes them panic.

use oxiblosc::{Array, Chunking, Error, Initial, Place};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::memory_use::{forget_peaks, status};
use oxiblosc_testing::rust_arrays::{CUT, layout, make, storage};

/// A call of a function of an array, and its name.
type Call = (&'static str, fn(&Array));

/// A program or another process may write anything into the metalayer of an array. Every function
/// then works or returns an error.
#[test]
fn no_metalayer_makes_an_array_panic() {
    oxiblosc_testing::own_process!();
    let shape = [20, 14];
    let items = vec![7; 20 * 14 * 4];
    let make = || make(Place::Frame, &shape, Initial::Items(&items)).expect("an array");
    let content = make().schunk().metalayer(b"b2nd").expect("its metalayer");
    let calls: [Call; 14] = [
        ("shape", |a| _ = a.shape()),
        ("read", |a| _ = a.read(&[0, 0], &[2, 2], &mut [0; 16])),
        ("write", |a| _ = a.write(&[0, 0], &[2, 2], &[1; 16])),
        ("read_selection", |a| {
            _ = a.read_selection(&[&[1, 0], &[0, 1]], &mut [0; 16]);
        }),
        ("write_selection", |a| {
            _ = a.write_selection(&[&[1, 0], &[0, 1]], &[0; 16]);
        }),
        ("read_sparse", |a| _ = a.read_sparse(&[5, 1], &mut [0; 8])),
        ("append", |a| _ = a.append(&[0; 14 * 4], 0)),
        ("insert", |a| _ = a.insert(&[0; 14 * 8 * 4], 0, 8)),
        ("delete", |a| _ = a.delete(0, 0, 8)),
        ("resize", |a| _ = a.resize(&[21, 5])),
        ("slice", |a| {
            _ = a.slice((&[0, 0], &[2, 2]), CUT, storage(Place::Frame));
        }),
        ("copy", |a| {
            let cut = Chunking {
                chunks: &[5, 5],
                blocks: &[5, 5],
            };
            _ = a.copy_to(cut, storage(Place::Frame));
        }),
        ("join", |a| {
            let other = Array::zeros(&layout(&[20, 14], CUT), storage(Place::Frame));
            let other = other.expect("an array");
            _ = (other.join(a, 0), a.join(&other, 0));
        }),
        ("views", |a| {
            let views = [a.squeeze(), a.expand_dims(&[true, false, false])];
            for view in views.iter().flatten() {
                _ = view.read(&[0; 3], &[1; 3], &mut [0; 4]);
            }
        }),
    ];
    for at in 0..content.len() {
        for value in [0, 1, 0x7f, 0x80, 0xff] {
            let mut damaged = content.to_vec();
            damaged[at] = value;
            for (name, call) in calls {
                let array = make();
                let schunk = array.schunk();
                schunk.update_metalayer(b"b2nd", &damaged).expect("writes");
                let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| call(&array)));
                assert!(done.is_ok(), "{name}, byte {at} is {value}");
            }
        }
    }
}

/// A way to derive an array from another, and its name.
type Derive<'a> = (&'static str, &'a dyn Fn() -> Result<Array, Error>);

/// Arrays that are derived from one in a file need memory for a few chunks, not for all.
#[test]
fn copies_into_files_need_little_memory() {
    oxiblosc_testing::own_process!();
    const ROWS: i64 = 96;
    const ROW: i64 = 1 << 17;
    let cut = |rows| Chunking {
        chunks: match rows {
            1 => &[1, 1 << 17],
            _ => &[2, 1 << 16],
        },
        blocks: &[1, 1 << 14],
    };
    let folder = Folder::new("little-memory");
    let (from, to) = (folder.join("from"), folder.join("to"));
    let source = Array::zeros(&layout(&[ROWS, ROW], cut(1)), storage(Place::File(&from)));
    let source = source.expect("an array");
    for row in 0..ROWS {
        let noise = Kind::Random.bytes(4 * ROW as usize, row as u64);
        let written = source.write(&[row, 0], &[row + 1, ROW], &noise);
        written.expect("writes");
    }
    let all: (&[i64], &[i64]) = (&[0, 0], &[ROWS, ROW]);
    let derived: [Derive; 3] = [
        ("copy", &|| {
            source.copy_to(cut(2), storage(Place::File(&to)))
        }),
        ("slice", &|| {
            source.slice(all, cut(2), storage(Place::File(&to)))
        }),
        ("copy of chunks", &|| {
            source.copy_to(cut(1), storage(Place::File(&to)))
        }),
    ];
    for (name, derive) in derived {
        let _ = std::fs::remove_file(&to);
        isolated(60, || {
            forget_peaks();
            let before = status("VmRSS");
            derive().map_err(|error| format!("{error:?}"))?;
            let grown = status("VmHWM").saturating_sub(before);
            match grown < 28 << 20 {
                true => Ok(()),
                false => Err(format!("{grown} bytes")),
            }
        })
        .unwrap_or_else(|wrong| panic!("{name}: {wrong}"));
    }
}

/// An array of very many chunks without bytes is changed at the cost of what is there: each change
/// needs the memory of the chunks that have bytes, and of a compressed index.
#[test]
fn very_many_chunks_without_bytes_are_changed() {
    oxiblosc_testing::own_process!();
    const CHUNKS: i64 = 20_000_000;
    const CHUNK: i64 = 10;
    let folder = Folder::new("very-many");
    let cut = Chunking {
        chunks: &[CHUNK as i32],
        blocks: &[CHUNK as i32],
    };
    let items = |from: u8, len: usize| (0..4 * len).map(|i| from ^ i as u8).collect::<Vec<_>>();
    let (file, directory) = (folder.join("file.b2nd"), folder.join("directory.b2nd"));
    let places = [
        Place::Frame,
        Place::File(&file),
        Place::Directory(&directory),
    ];
    for (n, place) in places.into_iter().enumerate() {
        isolated(100, || {
            forget_peaks();
            let before = status("VmRSS");
            let failed = |what: &'static str| move |error: Error| format!("{n}: {what}: {error:?}");
            let shape = [CHUNKS * CHUNK];
            let array = Array::zeros(&layout(&shape, cut), storage(place));
            let array = array.map_err(failed("zeros"))?;
            let middle = shape[0] / 2 + 5;
            let first = items(3, 20);
            array
                .write(&[middle], &[middle + 20], &first)
                .map_err(failed("write"))?;
            // Written again, items find their chunks.
            array
                .write(&[middle + 3], &[middle + 4], &items(9, 1))
                .map_err(failed("write again"))?;
            array.append(&items(5, 25), 0).map_err(failed("append"))?;
            // Near the end: all chunks behind those that go are listed.
            array
                .delete(0, shape[0] - 9 * CHUNK, 2 * CHUNK)
                .map_err(failed("delete"))?;
            let now = shape[0] + 25 - 2 * CHUNK;
            array.resize(&[now + 2 * CHUNK]).map_err(failed("grow"))?;
            array.resize(&[now]).map_err(failed("shrink"))?;
            let array = match place {
                Place::File(path) | Place::Directory(path) => {
                    drop(array);
                    Array::open(path, 1, Default::default()).map_err(failed("open"))?
                }
                _ => array,
            };
            let mut found = vec![0; 4 * 25];
            array
                .read(&[now - 25], &[now], &mut found)
                .map_err(failed("read the end"))?;
            let mut expected = items(5, 25);
            let is_end = found == expected;
            array
                .read(&[middle - 5], &[middle + 20], &mut found)
                .map_err(failed("read the middle"))?;
            expected = [vec![0; 20], first].concat();
            expected[20 + 12..][..4].copy_from_slice(&items(9, 1));
            let grown = status("VmHWM").saturating_sub(before);
            match (is_end && found == expected, grown < 60 << 20) {
                (true, true) => Ok(()),
                other => Err(format!("{n}: {other:?}, {grown} bytes")),
            }
        })
        .unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}
