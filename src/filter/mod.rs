//! Filters: reversible (or, for [`trunc_prec`], lossy) rearrangements of a block that make it compress better.
//!
//! All take slices, the source and a destination of at least its length, and leave what lies past that length alone.

pub mod bitshuffle;
mod copy;
pub mod delta;
#[cfg(test)]
mod reference;
pub mod shuffle;
mod simd;
pub mod trunc_prec;

pub use copy::copy;
pub use simd::kernels_in_use;
