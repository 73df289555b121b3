//! One block of a chunk on the way out: streams, then filters backward.

use super::Chunk;
use super::encode::ttmp_size;
use super::header::{Blocks, ChunkHeader, Special, flags, flags2, i32_at};
use super::hooks::{BlockPos, Hooks};
use super::pipeline::{DeltaReference, Pipeline, Stage};
use super::registered;
use super::rules::Rules;
use super::scratch::{self, Bufs, CodecState};
use super::special;
use oxiblosc_cells::BlockShape;
use oxiblosc_codecs::{Codec, PaddedDst, PaddedSrc};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters::{self, shuffle};
use oxiblosc_memory::{AlignedBuffer, List};

/// Decodes blocks; the same for every worker.
pub struct BlockDecoder<'a> {
    pub(super) chunk: &'a Chunk<'a>,
    /// None if it is none of the format's own.
    pub(super) codec: Option<Codec>,
    pub(super) pipeline: &'a Pipeline,
    pub(super) hooks: &'a dyn Hooks,
}

/// A stream as it lies in the chunk.
pub(super) enum Stream<'a> {
    /// One byte, repeated.
    Run(u8),
    /// The bytes as they are.
    Stored(&'a [u8]),
    /// To be given to the codec.
    Compressed(PaddedSrc<'a>),
}

/// The streams of a block, one after the other.
pub(super) struct Streams<'a> {
    /// From the next stream to the end of the chunk (or of the variable-length block).
    rest: &'a [u8],
    variable: bool,
    rules: Rules,
    /// Bytes of data in each.
    pub neblock: usize,
}

impl<'a> Streams<'a> {
    /// Those of a block that holds `bsize` bytes of data, at the front of `bytes`.
    pub fn new(header: &ChunkHeader, bytes: &'a [u8], bsize: usize) -> Result<Self> {
        let (count, variable) = match header.blocks {
            Blocks::Variable { .. } => (1, true),
            Blocks::Regular { blocksize } => {
                let split = header.flags & flags::DONT_SPLIT == 0 && bsize == blocksize;
                let count = if split {
                    usize::from(header.typesize)
                } else {
                    1
                };
                (count, false)
            }
        };
        if bsize < count {
            return Err(Error::WriteBuffer);
        }
        let neblock = if count == 1 { bsize } else { bsize / count };
        if neblock * count != bsize {
            return Err(Error::Data);
        }
        Ok(Self {
            rest: bytes,
            variable,
            rules: header.rules,
            neblock,
        })
    }

    /// Whether there are `nstreams` streams, and [`Self::join`] can put them together.
    pub fn can_join(&self, nstreams: usize, bsize: usize) -> bool {
        self.neblock * nstreams == bsize && shuffle::joins(nstreams, self.neblock)
    }

    /// Puts all streams together in `dst`, which has the size of the block, as the bytes of its items. What `decode` has to
    /// make of one goes through `room`, of the same size; what the chunk holds as it is comes straight from there. Only where
    /// [`Self::can_join`] says so.
    #[inline(always)]
    pub fn join<'r>(
        &mut self,
        mut room: &'r mut [u8],
        dst: &mut [u8],
        mut decode: impl FnMut(Stream, PaddedDst) -> Result<()>,
    ) -> Result<()>
    where
        'a: 'r,
    {
        let mut sources: [&'r [u8]; shuffle::MAX_JOINED] = [&[]; shuffle::MAX_JOINED];
        let nstreams = dst.len() / self.neblock;
        for source in &mut sources[..nstreams] {
            let stored = match self.next()? {
                Stream::Stored(data) => {
                    shuffle::prefetch(data);
                    Some(data)
                }
                stream => {
                    decode(
                        stream,
                        PaddedDst::new(&mut *room, self.neblock).ok_or(Error::Failure)?,
                    )?;
                    None
                }
            };
            let (out, rest) = room.split_at_mut(self.neblock);
            room = rest;
            *source = stored.unwrap_or(out);
        }
        shuffle::join(&sources[..nstreams], dst);
        Ok(())
    }

    /// Bytes behind the streams that were read.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the stream at the front.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Stream<'a>> {
        let Some((size, rest)) = self.rest.split_at_checked(4) else {
            return Err(Error::ReadBuffer);
        };
        let size = i32_at(size, 0);
        if self.variable {
            self.rest = &[];
            let same = usize::try_from(size) == Ok(self.neblock);
            return match (same, rest.len() == self.neblock) {
                (false, _) => Err(Error::Data),
                (_, true) => Ok(Stream::Stored(rest)),
                (_, false) => Ok(Stream::Compressed(rest.into())),
            };
        }
        if size <= 0 && self.rules.is_blosc1() {
            // It has no runs.
            return Err(Error::Data);
        }
        if size == 0 {
            self.rest = rest;
            return Ok(Stream::Run(0));
        }
        if size < 0 {
            let Some((token, rest)) = rest.split_first() else {
                return Err(Error::ReadBuffer);
            };
            self.rest = rest;
            return match u8::try_from(-i64::from(size)) {
                Ok(value) if token & 1 != 0 => Ok(Stream::Run(value)),
                _ => Err(Error::RunLength),
            };
        }
        if size as usize > self.neblock && !self.rules.is_blosc1() {
            // No encoder stores a stream that is longer than its data (but that of Snappy, in Blosc 1), and many blocks could begin
            // with a very long one.
            return Err(Error::Data);
        }
        let Some(data) = PaddedSrc::new(rest, size as usize) else {
            return Err(Error::ReadBuffer);
        };
        self.rest = &rest[size as usize..];
        Ok(if size as usize == self.neblock {
            Stream::Stored(data.exact())
        } else {
            Stream::Compressed(data)
        })
    }
}

/// How many of `bytes` are the streams of a block with `bsize` bytes of data; `each` gets every stream with its size in front.
pub(super) fn streams_len<'a>(
    header: &ChunkHeader,
    bytes: &'a [u8],
    bsize: usize,
    mut each: impl FnMut(&'a [u8]),
) -> Result<usize> {
    let mut streams = Streams::new(header, bytes, bsize)?;
    let mut at = 0;
    for _ in 0..bsize / streams.neblock {
        streams.next()?;
        let next = bytes.len() - streams.left();
        each(&bytes[at..next]);
        at = next;
    }
    Ok(at)
}

impl<'a> BlockDecoder<'a> {
    /// Where the data of a block begin in the chunk's data; 0 where that is not known.
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

    /// The data of the first block, as the others are compared with.
    pub fn reference(&self) -> Result<List<u8>> {
        let bsize = self.chunk.block_nbytes(0)?;
        let mut data = List::new();
        data.reserve_exact(bsize)?;
        data.resize(bsize, 0)?;
        let plain = BlockDecoder {
            chunk: self.chunk,
            codec: self.codec,
            pipeline: self.pipeline,
            hooks: &Unfiltered(self.hooks),
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

    /// The same; but where `joined` says how many streams a shuffled block has, and it is possible, the block's data are put
    /// together in the memory there. Says whether they were.
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
            // Only a chunk made by hand has blocks that share bytes, but it is valid.
            Err(Error::ReadBuffer) if self.chunk.is_lazy() => {
                self.decode_or_join_from(nblock, true, out, joined, input, codec)
            }
            result => result,
        }
    }

    /// With `all`, from the bytes up to the end of the chunk.
    fn decode_or_join_from(
        &self,
        nblock: usize,
        all: bool,
        mut out: &mut [u8],
        joined: Option<(usize, &mut [u8])>,
        input: &mut AlignedBuffer,
        codec: &mut CodecState,
    ) -> Result<bool> {
        let bytes = self.chunk.block_bytes(nblock, all, input)?;
        let mut streams = Streams::new(self.chunk.header, bytes, out.len())?;
        if let Some((nstreams, dst)) = joined
            && streams.can_join(nstreams, out.len())
        {
            streams.join(out, dst, |stream, room| self.stream(stream, room, codec))?;
            return Ok(true);
        }
        while !out.is_empty()
            && let Some(room) = PaddedDst::new(&mut *out, streams.neblock)
        {
            self.stream(streams.next()?, room, codec)?;
            out = &mut out[streams.neblock..];
        }
        Ok(false)
    }

    /// Decodes block `pos.nblock` into `dst`, which has the block's size. `reference` is the first block's data where
    /// [`Self::needs_reference`] says so and this is another one.
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
            // The pipeline is empty.
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

    /// Decodes one stream; `room` has the size of its data.
    #[inline(always)]
    fn stream(&self, stream: Stream, room: PaddedDst, codec: &mut CodecState) -> Result<()> {
        let data = match stream {
            Stream::Run(value) => {
                room.exact().fill(value);
                return Ok(());
            }
            Stream::Stored(data) => {
                oxiblosc_filters::copy(data, room.exact());
                return Ok(());
            }
            Stream::Compressed(data) => data,
        };
        let expected = room.size();
        let nbytes = match self.codec {
            Some(known) => {
                let dict = self.chunk.dict.as_deref();
                codec.decoder.decompress_padded(known, dict, data, room)?
            }
            None => self.decode_registered(data.exact(), room.exact())?,
        };
        if nbytes == expected {
            Ok(())
        } else {
            Err(Error::Data)
        }
    }
}

impl BlockDecoder<'_> {
    /// Decodes a stream of a codec that is none of the format's own.
    #[cold]
    fn decode_registered(&self, data: &[u8], out: &mut [u8]) -> Result<usize> {
        let header = &self.chunk.header;
        if header.flags >> 5 != header.rules.other_codec() {
            return Err(Error::CodecSupport);
        }
        let codec = (header.udcompcode, header.compcode_meta);
        registered::decode(codec, data, out, self.hooks)
    }
}

/// The caller's hooks without the postfilter.
struct Unfiltered<'a>(&'a dyn Hooks);

impl Hooks for Unfiltered<'_> {
    fn schunk_typesize(&self) -> Option<i32> {
        self.0.schunk_typesize()
    }

    fn block_shape(&self) -> Result<BlockShape> {
        self.0.block_shape()
    }

    fn filter_backward(&self, id: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<()> {
        self.0.filter_backward(id, meta, src, dst)
    }

    fn decode(&self, compcode: u8, meta: u8, src: &[u8], dst: &mut [u8]) -> Result<usize> {
        self.0.decode(compcode, meta, src, dst)
    }
}
