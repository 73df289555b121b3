//! Arrays that grow and shrink. The shape and the chunks change at once.

use super::Array;
use crate::schunk::save::Savable;
use oxiblosc_error::{Error, Result};

impl Array {
    /// Gives the array another shape of as many dimensions, at its far ends. What it grows by is zeros.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for a shape that there cannot be; those of output.
    pub fn resize(&self, shape: &[i64]) -> Result<()> {
        self.change(|array| {
            if shape.len() != array.geometry.ndim {
                return Err(Error::InvalidParam);
            }
            array.resize(shape, None)
        })
    }

    /// Puts items behind the end of `axis`.
    ///
    /// # Errors
    /// As for [`Self::insert`].
    pub fn append(&self, items: &[u8], axis: usize) -> Result<()> {
        self.change(|array| array.append(items, axis))
    }

    /// Puts items before position `at` along `axis`: at the end, or where a chunk begins. `items` are all
    /// items of one or more new positions of the axis, in C order.
    ///
    /// ```
    /// use oxiblosc_core::{Array, CParams, Initial, Layout, StorageParams};
    ///
    /// let layout = Layout { shape: &[2, 3], chunks: &[1, 3], blocks: &[1, 3], dtype: None, metalayers: &[] };
    /// let cparams = CParams { typesize: 1, ..CParams::default() };
    /// let initial = Initial::Items(&[0, 1, 2, 20, 21, 22]);
    /// let array = Array::create(&layout, initial, StorageParams { cparams, ..StorageParams::default() })?;
    /// array.insert(&[10, 11, 12], 0, 1)?;
    /// assert_eq!(*array.shape()?, [3, 3]);
    /// array.delete(0, 0, 1)?;
    /// let mut items = [0; 6];
    /// array.read(&[0, 0], &[2, 3], &mut items)?;
    /// assert_eq!(items, [10, 11, 12, 20, 21, 22]);
    /// # Ok::<(), oxiblosc_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for another position, for items that are no whole rows, and for as many of them as end within a chunk
    /// unless they come last; those of output.
    pub fn insert(&self, items: &[u8], axis: usize, at: i64) -> Result<()> {
        self.change(|array| array.insert(items, axis, at))
    }

    /// Takes `len` items away from `axis`, from position `at` on: the last ones, or whole chunks.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for others; those of output.
    pub fn delete(&self, axis: usize, at: i64, len: i64) -> Result<()> {
        self.change(|array| array.delete(axis, at, len))
    }

    /// Puts all items of another array, whose other dimensions are this one's, behind the end of `axis`.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for other shapes or items of another size, and for the array itself; those of output.
    pub fn join(&self, other: &Self, axis: usize) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Err(Error::InvalidParam);
        }
        // One array is in use at a time: two threads that join two arrays crosswise would wait for each other.
        let other = Self {
            schunk: other.schunk.copy_as_frame(None, false)?,
        };
        other.with(|other| self.change(|array| array.join(other, axis)))
    }
}
