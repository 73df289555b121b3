//! The shapes of views: arrays with more or fewer dimensions of length 1 over the same chunks.

use super::MAX_DIM;
use super::geometry::Geometry;
use super::meta::{Meta, NAME};
use oxiblosc_base::memory::ToTryVec;
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::meta::Metalayer;

/// Checks that an array has no metalayer besides its own, as another one might depend on its
/// dimensions.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if it has one.
pub fn check_metalayers(layers: &[Metalayer]) -> Result<()> {
    match layers.iter().all(|layer| *layer.name == *NAME) {
        true => Ok(()),
        false => Err(Error::INVALID_PARAM),
    }
}

impl Geometry {
    /// The geometry with these dimensions: each is one of the array, or, if it is none, has
    /// length 1.
    fn with_dimensions(&self, from: impl Iterator<Item = Option<usize>>) -> Result<Self> {
        let ones = [1; MAX_DIM];
        let (mut ndim, mut shape) = (0, [1; MAX_DIM]);
        let (mut chunkshape, mut blockshape) = (ones, ones);
        for from in from {
            if ndim == MAX_DIM {
                return Err(Error::INVALID_PARAM);
            }
            if let Some(from) = from {
                shape[ndim] = self.shape[from];
                chunkshape[ndim] = self.chunkshape[from];
                blockshape[ndim] = self.blockshape[from];
            }
            ndim += 1;
        }
        Self::new(&shape[..ndim], &chunkshape[..ndim], &blockshape[..ndim])
    }

    /// The geometry with new dimensions of length 1. `new` has an element for each dimension of the
    /// result, which is not 0 if the dimension is new.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for more than [`MAX_DIM`] dimensions, and if not exactly those of
    /// the array remain without the new ones.
    pub fn expanded(&self, new: &[u8]) -> Result<Self> {
        if new.iter().filter(|new| **new == 0).count() != self.ndim {
            return Err(Error::INVALID_PARAM);
        }
        let mut old = 0..self.ndim;
        self.with_dimensions(new.iter().map(|new| match new {
            0 => old.next(),
            _ => None,
        }))
    }

    /// The geometry without the dimensions for which `drops` gives true.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`] for a dimension whose length is not 1; [`Error::INVALID_PARAM`] for
    /// one along which chunks are padded, as the padding is between items that would be neighbours.
    pub fn squeezed(&self, drops: impl Fn(usize) -> bool) -> Result<Self> {
        for d in (0..self.ndim).filter(|d| drops(*d)) {
            if self.shape[d] != 1 {
                return Err(Error::INVALID_INDEX);
            }
            if self.extchunkshape[d] > 1 {
                return Err(Error::INVALID_PARAM);
            }
        }
        self.with_dimensions((0..self.ndim).filter(|d| !drops(*d)).map(Some))
    }

    /// The metalayer of an array with these shapes.
    ///
    /// # Errors
    /// Those of [`Meta::serialize`].
    pub fn metalayer(&self, dtype: Option<&[u8]>, dtype_format: i8) -> Result<Metalayer> {
        Ok(Metalayer {
            name: NAME.to_try_vec()?,
            content: self.meta(dtype, dtype_format).serialize()?,
        })
    }

    /// The content of the metalayer of an array with these shapes.
    pub fn meta<'a>(&self, dtype: Option<&'a [u8]>, dtype_format: i8) -> Meta<'a> {
        Meta {
            ndim: self.ndim,
            shape: self.shape,
            chunkshape: self.chunkshape,
            blockshape: self.blockshape,
            dtype,
            dtype_format,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dimensions_of_length_1_come_and_go() {
        let array = Geometry::new(&[1, 6, 1], &[1, 4, 2], &[1, 2, 2]).unwrap();
        let more = array.expanded(&[1, 0, 0, 7, 0]).unwrap();
        assert_eq!((more.ndim, &more.shape[..5]), (5, &[1, 1, 6, 1, 1][..]));
        assert_eq!(more.chunkshape[..5], [1, 1, 4, 1, 2]);
        for wrong in [&[0, 0][..], &[0, 0, 0, 0], &[1; MAX_DIM + 1]] {
            assert_eq!(array.expanded(wrong), Err(Error::INVALID_PARAM));
        }
        let less = array.squeezed(|d| d == 0).unwrap();
        assert_eq!((less.ndim, &less.blockshape[..2]), (2, &[2, 2][..]));
        assert_eq!(array.squeezed(|d| d == 1), Err(Error::INVALID_INDEX));
        assert_eq!(array.squeezed(|d| d == 2), Err(Error::INVALID_PARAM));
    }
}
