//! Fields of a structure that callbacks, tuners and several threads may read and write through a shared reference.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI16, AtomicI32, AtomicPtr, AtomicU8, Ordering};

/// A value that fits into atomics of the same size and alignment.
pub trait Value: Copy {
    /// These atomics.
    type Atomic;
    /// Reads them.
    fn load(from: &Self::Atomic) -> Self;
    /// Writes them.
    fn store(to: &Self::Atomic, value: Self);
}

/// A field that C sees as a `T`.
#[repr(transparent)]
pub struct Field<T: Value>(T::Atomic);

impl<T: Value> Field<T> {
    /// A field that is what this atomic is.
    pub const fn new(atomic: T::Atomic) -> Self {
        Self(atomic)
    }

    /// What it is.
    #[inline]
    pub fn get(&self) -> T {
        T::load(&self.0)
    }

    /// Makes it another.
    #[inline]
    pub fn set(&self, value: T) {
        T::store(&self.0, value);
    }

    /// Makes it another, and gives what it was: in two steps, between which another thread may set it.
    #[inline]
    pub fn replace(&self, value: T) -> T {
        let before = self.get();
        self.set(value);
        before
    }
}

macro_rules! number {
    ($($number:ty => $atomic:ty),*) => {$(
        impl Value for $number {
            type Atomic = $atomic;
            #[inline]
            fn load(from: &$atomic) -> Self {
                from.load(Ordering::Relaxed)
            }
            #[inline]
            fn store(to: &$atomic, value: Self) {
                to.store(value, Ordering::Relaxed);
            }
        }
    )*};
}
number!(u8 => AtomicU8, i16 => AtomicI16, i32 => AtomicI32);

impl<T> Value for *mut T {
    type Atomic = AtomicPtr<T>;
    #[inline]
    fn load(from: &AtomicPtr<T>) -> Self {
        from.load(Ordering::Relaxed)
    }
    #[inline]
    fn store(to: &AtomicPtr<T>, value: Self) {
        to.store(value, Ordering::Relaxed);
    }
}

impl<T> Value for *const T {
    type Atomic = AtomicPtr<T>;
    #[inline]
    fn load(from: &AtomicPtr<T>) -> Self {
        from.load(Ordering::Relaxed)
    }
    #[inline]
    fn store(to: &AtomicPtr<T>, value: Self) {
        to.store(value.cast_mut(), Ordering::Relaxed);
    }
}

impl<T: Value, const N: usize> Value for [T; N] {
    type Atomic = [T::Atomic; N];
    #[inline]
    fn load(from: &Self::Atomic) -> Self {
        std::array::from_fn(|i| T::load(&from[i]))
    }
    #[inline]
    fn store(to: &Self::Atomic, value: Self) {
        for (to, value) in to.iter().zip(value) {
            T::store(to, value);
        }
    }
}

/// A function of the program's, with parameters of some kind.
type Function<T> = Option<unsafe extern "C" fn(*mut T) -> c_int>;

impl<T> Value for Function<T> {
    type Atomic = AtomicPtr<()>;
    #[inline]
    fn load(from: &AtomicPtr<()>) -> Self {
        // SAFETY: only such functions are stored, and zeroed memory; a null pointer is none.
        unsafe { std::mem::transmute::<*mut (), Self>(from.load(Ordering::Relaxed)) }
    }
    #[inline]
    fn store(to: &AtomicPtr<()>, value: Self) {
        let pointer = value.map_or(std::ptr::null_mut(), |function| function as *mut ());
        to.store(pointer, Ordering::Relaxed);
    }
}
