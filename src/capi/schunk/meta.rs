//! Metalayers: fixed-length ones in the header of a frame, variable-length ones in its trailer.

use crate::capi::context;
use crate::capi::prelude::*;
use oxiblosc::format::frame::meta::NAME_MAXLEN;
use oxiblosc::schunk::copy::VlmetalayerCoder;

/// The super-chunk and the name of a metalayer that C passes. Here null is an invalid parameter.
///
/// # Safety
/// `schunk` is null or valid, `layer` null or a C string.
unsafe fn named<'a>(
    schunk: *mut blosc2_schunk,
    layer: *const c_char,
) -> Result<(ViewedSchunk<'a>, &'a [u8])> {
    not_null!(schunk; INVALID_PARAM)?;
    unsafe_granted!(Ok((ViewedSchunk::from_c(schunk)?, name_of(layer)?)))
}

/// Refuses views, whose fixed-length metalayers are made with them.
fn check_not_view(schunk: &ViewedSchunk) -> Result<()> {
    match schunk.shown().is_view() {
        true => Err(Error::INVALID_PARAM),
        false => Ok(()),
    }
}

/// A name of the program's.
///
/// # Safety
/// `name` is null or a C string that outlives what is returned.
pub unsafe fn name_of<'a>(name: *const c_char) -> Result<&'a [u8]> {
    let name = unsafe_granted!(c_str(name));
    name.map(CStr::to_bytes).ok_or(Error::INVALID_PARAM)
}

/// A content of the program's.
///
/// # Safety
/// `content` has `len` bytes that outlive what is returned.
pub unsafe fn content_of<'a>(content: *const u8, len: i32) -> Result<&'a [u8]> {
    let len = size(len)?;
    if len > 0 && content.is_null() {
        return Err(Error::INVALID_PARAM);
    }
    unsafe_granted!(bytes(content, len))
}

/// Adds a fixed-length metalayer: `content_len` bytes under a name of at most
/// `BLOSC2_METALAYER_NAME_MAXLEN`. Frames take them only as long as they hold no chunks, and views
/// not at all. Returns the index of the metalayer, or a negative error code.
///
/// # Safety
/// `schunk` and `name` are NULL or valid; `content` has `content_len` bytes.
#[export]
pub unsafe extern "C" fn blosc2_meta_add(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
) -> c_int {
    let (schunk, name) = &named(schunk, name)?;
    check_not_view(schunk)?;
    schunk.add_metalayer(name, content_of(content, content_len)?)
}

/// Overwrites the first `content_len` bytes of a fixed-length metalayer; its size stays. Content
/// that is longer than the metalayer changes nothing. Returns the index of the metalayer, or a
/// negative error code.
///
/// # Safety
/// As for `blosc2_meta_add`.
#[export]
pub unsafe extern "C" fn blosc2_meta_update(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
) -> c_int {
    let (schunk, name) = &named(schunk, name)?;
    check_not_view(schunk)?;
    // As in the reference, an unknown name comes before invalid content.
    schunk.read()?.find_metalayer(name)?;
    schunk.update_metalayer(name, content_of(content, content_len)?)
}

/// Looks for a variable-length metalayer. Returns its index, or a negative error code.
///
/// # Safety
/// `schunk` is valid, `name` a C string.
#[export]
pub unsafe extern "C" fn blosc2_vlmeta_exists(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
) -> c_int {
    let schunk = &ViewedSchunk::from_c(schunk)?;
    let name = name_of(name)?;
    if name.len() > NAME_MAXLEN {
        return Err(Error::INVALID_PARAM);
    }
    schunk.read()?.find_vlmetalayer(name)
}

/// A context for contents of variable-length metalayers, which compresses as `cparams` say; null
/// stands for the defaults.
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
    // SAFETY: `Storage::copy_of` gives every copy its own parameters. Their pointers are the
    // program's, which `blosc2_schunk_new` requires to be valid.
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

/// Adds a variable-length metalayer: `content_len` bytes, compressed as `cparams` say (NULL: the
/// defaults), under a name of at most `BLOSC2_METALAYER_NAME_MAXLEN`. Returns the index of the
/// metalayer, or a negative error code.
///
/// # Safety
/// As for `blosc2_meta_add`; `cparams` is NULL or valid.
#[export]
pub unsafe extern "C" fn blosc2_vlmeta_add(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
    cparams: *mut blosc2_cparams,
) -> c_int {
    let (schunk, name) = &named(schunk, name)?;
    let content = content_of(content, content_len)?;
    schunk.add_vlmetalayer(name, content, &*compressing(cparams)?)
}

/// Gives the content of a variable-length metalayer: `*content_len` bytes at `*content`, which the
/// program frees with `free`; NULL if there are none. Returns the index of the metalayer, or a
/// negative error code.
///
/// # Safety
/// The pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn blosc2_vlmeta_get(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut *mut u8,
    content_len: *mut i32,
) -> c_int {
    let (schunk, name) = &named(schunk, name)?;
    not_null!(content, content_len; INVALID_PARAM)?;
    let decoder = decompressing(schunk.shown().base())?;
    let (at, data) = schunk.vlmetalayer(name, &*decoder)?;
    match data.len() {
        0 => (*content, *content_len) = (null_mut(), 0),
        _ => _ = hand_over(data, content, content_len),
    }
    Ok(at)
}

/// Puts other content into a variable-length metalayer; the parameters are those of
/// `blosc2_vlmeta_add`. Returns the index of the metalayer, or a negative error code.
///
/// # Safety
/// As for `blosc2_vlmeta_add`.
#[export]
pub unsafe extern "C" fn blosc2_vlmeta_update(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
    content: *mut u8,
    content_len: i32,
    cparams: *mut blosc2_cparams,
) -> c_int {
    let (schunk, name) = &named(schunk, name)?;
    schunk.read()?.find_vlmetalayer(name)?;
    let content = content_of(content, content_len)?;
    schunk.update_vlmetalayer(name, content, &*compressing(cparams)?)
}

/// Deletes a variable-length metalayer. Returns how many are left, or a negative error code.
///
/// # Safety
/// `schunk` is valid, `name` a C string.
#[export]
pub unsafe extern "C" fn blosc2_vlmeta_delete(
    schunk: *mut blosc2_schunk,
    name: *const c_char,
) -> c_int {
    ViewedSchunk::from_c(schunk)?.delete_vlmetalayer(name_of(name)?)
}

/// Writes the names of the variable-length metalayers into `names`, which has room for
/// `schunk->nvlmetalayers` pointers. The names stay the super-chunk's. Returns how many there are.
///
/// # Safety
/// As said.
#[export]
pub unsafe extern "C" fn blosc2_vlmeta_get_names(
    schunk: *mut blosc2_schunk,
    names: *mut *mut c_char,
) -> c_int {
    let schunk = &ViewedSchunk::from_c(schunk)?;
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
}
