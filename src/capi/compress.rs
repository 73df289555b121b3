//! Compression through a context: the tuner, the checks, the engine.

use super::context::Context;
use super::exec::Threads;
use super::hooks::ContextHooks;
use super::registry;
use crate::capi::prelude::*;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{MAX_BUFFERSIZE, filter_id};
use oxiblosc_core::params::Job;
use oxiblosc_memory::List;
use std::time::Instant;

/// The data and the place of a chunk, as C hands them over: no data, but a size, where a prefilter makes them. What is wrong
/// with the place is said after what is wrong with the parameters.
///
/// # Safety
/// A buffer that is not null has as many bytes as its size says.
pub unsafe fn buffers<'a>(
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> Result<(ChunkInput<'a>, Result<&'a mut [u8]>)> {
    let len = size(srcsize)?;
    let room = usize::try_from(destsize).unwrap_or(0);
    if src.is_null() && len > 0 {
        return Ok((
            ChunkInput::Generated(len),
            unsafe_granted!(bytes_mut(dest.cast(), room)),
        ));
    }
    // SAFETY: the sizes are those of `# Safety`; where `apart` finds a byte of the source in `dest`, no slice is made of that.
    unsafe {
        let place = apart(src.cast(), len, dest.cast(), room);
        let source = ChunkInput::Buffer(bytes(src.cast(), len)?);
        Ok((source, place.and_then(|()| bytes_mut(dest.cast(), room))))
    }
}

/// Of what kind a chunk is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// A header of 16 bytes.
    Blosc1,
    /// A header of 32 bytes.
    Blosc2,
    /// The same, and checksums if they fit.
    WithChecksums,
}

impl Context {
    /// The chunk that the fields describe.
    fn job(&self) -> Job {
        Job {
            nbytes: self.sourcesize.get(),
            typesize: self.typesize.get(),
            blocksize: self.blocksize.get(),
            compcode: self.compcode.get(),
            compcode_meta: self.compcode_meta.get(),
            clevel: self.clevel.get(),
            splitmode: self.splitmode.get(),
            use_dict: self.use_dict.get() != 0,
            filters: self.filters.get(),
            filters_meta: self.filters_meta.get(),
        }
    }

    /// Runs the context's tuner before a chunk: all parameters if it was begun, else the block size alone.
    fn tune(&self) -> Result<()> {
        let begun = !self.tuner_params.get().is_null();
        match self.tuner_id.get() {
            BLOSC_STUNE if begun => {}
            BLOSC_STUNE => self.blocksize.set(self.job().tuned_blocksize()),
            id => {
                let tuner = registry::tuner(id).ok_or(Error::InvalidParam)?;
                let function = if begun {
                    tuner.next_cparams
                } else {
                    tuner.next_blocksize
                };
                // SAFETY: the tuner's own function; every field that it may set is a cell.
                if unsafe { function.ok_or(Error::Failure)?(self.as_c()) } < 0 {
                    return Err(Error::Tuner);
                }
            }
        }
        // Without a size there are no blocks.
        if self.blocksize.get() <= 0 {
            self.blocksize.set(self.job().tuned_blocksize());
        }
        Ok(())
    }

    /// When the chunk was begun, if there is a tuner that was begun and so is told; a small chunk feels the clock.
    fn start_for_tuner(&self) -> Option<Instant> {
        let told = !self.tuner_params.get().is_null() && self.tuner_id.get() != BLOSC_STUNE;
        told.then(Instant::now)
    }

    /// Tells the tuner how long the chunk took.
    fn report_to_tuner(&self, seconds: f64) -> Result<()> {
        let tuner = registry::tuner(self.tuner_id.get()).ok_or(Error::InvalidParam)?;
        // SAFETY: as in `tune`.
        if unsafe { tuner.update.ok_or(Error::Failure)?(self.as_c(), seconds) } < 0 {
            return Err(Error::Tuner);
        }
        Ok(())
    }

    /// Sets the fields that describe the job (`src` is null where the data are in no buffer), lets the tuner work, and checks all parameters.
    pub fn prepare_compression(
        &self,
        src: *const u8,
        srcsize: i32,
        dest: *mut u8,
        destsize: i32,
    ) -> Result<()> {
        if self.typesize.get() <= 0 || srcsize < 0 {
            return Err(Error::InvalidParam);
        }
        self.do_compress.set(1);
        self.src.set(src);
        self.srcsize.set(srcsize);
        self.sourcesize.set(srcsize);
        self.dest.set(dest);
        self.destsize.set(destsize);
        let shuffle = self.filters.get().iter().fold(0, |bits, id| {
            bits | match *id {
                filter_id::SHUFFLE => BLOSC_DOSHUFFLE,
                filter_id::BITSHUFFLE => BLOSC_DOBITSHUFFLE,
                filter_id::DELTA => BLOSC_DODELTA,
                _ => 0,
            }
        });
        self.filter_flags.set(shuffle as u8);
        self.tune()?;
        let mut job = self.job();
        job.check(destsize, !self.src.get().is_null())?;
        self.typesize.set(job.typesize);
        if !job.use_dict {
            self.use_dict.set(0);
        }
        let (nblocks, leftover) = (srcsize / job.blocksize, srcsize % job.blocksize);
        self.nblocks.set(nblocks + i32::from(leftover > 0));
        self.leftover.set(leftover);
        Ok(())
    }

    /// The parameters as the engine wants them.
    pub fn encode_params(&self, format: Format) -> EncodeParams {
        EncodeParams {
            versionlz: registry::format_version_of(self.compcode.get()),
            instrumented: self.blosc2_flags.get() & BLOSC2_INSTR_CODEC as u8 != 0,
            extended: format != Format::Blosc1,
            checksums: format == Format::WithChecksums,
            nthreads: self.update_nthreads(),
            ..self.job().encode_params()
        }
    }

    /// Compresses; gives the chunk's size, or 0 if it does not fit into `destsize` bytes, which `dest` has.
    pub fn compress(
        &self,
        source: ChunkInput,
        dest: Result<&mut [u8]>,
        destsize: i32,
        format: Format,
    ) -> Result<usize> {
        let srcsize = i32::try_from(source.nbytes()).map_err(|_| Error::MaxBufsizeExceeded)?;
        let src = match source {
            ChunkInput::Buffer(data) => data.as_ptr(),
            _ => null(),
        };
        let place = dest
            .as_ref()
            .map_or(null_mut(), |dest| dest.as_ptr().cast_mut());
        self.prepare_compression(src, srcsize, place, destsize)?;
        let started = self.start_for_tuner();
        let params = self.encode_params(format);
        let hooks = ContextHooks::for_compression(self, src);
        let cbytes = compress(&params, source, dest?, &hooks, &Threads)?;
        self.destsize.set(cbytes as i32);
        if let Some(started) = started {
            self.report_to_tuner(started.elapsed().as_secs_f64())?;
        }
        Ok(cbytes)
    }
}

/// Compresses `srcsize` bytes at `src` into `dest`, which has room for `destsize`; a chunk never needs more than
/// `srcsize + BLOSC2_MAX_OVERHEAD`. The buffers must not overlap. Returns the size of the chunk, 0 if it does not fit,
/// or a negative error code.
///
/// # Safety
/// `context` is a compression context that no other thread uses during the call; the buffers have the sizes given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_compress_ctx(
    context: *mut blosc2_context,
    src: *const c_void,
    srcsize: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    code("blosc2_compress_ctx", || {
        let ctx = unsafe_granted!(Context::from_c(context)?);
        if ctx.do_compress.get() != 1 {
            return Err(Error::InvalidParam);
        }
        let (source, dest) = unsafe_granted!(buffers(src, srcsize, dest, destsize)?);
        ctx.compress(source, dest, destsize, Format::Blosc2)
    })
}

/// Compresses `nblocks` buffers, `srcs[i]` of `srcsizes[i]` bytes, into one chunk of as many blocks of these sizes.
/// Returns the size of the chunk, 0 if it does not fit into `destsize` bytes, or a negative error code.
///
/// # Safety
/// `context` is a compression context that no other thread uses during the call; the arrays have `nblocks` elements, the buffers
/// the sizes given.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc2_vlcompress_ctx(
    context: *mut blosc2_context,
    srcs: *const *const c_void,
    srcsizes: *const i32,
    nblocks: i32,
    dest: *mut c_void,
    destsize: i32,
) -> c_int {
    code("blosc2_vlcompress_ctx", || {
        let ctx = unsafe_granted!(Context::from_c(context)?);
        let nblocks = usize::try_from(nblocks).unwrap_or(0);
        if ctx.do_compress.get() != 1 || srcs.is_null() || srcsizes.is_null() || nblocks == 0 {
            return Err(Error::InvalidParam);
        }
        let mut blocks = List::new();
        blocks.reserve_exact(nblocks)?;
        let (mut total, mut largest) = (0i64, 0i32);
        for i in 0..nblocks {
            let (src, size) = unsafe_granted!((*srcs.add(i), *srcsizes.add(i)));
            if src.is_null() || size <= 0 {
                return Err(Error::InvalidParam);
            }
            total += i64::from(size);
            if total > i64::from(MAX_BUFFERSIZE) {
                return Err(Error::MaxBufsizeExceeded);
            }
            largest = largest.max(size);
            apart(
                src.cast(),
                size as usize,
                dest.cast(),
                usize::try_from(destsize).unwrap_or(0),
            )?;
            blocks.push(unsafe_granted!(bytes(src.cast(), size as usize)?))?;
        }
        let automatic = ctx.blocksize.replace(largest);
        // SAFETY: `dest` has the size given; the loop above has refused a source that shares a byte with it.
        let dest = unsafe { bytes_mut(dest.cast(), usize::try_from(destsize).unwrap_or(0)) };
        let result = ctx.compress(
            ChunkInput::Variable(&blocks),
            dest,
            destsize,
            Format::Blosc2,
        );
        ctx.blocksize.set(automatic);
        result
    })
}
