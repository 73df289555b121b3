//! Byte buffers from `malloc`, which can be handed over to C programs to be freed with `free`.

use super::kept_blocks::{KEPT, MIN_KEPT, allocate};
use crate::error::{Error, Result};
use std::fmt;
use std::mem::MaybeUninit;
use std::ops::{Deref, DerefMut};
use std::ptr::{NonNull, null_mut};

/// From this capacity on, [`Buffer::reserve_to_grow`] takes large steps.
const LARGE_CAPACITY: usize = 256 << 10;

/// The step of [`Buffer::reserve_to_grow`]: seven times the capacity, but no more than this unless
/// half of the capacity is more.
const GROWTH_STEP: usize = 16 << 20;

/// Buffers of at least this size get huge pages where the system has them: one fault for 2 MB takes
/// a fifth of the time of the 512 for small pages.
const HUGE: usize = 4 << 20;

/// Asks for huge pages in memory from `malloc`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn advise_huge_pages(start: *mut u8, len: usize) {
    const PAGE: usize = 2 << 20;
    let before = start.align_offset(PAGE);
    let whole = len.saturating_sub(before) / PAGE * PAGE;
    if whole > 0 {
        // SAFETY: the pages are within memory of the caller's. The advice changes no byte, and a
        // system that does not know it ignores it.
        unsafe {
            libc::madvise(
                start.wrapping_add(before).cast(),
                whole,
                libc::MADV_HUGEPAGE,
            )
        };
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn advise_huge_pages(_start: *mut u8, _len: usize) {}

/// A replacement of some bytes by others.
#[derive(Debug, PartialEq, Eq)]
pub struct Edit {
    /// Offset of the bytes that are replaced.
    pub at: usize,
    /// How many bytes are replaced.
    pub len: usize,
    /// The bytes that replace them.
    pub new: Buffer,
}

/// A growable array of bytes from `malloc`.
pub struct Buffer {
    /// From `malloc`, or null. It has `capacity` bytes, of which the first `len` are initialised.
    ptr: *mut u8,
    len: usize,
    capacity: usize,
    /// Whether the block may have many more bytes than were ever used: capacity was reserved far
    /// ahead, or it is C's.
    may_be_cut: bool,
}

// SAFETY: the buffer is the only owner of its memory, as a vector is.
unsafe impl Send for Buffer {}
// SAFETY: through a shared reference the bytes can only be read.
unsafe impl Sync for Buffer {}

impl Buffer {
    /// No bytes.
    pub const fn new() -> Self {
        Self {
            ptr: null_mut(),
            len: 0,
            capacity: 0,
            may_be_cut: false,
        }
    }

    /// `len` zeros. Large ones take memory from the system only when they are written.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn zeroed(len: usize) -> Result<Self> {
        // SAFETY: `calloc` accepts any numbers.
        let ptr = allocate(|| NonNull::new(unsafe { libc::calloc(len.max(1), 1) }))?;
        Ok(Self {
            ptr: ptr.as_ptr().cast(),
            len,
            capacity: len.max(1),
            may_be_cut: false,
        })
    }

    /// `len` bytes of any content, for a caller that is about to write them: nothing is spent on
    /// zeros.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn unspecified(len: usize) -> Result<Self> {
        let mut buffer = Self::new();
        buffer.reserve_exact(len.max(1))?;
        // Miri would rather see real zeros, and runs no assembly.
        #[cfg(miri)]
        // SAFETY: room for them was just made.
        unsafe {
            std::ptr::write_bytes(buffer.ptr, 0, len);
        }
        // SAFETY: it does nothing. But it might write through the pointer for all that the compiler
        // knows, which therefore has to take whatever the allocator left there for bytes that were
        // written.
        #[cfg(not(miri))]
        unsafe {
            std::arch::asm!("/* {0} */", inout(reg) buffer.ptr, options(nostack, preserves_flags));
        }
        buffer.len = len;
        Ok(buffer)
    }

    /// A copy of `bytes`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn copy_of(bytes: &[u8]) -> Result<Self> {
        let mut buffer = Self::new();
        buffer.reserve_exact(bytes.len().max(1))?;
        buffer.extend(bytes)?;
        Ok(buffer)
    }

    /// A copy of bytes that are needed until the end of a call: it may have up to twice the memory.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn transient_copy(bytes: &[u8]) -> Result<Self> {
        let mut buffer = match KEPT.take(bytes.len(), bytes.len()) {
            Some((kept, capacity)) => Self {
                ptr: kept.as_ptr(),
                capacity,
                ..Self::new()
            },
            None => Self::new(),
        };
        buffer.extend(bytes)?;
        Ok(buffer)
    }

    /// A copy of numbers, in native byte order.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn of_numbers(numbers: impl ExactSizeIterator<Item = i64>) -> Result<Self> {
        let mut buffer = Self::zeroed(numbers.len() * size_of::<i64>())?;
        for (to, number) in buffer.chunks_exact_mut(size_of::<i64>()).zip(numbers) {
            to.copy_from_slice(&number.to_ne_bytes());
        }
        Ok(buffer)
    }

    /// Takes over memory from `malloc`.
    ///
    /// # Safety
    /// `ptr` came from `malloc`, has at least `len` bytes, all initialised, and no other owner.
    pub unsafe fn from_raw(ptr: *mut u8, len: usize) -> Self {
        Self {
            ptr,
            len,
            capacity: len,
            may_be_cut: true,
        }
    }

    /// Gives the memory to the caller, who frees it with `free`.
    pub fn into_raw(self) -> *mut u8 {
        let ptr = self.ptr;
        std::mem::forget(self);
        ptr
    }

    /// The address of the bytes.
    pub fn as_mut_ptr(&mut self) -> *mut u8 {
        self.ptr
    }

    fn reserve_exact(&mut self, capacity: usize) -> Result<()> {
        if capacity <= self.capacity {
            return Ok(());
        }
        // What is more than half full is not copied: the system can often make it longer.
        if self.len <= capacity / 2
            && let Some((kept, has)) = KEPT.take(capacity, capacity / 2)
        {
            let mut new = Self {
                ptr: kept.as_ptr(),
                len: 0,
                capacity: has,
                may_be_cut: false,
            };
            // A block of about the right size stays where it is. Without memory for another size,
            // it is given back.
            let fits = (capacity..=capacity + capacity / 8).contains(&has);
            if fits || new.reallocate(capacity).is_ok() {
                new.extend(self)?;
                *self = new;
                return Ok(());
            }
        }
        self.reallocate(capacity)
    }

    /// Makes the capacity what is wanted. If there is no memory for it, what is kept is freed
    /// first.
    fn reallocate(&mut self, capacity: usize) -> Result<()> {
        // SAFETY: the pointer is null or from `malloc`, and `capacity` is not 0.
        let ptr = allocate(|| NonNull::new(unsafe { libc::realloc(self.ptr.cast(), capacity) }))?;
        let grows = capacity > self.capacity;
        (self.ptr, self.capacity) = (ptr.as_ptr().cast(), capacity);
        if grows && capacity >= HUGE {
            advise_huge_pages(self.ptr, capacity);
        }
        Ok(())
    }

    /// Reserves capacity for `more` bytes, in steps that grow with the buffer.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn reserve(&mut self, more: usize) -> Result<()> {
        let wanted = self.len.checked_add(more).ok_or(Error::MEMORY_ALLOC)?;
        if wanted > self.capacity {
            self.reserve_exact(wanted.max(self.capacity.saturating_add(self.capacity / 2)))?;
        }
        Ok(())
    }

    /// Like [`Self::reserve`], for a buffer that may become large by many appends. It takes fewer
    /// and larger steps, since each may move all bytes to new pages. Unused capacity takes address
    /// space, but no memory.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn reserve_to_grow(&mut self, more: usize) -> Result<()> {
        let wanted = self.len.checked_add(more).ok_or(Error::MEMORY_ALLOC)?;
        if wanted > self.capacity && self.capacity >= LARGE_CAPACITY {
            let step = self.capacity.saturating_mul(7).min(GROWTH_STEP);
            let ahead = self.capacity + step.max(self.capacity / 2);
            if self.reserve_exact(wanted.max(ahead)).is_ok() {
                self.may_be_cut = true;
                return Ok(());
            }
        }
        self.reserve(more)
    }

    /// Appends bytes.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn extend(&mut self, bytes: &[u8]) -> Result<()> {
        self.reserve(bytes.len())?;
        if !bytes.is_empty() {
            // SAFETY: `reserve` has made the capacity at least `len + bytes.len()`; `bytes` cannot
            // overlap, as `self`, the only owner of its memory, is borrowed mutably.
            unsafe {
                std::ptr::copy_nonoverlapping(bytes.as_ptr(), self.ptr.add(self.len), bytes.len());
            }
        }
        self.len += bytes.len();
        Ok(())
    }

    /// Reserves capacity for exactly `more` bytes, and returns that uninitialised part of the
    /// memory.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn spare_capacity_mut(&mut self, more: usize) -> Result<&mut [MaybeUninit<u8>]> {
        let wanted = self.len.checked_add(more).ok_or(Error::MEMORY_ALLOC)?;
        self.reserve_exact(wanted.max(1))?;
        // SAFETY: the capacity is at least `len + more`, and `MaybeUninit` need not be initialised.
        Ok(unsafe { std::slice::from_raw_parts_mut(self.ptr.add(self.len).cast(), more) })
    }

    /// Adds bytes that were written into [`Self::spare_capacity_mut`] to the buffer.
    ///
    /// # Safety
    /// The first `more` bytes of that memory were written.
    pub unsafe fn advance(&mut self, more: usize) {
        debug_assert!(more <= self.capacity - self.len);
        self.len += more;
    }

    /// Makes the buffer `len` bytes long; new bytes are zeros.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn resize(&mut self, len: usize) -> Result<()> {
        if len > self.len {
            self.reserve(len - self.len)?;
            // SAFETY: `reserve` has made the capacity at least `len`.
            unsafe { std::ptr::write_bytes(self.ptr.add(self.len), 0, len - self.len) };
        }
        self.len = len;
        Ok(())
    }

    /// Applies edits, which must ascend, not overlap, and lie within the buffer. Bytes between them
    /// are moved at most once.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for other edits, [`Error::MEMORY_ALLOC`]; the buffer is unchanged
    /// then.
    pub fn edit(&mut self, edits: &[Edit]) -> Result<()> {
        let mut end = 0;
        let mut len = self.len;
        for edit in edits {
            let inside = edit.at >= end && edit.at <= self.len && edit.len <= self.len - edit.at;
            if !inside {
                return Err(Error::INVALID_PARAM);
            }
            end = edit.at + edit.len;
            len = (len - edit.len)
                .checked_add(edit.new.len())
                .ok_or(Error::MEMORY_ALLOC)?;
        }
        let old_len = self.len;
        if len > old_len {
            self.resize(len)?;
        }
        // The bytes between edit `i` and the next one.
        let stays = |i: usize| {
            let from = edits[i].at + edits[i].len;
            from..edits.get(i + 1).map_or(old_len, |next| next.at)
        };
        // First the parts that move down are moved, from the front to the end, then those that move
        // up, from the end to the front. So no part is overwritten before it is moved: a part that
        // moves down never gets in front of the old end of the part before it, and one that moves
        // up never behind the old start of the part after it. `more` and `less` are the bytes that
        // the edits so far insert and remove.
        let (mut more, mut less) = (0, 0);
        for (i, edit) in edits.iter().enumerate() {
            more += edit.new.len();
            less += edit.len;
            if more < less {
                let stays = stays(i);
                let to = stays.start + more - less;
                self.copy_within(stays, to);
            }
        }
        for (i, edit) in edits.iter().enumerate().rev() {
            if more > less {
                let stays = stays(i);
                let to = stays.start + more - less;
                self.copy_within(stays, to);
            }
            more -= edit.new.len();
            less -= edit.len;
        }
        for edit in edits {
            let to = edit.at + more - less;
            self[to..to + edit.new.len()].copy_from_slice(&edit.new);
            more += edit.new.len();
            less += edit.len;
        }
        self.len = len;
        Ok(())
    }

    /// Frees unused capacity, if it is at least an eighth.
    pub fn shrink_if_wasteful(&mut self) {
        if self.capacity / 8 > self.capacity - self.len {
            return;
        }
        self.shrink_to_fit();
    }

    /// Frees unused capacity, if the system can.
    ///
    /// What is at most half is copied and the whole block freed, which may [keep](KEPT)
    /// it: fresh pages for the next one take longer than the copy.
    pub fn shrink_to_fit(&mut self) {
        if self.len <= self.capacity / 2
            && let Ok(copy) = Self::copy_of(self)
        {
            *self = copy;
            return;
        }
        let capacity = self.len.max(1);
        if capacity < self.capacity && !self.ptr.is_null() {
            // Where it fails, the buffer is as it was.
            let _ = self.reallocate(capacity);
        }
    }
}

impl Default for Buffer {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self[..], f)
    }
}

impl PartialEq for Buffer {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl Eq for Buffer {}

impl Deref for Buffer {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        if self.len == 0 {
            return &[];
        }
        // SAFETY: the first `len` bytes are initialised.
        unsafe { std::slice::from_raw_parts(self.ptr, self.len) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        if self.len == 0 {
            return &mut [];
        }
        // SAFETY: as above, and `self` is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.ptr, self.len) }
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        if self.may_be_cut && self.len >= MIN_KEPT {
            // The rest has no pages that are worth keeping, and would not be counted. Where it
            // fails, the buffer is as it was.
            let _ = self.reallocate(self.len);
        }
        match NonNull::new(self.ptr) {
            // SAFETY: from `malloc`, with no other owner.
            Some(block) if self.capacity >= MIN_KEPT => unsafe {
                KEPT.keep(block, self.capacity);
            },
            // SAFETY: from `malloc` or null, with no other owner.
            _ => unsafe { libc::free(self.ptr.cast()) },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_those_of_a_vector() {
        let mut seed = 1usize;
        let mut below = |end: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) % end
        };
        for len in (0..400).step_by(if cfg!(miri) { 23 } else { 1 }) {
            let old: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let (mut edits, mut at) = (Vec::new(), 0);
            let mut expected = Vec::<u8>::new();
            while at < len && edits.len() < 6 {
                let from = at + below(len - at);
                let taken = below((len - from).min(40) + 1);
                let new: Vec<u8> = vec![200; below(50)];
                expected.extend(&old[at..from]);
                expected.extend(&new);
                at = from + taken;
                edits.push(Edit {
                    at: from,
                    len: taken,
                    new: Buffer::copy_of(&new).unwrap(),
                });
            }
            expected.extend(&old[at..]);
            let mut buffer = Buffer::copy_of(&old).unwrap();
            buffer.edit(&edits).unwrap();
            assert_eq!(buffer[..], expected[..], "{edits:?}");
        }
        let edit = |at, len| Edit {
            at,
            len,
            new: Buffer::copy_of(&[1]).unwrap(),
        };
        let mut buffer = Buffer::copy_of(&[0; 10]).unwrap();
        assert!(buffer.edit(&[edit(5, 6)]).is_err());
        assert!(buffer.edit(&[edit(11, 0)]).is_err());
        assert!(buffer.edit(&[edit(5, 2), edit(6, 1)]).is_err());
        assert_eq!(buffer[..], [0; 10]);
    }

    #[test]
    fn a_buffer_that_goes_on_growing_seldom_moves() {
        let mut buffer = Buffer::new();
        let mut capacities = vec![0];
        while buffer.len() < 100 << 20 {
            buffer.reserve_to_grow(8192).unwrap();
            assert!(buffer.capacity >= buffer.len + 8192);
            if buffer.capacity != *capacities.last().unwrap() {
                capacities.push(buffer.capacity);
            }
            // SAFETY: they are not read.
            unsafe { buffer.advance(8192) };
        }
        let large: Vec<_> = capacities
            .iter()
            .filter(|c| **c >= LARGE_CAPACITY)
            .collect();
        assert!(large.len() <= 8, "{capacities:?}");
        for pair in large.windows(2) {
            assert!(*pair[1] <= (8 * pair[0]).min(pair[0] + pair[0] / 2 + GROWTH_STEP));
        }
        assert!(buffer.reserve_to_grow(usize::MAX).is_err());
    }

    #[test]
    fn grows_and_shrinks_as_a_vector_does() {
        let mut buffer = Buffer::new();
        let mut vector = Vec::new();
        for i in 0..1000usize {
            let piece = vec![i as u8; i % 37];
            buffer.extend(&piece).unwrap();
            vector.extend(&piece);
            assert_eq!(buffer[..], vector[..]);
        }
        buffer.resize(10).unwrap();
        buffer.shrink_to_fit();
        buffer.resize(20).unwrap();
        vector.resize(10, 0);
        vector.resize(20, 0);
        assert_eq!(buffer[..], vector[..]);
        buffer[19] = 7;
        let len = buffer.len();
        // SAFETY: just given away, with this length.
        let again = unsafe { Buffer::from_raw(buffer.into_raw(), len) };
        assert_eq!(again[19], 7);
        assert_eq!(Buffer::copy_of(&vector).unwrap()[..], vector[..]);
        assert!(Buffer::zeroed(5).unwrap().iter().all(|byte| *byte == 0));
        let mut unspecified = Buffer::unspecified(1000).unwrap();
        unspecified.fill(3);
        unspecified.resize(10).unwrap();
        unspecified.shrink_to_fit();
        assert_eq!(unspecified[..], [3; 10]);
        // Hidden from the optimiser, which would leave out an allocation that nothing uses.
        let most = std::hint::black_box(Buffer::zeroed(usize::MAX));
        assert!(most.is_err());
    }
}
