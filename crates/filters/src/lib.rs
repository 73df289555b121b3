//! Filters: reversible (or, for [`trunc_prec`], lossy) rearrangements of a block that make it compress better.
//!
//! All take slices, the source and a destination of at least its length, and leave what lies past that length alone.
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]
// What ends the process where there is no memory: clippy.toml names it, and what to use instead.
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
pub mod delta;
pub mod int_trunc;
pub mod ndcell;
pub mod ndmean;
#[cfg(test)]
pub(crate) mod reference;
mod run;
pub mod shuffle;
mod simd;
pub mod trunc_prec;

pub use copy::copy;
pub use run::run_of;
pub use simd::kernels_in_use;
