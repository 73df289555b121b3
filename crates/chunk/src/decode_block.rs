//! Decodes one block of a chunk: decompresses its streams, then undoes the filters.

use super::Chunk;
use super::encode::ttmp_size;
use super::header::{Blocks, ChunkHeader, Special, flags, flags2, i32_at};
use super::hooks::{BlockPos, Hooks};
use super::pipeline::{DeltaReference, Pipeline, Stage};
use super::registered;
use super::rules::Rules;
use super::scratch::{self, Bufs, CodecState};
use super::special;
use oxiblosc_base::cells::BlockShape;
use oxiblosc_base::memory::{AlignedBuffer, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::{Codec, PaddedDst, PaddedSrc};
use oxiblosc_filters::{self, shuffle};

/// Decodes the blocks of a chunk; shared by all workers.
pub struct BlockDecoder<'a> {
    pub(super) chunk: &'a Chunk<'a>,
    /// None for a registered codec.
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
    /// Compressed by the codec.
    Compressed(PaddedSrc<'a>),
}

/// The streams of a block, one after the other.
pub(super) struct Streams<'a> {
    /// From the next stream to the end of the chunk (or of the variable-length block).
    rest: &'a [u8],
    variable: bool,
    rules: Rules,
    /// How many streams the block has.
    pub count: usize,
    /// Bytes of data in each stream.
    pub neblock: usize,
}

impl<'a> Streams<'a> {
    /// The streams of a block of `bsize` bytes of data, which begin at the front of `bytes`.
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
            return Err(Error::WRITE_BUFFER);
        }
        let neblock = if count == 1 { bsize } else { bsize / count };
        if neblock * count != bsize {
            return Err(Error::DATA);
        }
        Ok(Self {
            rest: bytes,
            variable,
            rules: header.rules,
            count,
            neblock,
        })
    }

    /// Whether there are `nstreams` streams, and [`Self::join`] can put them together.
    pub fn can_join(&self, nstreams: usize, bsize: usize) -> bool {
        self.neblock * nstreams == bsize && shuffle::joins(nstreams, self.neblock)
    }

    /// Unshuffles the streams, byte streams of the items, into `dst`, which has the size of the block. Stored streams are read where they lie in the
    /// chunk; others are decoded by `decode` into `room`, which has at least the same size. [`Self::can_join`] must be true.
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
                        PaddedDst::new(&mut *room, self.neblock).ok_or(Error::FAILURE)?,
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

    /// How many bytes are behind the streams that were read.
    pub fn left(&self) -> usize {
        self.rest.len()
    }

    /// Reads the stream at the front.
    #[inline(always)]
    pub fn next(&mut self) -> Result<Stream<'a>> {
        let Some((size, rest)) = self.rest.split_at_checked(4) else {
            return Err(Error::READ_BUFFER);
        };
        let size = i32_at(size, 0);
        if self.variable {
            self.rest = &[];
            let same = usize::try_from(size) == Ok(self.neblock);
            return match (same, rest.len() == self.neblock) {
                (false, _) => Err(Error::DATA),
                (_, true) => Ok(Stream::Stored(rest)),
                (_, false) => Ok(Stream::Compressed(rest.into())),
            };
        }
        if size <= 0 && self.rules.is_blosc1() {
            // Blosc 1 has no runs.
            return Err(Error::DATA);
        }
        if size == 0 {
            self.rest = rest;
            return Ok(Stream::Run(0));
        }
        if size < 0 {
            let Some((token, rest)) = rest.split_first() else {
                return Err(Error::READ_BUFFER);
            };
            self.rest = rest;
            return match u8::try_from(-i64::from(size)) {
                Ok(value) if token & 1 != 0 => Ok(Stream::Run(value)),
                _ => Err(Error::RUN_LENGTH),
            };
        }
        if size as usize > self.neblock && !self.rules.is_blosc1() {
            // No encoder writes a stream longer than its data, except Snappy's in Blosc 1. A file might let many blocks share a very long one,
            // which would take long to decode.
            return Err(Error::DATA);
        }
        let Some(data) = PaddedSrc::new(rest, size as usize) else {
            return Err(Error::READ_BUFFER);
        };
        self.rest = &rest[size as usize..];
        Ok(if size as usize == self.neblock {
            Stream::Stored(data.exact())
        } else {
            Stream::Compressed(data)
        })
    }
}

/// The length of the streams at the front of `bytes`, those of a block of `bsize` bytes of data. `each` gets every stream with its size in
/// front.
pub(super) fn streams_len<'a>(
    header: &ChunkHeader,
    bytes: &'a [u8],
    bsize: usize,
    mut each: impl FnMut(&'a [u8]),
) -> Result<usize> {
    let mut streams = Streams::new(header, bytes, bsize)?;
    let mut at = 0;
    for _ in 0..streams.count {
        streams.next()?;
        let next = bytes.len() - streams.left();
        each(&bytes[at..next]);
        at = next;
    }
    Ok(at)
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

    /// The same, but if `joined` is given (the number of byte streams of a shuffled block, and memory for its data), the streams are decoded and
    /// unshuffled in one pass where that is possible. Returns whether they were.
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
            // Blocks that share bytes need more than the bytes up to the next start. No encoder writes them, but they are valid.
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

    /// Decodes block `pos.nblock` into `dst`, which has the block's size. `reference` is the data of the first block; it is needed for
    /// the other blocks if [`Self::needs_reference`] is true.
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

    /// Decodes one stream into `room`, which has the size of its data.
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
            Err(Error::DATA)
        }
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
        registered::decode(codec, data, out, self.hooks)
    }
}

/// The caller's hooks without the postfilter.
struct WithoutPostfilter<'a>(&'a dyn Hooks);

impl Hooks for WithoutPostfilter<'_> {
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
