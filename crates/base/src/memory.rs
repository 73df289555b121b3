//! Memory: collections whose growth returns an error when there is no memory.
//!
//! The library uses these instead of the collections of the standard library, which abort the
//! process then; `clippy.toml` refuses those.
//! - [`TryVec`]: a growable array, as `Vec`; [`Sorted`]: items in ascending order
//! - [`Shared`]: a value with several owners, as `Arc`; [`boxed`]: a value on the heap
//! - [`CStrBuf`]: an owned C string; [`Lossy`]: displays a C string; [`Stderr`]: writes lines to
//!   standard error; [`Text`]: a formatted text of limited length, on the stack
//! - [`Buffer`]: bytes from `malloc`, which C can free; [`CowBuffer`]: bytes that may be borrowed
//!   from C; [`AlignedBuffer`]: zeroed buffers for blocks
//! - [`kept_blocks`]: what is kept for the next use instead of being freed
//! - [`grid`]: buffers that workers fill together
//! - [`object_pool`]: an object pool; [`per_thread`]: thread-local values
//! - [`Published`], [`PublishedTable`]: values that are read without a lock; [`Field`]: fields that
//!   C reads and writes, too
//! - [`StateLock`]: a lock that lets many threads read while one prepares a change
//! - [`mod@env`]: environment variables, and trace output; [`cpu`]: which vector instructions are
//!   used

mod aligned;
mod buffer;
mod cow;
/// Vector instructions.
pub mod cpu;
/// Environment variables.
pub mod env;
mod field;
/// Arrays in a buffer whose parts are written by several workers at the same time.
pub mod grid;
mod heap;
/// Large blocks that are kept for the next use.
pub mod kept_blocks;
/// C strings with a value in front of them.
pub mod labelled;
mod locked;
/// An object pool.
pub mod object_pool;
/// Thread-local values.
pub mod per_thread;
mod published;
mod shared;
pub mod sort;
mod sorted;
mod state_lock;
mod text;
mod try_vec;

pub use crate::{as_dyn, shared_dyn};
pub use aligned::AlignedBuffer;
pub use buffer::{Buffer, Edit};
pub use cow::{CowBuffer, MallocOwned};
pub use field::{Field, Value};
pub use heap::{boxed, boxed_uninit, on_c_heap};
pub use locked::lock;
pub use published::{Published, PublishedTable};
#[doc(hidden)]
pub use shared::Counted;
pub use shared::Shared;
pub use sorted::Sorted;
pub use state_lock::{Exclusive, Reader, Reserved, StateLock};
pub use text::{CStrBuf, Lossy, Stderr, Text};
pub use try_vec::{Collect, ToTryVec, TryVec};
