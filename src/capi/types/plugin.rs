//! What a program registers: codecs, filters and tuners. Registering copies the struct and its
//! name.

use super::context::*;
use core::ffi::{c_char, c_int, c_void};

/// Compresses `input_len` bytes into at most `output_len`. `meta` and `cparams` are those of the
/// chunk, `chunk` its first bytes. Returns the bytes written; 0 if they would not fit; or a
/// negative code.
pub type blosc2_codec_encoder_cb = Option<
    unsafe extern "C-unwind" fn(
        input: *const u8,
        input_len: i32,
        output: *mut u8,
        output_len: i32,
        meta: u8,
        cparams: *mut blosc2_cparams,
        chunk: *const c_void,
    ) -> c_int,
>;

/// Decompresses `input_len` bytes into at most `output_len`. `meta` and `dparams` are those of the
/// chunk, `chunk` its first byte. Returns the bytes written, or a negative code.
pub type blosc2_codec_decoder_cb = Option<
    unsafe extern "C-unwind" fn(
        input: *const u8,
        input_len: i32,
        output: *mut u8,
        output_len: i32,
        meta: u8,
        dparams: *mut blosc2_dparams,
        chunk: *const c_void,
    ) -> c_int,
>;

/// A codec.
///
/// A C++ exception that leaves one of its functions is a failure of that function; but on Linux
/// alone, elsewhere it ends the process. No `longjmp` may leave them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_codec {
    /// The id, `BLOSC2_USER_REGISTERED_CODECS_START` to `BLOSC2_USER_REGISTERED_CODECS_STOP` for
    /// programs.
    pub compcode: u8,
    /// The name; copied.
    pub compname: *mut c_char,
    /// The library that reads its streams.
    pub complib: u8,
    /// The version of its streams.
    pub version: u8,
    /// Compresses; NULL to look for a plugin of this name.
    pub encoder: blosc2_codec_encoder_cb,
    /// Decompresses; NULL to look for a plugin of this name.
    pub decoder: blosc2_codec_decoder_cb,
}

/// Filters a block: source, destination, bytes of both, the meta byte, the parameters, the filter's
/// id. Returns 0 (or more), or a negative code.
pub type blosc2_filter_forward_cb = Option<
    unsafe extern "C-unwind" fn(*const u8, *mut u8, i32, u8, *mut blosc2_cparams, u8) -> c_int,
>;

/// Undoes a filter: source, destination, bytes of both, the meta byte, the parameters, the filter's
/// id. Returns 0 (or more), or a negative code.
pub type blosc2_filter_backward_cb = Option<
    unsafe extern "C-unwind" fn(*const u8, *mut u8, i32, u8, *mut blosc2_dparams, u8) -> c_int,
>;

/// A filter.
///
/// A C++ exception that leaves one of its functions is a failure of that function; but on Linux
/// alone, elsewhere it ends the process. No `longjmp` may leave them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_filter {
    /// The id, `BLOSC2_USER_REGISTERED_FILTERS_START` to `BLOSC2_USER_REGISTERED_FILTERS_STOP` for
    /// programs.
    pub id: u8,
    /// The name; copied.
    pub name: *mut c_char,
    /// The filter's version.
    pub version: u8,
    /// Filters; NULL to look for a plugin of this name.
    pub forward: blosc2_filter_forward_cb,
    /// Undoes it; NULL to look for a plugin of this name.
    pub backward: blosc2_filter_backward_cb,
}

/// A tuner: it sets a compression context's parameters chunk by chunk. Every function returns 0, or
/// a negative code.
///
/// A C++ exception that leaves one of its functions is a failure of that function; but on Linux
/// alone, elsewhere it ends the process. No `longjmp` may leave them.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_tuner {
    /// Begins: `config` is the `tuner_params` of the context (copy what is needed); `dctx` may be
    /// NULL.
    pub init: Option<
        unsafe extern "C-unwind" fn(
            config: *mut c_void,
            cctx: *mut blosc2_context,
            dctx: *mut blosc2_context,
        ) -> c_int,
    >,
    /// Sets the block size alone; for a context whose tuner was not begun.
    pub next_blocksize: Option<unsafe extern "C-unwind" fn(context: *mut blosc2_context) -> c_int>,
    /// Sets the parameters of the next chunk.
    pub next_cparams: Option<unsafe extern "C-unwind" fn(context: *mut blosc2_context) -> c_int>,
    /// Learns how long the last chunk took, in seconds.
    pub update:
        Option<unsafe extern "C-unwind" fn(context: *mut blosc2_context, ctime: f64) -> c_int>,
    /// Ends, and frees what `init` took.
    pub free: Option<unsafe extern "C-unwind" fn(context: *mut blosc2_context) -> c_int>,
    /// The id, `BLOSC2_USER_REGISTERED_TUNER_START` to `BLOSC2_USER_REGISTERED_TUNER_STOP` for
    /// programs.
    pub id: c_int,
    /// The name; copied.
    pub name: *mut c_char,
}
