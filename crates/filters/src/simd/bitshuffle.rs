//! The kernels of the bitshuffle.

mod columns;
pub(crate) mod generic;
mod groups;
pub(crate) mod matrices;
pub(crate) mod portable;
mod rows;
mod small;
