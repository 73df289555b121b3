//! Contexts and what they are made from: the parameters of compression and decompression.

use crate::capi::constants::*;
use core::ffi::{c_int, c_void};
use core::ptr::null_mut;

/// The time that the two functions measure between: seconds and nanoseconds of a clock that only
/// goes forward.
#[cfg(not(windows))]
pub type blosc_timestamp_t = libc::timespec;

/// The time that the two functions measure between: ticks of a clock that only goes forward.
#[cfg(windows)]
pub type blosc_timestamp_t = oxiblosc_base::system::clock::Timestamp;

/// What was measured for one stream of a block; a chunk of an instrumented codec holds these in
/// place of data.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct blosc2_instr {
    /// Bytes before over bytes after.
    pub cratio: f32,
    /// Bytes per second through the codec.
    pub cspeed: f32,
    /// Bytes per second through the filters.
    pub filter_speed: f32,
    /// Flags; the first byte is 1 when the stream is a run of one value.
    pub flags: [u8; 4],
}

/// A thread pool of the program's own. It calls `dojob(jobdata + i * jobdata_elsize)` once for
/// every `i` in `0..numjobs`, on any threads and in any order, and returns when all calls have
/// returned.
///
/// `callback_data` is what was handed to `blosc2_set_threads_callback`. `jobdata` is the library's
/// and lives until the callback returns.
///
/// No C++ exception may leave it, nor a `longjmp`: an exception ends the process.
pub type blosc_threads_callback = Option<
    unsafe extern "C" fn(
        callback_data: *mut c_void,
        dojob: Option<unsafe extern "C" fn(*mut c_void)>,
        numjobs: c_int,
        jobdata_elsize: usize,
        jobdata: *mut c_void,
    ),
>;

/// What [`blosc2_context`] is behind its name.
pub struct blosc2_context_s {
    _opaque: [u8; 0],
}

/// A context for compression or decompression, seen from C by its address alone. Made by
/// `blosc2_create_cctx` or `blosc2_create_dctx`, freed by `blosc2_free_ctx`; one thread at a time
/// may use it.
pub type blosc2_context = blosc2_context_s;

/// What a prefilter gets: the block to make and where it belongs. The struct and its buffers are
/// the library's, valid until the prefilter returns; `user_data` and `input` are what the program
/// put there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_prefilter_params {
    /// The program's own, passed through.
    pub user_data: *mut c_void,
    /// The chunk's source buffer, from its start.
    pub input: *const u8,
    /// Where the block goes: `output_size` bytes.
    pub output: *mut u8,
    /// Bytes of this block.
    pub output_size: i32,
    /// Bytes of one item of the output; 0 from the program means those of the source's.
    pub output_typesize: i32,
    /// Bytes from the start of the chunk's data to this block.
    pub output_offset: i32,
    /// The chunk's index in its super-chunk; -1 without one.
    pub nchunk: i64,
    /// The block's index in its chunk.
    pub nblock: i32,
    /// Which worker runs, from 0 to the context's number of threads less one.
    pub tid: i32,
    /// Scratch that no other worker uses meanwhile.
    pub ttmp: *mut u8,
    /// Bytes of `ttmp`.
    pub ttmp_nbytes: usize,
    /// The context that compresses.
    pub ctx: *mut blosc2_context,
    /// The program's word that it wants the calls and not the chunk: `output` is then not zeroed
    /// beforehand, and a block for which the prefilter does not return 0 is dropped.
    pub output_is_disposable: bool,
}

/// What a postfilter gets: the block that was decompressed and where its result goes. The struct
/// and its buffers are the library's, valid until the postfilter returns; `user_data` is what the
/// program put there.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_postfilter_params {
    /// The program's own, passed through.
    pub user_data: *mut c_void,
    /// The block as decompressed: `size` bytes.
    pub input: *const u8,
    /// Where the result goes: `size` bytes.
    pub output: *mut u8,
    /// Bytes of this block.
    pub size: i32,
    /// Bytes of one item.
    pub typesize: i32,
    /// Bytes from the start of the chunk's data to this block.
    pub offset: i32,
    /// The chunk's index in its super-chunk; -1 without one.
    pub nchunk: i64,
    /// The block's index in its chunk.
    pub nblock: i32,
    /// Which worker runs, from 0 to the context's number of threads less one.
    pub tid: i32,
    /// Scratch that no other worker uses meanwhile.
    pub ttmp: *mut u8,
    /// Bytes of `ttmp`.
    pub ttmp_nbytes: usize,
    /// The context that decompresses.
    pub ctx: *mut blosc2_context,
}

/// Makes a block in place of the source buffer, before the filters; called by several threads at
/// once. Returns 0, or anything else to stop the compression.
///
/// A C++ exception that leaves it is a failure; but on Linux alone, elsewhere it ends the process.
/// No `longjmp` may leave it.
pub type blosc2_prefilter_fn =
    Option<unsafe extern "C-unwind" fn(params: *mut blosc2_prefilter_params) -> c_int>;

/// Changes a block after the filters were undone; called by several threads at once. Returns 0, or
/// anything else to stop the decompression.
///
/// A C++ exception that leaves it is a failure; but on Linux alone, elsewhere it ends the process.
/// No `longjmp` may leave it.
pub type blosc2_postfilter_fn =
    Option<unsafe extern "C-unwind" fn(params: *mut blosc2_postfilter_params) -> c_int>;

/// How to compress. Start from `BLOSC2_CPARAMS_DEFAULTS`; a context copies the struct, and keeps
/// its pointers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_cparams {
    /// The codec: `BLOSC_BLOSCLZ` (default) to `BLOSC_ZSTD`, or a registered id.
    pub compcode: u8,
    /// The codec's meta byte.
    pub compcode_meta: u8,
    /// The level, 0 (stored) to 9; 5 by default.
    pub clevel: u8,
    /// Not 0: train a dictionary for each chunk; for Zstd, LZ4 and LZ4HC only.
    pub use_dict: c_int,
    /// Bytes of one item; 8 by default.
    pub typesize: i32,
    /// Threads that work on one chunk; 1 by default.
    pub nthreads: i16,
    /// Bytes of one block; 0 (default) lets the tuner choose.
    pub blocksize: i32,
    /// `BLOSC_ALWAYS_SPLIT` to `BLOSC_FORWARD_COMPAT_SPLIT` (default).
    pub splitmode: i32,
    /// The super-chunk that the chunks are for, a `blosc2_schunk`, or NULL; not owned.
    pub schunk: *mut c_void,
    /// The filters in the order of their application; `BLOSC_NOFILTER` leaves a slot empty. By
    /// default a shuffle in the last slot.
    pub filters: [u8; BLOSC2_MAX_FILTERS],
    /// A meta byte for each filter.
    pub filters_meta: [u8; BLOSC2_MAX_FILTERS],
    /// Makes the blocks, or NULL.
    pub prefilter: blosc2_prefilter_fn,
    /// What the prefilter gets; copied when the context is made.
    pub preparams: *mut blosc2_prefilter_params,
    /// The tuner's configuration, or NULL; not owned.
    pub tuner_params: *mut c_void,
    /// The tuner.
    pub tuner_id: c_int,
    /// Whether to measure the codec in place of keeping the data (see `blosc2_instr`).
    pub instr_codec: bool,
    /// The codec's own parameters, or NULL; not owned.
    pub codec_params: *mut c_void,
    /// Each filter's own parameters, or NULL; not owned.
    pub filter_params: [*mut c_void; BLOSC2_MAX_FILTERS],
}

/// How to decompress. Start from `BLOSC2_DPARAMS_DEFAULTS`; a context copies the struct, and keeps
/// its pointers.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_dparams {
    /// Threads that work on one chunk; 1 by default.
    pub nthreads: i16,
    /// The super-chunk that the chunks are from, a `blosc2_schunk`, or NULL; not owned.
    pub schunk: *mut c_void,
    /// Changes the blocks, or NULL.
    pub postfilter: blosc2_postfilter_fn,
    /// What the postfilter gets; copied when the context is made.
    pub postparams: *mut blosc2_postfilter_params,
    /// Bytes of one item; 8 by default.
    pub typesize: i32,
}

impl blosc2_cparams {
    /// The value of `BLOSC2_CPARAMS_DEFAULTS`: BloscLZ at level 5, shuffled items of 8 bytes, one
    /// thread.
    pub const fn defaults() -> Self {
        let mut filters = [BLOSC_NOFILTER as u8; BLOSC2_MAX_FILTERS];
        filters[BLOSC2_MAX_FILTERS - 1] = BLOSC_SHUFFLE as u8;
        Self {
            compcode: BLOSC_BLOSCLZ as u8,
            compcode_meta: 0,
            clevel: 5,
            use_dict: 0,
            typesize: 8,
            nthreads: 1,
            blocksize: 0,
            splitmode: BLOSC_FORWARD_COMPAT_SPLIT,
            schunk: null_mut(),
            filters,
            filters_meta: [0; BLOSC2_MAX_FILTERS],
            prefilter: None,
            preparams: null_mut(),
            tuner_params: null_mut(),
            tuner_id: BLOSC_STUNE,
            instr_codec: false,
            codec_params: null_mut(),
            filter_params: [null_mut(); BLOSC2_MAX_FILTERS],
        }
    }
}

impl blosc2_dparams {
    /// The value of `BLOSC2_DPARAMS_DEFAULTS`: one thread, no postfilter.
    pub const fn defaults() -> Self {
        Self {
            nthreads: 1,
            schunk: null_mut(),
            postfilter: None,
            postparams: null_mut(),
            typesize: 8,
        }
    }
}
