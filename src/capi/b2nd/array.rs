//! An array behind the pointer that C holds. Its public fields are all there is: they are checked and read anew by every
//! function, and written anew when the shape changes.

use super::meta::dtype_to_c;
use crate::capi::prelude::*;
use crate::capi::schunk::handle::Handle;
use oxiblosc_core::b2nd::ArrayRef;
use oxiblosc_core::b2nd::array::find_metalayer;
use oxiblosc_core::b2nd::geometry::Geometry;
use oxiblosc_core::b2nd::meta::Meta;
use oxiblosc_core::schunk::{Changing, Reading};
use oxiblosc_memory::{List, ToList, on_c_heap};
use std::sync::{Mutex, PoisonError};

/// The super-chunk of an array, a view or not.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn shown<'a>(array: *const b2nd_array_t) -> Result<&'a Handle> {
    unsafe_granted!(Handle::shown(array.as_ref().ok_or(Error::NullPointer)?.sc))
}

/// Reads the metalayer that makes a super-chunk an array, within an operation on it.
///
/// # Errors
/// [`Error::MetalayerNotFound`], and those of `read`.
pub fn with_metalayer<T>(shown: &Handle, read: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
    let state = shown.core().read()?;
    let layers = shown.view_metalayers().unwrap_or(state.metalayers());
    let at = find_metalayer(layers).ok_or(Error::MetalayerNotFound)?;
    read(&layers[at].content)
}

/// Writes the shapes, and all that follows from them, into the public fields.
pub fn show(c: &mut b2nd_array_t, geometry: &Geometry) {
    c.ndim = geometry.ndim as i8;
    assign!(c, geometry; shape, chunkshape, blockshape, extshape, extchunkshape);
    assign!(c, geometry; nitems, chunknitems, extnitems, blocknitems, extchunknitems);
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
    c.last_tick = unsafe_granted!((*sc).change_tick);
    c.dtype = match dtype {
        Some(dtype) => dtype_to_c(dtype)?,
        None => null_mut(),
    };
    let dtype = c.dtype;
    on_c_heap(c).inspect_err(|_| {
        // SAFETY: made above.
        unsafe { libc::free(dtype.cast()) };
    })
}

/// An array in use.
pub struct Array<'a> {
    ptr: *mut b2nd_array_t,
    /// Where the chunks are.
    pub handle: &'a Handle,
    /// The array's own super-chunk: `handle`, or a view of it.
    pub shown: &'a Handle,
    /// The array itself.
    pub core: ArrayRef<'a>,
    /// Keeps it as it is.
    _locked: Locked<'a>,
}

#[allow(dead_code, reason = "dropped at the end")]
enum Locked<'a> {
    /// Others may read.
    Shared(Reading<'a>),
    /// It is to be changed.
    Reserved(Changing<'a>),
}

impl<'a> Array<'a> {
    /// The array behind a pointer, as it is now; it stays so as long as this is used.
    ///
    /// # Safety
    /// `array` is null or valid, and no other thread changes its fields meanwhile.
    pub unsafe fn open(array: *const b2nd_array_t, exclusive: bool) -> Result<Self> {
        unsafe_granted!({
            let shown = shown(array)?;
            let handle = Handle::from_c((*array).sc)?;
            let schunk = handle.core();
            let locked = match exclusive {
                true => Locked::Reserved(schunk.reserve()?),
                false => Locked::Shared(schunk.read()?),
            };
            refresh_in(shown, array)?;
            let c = &*array;
            let ndim = usize::try_from(c.ndim).map_err(|_| Error::InvalidParam)?;
            let geometry = Geometry::new(ndim, &c.shape, &c.chunkshape, &c.blockshape)?;
            let typesize = schunk.peek()?.parameters().typesize;
            Ok(Self {
                ptr: array.cast_mut(),
                handle,
                shown,
                core: ArrayRef {
                    schunk,
                    geometry,
                    typesize,
                    is_view: shown.is_view(),
                },
                _locked: locked,
            })
        })
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.core.geometry.ndim
    }

    /// The dtype.
    pub fn dtype(&self) -> Result<Option<List<u8>>> {
        // SAFETY: a string of the array's, or null.
        unsafe {
            let dtype = (*self.ptr).dtype;
            let copy = || CStr::from_ptr(dtype).to_bytes().to_list();
            (!dtype.is_null()).then(copy).transpose()
        }
    }

    /// The format of the dtype.
    pub fn dtype_format(&self) -> i8 {
        // SAFETY: one field.
        unsafe { (*self.ptr).dtype_format }
    }

    /// Changes the shape, and shows the new one.
    pub fn reshape(&mut self, change: impl FnOnce(&mut ArrayRef) -> Result<()>) -> Result<()> {
        change(&mut self.core)?;
        let tick = self.core.schunk.peek()?.tick();
        // SAFETY: no other thread uses the fields meanwhile.
        unsafe {
            show(&mut *self.ptr, &self.core.geometry);
            (*self.ptr).last_tick = tick;
        }
        Ok(())
    }

    /// Changes items, and brings what the public fields tell of the chunks up to date, also in a view.
    pub fn write(&self, change: impl FnOnce(&ArrayRef) -> Result<()>) -> Result<()> {
        change(&self.core)?;
        self.shown.follow();
        Ok(())
    }
}

/// Follows what others did to the frame beneath an array. Gives whether its shape was read again.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn refresh(array: *const b2nd_array_t) -> Result<bool> {
    let (shown, schunk) = unsafe_granted!((shown(array)?, Handle::core_of((*array).sc)?));
    let _reading = schunk.read()?;
    unsafe_granted!(refresh_in(shown, array))
}

/// As [`refresh`], within an operation.
///
/// # Safety
/// `array` is valid, and `shown` is its super-chunk, which is not changed meanwhile.
unsafe fn refresh_in(shown: &Handle, array: *const b2nd_array_t) -> Result<bool> {
    shown.follow();
    let state = shown.core().read()?;
    let last_tick = unsafe_granted!((*array).last_tick);
    if shown.is_view() || !state.may_differ_since(last_tick) {
        return Ok(false);
    }
    let Some(at) = find_metalayer(state.metalayers()) else {
        // Perhaps caught in the middle of a change; the next call finds it.
        return Ok(false);
    };
    // Threads that read the array at once write its fields one after the other.
    static ONE: Mutex<()> = Mutex::new(());
    let _one = ONE.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: by the contract, and under the mutex.
    let c = unsafe { &mut *array.cast_mut() };
    let (meta, _) = Meta::parse(&state.metalayers()[at].content, true)?;
    let ndim = meta.ndim;
    let same = i8::try_from(ndim) == Ok(c.ndim)
        && meta.chunkshape[..ndim] == c.chunkshape[..ndim]
        && meta.blockshape[..ndim] == c.blockshape[..ndim];
    if !same {
        return Err(Error::Data);
    }
    let geometry = meta.geometry()?;
    show(c, &geometry);
    c.last_tick = state.tick();
    Ok(true)
}
