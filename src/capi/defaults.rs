//! The defaults of the parameter structs, for languages that cannot read the header's constants.

use crate::capi::prelude::*;

/// Returns `BLOSC2_CPARAMS_DEFAULTS`.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_blosc2_cparams_defaults() -> blosc2_cparams {
    blosc2_cparams::defaults()
}

/// Returns `BLOSC2_DPARAMS_DEFAULTS`.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_blosc2_dparams_defaults() -> blosc2_dparams {
    blosc2_dparams::defaults()
}

/// Returns `BLOSC2_STORAGE_DEFAULTS`.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_blosc2_storage_defaults() -> blosc2_storage {
    blosc2_storage::defaults()
}

/// Returns `BLOSC2_IO_DEFAULTS`.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_blosc2_io_defaults() -> blosc2_io {
    blosc2_io::defaults()
}

/// Returns `BLOSC2_STDIO_MMAP_DEFAULTS`.
#[unsafe(no_mangle)]
pub extern "C" fn blosc2_get_blosc2_stdio_mmap_defaults() -> blosc2_stdio_mmap {
    blosc2_stdio_mmap::defaults()
}
