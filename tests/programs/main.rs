//! Programs in C that call every function: without memory, with null pointers, on a full disk, and
//! at random.

oxiblosc_testing::panics_are_fatal!();

mod full_disk;
mod memory;
mod null_pointers;
mod random_programs;
