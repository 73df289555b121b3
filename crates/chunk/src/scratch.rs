//! What a worker needs besides its input and output: buffers and codec states, kept between calls.
//!
//! A worker borrows a `Scratch` from a small depot for the duration of a job. So memory is
//! proportional to the number of workers that are active at the same time, not to the number of
//! contexts or threads.

use oxiblosc_base::Result;
use oxiblosc_base::memory::AlignedBuffer;
use oxiblosc_base::memory::env;
use oxiblosc_base::memory::kept_blocks::KEPT;
use oxiblosc_base::memory::object_pool::{self, ObjectPool};
use oxiblosc_codecs::{Decoder, Encoder};
use std::ops::{Deref, DerefMut};

/// The states of the codecs.
#[derive(Default)]
pub struct CodecState {
    /// For compression.
    pub encoder: Encoder,
    /// For decompression.
    pub decoder: Decoder,
}

/// The buffers that a block passes through. Nothing in them is needed for the next block.
#[derive(Default)]
pub struct Bufs {
    /// The filter pipeline goes back and forth between these two.
    pub ping: AlignedBuffer,
    /// See `ping`.
    pub pong: AlignedBuffer,
    /// Memory for the caller's prefilter or postfilter.
    pub ttmp: AlignedBuffer,
    /// The compressed block, if it was read from a file.
    pub input: AlignedBuffer,
}

/// Buffers and states of one worker.
#[derive(Default)]
pub struct Scratch {
    /// For the filters.
    pub bufs: Bufs,
    /// An encoded block before it is placed in the chunk, or a decoded one of which a part is
    /// copied.
    pub out: AlignedBuffer,
    /// The data of a block that is decoded, changed and encoded again.
    pub data: AlignedBuffer,
    /// The filtered data of that block before the change.
    pub old: AlignedBuffer,
    /// For the codecs.
    pub codec: CodecState,
    /// How many bytes of the buffers are counted as kept.
    counted: usize,
}

impl Scratch {
    /// Buffers and codec states for a block.
    pub fn parts(&mut self) -> (&mut Bufs, &mut CodecState) {
        (&mut self.bufs, &mut self.codec)
    }

    #[inline]
    fn bytes(&self) -> usize {
        let Bufs {
            ping,
            pong,
            ttmp,
            input,
        } = &self.bufs;
        ping.len()
            + pong.len()
            + ttmp.len()
            + input.len()
            + self.out.len()
            + self.data.len()
            + self.old.len()
            + self.codec.encoder.bytes()
    }

    /// Counts the buffers as kept; very large ones are freed. Not inlined, so that returning a
    /// scratch to the depot takes few instructions.
    #[cold]
    #[inline(never)]
    fn count(&mut self) {
        if self.bytes() > AlignedBuffer::LARGE {
            (self.bufs, self.out, self.data, self.old) = Default::default();
        }
        let bytes = self.bytes();
        KEPT.count(bytes);
        KEPT.discount(self.counted);
        self.counted = bytes;
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        KEPT.discount(self.counted);
    }
}

/// How many scratches are kept: as many workers as are expected to be active at the same time.
const SLOTS: usize = 32;
static DEPOT: ObjectPool<Scratch, SLOTS> = ObjectPool::empty();

/// A scratch that goes back to the depot when it is dropped. Buffers that are too large to be kept
/// are freed then.
pub struct BorrowedScratch(object_pool::Borrowed<Scratch>);

/// Borrows a scratch from the depot, or makes a new one.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
#[inline(always)]
pub fn borrow() -> Result<BorrowedScratch> {
    DEPOT.borrow(make).map(BorrowedScratch)
}

#[cold]
fn make() -> Scratch {
    prepare();
    Scratch::default()
}

fn prepare() {
    let limit = || usize::try_from(env::number(c"BLOSC_KEPT_MEMORY")?).ok();
    KEPT.prepare(|| DEPOT.release(), limit);
}

/// Frees what is kept, if that is more than the limit: each thread that works has a scratch, and
/// all of them together may have more. To be called when a context or a super-chunk goes.
pub fn trim() {
    KEPT.trim();
}

/// Sets how many bytes are kept at most between calls, and frees what is kept beyond that. Gives
/// the number before.
pub fn set_limit(bytes: usize) -> usize {
    prepare();
    let before = KEPT.limit();
    KEPT.set_limit(bytes);
    before
}

/// Frees all memory that is kept between calls.
pub fn release() {
    KEPT.release();
}

impl Drop for BorrowedScratch {
    #[inline]
    fn drop(&mut self) {
        if self.0.bytes() != self.0.counted {
            self.0.count();
        }
    }
}

impl Deref for BorrowedScratch {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        &self.0
    }
}

impl DerefMut for BorrowedScratch {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_scratch_comes_back_from_the_depot() {
        let mut first = borrow().unwrap();
        first.bufs.ping.ensure(4096).unwrap();
        let second = borrow().unwrap();
        drop((first, second));
        release();
    }

    #[test]
    fn there_are_more_scratches_than_slots() {
        let mut all: Vec<_> = (0..2 * SLOTS).map(|_| borrow().unwrap()).collect();
        for (i, scratch) in all.iter_mut().enumerate() {
            scratch.out.ensure(100).unwrap().fill(i as u8);
        }
        let own = |(i, scratch): (usize, &BorrowedScratch)| scratch.out[..100] == [i as u8; 100];
        assert!(all.iter().enumerate().all(own), "each has its own");
        assert!(all.iter().filter(|scratch| !scratch.0.has_slot()).count() >= SLOTS);
        drop(all);
        assert!(borrow().unwrap().0.has_slot(), "their slots are free again");
    }
}
