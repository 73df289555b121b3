//! Large blocks from `malloc` that are kept for the next use, instead of being given back to the
//! system: zeroing fresh pages takes longer than compressing what goes into them.

use crate::error::{Error, Result};
use std::ptr::{NonNull, null_mut};
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering::AcqRel, Ordering::Relaxed};

/// Smaller blocks than this come from the allocator.
pub const MIN_KEPT: usize = 16 << 10;

/// How many bytes are kept unless the program or `BLOSC_KEPT_MEMORY` says otherwise.
const DEFAULT_LIMIT: usize = 16 << 20;

/// How many blocks are kept at most.
const SLOTS: usize = 64;

/// Blocks that are kept, and how many bytes they and what others [count](Self::count) have. Where
/// there is no room for a block within the limit, others are freed, one slot after the other. In
/// the child of a fork, what other threads had in use at that moment stays counted.
pub struct KeptBlocks {
    slots: [Slot; SLOTS],
    /// How many bytes are kept, here and by others.
    bytes: AtomicUsize,
    /// How many there may be.
    limit: AtomicUsize,
    /// Which slot is emptied next to make room.
    victim: AtomicUsize,
    /// A `fn()` that frees what others count, or null.
    release_others: AtomicPtr<()>,
}

/// Those of the process.
pub static KEPT: KeptBlocks = KeptBlocks::new();

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

impl Slot {
    /// Takes its block out.
    fn take(&self) -> Option<NonNull<Block>> {
        if self.block.load(Relaxed).is_null() {
            return None;
        }
        NonNull::new(self.block.swap(null_mut(), AcqRel))
    }

    /// Puts a block of `capacity` bytes in. False if there is one.
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

impl KeptBlocks {
    /// None.
    const fn new() -> Self {
        Self {
            slots: [const {
                Slot {
                    block: AtomicPtr::new(null_mut()),
                    hint: AtomicUsize::new(0),
                }
            }; SLOTS],
            bytes: AtomicUsize::new(0),
            limit: AtomicUsize::new(DEFAULT_LIMIT),
            victim: AtomicUsize::new(0),
            release_others: AtomicPtr::new(null_mut()),
        }
    }

    /// The most bytes that are kept for the next use.
    pub fn limit(&self) -> usize {
        self.limit.load(Relaxed)
    }

    /// Sets the limit, and frees what is kept beyond it.
    pub fn set_limit(&self, bytes: usize) {
        self.limit.store(bytes, Relaxed);
        self.trim();
    }

    /// What others do before they [count](Self::count) what they keep: they say how to free it, and
    /// what the limit is, if [`Self::set_limit`] was not called.
    pub fn prepare(&self, release_others: fn(), limit: impl FnOnce() -> Option<usize>) {
        let release_others = release_others as *mut ();
        if !self.release_others.swap(release_others, Relaxed).is_null() {
            return;
        }
        if let Some(bytes) = limit() {
            let limit = &self.limit;
            let _ = limit.compare_exchange(DEFAULT_LIMIT, bytes, Relaxed, Relaxed);
        }
        self.trim();
    }

    /// Counts bytes that others keep, whether or not that is more than the limit: see
    /// [`Self::trim`].
    pub fn count(&self, bytes: usize) {
        self.bytes.fetch_add(bytes, Relaxed);
    }

    /// Counts no longer what was [counted](Self::count).
    pub fn discount(&self, bytes: usize) {
        self.bytes.fetch_sub(bytes, Relaxed);
    }

    /// Counts the bytes of a block, if that is within the limit.
    fn count_within_limit(&self, bytes: usize) -> bool {
        let limit = self.limit();
        let add = |kept: usize| kept.checked_add(bytes).filter(|sum| *sum <= limit);
        self.bytes.fetch_update(Relaxed, Relaxed, add).is_ok()
    }

    /// Frees a block that was taken out of its slot.
    fn free(&self, block: NonNull<Block>) {
        self.discount(capacity(block));
        // SAFETY: the block is from `malloc`, and the caller its only owner.
        unsafe { libc::free(block.as_ptr().cast()) };
    }

    /// Takes the block that is nearest to `len` bytes: at least `least` bytes long, and at most
    /// twice as long as `len`. Gives its address and how many bytes it has. Its content is not
    /// specified.
    pub fn take(&self, len: usize, least: usize) -> Option<(NonNull<u8>, usize)> {
        if len < MIN_KEPT || self.bytes.load(Relaxed) == 0 {
            return None;
        }
        let fits = |capacity: usize| capacity / 2 <= len && least <= capacity;
        let distance = |slot: &&Slot| slot.hint.load(Relaxed).abs_diff(len);
        let full =
            |slot: &&Slot| !slot.block.load(Relaxed).is_null() && fits(slot.hint.load(Relaxed));
        let slot = self.slots.iter().filter(full).min_by_key(distance)?;
        let block = slot.take()?;
        let capacity = capacity(block);
        if !fits(capacity) {
            // Another thread has exchanged it.
            self.free(block);
            return None;
        }
        self.discount(capacity);
        Some((block.cast(), capacity))
    }

    /// Keeps a block of `capacity` bytes, or frees it.
    ///
    /// # Safety
    /// The block is from `malloc`, has as many bytes, and no other owner.
    pub unsafe fn keep(&self, block: NonNull<u8>, capacity: usize) {
        let block = block.cast::<Block>();
        if capacity >= MIN_KEPT && capacity <= self.limit() {
            // SAFETY: the block is larger than this, and aligned as all memory from `malloc` is.
            unsafe { block.write(capacity) };
            for _ in 0..SLOTS {
                if self.count_within_limit(capacity) {
                    if self.slots.iter().any(|slot| slot.put(block, capacity)) {
                        return;
                    }
                    self.discount(capacity);
                }
                let victim = &self.slots[self.victim.fetch_add(1, Relaxed) % SLOTS];
                victim.take().into_iter().for_each(|block| self.free(block));
            }
        }
        // SAFETY: as required.
        unsafe { libc::free(block.as_ptr().cast()) };
    }

    /// Frees all that is kept and not in use.
    pub fn release(&self) {
        let blocks = self.slots.iter().filter_map(Slot::take);
        blocks.for_each(|block| self.free(block));
        // SAFETY: null or a `fn()`, which `prepare` stored.
        let others: Option<fn()> =
            unsafe { std::mem::transmute(self.release_others.load(Relaxed)) };
        if let Some(others) = others {
            others();
        }
    }

    /// Frees what is kept and not in use, if all of it is more than the limit allows.
    pub fn trim(&self) {
        if self.bytes.load(Relaxed) > self.limit() {
            self.release();
        }
    }
}

/// What `memory` gives. If that is none, as there is not enough, what is kept is freed, and it is
/// called again.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
#[inline(always)]
pub fn allocate<T>(mut memory: impl FnMut() -> Option<T>) -> Result<T> {
    match memory() {
        Some(memory) => Ok(memory),
        None if release_some() => memory().ok_or(Error::MEMORY_ALLOC),
        None => Err(Error::MEMORY_ALLOC),
    }
}

/// Frees what is kept. False if nothing is.
#[cold]
#[inline(never)]
fn release_some() -> bool {
    let any = KEPT.bytes.load(Relaxed) > 0;
    KEPT.release();
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

    #[test]
    fn blocks_are_kept_up_to_the_limit_and_taken_where_they_fit() {
        let kept = KeptBlocks::new();
        let bytes = || kept.bytes.load(Relaxed);
        assert_eq!(kept.take(1 << 20, 1 << 19), None);
        let keep = |len| {
            let block = new(len);
            // SAFETY: it is from `malloc` and has as many bytes.
            unsafe { kept.keep(block, len) };
            block
        };
        let (small, large) = (keep(200 << 10), keep(3 << 20));
        keep(MIN_KEPT - 1);
        assert_eq!(bytes(), (200 << 10) + (3 << 20));
        assert_eq!(kept.take(MIN_KEPT - 1, 1), None, "too short to be kept");
        assert_eq!(
            kept.take(800 << 10, 400 << 10),
            None,
            "neither half nor twice as long"
        );
        assert_eq!(kept.take(150 << 10, 1), Some((small, 200 << 10)));
        assert_eq!(kept.take(5 << 20, 5 << 20), None, "too short");
        assert_eq!(kept.take(5 << 20, 3 << 20), Some((large, 3 << 20)));
        assert_eq!(bytes(), 0);
        for (block, len) in [(small, 200 << 10), (large, 3 << 20)] {
            // SAFETY: they were just taken.
            unsafe { kept.keep(block, len) };
        }
        for _ in 0..20 {
            keep(2 << 20);
            assert!(bytes() <= DEFAULT_LIMIT);
        }
        assert!(bytes() > DEFAULT_LIMIT - (3 << 20), "others make room");
        kept.count(DEFAULT_LIMIT);
        kept.trim();
        assert_eq!(bytes(), DEFAULT_LIMIT, "what others count");
        keep(MIN_KEPT);
        assert_eq!(bytes(), DEFAULT_LIMIT);
        kept.discount(DEFAULT_LIMIT);
        kept.set_limit(0);
        keep(1 << 20);
        assert_eq!(bytes(), 0);
    }

    /// Threads that keep, take and write blocks at the same time.
    #[test]
    fn a_block_belongs_to_one_thread() {
        let kept = KeptBlocks::new();
        let rounds = if cfg!(miri) { 20 } else { 20_000 };
        let work = |thread: u8| {
            for round in 0..rounds {
                let len = MIN_KEPT + 4096 * (round % 9);
                let (block, capacity) = kept.take(len, len).unwrap_or_else(|| (new(len), len));
                let places = [0, capacity / 2, capacity - 1];
                for at in places {
                    // SAFETY: within the block, which is this thread's.
                    unsafe { block.add(at).write(thread) };
                }
                std::hint::spin_loop();
                for at in places {
                    // SAFETY: as above.
                    assert_eq!(unsafe { block.add(at).read() }, thread);
                }
                // SAFETY: it is from `malloc` and has as many bytes.
                unsafe { kept.keep(block, capacity) };
            }
        };
        std::thread::scope(|scope| {
            for thread in 1..=4 {
                let work = &work;
                scope.spawn(move || work(thread));
            }
        });
        kept.release();
        assert_eq!(kept.bytes.load(Relaxed), 0);
    }
}
