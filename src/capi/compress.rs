//! Compression through a context: what the core asks of it, and the functions.

use super::hooks::ContextHooks;
use super::registry;
use crate::capi::prelude::*;
use oxiblosc::encoding::{
    EncodeContext, EncodePlan, EncodeRequest, Format, compress, compress_vlblocks,
};
use oxiblosc::format::chunk::header::{ChunkHeader, filter_flags};
use oxiblosc::format::chunk::hooks::{Hooks, if_needed};
use oxiblosc::format::chunk::{ChunkInput, EncodeParams};
use oxiblosc::params::narrow;
use oxiblosc::schunk::Parameters;
use oxiblosc::storage::callbacks::catching_exceptions;
use std::time::Instant;

/// The data and the place of a chunk, as C hands them over: no data, but a size, where a prefilter
/// makes them. What is wrong with the place is said after what is wrong with the parameters.
///
/// # Safety
/// A buffer that is not null has as many bytes as its size says.
pub unsafe fn source_and_place<'a>(
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> Result<(ChunkInput<'a>, Result<&'a mut [u8]>)> {
    let (len, capacity) = (size(srcsize)?, or_zero(destsize));
    // SAFETY: the sizes are those of `# Safety`. Of `dest` no slice is made if a byte of the source
    // is in it.
    let place = || unsafe { bytes_mut(dest.cast(), capacity) };
    if src.is_null() && len > 0 {
        return Ok((ChunkInput::Generated(len), place()));
    }
    let apart = apart(src.cast(), len, dest.cast(), capacity);
    let source = unsafe_granted!(bytes(src.cast(), len)?);
    Ok((ChunkInput::Buffer(source), apart.and_then(|()| place())))
}

impl EncodeContext for Context {
    fn parameters(&self) -> Parameters {
        let use_dict = self.use_dict.get() != 0;
        let (compcode, clevel) = (narrow(self.compcode.get()), narrow(self.clevel.get()));
        let splitmode = narrow(self.splitmode.get());
        gather!(Parameters { compcode, clevel, splitmode, use_dict } get self;
            typesize, blocksize, compcode_meta, filters, filters_meta)
    }

    fn begin<'h>(&'h self, mut request: EncodeRequest<'h, '_>) -> Result<EncodePlan<'h>> {
        if self.typesize.get() <= 0 {
            return Err(Error::INVALID_PARAM);
        }
        self.record(&mut request);
        let tuned = self.tune()?;
        let mut parameters = self.parameters();
        // The program's tuner may have left the choice of the size to the built-in one.
        if !tuned || parameters.blocksize <= 0 {
            request.choose_blocksize(&mut parameters)?;
            self.blocksize.set(parameters.blocksize);
        }
        let mut params = request.check(&parameters)?;
        self.record_checked(request.nbytes, &params);
        let flags = self.blosc2_flags.get();
        params.versionlz = registry::CODECS.version_of(self.compcode.get());
        params.instrumented = flags & BLOSC2_INSTR_CODEC as u8 != 0;
        params.nthreads = self.nthreads();
        let timed = self.has_begun_tuner() && self.tuner_id.get() != BLOSC_STUNE;
        let needed = self.prefilter.get().is_some() || !params.is_plain();
        Ok(EncodePlan {
            hooks: if_needed(needed, || {
                ContextHooks::for_compression(self, request.source)
            })?,
            params,
            started: timed.then(Instant::now),
        })
    }

    fn finish(&self, cbytes: usize, seconds: Option<f64>) -> Result<()> {
        self.destsize.set(cbytes as i32);
        let Some(seconds) = seconds else {
            return Ok(());
        };
        let tuner = registry::tuner(self.tuner_id.get()).ok_or(Error::INVALID_PARAM)?;
        let update = tuner.update.ok_or(Error::FAILURE)?;
        // SAFETY: as in `tune`.
        match catching_exceptions(-1, || unsafe { update(self.as_c(), seconds) }) {
            ..0 => Err(Error::TUNER),
            _ => Ok(()),
        }
    }

    fn sees_chunks(&self) -> bool {
        let tuned = self.has_begun_tuner() || self.tuner_id.get() != BLOSC_STUNE;
        tuned || self.prefilter.get().is_some()
    }

    fn hooks<'h>(&'h self, header: &ChunkHeader, chunk: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        let needed = self.prefilter.get().is_some() || !header.is_plain();
        if_needed(needed, || ContextHooks::for_compression(self, Some(chunk)))
    }

    fn set_blocksize(&self, blocksize: usize) {
        self.blocksize.set(blocksize as i32);
    }

    fn nthreads(&self) -> usize {
        self.update_nthreads()
    }
}

impl Context {
    /// Records a chunk that is about to be compressed, where functions of the program look for it.
    fn record(&self, request: &mut EncodeRequest) {
        self.do_compress.set(1);
        self.src.set(request.source.map_or(null(), <[u8]>::as_ptr));
        self.srcsize.set(request.nbytes);
        self.sourcesize.set(request.nbytes);
        let dest = request.dest.as_deref_mut();
        self.dest.set(dest.map_or(null_mut(), <[u8]>::as_mut_ptr));
        self.destsize.set(c_size(request.capacity));
        self.filter_flags.set(filter_flags(&self.filters.get()));
        if let Some(largest) = request.largest_block {
            self.blocksize.set(largest);
        }
    }

    /// Records the parameters of the chunk, which have been checked.
    fn record_checked(&self, nbytes: i32, params: &EncodeParams) {
        self.typesize.set(params.typesize as i32);
        if !params.use_dict {
            self.use_dict.set(0);
        }
        let blocksize = params.blocksize as i32;
        let leftover = nbytes % blocksize;
        self.leftover.set(leftover);
        self.nblocks
            .set(nbytes / blocksize + i32::from(leftover > 0));
    }

    /// Lets the program's tuner set parameters. Gives whether there is such a tuner; otherwise the
    /// built-in one chooses the size of a block.
    fn tune(&self) -> Result<bool> {
        let begun = self.has_begun_tuner();
        if self.tuner_id.get() == BLOSC_STUNE {
            return Ok(begun);
        }
        let tuner = registry::tuner(self.tuner_id.get()).ok_or(Error::INVALID_PARAM)?;
        let function = match begun {
            true => tuner.next_cparams,
            false => tuner.next_blocksize,
        };
        let function = function.ok_or(Error::FAILURE)?;
        // SAFETY: `blosc2_register_tuner` requires that the function can be called. It may set any
        // field of the context, as all are cells.
        match catching_exceptions(-1, || unsafe { function(self.as_c()) }) {
            ..0 => Err(Error::TUNER),
            _ => Ok(true),
        }
    }
}

/// Compresses `srcsize` bytes at `src` into `dest`, which has room for `destsize`; a chunk never
/// needs more than `srcsize + BLOSC2_MAX_OVERHEAD`. The buffers must not overlap. Returns the size
/// of the chunk, 0 if it does not fit, or a negative error code.
///
/// # Safety
/// `context` is a compression context that no other thread uses during the call; the buffers have
/// the sizes given.
#[export]
pub unsafe extern "C" fn blosc2_compress_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let ctx = Context::from_c(context)?;
    if ctx.do_compress.get() != 1 {
        return Err(Error::INVALID_PARAM);
    }
    let (source, dest) = source_and_place(src, srcsize, dest, destsize)?;
    let header = compress(ctx, source, dest, or_zero(destsize), Format::Blosc2)?;
    Ok(header.map_or(0, |header| header.cbytes))
}

/// Compresses `nblocks` buffers, `srcs[i]` of `srcsizes[i]` bytes, into one chunk of as many blocks
/// of these sizes. Returns the size of the chunk, 0 if it does not fit into `destsize` bytes, or a
/// negative error code.
///
/// # Safety
/// `context` is a compression context that no other thread uses during the call; the arrays have
/// `nblocks` elements, the buffers the sizes given.
#[export]
pub unsafe extern "C" fn blosc2_vlcompress_ctx(
    context: *mut blosc2_context,
    srcs: *const *const c_void,
    srcsizes: *const i32,
    nblocks: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    let ctx = Context::from_c(context)?;
    let nblocks = or_zero(nblocks);
    if ctx.do_compress.get() != 1 || srcs.is_null() || srcsizes.is_null() || nblocks == 0 {
        return Err(Error::INVALID_PARAM);
    }
    let place = dest.cast::<u8>();
    let blocks = (0..nblocks).map(|i| {
        let (src, size) = (*srcs.add(i), *srcsizes.add(i));
        if src.is_null() || size <= 0 {
            return Err(Error::INVALID_PARAM);
        }
        apart(src.cast(), size as usize, place, or_zero(destsize))?;
        bytes(src.cast(), size as usize)
    });
    // SAFETY: `dest` has the size given; nothing writes to it where a source shares a byte with it,
    // which the iterator refuses.
    let dest = || unsafe { bytes_mut(place, or_zero(destsize)) };
    // Later chunks have blocks of the size that was set.
    let blocksize = ctx.blocksize.get();
    let header = compress_vlblocks(ctx, blocks, dest, or_zero(destsize));
    ctx.blocksize.set(blocksize);
    let header = header?;
    Ok(header.map_or(0, |header| header.cbytes))
}
