//! The index of a frame: a chunk of offsets, compressed or stored.

use super::header::FrameKind;
use super::offsets::{BASE_BUDGET, MAX_CHUNKS, Offsets, WIDTH};
use super::runs::{Runs, Span};
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode::decompress_block;
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{
    Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_OVERHEAD, Special, flags2,
};
use oxiblosc_chunk::hooks::{NoHooks, Serial};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::special::SpecialChunk;
use oxiblosc_chunk::tune::NEVER_SPLIT;
use oxiblosc_codecs::Codec;

/// The block size of an index that this library writes.
const BLOCKSIZE: usize = 16 << 10;
/// The highest compression ratio of an index. Every writer uses blocks of 16 KB, which no codec
/// compresses to less than 16 bytes. Only a malicious file exceeds this ratio, to keep its reader
/// busy.
const MAX_RATIO: usize = 1 << 10;

/// Bytes of memory that the offsets of a frame of `frame_len` bytes may occupy, as a list and as
/// runs.
///
/// In a contiguous frame, offsets need little memory compared with the chunks. For a directory more
/// is allowed: `frame_len` is only the size of the file with the index, and there may be millions
/// of other files, numbered in any order.
fn max_memory(kind: FrameKind, frame_len: u64) -> (usize, usize) {
    let frame_len = usize::try_from(frame_len).unwrap_or(usize::MAX);
    let times = match kind {
        FrameKind::Contiguous => 4,
        FrameKind::Sparse => 16,
    };
    let most = |times: usize| frame_len.saturating_mul(times).saturating_add(BASE_BUDGET);
    (most(2), most(times))
}

/// Collects offsets: in a list, or in runs if a list of them would take too much memory.
struct OffsetsBuilder {
    offsets: Offsets,
    /// The most bytes that they may occupy as a list, and as runs.
    most: (usize, usize),
}

impl OffsetsBuilder {
    /// For `count` offsets.
    fn new(count: usize, most: (usize, usize)) -> Result<Self> {
        let list = TryVec::with_capacity(count.min(most.0 / WIDTH))?;
        Ok(Self {
            offsets: Offsets::List(list),
            most,
        })
    }

    fn push(&mut self, offset: i64) -> Result<()> {
        if let Offsets::List(list) = &mut self.offsets {
            if (list.len() + 1) * WIDTH <= self.most.0 {
                list.push(offset)?;
                return Ok(());
            }
            let mut runs = Runs::default();
            for offset in list {
                Self::push_run(&mut runs, *offset, 1, self.most.1)?;
            }
            self.offsets = Offsets::Runs(runs);
        }
        match &mut self.offsets {
            Offsets::Runs(runs) => Self::push_run(runs, offset, 1, self.most.1),
            _ => Err(Error::FAILURE),
        }
    }

    /// Adds offsets in the format of an index.
    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let (items, _) = bytes.as_chunks::<WIDTH>();
        let mut offsets = items.iter().map(|item| i64::from_le_bytes(*item));
        match &mut self.offsets {
            Offsets::List(list) if (list.len() + items.len()) * WIDTH <= self.most.0 => {
                list.extend(offsets)
            }
            Offsets::Runs(runs) if items.windows(2).all(|two| two[0] == two[1]) => {
                let first = offsets.next().unwrap_or(0);
                Self::push_run(runs, first, items.len(), self.most.1)
            }
            _ => offsets.try_for_each(|offset| self.push(offset)),
        }
    }

    /// Adds an offset `count` times.
    fn push_run(runs: &mut Runs, first: i64, count: usize, most: usize) -> Result<()> {
        let step = 0;
        runs.push_span(Span { first, step, count })?;
        if runs.bytes() > most {
            return Err(Error::MEMORY_ALLOC);
        }
        Ok(())
    }
}

impl Offsets {
    /// Reads an index. The frame has `frame_len` bytes; in a directory, these are the bytes of the
    /// file with the index. `count` is the number of chunks according to the frame's header, if
    /// that has it: while another process appends, a stored index may have more offsets, which are
    /// left out.
    ///
    /// # Errors
    /// Those of a damaged chunk; [`Error::MEMORY_ALLOC`], also if the offsets need much more memory
    /// than is usual for such a frame.
    pub fn decode(
        bytes: &[u8],
        count: Option<usize>,
        kind: FrameKind,
        frame_len: u64,
    ) -> Result<Self> {
        let header = ChunkHeader::parse(bytes)?;
        // BloscLZ, with which indexes are compressed, has no dictionaries: the flag has no meaning
        // there.
        let takes_dict = || Codec::from_format(header.flags >> 5).is_none_or(Codec::supports_dict);
        let plain = header.blosc2_flags & flags2::USE_DICT == 0 || !takes_dict();
        let numbers = header.nbytes.is_multiple_of(WIDTH) && usize::from(header.typesize) == WIDTH;
        if !numbers || !plain {
            return Err(Error::INVALID_HEADER);
        }
        let held = header.nbytes / WIDTH;
        let count = count.unwrap_or(held);
        if count > held || (count < held && !header.is_memcpyed()) {
            return Err(Error::DATA);
        }
        let chunk = Chunk::parse(&header, bytes)?;
        let repeated = match header.special() {
            Special::None => None,
            Special::Zero => Some(0),
            Special::Value if header.cbytes == header.overhead() + WIDTH => {
                let mut value = [0; WIDTH];
                value.copy_from_slice(&bytes[header.overhead()..header.cbytes]);
                Some(i64::from_le_bytes(value))
            }
            _ => return Err(Error::DATA),
        };
        if let Some(offset) = repeated {
            return Ok(Self::Repeated { offset, count });
        }
        let mut builder = OffsetsBuilder::new(count, max_memory(kind, frame_len))?;
        if header.is_memcpyed() {
            builder.take(&bytes[header.overhead()..][..count * WIDTH])?;
        } else {
            each_block(&chunk, |bytes| builder.take(bytes))?;
        }
        Ok(builder.offsets)
    }

    /// The offsets in the format of an index, without its header.
    fn to_bytes(&self) -> Result<TryVec<u8>> {
        let mut bytes = TryVec::filled(0, self.len() * WIDTH)?;
        if let Self::List(list) = self {
            let (items, _) = bytes.as_chunks_mut::<WIDTH>();
            for (item, offset) in items.iter_mut().zip(list) {
                *item = offset.to_le_bytes();
            }
            return Ok(bytes);
        }
        for (item, offset) in bytes.chunks_exact_mut(WIDTH).zip(self.iter()) {
            item.copy_from_slice(&offset.to_le_bytes());
        }
        Ok(bytes)
    }

    /// A compressed index, as the reference writes it.
    ///
    /// # Errors
    /// [`Error::DATA`] for more than [`MAX_CHUNKS`] offsets; [`Error::MEMORY_ALLOC`].
    pub fn encode(&self) -> Result<TryVec<u8>> {
        #[cfg(test)]
        ENCODED.set(ENCODED.get() + self.len());
        if self.len() > MAX_CHUNKS {
            return Err(Error::DATA);
        }
        if let Self::Repeated { offset, count } = *self {
            let mut chunk = TryVec::filled(0, EXTENDED_HEADER_LENGTH + WIDTH)?;
            let nbytes = count * WIDTH;
            let repeated = SpecialChunk {
                special: Special::Value,
                nbytes,
                blocksize: nbytes.clamp(1, BLOCKSIZE),
                typesize: WIDTH,
                value: &offset.to_le_bytes(),
            };
            repeated.write(&mut chunk);
            return Ok(chunk);
        }
        if let Self::Runs(runs) = self
            && let Some(chunk) = encode_runs(runs)?
        {
            return Ok(chunk);
        }
        let bytes = self.to_bytes()?;
        let mut chunk = TryVec::filled(0, bytes.len() + EXTENDED_HEADER_LENGTH)?;
        let header = compress(
            &params(bytes.len())?,
            ChunkInput::Buffer(&bytes),
            &mut chunk,
            &NoHooks,
            &Serial,
        )?;
        chunk.truncate(header.ok_or(Error::FAILURE)?.cbytes);
        Ok(chunk)
    }

    /// An index that is not compressed, so that more offsets can be written behind the last one.
    ///
    /// # Errors
    /// As for [`Self::encode`].
    pub fn encode_stored(&self) -> Result<TryVec<u8>> {
        let mut chunk = TryVec::filled(0, EXTENDED_HEADER_LENGTH)?;
        chunk[..].copy_from_slice(&stored_header(self.len())?);
        chunk.extend_from_slice(&self.to_bytes()?)?;
        Ok(chunk)
    }
}

/// The same index as of a list of the offsets, but each block of one repeated offset is compressed
/// only once, so that it takes time and memory for what is there. None if the blocks that differ do
/// not compress.
fn encode_runs(runs: &Runs) -> Result<Option<TryVec<u8>>> {
    let params = params(runs.len() * WIDTH)?;
    let per_block = params.blocksize / WIDTH;
    let nblocks = runs.len().div_ceil(per_block);
    let range = |nblock: usize| nblock * per_block..runs.len().min((nblock + 1) * per_block);
    // Which of the blocks that are compressed each block is.
    let (mut bytes, mut which) = (TryVec::new(), TryVec::with_capacity(nblocks)?);
    let (mut repeated, mut count) = (None, 0u32);
    for range in (0..nblocks).map(range) {
        let same = runs
            .repeated(range.clone())
            .filter(|_| range.len() == per_block);
        let known = repeated.filter(|(offset, _)| Some(*offset) == same);
        which.push(known.map_or(count, |(_, nblock)| nblock))?;
        if known.is_some() {
            continue;
        }
        let at = bytes.len();
        bytes.resize(at + range.len() * WIDTH, 0)?;
        runs.read(range.start, bytes[at..].as_chunks_mut().0);
        repeated = same.map(|offset| (offset, count)).or(repeated);
        count += 1;
    }
    let mut different = TryVec::filled(0, bytes.len() + EXTENDED_HEADER_LENGTH)?;
    let input = ChunkInput::Buffer(&bytes);
    let header = compress(&params, input, &mut different, &NoHooks, &Serial)?;
    let header = header.ok_or(Error::FAILURE)?;
    if header.is_memcpyed() || header.special() != Special::None {
        return Ok(None);
    }
    let different = Chunk::parse(&header, &different)?;
    let starts = header.overhead();
    let mut chunk = TryVec::filled(0, starts + 4 * nblocks)?;
    for (nblock, from) in which.iter().enumerate() {
        let start = (chunk.len() as i32).to_le_bytes();
        chunk[starts + 4 * nblock..][..4].copy_from_slice(&start);
        chunk.extend_from_slice(different.checked_streams(*from as usize)?)?;
    }
    let nbytes = runs.len() * WIDTH;
    if chunk.len() >= nbytes {
        return Ok(None);
    }
    ChunkHeader {
        nbytes,
        cbytes: chunk.len(),
        nblocks,
        ..header
    }
    .write(&mut chunk);
    Ok(Some(chunk))
}

#[cfg(test)]
thread_local! {
    /// How many offsets this thread has compressed.
    pub(crate) static ENCODED: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Calls `take` with each block of a compressed index, decompressed.
fn each_block(chunk: &Chunk, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let header = chunk.header();
    let Blocks::Regular { blocksize } = header.blocks else {
        return Err(Error::DATA);
    };
    let whole = blocksize.is_multiple_of(WIDTH);
    let most = header
        .cbytes
        .saturating_mul(MAX_RATIO)
        .saturating_add(BASE_BUDGET);
    // Writers use blocks of 16 KB. A much larger one is decoded only if the index has a
    // proportionate number of bytes.
    let most_block = header
        .cbytes
        .saturating_mul(4)
        .saturating_add(BASE_BUDGET / 4);
    if !whole || header.nbytes > most || blocksize > most_block {
        return Err(Error::DATA);
    }
    let mut block = TryVec::filled(0, blocksize)?;
    // Most blocks of very many offsets are the same.
    let mut before: Option<&[u8]> = None;
    for nblock in 0..header.nblocks {
        let block = &mut block[..chunk.block_nbytes(nblock)?];
        let streams = chunk.checked_streams(nblock).ok();
        if streams.is_none() || before != streams || block.len() < blocksize {
            decompress_block(chunk, nblock, block, &NoHooks)?;
            before = streams.filter(|_| block.len() == blocksize);
        }
        take(block)?;
    }
    Ok(())
}

/// The header of an index of `count` offsets that is not compressed.
///
/// # Errors
/// [`Error::DATA`] for more than [`MAX_CHUNKS`] offsets.
pub fn stored_header(count: usize) -> Result<[u8; EXTENDED_HEADER_LENGTH]> {
    use oxiblosc_chunk::header::{flags, version};
    if count > MAX_CHUNKS {
        return Err(Error::DATA);
    }
    let nbytes = count * WIDTH;
    let mut bytes = [0; EXTENDED_HEADER_LENGTH];
    ChunkHeader {
        version: version::STABLE,
        versionlz: 1,
        flags: flags::EXTENDED | flags::MEMCPYED,
        typesize: WIDTH as u8,
        nbytes,
        cbytes: nbytes + EXTENDED_HEADER_LENGTH,
        blocks: Blocks::Regular {
            blocksize: nbytes.clamp(1, BLOCKSIZE),
        },
        ..ChunkHeader::EMPTY
    }
    .write(&mut bytes);
    Ok(bytes)
}

/// How an index of `nbytes` bytes is compressed: shuffled, and with BloscLZ at its default level.
///
/// # Errors
/// [`Error::MAX_BUFSIZE_EXCEEDED`].
fn params(nbytes: usize) -> Result<EncodeParams> {
    let nbytes = i32::try_from(nbytes).map_err(|_| Error::MAX_BUFSIZE_EXCEEDED)?;
    let parameters = Parameters {
        typesize: WIDTH as i32,
        blocksize: BLOCKSIZE as i32,
        splitmode: NEVER_SPLIT,
        ..Parameters::DEFAULT
    };
    Parameters {
        blocksize: parameters.tuned_blocksize(nbytes),
        ..parameters
    }
    .check(nbytes, MAX_OVERHEAD, false)
}
