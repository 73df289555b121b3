//! The two built-in back ends: files, and files through a memory map.

use core::ffi::{c_char, c_int};
use core::ptr::null_mut;
use libc::FILE;
#[cfg(windows)]
use oxiblosc_base::system::map::HANDLE;

/// The stream of the back end for files.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_stdio_file {
    /// The open file; the stream's.
    pub file: *mut FILE,
}

/// Parameters of the back end for files (`BLOSC2_IO_FILESYSTEM`), for `blosc2_io.params`. They must
/// outlive the super-chunks opened with them; NULL there means `BLOSC2_STDIO_PARAMS_DEFAULTS`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct blosc2_stdio_params {
    /// Whether to lock the frame against other handles and processes, by a lock file beside it:
    /// readers share the lock, writers hold it alone. It protects only if every handle asks for it,
    /// and not on network file systems. The environment variable `BLOSC_LOCKING` (neither empty nor
    /// `0`) asks for it on every frame.
    pub locking: bool,
}

/// Parameters and state of the back end for memory maps (`BLOSC2_IO_FILESYSTEM_MMAP`), for
/// `blosc2_io.params`; for contiguous frames only. The caller sets the first three fields of
/// `BLOSC2_STDIO_MMAP_DEFAULTS`; the back end keeps its state in the others while the file is open.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub struct blosc2_stdio_mmap {
    /// `"r"`: read; `"r+"`: read and write an existing file; `"w+"`: make a new one; `"c"`: change
    /// an existing one in memory alone. Not owned.
    pub mode: *const c_char,
    /// Bytes of address space to reserve at first, room to grow in for the modes that write.
    pub initial_mapping_size: usize,
    /// Whether the back end frees this struct, with `free`, when the super-chunk is done with it.
    pub needs_free: bool,
    /// Where the map begins.
    pub addr: *mut c_char,
    /// The file's path; the back end's.
    pub urlpath: *mut c_char,
    /// Bytes of the file.
    pub file_size: usize,
    /// Bytes of the map, never fewer than the file's.
    pub mapping_size: usize,
    /// Whether changes stay in memory (mode `"c"`).
    pub is_memory_only: bool,
    /// The open file; the back end's.
    pub file: *mut FILE,
    /// Its descriptor.
    pub fd: c_int,
    /// The protection that the map was made with.
    pub access_flags: i64,
    /// The flags that the map was made with.
    pub map_flags: i64,
    /// Not used: the map lives on without its handle.
    #[cfg(windows)]
    pub mmap_handle: HANDLE,
}

impl blosc2_stdio_mmap {
    /// The value of `BLOSC2_STDIO_MMAP_DEFAULTS`: read-only, 1 GiB of address space, no file yet.
    pub const fn defaults() -> Self {
        Self {
            mode: c"r".as_ptr(),
            initial_mapping_size: 1 << 30,
            needs_free: false,
            addr: null_mut(),
            urlpath: null_mut(),
            file_size: 0,
            mapping_size: 0,
            is_memory_only: false,
            file: null_mut(),
            fd: -1,
            access_flags: -1,
            map_flags: -1,
            #[cfg(windows)]
            mmap_handle: usize::MAX as HANDLE,
        }
    }
}
