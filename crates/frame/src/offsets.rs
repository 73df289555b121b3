//! The offsets of a frame: where each chunk is.
//!
//! The index is a chunk of 64-bit little-endian offsets. A negative one stands for a chunk of
//! special values without bytes; its highest byte has their kind. See the contiguous frame format
//! document, "Chunks".

use super::header::{Extent, FrameKind};
use super::runs::{Runs, Span, Spans};
use oxiblosc_base::memory::{Sorted, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_BUFFERSIZE, Special};
use std::slice;

/// Bytes of one offset.
pub const WIDTH: usize = 8;
/// The most chunks of a frame: their offsets must fit into a chunk.
pub const MAX_CHUNKS: usize = MAX_BUFFERSIZE as usize / WIDTH;
/// The most offsets in another form than a list that a change turns into one, unless the chunks
/// have as many bytes.
pub(super) const MAX_LISTED: usize = 1 << 23;
/// Bytes of memory and of work that an index may cost, however small its frame is.
pub(super) const BASE_BUDGET: usize = 4 << 20;

/// Where a chunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChunkPosition {
    /// In a contiguous frame, so many bytes behind the header; in a sparse one, in the file with
    /// this number.
    At(u64),
    /// Nowhere: it has no bytes, as all of its items are the same.
    Special(Special),
}

impl ChunkPosition {
    /// The place that an offset stands for.
    ///
    /// # Errors
    /// [`Error::DATA`] for a negative offset without a known kind.
    pub fn from_offset(offset: i64) -> Result<Self> {
        if offset >= 0 {
            return Ok(Self::At(offset as u64));
        }
        let kind = (offset as u64 >> 56) as u8 & 0x7f;
        // If several bits are set, the reference takes zeros first, then uninitialised, then NaNs.
        match kind {
            kind if kind & 1 != 0 => Ok(Self::Special(Special::Zero)),
            kind if kind & 4 != 0 => Ok(Self::Special(Special::Uninit)),
            kind if kind & 2 != 0 => Ok(Self::Special(Special::Nan)),
            _ => Err(Error::DATA),
        }
    }

    /// The offset that stands for the place. Special values must be zeros, NaNs or uninitialised:
    /// see [`special_of`].
    pub fn to_offset(self) -> i64 {
        let kind = match self {
            Self::At(offset) => return offset as i64,
            Self::Special(Special::Nan) => 2u64,
            Self::Special(Special::Uninit) => 4,
            Self::Special(_) => 1,
        };
        ((1 << 63) | (kind << 56)) as i64
    }
}

/// The kind of special values in a chunk that needs no bytes in the frame, since its offset has the
/// kind. None for other chunks.
pub fn special_of(header: &ChunkHeader) -> Option<Special> {
    let kind = header.special();
    matches!(kind, Special::Zero | Special::Nan | Special::Uninit).then_some(kind)
}

/// The offset that stands for a chunk of such special values.
pub fn special_offset(kind: Special) -> i64 {
    ChunkPosition::Special(kind).to_offset()
}

/// A chunk that was looked up.
pub enum Found<T> {
    /// It has no bytes: all of its items are special values of this kind.
    Special(Special),
    /// Its bytes, or where they are.
    Stored(T),
}

/// All offsets, in the order of the chunks.
#[cfg_attr(test, derive(Clone))]
#[derive(Debug, PartialEq, Eq)]
pub enum Offsets {
    /// One offset for all chunks. A frame that was filled with special values may have very many.
    Repeated {
        /// The offset.
        offset: i64,
        /// The number of chunks.
        count: usize,
    },
    /// Any offsets.
    List(TryVec<i64>),
    /// Any offsets, if a list of them would be much larger than their frame.
    Runs(Runs),
}

impl Offsets {
    /// No chunks.
    pub const EMPTY: Self = Self::List(TryVec::new());

    /// The offsets of these runs.
    pub fn of_runs(runs: Runs) -> Self {
        match (runs.repeated(0..runs.len()), runs.len()) {
            (Some(offset), count) => Self::Repeated { offset, count },
            (None, _) => Self::Runs(runs),
        }
    }

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

    /// How many chunks from `nchunk` on are special and have the same offset, at most `most`; 1 for
    /// a chunk with bytes, and 0 if there is no such chunk. Where they are runs, no chunk is looked
    /// at.
    pub fn alike_from(&self, nchunk: usize, most: usize) -> usize {
        let Some(first) = self.get(nchunk) else {
            return 0;
        };
        let all = match self {
            _ if first >= 0 => 1,
            Self::Repeated { count, .. } => count - nchunk,
            Self::Runs(runs) => runs.alike_from(nchunk),
            Self::List(list) => {
                let behind = list[nchunk..].iter().take(most);
                behind.take_while(|offset| **offset == first).count()
            }
        };
        all.min(most)
    }

    /// The place of chunk `nchunk`.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if there is no such chunk; those of [`ChunkPosition::from_offset`].
    pub fn position(&self, nchunk: usize) -> Result<ChunkPosition> {
        ChunkPosition::from_offset(self.get(nchunk).ok_or(Error::INVALID_PARAM)?)
    }

    /// Every offset.
    pub fn iter(&self) -> Iter<'_> {
        self.iter_over(usize::MAX, false)
    }

    /// The offsets of chunks with bytes, in the order of the chunks. That of [`Self::Repeated`] is
    /// returned once.
    pub fn positions(&self) -> impl Iterator<Item = u64> + '_ {
        self.iter_over(1, true)
            .filter_map(|offset| u64::try_from(offset).ok())
    }

    /// The places of all chunks with bytes, in ascending order. A place that several chunks share
    /// is there several times.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub(super) fn sorted_positions(&self) -> Result<Sorted<u64>> {
        // Most chunks lie in their order, and few elsewhere. So this is faster than sorting all.
        let (mut rising, mut others) = (TryVec::with_capacity(self.real().0)?, TryVec::new());
        for position in self.positions() {
            if rising.last().is_some_and(|last| *last > position) {
                others.extend(rising.pop())?;
            }
            match rising.last().is_some_and(|last| *last > position) {
                true => others.push(position)?,
                false => rising.push(position)?,
            }
        }
        if let Self::Repeated { count, .. } = self
            && let Some(position) = rising.first().copied()
        {
            rising.resize(*count, position)?;
        }
        let mut positions = Sorted::of(rising)?;
        for position in others {
            positions.insert(position)?;
        }
        Ok(positions)
    }

    /// The offsets; that of [`Self::Repeated`] at most `most` times. With `only_real`, runs of
    /// special chunks are left out.
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

    /// The number of offsets that stand for chunks of special values.
    pub fn specials(&self) -> usize {
        self.len() - self.real().0
    }

    /// The number of offsets of chunks with bytes, and the largest of these offsets.
    pub(super) fn real(&self) -> (usize, Option<u64>) {
        match self {
            Self::Repeated { offset, count } => match u64::try_from(*offset) {
                Ok(position) if *count > 0 => (*count, Some(position)),
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

    /// Checks the offsets of a frame against its sizes: the chunks must fit between header and
    /// index. In a sparse frame, no two chunks may have the same file.
    ///
    /// # Errors
    /// [`Error::INVALID_HEADER`] if the check fails; [`Error::MEMORY_ALLOC`].
    pub fn check(&self, kind: FrameKind, extent: &Extent) -> Result<()> {
        let (count, last) = self.real();
        let Some(last) = last else {
            return Ok(());
        };
        let fits = match kind {
            FrameKind::Contiguous => {
                let least = EXTENDED_HEADER_LENGTH as u64;
                let last_fits = extent
                    .cbytes
                    .checked_sub(least)
                    .is_some_and(|most| last <= most);
                last_fits && count as u64 <= extent.cbytes / least
            }
            FrameKind::Sparse => count as u64 - 1 <= last && self.are_different()?,
        };
        if fits {
            Ok(())
        } else {
            Err(Error::INVALID_HEADER)
        }
    }

    /// Whether no two chunks with bytes have the same place.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn are_different(&self) -> Result<bool> {
        let Some(last) = self.real().1 else {
            return Ok(true);
        };
        if self.positions().is_sorted_by(|a, b| a < b) {
            return Ok(matches!(self, Self::List(_) | Self::Runs(_)) || self.len() == 1);
        }
        if matches!(self, Self::List(_)) {
            return Ok(self.sorted_positions()?.are_different());
        }
        // A bit for each number. Files are numbered without large gaps, so this is not much memory.
        let words = usize::try_from(last / 64).map_or(usize::MAX, |words| words + 1);
        if words > BASE_BUDGET / size_of::<u64>() {
            return Ok(false);
        }
        let mut seen: TryVec<u64> = TryVec::filled(0, words)?;
        Ok(self.positions().all(|position| {
            let (word, bit) = (&mut seen[(position / 64) as usize], 1 << (position % 64));
            let first = *word & bit == 0;
            *word |= bit;
            first
        }))
    }

    /// A copy.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
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

    /// Whether a list of the offsets is in proportion to what they stand for. Others stay runs,
    /// which take much less memory.
    pub fn is_listable(&self) -> bool {
        // Chunks that lie one behind the other have more bytes than a list of their offsets.
        let list_len = size_of::<i64>() as u64 * self.len() as u64;
        let is_larger = || self.real().1.is_none_or(|last| last < list_len);
        matches!(self, Self::List(_)) || self.len() <= MAX_LISTED || !is_larger()
    }

    /// Replaces the offsets of chunks with bytes by what `new` says. If this fails, nothing has
    /// changed.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn map_positions(&mut self, mut new: impl FnMut(u64) -> u64) -> Result<()> {
        let mut new = |position: i64| new(position as u64) as i64;
        if !self.is_listable() {
            let runs = self.runs_mut()?;
            *runs = runs.mapped(new)?;
            return Ok(());
        }
        for offset in self.list_mut()?.iter_mut().filter(|offset| **offset >= 0) {
            *offset = new(*offset);
        }
        Ok(())
    }

    /// Whether any of the first `count` chunks has bytes.
    pub fn has_stored_before(&self, count: usize) -> bool {
        match self {
            Self::Repeated { offset, .. } => *offset >= 0 && count > 0,
            Self::List(list) => list.iter().take(count).any(|offset| *offset >= 0),
            Self::Runs(runs) => {
                let mut start = 0;
                runs.spans().any(|span| {
                    let is_before = span.first >= 0 && start < count;
                    start += span.count;
                    is_before
                })
            }
        }
    }

    /// The offsets as runs that can be changed. Other forms are converted to them.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn runs_mut(&mut self) -> Result<&mut Runs> {
        if !matches!(self, Self::Runs(_)) {
            let mut runs = Runs::default();
            match self {
                Self::Repeated { offset, count } => runs.push_span(Span {
                    first: *offset,
                    step: 0,
                    count: *count,
                })?,
                Self::List(list) => list.iter().try_for_each(|offset| runs.push(*offset))?,
                Self::Runs(_) => {}
            }
            *self = Self::Runs(runs);
        }
        match self {
            Self::Runs(runs) => Ok(runs),
            _ => Err(Error::FAILURE),
        }
    }

    /// The offsets as a list that can be changed. Other forms are converted to a list.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    #[inline(never)]
    pub fn list_mut(&mut self) -> Result<&mut TryVec<i64>> {
        if !matches!(self, Self::List(_)) {
            let mut list = TryVec::with_capacity(self.len())?;
            list.extend(self.iter())?;
            *self = Self::List(list);
        }
        match self {
            Self::List(list) => Ok(list),
            Self::Repeated { .. } | Self::Runs(_) => Err(Error::FAILURE),
        }
    }
}

/// Iterates over offsets: the rest of a run, then a list, then other runs. Some of these are always
/// empty.
///
/// [`Iter::next_run`] is not inlined, which keeps the many loops over offsets small.
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
                let back = Offsets::decode(&bytes, Some(count), FrameKind::Contiguous, 0).unwrap();
                assert_eq!(back.iter().collect::<Vec<_>>(), list);
                assert_eq!(back.len(), count);
                let more = Offsets::decode(&bytes, Some(count + 1), FrameKind::Contiguous, 0);
                assert!(more.is_err());
            }
        }
    }

    #[test]
    fn the_three_forms_give_the_same_offsets() {
        let special = ChunkPosition::Special(Special::Nan).to_offset();
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
            (Offsets::List(TryVec::of(list).unwrap()), &list[..]),
            (Offsets::Runs(runs), &list),
            (repeated, &[special; 3]),
        ];
        for (offsets, list) in forms {
            assert_eq!(offsets.iter().collect::<Vec<_>>(), list);
            let real: Vec<u64> = list.iter().filter_map(|o| u64::try_from(*o).ok()).collect();
            assert_eq!(offsets.positions().collect::<Vec<_>>(), real);
            let mut sorted = real;
            sorted.sort();
            assert!(offsets.sorted_positions().unwrap().iter().eq(sorted));
            for (first, n) in (0..=list.len()).flat_map(|i| (0..=list.len()).map(move |j| (i, j))) {
                let (mut ours, mut theirs) = (offsets.iter(), list.iter().copied());
                assert_eq!(ours.nth(first), theirs.nth(first));
                assert_eq!(ours.nth(n), theirs.nth(n), "{first} {n}");
                assert_eq!((ours.next(), ours.next()), (theirs.next(), theirs.next()));
            }
        }
    }

    #[test]
    fn positions_that_chunks_share_are_seen() {
        let repeated = |count| Offsets::Repeated { offset: 5, count };
        assert_eq!(repeated(1).are_different(), Ok(true));
        assert_eq!(repeated(2).are_different(), Ok(false));
        assert!(repeated(2).sorted_positions().unwrap().iter().eq([5, 5]));
        for (list, different) in [([5, 7, -1, -1], true), ([7, 5, 8, 5], false)] {
            let list = Offsets::List(TryVec::of(list).unwrap());
            assert_eq!(list.are_different(), Ok(different));
        }
    }

    #[test]
    fn a_great_many_equal_chunks_take_no_room() {
        let offset = ChunkPosition::Special(Special::Nan).to_offset();
        let offsets = Offsets::Repeated {
            offset,
            count: 200_000_000,
        };
        let bytes = offsets.encode().unwrap();
        assert_eq!(bytes.len(), 40);
        assert_eq!(
            Offsets::decode(&bytes, None, FrameKind::Contiguous, 0),
            Ok(offsets)
        );
    }

    #[test]
    fn special_positions_survive() {
        for kind in [Special::Zero, Special::Nan, Special::Uninit] {
            let position = ChunkPosition::Special(kind);
            assert_eq!(
                ChunkPosition::from_offset(position.to_offset()),
                Ok(position)
            );
        }
        assert_eq!(ChunkPosition::from_offset(77), Ok(ChunkPosition::At(77)));
        assert_eq!(ChunkPosition::from_offset(i64::MIN), Err(Error::DATA));
    }

    #[test]
    fn runs_are_encoded_as_a_list_of_them_is() {
        let zeros = i64::MIN | 1 << 56;
        let mut some = vec![zeros; 100_000];
        for at in [0, 2047, 2048, 9000, 9001, 60_000, 99_999] {
            some[at] = 40 * at as i64;
        }
        let mut random = 1u64;
        let any: Vec<i64> = (0..50_000)
            .map(|_| {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1);
                (random >> 1) as i64
            })
            .collect();
        let rising: Vec<i64> = (0..70_000).map(|i| 40 * i).collect();
        let lists = [vec![zeros; 8192], vec![zeros; 100_001], some, any, rising];
        for list in lists {
            let mut runs = Runs::default();
            list.iter().try_for_each(|at| runs.push(*at)).unwrap();
            let (runs, list) = (Offsets::Runs(runs), Offsets::List(list.into()));
            let bytes = runs.encode().unwrap();
            assert!(bytes == list.encode().unwrap());
            for frame_len in [1 << 10, 1 << 30] {
                let read = Offsets::decode(&bytes, None, FrameKind::Contiguous, frame_len);
                assert!(read.unwrap().iter().eq(list.iter()));
            }
        }
    }
}
