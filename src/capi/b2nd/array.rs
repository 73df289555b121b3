//! An array behind the pointer that C holds. Its public fields are all there is: they are checked and read anew by every
//! function, and written anew when the shape changes.

use super::chunks::Access;
use super::meta::dtype_to_c;
use crate::capi::exec::Threads;
use crate::capi::schunk::access::{Changing, Reading};
use crate::capi::schunk::handle::Handle;
use crate::capi::schunk::storage::on_heap;
use crate::capi::types::*;
use oxiblosc_core::b2nd::chunks::Sizes;
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::{Meta, NAME, OLD_NAME};
use oxiblosc_core::b2nd::read::Workers;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{List, ToList};
use std::ffi::c_char;
use std::ptr::null_mut;

/// The super-chunk of an array, a view or not.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn shown<'a>(array: *const b2nd_array_t) -> Result<&'a Handle> {
    // SAFETY: by the caller's word.
    unsafe { Handle::shown(array.as_ref().ok_or(Error::NullPointer)?.sc) }
}

/// The content of the metalayer that makes a super-chunk an array, copied.
pub fn metalayer(shown: &Handle) -> Result<Option<&[u8]>> {
    let layers = shown.metalayers()?;
    let find = |name: &[u8]| layers.iter().find(|(other, _)| *other == name);
    let layer = find(NAME).or_else(|| find(OLD_NAME));
    Ok(layer.map(|(_, content)| *content))
}

/// Writes the shapes, and all that follows from them, into the public fields.
pub fn show(c: &mut b2nd_array_t, geometry: &Geometry) {
    c.ndim = geometry.ndim as i8;
    c.shape = geometry.shape;
    c.chunkshape = geometry.chunkshape;
    c.blockshape = geometry.blockshape;
    c.extshape = geometry.extshape;
    c.extchunkshape = geometry.extchunkshape;
    c.nitems = geometry.nitems;
    c.chunknitems = geometry.chunknitems;
    c.extnitems = geometry.extnitems;
    c.blocknitems = geometry.blocknitems;
    c.extchunknitems = geometry.extchunknitems;
    c.item_array_strides = geometry.strides.item_array;
    c.item_chunk_strides = geometry.strides.item_chunk;
    c.item_extchunk_strides = geometry.strides.item_extchunk;
    c.item_block_strides = geometry.strides.item_block;
    c.block_chunk_strides = geometry.strides.block_chunk;
    c.chunk_array_strides = geometry.strides.chunk_array;
}

/// Makes the struct of an array over `sc`. It owns the super-chunk once it is made.
///
/// # Safety
/// `sc` is valid; `dtype` is null or a C string.
pub unsafe fn make(
    sc: *mut blosc2_schunk,
    geometry: &Geometry,
    dtype: Option<&[u8]>,
    dtype_format: i8,
) -> Result<*mut b2nd_array_t> {
    // SAFETY: every field is a number or a pointer, for which zero is a value.
    let mut c: b2nd_array_t = unsafe { std::mem::zeroed() };
    c.sc = sc;
    show(&mut c, geometry);
    c.chunk_cache.nchunk = -1;
    c.dtype_format = dtype_format;
    // SAFETY: by the caller's word.
    c.last_tick = unsafe { (*sc).change_tick };
    c.dtype = match dtype {
        Some(dtype) => dtype_to_c(dtype)?,
        None => null_mut::<c_char>(),
    };
    let dtype = c.dtype;
    on_heap(c).inspect_err(|_| {
        // SAFETY: made above.
        unsafe { libc::free(dtype.cast()) };
    })
}

/// An array in use.
#[derive(Clone)]
pub struct Array<'a> {
    ptr: *mut b2nd_array_t,
    /// Where the chunks are.
    pub handle: &'a Handle,
    /// The array's own super-chunk: `handle`, or a view of it.
    pub shown: &'a Handle,
    /// The shapes.
    pub geometry: Geometry,
    /// Bytes of an item.
    pub typesize: i32,
}

/// Keeps an array as it is until this is dropped.
#[allow(dead_code, reason = "dropped at the end")]
pub enum Locked<'a> {
    /// Others may read.
    Shared(Reading<'a>),
    /// It is to be changed.
    Reserved(Changing<'a>),
}

impl<'a> Array<'a> {
    /// The array behind a pointer, as it is now, and the lock under which it stays so.
    ///
    /// # Safety
    /// `array` is null or valid, and nobody else uses it meanwhile.
    pub unsafe fn open(array: *const b2nd_array_t, exclusive: bool) -> Result<(Self, Locked<'a>)> {
        // SAFETY: by the caller's word.
        unsafe {
            let shown = shown(array)?;
            let handle = Handle::from_c((*array).sc)?;
            let locked = match exclusive {
                true => Locked::Reserved(handle.reserve()?),
                false => Locked::Shared(handle.read()?),
            };
            refresh_in(shown, array)?;
            let c = &*array;
            let ndim = usize::try_from(c.ndim).map_err(|_| Error::InvalidParam)?;
            let geometry = Geometry::new(ndim, &c.shape, &c.chunkshape, &c.blockshape)?;
            let opened = Self {
                ptr: array.cast_mut(),
                handle,
                shown,
                geometry,
                typesize: handle.fields().typesize,
            };
            Ok((opened, locked))
        }
    }

    /// Bytes of an item, a block and a chunk.
    pub fn sizes(&self) -> Result<Sizes> {
        if self.typesize <= 0 {
            return Err(Error::InvalidParam);
        }
        Ok(Sizes {
            item: self.typesize as usize,
            block: self.geometry.block_nbytes(self.typesize),
            chunk: self.geometry.chunk_nbytes(self.typesize)?,
        })
    }

    /// The chunks, for reading.
    pub fn chunks(&self) -> Result<Access<'a>> {
        Access::new(self.handle)
    }

    /// The threads that decompress.
    pub fn readers(&self) -> Result<Workers<'static>> {
        Ok(Workers {
            nthreads: self.handle.dctx()?.update_nthreads(),
            exec: &Threads,
        })
    }

    /// The threads that compress.
    pub fn writers(&self) -> Result<Workers<'static>> {
        Ok(Workers {
            nthreads: self.handle.cctx()?.update_nthreads(),
            exec: &Threads,
        })
    }

    /// The dtype.
    pub fn dtype(&self) -> Result<Option<List<u8>>> {
        // SAFETY: a string of the array's, or null.
        unsafe {
            let dtype = (*self.ptr).dtype;
            let copy = || std::ffi::CStr::from_ptr(dtype).to_bytes().to_list();
            (!dtype.is_null()).then(copy).transpose()
        }
    }

    /// The format of the dtype.
    pub fn dtype_format(&self) -> i8 {
        // SAFETY: one field.
        unsafe { (*self.ptr).dtype_format }
    }

    /// Shows a new shape, which the metalayer already has.
    pub fn reshaped(&mut self, geometry: Geometry) {
        // SAFETY: nobody else uses the fields meanwhile.
        unsafe {
            show(&mut *self.ptr, &geometry);
            (*self.ptr).last_tick = self.shown.fields().change_tick;
        }
        self.geometry = geometry;
    }

    /// What the public fields tell of the chunks is brought up to date, also in a view.
    pub fn follow(&self) {
        self.shown.follow();
    }
}

/// Follows what others did to the frame beneath an array. Gives whether its shape was read again.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn refresh(array: *const b2nd_array_t) -> Result<bool> {
    // SAFETY: by the caller's word.
    let (shown, handle) = unsafe { (shown(array)?, Handle::from_c((*array).sc)?) };
    let _reading = handle.read()?;
    // SAFETY: by the caller's word.
    unsafe { refresh_in(shown, array) }
}

/// As [`refresh`], within an operation.
///
/// # Safety
/// `array` is valid, and `shown` is its super-chunk, which is not changed meanwhile.
unsafe fn refresh_in(shown: &Handle, array: *const b2nd_array_t) -> Result<bool> {
    shown.follow();
    // SAFETY: by the caller's word. Threads that read the array at once write its fields one after the other, and where they
    // are others.
    let (_one, c) = unsafe { (shown.inner(), &mut *array.cast_mut()) };
    // SAFETY: one field each.
    let (framed, tick) = unsafe {
        let sc = shown.fields();
        (!sc.frame.is_null(), sc.change_tick)
    };
    if !framed || shown.is_view() || c.last_tick == tick {
        return Ok(false);
    }
    let Some(content) = metalayer(shown)? else {
        // Perhaps caught in the middle of a change; the next call finds it.
        return Ok(false);
    };
    let (meta, _) = Meta::parse(content, true)?;
    let ndim = meta.ndim;
    let same = i8::try_from(ndim) == Ok(c.ndim)
        && meta.chunkshape[..ndim] == c.chunkshape[..ndim]
        && meta.blockshape[..ndim] == c.blockshape[..ndim];
    if !same {
        return Err(Error::Data);
    }
    let geometry = Geometry::new(ndim, &meta.shape, &meta.chunkshape, &meta.blockshape)?;
    show(c, &geometry);
    c.last_tick = tick;
    Ok(true)
}
