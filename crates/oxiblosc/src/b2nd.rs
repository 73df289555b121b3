//! N-dimensional arrays on top of a super-chunk.
//!
//! An array is cut into chunks, and each chunk into blocks; at the end of a dimension both are
//! padded. The data of a chunk are its blocks one after the other, and the items of each block are
//! in C order.
//!
//! - [`ndim`](crate::ndim): the shapes of array, chunks and blocks, and the metalayer that has them
//! - `select`: which blocks a selection touches, and which items of them
//! - `runs`: the items as contiguous runs, in the block and in the caller's buffer
//! - `array`: an array during an operation; `open`: between operations; `create`: creating one
//! - `chunks`: access to chunks
//! - `read`, `write`: reading and writing selections
//! - `reshape`: which chunks are kept, added and removed when the shape changes
//! - `sparse`: items at arbitrary positions
//! - `views`: arrays with more or fewer dimensions over the same chunks

mod access;
/// Arrays during an operation.
pub mod array;
mod axes;
/// Access to chunks.
pub mod chunks;
/// Creating arrays.
pub mod create;
/// Arrays between operations.
pub mod open;
/// The API for Rust programs.
pub mod owned;
/// Reading.
pub mod read;
/// Which chunks are kept, added and removed when the shape changes.
pub mod reshape;
mod resize;
/// Copies of boxes between buffers of any shapes.
pub mod runs;
/// Selections.
pub mod select;
/// Items at arbitrary positions.
pub mod sparse;
/// Shapes of views.
pub mod views;
/// Writing.
pub mod write;

pub use crate::ndim::{Dims, MAX_DIM, geometry, meta, shape};
pub use array::ArrayRef;
