//! Numbers that are computed from the three shapes of an array: padded shapes, counts, strides.
//! They are checked for overflow here, so that users of them need not do it.

use super::shape::Shape;
use super::{Dims, MAX_DIM};
use oxiblosc_base::{Error, Result};

/// C-order strides: the distance between neighbours along each dimension.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Strides {
    /// Of items in the array, in items.
    pub item_array: Dims,
    /// Of items in a chunk, in items.
    pub item_chunk: Dims,
    /// Of items in a padded chunk, in items.
    pub item_extchunk: Dims,
    /// Of items in a block, in items.
    pub item_block: Dims,
    /// Of blocks in a chunk, in blocks.
    pub block_chunk: Dims,
    /// The values of the reference's field of this name, which are not distances of chunks. They
    /// are only shown to C programs.
    pub chunk_array: Dims,
}

/// The shapes of an array, its chunks and its blocks. Lengths after the last dimension are 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The number of dimensions.
    pub ndim: usize,
    /// The shape of the array, in items.
    pub shape: Dims,
    /// The shape of a chunk, in items.
    pub chunkshape: [i32; MAX_DIM],
    /// The shape of a block, in items.
    pub blockshape: [i32; MAX_DIM],
    /// The shape of the array, padded to whole chunks, in items.
    pub extshape: Dims,
    /// The shape of a chunk, padded to whole blocks, in items.
    pub extchunkshape: Dims,
    /// The number of items of the array.
    pub nitems: i64,
    /// The number of items of a chunk.
    pub chunknitems: i32,
    /// The number of items of the padded array.
    pub extnitems: i64,
    /// The number of items of a block.
    pub blocknitems: i32,
    /// The number of items of a padded chunk.
    pub extchunknitems: i64,
    /// The strides.
    pub strides: Strides,
}

/// Lengths along [`MAX_DIM`] dimensions, of which those after the given ones are 1.
///
/// # Panics
/// If there are more lengths than [`MAX_DIM`].
pub fn lengths<T: Copy + From<u8>>(given: &[T]) -> [T; MAX_DIM] {
    let mut lengths = [1.into(); MAX_DIM];
    lengths[..given.len()].copy_from_slice(given);
    lengths
}

/// Checks the shapes of an array, its chunks and its blocks.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if the numbers of dimensions differ or are more than [`MAX_DIM`], for
/// negative lengths, and for a block of length 0 in a chunk that is longer.
pub fn check(shape: &[i64], chunkshape: &[i32], blockshape: &[i32]) -> Result<()> {
    let ndim = shape.len();
    if ndim > MAX_DIM || chunkshape.len() != ndim || blockshape.len() != ndim {
        return Err(Error::INVALID_PARAM);
    }
    let lengths = shape.iter().zip(chunkshape).zip(blockshape);
    for ((shape, chunk), block) in lengths {
        if *shape < 0 || *chunk < 0 || *block < 0 || (*block == 0 && *chunk != 0) {
            return Err(Error::INVALID_PARAM);
        }
    }
    Ok(())
}

/// Checks that a buffer of `capacity` bytes has room for items of `typesize` bytes with a shape of
/// these lengths.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if it has not.
pub fn check_capacity(lengths: &[i64], typesize: i32, capacity: i64) -> Result<()> {
    let mut lengths = lengths.iter().copied();
    match lengths.try_fold(typesize.into(), i64::checked_mul) {
        Some(needed) if needed <= capacity => Ok(()),
        _ => Err(Error::INVALID_PARAM),
    }
}

/// The size of a block of this shape in bytes.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if it is negative or does not fit into an `i32`.
pub fn blocksize(blockshape: &[i32], typesize: i32) -> Result<i32> {
    let items = blockshape
        .iter()
        .try_fold(1i32, |product, len| product.checked_mul(*len));
    items
        .and_then(|items| items.checked_mul(typesize))
        .filter(|blocksize| *blocksize >= 0)
        .ok_or(Error::INVALID_PARAM)
}

/// The position of item `i`, counted in C order, of an array of this shape: pairs of dimension and
/// position along it, with the last dimension first. A dimension of length 0 gives 0. Overflow
/// wraps around.
pub fn position(shape: &[i64], i: i64) -> impl Iterator<Item = (usize, i64)> {
    let mut stride = 1i64;
    (0..shape.len()).rev().map(move |d| {
        let next = stride.wrapping_mul(shape[d]);
        let rest = match (d, next) {
            (0, _) => Some(i),
            (_, 0) => None,
            _ => Some(i.wrapping_rem(next)),
        };
        let rest = rest.filter(|_| stride != 0);
        let coord = rest.map_or(0, |rest| rest.wrapping_div(stride));
        stride = next;
        (d, coord)
    })
}

/// The index of an item with this position: the sum of positions times strides. Overflow wraps
/// around.
pub fn number(position: &[i64], strides: &[i64]) -> i64 {
    let terms = position.iter().zip(strides);
    terms.fold(0, |sum, (at, stride)| {
        sum.wrapping_add(at.wrapping_mul(*stride))
    })
}

/// `len`, rounded up to a multiple of `step`. 0 if `step` is 0.
fn padded(len: i64, step: i64) -> Result<i64> {
    match len.checked_rem(step) {
        None => Ok(0),
        Some(0) => Ok(len),
        Some(rest) => len.checked_add(step - rest).ok_or(Error::INVALID_PARAM),
    }
}

/// The product of the lengths, if neither it nor any partial product is more than `most`.
fn product<T: Copy + Into<i64>>(lengths: &[T], most: i64) -> Result<i64> {
    lengths.iter().try_fold(1i64, |product, len| {
        let product = product.checked_mul((*len).into());
        product
            .filter(|product| *product <= most)
            .ok_or(Error::INVALID_PARAM)
    })
}

impl Geometry {
    /// Computes all numbers from the shapes of the array, of its chunks and of their blocks.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] as for [`check`], and if a number overflows.
    pub fn new(shape: &[i64], chunkshape: &[i32], blockshape: &[i32]) -> Result<Self> {
        check(shape, chunkshape, blockshape)?;
        let ndim = shape.len();
        let mut geometry = Self {
            ndim,
            shape: lengths(shape),
            chunkshape: lengths(chunkshape),
            blockshape: lengths(blockshape),
            extshape: [1; MAX_DIM],
            extchunkshape: [1; MAX_DIM],
            nitems: 1,
            chunknitems: 1,
            extnitems: 1,
            blocknitems: 1,
            extchunknitems: 1,
            strides: Strides::default(),
        };
        for d in 0..ndim {
            geometry.extshape[d] = padded(shape[d], chunkshape[d].into())?;
            geometry.extchunkshape[d] = match chunkshape[d] {
                0 => 0,
                len => padded(len.into(), blockshape[d].into())?,
            };
        }
        geometry.nitems = product(&geometry.shape, i64::MAX)?;
        geometry.extnitems = product(&geometry.extshape, i64::MAX)?;
        geometry.extchunknitems = product(&geometry.extchunkshape, i64::MAX)?;
        geometry.chunknitems = product(&geometry.chunkshape, i32::MAX.into())? as i32;
        geometry.blocknitems = product(&geometry.blockshape, i32::MAX.into())? as i32;
        geometry.set_strides();
        Ok(geometry)
    }

    fn set_strides(&mut self) {
        let Self {
            ndim,
            shape,
            chunkshape,
            blockshape,
            extshape,
            extchunkshape,
            strides,
            ..
        } = self;
        let Some(last) = ndim.checked_sub(1) else {
            return;
        };
        let all = [
            &mut strides.item_array,
            &mut strides.item_chunk,
            &mut strides.item_extchunk,
            &mut strides.item_block,
            &mut strides.block_chunk,
            &mut strides.chunk_array,
        ];
        for (which, strides) in all.into_iter().enumerate() {
            strides[last] = 1;
            for d in (0..last).rev() {
                let (chunk, block) = (i64::from(chunkshape[d + 1]), i64::from(blockshape[d + 1]));
                // A dimension of length 0 makes the strides of all dimensions before it 0.
                let lengths = [
                    shape[d + 1],
                    chunk,
                    extchunkshape[d + 1],
                    block,
                    extchunkshape[d + 1].checked_div(block).unwrap_or(0),
                    extshape[d + 1].wrapping_mul(chunk),
                ];
                let nothing = shape[d + 1] == 0 || chunk == 0 || block == 0;
                strides[d] = if nothing {
                    0
                } else {
                    strides[d + 1].wrapping_mul(lengths[which])
                };
            }
        }
    }

    /// The shape of the array.
    ///
    /// # Errors
    /// As for [`Shape::new`].
    pub fn shape(&self) -> Result<Shape> {
        Shape::new(&self.shape[..self.ndim])
    }

    /// Whether the chunks and the blocks have these shapes.
    pub fn is_cut_into(&self, chunkshape: &[i32], blockshape: &[i32]) -> bool {
        let dims = ..self.ndim;
        *chunkshape == self.chunkshape[dims] && *blockshape == self.blockshape[dims]
    }

    /// The number of chunks along dimension `d`.
    pub fn grid(&self, d: usize) -> i64 {
        self.extshape[d]
            .checked_div(self.chunkshape[d].into())
            .unwrap_or(0)
    }

    /// The number of blocks of a chunk along dimension `d`.
    pub fn blocks(&self, d: usize) -> i64 {
        self.extchunkshape[d]
            .checked_div(self.blockshape[d].into())
            .unwrap_or(0)
    }

    /// The number of chunks of the array.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there are items but chunks have none, or if there are more
    /// chunks than a `usize` holds.
    pub fn nchunks(&self) -> Result<usize> {
        if self.nitems == 0 {
            return Ok(0);
        }
        match self.extnitems.checked_div(self.chunknitems.into()) {
            None | Some(0) => Err(Error::INVALID_PARAM),
            Some(nchunks) => usize::try_from(nchunks).map_err(|_| Error::INVALID_PARAM),
        }
    }

    /// The number of blocks of a chunk.
    pub fn nblocks(&self) -> i64 {
        self.extchunknitems
            .checked_div(self.blocknitems.into())
            .unwrap_or(0)
    }

    /// The index in the super-chunk of the chunk with this position in the grid of chunks.
    pub fn nchunk(&self, coords: &Dims) -> usize {
        (0..self.ndim).fold(0, |nchunk, d| nchunk * self.grid(d) + coords[d]) as usize
    }

    /// The position in the grid of chunks of the chunk with this index.
    pub fn coords_of(&self, nchunk: usize) -> Dims {
        let mut rest = nchunk as i64;
        let mut coords = [0; MAX_DIM];
        for d in (0..self.ndim).rev() {
            let grid = self.grid(d).max(1);
            coords[d] = rest % grid;
            rest /= grid;
        }
        coords
    }

    /// The size of a chunk's data in bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if it does not fit into an `i32`.
    pub fn chunk_nbytes(&self, typesize: i32) -> Result<usize> {
        let nbytes = self.extchunknitems.checked_mul(typesize.max(0).into());
        let fits = nbytes.filter(|nbytes| *nbytes <= i32::MAX.into());
        Ok(fits.ok_or(Error::INVALID_PARAM)? as usize)
    }

    /// The size of a block's data in bytes, for a chunk whose size was checked with
    /// [`Self::chunk_nbytes`].
    pub fn block_nbytes(&self, typesize: i32) -> usize {
        self.blocknitems.max(0) as usize * typesize.max(0) as usize
    }

    /// The geometry of an array with another shape, and the same chunks and blocks.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub fn reshaped(&self, shape: &Dims) -> Result<Self> {
        let dims = ..self.ndim;
        Self::new(&shape[dims], &self.chunkshape[dims], &self.blockshape[dims])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn padding_and_counts() {
        let g = Geometry::new(&[10, 7], &[4, 7], &[3, 2]).unwrap();
        assert_eq!(
            (g.extshape[..3].to_vec(), g.extnitems),
            (vec![12, 7, 1], 84)
        );
        assert_eq!((g.extchunkshape[0], g.extchunkshape[1]), (6, 8));
        assert_eq!((g.nchunks(), g.nblocks(), g.extchunknitems), (Ok(3), 8, 48));
        assert_eq!(
            (g.grid(0), g.grid(1), g.blocks(0), g.blocks(1)),
            (3, 1, 2, 4)
        );
        assert_eq!(g.chunk_nbytes(300), Ok(14_400));
        let g = Geometry::new(&[], &[], &[]).unwrap();
        assert_eq!((g.nchunks(), g.nblocks(), g.nitems), (Ok(1), 1, 1));
    }

    #[test]
    fn coords_and_indices_are_each_others_inverse() {
        let g = Geometry::new(&[10, 7, 9], &[4, 3, 2], &[1, 1, 1]).unwrap();
        for nchunk in 0..g.nchunks().unwrap() {
            assert_eq!(g.nchunk(&g.coords_of(nchunk)), nchunk);
        }
        assert_eq!(&g.coords_of(16)[..3], &[1, 0, 1]);
    }

    #[test]
    fn arrays_of_nothing() {
        let g = Geometry::new(&[0, 5], &[4, 2], &[2, 1]).unwrap();
        assert_eq!((g.nchunks(), g.nitems, g.extshape[0]), (Ok(0), 0, 0));
        let g = Geometry::new(&[0], &[0], &[0]).unwrap();
        assert_eq!((g.nchunks(), g.nblocks(), g.grid(0)), (Ok(0), 0, 0));
        let g = Geometry::new(&[5], &[0], &[0]).unwrap();
        assert_eq!(g.nchunks(), Err(Error::INVALID_PARAM));
    }

    #[test]
    fn impossible_shapes_are_refused() {
        let refused = |shape: &[i64], chunks: &[i32], blocks: &[i32]| {
            Geometry::new(shape, chunks, blocks).err() == Some(Error::INVALID_PARAM)
        };
        assert!(refused(&[-1], &[1], &[1]));
        assert!(refused(&[1], &[-1], &[1]));
        assert!(refused(&[1], &[1], &[-1]));
        assert!(refused(&[1], &[1], &[0]));
        assert!(refused(&[i64::MAX, 2], &[1, 1], &[1, 1]));
        assert!(refused(&[i64::MAX], &[2], &[1]));
        assert!(refused(&[1, 1], &[1 << 16, 1 << 15], &[1, 1]));
        assert!(refused(&[1, 1], &[1, 1], &[1 << 16, 1 << 15]));
        assert!(refused(&[1, 1], &[1], &[1, 1]));
        assert!(refused(&[1], &[1], &[1, 1]));
        assert!(refused(
            &[1; MAX_DIM + 1],
            &[1; MAX_DIM + 1],
            &[1; MAX_DIM + 1]
        ));
        assert!(!refused(&[0, i64::MAX], &[1, 1], &[1, 1]));
        let g = Geometry::new(&[1], &[1 << 20], &[1]).unwrap();
        assert_eq!(g.chunk_nbytes(1 << 11), Err(Error::INVALID_PARAM));
    }

    #[test]
    fn buffers_have_room_for_all_items_or_are_refused() {
        assert_eq!(check_capacity(&[3, 4], 2, 24), Ok(()));
        assert_eq!(check_capacity(&[3, 4], 2, 23), Err(Error::INVALID_PARAM));
        assert_eq!(check_capacity(&[], 8, 8), Ok(()));
        assert_eq!(
            check_capacity(&[i64::MAX, 0], 2, 100),
            Err(Error::INVALID_PARAM)
        );
    }
}
