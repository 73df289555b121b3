//! Writes the blocks of a chunk in the order of their index, while workers finish them in any
//! order.

use super::encode_block::{Encoded, RawBlock};
use oxiblosc_base::memory::{AlignedBuffer, TryVec, lock};
use oxiblosc_base::{Error, Result};
use oxiblosc_filters as filters;
use std::sync::{Mutex, MutexGuard};

/// A block and the bytes that are reserved for it.
type ReservedBlock<'a> = (Encoded<'a>, &'a mut [u8]);

/// Writes a block: a raw one by calling `raw`, another by copying the front of `bytes`.
fn write(
    (block, place): ReservedBlock,
    bytes: &[u8],
    raw: &mut impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
) -> Result<()> {
    match block {
        Encoded::Bytes(size) => {
            filters::copy(&bytes[..size], place);
            Ok(())
        }
        Encoded::Raw(block) => raw(block, place),
    }
}

/// Collects the blocks of a chunk.
///
/// The lock is held only while destinations are assigned: to the delivered block and to all that
/// waited for it. The blocks are copied without the lock, by whichever workers come next, so many
/// workers copy at the same time. A worker takes the lock once for each block that it delivers and
/// once for each that it copies.
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
    waiting: TryVec<(usize, Encoded<'a>, AlignedBuffer)>,
    /// Blocks whose destinations are known, and their bytes: to be written by any worker.
    placed: TryVec<(ReservedBlock<'a>, AlignedBuffer)>,
    /// Whether all blocks so far are raw. Until one is not, none is written, since the chunk will
    /// probably be stored instead.
    all_raw: bool,
    /// Unused buffers, which workers get in exchange for those of waiting blocks.
    spare: TryVec<AlignedBuffer>,
    /// `Ok(false)` if a block did not fit.
    outcome: Result<bool>,
    /// How often workers took the lock.
    #[cfg(test)]
    locked: usize,
}

impl<'a> OrderedWriter<'a> {
    /// Blocks are written to `rest`, which begins at offset `body` in the chunk, and their offsets
    /// to `starts`, 4 bytes each.
    pub fn new(starts: &'a mut [u8], rest: &'a mut [u8], body: usize) -> Self {
        // No block is waiting (see `note`).
        starts.fill(u8::MAX);
        Self {
            starts,
            rest,
            next: 0,
            body,
            position: body,
            waiting: TryVec::new(),
            placed: TryVec::new(),
            all_raw: true,
            spare: TryVec::new(),
            outcome: Ok(true),
            #[cfg(test)]
            locked: 0,
        }
    }

    /// Writes the remaining blocks and returns the total size of all blocks, or `None` if they did
    /// not fit.
    ///
    /// # Errors
    /// That of the first block that failed.
    pub fn finish(
        self,
        mut raw: impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
    ) -> Result<Option<usize>> {
        match self.outcome? {
            true if 4 * self.next == self.starts.len() => {
                let mut placed = self.placed.into_iter();
                placed.try_for_each(|(place, bytes)| write(place, &bytes, &mut raw))?;
                Ok(Some(self.position - self.body))
            }
            // A worker ended without delivering its block.
            true => Err(Error::FAILURE),
            false => Ok(None),
        }
    }

    /// Accepts block `nblock`, whose bytes are at the front of `bytes` unless it is raw; `raw`
    /// writes raw blocks. Returns false if the remaining blocks are not needed.
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

    /// [`deliver`](Self::deliver) for a block that was encoded without an error. Fails if writing a
    /// block does.
    fn place(
        writer: &Mutex<Self>,
        nblock: usize,
        block: Encoded<'a>,
        bytes: &mut AlignedBuffer,
        mut raw: impl FnMut(RawBlock, &mut [u8]) -> Result<()>,
    ) -> Result<bool> {
        let mut this = Self::lock(writer);
        if this.outcome != Ok(true) {
            return Ok(false);
        }
        let mut own = None;
        if nblock != this.next {
            this.wait(nblock, block, bytes)?;
        } else {
            let Some(place) = this.reserve(block) else {
                return Ok(false);
            };
            match this.all_raw {
                true => this.placed.push((place, AlignedBuffer::default()))?,
                // This worker writes its own block, so no buffers are exchanged.
                false => own = Some(place),
            }
            if !this.place_waiting()? {
                return Ok(false);
            }
        }
        if let Some(own) = own {
            drop(this);
            write(own, bytes, &mut raw)?;
            this = Self::lock(writer);
        }
        while !this.all_raw
            && let Some((place, bytes)) = this.placed.pop()
        {
            drop(this);
            write(place, &bytes, &mut raw)?;
            this = Self::lock(writer);
            this.spare.push(bytes)?;
        }
        Ok(true)
    }

    /// Locks the writer.
    fn lock<'b>(writer: &'b Mutex<Self>) -> MutexGuard<'b, Self> {
        #[allow(unused_mut)]
        let mut this = lock(writer);
        #[cfg(test)]
        {
            this.locked += 1;
        }
        this
    }

    /// Keeps a block until those before it are delivered. Its buffer is exchanged for an unused
    /// one.
    fn wait(&mut self, nblock: usize, block: Encoded<'a>, bytes: &mut AlignedBuffer) -> Result<()> {
        let bytes = match block {
            Encoded::Bytes(_) => std::mem::replace(bytes, self.spare.pop().unwrap_or_default()),
            Encoded::Raw(_) => AlignedBuffer::default(),
        };
        self.waiting.push((nblock, block, bytes))?;
        self.note(self.waiting.len() - 1);
        Ok(())
    }

    /// Stores the index in `waiting` of a waiting block in the table of block starts, where its
    /// offset will be. So it is found without a search.
    fn note(&mut self, index: usize) {
        if let Some((nblock, ..)) = self.waiting.get(index) {
            self.starts[4 * nblock..][..4].copy_from_slice(&(index as u32).to_le_bytes());
        }
    }

    /// Removes the next block from `waiting`, if it is there.
    fn take_next(&mut self) -> Option<(Encoded<'a>, AlignedBuffer)> {
        let noted = self.starts.get(4 * self.next..)?.first_chunk()?;
        let index = u32::from_le_bytes(*noted) as usize;
        // If the block is not waiting, this is no index in `waiting`, or that of another block.
        if self.waiting.get(index)?.0 != self.next {
            return None;
        }
        let (_, block, bytes) = self.waiting.swap_remove(index);
        self.note(index);
        Some((block, bytes))
    }

    /// Assigns destinations to the blocks that waited for the last one. Returns false if one does
    /// not fit.
    fn place_waiting(&mut self) -> Result<bool> {
        while let Some((block, bytes)) = self.take_next() {
            let Some(place) = self.reserve(block) else {
                return Ok(false);
            };
            self.placed.push((place, bytes))?;
        }
        Ok(true)
    }

    /// Assigns a destination to the next block. Returns `None` if it does not fit.
    fn reserve(&mut self, block: Encoded<'a>) -> Option<ReservedBlock<'a>> {
        let size = block.size();
        if size > self.rest.len() {
            self.outcome = Ok(false);
            return None;
        }
        self.starts[4 * self.next..][..4].copy_from_slice(&(self.position as i32).to_le_bytes());
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut(size);
        self.rest = rest;
        self.position += size;
        self.next += 1;
        self.all_raw &= matches!(block, Encoded::Raw(_));
        Some((block, place))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::streams::write_raw;
    use std::sync::atomic::{AtomicUsize, Ordering};

    fn raw_stream(block: RawBlock, place: &mut [u8]) -> Result<()> {
        write_raw(block.data, place);
        Ok(())
    }

    /// Delivers blocks of the given sizes in the given order into `capacity` bytes; `raw` tells
    /// which are raw. Returns the result of `finish`, the offsets and the bytes.
    fn deliver(
        sizes: &[usize],
        raw: [bool; 4],
        order: &[usize],
        capacity: usize,
    ) -> (Result<Option<usize>>, Vec<u8>, Vec<u8>) {
        let data: Vec<_> = (1..=4u8).map(|value| [value; 10]).collect();
        let (mut starts, mut rest) = (vec![0; 4 * sizes.len()], vec![0; capacity]);
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
        let all = all.into_inner().unwrap();
        assert!(all.locked <= 2 * sizes.len());
        (all.finish(raw_stream), starts, rest)
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
                assert_eq!(unfinished, Err(Error::FAILURE), "{order:?}");
            }
        }
    }

    /// What a chunk costs in locks does not depend on the number of workers, and any worker that
    /// comes next writes.
    #[test]
    fn many_workers_deliver() {
        const BLOCKS: usize = 300;
        let sizes: Vec<usize> = (0..BLOCKS).map(|nblock| 1 + nblock * 7 % 50).collect();
        let bytes = sizes.iter().enumerate();
        let expected: Vec<u8> = bytes.flat_map(|(n, &size)| vec![n as u8; size]).collect();
        for nworkers in [1, 2, 4, 16] {
            let (mut starts, mut rest) = ([0xa5; 4 * BLOCKS], vec![0; expected.len()]);
            let writer = Mutex::new(OrderedWriter::new(&mut starts, &mut rest, 0));
            let next = AtomicUsize::new(0);
            let work = || {
                let mut bytes = AlignedBuffer::default();
                loop {
                    let nblock = next.fetch_add(1, Ordering::Relaxed);
                    let Some(&size) = sizes.get(nblock) else {
                        break;
                    };
                    bytes.ensure(size).unwrap().fill(nblock as u8);
                    let block = Ok(Encoded::Bytes(size));
                    let goes_on =
                        OrderedWriter::deliver(&writer, nblock, block, &mut bytes, raw_stream);
                    assert!(goes_on);
                    std::thread::yield_now();
                }
            };
            std::thread::scope(|scope| {
                let workers: Vec<_> = (0..nworkers).map(|_| scope.spawn(work)).collect();
                workers
                    .into_iter()
                    .for_each(|worker| worker.join().unwrap());
            });
            let writer = writer.into_inner().unwrap();
            assert!(
                writer.locked <= 2 * BLOCKS,
                "{} for {nworkers}",
                writer.locked
            );
            assert_eq!(writer.finish(raw_stream), Ok(Some(expected.len())));
            assert_eq!(rest, expected, "{nworkers} workers");
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
        assert!(!deliver(1, Err(Error::DATA)));
        assert!(!deliver(0, Ok(Encoded::Bytes(10))));
        let finished = all.into_inner().unwrap().finish(raw_stream);
        assert_eq!(finished, Err(Error::DATA));
    }
}
