//! Chunks: what is in them, how large they are, and that they are the reference's.

oxiblosc_testing::panics_are_fatal!();

mod dictionaries;
mod fixtures;
mod interop;
mod interop_edges;
mod interop_features;
mod interop_vlblocks;
mod patch;
mod patch_in_place;
mod properties;
mod simd_levels;
mod zlib_sizes;
