//! Handles whose file somebody else cuts, removes, overwrites or replaces, or whose descriptors the
//! program closes (`descriptors.rs`).
//!
//! Whatever such a handle could tell it still tells, as the reference's does, and what it cannot
//! tell is an error: every call that reads, on every storage (`reads.rs`). A change that is
//! acknowledged is in a file that has a name (`changes.rs`). There may be more handles than the
//! process may have files open (`many.rs`). What others change is seen, whatever the clock of the
//! file system says (`clocks.rs`).
//!
//! Losses and descriptors are a sample; `OXIBLOSC_FAULTS=full` tries all of them.

mod changes;
mod clocks;
mod descriptors;
mod many;
mod place;
mod reads;
