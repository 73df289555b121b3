//! Zstandard, by the Zstandard library.

mod pieces;

use core::ffi::{CStr, c_int, c_uint};
use core::ptr::NonNull;

use super::noise::NoiseDetector;
use oxiblosc_base::{Error, Result};

use zstd_sys as sys;

/// The library's version, such as "1.5.7".
pub(super) fn version() -> &'static str {
    // SAFETY: the function takes nothing and returns a string constant of the library.
    unsafe { CStr::from_ptr(sys::ZSTD_versionString()) }
        .to_str()
        .unwrap_or("unknown")
}

/// The library's level for one of ours: the odd numbers up to 15, and its highest for level 9.
fn level(clevel: u8) -> c_int {
    if clevel < 9 {
        c_int::from(clevel) * 2 - 1
    } else {
        // SAFETY: takes nothing, returns a constant.
        unsafe { sys::ZSTD_maxCLevel() }
    }
}

/// Whether the library's return value is one of its error numbers.
fn is_error(code: usize) -> bool {
    // SAFETY: a pure function of its argument.
    unsafe { sys::ZSTD_isError(code) != 0 }
}

/// The error number of the library for lack of memory.
const NO_MEMORY: usize =
    0usize.wrapping_sub(sys::ZSTD_ErrorCode::ZSTD_error_memory_allocation as usize);

/// The error for an error number of the library.
fn error(code: usize, otherwise: Error) -> Error {
    match code {
        NO_MEMORY => Error::MEMORY_ALLOC,
        _ => otherwise,
    }
}

/// Converts what the library's compressing functions return: the bytes written, or 0 if they did
/// not fit.
fn written(code: usize) -> Result<usize> {
    match code {
        NO_MEMORY => Err(Error::MEMORY_ALLOC),
        code if is_error(code) => Ok(0),
        code => Ok(code),
    }
}

/// Why the library could not digest a dictionary. Either the bytes have the magic number of a
/// trained dictionary but are malformed, or there was no memory.
fn digest_error(bytes: &[u8]) -> Error {
    const MAGIC: [u8; 4] = sys::ZSTD_MAGIC_DICTIONARY.to_le_bytes();
    if !bytes.starts_with(&MAGIC) {
        return Error::MEMORY_ALLOC;
    }
    // SAFETY: the library reads `bytes`.
    let code = unsafe { sys::ZDICT_getDictHeaderSize(bytes.as_ptr().cast(), bytes.len()) };
    match code {
        code if is_error(code) => error(code, Error::CODEC_DICT),
        _ => Error::MEMORY_ALLOC,
    }
}

/// A library object behind a pointer, freed with this value.
macro_rules! handle {
    ($(#[$doc:meta])* $name:ident, $inner:ty, $free:path) => {
        $(#[$doc])*
        struct $name(NonNull<$inner>);

        // SAFETY: this value alone owns the object, and the library keeps no data that belong to a
        // thread.
        unsafe impl Send for $name {}

        impl Drop for $name {
            fn drop(&mut self) {
                // SAFETY: the pointer came from the constructor that belongs to `$free`, and is
                // freed once.
                unsafe { $free(self.0.as_ptr()) };
            }
        }
    };
}

handle!(
    /// A compression context.
    Cctx,
    sys::ZSTD_CCtx,
    sys::ZSTD_freeCCtx
);
handle!(
    /// A decompression context.
    Dctx,
    sys::ZSTD_DCtx,
    sys::ZSTD_freeDCtx
);
handle!(
    /// A dictionary digested for compression.
    Cdict,
    sys::ZSTD_CDict,
    sys::ZSTD_freeCDict
);
handle!(
    /// A dictionary digested for decompression.
    Ddict,
    sys::ZSTD_DDict,
    sys::ZSTD_freeDDict
);

// SAFETY: the library documents that digested dictionaries are read-only and may be shared between
// threads.
unsafe impl Sync for Cdict {}
// SAFETY: as for `Cdict`.
unsafe impl Sync for Ddict {}

/// The compressor. It reuses one context.
#[derive(Default)]
pub(super) struct Compressor(Option<Cctx>);

impl Compressor {
    /// How many bytes of memory it has.
    #[inline]
    pub(super) fn bytes(&self) -> usize {
        match &self.0 {
            // SAFETY: a context that is valid.
            Some(context) => unsafe { sys::ZSTD_sizeof_CCtx(context.0.as_ptr()) },
            None => 0,
        }
    }

    fn context(&mut self) -> Result<*mut sys::ZSTD_CCtx> {
        if self.0.is_none() {
            // SAFETY: takes nothing; returns a context, or null.
            self.0 = NonNull::new(unsafe { sys::ZSTD_createCCtx() }).map(Cctx);
        }
        self.0
            .as_ref()
            .map(|c| c.0.as_ptr())
            .ok_or(Error::MEMORY_ALLOC)
    }

    /// Returns the number of bytes written, or 0 if they do not fit. With `noise`, a stream of
    /// planes may be compressed in pieces.
    pub(super) fn compress(
        &mut self,
        clevel: u8,
        src: &[u8],
        dst: &mut [u8],
        noise: Option<&mut NoiseDetector>,
    ) -> Result<usize> {
        let cctx = self.context()?;
        if let Some(noise) = noise
            && pieces::pay(clevel, src, noise)?
        {
            // SAFETY: `self` owns the context, and `&mut self` makes this its only user.
            return unsafe { pieces::compress(cctx, clevel, src, dst) };
        }
        // SAFETY: as above. The library reads `src.len()` bytes of `src` and writes at most
        // `dst.len()` bytes of `dst`.
        let n = unsafe {
            sys::ZSTD_compressCCtx(
                cctx,
                dst.as_mut_ptr().cast(),
                dst.len(),
                src.as_ptr().cast(),
                src.len(),
                level(clevel),
            )
        };
        written(n)
    }

    /// Like [`compress`](Self::compress), with a dictionary, which determines the level.
    pub(super) fn compress_with(
        &mut self,
        dict: &EncodeDict,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let cctx = self.context()?;
        // SAFETY: as in `compress`; `dict` owns the dictionary.
        let n = unsafe {
            sys::ZSTD_compress_usingCDict(
                cctx,
                dst.as_mut_ptr().cast(),
                dst.len(),
                src.as_ptr().cast(),
                src.len(),
                dict.0.0.as_ptr(),
            )
        };
        written(n)
    }
}

/// The decompressor. It reuses one context.
#[derive(Default)]
pub(super) struct Decompressor(Option<Dctx>);

impl Decompressor {
    fn context(&mut self) -> Result<*mut sys::ZSTD_DCtx> {
        if self.0.is_none() {
            // SAFETY: takes nothing; returns a context, or null.
            self.0 = NonNull::new(unsafe { sys::ZSTD_createDCtx() }).map(Dctx);
        }
        self.0
            .as_ref()
            .map(|d| d.0.as_ptr())
            .ok_or(Error::MEMORY_ALLOC)
    }

    /// Returns the number of bytes written. The output is one buffer, so the library allocates no
    /// window, whatever window size the frame declares.
    pub(super) fn decompress(&mut self, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let dctx = self.context()?;
        // SAFETY: `self` owns the context, and `&mut self` makes this its only user. The library
        // reads `src.len()` bytes of `src` and writes at most `dst.len()` bytes of `dst`.
        let n = unsafe {
            sys::ZSTD_decompressDCtx(
                dctx,
                dst.as_mut_ptr().cast(),
                dst.len(),
                src.as_ptr().cast(),
                src.len(),
            )
        };
        if is_error(n) {
            Err(error(n, Error::DATA))
        } else {
            Ok(n)
        }
    }

    /// Like [`decompress`](Self::decompress), with a dictionary.
    pub(super) fn decompress_with(
        &mut self,
        dict: &DecodeDict,
        src: &[u8],
        dst: &mut [u8],
    ) -> Result<usize> {
        let dctx = self.context()?;
        // SAFETY: as in `decompress`; `dict` owns the dictionary.
        let n = unsafe {
            sys::ZSTD_decompress_usingDDict(
                dctx,
                dst.as_mut_ptr().cast(),
                dst.len(),
                src.as_ptr().cast(),
                src.len(),
                dict.0.0.as_ptr(),
            )
        };
        if is_error(n) {
            Err(error(n, Error::DATA))
        } else {
            Ok(n)
        }
    }
}

/// A dictionary digested for compression; it owns a copy of the bytes.
pub(super) struct EncodeDict(Cdict);

impl EncodeDict {
    /// Digests `bytes` for the library's level 1, as the reference does whatever the level of the
    /// chunk.
    pub(super) fn new(bytes: &[u8]) -> Result<Self> {
        // SAFETY: the library reads `bytes` and copies them.
        let dict = unsafe { sys::ZSTD_createCDict(bytes.as_ptr().cast(), bytes.len(), 1) };
        NonNull::new(dict)
            .map(|d| EncodeDict(Cdict(d)))
            .ok_or_else(|| digest_error(bytes))
    }
}

/// A dictionary digested for decompression; it owns a copy of the bytes.
pub(super) struct DecodeDict(Ddict);

impl DecodeDict {
    /// Digests `bytes`. An error if they have the magic number of a trained dictionary but are
    /// malformed.
    pub(super) fn new(bytes: &[u8]) -> Result<Self> {
        // SAFETY: the library reads `bytes` and copies them.
        let dict = unsafe { sys::ZSTD_createDDict(bytes.as_ptr().cast(), bytes.len()) };
        NonNull::new(dict)
            .map(|d| DecodeDict(Ddict(d)))
            .ok_or_else(|| digest_error(bytes))
    }
}

/// Trains a dictionary of at most `dict.len()` bytes on samples of the given sizes, which lie one
/// behind the other in `samples`. Returns its size, or `None` if the samples are not enough. Fails
/// with [`Error::MEMORY_ALLOC`].
pub(super) fn train(dict: &mut [u8], samples: &[u8], sizes: &[usize]) -> Result<Option<usize>> {
    let total = sizes.iter().try_fold(0usize, |sum, &n| sum.checked_add(n));
    let (Some(total), Ok(count)) = (total, c_uint::try_from(sizes.len())) else {
        return Ok(None);
    };
    if total > samples.len() {
        return Ok(None);
    }
    // SAFETY: the library writes at most `dict.len()` bytes. It reads `count` sizes, and sample
    // bytes up to their sum, which was checked to be at most `samples.len()`.
    let n = unsafe {
        sys::ZDICT_trainFromBuffer(
            dict.as_mut_ptr().cast(),
            dict.len(),
            samples.as_ptr().cast(),
            sizes.as_ptr(),
            count,
        )
    };
    // SAFETY: a pure function of its argument.
    let failed = unsafe { sys::ZDICT_isError(n) != 0 };
    if n == NO_MEMORY {
        return Err(Error::MEMORY_ALLOC);
    }
    Ok((!failed && n > 0).then_some(n))
}
