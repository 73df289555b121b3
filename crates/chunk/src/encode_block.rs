//! One block of a chunk: filters, then streams, each a run, a compressed stream or the bytes as they are.

use super::encode::EncodeParams;
use super::header::{Blocks, ChunkHeader};
use super::hooks::{BlockPos, Hooks};
use super::pipeline::{DeltaReference, Pipeline, Stage};
use super::registered;
use super::scratch::{Bufs, CodecState};
use super::store::prefilter;
use oxiblosc_codecs::{Codec, Dict, Layout};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters::{self, run_of};
use std::ops::Range;
use std::time::Instant;

/// Bytes of the measurements that an instrumented codec stores for a stream: three floats and four flags.
pub const INSTR_SIZE: usize = 16;

/// The data of a block on the way in.
#[derive(Clone, Copy)]
pub struct BlockInput<'a> {
    /// The data; none where the prefilter makes them.
    pub data: Option<&'a [u8]>,
    /// Their size.
    pub bsize: usize,
    /// Where they begin in the chunk's data; 0 for variable-length blocks, which know nothing of each other.
    pub offset: usize,
}

/// What became of a block.
pub enum Encoded<'a> {
    /// So many bytes, at the front of the output.
    Bytes(usize),
    /// Nothing yet: no stream compressed, and [`BlockEncoder::write_raw_block`] writes the block if it is wanted.
    Raw(RawBlock<'a>),
}

/// A block whose streams hold their data as they are.
#[derive(Clone, Copy)]
pub struct RawBlock<'a> {
    /// The block's data as they come in.
    pub data: &'a [u8],
    /// How many streams they become.
    pub nstreams: usize,
}

impl Encoded<'_> {
    /// The bytes that the block takes.
    pub fn size(&self) -> usize {
        match self {
            Encoded::Bytes(size) => *size,
            Encoded::Raw(block) => 4 * block.nstreams + block.data.len(),
        }
    }
}

/// Encodes blocks; the same for every worker.
pub struct BlockEncoder<'a> {
    pub(super) params: &'a EncodeParams,
    pub(super) hooks: &'a dyn Hooks,
    pub(super) pipeline: &'a Pipeline,
    pub(super) reference: Option<&'a [u8]>,
    pub(super) split: bool,
    pub(super) variable: bool,
    pub(super) dict: Option<&'a Dict>,
}

impl BlockEncoder<'_> {
    /// Streams of a block of `bsize` bytes: a short last block is never split.
    fn nstreams(&self, bsize: usize) -> usize {
        if self.split && bsize == self.params.blocksize {
            self.params.typesize
        } else {
            1
        }
    }

    /// Streams of a chunk of `nbytes` bytes whose blocks are not of variable length.
    pub fn total_streams(&self, nbytes: usize) -> usize {
        let (full, short) = (
            nbytes / self.params.blocksize,
            nbytes % self.params.blocksize,
        );
        full * self.nstreams(self.params.blocksize) + usize::from(short > 0)
    }

    /// The most bytes that a block of `bsize` bytes takes.
    pub fn bound(&self, bsize: usize) -> usize {
        let per_stream = if self.params.instrumented {
            4 + INSTR_SIZE
        } else {
            4
        };
        self.nstreams(bsize) * per_stream + bsize
    }

    /// The block's data behind the prefilter and the pipeline. With `reference_for`, only what the block goes
    /// through before others are compared with it.
    pub fn filtered<'s>(
        &self,
        pos: BlockPos,
        block: BlockInput<'s>,
        bufs: &'s mut Bufs,
        reference_for: Option<&Pipeline>,
    ) -> Result<&'s [u8]> {
        let mut input = block.data;
        if self.hooks.has_prefilter() {
            prefilter(self.hooks, pos, block.bsize, self.params, bufs)?;
            input = None;
        } else if input.is_none() {
            return Err(Error::NullPointer);
        }
        let reference = match self.reference {
            Some(first) if block.offset != 0 => DeltaReference::First(first),
            _ => DeltaReference::Own,
        };
        let bufs = (&mut bufs.ping, &mut bufs.pong);
        match reference_for {
            None => self
                .pipeline
                .forward(input, block.bsize, reference, bufs, self.hooks),
            Some(pipeline) => {
                pipeline
                    .before_delta()
                    .forward(input, block.bsize, reference, bufs, self.hooks)
            }
        }
    }

    /// Encodes a block into `out`, which has at least [`Self::bound`] bytes. Gives the bytes used.
    pub fn encode(
        &self,
        pos: BlockPos,
        block: BlockInput,
        (bufs, codec): (&mut Bufs, &mut CodecState),
        out: &mut [u8],
    ) -> Result<usize> {
        if let Some(value) = self.run_in_source(&block) {
            return Ok(self.write_runs(value, block.bsize, out));
        }
        let started = self.params.instrumented.then(Instant::now);
        let data = self.filtered(pos, block, bufs, None)?;
        let filter_time = started.map_or(0.0, |at| at.elapsed().as_secs_f32());
        let nstreams = self.nstreams(block.bsize);
        if self.hooks.output_is_disposable() && self.params.extended && !self.variable {
            out[..4 * nstreams].fill(0);
            return Ok(4 * nstreams);
        }
        let mut used = 0;
        for stream in data.chunks_exact(block.bsize / nstreams) {
            used += if self.params.instrumented {
                self.measure(stream, filter_time, codec, &mut out[used..])?
            } else {
                self.encode_stream(stream, codec, &mut out[used..])?
            };
        }
        Ok(used)
    }

    /// As [`Self::encode`], but a block of which no stream compresses may be left to be written later, if at all, where that
    /// costs little: if nothing is done to its data but to compress them as one stream, or, with `later`, if one filter that
    /// only moves them does all.
    pub fn encode_unless_raw<'s>(
        &self,
        pos: BlockPos,
        block: BlockInput<'s>,
        later: bool,
        (bufs, codec): (&mut Bufs, &mut CodecState),
        out: &mut [u8],
    ) -> Result<Encoded<'s>> {
        let nstreams = self.nstreams(block.bsize);
        let movable = match self.pipeline.stages() {
            [] => later || nstreams == 1,
            [Stage::Shuffle(_) | Stage::BitShuffle] => later,
            _ => false,
        };
        let plain = !self.params.instrumented
            && !self.variable
            && !self.hooks.has_prefilter()
            && !self.hooks.output_is_disposable();
        let Some(raw) = self.raw(&block).filter(|_| movable && plain) else {
            return self
                .encode(pos, block, (bufs, codec), out)
                .map(Encoded::Bytes);
        };
        if let Some(value) = self.run_in_source(&block) {
            return Ok(Encoded::Bytes(self.write_runs(value, block.bsize, out)));
        }
        let data = self.filtered(pos, block, bufs, None)?;
        let neblock = block.bsize / nstreams;
        let mut used = 0;
        // The first streams, as long as none compresses, are not written.
        let mut unwritten = 0;
        for stream in data.chunks_exact(neblock) {
            used += match self.pack(stream, codec, &mut out[used..])? {
                Some(size) => {
                    write_raw_streams(&data[..unwritten * neblock], neblock, out);
                    unwritten = 0;
                    size
                }
                None if unwritten * (4 + neblock) == used => {
                    unwritten += 1;
                    4 + neblock
                }
                None => write_raw(stream, &mut out[used..]),
            };
        }
        Ok(match unwritten {
            0 => Encoded::Bytes(used),
            _ => Encoded::Raw(raw),
        })
    }

    /// A block whose streams hold its data as they are, if it has any that come in.
    pub fn raw<'s>(&self, block: &BlockInput<'s>) -> Option<RawBlock<'s>> {
        block.data.map(|data| RawBlock {
            data,
            nstreams: self.nstreams(block.bsize),
        })
    }

    /// Writes a block that was left for later to the front of `out`, which has room for it.
    pub fn write_raw_block(&self, block: RawBlock, bufs: &mut Bufs, out: &mut [u8]) -> Result<()> {
        let bsize = block.data.len();
        let bufs = (&mut bufs.ping, &mut bufs.pong);
        let own = DeltaReference::Own;
        let data = self
            .pipeline
            .forward(Some(block.data), bsize, own, bufs, self.hooks)?;
        write_raw_streams(data, bsize / block.nstreams, out);
        Ok(())
    }

    /// Encodes a block that was changed from its data behind the filters. `before` is its streams as they lie in the chunk,
    /// each with its size in front; what of stream `i` was changed, `changed(i)` tells. Streams that still hold the same
    /// data are taken over, and of those that did not compress before only what was changed a lot is tried again.
    pub fn encode_again(
        &self,
        data: &[u8],
        before: &[&[u8]],
        changed: impl Fn(usize) -> Range<usize>,
        codec: &mut CodecState,
        out: &mut [u8],
    ) -> Result<usize> {
        let neblock = data.len() / before.len();
        let mut used = 0;
        for (i, (stream, packed)) in data.chunks_exact(neblock).zip(before).enumerate() {
            let out = &mut out[used..];
            let changed = changed(i);
            // Others may have written a stream that is larger than its data.
            used += if changed.is_empty() && packed.len() <= 4 + neblock {
                out[..packed.len()].copy_from_slice(packed);
                packed.len()
            } else if packed.len() == 4 + neblock && is_touch_up(changed, neblock) {
                out[..4].copy_from_slice(&packed[..4]);
                oxiblosc_filters::copy(stream, &mut out[4..4 + neblock]);
                4 + neblock
            } else {
                self.encode_stream(stream, codec, out)?
            };
        }
        Ok(used)
    }

    /// The byte that all streams will repeat, where that can be seen before any filter runs.
    fn run_in_source(&self, block: &BlockInput) -> Option<u8> {
        let data = block.data?;
        let instrumented = self.params.instrumented;
        if instrumented || self.variable || !self.params.extended || self.hooks.has_prefilter() {
            return None;
        }
        let value = run_of(data)?;
        (self.pipeline.keeps_runs() || (value == 0 && self.pipeline.keeps_zeros())).then_some(value)
    }

    /// Writes a block all of whose streams repeat a byte.
    fn write_runs(&self, value: u8, bsize: usize, out: &mut [u8]) -> usize {
        (0..self.nstreams(bsize)).fold(0, |used, _| used + write_run(value, &mut out[used..]))
    }

    /// Writes a stream with its size in front.
    fn encode_stream(
        &self,
        stream: &[u8],
        codec: &mut CodecState,
        out: &mut [u8],
    ) -> Result<usize> {
        match self.pack(stream, codec, out)? {
            Some(size) => Ok(size),
            None => Ok(write_raw(stream, out)),
        }
    }

    /// Writes a stream with its size in front, unless it would hold its data as they are.
    fn pack(&self, stream: &[u8], codec: &mut CodecState, out: &mut [u8]) -> Result<Option<usize>> {
        if self.params.extended
            && !self.variable
            && let Some(value) = run_of(stream)
        {
            return Ok(Some(write_run(value, out)));
        }
        let (size, body) = out.split_at_mut(4);
        let body = &mut body[..stream.len()];
        let cbytes = self.compress(stream, codec, body)?;
        if cbytes == 0 || cbytes == stream.len() {
            return Ok(None);
        }
        // Variable-length blocks say how long their data are; how long the stream is follows from the starts.
        let recorded = if self.variable { stream.len() } else { cbytes };
        size.copy_from_slice(&(recorded as i32).to_le_bytes());
        Ok(Some(4 + cbytes))
    }

    /// What a stream holds.
    fn layout(&self, stream: &[u8]) -> Layout {
        let stages = self.pipeline.stages();
        let is = |kind: fn(&Stage) -> bool| stages.iter().any(kind);
        if is(|stage| matches!(stage, Stage::BitShuffle)) {
            Layout::Planes
        } else if !is(|stage| matches!(stage, Stage::Shuffle(_))) {
            Layout::Unknown
        } else if self.split && stream.len() * self.params.typesize == self.params.blocksize {
            Layout::Plane
        } else {
            Layout::Planes
        }
    }

    /// Compresses a stream; 0 means that it does not fit into `body`, which is as long as the stream.
    fn compress(&self, stream: &[u8], codec: &mut CodecState, body: &mut [u8]) -> Result<usize> {
        if self.params.clevel == 0 {
            return Ok(0);
        }
        let cbytes = match Codec::from_code(self.params.compcode.into()) {
            Some(known) => {
                codec.encoder.layout = self.layout(stream);
                codec.encoder.release = self.params.release(self.split);
                codec
                    .encoder
                    .compress(known, self.params.clevel, self.dict, stream, body)?
            }
            None => {
                let codec = (self.params.compcode, self.params.compcode_meta);
                registered::encode(codec, self.params.typesize, stream, body, self.hooks)?
            }
        };
        if cbytes > body.len() {
            Err(Error::WriteBuffer)
        } else {
            Ok(cbytes)
        }
    }

    /// Compresses a stream and writes, instead of it, how well and how fast that went.
    fn measure(
        &self,
        stream: &[u8],
        filter_time: f32,
        codec: &mut CodecState,
        out: &mut [u8],
    ) -> Result<usize> {
        let started = Instant::now();
        let (cbytes, is_run) = match run_of(stream) {
            Some(0) => (0, true),
            Some(_) => (1, true),
            None => {
                let body = &mut out[4 + INSTR_SIZE..][..stream.len()];
                match self.compress(stream, codec, body)? {
                    0 => (stream.len(), false),
                    cbytes => (cbytes, false),
                }
            }
        };
        let nbytes = stream.len() as f32;
        let size = if self.variable {
            stream.len()
        } else {
            INSTR_SIZE
        };
        out[..4].copy_from_slice(&(size as i32).to_le_bytes());
        out[4..8].copy_from_slice(&(nbytes / (cbytes + 4) as f32).to_le_bytes());
        out[8..12].copy_from_slice(&(nbytes / started.elapsed().as_secs_f32()).to_le_bytes());
        out[12..16].copy_from_slice(&(nbytes / filter_time).to_le_bytes());
        out[16..20].copy_from_slice(&[u8::from(is_run), 0, 0, 0]);
        Ok(4 + INSTR_SIZE)
    }

    /// Makes the header describe the measurements, not the data: they are what a decoder gets.
    pub fn describe_instrumented(&self, header: &mut ChunkHeader, nblocks: usize) {
        let full = self.nstreams(self.params.blocksize);
        let last = match header.nbytes % self.params.blocksize {
            0 => full,
            short => self.nstreams(short),
        };
        header.nbytes = ((nblocks - 1) * full + last) * INSTR_SIZE;
        header.set_blocks(Blocks::Regular {
            blocksize: full * INSTR_SIZE,
        });
    }
}

/// Pieces in which streams are compared.
const PIECE: usize = 512;

/// From where to where two streams, as long as each other, differ, or a little more.
pub fn difference(new: &[u8], old: &[u8]) -> Range<usize> {
    let differs = |(new, old): (&[u8], &[u8])| new != old;
    let mut pieces = new.chunks(PIECE).zip(old.chunks(PIECE));
    let Some(first) = pieces.position(differs) else {
        return 0..0;
    };
    let end = first + pieces.rposition(differs).map_or(1, |last| last + 2);
    first * PIECE..new.len().min(end * PIECE)
}

/// Whether this is so small a part of a stream of `len` bytes that the stream will hardly compress if it did not before.
/// The end is excepted: who fills a stream piece by piece comes there at last, and it is tried again.
fn is_touch_up(changed: Range<usize>, len: usize) -> bool {
    changed.len() <= len / 4 && changed.end + PIECE < len
}

/// Writes a stream that holds its data as they are, with its size in front; the bytes used.
pub fn write_raw(stream: &[u8], out: &mut [u8]) -> usize {
    let (size, body) = out.split_at_mut(4);
    size.copy_from_slice(&(stream.len() as i32).to_le_bytes());
    oxiblosc_filters::copy(stream, &mut body[..stream.len()]);
    4 + stream.len()
}

/// Writes streams of `neblock` bytes each that hold their data as they are.
fn write_raw_streams(streams: &[u8], neblock: usize, out: &mut [u8]) {
    for (stream, out) in streams
        .chunks_exact(neblock)
        .zip(out.chunks_exact_mut(4 + neblock))
    {
        write_raw(stream, out);
    }
}

/// Writes a stream of one repeated byte: a size of 0 for zeros, else minus the byte, and a token.
fn write_run(value: u8, out: &mut [u8]) -> usize {
    out[..4].copy_from_slice(&(-i32::from(value)).to_le_bytes());
    if value == 0 {
        return 4;
    }
    out[4] = 1;
    5
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_changes_are_told_from_large_ones() {
        let old = [1u8; 65_000];
        let changed = |from: usize, to: usize| {
            let mut new = old;
            (new[from], new[to]) = (0, 0);
            let range = difference(&new, &old);
            assert!(range.contains(&from) && range.contains(&to));
            (range.clone(), is_touch_up(range, old.len()))
        };
        assert_eq!(difference(&old, &old), 0..0);
        assert_eq!(changed(5, 5), (0..512, true));
        assert_eq!(changed(600, 10_000), (512..10_240, true));
        assert_eq!(changed(0, 20_000), (0..20_480, false));
        assert_eq!(changed(64_999, 64_999), (64_512..65_000, false));
    }

    #[test]
    fn runs_are_written() {
        let mut out = [0xff; 5];
        assert_eq!((write_run(0, &mut out), &out[..4]), (4, &[0u8; 4][..]));
        assert_eq!(
            (
                write_run(200, &mut out),
                i32::from_le_bytes([out[0], out[1], out[2], out[3]]),
                out[4]
            ),
            (5, -200, 1)
        );
    }
}
