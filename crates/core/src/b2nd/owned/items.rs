//! Reading and writing items.

use super::Array;
use crate::b2nd::array::ArrayRef;
use crate::b2nd::shape::Shape;
use oxiblosc_error::{Error, Result};

impl Array {
    /// Reads the items from `start` to before `stop` into `items`, which has room for them.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for positions that there are not; those of damaged chunks, and of input.
    pub fn read(&self, start: &[i64], stop: &[i64], items: &mut [u8]) -> Result<()> {
        self.with(|array| array.read_checked(start, stop, items))
    }

    /// Writes the items from `start` to before `stop`: all of them or, if that fails, none.
    ///
    /// # Errors
    /// As for [`Self::read`]; those of compression and output.
    pub fn write(&self, start: &[i64], stop: &[i64], items: &[u8]) -> Result<()> {
        self.change(|array| array.write_checked(start, stop, items))
    }

    /// Reads the items that lists of indices pick (orthogonal selection), one list for each dimension, into `items`, which has exactly
    /// their size. Indices may be in any order and repeated.
    ///
    /// ```
    /// # use oxiblosc_core::{Array, CParams, Initial, Layout, StorageParams};
    /// # let layout = Layout { shape: &[2, 3], chunks: &[2, 2], blocks: &[1, 2], dtype: None, metalayers: &[] };
    /// # let cparams = CParams { typesize: 1, ..CParams::default() };
    /// # let initial = Initial::Items(&[0, 1, 2, 10, 11, 12]);
    /// # let array = Array::create(&layout, initial, StorageParams { cparams, ..StorageParams::default() })?;
    /// // Of [[0, 1, 2], [10, 11, 12]] the rows 1 and 0, and of these the columns 2, 0 and 0.
    /// let mut items = [0; 6];
    /// array.read_selection(&[&[1, 0], &[2, 0, 0]], &mut items)?;
    /// assert_eq!(items, [12, 10, 10, 2, 0, 0]);
    /// # Ok::<(), oxiblosc_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn read_selection(&self, lists: &[&[i64]], items: &mut [u8]) -> Result<()> {
        self.with(|array| {
            let (shape, nbytes) = (lengths(array, lists)?, items.len() as i64);
            match array.select(lists, &shape, nbytes)? {
                Some(selection) => array.read_selection(&selection, items),
                None => Ok(()),
            }
        })
    }

    /// Writes the items that lists of indices pick, as [`Self::read_selection`] reads them: all of them or, if that fails, none. Of an
    /// item that is picked more than once the last value counts.
    ///
    /// # Errors
    /// As for [`Self::write`].
    pub fn write_selection(&self, lists: &[&[i64]], items: &[u8]) -> Result<()> {
        self.change(|array| {
            let (shape, nbytes) = (lengths(array, lists)?, items.len() as i64);
            match array.select(lists, &shape, nbytes)? {
                Some(selection) => array.write_selection(&selection, items),
                None => Ok(()),
            }
        })
    }

    /// Reads single items into `items`, one behind the other. `coords` counts them through the whole array in C order, in any order and
    /// also repeated.
    ///
    /// ```
    /// # use oxiblosc_core::{Array, CParams, Initial, Layout, StorageParams};
    /// # let layout = Layout { shape: &[2, 3], chunks: &[2, 2], blocks: &[1, 2], dtype: None, metalayers: &[] };
    /// # let cparams = CParams { typesize: 1, ..CParams::default() };
    /// # let initial = Initial::Items(&[0, 1, 2, 10, 11, 12]);
    /// # let array = Array::create(&layout, initial, StorageParams { cparams, ..StorageParams::default() })?;
    /// // Of [[0, 1, 2], [10, 11, 12]] the last item and the second.
    /// let mut items = [0; 2];
    /// array.read_sparse(&[5, 1], &mut items)?;
    /// assert_eq!(items, [12, 1]);
    /// # Ok::<(), oxiblosc_core::Error>(())
    /// ```
    ///
    /// # Errors
    /// As for [`Self::read`]; [`Error::InvalidParam`] for an array without dimensions.
    pub fn read_sparse(&self, coords: &[i64], items: &mut [u8]) -> Result<()> {
        self.with(|array| {
            let count = coords.len() as i64;
            crate::b2nd::geometry::check_room(&[count], array.typesize, items.len() as i64)?;
            match array.geometry.ndim {
                _ if coords.is_empty() => Ok(()),
                0 => Err(Error::InvalidParam),
                _ => array.read_sparse(coords, items),
            }
        })
    }
}

/// The shape of what lists of indices pick.
fn lengths(array: &ArrayRef, lists: &[&[i64]]) -> Result<Shape> {
    if lists.len() != array.geometry.ndim {
        return Err(Error::InvalidParam);
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

    /// The shape of the items from `start` to before `stop`.
    pub(super) fn slice_shape(&self, start: &[i64], stop: &[i64]) -> Result<Shape> {
        let ndim = self.geometry.ndim;
        if start.len() != ndim || stop.len() != ndim {
            return Err(Error::InvalidParam);
        }
        let bounds = start.iter().zip(stop).zip(self.geometry.shape);
        Shape::of(bounds.map(|((start, stop), len)| {
            match *start >= 0 && start <= stop && *stop <= len {
                true => Ok(stop - start),
                false => Err(Error::InvalidParam),
            }
        }))
    }
}
