//! The super-chunk: chunks in order, with metadata, in memory or in a frame.

use super::context::*;
use super::io::blosc2_io;
use crate::capi::constants::*;
use core::ffi::{c_char, c_int, c_void};
use core::ptr::null_mut;

/// Where and how a super-chunk keeps its chunks. Start from `BLOSC2_STORAGE_DEFAULTS`. A
/// super-chunk copies the struct and what it points to.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_storage {
    /// Whether the chunks lie in one buffer or file (true) or each in its own.
    pub contiguous: bool,
    /// The path of the file or directory, or NULL to keep them in memory.
    pub urlpath: *mut c_char,
    /// How to compress; NULL for the defaults.
    pub cparams: *mut blosc2_cparams,
    /// How to decompress; NULL for the defaults.
    pub dparams: *mut blosc2_dparams,
    /// The back end; NULL for files.
    pub io: *mut blosc2_io,
}

/// What [`blosc2_frame`] is behind its name.
pub struct blosc2_frame_s {
    _opaque: [u8; 0],
}

/// The frame beneath a super-chunk, seen from C by its address alone.
pub type blosc2_frame = blosc2_frame_s;

/// Metadata under a name.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_metalayer {
    /// The name, at most `BLOSC2_METALAYER_NAME_MAXLEN` bytes.
    pub name: *mut c_char,
    /// The content, usually msgpack; that of a variable-length metalayer is a chunk.
    pub content: *mut u8,
    /// Bytes of the content.
    pub content_len: i32,
}

/// A super-chunk. Every field is the library's to write, and every pointer the library's to free;
/// made by `blosc2_schunk_new`, `blosc2_schunk_open` and their like, freed by `blosc2_schunk_free`.
#[repr(C)]
pub struct blosc2_schunk {
    /// Version of the format.
    pub version: u8,
    /// The codec of the chunks to come; a chunk may have another.
    pub compcode: u8,
    /// The codec's meta byte; a chunk may have another.
    pub compcode_meta: u8,
    /// The level.
    pub clevel: u8,
    /// The split mode.
    pub splitmode: u8,
    /// Bytes of one item.
    pub typesize: i32,
    /// Bytes of one block as asked for; 0 lets the tuner choose.
    pub blocksize: i32,
    /// Bytes of one chunk's data; 0 when the chunks differ.
    pub chunksize: i32,
    /// The second byte of Blosc 2 flags, the same in all chunks; 0 while there are none.
    pub flags2: u8,
    /// 1 when chunks get a dictionary.
    pub use_dict: u8,
    /// The filters in the order of their application.
    pub filters: [u8; BLOSC2_MAX_FILTERS],
    /// A meta byte for each filter.
    pub filters_meta: [u8; BLOSC2_MAX_FILTERS],
    /// How many chunks there are.
    pub nchunks: i64,
    /// The chunk being worked on.
    pub current_nchunk: i64,
    /// Bytes of all data.
    pub nbytes: i64,
    /// Bytes of all chunks, their headers included.
    pub cbytes: i64,
    /// The chunks, when there is no frame.
    pub data: *mut *mut u8,
    /// Bytes of the array that `data` points to.
    pub data_len: usize,
    /// How it is stored.
    pub storage: *mut blosc2_storage,
    /// The frame that holds the chunks, or NULL.
    pub frame: *mut blosc2_frame,
    /// The context that compresses.
    pub cctx: *mut blosc2_context,
    /// The context that decompresses.
    pub dctx: *mut blosc2_context,
    /// The fixed-length metalayers.
    pub metalayers: [*mut blosc2_metalayer; BLOSC2_MAX_METALAYERS],
    /// How many fixed-length metalayers there are.
    pub nmetalayers: u16,
    /// The variable-length metalayers.
    pub vlmetalayers: [*mut blosc2_metalayer; BLOSC2_MAX_VLMETALAYERS],
    /// How many variable-length metalayers there are.
    pub nvlmetalayers: i16,
    /// The tuner's configuration; the program's.
    pub tuner_params: *mut c_void,
    /// The tuner.
    pub tuner_id: c_int,
    /// Dimensions of the array that this holds, for codecs that ask.
    pub ndim: i8,
    /// The shape of a block of that array, for codecs that ask.
    pub blockshape: *mut i64,
    /// Whether another super-chunk owns the chunks.
    pub view: bool,
    /// Grows whenever a metalayer changes, here or through another handle on the same frame: what
    /// was decoded from metalayers at an older tick is out of date.
    pub change_tick: i64,
}

impl blosc2_metalayer {
    /// No metalayer.
    pub const fn none() -> Self {
        Self {
            name: null_mut(),
            content: null_mut(),
            content_len: 0,
        }
    }
}

impl blosc2_storage {
    /// The value of `BLOSC2_STORAGE_DEFAULTS`: sparse, in memory, all else by default.
    pub const fn defaults() -> Self {
        Self {
            contiguous: false,
            urlpath: null_mut(),
            cparams: null_mut(),
            dparams: null_mut(),
            io: null_mut(),
        }
    }
}
