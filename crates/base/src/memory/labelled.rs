//! C strings with a value in front of them, in one allocation, so that the value can be found from
//! the address of the string.

use crate::error::{Error, Result};
use std::ffi::{CStr, c_char};

/// The value in front of the string. `malloc` aligns for at least two pointers.
#[repr(C)]
struct Prefix<T>(T);

/// Copies a C string, with a value in front. The copy is to be used with [`value`] and [`free`].
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn new<T>(value: T, string: &CStr) -> Result<*mut c_char> {
    const { assert!(align_of::<Prefix<T>>() <= 2 * align_of::<*const ()>()) };
    let bytes = string.to_bytes_with_nul();
    // SAFETY: the block is long enough for both, and aligned for two pointers, which suffices for
    // `Prefix` by the assertion above.
    unsafe {
        let prefix: *mut Prefix<T> = libc::malloc(size_of::<Prefix<T>>() + bytes.len()).cast();
        if prefix.is_null() {
            return Err(Error::MEMORY_ALLOC);
        }
        prefix.write(Prefix(value));
        let copy = prefix.add(1).cast::<u8>();
        copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        Ok(copy.cast())
    }
}

/// The value in front of a string.
///
/// # Safety
/// `string` is from [`new`] with this `T`, and is not freed while the value is used.
pub unsafe fn value<'a, T>(string: *const c_char) -> &'a T {
    // SAFETY: by `# Safety` the string is from `new`, which puts a `Prefix<T>` in front of it.
    unsafe { &(*string.cast::<Prefix<T>>().sub(1)).0 }
}

/// Frees a string, and returns its value.
///
/// # Safety
/// `string` is from [`new`] with this `T`, and is not used after this.
pub unsafe fn free<T>(string: *mut c_char) -> T {
    // SAFETY: as in `value`; the value is moved out once, and the block is from `malloc`.
    unsafe {
        let prefix = string.cast::<Prefix<T>>().sub(1);
        let Prefix(value) = prefix.read();
        libc::free(prefix.cast());
        value
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::Shared;

    #[test]
    fn strings_lead_to_their_values() {
        let shared = Shared::new(String::from("value")).expect("has memory");
        let label = new(shared, c"a label").expect("has memory");
        // SAFETY: a label of `new` with such a value, which is freed at the end.
        unsafe {
            assert_eq!(CStr::from_ptr(label), c"a label");
            let other = value::<Shared<String>>(label).clone();
            assert_eq!(*free::<Shared<String>>(label), "value");
            assert_eq!(*other, "value");
        }
    }
}
