//! Creating arrays.

use super::array::ArrayRef;
use super::geometry::Geometry;
use super::meta::{Meta, NAME};
use crate::encoding::{EncodeContext, special_chunk};
use crate::schunk::special::Sample;
use crate::schunk::{ChunkUpdate, State, SuperChunk};
use oxiblosc_base::memory::{Buffer, Collect};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::{MAX_BUFFERSIZE, Special};
use oxiblosc_frame::meta::MetalayerRef;

/// The size of a chunk in bytes, for an array with items of `typesize` bytes.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if the typesize is not positive, [`Error::MAX_BUFSIZE_EXCEEDED`] if a
/// chunk would be too large.
fn chunksize(geometry: &Geometry, typesize: i32) -> Result<i32> {
    if typesize <= 0 {
        return Err(Error::INVALID_PARAM);
    }
    let chunksize = geometry.extchunknitems.checked_mul(typesize.into());
    let chunksize = chunksize.ok_or(Error::INVALID_PARAM)?;
    if chunksize > MAX_BUFFERSIZE.into() {
        return Err(Error::MAX_BUFSIZE_EXCEEDED);
    }
    Ok(chunksize as i32)
}

/// Checks that an array of special values can have this geometry. `typesize` is in bytes.
///
/// # Errors
/// [`Error::DATA`] for NaNs of another size than 4 or 8 bytes; [`Error::INVALID_PARAM`] and
/// [`Error::MAX_BUFSIZE_EXCEEDED`] for sizes and numbers of chunks that are not possible.
pub fn check(geometry: &Geometry, kind: Special, typesize: i32) -> Result<()> {
    if kind == Special::Nan && !matches!(typesize, 4 | 8) {
        return Err(Error::DATA);
    }
    geometry.nchunks()?;
    chunksize(geometry, typesize).map(drop)
}

impl SuperChunk {
    /// Makes a new super-chunk an array of special values, with the metalayers `others` besides the
    /// array's own.
    ///
    /// # Errors
    /// Those of [`Self::add_metalayer`] and [`Self::fill_special`].
    pub fn become_array(
        &self,
        meta: &Meta,
        geometry: &Geometry,
        others: &[MetalayerRef],
        (kind, sample): (Special, &Sample),
    ) -> Result<ArrayRef<'_>> {
        let typesize = self.peek()?.parameters().typesize;
        let chunksize = chunksize(geometry, typesize)?;
        self.change(|state| {
            state.set_chunksize(self.host(), chunksize);
            Ok(())
        })?;
        let content = meta.serialize()?;
        self.add_metalayer(NAME, &content)?;
        for (name, content) in others {
            self.add_metalayer(name, content)?;
        }
        let items = (geometry.nchunks()? as i64).checked_mul(geometry.extchunknitems);
        let items = items.ok_or(Error::FAILURE)?;
        if items > 0 {
            self.fill_special(items as u64, Some(kind), chunksize as usize, sample)?;
        }
        Ok(ArrayRef {
            schunk: self,
            geometry: geometry.clone(),
            typesize,
            dtype: None,
            is_view: false,
        })
    }
}

impl ArrayRef<'_> {
    /// Replaces every chunk by one that repeats an item, with the block size that `ctx` gives.
    /// `item` has the size of an item.
    ///
    /// # Errors
    /// Those of invalid parameters, and of output.
    pub fn fill_with(&self, ctx: &impl EncodeContext, item: &[u8]) -> Result<()> {
        if self.schunk.peek()?.nchunks() == 0 {
            return Ok(());
        }
        let nbytes = self.sizes()?.chunk;
        let chunk = special_chunk(ctx, self.typesize, (Special::Value, item), nbytes as i32)?;
        self.change(|state: &State| {
            let copy = |nchunk| Ok((nchunk, ChunkUpdate::Whole(Buffer::copy_of(&chunk)?)));
            (0..state.nchunks()).map(copy).try_collect_vec()
        })
    }

    /// Checks that number and size of the chunks are those of an array with these shapes, and that
    /// the size of the blocks is not another in both the frame's header and the first chunk. A
    /// super-chunk without chunks is accepted, as they may be added later.
    ///
    /// # Errors
    /// [`Error::DATA`] if they are not.
    pub fn check_chunks(state: &State, geometry: &Geometry) -> Result<()> {
        let (counts, parameters) = (state.counts(), state.parameters());
        if counts.nchunks == 0 {
            return Ok(());
        }
        let chunk = geometry.chunk_nbytes(parameters.typesize)?;
        let block = geometry.block_nbytes(parameters.typesize);
        let has_blocks = parameters.blocksize == 0
            || parameters.blocksize as usize == block
            || state.first_blocksize().is_none_or(|first| first == block);
        let is_as_stored = i64::from(counts.chunksize) == chunk as i64
            && counts.nchunks == geometry.nchunks()?
            && has_blocks;
        is_as_stored.then_some(()).ok_or(Error::DATA)
    }
}
