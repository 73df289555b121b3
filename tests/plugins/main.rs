//! Registered codecs and filters: ours beside the reference, both ways, and damaged input.
//!
//! `OXIBLOSC_HOSTILE_PLUGINS` is the number of damaged streams and frames (2,000 by default),
//! `OXIBLOSC_HOSTILE_PLUGINS_FIRST` that of the first: the same number always gives the same bytes.

#[path = "../common/mod.rs"]
mod common;

mod arrays;
mod chunks;
mod hostile;
mod names;
