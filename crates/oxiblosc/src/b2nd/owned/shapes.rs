//! Resizing, inserting, appending, deleting and joining. Shape and chunks change together, as one
//! change.

use super::Array;
use crate::schunk::save::Savable;
use oxiblosc_base::{Error, Result};

impl Array {
    /// Changes the shape; the number of dimensions stays the same. Items are added or removed at
    /// the end of each dimension. New items are zero, except in the last chunks of an array of
    /// [`Initial::Item`](super::Initial::Item) or [`Initial::Nans`](super::Initial::Nans), which go
    /// on with their item until they are written or cut.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for an invalid shape; those of damaged chunks, of compression and
    /// output.
    pub fn resize(&self, shape: &[i64]) -> Result<()> {
        self.change(|array| {
            if shape.len() != array.geometry.ndim {
                return Err(Error::INVALID_PARAM);
            }
            array.resize(shape, None)
        })
    }

    /// Appends items at the end of `axis`.
    ///
    /// # Errors
    /// As for [`Self::insert`].
    pub fn append(&self, items: &[u8], axis: usize) -> Result<()> {
        self.change(|array| array.append(items, axis))
    }

    /// Inserts items before position `at` along `axis`, which is the end, or the start of a chunk.
    /// `items` has all items of the new positions of the axis, in C order.
    ///
    /// ```
    /// use oxiblosc::{Array, CParams, Initial, Layout, StorageParams};
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
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for another position, for items that do not fill whole positions of
    /// the axis, and, unless `at` is the end, for positions that do not fill whole chunks; those of
    /// damaged chunks, of compression and output.
    pub fn insert(&self, items: &[u8], axis: usize, at: i64) -> Result<()> {
        self.change(|array| array.insert(items, axis, at))
    }

    /// Deletes the `len` positions of `axis` from position `at` on, which have to be the last ones,
    /// or whole chunks.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for other positions; those of damaged chunks, of compression and
    /// output.
    pub fn delete(&self, axis: usize, at: i64, len: i64) -> Result<()> {
        self.change(|array| array.delete(axis, at, len))
    }

    /// Appends all items of another array at the end of `axis`. All other dimensions must have the
    /// same lengths.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for other lengths, items of another size, and the array itself;
    /// those of damaged chunks, of compression and output.
    pub fn join(&self, other: &Self, axis: usize) -> Result<()> {
        if std::ptr::eq(self, other) {
            return Err(Error::INVALID_PARAM);
        }
        // The other array is copied, so that only one of them is locked at a time: two threads that
        // join two arrays crosswise would wait for each other.
        let other = Self {
            schunk: other.schunk.copy_as_frame(None, false)?,
        };
        other.with(|other| self.change(|array| array.join(other, axis)))
    }
}
