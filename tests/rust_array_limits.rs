//! Arrays of Rust programs take no more memory than they need, and no metalayer makes them panic.

mod common;

use common::data::Kind;
use common::folder::Folder;
use common::isolated::isolated;
use common::memory_use::{forget_peaks, status};
use common::rust_arrays::{CUT, layout, make, storage};
use oxiblosc_core::{Array, Chunking, Error, Initial, Place};

/// A call of a function of an array, and its name.
type Call = (&'static str, fn(&Array));

/// A program or another process may write anything into the metalayer of an array. Every function then works or returns an error.
#[test]
fn no_metalayer_makes_an_array_panic() {
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
