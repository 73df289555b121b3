//! What C headers declare.

pub mod items;
pub mod macros;
