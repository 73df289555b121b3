//! The kernels of the shuffle.

pub(crate) mod columns;
pub(crate) mod generic;
pub(crate) mod portable;
mod small;
