//! Metalayers: fixed-length ones in the header of a frame, variable-length ones in its trailer.

use super::access::Changing;
use super::handle::{Handle, Inner};
use super::parts::{free_metalayer, to_c};
use crate::capi::border::{bytes, code};
use crate::capi::compress::Input;
use crate::capi::constants::*;
use crate::capi::context::{self, Context, blosc2_free_ctx};
use crate::capi::types::*;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::Change;
use oxiblosc_frame::meta::{Borrowed, NAME_MAXLEN};
use oxiblosc_memory::{Buffer, ToList};
use std::ffi::{CStr, c_char, c_int};
use std::ptr::null_mut;

/// A name of the program's.
///
/// # Safety
/// `name` is null or a C string that outlives what is returned.
unsafe fn name_of<'a>(name: *const c_char) -> Result<&'a [u8]> {
    if name.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: by the caller's word.
    Ok(unsafe { CStr::from_ptr(name) }.to_bytes())
}

/// A content of the program's.
///
/// # Safety
/// `content` has `len` bytes that outlive what is returned.
unsafe fn content_of<'a>(content: *const u8, len: i32) -> Result<&'a [u8]> {
    let len = usize::try_from(len).map_err(|_| Error::InvalidParam)?;
    if len > 0 && content.is_null() {
        return Err(Error::InvalidParam);
    }
    // SAFETY: by the caller's word.
    unsafe { bytes(content, len) }
}

fn position(layers: &[Borrowed], name: &[u8]) -> Result<usize> {
    if name.len() > NAME_MAXLEN {
        return Err(Error::InvalidParam);
    }
    layers
        .iter()
        .position(|(other, _)| *other == name)
        .ok_or(Error::NotFound)
}

/// Writes the metalayers that a frame is to have, `fixed` if those in the header change, else those in the trailer do; and has
/// the public fields `shown` then.
fn write<T>(
    handle: &Handle,
    changing: &Changing,
    (layers, fixed): (&[Borrowed], bool),
    show: impl FnOnce(&mut blosc2_schunk) -> T,
) -> Result<T> {
    changing.commit(|inner| {
        if inner.store.is_frame() {
            write_frame(handle, inner, layers, fixed)?;
        }
        // SAFETY: the super-chunk is this thread's alone.
        let c = unsafe { handle.fields() };
        let shown = show(c);
        c.change_tick += 1;
        Ok(shown)
    })
}

fn write_frame(handle: &Handle, inner: &mut Inner, layers: &[Borrowed], fixed: bool) -> Result<()> {
    let counts = handle.counts();
    let mut header = handle.header(&counts, inner.store.kind());
    let own = handle.metalayers()?;
    let (metalayers, vlmetalayers) = if fixed {
        (layers, None)
    } else {
        header.has_vlmetalayers = !layers.is_empty();
        (&own[..], Some(layers))
    };
    let cbytes = counts.cbytes.max(0) as u64;
    inner.store.commit(
        &Change::Nothing,
        &[],
        &header,
        metalayers,
        vlmetalayers,
        cbytes,
    )
}

/// Runs a change of metalayers under the frame's lock, on what is on disk now.
fn changing<T>(handle: &Handle, body: impl FnOnce(&Changing) -> Result<T>) -> Result<T> {
    let changing = handle.reserve()?;
    let result = body(&changing);
    changing.finish()?;
    result
}

/// Adds a fixed-length metalayer: `content_len` bytes under a name of at most `BLOSC2_METALAYER_NAME_MAXLEN`. Frames take
/// them only as long as they hold no chunks. Returns the index of the metalayer, or a negative error code.
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
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe {
            let handle = Handle::from_c(schunk).map_err(|_| Error::InvalidParam)?;
            (handle, name_of(name)?)
        };
        changing(handle, |changing| {
            let mut layers = handle.metalayers()?;
            if position(&layers, name) != Err(Error::NotFound) {
                return Err(Error::InvalidParam);
            }
            // SAFETY: by the caller's word.
            let content = unsafe { content_of(content, content_len)? };
            let framed = handle.inner().store.is_frame();
            if layers.len() >= BLOSC2_MAX_METALAYERS || (framed && handle.counts().cbytes > 0) {
                return Err(Error::InvalidParam);
            }
            layers.push((name, content))?;
            let layer = to_c((name, content))?;
            let added = write(handle, changing, (&layers, true), |c| {
                c.metalayers[usize::from(c.nmetalayers)] = layer;
                c.nmetalayers += 1;
                c.nmetalayers - 1
            });
            // SAFETY: made above.
            added.inspect_err(|_| unsafe { free_metalayer(layer) })
        })
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
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe {
            let handle = Handle::from_c(schunk).map_err(|_| Error::InvalidParam)?;
            (handle, name_of(name)?)
        };
        changing(handle, |changing| {
            let mut layers = handle.metalayers()?;
            let at = position(&layers, name)?;
            // SAFETY: by the caller's word.
            let content = unsafe { content_of(content, content_len)? };
            if content.len() > layers[at].1.len() {
                return Ok(at);
            }
            let mut new = layers[at].1.to_list()?;
            new[..content.len()].copy_from_slice(content);
            layers[at].1 = &new;
            write(handle, changing, (&layers, true), |c| {
                // SAFETY: the metalayer is the library's, and as long as `new`.
                unsafe {
                    let layer = c.metalayers[at];
                    std::ptr::copy_nonoverlapping(new.as_ptr(), (*layer).content, new.len());
                }
                at
            })
        })
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
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe { (Handle::from_c(schunk)?, name_of(name)?) };
        if name.len() > NAME_MAXLEN {
            return Err(Error::InvalidParam);
        }
        handle.with(false, |_| position(&handle.vlmetalayers()?, name))
    })
}

/// Compresses the content of a variable-length metalayer.
///
/// # Safety
/// `cparams` is null or valid.
unsafe fn compress(content: &[u8], cparams: *const blosc2_cparams) -> Result<Buffer> {
    let room = content.len() + MAX_OVERHEAD;
    let destsize = i32::try_from(room).map_err(|_| Error::InvalidParam)?;
    let mut chunk = Buffer::zeroed(room)?;
    // SAFETY: by the caller's word; the buffer has this room.
    unsafe {
        let cparams = cparams.as_ref().copied();
        let made = context::compression(cparams.unwrap_or(blosc2_cparams::defaults()))?;
        let ctx = Context::from_c(made)?;
        let input = Input::Buffer(content.as_ptr());
        let cbytes = ctx.compress(
            &input,
            content.len() as i32,
            chunk.as_mut_ptr(),
            destsize,
            true,
        );
        blosc2_free_ctx(made);
        chunk.resize(cbytes?)?;
    }
    Ok(chunk)
}

/// Frames take no more variable-length metalayers than fixed-length ones, as in the reference.
fn most_vlmetalayers(handle: &Handle) -> usize {
    if handle.inner().store.is_frame() {
        BLOSC2_MAX_METALAYERS
    } else {
        BLOSC2_MAX_VLMETALAYERS
    }
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
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe {
            let handle = Handle::from_c(schunk).map_err(|_| Error::InvalidParam)?;
            (handle, name_of(name)?)
        };
        changing(handle, |changing| {
            let mut layers = handle.vlmetalayers()?;
            if position(&layers, name) != Err(Error::NotFound) {
                return Err(Error::InvalidParam);
            }
            // SAFETY: by the caller's word.
            let chunk = unsafe { compress(content_of(content, content_len)?, cparams)? };
            if layers.len() >= most_vlmetalayers(handle) {
                return Err(Error::Failure);
            }
            layers.push((name, &chunk))?;
            let layer = to_c((name, &chunk))?;
            let added = write(handle, changing, (&layers, false), |c| {
                c.vlmetalayers[c.nvlmetalayers as usize] = layer;
                c.nvlmetalayers += 1;
                c.nvlmetalayers - 1
            });
            // SAFETY: made above.
            added.inspect_err(|_| unsafe { free_metalayer(layer) })
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
        if content.is_null() || content_len.is_null() {
            return Err(Error::InvalidParam);
        }
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe {
            let handle = Handle::from_c(schunk).map_err(|_| Error::InvalidParam)?;
            (handle, name_of(name)?)
        };
        let _reading = handle.read()?;
        let layers = handle.vlmetalayers()?;
        let at = position(&layers, name)?;
        let data = decompress(handle, layers[at].1)?;
        let len = data.len();
        // SAFETY: by the caller's word.
        unsafe {
            *content = if len == 0 {
                null_mut()
            } else {
                data.into_raw()
            };
            *content_len = len as i32;
        }
        Ok(at)
    })
}

fn decompress(handle: &Handle, chunk: &[u8]) -> Result<Buffer> {
    let header = ChunkHeader::parse(chunk).map_err(|_| Error::Data)?;
    if header.cbytes != chunk.len() || header.is_lazy() {
        return Err(Error::Data);
    }
    let mut data = Buffer::zeroed(header.nbytes)?;
    // SAFETY: the parameters are the storage's; the buffer has the room.
    unsafe {
        let dparams = *(*handle.fields().storage).dparams;
        let made = context::decompression(dparams)?;
        let done = Context::from_c(made)?.decompress(
            chunk.as_ptr().cast(),
            chunk.len() as i32,
            data.as_mut_ptr().cast(),
            header.nbytes as i32,
        );
        blosc2_free_ctx(made);
        match done {
            Ok(nbytes) if nbytes == header.nbytes => Ok(data),
            Err(Error::MemoryAlloc) => Err(Error::MemoryAlloc),
            _ => Err(Error::ReadBuffer),
        }
    }
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
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe {
            let handle = Handle::from_c(schunk).map_err(|_| Error::InvalidParam)?;
            (handle, name_of(name)?)
        };
        changing(handle, |changing| {
            let mut layers = handle.vlmetalayers()?;
            let at = position(&layers, name)?;
            // SAFETY: by the caller's word.
            let chunk = unsafe { compress(content_of(content, content_len)?, cparams)? };
            layers[at].1 = &chunk;
            let old = write(handle, changing, (&layers, false), |c| {
                // SAFETY: the metalayer is the library's.
                let layer = unsafe { &mut *c.vlmetalayers[at] };
                layer.content_len = chunk.len() as i32;
                std::mem::replace(&mut layer.content, chunk.as_ptr().cast_mut())
            })?;
            chunk.into_raw();
            // SAFETY: nobody reads the old content any more, which came from `malloc`.
            unsafe { libc::free(old.cast()) };
            Ok(at)
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
        // SAFETY: by the caller's word.
        let (handle, name) = unsafe { (Handle::from_c(schunk)?, name_of(name)?) };
        changing(handle, |changing| {
            let mut layers = handle.vlmetalayers()?;
            let at = position(&layers, name)?;
            layers.remove(at);
            write(handle, changing, (&layers, false), |c| {
                let count = c.nvlmetalayers as usize;
                // SAFETY: the metalayer is the library's own.
                unsafe { free_metalayer(c.vlmetalayers[at]) };
                c.vlmetalayers.copy_within(at + 1..count, at);
                c.vlmetalayers[count - 1] = null_mut();
                c.nvlmetalayers -= 1;
                c.nvlmetalayers
            })
        })
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
        // SAFETY: by the caller's word.
        unsafe {
            let handle = Handle::from_c(schunk)?;
            let _unchanged = handle.share()?;
            let c = handle.fields();
            let count = usize::try_from(c.nvlmetalayers).unwrap_or(0);
            for (i, layer) in c.vlmetalayers[..count].iter().enumerate() {
                *names.add(i) = (**layer).name;
            }
            Ok(count)
        }
    })
}
