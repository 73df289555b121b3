//! Views of arrays, with more or fewer dimensions of length 1.

use super::Array;
use crate::b2nd::MAX_DIM;
use crate::b2nd::array::ArrayRef;
use crate::b2nd::geometry::Geometry;
use crate::b2nd::shape::Shape;
use crate::b2nd::views::check_metalayers;
use oxiblosc_base::{Error, Result};

/// How the dimensions of a view follow from those of its array.
#[derive(Debug)]
enum Dimensions {
    /// For each dimension of the view, whether it is new (not 0), and the number of dimensions.
    Expanded([u8; MAX_DIM], usize),
    /// For each dimension of the array, whether it is left out.
    Squeezed([bool; MAX_DIM]),
}

/// An array with more or fewer dimensions of length 1 over the same chunks. When its array is
/// resized, its shape changes, too.
#[derive(Debug)]
pub struct View<'a> {
    array: &'a Array,
    dimensions: Dimensions,
}

impl Array {
    /// A view with new dimensions of length 1. `new` has an element for each dimension of the view,
    /// which is true if the dimension is new.
    ///
    /// ```
    /// # use oxiblosc::{Array, Layout, StorageParams};
    /// # let layout = Layout { shape: &[5, 6], chunks: &[5, 6], blocks: &[5, 6], dtype: None, metalayers: &[] };
    /// # let array = Array::zeros(&layout, StorageParams::default())?;
    /// let view = array.expand_dims(&[false, true, false])?;
    /// assert_eq!(*view.shape()?, [5, 1, 6]);
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for too many dimensions, if not exactly those of the array remain
    /// without the new ones, and for an array with further metalayers, which might depend on its
    /// dimensions.
    pub fn expand_dims(&self, new: &[bool]) -> Result<View<'_>> {
        let mut axes = [0; MAX_DIM];
        let prefix = axes.get_mut(..new.len()).ok_or(Error::INVALID_PARAM)?;
        for (axis, new) in prefix.iter_mut().zip(new) {
            *axis = u8::from(*new);
        }
        self.view_with(Dimensions::Expanded(axes, new.len()))
    }

    /// A view without the dimensions of length 1.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if chunks are padded along one of them, and for an array with
    /// further metalayers.
    pub fn squeeze(&self) -> Result<View<'_>> {
        let shape = self.shape()?;
        let axes = std::array::from_fn(|d| shape.get(d) == Some(&1));
        self.view_with(Dimensions::Squeezed(axes))
    }

    /// A view without some dimensions of length 1. `axes` has an element for each dimension of the
    /// array, which is true if it is left out.
    ///
    /// # Errors
    /// [`Error::INVALID_INDEX`] for a dimension of another length, and as for [`Self::squeeze`].
    pub fn squeeze_axes(&self, axes: &[bool]) -> Result<View<'_>> {
        if axes.len() != self.shape()?.len() {
            return Err(Error::INVALID_PARAM);
        }
        let axes = std::array::from_fn(|d| axes.get(d) == Some(&true));
        self.view_with(Dimensions::Squeezed(axes))
    }

    fn view_with(&self, dimensions: Dimensions) -> Result<View<'_>> {
        check_metalayers(self.schunk.read()?.metalayers())?;
        let view = View {
            array: self,
            dimensions,
        };
        view.shape().map(|_| view)
    }
}

impl View<'_> {
    fn geometry(&self, array: &Geometry) -> Result<Geometry> {
        match &self.dimensions {
            Dimensions::Expanded(new, ndim) => array.expanded(&new[..*ndim]),
            Dimensions::Squeezed(axes) => array.squeezed(|d| axes[d]),
        }
    }

    fn of<'s>(&self, array: &ArrayRef<'s>) -> Result<ArrayRef<'s>> {
        Ok(ArrayRef {
            geometry: self.geometry(&array.geometry)?,
            is_view: true,
            ..array.clone()
        })
    }

    /// As [`Array::shape`].
    ///
    /// # Errors
    /// As for [`Array::shape`]; as for [`Array::squeeze`] if the shape of the array has changed
    /// since the view was made.
    pub fn shape(&self) -> Result<Shape> {
        self.array
            .with(|array| self.geometry(&array.geometry)?.shape())
    }

    /// As [`Array::read`].
    ///
    /// # Errors
    /// As for [`Array::read`] and [`Self::shape`].
    pub fn read(&self, start: &[i64], stop: &[i64], items: &mut [u8]) -> Result<()> {
        self.array
            .with(|array| self.of(array)?.read_checked(start, stop, items))
    }

    /// As [`Array::write`].
    ///
    /// # Errors
    /// As for [`Array::write`] and [`Self::shape`].
    pub fn write(&self, start: &[i64], stop: &[i64], items: &[u8]) -> Result<()> {
        self.array
            .change(|array| self.of(array)?.write_checked(start, stop, items))
    }
}
