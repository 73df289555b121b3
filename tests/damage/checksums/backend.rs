//! Back ends of a program's own that only read: one that fills buffers, and one that hands out
//! addresses.

use blosc2::capi::types::{blosc2_io, blosc2_io_cb};
use oxiblosc_testing::schunk::our_schunks;
use oxiblosc_testing::schunk_calls::Schunk;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Once;

/// Ids of the two kinds.
const FILLING: u8 = 203;
const LENDING: u8 = 204;

/// A stream is what its file held when it was opened.
unsafe extern "C-unwind" fn open(
    path: *const c_char,
    mode: *const c_char,
    _: *mut c_void,
) -> *mut c_void {
    // SAFETY: C strings, by the contract of the back end.
    let (path, mode) = unsafe { (CStr::from_ptr(path), CStr::from_ptr(mode)) };
    let bytes = std::fs::read(Path::new(OsStr::from_bytes(path.to_bytes())));
    match bytes {
        Ok(bytes) if mode.to_bytes().starts_with(b"r") => Box::into_raw(Box::new(bytes)).cast(),
        _ => null_mut(),
    }
}

unsafe extern "C-unwind" fn close(stream: *mut c_void) -> c_int {
    // SAFETY: made by `open`, closed once.
    drop(unsafe { Box::from_raw(stream.cast::<Vec<u8>>()) });
    0
}

/// The bytes of an open stream.
unsafe fn bytes<'a>(stream: *mut c_void) -> &'a [u8] {
    // SAFETY: made by `open`, and the caller says that it is not closed yet; nothing changes it.
    unsafe { &*stream.cast::<Vec<u8>>() }
}

unsafe extern "C-unwind" fn size(stream: *mut c_void) -> i64 {
    // SAFETY: the library closes it later.
    unsafe { bytes(stream).len() as i64 }
}

/// The bytes from `at` on, if there are so many.
fn part(bytes: &[u8], (size, nitems, at): (i64, i64, i64)) -> Option<&[u8]> {
    let (len, at) = (size.checked_mul(nitems)?, usize::try_from(at).ok()?);
    bytes.get(at..)?.get(..usize::try_from(len).ok()?)
}

unsafe extern "C-unwind" fn fill(
    to: *mut *mut c_void,
    size: i64,
    nitems: i64,
    at: i64,
    stream: *mut c_void,
) -> i64 {
    // SAFETY: the library closes it later.
    let Some(part) = part(unsafe { bytes(stream) }, (size, nitems, at)) else {
        return 0;
    };
    // SAFETY: the library's buffer has room for what it asks for.
    unsafe {
        (*to)
            .cast::<u8>()
            .copy_from_nonoverlapping(part.as_ptr(), part.len())
    };
    nitems
}

unsafe extern "C-unwind" fn lend(
    to: *mut *mut c_void,
    size: i64,
    nitems: i64,
    at: i64,
    stream: *mut c_void,
) -> i64 {
    // SAFETY: the library closes it later.
    let Some(part) = part(unsafe { bytes(stream) }, (size, nitems, at)) else {
        return 0;
    };
    // SAFETY: the library passes a place for the address, which is good until the stream is closed.
    unsafe { *to = part.as_ptr().cast_mut().cast() };
    nitems
}

unsafe extern "C-unwind" fn write(_: *const c_void, _: i64, _: i64, _: i64, _: *mut c_void) -> i64 {
    0
}

unsafe extern "C-unwind" fn truncate(_: *mut c_void, _: i64) -> c_int {
    -1
}

unsafe extern "C-unwind" fn destroy(_: *mut c_void) -> c_int {
    0
}

fn register() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        for (id, lends) in [(FILLING, false), (LENDING, true)] {
            let io = blosc2_io_cb {
                id,
                name: c"a program's own".as_ptr().cast_mut(),
                is_allocation_necessary: !lends,
                open: Some(open),
                close: Some(close),
                size: Some(size),
                write: Some(write),
                read: Some(if lends { lend } else { fill }),
                truncate: Some(truncate),
                destroy: Some(destroy),
            };
            // SAFETY: the struct is copied, and its name static.
            let rc = unsafe { (our_schunks().s.blosc2_register_io_cb)(&io) };
            assert_eq!(rc, 0, "a new id");
        }
    });
}

/// Opens a frame through one of them.
pub fn opened(path: &Path, lends: bool) -> Option<Schunk> {
    register();
    let io = blosc2_io {
        id: if lends { LENDING } else { FILLING },
        ..blosc2_io::defaults()
    };
    our_schunks().open_io(path, &io)
}
