//! Lengths along the dimensions of an array.

use super::MAX_DIM;
use oxiblosc_base::{Error, Result};
use std::fmt::{self, Debug};
use std::ops::Deref;

/// A number for each dimension, of which there are at most [`MAX_DIM`]. It dereferences to a slice.
/// Lengths of arrays are `i64`, those of chunks and blocks `i32`.
///
/// ```
/// use oxiblosc::b2nd::shape::Shape;
///
/// let shape = Shape::new(&[100, 200])?;
/// assert_eq!((shape.len(), shape[1]), (2, 200));
/// assert!(Shape::new(&[1; 17]).is_err());
/// # Ok::<(), oxiblosc::Error>(())
/// ```
#[derive(Clone, Copy)]
pub struct Shape<T = i64> {
    ndim: usize,
    lengths: [T; MAX_DIM],
}

impl<T: Copy + Default> Shape<T> {
    /// A shape with these lengths.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for too many dimensions.
    pub fn new(lengths: &[T]) -> Result<Self> {
        Self::of(lengths.iter().map(|len| Ok(*len)))
    }

    /// As [`Self::new`], for lengths that may be errors, of which the first is given.
    pub(crate) fn of(given: impl Iterator<Item = Result<T>>) -> Result<Self> {
        let (mut ndim, mut lengths) = (0, [T::default(); MAX_DIM]);
        for len in given {
            *lengths.get_mut(ndim).ok_or(Error::INVALID_PARAM)? = len?;
            ndim += 1;
        }
        Ok(Self { ndim, lengths })
    }
}

/// The shape of the box of items from `start` to before `stop`.
///
/// # Errors
/// [`Error::INVALID_PARAM`] for too many dimensions, and if a length overflows.
pub fn box_shape(start: &[i64], stop: &[i64]) -> Result<Shape> {
    let lengths = start.iter().zip(stop).map(|(start, stop)| {
        let len = stop.checked_sub(*start);
        len.ok_or(Error::INVALID_PARAM)
    });
    Shape::of(lengths)
}

impl<T> Deref for Shape<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        &self.lengths[..self.ndim]
    }
}

impl<T: PartialEq> PartialEq for Shape<T> {
    fn eq(&self, other: &Self) -> bool {
        **self == **other
    }
}

impl<T: Eq> Eq for Shape<T> {}

impl<T: Debug> Debug for Shape<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_is_as_long_as_its_ends_are_apart() {
        assert_eq!(*box_shape(&[1, 5], &[4, 5]).expect("a shape"), [3, 0]);
        assert_eq!(box_shape(&[i64::MIN], &[1]), Err(Error::INVALID_PARAM));
        assert_eq!(box_shape(&[0; 17], &[1; 17]), Err(Error::INVALID_PARAM));
    }
}
