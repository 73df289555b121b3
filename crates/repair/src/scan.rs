//! Searches a file for chunks and for the index.

use crate::budget::ScanBudget;
use crate::chunks::Front;
use crate::contexts::Contexts;
use crate::fields::{ChunkHints, UsualFields};
use crate::index::SalvagedIndex;
use crate::location::HEADER;
use crate::plausible::plausible;
use crate::rolled_back::RolledBackFile;
use crate::start;
use oxiblosc_base::memory::TryVec;
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_frame::header::{FrameKind, Header};
use oxiblosc_frame::offsets::WIDTH;

/// Bytes that are searched at a time: at first, and after a long search.
const WINDOWS: [usize; 2] = [1 << 10, 1 << 20];
/// Bytes of block starts that are read at a time.
const STARTS: usize = 4 << 10;

/// What a search found.
pub(crate) struct Scan {
    /// Chunks, in the order of the file.
    pub chunks: Vec<(u64, ChunkHeader)>,
    /// Which of the chunks (by their places in `chunks`) follow bytes that belong to no chunk, in
    /// order.
    pub gaps: Vec<usize>,
    /// The index, if it was found behind the chunks.
    pub index: Option<SalvagedIndex>,
}

/// The header at `pos` with one field put right, if such a chunk ends exactly where the room that
/// is `hints` ends.
pub(crate) fn mended(
    image: &RolledBackFile,
    pos: u64,
    frame: &Header,
    hints: &ChunkHints,
    budget: &mut ScanBudget,
) -> Option<ChunkHeader> {
    let prefix: Front = image.read(pos, HEADER)?.first_chunk().copied()?;
    let len = hints.cbytes? as u64;
    let corrections = hints.corrections(&prefix).into_iter();
    let mut headers =
        corrections.filter_map(|correction| plausible(&correction.prefix, len, Some(frame)));
    headers.find(|header| header.cbytes as u64 == len && starts_well(header, image, pos, budget))
}

/// Searches for chunks from `start` to `limit`.
pub(crate) fn scan(
    image: &RolledBackFile,
    start: u64,
    limit: u64,
    frame: Option<&Header>,
    contexts: &Contexts,
) -> Scan {
    let mut scan = Scan {
        chunks: Vec::new(),
        gaps: Vec::new(),
        index: None,
    };
    let mut budget = ScanBudget::of(limit.saturating_sub(start));
    let mut pos = start;
    while let Some(prefix) = image.read(pos, HEADER).filter(|_| pos < limit) {
        if !scan.chunks.is_empty() && prefix[3] as usize == WIDTH {
            scan.index = scan.as_index(image, contexts, pos);
            if scan.index.is_some() {
                break;
            }
        }
        if let Some(header) = plausible(&prefix, limit - pos, frame) {
            scan.chunks.push((pos, header));
            pos += header.cbytes as u64;
            continue;
        }
        // One field of the header of the chunk right behind another one may be damaged.
        let follows = frame.zip(scan.end_of_last()).filter(|(_, end)| *end == pos);
        if let Some((frame, _)) = follows
            && let Some(header) = scan.mended_at(image, pos, limit, frame, &mut budget)
        {
            scan.chunks.push((pos, header));
            pos += header.cbytes as u64;
            continue;
        }
        // The file may end within a chunk, whose first blocks can be read.
        let cut = plausible(&prefix, u64::MAX, frame);
        let cut = cut.filter(|header| starts_well(header, image, pos, &mut budget));
        // A damaged size may make the last chunk cover those behind it, so the search begins inside
        // of it.
        let from = match scan.chunks.last() {
            Some((last, _))
                if frame.is_some_and(|frame| frame.chunksize > 0) && budget.spend(pos - last) =>
            {
                *last + 1
            }
            _ => pos + 1,
        };
        match search(image, from, limit, frame, &mut budget) {
            Some(next) => {
                if next >= pos {
                    scan.gaps.push(scan.chunks.len());
                }
                pos = next;
            }
            None => {
                scan.chunks.extend(cut.map(|header| (pos, header)));
                break;
            }
        }
    }
    scan
}

/// The chunk at a position within which the file ends; none if there is no such chunk.
pub(crate) fn cut_at(
    image: &RolledBackFile,
    pos: u64,
    frame: Option<&Header>,
) -> Option<(u64, ChunkHeader)> {
    let header = plausible(&image.read(pos, HEADER)?, u64::MAX, frame)?;
    let mut budget = ScanBudget::of(image.size);
    starts_well(&header, image, pos, &mut budget).then_some((pos, header))
}

/// The position of the next chunk at or behind `from`.
fn search(
    image: &RolledBackFile,
    from: u64,
    limit: u64,
    frame: Option<&Header>,
    budget: &mut ScanBudget,
) -> Option<u64> {
    let mut pos = from;
    let [mut most, widest] = WINDOWS;
    loop {
        let len = limit.checked_sub(pos)?.min(most as u64) as usize;
        most = widest.min(2 * most);
        if len < HEADER {
            return None;
        }
        let window = image.read(pos, len)?;
        let hit = window.windows(HEADER).enumerate().find(|(at, bytes)| {
            let len = limit - pos - *at as u64;
            plausible(bytes, len, frame)
                .is_some_and(|header| starts_well(&header, image, pos + *at as u64, budget))
        });
        if let Some((at, _)) = hit {
            return Some(pos + at as u64);
        }
        pos += (len - HEADER + 1) as u64;
    }
}

/// Whether every block of a chunk starts within it, which is hardly ever so for other bytes. False
/// if the budget does not allow to check it.
fn starts_well(
    header: &ChunkHeader,
    image: &RolledBackFile,
    pos: u64,
    budget: &mut ScanBudget,
) -> bool {
    if header.special() != Special::None || header.is_memcpyed() {
        return header.filters.iter().all(|id| *id < 64);
    }
    let least = HEADER + 4 * header.nblocks;
    let is_within = |bytes: &[u8]| {
        let start = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        start >= least && start < header.cbytes
    };
    (HEADER..least).step_by(STARTS).all(|at| {
        let len = STARTS.min(least - at);
        let starts = match budget.spend(len as u64) {
            true => image.read(pos + at as u64, len),
            false => None,
        };
        starts.is_some_and(|starts| starts.chunks_exact(4).all(is_within))
    })
}

impl Scan {
    /// The index at a position, if it names most of the chunks that were found.
    fn as_index(
        &self,
        image: &RolledBackFile,
        contexts: &Contexts,
        pos: u64,
    ) -> Option<SalvagedIndex> {
        let prefix = ChunkHeader::parse(&image.read(pos, HEADER)?).ok()?;
        // There are chunks in the file, so the offsets are not all the same.
        let is_list = prefix.special() == Special::None;
        let is_there = prefix.cbytes as u64 <= image.size - pos;
        let is_long = prefix.nbytes / WIDTH >= self.chunks.len() / 2;
        if !is_list || !is_there || !is_long {
            return None;
        }
        let index = SalvagedIndex::at(image, contexts, pos, None)?;
        let mut positions = index.positions();
        positions.sort_unstable();
        if positions.windows(2).any(|pair| pair[0] == pair[1]) {
            return None;
        }
        let (_, hits, _) = start::find(None, &positions, &self.spans(), pos)?;
        (hits * 2 > positions.len()).then_some(index)
    }

    /// The position behind the last chunk.
    fn end_of_last(&self) -> Option<u64> {
        let (pos, header) = self.chunks.last()?;
        pos.checked_add(header.cbytes as u64)
    }

    /// The header at `pos`, behind the chunks that were found, with one field put right. The next
    /// chunk follows it, or `limit`.
    fn mended_at(
        &self,
        image: &RolledBackFile,
        pos: u64,
        limit: u64,
        frame: &Header,
        budget: &mut ScanBudget,
    ) -> Option<ChunkHeader> {
        let (last, _) = self.chunks.last()?;
        let before: Front = image.read(*last, HEADER)?.first_chunk().copied()?;
        let prefix = image.read(pos, HEADER)?;
        // Where it ends: as its own header says, if that is not what is damaged, or at the limit.
        let said = u32::from_le_bytes([prefix[12], prefix[13], prefix[14], prefix[15]]);
        let leads_on = |len: u64| {
            len == limit - pos
                || image
                    .read(pos + len, HEADER)
                    .is_some_and(|next| plausible(&next, limit - pos - len, Some(frame)).is_some())
        };
        let mut lens = [u64::from(said), limit - pos].into_iter();
        let len = lens.find(|len| *len <= limit - pos && leads_on(*len))?;
        let hints = ChunkHints {
            parameters: &frame.parameters,
            usual: &UsualFields::among(&[before]),
            // It is one between others.
            nbytes: usize::try_from(frame.chunksize).ok().filter(|n| *n > 0),
            cbytes: usize::try_from(len).ok(),
        };
        mended(image, pos, frame, &hints, budget)
    }

    /// The position of the first chunk.
    pub fn first(&self) -> Option<u64> {
        self.chunks.first().map(|(pos, _)| *pos)
    }

    /// The span of each chunk.
    pub fn spans(&self) -> Vec<start::Span> {
        let spans = self.chunks.iter();
        spans
            .map(|(pos, header)| (*pos, pos + header.cbytes as u64))
            .collect()
    }
}

/// A header made from those of the chunks. `is_proven` says whether the chunk at a position is
/// proven by its checksum.
pub(crate) fn header_from(scan: &Scan, is_proven: impl Fn(u64) -> bool) -> Option<Header> {
    // Prefer a chunk that is certainly not damaged.
    let first = scan.chunks.iter().find(|(pos, _)| is_proven(*pos));
    let (_, first) = first.or_else(|| scan.chunks.first())?;
    let codec = oxiblosc_codecs::Codec::from_format(first.flags >> 5);
    Some(Header {
        kind: FrameKind::Contiguous,
        nbytes: scan
            .chunks
            .iter()
            .map(|(_, header)| header.nbytes as i64)
            .sum(),
        chunksize: first.nbytes as i32,
        parameters: Parameters {
            typesize: first.typesize.into(),
            blocksize: 0,
            compcode: codec.map_or(first.udcompcode, |codec| codec.code() as u8),
            compcode_meta: first.compcode_meta,
            clevel: 5,
            splitmode: 4,
            use_dict: false,
            filters: first.filters,
            filters_meta: first.filters_meta,
        },
        nthreads_c: 1,
        nthreads_d: 1,
        has_vlmetalayers: false,
        vlblocks: first.has_vlblocks(),
        metalayers: TryVec::new(),
    })
}
