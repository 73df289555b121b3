//! The C ABI as a program that was compiled against the reference's headers sees it.
//!
//! Declared by hand and not taken from the crate: a layout that went wrong in the library must not
//! go wrong here too.

use core::ffi::{c_char, c_int, c_void};

/// Slots of a filter pipeline.
pub const MAX_FILTERS: usize = 6;
/// Bytes of an extended chunk header, and the most that compression may add to its input.
pub const MAX_OVERHEAD: usize = 32;
/// The largest buffer that can be compressed.
pub const MAX_BUFFERSIZE: i32 = i32::MAX - MAX_OVERHEAD as i32;

pub const BLOSCLZ: u8 = 0;
pub const LZ4: u8 = 1;
pub const LZ4HC: u8 = 2;
pub const ZLIB: u8 = 4;
pub const ZSTD: u8 = 5;

pub const NOFILTER: u8 = 0;
pub const SHUFFLE: u8 = 1;
pub const BITSHUFFLE: u8 = 2;
pub const DELTA: u8 = 3;
pub const TRUNC_PREC: u8 = 4;

pub const ALWAYS_SPLIT: i32 = 1;
pub const NEVER_SPLIT: i32 = 2;
pub const AUTO_SPLIT: i32 = 3;
pub const FORWARD_COMPAT_SPLIT: i32 = 4;

/// A context is only ever held by its address.
pub type Context = c_void;

/// `blosc2_prefilter_params`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PrefilterParams {
    pub user_data: *mut c_void,
    pub input: *const u8,
    pub output: *mut u8,
    pub output_size: i32,
    pub output_typesize: i32,
    pub output_offset: i32,
    pub nchunk: i64,
    pub nblock: i32,
    pub tid: i32,
    pub ttmp: *mut u8,
    pub ttmp_nbytes: usize,
    pub ctx: *mut Context,
    pub output_is_disposable: bool,
}

impl PrefilterParams {
    /// Those that a program sets are zero.
    pub const ZERO: Self = Self {
        user_data: core::ptr::null_mut(),
        input: core::ptr::null(),
        output: core::ptr::null_mut(),
        output_size: 0,
        output_typesize: 0,
        output_offset: 0,
        nchunk: 0,
        nblock: 0,
        tid: 0,
        ttmp: core::ptr::null_mut(),
        ttmp_nbytes: 0,
        ctx: core::ptr::null_mut(),
        output_is_disposable: false,
    };
}

/// `blosc2_postfilter_params`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct PostfilterParams {
    pub user_data: *mut c_void,
    pub input: *const u8,
    pub output: *mut u8,
    pub size: i32,
    pub typesize: i32,
    pub offset: i32,
    pub nchunk: i64,
    pub nblock: i32,
    pub tid: i32,
    pub ttmp: *mut u8,
    pub ttmp_nbytes: usize,
    pub ctx: *mut Context,
}

pub type PrefilterFn = extern "C" fn(*mut PrefilterParams) -> c_int;
pub type PostfilterFn = extern "C" fn(*mut PostfilterParams) -> c_int;

/// `blosc2_cparams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct CParams {
    pub compcode: u8,
    pub compcode_meta: u8,
    pub clevel: u8,
    pub use_dict: c_int,
    pub typesize: i32,
    pub nthreads: i16,
    pub blocksize: i32,
    pub splitmode: i32,
    pub schunk: *mut c_void,
    pub filters: [u8; 6],
    pub filters_meta: [u8; 6],
    pub prefilter: Option<PrefilterFn>,
    pub preparams: *mut PrefilterParams,
    pub tuner_params: *mut c_void,
    pub tuner_id: c_int,
    pub instr_codec: bool,
    pub codec_params: *mut c_void,
    pub filter_params: [*mut c_void; 6],
}

impl CParams {
    /// The same parameters with this block size.
    pub fn with_blocksize(self, blocksize: i32) -> Self {
        CParams { blocksize, ..self }
    }
}

impl Default for CParams {
    fn default() -> Self {
        CParams {
            compcode: BLOSCLZ,
            compcode_meta: 0,
            clevel: 5,
            use_dict: 0,
            typesize: 8,
            nthreads: 1,
            blocksize: 0,
            splitmode: FORWARD_COMPAT_SPLIT,
            schunk: core::ptr::null_mut(),
            filters: [0, 0, 0, 0, 0, SHUFFLE],
            filters_meta: [0; 6],
            prefilter: None,
            preparams: core::ptr::null_mut(),
            tuner_params: core::ptr::null_mut(),
            tuner_id: 0,
            instr_codec: false,
            codec_params: core::ptr::null_mut(),
            filter_params: [core::ptr::null_mut(); 6],
        }
    }
}

/// `blosc2_dparams`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct DParams {
    pub nthreads: i16,
    pub schunk: *mut c_void,
    pub postfilter: Option<PostfilterFn>,
    pub postparams: *mut PostfilterParams,
    pub typesize: i32,
}

impl Default for DParams {
    fn default() -> Self {
        DParams {
            nthreads: 1,
            schunk: core::ptr::null_mut(),
            postfilter: None,
            postparams: core::ptr::null_mut(),
            typesize: 8,
        }
    }
}

pub type EncoderFn =
    extern "C" fn(*const u8, i32, *mut u8, i32, u8, *mut CParams, *const c_void) -> c_int;
pub type DecoderFn =
    extern "C" fn(*const u8, i32, *mut u8, i32, u8, *mut DParams, *const c_void) -> c_int;

/// `blosc2_codec`.
#[repr(C)]
pub struct Codec {
    pub compcode: u8,
    pub compname: *mut c_char,
    pub complib: u8,
    pub version: u8,
    pub encoder: Option<EncoderFn>,
    pub decoder: Option<DecoderFn>,
}

pub type ForwardFn = extern "C" fn(*const u8, *mut u8, i32, u8, *mut CParams, u8) -> c_int;
pub type BackwardFn = extern "C" fn(*const u8, *mut u8, i32, u8, *mut DParams, u8) -> c_int;

/// `blosc2_filter`.
#[repr(C)]
pub struct Filter {
    pub id: u8,
    pub name: *mut c_char,
    pub version: u8,
    pub forward: Option<ForwardFn>,
    pub backward: Option<BackwardFn>,
}

/// `blosc2_tuner`.
#[repr(C)]
pub struct Tuner {
    pub init: Option<extern "C" fn(*mut c_void, *mut Context, *mut Context) -> c_int>,
    pub next_blocksize: Option<extern "C" fn(*mut Context) -> c_int>,
    pub next_cparams: Option<extern "C" fn(*mut Context) -> c_int>,
    pub update: Option<extern "C" fn(*mut Context, f64) -> c_int>,
    pub free: Option<extern "C" fn(*mut Context) -> c_int>,
    pub id: c_int,
    pub name: *mut c_char,
}

/// `blosc_timestamp_t` on POSIX.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct Timestamp {
    pub tv_sec: i64,
    pub tv_nsec: i64,
}

/// One piece of work that a threads callback is given.
pub type DoJob = extern "C" fn(*mut c_void);
/// `blosc_threads_callback`.
pub type ThreadsCallback = extern "C" fn(*mut c_void, DoJob, c_int, usize, *mut c_void);
