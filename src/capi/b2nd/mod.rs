//! The functions of n-dimensional arrays.

/// The struct behind the pointer.
pub mod array;
/// What arrays are made from.
pub mod context;
/// Arrays out of and into other things.
pub mod convert;
/// Copies between buffers.
pub mod copy_buffer;
/// Making arrays.
pub mod create;
/// Arrays out of arrays.
pub mod derive;
/// The metalayer.
pub mod meta;
/// Growing and shrinking.
pub mod reshape;
/// Lists of indices, and single items.
pub mod selection;
/// Slices.
pub mod slices;
/// Arrays with more or fewer dimensions over the same chunks.
pub mod views;
