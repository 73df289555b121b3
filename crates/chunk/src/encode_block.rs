//! Encodes one block of a chunk: filters, then streams, each of which is a run, compressed, or
//! stored.

use super::header::{Blocks, ChunkHeader};
use super::hooks::{BlockPos, Hooks};
use super::input::{BlockInput, EncodeParams, ttmp_size};
use super::pipeline::{DeltaReference, Pipeline, Stage};
use super::registered;
use super::scratch::{Bufs, CodecState};
use super::streams::{PIECE, write_raw};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{Codec, Dict};
use oxiblosc_filters::{self, run_of};
use std::ops::Range;
use std::time::Instant;

/// Bytes of the measurements that an instrumented codec stores for a stream: three floats and four
/// flags.
pub const INSTR_SIZE: usize = 16;

/// An encoded block.
pub enum Encoded<'a> {
    /// Its size; it is at the front of the output.
    Bytes(usize),
    /// None of its streams compresses. It is not written yet: [`BlockEncoder::write_raw_block`]
    /// does so if it is needed.
    Raw(RawBlock<'a>),
}

/// A block whose streams are stored.
#[derive(Clone, Copy)]
pub struct RawBlock<'a> {
    /// The block's data before the filters.
    pub data: &'a [u8],
    /// Number of streams.
    pub nstreams: usize,
}

impl Encoded<'_> {
    /// Size of the block in the chunk.
    pub fn size(&self) -> usize {
        match self {
            Encoded::Bytes(size) => *size,
            Encoded::Raw(block) => 4 * block.nstreams + block.data.len(),
        }
    }
}

/// Encodes the blocks of a chunk; shared by all workers.
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
    /// Number of streams of a block of `bsize` bytes. A short last block is never split.
    fn nstreams(&self, bsize: usize) -> usize {
        if self.split && bsize == self.params.blocksize {
            self.params.typesize
        } else {
            1
        }
    }

    /// Number of streams of a chunk of `nbytes` bytes with regular blocks.
    pub fn total_streams(&self, nbytes: usize) -> usize {
        let (full, short) = (
            nbytes / self.params.blocksize,
            nbytes % self.params.blocksize,
        );
        full * self.nstreams(self.params.blocksize) + usize::from(short > 0)
    }

    /// The largest size of an encoded block of `bsize` bytes of data.
    pub fn bound(&self, bsize: usize) -> usize {
        let per_stream = if self.params.instrumented {
            4 + INSTR_SIZE
        } else {
            4
        };
        self.nstreams(bsize) * per_stream + bsize
    }

    /// The block's data after the prefilter and the pipeline; with `reference_for`, after those
    /// stages of it that come before delta, as the reference for other blocks.
    pub fn filtered<'s>(
        &self,
        pos: BlockPos,
        block: BlockInput<'s>,
        bufs: &'s mut Bufs,
        reference_for: Option<&Pipeline>,
    ) -> Result<&'s [u8]> {
        let mut input = block.data;
        if self.hooks.has_prefilter() {
            prefilter(self.hooks, pos, block, self.params, bufs)?;
            input = None;
        } else if input.is_none() {
            return Err(Error::NULL_POINTER);
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

    /// Encodes a block into `out`, which has at least [`Self::bound`] bytes. Returns the number of
    /// bytes written.
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

    /// As [`Self::encode`], but a block of which no stream compresses may be left unwritten, since
    /// a chunk of such blocks is stored instead. This is done if the block can be written later at
    /// little cost: it is one stream without filters or, with `later`, has at most one shuffle or
    /// bitshuffle.
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
        // How many streams at the front are not written, because none has compressed so far.
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

    /// The block with stored streams. None if the prefilter generates its data.
    pub fn raw<'s>(&self, block: &BlockInput<'s>) -> Option<RawBlock<'s>> {
        block.data.map(|data| RawBlock {
            data,
            nstreams: self.nstreams(block.bsize),
        })
    }

    /// Writes a block that was left unwritten to the front of `out`, which is long enough for it.
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

    /// Encodes a changed block. `data` is its filtered data, `before` the old streams with their
    /// sizes in front, and `changed` the range of each stream that was changed. Unchanged streams
    /// are copied. A stream that was stored is compressed again only if a large part of it was
    /// changed. Returns the number of bytes written; none, and nothing is written, if no stream was
    /// changed.
    pub fn encode_again(
        &self,
        data: &[u8],
        before: &[&[u8]],
        changed: &[Range<usize>],
        codec: &mut CodecState,
        out: &mut [u8],
    ) -> Result<Option<usize>> {
        if changed.iter().all(Range::is_empty) {
            return Ok(None);
        }
        let neblock = data.len() / before.len();
        let mut used = 0;
        let streams = data.chunks_exact(neblock).zip(before).zip(changed);
        for ((stream, packed), changed) in streams {
            let out = &mut out[used..];
            // Another writer may have left a stream that is longer than its data.
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
        Ok(Some(used))
    }

    /// The byte that all streams of the block repeat, if that is known before the filters run.
    fn run_in_source(&self, block: &BlockInput) -> Option<u8> {
        let data = block.data?;
        let instrumented = self.params.instrumented;
        if instrumented || self.variable || !self.params.extended || self.hooks.has_prefilter() {
            return None;
        }
        let value = run_of(data)?;
        (self.pipeline.keeps_runs() || (value == 0 && self.pipeline.keeps_zeros())).then_some(value)
    }

    /// Writes a block all of whose streams repeat one byte.
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

    /// Writes a stream with its size in front. None if it does not compress, so that it would be
    /// stored.
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
        // The size in front of a variable-length block is that of its data; the size of its stream
        // follows from the block starts.
        let recorded = if self.variable { stream.len() } else { cbytes };
        size.copy_from_slice(&(recorded as i32).to_le_bytes());
        Ok(Some(4 + cbytes))
    }

    /// Whether streams are planes of shuffled numbers.
    fn is_shuffled(&self) -> bool {
        let stages = self.pipeline.stages();
        let shuffles = |stage| matches!(stage, &Stage::BitShuffle | &Stage::Shuffle(_));
        stages.iter().any(shuffles)
    }

    /// Compresses a stream into `body`, which is as long as the stream. Returns 0 if it does not
    /// fit.
    fn compress(&self, stream: &[u8], codec: &mut CodecState, body: &mut [u8]) -> Result<usize> {
        if self.params.clevel == 0 {
            return Ok(0);
        }
        let cbytes = match Codec::from_code(self.params.compcode.into()) {
            Some(known) => {
                if known == Codec::Zstd {
                    codec.encoder.shuffled = self.is_shuffled();
                }
                codec.encoder.dialect = self.params.dialect(self.split);
                codec
                    .encoder
                    .compress(known, self.params.clevel, self.dict, stream, body)?
            }
            None => {
                let codec = (self.params.compcode, self.params.compcode_meta);
                let program = self.hooks.registered();
                registered::encode(codec, self.params.typesize, stream, body, program)?
            }
        };
        if cbytes > body.len() {
            Err(Error::WRITE_BUFFER)
        } else {
            Ok(cbytes)
        }
    }

    /// Compresses a stream, and writes the ratio and the speed of that instead of the stream.
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

    /// Sets the sizes in the header to those of the measurements, as these are what decoders get.
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

/// Runs the prefilter for a block. Its output, which may be longer than the block, is in
/// `bufs.ping`.
pub fn prefilter(
    hooks: &dyn Hooks,
    pos: BlockPos,
    block: BlockInput,
    params: &EncodeParams,
    bufs: &mut Bufs,
) -> Result<()> {
    let (input, bsize) = (block.data, block.bsize);
    if hooks.prefilter_is_plain() {
        let out = bufs.ping.ensure(bsize)?;
        let filtered = hooks.prefilter(pos, input, bsize, out, &mut []);
        return filtered.map_err(|_| Error::FILTER_PIPELINE);
    }
    let size = hooks.prefilter_output(bsize).max(bsize);
    let ttmp = bufs
        .ttmp
        .ensure(ttmp_size(params.blocksize, params.typesize))?;
    let out = bufs.ping.ensure(size)?;
    let disposable = hooks.output_is_disposable();
    if !disposable {
        out.fill(0);
    }
    match hooks.prefilter(pos, input, bsize, out, ttmp) {
        Err(_) if !disposable => Err(Error::FILTER_PIPELINE),
        _ => Ok(()),
    }
}

/// Whether the changed part of a stream of `len` bytes is so small that a stream which did not
/// compress before is not tried again. Changes at the end do not count as small: a program that
/// fills a stream from front to end writes the end last, and then the stream may compress.
fn is_touch_up(changed: &Range<usize>, len: usize) -> bool {
    changed.len() <= len / 4 && changed.end + PIECE < len
}

/// Writes stored streams of `neblock` bytes each.
fn write_raw_streams(streams: &[u8], neblock: usize, out: &mut [u8]) {
    for (stream, out) in streams
        .chunks_exact(neblock)
        .zip(out.chunks_exact_mut(4 + neblock))
    {
        write_raw(stream, out);
    }
}

/// Writes a run: a size of 0 for zeros, otherwise the negated byte as size, and a token.
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
    use crate::streams::difference;

    #[test]
    fn small_changes_are_told_from_large_ones() {
        let old = [1u8; 65_000];
        let changed = |from: usize, to: usize| {
            let mut new = old;
            (new[from], new[to]) = (0, 0);
            let range = difference(&new, &old);
            assert!(range.contains(&from) && range.contains(&to));
            let small = is_touch_up(&range, old.len());
            (range, small)
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
