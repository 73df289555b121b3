//! A fast path for simple chunks: in memory, stored or compressed by a codec of the format, with no
//! filter but a shuffle, and so small that one thread decodes them. To check and prepare what other
//! chunks need would take nearly as long as to decode a small chunk.

use super::checksum::{self, CHECKSUMS, Checksums, TableLayout};
use super::decode_part::MAX_WHOLE;
use super::getitem::{ItemRange, stored};
use super::header::{Blocks, ChunkHeader, MAX_FILTERS, filter_id, i32_at};
use super::scratch::{self, CodecState, Scratch};
use super::streams::{Stream, Streams, streams_len};
use super::workers::PARALLEL_MIN;
use oxiblosc_base::Result;
use oxiblosc_codecs::{Codec, PADDING, PaddedDst};
use oxiblosc_filters::{self, shuffle};

/// Decompresses a simple chunk, at the front of `src`, into `dest`, which has the size of its data.
/// None if the chunk is not simple or is damaged; then `dest` may be partly overwritten, and the
/// general path does the work or reports the error.
#[inline]
pub fn decompress(header: &ChunkHeader, src: &[u8], dest: &mut [u8]) -> Option<()> {
    read(header, src, 0, dest)
}

/// The same, but only the bytes from `start` on, as many as `dest` has. They must be within the
/// chunk's data.
pub fn read(header: &ChunkHeader, src: &[u8], start: usize, dest: &mut [u8]) -> Option<()> {
    let Blocks::Regular { blocksize } = header.blocks else {
        return None;
    };
    let plain = header.blosc2_flags == 0
        && header.blosc2_flags2 & !CHECKSUMS == 0
        && (header.nblocks == 1 || (header.nbytes < PARALLEL_MIN && !header.has_checksums()))
        && !dest.is_empty();
    if !plain {
        return None;
    }
    let len = dest.len();
    if let Some(data) = stored(header, src, ItemRange { start, len }).ok()? {
        oxiblosc_filters::copy(data, dest);
        return Some(());
    }
    let end = start + len;
    // The divisions would be a large part of the work here, and most chunks are read from the
    // start.
    let (first, from) = match start {
        0 => (0, 0),
        _ => (start / blocksize, start % blocksize),
    };
    let cuts_block = from != 0 || !(end == header.nbytes || end.is_multiple_of(blocksize));
    if cuts_block && (blocksize > MAX_WHOLE || header.has_checksums()) {
        // The general path can decode a part of such a block.
        return None;
    }
    let [before @ .., last] = header.filters;
    if before != [filter_id::NONE; MAX_FILTERS - 1] {
        return None;
    }
    let nstreams = match (last, header.filters_meta[MAX_FILTERS - 1]) {
        (filter_id::NONE, _) => 1,
        (filter_id::SHUFFLE, 0) => header.typesize,
        (filter_id::SHUFFLE, nstreams) => nstreams,
        _ => return None,
    };
    let chunk = src.get(..header.cbytes)?;
    if !header.has_checksums() && checksum::may_be_unflagged(header, chunk) {
        return None;
    }
    let blocks = PlainBlocks {
        header,
        chunk,
        starts: chunk.get(header.overhead()..)?.get(..4 * header.nblocks)?,
        codec: Codec::from_format(header.flags >> 5)?,
        nstreams: nstreams.into(),
    };
    let mut scratch = scratch::borrow().ok()?;
    let (mut nblock, mut from, mut dest) = (first, from, dest);
    loop {
        let bsize = blocksize.min(header.nbytes - nblock * blocksize);
        let (part, rest) = dest.split_at_mut(dest.len().min(bsize - from));
        blocks.decode(nblock, bsize, from, part, &mut scratch)?;
        if rest.is_empty() {
            return Some(());
        }
        (nblock, from, dest) = (nblock + 1, 0, rest);
    }
}

/// What all blocks of a simple chunk have in common.
struct PlainBlocks<'a> {
    header: &'a ChunkHeader,
    /// The whole chunk.
    chunk: &'a [u8],
    /// The table of block starts.
    starts: &'a [u8],
    codec: Codec,
    /// Number of byte streams of the shuffle; 1 without a shuffle.
    nstreams: usize,
}

impl PlainBlocks<'_> {
    /// Decodes the bytes from `from` on of a block of `bsize` bytes into `dest`.
    #[inline(always)]
    fn decode(
        &self,
        nblock: usize,
        bsize: usize,
        from: usize,
        dest: &mut [u8],
        scratch: &mut Scratch,
    ) -> Option<()> {
        let bytes = self.bytes(nblock)?;
        if dest.len() == bsize {
            return self.decode_whole(nblock, bytes, dest, scratch);
        }
        self.decode_part(bytes, bsize, from, dest, scratch)
    }

    /// Like [`Self::decode`], for a part of a block. The chunk has no checksums: [`read`] refuses
    /// parts of blocks that do.
    #[inline(never)]
    fn decode_part(
        &self,
        bytes: &[u8],
        bsize: usize,
        from: usize,
        dest: &mut [u8],
        scratch: &mut Scratch,
    ) -> Option<()> {
        let (nstreams, to) = (self.nstreams, from + dest.len());
        let mut streams = Streams::new(self.header, bytes, bsize).ok()?;
        let (bufs, state) = scratch.parts();
        let filtered = bufs.ping.ensure(bsize + PADDING).ok()?;
        let decode = |stream: Stream, out: PaddedDst| decode(self.codec, stream, out, state);
        streams.decode_all(filtered, decode).ok()?;
        let filtered = &filtered[..bsize];
        let whole_items = [bsize, from, to].iter().all(|at| at % nstreams == 0);
        if nstreams == 1 {
            dest.copy_from_slice(&filtered[from..to]);
        } else if !(whole_items && shuffle::join_part(nstreams, filtered, from / nstreams, dest)) {
            let whole = bufs.pong.ensure(bsize).ok()?;
            shuffle::unshuffle(nstreams, filtered, whole);
            dest.copy_from_slice(&whole[from..to]);
        }
        Some(())
    }

    /// The streams of a block, and what follows them.
    #[inline(always)]
    fn bytes(&self, nblock: usize) -> Option<&[u8]> {
        let start = usize::try_from(i32_at(self.starts, 4 * nblock)).ok()?;
        self.chunk
            .get(start..)
            .filter(|bytes| start != 0 && !bytes.is_empty())
    }

    fn decode_whole(
        &self,
        nblock: usize,
        mut bytes: &[u8],
        dest: &mut [u8],
        scratch: &mut Scratch,
    ) -> Option<()> {
        let header = self.header;
        if header.has_checksums() {
            let prefix =
                header.overhead() + 4 * header.nblocks + TableLayout::of(header).table_len();
            let sums = Checksums::in_prefix(self.chunk.get(..prefix)?, header).ok()?;
            if sums.is_stored(nblock, dest.len()) {
                let stream = bytes.get(..4 + dest.len())?;
                return sums.copy_pages(nblock, stream, dest).ok();
            }
            bytes = &bytes[..streams_len(header, bytes, dest.len(), |_| ()).ok()?];
            sums.check_block(nblock, bytes).ok()?;
        }
        let (codec, nstreams, nbytes) = (self.codec, self.nstreams, dest.len());
        let mut streams = Streams::new(header, bytes, nbytes).ok()?;
        let (bufs, state) = scratch.parts();
        // Three closures, as one that is used thrice is not inlined: a call for each stream,
        // through memory, is a third of the time for a small chunk.
        if nstreams == 1 {
            let decode = |stream: Stream, out: PaddedDst| decode(codec, stream, out, state);
            return streams.decode_all(dest, decode).ok();
        }
        let filtered = bufs.ping.ensure(nbytes + PADDING).ok()?;
        if streams.can_join(nstreams, nbytes) {
            let decode = |stream: Stream, out: PaddedDst| decode(codec, stream, out, state);
            return streams.join(filtered, dest, decode).ok();
        }
        let decode = |stream: Stream, out: PaddedDst| decode(codec, stream, out, state);
        streams.decode_all(filtered, decode).ok()?;
        shuffle::unshuffle(nstreams, &filtered[..nbytes], dest);
        Some(())
    }
}

/// Decodes one stream into `out`, which has the size of its data.
#[inline(always)]
fn decode(codec: Codec, stream: Stream, out: PaddedDst, state: &mut CodecState) -> Result<()> {
    stream.decode(out, |data, out| {
        state.decoder.decompress_padded(codec, None, data, out)
    })
}
