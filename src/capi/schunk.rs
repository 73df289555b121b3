//! The functions of super-chunks.

pub mod chunks;
pub mod convert;
pub mod create;
pub mod handle;
pub mod meta;
pub mod mirror;
pub mod misc;
pub mod parts;
pub mod slices;
pub mod storage;
pub mod touched;
