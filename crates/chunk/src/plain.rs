//! A short way through the plainest chunks: one block, in memory, stored, or of a codec of the format's own and shuffled at most. Small
//! chunks are of this kind, and what is asked and prepared for all others takes nearly as long as to decode one.

use super::checksum::{self, CHECKSUMS, Checksums, Layout};
use super::decode::streams_len;
use super::decode_block::{Stream, Streams};
use super::getitem::{ItemRange, stored};
use super::header::{Blocks, ChunkHeader, MAX_FILTERS, filter_id, i32_at};
use super::scratch::{self, CodecState};
use oxiblosc_codecs::{Codec, PaddedDst};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters::{self, shuffle};

/// Decompresses such a chunk, at the front of `src`, into `dest`, which has the size of its data. None if it is not one, or
/// if something is wrong with it: the long way says what, and may find `dest` overwritten.
pub fn decompress(header: &ChunkHeader, src: &[u8], dest: &mut [u8]) -> Option<()> {
    let [before @ .., last] = header.filters;
    let plain = header.nblocks == 1
        && matches!(header.blocks, Blocks::Regular { .. })
        && header.blosc2_flags == 0
        && header.blosc2_flags2 & !CHECKSUMS == 0
        && !dest.is_empty();
    if !plain {
        return None;
    }
    let (start, len) = (0, dest.len());
    if let Some(data) = stored(header, src, ItemRange { start, len }).ok()? {
        oxiblosc_filters::copy(data, dest);
        return Some(());
    }
    if before != [filter_id::NONE; MAX_FILTERS - 1] {
        return None;
    }
    let nstreams = match (last, header.filters_meta[MAX_FILTERS - 1]) {
        (filter_id::NONE, _) => 1,
        (filter_id::SHUFFLE, 0) => header.typesize,
        (filter_id::SHUFFLE, nstreams) => nstreams,
        _ => return None,
    };
    let codec = Codec::from_format(header.flags >> 5)?;
    let chunk = src.get(..header.cbytes)?;
    let start = chunk.get(header.overhead()..)?.get(..4)?;
    let start = usize::try_from(i32_at(start, 0)).ok()?;
    if start == 0 || start >= chunk.len() {
        return None;
    }
    let mut bytes = &chunk[start..];
    if header.has_checksums() {
        let front = header.overhead() + 4 + Layout::of(header).table_len();
        let sums = Checksums::in_front(chunk.get(..front)?, header).ok()?;
        if sums.is_stored(0, dest.len()) {
            let stream = bytes.get(..4 + dest.len())?;
            return sums.copy_pages(0, stream, dest).ok();
        }
        bytes = &bytes[..streams_len(header, bytes, dest.len(), |_| ()).ok()?];
        sums.check_block(0, bytes).ok()?;
    } else if checksum::is_denied(header, chunk) {
        return None;
    }
    let mut streams = Streams::new(header, bytes, dest.len()).ok()?;
    let mut scratch = scratch::borrow().ok()?;
    let (bufs, state) = scratch.parts();
    let (nstreams, nbytes) = (usize::from(nstreams), dest.len());
    if streams.can_join(nstreams, nbytes) {
        let decode = |stream: Stream, room: PaddedDst| decode(codec, stream, room, state);
        return streams
            .join(bufs.ping.ensure(nbytes).ok()?, dest, decode)
            .ok();
    }
    let block = if nstreams == 1 {
        &mut *dest
    } else {
        bufs.ping.ensure(nbytes).ok()?
    };
    let mut rest = block;
    while !rest.is_empty() {
        let room = PaddedDst::new(&mut *rest, streams.neblock)?;
        decode(codec, streams.next().ok()?, room, state).ok()?;
        rest = &mut rest[streams.neblock..];
    }
    if nstreams != 1 {
        shuffle::unshuffle(nstreams, &bufs.ping[..nbytes], dest);
    }
    Some(())
}

/// Decodes one stream; `room` has the size of its data.
#[inline(always)]
fn decode(codec: Codec, stream: Stream, room: PaddedDst, state: &mut CodecState) -> Result<()> {
    match stream {
        Stream::Run(value) => room.exact().fill(value),
        Stream::Stored(data) => oxiblosc_filters::copy(data, room.exact()),
        Stream::Compressed(data) => {
            let expected = room.size();
            let nbytes = state.decoder.decompress_padded(codec, None, data, room)?;
            if nbytes != expected {
                return Err(Error::Data);
            }
        }
    }
    Ok(())
}
