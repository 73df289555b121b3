//! The index of a frame: where each chunk is.
//!
//! On disk it is a chunk of 64-bit little-endian numbers. Those below 0 stand for chunks whose content follows from the
//! kind in their uppermost byte; see the contiguous frame format document, "Chunks".

use super::header::{Extent, Kind};
use super::runs::{Runs, Span, Spans};
use oxiblosc_chunk::decode::{Chunk, decompress_block};
use oxiblosc_chunk::encode::{ChunkInput, EncodeParams, compress};
use oxiblosc_chunk::header::{
    Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE, Special, filter_id, flags2,
};
use oxiblosc_chunk::hooks::{NoHooks, Serial};
use oxiblosc_chunk::rules::Rules;
use oxiblosc_chunk::special;
use oxiblosc_chunk::tune::BlocksizeRequest;
use oxiblosc_codecs::Codec;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;
use std::slice;

/// Bytes of one offset.
pub const WIDTH: usize = 8;
/// The most chunks of a frame: their offsets must fit into a chunk.
pub const MAX_CHUNKS: usize = MAX_BUFFERSIZE as usize / WIDTH;
/// Bytes of a block of an index that is written.
const BLOCKSIZE: usize = 16 << 10;
/// The memory or work, in bytes, that is allowed for an index whatever the size of its frame.
const FREE: usize = 4 << 20;
/// The highest compression ratio of an index. Indices are written with 16 KB in a block, which no codec compresses to less than 16
/// bytes. So no writer exceeds this ratio, only a file that was made to keep its reader busy.
const MOST_RATIO: usize = 1 << 10;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// At a distance from the end of the header, or in the file of this number.
    At(u64),
    /// Nowhere: every item is the same.
    Special(Special),
}

impl Place {
    /// The place that an offset stands for.
    pub fn from_offset(offset: i64) -> Result<Self> {
        if offset >= 0 {
            return Ok(Self::At(offset as u64));
        }
        let kind = (offset as u64 >> 56) as u8 & 0x7f;
        // The order in which the reference tests the bits: zeros first, then uninitialised, then NaNs.
        match kind {
            kind if kind & 1 != 0 => Ok(Self::Special(Special::Zero)),
            kind if kind & 4 != 0 => Ok(Self::Special(Special::Uninit)),
            kind if kind & 2 != 0 => Ok(Self::Special(Special::Nan)),
            _ => Err(Error::Data),
        }
    }

    /// The offset that stands for the place. Only zeros, NaNs and uninitialised chunks have one without a place.
    pub fn to_offset(self) -> i64 {
        let kind = match self {
            Self::At(offset) => return offset as i64,
            Self::Special(Special::Nan) => 2u64,
            Self::Special(Special::Uninit) => 4,
            Self::Special(_) => 1,
        };
        ((1 << 63) | (kind << 56)) as i64
    }

    /// Where a chunk with this header goes: nowhere, if all that it says is its kind.
    pub fn special_of(header: &ChunkHeader) -> Option<Self> {
        match header.special() {
            kind @ (Special::Zero | Special::Nan | Special::Uninit) => Some(Self::Special(kind)),
            _ => None,
        }
    }
}

/// All offsets, in the order of the chunks.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub enum Offsets {
    /// The same offset many times: a frame filled with special values, of which there may be very many.
    Repeated {
        /// The offset.
        offset: i64,
        /// How often.
        count: usize,
    },
    /// Any offsets.
    List(List<i64>),
    /// So many that a list of them would be much larger than their frame.
    Runs(Runs),
}

/// The memory that the offsets of a frame of `frame_len` bytes may take, as a list and as runs.
///
/// Those of the chunks in a contiguous frame take little beside the chunks. Of a directory only the file with the index is
/// known here, and the numbers of millions of files that were written in any order must have room.
fn most_memory(kind: Kind, frame_len: u64) -> (usize, usize) {
    let frame_len = usize::try_from(frame_len).unwrap_or(usize::MAX);
    let times = match kind {
        Kind::Contiguous => 4,
        Kind::Sparse => 16,
    };
    let most = |times: usize| frame_len.saturating_mul(times).saturating_add(FREE);
    (most(2), most(times))
}

/// Offsets that come in one after the other.
struct Growing {
    offsets: Offsets,
    /// The most bytes that they may take as a list, and as runs.
    most: (usize, usize),
}

impl Growing {
    /// For `count` offsets.
    fn new(count: usize, most: (usize, usize)) -> Result<Self> {
        let list = List::with_capacity(count.min(most.0 / WIDTH))?;
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
                Self::push_run(&mut runs, *offset, self.most.1)?;
            }
            self.offsets = Offsets::Runs(runs);
        }
        match &mut self.offsets {
            Offsets::Runs(runs) => Self::push_run(runs, offset, self.most.1),
            _ => Err(Error::Failure),
        }
    }

    /// Takes offsets as an index has them.
    fn take(&mut self, bytes: &[u8]) -> Result<()> {
        let (items, _) = bytes.as_chunks::<WIDTH>();
        let mut offsets = items.iter().map(|item| i64::from_le_bytes(*item));
        match &mut self.offsets {
            Offsets::List(list) if (list.len() + items.len()) * WIDTH <= self.most.0 => {
                list.extend(offsets)
            }
            _ => offsets.try_for_each(|offset| self.push(offset)),
        }
    }

    fn push_run(runs: &mut Runs, offset: i64, most: usize) -> Result<()> {
        runs.push(offset)?;
        if runs.bytes() > most {
            return Err(Error::MemoryAlloc);
        }
        Ok(())
    }
}

impl Offsets {
    /// No chunks.
    pub const EMPTY: Self = Self::List(List::new());

    /// How many chunks there are.
    pub fn len(&self) -> usize {
        match self {
            Self::Repeated { count, .. } => *count,
            Self::List(list) => list.len(),
            Self::Runs(runs) => runs.len(),
        }
    }

    /// Whether there are no chunks.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The offset of chunk `nchunk`, if there is one.
    pub fn get(&self, nchunk: usize) -> Option<i64> {
        match self {
            Self::Repeated { offset, count } => (nchunk < *count).then_some(*offset),
            Self::List(list) => list.get(nchunk).copied(),
            Self::Runs(runs) => runs.get(nchunk),
        }
    }

    /// The place of chunk `nchunk`.
    pub fn place(&self, nchunk: usize) -> Result<Place> {
        Place::from_offset(self.get(nchunk).ok_or(Error::InvalidParam)?)
    }

    /// Every offset.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_over(usize::MAX, false)
    }

    /// The offsets of real places, in the order of the chunks; of equal ones in a row of special length, one.
    pub fn places(&self) -> impl Iterator<Item = u64> + '_ {
        self.iter_over(1, true)
            .filter_map(|offset| u64::try_from(offset).ok())
    }

    /// The offsets; of a repeated one, `most`.
    fn iter_over(&self, most: usize, only_real: bool) -> Iter<'_> {
        let nothing = Span {
            first: 0,
            step: 0,
            count: 0,
        };
        let (span, list, runs) = match self {
            Self::Repeated { offset, count } => {
                let span = Span {
                    first: *offset,
                    step: 0,
                    count: (*count).min(most),
                };
                (span, &[][..], Spans::default())
            }
            Self::List(list) => (nothing, &list[..], Spans::default()),
            Self::Runs(runs) => (nothing, &[][..], runs.spans()),
        };
        Iter {
            span,
            list: list.iter(),
            runs,
            only_real,
        }
    }

    /// How many of the offsets stand for chunks of special values.
    pub fn specials(&self) -> usize {
        self.len() - self.real().0
    }

    /// How many of the offsets are real places, and the largest of those.
    fn real(&self) -> (usize, Option<u64>) {
        match self {
            Self::Repeated { offset, count } => match u64::try_from(*offset) {
                Ok(place) if *count > 0 => (*count, Some(place)),
                _ => (0, None),
            },
            Self::List(list) => {
                let real = |offset: &i64| usize::from(*offset >= 0);
                let all = list.iter().map(real).sum();
                let most = list.iter().fold(-1, |most, offset| *offset.max(&most));
                (all, u64::try_from(most).ok())
            }
            Self::Runs(runs) => runs.extent(),
        }
    }

    /// Checks the offsets against the frame that they were read from: that there are places for so many chunks, and, where
    /// each is a file, that no two are the same.
    ///
    /// # Errors
    /// [`Error::InvalidHeader`] where chunks would lie outside of the frame, or over one another; [`Error::MemoryAlloc`].
    pub fn check(&self, kind: Kind, extent: &Extent) -> Result<()> {
        let (count, last) = self.real();
        let Some(last) = last else {
            return Ok(());
        };
        let fits = match kind {
            Kind::Contiguous => {
                let least = EXTENDED_HEADER_LENGTH as u64;
                let last_fits = extent
                    .cbytes
                    .checked_sub(least)
                    .is_some_and(|most| last <= most);
                last_fits && count as u64 <= extent.cbytes / least
            }
            Kind::Sparse => count as u64 - 1 <= last && self.are_different(last)?,
        };
        if fits {
            Ok(())
        } else {
            Err(Error::InvalidHeader)
        }
    }

    /// Whether no two real places are the same; `last` is the largest.
    fn are_different(&self, last: u64) -> Result<bool> {
        if self.places().is_sorted_by(|a, b| a < b) {
            return Ok(matches!(self, Self::List(_) | Self::Runs(_)) || self.len() == 1);
        }
        if let Self::List(list) = self {
            let mut sorted = List::with_capacity(list.len())?;
            sorted.extend(self.places())?;
            sorted.sort_unstable();
            return Ok(sorted.is_sorted_by(|a, b| a < b));
        }
        // A bit for each number: files are numbered without large gaps.
        let words = usize::try_from(last / 64).map_or(usize::MAX, |words| words + 1);
        if words > FREE / size_of::<u64>() {
            return Ok(false);
        }
        let mut seen: List<u64> = List::filled(0, words)?;
        Ok(self.places().all(|place| {
            let (word, bit) = (&mut seen[(place / 64) as usize], 1 << (place % 64));
            let first = *word & bit == 0;
            *word |= bit;
            first
        }))
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub fn try_clone(&self) -> Result<Self> {
        match self {
            Self::Repeated { offset, count } => Ok(Self::Repeated {
                offset: *offset,
                count: *count,
            }),
            Self::Runs(runs) => Ok(Self::Runs(runs.try_clone()?)),
            Self::List(list) => Ok(Self::List(list.try_clone()?)),
        }
    }

    /// As a list that can be changed.
    #[inline(never)]
    pub fn list_mut(&mut self) -> Result<&mut List<i64>> {
        if !matches!(self, Self::List(_)) {
            let mut list = List::with_capacity(self.len())?;
            list.extend(self.iter())?;
            *self = Self::List(list);
        }
        match self {
            Self::List(list) => Ok(list),
            Self::Repeated { .. } | Self::Runs(_) => Err(Error::Failure),
        }
    }

    /// Reads the index chunk of a frame of `frame_len` bytes, in a directory those of the file with the index. `count` is the
    /// number of chunks, where the frame's header knows it; an index may hold more offsets than that while another process is
    /// appending, and those are left out.
    ///
    /// # Errors
    /// Those of a damaged chunk; [`Error::MemoryAlloc`] where the offsets take more memory than such a frame's should.
    pub fn decode(bytes: &[u8], count: Option<usize>, kind: Kind, frame_len: u64) -> Result<Self> {
        let header = ChunkHeader::parse(bytes)?;
        // BloscLZ, which indexes are compressed with, has no dictionaries, so that the flag means nothing there.
        let takes_dict = || Codec::from_format(header.flags >> 5).is_none_or(Codec::supports_dict);
        let plain = header.blosc2_flags & flags2::USE_DICT == 0 || !takes_dict();
        let numbers = header.nbytes.is_multiple_of(WIDTH) && usize::from(header.typesize) == WIDTH;
        if !numbers || !plain {
            return Err(Error::InvalidHeader);
        }
        let held = header.nbytes / WIDTH;
        let count = count.unwrap_or(held);
        if count > held || (count < held && !header.is_memcpyed()) {
            return Err(Error::Data);
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
            _ => return Err(Error::Data),
        };
        if let Some(offset) = repeated {
            return Ok(Self::Repeated { offset, count });
        }
        let mut growing = Growing::new(count, most_memory(kind, frame_len))?;
        if header.is_memcpyed() {
            growing.take(&bytes[header.overhead()..][..count * WIDTH])?;
        } else {
            each_block(&chunk, |bytes| growing.take(bytes))?;
        }
        Ok(growing.offsets)
    }

    /// The offsets as they lie in memory and in an index that is not compressed.
    fn to_bytes(&self) -> Result<List<u8>> {
        let mut bytes = List::filled(0, self.len() * WIDTH)?;
        if let Self::List(list) = self {
            let (items, _) = bytes.as_chunks_mut::<WIDTH>();
            for (item, offset) in items.iter_mut().zip(list) {
                *item = offset.to_le_bytes();
            }
            return Ok(bytes);
        }
        let mut items = bytes.chunks_exact_mut(WIDTH);
        // `for_each` goes through each of the forms in a loop of its own; `for` would ask at every offset which it is.
        self.iter().for_each(|offset| {
            if let Some(item) = items.next() {
                item.copy_from_slice(&offset.to_le_bytes());
            }
        });
        Ok(bytes)
    }

    /// A compressed index chunk, as the reference writes it.
    pub fn encode(&self) -> Result<List<u8>> {
        if self.len() > MAX_CHUNKS {
            return Err(Error::Data);
        }
        if let Self::Repeated { offset, count } = *self {
            let mut chunk = List::filled(0, EXTENDED_HEADER_LENGTH + WIDTH)?;
            let nbytes = count * WIDTH;
            let blocksize = nbytes.clamp(1, BLOCKSIZE);
            special::write(
                Special::Value,
                nbytes,
                blocksize,
                WIDTH,
                &offset.to_le_bytes(),
                &mut chunk,
            );
            return Ok(chunk);
        }
        let bytes = self.to_bytes()?;
        let mut chunk = List::filled(0, bytes.len() + EXTENDED_HEADER_LENGTH)?;
        let cbytes = compress(
            &params(bytes.len()),
            ChunkInput::Buffer(&bytes),
            &mut chunk,
            &NoHooks,
            &Serial,
        )?;
        chunk.truncate(cbytes);
        Ok(chunk)
    }

    /// An index chunk that holds the offsets as they are, so that one more can be written behind them.
    pub fn encode_stored(&self) -> Result<List<u8>> {
        let mut chunk = List::filled(0, EXTENDED_HEADER_LENGTH)?;
        chunk[..].copy_from_slice(&stored_header(self.len())?);
        chunk.extend_from_slice(&self.to_bytes()?)?;
        Ok(chunk)
    }
}

/// Decodes the blocks of a compressed index one after the other, each once.
fn each_block(chunk: &Chunk, mut take: impl FnMut(&[u8]) -> Result<()>) -> Result<()> {
    let header = chunk.header();
    let Blocks::Regular { blocksize } = header.blocks else {
        return Err(Error::Data);
    };
    let whole = blocksize.is_multiple_of(WIDTH);
    let most = header
        .cbytes
        .saturating_mul(MOST_RATIO)
        .saturating_add(FREE);
    // Blocks of an index have 16 KB: one that has very much more is decoded only if there is something in it.
    let most_block = header.cbytes.saturating_mul(4).saturating_add(FREE / 4);
    if !whole || header.nbytes > most || blocksize > most_block {
        return Err(Error::Data);
    }
    let mut block = List::filled(0, blocksize)?;
    for nblock in 0..header.nblocks {
        let block = &mut block[..chunk.block_nbytes(nblock)?];
        decompress_block(chunk, nblock, block, &NoHooks)?;
        take(block)?;
    }
    Ok(())
}

/// The header of an index chunk of `count` offsets that are stored as they are.
pub fn stored_header(count: usize) -> Result<[u8; EXTENDED_HEADER_LENGTH]> {
    use oxiblosc_chunk::header::{flags, version};
    if count > MAX_CHUNKS {
        return Err(Error::Data);
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

/// How an index is compressed: BloscLZ at its default level, shuffled.
fn params(nbytes: usize) -> EncodeParams {
    const CLEVEL: u8 = 5;
    const NEVER_SPLIT: i32 = 2;
    let compcode = Codec::BloscLz;
    let mut filters = [filter_id::NONE; 6];
    filters[5] = filter_id::SHUFFLE;
    let request = BlocksizeRequest {
        compcode: compcode as i32,
        clevel: i32::from(CLEVEL),
        typesize: WIDTH as i32,
        nbytes: nbytes as i32,
        shuffle: true,
        splitmode: NEVER_SPLIT,
    };
    EncodeParams {
        compcode: compcode as u8,
        compcode_meta: 0,
        versionlz: 1,
        clevel: CLEVEL,
        typesize: WIDTH,
        blocksize: request.blocksize(BLOCKSIZE as i32) as usize,
        filters,
        filters_meta: [0; 6],
        split: false,
        use_dict: false,
        instrumented: false,
        extended: true,
        rules: Rules::Blosc2,
        checksums: false,
        nthreads: 1,
    }
}

/// The offsets one after the other: the rest of a run, then a list, then other runs.
///
/// It has a name, and [`Iter::next_run`] is not inlined, since there are many loops over offsets.
#[derive(Clone, Debug)]
pub struct Iter<'a> {
    span: Span,
    list: slice::Iter<'a, i64>,
    runs: Spans<'a>,
    /// Runs of special chunks are left out.
    only_real: bool,
}

impl Iter<'_> {
    /// Goes to the next run, if there is one.
    #[inline(never)]
    fn next_run(&mut self) -> Option<()> {
        let only_real = self.only_real;
        self.span = self.runs.find(|span| !only_real || span.first >= 0)?;
        Some(())
    }
}

impl Iterator for Iter<'_> {
    type Item = i64;

    #[inline]
    fn next(&mut self) -> Option<i64> {
        self.nth(0)
    }

    #[inline]
    fn nth(&mut self, mut n: usize) -> Option<i64> {
        while n >= self.span.count {
            n -= self.span.count;
            self.span.count = 0;
            if n < self.list.len() {
                return self.list.nth(n).copied();
            }
            n -= self.list.len();
            self.list = [].iter();
            self.next_run()?;
        }
        let Span { first, step, .. } = self.span;
        let offset = first.wrapping_add(step.wrapping_mul(n as i64));
        self.span.first = offset.wrapping_add(step);
        self.span.count -= n + 1;
        Some(offset)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.span.count + self.list.len(), None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        for count in [0usize, 1, 2, 7, 1000, 20_000] {
            if cfg!(miri) && count > 7 {
                continue;
            }
            let list: Vec<i64> = (0..count as i64)
                .map(|i| {
                    if i % 7 == 3 {
                        i64::MIN | 1 << 56
                    } else {
                        i * 1234
                    }
                })
                .collect();
            let offsets = Offsets::List(list.clone().into());
            for bytes in [offsets.encode().unwrap(), offsets.encode_stored().unwrap()] {
                let back = Offsets::decode(&bytes, Some(count), Kind::Contiguous, 0).unwrap();
                assert_eq!(back.iter().collect::<Vec<_>>(), list);
                assert_eq!(back.len(), count);
                let more = Offsets::decode(&bytes, Some(count + 1), Kind::Contiguous, 0);
                assert!(more.is_err());
            }
        }
    }

    #[test]
    fn the_three_forms_give_the_same_offsets() {
        let special = Place::Special(Special::Nan).to_offset();
        let mut runs = Runs::default();
        let list = [
            special,
            special,
            0,
            40,
            80,
            7,
            special,
            i64::MAX - 1,
            i64::MAX,
        ];
        for offset in list {
            runs.push(offset).unwrap();
        }
        let repeated = Offsets::Repeated {
            offset: special,
            count: 3,
        };
        let forms = [
            (Offsets::List(List::of(list).unwrap()), &list[..]),
            (Offsets::Runs(runs), &list),
            (repeated, &[special; 3]),
        ];
        for (offsets, list) in forms {
            assert_eq!(offsets.iter().collect::<Vec<_>>(), list);
            let real: Vec<u64> = list.iter().filter_map(|o| u64::try_from(*o).ok()).collect();
            assert_eq!(offsets.places().collect::<Vec<_>>(), real);
            for (first, n) in (0..=list.len()).flat_map(|i| (0..=list.len()).map(move |j| (i, j))) {
                let (mut ours, mut theirs) = (offsets.iter(), list.iter().copied());
                assert_eq!(ours.nth(first), theirs.nth(first));
                assert_eq!(ours.nth(n), theirs.nth(n), "{first} {n}");
                assert_eq!((ours.next(), ours.next()), (theirs.next(), theirs.next()));
            }
        }
    }

    #[test]
    fn a_great_many_equal_chunks_take_no_room() {
        let offset = Place::Special(Special::Nan).to_offset();
        let offsets = Offsets::Repeated {
            offset,
            count: 200_000_000,
        };
        let bytes = offsets.encode().unwrap();
        assert_eq!(bytes.len(), 40);
        assert_eq!(
            Offsets::decode(&bytes, None, Kind::Contiguous, 0),
            Ok(offsets)
        );
    }

    #[test]
    fn special_places_survive() {
        for kind in [Special::Zero, Special::Nan, Special::Uninit] {
            let place = Place::Special(kind);
            assert_eq!(Place::from_offset(place.to_offset()), Ok(place));
        }
        assert_eq!(Place::from_offset(77), Ok(Place::At(77)));
        assert_eq!(Place::from_offset(i64::MIN), Err(Error::Data));
    }
}
