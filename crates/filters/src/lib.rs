//! Filters: transformations of a block that make it compress better. Most are reversible;
//! [`trunc_prec`], [`int_trunc`] and [`ndmean`] are lossy.
//!
//! Each takes a source and a destination of at least the same length. Bytes of the destination
//! behind that length are not touched.
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

pub mod bitshuffle;
pub mod bytedelta;
mod copy;
mod cpu;
pub mod crc32c;
pub mod delta;
pub mod int_trunc;
pub mod ndcell;
pub mod ndmean;
#[cfg(test)]
pub(crate) mod reference;
mod run;
pub mod shuffle;
mod simd;
mod table;
mod transposition;
pub mod trunc_prec;

pub use copy::copy;
pub use run::run_of;
pub use simd::kernels_in_use;
pub use table::{FILTERS, Filter, FilterKind, filter, filter_id};
pub use transposition::Transposition;
