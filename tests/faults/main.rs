//! A process that dies, a loss of power and calls that fail, at every place of every change.

oxiblosc_testing::panics_are_fatal!();

mod calls;
mod changes;
mod crash;
mod power;
