//! Contexts as a super-chunk uses them.

use super::compress::Format;
use super::context::Context;
use super::exec::Threads;
use super::hooks::ContextHooks;
use crate::capi::prelude::*;
use oxiblosc_chunk::decode::{Chunk, decompress, decompress_block};
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams};
use oxiblosc_chunk::getitem::{ItemRange, getitem};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD};
use oxiblosc_chunk::hooks::{Executor, Hooks};
use oxiblosc_chunk::patch::RecompressParams;
use oxiblosc_core::coder::{Decoder, Encoder};
use oxiblosc_core::schunk::lazy::is_lazy;
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

impl Decoder for Context {
    fn decompress(&self, header: &ChunkHeader, chunk: &[u8], dest: &mut [u8]) -> Result<usize> {
        let destsize = c_size(dest.len())?;
        let data = dest.get_mut(..header.nbytes).ok_or(Error::WriteBuffer)?;
        let chunk = match is_lazy(header) {
            true => chunk,
            false => chunk.get(..header.cbytes).ok_or(Error::InvalidHeader)?,
        };
        self.decompress_parsed(header, chunk, data, destsize)
    }

    fn decompress_chunk(&self, chunk: &Chunk, front: &[u8], dest: &mut [u8]) -> Result<usize> {
        let header = chunk.header();
        self.describe(header, front, dest.as_mut_ptr().cast(), c_size(dest.len())?);
        let maskout = self.maskout(header.nblocks)?;
        let hooks = ContextHooks::for_decompression(self, front);
        let nthreads = self.update_nthreads();
        decompress(chunk, dest, maskout.as_deref(), nthreads, &hooks, &Threads)
    }

    fn decompress_items(
        &self,
        chunk: &Chunk,
        front: &[u8],
        range: ItemRange,
        dest: &mut [u8],
    ) -> Result<()> {
        let room = c_size(dest.len())?;
        self.describe(chunk.header(), front, dest.as_mut_ptr().cast(), room);
        let hooks = ContextHooks::for_decompression(self, front);
        getitem(chunk, range, dest, &hooks)
    }

    fn decompress_block(
        &self,
        chunk: &Chunk,
        front: &[u8],
        nblock: usize,
        dest: &mut [u8],
    ) -> Result<()> {
        let header = chunk.header();
        self.describe(header, front, null_mut(), c_size(header.nbytes)?);
        self.maskout(header.nblocks)?;
        let hooks = ContextHooks::for_decompression(self, front);
        decompress_block(chunk, nblock, dest, &hooks)
    }

    fn hooks<'h>(&'h self, front: &'h [u8]) -> Result<Box<dyn Hooks + 'h>> {
        Ok(boxed(ContextHooks::for_decompression(self, front))?)
    }

    fn has_postfilter(&self) -> bool {
        self.postfilter.get().is_some()
    }

    fn nthreads(&self) -> usize {
        self.update_nthreads()
    }

    fn executor(&self) -> &dyn Executor {
        &Threads
    }
}
