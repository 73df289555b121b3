//! What the integration tests and `benches/compare` share: the C ABI opened at run time, data, calls on slices.
#![allow(
    dead_code,
    unused_imports,
    reason = "every test binary compiles this module and uses its own part of it"
)]

pub mod abi;
pub mod b2nd;
pub mod ctx;
pub mod data;
pub mod fixtures;
pub mod folder;
pub mod isolated;
pub mod library;
pub mod maps;
pub mod memory_use;
pub mod needs;
pub mod panics;
pub mod pipelines;
pub mod random;
pub mod report;
pub mod rust_arrays;
pub mod sample;
pub mod schunk;
pub mod schunk_calls;
pub mod schunk_state;
pub mod shim;
pub mod table;
pub mod transactions;
pub mod workers;
