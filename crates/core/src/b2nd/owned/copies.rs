//! Arrays out of arrays.

use super::{Array, Layout};
use crate::b2nd::Dims;
use crate::b2nd::array::{ArrayRef, metalayer, other_metalayers};
use crate::b2nd::geometry::Geometry;
use crate::b2nd::meta::Meta;
use crate::params::{CParams, DParams};
use crate::schunk::copy::VlmetalayerCoder;
use crate::schunk::open::{Place, Protection};
use oxiblosc_chunk::header::Special;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::meta::Borrowed;

/// The shapes of chunks and of blocks.
type Cut<'a> = (&'a [i32], &'a [i32]);

/// Where a new array goes, and how it is compressed and decompressed.
type Storage<'a> = (Place<'a>, CParams, DParams, Protection);

impl Array {
    /// Copies the items from `start` to before `stop` into a new array with chunks and blocks of these shapes.
    ///
    /// # Errors
    /// As for [`Self::read`] and [`Self::create`]; [`Error::InvalidParam`] for parameters with another typesize.
    pub fn slice(
        &self,
        (start, stop): (&[i64], &[i64]),
        cut: Cut,
        place: Place,
        cparams: CParams,
        dparams: DParams,
        protection: Protection,
    ) -> Result<Self> {
        self.with(|src| {
            let shape = src.slice_shape(start, stop)?;
            let geometry = cut_into(&shape[..start.len()], cut)?;
            let mut from = Dims::default();
            from[..start.len()].copy_from_slice(start);
            let storage = (place, cparams, dparams, protection);
            self.create_like(storage, &geometry, &[], |copy| copy.copy_box(src, &from))
        })
    }

    /// Copies the array, with its metalayers, to another place, with chunks and blocks of these shapes. Chunks are copied as they are
    /// where neither the shapes nor the parameters change.
    ///
    /// # Errors
    /// As for [`Self::slice`].
    pub fn copy_to(
        &self,
        cut: Cut,
        place: Place,
        cparams: CParams,
        dparams: DParams,
        protection: Protection,
    ) -> Result<Self> {
        self.with(|src| {
            let geometry = cut_into(&src.geometry.shape[..src.geometry.ndim], cut)?;
            if cparams.typesize != src.typesize {
                return Err(Error::InvalidParam);
            }
            if src
                .geometry
                .is_cut_into(&geometry.chunkshape, &geometry.blockshape)
            {
                let cparams = cparams.for_blocks_of(&geometry)?;
                let copy = self.schunk.copy_to(place, cparams, dparams, protection)?;
                return Ok(Self { schunk: copy });
            }
            let coder = VlmetalayerCoder::defaults()?;
            let state = self.schunk.read()?;
            let others = other_metalayers(state.metalayers())?;
            let storage = (place, cparams, dparams, protection);
            self.create_like(storage, &geometry, &others, |copy| {
                copy.copy_box(src, &Dims::default())?;
                copy.schunk.copy_vlmetalayers(&self.schunk, &coder)
            })
        })
    }

    /// A new array of zeros whose items are of the same kind as this one's, and which `fill` then fills.
    fn create_like(
        &self,
        storage: Storage,
        geometry: &Geometry,
        metalayers: &[Borrowed],
        fill: impl FnOnce(&ArrayRef) -> Result<()>,
    ) -> Result<Self> {
        let state = self.schunk.read()?;
        let (own, _) = Meta::parse(metalayer(state.metalayers())?, true)?;
        let meta = geometry.meta(own.dtype, own.dtype_format);
        Self::make(storage, (&meta, geometry), metalayers, Special::Zero, fill)
    }
}

fn cut_into(shape: &[i64], (chunks, blocks): Cut) -> Result<Geometry> {
    Layout {
        shape,
        chunks,
        blocks,
        dtype: None,
        metalayers: &[],
    }
    .geometry()
}
