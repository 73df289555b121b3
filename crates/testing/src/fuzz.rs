//! What the fuzz targets do with an input, and the chunks they begin with. The tests of the library
//! use it too: to replay what once broke something, and to mutate chunks without a fuzzer.

/// Safe ways to call the C functions of arrays, and frames of arrays.
pub mod arrays;
/// Safe ways to call the C functions, with buffers of exact sizes.
pub mod calls;
/// An array as plainly as can be.
pub mod model;
/// Numbers from inputs, and a generator of them.
pub mod numbers;
/// Much data out of few bytes.
pub mod recipe;
/// Checksums that lie.
pub mod restamp;
/// Chunks of every kind.
pub mod seeds;
/// One module for each fuzz target.
pub mod targets;
/// A codec, a filter and a postfilter as a program might register them.
pub mod user;
