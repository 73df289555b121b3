//! The shapes of n-dimensional arrays.
//!
//! - `meta`: the metalayer with the shapes of array, chunks and blocks
//! - `shape`, `geometry`: lengths along dimensions, and numbers that are computed from the three
//!   shapes

/// Shapes, and numbers that are computed from them.
pub mod geometry;
/// The metalayer.
pub mod meta;
/// Lengths along dimensions.
pub mod shape;

/// The maximum number of dimensions.
pub const MAX_DIM: usize = oxiblosc_base::memory::grid::MAX_AXES;

/// A number for each dimension. Elements after the last dimension have no meaning.
pub type Dims = [i64; MAX_DIM];
