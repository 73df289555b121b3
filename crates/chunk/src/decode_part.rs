//! A few bytes out of a block, without undoing the filters for all of it.

use super::decode_block::{BlockDecoder, Stream, Streams};
use super::header::{flags2, version};
use super::pipeline::Stage;
use super::registered;
use super::scratch::{Bufs, CodecState};
use oxiblosc_codecs::Codec;
use oxiblosc_error::{Error, Result};
use oxiblosc_filters::{bitshuffle, shuffle};
use oxiblosc_memory::{AlignedBuffer, List};

/// Blocks that are not larger are decoded as a whole in the time that it takes to look for parts.
pub(super) const SMALL: usize = 4096;

/// The decoded data of a stream, at least as much as was asked for.
enum StreamData<'a> {
    /// What begins at this place in the stream's data.
    Bytes(usize, &'a [u8]),
    Run(u8),
}

/// The data of a block before the filters are undone, in streams.
struct FilteredStreams<'a> {
    streams: List<StreamData<'a>>,
    neblock: usize,
}

impl FilteredStreams<'_> {
    /// Copies the bytes from `at` on, of which all were wanted.
    fn copy(&self, at: usize, out: &mut [u8]) {
        let (mut at, mut out) = (at, out);
        while !out.is_empty() {
            let (stream, from) = (at / self.neblock, at % self.neblock);
            let len = out.len().min(self.neblock - from);
            let (front, rest) = out.split_at_mut(len);
            match self.streams[stream] {
                StreamData::Bytes(at, bytes) => front.copy_from_slice(&bytes[from - at..][..len]),
                StreamData::Run(value) => front.fill(value),
            }
            (at, out) = (at + len, rest);
        }
    }
}

/// The planes of a block. Byte `i` of all of them together are the bytes `i * count..(i + 1) * count` of the block: an item or, in planes of
/// bits, eight items.
struct Planes {
    count: usize,
    /// Bytes of a plane.
    row: usize,
    /// From where to where in each plane the bytes are that are wanted.
    lo: usize,
    hi: usize,
}

/// Items of a block that are taken out of it one by one.
pub struct Items<'a> {
    filtered: FilteredStreams<'a>,
    planes: usize,
    /// Bytes of a plane.
    row: usize,
    /// From where to where in the block they are, in bytes.
    from: usize,
    to: usize,
}

impl Items<'_> {
    /// Copies the bytes from `from` on of the block into `out`.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] outside of what was asked for.
    pub fn get(&self, from: usize, out: &mut [u8]) -> Result<()> {
        let (planes, len) = (self.planes, out.len());
        let aligned = from.is_multiple_of(planes) && len.is_multiple_of(planes);
        if !aligned || from < self.from || from > self.to || len > self.to - from {
            return Err(Error::InvalidParam);
        }
        if planes == 1 {
            self.filtered.copy(from, out);
            return Ok(());
        }
        let (first, count) = (from / planes, len / planes);
        for plane in 0..planes {
            let at = plane * self.row + first;
            let (stream, from) = (at / self.filtered.neblock, at % self.filtered.neblock);
            let places = out[plane..].iter_mut().step_by(planes);
            // A stream holds whole planes: it is one of the block's, or all of it.
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
    /// Whether the streams of a block may be undone in part.
    fn has_parts(&self) -> bool {
        let header = &self.chunk.header;
        self.chunk.has_streams()
            && !self.hooks.has_postfilter()
            && header.blosc2_flags & flags2::INSTRUMENTED == 0
            && !header.has_vlblocks()
    }

    /// Undoes the streams of a block of `bsize` bytes as far as `end` says for each that begins at a place in the block's
    /// data and has a length; what is stored is used where it is. What is wanted of a block without filters is in `span`.
    /// None where that cannot be done.
    fn front<'s>(
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
                streams: List::of([StreamData::Bytes(at, bytes)])?,
                neblock: bsize,
            }));
        }
        let data = data.ensure(bsize)?;
        let bytes = chunk.block_bytes(nblock, false, input)?;
        let mut streams = Streams::new(chunk.header, bytes, bsize)?;
        let neblock = streams.neblock;
        let mut filtered = FilteredStreams {
            streams: List::with_capacity(bsize / neblock)?,
            neblock,
        };
        for (j, out) in data.chunks_exact_mut(neblock).enumerate() {
            let end = end(j * neblock, neblock);
            let stream = match streams.next() {
                // Perhaps more of its bytes have to be read.
                Err(Error::ReadBuffer) if chunk.is_lazy() => return Ok(None),
                stream => stream?,
            };
            filtered.streams.push(match stream {
                Stream::Run(value) => StreamData::Run(value),
                Stream::Stored(bytes) => StreamData::Bytes(0, bytes),
                Stream::Compressed(bytes) => {
                    if end > 0 {
                        let got = state.decoder.decompress_front(
                            codec,
                            chunk.dict.as_deref(),
                            bytes.exact(),
                            out,
                            end,
                        )?;
                        if got < end {
                            return Err(Error::Data);
                        }
                    }
                    StreamData::Bytes(0, out)
                }
            })?;
        }
        Ok(Some(filtered))
    }

    /// Runs `body` with the items, of `item` bytes each, of block `nblock` that lie in its bytes from `from` to before `to`,
    /// where the pipeline is one that allows it: no filter, or one shuffle. Says whether it was done.
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
        let filtered = self.front((nblock, bsize, codec), (from, to), end, places, state)?;
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

    /// Copies the bytes from `from` on of block `nblock` into `part`, where the pipeline is one that allows it: no
    /// filter, or one shuffle. Says whether it was done; if not, the block has to be decoded as a whole.
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
        let Planes { count, row, lo, hi } = planes;
        // Of each stream, the last byte that any plane needs.
        let end = |start, len| last_needed(start, len, row, count, hi);
        let places = (&mut bufs.ping, &mut bufs.input);
        let filtered = self.front((nblock, bsize, codec), span, end, places, codec_state)?;
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

    /// The bytes of the planes of a block of `bsize` bytes that hold its bytes in `span`. None where the pipeline is another one or the
    /// block is better decoded as a whole.
    fn planes_of_part(&self, bsize: usize, (from, to): (usize, usize)) -> Option<Planes> {
        let header = &self.chunk.header;
        let count = match self.pipeline.stages() {
            [] => 1,
            [Stage::Shuffle(streams)] => usize::from(*streams),
            // Blosc 1 leaves blocks alone whose items do not come in eights.
            [Stage::BitShuffle] if header.version > version::BLOSC1 => {
                8 * usize::from(header.typesize)
            }
            _ => return None,
        };
        let row = bsize / count;
        let (lo, hi) = (from / count, to.div_ceil(count));
        // Bytes left over at the end of the block are not shuffled; and large parts are not worth the detour.
        (hi <= row && bsize > SMALL && (hi - lo) * count <= bsize / 2).then_some(Planes {
            count,
            row,
            lo,
            hi,
        })
    }

    /// The same for a codec that is none of the format's own, where that can read parts: without filters, of a block that
    /// is one stream.
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
                registered::decode_part(codec, data.exact(), from, part, self.hooks)
            }
            _ => Ok(false),
        }
    }
}

/// Planes of `row` bytes follow each other from the front of the block, and of each the bytes before `hi` are wanted.
/// A stream holds the block's bytes from `start` on, `len` of them: how many from its front are needed?
fn last_needed(start: usize, len: usize, row: usize, planes: usize, hi: usize) -> usize {
    let end = start + len;
    // The last plane that begins inside the stream, or reaches into it.
    let plane = ((end - 1) / row).min(planes - 1);
    let wanted = (plane * row + hi).min(end);
    if wanted > start {
        return wanted - start;
    }
    // That plane begins after what is wanted of it; the one before it may still reach in.
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
