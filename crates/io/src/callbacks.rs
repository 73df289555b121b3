//! Back ends that are C functions.

use crate::{Backend, Mode, Storage};
use oxiblosc_base::memory::env::trace;
use oxiblosc_base::memory::{CStrBuf, Shared, lock, shared_dyn};
use oxiblosc_base::system::exceptions;
use oxiblosc_base::{Error, Result};
use std::ffi::{CStr, c_char, c_int, c_void};
use std::ptr::null_mut;
use std::sync::Mutex;

/// The functions of a back end. The C headers describe what each must do. A C++ exception that
/// leaves them counts as a failure: they are called by [`catching_exceptions`].
#[derive(Clone, Copy, Debug)]
#[allow(missing_docs, reason = "the names are those of the C headers")]
#[allow(clippy::type_complexity, reason = "each is used once")]
pub struct IoFunctions {
    /// Whether `read` fills the caller's buffer. Otherwise it returns the address of its own
    /// memory.
    pub fills_buffer: bool,
    pub open: Option<
        unsafe extern "C-unwind" fn(*const c_char, *const c_char, *mut c_void) -> *mut c_void,
    >,
    pub close: Option<unsafe extern "C-unwind" fn(*mut c_void) -> c_int>,
    pub size: Option<unsafe extern "C-unwind" fn(*mut c_void) -> i64>,
    pub write:
        Option<unsafe extern "C-unwind" fn(*const c_void, i64, i64, i64, *mut c_void) -> i64>,
    pub read:
        Option<unsafe extern "C-unwind" fn(*mut *mut c_void, i64, i64, i64, *mut c_void) -> i64>,
    pub truncate: Option<unsafe extern "C-unwind" fn(*mut c_void, i64) -> c_int>,
}

/// Calls a function of the program. Returns `failed` if a C++ exception leaves it, or it calls
/// `pthread_exit`, which then does not end the thread.
pub fn catching_exceptions<T>(failed: T, call: impl FnOnce() -> T) -> T {
    exceptions::caught(call).unwrap_or_else(|| {
        trace(
            "error",
            "a function of the program did not return: it threw an exception, or called pthread_exit, which it may do after this call of the library",
        );
        failed
    })
}

/// A back end made of C functions.
pub struct CallbackBackend<G> {
    functions: IoFunctions,
    params: *mut c_void,
    around: fn() -> G,
}

// SAFETY: `new` requires that the functions and their parameters may be used from any thread.
unsafe impl<G> Send for CallbackBackend<G> {}
// SAFETY: as above.
unsafe impl<G> Sync for CallbackBackend<G> {}

impl<G> CallbackBackend<G> {
    /// A back end whose `open` is called with `params`. Before each call of a function `around` is
    /// called; its result is dropped after the call.
    ///
    /// # Safety
    /// As long as this and its files are used, the functions do what the C headers say and may be
    /// called from any thread, and `params` is what they expect.
    pub const unsafe fn new(
        functions: IoFunctions,
        params: *mut c_void,
        around: fn() -> G,
    ) -> Self {
        Self {
            functions,
            params,
            around,
        }
    }
}

impl<G: 'static> Backend for CallbackBackend<G> {
    fn open(&self, path: &CStr, mode: Mode) -> Result<Shared<dyn Storage>> {
        let file = RegisteredFile {
            backend: Self { ..*self },
            path: CStrBuf::copy_of(path)?,
            stream: Mutex::new(OpenStream {
                pointer: null_mut(),
                writes_only: mode == Mode::Create,
            }),
        };
        file.alone(|stream| match mode {
            Mode::Read => file.open(stream, c"rb"),
            Mode::ReadWrite => file.open(stream, c"rb+"),
            Mode::Create => file.open(stream, c"wb"),
            // A stream that was opened for appending could not be written at other positions.
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

/// A file of such a back end. It is opened in the same modes and the same order as by the
/// reference: a new file in mode `wb`; before the first read it is closed and opened again in mode
/// `rb+`. The functions are called for one stream by one thread at a time.
struct RegisteredFile<G> {
    backend: CallbackBackend<G>,
    path: CStrBuf,
    stream: Mutex<OpenStream>,
}

/// An open stream of a back end.
struct OpenStream {
    /// What `open` returned, or null. Only `RegisteredFile::open` sets it.
    pointer: *mut c_void,
    /// Whether it was opened to create a file, and cannot be read.
    writes_only: bool,
}

// SAFETY: as for `CallbackBackend`; the mutex lets one thread at a time use the stream.
unsafe impl<G> Send for RegisteredFile<G> {}
// SAFETY: as above.
unsafe impl<G> Sync for RegisteredFile<G> {}

impl<G> RegisteredFile<G> {
    /// Runs `work` with the stream, which no other thread can use meanwhile.
    fn alone<T>(&self, work: impl FnOnce(&mut OpenStream) -> T) -> T {
        let mut stream = lock(&self.stream);
        let _call: G = (self.backend.around)();
        work(&mut stream)
    }

    fn open(&self, stream: &mut OpenStream, mode: &CStr) -> Result<()> {
        let open = self.backend.functions.open.ok_or(Error::PLUGIN_IO)?;
        // SAFETY: `CallbackBackend::new` requires that `open` may be called so; path and mode are C
        // strings.
        stream.pointer = catching_exceptions(null_mut(), || unsafe {
            open(self.path.as_ptr(), mode.as_ptr(), self.backend.params)
        });
        if stream.pointer.is_null() {
            return Err(Error::FILE_OPEN);
        }
        Ok(())
    }

    fn close(&self, stream: &mut OpenStream) -> Result<()> {
        let pointer = std::mem::replace(&mut stream.pointer, null_mut());
        if pointer.is_null() {
            return Ok(());
        }
        let close = self.backend.functions.close.ok_or(Error::PLUGIN_IO)?;
        // SAFETY: `CallbackBackend::new` requires that `close` may be called so; the stream is
        // open, and not used again.
        if catching_exceptions(-1, || unsafe { close(pointer) }) < 0 {
            return Err(Error::FILE_WRITE);
        }
        Ok(())
    }

    /// The stream to read from. If it cannot be opened again for reading, the next call tries
    /// again.
    fn to_read(&self, stream: &mut OpenStream) -> Result<*mut c_void> {
        if stream.writes_only {
            self.close(stream)?;
            stream.writes_only = false;
        }
        self.to_use(stream)
    }

    /// The stream for anything but reading.
    fn to_use(&self, stream: &mut OpenStream) -> Result<*mut c_void> {
        if stream.pointer.is_null() {
            self.open(stream, c"rb+")?;
        }
        Ok(stream.pointer)
    }
}

impl<G> Storage for RegisteredFile<G> {
    fn size(&self) -> Result<u64> {
        let size = self.backend.functions.size.ok_or(Error::PLUGIN_IO)?;
        self.alone(|stream| {
            let stream = self.to_use(stream)?;
            // SAFETY: `CallbackBackend::new` requires that `size` may be called so; the stream is
            // open.
            u64::try_from(catching_exceptions(-1, || unsafe { size(stream) }))
                .map_err(|_| Error::FILE_READ)
        })
    }

    fn read_at(&self, pos: u64, buf: &mut [u8]) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let read = self.backend.functions.read.ok_or(Error::PLUGIN_IO)?;
        let (len, pos) = lengths(buf.len(), pos).ok_or(Error::FILE_READ)?;
        let ours: *mut c_void = buf.as_mut_ptr().cast();
        self.alone(|stream| {
            let stream = self.to_read(stream)?;
            let mut at = if self.backend.functions.fills_buffer {
                ours
            } else {
                null_mut()
            };
            // SAFETY: `CallbackBackend::new` requires that `read` may be called so; the stream is
            // open, and `at` points to `len` bytes or, for a back end that returns addresses, is
            // null.
            let nread = catching_exceptions(-1, || unsafe { read(&mut at, 1, len, pos, stream) });
            if nread != len || at.is_null() {
                return Err(Error::FILE_READ);
            }
            if at != ours {
                // SAFETY: `CallbackBackend::new` requires that the address which `read` returned
                // has `len` bytes until the stream is used again.
                unsafe { ours.copy_from(at, buf.len()) };
            }
            Ok(())
        })
    }

    fn write_at(&self, pos: u64, buf: &[u8]) -> Result<()> {
        if buf.is_empty() {
            return Ok(());
        }
        let write = self.backend.functions.write.ok_or(Error::PLUGIN_IO)?;
        let (len, pos) = lengths(buf.len(), pos).ok_or(Error::FILE_WRITE)?;
        self.alone(|stream| {
            let stream = self.to_use(stream)?;
            // SAFETY: `CallbackBackend::new` requires that `write` may be called so; the stream is
            // open, and `buf` has `len` bytes.
            let written = catching_exceptions(-1, || unsafe {
                write(buf.as_ptr().cast(), 1, len, pos, stream)
            });
            if written != len {
                return Err(Error::FILE_WRITE);
            }
            Ok(())
        })
    }

    fn truncate(&self, size: u64) -> Result<()> {
        let truncate = self.backend.functions.truncate.ok_or(Error::PLUGIN_IO)?;
        let size = i64::try_from(size).map_err(|_| Error::FILE_TRUNCATE)?;
        self.alone(|stream| {
            let stream = self.to_use(stream)?;
            // SAFETY: `CallbackBackend::new` requires that `truncate` may be called so; the stream
            // is open.
            if catching_exceptions(-1, || unsafe { truncate(stream, size) }) != 0 {
                return Err(Error::FILE_TRUNCATE);
            }
            Ok(())
        })
    }

    fn sync(&self) -> Result<()> {
        Ok(())
    }
}

impl<G> Drop for RegisteredFile<G> {
    fn drop(&mut self) {
        if self.alone(|stream| self.close(stream)).is_err() {
            trace("error", "a registered back end could not close a file");
        }
    }
}

/// A length and a position as the C functions take them. None if their sum is too large.
fn lengths(len: usize, pos: u64) -> Option<(i64, i64)> {
    let (len, pos) = (i64::try_from(len).ok()?, i64::try_from(pos).ok()?);
    pos.checked_add(len).map(|_| (len, pos))
}

/// The position and the length in bytes of `nitems` items of `size` bytes at `position`.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for negative numbers, and if the length is too large.
pub fn span(size: i64, nitems: i64, position: i64) -> Result<(u64, usize)> {
    let checked = || {
        let (size, nitems) = (usize::try_from(size).ok()?, usize::try_from(nitems).ok()?);
        Some((u64::try_from(position).ok()?, size.checked_mul(nitems)?))
    };
    let span = checked().filter(|(_, len)| i64::try_from(*len).is_ok());
    span.ok_or(Error::INVALID_PARAM)
}

/// How many whole items of `size` bytes are in `nbytes` bytes; 0 for items of no bytes.
pub fn whole_items(nbytes: usize, size: i64) -> i64 {
    if size > 0 { nbytes as i64 / size } else { 0 }
}
