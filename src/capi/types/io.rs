//! Input and output: the back ends that a program may add, and how to choose one.

use crate::capi::constants::BLOSC2_IO_FILESYSTEM;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

/// Opens `urlpath` in a `fopen` mode (`"rb"`, `"rb+"`, `"wb"`, ...); `params` come from the
/// `blosc2_io`. Returns the stream that the other callbacks get, or NULL.
pub type blosc2_open_cb = Option<
    unsafe extern "C-unwind" fn(
        urlpath: *const c_char,
        mode: *const c_char,
        params: *mut c_void,
    ) -> *mut c_void,
>;

/// Closes a stream and frees it. Returns 0, or a negative code.
pub type blosc2_close_cb = Option<unsafe extern "C-unwind" fn(stream: *mut c_void) -> c_int>;

/// Returns the stream's size in bytes, or a negative code.
pub type blosc2_size_cb = Option<unsafe extern "C-unwind" fn(stream: *mut c_void) -> i64>;

/// Writes `nitems` items of `size` bytes from `ptr` at byte `position`, extending the stream where
/// it must. Returns how many items it wrote.
pub type blosc2_write_cb = Option<
    unsafe extern "C-unwind" fn(
        ptr: *const c_void,
        size: i64,
        nitems: i64,
        position: i64,
        stream: *mut c_void,
    ) -> i64,
>;

/// Reads `nitems` items of `size` bytes at byte `position`. With `is_allocation_necessary`, `*ptr`
/// is a buffer of the library's to fill; without, the callback puts there an address of its own,
/// valid while the stream is open. Returns how many items it read.
pub type blosc2_read_cb = Option<
    unsafe extern "C-unwind" fn(
        ptr: *mut *mut c_void,
        size: i64,
        nitems: i64,
        position: i64,
        stream: *mut c_void,
    ) -> i64,
>;

/// Makes the stream `size` bytes long. Returns 0, or a negative code.
pub type blosc2_truncate_cb =
    Option<unsafe extern "C-unwind" fn(stream: *mut c_void, size: i64) -> c_int>;

/// Told when a super-chunk is done with its back end, to free `params` if they are the back end's.
/// Returns 0, or a negative code.
pub type blosc2_destroy_cb = Option<unsafe extern "C-unwind" fn(params: *mut c_void) -> c_int>;

/// A back end. `blosc2_register_io_cb` copies the struct; its name must outlive the library's use.
///
/// A C++ exception that leaves one of its functions is a failure of that function; but on Linux
/// alone, elsewhere it ends the process. No `longjmp` may leave them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_io_cb {
    /// The id, from `BLOSC2_IO_REGISTERED` up for programs.
    pub id: u8,
    /// The name; not owned.
    pub name: *mut c_char,
    /// Whether `read` fills a buffer of the library's (true) or hands out addresses of its own.
    pub is_allocation_necessary: bool,
    /// Opens a stream.
    pub open: blosc2_open_cb,
    /// Closes it.
    pub close: blosc2_close_cb,
    /// Tells its size.
    pub size: blosc2_size_cb,
    /// Writes to it.
    pub write: blosc2_write_cb,
    /// Reads from it.
    pub read: blosc2_read_cb,
    /// Sets its size.
    pub truncate: blosc2_truncate_cb,
    /// Told when the back end is no longer used.
    pub destroy: blosc2_destroy_cb,
}

/// The choice of a back end, with its parameters. Start from `BLOSC2_IO_DEFAULTS`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_io {
    /// The back end's id.
    pub id: u8,
    /// The back end's name; not owned.
    pub name: *const c_char,
    /// What its `open` gets, or NULL; not owned, and must outlive the super-chunks that use it.
    pub params: *mut c_void,
}

impl blosc2_io {
    /// The value of `BLOSC2_IO_DEFAULTS`: files. Its name is static.
    pub const fn defaults() -> Self {
        Self {
            id: BLOSC2_IO_FILESYSTEM as u8,
            name: c"filesystem".as_ptr(),
            params: null_mut(),
        }
    }
}
