//! What every crate of oxiblosc stands on.
//!
//! - [`error`]: errors with a cause
//! - [`system`]: the operating system, for each kind of system; the collections need its allocator,
//!   threads and locks, so it is below them
//! - [`memory`]: collections whose growth may fail, and locks
//! - [`cells`]: the shapes of blocks of arrays
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(missing_docs, clippy::missing_errors_doc)]
#![warn(clippy::undocumented_unsafe_blocks)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

pub mod cells;
pub mod error;
pub mod memory;
// Its functions fail with the error that the system gives.
#[allow(clippy::missing_errors_doc)]
pub mod system;

pub use error::{Context, Doing, Error, ErrorKind, OrError, Result};
