//! The traits through which a super-chunk uses its compressor and decompressor.
//!
//! In Rust programs these are a [`Compressor`](crate::Compressor) and a [`Decompressor`](crate::Decompressor). The C library
//! implements the same traits for its contexts, which may call functions of the program.

use crate::schunk::Parameters;
use crate::schunk::state::State;
use oxiblosc_base::Result;
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams};
use oxiblosc_chunk::getitem::ItemRange;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_chunk::patch::RecompressParams;
use std::ops::Range;

/// Compresses the chunks of a super-chunk.
pub trait SchunkEncoder: Sync {
    /// Compresses data into the front of `dest`. Gives the size of the chunk in bytes, or 0 if it does not fit. With `checksums`, the chunk
    /// gets checksums if `dest` has [room](oxiblosc_chunk::checksum::room) for them.
    ///
    /// # Errors
    /// Those of invalid parameters, and of functions that the program registered.
    fn compress(&self, source: ChunkInput, dest: &mut [u8], checksums: bool) -> Result<usize>;

    /// Whether callbacks of the program, or its tuner, must be called for every chunk.
    fn sees_chunks(&self) -> bool;

    /// The parameters for a chunk of `nbytes` bytes of data. `in_buffer` says whether the data are in a buffer. None if every chunk has
    /// to go through [`Self::compress`]; see [`Self::sees_chunks`].
    ///
    /// # Errors
    /// Those of invalid parameters.
    fn params(&self, nbytes: usize, in_buffer: bool) -> Result<Option<EncodeParams>>;

    /// The parameters that apply when blocks of an existing chunk are compressed again.
    fn recompress_params(&self) -> RecompressParams;

    /// The program's functions, for a chunk whose data are in the buffer `source`, or made block by block if that is none.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn hooks<'h>(&'h self, source: Option<&'h [u8]>) -> Result<Box<dyn Hooks + 'h>>;

    /// Sets the size of a block in bytes, for chunks that are compressed from now on.
    fn set_blocksize(&self, blocksize: usize);

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;

    /// The threads.
    fn executor(&self) -> &dyn Executor;
}

/// Decompresses the chunks of a super-chunk: every [`DecodeContext`](crate::decoding::DecodeContext) does.
pub trait SchunkDecoder: Sync {
    /// Decompresses a chunk that is in memory and has this header into the front of `dest`. Gives the size of its data in bytes.
    ///
    /// # Errors
    /// [`Error::WRITE_BUFFER`] if the data do not fit into `dest`; those of a damaged chunk, and of the program's functions.
    fn decompress(&self, header: &ChunkHeader, chunk: &[u8], dest: &mut [u8]) -> Result<usize>;

    /// As [`Self::decompress`], for a chunk that may be in a file. `front` has its first bytes, at least all of its header.
    ///
    /// # Errors
    /// As for [`Self::decompress`], and those of input.
    fn decompress_chunk(&self, chunk: &Chunk, front: &[u8], dest: &mut [u8]) -> Result<usize>;

    /// Decompresses a range of items of such a chunk.
    ///
    /// # Errors
    /// As for [`Self::decompress_chunk`].
    fn decompress_items(
        &self,
        chunk: &Chunk,
        front: &[u8],
        range: ItemRange,
        dest: &mut [u8],
    ) -> Result<()>;

    /// Decompresses a block of such a chunk.
    ///
    /// # Errors
    /// As for [`Self::decompress_chunk`].
    fn decompress_block(
        &self,
        chunk: &Chunk,
        front: &[u8],
        nblock: usize,
        dest: &mut [u8],
    ) -> Result<()>;

    /// The program's functions, for the chunk whose first bytes are `front`, at least all of its header.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn hooks<'h>(&'h self, front: &'h [u8]) -> Result<Box<dyn Hooks + 'h>>;

    /// Whether a postfilter has to see every block that is read.
    fn has_postfilter(&self) -> bool;

    /// How many threads work on a chunk.
    fn nthreads(&self) -> usize;

    /// The threads.
    fn executor(&self) -> &dyn Executor;
}

/// The settings that a program may change while a super-chunk is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProgramSettings {
    /// The parameters of new chunks, as a frame's header records them.
    pub parameters: Parameters,
    /// Bytes of the data of a chunk.
    pub chunksize: i32,
}

/// Which part of a super-chunk's state has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Changed {
    /// At most these chunks; there are as many as before.
    Updated(Range<usize>),
    /// At most the chunks from this one on, and how many there are.
    ChunksFrom(usize),
    /// Metalayers.
    Metalayers,
    /// Anything.
    Everything,
}

impl Changed {
    /// The chunks whose entries in a window must be updated: those that changed, or all if the window does not show the `before` chunks
    /// that there were before the change. `now` is the number of chunks after it.
    pub fn chunks(&self, before: usize, now: usize) -> Range<usize> {
        match self {
            Self::ChunksFrom(at) if *at <= before => *at..now,
            Self::Updated(chunks) if before == now => chunks.clone(),
            Self::Metalayers if before == now => 0..0,
            _ => 0..now,
        }
    }
}

/// The part of a super-chunk that belongs to the program: contexts, and a window in which the program sees the state.
///
/// The state itself is the super-chunk's. The C library shows it in a public structure, of which programs may set some fields;
/// a Rust program needs no window.
pub trait Host: Send + Sync {
    /// The compressor.
    ///
    /// # Errors
    /// [`Error::NULL_POINTER`] if there is none.
    fn encoder(&self) -> Result<&dyn SchunkEncoder>;

    /// The decompressor.
    ///
    /// # Errors
    /// [`Error::NULL_POINTER`] if there is none.
    fn decoder(&self) -> Result<&dyn SchunkDecoder>;

    /// The numbers of threads for compression and decompression that a frame's header records.
    fn nthreads(&self) -> (i16, i16) {
        let number = |nthreads: usize| i16::try_from(nthreads).unwrap_or(1);
        (
            self.encoder()
                .map_or(1, |encoder| number(encoder.nthreads())),
            self.decoder()
                .map_or(1, |decoder| number(decoder.nthreads())),
        )
    }

    /// The settings as the window of the program shows them, if it has one: the program may have changed them.
    fn settings(&self) -> Option<ProgramSettings> {
        None
    }

    /// Whether the settings in the window are still these, so that nothing has to be loaded from it. Every reader asks this.
    fn has_set(&self, parameters: &Parameters, chunksize: i32) -> bool {
        self.settings().is_none_or(|settings| {
            settings.parameters == *parameters && settings.chunksize == chunksize
        })
    }

    /// Allocates what [`Self::show`] needs for so many chunks and metalayers, so that it cannot fail.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    fn prepare(&self, _state: &mut State, _count: WindowCounts) -> Result<()> {
        Ok(())
    }

    /// Updates the window. No other thread uses the state meanwhile.
    fn show(&self, _state: &mut State, _changed: Changed) {}

    /// Shows which chunk is being read or written. Several threads may call this at the same time.
    fn at_chunk(&self, _nchunk: usize) {}
}

/// The [`Host`] of a super-chunk that the library uses internally: two contexts, and no window.
pub struct Coders<E, D> {
    /// Compresses.
    pub encoder: Box<E>,
    /// Decompresses.
    pub decoder: Box<D>,
    /// The numbers of threads that a frame's header records.
    pub nthreads: (i16, i16),
}

impl<E: SchunkEncoder + Send, D: SchunkDecoder + Send> Host for Coders<E, D> {
    fn encoder(&self) -> Result<&dyn SchunkEncoder> {
        Ok(&*self.encoder)
    }

    fn decoder(&self) -> Result<&dyn SchunkDecoder> {
        Ok(&*self.decoder)
    }

    fn nthreads(&self) -> (i16, i16) {
        self.nthreads
    }
}

/// How many entries the lists in a window need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Chunks that are stored separately; 0 for a frame.
    pub separate: usize,
    /// Fixed-length metalayers.
    pub metalayers: usize,
    /// Variable-length metalayers.
    pub vlmetalayers: usize,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_shows_again_what_changed() {
        assert_eq!(Changed::ChunksFrom(3).chunks(5, 7), 3..7);
        assert_eq!(
            Changed::ChunksFrom(6).chunks(5, 7),
            0..7,
            "some were never shown"
        );
        assert_eq!(Changed::Updated(1..3).chunks(5, 5), 1..3);
        assert_eq!(Changed::Updated(1..3).chunks(4, 5), 0..5);
        assert_eq!(Changed::Metalayers.chunks(5, 5), 0..0);
        assert_eq!(Changed::Everything.chunks(5, 5), 0..5);
    }
}
