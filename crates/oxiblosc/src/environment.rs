//! Parameters in environment variables. They override those of the program.

use crate::params::{Shuffle, Split, narrow, set_shuffle};
use crate::registry::is_registered;
use oxiblosc_base::memory::env;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::parameters::Parameters;
use std::ffi::CStr;
use std::fmt::Display;

/// The value of a variable, as `read` understands it. None if the variable is not set or, with a
/// warning, not understood.
fn choice<T>(name: &CStr, read: impl FnOnce(&str) -> Option<T>) -> Option<T> {
    env::get(name, |value| {
        read(value).or_else(|| unrecognized(name, value))
    })?
}

fn unrecognized<T>(name: &CStr, value: impl Display) -> Option<T> {
    let name = name.to_str().unwrap_or_default();
    env::trace(
        "warning",
        format_args!("{name} environment variable '{value}' not recognized"),
    );
    None
}

/// What `BLOSC_SHUFFLE` asks for.
fn shuffle() -> Option<Shuffle> {
    choice(c"BLOSC_SHUFFLE", |value| match value {
        "NOSHUFFLE" => Some(Shuffle::None),
        "SHUFFLE" => Some(Shuffle::Bytes),
        "BITSHUFFLE" => Some(Shuffle::Bits),
        _ => None,
    })
}

/// What `BLOSC_DELTA` asks for.
fn delta() -> Option<bool> {
    choice(c"BLOSC_DELTA", |value| match value {
        "1" => Some(true),
        "0" => Some(false),
        _ => None,
    })
}

/// What `BLOSC_SPLITMODE` asks for.
fn split() -> Option<Split> {
    choice(c"BLOSC_SPLITMODE", |value| match value {
        "ALWAYS" => Some(Split::Always),
        "NEVER" => Some(Split::Never),
        "AUTO" => Some(Split::Auto),
        "FORWARD_COMPAT" => Some(Split::ForwardCompatible),
        _ => None,
    })
}

/// The id of the codec that `BLOSC_COMPRESSOR` names, by `code_of`; a negative one, with a warning,
/// if there is none.
pub fn compressor(code_of: impl FnOnce(&str) -> i32) -> Option<i32> {
    const NAME: &CStr = c"BLOSC_COMPRESSOR";
    env::get(NAME, |value| match code_of(value) {
        code @ ..0 => unrecognized(NAME, value).unwrap_or(code),
        code => code,
    })
}

/// The number in a variable. None, with a warning, for one that is less than `least` or does not
/// fit into a `T`.
pub fn at_least<T: TryFrom<i64>>(name: &CStr, least: i64) -> Option<T> {
    let value = env::number(name)?;
    let fitting = (value >= least).then(|| T::try_from(value).ok()).flatten();
    fitting.or_else(|| unrecognized(name, value))
}

/// Parameters of compression in the environment; none for a variable that is not set or has no
/// valid value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overrides {
    /// `BLOSC_CLEVEL`.
    pub level: Option<i32>,
    /// `BLOSC_SHUFFLE`.
    pub shuffle: Option<Shuffle>,
    /// `BLOSC_DELTA`.
    pub delta: Option<bool>,
    /// `BLOSC_TYPESIZE`.
    pub typesize: Option<i32>,
    /// `BLOSC_BLOCKSIZE`.
    pub blocksize: Option<i32>,
    /// `BLOSC_NTHREADS`.
    pub nthreads: Option<i16>,
    /// `BLOSC_SPLITMODE`.
    pub split: Option<Split>,
}

impl Overrides {
    /// Reads the environment.
    pub fn read() -> Self {
        Self {
            level: at_least(c"BLOSC_CLEVEL", 0),
            shuffle: shuffle(),
            delta: delta(),
            typesize: at_least(c"BLOSC_TYPESIZE", 1),
            blocksize: at_least(c"BLOSC_BLOCKSIZE", 1),
            nthreads: at_least(c"BLOSC_NTHREADS", 1),
            split: split(),
        }
    }

    /// Replaces the parameters of a context by those that are set in the environment.
    pub fn apply(&self, parameters: &mut Parameters, nthreads: &mut i16) {
        fn replace<T>(parameter: &mut T, value: Option<T>) {
            if let Some(value) = value {
                *parameter = value;
            }
        }
        replace(&mut parameters.typesize, self.typesize);
        replace(&mut parameters.clevel, self.level.map(narrow));
        replace(&mut parameters.blocksize, self.blocksize);
        replace(
            &mut parameters.splitmode,
            self.split.map(|split| split as u8),
        );
        replace(nthreads, self.nthreads);
        let delta = self.delta == Some(true);
        set_shuffle(
            &mut parameters.filters,
            self.shuffle,
            delta,
            parameters.typesize,
        );
    }
}

/// Replaces the parameters of a context by those that are set in the environment, and the codec by
/// the built-in one that `BLOSC_COMPRESSOR` names. `code_of` gives the id of the codec of a name,
/// or -1, which fails when something is compressed.
///
/// # Errors
/// [`Error::NULL_POINTER`] if `BLOSC_COMPRESSOR` names a codec that is not built in.
pub fn override_parameters(
    parameters: &mut Parameters,
    nthreads: &mut i16,
    code_of: impl FnOnce(&str) -> i32,
) -> Result<()> {
    Overrides::read().apply(parameters, nthreads);
    if let Some(code) = compressor(code_of) {
        if is_registered(code) {
            env::trace("error", "BLOSC_COMPRESSOR cannot name a user-defined codec");
            return Err(Error::NULL_POINTER);
        }
        parameters.compcode = narrow(code);
    }
    Ok(())
}

/// Whether changes are to survive a loss of power: `BLOSC_DURABLE`.
pub fn durable() -> bool {
    env::is_on(c"BLOSC_DURABLE")
}

/// Whether all frames are to be locked: `BLOSC_LOCKING`.
pub fn locking() -> bool {
    env::is_on(c"BLOSC_LOCKING")
}

/// Whether new frames get checksums: `BLOSC_CHECKSUMS`.
pub fn checksums() -> bool {
    env::is_on(c"BLOSC_CHECKSUMS")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_overrides_parameters() {
        let params = crate::params::CParams::default();
        let (mut parameters, mut nthreads) = (params.recorded(), 1);
        Overrides::default().apply(&mut parameters, &mut nthreads);
        assert_eq!((parameters, nthreads), (params.recorded(), 1));
        let env = Overrides {
            level: Some(9),
            shuffle: Some(Shuffle::Bits),
            delta: Some(true),
            typesize: Some(2),
            blocksize: Some(1024),
            nthreads: Some(4),
            split: Some(Split::Never),
        };
        env.apply(&mut parameters, &mut nthreads);
        assert_eq!(
            (
                parameters.clevel,
                parameters.typesize,
                parameters.blocksize,
                parameters.splitmode
            ),
            (9, 2, 1024, 2)
        );
        assert_eq!((parameters.filters, nthreads), ([0, 0, 0, 0, 3, 2], 4));
    }

    #[test]
    fn registered_codecs_are_not_built_in() {
        assert!([-1, 0, 5].into_iter().all(|code| !is_registered(code)));
        assert!([32, 160].into_iter().all(is_registered));
    }
}
