//! The chunk format: header, blocks, streams, special values, variable-length blocks.
//!
//! A chunk operation parses the header into checked sizes, then runs over the blocks, on several
//! workers where that pays. The format is written down in the chunk format document of the
//! reference library.
#![forbid(unsafe_code)]
#![warn(missing_docs, clippy::missing_errors_doc)]
// These abort the process when an allocation fails. clippy.toml lists them and what to use instead.
#![cfg_attr(
    not(test),
    deny(
        clippy::disallowed_types,
        clippy::disallowed_methods,
        clippy::disallowed_macros
    )
)]

/// Adding checksums to chunks.
pub mod add_checksums;
mod assemble;
/// Decoding single blocks, in any order.
pub mod block_reader;
pub mod blosc1;
/// Which blocks were checked against their checksums.
pub mod checked;
/// Checksums of blocks.
pub mod checksum;
mod chunk;
/// Decompressing whole chunks.
pub mod decode;
mod decode_block;
mod decode_part;
mod dictionary;
/// Compressing whole chunks.
pub mod encode;
mod encode_block;
mod encode_chunk;
/// A chunk with its header.
pub mod encoded;
pub mod fast_path;
/// Reading ranges of items.
pub mod getitem;
/// The chunk header.
pub mod header;
/// The caller's codecs, filters and threads.
pub mod hooks;
/// Changing some blocks of a chunk that stays where it is in a file.
pub mod in_place;
mod input;
pub mod one_bit;
mod ordered_writer;
/// How chunks are compressed.
pub mod parameters;
/// Changing some blocks of a chunk.
pub mod patch;
mod pipeline;
pub mod rebuild;
mod registered;
/// Removing free bytes between blocks.
pub mod repack;
/// Buffers and codec states of workers.
pub mod scratch;
/// Chunks whose blocks are not in memory.
pub mod source;
/// Chunks whose content follows from the header.
pub mod special;
mod streams;
#[cfg(test)]
mod tests;
mod touched;
/// Block sizes and splits.
pub mod tune;
mod uncompressed;
/// A queue of work for several workers.
pub mod work_stealing;
/// Threads that work on chunks.
pub mod workers;

pub use chunk::Chunk;
pub use encode_block::INSTR_SIZE;
pub use header::rules;
pub use oxiblosc_codecs::codec_id;
