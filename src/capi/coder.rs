//! Contexts as a super-chunk compresses with them; `decompress.rs` has the other side.

use super::compress::Format;
use super::context::Context;
use super::exec::Threads;
use super::hooks::ContextHooks;
use crate::capi::prelude::*;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams};
use oxiblosc_chunk::header::MAX_OVERHEAD;
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_chunk::patch::RecompressParams;
use oxiblosc_core::coder::Encoder;
use oxiblosc_memory::boxed;
use std::ptr::NonNull;

/// A size as C takes it.
fn c_size(len: usize) -> Result<i32> {
    i32::try_from(len).map_err(|_| Error::MaxBufsizeExceeded)
}

impl Encoder for Context {
    fn compress(&self, source: ChunkInput, dest: &mut [u8], checksums: bool) -> Result<usize> {
        let room = c_size(dest.len())?;
        let format = match checksums {
            true => Format::WithChecksums,
            false => Format::Blosc2,
        };
        self.compress(source, Ok(dest), room, format)
    }

    fn sees_chunks(&self) -> bool {
        self.prefilter.get().is_some()
            || self.tuner_id.get() != BLOSC_STUNE
            || !self.tuner_params.get().is_null()
    }

    fn params(&self, nbytes: usize, in_buffer: bool) -> Result<Option<EncodeParams>> {
        if Encoder::sees_chunks(self) {
            return Ok(None);
        }
        let room = c_size(nbytes + MAX_OVERHEAD)?;
        // Nothing looks at what is there, but only whether something is.
        let src = match in_buffer {
            true => NonNull::<u8>::dangling().as_ptr(),
            false => null_mut(),
        };
        self.prepare_compression(src, nbytes as i32, null_mut(), room)?;
        Ok(Some(self.encode_params(Format::Blosc2)))
    }

    fn recompress_params(&self) -> RecompressParams {
        self.encode_params(Format::Blosc2).recompress_params()
    }

    fn hooks<'h>(&'h self, source: Option<&'h [u8]>) -> Result<Box<dyn Hooks + 'h>> {
        let source = source.map_or(null(), <[u8]>::as_ptr);
        Ok(boxed(ContextHooks::for_compression(self, source))?)
    }

    fn set_blocksize(&self, blocksize: usize) {
        self.blocksize.set(blocksize as i32);
    }

    fn nthreads(&self) -> usize {
        self.update_nthreads()
    }

    fn executor(&self) -> &dyn Executor {
        &Threads
    }
}
