//! Making super-chunks, opening those on disk, and freeing them.

use super::handle;
use super::parts;
use super::storage::Storage;
use crate::capi::context::recorded;
use crate::capi::io;
use crate::capi::prelude::*;
use oxiblosc::environment::{checksums, durable};
use oxiblosc::format::frame::disk::{Loaded, Options};
use oxiblosc::schunk::ChunkStore;
use oxiblosc::schunk::open::NewSuperChunk;
use oxiblosc::storage::paths::local;
use oxiblosc_base::memory::{CStrBuf, env};

/// How frames of a back end are treated.
///
/// # Safety
/// As for [`io::backend`].
pub unsafe fn options(io: *const blosc2_io) -> Result<Options> {
    unsafe_granted!({
        Ok(Options {
            backend: io::backend(io)?,
            locking: io::locking(io),
            durable: durable(),
        })
    })
}

/// Chooses Btune for a new super-chunk where the environment asks for it.
pub fn choose_tuner(cparams: &mut blosc2_cparams) {
    if env::is_set(c"BTUNE_TRADEOFF") {
        cparams.tuner_id = BLOSC_BTUNE;
    }
}

/// Makes a super-chunk. A hidden one is at its path once it is published.
///
/// # Safety
/// The pointers in `storage` are null or valid.
pub unsafe fn make(storage: &blosc2_storage, hidden: bool) -> Result<*mut blosc2_schunk> {
    unsafe_granted!({
        let mut storage = Storage::copy_of(storage)?;
        choose_tuner(storage.cparams());
        let parameters = recorded(storage.cparams());
        let mut created = parts::with_storage(storage)?;
        let (host, id) = created.host()?;
        let storage = *created.storage();
        let new = NewSuperChunk {
            path: c_str(storage.urlpath),
            contiguous: storage.contiguous,
            options: &|| options(storage.io),
            hidden,
            checksums: checksums(),
            parameters,
            host,
            id: Some(id),
        };
        Ok(created.finish(new.make()?))
    })
}

/// Makes a new super-chunk without chunks. It copies `storage` and what that points to, except the
/// parameters of tuners, filters and back ends, which must outlive it. With a path it makes a file
/// or a directory, which must not be there. Free it with `blosc2_schunk_free`.
///
/// Returns NULL if the path exists or cannot be made, a parameter is impossible, or memory is
/// short.
///
/// # Safety
/// `storage` is valid, and the pointers in it are NULL or valid.
#[export]
pub unsafe extern "C" fn blosc2_schunk_new(storage: *mut blosc2_storage) -> *mut blosc2_schunk {
    make(storage.as_ref().ok_or(Error::NULL_POINTER)?, false)
}

/// Makes a super-chunk of a frame at a path, if it has one; `body` does something to it first.
///
/// # Safety
/// `io` is null or valid.
pub unsafe fn adopt(
    (store, loaded): (ChunkStore, Loaded),
    path: Option<&CStr>,
    io: *const blosc2_io,
    body: impl FnOnce(&mut SuperChunk) -> Result<()>,
) -> Result<*mut blosc2_schunk> {
    let mut created = parts::with_header(&loaded.header)?;
    let path = path.map(|path| CStrBuf::to_malloc(path.to_bytes()));
    created.storage().urlpath = path.transpose()?.unwrap_or(null_mut());
    let (host, id) = created.host()?;
    let mut schunk = SuperChunk::of_frame(store, loaded, host, id)?;
    body(&mut schunk)?;
    created.storage().contiguous &= schunk.peek()?.is_frame();
    // It comes last: until here the back end is the caller's, which goes on with it after an error.
    if let Some(io) = unsafe_granted!(io.as_ref()) {
        *created.io() = *io;
    }
    Ok(created.finish(schunk))
}

/// Opens the super-chunk at `urlpath`; see `blosc2_schunk_open_offset_udio`.
///
/// # Safety
/// As for that.
pub unsafe fn open(
    urlpath: *const c_char,
    offset: i64,
    io: *const blosc2_io,
) -> Result<*mut blosc2_schunk> {
    let path = unsafe_granted!(c_str(urlpath)).ok_or(Error::NULL_POINTER)?;
    let base = u64::try_from(offset).map_err(|_| Error::INVALID_PARAM);
    unsafe_granted!({
        let opened = base.and_then(|base| ChunkStore::open(local(path), base, || options(io)));
        let opened = opened.and_then(|frame| adopt(frame, Some(path), io, |_| Ok(())));
        opened.inspect_err(|_| {
            io::destroy(io);
        })
    })
}

/// Opens the super-chunk at `urlpath`, a file or a directory. Nothing is copied but the index and
/// the metalayers. Free it with `blosc2_schunk_free`. Returns NULL if there is none, or it is
/// damaged.
///
/// # Safety
/// `urlpath` is NULL or a C string.
#[export]
pub unsafe extern "C" fn blosc2_schunk_open(urlpath: *const c_char) -> *mut blosc2_schunk {
    open(urlpath, 0, null())
}

/// As `blosc2_schunk_open`, for a frame that begins `offset` bytes into a file.
///
/// # Safety
/// As for `blosc2_schunk_open`.
#[export]
pub unsafe extern "C" fn blosc2_schunk_open_offset(
    urlpath: *const c_char,
    offset: i64,
) -> *mut blosc2_schunk {
    open(urlpath, offset, null())
}

/// As `blosc2_schunk_open`, through a back end.
///
/// # Safety
/// As for `blosc2_schunk_open`; `udio` is NULL or valid, and its parameters outlive the
/// super-chunk.
#[export]
pub unsafe extern "C" fn blosc2_schunk_open_udio(
    urlpath: *const c_char,
    udio: *const blosc2_io,
) -> *mut blosc2_schunk {
    open(urlpath, 0, udio)
}

/// As `blosc2_schunk_open_offset`, through a back end.
///
/// # Safety
/// As for `blosc2_schunk_open_udio`.
#[export]
pub unsafe extern "C" fn blosc2_schunk_open_offset_udio(
    urlpath: *const c_char,
    offset: i64,
    udio: *const blosc2_io,
) -> *mut blosc2_schunk {
    open(urlpath, offset, udio)
}

/// Publishes a hidden super-chunk; see [`SuperChunk::publish`]. If that fails, it is discarded.
///
/// # Safety
/// As for [`discard`].
pub unsafe fn publish(schunk: *mut blosc2_schunk) -> Result<*mut blosc2_schunk> {
    unsafe_granted!({
        let published = Handle::from_c(schunk).and_then(|created| created.core().publish());
        published.inspect_err(|_| discard(schunk))?;
        Ok(schunk)
    })
}

/// Frees a super-chunk that was just made and cannot be what it should be, and removes its file or
/// directory. What was there before it was made is not touched.
///
/// # Safety
/// As for [`blosc2_schunk_free`].
pub unsafe fn discard(schunk: *mut blosc2_schunk) {
    unsafe_granted!({
        let created = Handle::from_c(schunk).ok();
        let created = created.and_then(|created| created.core().take_new_frame());
        handle::free(schunk);
        if let Some(mut created) = created {
            created.remove();
        }
    })
}

/// Frees a super-chunk, its contexts and its metalayers, and closes its files. NULL is allowed.
/// Returns 0, or 1 if the back end could not free its own.
///
/// # Safety
/// `schunk` is NULL or a super-chunk that was not freed and is not in use.
#[export]
pub unsafe extern "C" fn blosc2_schunk_free(schunk: *mut blosc2_schunk) -> c_int {
    Ok(handle::free(schunk))
}
