//! Registered codecs and filters: ours beside the reference, both ways, and damaged input.
//!
//! `OXIBLOSC_HOSTILE_PLUGINS` is the number of damaged frames (2,000 by default), of damaged streams there are ten times as many,
//! `OXIBLOSC_HOSTILE_PLUGINS_FIRST` that of the first: the same number always gives the same bytes.

#[path = "../common/mod.rs"]
mod common;

#[path = "../../fuzz/src/lib.rs"]
#[allow(dead_code, reason = "of the fuzz targets one is used here")]
mod fuzz;

mod arrays;
mod chunks;
mod hostile;
mod names;
mod packages;
mod tuners;
