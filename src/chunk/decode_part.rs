//! A few bytes out of a block, without undoing the filters for all of it.

use super::decode_block::{BlockDecoder, Stream, Streams, UDCODEC_FORMAT};
use super::header::{flags2, version};
use super::pipeline::Stage;
use super::registered;
use super::scratch::{Bufs, State};
use crate::error::{Error, Result};
use crate::filter::{bitshuffle, shuffle};

impl BlockDecoder<'_> {
    /// Copies the bytes from `from` on of block `nblock` into `part`, where the pipeline is one that allows it: no
    /// filter, or one shuffle. Says whether it was done; if not, the block has to be decoded as a whole.
    pub fn decode_part(
        &self,
        nblock: usize,
        from: usize,
        part: &mut [u8],
        (bufs, codec_state): (&mut Bufs, &mut State),
    ) -> Result<bool> {
        let chunk = self.chunk;
        let header = &chunk.header;
        let bsize = chunk.block_nbytes(nblock)?;
        let plain = chunk.has_streams()
            && !self.hooks.has_postfilter()
            && header.blosc2_flags & flags2::INSTRUMENTED == 0;
        if !plain || header.has_vlblocks() {
            return Ok(false);
        }
        let Some(codec) = self.codec else {
            return self.decode_registered_part((nblock, bsize), from, part, bufs);
        };
        let (planes, group) = match self.pipeline.stages() {
            [] => (1, 1),
            [Stage::Shuffle(streams)] => (usize::from(*streams), 1),
            // Bit planes hold one bit of each item, so items come in eights.
            // Blosc 1 leaves blocks alone whose items do not come in eights.
            [Stage::BitShuffle] if header.version <= version::BLOSC1 => return Ok(false),
            [Stage::BitShuffle] => (8 * usize::from(header.typesize), 8),
            _ => return Ok(false),
        };
        let item = planes / group;
        let nitems = bsize / item / group * group;
        let first = from / item / group * group;
        let last = ((from + part.len()).div_ceil(item)).next_multiple_of(group);
        let tail = nitems * item;
        if last > nitems || (last - first) * item > bsize / 2 {
            // Bytes left over at the end of the block are not shuffled; and large parts are not worth the detour.
            return Ok(false);
        }
        let (lo, hi) = (first / group, last / group);
        let row = tail / planes;
        let data = bufs.ping.ensure(bsize)?;
        let bytes = chunk.block_bytes(nblock, false, &mut bufs.input)?;
        let mut streams = Streams::new(header, bytes, bsize)?;
        let neblock = streams.neblock;
        for (j, out) in data.chunks_exact_mut(neblock).enumerate() {
            // The last byte of this stream that any plane needs.
            let end = last_needed(j * neblock, neblock, row, planes, hi);
            let stream = match streams.next() {
                // Perhaps its bytes go on elsewhere.
                Err(Error::ReadBuffer) if chunk.is_elsewhere() => return Ok(false),
                stream => stream?,
            };
            match stream {
                Stream::Run(value) => out[..end].fill(value),
                Stream::Stored(bytes) => out[..end].copy_from_slice(&bytes[..end]),
                Stream::Compressed(_) if end == 0 => {}
                Stream::Compressed(bytes) => {
                    let got = codec_state.decoder.decompress_front(
                        codec,
                        chunk.dict.as_deref(),
                        bytes,
                        out,
                        end,
                    )?;
                    if got < end {
                        return Err(Error::Data);
                    }
                }
            }
        }
        let size = (last - first) * item;
        let picked = bufs.pong.ensure(2 * size)?;
        let (gathered, items) = picked.split_at_mut(size);
        for (plane, out) in gathered.chunks_exact_mut(hi - lo).enumerate() {
            out.copy_from_slice(&data[plane * row + lo..plane * row + hi]);
        }
        match self.pipeline.stages() {
            [Stage::Shuffle(streams)] => shuffle::unshuffle(usize::from(*streams), gathered, items),
            [Stage::BitShuffle] => bitshuffle::bitunshuffle(item, gathered, items, version::STABLE),
            _ => items.copy_from_slice(gathered),
        }
        let skip = from - first * item;
        part.copy_from_slice(&items[skip..skip + part.len()]);
        Ok(true)
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
        if !self.pipeline.stages().is_empty() || header.flags >> 5 != UDCODEC_FORMAT {
            return Ok(false);
        }
        let bytes = chunk.block_bytes(nblock, false, &mut bufs.input)?;
        let mut streams = Streams::new(header, bytes, bsize)?;
        match streams.next() {
            Ok(Stream::Compressed(data)) if streams.neblock == bsize => {
                let codec = (header.udcompcode, header.compcode_meta);
                registered::decode_part(codec, data, from, part, self.hooks)
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
