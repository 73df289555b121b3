//! The C border: every exported function, grouped as the headers are. A function checks its pointers, borrows what
//! they point to, calls the core and turns the result into a return code.

pub mod b2nd;
pub mod border;
/// Checksums.
pub mod checksums;
pub mod compress;
pub mod constants;
pub mod context;
pub mod decompress;
pub mod defaults;
pub mod exec;
pub mod files;
pub mod filters;
pub mod global;
mod hooks;
pub mod indices;
pub mod info;
pub mod io;
pub mod mmap;
pub mod registry;
pub mod schunk;
pub mod special;
/// Transactions.
pub mod transactions;
#[allow(non_camel_case_types, reason = "a C type keeps its C name")]
pub mod types;

pub use compress::{blosc2_compress_ctx, blosc2_vlcompress_ctx};

/// What most files of the border use.
mod prelude {
    pub use super::border::*;
    pub use super::constants::*;
    pub use super::types::*;
    pub use oxiblosc_error::{Error, Result};
    pub use std::ffi::{CStr, c_char, c_int, c_void};
    pub use std::ptr::{null, null_mut};
}
