//! The library as programs call it, beside c-blosc's.

oxiblosc_testing::panics_are_fatal!();

mod calls;
mod chunks;
mod common;
mod environment;
mod hostile;
mod threads;
