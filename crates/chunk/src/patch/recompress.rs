//! Compresses touched blocks again, on several workers.

use super::{DataChange, Patcher, Touched, part_of};
use crate::decode_block::BlockDecoder;
use crate::encode_block::BlockEncoder;
use crate::hooks::BlockPos;
use crate::input::BlockInput;
use crate::pipeline::Stage;
use crate::scratch::{self, Scratch};
use crate::streams::difference;
use crate::work_stealing::StealingQueue;
use oxiblosc_base::Result;
use oxiblosc_base::memory::{Buffer, Collect, TryVec};
use oxiblosc_filters::shuffle::shuffle;
use std::ops::Range;

impl Patcher<'_> {
    /// Changes and compresses each touched block. None for a block whose data stay the same.
    pub(super) fn recompress(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        touched: &[Touched],
        change: &DataChange,
    ) -> Result<TryVec<Option<Buffer>>> {
        let one = |t: Touched, tid: usize, scratch: &mut Scratch| {
            let bsize = self.chunk.block_nbytes(t.nblock)?;
            let pos = BlockPos {
                nblock: t.nblock,
                offset: decoder.offset(t.nblock),
                tid,
            };
            scratch.out.ensure(encoder.bound(bsize))?;
            let size = match self.change_streams(decoder, encoder, t, change, scratch)? {
                Some(size) => size,
                None => self.change_data(decoder, encoder, (t, pos), change, scratch)?,
            };
            size.map(|size| Buffer::transient_copy(&scratch.out[..size]))
                .transpose()
        };
        let nbytes = touched.len() * encoder.params.blocksize;
        let nworkers = self.workers.for_job(touched.len(), nbytes, false);
        if nworkers <= 1 {
            let mut scratch = scratch::borrow()?;
            return touched
                .iter()
                .map(|t| one(*t, 0, &mut scratch))
                .try_collect_vec();
        }
        let mut blocks = TryVec::new();
        blocks.resize_with(touched.len(), || None)?;
        let pieces = touched.iter().zip(blocks.iter_mut());
        let queue = StealingQueue::new(pieces, touched.len(), nworkers)?;
        queue.work(self.workers, |tid| {
            let mut scratch = scratch::borrow()?;
            while let Some((t, block)) = queue.next(tid) {
                *block = one(*t, tid, &mut scratch)?;
            }
            Ok(())
        })?;
        drop(queue);
        Ok(blocks)
    }

    /// The streams of a block, as they are in the chunk.
    fn streams(&self, nblock: usize) -> Result<TryVec<&[u8]>> {
        let mut streams = TryVec::new();
        let mut kept = Ok(());
        self.chunk.compressed(nblock, |stream| {
            kept = kept.and_then(|()| streams.push(stream));
        })?;
        kept.map(|()| streams)
    }

    /// Changes the data of a block and encodes it into `scratch.out`. Returns its size; none if the
    /// data stay the same.
    fn change_data(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        (t, pos): (Touched, BlockPos),
        change: &DataChange,
        scratch: &mut Scratch,
    ) -> Result<Option<usize>> {
        let bsize = self.chunk.block_nbytes(t.nblock)?;
        let Scratch {
            bufs,
            out,
            data,
            old,
            codec,
            ..
        } = scratch;
        let data = data.ensure(bsize)?;
        if !t.whole {
            decoder.decode(pos, None, data, (bufs, codec))?;
            // If there is one filter, its input, the filtered data, is still in `ping`.
            std::mem::swap(&mut bufs.ping, old);
        }
        change.run(t.nblock, pos.offset, data);
        let block = BlockInput {
            data: Some(data),
            bsize,
            offset: pos.offset,
        };
        if t.whole || decoder.pipeline.stages().len() != 1 {
            return encoder.encode(pos, block, (bufs, codec), out).map(Some);
        }
        let before = self.streams(t.nblock)?;
        let new = encoder.filtered(pos, block, bufs, None)?;
        let neblock = bsize / before.len();
        let streams = new.chunks_exact(neblock).zip(old.chunks_exact(neblock));
        let changed = streams
            .map(|(new, old)| difference(new, old))
            .collect_vec()?;
        encoder.encode_again(new, &before, &changed, codec, out)
    }

    /// Like [`Self::change_data`], but without undoing the filters: the new bytes are written where
    /// the shuffle moves them. The outer option is none if that is not possible.
    fn change_streams(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        t: Touched,
        change: &DataChange,
        scratch: &mut Scratch,
    ) -> Result<Option<Option<usize>>> {
        let DataChange::Bytes { start, new } = *change else {
            return Ok(None);
        };
        let stages = decoder.pipeline.stages();
        let planes = match stages {
            [] => 1,
            [Stage::Shuffle(streams)] => usize::from(*streams),
            _ => return Ok(None),
        };
        let bsize = self.chunk.block_nbytes(t.nblock)?;
        let (from, new) = part_of(start, new, decoder.offset(t.nblock), bsize);
        let row = bsize / planes;
        // Bytes behind the last whole item of a block are not shuffled.
        if t.whole || encoder.pipeline.stages() != stages || from + new.len() > row * planes {
            return Ok(None);
        }
        let Scratch {
            bufs,
            out,
            data,
            codec,
            ..
        } = scratch;
        let data = data.ensure(bsize)?;
        decoder.decode_streams(t.nblock, data, &mut bufs.input, codec)?;
        let before = self.streams(t.nblock)?;
        let neblock = bsize / before.len();
        let mut changed = TryVec::filled(0..0, before.len())?;
        let shuffled = bufs.ping.ensure(new.len())?;
        put_shuffled(
            &mut data[..row * planes],
            planes,
            from,
            new,
            shuffled,
            |at| {
                for (i, range) in changed.iter_mut().enumerate() {
                    let stream = i * neblock..(i + 1) * neblock;
                    let (lo, hi) = (at.start.max(stream.start), at.end.min(stream.end));
                    if lo < hi {
                        let part = lo - stream.start..hi - stream.start;
                        *range = match range.start == range.end {
                            true => part,
                            false => range.start.min(part.start)..range.end.max(part.end),
                        };
                    }
                }
            },
        );
        encoder
            .encode_again(data, &before, &changed, codec, out)
            .map(Some)
    }
}

/// Writes `new` at offset `from` of data that are shuffled into `planes` planes, and calls
/// `changed` with the ranges of the shuffled `data` that change. `shuffled` is scratch memory, at
/// least as long as `new`.
fn put_shuffled(
    data: &mut [u8],
    planes: usize,
    from: usize,
    new: &[u8],
    shuffled: &mut [u8],
    mut changed: impl FnMut(Range<usize>),
) {
    let row = data.len() / planes;
    let mut put = |plane: usize, at: usize, bytes: &[u8]| {
        let at = plane * row + at;
        let place = &mut data[at..at + bytes.len()];
        if *place != *bytes {
            place.copy_from_slice(bytes);
            changed(at..at + bytes.len());
        }
    };
    // Whole items are shuffled together; the parts of items at both ends are written byte by byte.
    let head = (from.next_multiple_of(planes) - from).min(new.len());
    let (head, rest) = new.split_at(head);
    let (items, tail) = rest.split_at(rest.len() / planes * planes);
    let first = from + head.len();
    for (bytes, start) in [(head, from), (tail, first + items.len())] {
        for (at, byte) in (start..).zip(bytes) {
            put(at % planes, at / planes, std::slice::from_ref(byte));
        }
    }
    let n = items.len() / planes;
    let shuffled = &mut shuffled[..items.len()];
    shuffle(planes, items, shuffled);
    for plane in 0..planes {
        put(plane, first / planes, &shuffled[plane * n..][..n]);
    }
}
