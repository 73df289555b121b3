//! Large blocks from `malloc` that are kept for the next use, instead of being given back to the
//! system: zeroing fresh pages takes longer than compressing what goes into them.
//!
//! What is kept here has at most as many bytes as the limit says, together with what others
//! [count]. Where there is no room for a block, others are freed, one slot after the other. In the
//! child of a fork, what other threads had in use at that moment stays counted.

use crate::error::{Error, Result};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};

/// Smaller blocks than this come from the allocator.
pub const MIN_KEPT: usize = 16 << 10;

/// How many bytes are kept unless the program or `BLOSC_KEPT_MEMORY` says otherwise.
const DEFAULT_LIMIT: usize = 16 << 20;

/// How many blocks are kept at most.
const SLOTS: usize = 64;

/// The place of a block that is kept.
struct Slot {
    /// Null, or a block that the slot owns, from `malloc`. Its first bytes say how many it has. Who
    /// wants it takes it out, so that no other thread can have it.
    block: AtomicPtr<Block>,
    /// About how many bytes it has: this may be those of another block, as it is written and read
    /// without having taken the block out.
    hint: AtomicUsize,
}

/// See [`Slot`]. It is at least [`MIN_KEPT`] bytes long.
type Block = usize;

static BLOCKS: [Slot; SLOTS] = [const {
    Slot {
        block: AtomicPtr::new(null_mut()),
        hint: AtomicUsize::new(0),
    }
}; SLOTS];

/// How many bytes are kept, here and by others.
static KEPT: AtomicUsize = AtomicUsize::new(0);

/// The limit; [`UNKNOWN`] until it is set.
static LIMIT: AtomicUsize = AtomicUsize::new(UNKNOWN);
const UNKNOWN: usize = usize::MAX;

/// The slot from which a block is freed next to make room.
static OLDEST: AtomicUsize = AtomicUsize::new(0);

/// The most bytes that are kept for the next use.
pub fn limit() -> usize {
    match LIMIT.load(Relaxed) {
        UNKNOWN => DEFAULT_LIMIT,
        limit => limit,
    }
}

/// What is done once, before others keep memory: they, which [count] theirs, say how to
/// free it, and what the limit is if [`set_limit`] was not called.
pub fn prepare(release_others: fn(), limit: impl FnOnce() -> Option<usize>) {
    if !RELEASE_OTHERS
        .swap(release_others as *mut (), Relaxed)
        .is_null()
    {
        return;
    }
    if let Some(bytes) = limit() {
        let bytes = bytes.min(UNKNOWN - 1);
        let _ = LIMIT.compare_exchange(UNKNOWN, bytes, Relaxed, Relaxed);
    }
    if is_over() {
        release();
    }
}

/// Sets the limit, and frees what is kept beyond it.
pub fn set_limit(bytes: usize) {
    LIMIT.store(bytes.min(UNKNOWN - 1), Relaxed);
    if is_over() {
        release();
    }
}

/// Counts bytes that others keep, whether or not that is more than the limit: see [`is_over`].
pub fn count(bytes: usize) {
    KEPT.fetch_add(bytes, Relaxed);
}

/// Whether more is kept than the limit allows.
pub fn is_over() -> bool {
    KEPT.load(Relaxed) > limit()
}

/// Counts the bytes of a block, if that is within the limit.
fn count_block(bytes: usize) -> bool {
    let limit = limit();
    let add = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= limit);
    KEPT.fetch_update(Relaxed, Relaxed, add).is_ok()
}

/// Counts no longer what was [counted](count).
pub fn discount(bytes: usize) {
    KEPT.fetch_sub(bytes, Relaxed);
}

impl Slot {
    /// Takes its block out.
    fn take(&self) -> Option<NonNull<Block>> {
        if self.block.load(Relaxed).is_null() {
            return None;
        }
        NonNull::new(self.block.swap(null_mut(), AcqRel))
    }

    /// Puts a block in. False if there is one.
    fn put(&self, block: NonNull<Block>, capacity: usize) -> bool {
        let put = self.block.load(Relaxed).is_null()
            && self
                .block
                .compare_exchange(null_mut(), block.as_ptr(), AcqRel, Relaxed)
                .is_ok();
        if put {
            // Another thread may have the block by now.
            self.hint.store(capacity, Relaxed);
        }
        put
    }
}

/// The bytes of a block that was taken out of its slot.
fn capacity(block: NonNull<Block>) -> usize {
    // SAFETY: `keep` wrote it, and who has taken the block out is its only owner.
    unsafe { block.read() }
}

/// Frees a block that was taken out of its slot.
fn free(block: NonNull<Block>) {
    discount(capacity(block));
    // SAFETY: the block is from `malloc`, and the caller its only owner.
    unsafe { libc::free(block.as_ptr().cast()) };
}

/// Takes the block that is nearest to `len` bytes, at least half as long and at most twice as long.
/// Gives its address and how many bytes it has. Its content is not specified.
pub fn take(len: usize) -> Option<(NonNull<u8>, usize)> {
    if len < MIN_KEPT || KEPT.load(Relaxed) == 0 {
        return None;
    }
    let fits = |capacity: usize| capacity / 2 <= len && len / 2 <= capacity;
    let distance = |slot: &&Slot| slot.hint.load(Relaxed).abs_diff(len);
    let full = |slot: &&Slot| !slot.block.load(Relaxed).is_null() && fits(slot.hint.load(Relaxed));
    let slot = BLOCKS.iter().filter(full).min_by_key(distance)?;
    let block = slot.take()?;
    let capacity = capacity(block);
    if !fits(capacity) {
        // Another thread has exchanged it.
        free(block);
        return None;
    }
    discount(capacity);
    Some((block.cast(), capacity))
}

/// Keeps a block of `capacity` bytes, or frees it.
///
/// # Safety
/// The block is from `malloc`, has as many bytes, and no other owner.
pub unsafe fn keep(block: NonNull<u8>, capacity: usize) {
    let block = block.cast::<Block>();
    if capacity >= MIN_KEPT && capacity <= limit() {
        // SAFETY: the block is larger than this, and aligned as all memory from `malloc` is.
        unsafe { block.write(capacity) };
        for _ in 0..SLOTS {
            if count_block(capacity) {
                if BLOCKS.iter().any(|slot| slot.put(block, capacity)) {
                    return;
                }
                discount(capacity);
            }
            let oldest = OLDEST.fetch_add(1, Relaxed) % SLOTS;
            BLOCKS[oldest].take().into_iter().for_each(free);
        }
    }
    // SAFETY: as required.
    unsafe { libc::free(block.as_ptr().cast()) };
}

/// A `fn()` that frees what others count, or null.
static RELEASE_OTHERS: AtomicPtr<()> = AtomicPtr::new(null_mut());

/// Frees all that is kept and not in use.
pub fn release() {
    BLOCKS.iter().filter_map(Slot::take).for_each(free);
    // SAFETY: null or a `fn()`, which `prepare` stored.
    let others: Option<fn()> = unsafe { std::mem::transmute(RELEASE_OTHERS.load(Relaxed)) };
    if let Some(others) = others {
        others();
    }
}

/// What `allocate` gives. If that is none, as there is no memory, what is kept is freed, and it is
/// called again.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
#[inline(always)]
pub fn or_release<T>(mut allocate: impl FnMut() -> Option<T>) -> Result<T> {
    match allocate() {
        Some(memory) => Ok(memory),
        None if release_some() => allocate().ok_or(Error::MEMORY_ALLOC),
        None => Err(Error::MEMORY_ALLOC),
    }
}

/// Frees all that is kept. False if nothing is.
#[cold]
#[inline(never)]
fn release_some() -> bool {
    let any = KEPT.load(Relaxed) > 0;
    release();
    any
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A block from `malloc`.
    fn new(len: usize) -> NonNull<u8> {
        // SAFETY: `malloc` takes any number.
        NonNull::new(unsafe { libc::malloc(len) }.cast()).expect("memory")
    }

    /// One test, as all of them would share what is kept.
    #[test]
    fn blocks_are_kept_up_to_the_limit_and_taken_where_they_fit() {
        set_limit(DEFAULT_LIMIT);
        release();
        assert_eq!(KEPT.load(Relaxed), 0);
        assert_eq!(take(1 << 20), None);
        let keep = |len| {
            let block = new(len);
            // SAFETY: it is from `malloc` and has as many bytes.
            unsafe { super::keep(block, len) };
            block
        };
        let (small, large) = (keep(200 << 10), keep(3 << 20));
        keep(MIN_KEPT - 1);
        assert_eq!(KEPT.load(Relaxed), (200 << 10) + (3 << 20));
        assert_eq!(take(MIN_KEPT - 1), None, "too short to be kept");
        assert_eq!(take(800 << 10), None, "neither half nor twice as long");
        assert_eq!(take(150 << 10), Some((small, 200 << 10)));
        assert_eq!(take(5 << 20), Some((large, 3 << 20)));
        assert_eq!(KEPT.load(Relaxed), 0);
        for block in [(small, 200 << 10), (large, 3 << 20)] {
            // SAFETY: they were just taken.
            unsafe { super::keep(block.0, block.1) };
        }
        for _ in 0..20 {
            keep(2 << 20);
            assert!(KEPT.load(Relaxed) <= DEFAULT_LIMIT);
        }
        assert!(
            KEPT.load(Relaxed) > DEFAULT_LIMIT - (3 << 20),
            "older ones make room"
        );
        count(DEFAULT_LIMIT);
        assert!(is_over());
        keep(MIN_KEPT);
        release();
        assert_eq!(KEPT.load(Relaxed), DEFAULT_LIMIT, "what others count");
        discount(DEFAULT_LIMIT);
        set_limit(0);
        keep(1 << 20);
        assert_eq!(KEPT.load(Relaxed), 0);
        set_limit(DEFAULT_LIMIT);
    }

    /// Threads that keep, take and write blocks at the same time.
    #[test]
    fn a_block_belongs_to_one_thread() {
        let rounds = if cfg!(miri) { 20 } else { 20_000 };
        std::thread::scope(|scope| {
            for thread in 1..=4_u8 {
                scope.spawn(move || {
                    for round in 0..rounds {
                        let len = MIN_KEPT + 4096 * (round % 9);
                        let (block, capacity) = take(len).unwrap_or_else(|| (new(len), len));
                        for at in [0, capacity / 2, capacity - 1] {
                            // SAFETY: within the block, which is this thread's.
                            unsafe { block.add(at).write(thread) };
                        }
                        std::hint::spin_loop();
                        for at in [0, capacity / 2, capacity - 1] {
                            // SAFETY: as above.
                            assert_eq!(unsafe { block.add(at).read() }, thread);
                        }
                        // SAFETY: it is from `malloc` and has as many bytes.
                        unsafe { super::keep(block, capacity) };
                    }
                });
            }
        });
    }
}
