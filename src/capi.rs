//! The C border: every exported function, grouped as the headers are. A function checks its
//! pointers, borrows what they point to, calls the core and turns the result into a return code.

pub mod b2nd;
/// Checksums.
pub mod checksums;
mod chunk;
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
mod traced;
/// Transactions.
pub mod transactions;
#[allow(non_camel_case_types, reason = "a C type keeps its C name")]
pub mod types;
mod unwritten;

pub use compress::{blosc2_compress_ctx, blosc2_vlcompress_ctx};

/// Copies the fields of these names from one structure to another: from a context with `get`, to
/// one with `set`.
macro_rules! assign {
    ($to:expr, $from:expr; $($field:ident),+) => { $( $to.$field = $from.$field; )+ };
    ($to:expr, set $from:expr; $($field:ident),+) => { $( $to.$field.set($from.$field); )+ };
    ($to:expr, get $from:expr; $($field:ident),+) => { $( $to.$field = $from.$field.get(); )+ };
}

/// A structure of these fields, and of those that it takes from another structure under the same
/// names, with `get` from a context.
macro_rules! gather {
    ($type:ident { $($own:ident $(: $value:expr)?),* } from $from:expr; $($field:ident),+) => {
        $type { $($own $(: $value)?,)* $($field: $from.$field),+ }
    };
    ($type:ident { $($own:ident $(: $value:expr)?),* } get $from:expr; $($field:ident),+) => {
        $type { $($own $(: $value)?,)* $($field: $from.$field.get()),+ }
    };
}

/// An unsafe expression that is sound because the caller keeps to the `# Safety` section of the
/// function in which it stands. For an export that is what the headers require of the program. What
/// relies on anything else is a plain `unsafe` block.
macro_rules! unsafe_granted {
    ($body:expr) => {
        // SAFETY: what this requires is what the `# Safety` section of the function around it
        // requires.
        unsafe { $body }
    };
}

/// What most files of the border use.
mod prelude {
    pub use super::constants::*;
    pub use super::context::Context;
    pub use super::schunk::handle::{Handle, ViewedSchunk};
    pub use super::types::*;
    pub use oxiblosc::SuperChunk;
    pub use oxiblosc_base::{Error, Result};
    pub use oxiblosc_border::*;
    pub use std::ffi::{CStr, c_char, c_int, c_void};
    pub use std::ptr::{null, null_mut};
    pub(crate) use {assign, gather, unsafe_granted};
}
