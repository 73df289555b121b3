//! Super-chunks and frames: their bytes and sizes, back ends, random sequences of calls, and
//! transactions.

oxiblosc_testing::panics_are_fatal!();

mod fields;
mod formats;
mod io;
mod io_backends;
mod schunk_model;
mod sizes;
mod transactions;
