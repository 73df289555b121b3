//! N-dimensional arrays on top of a super-chunk.
//!
//! The shape of an array is cut into chunks, and each chunk into blocks; at the far edges both are padded. A chunk's data
//! are its blocks one after the other, each block's items in C order.
//!
//! - [`meta`]: the metalayer that says how an array is cut
//! - [`shape`], [`geometry`]: lengths along dimensions, and what follows from the shapes of array, chunk and block
//! - [`select`]: which blocks a selection touches, and which items of them
//! - [`runs`]: the items as runs of bytes, in the block and in the caller's buffer
//! - [`array`], [`open`], [`create`]: arrays in use, between uses, and while they are made
//! - [`chunks`]: where the chunks are
//! - [`read`], [`write`]: blocks out of and into chunks
//! - [`reshape`]: which chunks stay, come and go when the shape changes
//! - [`sparse`]: single items
//! - [`views`]: more and fewer dimensions over the same chunks

mod access;
/// Arrays in use.
pub mod array;
mod axes;
/// Where blocks come from.
pub mod chunks;
/// Super-chunks that become arrays.
pub mod create;
/// Shapes and what follows from them.
pub mod geometry;
/// The metalayer.
pub mod meta;
/// Arrays that are open.
pub mod open;
/// Arrays of Rust programs.
pub mod owned;
/// Reading.
pub mod read;
/// Changes of the shape.
pub mod reshape;
mod resize;
/// Copies between buffers of any shapes.
pub mod runs;
/// Selections.
pub mod select;
/// Lengths along dimensions.
pub mod shape;
/// Single items.
pub mod sparse;
/// Shapes of views.
pub mod views;
/// Writing.
pub mod write;

pub use array::ArrayRef;

/// The most dimensions.
pub const MAX_DIM: usize = oxiblosc_memory::grid::MAX_AXES;

/// One number a dimension; those behind the last dimension mean nothing.
pub type Dims = [i64; MAX_DIM];
