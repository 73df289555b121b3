//! The two libraries, opened side by side, and calls on slices.

use oxiblosc_testing::needs::skip;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

/// The variable with the path of c-blosc's `libblosc.so.1`, if it is not Debian's.
const REFERENCE_VARIABLE: &str = "OXIBLOSC_BLOSC1_REFERENCE";
/// Its path in Debian's package `libblosc1`.
const DEBIAN: &str = "/usr/lib/x86_64-linux-gnu/libblosc.so.1";
/// The variable with the path of our library, if it is not the one that cargo built.
const OURS_VARIABLE: &str = "OXIBLOSC_BLOSC1_LIBRARY";

macro_rules! functions {
    ($( $name:ident: fn($($argument:ty),*) $(-> $result:ty)?; )+) => {
        /// The functions of a library.
        #[allow(non_snake_case, reason = "named as in C")]
        pub struct Functions { $( pub $name: unsafe extern "C" fn($($argument),*) $(-> $result)?, )+ }

        impl Functions {
            /// The name of each.
            pub const NAMES: &[&str] = &[$( stringify!($name) ),+];

            /// Looks them up.
            ///
            /// # Safety
            /// The library implements `blosc.h`.
            unsafe fn load(library: &libloading::Library) -> Self {
                Self { $( $name: *unsafe { library.get(stringify!($name).as_bytes()) }.expect(stringify!($name)), )+ }
            }
        }
    };
}

functions! {
    blosc_init: fn();
    blosc_destroy: fn();
    blosc_compress: fn(c_int, c_int, usize, usize, *const c_void, *mut c_void, usize) -> c_int;
    blosc_compress_ctx: fn(c_int, c_int, usize, usize, *const c_void, *mut c_void, usize, *const c_char, usize, c_int) -> c_int;
    blosc_decompress: fn(*const c_void, *mut c_void, usize) -> c_int;
    blosc_decompress_ctx: fn(*const c_void, *mut c_void, usize, c_int) -> c_int;
    blosc_getitem: fn(*const c_void, c_int, c_int, *mut c_void) -> c_int;
    blosc_get_nthreads: fn() -> c_int;
    blosc_set_nthreads: fn(c_int) -> c_int;
    blosc_get_compressor: fn() -> *const c_char;
    blosc_set_compressor: fn(*const c_char) -> c_int;
    blosc_compcode_to_compname: fn(c_int, *mut *const c_char) -> c_int;
    blosc_compname_to_compcode: fn(*const c_char) -> c_int;
    blosc_list_compressors: fn() -> *const c_char;
    blosc_get_version_string: fn() -> *const c_char;
    blosc_get_complib_info: fn(*const c_char, *mut *mut c_char, *mut *mut c_char) -> c_int;
    blosc_free_resources: fn() -> c_int;
    blosc_cbuffer_sizes: fn(*const c_void, *mut usize, *mut usize, *mut usize);
    blosc_cbuffer_validate: fn(*const c_void, usize, *mut usize) -> c_int;
    blosc_cbuffer_metainfo: fn(*const c_void, *mut usize, *mut c_int);
    blosc_cbuffer_versions: fn(*const c_void, *mut c_int, *mut c_int);
    blosc_cbuffer_complib: fn(*const c_void) -> *const c_char;
    blosc_get_blocksize: fn() -> c_int;
    blosc_set_blocksize: fn(usize);
    blosc_set_splitmode: fn(c_int);
}

/// An opened library.
pub struct Lib {
    pub name: &'static str,
    pub f: Functions,
}

/// The arguments of `blosc_compress_ctx` apart from the buffers.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    pub clevel: c_int,
    pub shuffle: c_int,
    pub typesize: usize,
    pub compressor: &'static CStr,
    pub blocksize: usize,
    pub nthreads: c_int,
}

pub const COMPRESSORS: [&CStr; 6] = [c"blosclz", c"lz4", c"lz4hc", c"snappy", c"zlib", c"zstd"];
/// The largest difference of the sizes of a chunk and its data.
pub const OVERHEAD: usize = 16;

impl Lib {
    /// Opens the library at `path`. Its symbols are not visible to the other library, which has the
    /// same names.
    pub fn open(name: &'static str, path: &Path) -> Self {
        use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
        // SAFETY: neither library has an initialiser that touches the process.
        let library =
            unsafe { Library::open(Some(path), RTLD_NOW | RTLD_LOCAL | libc::RTLD_DEEPBIND) };
        let library = library.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        // Never closed, since threads may still call the functions at exit.
        let library: &'static libloading::Library = Box::leak(Box::new(library.into()));
        // SAFETY: both implement the header.
        Self {
            name,
            f: unsafe { Functions::load(library) },
        }
    }

    /// Compresses into a buffer of `capacity` bytes. Returns the code, and the chunk if there is
    /// one.
    pub fn compress(&self, settings: &Settings, data: &[u8], capacity: usize) -> (c_int, Vec<u8>) {
        let mut chunk = vec![0xAA; capacity];
        // SAFETY: the buffers have these sizes.
        let code = unsafe {
            (self.f.blosc_compress_ctx)(
                settings.clevel,
                settings.shuffle,
                settings.typesize,
                data.len(),
                data.as_ptr().cast(),
                chunk.as_mut_ptr().cast(),
                capacity,
                settings.compressor.as_ptr(),
                settings.blocksize,
                settings.nthreads,
            )
        };
        assert!(
            code <= capacity as c_int,
            "{}: {code} bytes in {capacity}: {settings:?}",
            self.name
        );
        chunk.truncate(usize::try_from(code).unwrap_or(0));
        (code, chunk)
    }

    /// Compresses with the settings of the process.
    pub fn compress_global(
        &self,
        (clevel, shuffle, typesize): (c_int, c_int, usize),
        data: &[u8],
        capacity: usize,
    ) -> (c_int, Vec<u8>) {
        let mut chunk = vec![0xAA; capacity];
        // SAFETY: the buffers have these sizes.
        let code = unsafe {
            (self.f.blosc_compress)(
                clevel,
                shuffle,
                typesize,
                data.len(),
                data.as_ptr().cast(),
                chunk.as_mut_ptr().cast(),
                capacity,
            )
        };
        chunk.truncate(usize::try_from(code).unwrap_or(0));
        (code, chunk)
    }

    /// Decompresses a whole chunk into a buffer of `capacity` bytes.
    pub fn decompress(&self, chunk: &[u8], capacity: usize, nthreads: c_int) -> (c_int, Vec<u8>) {
        let mut data = vec![0x55; capacity];
        // SAFETY: a whole chunk, and the size of the buffer.
        let code = unsafe {
            (self.f.blosc_decompress_ctx)(
                chunk.as_ptr().cast(),
                data.as_mut_ptr().cast(),
                capacity,
                nthreads,
            )
        };
        (code, data)
    }

    /// The same with the settings of the process.
    pub fn decompress_global(&self, chunk: &[u8], capacity: usize) -> (c_int, Vec<u8>) {
        let mut data = vec![0x55; capacity];
        // SAFETY: as above.
        let code = unsafe {
            (self.f.blosc_decompress)(chunk.as_ptr().cast(), data.as_mut_ptr().cast(), capacity)
        };
        (code, data)
    }

    /// Reads items into a buffer of `capacity` bytes, which they need at most.
    pub fn getitem(
        &self,
        chunk: &[u8],
        start: c_int,
        nitems: c_int,
        capacity: usize,
    ) -> (c_int, Vec<u8>) {
        let mut items = vec![0x55; capacity];
        // SAFETY: a whole chunk, and room for the items.
        let code = unsafe {
            (self.f.blosc_getitem)(
                chunk.as_ptr().cast(),
                start,
                nitems,
                items.as_mut_ptr().cast(),
            )
        };
        (code, items)
    }

    pub fn set_compressor(&self, name: &CStr) -> c_int {
        // SAFETY: a C string.
        unsafe { (self.f.blosc_set_compressor)(name.as_ptr()) }
    }
}

/// Our library, as cargo built it beside this test or in the folder above.
pub fn ours() -> &'static Lib {
    static OURS: OnceLock<Lib> = OnceLock::new();
    OURS.get_or_init(|| {
        Lib::open(
            "ours",
            &built("libblosc.so", OURS_VARIABLE).expect("cargo builds it"),
        )
    })
}

/// The newest file of this name that cargo built, or the one that the environment names.
pub fn built(file: &str, variable: &str) -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(variable) {
        return Some(path.into());
    }
    let exe = std::env::current_exe().expect("a test knows its own path");
    let folders = exe.ancestors().skip(1).take(2);
    let found = folders.filter_map(|folder| {
        let path = folder.join(file);
        Some((path.metadata().ok()?.modified().ok()?, path))
    });
    found.max().map(|(_, path)| path)
}

/// c-blosc's library. If it is not installed, none, and the test is skipped.
pub fn reference() -> Option<&'static Lib> {
    static REFERENCE: OnceLock<Lib> = OnceLock::new();
    let path = std::env::var_os(REFERENCE_VARIABLE).map_or(PathBuf::from(DEBIAN), PathBuf::from);
    if !path.is_file() {
        skip(&format!(
            "no {}; Debian's package libblosc1 has one",
            path.display()
        ));
        return None;
    }
    Some(REFERENCE.get_or_init(|| Lib::open("c-blosc", &path)))
}

/// Both libraries. Their settings are global, so only one test at a time has them, and gets the
/// initial settings.
pub fn both() -> Option<(&'static Lib, &'static Lib, Alone)> {
    let alone = alone();
    let reference = reference()?;
    reset(reference);
    Some((ours(), reference, alone))
}

/// Access to the libraries, which one test has at a time.
pub type Alone = MutexGuard<'static, ()>;

/// Waits until no other test uses the settings, and resets ours.
pub fn alone() -> Alone {
    static LOCK: Mutex<()> = Mutex::new(());
    let guard = LOCK.lock().unwrap_or_else(PoisonError::into_inner);
    reset(ours());
    guard
}

fn reset(lib: &Lib) {
    // SAFETY: plain settings.
    unsafe {
        (lib.f.blosc_init)();
        (lib.f.blosc_set_nthreads)(1);
        (lib.f.blosc_set_blocksize)(0);
        (lib.f.blosc_set_splitmode)(4);
    }
    lib.set_compressor(c"blosclz");
}

/// Sets or removes an environment variable. Only a test that is [`alone`] may do so.
pub fn set_variable(name: &CStr, value: Option<&str>) {
    // SAFETY: no other thread of the tests reads the environment meanwhile.
    unsafe {
        match value {
            Some(value) => {
                let value = CString::new(value).expect("no zeros");
                libc::setenv(name.as_ptr(), value.as_ptr(), 1)
            }
            None => libc::unsetenv(name.as_ptr()),
        }
    };
}

/// A text that a library returned.
pub fn text(pointer: *const c_char) -> Option<String> {
    // SAFETY: what the functions return is a C string or null.
    (!pointer.is_null()).then(|| {
        unsafe { CStr::from_ptr(pointer) }
            .to_string_lossy()
            .into_owned()
    })
}
