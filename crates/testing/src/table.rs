//! Functions as typed pointers, found by name in a shared library: every one of the chunk API, and
//! a way to say others.

use super::abi::*;
use core::ffi::{c_char, c_int, c_void};

#[macro_export]
macro_rules! functions {
    ($table:ident { $(fn $name:ident($($arg:ty),* $(,)?) $(-> $ret:ty)?;)* }) => {
        /// Functions of one library.
        pub struct $table {
            $(pub $name: unsafe extern "C" fn($($arg),*) $(-> $ret)?,)*
        }

        impl $table {
            /// Looks every function up; the error names the ones that are not there.
            ///
            /// # Safety
            /// The library's functions must have the signatures of the reference's headers.
            pub unsafe fn load(library: &libloading::Library) -> Result<Self, String> {
                let mut missing: Vec<&str> = Vec::new();
                $(
                    // SAFETY: the caller vouches for the signatures.
                    let found = unsafe { library.get::<unsafe extern "C" fn($($arg),*) $(-> $ret)?>(stringify!($name).as_bytes()) };
                    if found.is_err() {
                        missing.push(stringify!($name));
                    }
                    let $name = found.map(|symbol| *symbol);
                )*
                if !missing.is_empty() {
                    return Err(format!("not exported: {}", missing.join(", ")));
                }
                Ok($table { $($name: $name.map_err(|e| e.to_string())?,)* })
            }
        }
    };
}

functions! { Functions {
    fn blosc1_compress(c_int, c_int, usize, usize, *const c_void, *mut c_void, usize) -> c_int;
    fn blosc1_decompress(*const c_void, *mut c_void, usize) -> c_int;
    fn blosc1_getitem(*const c_void, c_int, c_int, *mut c_void) -> c_int;
    fn blosc1_cbuffer_sizes(*const c_void, *mut usize, *mut usize, *mut usize);
    fn blosc1_cbuffer_validate(*const c_void, usize, *mut usize) -> c_int;
    fn blosc1_cbuffer_metainfo(*const c_void, *mut usize, *mut c_int);
    fn blosc1_get_blocksize() -> c_int;
    fn blosc1_set_blocksize(usize);
    fn blosc1_get_compressor() -> *const c_char;
    fn blosc1_set_compressor(*const c_char) -> c_int;
    fn blosc1_set_splitmode(c_int);

    fn blosc2_init();
    fn blosc2_destroy();
    fn blosc2_free_resources() -> c_int;
    fn blosc2_compress(c_int, c_int, i32, *const c_void, i32, *mut c_void, i32) -> c_int;
    fn blosc2_decompress(*const c_void, i32, *mut c_void, i32) -> c_int;
    fn blosc2_compress_ctx(*mut Context, *const c_void, i32, *mut c_void, i32) -> c_int;
    fn blosc2_decompress_ctx(*mut Context, *const c_void, i32, *mut c_void, i32) -> c_int;
    fn blosc2_getitem(*const c_void, i32, c_int, c_int, *mut c_void, i32) -> c_int;
    fn blosc2_getitem_ctx(*mut Context, *const c_void, i32, c_int, c_int, *mut c_void, i32) -> c_int;
    fn blosc2_getitem_bytes_ctx(*mut Context, *const c_void, i32, i32, i32, *mut c_void, i32) -> c_int;
    fn blosc2_create_cctx(CParams) -> *mut Context;
    fn blosc2_create_dctx(DParams) -> *mut Context;
    fn blosc2_free_ctx(*mut Context);
    fn blosc2_ctx_get_cparams(*mut Context, *mut CParams) -> c_int;
    fn blosc2_ctx_get_dparams(*mut Context, *mut DParams) -> c_int;
    fn blosc2_set_maskout(*mut Context, *mut bool, c_int) -> c_int;
    fn blosc2_vlcompress_ctx(*mut Context, *const *const c_void, *const i32, i32, *mut c_void, i32) -> c_int;
    fn blosc2_vldecompress_ctx(*mut Context, *const c_void, i32, *mut *mut c_void, *mut i32, i32) -> c_int;
    fn blosc2_vldecompress_block_ctx(*mut Context, *const c_void, i32, i32, *mut *mut u8, *mut i32) -> c_int;
    fn blosc2_vlchunk_get_nblocks(*const c_void, i32, *mut i32) -> c_int;
    fn blosc2_chunk_zeros(CParams, i32, *mut c_void, i32) -> c_int;
    fn blosc2_chunk_nans(CParams, i32, *mut c_void, i32) -> c_int;
    fn blosc2_chunk_repeatval(CParams, i32, *mut c_void, i32, *const c_void) -> c_int;
    fn blosc2_chunk_uninit(CParams, i32, *mut c_void, i32) -> c_int;
    fn blosc2_cbuffer_sizes(*const c_void, *mut i32, *mut i32, *mut i32) -> c_int;
    fn blosc2_cbuffer_versions(*const c_void, *mut c_int, *mut c_int);
    fn blosc2_cbuffer_complib(*const c_void) -> *const c_char;
    fn blosc2_compcode_to_compname(c_int, *mut *const c_char) -> c_int;
    fn blosc2_compname_to_compcode(*const c_char) -> c_int;
    fn blosc2_list_compressors() -> *const c_char;
    fn blosc2_get_complib_info(*const c_char, *mut *mut c_char, *mut *mut c_char) -> c_int;
    fn blosc2_get_version_string() -> *const c_char;
    fn blosc2_error_string(c_int) -> *const c_char;
    fn blosc2_get_nthreads() -> i16;
    fn blosc2_set_nthreads(i16) -> i16;
    fn blosc2_set_delta(c_int);
    fn blosc2_set_threads_callback(Option<ThreadsCallback>, *mut c_void);
    fn blosc2_register_codec(*mut Codec) -> c_int;
    fn blosc2_register_filter(*mut Filter) -> c_int;
    fn blosc2_register_tuner(*mut Tuner) -> c_int;
    fn blosc2_shuffle(i32, i32, *const c_void, *mut c_void) -> i32;
    fn blosc2_unshuffle(i32, i32, *const c_void, *mut c_void) -> i32;
    fn blosc2_bitshuffle(i32, i32, *const c_void, *mut c_void) -> i32;
    fn blosc2_bitunshuffle(i32, i32, *const c_void, *mut c_void) -> i32;
    fn blosc2_get_blosc2_cparams_defaults() -> CParams;
    fn blosc2_get_blosc2_dparams_defaults() -> DParams;

    fn blosc_set_timestamp(*mut Timestamp);
    fn blosc_elapsed_nsecs(Timestamp, Timestamp) -> f64;
    fn blosc_elapsed_secs(Timestamp, Timestamp) -> f64;
}}
