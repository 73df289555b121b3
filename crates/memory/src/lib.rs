//! Memory: collections whose growth is an error that can be handled, never the end of the process.
//!
//! The library uses these instead of those of the standard library, whose growth aborts; `clippy.toml` refuses the others.
//! - [`List`]: a growable array, as `Vec`
//! - [`Shared`]: a value with several owners, as `Arc`; [`boxed`]: a value on the heap
//! - [`CStrBuf`]: an owned C string; [`Lossy`]: one to be shown; [`Stderr`]: lines for it; [`Text`]: a formatted text of limited length, on the stack
//! - [`Buffer`]: bytes from `malloc`, that C may come to own; [`CowBuffer`]: those that may be C's at first; [`AlignedBuffer`]: zeros for the data of blocks
//! - [`grid`]: buffers that workers fill together
//! - [`depot`]: values that are kept between uses; [`per_thread`]: values of each thread's own
//! - [`Published`], [`Table`]: values that are read without a lock; [`Field`]: one that C reads and writes, too
//! - [`StateLock`]: a value that many threads read, with one that prepares a change
//! - [`env`]: environment variables, and the lines that some ask for; [`cpu`]: which vector instructions may be used
#![deny(unsafe_op_in_unsafe_fn)]
#![warn(clippy::undocumented_unsafe_blocks)]
// What ends the process where there is no memory: clippy.toml names it, and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

mod aligned;
mod buffer;
mod cow;
/// Vector instructions.
pub mod cpu;
/// Values that are kept for the next use.
pub mod depot;
/// Environment variables.
pub mod env;
mod field;
/// Arrays in a buffer, of which workers write parts at the same time.
pub mod grid;
mod heap;
/// C strings with a value in front of them.
pub mod labelled;
mod list;
/// Values of each thread's own.
pub mod per_thread;
mod published;
mod shared;
pub mod sort;
mod state_lock;
mod text;

pub use aligned::AlignedBuffer;
pub use buffer::{Buffer, Edit};
pub use cow::{CowBuffer, HandedOver};
pub use field::{Field, Value};
pub use heap::{boxed, boxed_uninit, on_c_heap};
pub use list::{Collect, List, ToList};
pub use published::{Published, Table};
#[doc(hidden)]
pub use shared::Counted;
pub use shared::Shared;
pub use state_lock::{Exclusive, Reserved, Shared as Reader, StateLock};
pub use text::{CStrBuf, Lossy, Stderr, Text};
