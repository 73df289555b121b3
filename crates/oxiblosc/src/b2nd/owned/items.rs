//! Reading and writing items.

use super::Array;
use crate::b2nd::array::ArrayRef;
use crate::b2nd::shape::Shape;
use oxiblosc_base::{Error, Result};

impl Array {
    /// Reads the items from `start` up to but not including `stop` into the front of `items`, in C
    /// order. If `items` is longer, the rest is filled with zeros.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for positions out of range, and if `items` is too short; those of
    /// damaged chunks, and of input.
    pub fn read(&self, start: &[i64], stop: &[i64], items: &mut [u8]) -> Result<()> {
        self.with(|array| array.read_checked(start, stop, items))
    }

    /// Writes the items from `start` up to but not including `stop`, which are in `items` in C
    /// order. If this fails, nothing is written.
    ///
    /// # Errors
    /// As for [`Self::read`]; those of compression and output.
    pub fn write(&self, start: &[i64], stop: &[i64], items: &[u8]) -> Result<()> {
        self.change(|array| array.write_checked(start, stop, items))
    }

    /// Reads an orthogonal selection, which has a list of indices for each dimension, into `items`,
    /// which must have exactly its size. Indices may be in any order and repeated.
    ///
    /// ```
    /// # use oxiblosc::{Array, CParams, Initial, Layout, StorageParams};
    /// # let layout = Layout { shape: &[2, 3], chunks: &[2, 2], blocks: &[1, 2], dtype: None, metalayers: &[] };
    /// # let cparams = CParams { typesize: 1, ..CParams::default() };
    /// # let initial = Initial::Items(&[0, 1, 2, 10, 11, 12]);
    /// # let array = Array::create(&layout, initial, StorageParams { cparams, ..StorageParams::default() })?;
    /// // Rows 1 and 0 of [[0, 1, 2], [10, 11, 12]], and columns 2, 0 and 0 of these.
    /// let mut items = [0; 6];
    /// array.read_selection(&[&[1, 0], &[2, 0, 0]], &mut items)?;
    /// assert_eq!(items, [12, 10, 10, 2, 0, 0]);
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::read`]; [`Error::INVALID_INDEX`] for an index out of range.
    pub fn read_selection(&self, lists: &[&[i64]], items: &mut [u8]) -> Result<()> {
        self.with(|array| {
            let (shape, nbytes) = (lengths(array, lists)?, items.len() as i64);
            match array.select(lists, &shape, nbytes)? {
                Some(selection) => array.read_selection(&selection, items),
                None => Ok(()),
            }
        })
    }

    /// Writes an orthogonal selection; see [`Self::read_selection`]. If this fails, nothing is
    /// written. An item that is selected more than once gets its last value.
    ///
    /// # Errors
    /// As for [`Self::write`]; [`Error::INVALID_INDEX`] for an index out of range.
    pub fn write_selection(&self, lists: &[&[i64]], items: &[u8]) -> Result<()> {
        self.change(|array| {
            let (shape, nbytes) = (lengths(array, lists)?, items.len() as i64);
            match array.select(lists, &shape, nbytes)? {
                Some(selection) => array.write_selection(&selection, items),
                None => Ok(()),
            }
        })
    }

    /// Reads items at arbitrary positions into `items`, one after the other. `coords` has their
    /// indices, counted through the whole array in C order. They may be in any order and repeated.
    ///
    /// ```
    /// # use oxiblosc::{Array, CParams, Initial, Layout, StorageParams};
    /// # let layout = Layout { shape: &[2, 3], chunks: &[2, 2], blocks: &[1, 2], dtype: None, metalayers: &[] };
    /// # let cparams = CParams { typesize: 1, ..CParams::default() };
    /// # let initial = Initial::Items(&[0, 1, 2, 10, 11, 12]);
    /// # let array = Array::create(&layout, initial, StorageParams { cparams, ..StorageParams::default() })?;
    /// // The last and the second item of [[0, 1, 2], [10, 11, 12]].
    /// let mut items = [0; 2];
    /// array.read_sparse(&[5, 1], &mut items)?;
    /// assert_eq!(items, [12, 1]);
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::read`]; [`Error::INVALID_PARAM`] for an array without dimensions.
    pub fn read_sparse(&self, coords: &[i64], items: &mut [u8]) -> Result<()> {
        self.with(|array| {
            if coords.is_empty() {
                return Ok(());
            }
            array.check_sparse(coords.len() as i64, items.len() as i64)?;
            array.read_sparse(coords, items)
        })
    }
}

/// The shape of an orthogonal selection.
fn lengths(array: &ArrayRef, lists: &[&[i64]]) -> Result<Shape> {
    if lists.len() != array.geometry.ndim {
        return Err(Error::INVALID_PARAM);
    }
    Shape::of(lists.iter().map(|list| Ok(list.len() as i64)))
}

impl ArrayRef<'_> {
    pub(super) fn read_checked(&self, start: &[i64], stop: &[i64], items: &mut [u8]) -> Result<()> {
        let shape = self.slice_shape(start, stop)?;
        self.read_slice(start, stop, &shape, items)
    }

    pub(super) fn write_checked(&self, start: &[i64], stop: &[i64], items: &[u8]) -> Result<()> {
        let shape = self.slice_shape(start, stop)?;
        self.write_slice(start, stop, &shape, items)
    }

    /// The shape of the items from `start` up to but not including `stop`.
    pub(super) fn slice_shape(&self, start: &[i64], stop: &[i64]) -> Result<Shape> {
        let ndim = self.geometry.ndim;
        if start.len() != ndim || stop.len() != ndim {
            return Err(Error::INVALID_PARAM);
        }
        let bounds = start.iter().zip(stop).zip(self.geometry.shape);
        Shape::of(bounds.map(|((start, stop), len)| {
            match *start >= 0 && start <= stop && *stop <= len {
                true => Ok(stop - start),
                false => Err(Error::INVALID_PARAM),
            }
        }))
    }
}
