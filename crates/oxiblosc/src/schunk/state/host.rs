//! What belongs to the program of a super-chunk: its contexts, and a window in which it sees the
//! state.
//!
//! In Rust programs the contexts are a [`Compressor`](crate::Compressor) and a
//! [`Decompressor`](crate::Decompressor). Those of the C library may call functions of the program.

use super::State;
use crate::context::{Compressor, Decompressor, SchunkInfo};
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::schunk::Parameters;
#[cfg(doc)]
use crate::schunk::layers::MetalayerKind;
use oxiblosc_base::Result;
use oxiblosc_base::memory::lock;
use std::ops::Range;

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
    /// The chunks whose entries in a window must be updated: those that changed, or all if the
    /// window does not show the `before` chunks that there were before the change. `now` is the
    /// number of chunks after it.
    pub fn chunks(&self, before: usize, now: usize) -> Range<usize> {
        match self {
            Self::ChunksFrom(at) if *at <= before => *at..now,
            Self::Updated(chunks) if before == now => chunks.clone(),
            Self::Metalayers if before == now => 0..0,
            _ => 0..now,
        }
    }
}

/// The part of a super-chunk that belongs to the program: contexts, and a window in which the
/// program sees the state.
///
/// The state itself is the super-chunk's. The C library shows it in a public structure, of which
/// programs may set some fields; a Rust program needs no window.
pub trait Host: Send + Sync {
    /// The compressor.
    ///
    /// # Errors
    /// `Error::NULL_POINTER` if there is none.
    fn encoder(&self) -> Result<&dyn EncodeContext>;

    /// The decompressor.
    ///
    /// # Errors
    /// `Error::NULL_POINTER` if there is none.
    fn decoder(&self) -> Result<&dyn DecodeContext>;

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

    /// The settings as the window of the program shows them, if it has one: the program may have
    /// changed them.
    fn settings(&self) -> Option<ProgramSettings> {
        None
    }

    /// Whether the settings in the window are still these, so that nothing has to be loaded from
    /// it. Every reader asks this.
    fn has_set(&self, parameters: &Parameters, chunksize: i32) -> bool {
        self.settings().is_none_or(|settings| {
            settings.parameters == *parameters && settings.chunksize == chunksize
        })
    }

    /// Allocates what [`Self::show`] needs for so many chunks and metalayers, so that it cannot
    /// fail.
    ///
    /// # Errors
    /// `Error::MEMORY_ALLOC`.
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

impl<E: EncodeContext + Send, D: DecodeContext + Send> Host for Coders<E, D> {
    fn encoder(&self) -> Result<&dyn EncodeContext> {
        Ok(&*self.encoder)
    }

    fn decoder(&self) -> Result<&dyn DecodeContext> {
        Ok(&*self.decoder)
    }

    fn nthreads(&self) -> (i16, i16) {
        self.nthreads
    }
}

/// The [`Host`] of a super-chunk of a Rust program: two contexts.
pub(crate) struct Contexts {
    pub compressor: Compressor,
    pub decompressor: Decompressor,
}

impl Host for Contexts {
    fn encoder(&self) -> Result<&dyn EncodeContext> {
        Ok(&self.compressor)
    }

    fn decoder(&self) -> Result<&dyn DecodeContext> {
        Ok(&self.decompressor)
    }

    fn show(&self, state: &mut State, changed: Changed) {
        if matches!(changed, Changed::Metalayers | Changed::Everything) {
            let info = SchunkInfo::new(state.parameters().typesize, state.metalayers());
            *lock(&self.compressor.schunk_info) = info;
            *lock(&self.decompressor.schunk_info) = info;
        }
    }
}

/// How many entries the lists in a window need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WindowCounts {
    /// Chunks that are stored separately; 0 for a frame.
    pub separate: usize,
    /// Metalayers, of each [kind](MetalayerKind).
    pub layers: [usize; 2],
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
