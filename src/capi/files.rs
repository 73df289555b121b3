//! The back end for files as C sees it, and what is done to paths.

use crate::capi::prelude::*;
use oxiblosc::storage::callbacks::{span, whole_items};
use oxiblosc::storage::file::{read_up_to, write_up_to};
use oxiblosc::storage::paths;
use oxiblosc_base::memory::env::trace;
use oxiblosc_base::memory::on_c_heap;
use oxiblosc_base::system::{files, streams, thread};
use std::fs::File;
use std::mem::ManuallyDrop;

/// Runs the body of the exported function `name`, which moves items, so many of so many bytes, at a
/// position of a stream: `body` gets the position and the number of bytes, and gives how many items
/// it moved.
pub fn moved(
    name: &str,
    (size, nitems, position): (i64, i64, i64),
    body: impl FnOnce(u64, usize) -> Result<i64>,
) -> i64 {
    guard(0, || {
        let moved = span(size, nitems, position).and_then(|(at, len)| body(at, len));
        moved.unwrap_or_else(|error| {
            trace("error", format_args!("{name}: {error}"));
            0
        })
    })
}

/// The file of a stream.
///
/// # Safety
/// `stream` is null or a stream of the back end for files, whose file, if it has one, is open.
unsafe fn file_of(stream: *mut c_void) -> Option<*mut libc::FILE> {
    let stream = unsafe_granted!(stream.cast::<blosc2_stdio_file>().as_ref())?;
    (!stream.file.is_null()).then_some(stream.file)
}

/// The open file of a stream, borrowed.
///
/// # Safety
/// As for [`file_of`].
unsafe fn descriptor_of(stream: *mut c_void) -> Option<ManuallyDrop<File>> {
    unsafe_granted!(streams::file(file_of(stream)?))
}

/// Opens a file in a mode of `fopen`; `params` is not looked at. Returns the stream, a
/// `blosc2_stdio_file` to be closed with `blosc2_stdio_close`, or NULL.
///
/// # Safety
/// `urlpath` and `mode` are C strings or NULL.
#[export]
pub unsafe extern "C-unwind" fn blosc2_stdio_open(
    urlpath: *const c_char,
    mode: *const c_char,
    _params: *mut c_void,
) -> *mut c_void {
    not_null!(urlpath, mode)?;
    // SAFETY: neither string is null, so both end, by `# Safety`; `file` is not null where it is
    // closed.
    unsafe {
        let file = streams::open(urlpath, CStr::from_ptr(mode));
        not_null!(file; FILE_OPEN)?;
        let stream = on_c_heap(blosc2_stdio_file { file }).inspect_err(|_| {
            libc::fclose(file);
        });
        stream.map(|stream| stream.cast())
    }
}

/// Closes a stream of `blosc2_stdio_open` and frees it. Returns 0, or -1.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_open`, or is NULL; it is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_close(stream: *mut c_void) -> c_int {
    unsafe_granted!(guard(-1, || {
        let Some(file) = file_of(stream) else {
            return -1;
        };
        let result = thread::without_signals(|| libc::fclose(file));
        libc::free(stream);
        result
    }))
}

/// Returns the size of a stream's file in bytes, or -1. The file's own position stays where it is.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_size(stream: *mut c_void) -> i64 {
    unsafe_granted!(guard(-1, || {
        file_of(stream).map_or(-1, |file| streams::size(file))
    }))
}

/// Writes `nitems` items of `size` bytes from `ptr` at byte `position`, extending the file where it
/// must. Returns how many items it wrote, fewer than `nitems` after an error.
///
/// # Safety
/// `ptr` has `size * nitems` bytes, or is NULL; `stream` comes from `blosc2_stdio_open`, or is
/// NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_write(
    ptr: *const c_void,
    size: i64,
    nitems: i64,
    position: i64,
    stream: *mut c_void,
) -> i64 {
    let span = (size, nitems, position);
    unsafe_granted!(moved("blosc2_stdio_write", span, |at, len| {
        not_null!(stream, ptr)?;
        let file = descriptor_of(stream).ok_or(Error::FILE_WRITE)?;
        let written = write_up_to(&file, at, bytes(ptr.cast(), len)?, &Default::default());
        Ok(whole_items(written, size))
    }))
}

/// Reads `nitems` items of `size` bytes at byte `position` to `*ptr`. Returns how many items it
/// read, fewer than `nitems` where the file ends and after an error.
///
/// # Safety
/// `ptr` is NULL or points to a buffer of `size * nitems` bytes, or to NULL; `stream` comes from
/// `blosc2_stdio_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_read(
    ptr: *mut *mut c_void,
    size: i64,
    nitems: i64,
    position: i64,
    stream: *mut c_void,
) -> i64 {
    let span = (size, nitems, position);
    unsafe_granted!(moved("blosc2_stdio_read", span, |at, len| {
        not_null!(stream, ptr)?;
        let file = descriptor_of(stream).ok_or(Error::FILE_READ)?;
        let read = read_up_to(&file, at, bytes_mut((*ptr).cast(), len)?);
        Ok(whole_items(read, size))
    }))
}

/// Makes a stream's file `size` bytes long. Returns 0, or -1.
///
/// # Safety
/// `stream` comes from `blosc2_stdio_open`, or is NULL.
#[unsafe(no_mangle)]
pub unsafe extern "C-unwind" fn blosc2_stdio_truncate(stream: *mut c_void, size: i64) -> c_int {
    unsafe_granted!(guard(-1, || {
        let file = descriptor_of(stream);
        match (file, u64::try_from(size)) {
            (Some(file), Ok(size)) if files::set_len(&file, size, &Default::default()).is_ok() => 0,
            _ => -1,
        }
    }))
}

/// Does nothing: the back end for files keeps nothing. Returns 0.
#[unsafe(no_mangle)]
pub extern "C-unwind" fn blosc2_stdio_destroy(_params: *mut c_void) -> c_int {
    0
}

/// Removes a directory with the files in it, as those of a sparse frame. Links in it are removed,
/// not followed. Returns 0, `BLOSC2_ERROR_INVALID_PARAM` for an empty path,
/// `BLOSC2_ERROR_NOT_FOUND` if there is no such directory, or `BLOSC2_ERROR_FAILURE` if it holds
/// directories (then nothing is removed) or something cannot be removed.
///
/// # Safety
/// `path` is a C string or NULL.
#[export]
pub unsafe extern "C" fn blosc2_remove_dir(path: *const c_char) -> c_int {
    let path = c_str(path).filter(|path| !path.is_empty());
    paths::remove_dir_with_files(path.ok_or(Error::INVALID_PARAM)?)
}

/// Removes the frame at a path: a file, with the lock file beside it, or a directory with the files
/// in it. Returns 0, also for NULL and where there is nothing; `BLOSC2_ERROR_FILE_REMOVE` if a file
/// cannot be removed, or what `blosc2_remove_dir` returns; `BLOSC2_ERROR_FAILURE` if the path
/// cannot be looked at.
///
/// # Safety
/// `path` is a C string or NULL.
#[export]
pub unsafe extern "C" fn blosc2_remove_urlpath(path: *const c_char) -> c_int {
    c_str(path).map_or(Ok(()), paths::remove_frame)
}

/// Renames the frame at a path, file or directory. Returns 0, also if a path is NULL, or
/// `BLOSC2_ERROR_FAILURE`.
///
/// # Safety
/// The paths are C strings or NULL.
#[export]
pub unsafe extern "C" fn blosc2_rename_urlpath(
    old_urlpath: *mut c_char,
    new_path: *mut c_char,
) -> c_int {
    match (c_str(old_urlpath), c_str(new_path)) {
        (Some(from), Some(to)) => paths::rename(from, to),
        _ => Ok(()),
    }
}
