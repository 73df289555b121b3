//! Several handles and threads, misuse, and what is there in the middle of a transaction.

use crate::transactions::place::{Storage, create, create_array, lib};
use blosc2::capi::types::{blosc2_io, blosc2_stdio_params};
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk::{SchunkLib, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::read;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

/// `BLOSC2_ERROR_INVALID_PARAM`, `BLOSC2_ERROR_FILE_OPEN` and `BLOSC2_ERROR_LOCK`.
const INVALID_PARAM: i64 = -12;
const FILE_OPEN: i64 = -15;
const LOCK: i64 = -37;
const CHUNK: usize = 4000;

fn append(s: &Schunk, byte: u8) -> i64 {
    s.append_buffer(&[byte; CHUNK], CHUNK as i32)
}

/// The first byte of each chunk.
fn bytes(s: &Schunk) -> Vec<u8> {
    let chunks = read(s).chunks.into_iter();
    chunks.map(|chunk| chunk.expect("a chunk")[0]).collect()
}

fn open(path: &Path, locking: bool) -> Schunk {
    open_by(lib(), path, locking)
}

fn open_by(lib: &'static SchunkLib, path: &Path, locking: bool) -> Schunk {
    // They are used as long as the handle is.
    let params = Box::leak(Box::new(blosc2_stdio_params { locking }));
    let io = blosc2_io {
        params: (&raw mut *params).cast(),
        ..blosc2_io::defaults()
    };
    lib.open_io(path, &io).expect("a frame")
}

/// A super-chunk with chunks 1 and 2.
fn small(storage: Storage, path: &Path) -> Schunk {
    let s = create(storage, path);
    assert_eq!((append(&s, 1), append(&s, 2)), (1, 2));
    s
}

#[test]
fn what_cannot_be_is_an_error() {
    let folder = Folder::new("transactions-misuse");
    for storage in Storage::ALL {
        let s = small(storage, &folder.join(&format!("{storage:?}")));
        assert_eq!((s.commit(), s.abandon()), (INVALID_PARAM, INVALID_PARAM));
        assert_eq!((s.begin(), s.begin()), (0, INVALID_PARAM));
        assert_eq!((append(&s, 3), s.delete_chunk(9)), (3, INVALID_PARAM));
        assert_eq!((s.commit(), s.commit()), (0, INVALID_PARAM));
        assert_eq!(bytes(&s), [1, 2, 3], "{storage:?}");
        // One without changes, and one that is abandoned.
        assert_eq!((s.begin(), s.commit(), s.begin()), (0, 0, 0));
        assert_eq!((s.delete_chunk(0), s.abandon()), (2, 0));
        assert_eq!(bytes(&s), [1, 2, 3]);
    }
    let nothing = std::mem::ManuallyDrop::new(Schunk {
        lib: lib(),
        raw: std::ptr::null_mut(),
    });
    assert!(nothing.begin() < 0 && nothing.commit() < 0 && nothing.abandon() < 0);
}

#[test]
fn who_commits_first_wins() {
    let folder = Folder::new("transactions-conflict");
    for storage in [Storage::File, Storage::Directory] {
        for locking in [false, true] {
            let path = folder.join(&format!("{storage:?} {locking}"));
            drop(small(storage, &path));
            let (one, two) = (open(&path, locking), open(&path, locking));
            // Each has begun, and has changes that the other does not see.
            assert_eq!((one.begin(), two.begin()), (0, 0));
            assert_eq!((append(&one, 3), append(&two, 4)), (3, 3));
            assert_eq!((bytes(&one), bytes(&two)), (vec![1, 2, 3], vec![1, 2, 4]));
            assert_eq!(one.delete_chunk(0), 2);
            assert_eq!(one.commit(), 0);
            // The second one is about a frame that is gone.
            assert_eq!((append(&two, 5), two.commit()), (LOCK, LOCK));
            assert_eq!(two.vlmeta_add(c"name", b"content"), LOCK);
            assert_eq!(two.get_chunk(0).rc, LOCK);
            assert_eq!(bytes(&open(&path, locking)), [2, 3]);
            assert_eq!(two.abandon(), 0);
            assert_eq!(two.refresh(), 1);
            assert_eq!((two.get().nchunks, bytes(&two)), (2, vec![2, 3]));
            assert_eq!(two.together(|| append(&two, 6)), 0);
            assert_eq!((one.refresh(), bytes(&one)), (1, vec![2, 3, 6]));
            // A change that is no transaction.
            assert_eq!((two.begin(), append(&two, 7)), (0, 4));
            assert_eq!((append(&one, 8), two.commit(), two.abandon()), (4, LOCK, 0));
            assert_eq!((two.refresh(), bytes(&two)), (1, vec![2, 3, 6, 8]));
        }
    }
}

#[test]
fn a_change_by_the_reference_comes_first() {
    let Some(reference) = reference_schunks() else {
        return println!("skipped: no reference");
    };
    let folder = Folder::new("transactions-reference");
    for storage in [Storage::File, Storage::Directory] {
        for locking in [false, true] {
            let path = folder.join(&format!("{storage:?} {locking}"));
            drop(small(storage, &path));
            let (one, two) = (open(&path, locking), open_by(reference, &path, locking));
            assert_eq!((one.begin(), append(&one, 3)), (0, 3));
            assert_eq!(append(&two, 4), 3);
            assert_eq!((one.commit(), one.abandon()), (LOCK, 0));
            assert_eq!((one.refresh(), bytes(&one)), (1, vec![1, 2, 4]));
            assert_eq!(one.together(|| append(&one, 5)), 0);
            assert_eq!(append(&two, 6), 5);
            assert_eq!((one.refresh(), bytes(&one)), (1, vec![1, 2, 4, 5, 6]));
        }
    }
}

#[test]
fn the_lock_keeps_others_out_of_a_transaction() {
    let folder = Folder::new("transactions-lock");
    let path = folder.join("frame");
    drop(small(Storage::File, &path));
    let (one, two) = (open(&path, true), open(&path, true));
    assert_eq!((one.lock(), one.begin()), (0, 0));
    std::thread::scope(|scope| {
        // The handle is used by that thread alone.
        let two = two.raw.expose_provenance();
        let other = scope.spawn(move || {
            let raw = std::ptr::with_exposed_provenance_mut(two);
            let two = std::mem::ManuallyDrop::new(Schunk { lib: lib(), raw });
            append(&two, 9)
        });
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert_eq!((append(&one, 3), append(&one, 4)), (3, 4));
        assert_eq!((one.commit(), one.unlock()), (0, 0));
        assert_eq!(other.join().expect("no panic"), 5);
    });
    assert_eq!((one.refresh(), bytes(&one)), (1, vec![1, 2, 3, 4, 9]));
}

#[test]
fn freeing_abandons() {
    let folder = Folder::new("transactions-free");
    for storage in [Storage::File, Storage::Directory] {
        let path = folder.join(&format!("{storage:?}"));
        drop(small(storage, &path));
        let s = lib().open_path(&path).expect("a frame");
        assert_eq!((s.begin(), append(&s, 3)), (0, 3));
        assert_eq!(s.vlmeta_add(c"name", b"content"), 0);
        drop(s);
        let s = lib().open_path(&path).expect("a frame");
        assert_eq!((bytes(&s), s.get().nvlmetalayers), (vec![1, 2], 0));
    }
    // The program keeps the buffer of a frame in memory.
    let s = small(Storage::Memory, Path::new(""));
    let (len, frame) = s.to_buffer();
    let kept = lib().open_buffer(&frame, false).expect("a frame");
    assert_eq!((kept.begin(), append(&kept, 3)), (0, 3));
    let (longer, staged) = kept.to_buffer();
    assert!(longer > len);
    assert_eq!(
        bytes(&lib().open_buffer(&staged, true).expect("a frame")),
        [1, 2, 3]
    );
    assert_eq!(kept.abandon(), 0);
    assert_eq!(kept.to_buffer(), (len, frame));
}

#[test]
fn a_commit_that_fails_can_be_tried_again() {
    let folder = Folder::new("transactions-retry");
    let (path, away) = (folder.join("frame"), folder.join("away"));
    let s = small(Storage::File, &path);
    assert_eq!((s.begin(), append(&s, 3)), (0, 3));
    std::fs::rename(&path, &away).expect("a frame");
    assert_eq!(s.commit(), FILE_OPEN);
    std::fs::rename(&away, &path).expect("a frame");
    assert_eq!((append(&s, 4), s.commit()), (4, 0));
    assert_eq!(
        bytes(&lib().open_path(&path).expect("a frame")),
        [1, 2, 3, 4]
    );
}

#[test]
fn what_is_staged_can_be_read_in_every_way() {
    let folder = Folder::new("transactions-reads");
    for storage in Storage::ALL {
        let s = small(storage, &folder.join(&format!("{storage:?}")));
        assert_eq!(s.begin(), 0);
        assert_eq!((append(&s, 3), append(&s, 4), s.delete_chunk(0)), (3, 4, 3));
        let data = [9; 8 * 100];
        assert_eq!(
            (s.set_slice(450, 550, &data), s.reorder(&[2, 1, 0])),
            (0, 0)
        );
        let mut items = vec![0; 3 * CHUNK];
        assert_eq!(s.get_slice(0, 1500, &mut items), 0);
        let expected = [
            vec![4; CHUNK],
            vec![9; 400],
            vec![3; 3600],
            vec![2; 3600],
            vec![9; 400],
        ];
        assert_eq!(items, expected.concat(), "{storage:?}");
        let mut some = vec![0; 16];
        assert_eq!(s.get_sparse(&[1499, 0], &mut some), 0);
        assert_eq!(some, [[9; 8], [4; 8]].concat());
        assert_eq!(
            (s.get_chunk(1).rc > 0, s.get_lazychunk(1).rc > 0),
            (true, true)
        );
        let copy = s.copy(true, None, None).expect("a copy");
        assert_eq!(bytes(&copy), [4, 9, 2]);
        // Where chunks are each on their own, C sees them.
        if storage == Storage::Separate {
            let chunk = |at: i64| {
                // SAFETY: as many pointers as chunks; a chunk has 32 bytes at least.
                unsafe { std::slice::from_raw_parts(*s.get().data.add(at as usize), 32) }.to_vec()
            };
            for at in 0..3 {
                assert_eq!(chunk(at), s.get_chunk(at).bytes[..32]);
            }
        }
        assert_eq!(s.commit(), 0);
        assert_eq!(s.get_slice(0, 1500, &mut items), 0);
        assert_eq!(items, expected.concat(), "{storage:?}");
    }
}

#[test]
fn the_structure_of_an_array_follows() {
    let folder = Folder::new("transactions-arrays");
    for storage in Storage::ALL {
        let array = create_array(storage, &folder.join(&format!("{storage:?}")));
        let before = array.to_buffer();
        let s = std::mem::ManuallyDrop::new(Schunk {
            lib: lib(),
            raw: array.fields().sc,
        });
        assert_eq!((s.begin(), array.resize(&[10, 70], None)), (0, 0));
        assert_eq!((array.shape(), s.abandon()), (vec![10, 70], 0));
        assert!(array.refresh() >= 0);
        assert_eq!((array.shape(), array.to_buffer()), (vec![50, 60], before));
        assert_eq!(s.together(|| array.resize(&[10, 70], None).into()), 0);
        assert_eq!(array.shape(), [10, 70]);
    }
}

/// Readers on other threads see the state before the transaction, a state in it, or that after it,
/// and each as a whole.
#[test]
fn threads_share_a_transaction() {
    let folder = Folder::new("transactions-threads");
    for storage in Storage::ALL {
        let s = small(storage, &folder.join(&format!("{storage:?}")));
        let done = AtomicBool::new(false);
        let shared = s.raw.expose_provenance();
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| {
                    let raw = std::ptr::with_exposed_provenance_mut(shared);
                    let s = std::mem::ManuallyDrop::new(Schunk { lib: lib(), raw });
                    while !done.load(Ordering::Relaxed) {
                        let mut items = vec![0; 2 * CHUNK];
                        assert_eq!(s.get_slice(0, 1000, &mut items), 0);
                        let (one, two) = items.split_at(CHUNK);
                        // Both chunks are written together.
                        assert!(
                            items.iter().all(|byte| byte == &items[0])
                                || (one[0], two[0]) == (1, 2)
                        );
                    }
                });
            }
            for round in 0..100 {
                assert_eq!(s.begin(), 0);
                assert_eq!(s.set_slice(0, 1000, &[round; 2 * CHUNK]), 0);
                let ended = if round % 3 == 0 {
                    s.abandon()
                } else {
                    s.commit()
                };
                assert_eq!(ended, 0);
            }
            done.store(true, Ordering::Relaxed);
        });
    }
}
