//! The settings of the process, for functions that work without a context.
//!
//! Each setting is one atomic, and every call works on a context of its own. So calls from several
//! threads do not wait for each other, and the child of a process that forked never finds a lock
//! that nobody will release.

use crate::encoding::Format;
use crate::environment::{self, Overrides, override_parameters};
use crate::params::{CParams, Shuffle, Split, narrow, set_shuffle};
use crate::registry::is_registered;
use oxiblosc_base::memory::{Field, env};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::MAX_FILTERS;
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::scratch;
use oxiblosc_io::operation;
use std::sync::atomic::{AtomicBool, AtomicI16, AtomicI32, AtomicU8, Ordering::Relaxed};

static INITIALIZED: AtomicBool = AtomicBool::new(false);

static COMPRESSOR: Field<i32> = Field::new(AtomicI32::new(0));
static DELTA: Field<u8> = Field::new(AtomicU8::new(0));
static SPLITMODE: Field<i32> = Field::new(AtomicI32::new(Split::ForwardCompatible as i32));
static BLOCKSIZE: Field<i32> = Field::new(AtomicI32::new(0));

static NTHREADS: AtomicI16 = AtomicI16::new(1);

/// Records that the program uses the library.
pub fn init() {
    INITIALIZED.store(true, Relaxed);
}

/// Whether [`init`] was called since the start of the process or the last [`destroy`].
pub fn is_initialized() -> bool {
    INITIALIZED.load(Relaxed)
}

/// Ends the worker threads, and frees memory that is kept for the next call. Gives whether the
/// library was initialized.
pub fn destroy() -> bool {
    let was_initialized = INITIALIZED.swap(false, Relaxed);
    oxiblosc_pool::shutdown();
    scratch::release();
    operation::forget_thread();
    was_initialized
}

/// Frees memory that is kept for the next call.
///
/// # Errors
/// [`Error::FAILURE`] if the library is not initialized.
pub fn free_resources() -> Result<()> {
    if !is_initialized() {
        return Err(Error::FAILURE);
    }
    scratch::release();
    Ok(())
}

/// Something that uses memory which is kept for the next call. When it is dropped, what is kept
/// beyond the limit is freed: each thread that works may keep some.
pub struct MemoryUser;

impl Drop for MemoryUser {
    fn drop(&mut self) {
        scratch::trim();
    }
}

/// Sets how many bytes of memory are kept at most for the next call, while nothing needs them, and
/// frees what is kept beyond that. Gives the number before: what `BLOSC_KEPT_MEMORY` says, or 16
/// MiB, unless this was called.
pub fn set_kept_memory(bytes: usize) -> usize {
    scratch::set_limit(bytes)
}

/// The number of threads.
pub fn nthreads() -> i16 {
    init();
    NTHREADS.load(Relaxed)
}

/// Sets the number of threads. Gives the previous number.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for less than 1.
pub fn set_nthreads(nthreads: i16) -> Result<i16> {
    init();
    match nthreads {
        ..=0 => Err(Error::INVALID_PARAM),
        _ => Ok(NTHREADS.swap(nthreads, Relaxed)),
    }
}

/// The codec's id; -1 if the program has set a name that no codec has.
pub fn compressor() -> i32 {
    init();
    COMPRESSOR.get()
}

/// Sets the codec: `code` is the id of the name that the program chose, or -1. Gives it.
///
/// # Errors
/// [`Error::CODEC_SUPPORT`] for one that is not built in.
pub fn set_compressor(code: i32) -> Result<i32> {
    init();
    if is_registered(code) {
        let message = "user-defined codecs can only be used through a context";
        env::trace("error", message);
        return Err(Error::CODEC_SUPPORT);
    }
    COMPRESSOR.set(code);
    Ok(code)
}

/// Sets whether the delta filter is applied.
pub fn set_delta(delta: bool) {
    init();
    DELTA.set(delta.into());
}

/// The size of a block in bytes; 0 lets the tuner choose it.
pub fn blocksize() -> i32 {
    init();
    BLOCKSIZE.get()
}

/// Sets the size of a block in bytes.
pub fn set_blocksize(blocksize: i32) {
    init();
    BLOCKSIZE.set(blocksize);
}

/// Sets the number of the split mode.
pub fn set_splitmode(splitmode: i32) {
    init();
    SPLITMODE.set(splitmode);
}

/// The number of threads for decompression. If `BLOSC_NTHREADS` is set, its number becomes the
/// process's.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if `BLOSC_NTHREADS` is less than 1 or more than an `i16` holds.
pub fn nthreads_of_decompression() -> Result<i16> {
    if let Some(asked) = env::number(c"BLOSC_NTHREADS") {
        set_nthreads(i16::try_from(asked).unwrap_or(0))?;
    }
    Ok(nthreads())
}

/// How a call without a context compresses.
pub struct Call {
    /// The parameters.
    pub parameters: Parameters,
    /// The number of threads.
    pub nthreads: i16,
    /// The format of the chunk, which `BLOSC_BLOSC1_COMPAT` chooses unless `BLOSC_NOLOCK` is set.
    pub format: Format,
}

/// The parameters of a call that compresses. Level, shuffle and typesize come from the caller, the
/// others from the settings of the process. Environment variables override all of them; those for
/// settings of the process also change the settings. `code_of` gives the id of the codec of a name,
/// or -1.
///
/// # Errors
/// Where `BLOSC_NOLOCK` is set, those of [`override_parameters`].
pub fn compression(
    level: i32,
    shuffle: i32,
    typesize: i32,
    code_of: impl Fn(&str) -> i32,
) -> Result<Call> {
    init();
    // A codec that is not built in does not change the setting.
    if let Some(code) = environment::compressor(&code_of) {
        let _ = set_compressor(code);
    }
    // With this variable, the reference makes a context for each call, which has some parameters of
    // its own.
    let has_context = env::is_set(c"BLOSC_NOLOCK");
    let mut filters = match has_context {
        true => CParams::default().filters,
        false => [0; MAX_FILTERS],
    };
    let env = Overrides::read();
    let change = |setting: &Field<i32>, value: Option<i32>| {
        if let Some(value) = value {
            setting.set(value);
        }
    };
    change(&BLOCKSIZE, env.blocksize);
    change(&SPLITMODE, env.split.map(|split| split as i32));
    if let Some(delta) = env.delta {
        DELTA.set(delta.into());
    }
    if let Some(nthreads) = env.nthreads {
        NTHREADS.store(nthreads, Relaxed);
    }
    let typesize = env.typesize.unwrap_or(typesize);
    let shuffle = env.shuffle.or_else(|| Shuffle::from_code(shuffle));
    set_shuffle(&mut filters, shuffle, DELTA.get() != 0, typesize);
    let level = env.level.unwrap_or(level);
    let mut parameters = Parameters {
        typesize,
        blocksize: BLOCKSIZE.get(),
        compcode: narrow(COMPRESSOR.get()),
        compcode_meta: 0,
        clevel: narrow(level),
        splitmode: narrow(SPLITMODE.get()),
        use_dict: false,
        filters,
        filters_meta: [0; MAX_FILTERS],
    };
    let mut nthreads = NTHREADS.load(Relaxed);
    if has_context {
        parameters.blocksize = 0;
        parameters.typesize = (typesize as u8).into();
        parameters.clevel = level as u8;
        override_parameters(&mut parameters, &mut nthreads, code_of)?;
    }
    Ok(Call {
        parameters,
        nthreads,
        format: match env::is_set(c"BLOSC_BLOSC1_COMPAT") && !has_context {
            true => Format::Blosc1,
            false => Format::Blosc2,
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_those_that_were_set() {
        assert_eq!(free_resources(), Err(Error::FAILURE));
        assert_eq!(set_nthreads(0), Err(Error::INVALID_PARAM));
        assert_eq!((set_nthreads(3), nthreads()), (Ok(1), 3));
        assert!(is_initialized());
        assert_eq!(free_resources(), Ok(()));
        set_delta(true);
        set_blocksize(4096);
        assert_eq!(set_compressor(160), Err(Error::CODEC_SUPPORT));
        assert_eq!(
            (set_compressor(5), compressor(), blocksize()),
            (Ok(5), 5, 4096)
        );
        let compression = |shuffle: Shuffle, typesize| {
            let call = compression(7, shuffle as i32, typesize, |_| -1);
            call.expect("no variable is set")
        };
        let call = compression(Shuffle::Bits, 4);
        let parameters = call.parameters;
        assert_eq!(
            (parameters.clevel, parameters.typesize, parameters.blocksize),
            (7, 4, 4096)
        );
        assert_eq!((parameters.filters, call.nthreads), ([0, 0, 0, 0, 3, 2], 3));
        assert_eq!((parameters.compcode, call.format), (5, Format::Blosc2));
        set_delta(false);
        set_blocksize(0);
        let filters = compression(Shuffle::Bytes, 1).parameters.filters;
        assert_eq!(filters, [0; MAX_FILTERS], "single bytes are not shuffled");
        assert_eq!(set_nthreads(1), Ok(3));
        assert_eq!((destroy(), destroy()), (true, false));
    }
}
