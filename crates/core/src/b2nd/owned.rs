//! Arrays of Rust programs.

use super::array::{ArrayRef, metalayer, read_metalayer};
use super::meta::Meta;
use super::{Dims, MAX_DIM};
use crate::params::{CParams, DParams};
use crate::schunk::open::{Place, Protection};
use crate::schunk::{State, SuperChunk};
use oxiblosc_chunk::header::Special;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::meta::Borrowed;
use std::path::Path;

/// How an array is cut, and what its items are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout<'a> {
    /// Items along each of at most [`MAX_DIM`] dimensions.
    pub shape: &'a [i64],
    /// Items of a chunk along each dimension.
    pub chunks: &'a [i32],
    /// Items of a block along each dimension.
    pub blocks: &'a [i32],
    /// What an item is, in NumPy's way (`<f8`); none for opaque bytes.
    pub dtype: Option<&'a [u8]>,
    /// Further metalayers, by name.
    pub metalayers: &'a [Borrowed<'a>],
}

/// An n-dimensional array of items of one size, in C order.
///
/// ```
/// use oxiblosc_core::{Array, CParams, DParams, Layout, Place, Protection};
///
/// # fn main() -> Result<(), oxiblosc_core::Error> {
/// let layout = Layout {
///     shape: &[100, 200],
///     chunks: &[50, 100],
///     blocks: &[10, 50],
///     dtype: Some(b"|u1"),
///     metalayers: &[],
/// };
/// let params = CParams { typesize: 1, ..CParams::default() };
/// let array = Array::zeros(Place::Memory, &layout, params, DParams::default(), Protection::default())?;
/// array.write(&[49, 99], &[51, 101], &[1, 2, 3, 4])?;
/// let mut items = [0; 6];
/// array.read(&[49, 98], &[51, 101], &mut items)?;
/// assert_eq!(items, [0, 1, 2, 0, 3, 4]);
/// # Ok(())
/// # }
/// ```
pub struct Array {
    schunk: SuperChunk,
}

fn dims<T: Copy>(given: &[T], one: T) -> Result<[T; MAX_DIM]> {
    let mut dims = [one; MAX_DIM];
    let front = dims.get_mut(..given.len()).ok_or(Error::InvalidParam)?;
    front.copy_from_slice(given);
    Ok(dims)
}

impl Array {
    /// Makes an array of zeros.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for impossible shapes; those of [`SuperChunk::create`].
    pub fn zeros(
        place: Place,
        layout: &Layout,
        cparams: CParams,
        dparams: DParams,
        protection: Protection,
    ) -> Result<Self> {
        let ndim = layout.shape.len();
        if layout.chunks.len() != ndim || layout.blocks.len() != ndim {
            return Err(Error::InvalidParam);
        }
        let meta = Meta {
            ndim,
            shape: dims(layout.shape, 1)?,
            chunkshape: dims(layout.chunks, 1)?,
            blockshape: dims(layout.blocks, 1)?,
            dtype: layout.dtype,
            dtype_format: 0,
        };
        super::geometry::check(layout.shape, layout.chunks, layout.blocks)?;
        let geometry = meta.geometry()?;
        super::create::chunksize(&geometry, cparams.typesize)?;
        let cparams = CParams {
            blocksize: i32::try_from(geometry.block_nbytes(cparams.typesize))
                .map_err(|_| Error::InvalidParam)?,
            ..cparams
        };
        let schunk = SuperChunk::create(place, cparams, dparams, protection)?;
        let sample = |kind, nbytes| schunk.special_sample(kind, nbytes);
        let special = (Special::Zero, &sample as &crate::schunk::special::Sample);
        let made = schunk.become_array(&meta, &geometry, layout.metalayers, special);
        let made = made.map(drop);
        schunk.or_discard(made).map(|schunk| Self { schunk })
    }

    /// Opens the array in a file or directory.
    ///
    /// # Errors
    /// [`Error::MetalayerNotFound`] if it holds no array; those of [`SuperChunk::open`].
    pub fn open(path: &Path, nthreads: i16, protection: Protection) -> Result<Self> {
        Self::of(SuperChunk::open(path, 0, nthreads, protection)?)
    }

    /// The array that a super-chunk holds.
    ///
    /// # Errors
    /// [`Error::MetalayerNotFound`] if it holds none, [`Error::Data`] if its chunks are others than those of an array.
    pub fn of(schunk: SuperChunk) -> Result<Self> {
        {
            let state = schunk.read()?;
            read_metalayer(metalayer(state.metalayers())?, &state)?;
        }
        Ok(Self { schunk })
    }

    /// The super-chunk that holds the array.
    pub fn schunk(&self) -> &SuperChunk {
        &self.schunk
    }

    fn view(&self, state: &State) -> Result<ArrayRef<'_>> {
        Ok(ArrayRef {
            schunk: &self.schunk,
            geometry: Meta::parse(metalayer(state.metalayers())?, true)?
                .0
                .geometry()?,
            typesize: state.parameters().typesize,
            is_view: false,
        })
    }

    /// Runs something that reads.
    fn with<T>(&self, body: impl FnOnce(&ArrayRef) -> Result<T>) -> Result<T> {
        let state = self.schunk.read()?;
        body(&self.view(&state)?)
    }

    /// Runs something that changes the array.
    fn change(&self, body: impl FnOnce(&mut ArrayRef) -> Result<()>) -> Result<()> {
        let changing = self.schunk.reserve()?;
        let mut view = self.view(&*changing.state()?)?;
        let result = body(&mut view);
        changing.finish()?;
        result
    }

    /// The shape, and how many dimensions it has.
    ///
    /// # Errors
    /// Those of reading a frame that others changed.
    pub fn shape(&self) -> Result<(Dims, usize)> {
        self.with(|array| Ok((array.geometry.shape, array.geometry.ndim)))
    }

    /// Reads the items from `start` to before `stop` into `items`, which has room for them.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for positions that there are not; those of damaged chunks, and of input.
    pub fn read(&self, start: &[i64], stop: &[i64], items: &mut [u8]) -> Result<()> {
        self.with(|array| {
            let shape = slice_shape(array, start, stop)?;
            array.read_slice(start, stop, &shape[..start.len()], items)
        })
    }

    /// Writes the items from `start` to before `stop`: all of them or, if that fails, none.
    ///
    /// # Errors
    /// As for [`Self::read`]; those of compression and output.
    pub fn write(&self, start: &[i64], stop: &[i64], items: &[u8]) -> Result<()> {
        self.change(|array| {
            let shape = slice_shape(array, start, stop)?;
            array.write_slice(start, stop, &shape[..start.len()], items)
        })
    }

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
    /// As for [`Self::resize`].
    pub fn append(&self, items: &[u8], axis: usize) -> Result<()> {
        self.change(|array| array.append(items, axis))
    }
}

fn slice_shape(array: &ArrayRef, start: &[i64], stop: &[i64]) -> Result<Dims> {
    let ndim = array.geometry.ndim;
    if start.len() != ndim || stop.len() != ndim {
        return Err(Error::InvalidParam);
    }
    let mut shape = Dims::default();
    for (d, (start, stop)) in start.iter().zip(stop).enumerate() {
        if *start < 0 || start > stop || *stop > array.geometry.shape[d] {
            return Err(Error::InvalidParam);
        }
        shape[d] = stop - start;
    }
    Ok(shape)
}
