//! The API of n-dimensional arrays as typed pointers, and arrays that free themselves.

use super::library::{Lib, ours, ours_path, reference};
use super::needs::reference_path;
use super::schunk::{SchunkLib, our_schunks, reference_schunks};
use blosc2::capi::types::*;
use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::{null, null_mut};
use std::sync::OnceLock;

type Ctx = b2nd_context_t;
type Raw = b2nd_array_t;

functions! { Functions {
    fn b2nd_create_ctx(*const blosc2_storage, i8, *const i64, *const i32, *const i32, *const c_char, i8, *const blosc2_metalayer, i32) -> *mut Ctx;
    fn b2nd_free_ctx(*mut Ctx) -> c_int;
    fn b2nd_uninit(*mut Ctx, *mut *mut Raw) -> c_int;
    fn b2nd_empty(*mut Ctx, *mut *mut Raw) -> c_int;
    fn b2nd_zeros(*mut Ctx, *mut *mut Raw) -> c_int;
    fn b2nd_nans(*mut Ctx, *mut *mut Raw) -> c_int;
    fn b2nd_full(*mut Ctx, *mut *mut Raw, *const c_void) -> c_int;
    fn b2nd_free(*mut Raw) -> c_int;
    fn blosc2_schunk_avoid_cframe_free(*mut blosc2_schunk, bool);
    fn b2nd_from_schunk(*mut blosc2_schunk, *mut *mut Raw) -> c_int;
    fn b2nd_to_cframe(*const Raw, *mut *mut u8, *mut i64, *mut bool) -> c_int;
    fn b2nd_from_cframe(*mut u8, i64, bool, *mut *mut Raw) -> c_int;
    fn b2nd_open(*const c_char, *mut *mut Raw) -> c_int;
    fn b2nd_open_offset(*const c_char, *mut *mut Raw, i64) -> c_int;
    fn b2nd_save(*const Raw, *mut c_char) -> c_int;
    fn b2nd_save_append(*const Raw, *const c_char) -> i64;
    fn b2nd_from_cbuffer(*mut Ctx, *mut *mut Raw, *const c_void, i64) -> c_int;
    fn b2nd_to_cbuffer(*const Raw, *mut c_void, i64) -> c_int;
    fn b2nd_get_sparse_cbuffer(*const Raw, i64, *const i64, *mut c_void, i64) -> c_int;
    fn b2nd_get_slice(*mut Ctx, *mut *mut Raw, *const Raw, *const i64, *const i64) -> c_int;
    fn b2nd_squeeze_index(*mut Raw, *mut *mut Raw, *const bool) -> c_int;
    fn b2nd_squeeze(*mut Raw, *mut *mut Raw) -> c_int;
    fn b2nd_expand_dims(*const Raw, *mut *mut Raw, *const bool, u8) -> c_int;
    fn b2nd_get_slice_cbuffer(*const Raw, *const i64, *const i64, *mut c_void, *const i64, i64) -> c_int;
    fn b2nd_set_slice_cbuffer(*const c_void, *const i64, i64, *const i64, *const i64, *mut Raw) -> c_int;
    fn b2nd_copy(*mut Ctx, *const Raw, *mut *mut Raw) -> c_int;
    fn b2nd_concatenate(*mut Ctx, *const Raw, *const Raw, i8, bool, *mut *mut Raw) -> c_int;
    fn b2nd_resize(*mut Raw, *const i64, *const i64) -> c_int;
    fn b2nd_refresh(*mut Raw) -> c_int;
    fn b2nd_insert(*mut Raw, *const c_void, i64, i8, i64) -> c_int;
    fn b2nd_append(*mut Raw, *const c_void, i64, i8) -> c_int;
    fn b2nd_delete(*mut Raw, i8, i64, i64) -> c_int;
    fn b2nd_get_orthogonal_selection(*const Raw, *mut *mut i64, *mut i64, *mut c_void, *mut i64, i64) -> c_int;
    fn b2nd_set_orthogonal_selection(*mut Raw, *mut *mut i64, *mut i64, *const c_void, *mut i64, i64) -> c_int;
    fn b2nd_serialize_meta(i8, *const i64, *const i32, *const i32, *const c_char, i8, *mut *mut u8) -> c_int;
    fn b2nd_deserialize_meta(*const u8, i32, *mut i8, *mut i64, *mut i32, *mut i32, *mut *mut c_char, *mut i8) -> c_int;
    fn b2nd_copy_buffer2(i8, i32, *const c_void, *const i64, *const i64, *const i64, *mut c_void, *const i64, *const i64) -> c_int;
} }

/// A library with its functions for arrays.
pub struct B2ndLib {
    /// The chunk API of the same library.
    pub lib: &'static Lib,
    /// The functions.
    pub f: Functions,
}

impl B2ndLib {
    fn open(lib: &'static Lib, path: &Path) -> B2ndLib {
        // SAFETY: both libraries have no initialiser that touches the process; the functions are
        // declared after the reference's headers. Neither is ever closed.
        unsafe {
            let library = libloading::Library::new(path).expect("opened before");
            let library = Box::leak(Box::new(library));
            let f = Functions::load(library).expect("all functions of arrays");
            B2ndLib { lib, f }
        }
    }
}

/// Our arrays.
pub fn our_arrays() -> &'static B2ndLib {
    static OURS: OnceLock<B2ndLib> = OnceLock::new();
    OURS.get_or_init(|| B2ndLib::open(ours(), &ours_path()))
}

/// The reference's arrays, or `None` where there is no reference: see [`reference_path`].
pub fn reference_arrays() -> Option<&'static B2ndLib> {
    static REFERENCE: OnceLock<B2ndLib> = OnceLock::new();
    let (lib, path) = (reference()?, reference_path()?);
    Some(REFERENCE.get_or_init(|| B2ndLib::open(lib, &path)))
}

/// The super-chunks and the arrays of a library.
#[derive(Clone, Copy)]
pub struct Library {
    pub schunks: &'static SchunkLib,
    pub arrays: &'static B2ndLib,
}

impl Library {
    pub fn ours() -> Self {
        Self {
            schunks: our_schunks(),
            arrays: our_arrays(),
        }
    }

    /// The reference's, or `None` where there is no reference: see [`reference_path`].
    pub fn reference() -> Option<Self> {
        Some(Self {
            schunks: reference_schunks()?,
            arrays: reference_arrays()?,
        })
    }

    /// Opens a frame that is locked for each operation.
    pub fn open_locking(self, path: &Path) -> super::schunk_calls::Schunk {
        self.schunks.open_locking(path).expect("a frame")
    }

    /// The array in a super-chunk.
    pub fn adopt(self, schunk: super::schunk_calls::Schunk) -> Array {
        // SAFETY: both are of one library.
        unsafe { self.arrays.adopt(schunk.into_raw()) }.expect("an array")
    }
}

/// What an array is made with.
#[derive(Clone, Debug)]
pub struct Spec {
    /// Shape of the array.
    pub shape: Vec<i64>,
    /// Shape of a chunk.
    pub chunks: Vec<i32>,
    /// Shape of a block.
    pub blocks: Vec<i32>,
    /// How to compress.
    pub cparams: blosc2_cparams,
    /// Threads that decompress.
    pub nthreads: i16,
    /// Whether the chunks lie in one buffer or file.
    pub contiguous: bool,
    /// On disk.
    pub path: Option<CString>,
}

impl Spec {
    /// Items of four bytes in one dimension, in memory, in a frame: 100 in a chunk, 50 in a block.
    pub fn of_int32(shape: i64) -> Self {
        Self {
            shape: vec![shape],
            chunks: vec![100],
            blocks: vec![50],
            cparams: blosc2_cparams {
                typesize: 4,
                ..blosc2_cparams::defaults()
            },
            nthreads: 1,
            contiguous: true,
            path: None,
        }
    }
}

/// A path as C has it.
pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("a path without a 0")
}

/// An array of one of the libraries.
pub struct Array {
    /// Whose it is.
    pub lib: &'static B2ndLib,
    ptr: *mut Raw,
    /// The frame that it uses where it lies.
    _buffer: Vec<u8>,
}

impl Drop for Array {
    fn drop(&mut self) {
        // SAFETY: made by this library, freed once.
        unsafe { (self.lib.f.b2nd_free)(self.ptr) };
    }
}

/// The pointer to a buffer that is read.
fn at(buffer: &[u8]) -> *const c_void {
    buffer.as_ptr().cast()
}

impl B2ndLib {
    fn wrap(&'static self, rc: c_int, ptr: *mut Raw) -> Result<Array, c_int> {
        match rc {
            0 => Ok(Array {
                lib: self,
                ptr,
                _buffer: Vec::new(),
            }),
            _ => Err(rc),
        }
    }

    /// Runs something with the parameters of an array; `None` where they are refused.
    pub fn with_ctx<T>(&self, spec: &Spec, body: impl FnOnce(*mut Ctx) -> T) -> Option<T> {
        let mut cparams = spec.cparams;
        let mut dparams = blosc2_dparams {
            nthreads: spec.nthreads,
            ..blosc2_dparams::defaults()
        };
        let storage = blosc2_storage {
            contiguous: spec.contiguous,
            urlpath: spec
                .path
                .as_ref()
                .map_or(null_mut(), |path| path.as_ptr().cast_mut()),
            cparams: &raw mut cparams,
            dparams: &raw mut dparams,
            io: null_mut(),
        };
        // SAFETY: all pointers are valid until the parameters are freed.
        unsafe {
            let ctx = (self.f.b2nd_create_ctx)(
                &raw const storage,
                spec.shape.len() as i8,
                spec.shape.as_ptr(),
                spec.chunks.as_ptr(),
                spec.blocks.as_ptr(),
                null(),
                0,
                null(),
                0,
            );
            if ctx.is_null() {
                return None;
            }
            let result = body(ctx);
            (self.f.b2nd_free_ctx)(ctx);
            Some(result)
        }
    }

    /// Makes an array; `make` gets the parameters and the place for it.
    pub fn make(
        &'static self,
        spec: &Spec,
        make: impl FnOnce(*mut Ctx, *mut *mut Raw) -> c_int,
    ) -> Result<Array, c_int> {
        let mut array = null_mut();
        let rc = self.with_ctx(spec, |ctx| make(ctx, &raw mut array));
        self.wrap(rc.unwrap_or(c_int::MIN), array)
    }

    /// An array of the items of a buffer.
    pub fn array_of(&'static self, spec: &Spec, data: &[u8]) -> Result<Array, c_int> {
        // SAFETY: the buffer is as long as it is.
        self.make(spec, |ctx, array| unsafe {
            (self.f.b2nd_from_cbuffer)(ctx, array, at(data), data.len() as i64)
        })
    }

    /// Opens an array on disk.
    pub fn open_path(&'static self, path: &Path) -> Result<Array, c_int> {
        let mut array = null_mut();
        // SAFETY: a C string and a place.
        let rc = unsafe { (self.f.b2nd_open)(c_path(path).as_ptr(), &raw mut array) };
        self.wrap(rc, array)
    }

    /// An array of a super-chunk, which is the array's from then on.
    ///
    /// # Safety
    /// The super-chunk is one of this library.
    pub unsafe fn adopt(&'static self, schunk: *mut blosc2_schunk) -> Result<Array, c_int> {
        let mut array = null_mut();
        // SAFETY: by the caller's word, and a place.
        let rc = unsafe { (self.f.b2nd_from_schunk)(schunk, &raw mut array) };
        self.wrap(rc, array)
    }

    /// Opens an array in a buffer that is the library's: the reference changes its size.
    fn hand_over(&'static self, frame: &[u8]) -> Result<Array, c_int> {
        let mut array = null_mut();
        // SAFETY: a buffer from `malloc`, of this size.
        unsafe {
            let buffer = libc::malloc(frame.len()).cast::<u8>();
            std::ptr::copy_nonoverlapping(frame.as_ptr(), buffer, frame.len());
            let from = self.f.b2nd_from_cframe;
            let rc = from(buffer, frame.len() as i64, false, &raw mut array);
            let array = self.wrap(rc, array)?;
            (self.f.blosc2_schunk_avoid_cframe_free)(array.fields().sc, false);
            Ok(array)
        }
    }

    /// Opens an array in a buffer, where it lies or copied.
    pub fn open_frame(&'static self, mut frame: Vec<u8>, copy: bool) -> Result<Array, c_int> {
        let mut array = null_mut();
        if !copy && self.lib.name == "reference" {
            return self.hand_over(&frame);
        }
        // SAFETY: the buffer stays as long as the array.
        let rc = unsafe {
            let (ptr, len) = (frame.as_mut_ptr(), frame.len() as i64);
            (self.f.b2nd_from_cframe)(ptr, len, copy, &raw mut array)
        };
        let mut array = self.wrap(rc, array)?;
        array._buffer = frame;
        Ok(array)
    }
}

impl Array {
    /// The public fields.
    pub fn fields(&self) -> &Raw {
        // SAFETY: the array lives as long as this.
        unsafe { &*self.ptr }
    }

    /// The pointer.
    pub fn raw(&self) -> *mut Raw {
        self.ptr
    }

    /// The shape.
    pub fn shape(&self) -> Vec<i64> {
        let fields = self.fields();
        fields.shape[..fields.ndim as usize].to_vec()
    }

    /// Bytes of an item.
    pub fn typesize(&self) -> usize {
        // SAFETY: the super-chunk lives as long as the array.
        unsafe { (*self.fields().sc).typesize as usize }
    }

    /// All items.
    pub fn to_buffer(&self) -> Result<Vec<u8>, c_int> {
        let mut buffer = vec![0xa5; self.fields().nitems as usize * self.typesize()];
        // SAFETY: the buffer is as long as it is.
        let rc = unsafe {
            let (ptr, len) = (buffer.as_mut_ptr().cast(), buffer.len() as i64);
            (self.lib.f.b2nd_to_cbuffer)(self.ptr, ptr, len)
        };
        if rc == 0 { Ok(buffer) } else { Err(rc) }
    }

    /// A slice, in a buffer of a shape.
    pub fn get(&self, start: &[i64], stop: &[i64], shape: &[i64], buffer: &mut [u8]) -> c_int {
        // SAFETY: the buffer is as long as it is.
        unsafe {
            let (ptr, len) = (buffer.as_mut_ptr().cast(), buffer.len() as i64);
            let (start, stop) = (start.as_ptr(), stop.as_ptr());
            (self.lib.f.b2nd_get_slice_cbuffer)(self.ptr, start, stop, ptr, shape.as_ptr(), len)
        }
    }

    /// Writes a slice.
    pub fn set(&self, start: &[i64], stop: &[i64], shape: &[i64], buffer: &[u8]) -> c_int {
        // SAFETY: the buffer is as long as it is.
        unsafe {
            let (start, stop, len) = (start.as_ptr(), stop.as_ptr(), buffer.len() as i64);
            let set = self.lib.f.b2nd_set_slice_cbuffer;
            set(at(buffer), shape.as_ptr(), len, start, stop, self.ptr)
        }
    }

    /// Follows what others did.
    pub fn refresh(&self) -> c_int {
        // SAFETY: the array lives as long as this.
        unsafe { (self.lib.f.b2nd_refresh)(self.ptr) }
    }

    /// Changes the shape.
    pub fn resize(&self, shape: &[i64], start: Option<&[i64]>) -> c_int {
        let start = start.map_or(null(), <[i64]>::as_ptr);
        // SAFETY: as many numbers as dimensions.
        unsafe { (self.lib.f.b2nd_resize)(self.ptr, shape.as_ptr(), start) }
    }

    /// Appends items.
    pub fn append(&self, axis: i8, buffer: &[u8]) -> c_int {
        // SAFETY: the buffer is as long as it is.
        unsafe { (self.lib.f.b2nd_append)(self.ptr, at(buffer), buffer.len() as i64, axis) }
    }

    /// Inserts items.
    pub fn insert(&self, axis: i8, before: i64, buffer: &[u8]) -> c_int {
        // SAFETY: the buffer is as long as it is.
        unsafe { (self.lib.f.b2nd_insert)(self.ptr, at(buffer), buffer.len() as i64, axis, before) }
    }

    /// Deletes items.
    pub fn delete(&self, axis: i8, from: i64, len: i64) -> c_int {
        // SAFETY: numbers alone.
        unsafe { (self.lib.f.b2nd_delete)(self.ptr, axis, from, len) }
    }

    /// Items picked along each dimension.
    pub fn get_picked(&self, lists: &[Vec<i64>], buffer: &mut [u8]) -> c_int {
        let (mut lists, mut sizes) = pointers(lists);
        let mut shape = sizes.clone();
        // SAFETY: the lists are as long as they are, and so is the buffer.
        unsafe {
            (self.lib.f.b2nd_get_orthogonal_selection)(
                self.ptr,
                lists.as_mut_ptr(),
                sizes.as_mut_ptr(),
                buffer.as_mut_ptr().cast(),
                shape.as_mut_ptr(),
                buffer.len() as i64,
            )
        }
    }

    /// Writes items picked along each dimension.
    pub fn set_picked(&self, lists: &[Vec<i64>], buffer: &[u8]) -> c_int {
        let (mut lists, mut sizes) = pointers(lists);
        let mut shape = sizes.clone();
        // SAFETY: as above.
        unsafe {
            (self.lib.f.b2nd_set_orthogonal_selection)(
                self.ptr,
                lists.as_mut_ptr(),
                sizes.as_mut_ptr(),
                at(buffer),
                shape.as_mut_ptr(),
                buffer.len() as i64,
            )
        }
    }

    /// Single items.
    pub fn get_sparse(&self, coords: &[i64], buffer: &mut [u8]) -> c_int {
        // SAFETY: as above.
        unsafe {
            let (ptr, len) = (buffer.as_mut_ptr().cast(), buffer.len() as i64);
            let get = self.lib.f.b2nd_get_sparse_cbuffer;
            get(self.ptr, coords.len() as i64, coords.as_ptr(), ptr, len)
        }
    }

    /// The array as a frame.
    pub fn to_frame(&self) -> Result<Vec<u8>, c_int> {
        let (mut frame, mut len, mut needs_free) = (null_mut(), 0, false);
        // SAFETY: places for the result; the frame is as long as it says.
        unsafe {
            let to = self.lib.f.b2nd_to_cframe;
            let rc = to(self.ptr, &raw mut frame, &raw mut len, &raw mut needs_free);
            if rc != 0 {
                return Err(rc);
            }
            let bytes = std::slice::from_raw_parts(frame, len as usize).to_vec();
            if needs_free {
                libc::free(frame.cast());
            }
            Ok(bytes)
        }
    }

    /// A copy in other chunks and another storage.
    pub fn copy(&self, spec: &Spec) -> Result<Array, c_int> {
        // SAFETY: parameters, and a place.
        self.lib.make(spec, |ctx, array| unsafe {
            (self.lib.f.b2nd_copy)(ctx, self.ptr, array)
        })
    }

    /// A slice as an array.
    pub fn slice(&self, spec: &Spec, start: &[i64], stop: &[i64]) -> Result<Array, c_int> {
        // SAFETY: parameters, and a place.
        self.lib.make(spec, |ctx, array| unsafe {
            (self.lib.f.b2nd_get_slice)(ctx, array, self.ptr, start.as_ptr(), stop.as_ptr())
        })
    }

    /// This array with another one behind it.
    pub fn joined(&self, spec: &Spec, other: &Array, axis: i8) -> Result<Array, c_int> {
        // SAFETY: parameters, and a place.
        self.lib.make(spec, |ctx, array| unsafe {
            (self.lib.f.b2nd_concatenate)(ctx, self.ptr, other.ptr, axis, true, array)
        })
    }

    /// Puts another array behind this one.
    pub fn extend(&self, other: &Array, axis: i8) -> c_int {
        let mut array = null_mut();
        // SAFETY: no parameters are used.
        let rc = unsafe {
            let join = self.lib.f.b2nd_concatenate;
            join(null_mut(), self.ptr, other.ptr, axis, false, &raw mut array)
        };
        assert!(rc != 0 || array == self.ptr);
        rc
    }

    /// A view with further dimensions.
    pub fn expand(&self, axes: &[bool]) -> Result<Array, c_int> {
        let mut view = null_mut();
        // SAFETY: as many axes as are said.
        let rc = unsafe {
            let expand = self.lib.f.b2nd_expand_dims;
            expand(self.ptr, &raw mut view, axes.as_ptr(), axes.len() as u8)
        };
        self.lib.wrap(rc, view)
    }

    /// A view without dimensions of length 1.
    pub fn squeeze(&self) -> Result<Array, c_int> {
        let mut view = null_mut();
        // SAFETY: a place for the view.
        let rc = unsafe { (self.lib.f.b2nd_squeeze)(self.ptr, &raw mut view) };
        self.lib.wrap(rc, view)
    }
}

fn pointers(lists: &[Vec<i64>]) -> (Vec<*mut i64>, Vec<i64>) {
    let pointers = lists.iter().map(|list| list.as_ptr().cast_mut());
    let sizes = lists.iter().map(|list| list.len() as i64);
    (pointers.collect(), sizes.collect())
}
