//! Decodes one block of a chunk: decompresses its streams, then undoes the filters.

use super::Chunk;
use super::header::{Blocks, Special, flags2};
use super::hooks::{BlockPos, Hooks, RegisteredFunctions};
use super::input::ttmp_size;
use super::pipeline::{DeltaReference, Pipeline, Stage};
use super::registered;
use super::scratch::{self, Bufs, CodecState};
use super::special;
use super::streams::{Stream, Streams};
use oxiblosc_base::memory::{AlignedBuffer, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{Codec, PaddedDst};

/// Decodes the blocks of a chunk; shared by all workers.
pub struct BlockDecoder<'a> {
    pub(super) chunk: &'a Chunk<'a>,
    /// None for a registered codec.
    pub(super) codec: Option<Codec>,
    pub(super) pipeline: &'a Pipeline,
    pub(super) hooks: &'a dyn Hooks,
}

impl<'a> BlockDecoder<'a> {
    /// Where the data of a block begin in the chunk's data; 0 if that is unknown.
    pub fn offset(&self, nblock: usize) -> usize {
        match self.chunk.header.blocks {
            Blocks::Regular { blocksize } => nblock * blocksize,
            Blocks::Variable { .. } => self.chunk.offsets.get(nblock).copied().unwrap_or(0),
        }
    }

    /// Whether blocks other than the first need its data.
    pub fn needs_reference(&self) -> bool {
        self.pipeline.has_delta() && !self.chunk.header.has_vlblocks()
    }

    /// The data of the first block, for blocks with delta.
    pub fn reference(&self) -> Result<TryVec<u8>> {
        let bsize = self.chunk.block_nbytes(0)?;
        let mut data = TryVec::new();
        data.reserve_exact(bsize)?;
        data.resize(bsize, 0)?;
        let plain = BlockDecoder {
            chunk: self.chunk,
            codec: self.codec,
            pipeline: self.pipeline,
            hooks: &WithoutPostfilter(self.hooks),
        };
        plain.decode(
            BlockPos {
                nblock: 0,
                offset: 0,
                tid: 0,
            },
            None,
            &mut data,
            scratch::borrow()?.parts(),
        )?;
        Ok(data)
    }

    /// Decodes the streams of block `nblock` into `out`, which has the block's size.
    pub(super) fn decode_streams(
        &self,
        nblock: usize,
        out: &mut [u8],
        input: &mut AlignedBuffer,
        codec: &mut CodecState,
    ) -> Result<()> {
        self.decode_or_join(nblock, out, None, input, codec)?;
        Ok(())
    }

    /// The same, but if `joined` is given (the number of byte streams of a shuffled block, and
    /// memory for its data), the streams are decoded and unshuffled in one pass where that is
    /// possible. Returns whether they were.
    fn decode_or_join(
        &self,
        nblock: usize,
        out: &mut [u8],
        mut joined: Option<(usize, &mut [u8])>,
        input: &mut AlignedBuffer,
        codec: &mut CodecState,
    ) -> Result<bool> {
        let again = joined.as_mut().map(|(n, dst)| (*n, &mut **dst));
        match self.decode_or_join_from(nblock, false, out, again, input, codec) {
            // Blocks that share bytes need more than the bytes up to the next start. No encoder
            // writes them, but they are valid.
            Err(error) if error == Error::READ_BUFFER && self.chunk.is_lazy() => {
                self.decode_or_join_from(nblock, true, out, joined, input, codec)
            }
            result => result,
        }
    }

    /// The same; with `all`, the block may use all bytes up to the end of the chunk.
    fn decode_or_join_from(
        &self,
        nblock: usize,
        all: bool,
        out: &mut [u8],
        joined: Option<(usize, &mut [u8])>,
        input: &mut AlignedBuffer,
        codec: &mut CodecState,
    ) -> Result<bool> {
        let bytes = self.chunk.block_bytes(nblock, all, input)?;
        let mut streams = Streams::new(self.chunk.header, bytes, out.len())?;
        if let Some((nstreams, dst)) = joined
            && streams.can_join(nstreams, out.len())
        {
            streams.join(out, dst, |stream, dst| self.stream(stream, dst, codec))?;
            return Ok(true);
        }
        streams.decode_all(out, |stream, dst| self.stream(stream, dst, codec))?;
        Ok(false)
    }

    /// Decodes block `pos.nblock` into `dst`, which has the block's size. `reference` is the data
    /// of the first block; it is needed for the other blocks if [`Self::needs_reference`] is true.
    pub fn decode(
        &self,
        pos: BlockPos,
        reference: Option<&[u8]>,
        dst: &mut [u8],
        (bufs, codec): (&mut Bufs, &mut CodecState),
    ) -> Result<()> {
        let header = &self.chunk.header;
        let bsize = dst.len();
        let instrumented = header.blosc2_flags & flags2::INSTRUMENTED != 0;
        let direct = self.pipeline.stages().is_empty() && !self.hooks.has_postfilter();
        let (first, joined) = match self.pipeline.stages() {
            _ if direct => (&mut *dst, None),
            [Stage::Shuffle(nstreams)] if !instrumented && !self.hooks.has_postfilter() => {
                let joined = (usize::from(*nstreams), &mut *dst);
                (bufs.ping.ensure(bsize)?, Some(joined))
            }
            _ => (bufs.ping.ensure(bsize)?, None),
        };
        if self.chunk.copy_stored(pos.nblock, first, &mut bufs.input)? {
            // Paged blocks have no filters.
        } else if self.chunk.has_streams() {
            if self.decode_or_join(pos.nblock, first, joined, &mut bufs.input, codec)? {
                return Ok(());
            }
        } else {
            match header.special() {
                Special::None => self.chunk.stored(pos.offset, first)?,
                _ => special::fill(header, self.chunk.value(), pos.offset, first)?,
            }
        }
        if direct || instrumented {
            if !direct {
                oxiblosc_filters::copy(&bufs.ping[..bsize], dst);
            }
            return Ok(());
        }
        let ttmp = match self.hooks.has_postfilter() {
            true => bufs.ttmp.ensure(ttmp_size(
                self.chunk.max_block_nbytes().max(bsize),
                usize::from(header.typesize),
            ))?,
            false => &mut [],
        };
        let reference = match reference {
            Some(first) if pos.nblock > 0 => DeltaReference::First(first),
            _ => DeltaReference::Own,
        };
        self.pipeline.backward(
            pos,
            dst,
            reference,
            (&mut bufs.ping, &mut bufs.pong, ttmp),
            self.hooks,
        )
    }

    /// Decodes one stream into `dst`, which has the size of its data.
    #[inline(always)]
    fn stream(&self, stream: Stream, dst: PaddedDst, codec: &mut CodecState) -> Result<()> {
        stream.decode(dst, |data, dst| match self.codec {
            Some(known) => {
                let dict = self.chunk.dict.as_deref();
                codec.decoder.decompress_padded(known, dict, data, dst)
            }
            None => self.decode_registered(data.exact(), dst.exact()),
        })
    }
}

impl BlockDecoder<'_> {
    /// Decodes a stream of a registered codec.
    #[cold]
    fn decode_registered(&self, data: &[u8], out: &mut [u8]) -> Result<usize> {
        let header = &self.chunk.header;
        if header.flags >> 5 != header.rules.other_codec() {
            return Err(Error::CODEC_SUPPORT);
        }
        let codec = (header.udcompcode, header.compcode_meta);
        registered::decode(codec, data, out, self.hooks.registered())
    }
}

/// The caller's hooks without the postfilter.
struct WithoutPostfilter<'a>(&'a dyn Hooks);

impl Hooks for WithoutPostfilter<'_> {
    fn registered(&self) -> &dyn RegisteredFunctions {
        self.0.registered()
    }
}
