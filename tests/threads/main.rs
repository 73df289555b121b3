//! Threads of one process that share contexts, super-chunks and arrays.

oxiblosc_testing::panics_are_fatal!();

mod contexts;
mod lock_circles;
mod shared_arrays;
mod shared_handle;
mod two_handles;
