//! An array behind the pointer that C holds: the public structure, in which programs see the
//! shapes, and behind it what the library knows of the array.

use super::create::FillArray;
use crate::capi::prelude::*;
use crate::capi::schunk::handle;
use crate::capi::unwritten::unwritten;
use oxiblosc::b2nd::ArrayRef;
use oxiblosc::b2nd::geometry::Geometry;
use oxiblosc::b2nd::open::{ArrayInUse, OpenArray, ShapeWindow};
use oxiblosc_base::memory::boxed;
use std::cell::UnsafeCell;

/// An array that C knows.
#[repr(C)]
struct OpenHandle {
    /// First, so that a pointer to it is a pointer to the handle.
    c: UnsafeCell<b2nd_array_t>,
    open: OpenArray,
}

impl ShapeWindow for OpenHandle {
    fn show(&self, geometry: &Geometry, tick: i64) {
        // SAFETY: one thread at a time shows the shapes (see `ShapeWindow`); programs do not write
        // the fields.
        show(unsafe { &mut *self.c.get() }, geometry, tick);
    }
}

/// Writes the shapes, and all that follows from them, into the public fields.
fn show(c: &mut b2nd_array_t, geometry: &Geometry, tick: i64) {
    c.ndim = geometry.ndim as i8;
    assign!(c, geometry; shape, chunkshape, blockshape, extshape, extchunkshape);
    assign!(c, geometry; nitems, chunknitems, extnitems, blocknitems, extchunknitems);
    c.item_array_strides = geometry.strides.item_array;
    c.item_chunk_strides = geometry.strides.item_chunk;
    c.item_extchunk_strides = geometry.strides.item_extchunk;
    c.item_block_strides = geometry.strides.item_block;
    c.block_chunk_strides = geometry.strides.block_chunk;
    c.chunk_array_strides = geometry.strides.chunk_array;
    c.last_tick = tick;
}

/// The handle of an array, and the super-chunk that it shows.
///
/// # Safety
/// `array` is null or came from [`make`] and was not freed.
unsafe fn handle_of<'a>(array: *const b2nd_array_t) -> Result<(&'a OpenHandle, &'a Handle)> {
    unsafe_granted!({
        let handle = array.cast::<OpenHandle>().as_ref();
        let handle = handle.ok_or(Error::NULL_POINTER)?;
        Ok((handle, Handle::from_c((*array).sc)?))
    })
}

/// Makes an array over `sc`, which it owns once it is made.
///
/// # Safety
/// `sc` is valid.
pub unsafe fn make(
    sc: *mut blosc2_schunk,
    geometry: &Geometry,
    (dtype, dtype_format): (Option<&[u8]>, i8),
) -> Result<*mut b2nd_array_t> {
    // SAFETY: every field is a number or a pointer, for which zero is a value.
    let mut c: b2nd_array_t = unsafe { std::mem::zeroed() };
    let shown = unsafe_granted!(Handle::from_c(sc)?);
    let tick = match shown.is_view() {
        true => 0,
        false => shown.core().peek()?.tick(),
    };
    let open = OpenArray::new(geometry, (dtype, dtype_format), tick, shown.is_view())?;
    show(&mut c, geometry, tick);
    c.sc = sc;
    c.chunk_cache.nchunk = -1;
    c.dtype_format = dtype_format;
    c.dtype = (open.dtype().0).map_or(null_mut(), |dtype| dtype.as_ptr().cast_mut());
    let c = UnsafeCell::new(c);
    Ok(Box::into_raw(boxed(OpenHandle { c, open })?).cast())
}

/// Frees an array and its super-chunk.
///
/// # Safety
/// `array` is valid, and used no more.
pub unsafe fn free(array: *mut b2nd_array_t) {
    // SAFETY: by `# Safety` the array is from `make`, which boxes an `OpenHandle`, and neither it
    // nor its super-chunk is used after this.
    unsafe {
        let mut array = Box::from_raw(array.cast::<OpenHandle>());
        handle::free(array.c.get_mut().sc);
    }
}

/// An array in use.
pub struct ArrayGuard<'a> {
    this: &'a OpenHandle,
    /// Where the chunks are.
    pub handle: &'a Handle,
    /// The array's own super-chunk: `handle`, or a view of it.
    pub shown: &'a Handle,
    core: ArrayInUse<'a>,
}

impl<'a> std::ops::Deref for ArrayGuard<'a> {
    type Target = ArrayRef<'a>;
    fn deref(&self) -> &ArrayRef<'a> {
        &self.core.array
    }
}

impl<'a> ArrayGuard<'a> {
    /// The array behind a pointer, as it is now; it stays so as long as this is used.
    ///
    /// # Safety
    /// `array` is null or valid.
    pub unsafe fn open(array: *const b2nd_array_t, exclusive: bool) -> Result<Self> {
        let (this, shown) = unsafe_granted!(handle_of(array)?);
        let handle = shown.base();
        let core = match exclusive {
            true => this.open.reserve(handle.core(), this)?,
            false => this.open.read(handle.core(), this)?,
        };
        shown.follow();
        Ok(Self {
            this,
            handle,
            shown,
            core,
        })
    }

    /// The number of dimensions.
    pub fn ndim(&self) -> usize {
        self.geometry.ndim
    }

    /// The dtype and its format.
    pub fn dtype(&self) -> (Option<&'a [u8]>, i8) {
        let (dtype, format) = self.this.open.dtype();
        (dtype.map(CStr::to_bytes), format)
    }

    /// Changes the shape, and shows the new one.
    pub fn reshape(&mut self, change: FillArray) -> Result<()> {
        let changed = self.core.reshape(self.this, change);
        changed.map_err(unwritten(Error::FAILURE))
    }

    /// Changes items, and brings what the public fields tell of the chunks up to date, also in a
    /// view.
    pub fn write(&self, change: impl FnOnce(&ArrayRef) -> Result<()>) -> Result<()> {
        change(self).map_err(unwritten(Error::FAILURE))?;
        self.shown.follow();
        Ok(())
    }
}

/// The super-chunk of an array, a view or not.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn shown<'a>(array: *const b2nd_array_t) -> Result<&'a Handle> {
    Ok(unsafe_granted!(handle_of(array)?).1)
}

/// Follows what others did to the frame beneath an array. Gives whether its shape was read again.
///
/// # Safety
/// `array` is null or valid.
pub unsafe fn refresh(array: *const b2nd_array_t) -> Result<bool> {
    let (this, shown) = unsafe_granted!(handle_of(array)?);
    let _reading = shown.core().read()?;
    shown.follow();
    this.open.refresh(shown.core(), this)
}
