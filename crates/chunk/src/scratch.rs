//! What a worker needs besides its input and output: buffers and codec states, kept between calls.
//!
//! A worker takes a [`Scratch`] from a small depot for the length of a job and leaves it there afterwards, so
//! memory follows the number of jobs that run at once, not the number of contexts or threads.

use oxiblosc_codecs::{Decoder, Encoder};
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::boxed;
use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

/// Alignment of every buffer: a cache line, and the widest vector.
const ALIGN: usize = 64;
/// Buffers above this size are given back when a job needs far less, and are not kept in the depot.
const LARGE: usize = 16 << 20;

/// Buffers from this size on are asked for in the one way that leaves their pages untouched, at the price of some bytes
/// behind them. Smaller ones end where their memory does.
const UNTOUCHED: usize = 1 << 20;

/// A zeroed buffer that reports failure instead of aborting. If it is large it touches no page before it is used: what a
/// header claims costs memory only once there are data.
pub struct Buf {
    /// The aligned part of the memory that is used; dangling if that is nothing.
    start: NonNull<u8>,
    len: usize,
    /// What the allocator gave.
    memory: Option<(NonNull<u8>, Layout)>,
}

// SAFETY: the buffer owns its memory alone.
unsafe impl Send for Buf {}

impl Default for Buf {
    fn default() -> Self {
        Self {
            start: NonNull::dangling(),
            len: 0,
            memory: None,
        }
    }
}

impl Buf {
    /// `len` is not 0.
    fn new(len: usize) -> Result<Self> {
        let layout = if len < UNTOUCHED {
            Layout::from_size_align(len, ALIGN)
        } else {
            // Memory of a larger alignment would be zeroed by hand.
            Layout::from_size_align(len.saturating_add(ALIGN), align_of::<usize>())
        };
        let layout = layout.map_err(|_| Error::MemoryAlloc)?;
        // SAFETY: the size is not 0.
        let base = NonNull::new(unsafe { alloc_zeroed(layout) }).ok_or(Error::MemoryAlloc)?;
        // SAFETY: less than ALIGN further on, and that many bytes are there beyond `len` unless it is none.
        let start = unsafe { base.add(base.align_offset(ALIGN)) };
        Ok(Self {
            start,
            len,
            memory: Some((base, layout)),
        })
    }

    /// Makes the buffer at least `len` bytes; what was in it may be lost.
    #[inline(always)]
    pub fn ensure(&mut self, len: usize) -> Result<&mut [u8]> {
        let have = self.len;
        if have < len || (have > LARGE && have / 4 > len) {
            self.remake(len)?;
        }
        Ok(&mut self[..len])
    }

    #[cold]
    fn remake(&mut self, len: usize) -> Result<()> {
        *self = Self::default();
        if len > 0 {
            *self = Self::new(len)?;
        }
        Ok(())
    }
}

impl Drop for Buf {
    fn drop(&mut self) {
        if let Some((base, layout)) = self.memory {
            // SAFETY: `new` got this memory with this layout, and nothing else holds it.
            unsafe { dealloc(base.as_ptr(), layout) }
        }
    }
}

impl Deref for Buf {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: the memory has `len` bytes from `start` on, was zeroed, and is borrowed with `self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl DerefMut for Buf {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above, borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

/// The codecs' own states.
#[derive(Default)]
pub struct State {
    /// For compression.
    pub encoder: Encoder,
    /// For decompression.
    pub decoder: Decoder,
}

/// The buffers that a block passes through. Their content means nothing between two blocks.
#[derive(Default)]
pub struct Bufs {
    /// The filter pipeline goes back and forth between these two.
    pub ping: Buf,
    /// See `ping`.
    pub pong: Buf,
    /// Memory for the caller's prefilter or postfilter.
    pub ttmp: Buf,
    /// The compressed block, where it had to be fetched.
    pub input: Buf,
}

/// What one worker has to itself.
#[derive(Default)]
pub struct Scratch {
    /// For the filters.
    pub bufs: Bufs,
    /// A compressed block on its way to the chunk, or a decoded one of which a part is wanted.
    pub out: Buf,
    /// The data of a block that is decoded, changed and encoded again.
    pub data: Buf,
    /// What the streams of that block held before the change.
    pub old: Buf,
    /// For the codecs.
    pub codec: State,
}

impl Scratch {
    /// What a block is encoded or decoded with.
    pub fn parts(&mut self) -> (&mut Bufs, &mut State) {
        (&mut self.bufs, &mut self.codec)
    }

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
    }
}

/// As many scratches are kept as can be expected to work at the same time.
const SLOTS: usize = 32;
/// What is in a slot whose scratch is at work, or that is kept for one: the address of nothing.
const AT_WORK: *mut Scratch = std::ptr::without_provenance_mut(1);
/// Each slot owns the scratch it points to. Taking one is a single atomic exchange, leaving it a store, so nobody ever
/// waits. A `fork` leaves every slot in order, but what another thread had at work is lost to the child, and its slot.
static DEPOT: [Slot; SLOTS] = [const { Slot::new(null_mut()) }; SLOTS];

type Slot = AtomicPtr<Scratch>;

/// A scratch that goes back to the depot when it is dropped: into this slot, or nowhere if there was none for it.
pub struct Borrowed(ManuallyDrop<Box<Scratch>>, Option<&'static Slot>);

/// Takes the scratch of a slot that has one, and leaves this there for it.
#[inline(always)]
fn take(slot: &Slot, instead: *mut Scratch) -> Option<Box<Scratch>> {
    let kept = slot.load(Ordering::Relaxed);
    if kept.is_null() || kept == AT_WORK {
        return None;
    }
    slot.compare_exchange(kept, instead, Ordering::Acquire, Ordering::Relaxed)
        // SAFETY: it was put there with `into_raw`, and the exchange made it ours alone.
        .map(|kept| unsafe { Box::from_raw(kept) })
        .ok()
}

/// Takes a scratch from the depot, or makes one.
///
/// # Errors
/// [`Error::MemoryAlloc`].
#[inline]
pub fn borrow() -> Result<Borrowed> {
    let kept = DEPOT.iter().find_map(|slot| {
        let scratch = take(slot, AT_WORK)?;
        Some(Borrowed(ManuallyDrop::new(scratch), Some(slot)))
    });
    kept.map_or_else(make, Ok)
}

/// Makes a scratch, for a slot that has none.
#[cold]
fn make() -> Result<Borrowed> {
    let scratch = ManuallyDrop::new(boxed(Scratch::default())?);
    let free = |slot: &&Slot| {
        slot.compare_exchange(null_mut(), AT_WORK, Ordering::Relaxed, Ordering::Relaxed)
            .is_ok()
    };
    Ok(Borrowed(scratch, DEPOT.iter().find(free)))
}

/// Frees all that the depot keeps.
pub fn release() {
    for slot in &DEPOT {
        drop(take(slot, null_mut()));
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        // SAFETY: nobody sees the field after this.
        let mut scratch = unsafe { ManuallyDrop::take(&mut self.0) };
        if scratch.bytes() > LARGE {
            (scratch.bufs, scratch.out, scratch.data, scratch.old) = Default::default();
        }
        if let Some(slot) = self.1 {
            slot.store(Box::into_raw(scratch), Ordering::Release);
        }
    }
}

impl Deref for Borrowed {
    type Target = Scratch;
    fn deref(&self) -> &Scratch {
        &self.0
    }
}

impl DerefMut for Borrowed {
    fn deref_mut(&mut self) -> &mut Scratch {
        &mut self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_grow_are_aligned_and_fail_without_abort() {
        let mut buf = Buf::default();
        assert_eq!(buf.ensure(0).unwrap().len(), 0);
        assert_eq!(buf.ensure(100).unwrap().as_ptr() as usize % ALIGN, 0);
        buf.ensure(1000).unwrap().fill(7);
        assert_eq!(buf.ensure(10).unwrap(), &[7; 10]);
        assert_eq!(
            buf.ensure(isize::MAX as usize).err(),
            Some(Error::MemoryAlloc)
        );
        assert_eq!(buf.ensure(5).unwrap(), &[0; 5]);
        for len in [UNTOUCHED - 1, UNTOUCHED, 3 * UNTOUCHED + 1] {
            let mut buf = Buf::default();
            let bytes = buf.ensure(len).unwrap();
            assert_eq!((bytes.len(), bytes.as_ptr() as usize % ALIGN), (len, 0));
            assert!(bytes.iter().all(|byte| *byte == 0));
            bytes.fill(1);
        }
    }

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
        let own = |(i, scratch): (usize, &Borrowed)| scratch.out[..100] == [i as u8; 100];
        assert!(all.iter().enumerate().all(own), "each has its own");
        assert!(all.iter().filter(|scratch| scratch.1.is_none()).count() >= SLOTS);
        drop(all);
        assert!(borrow().unwrap().1.is_some(), "their slots are free again");
    }
}
