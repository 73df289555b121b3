//! N-dimensional arrays over a super-chunk.

use super::schunk::blosc2_schunk;
use crate::capi::constants::B2ND_MAX_DIM;
use core::ffi::c_char;

/// The last chunk that was read, decompressed.
#[repr(C)]
#[derive(Debug)]
pub struct chunk_cache_s {
    /// The chunk's data.
    pub data: *mut u8,
    /// The chunk's index; -1 when nothing is kept.
    pub nchunk: i64,
}

/// What [`b2nd_context_t`] is behind its name.
pub struct b2nd_context_s {
    _opaque: [u8; 0],
}

/// What an array is made from, seen from C by its address alone. Made by `b2nd_create_ctx`, freed
/// by `b2nd_free_ctx`.
pub type b2nd_context_t = b2nd_context_s;

/// An array: its shape is cut into chunks, each chunk into blocks, the last ones padded. Every
/// field is the library's to write, and every pointer the library's to free, with `b2nd_free`.
/// Shapes and strides count items, and use the first `ndim` entries.
#[repr(C)]
pub struct b2nd_array_t {
    /// The super-chunk that holds the data.
    pub sc: *mut blosc2_schunk,
    /// Shape of the array.
    pub shape: [i64; B2ND_MAX_DIM],
    /// Shape of a chunk.
    pub chunkshape: [i32; B2ND_MAX_DIM],
    /// Shape of the array, padded to whole chunks.
    pub extshape: [i64; B2ND_MAX_DIM],
    /// Shape of a block.
    pub blockshape: [i32; B2ND_MAX_DIM],
    /// Shape of a chunk, padded to whole blocks.
    pub extchunkshape: [i64; B2ND_MAX_DIM],
    /// Items of the array.
    pub nitems: i64,
    /// Items of a chunk.
    pub chunknitems: i32,
    /// Items of the padded array.
    pub extnitems: i64,
    /// Items of a block.
    pub blocknitems: i32,
    /// Items of a padded chunk.
    pub extchunknitems: i64,
    /// Dimensions.
    pub ndim: i8,
    /// The last chunk that was read.
    pub chunk_cache: chunk_cache_s,
    /// From one item to the next along each dimension, in the array.
    pub item_array_strides: [i64; B2ND_MAX_DIM],
    /// From one item to the next along each dimension, in a chunk.
    pub item_chunk_strides: [i64; B2ND_MAX_DIM],
    /// From one item to the next along each dimension, in a padded chunk.
    pub item_extchunk_strides: [i64; B2ND_MAX_DIM],
    /// From one item to the next along each dimension, in a block.
    pub item_block_strides: [i64; B2ND_MAX_DIM],
    /// From one block to the next along each dimension, in a chunk.
    pub block_chunk_strides: [i64; B2ND_MAX_DIM],
    /// From one chunk to the next along each dimension, in the array.
    pub chunk_array_strides: [i64; B2ND_MAX_DIM],
    /// The dtype as text.
    pub dtype: *mut c_char,
    /// How to read the dtype; `DTYPE_NUMPY_FORMAT` by default.
    pub dtype_format: i8,
    /// The super-chunk's `change_tick` that these fields agree with.
    pub last_tick: i64,
}
