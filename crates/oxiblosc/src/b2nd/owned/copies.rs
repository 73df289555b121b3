//! Copies of arrays and slices.

use super::{Array, Chunking, NewArray};
use crate::b2nd::array::{ArrayRef, CopyPlan, metalayer};
use crate::b2nd::geometry::Geometry;
use crate::b2nd::meta::Meta;
use crate::schunk::copy::VlmetalayerCoder;
use crate::schunk::open::StorageParams;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::Special;
use oxiblosc_frame::meta::MetalayerRef;

impl Array {
    /// Copies the items from `start` up to but not including `stop` into a new array with the
    /// chunks and blocks in `cut`.
    ///
    /// # Errors
    /// As for [`Self::read`] and [`Self::create`]; [`Error::INVALID_PARAM`] for parameters with
    /// another typesize.
    pub fn slice(
        &self,
        (start, stop): (&[i64], &[i64]),
        cut: Chunking,
        storage: StorageParams,
    ) -> Result<Self> {
        self.with(|src| {
            let shape = src.slice_shape(start, stop)?;
            let geometry = Geometry::new(&shape, cut.chunks, cut.blocks)?;
            self.create_like(storage, &geometry, &[], |copy| copy.copy_box(src, start))
        })
    }

    /// Copies the array with its metalayers into a new one with the chunks and blocks in `cut`.
    /// Chunks are copied as they are if neither their shapes nor the parameters of compression
    /// change.
    ///
    /// # Errors
    /// As for [`Self::slice`].
    pub fn copy_to(&self, cut: Chunking, storage: StorageParams) -> Result<Self> {
        self.with(|src| {
            let shape = src.geometry.shape()?;
            let geometry = Geometry::new(&shape, cut.chunks, cut.blocks)?;
            if storage.cparams.typesize != src.typesize {
                return Err(Error::INVALID_PARAM);
            }
            let state = self.schunk.read()?;
            match src.copy_plan(cut.chunks, cut.blocks, state.metalayers())? {
                CopyPlan::Chunks => {
                    let schunk = self.schunk.copy_to(storage.for_blocks_of(&geometry)?)?;
                    Ok(Self { schunk })
                }
                CopyPlan::Items(items) => {
                    let coder = VlmetalayerCoder::defaults()?;
                    self.create_like(storage, &geometry, &items.metalayers, |copy| {
                        items.fill(copy, &coder)
                    })
                }
            }
        })
    }

    /// A new array of zeros with the dtype of this one, which `fill` then fills.
    fn create_like(
        &self,
        storage: StorageParams,
        geometry: &Geometry,
        metalayers: &[MetalayerRef],
        fill: impl FnOnce(&ArrayRef) -> Result<()>,
    ) -> Result<Self> {
        let state = self.schunk.read()?;
        let (own, _) = Meta::parse(metalayer(state.metalayers())?, true)?;
        let new = NewArray {
            meta: &geometry.meta(own.dtype, own.dtype_format),
            geometry,
            metalayers,
            kind: Special::Zero,
        };
        new.make(storage, fill)
    }
}
