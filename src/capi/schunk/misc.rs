//! Parameters, order, special values, locks.

use super::handle::{Handle, Plan};
use super::parts::{cparams_of, dparams_of};
use super::storage::on_heap;
use crate::capi::border::{code, code64, pointer};
use crate::capi::constants::*;
use crate::capi::special;
use crate::capi::types::*;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_core::schunk::Store;
use oxiblosc_core::schunk::rules::{Chunk, Counts};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{Change, Item};
use oxiblosc_frame::offsets::{MAX_CHUNKS, Offsets, Place};
use oxiblosc_memory::{Buffer, List};
use std::ffi::c_int;
use std::ptr::null_mut;

/// Gives the compression parameters of a super-chunk in a struct that the program frees with `free`. Returns 0.
///
/// # Safety
/// Both pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_cparams(
    schunk: *mut blosc2_schunk,
    cparams: *mut *mut blosc2_cparams,
) -> c_int {
    code("blosc2_schunk_get_cparams", || {
        // SAFETY: by the caller's word.
        unsafe {
            let handle = Handle::from_c(schunk)?;
            *cparams.as_mut().ok_or(Error::NullPointer)? = on_heap(cparams_of(handle.fields()))?;
        }
        Ok(0)
    })
}

/// Gives the decompression parameters of a super-chunk in a struct that the program frees with `free`. Returns 0.
///
/// # Safety
/// Both pointers are valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_get_dparams(
    schunk: *mut blosc2_schunk,
    dparams: *mut *mut blosc2_dparams,
) -> c_int {
    code("blosc2_schunk_get_dparams", || {
        // SAFETY: by the caller's word.
        unsafe {
            let handle = Handle::from_c(schunk)?;
            *dparams.as_mut().ok_or(Error::NullPointer)? = on_heap(dparams_of(handle.fields()))?;
        }
        Ok(0)
    })
}

/// Puts the chunks into another order: `offsets_order[i]` says which of them comes at place `i`. Returns 0;
/// `BLOSC2_ERROR_DATA` unless every chunk is named once.
///
/// # Safety
/// `schunk` is valid; `offsets_order` has `schunk->nchunks` elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_reorder_offsets(
    schunk: *mut blosc2_schunk,
    offsets_order: *mut i64,
) -> c_int {
    code("blosc2_schunk_reorder_offsets", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        let count = usize::try_from(handle.nchunks()).unwrap_or(0);
        let framed = handle.inner().store.is_frame();
        if count == 0 {
            return if framed { Err(Error::Data) } else { Ok(0) };
        }
        if offsets_order.is_null() {
            return Err(Error::NullPointer);
        }
        // SAFETY: by the caller's word.
        let given = unsafe { std::slice::from_raw_parts(offsets_order, count) };
        let mut order = List::with_capacity(count)?;
        let mut used = List::filled(false, count)?;
        for from in given {
            let from = usize::try_from(*from).map_err(|_| Error::Data)?;
            let used = used.get_mut(from).ok_or(Error::Data)?;
            if std::mem::replace(used, true) {
                return Err(Error::Data);
            }
            order.push(from)?;
        }
        handle.change(|_, counts| {
            if counts.nchunks != count as i64 {
                return Err(Error::Data);
            }
            Ok(Plan {
                counts: counts.reordered(order[count - 1] != count - 1),
                change: Change::Reorder(&order),
                owned: None,
            })
        })?;
        Ok(0)
    })
}

/// Bytes of the frame, as it is or will be once it is closed; without a frame an estimate.
///
/// # Safety
/// `schunk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_frame_len(schunk: *mut blosc2_schunk) -> i64 {
    code64("blosc2_schunk_frame_len", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        if let Some(len) = handle.with_frame(|bytes| Ok(bytes.len() as i64))? {
            return Ok(len);
        }
        let _unchanged = handle.share()?;
        let counts = handle.counts();
        match &handle.inner().store {
            Store::Disk(disk) => i64::try_from(disk.frame_len()).map_err(|_| Error::Failure),
            _ => Ok(counts.cbytes + counts.nchunks * 8),
        }
    })
}

/// Fills an empty super-chunk with `nitems` items of a special value (`BLOSC2_SPECIAL_ZERO`, `BLOSC2_SPECIAL_NAN`,
/// `BLOSC2_SPECIAL_UNINIT`) in chunks of `chunksize` bytes. In a frame they take no room, however many they are. Returns
/// the number of chunks, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_fill_special(
    schunk: *mut blosc2_schunk,
    nitems: i64,
    special_value: c_int,
    chunksize: i32,
) -> i64 {
    code64("blosc2_schunk_fill_special", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        if nitems == 0 {
            return Ok(0);
        }
        let changing = handle.reserve()?;
        // SAFETY: one field.
        let typesize = unsafe { handle.fields().typesize };
        let counts = handle.counts();
        if nitems < 0 || chunksize <= 0 || typesize <= 0 {
            return Err(Error::InvalidParam);
        }
        if counts.nbytes > 0 || counts.cbytes > 0 {
            return Err(Error::FrameSpecial);
        }
        let chunkitems = i64::from(chunksize / typesize);
        if chunkitems == 0 {
            return Err(Error::InvalidParam);
        }
        let nbytes = nitems.checked_mul(i64::from(typesize));
        let nbytes = nbytes.ok_or(Error::SchunkSpecial)?;
        if nitems / chunkitems > i64::from(i32::MAX) {
            return Err(Error::SchunkSpecial);
        }
        let framed = handle.inner().store.is_frame();
        let error = if framed {
            Error::FrameSpecial
        } else {
            Error::SchunkSpecial
        };
        let nchunks = usize::try_from((nitems + chunkitems - 1) / chunkitems).map_err(|_| error)?;
        let kind = match special_value {
            BLOSC2_SPECIAL_ZERO => Special::Zero,
            BLOSC2_SPECIAL_NAN => Special::Nan,
            BLOSC2_SPECIAL_UNINIT => Special::Uninit,
            _ => return Err(error),
        };
        if chunksize % typesize != 0 || nchunks > MAX_CHUNKS {
            return Err(error);
        }
        let place = Place::Special(kind);
        let sample = sample_of(handle, kind, chunksize).map_err(|why| why.or(error))?;
        let last = (nbytes - (nchunks as i64 - 1) * i64::from(chunksize)) as i32;
        if !framed {
            return fill_separate(handle, kind, &sample, nchunks, last);
        }
        let filled = Counts {
            nchunks: nchunks as i64,
            nbytes,
            chunksize,
            ..counts
        };
        let blocksize = ChunkHeader::parse(&sample)?.blocksize_field() as i32;
        let done = changing.commit(|inner| {
            if inner.store.nchunks() > 0 {
                return Err(Error::FrameSpecial);
            }
            // SAFETY: the super-chunk is this thread's alone, and the reference is not kept.
            let set =
                |blocksize| unsafe { std::mem::replace(&mut handle.fields().blocksize, blocksize) };
            let before = set(blocksize);
            let plan = Plan {
                counts: filled,
                change: Change::Fill(place, nchunks),
                owned: None,
            };
            let done = inner.apply(handle, &counts, plan);
            done.inspect_err(|_| {
                set(before);
            })
        });
        changing.finish()?;
        done
    })
}

/// A chunk of special values, as the super-chunk's own parameters have it.
fn sample_of(handle: &Handle, kind: Special, nbytes: i32) -> Result<List<u8>> {
    let mut chunk = List::filled(0, EXTENDED_HEADER_LENGTH)?;
    // SAFETY: the parameters are the super-chunk's; the buffer has this room.
    unsafe {
        let cparams = cparams_of(handle.fields());
        let room = EXTENDED_HEADER_LENGTH as i32;
        special::make(cparams, kind, nbytes, &[], chunk.as_mut_ptr().cast(), room)?;
    }
    Ok(chunk)
}

fn fill_separate(
    handle: &Handle,
    kind: Special,
    sample: &[u8],
    nchunks: usize,
    last: i32,
) -> Result<i64> {
    let last = sample_of(handle, kind, last)?;
    let before = handle.counts();
    for nchunk in 0..nchunks {
        let bytes = if nchunk + 1 == nchunks {
            &last[..]
        } else {
            sample
        };
        let info = Chunk::new(&ChunkHeader::parse(bytes)?);
        handle.set_current(nchunk as i64);
        let appended = handle.change(|inner, counts| {
            Ok(Plan {
                counts: counts.appended(&info, inner.keeping())?,
                change: Change::Append(Item::Stored(bytes)),
                owned: None,
            })
        });
        if let Err(error) = appended {
            // Those that came before it go again, which takes no memory.
            for last in (0..nchunk).rev() {
                handle.change(|_, _| {
                    Ok(Plan {
                        counts: before,
                        change: Change::Delete(last),
                        owned: None,
                    })
                })?;
            }
            return Err(error.or(Error::SchunkSpecial));
        }
    }
    Ok(handle.counts().nchunks)
}

/// Keeps other handles and processes away from the frame until `blosc2_schunk_unlock`, so that what happens in between
/// happens at once for them. Calls may nest. Without locking it does nothing. Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_lock(schunk: *mut blosc2_schunk) -> c_int {
    code("blosc2_schunk_lock", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        handle.lock_for_program()?;
        Ok(0)
    })
}

/// Ends what `blosc2_schunk_lock` began. Returns 0, or a negative error code.
///
/// # Safety
/// `schunk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_unlock(schunk: *mut blosc2_schunk) -> c_int {
    code("blosc2_schunk_unlock", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        handle.unlock_for_program()?;
        Ok(0)
    })
}

/// Brings the super-chunk up to date with its frame on disk, if another handle changed that. Returns 1 if it did, 0 if
/// there was nothing to do, or a negative error code.
///
/// # Safety
/// `schunk` is NULL or valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_refresh(schunk: *mut blosc2_schunk) -> c_int {
    code("blosc2_schunk_refresh", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        Ok(i32::from(handle.update()?))
    })
}

/// Gives the offsets of the chunks of a frame, `schunk->nchunks` of them, in memory that the program frees with `free`; see
/// the format documents for what they mean. NULL without a frame or without chunks.
///
/// # Safety
/// `schunk` is valid.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_frame_get_offsets(schunk: *mut blosc2_schunk) -> *mut i64 {
    pointer("blosc2_frame_get_offsets", || {
        // SAFETY: by the caller's word.
        let handle = unsafe { Handle::from_c(schunk)? };
        handle.with(false, |inner| {
            let offsets: &Offsets = match &inner.store {
                Store::Separate(_) => return Err(Error::FrameType),
                Store::Memory(memory) => memory.offsets(),
                Store::Disk(disk) => disk.offsets(),
            };
            if offsets.is_empty() {
                return Ok(null_mut());
            }
            if offsets.len() as i64 != handle.counts().nchunks {
                // The program reads as many as the field says.
                return Err(Error::Data);
            }
            let mut bytes = Buffer::zeroed(offsets.len() * 8)?;
            for (out, offset) in bytes.chunks_exact_mut(8).zip(offsets.iter()) {
                out.copy_from_slice(&offset.to_ne_bytes());
            }
            Ok(bytes.into_raw().cast())
        })
    })
}

/// Says whether `blosc2_schunk_free` is to leave the frame's buffer in memory to the program, which then frees it with
/// `free`. A buffer given to `blosc2_schunk_from_buffer` is the program's unless `avoid_cframe_free` is false here.
///
/// # Safety
/// `schunk` is valid. When a buffer is handed over, it came from `malloc`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_schunk_avoid_cframe_free(
    schunk: *mut blosc2_schunk,
    avoid_cframe_free: bool,
) {
    crate::capi::border::guard((), || {
        // SAFETY: by the caller's word.
        let Ok(handle) = (unsafe { Handle::from_c(schunk) }) else {
            return;
        };
        let mut inner = handle.inner();
        inner.avoid_free = avoid_cframe_free;
        if let (Store::Memory(memory), false) = (&mut inner.store, avoid_cframe_free) {
            // SAFETY: by the caller's word.
            unsafe { memory.take_ownership() };
        }
    });
}
