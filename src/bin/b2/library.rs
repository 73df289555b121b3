//! The library's C functions behind safe types: contexts and super-chunks for data on their way in or out, and arrays.
//!
//! They know every codec and filter that the library knows, also the registered ones. This is the only unsafe code of the
//! tool.

use crate::failure::{Failure, Result};
use crate::settings::Settings;
use blosc2::capi::b2nd::context::{b2nd_create_ctx, b2nd_free_ctx};
use blosc2::capi::b2nd::convert::b2nd_open;
use blosc2::capi::b2nd::create::{b2nd_free, b2nd_zeros};
use blosc2::capi::b2nd::slices::{b2nd_get_slice_cbuffer, b2nd_set_slice_cbuffer};
use blosc2::capi::blosc2_compress_ctx;
use blosc2::capi::decompress::{blosc2_decompress_ctx, blosc2_getitem_ctx};
use blosc2::capi::schunk::chunks::{blosc2_schunk_append_buffer, blosc2_schunk_append_chunk};
use blosc2::capi::schunk::create::{blosc2_schunk_free, blosc2_schunk_new};
use blosc2::capi::schunk::meta::{blosc2_meta_add, blosc2_vlmeta_add};
use blosc2::capi::types::*;
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_core::b2nd::MAX_DIM;
use oxiblosc_error::Error;
use oxiblosc_memory::Buffer;
use std::ffi::{CStr, CString};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;

/// A path for C.
pub fn c_path(path: &Path) -> Result<CString> {
    CString::new(path.as_os_str().as_bytes())
        .map_err(|_| Failure::say(format!("{}: not a path", path.display())))
}

fn c_name(name: &[u8]) -> std::result::Result<CString, Error> {
    CString::new(name).map_err(|_| Error::InvalidParam)
}

/// A return code of the library as a result.
fn checked(code: i64) -> std::result::Result<i64, Error> {
    if code >= 0 {
        return Ok(code);
    }
    let code = i32::try_from(code).unwrap_or(-1);
    Err(Error::known(code).unwrap_or(Error::Registered(code)))
}

fn as_i32(len: usize) -> std::result::Result<i32, Error> {
    i32::try_from(len).map_err(|_| Error::MaxBufsizeExceeded)
}

/// Zeros, or an error where there is no memory for them; what is never written takes none.
pub fn zeros(len: usize) -> std::result::Result<Buffer, Error> {
    Buffer::zeroed(len)
}

fn cparams(settings: &Settings) -> blosc2_cparams {
    blosc2_cparams {
        compcode: settings.codec,
        compcode_meta: settings.codec_meta,
        clevel: settings.level,
        use_dict: settings.dict.into(),
        typesize: settings.typesize,
        nthreads: settings.threads,
        blocksize: settings.blocksize,
        splitmode: settings.splitmode,
        filters: settings.filters,
        filters_meta: settings.filters_meta,
        ..blosc2_cparams::defaults()
    }
}

/// Where a super-chunk or an array is to be kept.
#[derive(Clone, Copy, Debug)]
pub enum Place<'a> {
    /// In memory, not as a frame.
    Memory,
    /// In a new file.
    File(&'a CStr),
    /// In a new directory.
    Directory(&'a CStr),
}

/// Runs `body` with the C struct that says all this; the library copies what it keeps of it.
fn with_storage<T>(
    place: Place,
    settings: &Settings,
    body: impl FnOnce(&mut blosc2_storage) -> T,
) -> T {
    let mut cparams = cparams(settings);
    let mut dparams = blosc2_dparams {
        nthreads: settings.threads,
        typesize: settings.typesize,
        ..blosc2_dparams::defaults()
    };
    let (contiguous, path) = match place {
        Place::Memory => (false, None),
        Place::File(path) => (true, Some(path)),
        Place::Directory(path) => (false, Some(path)),
    };
    body(&mut blosc2_storage {
        contiguous,
        urlpath: path.map_or(null_mut(), |path| path.as_ptr().cast_mut()),
        cparams: &mut cparams,
        dparams: &mut dparams,
        ..blosc2_storage::defaults()
    })
}

/// A super-chunk: contexts with the metalayers that some codecs ask for, and a place for chunks.
pub struct SuperChunk(*mut blosc2_schunk);

impl SuperChunk {
    /// A new one without chunks; what is at the place already must be gone.
    pub fn new(place: Place, settings: &Settings) -> std::result::Result<Self, Error> {
        // SAFETY: the storage and what it points to live until the call returns.
        let schunk = with_storage(place, settings, |storage| unsafe {
            blosc2_schunk_new(storage)
        });
        if schunk.is_null() {
            Err(Error::FileOpen)
        } else {
            Ok(Self(schunk))
        }
    }

    /// Puts a fixed-length metalayer into it, which has no chunks yet.
    pub fn add_meta(&mut self, name: &[u8], content: &[u8]) -> std::result::Result<(), Error> {
        let name = c_name(name)?;
        let len = as_i32(content.len())?;
        // SAFETY: the super-chunk is this one's alone; the content is only read.
        let code =
            unsafe { blosc2_meta_add(self.0, name.as_ptr(), content.as_ptr().cast_mut(), len) };
        checked(code.into()).map(|_| ())
    }

    /// Puts a variable-length metalayer into it, uncompressed as it is given.
    pub fn add_vlmeta(&mut self, name: &[u8], content: &[u8]) -> std::result::Result<(), Error> {
        let name = c_name(name)?;
        let len = as_i32(content.len())?;
        // SAFETY: as above; without parameters the library takes its defaults.
        let code = unsafe {
            blosc2_vlmeta_add(
                self.0,
                name.as_ptr(),
                content.as_ptr().cast_mut(),
                len,
                null_mut(),
            )
        };
        checked(code.into()).map(|_| ())
    }

    /// Compresses data and puts them behind the last chunk.
    pub fn append_data(&mut self, data: &[u8]) -> std::result::Result<(), Error> {
        let len = as_i32(data.len())?;
        // SAFETY: as many bytes as are said.
        let code = unsafe { blosc2_schunk_append_buffer(self.0, data.as_ptr().cast(), len) };
        checked(code).map(|_| ())
    }

    /// Puts a chunk behind the last one.
    pub fn append_chunk(&mut self, chunk: &[u8]) -> std::result::Result<(), Error> {
        whole(chunk)?;
        // SAFETY: the chunk is as long as its header says, is copied, and is only read.
        let code = unsafe { blosc2_schunk_append_chunk(self.0, chunk.as_ptr().cast_mut(), true) };
        checked(code).map(|_| ())
    }

    /// Compresses data into a chunk.
    pub fn compress(&mut self, data: &[u8]) -> std::result::Result<Buffer, Error> {
        let mut chunk = zeros(data.len() + MAX_OVERHEAD)?;
        let (len, room) = (as_i32(data.len())?, as_i32(chunk.len())?);
        // SAFETY: the context is the super-chunk's; both buffers have the sizes given.
        let size = unsafe {
            let cctx = (*self.0).cctx;
            blosc2_compress_ctx(
                cctx,
                data.as_ptr().cast(),
                len,
                chunk.as_mut_ptr().cast(),
                room,
            )
        };
        chunk.resize(checked(size.into())? as usize)?;
        Ok(chunk)
    }

    /// Decompresses a chunk, in the super-chunk or not, into the front of `data`.
    pub fn decompress(&self, chunk: &[u8], data: &mut [u8]) -> std::result::Result<usize, Error> {
        let (len, room) = (as_i32(chunk.len())?, as_i32(data.len())?);
        // SAFETY: as above.
        let size = unsafe {
            let dctx = (*self.0).dctx;
            blosc2_decompress_ctx(
                dctx,
                chunk.as_ptr().cast(),
                len,
                data.as_mut_ptr().cast(),
                room,
            )
        };
        checked(size.into()).map(|size| size as usize)
    }

    /// Decompresses `count` items of a chunk, from item `start` on, into `data`.
    pub fn items(
        &self,
        chunk: &[u8],
        start: usize,
        count: usize,
        data: &mut [u8],
    ) -> std::result::Result<usize, Error> {
        let (len, room) = (as_i32(chunk.len())?, as_i32(data.len())?);
        let (start, count) = (as_i32(start)?, as_i32(count)?);
        // SAFETY: as above.
        let size = unsafe {
            let dctx = (*self.0).dctx;
            let dest = data.as_mut_ptr().cast();
            blosc2_getitem_ctx(dctx, chunk.as_ptr().cast(), len, start, count, dest, room)
        };
        checked(size.into()).map(|size| size as usize)
    }

    /// Puts the frame in order and closes it.
    pub fn close(mut self) -> std::result::Result<(), Error> {
        let schunk = std::mem::replace(&mut self.0, null_mut());
        // SAFETY: from this library, and freed once.
        checked(unsafe { blosc2_schunk_free(schunk) }.into()).map(|_| ())
    }
}

impl Drop for SuperChunk {
    fn drop(&mut self) {
        // SAFETY: from this library, and freed once: null after `close`, which is allowed.
        unsafe { blosc2_schunk_free(self.0) };
    }
}

/// The library takes a chunk to be as long as its header says.
fn whole(chunk: &[u8]) -> std::result::Result<(), Error> {
    let header = ChunkHeader::parse(chunk)?;
    if header.cbytes == chunk.len() {
        Ok(())
    } else {
        Err(Error::InvalidHeader)
    }
}

/// How an array is cut, and what its items are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Items along each dimension.
    pub shape: Vec<i64>,
    /// Items of a chunk along each dimension.
    pub chunks: Vec<i32>,
    /// Items of a block along each dimension.
    pub blocks: Vec<i32>,
    /// The dtype in NumPy's way.
    pub dtype: String,
}

/// An n-dimensional array.
pub struct Array(*mut b2nd_array_t);

impl Array {
    /// A new one, of zeros, with metalayers by name beside its own; what is at the place already must be gone.
    pub fn new(
        place: Place,
        settings: &Settings,
        shape: &Shape,
        metalayers: &[(&[u8], &[u8])],
    ) -> std::result::Result<Self, Error> {
        let ndim = shape.shape.len();
        let same = shape.chunks.len() == ndim && shape.blocks.len() == ndim;
        if ndim > MAX_DIM || !same {
            return Err(Error::InvalidParam);
        }
        let names: std::result::Result<Vec<CString>, Error> =
            metalayers.iter().map(|(name, _)| c_name(name)).collect();
        let names = names?;
        let layers: std::result::Result<Vec<blosc2_metalayer>, Error> = metalayers
            .iter()
            .zip(&names)
            .map(|((_, content), name)| {
                Ok(blosc2_metalayer {
                    name: name.as_ptr().cast_mut(),
                    content: content.as_ptr().cast_mut(),
                    content_len: as_i32(content.len())?,
                })
            })
            .collect();
        let layers = layers?;
        let dtype = c_name(shape.dtype.as_bytes())?;
        let mut array = null_mut();
        // SAFETY: the shapes have `ndim` elements each, and the context copies all it is given.
        let code = with_storage(place, settings, |storage| unsafe {
            let context = b2nd_create_ctx(
                storage,
                ndim as i8,
                shape.shape.as_ptr(),
                shape.chunks.as_ptr(),
                shape.blocks.as_ptr(),
                dtype.as_ptr(),
                0,
                layers.as_ptr(),
                layers.len() as i32,
            );
            if context.is_null() {
                return -1;
            }
            let code = b2nd_zeros(context, &mut array);
            b2nd_free_ctx(context);
            code
        });
        checked(code.into())?;
        Ok(Self(array))
    }

    /// Opens an array in a file or directory.
    pub fn open(path: &CStr) -> std::result::Result<Self, Error> {
        let mut array = null_mut();
        // SAFETY: the path ends with a 0, and the pointer has a place to go to.
        checked(unsafe { b2nd_open(path.as_ptr(), &mut array) }.into())?;
        Ok(Self(array))
    }

    /// Reads the items from `start` to before `stop` into `items`, which has exactly that many, in C order.
    pub fn read(
        &self,
        start: &[i64],
        stop: &[i64],
        items: &mut [u8],
    ) -> std::result::Result<(), Error> {
        let shape = self.slice_shape(start, stop)?;
        // SAFETY: the positions have as many elements as the array has dimensions, and the buffer the size given.
        let code = unsafe {
            b2nd_get_slice_cbuffer(
                self.0,
                start.as_ptr(),
                stop.as_ptr(),
                items.as_mut_ptr().cast(),
                shape.as_ptr(),
                items.len() as i64,
            )
        };
        checked(code.into()).map(|_| ())
    }

    /// Writes the items from `start` to before `stop`, which lie in C order.
    pub fn write(
        &mut self,
        start: &[i64],
        stop: &[i64],
        items: &[u8],
    ) -> std::result::Result<(), Error> {
        let shape = self.slice_shape(start, stop)?;
        // SAFETY: as above; the array is this one's alone.
        let code = unsafe {
            b2nd_set_slice_cbuffer(
                items.as_ptr().cast(),
                shape.as_ptr(),
                items.len() as i64,
                start.as_ptr(),
                stop.as_ptr(),
                self.0,
            )
        };
        checked(code.into()).map(|_| ())
    }

    fn slice_shape(&self, start: &[i64], stop: &[i64]) -> std::result::Result<Vec<i64>, Error> {
        // SAFETY: the array is there until this is dropped.
        let ndim = unsafe { (*self.0).ndim } as usize;
        if start.len() != ndim || stop.len() != ndim {
            return Err(Error::InvalidParam);
        }
        Ok(start.iter().zip(stop).map(|(from, to)| to - from).collect())
    }

    /// Puts a variable-length metalayer into the array.
    pub fn add_vlmeta(&mut self, name: &[u8], content: &[u8]) -> std::result::Result<(), Error> {
        let name = c_name(name)?;
        let len = as_i32(content.len())?;
        // SAFETY: the super-chunk is the array's; the content is only read.
        let code = unsafe {
            let content = content.as_ptr().cast_mut();
            blosc2_vlmeta_add((*self.0).sc, name.as_ptr(), content, len, null_mut())
        };
        checked(code.into()).map(|_| ())
    }

    /// Puts the frame in order and closes it.
    pub fn close(mut self) -> std::result::Result<(), Error> {
        let array = std::mem::replace(&mut self.0, null_mut());
        // SAFETY: from this library, and freed once.
        checked(unsafe { b2nd_free(array) }.into()).map(|_| ())
    }
}

impl Drop for Array {
    fn drop(&mut self) {
        if !self.0.is_null() {
            // SAFETY: from this library, and freed once.
            unsafe { b2nd_free(self.0) };
        }
    }
}
