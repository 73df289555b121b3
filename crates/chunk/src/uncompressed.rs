//! Writes chunks with stored (uncompressed) data.

use super::add_checksums;
use super::encode_block::prefilter;
use super::header::{ChunkHeader, flags, flags2};
use super::hooks::{BlockPos, Executor, Hooks};
use super::input::{ChunkInput, EncodeParams};
use super::scratch;
use super::work_stealing::StealingQueue;
use super::workers::Workers;
use oxiblosc_base::{Error, Result};
use oxiblosc_filters as filters;

/// A chunk whose data are to be stored, after the prefilter if there is one.
pub struct UncompressedChunk<'a> {
    /// The parameters of its header, and the number of threads.
    pub params: &'a EncodeParams,
    /// Its data.
    pub source: ChunkInput<'a>,
    /// The callbacks of the program.
    pub hooks: &'a dyn Hooks,
    /// Runs the workers.
    pub exec: &'a dyn Executor,
}

impl UncompressedChunk<'_> {
    /// Writes the chunk, and returns its header, or none if it does not fit.
    pub fn write(&self, mut header: ChunkHeader, dest: &mut [u8]) -> Result<Option<ChunkHeader>> {
        header.flags |= flags::MEMCPYED;
        header.blosc2_flags &= !flags2::INSTRUMENTED;
        header.cbytes = header.overhead() + header.nbytes;
        if header.cbytes > dest.len() {
            return Ok(None);
        }
        let body = &mut dest[header.overhead()..header.cbytes];
        match self.source {
            _ if self.hooks.has_prefilter() => self.write_prefiltered(&header, body)?,
            ChunkInput::Buffer(data) => copy(data, body, self.params.workers(self.exec))?,
            _ => return Err(Error::NULL_POINTER),
        }
        header.write(dest);
        Ok(Some(header))
    }

    /// As [`Self::write`], with checksums if `dest` is long enough for them.
    pub fn write_with_checksums(
        &self,
        header: ChunkHeader,
        dest: &mut [u8],
    ) -> Result<Option<ChunkHeader>> {
        let nbytes = self.source.nbytes();
        if nbytes > 0
            && let ChunkInput::Buffer(data) = self.source
            && !self.hooks.has_prefilter()
            && let Some(chunk) =
                add_checksums::stored_size(&header).and_then(|size| dest.get_mut(..size))
        {
            add_checksums::store(&header, data, chunk);
            return Ok(Some(header));
        }
        let written = self.write(header, dest)?;
        if let Some(header) = &written
            && nbytes == 0
        {
            add_checksums::write_header_only(header, &mut dest[..header.cbytes]);
        }
        Ok(written)
    }

    fn write_prefiltered(&self, header: &ChunkHeader, body: &mut [u8]) -> Result<()> {
        let (params, hooks) = (self.params, self.hooks);
        let blocks = body.chunks_mut(params.blocksize).enumerate();
        let workers = params.workers(self.exec);
        let nworkers = workers.for_job(header.nblocks, header.nbytes, true);
        let queue = StealingQueue::new(blocks, header.nblocks, nworkers)?;
        queue.work(workers, |tid| {
            let mut scratch = scratch::borrow()?;
            while let Some((nblock, out)) = queue.next(tid) {
                let pos = BlockPos {
                    nblock,
                    offset: nblock * params.blocksize,
                    tid,
                };
                let block = self.source.block(nblock, params.blocksize);
                prefilter(hooks, pos, block, params, &mut scratch.bufs)?;
                filters::copy(&scratch.bufs.ping[..out.len()], out);
            }
            Ok(())
        })
    }
}

/// Copies, with several workers if that is faster.
pub fn copy(src: &[u8], dst: &mut [u8], workers: Workers) -> Result<()> {
    in_pieces(dst, workers, |at, piece| {
        filters::copy(&src[at..at + piece.len()], piece);
        Ok(())
    })
}

/// Fills `dest` by calls of `write`, each with the offset of a piece and the piece; by several
/// workers if that is faster.
pub fn in_pieces(
    dest: &mut [u8],
    workers: Workers,
    write: impl Fn(usize, &mut [u8]) -> Result<()> + Sync,
) -> Result<()> {
    const PIECE: usize = 256 << 10;
    // Copying is limited by the speed of memory, so several threads are faster only for data larger
    // than the cache of one core.
    let nworkers = if dest.len() < 8 * PIECE {
        1
    } else {
        workers.exec.workers(workers.nthreads, dest.len() / PIECE)
    };
    if nworkers <= 1 {
        return write(0, dest);
    }
    let len = dest.len().div_ceil(PIECE);
    let pieces = StealingQueue::new(dest.chunks_mut(PIECE).enumerate(), len, nworkers)?;
    pieces.work(workers, |tid| {
        while let Some((index, piece)) = pieces.next(tid) {
            write(index * PIECE, piece)?;
        }
        Ok(())
    })
}
