//! Copies of super-chunks, and super-chunks as buffers and files.

use super::create::{adopt, choose_tuner, discard, make, options, publish};
use super::meta::copying;
use super::parts::cparams_from;
use crate::capi::context;
use crate::capi::context::recorded;
use crate::capi::io;
use crate::capi::prelude::*;
use oxiblosc::encoding::EncodeContext;
use oxiblosc::environment::{checksums, durable};
use oxiblosc::format::frame::header::MIN_LEN;
use oxiblosc::format::frame::memory::Memory;
use oxiblosc::schunk::host::Coders;
use oxiblosc::schunk::open::NewSuperChunk;
use oxiblosc::schunk::save::{Savable, SaveTarget};
use oxiblosc::schunk::{ChunkStore, Parameters};
use oxiblosc::storage::paths::local;
use oxiblosc_base::memory::{CowBuffer, boxed};

/// Makes a super-chunk of a contiguous frame of `len` bytes at `cframe`. With `copy`, chunks are
/// copied and kept each on its own, and the buffer is used no more; a frame that tells of very many
/// chunks in few bytes is copied as it is. Without, the buffer is the super-chunk's storage and
/// must stay as long as the super-chunk; it is still the program's to free, unless that is handed
/// over with `blosc2_schunk_avoid_cframe_free`. Returns NULL if the buffer is no frame.
///
/// # Safety
/// `cframe` has `len` bytes.
#[export]
pub unsafe extern "C" fn blosc2_schunk_from_buffer(
    cframe: *mut u8,
    len: i64,
    copy: bool,
) -> *mut blosc2_schunk {
    from_buffer(cframe, len, copy)
}

/// Opens the frame in a buffer; see `blosc2_schunk_from_buffer`.
///
/// # Safety
/// As for that.
pub unsafe fn from_buffer(cframe: *mut u8, len: i64, copy: bool) -> Result<*mut blosc2_schunk> {
    let len = size(len)?;
    if cframe.is_null() || len < MIN_LEN {
        return Err(Error::INVALID_PARAM);
    }
    // SAFETY: the buffer has `len` bytes; without `copy` it stays as long as the super-chunk, as
    // the function's text demands, and with it nothing uses it once this returns.
    let (memory, loaded) = Memory::over(unsafe { CowBuffer::borrow_raw(cframe, len) })?;
    // SAFETY: a null back end is allowed.
    unsafe {
        let frame = (ChunkStore::Memory(memory), loaded);
        adopt(frame, None, null(), |schunk| match copy {
            true => schunk.leave_buffer(len),
            false => Ok(()),
        })
    }
}

impl Savable for Handle {
    fn framed(&self) -> Option<&SuperChunk> {
        (!self.is_view()).then(|| self.core())
    }

    /// The environment says whether a copy is durable.
    fn copy_as_frame(&self, path: Option<&CStr>, _durable: bool) -> Result<SuperChunk> {
        copy_apart(self, path, true).map_err(|error| error.or(Error::SCHUNK_COPY))
    }
}

/// A copy of a super-chunk that C does not see: in memory, or in files.
pub fn copy_apart(shown: &Handle, path: Option<&CStr>, contiguous: bool) -> Result<SuperChunk> {
    let _unchanged = shown.core().read()?;
    // SAFETY: null parameters are allowed. The pointers in those that `parameters` returns are
    // null, but for that to the super-chunk, which is borrowed as long as the contexts are used.
    let (parameters, same, encoder, decoder) = unsafe {
        let (mut cparams, same) = parameters(shown.base(), null())?;
        cparams.schunk = shown.as_c().cast();
        choose_tuner(&mut cparams);
        let encoder = context::compression(cparams)?;
        let decoder = context::decompression(blosc2_dparams::defaults())?;
        (recorded(&cparams), same, encoder, decoder)
    };
    let nthreads = (encoder.nthreads.get(), decoder.nthreads.get());
    let copy = NewSuperChunk {
        path: path.map(local),
        contiguous,
        // SAFETY: a null back end is allowed.
        options: &|| unsafe { options(null()) },
        hidden: true,
        checksums: checksums(),
        parameters,
        host: boxed(Coders {
            encoder,
            decoder,
            nthreads,
        })?,
        id: None,
    };
    let copy = copy.make()?;
    let copied = copy_content(shown, &copy, same, true);
    copy.publish_if(copied)
}

/// Copies metalayers and chunks into an empty super-chunk.
fn copy_content(
    from: &Handle,
    to: &SuperChunk,
    as_they_are: bool,
    vlmetalayers: bool,
) -> Result<()> {
    let coder = vlmetalayers.then(|| copying(from.base())).transpose()?;
    to.copy_from(
        from.core(),
        from.view_metalayers(),
        as_they_are,
        coder.as_ref(),
    )
}

/// Gives a super-chunk as a contiguous frame in a buffer. Where `*needs_free` is set, the program
/// frees `*cframe` with `free`; else the buffer is the super-chunk's, until that changes. Returns
/// the size of the frame, or a negative error code.
///
/// # Safety
/// All pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_to_buffer(
    schunk: *mut blosc2_schunk,
    cframe: *mut *mut u8,
    needs_free: *mut bool,
) -> i64 {
    not_null!(cframe, needs_free)?;
    to_buffer(Handle::from_c(schunk), &mut *cframe, &mut *needs_free)
}

/// See [`blosc2_schunk_to_buffer`].
pub fn to_buffer(
    shown: Result<&Handle>,
    cframe: &mut *mut u8,
    needs_free: &mut bool,
) -> Result<usize> {
    (*cframe, *needs_free) = (null_mut(), false);
    let shown = shown?;
    let own = shown.with_own_frame(|bytes| {
        *cframe = shown.give(bytes);
        Ok(bytes.len())
    })?;
    if let Some(len) = own {
        return Ok(len);
    }
    let frame = shown.copy_as_frame(None, false)?.into_frame()?;
    let len = frame.len();
    (*cframe, *needs_free) = (frame.into_raw(), true);
    Ok(len)
}

/// Writes a super-chunk into a file as a contiguous frame. Returns the size of the frame, or a
/// negative error code.
///
/// A frame in memory replaces a file that is there, in one step: an open finds the old bytes or the
/// new ones, and mode, owner and group stay, as far as the process may give them. Links are
/// followed. The directory must be writable, as the bytes are written to a file beside it first.
/// Any other super-chunk is written only where nothing is yet.
///
/// # Safety
/// `schunk` is valid, `urlpath` NULL or a C string.
#[export]
pub unsafe extern "C" fn blosc2_schunk_to_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
) -> i64 {
    with_file(schunk, urlpath, Handle::save_to)
}

/// Passes a super-chunk, and a file for its frame, to `save`.
///
/// # Safety
/// As for `blosc2_schunk_to_file`.
pub unsafe fn with_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
    save: impl FnOnce(&Handle, &SaveTarget) -> Result<u64>,
) -> Result<u64> {
    not_null!(urlpath; INVALID_PARAM)?;
    let (shown, path) = unsafe_granted!((Handle::from_c(schunk)?, CStr::from_ptr(urlpath)));
    let file = SaveTarget {
        path: local(path),
        // SAFETY: the storage of a handle is from `storage::copy`, so its back end is not null; the
        // program keeps its parameters valid as long as the super-chunk, as `blosc2_schunk_new` and
        // the functions that open one require.
        backend: &|| unsafe { io::backend(shown.storage().io) },
        durable: durable(),
    };
    save(shown, &file)
}

/// Appends a super-chunk to a file as a contiguous frame; `blosc2_schunk_open_offset` opens it
/// there. Returns where the frame begins in the file, or a negative error code.
///
/// # Safety
/// As for `blosc2_schunk_to_file`.
#[export]
pub unsafe extern "C" fn blosc2_schunk_append_file(
    schunk: *mut blosc2_schunk,
    urlpath: *const c_char,
) -> i64 {
    with_file(schunk, urlpath, Handle::append_to)
}

/// Copies a super-chunk, with its metalayers, into the storage that is given. Chunks are copied as
/// they are unless the parameters in `storage` ask for others; NULL there means the same
/// parameters. Returns NULL if the storage is there already, or a chunk is damaged.
///
/// # Safety
/// Both pointers are valid, and those in `storage` NULL or valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_copy(
    schunk: *mut blosc2_schunk,
    storage: *mut blosc2_storage,
) -> *mut blosc2_schunk {
    not_null!(storage)?;
    let copied = copy(Handle::from_c(schunk)?, &*storage, true)?;
    publish(copied)
}

/// Copies a super-chunk, without its variable-length metalayers if they are not wanted; see
/// `blosc2_schunk_copy`. The copy is hidden.
///
/// # Safety
/// As for that.
pub unsafe fn copy(
    shown: &Handle,
    storage: &blosc2_storage,
    vlmetalayers: bool,
) -> Result<*mut blosc2_schunk> {
    unsafe_granted!({
        let _unchanged = shown.core().read()?;
        let (mut cparams, same) = parameters(shown.base(), storage.cparams)?;
        let storage = blosc2_storage {
            cparams: &raw mut cparams,
            ..*storage
        };
        let new = make(&storage, true)?;
        let to = Handle::from_c(new);
        let copied = to.and_then(|to| copy_content(shown, to.core(), same, vlmetalayers));
        copied.map(|()| new).inspect_err(|_| discard(new))
    })
}

/// The parameters of a copy, those that are wanted or the super-chunk's own, and whether chunks can
/// be copied as they are.
///
/// # Safety
/// `wanted` is null or valid.
unsafe fn parameters(
    handle: &Handle,
    wanted: *const blosc2_cparams,
) -> Result<(blosc2_cparams, bool)> {
    let _unchanged = handle.core().peek()?;
    // SAFETY: `_unchanged` keeps the structure from being written. The contexts are null, or those
    // that `set_parameters` put there; the library frees them with the handle.
    let (typesize, cctx, dctx) = unsafe {
        let c = handle.as_c();
        let (cctx, dctx) = (Context::from_c((*c).cctx)?, Context::from_c((*c).dctx)?);
        ((*c).typesize, cctx, dctx)
    };
    // A context forgets a typesize that does not fit into chunks.
    let known = Parameters {
        typesize,
        ..cctx.parameters()
    };
    let wanted = unsafe_granted!(wanted.as_ref()).copied();
    let wanted = wanted.unwrap_or_else(|| cparams_from(&known));
    let filtered = cctx.prefilter.get().is_some() || dctx.postfilter.get().is_some();
    Ok((wanted, recorded(&wanted).keep(&known) && !filtered))
}
