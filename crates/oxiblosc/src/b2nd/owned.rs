//! Arrays for Rust programs: creating, opening and describing them.

mod copies;
mod items;
mod shapes;
mod views;

pub use views::View;

use super::array::{ArrayRef, metalayer, read_metalayer};
use super::geometry::Geometry;
use super::meta::Meta;
use super::shape::Shape;
use crate::context::Compressor;
use crate::params::CParams;
use crate::schunk::open::{Protection, StorageParams};
use crate::schunk::special::Sample;
use crate::schunk::{State, SuperChunk};
use oxiblosc_base::memory::{ToTryVec, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::Special;
use oxiblosc_frame::meta::MetalayerRef;
use std::path::Path;

/// The shapes of an array, its chunks and its blocks, all in items, and the type of an item. The
/// default is an array without dimensions and dtype.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Layout<'a> {
    /// The shape: items along each dimension, of which there are at most
    /// [`MAX_DIM`](super::MAX_DIM).
    pub shape: &'a [i64],
    /// The shape of a chunk.
    pub chunks: &'a [i32],
    /// The shape of a block.
    pub blocks: &'a [i32],
    /// The type of an item in NumPy's notation, such as `<f8`; none for opaque bytes.
    pub dtype: Option<&'a [u8]>,
    /// Further metalayers: names and contents.
    pub metalayers: &'a [MetalayerRef<'a>],
}

/// The shapes of the chunks of an array and of their blocks, in items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chunking<'a> {
    /// The shape of a chunk.
    pub chunks: &'a [i32],
    /// The shape of a block.
    pub blocks: &'a [i32],
}

/// The items of a new array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Initial<'a> {
    /// Zeros.
    Zeros,
    /// Items that read as zeros until they are written.
    Uninit,
    /// NaNs, of 4 or 8 bytes.
    Nans,
    /// Every item is this one.
    Item(&'a [u8]),
    /// These items, in C order.
    Items(&'a [u8]),
}

/// An n-dimensional array of items of one size, in C order.
///
/// ```
/// use oxiblosc::{Array, CParams, Layout, StorageParams};
///
/// # fn main() -> Result<(), oxiblosc::Error> {
/// let layout = Layout {
///     shape: &[100, 200],
///     chunks: &[50, 100],
///     blocks: &[10, 50],
///     dtype: Some(b"|u1"),
///     metalayers: &[],
/// };
/// let cparams = CParams { typesize: 1, ..CParams::default() };
/// let array = Array::zeros(&layout, StorageParams { cparams, ..StorageParams::default() })?;
/// array.write(&[49, 99], &[51, 101], &[1, 2, 3, 4])?;
/// let mut items = [0; 6];
/// array.read(&[49, 98], &[51, 101], &mut items)?;
/// assert_eq!(items, [0, 1, 2, 0, 3, 4]);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Array {
    schunk: SuperChunk,
}

impl Array {
    /// Creates an array of zeros.
    ///
    /// # Errors
    /// As for [`Self::create`].
    pub fn zeros(layout: &Layout, storage: StorageParams) -> Result<Self> {
        Self::create(layout, Initial::Zeros, storage)
    }

    /// Creates an array. The block size follows from the layout; [`CParams::blocksize`] is ignored.
    ///
    /// ```
    /// use oxiblosc::{Array, CParams, Initial, Layout, StorageParams};
    ///
    /// let layout = Layout { shape: &[3], chunks: &[2], blocks: &[2], dtype: Some(b"<i2"), metalayers: &[] };
    /// let cparams = CParams { typesize: 2, ..CParams::default() };
    /// let initial = Initial::Items(&[1, 0, 2, 0, 3, 0]);
    /// let array = Array::create(&layout, initial, StorageParams { cparams, ..StorageParams::default() })?;
    /// let mut last = [0; 2];
    /// array.read(&[2], &[3], &mut last)?;
    /// assert_eq!(last, [3, 0]);
    /// # Ok::<(), oxiblosc::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for invalid shapes, and for initial items of another size than the
    /// array's; [`Error::MAX_BUFSIZE_EXCEEDED`] for chunks of 2 GiB or more; [`Error::DATA`] for
    /// NaNs of another size than 4 or 8 bytes; those of [`SuperChunk::create`], and of compression.
    pub fn create(layout: &Layout, initial: Initial, storage: StorageParams) -> Result<Self> {
        let geometry = Geometry::new(layout.shape, layout.chunks, layout.blocks)?;
        let new = NewArray {
            meta: &geometry.meta(layout.dtype, 0),
            geometry: &geometry,
            metalayers: layout.metalayers,
            kind: initial.special(&geometry, storage.cparams.typesize)?,
        };
        new.make(storage, |array| match initial {
            Initial::Zeros | Initial::Uninit | Initial::Nans => Ok(()),
            Initial::Item(item) => array.repeat(item),
            Initial::Items(items) => array.write_all(items),
        })
    }

    /// Opens the array in a file or directory.
    ///
    /// # Errors
    /// [`Error::METALAYER_NOT_FOUND`] if the frame is no array, [`Error::DATA`] if its chunks do
    /// not fit its shapes; those of [`SuperChunk::open`].
    pub fn open(path: &Path, nthreads: i16, protection: Protection) -> Result<Self> {
        Self::of(SuperChunk::open(path, 0, nthreads, protection)?)
    }

    /// The array in a super-chunk that has the metalayer of one.
    ///
    /// # Errors
    /// [`Error::METALAYER_NOT_FOUND`] if it has none, [`Error::DATA`] if its chunks do not fit the
    /// metalayer.
    pub fn of(schunk: SuperChunk) -> Result<Self> {
        {
            let state = schunk.read()?;
            read_metalayer(metalayer(state.metalayers())?, &state)?;
        }
        Ok(Self { schunk })
    }

    /// The super-chunk with the chunks of the array.
    pub fn schunk(&self) -> &SuperChunk {
        &self.schunk
    }

    fn view(&self, state: &State) -> Result<ArrayRef<'_>> {
        Ok(ArrayRef {
            schunk: &self.schunk,
            geometry: read_metalayer(metalayer(state.metalayers())?, state)?.1,
            typesize: state.parameters().typesize,
            dtype: None,
            is_view: false,
        })
    }

    /// Calls `body` with the array, locked for reading.
    fn with<T>(&self, body: impl FnOnce(&ArrayRef) -> Result<T>) -> Result<T> {
        let state = self.schunk.read()?;
        body(&self.view(&state)?)
    }

    /// Calls `body` with the array, reserved for a change.
    fn change(&self, body: impl FnOnce(&mut ArrayRef) -> Result<()>) -> Result<()> {
        let changing = self.schunk.reserve()?;
        let mut view = self.view(&*changing.state()?)?;
        body(&mut view)
    }

    /// The shape: items along each dimension.
    ///
    /// # Errors
    /// Those of reading the frame, if another handle has changed it.
    pub fn shape(&self) -> Result<Shape> {
        self.with(|array| array.geometry.shape())
    }

    /// The shape of a chunk, and that of a block.
    ///
    /// # Errors
    /// As for [`Self::shape`].
    pub fn chunks_and_blocks(&self) -> Result<(Shape<i32>, Shape<i32>)> {
        self.with(|array| {
            let (geometry, dims) = (&array.geometry, ..array.geometry.ndim);
            let chunks = Shape::new(&geometry.chunkshape[dims])?;
            Ok((chunks, Shape::new(&geometry.blockshape[dims])?))
        })
    }

    /// The type of an item in NumPy's notation; none for opaque bytes.
    ///
    /// # Errors
    /// As for [`Self::shape`]; [`Error::MEMORY_ALLOC`].
    pub fn dtype(&self) -> Result<Option<TryVec<u8>>> {
        let state = self.schunk.read()?;
        let (meta, _) = Meta::parse(metalayer(state.metalayers())?, true)?;
        meta.dtype.map(|dtype| dtype.to_try_vec()).transpose()
    }
}

/// What is needed to create an array.
struct NewArray<'a> {
    meta: &'a Meta<'a>,
    geometry: &'a Geometry,
    /// The metalayers besides its own.
    metalayers: &'a [MetalayerRef<'a>],
    /// The special values of its items, before it is filled.
    kind: Special,
}

impl NewArray<'_> {
    /// Creates the array, and calls `fill` to fill it.
    fn make(
        self,
        storage: StorageParams,
        fill: impl FnOnce(&ArrayRef) -> Result<()>,
    ) -> Result<Array> {
        super::create::check(self.geometry, self.kind, storage.cparams.typesize)?;
        let schunk = SuperChunk::create_hidden(storage.for_blocks_of(self.geometry)?)?;
        let sample = |kind, nbytes| schunk.special_sample(kind, nbytes);
        let special = (self.kind, &sample as &Sample);
        let created = schunk.become_array(self.meta, self.geometry, self.metalayers, special);
        let created = created.and_then(|array| fill(&array));
        schunk.publish_if(created).map(|schunk| Array { schunk })
    }
}

impl Initial<'_> {
    /// The special values of the items before the array is filled.
    fn special(&self, geometry: &Geometry, typesize: i32) -> Result<Special> {
        let item = usize::try_from(typesize).map_err(|_| Error::INVALID_PARAM)?;
        let nbytes = geometry.nitems.checked_mul(typesize.into());
        match self {
            Self::Item(one) if one.len() != item => Err(Error::INVALID_PARAM),
            Self::Items(all) if i64::try_from(all.len()).ok() != nbytes => {
                Err(Error::INVALID_PARAM)
            }
            Self::Nans => Ok(Special::Nan),
            Self::Uninit => Ok(Special::Uninit),
            Self::Zeros | Self::Item(_) | Self::Items(_) => Ok(Special::Zero),
        }
    }
}

impl StorageParams<'_> {
    /// The same parameters with the block size of an array.
    fn for_blocks_of(mut self, geometry: &Geometry) -> Result<Self> {
        let blocksize = i32::try_from(geometry.block_nbytes(self.cparams.typesize));
        self.cparams.blocksize = blocksize.map_err(|_| Error::INVALID_PARAM)?;
        Ok(self)
    }
}

impl ArrayRef<'_> {
    /// Replaces every chunk by one that repeats this item.
    fn repeat(&self, item: &[u8]) -> Result<()> {
        let params = CParams::from_recorded(self.schunk.peek()?.parameters(), 1);
        self.fill_with(&Compressor::new(params), item)
    }
}
