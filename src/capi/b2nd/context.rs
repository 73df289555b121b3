//! What arrays are made from.

use crate::capi::prelude::*;
use crate::capi::schunk::meta::{content_of, name_of};
use crate::capi::schunk::storage::Storage;
use oxiblosc::b2nd::geometry::{self, lengths};
use oxiblosc::b2nd::{Dims, MAX_DIM};
use oxiblosc::format::frame::meta::MetalayerRef;
use oxiblosc_base::memory::{CStrBuf, Collect, Text, TryVec, boxed};

/// The struct behind the pointer that C holds. The headers do not show it, but programs that know
/// the reference's look inside, so it is laid out as that one is.
#[repr(C)]
pub struct Params {
    /// Dimensions.
    ndim: i8,
    /// Shape of the array.
    shape: Dims,
    /// Shape of a chunk.
    chunkshape: [i32; MAX_DIM],
    /// Shape of a block.
    blockshape: [i32; MAX_DIM],
    /// From `malloc`; null for none.
    dtype: *mut c_char,
    /// How to read the dtype.
    dtype_format: i8,
    /// The library's copy.
    pub storage: Storage,
    /// Metalayers beside the array's own, with the program's names and contents.
    metalayers: [blosc2_metalayer; B2ND_MAX_METALAYERS],
    /// How many of them there are.
    nmetalayers: i32,
}

impl Drop for Params {
    fn drop(&mut self) {
        // SAFETY: `dtype` is null or from `CStrBuf::to_malloc`. Only this struct has it.
        unsafe { libc::free(self.dtype.cast()) };
    }
}

impl Params {
    /// The parameters behind the pointer.
    ///
    /// # Safety
    /// `ctx` is null or valid, and no other thread uses it meanwhile.
    pub unsafe fn from_c<'a>(ctx: *mut b2nd_context_t) -> Result<&'a mut Self> {
        unsafe_granted!(ctx.cast::<Self>().as_mut()).ok_or(Error::NULL_POINTER)
    }

    /// The names and contents of the metalayers beside the array's own.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for one without a name or content; [`Error::MEMORY_ALLOC`].
    ///
    /// # Safety
    /// Names are null or C strings, contents null or as long as they say; all outlive what is
    /// returned.
    pub unsafe fn others<'a>(&self) -> Result<TryVec<MetalayerRef<'a>>> {
        let count = or_zero(self.nmetalayers).min(B2ND_MAX_METALAYERS);
        let layers = self.metalayers[..count].iter().map(|layer| {
            let content = unsafe_granted!(content_of(layer.content, layer.content_len));
            Ok((unsafe_granted!(name_of(layer.name)?), content?))
        });
        layers.try_collect_vec()
    }

    /// The shapes of the array, of its chunks and of their blocks.
    pub fn shapes(&self) -> (&[i64], &[i32], &[i32]) {
        let dims = ..or_zero(self.ndim).min(MAX_DIM);
        let (chunkshape, blockshape) = (&self.chunkshape[dims], &self.blockshape[dims]);
        (&self.shape[dims], chunkshape, blockshape)
    }

    /// Sets the shape of the array.
    pub fn set_shape(&mut self, shape: &[i64]) {
        self.ndim = shape.len() as i8;
        self.shape = lengths(shape);
    }

    /// What an item is, and the format of that text.
    pub fn dtype(&self) -> (Option<&[u8]>, i8) {
        // SAFETY: null, or the C string from `CStrBuf::to_malloc` that this struct owns.
        let dtype = unsafe { c_str(self.dtype) };
        (dtype.map(CStr::to_bytes), self.dtype_format)
    }
}

/// Makes the parameters of an array: `ndim` dimensions, the shapes of the array, of its chunks and
/// of their blocks, the dtype as text (NULL: opaque bytes), and the format of that text.
/// `b2_storage` (NULL: the defaults) says how it is kept and compressed, and is copied with what it
/// points to; the block size follows from `blockshape`. Arrays get the `nmetalayers` metalayers at
/// `metalayers` beside their own; names and contents must stay as long as the context is used. Free
/// it with `b2nd_free_ctx`.
///
/// Returns NULL for impossible shapes, or more than `B2ND_MAX_METALAYERS` metalayers.
///
/// # Safety
/// The shapes have `ndim` elements each; all pointers are NULL or valid.
#[export]
pub unsafe extern "C" fn b2nd_create_ctx(
    b2_storage: *const blosc2_storage,
    ndim: i8,
    shape: *const i64,
    chunkshape: *const i32,
    blockshape: *const i32,
    dtype: *const c_char,
    dtype_format: i8,
    metalayers: *const blosc2_metalayer,
    nmetalayers: i32,
) -> *mut b2nd_context_t {
    let ndim = size(ndim)?;
    let count = or_zero(nmetalayers);
    if ndim > MAX_DIM || count > B2ND_MAX_METALAYERS {
        return Err(Error::INVALID_PARAM);
    }
    let shape = any_items(shape, ndim)?;
    let chunkshape = any_items(chunkshape, ndim)?;
    let blockshape = any_items(blockshape, ndim)?;
    let defaults = blosc2_storage::defaults();
    let mut storage = Storage::copy_of(b2_storage.as_ref().unwrap_or(&defaults))?;
    geometry::check(shape, chunkshape, blockshape)?;
    let cparams = storage.cparams();
    cparams.blocksize = geometry::blocksize(blockshape, cparams.typesize)?;
    let bytes = Text::<24>::of(format_args!("|S{}", cparams.typesize));
    let dtype = c_str(dtype).map_or(bytes.as_bytes(), CStr::to_bytes);
    let mut params = Params {
        ndim: ndim as i8,
        shape: lengths(shape),
        chunkshape: lengths(chunkshape),
        blockshape: lengths(blockshape),
        dtype: CStrBuf::to_malloc(dtype)?,
        dtype_format,
        storage,
        metalayers: [blosc2_metalayer::none(); B2ND_MAX_METALAYERS],
        nmetalayers: count as i32,
    };
    params.metalayers[..count].copy_from_slice(any_items(metalayers, count)?);
    Ok(Box::into_raw(boxed(params)?).cast())
}

/// Frees the parameters of an array. Returns 0, or `BLOSC2_ERROR_NULL_POINTER`.
///
/// # Safety
/// `ctx` is NULL or came from `b2nd_create_ctx` and was not freed.
#[export]
pub unsafe extern "C" fn b2nd_free_ctx(ctx: *mut b2nd_context_t) -> c_int {
    not_null!(ctx)?;
    // SAFETY: not null, so it came from `b2nd_create_ctx`, which boxes it, and was not freed.
    drop(unsafe { Box::from_raw(ctx.cast::<Params>()) });
    Ok(0)
}
