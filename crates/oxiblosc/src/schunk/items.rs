//! Reading and writing items: those of a range, and those at arbitrary indices.

use super::ranges::RangeReader;
use super::rewrite::RangeWriter;
use super::sparse::SparseItem;
use super::state::State;
use super::superchunk::SuperChunk;
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_base::{Error, Result};
use std::ops::Range;

/// The items from `start` to before `stop`, if there are any between.
fn items_between(start: i64, stop: i64) -> Result<Option<Range<u64>>> {
    if stop <= start {
        return Ok(None);
    }
    let start = u64::try_from(start).map_err(|_| Error::FAILURE)?;
    Ok(Some(start..stop as u64))
}

/// The range of bytes that a range of items is, and its length.
///
/// # Errors
/// [`Error::FAILURE`] if the range ends behind the data.
fn range_of(state: &State, items: Range<u64>) -> Result<(Range<u64>, usize)> {
    let typesize = u64::try_from(state.parameters().typesize).map_err(|_| Error::FAILURE)?;
    let start = items.start.checked_mul(typesize).ok_or(Error::FAILURE)?;
    let end = items.end.checked_mul(typesize).ok_or(Error::FAILURE)?;
    if end > state.sizes()?.nbytes() {
        return Err(Error::FAILURE);
    }
    let len = usize::try_from(end - start).map_err(|_| Error::FAILURE)?;
    Ok((start..end, len))
}

impl SuperChunk {
    /// Reads a range of bytes of the data into `dest`, which must have its length. An empty range
    /// reads nothing.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a range that ends behind the data, and a `dest` of another length;
    /// those of damaged chunks, and of input.
    pub fn read_bytes(&self, range: Range<u64>, dest: &mut [u8]) -> Result<()> {
        self.read_bytes_in(&*self.read()?, range, dest)
    }

    /// As [`Self::read_bytes`], for a state that this thread has locked.
    ///
    /// # Errors
    /// As for [`Self::read_bytes`].
    pub fn read_bytes_in(&self, state: &State, range: Range<u64>, dest: &mut [u8]) -> Result<()> {
        let sizes = state.sizes()?;
        if range.is_empty() {
            return Ok(());
        }
        if range.end > sizes.nbytes() || range.end - range.start != dest.len() as u64 {
            return Err(Error::FAILURE);
        }
        RangeReader::new(self, state)?
            .read(&sizes, range.start, dest)
            .map_err(Error::or_failure)?;
        self.set_current(sizes.chunk_of(range.end - 1));
        Ok(())
    }

    /// Reads the items from `start` to before `stop`, if there are any between. `dest` is called
    /// with their size in bytes, and gives a buffer of that size.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a negative `start`; those of `dest`; as for [`Self::read_bytes`].
    pub fn read_items<'d>(
        &self,
        start: i64,
        stop: i64,
        dest: impl FnOnce(usize) -> Result<&'d mut [u8]>,
    ) -> Result<()> {
        let Some(items) = items_between(start, stop)? else {
            return Ok(());
        };
        let state = self.read()?;
        let (range, len) = range_of(&state, items)?;
        self.read_bytes_in(&state, range, dest(len)?)
    }

    /// Overwrites the items from `start` to before `stop`, if there are any between. `source` is
    /// called with their size in bytes, and gives their bytes. If this fails, nothing is written.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a negative `start`; those of `source`; as for [`Self::write_bytes`].
    pub fn write_items<'s>(
        &self,
        start: i64,
        stop: i64,
        source: impl FnOnce(usize) -> Result<&'s [u8]>,
    ) -> Result<()> {
        let Some(items) = items_between(start, stop)? else {
            return Ok(());
        };
        let changing = self.reserve()?;
        let (range, len) = range_of(&*changing.state()?, items)?;
        self.write_bytes(range.start, source(len)?)
    }

    /// Overwrites the bytes of the data from byte `start` on. If this fails, nothing is written. In
    /// a chunk that is written in part, only the blocks that change are compressed again.
    ///
    /// # Errors
    /// [`Error::FAILURE`] for a range that ends behind the data, for damaged chunks, and where a
    /// chunk cannot be compressed; those of output.
    pub fn write_bytes(&self, start: u64, mut new: &[u8]) -> Result<()> {
        let mut changing = self.reserve()?;
        let mut updates = TryVec::new();
        {
            let state = changing.state()?;
            let sizes = state.sizes()?;
            let stop = start.checked_add(new.len() as u64);
            let parts = sizes.parts(start, stop.ok_or(Error::FAILURE)?)?;
            let writer = RangeWriter::new(self, &state)?;
            for part in parts {
                let (bytes, rest) = new.split_at(part.len());
                new = rest;
                self.set_current(part.nchunk);
                let update = writer.rewrite(&part, bytes).map_err(Error::or_failure)?;
                updates.push((part.nchunk, update))?;
            }
        }
        changing.commit(|state| state.update(self.host(), updates))
    }

    /// The indices of the chunks that have data in a range of bytes. What the range has behind the
    /// data is ignored.
    ///
    /// # Errors
    /// Those of reading a frame, and the sizes of its chunks; [`Error::MEMORY_ALLOC`].
    pub fn chunks_of(&self, range: Range<u64>) -> Result<TryVec<usize>> {
        let sizes = self.read()?.sizes()?;
        let parts = sizes.parts(range.start, range.end.min(sizes.nbytes()))?;
        parts.map(|part| part.nchunk).collect_vec()
    }

    /// Reads the items with the indices `coords`, which may be in any order, into `dest`, one after
    /// the other.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for an index out of range, if chunks differ in size or do not have
    /// whole items, and if `dest` does not have the size of the items; those of damaged chunks, and
    /// of input.
    pub fn read_sparse(&self, coords: &[u64], dest: &mut [u8]) -> Result<()> {
        let Some(last) = coords.iter().max() else {
            return Ok(());
        };
        let state = self.read()?;
        let (counts, typesize) = (state.counts, state.parameters.typesize);
        let whole = typesize > 0 && counts.chunksize > 0 && counts.chunksize % typesize == 0;
        if !whole || state.has_vlblocks() {
            return Err(Error::INVALID_PARAM);
        }
        let chunkitems = (counts.chunksize / typesize) as u64;
        let typesize = typesize as usize;
        if *last >= counts.nbytes.max(0) as u64 / typesize as u64 {
            return Err(Error::INVALID_PARAM);
        }
        if coords.len().checked_mul(typesize) != Some(dest.len()) {
            return Err(Error::INVALID_PARAM);
        }
        let mut entries: TryVec<SparseItem> = TryVec::new();
        entries.reserve_exact(coords.len())?;
        entries.extend(coords.iter().copied().zip(dest.chunks_exact_mut(typesize)))?;
        entries.sort_unstable_by_key(|(coord, _)| *coord);
        RangeReader::new(self, &state)?.read_sparse(&mut entries, chunkitems, typesize)?;
        self.set_current((last / chunkitems) as usize);
        Ok(())
    }
}
