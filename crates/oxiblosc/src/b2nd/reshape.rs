//! Plans a change of an array's shape: which chunks are kept, removed and added, and in which the
//! padding has to be cleared.

use super::chunks::with_chunk;
use super::geometry::Geometry;
use super::runs::{Run, StridedCopy};
use super::write::{BlockChange, Rewriter};
use super::{Dims, MAX_DIM};
use crate::schunk::Update;
use oxiblosc_base::memory::{Collect, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::getitem::{ItemRange, getitem};
use oxiblosc_chunk::patch::Touched;
use oxiblosc_chunk::scratch;
use oxiblosc_chunk::workers::Workers;
use oxiblosc_frame::offsets::MAX_CHUNKS;

/// The change of one dimension's length: the chunks from `from` up to but not including `to` are
/// added (`grows`) or removed.
#[derive(Clone, Copy)]
struct AxisChange {
    from: i64,
    to: i64,
    grows: bool,
}

impl AxisChange {
    fn new(old: &Geometry, new: &Geometry, d: usize, start: i64) -> Result<Self> {
        let (old_grid, new_grid) = (old.grid(d), new.grid(d));
        let by = new.shape[d] - old.shape[d];
        let most = old_grid.max(new_grid);
        // The first chunk that begins at or after a position.
        let chunk_at = |at: i64| {
            let chunk = i64::from(old.chunkshape[d]).max(1);
            let at = at.max(0);
            (at / chunk + i64::from(at % chunk > 0)).min(most)
        };
        let along = Self {
            from: chunk_at(start),
            to: chunk_at(start.saturating_add(by.abs())),
            grows: by > 0,
        };
        let (smaller, larger) = (old_grid.min(new_grid), most);
        if by != 0 && larger - (along.to - along.from) != smaller {
            return Err(Error::INVALID_PARAM);
        }
        Ok(if by == 0 {
            Self {
                from: most,
                to: most,
                grows: false,
            }
        } else {
            along
        })
    }

    /// The number in the old grid of chunk `i` of the new grid. None if it is added.
    fn origin(&self, i: i64) -> Option<i64> {
        let by = self.to - self.from;
        match (i < self.from, self.grows) {
            (true, _) => Some(i),
            (false, false) => Some(i + by),
            (false, true) if i < self.to => None,
            (false, true) => Some(i - by),
        }
    }
}

/// Which chunks a change of the shape keeps, adds and removes.
pub struct Reshape<'a> {
    old: &'a Geometry,
    new: &'a Geometry,
    along: TryVec<AxisChange>,
}

/// The position along each dimension at which items are added or removed: the end, or the one in
/// `start`.
///
/// # Errors
/// [`Error::INVALID_PARAM`] if a chunk would have to be divided.
fn starts(old: &Geometry, new_shape: &Dims, start: Option<&[i64]>) -> Result<Dims> {
    let mut starts = [0; MAX_DIM];
    for d in 0..old.ndim {
        let (old_len, new_len) = (old.shape[d], new_shape[d]);
        let end = old_len.min(new_len);
        let at = start.map_or(end, |start| start[d]);
        if at > old_len {
            return Err(Error::INVALID_PARAM);
        }
        if at != end && old_len != new_len {
            let chunk = i64::from(old.chunkshape[d]);
            let aligned = |len: i64| len.checked_rem(chunk) == Some(0);
            let by = new_len - old_len;
            // `at - by` may be too large for an integer.
            let inside = at >= 0 && (by > 0 || -by <= old_len - at);
            if !inside || !aligned(at) || !aligned(by) {
                return Err(Error::INVALID_PARAM);
            }
        }
        starts[d] = at;
    }
    Ok(starts)
}

/// Checks a new shape. Gives the geometry of the array with it.
///
/// # Errors
/// As for [`Geometry::new`]; [`Error::INVALID_PARAM`] for more chunks than a frame can have.
pub fn target(old: &Geometry, new_shape: &[i64]) -> Result<Geometry> {
    let mut shape = [1; MAX_DIM];
    shape[..old.ndim].copy_from_slice(&new_shape[..old.ndim]);
    let new = old.reshaped(&shape)?;
    if new.nchunks()? > MAX_CHUNKS {
        return Err(Error::INVALID_PARAM);
    }
    Ok(new)
}

impl<'a> Reshape<'a> {
    /// The change from `old` to `new`, which has chunks and blocks of the same shapes. Items are
    /// added or removed at `start`, or at the end if that is none.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if a chunk would have to be divided.
    pub fn new(old: &'a Geometry, new: &'a Geometry, start: Option<&[i64]>) -> Result<Self> {
        let starts = starts(old, &new.shape, start)?;
        let along = (0..old.ndim).map(|d| AxisChange::new(old, new, d, starts[d]));
        Ok(Self {
            along: along.try_collect_vec()?,
            old,
            new,
        })
    }

    /// The old index of the chunk with the new index `nchunk`. None if it is added.
    pub fn origin(&self, nchunk: usize) -> Option<usize> {
        if self.old.nitems == 0 {
            return None;
        }
        let mut coords = self.new.coords_of(nchunk);
        for (d, along) in self.along.iter().enumerate() {
            coords[d] = along.origin(coords[d])?;
        }
        Some(self.old.nchunk(&coords))
    }

    /// How many chunks at the front keep their index, and have no items that come or go. Where an
    /// array grows or shrinks along its first dimension alone, that is all but the last ones, so
    /// that such a change costs as much as the chunks that it changes.
    pub fn unchanged(&self) -> usize {
        let (old, new) = (self.old, self.new);
        let (Some(first), true) = (self.along.first(), old.nitems > 0) else {
            return 0;
        };
        if old.shape[1..] != new.shape[1..] {
            return 0;
        }
        let whole = |len: i64| len.checked_div(old.chunkshape[0].into()).unwrap_or(0);
        let rows = first.from.min(whole(old.shape[0].min(new.shape[0])));
        let row = (1..old.ndim).map(|d| new.grid(d)).product::<i64>();
        // No more than there are chunks, so this does not overflow.
        (rows * row) as usize
    }

    /// The lengths of a kept chunk without padding, before and after the change, if they differ.
    fn differs(&self, nchunk: usize, old: usize) -> Option<(Dims, Dims)> {
        let (new_coords, old_coords) = (self.new.coords_of(nchunk), self.old.coords_of(old));
        let (mut had, mut has) = ([1; MAX_DIM], [1; MAX_DIM]);
        for d in 0..self.old.ndim {
            let chunk = i64::from(self.old.chunkshape[d]);
            had[d] = chunk.min(self.old.shape[d] - old_coords[d] * chunk);
            has[d] = chunk.min(self.new.shape[d] - new_coords[d] * chunk);
        }
        (had != has).then_some((had, has))
    }

    /// Updates that clear kept chunks, so that the array reads as zeros where it grows, now or
    /// later. Chunks are cleared where the array grows into padding that is not zero. A chunk of
    /// one repeated item is instead cleared where the array shrinks, and keeps its padding where
    /// the array grows into it.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`]; [`Error::FAILURE`] if a chunk cannot be read or compressed.
    pub fn cleared(&self, rewriter: &Rewriter, workers: Workers) -> Result<TryVec<Update>> {
        let mut changing = TryVec::new();
        for nchunk in self.unchanged()..self.new.nchunks()? {
            if let Some(old) = self.origin(nchunk)
                && let Some((had, has)) = self.differs(nchunk, old)
            {
                changing.push((nchunk, old, had, has))?;
            }
        }
        rewriter.each(changing.len(), workers, &|i, workers| {
            let (nchunk, old, had, has) = &changing[i];
            let (dirty, keeps) = self.dirty(rewriter, *old, had, has)?;
            if dirty.is_empty() {
                return Ok(None);
            }
            let item = rewriter.sizes.item;
            let clear = |nblock: usize, data: &mut [u8]| {
                let kept = self.kept(nblock, &keeps, data, item)?;
                data.copy_from_slice(&kept);
                Ok(())
            };
            let change = BlockChange {
                touched: &dirty,
                change: &clear,
            };
            let bytes = rewriter.rewrite((*old, *nchunk), change, workers)?;
            Ok(Some((*nchunk, bytes)))
        })
    }

    /// The position of a block's first item in its chunk.
    fn origin_of(&self, nblock: usize) -> Dims {
        let mut nblock = nblock as i64;
        let mut coords = [0; MAX_DIM];
        for d in (0..self.old.ndim).rev() {
            let blocks = self.old.blocks(d).max(1);
            coords[d] = nblock % blocks * i64::from(self.old.blockshape[d]);
            nblock /= blocks;
        }
        coords
    }

    /// The data of a block, with zeros outside of the first `keeps` items of the chunk along each
    /// dimension.
    fn kept(&self, nblock: usize, keeps: &Dims, data: &[u8], item: usize) -> Result<TryVec<u8>> {
        let ndim = self.old.ndim;
        let origin = self.origin_of(nblock);
        let mut runs = [Run::default(); MAX_DIM];
        for d in 0..ndim {
            let len = (keeps[d] - origin[d]).clamp(0, self.old.blockshape[d].into());
            runs[d].len = len as usize;
        }
        let strides = self.old.strides.item_block.map(|stride| stride as usize);
        let mut kept = TryVec::filled(0, data.len())?;
        if let Some(both) = StridedCopy::new(&runs[..ndim], &strides[..ndim], &strides[..ndim]) {
            both.each(&mut |run| {
                let part = run.inside * item..(run.inside + run.len) * item;
                kept[part.clone()].copy_from_slice(&data[part]);
                Ok(())
            })?;
        }
        Ok(kept)
    }

    /// Whether a block has items outside of the first `keeps` items of the chunk along each
    /// dimension. If `has` is given, only items within the first `has` count.
    fn reaches_out(&self, nblock: usize, keeps: &Dims, has: Option<&Dims>) -> bool {
        let ndim = self.old.ndim;
        let origin = self.origin_of(nblock);
        let end = |d: usize| {
            let end = origin[d] + i64::from(self.old.blockshape[d]);
            has.map_or(end, |has| end.min(has[d]))
        };
        has.is_none_or(|has| (0..ndim).all(|d| origin[d] < has[d]))
            && (0..ndim).any(|d| keeps[d] < end(d))
    }

    /// The blocks of a chunk that have to be cleared, and how many items along each dimension are
    /// kept: those that the array had, since other libraries may have written into the padding, or,
    /// in a chunk of one repeated item, those that are not cut off.
    fn dirty(
        &self,
        rewriter: &Rewriter,
        old: usize,
        had: &Dims,
        has: &Dims,
    ) -> Result<(TryVec<Touched>, Dims)> {
        let sizes = rewriter.sizes;
        let ndim = self.old.ndim;
        let found = rewriter.chunks.find(old)?;
        let mut dirty = TryVec::new();
        let mut keeps = *had;
        with_chunk(&found, sizes, false, |chunk, prefix| {
            let repeats = chunk.is_special();
            if !repeats && (0..ndim).all(|d| has[d] <= had[d]) {
                return Ok(());
            }
            if repeats {
                for d in 0..ndim {
                    keeps[d] = if has[d] < had[d] {
                        has[d]
                    } else {
                        self.old.extchunkshape[d]
                    };
                }
            }
            let hooks = rewriter.chunks.hooks(chunk.header(), prefix)?;
            let mut scratch = scratch::borrow()?;
            let most = if repeats { None } else { Some(has) };
            for nblock in 0..self.old.nblocks() as usize {
                if !self.reaches_out(nblock, &keeps, most) {
                    continue;
                }
                let mut data = std::mem::take(&mut scratch.data);
                let block = data.ensure(sizes.block)?;
                let range = ItemRange {
                    start: nblock * sizes.block,
                    len: sizes.block,
                };
                if chunk.is_special() && !hooks.has_postfilter() {
                    chunk.fill_special(range.start, block)?;
                } else {
                    getitem(chunk, range, block, &*hooks)?;
                }
                if *block != self.kept(nblock, &keeps, block, sizes.item)?[..] {
                    dirty.push(Touched {
                        nblock,
                        whole: false,
                    })?;
                }
                scratch.data = data;
            }
            Ok(())
        })?;
        Ok((dirty, keeps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(shape: &[i64], chunks: &[i32]) -> Geometry {
        Geometry::new(shape, chunks, chunks).unwrap()
    }

    fn way(
        old: &[i64],
        new: &[i64],
        chunks: &[i32],
        start: Option<&[i64]>,
    ) -> Result<Vec<Option<usize>>> {
        let old = geometry(old, chunks);
        let new = target(&old, new)?;
        let reshape = Reshape::new(&old, &new, start)?;
        Ok((0..new.nchunks()?).map(|i| reshape.origin(i)).collect())
    }

    #[test]
    fn chunks_stay_come_and_go() {
        assert_eq!(
            way(&[5], &[7], &[3], None),
            Ok(vec![Some(0), Some(1), None])
        );
        assert_eq!(way(&[5], &[6], &[3], None), Ok(vec![Some(0), Some(1)]));
        assert_eq!(way(&[7], &[2], &[3], None), Ok(vec![Some(0)]));
        assert_eq!(way(&[7], &[0], &[3], None), Ok(vec![]));
        assert_eq!(way(&[0], &[4], &[3], None), Ok(vec![None, None]));
        assert_eq!(
            way(&[7], &[10], &[3], Some(&[3])),
            Ok(vec![Some(0), None, Some(1), Some(2)])
        );
        assert_eq!(
            way(&[10], &[4], &[3], Some(&[3])),
            Ok(vec![Some(0), Some(3)])
        );
        // One dimension grows, the other shrinks.
        assert_eq!(
            way(&[2, 4], &[3, 1], &[1, 2], None),
            Ok(vec![Some(0), Some(2), None])
        );
        assert_eq!(way(&[0, 4], &[1, 2], &[1, 2], None), Ok(vec![None]));
        assert_eq!(way(&[], &[], &[], None), Ok(vec![Some(0)]));
    }

    /// Of all arrays with up to 8 x 4 items in chunks of 3 x 2, and with one dimension.
    #[test]
    fn what_does_not_change_is_at_the_front() {
        let check = |old: &[i64], new: &[i64], start: Option<&[i64]>| {
            let chunks = &[3, 2][..old.len()];
            let (old, new) = (geometry(old, chunks), geometry(new, chunks));
            let Ok(reshape) = Reshape::new(&old, &new, start) else {
                return;
            };
            let stays = |i: usize| {
                let origin = reshape.origin(i);
                origin == Some(i) && reshape.differs(i, i).is_none()
            };
            let (had, has) = (old.nchunks().unwrap(), new.nchunks().unwrap());
            let unchanged = reshape.unchanged();
            assert!(unchanged <= had.min(has));
            assert!((0..unchanged).all(stays));
            let grows_in_prefix = old.shape[0] != new.shape[0] && old.shape[1..] == new.shape[1..];
            if grows_in_prefix && unchanged < had.min(has) {
                assert!(!stays(unchanged), "{:?} {:?}", old.shape, new.shape);
            }
        };
        for (a, b) in (0..9).flat_map(|a| (0..9).map(move |b| (a, b))) {
            check(&[a], &[b], None);
            check(&[a], &[b], Some(&[3]));
            check(&[a], &[b], Some(&[0]));
            for (c, d) in (0..5).flat_map(|c| (0..5).map(move |d| (c, d))) {
                check(&[a, c], &[b, d], None);
                check(&[a, c], &[b, d], Some(&[3, 2]));
            }
        }
    }

    #[test]
    fn chunks_are_not_cut_in_the_middle() {
        let refused = |old: i64, new: i64, start: i64| {
            way(&[old], &[new], &[3], Some(&[start])) == Err(Error::INVALID_PARAM)
        };
        assert!(refused(7, 10, 2));
        assert!(refused(7, 9, 3));
        assert!(refused(7, 10, 8));
        assert!(refused(7, 4, 6));
        assert!(refused(7, 10, -3));
        assert!(refused(7, -1, 0));
        // A frame may claim any length as long as it has no chunks.
        let refused = way(&[3 << 61], &[0], &[1 << 30], Some(&[1 << 62]));
        assert_eq!(refused, Err(Error::INVALID_PARAM));
        let refused = |old: i64, new: i64, start: i64| {
            way(&[old], &[new], &[3], Some(&[start])) == Err(Error::INVALID_PARAM)
        };
        assert!(!refused(7, 9, 7));
        assert!(!refused(7, 5, 5));
        assert!(!refused(7, 7, 2));
        assert_eq!(
            way(&[5], &[i64::MAX], &[1], None),
            Err(Error::INVALID_PARAM)
        );
    }
}
