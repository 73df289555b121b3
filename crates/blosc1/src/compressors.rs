//! The compressors: their codes and names.

use super::border::FAILED;
use oxiblosc_base::memory::CStrBuf;
use oxiblosc_border::{guard, text};
use oxiblosc_codecs::Codec;
use std::ffi::{CStr, c_char, c_int};
use std::ptr::{null, null_mut};

/// Code of BloscLZ.
pub const BLOSCLZ: c_int = Codec::BloscLz as c_int;
/// Code of LZ4HC.
pub const LZ4HC: c_int = Codec::Lz4hc as c_int;
/// Code of Snappy.
pub const SNAPPY: c_int = oxiblosc_chunk::blosc1::SNAPPY as c_int;
/// Code of zlib.
pub const ZLIB: c_int = Codec::Zlib as c_int;
/// Code of Zstd.
pub const ZSTD: c_int = Codec::Zstd as c_int;

/// The library behind each format, by the number that is in a chunk's flags.
const LIBRARIES: [&CStr; 5] = [c"BloscLZ", c"LZ4", c"Snappy", c"Zlib", c"Zstd"];

/// The name of a compressor.
pub fn name_of(compcode: c_int) -> Option<&'static CStr> {
    match compcode {
        SNAPPY => Some(c"snappy"),
        _ => Codec::from_code(compcode).map(Codec::c_name),
    }
}

/// The code of a compressor.
pub fn code_of(name: &str) -> Option<c_int> {
    match name {
        "snappy" => Some(SNAPPY),
        _ => Codec::from_name(name).map(Codec::code),
    }
}

/// The name of the library behind a format.
pub fn library_of(format: u8) -> Option<&'static CStr> {
    LIBRARIES.get(usize::from(format)).copied()
}

/// Sets `compname` to the name of the compressor with this code. Returns the code. If no compressor
/// has it, the name is NULL and the result -1.
///
/// # Safety
/// `compname` can be written, or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_compcode_to_compname(
    compcode: c_int,
    compname: *mut *const c_char,
) -> c_int {
    let name = name_of(compcode);
    if !compname.is_null() {
        // SAFETY: not null, as was just checked, so it can be written, by `# Safety`.
        unsafe { *compname = name.map_or(null(), CStr::as_ptr) };
    }
    if name.is_some() { compcode } else { FAILED }
}

/// Returns the code of the compressor with this name, or -1 if there is none.
///
/// # Safety
/// `compname` is a C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_compname_to_compcode(compname: *const c_char) -> c_int {
    guard(FAILED, || {
        // SAFETY: a C string or null, by `# Safety`; `text` takes both.
        let name = unsafe { text(compname) }.unwrap_or_default();
        code_of(name).unwrap_or(FAILED)
    })
}

/// Returns the names of all compressors, separated by commas. The library owns the text.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_list_compressors() -> *const c_char {
    c"blosclz,lz4,lz4hc,snappy,zlib,zstd".as_ptr()
}

/// Returns the release of c-blosc that this library replaces. The library owns the text.
#[unsafe(no_mangle)]
pub extern "C" fn blosc_get_version_string() -> *const c_char {
    VERSION.as_ptr()
}

const VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
        Ok(version) => version,
        Err(_) => c"",
    };

/// Sets `complib` and `version`, unless they are NULL, to the name and the version of the library
/// that implements a compressor. The caller frees each text with `free()`. Returns the number of
/// the library. If the compressor does not exist, or memory is lacking, the texts are NULL and the
/// result is -1.
///
/// # Safety
/// `compname` is a C string; the others can be written, or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_get_complib_info(
    compname: *const c_char,
    complib: *mut *mut c_char,
    version: *mut *mut c_char,
) -> c_int {
    guard(FAILED, || {
        // SAFETY: a C string, by `# Safety`.
        let name = unsafe { text(compname) }.unwrap_or_default();
        let found = match (name, Codec::from_name(name)) {
            ("snappy", _) => Some((2, "unknown")),
            (_, Some(codec)) => Some((codec.format(), codec.library_version())),
            _ => None,
        };
        let created = found.and_then(|(format, version)| {
            let library = CStrBuf::to_buffer(library_of(format)?.to_bytes()).ok()?;
            let version = CStrBuf::to_buffer(version.as_bytes()).ok()?;
            Some((format, [library, version]))
        });
        let (code, texts) = match created {
            Some((format, texts)) => (format.into(), texts.map(Some)),
            None => (FAILED, [None, None]),
        };
        for (place, text) in [complib, version].into_iter().zip(texts) {
            if !place.is_null() {
                let text = text.map_or(null_mut(), |text| text.into_raw().cast());
                // SAFETY: not null, as was just checked, so it can be written, by `# Safety`.
                unsafe { *place = text };
            }
        }
        code
    })
}
