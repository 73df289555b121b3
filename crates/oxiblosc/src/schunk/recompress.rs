//! Compresses chunks again with other parameters, several at the same time.

use super::chunks::WholeChunk;
use super::state::State;
use super::superchunk::SuperChunk;
use oxiblosc_base::memory::{AlignedBuffer, Buffer, Collect, TryVec, lock};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD, Special};
use oxiblosc_chunk::hooks::{NoHooks, Serial};
use oxiblosc_chunk::scratch;
use oxiblosc_chunk::workers::Workers;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// How many chunks a batch has for each thread, so that threads do not wait long for one that has a
/// slow chunk.
const CHUNKS_PER_THREAD: usize = 2;

/// Chunks with more bytes of data than this are compressed one after the other, each by all
/// threads: they have enough blocks for that, and all chunks use the same scratch memory.
const MAX_NBYTES_APART: usize = 2 << 20;

/// Compresses all chunks of `from`, whose state is `state`, again with the parameters of `to`, and
/// calls `each` with them in order. With several threads, each of them works on another chunk
/// unless chunks are large. The bytes do not depend on the number of threads.
///
/// # Errors
/// Those of a damaged chunk, and those of `each`.
pub(super) fn recompress(
    (from, state): (&SuperChunk, &State),
    to: &SuperChunk,
    mut each: impl FnMut(Buffer) -> Result<()>,
) -> Result<()> {
    let (decoder, encoder) = (from.decoder()?, to.encoder()?);
    let nthreads = decoder.nthreads().max(encoder.nthreads());
    let nchunks = state.nchunks();
    let mut scratch = scratch::borrow()?;
    let mut first = 0;
    while first < nchunks {
        let batch = (CHUNKS_PER_THREAD * nthreads).min(nchunks - first);
        let mut jobs = TryVec::new();
        for nchunk in first..first + batch {
            let mut job = RecompressJob::new(state, nchunk)?;
            let small = job.header.nbytes <= MAX_NBYTES_APART;
            let plain = !decoder.has_postfilter() && job.header.is_plain();
            if nthreads > 1 && batch > 1 && small && plain {
                let plan = encoder.plan(job.header.nbytes, true)?;
                job.params = plan.map(|plan| plan.params).filter(EncodeParams::is_plain);
            }
            let apart = job.params.is_some();
            jobs.push(job)?;
            if !apart {
                break;
            }
        }
        if jobs.len() == batch && jobs.iter().all(|job| job.params.is_some()) {
            let next = AtomicUsize::new(0);
            let done: TryVec<Mutex<Option<Result<Buffer>>>> =
                jobs.iter().map(|_| Mutex::new(None)).collect_vec()?;
            let exec = encoder.workers().exec;
            exec.run(nthreads, exec.workers(nthreads, batch), &|_| {
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let (Some(job), Some(slot)) = (jobs.get(at), done.get(at))
                {
                    *lock(slot) = Some(job.alone());
                }
            })?;
            for slot in done {
                let chunk = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
                each(chunk.ok_or(Error::THREAD_CREATE)??)?;
            }
        } else {
            for (job, nchunk) in jobs.iter().zip(first..) {
                from.set_current(nchunk);
                to.set_current(nchunk);
                let data = buffer_for_data(&mut scratch.data, &job.header)?;
                decoder.decompress(&job.header, &job.bytes, data)?;
                each(to.compress(ChunkInput::Buffer(data), false)?)?;
            }
        }
        first += jobs.len();
    }
    Ok(())
}

/// Scratch memory with the size of the chunk's data.
pub(super) fn buffer_for_data<'a>(
    data: &'a mut AlignedBuffer,
    header: &ChunkHeader,
) -> Result<&'a mut [u8]> {
    let data = data.ensure(header.nbytes)?;
    if header.special() == Special::Uninit {
        // Decompression of such a chunk writes nothing, and the memory may have data of another
        // chunk.
        data.fill(0);
    }
    Ok(data)
}

/// A chunk to be compressed again.
struct RecompressJob<'a> {
    bytes: WholeChunk<'a>,
    header: ChunkHeader,
    /// The parameters, if the chunk can be compressed without the contexts.
    params: Option<EncodeParams>,
}

impl<'a> RecompressJob<'a> {
    fn new(state: &'a State, nchunk: usize) -> Result<Self> {
        let bytes = state.chunk(nchunk)?;
        Ok(Self {
            header: ChunkHeader::parse(&bytes)?,
            bytes,
            params: None,
        })
    }

    /// Compresses the chunk again on this thread, without the contexts.
    fn alone(&self) -> Result<Buffer> {
        let nbytes = self.header.nbytes;
        let params = EncodeParams {
            nthreads: 1,
            ..self.params.clone().ok_or(Error::FAILURE)?
        };
        let mut scratch = scratch::borrow()?;
        let data = buffer_for_data(&mut scratch.data, &self.header)?;
        let chunk = Chunk::parse(&self.header, &self.bytes)?;
        decompress(&chunk, data, None, &NoHooks, Workers::ALONE)?;
        let mut new = Buffer::unspecified(nbytes + MAX_OVERHEAD)?;
        let source = ChunkInput::Buffer(data);
        let header = compress(&params, source, &mut new, &NoHooks, &Serial)?;
        new.resize(header.map_or(0, |header| header.cbytes))?;
        Ok(new)
    }
}

#[cfg(test)]
mod tests {
    use crate::schunk::chunks::Position;
    use crate::{CParams, StorageParams, SuperChunk};
    use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, Special};
    use oxiblosc_chunk::special::SpecialChunk;

    /// Decompressing an uninitialized chunk writes nothing, so the scratch memory must not still
    /// have another chunk's data.
    #[test]
    fn what_was_never_written_does_not_become_the_chunk_before() {
        let schunk = SuperChunk::create(StorageParams::default()).unwrap();
        schunk.append_data(&[7; 4000]).unwrap();
        let mut chunk = oxiblosc_base::memory::TryVec::filled(0, EXTENDED_HEADER_LENGTH).unwrap();
        let uninit = SpecialChunk {
            special: Special::Uninit,
            nbytes: 4000,
            blocksize: 4000,
            typesize: 8,
            value: &[],
        };
        uninit.write(&mut chunk);
        schunk.put_chunk(Position::Before(1), &chunk).unwrap();

        let cparams = CParams {
            codec: crate::codec::ZSTD,
            ..CParams::default()
        };
        let copy = schunk.copy_to(StorageParams {
            cparams,
            ..StorageParams::default()
        });
        let mut data = [1; 4000];
        copy.unwrap().decompress_chunk(1, &mut data).unwrap();
        assert_eq!(data, [0; 4000]);
    }
}
