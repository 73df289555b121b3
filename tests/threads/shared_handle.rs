//! Threads that use one handle: readers see the state before or after each change, never a mixture;
//! functions of the program's may use the super-chunk that they are called for; and the lock
//! between processes counts threads rightly.
//!
//! `OXIBLOSC_ROUNDS` says how many changes each test makes (200 by default). Meant to be run under
//! ThreadSanitizer too.

mod callbacks;
mod parameters;
mod processes;
mod readers;

use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::schunk_calls::c_path;

use blosc2::capi::b2nd::{context::*, create::*, derive::*, slices::*};
use blosc2::capi::blosc2_compress_ctx;
use blosc2::capi::context::*;
use blosc2::capi::schunk::{chunks::*, convert::*, create::*, meta::*, misc::*, slices::*};
use blosc2::capi::types::*;
use std::cell::Cell;
use std::ffi::{CStr, c_char, c_int};
use std::path::Path;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicI64, AtomicPtr, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

const CHUNKS: usize = 6;
/// Items of a chunk, of four bytes; and of a block.
const ITEMS: usize = 4000;
const BLOCK: usize = 1000;
/// `BLOSC2_ERROR_INVALID_PARAM` and `BLOSC2_ERROR_LOCK`.
const INVALID_PARAM: c_int = -12;
const LOCK: c_int = -37;

/// The tests share functions that are called for super-chunks.
static ONE: Mutex<()> = Mutex::new(());

/// Takes its turn, and makes sure that a test that hangs ends.
fn alone() -> MutexGuard<'static, ()> {
    let guard = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: an alarm ends this process.
    unsafe { libc::alarm(300) };
    guard
}

fn rounds() -> usize {
    let asked = std::env::var("OXIBLOSC_ROUNDS").ok();
    asked.map_or(200, |rounds| rounds.parse().expect("a number of rounds"))
}

#[derive(Clone, Copy, Debug)]
enum Kept {
    Apart,
    InMemory,
    InFile { locked: bool },
    InDirectory { locked: bool },
}

const STORAGES: [Kept; 6] = [
    Kept::Apart,
    Kept::InMemory,
    Kept::InFile { locked: false },
    Kept::InFile { locked: true },
    Kept::InDirectory { locked: false },
    Kept::InDirectory { locked: true },
];

fn io_of(params: &mut blosc2_stdio_params) -> blosc2_io {
    blosc2_io {
        params: (&raw mut *params).cast(),
        ..blosc2_io::defaults()
    }
}

/// A super-chunk that threads share.
#[derive(Clone, Copy)]
struct SharedSchunk(*mut blosc2_schunk);

// SAFETY: this is what is tested.
unsafe impl Send for SharedSchunk {}
// SAFETY: as above.
unsafe impl Sync for SharedSchunk {}

fn cparams(nthreads: i16) -> blosc2_cparams {
    blosc2_cparams {
        typesize: 4,
        blocksize: 4 * BLOCK as i32,
        nthreads,
        ..blosc2_cparams::defaults()
    }
}

impl SharedSchunk {
    fn new(
        kept: Kept,
        folder: &Path,
        mut cparams: blosc2_cparams,
        mut dparams: blosc2_dparams,
    ) -> Self {
        let path = c_path(&folder.join("frame.b2frame"));
        let on_disk = matches!(kept, Kept::InFile { .. } | Kept::InDirectory { .. });
        let locking = matches!(
            kept,
            Kept::InFile { locked: true } | Kept::InDirectory { locked: true }
        );
        // Outlives the super-chunk.
        let params = Box::leak(Box::new(blosc2_stdio_params { locking }));
        let mut io = io_of(params);
        let mut storage = blosc2_storage {
            contiguous: matches!(kept, Kept::InMemory | Kept::InFile { .. }),
            urlpath: if on_disk {
                path.as_ptr().cast_mut()
            } else {
                null_mut()
            },
            cparams: &mut cparams,
            dparams: &mut dparams,
            io: if on_disk { &mut io } else { null_mut() },
        };
        // SAFETY: what the storage points to is copied.
        let created = unsafe { blosc2_schunk_new(&mut storage) };
        assert!(!created.is_null(), "{kept:?}");
        Self(created)
    }

    fn append(self, value: u32) -> i64 {
        let data = [value; ITEMS];
        // SAFETY: the data are as long as it says.
        unsafe { blosc2_schunk_append_buffer(self.0, data.as_ptr().cast(), 4 * ITEMS as i32) }
    }

    fn set(self, from: usize, to: usize, value: u32) -> c_int {
        let mut data = vec![value; to - from];
        // SAFETY: the data are as long as it says.
        unsafe {
            let data = data.as_mut_ptr().cast();
            blosc2_schunk_set_slice_buffer(self.0, from as i64, to as i64, data)
        }
    }

    fn slice(self, from: usize, to: usize) -> Result<Vec<u32>, c_int> {
        let mut data = vec![u32::MAX; to - from];
        // SAFETY: there is this room.
        let rc = unsafe {
            let data = data.as_mut_ptr().cast();
            blosc2_schunk_get_slice_buffer(self.0, from as i64, to as i64, data)
        };
        if rc < 0 { Err(rc) } else { Ok(data) }
    }

    fn chunk(self, nchunk: usize) -> Result<Vec<u32>, c_int> {
        let mut data = vec![u32::MAX; ITEMS];
        // SAFETY: there is this room.
        let rc = unsafe {
            let data = data.as_mut_ptr().cast();
            blosc2_schunk_decompress_chunk(self.0, nchunk as i64, data, 4 * ITEMS as i32)
        };
        if rc < 0 { Err(rc) } else { Ok(data) }
    }

    fn vlmeta_set(self, name: &CStr, value: u32) -> c_int {
        let mut content: Vec<u8> = value.to_le_bytes().repeat(50 + value as usize % 50);
        let len = content.len() as i32;
        // SAFETY: the content is as long as it says.
        unsafe {
            let (name, content) = (name.as_ptr(), content.as_mut_ptr());
            if blosc2_vlmeta_exists(self.0, name) < 0 {
                blosc2_vlmeta_add(self.0, name, content, len, null_mut())
            } else {
                blosc2_vlmeta_update(self.0, name, content, len, null_mut())
            }
        }
    }

    fn vlmeta(self, name: &CStr) -> Result<u32, c_int> {
        let (mut content, mut len) = (null_mut(), 0);
        // SAFETY: the content is ours to free.
        let bytes = unsafe {
            let rc = blosc2_vlmeta_get(self.0, name.as_ptr(), &raw mut content, &raw mut len);
            if rc < 0 {
                return Err(rc);
            }
            let bytes = std::slice::from_raw_parts(content, len as usize).to_vec();
            libc::free(content.cast());
            bytes
        };
        let value = u32::from_le_bytes(bytes[..4].try_into().expect("four"));
        assert_eq!(
            bytes.len(),
            4 * (50 + value as usize % 50),
            "content of one state"
        );
        assert!(bytes.chunks(4).all(|item| item == value.to_le_bytes()));
        Ok(value)
    }

    fn free(self) {
        // SAFETY: it is no longer used.
        assert_eq!(unsafe { blosc2_schunk_free(self.0) }, 0);
    }
}

/// Parameters of a function that has none of its own.
fn zeroed<T>() -> T {
    // SAFETY: used for structs of numbers and pointers, for which zero is a value.
    unsafe { std::mem::zeroed() }
}

/// The value that all items have.
fn uniform(items: &[u32], what: &str) -> u32 {
    let first = items[0];
    assert!(items.iter().all(|item| *item == first), "{what}: a mixture");
    first
}

/// One look at the super-chunk: a state that was.
fn look(shared: SharedSchunk, turn: usize) -> u32 {
    match turn % 5 {
        0 => uniform(&shared.slice(0, CHUNKS * ITEMS).expect("a slice"), "slice"),
        1 => uniform(&shared.chunk(turn % CHUNKS).expect("a chunk"), "chunk"),
        2 => {
            let coords: Vec<i64> = (0..CHUNKS).map(|i| (i * ITEMS + i) as i64).collect();
            let mut items = [u32::MAX; CHUNKS];
            // SAFETY: there is this room.
            let rc = unsafe {
                let items = items.as_mut_ptr().cast();
                blosc2_schunk_get_sparse_buffer(shared.0, CHUNKS as i64, coords.as_ptr(), items)
            };
            assert_eq!(rc, 0);
            uniform(&items, "items")
        }
        3 => {
            let mut storage = blosc2_storage {
                contiguous: turn.is_multiple_of(2),
                ..blosc2_storage::defaults()
            };
            // SAFETY: the copy is ours.
            let copy = SharedSchunk(unsafe { blosc2_schunk_copy(shared.0, &mut storage) });
            assert!(!copy.0.is_null(), "a copy");
            let value = uniform(&copy.slice(0, CHUNKS * ITEMS).expect("a slice"), "copy");
            assert!(copy.vlmeta(c"value").is_ok());
            copy.free();
            value
        }
        _ => shared.vlmeta(c"value").expect("a metalayer"),
    }
}
