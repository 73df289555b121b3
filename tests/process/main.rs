//! What belongs to a whole process: each test has one to itself.

oxiblosc_testing::panics_are_fatal!();

mod interop_global;
mod io_fork;
mod io_locking;
mod page_faults;
mod pool_fork;
