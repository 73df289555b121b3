//! Single values on the heap.

use super::kept_blocks::allocate;
use crate::error::Result;
use std::alloc::{Layout, alloc};
use std::mem::MaybeUninit;
use std::ptr::NonNull;

/// A value on the heap.
///
/// # Errors
/// [`MEMORY_ALLOC`](crate::Error::MEMORY_ALLOC); the value is dropped then.
#[inline]
pub fn boxed<T>(value: T) -> Result<Box<T>> {
    let mut memory = boxed_uninit::<T>()?;
    memory.write(value);
    // SAFETY: the value was written in the line above.
    Ok(unsafe { memory.assume_init() })
}

/// Uninitialised memory for a value on the heap, for values too large to be made on the stack
/// first.
///
/// # Errors
/// [`MEMORY_ALLOC`](crate::Error::MEMORY_ALLOC).
#[inline]
pub fn boxed_uninit<T>() -> Result<Box<MaybeUninit<T>>> {
    let layout = Layout::new::<T>();
    let memory = if layout.size() == 0 {
        NonNull::dangling()
    } else {
        // SAFETY: the size is not 0.
        allocate(|| NonNull::new(unsafe { alloc(layout) }.cast()))?
    };
    // SAFETY: the memory is from the global allocator with the layout of `T`, or dangling for a
    // type of size 0; `MaybeUninit` need not be initialised.
    Ok(unsafe { Box::from_raw(memory.as_ptr()) })
}

/// A value in memory from `malloc`, which C can free.
///
/// # Errors
/// [`MEMORY_ALLOC`](crate::Error::MEMORY_ALLOC).
pub fn on_c_heap<T>(value: T) -> Result<*mut T> {
    const { assert!(align_of::<T>() <= 16) };
    // SAFETY: it takes any number.
    let place = allocate(|| NonNull::new(unsafe { libc::malloc(size_of::<T>().max(1)) }))?;
    let place = place.cast::<T>();
    // SAFETY: the memory has this size, and is aligned for any C structure.
    unsafe { place.write(value) };
    Ok(place.as_ptr())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn values_on_the_heap() {
        assert_eq!(*boxed([7u64; 9]).unwrap(), [7; 9]);
        assert_eq!(*boxed(()).unwrap(), ());
        assert_eq!(**boxed(boxed("text").unwrap()).unwrap(), "text");
        // Seen by `black_box`, so that the compiler cannot leave the allocation out.
        let large = std::hint::black_box(boxed_uninit::<[u8; 1 << 46]>());
        assert_eq!(large.err(), Some(Error::MEMORY_ALLOC));
    }
}
