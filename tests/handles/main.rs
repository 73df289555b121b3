//! Several handles of one frame, in one process or in several, and what else happens to its file.

oxiblosc_testing::panics_are_fatal!();

mod appending;
mod b2nd_locking;
mod locking;
mod locking_waits;
mod open_handles;
mod replacing;
mod stress;
