//! Resizing, inserting, appending, deleting and joining, each as one change of the frame.

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
use oxiblosc_base::memory::{Buffer, Collect, ToTryVec, TryVec, boxed};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::encoded::{EncodedChunk, OwnedChunk};
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_chunk::scratch;
use oxiblosc_frame::change::{ArrangedChunk, Change};

/// Makes the chunks that have new items.
type Write<'a> = dyn Fn(&Resizing) -> Result<TryVec<Update>> + 'a;

/// A change of the shape in progress.
struct Resizing<'a> {
    reshape: &'a Reshape<'a>,
    array: &'a ArrayRef<'a>,
    rewriter: Rewriter<'a>,
}

impl Resizing<'_> {
    /// The updates that write a selection of the array with its new shape.
    fn write(&self, selection: &Selection, buffer: &[u8]) -> Result<TryVec<Update>> {
        let writing = SelectionWrite {
            selection,
            rewriter: self.rewriter,
            origin: &|nchunk| self.reshape.origin(nchunk),
            buffer,
        };
        writing.chunks(0..writing.selection.nchunks(), self.array.writers()?)
    }
}

/// A geometry on the heap. It has more than a kilobyte, and threads with a small stack need that
/// for the codecs.
#[inline(never)]
fn on_heap(make: impl FnOnce() -> Result<Geometry>) -> Result<Box<Geometry>> {
    boxed(make()?)
}

impl ArrayRef<'_> {
    /// Changes the shape, and puts in the chunks that `write` makes, as one change. All other new
    /// items are zero.
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
            // The metalayer is that of the base, which has other dimensions.
            return Err(Error::INVALID_PARAM);
        }
        let maker = ChunkMaker::new(self.schunk, self.sizes()?)?;
        let mut changing = self.schunk.reserve()?;
        let updates = {
            let state = changing.state()?;
            if old.nchunks()? != state.store.nchunks() {
                // The chunks do not fit the metalayer.
                return Err(Error::FAILURE);
            }
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
        changing.commit(|state| self.arrange(state, &new, &reshape, updates))?;
        self.geometry = *new;
        Ok(())
    }

    /// Changes the shape. `new_shape` has a length for each dimension. Items are added or removed
    /// at the end of each dimension, or at the position in `start`; then this position and the
    /// change of the length must be multiples of the chunk's length. New items are zero.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] for an invalid shape or position, and for a view; those of damaged
    /// chunks, of compression and output.
    pub fn resize(&mut self, new_shape: &[i64], start: Option<&[i64]>) -> Result<()> {
        self.reshape(new_shape, start, None)
    }

    /// Inserts the items of a buffer before position `at` along `axis`, which is the end, or the
    /// start of a chunk.
    ///
    /// # Errors
    /// As for [`Self::resize`].
    pub fn insert(&mut self, buffer: &[u8], axis: usize, at: i64) -> Result<()> {
        let geometry = &self.geometry;
        let ndim = geometry.ndim;
        if axis >= ndim || !(0..=geometry.shape[axis]).contains(&at) {
            return Err(Error::INVALID_PARAM);
        }
        let others = (0..ndim).filter(|d| *d != axis);
        let row = others
            .map(|d| geometry.shape[d])
            .try_fold(i64::from(self.typesize), i64::checked_mul)
            .ok_or(Error::INVALID_PARAM)?;
        let nbytes = buffer.len() as i64;
        let len = match nbytes.checked_rem(row) {
            Some(0) => nbytes / row,
            // Another dimension has length 0, so there are no items to insert.
            None if nbytes == 0 => 0,
            _ => return Err(Error::INVALID_PARAM),
        };
        if len == 0 {
            return Ok(());
        }
        let mut shape = geometry.shape;
        let at_end = at == shape[axis];
        shape[axis] = shape[axis].checked_add(len).ok_or(Error::INVALID_PARAM)?;
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
                None => Ok(TryVec::new()),
            }
        };
        let start = (!at_end).then_some(&start[..ndim]);
        self.reshape(&shape[..ndim], start, Some(&write))
    }

    /// Appends the items of a buffer at the end of `axis`.
    ///
    /// # Errors
    /// As for [`Self::resize`].
    pub fn append(&mut self, buffer: &[u8], axis: usize) -> Result<()> {
        let end = self.geometry.shape.get(axis).ok_or(Error::INVALID_PARAM)?;
        self.insert(buffer, axis, *end)
    }

    /// Deletes the `len` positions of `axis` from position `at` on, which have to be the last ones,
    /// or whole chunks.
    ///
    /// # Errors
    /// As for [`Self::resize`].
    pub fn delete(&mut self, axis: usize, at: i64, len: i64) -> Result<()> {
        let ndim = self.geometry.ndim;
        let mut shape = self.geometry.shape;
        if axis >= ndim {
            return Err(Error::INVALID_PARAM);
        }
        let left = shape[axis].checked_sub(len).ok_or(Error::INVALID_PARAM)?;
        if len < 0 || at < 0 || at > shape[axis] {
            return Err(Error::INVALID_PARAM);
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
    /// [`Error::INVALID_PARAM`] if items, or dimensions other than `axis`, have different sizes.
    pub fn joined(&self, other: &ArrayRef, axis: usize) -> Result<Dims> {
        let (first, second) = (&self.geometry, &other.geometry);
        if axis >= first.ndim || self.typesize != other.typesize || first.ndim != second.ndim {
            return Err(Error::INVALID_PARAM);
        }
        let mut shape = first.shape;
        for (d, len) in shape[..first.ndim].iter_mut().enumerate() {
            if d == axis {
                let sum = first.shape[d].checked_add(second.shape[d]);
                *len = sum.ok_or(Error::INVALID_PARAM)?;
            } else if first.shape[d] != second.shape[d] {
                return Err(Error::INVALID_PARAM);
            }
        }
        Ok(shape)
    }

    /// Appends another array at the end of `axis`.
    ///
    /// # Errors
    /// As for [`Self::joined`] and [`Self::resize`].
    pub fn join(&mut self, src: &ArrayRef, axis: usize) -> Result<()> {
        let shape = self.joined(src, axis)?;
        let ndim = self.geometry.ndim;
        let begin = self.geometry.shape[axis];
        let new = on_heap(|| self.geometry.reshaped(&shape))?;
        // If both arrays have chunks and blocks of the same shapes and this one ends with a whole
        // chunk, chunks of `src` are copied without compressing them again, as in the reference.
        let (own, other) = (&self.geometry, &src.geometry);
        let (chunks, blocks) = (&own.chunkshape[..ndim], &own.blockshape[..ndim]);
        let first = begin.checked_div(chunks[axis].into()).unwrap_or(0);
        let aligned = other.is_cut_into(chunks, blocks) && begin == first * i64::from(chunks[axis]);
        let size = self.sizes()?.chunk;
        let write = |resizing: &Resizing| {
            let mut updates: TryVec<Update> = TryVec::new();
            let mut scratch = scratch::borrow()?;
            let state = src.schunk.read()?;
            let mut budget = Budget::of(&state);
            for nchunk in resizing.reshape.unchanged()..new.nchunks()? {
                let (mut start, stop) = ArrayRef::chunk_box(&new, nchunk);
                if stop[axis] <= begin {
                    continue;
                }
                if aligned {
                    let mut coords = new.coords_of(nchunk);
                    coords[axis] -= first;
                    let chunk = state.chunk(other.nchunk(&coords))?;
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

    /// Changes shape and chunks, as one change. Chunks in `updates` are new. For the others
    /// `reshape` gives the old index; if that is none, the chunk gets zeros.
    fn arrange(
        &self,
        state: &mut State,
        geometry: &Geometry,
        reshape: &Reshape,
        updates: TryVec<Update>,
    ) -> Result<()> {
        let count = state.store.nchunks();
        let sizes = self.sizes()?;
        let size = sizes.chunk as i32;
        let zeros = special_chunk(Special::Zero, size, self.typesize, sizes.block as i32)?;
        let zeros = EncodedChunk::parse(&zeros)?;
        let zeros_info = ChunkInfo::of(&zeros);
        let nchunks = geometry.nchunks()?;
        let kept = reshape.unchanged();
        let changing = count.checked_sub(kept).ok_or(Error::FAILURE)?;
        let mut gone = TryVec::filled(true, changing)?;
        let mut slots = TryVec::new();
        slots.reserve_exact(nchunks.saturating_sub(kept))?;
        let mut coming = TryVec::new();
        let mut new = whole_chunks(state, updates)?;
        // Without a frame, new chunks are moved into the store. Then the slots only say where.
        let separate = !state.store.is_frame();
        let mut owned = TryVec::new();
        let mut next = new.iter_mut().peekable();
        for nchunk in kept..nchunks {
            let given = next.next_if(|(other, _)| *other == nchunk);
            let slot = match (given, reshape.origin(nchunk)) {
                (Some((_, chunk)), _) => {
                    let info = ChunkInfo::of(&chunk.encoded());
                    coming.push(info)?;
                    if separate {
                        owned.push(std::mem::take(&mut chunk.bytes))?;
                    }
                    ArrangedChunk::New(state.changed_chunk(size, &info, chunk.encoded()))
                }
                (None, Some(old)) => {
                    let stays = old.checked_sub(kept).and_then(|at| gone.get_mut(at));
                    *stays.ok_or(Error::FAILURE)? = false;
                    ArrangedChunk::Old(old)
                }
                (None, None) => {
                    coming.push(zeros_info)?;
                    if separate {
                        owned.push(Buffer::copy_of(zeros.bytes)?)?;
                    }
                    ArrangedChunk::New(state.changed_chunk(size, &zeros_info, zeros))
                }
            };
            slots.push(slot)?;
        }
        let left: TryVec<usize> = (kept..count)
            .filter(|old| gone[*old - kept])
            .collect_vec()?;
        let (at, content) = metalayer_with(state, geometry, self.dtype)?;
        let plan = PlannedChange {
            counts: counts_after(state, &left, &coming, size)?,
            change: Change::Arrange {
                kept,
                slots: &slots,
                left: &left,
            },
            owned: separate.then_some(&mut owned),
        };
        state.apply_with(self.schunk.host(), plan, Some((at, &content)))?;
        Ok(())
    }
}

/// The chunks of updates, none of which has edits, with checksums if the frame has them.
fn whole_chunks(state: &State, updates: TryVec<Update>) -> Result<TryVec<(usize, OwnedChunk)>> {
    let whole = updates.into_iter().map(|(nchunk, update)| match update {
        ChunkUpdate::Whole(chunk) => Ok((nchunk, state.owned_chunk(chunk)?)),
        ChunkUpdate::Edits(_) => Err(Error::FAILURE),
    });
    whole.try_collect_vec()
}

/// The counters after the chunks `left` were removed and the chunks `coming` added. `size` is the
/// size of the array's chunks in bytes.
fn counts_after(state: &State, left: &[usize], coming: &[ChunkInfo], size: i32) -> Result<Counts> {
    let (mut after, storage) = (state.counts, state.storage_kind());
    for old in left {
        after = after.deleted(&state.chunk_info(*old)?, storage);
    }
    if after.nchunks == 0 && after.chunksize < size {
        after.chunksize = size;
    }
    for info in coming {
        after = after.appended(info, storage)?;
    }
    Ok(after)
}

/// The index of the array's metalayer, and its content with another shape and with this dtype, if
/// there is room for it. A copy can have another dtype than its metalayer, which is that of its
/// source.
fn metalayer_with(
    state: &State,
    geometry: &Geometry,
    dtype: Option<(&[u8], i8)>,
) -> Result<(usize, TryVec<u8>)> {
    /// The offset of the first length, after the marker of the array, version, number of
    /// dimensions, and the markers of list and number.
    const FIRST: usize = 5;
    /// The distance between two lengths: a marker and eight bytes.
    const STEP: usize = 9;
    let at = find_metalayer(state.metalayers()).ok_or(Error::METALAYER_NOT_FOUND)?;
    let mut content = state.metalayers()[at].content.to_try_vec()?;
    for (d, len) in geometry.shape[..geometry.ndim].iter().enumerate() {
        let from = FIRST + STEP * d;
        let number = content.get_mut(from..from + 8).ok_or(Error::FAILURE)?;
        number.copy_from_slice(&len.to_be_bytes());
    }
    if let Some((dtype, format)) = dtype {
        let whole = geometry.meta(Some(dtype), format).serialize()?;
        if let Some(prefix) = content.get_mut(..whole.len()) {
            prefix.copy_from_slice(&whole);
        }
    }
    Ok((at, content))
}

/// Costs; the time that a thread has taken is told by Linux alone.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use crate::{Array, CParams, Layout, Place, StorageParams};
    use oxiblosc_testing::processor_time;
    use std::time::Duration;

    /// The shortest time of several in which an array of `count` chunks grows by chunks and items
    /// at its end, and shrinks again.
    fn grow(count: i64, place: Place) -> Duration {
        let layout = Layout {
            shape: &[8 * count],
            chunks: &[8],
            blocks: &[8],
            ..Layout::default()
        };
        let storage = StorageParams {
            place,
            cparams: CParams {
                typesize: 1,
                ..CParams::default()
            },
            ..StorageParams::default()
        };
        let array = Array::zeros(&layout, storage).expect("an array");
        let change = || {
            let start = processor_time();
            array.append(&[1; 8], 0).expect("a chunk more");
            array.resize(&[8 * count + 11]).expect("three items more");
            array.delete(0, 8 * count + 8, 3).expect("three less");
            array.resize(&[8 * count]).expect("a chunk less");
            processor_time() - start
        };
        // The first change lists the offsets of all chunks.
        change();
        (0..40).map(|_| change()).min().expect("a time")
    }

    /// What an array with 64 times as many chunks takes. If every change told of all chunks, it
    /// would be 64 times as long.
    #[test]
    fn an_array_grows_at_its_end_whatever_its_length() {
        let path = std::env::temp_dir().join(format!("oxiblosc-grows-{}", std::process::id()));
        for place in [Place::Memory, Place::Frame, Place::File(&path)] {
            let [few, many] = [1_000, 64_000].map(|count| {
                let _ = std::fs::remove_file(&path);
                grow(count, place)
            });
            assert!(
                many < 8 * few + Duration::from_micros(100),
                "{few:?} and {many:?}"
            );
        }
        let _ = std::fs::remove_file(&path);
    }
}
