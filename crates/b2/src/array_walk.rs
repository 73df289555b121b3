//! Goes over the items of an array box by box.

use crate::chunks::PIECE;
use crate::compress::box_size;
use crate::failure::Failure;
use crate::npy::{Boxes, boxes, grid, runs};
use crate::source::{Frame, fill};
use oxiblosc::Array;
use oxiblosc::b2nd::meta::Meta;
use oxiblosc::format::chunk::header::Special;
use oxiblosc::format::frame::header::Header;
use oxiblosc::format::frame::offsets::ChunkPosition;
use oxiblosc_base::Error;

/// A box of items.
pub struct ArrayPart {
    /// Its first item.
    pub start: Vec<i64>,
    /// The item behind its last one along each dimension.
    pub stop: Vec<i64>,
    /// What all of its items are, if no chunk of it has bytes.
    values: Option<Special>,
    /// Whether some chunks of the array are uninitialised: reading them writes nothing.
    has_gaps: bool,
}

impl ArrayPart {
    /// Reads its items, in C order, from an array with this header.
    pub fn read(&self, array: &Array, header: &Header, items: &mut [u8]) -> Result<(), Error> {
        if let Some(kind) = self.values {
            return fill(kind, header, items);
        }
        if self.has_gaps {
            // There may be items of another box.
            items.fill(0);
        }
        array.read(&self.start, &self.stop, items)
    }
}

/// The boxes of an array that are not zeros throughout, in C order. Chunks without bytes are passed
/// over in runs.
pub struct ArrayWalk<'a> {
    frame: &'a Frame,
    shape: &'a [i64],
    chunks: &'a [i32],
    /// How many chunks there are along each dimension.
    grid: Vec<i64>,
    boxes: Boxes<'a>,
    has_gaps: bool,
}

impl<'a> ArrayWalk<'a> {
    /// The boxes of `lengths` items along each dimension; some in a run of NaNs are longer.
    pub fn new(frame: &'a Frame, meta: &'a Meta, lengths: &'a [i32]) -> Self {
        let (shape, chunks) = (&meta.shape[..meta.ndim], &meta.chunkshape[..meta.ndim]);
        let (offsets, mut next, mut has_gaps) = (frame.offsets(), 0, false);
        while next < offsets.len() {
            has_gaps |= offsets.position(next) == Ok(ChunkPosition::Special(Special::Uninit));
            next += offsets.alike_from(next, usize::MAX);
        }
        Self {
            frame,
            shape,
            chunks,
            grid: grid(shape, chunks),
            boxes: boxes(shape, lengths),
            has_gaps,
        }
    }

    /// The next box; none at the end.
    pub fn next(&mut self) -> Option<ArrayPart> {
        loop {
            let (start, mut stop) = self.boxes.next()?;
            let found = self.values(&start, &stop);
            if let Some((first, kind)) = found
                && let Some(row) = self.alike_until(first)
            {
                if kind == Special::Zero {
                    self.boxes.pass(row);
                    continue;
                }
                self.lengthen(&start, &mut stop, row);
            }
            return Some(ArrayPart {
                start,
                stop,
                values: found.map(|(_, kind)| kind),
                has_gaps: self.has_gaps,
            });
        }
    }

    /// Joins a box of special values with those behind it that end before `row` along the first
    /// dimension, if they follow each other in the array.
    fn lengthen(&mut self, start: &[i64], stop: &mut [i64], row: i64) {
        let is_whole = |d: usize| start[d] == 0 && stop[d] == self.shape[d];
        if !(1..self.shape.len()).all(is_whole) || row <= stop[0] {
            return;
        }
        let typesize = self.frame.header.parameters.typesize.max(1) as usize;
        let nbytes = box_size(start, stop, typesize).max(1) as u64;
        let length = stop[0] - start[0];
        let most = (row - start[0]) / length;
        stop[0] = start[0] + length * (PIECE / nbytes).clamp(1, most as u64) as i64;
        self.boxes.pass(stop[0]);
    }

    /// The number of the first chunk of a box, and what all of its items are, if no chunk of it has
    /// bytes.
    fn values(&self, start: &[i64], stop: &[i64]) -> Option<(usize, Special)> {
        let chunk = |d: usize| i64::from(self.chunks[d]).max(1);
        let from: Vec<i64> = (0..start.len()).map(|d| start[d] / chunk(d)).collect();
        let to = |d: usize| (stop[d] - 1) / chunk(d) + 1;
        let to: Vec<i64> = (0..stop.len()).map(to).collect();
        let mut known = None;
        let all = runs(&self.grid, &from, &to, |at, _, count| {
            let at = usize::try_from(at).unwrap_or(usize::MAX);
            let kind = self.frame.special_values(at..at.saturating_add(count));
            match (kind, known) {
                (Some(kind), None) => known = Some((at, kind)),
                (Some(kind), Some((_, before))) if kind == before => {}
                // The others do not matter any more.
                _ => return Err(Failure::Reported),
            }
            Ok(())
        });
        known.filter(|_| all.is_ok())
    }

    /// The item along the first dimension before which all chunks from `first` on are of the same
    /// special values; none in an array without dimensions.
    fn alike_until(&self, first: usize) -> Option<i64> {
        let (length, shape) = self.chunks.first().zip(self.shape.first())?;
        let alike = self.frame.offsets().alike_from(first, usize::MAX);
        let per_row = self.grid[1..].iter().product::<i64>().max(1);
        let rows = (first + alike) as i64 / per_row;
        Some(rows.saturating_mul((*length).into()).min(*shape))
    }
}
