//! Back ends for input and output: the table of those that C knows. An entry is never removed:
//! `blosc2_get_io_cb` hands out its address, and back ends outlive `blosc2_destroy`, as in the
//! reference.

use super::files::*;
use super::mmap::{self, *};
use crate::capi::prelude::*;
use oxiblosc::environment;
use oxiblosc::process;
use oxiblosc::storage::callbacks::{CallbackBackend, IoFunctions, catching_exceptions};
use oxiblosc::storage::file::Filesystem;
use oxiblosc::storage::operation;
use oxiblosc::storage::{Backend, Mode, Storage, shared};
use oxiblosc_base::memory::{PublishedTable, Shared, as_dyn, lock};
use std::cell::UnsafeCell;
use std::sync::Mutex;

/// What is known of a back end, at an address that C gets.
#[repr(transparent)]
struct BackendFunctions(UnsafeCell<blosc2_io_cb>);

// SAFETY: the library never writes an entry after it was made. `blosc2_register_io_cb` requires
// that its functions can be called until the process ends, and `backend` that this may be done from
// any thread.
unsafe impl Sync for BackendFunctions {}

impl BackendFunctions {
    const fn new(functions: blosc2_io_cb) -> Self {
        Self(UnsafeCell::new(functions))
    }

    fn get(&self) -> blosc2_io_cb {
        // SAFETY: it is there, and the library never writes it.
        unsafe { *self.0.get() }
    }
}

static BACKENDS: PublishedTable<BackendFunctions> = PublishedTable::new();

/// The back end for files. Its functions are `C-unwind`, which the type asks for as those of
/// programs may throw exceptions; none leaves these.
static FILES: BackendFunctions = BackendFunctions::new(blosc2_io_cb {
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
});

/// The back end for memory maps.
static MAPS: BackendFunctions = BackendFunctions::new(blosc2_io_cb {
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
});

/// The back end of an id.
fn entry(id: u8) -> Option<&'static BackendFunctions> {
    match c_int::from(id) {
        BLOSC2_IO_FILESYSTEM => Some(&FILES),
        BLOSC2_IO_FILESYSTEM_MMAP => Some(&MAPS),
        id => BACKENDS.get(id),
    }
}

/// Registers a back end for the ids from `BLOSC2_IO_REGISTERED` on. The struct is copied; its name
/// is not, and is not looked at unless the id is registered again. Returns 0, also when a back end
/// of this name was registered before; `BLOSC2_ERROR_INVALID_PARAM` for NULL;
/// `BLOSC2_ERROR_PLUGIN_IO` if the id is not a program's or belongs to a back end of another name.
///
/// # Safety
/// `io` is NULL or points to a back end, whose functions can be called until the process ends. To
/// register an id twice, both names must be C strings, the first one still.
#[export]
pub unsafe extern "C" fn blosc2_register_io_cb(io: *const blosc2_io_cb) -> c_int {
    let io = io.as_ref().ok_or(Error::INVALID_PARAM)?;
    if c_int::from(io.id) < BLOSC2_IO_REGISTERED {
        return Err(Error::PLUGIN_IO);
    }
    let same = |there: &BackendFunctions| {
        let name = there.get().name;
        // SAFETY: this runs only if the id is registered already; then `# Safety` requires that
        // both names are C strings.
        name == io.name || unsafe { c_str(name) == c_str(io.name) }
    };
    match BACKENDS.add(io.id, BackendFunctions::new(*io), same)? {
        true => Ok(()),
        false => Err(Error::PLUGIN_IO),
    }
}

/// Returns the back end of this id (the library's, not to be freed), or NULL if there is none or
/// the library was not initialized.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_io_cb(id: u8) -> *mut blosc2_io_cb {
    let entry = entry(id).filter(|_| process::is_initialized());
    entry.map_or(null_mut(), |entry| entry.0.get())
}

/// The back end that `io` names, files if it is null. `Error::PLUGIN_IO` if there is none of its
/// id.
///
/// # Safety
/// `io` is null or points to a choice of a back end, whose `params` are what that back end wants,
/// and outlive what is opened with it. The functions of a registered back end keep to what
/// `blosc2_io_cb` says of them, and those that open and close may be called from any thread.
pub unsafe fn backend(io: *const blosc2_io) -> Result<Shared<dyn Backend>> {
    let Some(io) = (unsafe_granted!(io.as_ref())) else {
        return shared(Filesystem);
    };
    match c_int::from(io.id) {
        BLOSC2_IO_FILESYSTEM => shared(Filesystem),
        BLOSC2_IO_FILESYSTEM_MMAP => shared(Maps {
            params: io.params.cast(),
            opening: Mutex::new(()),
        }),
        _ => {
            let callbacks = BACKENDS.get(io.id.into()).ok_or(Error::PLUGIN_IO)?.get();
            let fills_buffer = callbacks.is_allocation_necessary;
            let functions = gather!(IoFunctions { fills_buffer } from callbacks;
                open, close, size, write, read, truncate);
            let around = operation::call_backend;
            shared(unsafe_granted!(CallbackBackend::new(
                functions, io.params, around
            )))
        }
    }
}

/// Tells the back end that a super-chunk is done with it. Returns what its `destroy` returns, 0 if
/// it has none.
///
/// # Safety
/// As for [`backend`]; the parameters are not used again by this super-chunk.
pub unsafe fn destroy(io: *const blosc2_io) -> c_int {
    // SAFETY: by `# Safety` the choice is null or valid, and has the parameters that its back end
    // expects. An entry is never freed.
    unsafe {
        let Some(io) = io.as_ref() else {
            return 0;
        };
        match entry(io.id).and_then(|entry| entry.get().destroy) {
            Some(destroy) => catching_exceptions(-1, || destroy(io.params)),
            None => 0,
        }
    }
}

/// Whether frames that use `io` are to be locked: by its parameters or by the environment. Files
/// only.
///
/// # Safety
/// As for [`backend`].
pub unsafe fn locking(io: *const blosc2_io) -> bool {
    // SAFETY: by `# Safety` the choice is null or valid, and has the parameters that its back end
    // expects: those of the one for files are null or a `blosc2_stdio_params`.
    let asked = unsafe {
        match io.as_ref() {
            Some(io) if c_int::from(io.id) != BLOSC2_IO_FILESYSTEM => return false,
            Some(io) => {
                let params = io.params.cast::<blosc2_stdio_params>();
                params.as_ref().is_some_and(|params| params.locking)
            }
            None => false,
        }
    };
    asked || environment::locking()
}

/// The back end for memory maps.
struct Maps {
    params: *mut blosc2_stdio_mmap,
    opening: Mutex<()>,
}

// SAFETY: `backend` requires that the parameters outlive this. They are used only while `opening`
// is locked.
unsafe impl Send for Maps {}
// SAFETY: as above.
unsafe impl Sync for Maps {}

impl Backend for Maps {
    /// The mode of the parameters counts, not `mode`.
    fn open(&self, path: &CStr, _mode: Mode) -> Result<Shared<dyn Storage>> {
        let _alone = lock(&self.opening);
        // SAFETY: `backend` requires that the parameters are null or valid, and `opening` keeps
        // other threads from them.
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
