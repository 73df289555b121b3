//! A frame in a file or a directory.
//!
//! A handle keeps header, trailer and offsets in memory. [`Disk::refresh`] reads them again if
//! another handle or process has changed the frame: if the header on disk, or the fingerprint at
//! the end of the trailer, is a different one. The header alone is not enough, since after several
//! changes it may be the same as before. [`Disk::commit`] changes the frame.
//!
//! A frame of less than [`MAX_COMPACT_LEN`](limits::MAX_COMPACT_LEN) bytes and at most
//! [`MAX_COMPACT_CHUNKS`](limits::MAX_COMPACT_CHUNKS) chunks is always compact, as in the format's
//! documents: header, chunks, compressed index and trailer, one behind the other. The first change
//! of a larger one moves the index and stores it uncompressed, with free space before it for chunks
//! and behind it for offsets. Then an append writes only a chunk, an offset and a new trailer.
//! Closing the handle makes the frame compact again. Every reader of the format understands both
//! layouts, and between two changes the file ends where the frame does.

mod bind;
mod commit;
mod compact;
pub mod currency;
mod edit;
mod growing_index;
mod handle;
mod hidden;
mod image;
mod limits;
mod load;
mod locks;
mod new;
mod options;
mod paths;
mod positions;
mod reader;
mod refresh;
mod rewrite;
mod space;
mod stored;
mod view;
mod writer;

pub use super::loaded::Loaded;
pub use commit::{EncodedMetadata, Metadata};
pub use handle::Disk;
#[cfg(test)]
pub(crate) use limits::MAX_COMPACT_CHUNKS;
pub(crate) use locks::TRIES;
pub use locks::{FrameLockGuard, FrameWaiter, LockState};
pub use new::NewFrame;
pub use options::Options;
pub use paths::frame_file;
pub use stored::Stored;
