//! The table of back ends, and the lock that both libraries share.

use super::*;
use oxiblosc_io::lock::SidecarLock;
use std::ffi::CStr;
use std::ptr::{null, null_mut};
use std::sync::Mutex;

/// The table and the library's being initialized belong to the process.
static ALONE: Mutex<()> = Mutex::new(());

fn reported(at: &At, id: u8) -> String {
    // SAFETY: an entry stays where it is; its name was given as a C string or as null.
    unsafe {
        let Some(entry) = (at.io.blosc2_get_io_cb)(id).as_ref() else {
            return "none".into();
        };
        let name = (!entry.name.is_null()).then(|| CStr::from_ptr(entry.name));
        format!(
            "{} {name:?} {} {:?}",
            entry.id,
            entry.is_allocation_necessary,
            entry.functions.map(|function| function.is_null())
        )
    }
}

#[test]
fn back_ends_are_registered_once() {
    oxiblosc_testing::own_process!();
    let _alone = ALONE.lock();
    let mark: *const c_void = core::ptr::dangling();
    let entry = |id: u8, name: *const c_char| Callbacks {
        id,
        name,
        is_allocation_necessary: id.is_multiple_of(2),
        functions: [mark, null(), mark, null(), mark, null(), mark],
    };
    compare("registry", 1, |at, _| {
        let mut said = Vec::new();
        // SAFETY: the names that are compared end; the functions are not called.
        unsafe {
            let register = at.io.blosc2_register_io_cb;
            let mut add = |entry: Callbacks| said.push(register(&entry).to_string());
            for id in [0, 1, 2, 31, 32, 159] {
                add(entry(id, c"name".as_ptr()));
            }
            add(entry(160, c"one".as_ptr()));
            add(entry(160, c"one".as_ptr()));
            let other = CString::new("one").expect("no zero inside");
            add(entry(160, other.as_ptr()));
            add(entry(160, c"two".as_ptr()));
            add(entry(161, c"one".as_ptr()));
            add(entry(255, c"last".as_ptr()));
            // Not looked at, as long as the id is not registered again.
            add(entry(254, null()));
            said.push(register(null()).to_string());
            let ids = [0, 1, 2, 32, 159, 160, 161, 162, 254, 255];
            said.extend(ids.map(|id| reported(at, id)));
            (at.lib.f.blosc2_destroy)();
            said.extend(ids.map(|id| reported(at, id)));
            (at.lib.f.blosc2_init)();
            said.extend(ids.map(|id| reported(at, id)));
            let same = (at.io.blosc2_get_io_cb)(160) == (at.io.blosc2_get_io_cb)(160);
            said.push(same.to_string());
        }
        said.join("\n")
    });
}

functions! { Frames {
    fn blosc2_schunk_new(*mut Storage) -> *mut c_void;
    fn blosc2_schunk_free(*mut c_void) -> c_int;
    fn blosc2_schunk_lock(*mut c_void) -> c_int;
    fn blosc2_schunk_unlock(*mut c_void) -> c_int;
}}

/// `blosc2_storage`.
#[repr(C)]
pub struct Storage {
    contiguous: bool,
    urlpath: *mut c_char,
    cparams: *mut c_void,
    dparams: *mut c_void,
    io: *mut InputOutput,
}

/// `blosc2_io`.
#[repr(C)]
pub struct InputOutput {
    id: u8,
    name: *const c_char,
    params: *mut bool,
}

/// The reference holds a frame's lock: ours waits for it, counts with it and sees that somebody
/// else has written.
#[test]
fn the_lock_is_the_reference_s() {
    let _alone = ALONE.lock();
    let Some((_, reference)) = both() else {
        return;
    };
    // SAFETY: `Frames` is declared after the reference's headers.
    let frames = unsafe { Frames::load(reference.library) }.expect("all are exported");
    let folder = std::env::temp_dir().join(format!("oxiblosc-lock-{}", std::process::id()));
    for sparse in [false, true] {
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir_all(&folder).expect("made");
        let name = c_path(&folder.join("frame"));
        let mut locking = true;
        let mut io = InputOutput {
            id: 0,
            name: c"filesystem".as_ptr(),
            params: &mut locking,
        };
        let mut storage = Storage {
            contiguous: !sparse,
            urlpath: name.as_ptr().cast_mut(),
            cparams: null_mut(),
            dparams: null_mut(),
            io: &mut io,
        };
        // SAFETY: what `storage` points to is there until the super-chunk is freed.
        unsafe {
            let schunk = (frames.blosc2_schunk_new)(&mut storage);
            assert!(!schunk.is_null());
            let mut mine = SidecarLock::of_frame(&name, sparse).expect("memory");
            // Creating the frame has called some functions; afterwards none may write.
            mine.lock(false).expect("locks");
            mine.unlock();
            assert_eq!(mine.lock(false), Ok(false));
            mine.unlock();
            assert_eq!((frames.blosc2_schunk_lock)(schunk), 0);
            let waiting = std::sync::atomic::AtomicBool::new(true);
            let turn = std::sync::atomic::Ordering::SeqCst;
            std::thread::scope(|scope| {
                let waiter = scope.spawn(|| (mine.lock(true), waiting.load(turn)));
                std::thread::sleep(std::time::Duration::from_millis(50));
                waiting.store(false, turn);
                assert_eq!((frames.blosc2_schunk_unlock)(schunk), 0);
                assert_eq!(waiter.join().expect("joins"), (Ok(true), false));
            });
            mine.unlock();
            assert_eq!(mine.lock(false), Ok(false));
            mine.unlock();
            // The other way round: two writers of the reference's counting, one of ours between
            // them.
            let sidecar = if sparse {
                "frame/.b2lock"
            } else {
                "frame.b2lock"
            };
            let count = || {
                let bytes = std::fs::read(folder.join(sidecar)).expect("is there");
                u64::from_ne_bytes(bytes[8..16].try_into().expect("eight"))
            };
            let before = count();
            for _ in 0..2 {
                assert_eq!((frames.blosc2_schunk_lock)(schunk), 0);
                assert_eq!((frames.blosc2_schunk_unlock)(schunk), 0);
                assert_eq!(mine.lock(true), Ok(true));
                mine.unlock();
            }
            assert_eq!(count(), before + 4);
            assert_eq!((frames.blosc2_schunk_free)(schunk), 0);
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
}
