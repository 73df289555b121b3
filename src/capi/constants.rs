//! Every constant of the C headers, under its C name.
//!
//! The headers are generated from these files (see `headers/README.md`), so their shape is read by
//! a program: an integer becomes an enumerator, and the integers of one paragraph (no blank line
//! between them) become one anonymous `enum`, introduced by the plain comment above the paragraph.
//! What C programs test with `#if`, and every string, is a `#define`: the integers of that kind
//! stand in [`macros`]. What Blosc 1's own header also defines stands in [`blosc1`] and steps back
//! when that header was included first.
//!
//! A constant that is the length of an array in a struct is a `usize`; all others are `c_int`, as C
//! sees them.

mod b2nd;
mod blosc1;
mod blosc2;
mod errors;
mod macros;
mod registry;

pub use b2nd::*;
pub use blosc1::*;
pub use blosc2::*;
pub use errors::*;
pub use macros::*;
pub use registry::*;
