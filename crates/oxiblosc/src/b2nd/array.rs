//! An array during an operation: its super-chunk and its shapes.

use super::access::{ChunkMaker, StoredChunks};
use super::chunks::PartSizes;
use super::geometry::{Geometry, check_capacity};
use super::meta::{Meta, NAME, OLD_NAME};
use super::read::SelectionRead;
use super::select::Selection;
use super::sparse;
use super::write::{Rewriter, SelectionWrite};
use super::{Dims, MAX_DIM};
use crate::schunk::copy::VlmetalayerCoder;
use crate::schunk::{ChunkUpdate, State, SuperChunk, Update};
use oxiblosc_base::memory::{AlignedBuffer, Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::scratch::{self, Scratch};
use oxiblosc_chunk::workers::Workers;
use oxiblosc_frame::meta::{Metalayer, MetalayerRef};
use std::ops::Range;

/// The index of the metalayer that makes a super-chunk an array.
pub fn find_metalayer(layers: &[Metalayer]) -> Option<usize> {
    let find = |name: &[u8]| layers.iter().position(|layer| *layer.name == *name);
    find(NAME).or_else(|| find(OLD_NAME))
}

/// The content of the metalayer that makes a super-chunk an array.
///
/// # Errors
/// [`Error::METALAYER_NOT_FOUND`].
pub fn metalayer(layers: &[Metalayer]) -> Result<&[u8]> {
    let at = find_metalayer(layers).ok_or(Error::METALAYER_NOT_FOUND)?;
    Ok(&layers[at].content)
}

/// All metalayers except `b2nd`, which a copy with other shapes gets anew.
fn other_metalayers(layers: &[Metalayer]) -> Result<TryVec<MetalayerRef<'_>>> {
    let others = layers.iter().filter(|layer| *layer.name != *NAME);
    others
        .map(|layer| (&layer.name[..], &layer.content[..]))
        .collect_vec()
}

/// Parses the metalayer of an array, and checks it against the chunks of the super-chunk.
///
/// # Errors
/// [`Error::DATA`] if number or size of the chunks are not those of such an array; those of
/// [`Meta::parse`] and [`Meta::geometry`].
pub fn read_metalayer<'a>(content: &'a [u8], state: &State) -> Result<(Meta<'a>, Geometry)> {
    let (meta, _) = Meta::parse(content, true)?;
    let geometry = meta.geometry()?;
    ArrayRef::check_chunks(state, &geometry)?;
    Ok((meta, geometry))
}

/// A copy is written in batches of about this many bytes of chunks, so that it needs no memory for
/// all of them.
const COPY_BATCH: usize = 8 << 20;
/// In how many changes a new array is written at most.
const MAX_BATCHES: usize = 16;

/// How an array is copied.
pub enum CopyPlan<'a> {
    /// Chunk by chunk, as the copy has chunks and blocks of the same shapes.
    Chunks,
    /// Item by item, into a new array.
    Items(ItemCopy<'a>),
}

/// A copy of an array into one with other chunks or blocks.
pub struct ItemCopy<'a> {
    src: &'a ArrayRef<'a>,
    /// The metalayers of the copy besides `b2nd`.
    pub metalayers: TryVec<MetalayerRef<'a>>,
}

impl ItemCopy<'_> {
    /// Copies items and variable-length metalayers into `copy`, an array of zeros.
    ///
    /// # Errors
    /// As for [`ArrayRef::copy_box`] and [`SuperChunk::copy_vlmetalayers`].
    pub fn fill(&self, copy: &ArrayRef, coder: &VlmetalayerCoder) -> Result<()> {
        copy.copy_box(self.src, &Dims::default())?;
        copy.schunk.copy_vlmetalayers(self.src.schunk, coder)
    }
}

impl SuperChunk {
    /// The indices of the chunks that have items of a slice. `layers` are the metalayers of the
    /// super-chunk or of a view. If none of them is that of an array, the data have one dimension.
    /// `bounds` is called with the number of dimensions, and gives start and stop of the slice
    /// along each. The frame is not read again if another handle has changed it.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for negative positions; those of `bounds`; those of a broken
    /// metalayer.
    pub fn chunks_of_slice<'a>(
        &self,
        state: &State,
        layers: &[Metalayer],
        bounds: impl FnOnce(usize) -> Result<(&'a [i64], &'a [i64])>,
    ) -> Result<TryVec<usize>> {
        let Some(at) = find_metalayer(layers) else {
            let (start, stop) = bounds(1)?;
            let typesize = i64::from(state.parameters().typesize);
            let byte = |item: i64| {
                let byte = item.checked_mul(typesize).ok_or(Error::INVALID_PARAM)?;
                u64::try_from(byte).map_err(|_| Error::INVALID_PARAM)
            };
            return self.chunks_of(byte(start[0])?..byte(stop[0])?);
        };
        let (meta, _) = Meta::parse(&layers[at].content, true)?;
        let (start, stop) = bounds(meta.ndim)?;
        Selection::chunks_of_box(&meta.geometry()?, start, stop)
    }
}

/// An array during an operation. The caller has locked the super-chunk, so that the shapes stay
/// valid.
#[derive(Clone)]
pub struct ArrayRef<'a> {
    /// The super-chunk with the chunks.
    pub schunk: &'a SuperChunk,
    /// The shapes.
    pub geometry: Geometry,
    /// Bytes of an item.
    pub typesize: i32,
    /// The dtype and its format that a change of the shape writes; none: those of the metalayer
    /// stay.
    pub dtype: Option<(&'a [u8], i8)>,
    /// Whether this is a view: the super-chunk belongs to another array, with other dimensions.
    pub is_view: bool,
}

impl<'a> ArrayRef<'a> {
    /// The sizes of an item, a block and a chunk in bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the typesize is not positive, or a chunk has 2 GiB or more.
    pub fn sizes(&self) -> Result<PartSizes> {
        if self.typesize <= 0 {
            return Err(Error::INVALID_PARAM);
        }
        Ok(PartSizes {
            item: self.typesize as usize,
            block: self.geometry.block_nbytes(self.typesize),
            chunk: self.geometry.chunk_nbytes(self.typesize)?,
        })
    }

    /// Reads all items into the front of `buffer`, in C order.
    ///
    /// # Errors
    /// As for [`Self::read_slice`].
    pub fn read_all(&self, buffer: &mut [u8]) -> Result<()> {
        let (start, stop) = (Dims::default(), &self.geometry.shape[..self.geometry.ndim]);
        self.read_slice(&start[..stop.len()], stop, stop, buffer)
    }

    /// Writes all items of a new array from the front of `buffer`, in C order. Where nobody else
    /// can see it yet, it is written in several changes, which use the same memory.
    ///
    /// # Errors
    /// As for [`Self::write_slice`]. Then the array has some of the items.
    pub fn write_all(&self, buffer: &[u8]) -> Result<()> {
        let (start, stop) = (Dims::default(), &self.geometry.shape[..self.geometry.ndim]);
        let start = &start[..stop.len()];
        let Some(selection) = Selection::slice(&self.geometry, start, stop, stop)? else {
            return Ok(());
        };
        let (count, chunk) = (selection.nchunks(), self.sizes()?.chunk.max(1));
        let batch = match self.schunk.peek()?.store.is_private() {
            // A change of a frame writes its index anew, so there are not very many. Frames count
            // changes, so their number does not depend on that of the threads.
            true => (COPY_BATCH / chunk).max(count.div_ceil(MAX_BATCHES)).max(2),
            false => count.max(1),
        };
        let batches = (0..count).step_by(batch);
        batches
            .map(|first| first..count.min(first + batch))
            .try_for_each(|numbers| self.write_chunks(&selection, buffer, numbers))
    }

    /// The threads of the decompressor.
    fn readers(&self) -> Result<Workers<'a>> {
        Ok(self.schunk.decoder()?.workers())
    }

    /// The threads of the compressor.
    pub(super) fn writers(&self) -> Result<Workers<'a>> {
        Ok(self.schunk.encoder()?.workers())
    }

    /// Checks that the items of a slice fit into a buffer, and that the array's sizes are valid.
    fn check(&self, start: &[i64], stop: &[i64], buffersize: usize) -> Result<()> {
        if self.geometry.nitems == 0 {
            return Ok(());
        }
        let sizes = self.sizes()?;
        let items = start
            .iter()
            .zip(stop)
            .try_fold(1i64, |items, (start, stop)| {
                items.checked_mul(stop.checked_sub(*start)?.max(0))
            });
        let needed = items
            .and_then(|items| items.checked_mul(sizes.item as i64))
            .ok_or(Error::INVALID_PARAM)?;
        if needed > buffersize as i64 {
            return Err(Error::INVALID_PARAM);
        }
        Ok(())
    }

    /// Reads the items from `start` up to but not including `stop` into the front of `buffer`,
    /// which has the shape `buffershape`, in C order. The rest of the buffer is filled with zeros.
    /// Only blocks with selected items are decompressed.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for a slice that does not fit into the buffer, [`Error::FAILURE`]
    /// for one that does not fit into the padded array; those of damaged chunks, and of input.
    pub fn read_slice(
        &self,
        start: &[i64],
        stop: &[i64],
        buffershape: &[i64],
        buffer: &mut [u8],
    ) -> Result<()> {
        self.check(start, stop, buffer.len())?;
        let selection = Selection::slice(&self.geometry, start, stop, buffershape)?;
        let Some(selection) = selection else {
            buffer.fill(0);
            return Ok(());
        };
        let sizes = self.sizes()?;
        let covered = selection.buffer_items()?.saturating_mul(sizes.item);
        let lengths = start.iter().zip(stop).zip(self.geometry.shape);
        // If the slice has the shape of the buffer, every byte up to its last item is written.
        let tight = lengths
            .zip(buffershape)
            .skip(1)
            .all(|(((start, stop), len), capacity)| stop - start == *capacity && *stop <= len);
        let rest = if tight { covered } else { 0 };
        if let Some(rest) = buffer.get_mut(rest..) {
            rest.fill(0);
        }
        self.read_selection(&selection, buffer)
    }

    /// Reads a selection.
    ///
    /// # Errors
    /// Those of damaged chunks, and of input.
    pub fn read_selection(&self, selection: &Selection, buffer: &mut [u8]) -> Result<()> {
        let state = self.schunk.read()?;
        let reading = SelectionRead {
            selection,
            chunks: &StoredChunks::new(self.schunk, &state)?,
            sizes: self.sizes()?,
        };
        reading.read(buffer, self.readers()?)
    }

    /// Checks that `count` items can be read one by one into a buffer of `buffersize` bytes.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the buffer is too small, or the array has no dimensions.
    pub fn check_sparse(&self, count: i64, buffersize: i64) -> Result<()> {
        check_capacity(&[count], self.typesize, buffersize)?;
        match self.geometry.ndim {
            0 => Err(Error::INVALID_PARAM),
            _ => Ok(()),
        }
    }

    /// Reads the items with these indices, counted through the whole array in C order, into
    /// `buffer`, one after the other.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for an index out of range; those of damaged chunks, and of input.
    pub fn read_sparse(&self, coords: &[i64], buffer: &mut [u8]) -> Result<()> {
        let state = self.schunk.read()?;
        let chunks = StoredChunks::new(self.schunk, &state)?;
        let readers = self.readers()?;
        sparse::read(
            &self.geometry,
            coords,
            (&chunks, self.sizes()?),
            buffer,
            readers,
        )
    }

    /// Writes a slice from the front of `buffer`, which has the shape `buffershape`, in C order. If
    /// this fails, nothing is written. Only blocks with selected items are compressed again.
    ///
    /// # Errors
    /// As for [`Self::read_slice`]; those of compression and output.
    pub fn write_slice(
        &self,
        start: &[i64],
        stop: &[i64],
        buffershape: &[i64],
        buffer: &[u8],
    ) -> Result<()> {
        self.check(start, stop, buffer.len())?;
        let selection = Selection::slice(&self.geometry, start, stop, buffershape)?;
        match selection {
            Some(selection) => self.write_selection(&selection, buffer),
            None => Ok(()),
        }
    }

    /// Writes a selection, as one change.
    ///
    /// # Errors
    /// As for [`Self::write_slice`].
    pub fn write_selection(&self, selection: &Selection, buffer: &[u8]) -> Result<()> {
        self.write_chunks(selection, buffer, 0..selection.nchunks())
    }

    /// As [`Self::write_selection`], for those of its chunks that have these numbers.
    fn write_chunks(
        &self,
        selection: &Selection,
        buffer: &[u8],
        numbers: Range<usize>,
    ) -> Result<()> {
        let maker = ChunkMaker::new(self.schunk, self.sizes()?)?;
        self.change(|state| {
            let writing = SelectionWrite {
                selection,
                rewriter: Rewriter {
                    chunks: &StoredChunks::new(self.schunk, state)?,
                    maker: &maker,
                    sizes: self.sizes()?,
                    in_place: state.store.edits_in_place(),
                },
                origin: &Some,
                buffer,
            };
            writing.chunks(numbers, self.writers()?)
        })
    }

    /// Changes chunks, as one change. Other threads can read while `make` makes the updates.
    pub(super) fn change(&self, make: impl FnOnce(&State) -> Result<TryVec<Update>>) -> Result<()> {
        let mut changing = self.schunk.reserve()?;
        let updates = make(&*changing.state()?)?;
        changing.commit(|state| state.update(self.schunk.host(), updates))
    }

    /// The selection by lists of indices, one list for each dimension. Indices may be in any order
    /// and repeated. `buffersize` is in bytes. None if there are no items.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if the items do not have exactly `buffersize` bytes; as for
    /// [`Selection::of_indices`].
    pub fn select<'s>(
        &'s self,
        lists: &[&[i64]],
        buffershape: &[i64],
        buffersize: i64,
    ) -> Result<Option<Selection<'s>>> {
        let selection = Selection::of_indices(&self.geometry, lists, buffershape)?;
        let items = lists
            .iter()
            .try_fold(1i64, |items, list| items.checked_mul(list.len() as i64));
        let nbytes = items.and_then(|items| items.checked_mul(self.typesize.into()));
        if nbytes != Some(buffersize) {
            return Err(Error::INVALID_PARAM);
        }
        self.sizes()?;
        Ok(selection)
    }

    /// Start and end of a chunk in the array, without padding.
    pub(super) fn chunk_box(geometry: &Geometry, nchunk: usize) -> (Dims, Dims) {
        let coords = geometry.coords_of(nchunk);
        let (mut start, mut stop) = (Dims::default(), Dims::default());
        for d in 0..geometry.ndim {
            let chunk = i64::from(geometry.chunkshape[d]);
            start[d] = coords[d] * chunk;
            stop[d] = (start[d] + chunk).min(geometry.shape[d]);
        }
        (start, stop)
    }

    /// Reads a box of items into `memory`, with zeros outside of the array. Gives its shape and
    /// items. None if all of the box is outside.
    pub(super) fn read_box<'b>(
        &self,
        start: &Dims,
        stop: &Dims,
        memory: &'b mut AlignedBuffer,
    ) -> Result<Option<(Dims, &'b [u8])>> {
        let ndim = self.geometry.ndim;
        let mut shape = [1; MAX_DIM];
        let mut end = *stop;
        for d in 0..ndim {
            end[d] = stop[d].min(self.geometry.shape[d]);
        }
        if self.geometry.nitems > 0 && start[..ndim].iter().any(|at| *at < 0) {
            return Err(Error::FAILURE);
        }
        if (0..ndim).any(|d| start[d] >= end[d]) {
            return Ok(None);
        }
        let mut size = self.sizes()?.item;
        for d in 0..ndim {
            shape[d] = stop[d] - start[d];
            let len = usize::try_from(shape[d]).map_err(|_| Error::INVALID_PARAM)?;
            size = size.checked_mul(len).ok_or(Error::INVALID_PARAM)?;
        }
        let buffer = memory.ensure(size)?;
        let (start, end, shape_of_it) = (&start[..ndim], &end[..ndim], &shape[..ndim]);
        self.read_slice(start, end, shape_of_it, buffer)?;
        Ok(Some((shape, buffer)))
    }

    /// How to copy the array into one with chunks and blocks of these shapes. `layers` are the
    /// array's metalayers.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn copy_plan<'s>(
        &'s self,
        chunkshape: &[i32],
        blockshape: &[i32],
        layers: &'s [Metalayer],
    ) -> Result<CopyPlan<'s>> {
        if self.geometry.is_cut_into(chunkshape, blockshape) {
            return Ok(CopyPlan::Chunks);
        }
        let metalayers = other_metalayers(layers)?;
        Ok(CopyPlan::Items(ItemCopy {
            src: self,
            metalayers,
        }))
    }

    /// Fills this array, all of whose items are zero, with the items of `src` from position `from`
    /// on. After an error it may have some of them.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if items have another size; those of damaged chunks, of compression
    /// and output.
    pub fn copy_box(&self, src: &ArrayRef, from: &[i64]) -> Result<()> {
        if self.typesize != src.typesize {
            return Err(Error::INVALID_PARAM);
        }
        let geometry = &self.geometry;
        let ndim = geometry.ndim;
        let maker = ChunkMaker::new(self.schunk, self.sizes()?)?;
        let workers = self.writers()?;
        let shift = |at: &Dims| {
            let mut shifted = *at;
            for d in 0..ndim {
                shifted[d] = at[d].checked_add(from[d]).ok_or(Error::INVALID_PARAM)?;
            }
            Ok(shifted)
        };
        let updates_of = |chunks: &StoredChunks, nchunk, scratch: &mut Scratch| {
            let (start, stop) = Self::chunk_box(geometry, nchunk);
            let (from, to) = (shift(&start)?, shift(&stop)?);
            let Some((shape, buffer)) = src.read_box(&from, &to, &mut scratch.data)? else {
                return Ok(TryVec::new());
            };
            let (start, stop) = (&start[..ndim], &stop[..ndim]);
            let selection = Selection::slice(geometry, start, stop, &shape[..ndim])?;
            let Some(selection) = selection else {
                return Ok(TryVec::new());
            };
            let writing = SelectionWrite {
                selection: &selection,
                rewriter: Rewriter {
                    chunks,
                    maker: &maker,
                    sizes: self.sizes()?,
                    in_place: false,
                },
                origin: &Some,
                buffer,
            };
            writing.chunks(0..selection.nchunks(), workers)
        };
        let mut chunks_left = 0..geometry.nchunks()?;
        while !chunks_left.is_empty() {
            self.change(|state| {
                let chunks = StoredChunks::new(self.schunk, state)?;
                let (mut batch, mut nbytes): (TryVec<Update>, _) = (TryVec::new(), 0);
                let mut scratch = scratch::borrow()?;
                while nbytes < COPY_BATCH
                    && let Some(nchunk) = chunks_left.next()
                {
                    let updates = updates_of(&chunks, nchunk, &mut scratch)?;
                    for (_, update) in &updates {
                        if let ChunkUpdate::Whole(chunk) = update {
                            nbytes += chunk.len();
                        }
                    }
                    batch.extend(updates)?;
                }
                Ok(batch)
            })?;
        }
        Ok(())
    }
}
