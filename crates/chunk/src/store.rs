//! Writes chunks with stored (uncompressed) data.

use super::encode::{ChunkInput, EncodeParams, ttmp_size, workers};
use super::header::{ChunkHeader, flags, flags2};
use super::hooks::{BlockPos, Executor, Hooks};
use super::scratch;
use super::work_stealing::StealingQueue;
use oxiblosc_error::{Error, Result};
use oxiblosc_filters as filters;

/// Writes a chunk with stored data, after the prefilter if there is one.
pub fn store(
    params: &EncodeParams,
    mut header: ChunkHeader,
    source: ChunkInput,
    dest: &mut [u8],
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<usize> {
    header.flags |= flags::MEMCPYED;
    header.blosc2_flags &= !flags2::INSTRUMENTED;
    header.cbytes = header.overhead() + header.nbytes;
    if header.cbytes > dest.len() {
        return Ok(0);
    }
    let body = &mut dest[header.overhead()..header.cbytes];
    match source {
        ChunkInput::Buffer(data) if !hooks.has_prefilter() => {
            copy(data, body, params.nthreads, exec)?
        }
        _ if !hooks.has_prefilter() => return Err(Error::NullPointer),
        _ => {
            let blocks = body.chunks_mut(params.blocksize).enumerate();
            let nworkers = workers(exec, params.nthreads, header.nblocks, header.nbytes, true);
            let queue = StealingQueue::new(blocks, header.nblocks, nworkers)?;
            queue.work(params.nthreads, exec, |tid| {
                let mut scratch = scratch::borrow()?;
                while let Some((nblock, out)) = queue.next(tid) {
                    let pos = BlockPos {
                        nblock,
                        offset: nblock * params.blocksize,
                        tid,
                    };
                    prefilter(hooks, pos, out.len(), params, &mut scratch.bufs)?;
                    filters::copy(&scratch.bufs.ping[..out.len()], out);
                }
                Ok(())
            })?;
        }
    }
    header.write(dest);
    Ok(header.cbytes)
}

/// Runs the prefilter for a block of `bsize` bytes. Its output, which may be longer than the block, is in `bufs.ping`.
pub fn prefilter(
    hooks: &dyn Hooks,
    pos: BlockPos,
    bsize: usize,
    params: &EncodeParams,
    bufs: &mut scratch::Bufs,
) -> Result<()> {
    if hooks.prefilter_is_plain() {
        let made = bufs.ping.ensure(bsize)?;
        let filtered = hooks.prefilter(pos, bsize, made, &mut []);
        return filtered.map_err(|_| Error::FilterPipeline);
    }
    let size = hooks.prefilter_output(bsize).max(bsize);
    let ttmp = bufs
        .ttmp
        .ensure(ttmp_size(params.blocksize, params.typesize))?;
    let made = bufs.ping.ensure(size)?;
    let disposable = hooks.output_is_disposable();
    if !disposable {
        made.fill(0);
    }
    match hooks.prefilter(pos, bsize, made, ttmp) {
        Err(_) if !disposable => Err(Error::FilterPipeline),
        _ => Ok(()),
    }
}

/// Copies, with several workers if that is faster.
pub fn copy(src: &[u8], dst: &mut [u8], nthreads: usize, exec: &dyn Executor) -> Result<()> {
    in_pieces(dst, nthreads, exec, |at, piece| {
        filters::copy(&src[at..at + piece.len()], piece);
        Ok(())
    })
}

/// Fills `dest` by calls of `write`, each with the offset of a piece and the piece; by several workers if that is faster.
pub fn in_pieces(
    dest: &mut [u8],
    nthreads: usize,
    exec: &dyn Executor,
    write: impl Fn(usize, &mut [u8]) -> Result<()> + Sync,
) -> Result<()> {
    const PIECE: usize = 256 << 10;
    // Copying is limited by the speed of memory, so several threads are faster only for data larger than the cache of one core.
    let nworkers = if dest.len() < 8 * PIECE {
        1
    } else {
        exec.workers(nthreads, dest.len() / PIECE)
    };
    if nworkers <= 1 {
        return write(0, dest);
    }
    let len = dest.len().div_ceil(PIECE);
    let pieces = StealingQueue::new(dest.chunks_mut(PIECE).enumerate(), len, nworkers)?;
    pieces.work(nthreads, exec, |tid| {
        while let Some((index, piece)) = pieces.next(tid) {
            write(index * PIECE, piece)?;
        }
        Ok(())
    })
}
