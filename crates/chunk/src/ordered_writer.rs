//! Writes blocks to the chunk in the order of their index, while workers finish them in any order.

use super::encode::lock;
use super::encode_block::{Encoded, RawBlock};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters as filters;
use oxiblosc_memory::{AlignedBuffer, List};
use std::sync::Mutex;

/// Blocks and their destinations.
type Places<'a> = List<(Encoded<'a>, &'a mut [u8])>;

/// Writes blocks: raw ones by calling `raw`, others by copying the front of `bytes`.
fn write_all(
    places: Places,
    bytes: &[u8],
    mut raw: impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
) -> Result<()> {
    places
        .into_iter()
        .try_for_each(|(block, place)| match block {
            Encoded::Bytes(size) => {
                filters::copy(&bytes[..size], place);
                Ok(())
            }
            Encoded::Raw(block) => raw(block, place),
        })
}

/// Collects the blocks of a chunk.
pub struct OrderedWriter<'a> {
    starts: &'a mut [u8],
    /// The part of the destination that is not reserved yet.
    rest: &'a mut [u8],
    /// The index of the next block.
    next: usize,
    /// The offset of the first block in the chunk.
    body: usize,
    /// The offset of the next block in the chunk.
    position: usize,
    /// Blocks that were finished before it was their turn: index, block, and its bytes.
    waiting: List<(usize, Encoded<'a>, AlignedBuffer)>,
    /// Raw blocks that are not written yet, as long as all blocks are raw: the chunk is likely to be stored instead.
    deferred: Option<Places<'a>>,
    /// Buffers to give to workers in exchange for those of waiting blocks.
    spare: List<AlignedBuffer>,
    /// `Ok(false)` if a block did not fit.
    outcome: Result<bool>,
}

impl<'a> OrderedWriter<'a> {
    /// Blocks are written to `rest`, which begins at offset `body` in the chunk, and their offsets to `starts`, 4 bytes each.
    pub fn new(starts: &'a mut [u8], rest: &'a mut [u8], body: usize) -> Self {
        Self {
            starts,
            rest,
            next: 0,
            body,
            position: body,
            waiting: List::new(),
            deferred: Some(List::new()),
            spare: List::new(),
            outcome: Ok(true),
        }
    }

    /// Writes deferred blocks and returns the total size of all blocks; `None` if they did not fit. Fails with the error of the first
    /// block that failed.
    pub fn finish(
        self,
        raw: impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
    ) -> Result<Option<usize>> {
        match self.outcome? {
            true if 4 * self.next == self.starts.len() => {
                write_all(self.deferred.unwrap_or_default(), &[], raw)?;
                Ok(Some(self.position - self.body))
            }
            // A worker ended without delivering its block.
            true => Err(Error::Failure),
            false => Ok(None),
        }
    }

    /// Accepts block `nblock`, whose bytes are at the front of `bytes` unless it is raw; `raw` writes raw blocks. Returns false if the
    /// remaining blocks are not needed.
    pub fn deliver(
        writer: &Mutex<Self>,
        nblock: usize,
        block: Result<Encoded<'a>>,
        bytes: &mut AlignedBuffer,
        raw: impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
    ) -> bool {
        match block.and_then(|block| Self::place(writer, nblock, block, bytes, raw)) {
            Ok(goes_on) => goes_on,
            Err(error) => {
                Self::fail(writer, error);
                false
            }
        }
    }

    /// Makes `finish` return an error, unless the outcome is decided already.
    pub fn fail(writer: &Mutex<Self>, error: Error) {
        let outcome = &mut lock(writer).outcome;
        if *outcome == Ok(true) {
            *outcome = Err(error);
        }
    }

    /// [`deliver`](Self::deliver) for a block that was encoded without an error. Fails if writing a block does.
    fn place(
        writer: &Mutex<Self>,
        nblock: usize,
        block: Encoded<'a>,
        bytes: &mut AlignedBuffer,
        mut raw: impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
    ) -> Result<bool> {
        let mut this = lock(writer);
        if this.outcome != Ok(true) {
            return Ok(false);
        }
        if nblock != this.next {
            let bytes = match block {
                Encoded::Bytes(_) => {
                    let other = this.spare.pop().unwrap_or_default();
                    std::mem::replace(bytes, other)
                }
                Encoded::Raw(_) => AlignedBuffer::default(),
            };
            this.waiting.push((nblock, block, bytes))?;
            return Ok(true);
        }
        let Some(places) = this.reserve(block)? else {
            return Ok(false);
        };
        drop(this);
        // Only the reservation needs the lock, so that workers copy at the same time.
        write_all(places, bytes, &mut raw)?;
        loop {
            let mut this = lock(writer);
            let turn = this.next;
            let Some(found) = this.waiting.iter().position(|(nblock, ..)| *nblock == turn) else {
                return Ok(true);
            };
            let (_, block, bytes) = this.waiting.swap_remove(found);
            let Some(places) = this.reserve(block)? else {
                return Ok(false);
            };
            drop(this);
            write_all(places, &bytes, &mut raw)?;
            lock(writer).spare.push(bytes)?;
        }
    }

    /// Reserves the destination of the next block. Returns the blocks that are to be written now; `None` if it does not fit.
    fn reserve(&mut self, block: Encoded<'a>) -> Result<Option<Places<'a>>> {
        let size = block.size();
        if size > self.rest.len() {
            self.outcome = Ok(false);
            return Ok(None);
        }
        self.starts[4 * self.next..][..4].copy_from_slice(&(self.position as i32).to_le_bytes());
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut(size);
        self.rest = rest;
        self.position += size;
        self.next += 1;
        if let (Encoded::Raw(_), Some(deferred)) = (&block, &mut self.deferred) {
            deferred.push((block, place))?;
            return Ok(Some(List::new()));
        }
        let mut places = self.deferred.take().unwrap_or_default();
        places.push((block, place))?;
        Ok(Some(places))
    }
}

#[cfg(test)]
mod tests {
    use super::super::encode_block::write_raw;
    use super::*;

    fn raw_stream(block: RawBlock, place: &mut [u8]) -> Result<()> {
        write_raw(block.data, place);
        Ok(())
    }

    /// Delivers blocks of the given sizes in the given order into `room` bytes; `raw` tells which are raw. Returns the result of
    /// `finish`, the offsets and the bytes.
    fn deliver(
        sizes: &[usize],
        raw: [bool; 4],
        order: &[usize],
        room: usize,
    ) -> (Result<Option<usize>>, Vec<u8>, Vec<u8>) {
        let data: Vec<_> = (1..=4u8).map(|value| [value; 10]).collect();
        let (mut starts, mut rest) = (vec![0; 4 * sizes.len()], vec![0; room]);
        let all = Mutex::new(OrderedWriter::new(&mut starts, &mut rest, 100));
        for &nblock in order {
            let size = sizes[nblock];
            let mut bytes = AlignedBuffer::default();
            bytes.ensure(size + 3).unwrap().fill(data[nblock][0]);
            let block = match raw[nblock] {
                true => Encoded::Raw(RawBlock {
                    data: &data[nblock][..size - 4],
                    nstreams: 1,
                }),
                false => Encoded::Bytes(size),
            };
            OrderedWriter::deliver(&all, nblock, Ok(block), &mut bytes, raw_stream);
        }
        let finished = all.into_inner().unwrap().finish(raw_stream);
        (finished, starts, rest)
    }

    #[test]
    fn any_order_gives_the_same_chunk() {
        let sizes = [5, 9, 7, 4];
        let starts = [100i32, 105, 114, 121].map(i32::to_le_bytes).concat();
        for raw in (0..16).step_by(if cfg!(miri) { 5 } else { 1 }) {
            let raw = [1, 2, 4, 8].map(|bit| raw & bit != 0);
            let expected: Vec<u8> = (0..4)
                .flat_map(|i| {
                    let value = i as u8 + 1;
                    match raw[i] {
                        true => [
                            &[sizes[i] as u8 - 4, 0, 0, 0],
                            &vec![value; sizes[i] - 4][..],
                        ]
                        .concat(),
                        false => vec![value; sizes[i]],
                    }
                })
                .collect();
            for order in [
                [0, 1, 2, 3],
                [3, 2, 1, 0],
                [1, 0, 3, 2],
                [2, 0, 1, 3],
                [0, 3, 2, 1],
                [1, 3, 0, 2],
            ] {
                let (finished, at, bytes) = deliver(&sizes, raw, &order, 25);
                assert_eq!(finished, Ok(Some(25)), "{order:?}");
                assert_eq!((at, bytes), (starts.clone(), expected.clone()), "{order:?}");
                assert_eq!(deliver(&sizes, raw, &order, 24).0, Ok(None), "{order:?}");
                let unfinished = deliver(&sizes, raw, &order[..3], 25).0;
                assert_eq!(unfinished, Err(Error::Failure), "{order:?}");
            }
        }
    }

    #[test]
    fn an_error_is_what_all_end_with() {
        let (mut starts, mut rest) = ([0; 8], [0; 100]);
        let all = Mutex::new(OrderedWriter::new(&mut starts, &mut rest, 0));
        let mut bytes = AlignedBuffer::default();
        bytes.ensure(10).unwrap();
        let mut deliver =
            |nblock, block| OrderedWriter::deliver(&all, nblock, block, &mut bytes, raw_stream);
        assert!(!deliver(1, Err(Error::Data)));
        assert!(!deliver(0, Ok(Encoded::Bytes(10))));
        let finished = all.into_inner().unwrap().finish(raw_stream);
        assert_eq!(finished, Err(Error::Data));
    }
}
