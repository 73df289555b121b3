//! The context behind the opaque pointer, and the functions that make, describe and free one.
//!
//! Tuners (also those that come as plugins) read and set fields of a context, so its fields lie
//! where the reference library 3.3.5 has them. A callback may change them while a function holds
//! the context.

use super::registry;
use crate::capi::prelude::*;
use oxiblosc::environment::{at_least, override_parameters};
use oxiblosc::format::chunk::header::MAX_FILTERS;
use oxiblosc::params::{filter_is_defined, narrow};
use oxiblosc::process::MemoryUser;
use oxiblosc::schunk::Parameters;
use oxiblosc::storage::callbacks::catching_exceptions;
use oxiblosc::storage::operation;
use oxiblosc_base::memory::env::trace;
use oxiblosc_base::memory::{Buffer, Field, boxed, on_c_heap};
use std::sync::atomic::{AtomicI64, Ordering};

/// The fields that a tuner may look at, in their order; what the engine itself keeps is elsewhere.
#[allow(
    missing_docs,
    reason = "the names are those by which tuners know the fields"
)]
#[repr(C)]
pub struct Context {
    pub src: Field<*const u8>,
    pub dest: Field<*mut u8>,
    pub header_flags: Field<u8>,
    pub blosc2_flags: Field<u8>,
    pub blosc2_flags2: Field<u8>,
    pub sourcesize: Field<i32>,
    pub header_overhead: Field<i32>,
    pub nblocks: Field<i32>,
    pub leftover: Field<i32>,
    pub blocksize: Field<i32>,
    pub header_blocksize: Field<i32>,
    pub splitmode: Field<i32>,
    pub output_bytes: Field<i32>,
    pub srcsize: Field<i32>,
    /// Room in `dest`; after compression, the size of the chunk.
    pub destsize: Field<i32>,
    pub typesize: Field<i32>,
    pub bstarts: Field<*mut i32>,
    pub blocknbytes: Field<*mut i32>,
    pub blockoffsets: Field<*mut i32>,
    pub blockcbytes: Field<*mut i32>,
    pub vlblock_sources: Field<*mut *const u8>,
    pub vlblock_dests: Field<*mut *mut u8>,
    pub special_type: Field<i32>,
    pub compcode: Field<c_int>,
    pub compcode_meta: Field<u8>,
    pub clevel: Field<c_int>,
    pub use_dict: Field<c_int>,
    pub dict_buffer: Field<*mut c_void>,
    pub dict_size: Field<i32>,
    pub dict_cdict: Field<*mut c_void>,
    pub dict_ddict: Field<*mut c_void>,
    pub filter_flags: Field<u8>,
    pub filters: Field<[u8; MAX_FILTERS]>,
    pub filters_meta: Field<[u8; MAX_FILTERS]>,
    /// As large as the reference's array of filters.
    pub urfilters: [[usize; 5]; BLOSC2_MAX_UDFILTERS as usize],
    pub prefilter: Field<blosc2_prefilter_fn>,
    pub postfilter: Field<blosc2_postfilter_fn>,
    /// A copy that this context owns, or null.
    pub preparams: Field<*mut blosc2_prefilter_params>,
    /// A copy that this context owns, or null.
    pub postparams: Field<*mut blosc2_postfilter_params>,
    /// From `malloc`, owned, or null.
    pub block_maskout: Field<*mut bool>,
    pub block_maskout_nitems: Field<c_int>,
    pub schunk: Field<*mut blosc2_schunk>,
    pub serial_context: Field<*mut c_void>,
    /// 1: for compression, 0: for decompression.
    pub do_compress: Field<c_int>,
    pub tuner_params: Field<*mut c_void>,
    pub tuner_id: Field<c_int>,
    pub codec_params: Field<*mut c_void>,
    pub filter_params: Field<[*mut c_void; MAX_FILTERS]>,
    pub nthreads: Field<i16>,
    pub new_nthreads: Field<i16>,
    pub thread_backend: Field<i16>,
    pub threads_started: Field<i16>,
}

impl Context {
    /// A context in which everything is zero.
    pub fn zeroed() -> Self {
        // SAFETY: every field is an integer, a pointer or an optional function pointer, for which
        // zero is a value.
        unsafe { std::mem::zeroed() }
    }

    /// The context behind the pointer that C holds.
    ///
    /// # Safety
    /// The pointer is null, or came from `blosc2_create_cctx` or `blosc2_create_dctx` and was not
    /// freed.
    pub unsafe fn from_c<'a>(ctx: *mut blosc2_context) -> oxiblosc_base::Result<&'a Self> {
        // SAFETY: `# Safety` says that it is null or a context that is there; all fields are cells,
        // so callbacks may write them.
        unsafe { ctx.cast::<Self>().as_ref() }.ok_or(Error::NULL_POINTER)
    }

    /// The pointer that callbacks and C get.
    pub fn as_c(&self) -> *mut blosc2_context {
        std::ptr::from_ref(self).cast_mut().cast()
    }

    /// Whether a tuner has begun its work in this context.
    pub fn has_begun_tuner(&self) -> bool {
        !self.tuner_params.get().is_null()
    }

    /// Index of the chunk that the super-chunk is at, or -1; only for a prefilter or postfilter, as
    /// no other callback is told.
    pub fn current_nchunk(&self) -> i64 {
        let schunk = self.schunk.get();
        if schunk.is_null() || (self.prefilter.get().is_none() && self.postfilter.get().is_none()) {
            // It is not needed, and the super-chunk may be gone.
            return -1;
        }
        if let Some(nchunk) = operation::chunk(schunk as usize) {
            return nchunk as i64;
        }
        // SAFETY: the pointer is not null, so it is valid, as in `owner`. The field is aligned, and
        // all that write it write it atomically (`publish` in `mirror.rs`).
        let current = unsafe { AtomicI64::from_ptr(&raw mut (*schunk).current_nchunk) };
        current.load(Ordering::Relaxed)
    }

    /// The parameters as a compression callback gets them.
    pub fn cparams(&self) -> blosc2_cparams {
        let mut cparams = blosc2_cparams::defaults();
        self.describe_cparams(&mut cparams);
        cparams
    }

    /// Writes the parameters that the reference writes; others stay as they are.
    pub fn describe_cparams(&self, cparams: &mut blosc2_cparams) {
        cparams.compcode = self.compcode.get() as u8;
        cparams.clevel = self.clevel.get() as u8;
        cparams.instr_codec = self.blosc2_flags.get() & BLOSC2_INSTR_CODEC as u8 != 0;
        cparams.schunk = self.schunk.get().cast();
        assign!(cparams, get self; compcode_meta, use_dict, typesize, nthreads, blocksize, splitmode);
        assign!(cparams, get self; filters, filters_meta, prefilter, preparams, tuner_id, codec_params);
    }

    /// Takes the parameters of chunks, and the number of threads.
    pub fn set_parameters(&self, parameters: &Parameters, nthreads: i16) {
        assign!(self, set parameters; typesize, blocksize, compcode_meta, filters, filters_meta);
        self.compcode.set(parameters.compcode.into());
        self.clevel.set(parameters.clevel.into());
        self.splitmode.set(parameters.splitmode.into());
        self.nthreads.set(nthreads);
        self.new_nthreads.set(nthreads);
    }

    /// Takes the parameters of compression but for functions of the program's; those of the
    /// environment come first.
    fn set_cparams(&self, cparams: &blosc2_cparams) -> Result<()> {
        let mut parameters = recorded(cparams);
        let mut nthreads = cparams.nthreads;
        override_parameters(&mut parameters, &mut nthreads, registry::code_of)?;
        self.set_parameters(&parameters, nthreads);
        let instrumented = u8::from(cparams.instr_codec) * BLOSC2_INSTR_CODEC as u8;
        self.blosc2_flags.set(instrumented);
        self.schunk.set(cparams.schunk.cast());
        assign!(self, set cparams; use_dict, codec_params, filter_params);
        Ok(())
    }

    /// Begins the tuner of this context.
    fn begin_tuner(&self, params: *mut c_void) -> Result<()> {
        let id = self.tuner_id.get();
        let Some(init) = registry::tuner(id).and_then(|tuner| tuner.init) else {
            trace("error", format_args!("tuner {id} is not registered"));
            return Err(Error::NULL_POINTER);
        };
        // SAFETY: `blosc2_register_tuner` requires that the function can be called. It may set any
        // field of the context, as all are cells.
        if catching_exceptions(-1, || unsafe { init(params, self.as_c(), null_mut()) }) < 0 {
            trace("error", format_args!("tuner {id} refused to begin"));
            self.tuner_params.set(null_mut());
            return Err(Error::NULL_POINTER);
        }
        Ok(())
    }

    /// The parameters as a decompression callback gets them.
    pub fn dparams(&self) -> blosc2_dparams {
        gather!(blosc2_dparams { schunk: self.schunk.get().cast() } get self;
            nthreads, postfilter, postparams, typesize)
    }

    /// Brings the number of threads up to date with what was asked for. Gives how many to use; a
    /// nonsensical number is left in place and counts as one thread.
    pub fn update_nthreads(&self) -> usize {
        let wanted = self.new_nthreads.get();
        if wanted > 0 && wanted != self.nthreads.get() {
            self.nthreads.set(wanted);
        }
        usize::try_from(self.nthreads.get()).unwrap_or(1).max(1)
    }

    /// Drops the mask of blocks.
    pub fn clear_maskout(&self) {
        let mask = self.block_maskout.replace(null_mut());
        if !mask.is_null() {
            // SAFETY: the mask is from `Buffer::into_raw` in `blosc2_set_maskout`, so from
            // `malloc`; the field was just cleared, so it is freed once.
            unsafe { libc::free(mask.cast()) };
            self.block_maskout_nitems.set(0);
        }
    }

    /// Gives the context to C, which gives it back with [`Self::taken_back`].
    pub fn into_c(self: Box<Self>) -> *mut blosc2_context {
        Box::into_raw(self).cast()
    }

    /// The context that C had; none if the pointer is null.
    ///
    /// # Safety
    /// `ctx` is null or from [`Self::into_c`], and is used no more.
    pub unsafe fn taken_back(ctx: *mut blosc2_context) -> Option<Box<Self>> {
        // SAFETY: not null, so by `# Safety` it is from a box, of which this is the only owner now.
        (!ctx.is_null()).then(|| unsafe { Box::from_raw(ctx.cast()) })
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.has_begun_tuner()
            && let Some(free) = registry::tuner(self.tuner_id.get()).and_then(|tuner| tuner.free)
        {
            // SAFETY: `blosc2_register_tuner` requires that the function can be called; the context
            // is still valid.
            catching_exceptions(-1, || unsafe { free(self.as_c()) });
        }
        self.clear_maskout();
        drop(MemoryUser);
        // SAFETY: the fields are null or copies that `own` made with `malloc`, and nothing else
        // frees them.
        unsafe {
            libc::free(self.preparams.get().cast());
            libc::free(self.postparams.get().cast());
        }
    }
}

/// The parameters of compression without the functions of the program, as a frame records them.
pub fn recorded(cparams: &blosc2_cparams) -> Parameters {
    let (use_dict, splitmode) = (cparams.use_dict != 0, narrow(cparams.splitmode));
    gather!(Parameters { use_dict, splitmode } from cparams;
        compcode, clevel, typesize, blocksize, compcode_meta, filters, filters_meta)
}

/// A function of the program's and a copy of its parameters, without which it is not called.
///
/// # Safety
/// `params` is null or points to a `T` that can be read.
unsafe fn own<F, T: Copy>(function: Option<F>, params: *const T) -> Result<(Option<F>, *mut T)> {
    let given = unsafe_granted!(params.as_ref());
    Ok(match function.zip(given) {
        Some((function, params)) => (Some(function), on_c_heap(*params)?),
        None => (None, null_mut()),
    })
}

/// Makes a context for compression; environment variables override `cparams`. The context keeps the
/// pointers in `cparams`, except `preparams`, which is copied. Free it with `blosc2_free_ctx`.
///
/// Returns NULL if a filter id is not assigned, `BLOSC_COMPRESSOR` names a user-defined codec, the
/// tuner is not there or refuses, or memory is short.
///
/// # Safety
/// The pointers in `cparams` are null or valid for as long as the context is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_create_cctx(cparams: blosc2_cparams) -> *mut blosc2_context {
    unsafe_granted!(guard(null_mut(), || {
        compression(cparams).map_or(null_mut(), Context::into_c)
    }))
}

/// As [`blosc2_create_cctx`].
///
/// # Errors
/// [`Error::MEMORY_ALLOC`]; [`Error::NULL_POINTER`] for whatever else it returns NULL for.
///
/// # Safety
/// As for that.
pub unsafe fn compression(cparams: blosc2_cparams) -> Result<Box<Context>> {
    let undefined = |id: &&u8| !filter_is_defined(**id);
    if let Some(id) = cparams.filters.iter().find(undefined) {
        trace("error", format_args!("filter {id} is not defined"));
        return Err(Error::NULL_POINTER);
    }
    let ctx = boxed(Context::zeroed())?;
    ctx.do_compress.set(1);
    ctx.set_cparams(&cparams)?;
    let (prefilter, preparams) = unsafe_granted!(own(cparams.prefilter, cparams.preparams)?);
    ctx.prefilter.set(prefilter);
    ctx.preparams.set(preparams);
    ctx.tuner_id.set(cparams.tuner_id.max(BLOSC_STUNE));
    if cparams.tuner_id > 0 {
        ctx.begin_tuner(cparams.tuner_params)?;
    }
    Ok(ctx)
}

/// Makes a context for decompression; `BLOSC_NTHREADS` overrides `dparams`. The context keeps the
/// pointers in `dparams`, except `postparams`, which is copied. Free it with `blosc2_free_ctx`.
/// Returns NULL if memory is short.
///
/// # Safety
/// The pointers in `dparams` are null or valid for as long as the context is used.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_create_dctx(dparams: blosc2_dparams) -> *mut blosc2_context {
    unsafe_granted!(guard(null_mut(), || {
        decompression(dparams).map_or(null_mut(), Context::into_c)
    }))
}

/// As [`blosc2_create_dctx`].
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
///
/// # Safety
/// As for that.
pub unsafe fn decompression(dparams: blosc2_dparams) -> Result<Box<Context>> {
    let ctx = boxed(Context::zeroed())?;
    let nthreads = at_least(c"BLOSC_NTHREADS", 1).unwrap_or(dparams.nthreads);
    ctx.nthreads.set(nthreads);
    ctx.new_nthreads.set(nthreads);
    ctx.schunk.set(dparams.schunk.cast());
    let (postfilter, postparams) = unsafe_granted!(own(dparams.postfilter, dparams.postparams)?);
    ctx.postfilter.set(postfilter);
    ctx.postparams.set(postparams);
    Ok(ctx)
}

/// Frees a context and what it owns. NULL is allowed.
///
/// # Safety
/// `context` came from `blosc2_create_cctx` or `blosc2_create_dctx`, was not freed and is not in
/// use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_free_ctx(context: *mut blosc2_context) {
    unsafe_granted!(guard((), || drop(Context::taken_back(context))));
}

/// Writes the parameters of a compression context into `cparams`; `tuner_params` and
/// `filter_params` are left alone. Returns 0.
///
/// # Safety
/// Both pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_ctx_get_cparams(
    ctx: *mut blosc2_context,
    cparams: *mut blosc2_cparams,
) -> c_int {
    not_null!(cparams)?;
    Context::from_c(ctx)?.describe_cparams(&mut *cparams);
    Ok(())
}

/// Writes the parameters of a decompression context into `dparams`. Returns 0.
///
/// # Safety
/// Both pointers are valid.
#[export]
pub unsafe extern "C" fn blosc2_ctx_get_dparams(
    ctx: *mut blosc2_context,
    dparams: *mut blosc2_dparams,
) -> c_int {
    not_null!(dparams)?;
    *dparams = Context::from_c(ctx)?.dparams();
    Ok(())
}

/// Marks the blocks that the next `blosc2_decompress_ctx` is to leave alone: those for which
/// `maskout` is true. The mask, `nblocks` long, is copied; it holds for one call. Returns 0.
///
/// # Safety
/// `ctx` is valid, `maskout` points to `nblocks` values.
#[export]
pub unsafe extern "C" fn blosc2_set_maskout(
    ctx: *mut blosc2_context,
    maskout: *mut bool,
    nblocks: c_int,
) -> c_int {
    let ctx = Context::from_c(ctx)?;
    // A negative number is more than there is memory for.
    let len = size(nblocks).map_err(|_| Error::MEMORY_ALLOC)?;
    // SAFETY: `# Safety` says that there are `nblocks` bools. They are read as bytes, so that any
    // value but 0 can mean true.
    let mask = unsafe { bytes(maskout.cast(), len)? };
    let mut copy = Buffer::zeroed(len.max(1))?;
    for (to, from) in copy.iter_mut().zip(mask) {
        *to = u8::from(*from != 0);
    }
    ctx.clear_maskout();
    ctx.block_maskout.set(copy.into_raw().cast());
    ctx.block_maskout_nitems.set(nblocks);
    Ok(0)
}
