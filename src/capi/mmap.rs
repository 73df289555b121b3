//! The back end for memory maps as C sees it.
//!
//! The struct of the parameters is the stream. Its map, a [`Map`], is kept in front of the path that the struct points
//! to: the one allocation that only this file frees. The other fields say where the map was after the last call
//! that was made through the struct. A struct without a path is no file, only the memory that its fields tell of.

use super::files::span;
use crate::capi::prelude::*;
use oxiblosc_io::Storage;
use oxiblosc_io::mmap::{Access, Map};
use oxiblosc_memory::env::{info, trace};
use oxiblosc_memory::{Counted, Lossy, Shared};
use oxiblosc_system::streams;
use std::io::ErrorKind;

/// What lies in front of the path.
#[repr(C, align(16))]
struct Kept {
    map: *mut Counted<Map>,
}

/// A copy of the path with the map in front of it, or null if there is no memory.
fn keep(map: Shared<Map>, path: &CStr) -> *mut c_char {
    let path = path.to_bytes_with_nul();
    // SAFETY: the block has room for both, and `malloc` aligns it for anything.
    unsafe {
        let kept: *mut Kept = libc::malloc(size_of::<Kept>() + path.len()).cast();
        if kept.is_null() {
            return null_mut();
        }
        kept.write(Kept {
            map: map.into_raw(),
        });
        let copy: *mut c_char = kept.add(1).cast();
        copy.cast::<u8>()
            .copy_from_nonoverlapping(path.as_ptr(), path.len());
        copy
    }
}

/// Where the map of an open stream is kept.
///
/// # Safety
/// `stream` points to a struct that is as `blosc2_stdio_mmap_open` left it, or has no path.
unsafe fn kept(stream: *const blosc2_stdio_mmap) -> Option<*mut Kept> {
    // SAFETY: the struct is there. A path that it has was set by `open`, which takes it from `keep`: a `Kept` lies in front of it.
    unsafe {
        let path = (*stream).urlpath;
        (!path.is_null()).then(|| path.cast::<Kept>().sub(1))
    }
}

/// The map of an open stream.
///
/// # Safety
/// As for [`kept`]; the stream is not destroyed meanwhile.
unsafe fn map_of(stream: *const blosc2_stdio_mmap) -> Option<Shared<Map>> {
    // SAFETY: what `kept` finds has one share of the map until the stream is destroyed, which is not done meanwhile.
    unsafe {
        let map = (*kept(stream)?).map;
        Some(Shared::clone_raw(map))
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

/// An open stream.
struct Stream {
    c: *mut blosc2_stdio_mmap,
    /// None for one that is memory only.
    map: Option<Shared<Map>>,
}

impl Stream {
    /// The stream at a pointer, if that is not null.
    ///
    /// # Safety
    /// As for [`map_of`]; no other thread uses the stream as long as what is returned is used, unless both only read.
    unsafe fn of(stream: *mut c_void) -> Option<Self> {
        let c = stream.cast::<blosc2_stdio_mmap>();
        (!c.is_null()).then(|| unsafe_granted!(Self { c, map: map_of(c) }))
    }

    /// Bytes of the file.
    fn size(&self) -> usize {
        match &self.map {
            Some(map) => map.extent().size,
            // SAFETY: as `of` was promised.
            None => unsafe { (*self.c).file_size },
        }
    }

    /// Where `len` bytes at `position` are.
    fn address(&self, position: u64, len: usize) -> Result<*mut u8> {
        if let Some(map) = &self.map {
            return map.address(position, len);
        }
        let position = usize::try_from(position).map_err(|_| Error::FileRead)?;
        let end = position.checked_add(len).ok_or(Error::FileRead)?;
        if end > self.size() {
            return Err(Error::FileRead);
        }
        // SAFETY: as `of` was promised, the struct tells of memory that is there.
        Ok(unsafe { (*self.c).addr }
            .cast::<u8>()
            .wrapping_add(position))
    }

    /// Changes the file, and says where it is now; what has no file does `otherwise`.
    fn change(
        &self,
        change: impl FnOnce(&Map) -> Result<()>,
        otherwise: impl FnOnce() -> Result<()>,
    ) -> Result<()> {
        let Some(map) = &self.map else {
            return otherwise();
        };
        let changed = change(map);
        // SAFETY: as `of` was promised.
        unsafe { tell(self.c, map) };
        changed
    }
}

/// What a function that moves items returns.
fn moved(name: &str, nitems: i64, done: Result<()>) -> i64 {
    if let Err(error) = &done {
        trace("error", format_args!("{name}: {error}"));
    }
    if done.is_ok() { nitems } else { 0 }
}

/// The map of the file at `urlpath`, opened in the mode of `params` unless it is open there already.
///
/// # Safety
/// `params` is null, or points to a struct with a mode, or to one that was opened; no other thread uses it meanwhile.
pub unsafe fn open(urlpath: &CStr, params: *mut blosc2_stdio_mmap) -> Result<Shared<Map>> {
    not_null!(params)?;
    unsafe_granted!({
        if !(*params).addr.is_null() {
            let map = map_of(params).ok_or(Error::FileOpen)?;
            if CStr::from_ptr((*params).urlpath) != urlpath {
                trace(
                    "error",
                    "a memory map is open with another path; directories cannot be mapped",
                );
                return Err(Error::FileOpen);
            }
            return Ok(map);
        }
        if (*params).mode.is_null() {
            return Err(Error::FileOpen);
        }
        let mode = CStr::from_ptr((*params).mode);
        let access = Access::from_mode(mode.to_bytes()).ok_or(Error::FileOpen)?;
        let room = match access {
            Access::Read => 0,
            _ => (*params).initial_mapping_size,
        };
        let map = Shared::new(Map::open(urlpath, access, room)?)?;
        let file = streams::of_file(map.file(), access.writes_file());
        let file = file.map_err(|error| match error.kind() {
            ErrorKind::OutOfMemory => Error::MemoryAlloc,
            _ => Error::FileOpen,
        })?;
        let path = keep(map.clone(), urlpath);
        if path.is_null() {
            libc::fclose(file);
            return Err(Error::MemoryAlloc);
        }
        (*params).urlpath = path;
        (*params).is_memory_only = access == Access::Copy;
        (*params).file = file;
        (*params).fd = streams::descriptor(map.file(), file);
        (*params).access_flags = i64::from(access.kind().protection());
        (*params).map_flags = i64::from(access.kind().flags());
        // The string is the caller's and may be gone later.
        (*params).mode = null();
        tell(params, &map);
        // Word for word: python-blosc2 looks for it.
        info(format_args!(
            "Opened memory-mapped file {} in mode {} with an mapping size of {} bytes.",
            Lossy(urlpath),
            Lossy(mode),
            map.extent().size.max(room)
        ));
        Ok(map)
    })
}

/// Maps the file at `urlpath` in the mode that `params`, a `blosc2_stdio_mmap`, tells; `mode` is not looked at. Returns
/// `params`, which is the stream, or NULL. A map is opened once: until it is destroyed, each call with the same path
/// returns the same stream, and one with another path NULL.
///
/// # Safety
/// `urlpath` is a C string or NULL; `params` is NULL or points to a `blosc2_stdio_mmap` that was made from
/// `BLOSC2_STDIO_MMAP_DEFAULTS`, and stays there until it is destroyed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_stdio_mmap_open(
    urlpath: *const c_char,
    _mode: *const c_char,
    params: *mut c_void,
) -> *mut c_void {
    guard(null_mut(), || {
        if urlpath.is_null() {
            return null_mut();
        }
        match unsafe_granted!(open(CStr::from_ptr(urlpath), params.cast())) {
            Ok(_) => params,
            Err(error) => {
                trace("error", format_args!("blosc2_stdio_mmap_open: {error}"));
                null_mut()
            }
        }
    })
}

/// Does nothing: a map is closed when it is destroyed. Returns 0.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_stdio_mmap_close(_stream: *mut c_void) -> c_int {
    0
}

/// Returns the size of the file in bytes as the map knows it, or -1 for NULL.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_mmap_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_stdio_mmap_size(stream: *mut c_void) -> i64 {
    guard(-1, || {
        let stream = unsafe_granted!(Stream::of(stream));
        stream.map_or(-1, |stream| {
            i64::try_from(stream.size()).unwrap_or(i64::MAX)
        })
    })
}

/// Writes `nitems` items of `size` bytes from `ptr`, which is no part of the map, at byte `position`, extending the
/// file where it must; addresses that were read before may be out of date then. Returns `nitems`, or 0.
///
/// # Safety
/// `ptr` has `size * nitems` bytes, or is NULL; `stream` comes from `blosc2_stdio_mmap_open`, or is NULL; no other
/// thread uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_stdio_mmap_write(
    ptr: *const c_void,
    size: i64,
    nitems: i64,
    position: i64,
    stream: *mut c_void,
) -> i64 {
    guard(0, || {
        let span = span(size, nitems, position).filter(|(_, len)| *len > 0 && !ptr.is_null());
        let (Some((position, len)), Some(stream)) = (span, unsafe_granted!(Stream::of(stream)))
        else {
            return 0;
        };
        // SAFETY: not null, so it has `size * nitems` bytes, which `span` has counted; `# Safety` says that they are no part of the map.
        let bytes = unsafe { std::slice::from_raw_parts(ptr.cast::<u8>(), len) };
        let written = stream.change(
            |map| map.write_at(position, bytes),
            || {
                let there = stream.address(position, len)?;
                // SAFETY: as many bytes are there.
                unsafe { there.copy_from(bytes.as_ptr(), len) };
                Ok(())
            },
        );
        moved("blosc2_stdio_mmap_write", nitems, written)
    })
}

/// Puts in `*ptr` the address of `nitems` items of `size` bytes at byte `position` of the map, where they can be read
/// until the next write, or NULL if they are not all there. Returns `nitems`, or 0.
///
/// The file must not be cut short while the address is in use: to read where a file has ended kills the process.
///
/// # Safety
/// `ptr` can be written, or is NULL; `stream` comes from `blosc2_stdio_mmap_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_stdio_mmap_read(
    ptr: *mut *mut c_void,
    size: i64,
    nitems: i64,
    position: i64,
    stream: *mut c_void,
) -> i64 {
    guard(0, || {
        if ptr.is_null() {
            return 0;
        }
        let (ptr, stream) = unsafe_granted!((&mut *ptr, Stream::of(stream)));
        *ptr = null_mut();
        let (Some((position, len)), Some(stream)) = (span(size, nitems, position), stream) else {
            return 0;
        };
        let found = stream.address(position, len);
        moved(
            "blosc2_stdio_mmap_read",
            nitems,
            found.map(|address| *ptr = address.cast()),
        )
    })
}

/// Makes the file, or with mode `"c"` what it looks like from here, `size` bytes long. Returns 0, or -1.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_mmap_open`, or is NULL; no other thread uses it meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_stdio_mmap_truncate(stream: *mut c_void, size: i64) -> c_int {
    guard(-1, || {
        let (Ok(size), Some(stream)) = (u64::try_from(size), unsafe_granted!(Stream::of(stream)))
        else {
            return -1;
        };
        let otherwise = || match stream.size() as u64 == size {
            true => Ok(()),
            false => Err(Error::FileTruncate),
        };
        let truncated = stream.change(|map| map.truncate(size), otherwise);
        if truncated.is_ok() { 0 } else { -1 }
    })
}

/// Unmaps and closes the file of `params`, a `blosc2_stdio_mmap`, and frees the struct if its `needs_free` says so.
/// Returns 0, or -1 if no file was open.
///
/// # Safety
/// `params` is NULL or points to a `blosc2_stdio_mmap` that no other thread uses; with `needs_free` it comes from `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_stdio_mmap_destroy(params: *mut c_void) -> c_int {
    unsafe_granted!(destroy(params))
}

/// See [`blosc2_stdio_mmap_destroy`].
///
/// # Safety
/// As for that.
pub unsafe fn destroy(params: *mut c_void) -> c_int {
    guard(-1, || {
        let stream: *mut blosc2_stdio_mmap = params.cast();
        if stream.is_null() {
            return -1;
        }
        // SAFETY: not null, so it is a struct that no other thread uses. What `kept` finds was made by `keep`, and is taken back once, as
        // the path is null from then on.
        unsafe {
            let mut result = -1;
            if let Some(kept) = kept(stream) {
                drop(Shared::from_raw((*kept).map));
                libc::free(kept.cast());
                result = 0;
            }
            if !(*stream).file.is_null() && libc::fclose((*stream).file) != 0 {
                result = -1;
            }
            (*stream).file = null_mut();
            (*stream).addr = null_mut();
            (*stream).urlpath = null_mut();
            if (*stream).needs_free {
                libc::free(params);
            }
            result
        }
    })
}
