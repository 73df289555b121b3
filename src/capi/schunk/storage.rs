//! How a super-chunk is stored: the library's copy of what the program says.

use super::handle::Handle;
use crate::capi::types::*;
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, MAX_TYPESIZE, Special};
use oxiblosc_chunk::special;
use oxiblosc_chunk::tune::Request;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::offsets::Place;
use oxiblosc_memory::{Buffer, List};
use std::ffi::{CStr, c_char};
use std::ptr::null_mut;

/// Puts a struct into memory from `malloc`.
pub fn on_heap<T>(value: T) -> Result<*mut T> {
    // SAFETY: malloc aligns for any C struct, and gives as much as is asked for, or null.
    unsafe {
        let place = libc::malloc(size_of::<T>().max(1)).cast::<T>();
        if place.is_null() {
            return Err(Error::MemoryAlloc);
        }
        place.write(value);
        Ok(place)
    }
}

/// Puts a string into memory from `malloc`.
pub fn string_on_heap(text: &CStr) -> Result<*mut c_char> {
    Ok(Buffer::copy_of(text.to_bytes_with_nul())?.into_raw().cast())
}

/// A path as files know it: without `file:///` at its front.
pub fn local(path: &CStr) -> &CStr {
    const SCHEME: &[u8] = b"file:///";
    if path.to_bytes().starts_with(SCHEME) {
        // SAFETY: behind the front of a string that ends in 0.
        unsafe { CStr::from_ptr(path.as_ptr().add(SCHEME.len())) }
    } else {
        path
    }
}

/// Copies a storage and what it points to; what is null becomes the default. To be freed with [`free_storage`].
///
/// # Safety
/// The pointers in `storage` are null or valid.
pub unsafe fn copy(storage: &blosc2_storage) -> Result<*mut blosc2_storage> {
    let mut copy = blosc2_storage {
        urlpath: null_mut(),
        cparams: null_mut(),
        dparams: null_mut(),
        io: null_mut(),
        ..*storage
    };
    // SAFETY: by the caller's word.
    let made = unsafe {
        (|| {
            if !storage.urlpath.is_null() {
                copy.urlpath = string_on_heap(local(CStr::from_ptr(storage.urlpath)))?;
            }
            let cparams = storage.cparams.as_ref().copied();
            copy.cparams = on_heap(cparams.unwrap_or(blosc2_cparams::defaults()))?;
            let dparams = storage.dparams.as_ref().copied();
            copy.dparams = on_heap(dparams.unwrap_or(blosc2_dparams::defaults()))?;
            let io = storage.io.as_ref().copied();
            copy.io = on_heap(io.unwrap_or(blosc2_io::defaults()))?;
            on_heap(copy)
        })()
    };
    if made.is_err() {
        // SAFETY: what was made so far, from `malloc` or null.
        unsafe { free_parts(&copy) };
    }
    made
}

unsafe fn free_parts(storage: &blosc2_storage) {
    // SAFETY: the caller gives parts that came from `malloc` or are null.
    unsafe {
        libc::free(storage.urlpath.cast());
        libc::free(storage.cparams.cast());
        libc::free(storage.dparams.cast());
        libc::free(storage.io.cast());
    }
}

/// Frees what [`copy`] made.
///
/// # Safety
/// `storage` is null or from [`copy`], and is used no more.
pub unsafe fn free_storage(storage: *mut blosc2_storage) {
    // SAFETY: by the caller's word.
    unsafe {
        if let Some(parts) = storage.as_ref() {
            free_parts(parts);
        }
        libc::free(storage.cast());
    }
}

/// The chunk that a special offset stands for.
pub fn special_chunk(handle: &Handle, place: Place, nbytes: i32) -> Result<List<u8>> {
    // SAFETY: only read, and copied.
    let (typesize, blocksize) = unsafe {
        let c = handle.fields();
        (c.typesize, c.blocksize)
    };
    special_of(place, nbytes, typesize, blocksize)
}

/// A chunk of special values, `nbytes` of them.
pub fn special_of(place: Place, nbytes: i32, typesize: i32, blocksize: i32) -> Result<List<u8>> {
    let Place::Special(kind) = place else {
        return Err(Error::Failure);
    };
    let defaults = blosc2_cparams::defaults();
    // Where the data are not whole items, as a last chunk's may not be, they are bytes.
    let whole = typesize > 0 && nbytes % typesize == 0;
    let fits = whole && typesize as usize <= MAX_TYPESIZE;
    let request = Request {
        compcode: i32::from(defaults.compcode),
        clevel: i32::from(defaults.clevel),
        typesize: if whole { typesize } else { 1 },
        nbytes,
        shuffle: true,
        splitmode: defaults.splitmode,
    };
    let typesize = if fits { typesize as usize } else { 1 };
    if kind == Special::Nan && !matches!(typesize, 4 | 8) {
        return Err(Error::Data);
    }
    let mut chunk = List::filled(0, EXTENDED_HEADER_LENGTH)?;
    let blocksize = request.blocksize(blocksize.max(0)).max(1);
    special::write(
        kind,
        nbytes as usize,
        blocksize as usize,
        typesize,
        &[],
        &mut chunk,
    );
    Ok(chunk)
}
