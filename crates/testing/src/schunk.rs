//! The super-chunk API as typed pointers, for the tests that open libraries by path.

use super::library::{Lib, ours, ours_path, reference};
use super::needs::reference_path;
use blosc2::capi::types::*;
use core::ffi::{c_char, c_int, c_void};
use std::path::Path;
use std::sync::OnceLock;

type Schunk = blosc2_schunk;

functions! { Functions {
    fn blosc2_schunk_new(*mut blosc2_storage) -> *mut Schunk;
    fn blosc2_schunk_copy(*mut Schunk, *mut blosc2_storage) -> *mut Schunk;
    fn blosc2_schunk_from_buffer(*mut u8, i64, bool) -> *mut Schunk;
    fn blosc2_schunk_to_buffer(*mut Schunk, *mut *mut u8, *mut bool) -> i64;
    fn blosc2_schunk_avoid_cframe_free(*mut Schunk, bool);
    fn blosc2_schunk_open(*const c_char) -> *mut Schunk;
    fn blosc2_schunk_open_offset(*const c_char, i64) -> *mut Schunk;
    fn blosc2_schunk_open_udio(*const c_char, *const blosc2_io) -> *mut Schunk;
    fn blosc2_schunk_open_offset_udio(*const c_char, i64, *const blosc2_io) -> *mut Schunk;
    fn blosc2_schunk_to_file(*mut Schunk, *const c_char) -> i64;
    fn blosc2_schunk_append_file(*mut Schunk, *const c_char) -> i64;
    fn blosc2_schunk_free(*mut Schunk) -> c_int;
    fn blosc2_schunk_append_chunk(*mut Schunk, *mut u8, bool) -> i64;
    fn blosc2_schunk_append_buffer(*mut Schunk, *const c_void, i32) -> i64;
    fn blosc2_schunk_update_chunk(*mut Schunk, i64, *mut u8, bool) -> i64;
    fn blosc2_schunk_insert_chunk(*mut Schunk, i64, *mut u8, bool) -> i64;
    fn blosc2_schunk_delete_chunk(*mut Schunk, i64) -> i64;
    fn blosc2_schunk_decompress_chunk(*mut Schunk, i64, *mut c_void, i32) -> c_int;
    fn blosc2_schunk_get_chunk(*mut Schunk, i64, *mut *mut u8, *mut bool) -> c_int;
    fn blosc2_schunk_get_lazychunk(*mut Schunk, i64, *mut *mut u8, *mut bool) -> c_int;
    fn blosc2_schunk_get_vlblock(*mut Schunk, i64, i32, *mut *mut u8, *mut i32) -> c_int;
    fn blosc2_schunk_get_slice_buffer(*mut Schunk, i64, i64, *mut c_void) -> c_int;
    fn blosc2_schunk_set_slice_buffer(*mut Schunk, i64, i64, *mut c_void) -> c_int;
    fn blosc2_schunk_get_sparse_buffer(*mut Schunk, i64, *const i64, *mut c_void) -> c_int;
    fn blosc2_schunk_get_cparams(*mut Schunk, *mut *mut blosc2_cparams) -> c_int;
    fn blosc2_schunk_get_dparams(*mut Schunk, *mut *mut blosc2_dparams) -> c_int;
    fn blosc2_schunk_reorder_offsets(*mut Schunk, *mut i64) -> c_int;
    fn blosc2_schunk_frame_len(*mut Schunk) -> i64;
    fn blosc2_schunk_fill_special(*mut Schunk, i64, c_int, i32) -> i64;
    fn blosc2_schunk_lock(*mut Schunk) -> c_int;
    fn blosc2_schunk_unlock(*mut Schunk) -> c_int;
    fn blosc2_schunk_refresh(*mut Schunk) -> c_int;
    fn blosc2_meta_add(*mut Schunk, *const c_char, *mut u8, i32) -> c_int;
    fn blosc2_meta_update(*mut Schunk, *const c_char, *mut u8, i32) -> c_int;
    fn blosc2_vlmeta_add(*mut Schunk, *const c_char, *mut u8, i32, *mut blosc2_cparams) -> c_int;
    fn blosc2_vlmeta_update(*mut Schunk, *const c_char, *mut u8, i32, *mut blosc2_cparams) -> c_int;
    fn blosc2_vlmeta_get(*mut Schunk, *const c_char, *mut *mut u8, *mut i32) -> c_int;
    fn blosc2_vlmeta_exists(*mut Schunk, *const c_char) -> c_int;
    fn blosc2_vlmeta_delete(*mut Schunk, *const c_char) -> c_int;
    fn blosc2_vlmeta_get_names(*mut Schunk, *mut *mut c_char) -> c_int;
    fn blosc2_register_io_cb(*const blosc2_io_cb) -> c_int;
    fn blosc2_frame_get_offsets(*mut Schunk) -> *mut i64;
    fn blosc2_get_slice_nchunks(*mut Schunk, *mut i64, *mut i64, *mut *mut i64) -> i64;
} }

/// A library with its super-chunk functions.
pub struct SchunkLib {
    /// The chunk API of the same library.
    pub lib: &'static Lib,
    /// The super-chunk API.
    pub s: Functions,
}

impl SchunkLib {
    fn open(lib: &'static Lib, path: &Path) -> Result<SchunkLib, String> {
        // SAFETY: both libraries have no initialiser that touches the process.
        let library = unsafe { libloading::Library::new(path) }
            .map_err(|e| format!("{}: {e}", path.display()))?;
        // The functions must never dangle.
        let library = Box::leak(Box::new(library));
        // SAFETY: `Functions` is declared after the reference's headers, which both libraries
        // implement.
        let s = unsafe { Functions::load(library) };
        let s = s.map_err(|e| format!("{}: {e}", path.display()))?;
        Ok(SchunkLib { lib, s })
    }
}

/// Our super-chunks.
pub fn our_schunks() -> &'static SchunkLib {
    static OURS: OnceLock<SchunkLib> = OnceLock::new();
    OURS.get_or_init(|| {
        SchunkLib::open(ours(), &ours_path()).unwrap_or_else(|e| panic!("our library: {e}"))
    })
}

/// The reference's super-chunks, or `None` where there is no reference: see [`reference_path`].
pub fn reference_schunks() -> Option<&'static SchunkLib> {
    static REFERENCE: OnceLock<SchunkLib> = OnceLock::new();
    let (lib, path) = (reference()?, reference_path()?);
    Some(REFERENCE.get_or_init(|| {
        SchunkLib::open(lib, &path).unwrap_or_else(|e| panic!("the reference: {e}"))
    }))
}
