//! The types of the C headers, under their C names and with their C layouts.
//!
//! The headers are generated from these files (see `headers/README.md`): a field, its type and its
//! comment stand in C as they stand here. A pointer's comment says who owns what it points to;
//! without a word the caller keeps it.

mod b2nd;
mod context;
mod io;
mod plugin;
mod registry;
mod schunk;
mod stdio;

pub use b2nd::*;
pub use context::*;
pub use io::*;
pub use plugin::*;
pub use registry::*;
pub use schunk::*;
pub use stdio::*;
