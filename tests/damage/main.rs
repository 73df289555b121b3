//! Damaged and forged frames: what checksums find, and what happens without them.

oxiblosc_testing::panics_are_fatal!();

mod checksums;
mod hostile_frames;
