//! Super-chunks and calls on slices, so that a test says what it means and no more.

use super::schunk::SchunkLib;
use blosc2::capi::types::*;
use core::ffi::{CStr, c_char, c_void};
use core::ptr::null_mut;
use std::ffi::CString;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// A super-chunk, freed when dropped.
pub struct Schunk {
    pub lib: &'static SchunkLib,
    pub raw: *mut blosc2_schunk,
}

impl Schunk {
    /// Gives the super-chunk away.
    pub fn into_raw(self) -> *mut blosc2_schunk {
        std::mem::ManuallyDrop::new(self).raw
    }
}

impl Drop for Schunk {
    fn drop(&mut self) {
        // SAFETY: made by this library and freed once.
        unsafe { (self.lib.s.blosc2_schunk_free)(self.raw) };
    }
}

/// The public fields of a super-chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fields {
    pub nchunks: i64,
    pub current_nchunk: i64,
    pub nbytes: i64,
    pub cbytes: i64,
    pub chunksize: i32,
    pub blocksize: i32,
    pub typesize: i32,
    pub flags2: u8,
    pub use_dict: u8,
    pub version: u8,
    pub compcode: u8,
    pub compcode_meta: u8,
    pub clevel: u8,
    pub splitmode: u8,
    pub filters: [u8; 6],
    pub filters_meta: [u8; 6],
    pub nmetalayers: u16,
    pub nvlmetalayers: i16,
    pub change_tick: i64,
    pub has_frame: bool,
    pub view: bool,
    pub contiguous: bool,
    pub has_urlpath: bool,
}

impl Fields {
    /// The fields that are not the same, with both values.
    pub fn differences(&self, other: &Fields) -> Vec<String> {
        // As the fields are printed, one a line.
        let (ours, theirs) = (format!("{self:#?}"), format!("{other:#?}"));
        let pairs = ours.lines().zip(theirs.lines()).filter(|(a, b)| a != b);
        let words = |(a, b): (&str, &str)| {
            let (name, value) = a.trim().split_once(':').unwrap_or((a, ""));
            let other = b.trim().split_once(':').map_or(b, |(_, other)| other);
            format!("{name} is{value} not{other}")
        };
        pairs.map(words).collect()
    }
}

/// What a call that gives a chunk gave.
pub struct Given {
    pub rc: i64,
    /// Whether the caller has to free it (already done).
    pub needs_free: bool,
    pub bytes: Vec<u8>,
}

/// A path for C.
pub fn c_path(path: &Path) -> CString {
    CString::new(path.as_os_str().as_bytes()).expect("no NUL in a path")
}

/// A copy of `bytes` from `malloc`, for a callee that may keep it.
pub fn malloced(bytes: &[u8]) -> *mut u8 {
    // SAFETY: as many bytes as were just allocated.
    unsafe {
        let copy: *mut u8 = libc::malloc(bytes.len().max(1)).cast();
        copy.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        copy
    }
}

impl SchunkLib {
    fn created(&'static self, raw: *mut blosc2_schunk) -> Option<Schunk> {
        (!raw.is_null()).then(|| Schunk { lib: self, raw })
    }

    /// `blosc2_schunk_new`.
    pub fn create(
        &'static self,
        contiguous: bool,
        path: Option<&Path>,
        cparams: &blosc2_cparams,
        nthreads: i16,
        io: Option<&mut blosc2_io>,
    ) -> Option<Schunk> {
        let path = path.map(c_path);
        let mut cparams = *cparams;
        cparams.nthreads = nthreads;
        let mut dparams = blosc2_dparams::defaults();
        dparams.nthreads = nthreads;
        let mut storage = blosc2_storage {
            contiguous,
            urlpath: path
                .as_ref()
                .map_or(null_mut(), |path| path.as_ptr().cast_mut()),
            cparams: &mut cparams,
            dparams: &mut dparams,
            io: io.map_or(null_mut(), |io| io),
        };
        // SAFETY: everything that the storage points to lives across the call, which copies it.
        self.created(unsafe { (self.s.blosc2_schunk_new)(&mut storage) })
    }

    /// `blosc2_schunk_open_offset`.
    pub fn open_at(&'static self, path: &Path, offset: i64) -> Option<Schunk> {
        let path = c_path(path);
        // SAFETY: a C string.
        self.created(unsafe { (self.s.blosc2_schunk_open_offset)(path.as_ptr(), offset) })
    }

    /// `blosc2_schunk_open`.
    pub fn open_path(&'static self, path: &Path) -> Option<Schunk> {
        let path = c_path(path);
        // SAFETY: a C string.
        self.created(unsafe { (self.s.blosc2_schunk_open)(path.as_ptr()) })
    }

    /// `blosc2_schunk_open_udio`.
    pub fn open_io(&'static self, path: &Path, io: &blosc2_io) -> Option<Schunk> {
        let path = c_path(path);
        // SAFETY: a C string, and a back end that lives across the call.
        self.created(unsafe { (self.s.blosc2_schunk_open_udio)(path.as_ptr(), io) })
    }

    /// Opens a frame with locking. The back end's parameters stay for the life of the process.
    pub fn open_locking(&'static self, path: &Path) -> Option<Schunk> {
        let params = Box::leak(Box::new(blosc2_stdio_params { locking: true }));
        let io = blosc2_io {
            params: std::ptr::from_mut(params).cast(),
            ..blosc2_io::defaults()
        };
        self.open_io(path, &io)
    }

    /// `blosc2_schunk_from_buffer` of a copy of `frame`: with `copy` the library copies it again,
    /// else it owns ours.
    pub fn open_buffer(&'static self, frame: &[u8], copy: bool) -> Option<Schunk> {
        let buffer = malloced(frame);
        // SAFETY: the buffer is as long as said, and lives as long as the super-chunk that does not
        // copy it.
        unsafe {
            let raw = (self.s.blosc2_schunk_from_buffer)(buffer, frame.len() as i64, copy);
            match raw.is_null() || copy {
                true => libc::free(buffer.cast()),
                false => (self.s.blosc2_schunk_avoid_cframe_free)(raw, false),
            }
            self.created(raw)
        }
    }

    /// `blosc2_schunk_from_buffer` of `frame` where it is.
    ///
    /// # Safety
    /// `frame` outlives the super-chunk, which is only read.
    pub unsafe fn lend_buffer(&'static self, frame: &[u8]) -> Option<Schunk> {
        // SAFETY: the buffer is as long as said, and the caller vouches for the rest.
        unsafe {
            let buffer = frame.as_ptr().cast_mut();
            let raw = (self.s.blosc2_schunk_from_buffer)(buffer, frame.len() as i64, false);
            if !raw.is_null() {
                (self.s.blosc2_schunk_avoid_cframe_free)(raw, true);
            }
            self.created(raw)
        }
    }
}

impl Schunk {
    fn s(&self) -> &super::schunk::Functions {
        &self.lib.s
    }

    /// The struct.
    pub fn get(&self) -> &blosc2_schunk {
        // SAFETY: a super-chunk of the library's, that no call changes while the borrow lives.
        unsafe { &*self.raw }
    }

    /// The public fields.
    pub fn fields(&self) -> Fields {
        let s = self.get();
        // SAFETY: every super-chunk has its storage.
        let storage = unsafe { &*s.storage };
        Fields {
            nchunks: s.nchunks,
            current_nchunk: s.current_nchunk,
            nbytes: s.nbytes,
            cbytes: s.cbytes,
            chunksize: s.chunksize,
            blocksize: s.blocksize,
            typesize: s.typesize,
            flags2: s.flags2,
            use_dict: s.use_dict,
            version: s.version,
            compcode: s.compcode,
            compcode_meta: s.compcode_meta,
            clevel: s.clevel,
            splitmode: s.splitmode,
            filters: s.filters,
            filters_meta: s.filters_meta,
            nmetalayers: s.nmetalayers,
            nvlmetalayers: s.nvlmetalayers,
            change_tick: s.change_tick,
            has_frame: !s.frame.is_null(),
            view: s.view,
            contiguous: storage.contiguous,
            has_urlpath: !storage.urlpath.is_null(),
        }
    }

    pub fn append_buffer(&self, data: &[u8], nbytes: i32) -> i64 {
        assert!(nbytes <= data.len() as i32);
        // SAFETY: the pointer is good for that many bytes.
        unsafe { (self.s().blosc2_schunk_append_buffer)(self.raw, data.as_ptr().cast(), nbytes) }
    }

    /// Hands a chunk over: borrowed when `copy`, else as a buffer of `malloc`'s that the library
    /// then owns.
    fn hand(&self, chunk: &[u8], copy: bool, call: impl FnOnce(*mut u8) -> i64) -> i64 {
        let buffer = malloced(chunk);
        let rc = call(buffer);
        if copy {
            // SAFETY: still ours.
            unsafe { libc::free(buffer.cast()) };
        }
        rc
    }

    pub fn append_chunk(&self, chunk: &[u8], copy: bool) -> i64 {
        // SAFETY: a whole chunk, that the library may keep when it does not copy.
        self.hand(chunk, copy, |chunk| unsafe {
            (self.s().blosc2_schunk_append_chunk)(self.raw, chunk, copy)
        })
    }

    pub fn insert_chunk(&self, nchunk: i64, chunk: &[u8], copy: bool) -> i64 {
        // SAFETY: as above.
        self.hand(chunk, copy, |chunk| unsafe {
            (self.s().blosc2_schunk_insert_chunk)(self.raw, nchunk, chunk, copy)
        })
    }

    pub fn update_chunk(&self, nchunk: i64, chunk: &[u8], copy: bool) -> i64 {
        // SAFETY: as above.
        self.hand(chunk, copy, |chunk| unsafe {
            (self.s().blosc2_schunk_update_chunk)(self.raw, nchunk, chunk, copy)
        })
    }

    pub fn delete_chunk(&self, nchunk: i64) -> i64 {
        // SAFETY: a super-chunk of this library's.
        unsafe { (self.s().blosc2_schunk_delete_chunk)(self.raw, nchunk) }
    }

    pub fn decompress_chunk(&self, nchunk: i64, dest: &mut [u8]) -> i64 {
        let (to, len) = (dest.as_mut_ptr().cast(), dest.len() as i32);
        // SAFETY: the pointer is good for that many bytes.
        i64::from(unsafe { (self.s().blosc2_schunk_decompress_chunk)(self.raw, nchunk, to, len) })
    }

    /// `blosc2_schunk_get_chunk`, or `get_lazychunk`; the latter's chunk is decompressed while it
    /// is there.
    pub fn get_chunk(&self, nchunk: i64) -> Given {
        self.given(|chunk, needs_free| {
            // SAFETY: out parameters that live across the call.
            unsafe { (self.s().blosc2_schunk_get_chunk)(self.raw, nchunk, chunk, needs_free) }
        })
    }

    pub fn get_lazychunk(&self, nchunk: i64) -> Given {
        self.given(|chunk, needs_free| {
            // SAFETY: out parameters that live across the call.
            unsafe { (self.s().blosc2_schunk_get_lazychunk)(self.raw, nchunk, chunk, needs_free) }
        })
    }

    fn given(&self, call: impl FnOnce(*mut *mut u8, *mut bool) -> i32) -> Given {
        let (mut chunk, mut needs_free) = (null_mut(), false);
        let rc = call(&mut chunk, &mut needs_free);
        let mut bytes = Vec::new();
        if rc > 0 {
            // SAFETY: the call says that so many bytes are there.
            bytes = unsafe { core::slice::from_raw_parts(chunk, rc as usize) }.to_vec();
        }
        if needs_free && rc >= 0 {
            // SAFETY: ours, by the call's word.
            unsafe { libc::free(chunk.cast()) };
        }
        Given {
            rc: i64::from(rc),
            needs_free,
            bytes,
        }
    }

    /// Decompresses a chunk, perhaps a lazy one of this super-chunk, with the super-chunk's own
    /// context.
    pub fn decompress_given(&self, chunk: &[u8], dest: &mut [u8]) -> i64 {
        // SAFETY: the context is the super-chunk's, the pointers are good for their lengths.
        i64::from(unsafe {
            (self.lib.lib.f.blosc2_decompress_ctx)(
                self.get().dctx.cast(),
                chunk.as_ptr().cast(),
                chunk.len() as i32,
                dest.as_mut_ptr().cast(),
                dest.len() as i32,
            )
        })
    }

    pub fn get_vlblock(&self, nchunk: i64, nblock: i32) -> (i64, Vec<u8>) {
        let (mut block, mut size) = (null_mut(), 0);
        // SAFETY: out parameters that live across the call.
        let rc = unsafe {
            (self.s().blosc2_schunk_get_vlblock)(self.raw, nchunk, nblock, &mut block, &mut size)
        };
        (i64::from(rc), taken(rc >= 0, block, i64::from(size)))
    }

    /// `dest` must hold `stop - start` items.
    pub fn get_slice(&self, start: i64, stop: i64, dest: &mut [u8]) -> i64 {
        let to = dest.as_mut_ptr().cast();
        // SAFETY: by the caller's word.
        i64::from(unsafe { (self.s().blosc2_schunk_get_slice_buffer)(self.raw, start, stop, to) })
    }

    /// `data` must hold `stop - start` items.
    pub fn set_slice(&self, start: i64, stop: i64, data: &[u8]) -> i64 {
        let from = data.as_ptr().cast_mut().cast();
        // SAFETY: by the caller's word; the library only reads it.
        i64::from(unsafe { (self.s().blosc2_schunk_set_slice_buffer)(self.raw, start, stop, from) })
    }

    /// `dest` must hold as many items as there are coordinates.
    pub fn get_sparse(&self, coords: &[i64], dest: &mut [u8]) -> i64 {
        let (n, at) = (coords.len() as i64, coords.as_ptr());
        let to = dest.as_mut_ptr().cast();
        // SAFETY: by the caller's word.
        i64::from(unsafe { (self.s().blosc2_schunk_get_sparse_buffer)(self.raw, n, at, to) })
    }

    /// `order` must have as many places as there are chunks.
    pub fn reorder(&self, order: &[i64]) -> i64 {
        let mut order = order.to_vec();
        // SAFETY: by the caller's word.
        i64::from(unsafe { (self.s().blosc2_schunk_reorder_offsets)(self.raw, order.as_mut_ptr()) })
    }

    pub fn frame_len(&self) -> i64 {
        // SAFETY: a super-chunk of this library's.
        unsafe { (self.s().blosc2_schunk_frame_len)(self.raw) }
    }

    pub fn fill_special(&self, nitems: i64, kind: i32, chunksize: i32) -> i64 {
        // SAFETY: a super-chunk of this library's.
        unsafe { (self.s().blosc2_schunk_fill_special)(self.raw, nitems, kind, chunksize) }
    }

    pub fn refresh(&self) -> i64 {
        // SAFETY: a super-chunk of this library's.
        i64::from(unsafe { (self.s().blosc2_schunk_refresh)(self.raw) })
    }

    pub fn lock(&self) -> i64 {
        // SAFETY: a super-chunk of this library's.
        i64::from(unsafe { (self.s().blosc2_schunk_lock)(self.raw) })
    }

    pub fn unlock(&self) -> i64 {
        // SAFETY: a super-chunk of this library's.
        i64::from(unsafe { (self.s().blosc2_schunk_unlock)(self.raw) })
    }

    pub fn meta_add(&self, name: &CStr, content: &[u8]) -> i64 {
        let (at, len) = (content.as_ptr().cast_mut(), content.len() as i32);
        // SAFETY: good for that many bytes; the library only reads them.
        i64::from(unsafe { (self.s().blosc2_meta_add)(self.raw, name.as_ptr(), at, len) })
    }

    pub fn meta_update(&self, name: &CStr, content: &[u8]) -> i64 {
        let (at, len) = (content.as_ptr().cast_mut(), content.len() as i32);
        // SAFETY: good for that many bytes; the library only reads them.
        i64::from(unsafe { (self.s().blosc2_meta_update)(self.raw, name.as_ptr(), at, len) })
    }

    pub fn vlmeta_add(&self, name: &CStr, content: &[u8]) -> i64 {
        let (at, len) = (content.as_ptr().cast_mut(), content.len() as i32);
        let name = name.as_ptr();
        // SAFETY: good for that many bytes; the library only reads them.
        i64::from(unsafe { (self.s().blosc2_vlmeta_add)(self.raw, name, at, len, null_mut()) })
    }

    pub fn vlmeta_update(&self, name: &CStr, content: &[u8]) -> i64 {
        let (at, len) = (content.as_ptr().cast_mut(), content.len() as i32);
        let name = name.as_ptr();
        // SAFETY: good for that many bytes; the library only reads them.
        i64::from(unsafe { (self.s().blosc2_vlmeta_update)(self.raw, name, at, len, null_mut()) })
    }

    pub fn vlmeta_get(&self, name: &CStr) -> (i64, Vec<u8>) {
        let (mut content, mut len) = (null_mut(), 0);
        let name = name.as_ptr();
        // SAFETY: out parameters that live across the call.
        let rc = unsafe { (self.s().blosc2_vlmeta_get)(self.raw, name, &mut content, &mut len) };
        (i64::from(rc), taken(rc >= 0, content, i64::from(len)))
    }

    pub fn vlmeta_exists(&self, name: &CStr) -> i64 {
        // SAFETY: a C string.
        i64::from(unsafe { (self.s().blosc2_vlmeta_exists)(self.raw, name.as_ptr()) })
    }

    pub fn vlmeta_delete(&self, name: &CStr) -> i64 {
        // SAFETY: a C string.
        i64::from(unsafe { (self.s().blosc2_vlmeta_delete)(self.raw, name.as_ptr()) })
    }

    pub fn vlmeta_names(&self) -> (i64, Vec<Vec<u8>>) {
        let mut names: Vec<*mut c_char> =
            vec![null_mut(); self.get().nvlmetalayers.max(0) as usize + 1];
        // SAFETY: room for every name.
        let rc = unsafe { (self.s().blosc2_vlmeta_get_names)(self.raw, names.as_mut_ptr()) };
        // SAFETY: as many C strings as the call says.
        let name = |&name: &*mut c_char| unsafe { CStr::from_ptr(name) }.to_bytes().to_vec();
        let given = &names[..rc.max(0) as usize];
        (i64::from(rc), given.iter().map(name).collect())
    }

    /// The fixed metalayers as the inline functions of the header read them.
    pub fn metalayers(&self) -> Vec<(Vec<u8>, Vec<u8>)> {
        let schunk = self.get();
        let layers = &schunk.metalayers[..usize::from(schunk.nmetalayers)];
        let layer = |&layer: &*mut blosc2_metalayer| {
            // SAFETY: the library says that so many layers are there, each with its name and
            // content.
            unsafe {
                let layer = &*layer;
                let name = CStr::from_ptr(layer.name).to_bytes().to_vec();
                let len = layer.content_len as usize;
                let content = match len {
                    0 => Vec::new(),
                    _ => core::slice::from_raw_parts(layer.content, len).to_vec(),
                };
                (name, content)
            }
        };
        layers.iter().map(layer).collect()
    }

    /// `blosc2_frame_get_offsets`.
    pub fn offsets(&self) -> Option<Vec<i64>> {
        // SAFETY: a super-chunk of this library's; the array is ours to free and has an entry for
        // each chunk.
        unsafe {
            let offsets = (self.s().blosc2_frame_get_offsets)(self.raw);
            if offsets.is_null() {
                return None;
            }
            let n = self.get().nchunks as usize;
            let copy = core::slice::from_raw_parts(offsets, n).to_vec();
            libc::free(offsets.cast());
            Some(copy)
        }
    }

    /// `blosc2_get_slice_nchunks`.
    pub fn slice_nchunks(&self, start: i64, stop: i64) -> (i64, Vec<i64>) {
        let (mut start, mut stop, mut chunks) = (start, stop, null_mut::<i64>());
        // SAFETY: out parameters that live across the call; the array is ours to free.
        unsafe {
            let n =
                (self.s().blosc2_get_slice_nchunks)(self.raw, &mut start, &mut stop, &mut chunks);
            let mut copy = Vec::new();
            if n > 0 {
                copy = core::slice::from_raw_parts(chunks, n as usize).to_vec();
            }
            if n >= 0 {
                libc::free(chunks.cast());
            }
            (n, copy)
        }
    }

    /// `blosc2_schunk_to_buffer`: the return code and a copy of the frame.
    pub fn to_buffer(&self) -> (i64, Vec<u8>) {
        let (mut frame, mut needs_free) = (null_mut::<u8>(), false);
        // SAFETY: out parameters that live across the call; the frame is as long as the call says.
        unsafe {
            let len = (self.s().blosc2_schunk_to_buffer)(self.raw, &mut frame, &mut needs_free);
            if len <= 0 {
                return (len, Vec::new());
            }
            let copy = core::slice::from_raw_parts(frame, len as usize).to_vec();
            if needs_free {
                libc::free(frame.cast());
            }
            (len, copy)
        }
    }

    pub fn to_file(&self, path: &Path) -> i64 {
        let path = c_path(path);
        // SAFETY: a C string.
        unsafe { (self.s().blosc2_schunk_to_file)(self.raw, path.as_ptr()) }
    }

    pub fn append_file(&self, path: &Path) -> i64 {
        let path = c_path(path);
        // SAFETY: a C string.
        unsafe { (self.s().blosc2_schunk_append_file)(self.raw, path.as_ptr()) }
    }

    /// `blosc2_schunk_copy` with these compression parameters, or the same ones.
    pub fn copy(
        &self,
        contiguous: bool,
        path: Option<&Path>,
        cparams: Option<&blosc2_cparams>,
    ) -> Option<Schunk> {
        let path = path.map(c_path);
        let mut cparams = cparams.copied();
        let mut storage = blosc2_storage {
            contiguous,
            urlpath: path
                .as_ref()
                .map_or(null_mut(), |path| path.as_ptr().cast_mut()),
            cparams: cparams.as_mut().map_or(null_mut(), |cparams| cparams),
            ..blosc2_storage::defaults()
        };
        // SAFETY: everything that the storage points to lives across the call, which copies it.
        let raw = unsafe { (self.s().blosc2_schunk_copy)(self.raw, &mut storage) };
        self.lib.created(raw)
    }

    /// `blosc2_schunk_get_cparams`: what it gives, without the address of the super-chunk.
    pub fn cparams(&self) -> (i64, blosc2_cparams) {
        let mut given = null_mut();
        // SAFETY: an out parameter; the struct is ours to free.
        unsafe {
            let rc = (self.s().blosc2_schunk_get_cparams)(self.raw, &mut given);
            let mut copy = *given;
            libc::free(given.cast::<c_void>());
            assert_eq!(copy.schunk, self.raw.cast(), "the parameters' super-chunk");
            copy.schunk = null_mut();
            (i64::from(rc), copy)
        }
    }

    /// `blosc2_schunk_get_dparams`: the number of threads that it gives.
    pub fn dparams_nthreads(&self) -> (i64, i16) {
        let mut given: *mut blosc2_dparams = null_mut();
        // SAFETY: an out parameter; the struct is ours to free.
        unsafe {
            let rc = (self.s().blosc2_schunk_get_dparams)(self.raw, &mut given);
            let nthreads = (*given).nthreads;
            libc::free(given.cast::<c_void>());
            (i64::from(rc), nthreads)
        }
    }
}

/// Copies and frees a buffer that a call gave with `malloc`.
fn taken(given: bool, buffer: *mut u8, len: i64) -> Vec<u8> {
    if !given || buffer.is_null() {
        return Vec::new();
    }
    // SAFETY: the call says that so many bytes are there, and that they are ours.
    unsafe {
        let copy = core::slice::from_raw_parts(buffer, len.max(0) as usize).to_vec();
        libc::free(buffer.cast());
        copy
    }
}
