//! Pointers that C passes, and what it gets through them.

use crate::not_null;
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::memory::env::INVALID_UTF8;
use oxiblosc_base::{Error, Result};
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

/// A C string.
///
/// # Safety
/// `string` is null or a C string that stays as long as what is returned is used.
#[inline]
pub unsafe fn c_str<'a>(string: *const c_char) -> Option<&'a CStr> {
    // SAFETY: it is not null, so `# Safety` says that it is a C string.
    (!string.is_null()).then(|| unsafe { CStr::from_ptr(string) })
}

/// The text of a C string.
///
/// # Safety
/// As for [`c_str`].
#[inline]
pub unsafe fn text<'a>(string: *const c_char) -> Option<&'a str> {
    // SAFETY: as `# Safety` says.
    let string = unsafe { c_str(string)? };
    Some(string.to_str().unwrap_or(INVALID_UTF8))
}

/// The `len` bytes at `src`.
///
/// # Errors
/// [`Error::NULL_POINTER`] for a null pointer, unless `len` is 0.
///
/// # Safety
/// A pointer that is not null points to `len` readable bytes that no other thread writes meanwhile.
#[inline]
pub unsafe fn bytes<'a>(src: *const u8, len: usize) -> Result<&'a [u8]> {
    // SAFETY: as `# Safety` says.
    unsafe { any_items(src, len) }
}

/// As [`items`], for a list that may be null if it is empty.
///
/// # Errors
/// [`Error::NULL_POINTER`] for a null pointer, unless `len` is 0.
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub unsafe fn any_items<'a, T>(list: *const T, len: usize) -> Result<&'a [T]> {
    match len {
        0 => Ok(&[]),
        // SAFETY: as `# Safety` says.
        _ => unsafe { items(list, len) },
    }
}

/// A list of the program, such as a shape: `len` items at an address that must not be null, even if
/// `len` is 0.
///
/// # Errors
/// [`Error::NULL_POINTER`].
///
/// # Safety
/// As for [`bytes`].
#[inline]
pub unsafe fn items<'a, T>(list: *const T, len: usize) -> Result<&'a [T]> {
    not_null!(list)?;
    // SAFETY: it is not null, as was just checked, so `# Safety` says that the items are there.
    Ok(unsafe { std::slice::from_raw_parts(list, len) })
}

/// The buffer of `len` bytes at `dest`.
///
/// # Errors
/// As for [`bytes`].
///
/// # Safety
/// A pointer that is not null points to `len` writable bytes that no other thread uses meanwhile.
#[inline]
pub unsafe fn bytes_mut<'a>(dest: *mut u8, len: usize) -> Result<&'a mut [u8]> {
    if len == 0 {
        return Ok(&mut []);
    }
    not_null!(dest)?;
    // SAFETY: as in `items`.
    Ok(unsafe { std::slice::from_raw_parts_mut(dest, len) })
}

/// Writes `value` where the pointer is not null.
///
/// # Safety
/// The pointer is null or can be written.
#[inline]
pub unsafe fn give<T>(place: *mut T, value: T) {
    if !place.is_null() {
        // SAFETY: it is not null, so `# Safety` says that it can be written.
        unsafe { *place = value };
    }
}

/// Gives the program a buffer, which it frees with `free`, and says how many bytes it has; gives
/// that, too.
///
/// # Safety
/// Both places can be written.
#[inline]
pub unsafe fn hand_over(buffer: Buffer, place: *mut *mut u8, size: *mut i32) -> usize {
    let len = buffer.len();
    // SAFETY: `# Safety` says that both can be written.
    unsafe { (*place, *size) = (buffer.into_raw(), len as i32) };
    len
}

/// Numbers in memory that the program frees with `free`; null if there are none.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn numbers_for_c(numbers: impl ExactSizeIterator<Item = i64>) -> Result<*mut i64> {
    match numbers.len() {
        0 => Ok(null_mut()),
        _ => Ok(Buffer::of_numbers(numbers)?.into_raw().cast()),
    }
}

/// Refuses buffers that share bytes, as no library of these works in place.
///
/// # Errors
/// [`Error::INVALID_PARAM`].
#[inline]
pub fn apart(src: *const u8, srclen: usize, dest: *const u8, destlen: usize) -> Result<()> {
    let (src, dest) = (src as usize, dest as usize);
    let overlap = srclen > 0
        && destlen > 0
        && src < dest.saturating_add(destlen)
        && dest < src.saturating_add(srclen);
    match overlap {
        true => Err(Error::INVALID_PARAM),
        false => Ok(()),
    }
}

/// A source and a destination, which must not share bytes.
///
/// # Errors
/// Those of [`apart`] and [`bytes`].
///
/// # Safety
/// A pointer that is not null points to as many bytes as its length says; no other thread writes
/// those of `src`, or uses those of `dest`, meanwhile.
#[inline]
pub unsafe fn buffers<'a>(
    (src, srclen): (*const u8, usize),
    (dest, destlen): (*mut u8, usize),
) -> Result<(&'a [u8], &'a mut [u8])> {
    apart(src, srclen, dest, destlen)?;
    // SAFETY: the buffers have these lengths (`# Safety`), and they share no byte, as was just
    // checked.
    unsafe { Ok((bytes(src, srclen)?, bytes_mut(dest, destlen)?)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overlaps_are_seen() {
        let buffer = [0u8; 10];
        let at = |i: usize| buffer[i..].as_ptr();
        assert!(apart(at(0), 5, at(5), 5).is_ok());
        assert!(apart(at(0), 6, at(5), 5).is_err());
        assert!(apart(at(5), 5, at(0), 6).is_err());
        assert!(apart(at(2), 0, at(0), 10).is_ok());
    }
}
