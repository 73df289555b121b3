//! The shuffles as functions of their own, for typesizes that a program chooses.

use crate::{bitshuffle, shuffle};
use oxiblosc_base::{Error, Result};

/// The largest typesize, except for undoing a bitshuffle.
const MAX_TYPESIZE: i32 = 256;

/// A shuffle, or the undoing of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transposition {
    /// [`shuffle::shuffle`].
    Shuffle,
    /// [`shuffle::unshuffle`].
    Unshuffle,
    /// [`bitshuffle::bitshuffle`].
    Bitshuffle,
    /// [`bitshuffle::bitunshuffle`], as for a chunk of the current version.
    Bitunshuffle,
}

impl Transposition {
    /// The typesize in bytes as [`Self::apply`] takes it.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for less than 1, and for more than 256 unless a bitshuffle is
    /// undone.
    pub fn typesize(self, typesize: i32) -> Result<usize> {
        let largest = match self {
            Self::Bitunshuffle => i32::MAX,
            Self::Shuffle | Self::Unshuffle | Self::Bitshuffle => MAX_TYPESIZE,
        };
        match (1..=largest).contains(&typesize) {
            true => Ok(typesize as usize),
            false => Err(Error::INVALID_PARAM),
        }
    }

    /// Transposes `src` into the first `src.len()` bytes of `dst`.
    ///
    /// # Panics
    /// If `dst` is shorter than `src`.
    pub fn apply(self, typesize: usize, src: &[u8], dst: &mut [u8]) {
        match self {
            Self::Shuffle => shuffle::shuffle(typesize, src, dst),
            Self::Unshuffle => shuffle::unshuffle(typesize, src, dst),
            Self::Bitshuffle => bitshuffle::bitshuffle(typesize, src, dst),
            Self::Bitunshuffle => {
                bitshuffle::bitunshuffle(typesize, src, dst, bitshuffle::CURRENT_VERSION);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Transposition::{Bitshuffle, Bitunshuffle, Shuffle, Unshuffle};

    #[test]
    fn each_one_is_undone_by_its_counterpart() {
        let src: Vec<u8> = (0..=255).collect();
        for (shuffle, undo) in [(Shuffle, Unshuffle), (Bitshuffle, Bitunshuffle)] {
            let (mut there, mut back) = (vec![0; 256], vec![0; 256]);
            shuffle.apply(4, &src, &mut there);
            assert_ne!(there, src, "{shuffle:?}");
            undo.apply(4, &there, &mut back);
            assert_eq!(back, src, "{undo:?}");
        }
    }

    #[test]
    fn typesizes_are_checked() {
        for of in [Shuffle, Unshuffle, Bitshuffle, Bitunshuffle] {
            assert!(of.typesize(0).is_err() && of.typesize(-1).is_err());
            assert_eq!((of.typesize(1), of.typesize(256)), (Ok(1), Ok(256)));
            assert_eq!(of.typesize(257).is_ok(), of == Bitunshuffle);
        }
    }
}
