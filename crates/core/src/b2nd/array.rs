//! An open array: a super-chunk, and the shapes in its metalayer.

use super::access::{ChunkMaker, StoredChunks};
use super::chunks::PartSizes;
use super::geometry::Geometry;
use super::meta::{Meta, NAME, OLD_NAME};
use super::read::SelectionRead;
use super::select::Selection;
use super::sparse;
use super::write::{Rewriter, SelectionWrite};
use super::{Dims, MAX_DIM};
use crate::schunk::copy::VlmetalayerCoder;
use crate::schunk::{State, SuperChunk, Update};
use oxiblosc_cells::BlockShape;
use oxiblosc_chunk::scratch;
use oxiblosc_chunk::workers::Workers;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::meta::{Metalayer, MetalayerRef};
use oxiblosc_memory::{AlignedBuffer, Collect, List};

/// The index of the metalayer that makes a super-chunk an array.
pub fn find_metalayer(layers: &[Metalayer]) -> Option<usize> {
    let find = |name: &[u8]| layers.iter().position(|layer| *layer.name == *name);
    find(NAME).or_else(|| find(OLD_NAME))
}

/// The content of the metalayer that makes a super-chunk an array.
///
/// # Errors
/// [`Error::MetalayerNotFound`].
pub fn metalayer(layers: &[Metalayer]) -> Result<&[u8]> {
    let at = find_metalayer(layers).ok_or(Error::MetalayerNotFound)?;
    Ok(&layers[at].content)
}

/// All metalayers but `b2nd`, which says how the array is cut.
fn other_metalayers(layers: &[Metalayer]) -> Result<List<MetalayerRef<'_>>> {
    let others = layers.iter().filter(|layer| *layer.name != *NAME);
    others
        .map(|layer| (&layer.name[..], &layer.content[..]))
        .list()
}

/// What a metalayer says of the array in a super-chunk with this state.
///
/// # Errors
/// [`Error::Data`] if the chunks of the super-chunk are not those of such an array; [`Error::InvalidParam`] for impossible shapes; those of
/// a broken metalayer.
pub fn read_metalayer<'a>(content: &'a [u8], state: &State) -> Result<(Meta<'a>, Geometry)> {
    let (meta, _) = Meta::parse(content, true)?;
    let lengths = meta.shape.iter().zip(meta.chunkshape).zip(meta.blockshape);
    for ((shape, chunk), block) in lengths.take(meta.ndim) {
        if *shape != 0 && (chunk == 0 || block == 0) {
            return Err(Error::InvalidParam);
        }
    }
    let geometry = meta.geometry()?;
    ArrayRef::check_chunks(state, &geometry)?;
    Ok((meta, geometry))
}

/// How the content of an array gets into a copy of it.
pub enum CopyPlan<'a> {
    /// With the super-chunk: the copy is cut into the same chunks and blocks.
    Chunks,
    /// Item by item, into a new array.
    Items(ItemCopy<'a>),
}

/// A copy of an array with other chunks or blocks.
pub struct ItemCopy<'a> {
    src: &'a ArrayRef<'a>,
    /// The metalayers of the copy beside its own.
    pub metalayers: List<MetalayerRef<'a>>,
}

impl ItemCopy<'_> {
    /// Copies items and metalayers of variable length into `copy`, an array of zeros.
    ///
    /// # Errors
    /// As for [`ArrayRef::copy_box`] and [`SuperChunk::copy_vlmetalayers`].
    pub fn fill(&self, copy: &ArrayRef, coder: &VlmetalayerCoder) -> Result<()> {
        copy.copy_box(self.src, &Dims::default())?;
        copy.schunk.copy_vlmetalayers(self.src.schunk, coder)
    }
}

/// The shape of blocks that the metalayer of an array says.
///
/// # Errors
/// [`Error::Failure`] where there is none.
pub fn block_shape(layers: &[Metalayer]) -> Result<BlockShape> {
    let layer = layers.iter().find(|layer| *layer.name == *NAME);
    let (meta, _) = Meta::parse(&layer.ok_or(Error::Failure)?.content, false)?;
    BlockShape::new(&meta.blockshape[..meta.ndim])
}

impl SuperChunk {
    /// The chunks that have items of a slice. `layers` are the metalayers of the super-chunk or of a view; without an array among them the
    /// data have one dimension. `bounds` is told the number of dimensions, and gives where the slice starts and stops along each. Changes of
    /// other handles are not looked for.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for positions that there cannot be; those of `bounds`; those of a broken metalayer.
    pub fn chunks_of_slice<'a>(
        &self,
        state: &State,
        layers: &[Metalayer],
        bounds: impl FnOnce(usize) -> Result<(&'a [i64], &'a [i64])>,
    ) -> Result<List<usize>> {
        let Some(at) = find_metalayer(layers) else {
            let (start, stop) = bounds(1)?;
            let typesize = i64::from(state.parameters().typesize);
            let byte = |item: i64| {
                let byte = item.checked_mul(typesize).ok_or(Error::InvalidParam)?;
                u64::try_from(byte).map_err(|_| Error::InvalidParam)
            };
            return self.chunks_of(byte(start[0])?..byte(stop[0])?);
        };
        let (meta, _) = Meta::parse(&layers[at].content, true)?;
        let (start, stop) = bounds(meta.ndim)?;
        Selection::chunks_of_box(&meta.geometry()?, start, stop)
    }
}

/// An array that cannot change as long as this is used.
#[derive(Clone)]
pub struct ArrayRef<'a> {
    /// Where the chunks are.
    pub schunk: &'a SuperChunk,
    /// The shapes.
    pub geometry: Geometry,
    /// Bytes of an item.
    pub typesize: i32,
    /// Whether the super-chunk is that of another array, with other dimensions.
    pub is_view: bool,
}

impl<'a> ArrayRef<'a> {
    /// Bytes of an item, a block and a chunk.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] where there are no such sizes.
    pub fn sizes(&self) -> Result<PartSizes> {
        if self.typesize <= 0 {
            return Err(Error::InvalidParam);
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

    /// Writes all items out of the front of `buffer`, in C order.
    ///
    /// # Errors
    /// As for [`Self::write_slice`].
    pub fn write_all(&self, buffer: &[u8]) -> Result<()> {
        let (start, stop) = (Dims::default(), &self.geometry.shape[..self.geometry.ndim]);
        self.write_slice(&start[..stop.len()], stop, stop, buffer)
    }

    /// The threads that decompress.
    fn readers(&self) -> Result<Workers<'a>> {
        let decoder = self.schunk.decoder()?;
        Ok(Workers {
            nthreads: decoder.nthreads(),
            exec: decoder.executor(),
        })
    }

    /// The threads that compress.
    pub(super) fn writers(&self) -> Result<Workers<'a>> {
        let encoder = self.schunk.encoder()?;
        Ok(Workers {
            nthreads: encoder.nthreads(),
            exec: encoder.executor(),
        })
    }

    /// Checks that a slice's items fit into a buffer, and that its chunks are ones that there can be.
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
            .ok_or(Error::InvalidParam)?;
        if needed > buffersize as i64 {
            return Err(Error::InvalidParam);
        }
        Ok(())
    }

    /// Reads the items from `start` to before `stop` into the front of `buffer`, which has the shape `buffershape`, in C order.
    /// What the slice leaves of the buffer becomes zeros. Only the blocks that are touched are decompressed.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for a slice that does not fit; those of damaged chunks, and of input.
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
        // Where the slice has the buffer's shape, every byte up to its last item is written.
        let tight = lengths
            .zip(buffershape)
            .skip(1)
            .all(|(((start, stop), len), room)| stop - start == *room && *stop <= len);
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

    /// Reads the items at `coords`, which count them through the whole array in C order, into `buffer`, one behind the other.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for an item that there is not; those of damaged chunks, and of input.
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

    /// Writes a slice out of the front of `buffer`, which has the shape `buffershape`, in C order: all of it or, if that fails,
    /// nothing. Only the blocks that are touched are compressed again.
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

    /// Writes a selection, all of it at once.
    ///
    /// # Errors
    /// As for [`Self::write_slice`].
    pub fn write_selection(&self, selection: &Selection, buffer: &[u8]) -> Result<()> {
        let maker = ChunkMaker::new(self.schunk, self.sizes()?)?;
        self.change(|state| {
            let writing = SelectionWrite {
                selection,
                rewriter: Rewriter {
                    chunks: &StoredChunks::new(self.schunk, state)?,
                    maker: &maker,
                    sizes: self.sizes()?,
                    in_place: state.store.edits(),
                },
                origin: &Some,
                buffer,
            };
            writing.chunks(self.writers()?)
        })
    }

    /// Changes chunks, all at once; `make` makes them while others read.
    pub(super) fn change(&self, make: impl FnOnce(&State) -> Result<List<Update>>) -> Result<()> {
        let mut changing = self.schunk.reserve()?;
        let updates = make(&*changing.state()?)?;
        changing.commit(|state| state.update(self.schunk.host(), updates))
    }

    /// The items that lists of indices pick, one list for each dimension, in any order and also repeated. The buffer has exactly
    /// their size. None if there are none.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for a buffer of another size, and for items outside the array.
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
            return Err(Error::InvalidParam);
        }
        self.sizes()?;
        Ok(selection)
    }

    /// Where a chunk is in the array: from where to where, without padding.
    pub(super) fn chunk_box(geometry: &Geometry, nchunk: usize) -> (Dims, Dims) {
        let place = geometry.place_of(nchunk);
        let (mut start, mut stop) = (Dims::default(), Dims::default());
        for d in 0..geometry.ndim {
            let chunk = i64::from(geometry.chunkshape[d]);
            start[d] = place[d] * chunk;
            stop[d] = (start[d] + chunk).min(geometry.shape[d]);
        }
        (start, stop)
    }

    /// Reads a box of an array into `memory`, with zeros where the array has nothing. Gives its shape and items; none where the array has
    /// nothing at all.
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
            return Err(Error::Failure);
        }
        if (0..ndim).any(|d| start[d] >= end[d]) {
            return Ok(None);
        }
        let mut size = self.sizes()?.item;
        for d in 0..ndim {
            shape[d] = stop[d] - start[d];
            let len = usize::try_from(shape[d]).map_err(|_| Error::InvalidParam)?;
            size = size.checked_mul(len).ok_or(Error::InvalidParam)?;
        }
        let buffer = memory.ensure(size)?;
        let (start, end, shape_of_it) = (&start[..ndim], &end[..ndim], &shape[..ndim]);
        self.read_slice(start, end, shape_of_it, buffer)?;
        Ok(Some((shape, buffer)))
    }

    /// How a copy of the array with chunks and blocks of these shapes is made. `layers` are the array's metalayers.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
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

    /// Fills this array, which is of zeros, with what `src` has from `from` on, a position along each dimension.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for items of another size; those of damaged chunks, of compression and output.
    pub fn copy_box(&self, src: &ArrayRef, from: &[i64]) -> Result<()> {
        if self.typesize != src.typesize {
            return Err(Error::InvalidParam);
        }
        let geometry = &self.geometry;
        let ndim = geometry.ndim;
        let maker = ChunkMaker::new(self.schunk, self.sizes()?)?;
        let workers = self.writers()?;
        let shift = |at: &Dims| {
            let mut shifted = *at;
            for d in 0..ndim {
                shifted[d] = at[d].checked_add(from[d]).ok_or(Error::InvalidParam)?;
            }
            Ok(shifted)
        };
        self.change(|state| {
            let chunks = StoredChunks::new(self.schunk, state)?;
            let mut updates: List<Update> = List::new();
            let mut scratch = scratch::borrow()?;
            for nchunk in 0..geometry.nchunks()? {
                let (start, stop) = Self::chunk_box(geometry, nchunk);
                let (from, to) = (shift(&start)?, shift(&stop)?);
                let Some((shape, buffer)) = src.read_box(&from, &to, &mut scratch.data)? else {
                    continue;
                };
                let (start, stop) = (&start[..ndim], &stop[..ndim]);
                let selection = Selection::slice(geometry, start, stop, &shape[..ndim])?;
                let Some(selection) = selection else {
                    continue;
                };
                let writing = SelectionWrite {
                    selection: &selection,
                    rewriter: Rewriter {
                        chunks: &chunks,
                        maker: &maker,
                        sizes: self.sizes()?,
                        in_place: false,
                    },
                    origin: &Some,
                    buffer,
                };
                updates.extend(writing.chunks(workers)?)?;
            }
            Ok(updates)
        })
    }
}
