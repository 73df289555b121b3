//! The format, for programs that look into chunks and frames instead of only reading their data:
//! tools, and readers of single blocks. `docs/format.md` describes it.
//!
//! ```
//! use oxiblosc::format::chunk::header::ChunkHeader;
//! use oxiblosc::{CParams, Compressor};
//!
//! let chunk = Compressor::new(CParams::default()).compress(&[7; 1000])?;
//! let header = ChunkHeader::parse(&chunk)?;
//! assert_eq!((header.nbytes, header.cbytes), (1000, chunk.len()));
//! # Ok::<(), oxiblosc::Error>(())
//! ```

/// Chunks: their headers, checksums of their blocks, and chunks of one value; what a border to
/// another language needs to call codecs and filters of its programs ([`hooks`](chunk::hooks)).
pub mod chunk {
    pub use oxiblosc_chunk::encode::{ChunkInput, EncodeParams};
    pub use oxiblosc_chunk::{Chunk, checksum, getitem, header, hooks, special};
}

/// Frames: header, index and metalayers, and frames in files and directories.
pub mod frame {
    pub use oxiblosc_frame::{disk, fingerprint, header, memory, meta, offsets};
}
