//! Fields of a C structure that callbacks, tuners and several threads may read and write through a
//! shared reference.

use std::ffi::c_int;
use std::sync::atomic::{AtomicI16, AtomicI32, AtomicPtr, AtomicU8, Ordering};

/// A value that can be stored in atomics with the same layout.
pub trait Value: Copy {
    /// The atomics.
    type Atomic;
    /// Reads the value.
    fn load(from: &Self::Atomic) -> Self;
    /// Writes the value.
    fn store(to: &Self::Atomic, value: Self);
}

/// A field that C sees as a `T`.
#[repr(transparent)]
pub struct Field<T: Value>(T::Atomic);

impl<T: Value> Field<T> {
    /// A field with the value of this atomic.
    pub const fn new(atomic: T::Atomic) -> Self {
        Self(atomic)
    }

    /// Its value.
    #[inline]
    pub fn get(&self) -> T {
        T::load(&self.0)
    }

    /// Sets the value.
    #[inline]
    pub fn set(&self, value: T) {
        T::store(&self.0, value);
    }

    /// Sets the value and returns the one before. This is not atomic: another thread may set the
    /// field in between.
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

impl<T, const N: usize> Value for [*mut T; N] {
    type Atomic = [AtomicPtr<T>; N];
    #[inline]
    fn load(from: &Self::Atomic) -> Self {
        std::array::from_fn(|i| <*mut T>::load(&from[i]))
    }
    #[inline]
    fn store(to: &Self::Atomic, value: Self) {
        for (to, value) in to.iter().zip(value) {
            <*mut T>::store(to, value);
        }
    }
}

/// At most eight bytes. They are put together in a register, since whoever copies them all at once
/// would wait for the stores of single bytes.
impl<const N: usize> Value for [u8; N] {
    type Atomic = [AtomicU8; N];
    #[inline]
    fn load(from: &Self::Atomic) -> Self {
        const { assert!(N <= 8) };
        let word = (from.iter().rev()).fold(0, |word, byte| word << 8 | u64::from(u8::load(byte)));
        let bytes = word.to_le_bytes();
        std::array::from_fn(|i| bytes[i])
    }
    #[inline]
    fn store(to: &Self::Atomic, value: Self) {
        for (to, value) in to.iter().zip(value) {
            u8::store(to, value);
        }
    }
}

/// A callback that takes a pointer to its parameters.
type Function<T> = Option<unsafe extern "C-unwind" fn(*mut T) -> c_int>;

impl<T> Value for Function<T> {
    type Atomic = AtomicPtr<()>;
    #[inline]
    fn load(from: &AtomicPtr<()>) -> Self {
        // SAFETY: the pointer is null, which is `None`, or was stored by `store` below or by C as a
        // function of this type.
        unsafe { std::mem::transmute::<*mut (), Self>(from.load(Ordering::Relaxed)) }
    }
    #[inline]
    fn store(to: &AtomicPtr<()>, value: Self) {
        let pointer = value.map_or(std::ptr::null_mut(), |function| function as *mut ());
        to.store(pointer, Ordering::Relaxed);
    }
}
