//! Metalayers: fixed-length ones in the header of a frame, variable-length ones in its trailer.

use super::handle::{Handle, Through};
use crate::capi::context::{self, Context};
use crate::capi::prelude::*;
use oxiblosc_core::schunk::copy::VlmetalayerCoder;
use oxiblosc_frame::meta::NAME_MAXLEN;

/// The super-chunk of a function that names a metalayer; NULL is an invalid parameter there.
///
/// # Safety
/// `schunk` is null or valid.
unsafe fn named<'a>(schunk: *mut blosc2_schunk) -> Result<Through<'a>> {
    let handle = unsafe_granted!(Handle::from_c(schunk)).map_err(|_| Error::InvalidParam);
    handle.map(Handle::through)
}

/// As [`named`], for a function that changes the fixed-length metalayers. Those of a view are made with it.
///
/// # Safety
/// As for that.
unsafe fn with_own_metalayers<'a>(schunk: *mut blosc2_schunk) -> Result<Through<'a>> {
    let schunk = unsafe_granted!(named(schunk)?);
    match schunk.shown().is_view() {
        true => Err(Error::InvalidParam),
        false => Ok(schunk),
    }
}

/// A name of the program's.
///
/// # Safety
/// `name` is null or a C string that outlives what is returned.
pub unsafe fn name_of<'a>(name: *const c_char) -> Result<&'a [u8]> {
    let name = unsafe_granted!(c_str(name));
    name.map(CStr::to_bytes).ok_or(Error::InvalidParam)
}

/// A content of the program's.
///
/// # Safety
/// `content` has `len` bytes that outlive what is returned.
pub unsafe fn content_of<'a>(content: *const u8, len: i32) -> Result<&'a [u8]> {
    let len = size(len)?;
    if len > 0 && content.is_null() {
        return Err(Error::InvalidParam);
    }
    unsafe_granted!(bytes(content, len))
}

/// A content of the program's, where the super-chunk has a metalayer of this name.
///
/// # Safety
/// As for [`content_of`].
unsafe fn content_for<'a>(
    found: impl FnOnce() -> Result<usize>,
    content: *const u8,
    len: i32,
) -> Result<&'a [u8]> {
    unsafe_granted!(content_of(content, len)).or_else(|error| found().and(Err(error)))
}

/// Adds a fixed-length metalayer: `content_len` bytes under a name of at most `BLOSC2_METALAYER_NAME_MAXLEN`. Frames take
/// them only as long as they hold no chunks, and views not at all. Returns the index of the metalayer, or a negative error code.
///
/// # Safety
/// `schunk` and `name` are NULL or valid; `content` has `content_len` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_meta_add(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
) -> c_int {
    code("blosc2_meta_add", || {
        let (schunk, name) = unsafe_granted!((with_own_metalayers(schunk)?, name_of(name)?));
        schunk.add_metalayer(name, unsafe_granted!(content_of(content, content_len)?))
    })
}

/// Overwrites the first `content_len` bytes of a fixed-length metalayer; its size stays. Content that is longer than the
/// metalayer changes nothing. Returns the index of the metalayer, or a negative error code.
///
/// # Safety
/// As for `blosc2_meta_add`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_meta_update(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
) -> c_int {
    code("blosc2_meta_update", || {
        let (schunk, name) = unsafe_granted!((with_own_metalayers(schunk)?, name_of(name)?));
        let found = || schunk.read()?.find_metalayer(name);
        let content = unsafe_granted!(content_for(found, content, content_len)?);
        schunk.update_metalayer(name, content)
    })
}

/// Looks for a variable-length metalayer. Returns its index, or a negative error code.
///
/// # Safety
/// `schunk` is valid, `name` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlmeta_exists(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
) -> c_int {
    code("blosc2_vlmeta_exists", || {
        let (schunk, name) = unsafe_granted!((Handle::from_c(schunk)?.through(), name_of(name)?));
        if name.len() > NAME_MAXLEN {
            return Err(Error::InvalidParam);
        }
        schunk.read()?.find_vlmetalayer(name)
    })
}

/// A context for contents of variable-length metalayers, which compresses as `cparams` say; null stands for the defaults.
///
/// # Safety
/// `cparams` is null or valid.
unsafe fn compressing(cparams: *const blosc2_cparams) -> Result<Box<Context>> {
    unsafe_granted!({
        let cparams = cparams.as_ref().copied();
        context::compression(cparams.unwrap_or(blosc2_cparams::defaults()))
    })
}

/// As [`compressing`], for one that decompresses as the storage of a super-chunk says.
fn decompressing(handle: &Handle) -> Result<Box<Context>> {
    // SAFETY: `storage::copy` gives every storage its own parameters. Their pointers are the program's, which `blosc2_schunk_new` requires to be valid.
    unsafe { context::decompression(*handle.storage().dparams) }
}

/// What copies the variable-length metalayers of a super-chunk.
pub fn copying(from: &Handle) -> Result<VlmetalayerCoder> {
    Ok(VlmetalayerCoder {
        decoder: decompressing(from)?,
        // SAFETY: null parameters are allowed.
        encoder: unsafe { compressing(null())? },
    })
}

/// Adds a variable-length metalayer: `content_len` bytes, compressed as `cparams` say (NULL: the defaults), under a name of
/// at most `BLOSC2_METALAYER_NAME_MAXLEN`. Returns the index of the metalayer, or a negative error code.
///
/// # Safety
/// As for `blosc2_meta_add`; `cparams` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlmeta_add(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
    cparams: *mut blosc2_cparams,
) -> c_int {
    code("blosc2_vlmeta_add", || {
        let (schunk, name) = unsafe_granted!((named(schunk)?, name_of(name)?));
        unsafe_granted!({
            let content = content_of(content, content_len)?;
            schunk.add_vlmetalayer(name, content, &*compressing(cparams)?)
        })
    })
}

/// Gives the content of a variable-length metalayer: `*content_len` bytes at `*content`, which the program frees with
/// `free`; NULL if there are none. Returns the index of the metalayer, or a negative error code.
///
/// # Safety
/// The pointers are NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlmeta_get(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut *mut u8,
    content_len: *mut i32,
) -> c_int {
    code("blosc2_vlmeta_get", || {
        not_null!(content, content_len; InvalidParam)?;
        let (schunk, name) = unsafe_granted!((named(schunk)?, name_of(name)?));
        let decoder = decompressing(schunk.shown().base())?;
        let (at, data) = schunk.vlmetalayer(name, &*decoder)?;
        let len = data.len();
        let data = match len {
            0 => null_mut(),
            _ => data.into_raw(),
        };
        unsafe_granted!((*content, *content_len) = (data, len as i32));
        Ok(at)
    })
}

/// Puts other content into a variable-length metalayer; the parameters are those of `blosc2_vlmeta_add`. Returns the index
/// of the metalayer, or a negative error code.
///
/// # Safety
/// As for `blosc2_vlmeta_add`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlmeta_update(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
    cparams: *mut blosc2_cparams,
) -> c_int {
    code("blosc2_vlmeta_update", || {
        let (schunk, name) = unsafe_granted!((named(schunk)?, name_of(name)?));
        let found = || schunk.read()?.find_vlmetalayer(name);
        unsafe_granted!({
            let content = content_for(found, content, content_len)?;
            schunk.update_vlmetalayer(name, content, &*compressing(cparams)?)
        })
    })
}

/// Deletes a variable-length metalayer. Returns how many are left, or a negative error code.
///
/// # Safety
/// `schunk` is valid, `name` a C string.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlmeta_delete(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
) -> c_int {
    code("blosc2_vlmeta_delete", || {
        let (schunk, name) = unsafe_granted!((Handle::from_c(schunk)?.through(), name_of(name)?));
        schunk.delete_vlmetalayer(name)
    })
}

/// Writes the names of the variable-length metalayers into `names`, which has room for `schunk->nvlmetalayers` pointers. The
/// names stay the super-chunk's. Returns how many there are.
///
/// # Safety
/// As said.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlmeta_get_names(
    schunk: *mut blosc2_schunk,
    names: *mut *mut c_char,
) -> c_int {
    code("blosc2_vlmeta_get_names", || {
        unsafe_granted!({
            let schunk = Handle::from_c(schunk)?.through();
            let (shown, base) = (schunk.shown(), schunk.shown().base());
            let state = schunk.peek()?;
            let layers = &(*base.as_c()).vlmetalayers;
            // There is room for as many as the program was told of, which of a view may be fewer.
            let count = state.vlmetalayers().len().min(layers.len());
            let count = count.min(shown.nvlmetalayers());
            // As in the reference, where there are no names there may be no place for them.
            if count > 0 {
                not_null!(names)?;
            }
            for (i, layer) in layers[..count].iter().enumerate() {
                *names.add(i) = (**layer).name;
            }
            Ok(count)
        })
    })
}
