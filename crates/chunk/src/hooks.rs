//! What the engine needs from its caller: registered codecs and filters, and threads.

use oxiblosc_base::cells::BlockShape;
use oxiblosc_base::memory::boxed;
use oxiblosc_base::{Error, Result};

/// Which block a callback is called for, and by which worker.
#[derive(Clone, Copy, Debug)]
pub struct BlockPos {
    /// Index of the block in its chunk.
    pub nblock: usize,
    /// Where its data begin in the chunk's data, in bytes.
    pub offset: usize,
    /// Index of the worker, unique among those of the same job.
    pub tid: usize,
}

/// The callbacks of a pipeline. The default implementations are those of a caller without any.
pub trait Hooks: Sync {
    /// Whether [`Self::prefilter`] is to be called.
    fn has_prefilter(&self) -> bool {
        false
    }

    /// Whether the output of the prefilter is discarded, and a chunk of zeros written.
    fn output_is_disposable(&self) -> bool {
        false
    }

    /// Whether the prefilter writes every byte of a block and needs no memory beside it.
    fn prefilter_is_plain(&self) -> bool {
        false
    }

    /// How many bytes the prefilter may write for a block of `bsize` bytes.
    fn prefilter_output(&self, bsize: usize) -> usize {
        bsize
    }

    /// Generates the data of a block of `bsize` bytes, perhaps from those in `input`. `out` has at
    /// least [`Self::prefilter_output`] bytes; `ttmp` is scratch memory.
    ///
    /// # Errors
    /// [`Error::FILTER_PIPELINE`] if there is none, or it fails.
    fn prefilter(
        &self,
        _pos: BlockPos,
        _input: Option<&[u8]>,
        _bsize: usize,
        _out: &mut [u8],
        _ttmp: &mut [u8],
    ) -> Result<()> {
        Err(Error::FILTER_PIPELINE)
    }

    /// Whether [`Self::postfilter`] is to be called.
    fn has_postfilter(&self) -> bool {
        false
    }

    /// Computes the final data of a block, `out`, from its decoded data, `input`, which has the
    /// same length.
    ///
    /// # Errors
    /// [`Error::POSTFILTER`] if there is none, or it fails.
    fn postfilter(
        &self,
        _pos: BlockPos,
        _typesize: usize,
        _input: &[u8],
        _out: &mut [u8],
        _ttmp: &mut [u8],
    ) -> Result<()> {
        Err(Error::POSTFILTER)
    }

    /// The codecs and filters with registered ids.
    fn registered(&self) -> &dyn RegisteredFunctions {
        &NoHooks
    }
}

/// The codecs and filters of the program, and what those of the library with registered ids need to
/// know. The default implementations are those of a caller without any.
pub trait RegisteredFunctions: Sync {
    /// The typesize of the super-chunk that the chunk belongs to, if it belongs to one.
    fn schunk_typesize(&self) -> Option<i32> {
        None
    }

    /// The shape of the blocks of the array that the chunk belongs to.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if it belongs to none.
    fn block_shape(&self) -> Result<BlockShape> {
        Err(Error::FAILURE)
    }

    /// Runs a registered filter forward over a block.
    ///
    /// # Errors
    /// [`Error::FILTER_PIPELINE`] if there is no such filter, or it fails.
    fn filter_forward(&self, _id: u8, _meta: u8, _src: &[u8], _dst: &mut [u8]) -> Result<()> {
        Err(Error::FILTER_PIPELINE)
    }

    /// Undoes a registered filter.
    ///
    /// # Errors
    /// [`Error::FILTER_PIPELINE`] if there is no such filter; its own.
    fn filter_backward(&self, _id: u8, _meta: u8, _src: &[u8], _dst: &mut [u8]) -> Result<()> {
        Err(Error::FILTER_PIPELINE)
    }

    /// Compresses a stream with a registered codec. Returns 0 if it did not fit into `dst`.
    ///
    /// # Errors
    /// [`Error::CODEC_SUPPORT`] if there is no such codec, [`Error::DATA`] if it fails.
    fn encode(&self, _compcode: u8, _meta: u8, _src: &[u8], _dst: &mut [u8]) -> Result<usize> {
        Err(Error::CODEC_SUPPORT)
    }

    /// Decompresses a stream with a registered codec. Returns the number of bytes written.
    ///
    /// # Errors
    /// As for [`Self::encode`].
    fn decode(&self, _compcode: u8, _meta: u8, _src: &[u8], _dst: &mut [u8]) -> Result<usize> {
        Err(Error::CODEC_SUPPORT)
    }
}

/// A caller without callbacks.
pub struct NoHooks;

impl Hooks for NoHooks {}

impl RegisteredFunctions for NoHooks {}

/// What `hooks` makes, if functions of the program are needed; otherwise [`NoHooks`], which takes
/// no memory.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn if_needed<'h, H: Hooks + 'h>(
    needed: bool,
    hooks: impl FnOnce() -> H,
) -> Result<Box<dyn Hooks + 'h>> {
    Ok(match needed {
        true => boxed(hooks())?,
        false => boxed(NoHooks)?,
    })
}

/// Runs a job on several threads.
pub trait Executor: Sync {
    /// Calls `job(i)` for worker indices `i < nworkers`, on as many threads as are available, and
    /// returns when all calls have. It need not use all indices, but at least one: the job divides
    /// its work among the calls that are made. `nthreads`, at least `nworkers`, is the number of
    /// threads in the parameters, which selects the thread pool.
    ///
    /// # Errors
    /// Those of the threads, such as [`Error::MEMORY_ALLOC`].
    fn run(&self, nthreads: usize, nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()>;

    /// How many workers can run at the same time.
    fn processors(&self) -> usize {
        usize::MAX
    }
}

impl dyn Executor + '_ {
    /// How many workers are useful for `tasks` tasks that never wait: no more than there are
    /// processors.
    pub fn workers(&self, nthreads: usize, tasks: usize) -> usize {
        match nthreads.min(tasks) {
            0 => 1,
            // Asking for the number of processors would cost more than it saves.
            few @ (1 | 2) => few,
            many => many.min(self.processors().max(2)),
        }
    }
}

/// The calling thread alone.
pub struct Serial;

impl Executor for Serial {
    fn run(&self, _nthreads: usize, _nworkers: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
        job(0);
        Ok(())
    }
}
