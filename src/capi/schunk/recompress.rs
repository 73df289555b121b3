//! Chunks that are compressed again with other parameters, several at once.

use super::chunks::{Bytes, bytes_of, compressed};
use super::handle::Handle;
use super::slices::is_plain;
use crate::capi::compress::Input;
use crate::capi::constants::BLOSC_STUNE;
use crate::capi::context::Context;
use crate::capi::exec::Threads;
use oxiblosc_chunk::decode::{Chunk, decompress};
use oxiblosc_chunk::encode::{EncodeParams, Source, compress};
use oxiblosc_chunk::header::{ChunkHeader, MAX_OVERHEAD, filter_id};
use oxiblosc_chunk::hooks::{Executor, NoHooks, Serial};
use oxiblosc_codecs::Codec;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::{Buffer, Collect, List};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

/// Chunks in work at once, for each thread: enough that one slow chunk does not keep the others waiting.
const CHUNKS_PER_THREAD: usize = 2;

/// Compresses all chunks of `from` again, with the parameters of `to`, and gives them to `each` in their order. With
/// several threads, each works on chunks of its own; the bytes are the same for any number.
///
/// # Errors
/// Those of a damaged chunk, and those of `each`.
pub fn recompress(
    from: &Handle,
    to: &Handle,
    nchunks: usize,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let nthreads = from.dctx()?.update_nthreads();
    let nthreads = nthreads.max(to.cctx()?.update_nthreads());
    let mut first = 0;
    while first < nchunks {
        let batch = (CHUNKS_PER_THREAD * nthreads).min(nchunks - first);
        let apart = nthreads > 1 && batch > 1 && needs_no_functions(from, to)?;
        let batch = if apart { batch } else { 1 };
        let mut jobs = List::new();
        for nchunk in first..first + batch {
            jobs.push(Job::new(from, nchunk)?)?;
        }
        if apart && jobs.iter().all(|job| is_plain(&job.header)) {
            for job in &mut jobs {
                job.params = Some(params_for(to.cctx()?, &job.header)?);
            }
            let next = AtomicUsize::new(0);
            let done: List<Mutex<Option<Result<Buffer>>>> =
                jobs.iter().map(|_| Mutex::new(None)).list()?;
            Threads.run(nthreads, nthreads.min(batch), &|_| {
                while let at = next.fetch_add(1, Ordering::Relaxed)
                    && let (Some(job), Some(slot)) = (jobs.get(at), done.get(at))
                {
                    *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(job.alone());
                }
            })?;
            for slot in done {
                let chunk = slot.into_inner().unwrap_or_else(PoisonError::into_inner);
                each(&chunk.ok_or(Error::ThreadCreate)??)?;
            }
        } else {
            for (job, nchunk) in jobs.iter().zip(first..) {
                from.set_current(nchunk as i64);
                to.set_current(nchunk as i64);
                each(&job.through_contexts(from, to)?)?;
            }
        }
        first += batch;
    }
    Ok(())
}

/// Whether nothing of the program's own takes part in reading the one and in writing the other.
fn needs_no_functions(from: &Handle, to: &Handle) -> Result<bool> {
    let (dctx, cctx) = (from.dctx()?, to.cctx()?);
    let own_filters = cctx
        .filters
        .get()
        .iter()
        .all(|id| *id <= filter_id::TRUNC_PREC);
    Ok(dctx.postfilter.get().is_none()
        && cctx.prefilter.get().is_none()
        && cctx.tuner_id.get() == BLOSC_STUNE
        && Codec::from_code(cctx.compcode.get()).is_some()
        && own_filters)
}

/// One chunk, and how it is to be.
struct Job {
    bytes: Bytes,
    header: ChunkHeader,
    /// For work without the contexts.
    params: Option<EncodeParams>,
}

// SAFETY: the pointer is into the chunks of a super-chunk that is not changed while there are jobs, and only read.
unsafe impl Sync for Job {}

impl Job {
    fn new(from: &Handle, nchunk: usize) -> Result<Self> {
        let bytes = bytes_of(from, nchunk)?;
        // SAFETY: the operation keeps changes out.
        let header = ChunkHeader::parse(unsafe { bytes.get() })?;
        Ok(Self {
            bytes,
            header,
            params: None,
        })
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: the operation, which outlives the jobs, keeps changes out.
        unsafe { self.bytes.get() }
    }

    /// Does the work by this thread alone, without the contexts.
    fn alone(&self) -> Result<Buffer> {
        let nbytes = self.header.nbytes;
        let params = self.params.as_ref().ok_or(Error::Failure)?;
        let mut data = Buffer::zeroed(nbytes)?;
        let chunk = Chunk::parse(&self.header, self.bytes())?;
        decompress(&chunk, &mut data, None, 1, &NoHooks, &Serial)?;
        let mut new = Buffer::zeroed(nbytes + MAX_OVERHEAD)?;
        let source = Source::Buffer(&data);
        let cbytes = compress(params, source, &mut new, &NoHooks, &Serial)?;
        new.resize(cbytes)?;
        Ok(new)
    }

    /// Does the work through the contexts, which know the program's functions and use threads inside a chunk.
    fn through_contexts(&self, from: &Handle, to: &Handle) -> Result<Buffer> {
        let mut data = Buffer::zeroed(self.header.nbytes)?;
        let (src, len) = (self.bytes(), self.header.nbytes as i32);
        // SAFETY: the buffers are as long as they are.
        unsafe {
            let dest = data.as_mut_ptr().cast();
            from.dctx()?
                .decompress(src.as_ptr().cast(), src.len() as i32, dest, len)?;
            compressed(to, data.as_ptr(), len)
        }
    }
}

/// The parameters with which the context would compress the data of a chunk.
fn params_for(cctx: &Context, header: &ChunkHeader) -> Result<EncodeParams> {
    let room = (header.nbytes + MAX_OVERHEAD).min(i32::MAX as usize) as i32;
    // Nobody looks at what is there, but only whether something is.
    let there = std::ptr::NonNull::<u8>::dangling().as_ptr();
    cctx.prepare_compression(&Input::Buffer(there), header.nbytes as i32, there, room)?;
    Ok(EncodeParams {
        nthreads: 1,
        ..cctx.encode_params(true)
    })
}
