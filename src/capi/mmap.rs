//! The back end for memory maps as C sees it.
//!
//! The struct of the parameters is the stream. Its map is kept in front of the path that the struct
//! points to: the one allocation that only this file frees. The other fields say where the map was
//! after the last call that was made through the struct. A struct without a path is no file, only
//! the memory that its fields tell of.

use super::files::moved;
use crate::capi::prelude::*;
use oxiblosc::storage::Storage;
use oxiblosc::storage::mmap::stream::{MappedStream, Opened};
use oxiblosc::storage::mmap::{Map, OpenMode};
use oxiblosc_base::memory::env::trace;
use oxiblosc_base::memory::{Shared, labelled};
use oxiblosc_base::system::streams;

/// The map of an open stream.
///
/// # Safety
/// `stream` points to a struct that is as `blosc2_stdio_mmap_open` left it, or has no path; it is
/// not destroyed meanwhile.
unsafe fn map_of(stream: *const blosc2_stdio_mmap) -> Option<Shared<Map>> {
    // SAFETY: by `# Safety` the struct is valid. If it has a path, `open` set it, to a string from
    // `labelled::new` with a map in front.
    unsafe {
        let path = (*stream).urlpath;
        (!path.is_null()).then(|| labelled::value::<Shared<Map>>(path).clone())
    }
}

/// Says in the stream's fields where its map is.
///
/// # Safety
/// As for [`map_of`]; no other thread uses the stream meanwhile.
unsafe fn tell(stream: *mut blosc2_stdio_mmap, map: &Map) {
    let now = map.extent();
    unsafe_granted!({
        (*stream).addr = now.address.cast();
        (*stream).file_size = now.size;
        (*stream).mapping_size = now.mapped;
    })
}

/// The stream at a pointer, if that is not null.
///
/// # Safety
/// As for [`map_of`]; no other thread uses the stream as long as what is returned is used, unless
/// both only read.
unsafe fn stream_of(stream: *mut c_void) -> Option<MappedStream> {
    unsafe_granted!({
        let c = stream.cast::<blosc2_stdio_mmap>().as_ref()?;
        Some(match map_of(c) {
            Some(map) => MappedStream::of_map(map),
            None => MappedStream::of_memory(c.addr.cast(), c.file_size),
        })
    })
}

/// Changes the file of a stream, and says where it is now.
///
/// # Safety
/// As for [`stream_of`].
unsafe fn change(
    stream: *mut c_void,
    change: impl FnOnce(&MappedStream) -> Result<()>,
) -> Result<()> {
    unsafe_granted!({
        let open = stream_of(stream).ok_or(Error::NULL_POINTER)?;
        let changed = change(&open);
        if let Some(map) = open.map() {
            tell(stream.cast(), map);
        }
        changed
    })
}

/// Says in the parameters of a super-chunk's map where it is now, after the super-chunk has changed
/// its file.
///
/// # Safety
/// `storage` is null or valid, and has the parameters that its back end expects, which no other
/// thread writes meanwhile.
pub unsafe fn follow(storage: *const blosc2_storage) {
    unsafe_granted!({
        let io = storage.as_ref().and_then(|storage| storage.io.as_ref());
        let Some(io) = io.filter(|io| c_int::from(io.id) == BLOSC2_IO_FILESYSTEM_MMAP) else {
            return;
        };
        let params = io.params.cast::<blosc2_stdio_mmap>();
        if !params.is_null()
            && let Some(map) = map_of(params)
        {
            tell(params, &map);
        }
    })
}

/// The map of the file at `urlpath`, opened in the mode of `params` unless it is open there
/// already.
///
/// # Safety
/// `params` is null, or points to a struct with a mode, or to one that was opened; no other thread
/// uses it meanwhile.
pub unsafe fn open(urlpath: &CStr, params: *mut blosc2_stdio_mmap) -> Result<Shared<Map>> {
    not_null!(params)?;
    unsafe_granted!({
        if !(*params).addr.is_null() {
            let map = map_of(params).ok_or(Error::FILE_OPEN)?;
            if CStr::from_ptr((*params).urlpath) != urlpath {
                trace(
                    "error",
                    "a memory map is open with another path; directories cannot be mapped",
                );
                return Err(Error::FILE_OPEN);
            }
            return Ok(map);
        }
        let mode = c_str((*params).mode).ok_or(Error::FILE_OPEN)?;
        let opened = Opened::new(urlpath, mode, (*params).initial_mapping_size)?;
        let (map, file) = (opened.map, opened.file);
        let path = labelled::new(map.clone(), urlpath);
        (*params).urlpath = path.inspect_err(|_| {
            libc::fclose(file);
        })?;
        let access = map.access();
        (*params).is_memory_only = access == OpenMode::Copy;
        (*params).file = file;
        (*params).fd = opened.descriptor;
        (*params).access_flags = i64::from(access.kind().protection());
        (*params).map_flags = i64::from(access.kind().flags());
        // The string is the caller's and may be gone later.
        (*params).mode = null();
        tell(params, &map);
        Ok(map)
    })
}

/// Maps the file at `urlpath` in the mode that `params`, a `blosc2_stdio_mmap`, tells; `mode` is
/// not looked at. Returns `params`, which is the stream, or NULL. A map is opened once: until it is
/// destroyed, each call with the same path returns the same stream, and one with another path NULL.
///
/// # Safety
/// `urlpath` is a C string or NULL; `params` is NULL or points to a `blosc2_stdio_mmap` that was
/// made from `BLOSC2_STDIO_MMAP_DEFAULTS`, and stays there until it is destroyed.
#[export]
pub unsafe extern "C-unwind" fn blosc2_stdio_mmap_open(
    urlpath: *const c_char,
    _mode: *const c_char,
    params: *mut c_void,
) -> *mut c_void {
    let path = c_str(urlpath).ok_or(Error::NULL_POINTER)?;
    open(path, params.cast()).map(|_| params)
}

/// Does nothing: a map is closed when it is destroyed. Returns 0.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn blosc2_stdio_mmap_close(_stream: *mut c_void) -> c_int {
    0
}

/// Returns the size of the file in bytes as the map knows it, or -1 for NULL.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_mmap_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_mmap_size(stream: *mut c_void) -> i64 {
    unsafe_granted!(guard(-1, || {
        stream_of(stream).map_or(-1, |stream| {
            i64::try_from(stream.size()).unwrap_or(i64::MAX)
        })
    }))
}

/// Writes `nitems` items of `size` bytes from `ptr`, which is no part of the map, at byte
/// `position`, extending the file where it must; addresses that were read before may be out of date
/// then. Returns `nitems`, or 0.
///
/// # Safety
/// `ptr` has `size * nitems` bytes, or is NULL; `stream` comes from `blosc2_stdio_mmap_open`, or is
/// NULL; no other thread uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_mmap_write(
    ptr: *const c_void,
    size: i64,
    nitems: i64,
    position: i64,
    stream: *mut c_void,
) -> i64 {
    let span = (size, nitems, position);
    unsafe_granted!(moved("blosc2_stdio_mmap_write", span, |at, len| {
        if len == 0 {
            return Ok(0);
        }
        let written = bytes(ptr.cast(), len)?;
        change(stream, |stream| stream.write_at(at, written))?;
        Ok(nitems)
    }))
}

/// Puts in `*ptr` the address of `nitems` items of `size` bytes at byte `position` of the map,
/// where they can be read until the next write, or NULL if they are not all there. Returns
/// `nitems`, or 0.
///
/// The file must not be cut short while the address is in use: to read where a file has ended kills
/// the process.
///
/// # Safety
/// `ptr` can be written, or is NULL; `stream` comes from `blosc2_stdio_mmap_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_mmap_read(
    ptr: *mut *mut c_void,
    size: i64,
    nitems: i64,
    position: i64,
    stream: *mut c_void,
) -> i64 {
    unsafe_granted!(give(ptr, null_mut()));
    let span = (size, nitems, position);
    unsafe_granted!(moved("blosc2_stdio_mmap_read", span, |at, len| {
        let stream = stream_of(stream).ok_or(Error::NULL_POINTER)?;
        let ptr = ptr.as_mut().ok_or(Error::NULL_POINTER)?;
        *ptr = stream.address(at, len)?.cast();
        Ok(nitems)
    }))
}

/// Makes the file, or with mode `"c"` what it looks like from here, `size` bytes long. Returns 0,
/// or -1.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_mmap_open`, or is NULL; no other thread uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_mmap_truncate(
    stream: *mut c_void,
    size: i64,
) -> c_int {
    unsafe_granted!(guard(-1, || {
        let size = u64::try_from(size).map_err(|_| Error::INVALID_PARAM);
        let done = size.and_then(|size| change(stream, |stream| stream.truncate(size)));
        done.map_or(-1, |()| 0)
    }))
}

/// Unmaps and closes the file of `params`, a `blosc2_stdio_mmap`, and frees the struct if its
/// `needs_free` says so. Returns 0, or -1 if no file was open.
///
/// # Safety
/// `params` is NULL or points to a `blosc2_stdio_mmap` that no other thread uses; with `needs_free`
/// it comes from `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_mmap_destroy(params: *mut c_void) -> c_int {
    guard(-1, || {
        // SAFETY: if it is not null, it is a struct that no other thread uses. A path was made by
        // `open`, and is freed once, as it is null from then on.
        let Some(stream) = (unsafe { params.cast::<blosc2_stdio_mmap>().as_mut() }) else {
            return -1;
        };
        let (path, file) = (stream.urlpath, stream.file);
        (stream.urlpath, stream.file, stream.addr) = (null_mut(), null_mut(), null_mut());
        // SAFETY: as above.
        unsafe {
            let map = (!path.is_null()).then(|| labelled::free::<Shared<Map>>(path));
            let identity = map.and_then(|map| map.identity());
            let closed = file.is_null() || streams::close(file, identity);
            if stream.needs_free {
                libc::free(params);
            }
            match !path.is_null() && closed {
                true => 0,
                false => -1,
            }
        }
    })
}
