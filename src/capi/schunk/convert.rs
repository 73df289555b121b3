//! Copies of super-chunks, and super-chunks as buffers and files.

use super::create::{adopt, adopt_with, discard, make};
use super::handle::{self, Handle};
use super::meta::Coder;
use super::storage::local;
use crate::capi::context::Context;
use crate::capi::io;
use crate::capi::prelude::*;
use oxiblosc_core::environment::durable;
use oxiblosc_core::schunk::Store;
use oxiblosc_core::schunk::copy::{VlmetalayerCoder, metalayers_but};
use oxiblosc_frame::container;
use oxiblosc_frame::header::MIN_LEN;
use oxiblosc_frame::memory::Memory;
use oxiblosc_io::whole;
use oxiblosc_memory::CowBuffer;

/// Makes a super-chunk of a contiguous frame of `len` bytes at `cframe`. With `copy`, chunks are copied and kept each on
/// its own, and the buffer is used no more; a frame that tells of very many chunks in few bytes is copied as it is. Without, the buffer is the super-chunk's storage and must stay as long as the
/// super-chunk; it is still the program's to free, unless that is handed over with `blosc2_schunk_avoid_cframe_free`.
/// Returns NULL if the buffer is no frame.
///
/// # Safety
/// `cframe` has `len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_from_buffer(
    cframe: *mut u8,
    len: i64,
    copy: bool,
) -> *mut blosc2_schunk {
    // SAFETY: by the caller's word.
    pointer("blosc2_schunk_from_buffer", || unsafe {
        from_buffer(cframe, len, copy)
    })
}

/// Opens the frame in a buffer; see `blosc2_schunk_from_buffer`.
///
/// # Safety
/// As for that.
pub unsafe fn from_buffer(cframe: *mut u8, len: i64, copy: bool) -> Result<*mut blosc2_schunk> {
    let len = usize::try_from(len).map_err(|_| Error::InvalidParam)?;
    if cframe.is_null() || len < MIN_LEN {
        return Err(Error::InvalidParam);
    }
    // SAFETY: by the contract; without `copy` for as long as the super-chunk uses it, with it until this returns.
    let (memory, loaded) = Memory::over(unsafe { CowBuffer::borrow_raw(cframe, len) })?;
    // SAFETY: files are the back end.
    unsafe {
        if !copy {
            return adopt(Store::Memory(memory), loaded, null());
        }
        adopt_with(Store::Memory(memory), loaded, null(), |schunk| {
            schunk.leave_buffer(len)
        })
    }
}

/// Whether the super-chunk is a contiguous frame in memory, with its own metalayers.
///
/// # Safety
/// `schunk` is valid.
unsafe fn is_in_memory(schunk: *mut blosc2_schunk) -> Result<bool> {
    let (schunk, shown) = unsafe_granted!((Handle::core_of(schunk)?, Handle::shown(schunk)?));
    Ok(schunk.peek()?.is_frame_in_memory() && !shown.is_view())
}

/// Copies a super-chunk into a contiguous frame in memory.
///
/// # Safety
/// `schunk` is valid.
unsafe fn in_memory(schunk: *mut blosc2_schunk) -> Result<*mut blosc2_schunk> {
    let storage = blosc2_storage {
        contiguous: true,
        ..blosc2_storage::defaults()
    };
    unsafe_granted!(copy(schunk, &storage)).map_err(|error| error.or(Error::SchunkCopy))
}

/// Gives a super-chunk as a contiguous frame in a buffer. Where `*needs_free` is set, the program frees `*cframe` with
/// `free`; else the buffer is the super-chunk's, until that changes. Returns the size of the frame, or a negative error
/// code.
///
/// # Safety
/// All pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_to_buffer(
    schunk: *mut blosc2_schunk,
    cframe: *mut *mut u8,
    needs_free: *mut bool,
) -> i64 {
    // SAFETY: by the contract.
    code64("blosc2_schunk_to_buffer", || unsafe {
        if cframe.is_null() || needs_free.is_null() {
            return Err(Error::NullPointer);
        }
        to_buffer(schunk, &mut *cframe, &mut *needs_free)
    })
}

/// See [`blosc2_schunk_to_buffer`].
///
/// # Safety
/// `schunk` is null or valid.
pub unsafe fn to_buffer(
    schunk: *mut blosc2_schunk,
    cframe: &mut *mut u8,
    needs_free: &mut bool,
) -> Result<i64> {
    (*cframe, *needs_free) = (null_mut(), false);
    let mut give = |bytes: &[u8]| {
        *cframe = bytes.as_ptr().cast_mut();
        Ok(bytes.len() as i64)
    };
    unsafe_granted!({
        if is_in_memory(schunk)?
            && let Some(len) = Handle::core_of(schunk)?.with_frame(&mut give)?
        {
            return Ok(len);
        }
        let copy = in_memory(schunk)?;
        let copied = Handle::from_c(copy)?;
        let len = copied.core().with_frame(&mut give);
        let len = len.and_then(|len| len.ok_or(Error::Failure));
        copied.set_avoid_free(len.is_ok());
        *needs_free = len.is_ok();
        handle::free(copy);
        len
    })
}

/// Writes a super-chunk into a file as a contiguous frame. Returns the size of the frame, or a negative error code.
///
/// A frame in memory replaces a file that is there, in one step: an open finds the old bytes or the new ones, and
/// mode, owner and group stay, as far as the process may give them. Links are followed. The directory must be writable, as
/// the bytes are written to a file beside it first. Any other super-chunk is written only where nothing is yet.
///
/// # Safety
/// `schunk` is valid, `urlpath` NULL or a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_to_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
) -> i64 {
    code64("blosc2_schunk_to_file", || {
        if urlpath.is_null() {
            return Err(Error::InvalidParam);
        }
        let len = unsafe_granted!({
            let handle = Handle::from_c(schunk)?;
            if is_in_memory(schunk)? {
                let backend = io::backend(handle.storage().io)?;
                let path = local(CStr::from_ptr(urlpath));
                let written = handle.core().with_frame(|bytes| {
                    whole::write_through(&*backend, path, bytes, durable())?;
                    Ok(bytes.len() as u64)
                })?;
                written.ok_or(Error::Failure)
            } else {
                let storage = blosc2_storage {
                    contiguous: true,
                    urlpath: urlpath.cast_mut(),
                    ..blosc2_storage::defaults()
                };
                let copy = copy(schunk, &storage).map_err(|error| error.or(Error::SchunkCopy))?;
                let len = Handle::core_of(copy)?.close_frame();
                match len {
                    Ok(_) => drop(handle::free(copy)),
                    Err(_) => discard(copy),
                }
                len
            }
        });
        i64::try_from(len?).map_err(|_| Error::Failure)
    })
}

/// Appends a super-chunk to a file as a contiguous frame; `blosc2_schunk_open_offset` opens it there. Returns where the
/// frame begins in the file, or a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_to_file`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_append_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
) -> i64 {
    // SAFETY: by the contract.
    code64("blosc2_schunk_append_file", || unsafe {
        append_file(schunk, urlpath)
    })
}

/// See [`blosc2_schunk_append_file`].
///
/// # Safety
/// As for that.
pub unsafe fn append_file(schunk: *mut blosc2_schunk, urlpath: *const c_char) -> Result<i64> {
    if urlpath.is_null() {
        return Err(Error::InvalidParam);
    }
    unsafe_granted!({
        let apart = !is_in_memory(schunk)?;
        let source = if apart { in_memory(schunk)? } else { schunk };
        let done = (|| {
            let handle = Handle::from_c(source)?;
            let backend = io::backend(handle.storage().io)?;
            let path = local(CStr::from_ptr(urlpath));
            let append = |bytes: &[u8]| container::append(&*backend, path, bytes, durable());
            let pos = handle.core().with_frame(append)?.ok_or(Error::Failure)?;
            i64::try_from(pos).map_err(|_| Error::Failure)
        })();
        if apart {
            handle::free(source);
        }
        done
    })
}

/// Copies a super-chunk, with its metalayers, into the storage that is given. Chunks are copied as they are unless the
/// parameters in `storage` ask for others; NULL there means the same parameters. Returns NULL if the storage is there
/// already, or a chunk is damaged.
///
/// # Safety
/// Both pointers are valid, and those in `storage` NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_copy(
    schunk: *mut blosc2_schunk,
    storage: *mut blosc2_storage,
) -> *mut blosc2_schunk {
    pointer("blosc2_schunk_copy", || {
        unsafe_granted!(copy(schunk, storage.as_ref().ok_or(Error::NullPointer)?))
    })
}

/// Copies a super-chunk; see `blosc2_schunk_copy`.
///
/// # Safety
/// As for that.
pub unsafe fn copy(
    schunk: *mut blosc2_schunk,
    storage: &blosc2_storage,
) -> Result<*mut blosc2_schunk> {
    unsafe_granted!({
        let handle = Handle::from_c(schunk)?;
        let shown = Handle::shown(schunk)?;
        let (mut cparams, same) = parameters(handle, storage)?;
        let new = make(&blosc2_storage {
            cparams: &raw mut cparams,
            ..*storage
        })?;
        let copied = (|| {
            let metalayers = match shown.view_metalayers() {
                Some(layers) => metalayers_but(layers, &[])?,
                None => metalayers_but(handle.core().read()?.metalayers(), &[])?,
            };
            let to = Handle::core_of(new)?;
            with_vlmetalayer_coder(handle, |coder| {
                to.copy_from(handle.core(), &metalayers, same, coder)
            })
        })();
        if let Err(error) = copied {
            discard(new);
            return Err(error);
        }
        Ok(new)
    })
}

/// Runs `body` with contexts for copies of variable-length metalayers.
///
/// # Errors
/// Those of `body`, and [`Error::MemoryAlloc`].
pub fn with_vlmetalayer_coder<T>(
    from: &Handle,
    body: impl FnOnce(VlmetalayerCoder) -> Result<T>,
) -> Result<T> {
    // SAFETY: there are no parameters.
    let (decoder, encoder) = unsafe {
        let decoder = Coder::decompressing(from)?;
        (decoder, Coder::compressing(null())?)
    };
    body(VlmetalayerCoder {
        decoder: decoder.context()?,
        encoder: encoder.context()?,
    })
}

/// The parameters of a copy, and whether chunks can be copied as they are.
///
/// # Safety
/// The pointers in `storage` are null or valid.
unsafe fn parameters(handle: &Handle, storage: &blosc2_storage) -> Result<(blosc2_cparams, bool)> {
    let _unchanged = handle.core().peek()?;
    // SAFETY: the state is not changed meanwhile; the contexts among the fields are valid. Integers, bools, pointers and optional
    // functions may be zero.
    let (typesize, cctx, dctx, mut own): (_, _, _, blosc2_cparams) = unsafe {
        let c = handle.as_c();
        let (cctx, dctx) = (Context::from_c((*c).cctx)?, Context::from_c((*c).dctx)?);
        ((*c).typesize, cctx, dctx, std::mem::zeroed())
    };
    // A context forgets a typesize that does not fit into chunks.
    own.typesize = typesize;
    own.clevel = cctx.clevel.get() as u8;
    own.compcode = cctx.compcode.get() as u8;
    assign!(own, get cctx; compcode_meta, splitmode, use_dict, blocksize, filters, filters_meta);
    let wanted = unsafe_granted!(storage.cparams.as_ref())
        .copied()
        .unwrap_or(own);
    let blocksize = if wanted.blocksize == 0 {
        own.blocksize
    } else {
        wanted.blocksize
    };
    let same = wanted.typesize == own.typesize
        && wanted.clevel == own.clevel
        && wanted.compcode == own.compcode
        && wanted.use_dict == own.use_dict
        && blocksize == own.blocksize
        && wanted.filters == own.filters
        && wanted.filters_meta == own.filters_meta
        && cctx.prefilter.get().is_none()
        && dctx.postfilter.get().is_none();
    Ok((wanted, same))
}
