//! Compressing.

use super::blocks::BlockParams;
use super::border::{FAILED, failed, ok_or_code, print_warning};
use super::compressors::{code_of, name_of};
use super::settings;
use super::snappy::Snappy;
use super::threads::{self, WorkerThreads};
use oxiblosc_base::memory::env;
use oxiblosc_border::{buffers, guard, text};
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{MAX_FILTERS, MIN_HEADER_LENGTH, filter_id};
use oxiblosc_chunk::rules::Rules;
use std::ffi::{CStr, c_char, c_int, c_void};

/// The largest buffer that can be compressed.
const MAX_BUFFERSIZE: usize = i32::MAX as usize - MIN_HEADER_LENGTH;
/// Smaller buffers are stored.
const MIN_BUFFERSIZE: usize = 128;
const BITSHUFFLE: c_int = 2;
/// The code for a level or a shuffle that does not exist.
const BAD_PARAMETER: c_int = -10;
/// The code for a compressor that does not exist.
const NO_COMPRESSOR: c_int = -5;

/// The arguments and settings of a program that determine the bytes of a chunk.
#[derive(Clone, Copy)]
struct Request {
    clevel: c_int,
    shuffle: c_int,
    typesize: usize,
    compcode: c_int,
    blocksize: c_int,
    nthreads: c_int,
}

/// Whether `BLOSC_WARN` asks for messages that say why a buffer cannot be compressed.
fn warns() -> bool {
    env::number(c"BLOSC_WARN").is_some_and(|level| level > 0)
}

impl Request {
    /// Checks the limits. The error 0 means that the chunk does not fit.
    fn check(&self, nbytes: usize, destsize: usize) -> Result<(), c_int> {
        if nbytes > MAX_BUFFERSIZE || destsize < MIN_HEADER_LENGTH {
            if warns() {
                print_warning(format_args!(
                    "a buffer of {nbytes} bytes does not go into {destsize}: at most {MAX_BUFFERSIZE} go into at least {MIN_HEADER_LENGTH}"
                ));
            }
            return Err(0);
        }
        if !(0..=9).contains(&self.clevel) {
            print_warning(format_args!(
                "the compression level has to be 0 to 9, not {}",
                self.clevel
            ));
            return Err(BAD_PARAMETER);
        }
        if !(0..=BITSHUFFLE).contains(&self.shuffle) {
            print_warning(format_args!(
                "the shuffle has to be 0, 1 or 2, not {}",
                self.shuffle
            ));
            return Err(BAD_PARAMETER);
        }
        if name_of(self.compcode).is_none() {
            print_warning(format_args!("there is no compressor of that name"));
            return Err(NO_COMPRESSOR);
        }
        let stored = self.clevel == 0 || nbytes < MIN_BUFFERSIZE;
        if stored && nbytes + MIN_HEADER_LENGTH > destsize {
            return Err(0);
        }
        Ok(())
    }

    /// The parameters for the chunk crate.
    fn params(&self, nbytes: usize) -> Result<EncodeParams, c_int> {
        // Items of another size are treated as bytes, which shuffle leaves as they are.
        let typesize = if (1..=255).contains(&self.typesize) {
            self.typesize
        } else {
            1
        };
        let blocks = BlockParams {
            compcode: self.compcode,
            clevel: self.clevel,
            typesize: typesize as i64,
            nbytes: nbytes as i64,
            forced: self.blocksize.into(),
            splitmode: settings::splitmode(),
        };
        let blocksize = blocks.blocksize();
        let mut filters = [filter_id::NONE; MAX_FILTERS];
        filters[MAX_FILTERS - 1] = match self.shuffle {
            0 => filter_id::NONE,
            BITSHUFFLE => filter_id::BITSHUFFLE,
            _ => filter_id::SHUFFLE,
        };
        Ok(EncodeParams {
            compcode: self.compcode as u8,
            compcode_meta: 0,
            versionlz: 1,
            clevel: self.clevel as u8,
            typesize,
            blocksize,
            filters,
            filters_meta: [0; MAX_FILTERS],
            split: blocks.split(blocksize),
            use_dict: false,
            instrumented: false,
            extended: false,
            rules: Rules::Blosc1,
            checksums: false,
            nthreads: threads::count(self.nthreads, nbytes, blocksize)?,
        })
    }

    /// Compresses. Returns the size of the chunk, 0 if it does not fit, or a negative code.
    ///
    /// # Safety
    /// The buffers have the given sizes.
    unsafe fn run(
        &self,
        (src, nbytes): (*const u8, usize),
        (dest, destsize): (*mut u8, usize),
    ) -> c_int {
        let run = || {
            self.check(nbytes, destsize)?;
            let params = self.params(nbytes)?;
            // No chunk is larger than this: the header, the data, the start of each block, and the
            // size of each stream.
            let nblocks = nbytes.div_ceil(params.blocksize);
            let max_size = MIN_HEADER_LENGTH + nbytes + 4 * nblocks * (1 + params.typesize);
            let capacity = destsize.min(max_size);
            // SAFETY: the buffers have the given sizes (# Safety).
            let buffers = unsafe { buffers((src, nbytes), (dest, capacity)) };
            let (src, dest) = buffers.map_err(failed)?;
            let header = compress(
                &params,
                ChunkInput::Buffer(src),
                dest,
                &Snappy,
                &WorkerThreads,
            );
            let cbytes = header.map_err(failed)?.map_or(0, |header| header.cbytes);
            c_int::try_from(cbytes).map_err(|_| FAILED)
        };
        guard(FAILED, || ok_or_code(run()))
    }
}

/// The number in an environment variable, if it is at least `least`. As in c-blosc, 22 (`EINVAL`)
/// is taken for a number that could not be read.
fn number(name: &CStr, least: i64) -> Option<i64> {
    env::number(name).filter(|value| *value >= least && *value != i64::from(libc::EINVAL))
}

/// Sets the number of threads to the number in `BLOSC_NTHREADS`, if there is one. An error if the
/// previous number of threads was negative.
pub(super) fn nthreads_of_environment() -> Result<(), c_int> {
    match number(c"BLOSC_NTHREADS", 1) {
        Some(nthreads) => match settings::set_nthreads(nthreads as c_int) {
            before if before < 0 => Err(before),
            _ => Ok(()),
        },
        None => Ok(()),
    }
}

/// Overrides the program's arguments and settings by those in environment variables.
fn from_environment(request: &mut Request) -> Result<(), c_int> {
    if let Some(clevel) = number(c"BLOSC_CLEVEL", 0) {
        request.clevel = clevel as c_int;
    }
    let shuffle = env::get(c"BLOSC_SHUFFLE", |value| match value {
        "NOSHUFFLE" => Some(0),
        "SHUFFLE" => Some(1),
        "BITSHUFFLE" => Some(BITSHUFFLE),
        _ => None,
    });
    request.shuffle = shuffle.flatten().unwrap_or(request.shuffle);
    if let Some(typesize) = number(c"BLOSC_TYPESIZE", 1) {
        request.typesize = typesize as usize;
    }
    if let Some(code) = env::get(c"BLOSC_COMPRESSOR", settings::set_compressor)
        && code < 0
    {
        return Err(code);
    }
    if let Some(blocksize) = number(c"BLOSC_BLOCKSIZE", 1) {
        settings::set_blocksize(blocksize as usize);
    }
    nthreads_of_environment()?;
    let split = env::get(c"BLOSC_SPLITMODE", |value| match value {
        "ALWAYS" => Some(1),
        "NEVER" => Some(2),
        "AUTO" => Some(3),
        "FORWARD_COMPAT" => Some(4),
        _ => None,
    });
    match split {
        Some(Some(mode)) => settings::set_splitmode(mode),
        Some(None) => {
            print_warning(format_args!("BLOSC_SPLITMODE names no split mode"));
            return Err(FAILED);
        }
        None => {}
    }
    Ok(())
}

/// Compresses the `nbytes` bytes at `src` into `dest`, which has room for `destsize` bytes. With
/// `nbytes + BLOSC_MAX_OVERHEAD` bytes, every chunk fits. The buffers must not overlap.
///
/// `clevel` is 0 (store) to 9. `doshuffle` is `BLOSC_NOSHUFFLE`, `BLOSC_SHUFFLE` or
/// `BLOSC_BITSHUFFLE`, for items of `typesize` bytes, 1 to 255. The compressor, the number of
/// threads, the block size and the split mode are settings of the process.
///
/// Environment variables override arguments and settings: `BLOSC_CLEVEL`, `BLOSC_SHUFFLE`
/// (`NOSHUFFLE`, `SHUFFLE`, `BITSHUFFLE`), `BLOSC_TYPESIZE`, `BLOSC_COMPRESSOR`, `BLOSC_NTHREADS`,
/// `BLOSC_BLOCKSIZE` and `BLOSC_SPLITMODE` (`FORWARD_COMPAT`, `AUTO`, `ALWAYS`, `NEVER`). With
/// `BLOSC_WARN=1`, a message on stderr says why a buffer cannot be compressed.
///
/// Returns the size of the chunk, 0 if it does not fit, or a negative code.
///
/// # Safety
/// The buffers have the given sizes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_compress(
    clevel: c_int,
    doshuffle: c_int,
    typesize: usize,
    nbytes: usize,
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
) -> c_int {
    settings::init();
    let mut request = Request {
        clevel,
        shuffle: doshuffle,
        typesize,
        compcode: 0,
        blocksize: 0,
        nthreads: 1,
    };
    if let Err(code) = from_environment(&mut request) {
        return code;
    }
    request.compcode = settings::compressor();
    request.blocksize = settings::blocksize();
    request.nthreads = settings::nthreads();
    // SAFETY: the buffers have the sizes given, by `# Safety`.
    unsafe { request.run((src.cast(), nbytes), (dest.cast(), destsize)) }
}

/// Works like `blosc_compress`, but takes the settings as arguments: the name of the compressor,
/// the block size (0 if the library chooses it), and the number of threads. It ignores environment
/// variables except `BLOSC_WARN`.
///
/// # Safety
/// The buffers have the given sizes; `compressor` is a C string, or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn blosc_compress_ctx(
    clevel: c_int,
    doshuffle: c_int,
    typesize: usize,
    nbytes: usize,
    src: *const c_void,
    dest: *mut c_void,
    destsize: usize,
    compressor: *const c_char,
    blocksize: usize,
    numinternalthreads: c_int,
) -> c_int {
    let request = Request {
        clevel,
        shuffle: doshuffle,
        typesize,
        // SAFETY: `compressor` is a C string or null, by `# Safety`; `text` takes both.
        compcode: code_of(unsafe { text(compressor) }.unwrap_or_default()).unwrap_or(FAILED),
        blocksize: blocksize as c_int,
        nthreads: numinternalthreads,
    };
    // SAFETY: the buffers have the sizes given, by `# Safety`.
    unsafe { request.run((src.cast(), nbytes), (dest.cast(), destsize)) }
}
