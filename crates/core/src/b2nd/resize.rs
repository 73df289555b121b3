//! Changes the shape of an array, as one change.

use super::access::{ChunkMaker, StoredChunks};
use super::array::{ArrayRef, find_metalayer};
use super::geometry::Geometry;
use super::reshape::{Reshape, target};
use super::select::Selection;
use super::write::{Rewriter, SelectionWrite};
use super::{Dims, MAX_DIM};
use crate::schunk::copy::Budget;
use crate::schunk::rules::{ChunkInfo, Counts};
use crate::schunk::state::{PlannedChange, special_chunk};
use crate::schunk::{ChunkUpdate, State, Update};
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_chunk::scratch;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{ArrangedChunk, Change};
use oxiblosc_memory::{Buffer, Collect, List, ToList, boxed};

/// Makes the chunks that the new shape needs.
type Write<'a> = dyn Fn(&Resizing) -> Result<List<Update>> + 'a;

/// A change of the shape in progress.
struct Resizing<'a> {
    reshape: &'a Reshape<'a>,
    array: &'a ArrayRef<'a>,
    /// What chunks are made with.
    rewriter: Rewriter<'a>,
}

impl Resizing<'_> {
    /// The chunks that a selection of the new array makes.
    fn write(&self, selection: &Selection, buffer: &[u8]) -> Result<List<Update>> {
        let writing = SelectionWrite {
            selection,
            rewriter: self.rewriter,
            origin: &|nchunk| self.reshape.origin(nchunk),
            buffer,
        };
        writing.chunks(self.array.writers()?)
    }
}

/// A geometry on the heap. It has more than a kilobyte, and while chunks are made the codecs need what there is of a small stack.
#[inline(never)]
fn on_heap(make: impl FnOnce() -> Result<Geometry>) -> Result<Box<Geometry>> {
    boxed(make()?)
}

impl ArrayRef<'_> {
    /// Gives the array another shape, with the new chunks that `write` makes, all at once. Items that appear elsewhere are zeros.
    fn reshape(
        &mut self,
        new_shape: &[i64],
        start: Option<&[i64]>,
        write: Option<&Write>,
    ) -> Result<()> {
        let old = on_heap(|| Ok(self.geometry.clone()))?;
        let new = on_heap(|| target(&old, new_shape))?;
        let reshape = Reshape::new(&old, &new, start)?;
        if old.shape == new.shape {
            return Ok(());
        }
        if self.is_view {
            // The base has another shape.
            return Err(Error::InvalidParam);
        }
        let maker = ChunkMaker::new(self.schunk, self.sizes()?)?;
        let mut changing = self.schunk.reserve()?;
        let updates = {
            let state = changing.state()?;
            if old.nchunks()? != state.store.nchunks() {
                // The metalayer speaks of other chunks.
                return Err(Error::Failure);
            }
            state.store.check_listable()?;
            let resizing = Resizing {
                reshape: &reshape,
                array: self,
                rewriter: Rewriter {
                    chunks: &StoredChunks::new(self.schunk, &state)?,
                    maker: &maker,
                    sizes: self.sizes()?,
                    in_place: false,
                },
            };
            match write {
                Some(write) => write(&resizing)?,
                None => reshape.cleared(&resizing.rewriter, self.writers()?)?,
            }
        };
        let origin = |nchunk| reshape.origin(nchunk);
        changing.commit(|state| self.arrange(state, &new, &origin, updates))?;
        self.geometry = *new;
        Ok(())
    }

    /// Gives the array another shape of as many dimensions. It grows and shrinks at the far ends; with `start`, at these positions,
    /// which then, like the lengths that come or go, must be multiples of the chunk's. New items are zeros.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for a shape that there cannot be, and of a view; those of damaged chunks, of compression and
    /// output.
    pub fn resize(&mut self, new_shape: &[i64], start: Option<&[i64]>) -> Result<()> {
        self.reshape(new_shape, start, None)
    }

    /// Puts the items of a buffer into the array, before position `at` along `axis`: at the end, or where a chunk begins.
    ///
    /// # Errors
    /// As for [`Self::resize`].
    pub fn insert(&mut self, buffer: &[u8], axis: usize, at: i64) -> Result<()> {
        let geometry = &self.geometry;
        let ndim = geometry.ndim;
        if axis >= ndim || !(0..=geometry.shape[axis]).contains(&at) {
            return Err(Error::InvalidParam);
        }
        let others = (0..ndim).filter(|d| *d != axis);
        let row = others
            .map(|d| geometry.shape[d])
            .try_fold(i64::from(self.typesize), i64::checked_mul)
            .ok_or(Error::InvalidParam)?;
        let nbytes = buffer.len() as i64;
        let len = match nbytes.checked_rem(row) {
            Some(0) => nbytes / row,
            // Rows of nothing: nothing can be inserted.
            None if nbytes == 0 => 0,
            _ => return Err(Error::InvalidParam),
        };
        if len == 0 {
            return Ok(());
        }
        let mut shape = geometry.shape;
        let at_end = at == shape[axis];
        shape[axis] = shape[axis].checked_add(len).ok_or(Error::InvalidParam)?;
        let mut start = [0; MAX_DIM];
        start[axis] = at;
        let mut stop: Dims = shape;
        stop[axis] = at + len;
        let mut buffershape = geometry.shape;
        buffershape[axis] = len;
        let new = on_heap(|| target(geometry, &shape[..ndim]))?;
        let write = |resizing: &Resizing| {
            let (start, stop) = (&start[..ndim], &stop[..ndim]);
            match Selection::slice(&new, start, stop, &buffershape[..ndim])? {
                Some(slice) => resizing.write(&slice, buffer),
                None => Ok(List::new()),
            }
        };
        let start = (!at_end).then_some(&start[..ndim]);
        self.reshape(&shape[..ndim], start, Some(&write))
    }

    /// Puts the items of a buffer at the end of `axis`.
    ///
    /// # Errors
    /// As for [`Self::resize`].
    pub fn append(&mut self, buffer: &[u8], axis: usize) -> Result<()> {
        let end = self.geometry.shape.get(axis).ok_or(Error::InvalidParam)?;
        self.insert(buffer, axis, *end)
    }

    /// Takes `len` items away from `axis`, from position `at` on: the last ones, or whole chunks.
    ///
    /// # Errors
    /// As for [`Self::resize`].
    pub fn delete(&mut self, axis: usize, at: i64, len: i64) -> Result<()> {
        let ndim = self.geometry.ndim;
        let mut shape = self.geometry.shape;
        if axis >= ndim {
            return Err(Error::InvalidParam);
        }
        let left = shape[axis].checked_sub(len).ok_or(Error::InvalidParam)?;
        if len < 0 || at < 0 || at > shape[axis] {
            return Err(Error::InvalidParam);
        }
        shape[axis] = left;
        let mut start = [0; MAX_DIM];
        start[axis] = at;
        let start = (at != left).then_some(&start[..ndim]);
        self.reshape(&shape[..ndim], start, None)
    }

    /// The shape of this array and another joined along an axis.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] where they cannot be joined.
    pub fn joined(&self, other: &ArrayRef, axis: usize) -> Result<Dims> {
        let (first, second) = (&self.geometry, &other.geometry);
        if axis >= first.ndim || self.typesize != other.typesize || first.ndim != second.ndim {
            return Err(Error::InvalidParam);
        }
        let mut shape = first.shape;
        for (d, len) in shape[..first.ndim].iter_mut().enumerate() {
            if d == axis {
                let sum = first.shape[d].checked_add(second.shape[d]);
                *len = sum.ok_or(Error::InvalidParam)?;
            } else if first.shape[d] != second.shape[d] {
                return Err(Error::InvalidParam);
            }
        }
        Ok(shape)
    }

    /// Puts another array behind the end of this one along an axis.
    ///
    /// # Errors
    /// As for [`Self::joined`] and [`Self::resize`].
    pub fn join(&mut self, src: &ArrayRef, axis: usize) -> Result<()> {
        let shape = self.joined(src, axis)?;
        let ndim = self.geometry.ndim;
        let begin = self.geometry.shape[axis];
        let new = on_heap(|| self.geometry.reshaped(&shape))?;
        // Where both arrays have chunks of the same shape and this one ends with whole chunks, those of `src` are copied without compressing
        // them again, as in the reference.
        let (own, other) = (&self.geometry, &src.geometry);
        let (chunks, blocks) = (&own.chunkshape[..ndim], &own.blockshape[..ndim]);
        let first = begin.checked_div(chunks[axis].into()).unwrap_or(0);
        let aligned = other.is_cut_into(chunks, blocks) && begin == first * i64::from(chunks[axis]);
        let size = self.sizes()?.chunk;
        let write = |resizing: &Resizing| {
            let mut updates: List<Update> = List::new();
            let mut scratch = scratch::borrow()?;
            let state = src.schunk.read()?;
            let mut budget = Budget::of(&state);
            for nchunk in 0..new.nchunks()? {
                let (mut start, stop) = ArrayRef::chunk_box(&new, nchunk);
                if stop[axis] <= begin {
                    continue;
                }
                if aligned {
                    let mut place = new.place_of(nchunk);
                    place[axis] -= first;
                    let chunk = state.chunk(other.nchunk(&place))?;
                    if ChunkHeader::parse(&chunk)?.nbytes == size {
                        budget.take(&chunk)?;
                        updates.push((nchunk, ChunkUpdate::Whole(chunk.into_packed()?)))?;
                        continue;
                    }
                }
                start[axis] = start[axis].max(begin);
                let (mut from, mut to) = (start, stop);
                from[axis] -= begin;
                to[axis] -= begin;
                let Some((shape, buffer)) = src.read_box(&from, &to, &mut scratch.data)? else {
                    continue;
                };
                let (start, stop) = (&start[..ndim], &stop[..ndim]);
                if let Some(selection) = Selection::slice(&new, start, stop, &shape[..ndim])? {
                    updates.extend(resizing.write(&selection, buffer)?)?;
                }
            }
            Ok(updates)
        };
        self.reshape(&shape[..ndim], None, Some(&write))
    }

    /// Gives the array another shape and other chunks, all at once. Chunks in `updates` are new; for the others `origin` says which old chunk
    /// each of them is, and those that are none are zeros.
    fn arrange(
        &self,
        state: &mut State,
        geometry: &Geometry,
        origin: &dyn Fn(usize) -> Option<usize>,
        updates: List<Update>,
    ) -> Result<()> {
        let count = state.store.nchunks();
        let sizes = self.sizes()?;
        let size = sizes.chunk as i32;
        let zeros = special_chunk(Special::Zero, size, self.typesize, sizes.block as i32)?;
        let zeros_info = ChunkInfo::of(&zeros)?;
        let nchunks = geometry.nchunks()?;
        let mut gone = List::filled(true, count)?;
        let mut slots = List::new();
        slots.reserve_exact(nchunks)?;
        let mut coming = List::new();
        let mut new = whole_chunks(state, updates)?;
        // Where chunks are each on their own, they are given away, and the slots say only where.
        let separate = !state.store.is_frame();
        let mut owned = List::new();
        let mut next = new.iter_mut().peekable();
        for nchunk in 0..nchunks {
            let made = next.next_if(|(other, _)| *other == nchunk);
            let slot = match (made, origin(nchunk)) {
                (Some((_, bytes)), _) => {
                    let info = ChunkInfo::of(bytes)?;
                    coming.push(info)?;
                    if separate {
                        owned.push(std::mem::take(bytes))?;
                    }
                    ArrangedChunk::New(state.item(size, &info, bytes))
                }
                (None, Some(old)) => {
                    *gone.get_mut(old).ok_or(Error::Failure)? = false;
                    ArrangedChunk::Old(old)
                }
                (None, None) => {
                    coming.push(zeros_info)?;
                    if separate {
                        owned.push(Buffer::copy_of(&zeros)?)?;
                    }
                    ArrangedChunk::New(state.item(size, &zeros_info, &zeros))
                }
            };
            slots.push(slot)?;
        }
        let left: List<usize> = (0..count).filter(|old| gone[*old]).list()?;
        let (at, content) = metalayer_with(state, geometry)?;
        let plan = PlannedChange {
            counts: counts_after(state, &left, &coming, size)?,
            change: Change::Arrange {
                slots: &slots,
                left: &left,
            },
            owned: separate.then_some(&mut owned),
        };
        state.apply_with(self.schunk.host(), plan, Some((at, &content)))?;
        Ok(())
    }
}

/// The chunks of updates, none of which is of single blocks, as a frame takes them.
fn whole_chunks(state: &State, updates: List<Update>) -> Result<List<(usize, Buffer)>> {
    let whole = updates.into_iter().map(|(nchunk, update)| match update {
        ChunkUpdate::Whole(chunk) => {
            let chunk = state.with_checksums(&chunk)?.unwrap_or(chunk);
            Ok((nchunk, chunk))
        }
        ChunkUpdate::Edits(_) => Err(Error::Failure),
    });
    whole.try_list()
}

/// The counters once the chunks `left` are gone and those of `coming` are there. All have `size` bytes of data, or sizes that are not
/// known and stay so.
fn counts_after(state: &State, left: &[usize], coming: &[ChunkInfo], size: i32) -> Result<Counts> {
    let (mut after, keeping) = (state.counts, state.keeping());
    for old in left {
        after = after.deleted(&state.chunk_info(*old)?, keeping);
    }
    if after.nchunks == 0 && after.chunksize < size {
        after.chunksize = size;
    }
    for info in coming {
        after = after.appended(info, keeping)?;
    }
    Ok(after)
}

/// Which of the metalayers has the shape, and its content with another shape.
fn metalayer_with(state: &State, geometry: &Geometry) -> Result<(usize, List<u8>)> {
    /// In front of the first number of the shape: array, version, dimensions, list, number.
    const FIRST: usize = 5;
    /// From one number to the next.
    const STEP: usize = 9;
    let at = find_metalayer(&state.metalayers).ok_or(Error::MetalayerNotFound)?;
    let mut content = state.metalayers[at].content.to_list()?;
    for (d, len) in geometry.shape[..geometry.ndim].iter().enumerate() {
        let from = FIRST + STEP * d;
        let number = content.get_mut(from..from + 8).ok_or(Error::Failure)?;
        number.copy_from_slice(&len.to_be_bytes());
    }
    Ok((at, content))
}
