//! The API for Rust programs.

oxiblosc_testing::panics_are_fatal!();

mod api;
mod array_limits;
mod array_steps;
