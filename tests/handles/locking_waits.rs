//! Which calls wait while another handle has the frame locked (`blosc2_schunk_lock`): none that
//! does not with the reference. A program may hold a lock of its own around such a call, which the
//! one who has the frame needs to go on: Python's interpreter does. So an array is made of an open
//! super-chunk without waiting, and what the handle knows is told.
//!
//! `OXIBLOSC_REFERENCE` names the reference's library; without it the test is skipped, in CI it
//! fails.

use oxiblosc_testing::b2nd::{Array, Library, Spec, c_path};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk_calls::Schunk;
use std::mem::forget;
use std::path::Path;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

/// For how long the frame is locked, and the part of it after which a call counts as one that
/// waited.
const HELD: Duration = Duration::from_millis(60);
const WAITED: Duration = Duration::from_millis(40);
/// A call that took so long may have done so since the machine is busy; it is tried again.
const TRIES: usize = 6;

/// What the call is made with: opened before the frame was locked.
struct Desk {
    library: Library,
    schunk: Option<Schunk>,
    array: Option<Array>,
    folder: Folder,
}

impl Desk {
    fn schunk(&self) -> &Schunk {
        self.schunk.as_ref().expect("a super-chunk")
    }

    fn array(&self) -> &Array {
        self.array.as_ref().expect("an array")
    }
}

type Call = (&'static str, fn(&mut Desk));

const CALLS: [Call; 33] = [
    ("array of a super-chunk", |d| {
        let schunk = d.schunk.take().expect("a super-chunk");
        d.array = Some(d.library.adopt(schunk));
    }),
    ("free a super-chunk", |d| drop(d.schunk.take())),
    ("free an array", |d| drop(d.array.take())),
    ("metalayers", |d| drop(d.schunk().metalayers())),
    ("vlmeta_exists", |d| _ = d.schunk().vlmeta_exists(c"name")),
    ("vlmeta_get", |d| drop(d.schunk().vlmeta_get(c"name"))),
    ("vlmeta_names", |d| drop(d.schunk().vlmeta_names())),
    ("cparams", |d| _ = d.schunk().cparams()),
    ("dparams", |d| _ = d.schunk().dparams_nthreads()),
    ("frame_len", |d| _ = d.schunk().frame_len()),
    ("offsets", |d| drop(d.schunk().offsets())),
    ("slice_nchunks", |d| drop(d.schunk().slice_nchunks(0, 200))),
    ("decompress_chunk", |d| {
        d.schunk().decompress_chunk(0, &mut [0; 400]);
    }),
    ("get_chunk", |d| drop(d.schunk().get_chunk(0))),
    ("get_lazychunk", |d| drop(d.schunk().get_lazychunk(0))),
    ("get_slice", |d| {
        d.schunk().get_slice(3, 90, &mut [0; 400]);
    }),
    ("to_buffer", |d| drop(d.schunk().to_buffer())),
    ("to_file", |d| {
        d.schunk().to_file(&d.folder.0.join("copy"));
    }),
    ("refresh", |d| _ = d.schunk().refresh()),
    ("append_buffer", |d| {
        d.schunk().append_buffer(&[1; 400], 400);
    }),
    ("delete_chunk", |d| _ = d.schunk().delete_chunk(0)),
    ("set_slice", |d| _ = d.schunk().set_slice(3, 4, &[1; 4])),
    ("vlmeta_update", |d| {
        d.schunk().vlmeta_update(c"name", b"other");
    }),
    ("vlmeta_delete", |d| _ = d.schunk().vlmeta_delete(c"name")),
    ("array's items", |d| drop(d.array().to_buffer())),
    ("slice of an array", |d| {
        d.array().get(&[3], &[9], &[6], &mut [0; 24]);
    }),
    ("single items of an array", |d| {
        d.array().get_sparse(&[3], &mut [0; 4]);
    }),
    ("array as a frame", |d| drop(d.array().to_frame())),
    ("refresh of an array", |d| _ = d.array().refresh()),
    ("slice of an array written", |d| {
        d.array().set(&[3], &[4], &[1], &[1; 4]);
    }),
    ("array resized", |d| _ = d.array().resize(&[150], None)),
    // The reference crashes when a view of a locked array is freed.
    ("dimension added", |d| {
        forget(d.array().expand(&[true, false]))
    }),
    ("dimension taken away", |d| forget(d.array().squeeze())),
];

fn make(library: Library, contiguous: bool, path: &Path) {
    let spec = Spec {
        contiguous,
        path: Some(c_path(path)),
        ..Spec::of_int32(200)
    };
    let data: Vec<u8> = (0..200u32).flat_map(u32::to_le_bytes).collect();
    drop(library.arrays.array_of(&spec, &data).expect("an array"));
    let schunk = library.schunks.open_path(path).expect("a frame");
    assert!(schunk.vlmeta_add(c"name", b"content") >= 0);
}

/// How long the call takes while another handle has the frame locked, or changed it just before
/// that.
fn time_of(library: Library, contiguous: bool, changed: bool, call: fn(&mut Desk)) -> Duration {
    let folder = Folder::new("waits");
    let path = folder.0.join("frame");
    make(library, contiguous, &path);
    let mut desk = Desk {
        library,
        schunk: Some(library.open_locking(&path)),
        array: Some(library.adopt(library.open_locking(&path))),
        folder,
    };
    let (locked, is_locked) = channel();
    std::thread::scope(|scope| {
        let holder = scope.spawn(move || {
            let other = library.open_locking(&path);
            assert_eq!(other.lock(), 0);
            if changed {
                assert!(other.vlmeta_update(c"name", b"something else") >= 0);
            }
            locked.send(()).expect("somebody who waits");
            std::thread::sleep(HELD);
            assert_eq!(other.unlock(), 0);
        });
        is_locked.recv().expect("a lock");
        let start = Instant::now();
        call(&mut desk);
        let took = start.elapsed();
        holder.join().expect("the holder");
        took
    })
}

#[test]
fn no_call_waits_that_does_not_with_the_reference() {
    let (ours, Some(reference)) = (Library::ours(), Library::reference()) else {
        return;
    };
    let mut report = Report::default();
    for (name, call) in CALLS {
        for (contiguous, changed) in [(true, false), (false, false), (true, true), (false, true)] {
            report.case();
            let waits = |library| time_of(library, contiguous, changed, call) >= WAITED;
            let only_ours = waits(ours) && !waits(reference) && (1..TRIES).all(|_| waits(ours));
            let which = || format!("{name}, contiguous {contiguous}, changed {changed}");
            report.check(!only_ours, "only ours waits", which);
        }
    }
    report.finish("calls beside a lock");
}
