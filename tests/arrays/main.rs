//! Arrays, as C programs use them.

oxiblosc_testing::panics_are_fatal!();

mod b2nd;
mod b2nd_model;
