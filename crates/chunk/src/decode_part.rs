//! Reads a few bytes of a block without undoing the filters of the whole block.

use super::decode_block::BlockDecoder;
use super::header::{flags2, version};
use super::pipeline::Stage;
use super::registered;
use super::scratch::{Bufs, CodecState};
use super::streams::{Stream, Streams};
use oxiblosc_base::memory::{AlignedBuffer, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_codecs::Codec;
use oxiblosc_filters::{bitshuffle, shuffle};

/// Blocks up to this size are decoded as a whole, as that takes no longer than to find and copy a
/// part.
pub(super) const MAX_WHOLE: usize = 4096;

/// The decoded data of a stream, or as much of its front as is needed.
enum StreamData<'a> {
    /// A part of the stream's data, and the offset in the stream where it begins.
    Bytes(usize, &'a [u8]),
    Run(u8),
}

/// The data of a block before the filters are undone, in streams.
struct FilteredStreams<'a> {
    streams: TryVec<StreamData<'a>>,
    neblock: usize,
}

impl FilteredStreams<'_> {
    /// The stream in which the byte `at` of the block lies, and its offset there.
    #[inline]
    fn locate(&self, at: usize) -> (usize, usize) {
        // Most blocks are one stream, and a division takes longer than copying an item.
        match at < self.neblock {
            true => (0, at),
            false => (at / self.neblock, at % self.neblock),
        }
    }

    /// Copies the bytes from `at` on, which must have been decoded.
    #[inline]
    fn copy(&self, at: usize, out: &mut [u8]) {
        let (mut at, mut out) = (at, out);
        while !out.is_empty() {
            let (stream, from) = self.locate(at);
            let len = out.len().min(self.neblock - from);
            let (prefix, rest) = out.split_at_mut(len);
            match self.streams[stream] {
                StreamData::Bytes(at, bytes) => match (&mut *prefix, &bytes[from - at..][..len]) {
                    // One item is one byte of each plane: no call of `memcpy` for each.
                    ([to], [byte]) => *to = *byte,
                    (to, bytes) => to.copy_from_slice(bytes),
                },
                StreamData::Run(value) => prefix.fill(value),
            }
            (at, out) = (at + len, rest);
        }
    }
}

/// The planes of a shuffled block: the bytes at offset `i` in all planes form the bytes `i *
/// count..(i + 1) * count` of the block. These are one item, or eight items with bitshuffle.
struct PlaneRange {
    count: usize,
    /// Bytes of a plane.
    row: usize,
    /// The range of bytes that is needed of each plane.
    lo: usize,
    hi: usize,
}

/// A range of a block, from which single items can be read.
pub struct Items<'a> {
    filtered: FilteredStreams<'a>,
    planes: usize,
    /// Bytes of a plane.
    row: usize,
    /// The range, in bytes of the block.
    from: usize,
    to: usize,
}

impl Items<'_> {
    /// Copies the bytes from `from` on of the block into `out`.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] outside the range, and for parts of items.
    pub fn get(&self, from: usize, out: &mut [u8]) -> Result<()> {
        let (planes, len) = (self.planes, out.len());
        let aligned = from.is_multiple_of(planes) && len.is_multiple_of(planes);
        if !aligned || from < self.from || from > self.to || len > self.to - from {
            return Err(Error::INVALID_PARAM);
        }
        if planes == 1 {
            self.filtered.copy(from, out);
            return Ok(());
        }
        let (first, count) = (from / planes, len / planes);
        for plane in 0..planes {
            let (stream, from) = self.filtered.locate(plane * self.row + first);
            let places = out[plane..].iter_mut().step_by(planes);
            // A stream holds whole planes: the block is one stream, or each plane is one.
            match self.filtered.streams[stream] {
                StreamData::Run(value) => places.for_each(|place| *place = value),
                StreamData::Bytes(at, bytes) => {
                    let bytes = &bytes[from - at..][..count];
                    places.zip(bytes).for_each(|(place, byte)| *place = *byte);
                }
            }
        }
        Ok(())
    }
}

impl BlockDecoder<'_> {
    /// Whether a part of a block can be decoded.
    fn has_parts(&self) -> bool {
        let header = &self.chunk.header;
        self.chunk.has_streams()
            && !self.hooks.has_postfilter()
            && header.blosc2_flags & flags2::INSTRUMENTED == 0
            && !header.has_vlblocks()
    }

    /// Decodes the front of each stream of a block of `bsize` bytes: `end(start, len)` is how many
    /// bytes are needed of the stream that holds the bytes `start..start + len` of the filtered
    /// block. Stored streams are used where they lie. Of a paged block only `span` is read. None if
    /// it is a block that must be decoded as a whole.
    fn decode_fronts<'s>(
        &'s self,
        (nblock, bsize, codec): (usize, usize, Codec),
        span: (usize, usize),
        end: impl Fn(usize, usize) -> usize,
        (data, input): (&'s mut AlignedBuffer, &'s mut AlignedBuffer),
        state: &mut CodecState,
    ) -> Result<Option<FilteredStreams<'s>>> {
        let chunk = self.chunk;
        if chunk.is_stored_block(nblock, bsize) {
            let (at, bytes) = chunk.stored_part((nblock, bsize), span, input)?;
            return Ok(Some(FilteredStreams {
                streams: TryVec::of([StreamData::Bytes(at, bytes)])?,
                neblock: bsize,
            }));
        }
        let data = data.ensure(bsize)?;
        let bytes = chunk.block_bytes(nblock, false, input)?;
        let mut streams = Streams::new(chunk.header, bytes, bsize)?;
        let neblock = streams.neblock;
        let mut filtered = FilteredStreams {
            streams: TryVec::with_capacity(bsize / neblock)?,
            neblock,
        };
        for (j, out) in data.chunks_exact_mut(neblock).enumerate() {
            let end = end(j * neblock, neblock);
            let stream = match streams.next() {
                // Blocks that share bytes have more of them than were read.
                Err(error) if error == Error::READ_BUFFER && chunk.is_lazy() => return Ok(None),
                stream => stream?,
            };
            filtered.streams.push(match stream {
                Stream::Run(value) => StreamData::Run(value),
                Stream::Stored(bytes) => StreamData::Bytes(0, bytes),
                Stream::Compressed(bytes) => {
                    if end > 0 {
                        let got = state.decoder.decompress_prefix(
                            codec,
                            chunk.dict.as_deref(),
                            bytes.exact(),
                            out,
                            end,
                        )?;
                        if got < end {
                            return Err(Error::DATA);
                        }
                    }
                    StreamData::Bytes(0, out)
                }
            })?;
        }
        Ok(Some(filtered))
    }

    /// Runs `body` with the items, of `item` bytes each, in the bytes `from..to` of block `nblock`.
    /// Returns false if the pipeline does not allow it: it must be empty or one shuffle.
    pub fn decode_items(
        &self,
        nblock: usize,
        (from, to, item): (usize, usize, usize),
        (bufs, state): (&mut Bufs, &mut CodecState),
        body: impl FnOnce(&Items) -> Result<()>,
    ) -> Result<bool> {
        let bsize = self.chunk.block_nbytes(nblock)?;
        let Some(codec) = self.codec.filter(|_| self.has_parts()) else {
            return Ok(false);
        };
        let planes = match self.pipeline.stages() {
            [] => 1,
            [Stage::Shuffle(streams)] => usize::from(*streams),
            _ => return Ok(false),
        };
        let aligned = item.is_multiple_of(planes) && bsize.is_multiple_of(planes);
        if from > to || to > bsize || !aligned {
            return Ok(false);
        }
        let row = bsize / planes;
        let hi = to.div_ceil(planes);
        let end = |start, len| last_needed(start, len, row, planes, hi);
        let places = (&mut bufs.ping, &mut bufs.input);
        let filtered =
            self.decode_fronts((nblock, bsize, codec), (from, to), end, places, state)?;
        let Some(filtered) = filtered.filter(|f| f.neblock.is_multiple_of(row)) else {
            return Ok(false);
        };
        body(&Items {
            filtered,
            planes,
            row,
            from,
            to,
        })?;
        Ok(true)
    }

    /// Copies the bytes of block `nblock` from `from` on into `part`. Returns false if the block
    /// has to be decoded as a whole: a part can be decoded only without filters, or with one
    /// shuffle or bitshuffle.
    pub fn decode_part(
        &self,
        nblock: usize,
        from: usize,
        part: &mut [u8],
        (bufs, codec_state): (&mut Bufs, &mut CodecState),
    ) -> Result<bool> {
        let bsize = self.chunk.block_nbytes(nblock)?;
        if !self.has_parts() {
            return Ok(false);
        }
        if self.chunk.is_stored_block(nblock, bsize) {
            let span = (from, from + part.len());
            let stored = self
                .chunk
                .stored_part((nblock, bsize), span, &mut bufs.input);
            let (at, bytes) = stored?;
            part.copy_from_slice(&bytes[from - at..][..part.len()]);
            return Ok(true);
        }
        let Some(codec) = self.codec else {
            return self.decode_registered_part((nblock, bsize), from, part, bufs);
        };
        let span = (from, from + part.len());
        let Some(planes) = self.planes_of_part(bsize, span) else {
            return Ok(false);
        };
        let PlaneRange { count, row, lo, hi } = planes;
        // Of each stream, up to the last byte that is needed of any plane in it.
        let end = |start, len| last_needed(start, len, row, count, hi);
        let places = (&mut bufs.ping, &mut bufs.input);
        let filtered =
            self.decode_fronts((nblock, bsize, codec), span, end, places, codec_state)?;
        let Some(filtered) = filtered else {
            return Ok(false);
        };
        let size = (hi - lo) * count;
        let picked = bufs.pong.ensure(2 * size)?;
        let (gathered, items) = picked.split_at_mut(size);
        for (plane, out) in gathered.chunks_exact_mut(hi - lo).enumerate() {
            filtered.copy(plane * row + lo, out);
        }
        match self.pipeline.stages() {
            [Stage::Shuffle(streams)] => shuffle::unshuffle(usize::from(*streams), gathered, items),
            [Stage::BitShuffle] => {
                bitshuffle::bitunshuffle(count / 8, gathered, items, version::STABLE);
            }
            _ => items.copy_from_slice(gathered),
        }
        let skip = from - lo * count;
        part.copy_from_slice(&items[skip..skip + part.len()]);
        Ok(true)
    }

    /// The parts of the planes of a block of `bsize` bytes that hold its bytes in `span`. None if
    /// the pipeline does not allow it, or the block is faster decoded as a whole.
    fn planes_of_part(&self, bsize: usize, (from, to): (usize, usize)) -> Option<PlaneRange> {
        let header = &self.chunk.header;
        let count = match self.pipeline.stages() {
            [] => 1,
            [Stage::Shuffle(streams)] => usize::from(*streams),
            // Blosc 1 does not shuffle a block whose number of items is no multiple of eight.
            [Stage::BitShuffle] if header.version > version::BLOSC1 => {
                8 * usize::from(header.typesize)
            }
            _ => return None,
        };
        let row = bsize / count;
        let (lo, hi) = (from / count, to.div_ceil(count));
        // The bytes at the end that form no whole item are not shuffled, and large parts take
        // longer than the whole block.
        (hi <= row && bsize > MAX_WHOLE && (hi - lo) * count <= bsize / 2).then_some(PlaneRange {
            count,
            row,
            lo,
            hi,
        })
    }

    /// The same for a registered codec that can decode parts, for blocks of one stream without
    /// filters.
    #[cold]
    fn decode_registered_part(
        &self,
        (nblock, bsize): (usize, usize),
        from: usize,
        part: &mut [u8],
        bufs: &mut Bufs,
    ) -> Result<bool> {
        let (chunk, header) = (self.chunk, &self.chunk.header);
        if !self.pipeline.stages().is_empty() || header.flags >> 5 != header.rules.other_codec() {
            return Ok(false);
        }
        let bytes = chunk.block_bytes(nblock, false, &mut bufs.input)?;
        let mut streams = Streams::new(header, bytes, bsize)?;
        match streams.next() {
            Ok(Stream::Compressed(data)) if streams.neblock == bsize => {
                let codec = (header.udcompcode, header.compcode_meta);
                registered::decode_part(codec, data.exact(), from, part, self.hooks.registered())
            }
            _ => Ok(false),
        }
    }
}

/// How many bytes are needed from the front of a stream. It holds the bytes `start..start + len` of
/// a block of planes of `row` bytes each, of which the first `hi` are needed.
fn last_needed(start: usize, len: usize, row: usize, planes: usize, hi: usize) -> usize {
    let end = start + len;
    // The plane in which the stream ends.
    let plane = ((end - 1) / row).min(planes - 1);
    let wanted = (plane * row + hi).min(end);
    if wanted > start {
        return wanted - start;
    }
    // The stream lies in one plane, behind the bytes that are needed of it.
    0
}

#[cfg(test)]
mod tests {
    use super::last_needed;

    #[test]
    fn streams_are_decoded_as_far_as_a_plane_reaches() {
        // One stream a plane.
        assert_eq!(last_needed(300, 100, 100, 8, 7), 7);
        // One stream for all planes: up to the last plane.
        assert_eq!(last_needed(0, 800, 100, 8, 7), 707);
        // A stream of two planes.
        assert_eq!(last_needed(200, 200, 100, 8, 7), 107);
        assert_eq!(last_needed(0, 100, 100, 1, 100), 100);
    }
}
