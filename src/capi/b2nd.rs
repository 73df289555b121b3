//! The functions of n-dimensional arrays.

pub mod array;
pub mod context;
pub mod convert;
pub mod copy_buffer;
pub mod create;
pub mod derive;
pub mod meta;
pub mod reshape;
pub mod selection;
pub mod slices;
pub mod views;
