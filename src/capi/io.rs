//! Back ends for input and output: the table of those that C knows, and how the core uses them.
//!
//! The table has a place for every id. An entry is published with one atomic store and never removed: `blosc2_get_io_cb`
//! hands out its address, and back ends outlive `blosc2_destroy`, as in the reference.

use super::border::{code, env, guard, trace};
use super::constants::{BLOSC2_IO_FILESYSTEM, BLOSC2_IO_FILESYSTEM_MMAP, BLOSC2_IO_REGISTERED};
use super::files::*;
use super::global::is_initialized;
use super::mmap::{self, *};
use super::types::*;
use oxiblosc_core::schunk::operation;
use oxiblosc_error::{Error, Result};
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode, Storage, shared};
use oxiblosc_memory::{CStrBuf, Shared, as_dyn, boxed, shared_dyn};
use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, PoisonError};

static BACKENDS: [AtomicPtr<blosc2_io_cb>; 256] = [const { AtomicPtr::new(null_mut()) }; 256];

/// The back end for files.
const FILES: blosc2_io_cb = blosc2_io_cb {
    id: BLOSC2_IO_FILESYSTEM as u8,
    name: c"filesystem".as_ptr().cast_mut(),
    is_allocation_necessary: true,
    open: Some(blosc2_stdio_open),
    close: Some(blosc2_stdio_close),
    size: Some(blosc2_stdio_size),
    write: Some(blosc2_stdio_write),
    read: Some(blosc2_stdio_read),
    truncate: Some(blosc2_stdio_truncate),
    destroy: Some(blosc2_stdio_destroy),
};

/// The back end for memory maps.
const MAPS: blosc2_io_cb = blosc2_io_cb {
    id: BLOSC2_IO_FILESYSTEM_MMAP as u8,
    name: c"filesystem_mmap".as_ptr().cast_mut(),
    is_allocation_necessary: false,
    open: Some(blosc2_stdio_mmap_open),
    close: Some(blosc2_stdio_mmap_close),
    size: Some(blosc2_stdio_mmap_size),
    write: Some(blosc2_stdio_mmap_write),
    read: Some(blosc2_stdio_mmap_read),
    truncate: Some(blosc2_stdio_mmap_truncate),
    destroy: Some(blosc2_stdio_mmap_destroy),
};

/// The entry of an id, or null. The two built-in ones are made when first asked for.
fn entry(id: u8) -> *mut blosc2_io_cb {
    let slot = &BACKENDS[usize::from(id)];
    let there = slot.load(Ordering::Acquire);
    let built_in = match c_int::from(id) {
        BLOSC2_IO_FILESYSTEM => FILES,
        BLOSC2_IO_FILESYSTEM_MMAP => MAPS,
        _ => return there,
    };
    if there.is_null() {
        match publish(slot, built_in) {
            Ok(entry) | Err(Some(entry)) => entry,
            Err(None) => null_mut(),
        }
    } else {
        there
    }
}

/// Puts a copy of an entry into an empty slot and returns its address; that of the entry that is there as an error, or none
/// if there is no memory.
fn publish(
    slot: &AtomicPtr<blosc2_io_cb>,
    entry: blosc2_io_cb,
) -> std::result::Result<*mut blosc2_io_cb, Option<*mut blosc2_io_cb>> {
    let fresh = Box::into_raw(boxed(entry).map_err(|_| None)?);
    match slot.compare_exchange(null_mut(), fresh, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => Ok(fresh),
        Err(there) => {
            // SAFETY: just made; no other thread knows it.
            drop(unsafe { Box::from_raw(fresh) });
            Err(Some(there))
        }
    }
}

/// Registers a back end for the ids from `BLOSC2_IO_REGISTERED` on. The struct is copied; its name is not, and is not
/// looked at unless the id is registered again. Returns 0, also when a back end of this name was registered before;
/// `BLOSC2_ERROR_INVALID_PARAM` for NULL; `BLOSC2_ERROR_PLUGIN_IO` if the id is not a program's or belongs to a back end
/// of another name.
///
/// # Safety
/// `io` is NULL or points to a back end, whose functions can be called until the process ends. To register an id twice,
/// both names must be C strings, the first one still.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_register_io_cb(io: *const blosc2_io_cb) -> c_int {
    code("blosc2_register_io_cb", || {
        // SAFETY: by the caller's word.
        let io = unsafe { io.as_ref() }.ok_or(Error::InvalidParam)?;
        if c_int::from(io.id) < BLOSC2_IO_REGISTERED {
            return Err(Error::PluginIo);
        }
        let there = match publish(&BACKENDS[usize::from(io.id)], *io) {
            Ok(_) => return Ok(0),
            Err(there) => there.ok_or(Error::MemoryAlloc)?,
        };
        // SAFETY: an entry is never freed; the names by the caller's word.
        unsafe {
            let (known, name) = ((*there).name, io.name);
            let same = known == name
                || (!known.is_null()
                    && !name.is_null()
                    && CStr::from_ptr(known) == CStr::from_ptr(name));
            if same { Ok(0) } else { Err(Error::PluginIo) }
        }
    })
}

/// Returns the back end of this id (the library's, not to be freed), or NULL if there is none or the library was not
/// initialized.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_io_cb(id: u8) -> *mut blosc2_io_cb {
    guard(null_mut(), || {
        if is_initialized() {
            entry(id)
        } else {
            null_mut()
        }
    })
}

/// The back end that `io` names, files if it is null. `Error::PluginIo` if there is none of its id.
///
/// # Safety
/// `io` is null or points to a choice of a back end, whose `params` are what that back end wants, and outlive what is
/// opened with it. The functions of a registered back end keep to what `blosc2_io_cb` says of them, and those that
/// open and close may be called from any thread.
pub unsafe fn backend(io: *const blosc2_io) -> Result<Shared<dyn Backend>> {
    // SAFETY: by the caller's word.
    let Some(io) = (unsafe { io.as_ref() }) else {
        return shared(Filesystem);
    };
    match c_int::from(io.id) {
        BLOSC2_IO_FILESYSTEM => shared(Filesystem),
        BLOSC2_IO_FILESYSTEM_MMAP => shared(Maps {
            params: io.params.cast(),
            opening: Mutex::new(()),
        }),
        _ => {
            // SAFETY: an entry is never freed.
            let callbacks = unsafe { entry(io.id).as_ref() }.ok_or(Error::PluginIo)?;
            let registered = Registered {
                callbacks: *callbacks,
                params: io.params,
            };
            shared(registered)
        }
    }
}

/// Tells the back end that a super-chunk is done with it. Returns what its `destroy` returns, 0 if it has none.
///
/// # Safety
/// As for [`backend`]; the parameters are not used again by this super-chunk.
pub unsafe fn destroy(io: *const blosc2_io) -> c_int {
    // SAFETY: by the caller's word; an entry is never freed.
    unsafe {
        let Some(io) = io.as_ref() else {
            return 0;
        };
        if c_int::from(io.id) == BLOSC2_IO_FILESYSTEM_MMAP {
            // Its entry may have to be made first, for which there may be no memory.
            return mmap::destroy(io.params);
        }
        let callbacks = entry(io.id).as_ref();
        callbacks
            .and_then(|callbacks| callbacks.destroy)
            .map_or(0, |destroy| destroy(io.params))
    }
}

/// Whether frames that use `io` are to be locked: by its parameters or by the environment. Files only.
///
/// # Safety
/// As for [`backend`].
pub unsafe fn locking(io: *const blosc2_io) -> bool {
    // SAFETY: by the caller's word, the parameters of the back end for files are null or theirs.
    let asked = unsafe {
        match io.as_ref() {
            Some(io) if c_int::from(io.id) != BLOSC2_IO_FILESYSTEM => return false,
            Some(io) => io
                .params
                .cast::<blosc2_stdio_params>()
                .as_ref()
                .is_some_and(|params| params.locking),
            None => false,
        }
    };
    asked || env(c"BLOSC_LOCKING", |value| !value.is_empty() && value != "0") == Some(true)
}

/// The back end for memory maps.
struct Maps {
    params: *mut blosc2_stdio_mmap,
    opening: Mutex<()>,
}

// SAFETY: `backend` was promised parameters that outlive this; they are used under `opening` only.
unsafe impl Send for Maps {}
// SAFETY: as above.
unsafe impl Sync for Maps {}

impl Backend for Maps {
    /// The mode of the parameters counts, not `mode`.
    fn open(&self, path: &CStr, _mode: Mode) -> Result<Shared<dyn Storage>> {
        let _alone = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as `backend` was promised.
        let map = unsafe { mmap::open(path, self.params) }?;
        Ok(as_dyn!(map => dyn Storage))
    }

    fn is_filesystem(&self) -> bool {
        false
    }

    fn is_mmap(&self) -> bool {
        true
    }
}

/// A back end that the program registered.
struct Registered {
    callbacks: blosc2_io_cb,
    params: *mut c_void,
}

// SAFETY: `backend` was promised parameters and functions that may be used from any thread.
unsafe impl Send for Registered {}
// SAFETY: as above.
unsafe impl Sync for Registered {}

impl Backend for Registered {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        let file = RegisteredFile {
            callbacks: self.callbacks,
            params: self.params,
            path: CStrBuf::copy_of(path)?,
            stream: Mutex::new(Stream {
                pointer: null_mut(),
                writes_only: mode == Mode::Create,
            }),
        };
        file.alone(|stream| match mode {
            Mode::Read => file.open(stream, c"rb"),
            Mode::ReadWrite => file.open(stream, c"rb+"),
            Mode::Create => file.open(stream, c"wb"),
            // What was opened to append cannot be written in other places.
            Mode::New => {
                file.open(stream, c"ab")?;
                file.close(stream)?;
                file.open(stream, c"rb+")
            }
        })?;
        shared_dyn!(file => dyn Storage)
    }

    fn is_filesystem(&self) -> bool {
        false
    }
}

/// A file of a back end that the program registered. Its functions get the modes, and in the order, that they get from
/// the reference: a new file is made in mode `wb`, and only if it is then read, closed and opened anew in mode `rb+`.
/// They are called for one stream by one thread at a time.
struct RegisteredFile {
    callbacks: blosc2_io_cb,
    params: *mut c_void,
    path: CStrBuf,
    stream: Mutex<Stream>,
}

/// What `open` returned.
struct Stream {
    /// Null where there is none; only `open` uses it.
    pointer: *mut c_void,
    /// Whether it was opened to make a file, and cannot be read.
    writes_only: bool,
}

// SAFETY: as for `Registered`; the stream is used under its lock.
unsafe impl Send for RegisteredFile {}
// SAFETY: as above.
unsafe impl Sync for RegisteredFile {}

impl RegisteredFile {
    fn alone<T>(&self, work: impl FnOnce(&mut Stream) -> T) -> T {
        let mut stream = self.stream.lock().unwrap_or_else(PoisonError::into_inner);
        let _call = operation::call_backend();
        work(&mut stream)
    }

    fn open(&self, stream: &mut Stream, mode: &CStr) -> Result<()> {
        let open = self.callbacks.open.ok_or(Error::PluginIo)?;
        // SAFETY: as `backend` was promised; the strings end.
        stream.pointer = unsafe { open(self.path.as_ptr(), mode.as_ptr(), self.params) };
        if stream.pointer.is_null() {
            return Err(Error::FileOpen);
        }
        Ok(())
    }

    fn close(&self, stream: &mut Stream) -> Result<()> {
        let pointer = std::mem::replace(&mut stream.pointer, null_mut());
        if pointer.is_null() {
            return Ok(());
        }
        let close = self.callbacks.close.ok_or(Error::PluginIo)?;
        // SAFETY: as `backend` was promised; the stream was opened and is not used again.
        if unsafe { close(pointer) } < 0 {
            return Err(Error::FileWrite);
        }
        Ok(())
    }

    /// The stream to read from. A stream that could not be opened anew is tried again the next time.
    fn to_read(&self, stream: &mut Stream) -> Result<*mut c_void> {
        if stream.writes_only {
            self.close(stream)?;
            stream.writes_only = false;
        }
        self.to_use(stream)
    }

    /// The stream for anything but reading.
    fn to_use(&self, stream: &mut Stream) -> Result<*mut c_void> {
        if stream.pointer.is_null() {
            self.open(stream, c"rb+")?;
        }
        Ok(stream.pointer)
    }
}

impl Storage for RegisteredFile {
    fn size(&self) -> Result<u64> {
        let size = self.callbacks.size.ok_or(Error::PluginIo)?;
        self.alone(|stream| {
            let stream = self.to_use(stream)?;
            // SAFETY: as `backend` was promised; the stream is open.
            u64::try_from(unsafe { size(stream) }).map_err(|_| Error::FileRead)
        })
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let read = self.callbacks.read.ok_or(Error::PluginIo)?;
        let (len, pos) = lengths(buf.len(), pos).ok_or(Error::FileRead)?;
        let ours: *mut c_void = buf.as_mut_ptr().cast();
        self.alone(|stream| {
            let stream = self.to_read(stream)?;
            let mut at = if self.callbacks.is_allocation_necessary {
                ours
            } else {
                null_mut()
            };
            // SAFETY: as `backend` was promised; the stream is open, and `at` points to `len` bytes or to nothing.
            let nread = unsafe { read(&mut at, 1, len, pos, stream) };
            if nread != len || at.is_null() {
                return Err(Error::FileRead);
            }
            if at != ours {
                // SAFETY: the back end has said that `len` bytes are there, as long as the stream is not used again.
                unsafe { ours.copy_from(at, buf.len()) };
            }
            Ok(())
        })
    }

    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let write = self.callbacks.write.ok_or(Error::PluginIo)?;
        let (len, pos) = lengths(buf.len(), pos).ok_or(Error::FileWrite)?;
        self.alone(|stream| {
            let stream = self.to_use(stream)?;
            // SAFETY: as `backend` was promised; the stream is open, and `buf` has `len` bytes.
            if unsafe { write(buf.as_ptr().cast(), 1, len, pos, stream) } != len {
                return Err(Error::FileWrite);
            }
            Ok(())
        })
    }

    fn truncate(&self, size: u64) -> Result<()> {
        let truncate = self.callbacks.truncate.ok_or(Error::PluginIo)?;
        let size = i64::try_from(size).map_err(|_| Error::FileTruncate)?;
        self.alone(|stream| {
            let stream = self.to_use(stream)?;
            // SAFETY: as `backend` was promised; the stream is open.
            if unsafe { truncate(stream, size) } != 0 {
                return Err(Error::FileTruncate);
            }
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl Drop for RegisteredFile {
    fn drop(&mut self) {
        if self.alone(|stream| self.close(stream)).is_err() {
            trace("error", "a registered back end could not close a file");
        }
    }
}

/// A length and a position as C counts them, if their sum is none too large.
fn lengths(len: usize, pos: u64) -> Option<(i64, i64)> {
    let (len, pos) = (i64::try_from(len).ok()?, i64::try_from(pos).ok()?);
    pos.checked_add(len).map(|_| (len, pos))
}
