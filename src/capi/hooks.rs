//! The caller's functions, as the engine calls them.

use super::registry;
use crate::capi::prelude::*;
use oxiblosc::format::chunk::hooks::{BlockPos, Hooks, RegisteredFunctions};
use oxiblosc::ndim::meta::block_shape;
use oxiblosc::storage::callbacks::catching_exceptions;
use oxiblosc::storage::operation;
use oxiblosc_base::Doing;
use oxiblosc_base::cells::BlockShape;
use std::sync::OnceLock;

type Prefilter = unsafe extern "C-unwind" fn(*mut blosc2_prefilter_params) -> i32;
type Postfilter = unsafe extern "C-unwind" fn(*mut blosc2_postfilter_params) -> i32;

/// The functions that belong to a context and to the registry.
pub struct ContextHooks<'a> {
    ctx: &'a Context,
    /// What a registered codec gets as the chunk: the source buffer, or the chunk being read.
    chunk: *const u8,
    /// With the parameters that the context owns.
    prefilter: Option<(Prefilter, &'a blosc2_prefilter_params)>,
    /// With the parameters that the context owns.
    postfilter: Option<(Postfilter, &'a blosc2_postfilter_params)>,
    nchunk: i64,
    typesize: i32,
    /// What the array's metalayer says of blocks, read when first asked for.
    block_shape: OnceLock<Result<BlockShape>>,
}

// SAFETY: workers share the copies that are made below, which nothing writes, and the context,
// whose fields are atomics (`Field`). The parameters of callbacks are copied for each call.
unsafe impl Sync for ContextHooks<'_> {}

impl<'a> ContextHooks<'a> {
    /// For compression of the data in this buffer, if they are in one.
    pub fn for_compression(ctx: &'a Context, source: Option<&'a [u8]>) -> Self {
        let src = source.map_or(null(), <[u8]>::as_ptr);
        // SAFETY: null or a copy that the context owns (`own` in `context.rs`) and frees when it is
        // dropped.
        let params = unsafe { ctx.preparams.get().as_ref() };
        let mut hooks = Self::new(ctx, src);
        hooks.prefilter = ctx.prefilter.get().zip(params);
        hooks
    }

    /// For decompression of a chunk, of which the header at least is in `chunk`.
    pub fn for_decompression(ctx: &'a Context, chunk: &[u8]) -> Self {
        // SAFETY: as in `for_compression`.
        let params = unsafe { ctx.postparams.get().as_ref() };
        let mut hooks = Self::new(ctx, chunk.as_ptr());
        hooks.postfilter = ctx.postfilter.get().zip(params);
        // Not every way to a chunk tells the context about it, and plugins ask for the typesize.
        if let Some(typesize) = chunk.get(BLOSC2_CHUNK_TYPESIZE as usize) {
            hooks.typesize = (*typesize).into();
        }
        hooks
    }

    /// The parameters of decompression, as they are for this chunk.
    fn dparams(&self) -> blosc2_dparams {
        blosc2_dparams {
            typesize: self.typesize,
            ..self.ctx.dparams()
        }
    }

    fn new(ctx: &'a Context, chunk: *const u8) -> Self {
        Self {
            ctx,
            chunk,
            prefilter: None,
            postfilter: None,
            nchunk: ctx.current_nchunk(),
            typesize: ctx.typesize.get(),
            block_shape: OnceLock::new(),
        }
    }

    /// The shape of blocks as the metalayer of an array has it.
    fn read_block_shape(&self) -> Result<BlockShape> {
        // SAFETY: as in `Context::owner`.
        let shown = unsafe { Handle::from_c(self.ctx.schunk.get()) };
        let shown = shown.map_err(|_| Error::FAILURE)?;
        let state = shown.core().peek()?;
        block_shape(shown.metalayers(&state))
    }

    fn output_typesize(&self) -> i32 {
        match self.prefilter {
            Some((_, params)) if params.output_typesize > 0 => params.output_typesize,
            _ => self.typesize,
        }
    }
}

/// What a function of the program's returned: 0 unless it failed.
fn done(rc: c_int, error: Error) -> Result<()> {
    (rc == 0).then_some(()).ok_or(error)
}

/// Calls a function of the program's that works on blocks.
fn call(function: impl FnOnce() -> c_int) -> c_int {
    let _call = operation::call_on_blocks();
    catching_exceptions(-1, function)
}

/// Says in the parameters of a prefilter or postfilter which block it is called for, and which
/// buffers are its own.
macro_rules! at_block {
    ($params:expr, $hooks:expr, $pos:expr, $out:expr, $ttmp:expr) => {
        $params.output = $out.as_mut_ptr();
        $params.nchunk = $hooks.nchunk;
        $params.nblock = c_size($pos.nblock);
        $params.tid = c_size($pos.tid);
        ($params.ttmp, $params.ttmp_nbytes) = ($ttmp.as_mut_ptr(), $ttmp.len());
        $params.ctx = $hooks.ctx.as_c();
    };
}

/// Calls a registered function with two buffers and their sizes.
fn call_registered(
    src: &[u8],
    dst: &mut [u8],
    function: impl FnOnce(*const u8, *mut u8, i32, i32) -> c_int,
) -> c_int {
    let (len, capacity) = (c_size(src.len()), c_size(dst.len()));
    call(|| function(src.as_ptr(), dst.as_mut_ptr(), len, capacity))
}

impl Hooks for ContextHooks<'_> {
    fn has_prefilter(&self) -> bool {
        self.prefilter.is_some()
    }

    fn output_is_disposable(&self) -> bool {
        matches!(self.prefilter, Some((_, params)) if params.output_is_disposable)
    }

    fn prefilter_output(&self, bsize: usize) -> usize {
        let nitems = bsize / usize::try_from(self.typesize).unwrap_or(1).max(1);
        nitems.saturating_mul(usize::try_from(self.output_typesize()).unwrap_or(0))
    }

    fn prefilter(
        &self,
        pos: BlockPos,
        input: Option<&[u8]>,
        bsize: usize,
        out: &mut [u8],
        ttmp: &mut [u8],
    ) -> Result<()> {
        let (function, params) = self.prefilter.ok_or(Error::FILTER_PIPELINE)?;
        let mut params = *params;
        at_block!(params, self, pos, out, ttmp);
        params.input = input.map_or(null(), <[u8]>::as_ptr);
        params.output_size = c_size(self.prefilter_output(bsize));
        params.output_typesize = self.output_typesize();
        params.output_offset = c_size(pos.offset);
        // SAFETY: `blosc2_create_cctx` requires that the prefilter can be called; its parameters
        // describe the buffers of this block.
        let rc = call(|| unsafe { function(&raw mut params) });
        done(rc, Error::FILTER_PIPELINE.at(Doing::Prefilter))
    }

    fn has_postfilter(&self) -> bool {
        self.postfilter.is_some()
    }

    fn postfilter(
        &self,
        pos: BlockPos,
        typesize: usize,
        input: &[u8],
        out: &mut [u8],
        ttmp: &mut [u8],
    ) -> Result<()> {
        let (function, params) = self.postfilter.ok_or(Error::POSTFILTER)?;
        let mut params = *params;
        at_block!(params, self, pos, out, ttmp);
        params.input = input.as_ptr();
        params.size = c_size(out.len());
        params.typesize = c_size(typesize);
        params.offset = c_size(pos.offset);
        // SAFETY: `blosc2_create_dctx` requires that the postfilter can be called; its parameters
        // describe the buffers of this block.
        let rc = call(|| unsafe { function(&raw mut params) });
        done(rc, Error::POSTFILTER.at(Doing::Postfilter))
    }

    fn registered(&self) -> &dyn RegisteredFunctions {
        self
    }
}

impl RegisteredFunctions for ContextHooks<'_> {
    fn schunk_typesize(&self) -> Option<i32> {
        let schunk = self.ctx.schunk.get();
        // SAFETY: the pointer is not null, so it is valid, as in `Context::owner`. The library
        // never writes this field of an open super-chunk.
        (!schunk.is_null()).then(|| unsafe { (*schunk).typesize })
    }

    fn block_shape(&self) -> Result<BlockShape> {
        *self.block_shape.get_or_init(|| self.read_block_shape())
    }

    fn filter_forward(&self, id: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let forward = registry::filter(id).and_then(|(forward, _)| forward);
        let forward = forward.ok_or(Error::FILTER_PIPELINE.at(Doing::RegisteredFilter))?;
        let mut cparams = self.ctx.cparams();
        // SAFETY: `blosc2_register_filter` requires that the function can be called; both buffers
        // have `len` bytes.
        let rc = call_registered(src, dst, |from, to, len, _| unsafe {
            forward(from, to, len, meta, &raw mut cparams, id)
        });
        done(rc, Error::FILTER_PIPELINE.at(Doing::RegisteredFilter))
    }

    fn filter_backward(&self, id: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<()> {
        let backward = registry::filter(id).and_then(|(_, backward)| backward);
        let backward = backward.ok_or(Error::FILTER_PIPELINE.at(Doing::RegisteredFilter))?;
        let mut dparams = self.dparams();
        // SAFETY: as in `filter_forward`.
        let rc = call_registered(src, dst, |from, to, len, _| unsafe {
            backward(from, to, len, meta, &raw mut dparams, id)
        });
        done(rc, Error::registered(rc).at(Doing::RegisteredFilter))
    }

    fn encode(&self, compcode: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let encoder = registry::encoder(compcode.into())
            .ok_or(Error::CODEC_SUPPORT.at(Doing::RegisteredCodec))?;
        let (mut cparams, chunk) = (self.ctx.cparams(), self.chunk.cast::<c_void>());
        // SAFETY: `blosc2_register_codec` requires that the function can be called; the buffers
        // have `len` and `capacity` bytes.
        let rc = call_registered(src, dst, |from, to, len, capacity| unsafe {
            encoder(from, len, to, capacity, meta, &raw mut cparams, chunk)
        });
        usize::try_from(rc).map_err(|_| Error::DATA.at(Doing::RegisteredCodec))
    }

    fn decode(&self, compcode: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        let decoder = registry::decoder(compcode.into())
            .ok_or(Error::CODEC_SUPPORT.at(Doing::RegisteredCodec))?;
        let (mut dparams, chunk) = (self.dparams(), self.chunk.cast::<c_void>());
        // SAFETY: as in `encode`.
        let rc = call_registered(src, dst, |from, to, len, capacity| unsafe {
            decoder(from, len, to, capacity, meta, &raw mut dparams, chunk)
        });
        usize::try_from(rc).map_err(|_| Error::DATA.at(Doing::RegisteredCodec))
    }
}
