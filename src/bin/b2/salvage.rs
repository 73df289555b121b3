//! What can still be found in a contiguous frame that is damaged or cut short.
//!
//! The header, the index and the trailer are taken where they can be read. Chunks that the index does not lead to are
//! looked for in the file: they lie one behind another, and a chunk's header says enough to be told from other bytes.

use crate::failure::{Failure, Result};
use crate::library::SuperChunk;
use crate::text::{bytes, plural};
use blosc2::b2nd::geometry::Geometry;
use blosc2::b2nd::meta::{Meta, NAME};
use blosc2::chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special, version};
use blosc2::frame::header::{Extent, Header, Kind, MIN_LEN};
use blosc2::frame::journal::{Patch, Record, State, overlay};
use blosc2::frame::meta::Metalayer;
use blosc2::frame::offsets::{Offsets, Place, WIDTH};
use blosc2::frame::trailer;
use blosc2::io::Storage;
use blosc2::memory::Buffer;
use std::collections::{HashMap, HashSet};

/// Bytes that are searched at once.
const WINDOW: usize = 1 << 20;
/// The longest header that is searched for metalayers.
const MOST_HEADER: usize = 1 << 20;
/// Chunks of a frame that is mended, at most.
const MOST_CHUNKS: usize = 1 << 24;
/// Bytes of a chunk's header.
const HEADER: usize = EXTENDED_HEADER_LENGTH;

/// Where a chunk of the frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// At a position of the file, or in the file of this number.
    At(u64),
    /// Nowhere: its items are all the same.
    Special(Special),
    /// Nobody knows.
    Lost,
}

/// What was found.
pub struct Salvage {
    /// The header, or what takes its place.
    pub header: Header,
    /// The chunks in order.
    pub slots: Vec<Slot>,
    /// The variable-length metalayers.
    pub vlmetalayers: Vec<Metalayer>,
    /// What is lost or guessed, in words.
    pub notes: Vec<String>,
}

/// A file, seen through a change that was to be finished.
pub struct Image<'a> {
    file: &'a dyn Storage,
    size: u64,
    pending: Vec<Patch>,
}

impl<'a> Image<'a> {
    /// The file as a reader of the format should see it.
    pub fn new(file: &'a dyn Storage, notes: &mut Vec<String>) -> Result<Self> {
        let size = file
            .size()
            .map_err(|error| Failure::of("the file", error))?;
        let mut image = Self {
            file,
            size,
            pending: Vec::new(),
        };
        if let Ok(Some((_, record))) = Record::find(file, size)
            && record.base == 0
            && let Some(header) = image.read(0, record.header_len as usize)
            && record.state(&header) == State::Pending
        {
            notes.push("a change was under way when the writer ended: finished in the copy".into());
            image.pending = record.patches;
        }
        Ok(image)
    }

    /// Bytes of the file, if it has them.
    pub fn read(&self, pos: u64, len: usize) -> Option<Buffer> {
        pos.checked_add(len as u64)
            .filter(|end| *end <= self.size)?;
        let mut bytes = crate::library::zeros(len).ok()?;
        self.file.read_at(pos, &mut bytes).ok()?;
        overlay(&self.pending, pos, &mut bytes);
        Some(bytes)
    }

    /// The chunk at a position, as long as its header says; behind the end of the file there is what no stream begins
    /// with. (Zeros would be one: a run of zeros.)
    pub fn chunk(&self, pos: u64) -> Option<Buffer> {
        let front = self.read(pos, HEADER)?;
        let header = ChunkHeader::parse(&front).ok()?;
        let there = header
            .cbytes
            .min(usize::try_from(self.size - pos).unwrap_or(usize::MAX));
        let mut chunk = self.read(pos, there)?;
        chunk.resize(header.cbytes).ok()?;
        chunk[there..].fill(0x80);
        Some(chunk)
    }
}

/// The header: as it is, or as much of it as makes sense. Gives how long it is, too.
pub fn header(image: &Image, notes: &mut Vec<String>) -> Option<(Header, Extent)> {
    let mut front = image.read(0, MIN_LEN)?.to_vec();
    if !Header::has_magic(&front) {
        notes.push("the magic bytes at the start are damaged".into());
    }
    let extent = Extent::parse(&front).ok();
    if let Some(extent) = extent
        && let Some(whole) = image.read(0, extent.header_len as usize)
        && let Ok(header) = Header::parse(&whole)
    {
        return Some((header, extent));
    }
    // Without the metalayers: those of an empty header instead.
    let empty = [0x93, 0xcd, 0, 7, 0xde, 0, 0, 0xdc, 0, 0];
    front.extend(empty);
    let len = front.len() as u32;
    front[11..15].copy_from_slice(&len.to_be_bytes());
    front[16..24].copy_from_slice(&u64::from(len).to_be_bytes());
    let mut kept = Header::parse(&front).ok()?;
    let len = extent
        .map_or(MOST_HEADER, |extent| extent.header_len as usize)
        .min(MOST_HEADER);
    let len = len.min(usize::try_from(image.size).unwrap_or(MOST_HEADER));
    kept.metalayers
        .extend(image.read(0, len).and_then(|bytes| array_in(&bytes)));
    notes.push(if kept.metalayers.is_empty() {
        "the header's metalayers are damaged: they are lost".into()
    } else {
        "the header's metalayers are damaged: only that of the array was found".into()
    });
    let extent = extent.unwrap_or(Extent {
        header_len: MIN_LEN as u32,
        ..Extent::default()
    });
    Some((kept, extent))
}

/// The metalayer of an array, somewhere in a header.
fn array_in(header: &[u8]) -> Option<Metalayer> {
    let all = (MIN_LEN..header.len()).filter_map(|at| {
        let bytes = &header[at..];
        let (dimensions, list) = (*bytes.get(2)?, *bytes.get(3)?);
        // An array of seven, version 0, and a list of as many as there are dimensions.
        if bytes[0] != 0x97 || bytes[1] != 0 || dimensions > 15 || list != 0x90 + dimensions {
            return None;
        }
        let (meta, len) = Meta::parse(bytes, true).ok()?;
        let chunks = &meta.chunkshape;
        let geometry = Geometry::new(meta.ndim, &meta.shape, chunks, &meta.blockshape).ok()?;
        geometry.nchunks().ok()?;
        Some(Metalayer {
            name: NAME.to_vec(),
            content: bytes[..len].to_vec(),
        })
    });
    let mut all = all;
    all.next()
}

/// Finds what there is.
pub fn contiguous(image: &Image, contexts: &SuperChunk, mut notes: Vec<String>) -> Result<Salvage> {
    let found = header(image, &mut notes);
    let (known, extent) = match found {
        Some((header, extent)) => (Some(header), extent),
        None => {
            notes.push("the header is lost: what it says is taken from the chunks".into());
            let extent = Extent {
                header_len: MIN_LEN as u32,
                ..Extent::default()
            };
            (None, extent)
        }
    };
    let start = u64::from(extent.header_len);
    let vlmetalayers = trailer_of(image, &extent, known.as_ref(), &mut notes);
    let index_pos = start.checked_add(extent.cbytes);
    let offsets = index_pos.and_then(|pos| index(image, contexts, pos));
    if let (Some(header), Some(index)) = (&known, &offsets)
        && index.offsets.iter().all(Option::is_some)
    {
        let slots = index.counted(header).iter();
        let slots: Vec<Slot> = slots
            .map(|offset| slot(offset.unwrap_or(i64::MIN), start))
            .collect();
        if lead_to_chunks(&slots, image, header) {
            return Ok(Salvage {
                header: agreeing(header, image, &slots, &mut notes),
                slots,
                vlmetalayers,
                notes,
            });
        }
    }
    let mut chunks = scan(image, start, known.as_ref(), contexts);
    if chunks.chunks.is_empty() && known.is_some() {
        // It may be the header that is wrong about its chunks.
        chunks = scan(image, start, None, contexts);
    }
    let header = match known {
        Some(header) => header,
        None => header_from(&chunks)
            .ok_or_else(|| Failure::say("nothing that can be read: no header and no chunks"))?,
    };
    let slots = arrange(&header, offsets, chunks, start, image.size, &mut notes);
    Ok(Salvage {
        header: agreeing(&header, image, &slots, &mut notes),
        slots,
        vlmetalayers,
        notes,
    })
}

/// Whether an index leads to chunks, each to one of its own: it has no checksum, so it may be wrong and look right.
fn lead_to_chunks(slots: &[Slot], image: &Image, header: &Header) -> bool {
    let mut ends = Vec::new();
    for slot in slots {
        match slot {
            Slot::At(pos) => {
                let room = image.size.saturating_sub(*pos);
                let front = image.read(*pos, HEADER);
                let Some(chunk) = front.and_then(|front| plausible(&front, room, Some(header)))
                else {
                    return false;
                };
                ends.push((*pos, *pos + chunk.cbytes as u64));
            }
            Slot::Special(_) => {}
            Slot::Lost => return false,
        }
    }
    ends.sort_unstable();
    ends.windows(2).all(|pair| pair[0].1 <= pair[1].0)
}

/// The header, with the size of items that the chunks have: each of them says it too.
fn agreeing(header: &Header, image: &Image, slots: &[Slot], notes: &mut Vec<String>) -> Header {
    let mut header = header.clone();
    let mut sizes = slots.iter().take(16).filter_map(|slot| match slot {
        Slot::At(pos) => ChunkHeader::parse(&image.read(*pos, HEADER)?).ok(),
        _ => None,
    });
    let Some(first) = sizes.next().map(|chunk| i32::from(chunk.typesize)) else {
        return header;
    };
    // Large items are said to be of one byte.
    let wrong = header.typesize != first && (first > 1 || header.typesize <= 255);
    if wrong && sizes.all(|chunk| i32::from(chunk.typesize) == first) {
        notes.push(format!(
            "the header says that items have {}, the chunks say {first}",
            bytes(header.typesize as u64)
        ));
        header.typesize = first;
    }
    header
}

fn slot(offset: i64, start: u64) -> Slot {
    match Place::from_offset(offset) {
        Ok(Place::At(at)) => start.checked_add(at).map_or(Slot::Lost, Slot::At),
        Ok(Place::Special(kind)) => Slot::Special(kind),
        Err(_) => Slot::Lost,
    }
}

/// The variable-length metalayers.
fn trailer_of(
    image: &Image,
    extent: &Extent,
    header: Option<&Header>,
    notes: &mut Vec<String>,
) -> Vec<Metalayer> {
    let header_len = u64::from(extent.header_len);
    // Where the frame ends, as the header has it, or as the file has.
    for end in [extent.frame_len, image.size] {
        let read = || {
            let pos = end.checked_sub(trailer::MIN_LEN as u64)?;
            let last = image.read(pos, trailer::MIN_LEN)?;
            let len = trailer::len(&last, end, header_len).ok()?;
            trailer::parse(&image.read(end - len as u64, len)?).ok()
        };
        if let Some(layers) = read() {
            return layers;
        }
    }
    notes.push(match header {
        Some(header) if header.has_vlmetalayers => {
            "the trailer is damaged: the variable-length metalayers are lost".into()
        }
        _ => {
            "the trailer is damaged: it held no variable-length metalayers, or they are lost".into()
        }
    });
    Vec::new()
}

/// An index, or what is left of it.
struct Index {
    /// The offsets, `None` for those in a block of it that is damaged.
    offsets: Vec<Option<i64>>,
    /// Whether it has room for more offsets than there are chunks.
    growing: bool,
}

impl Index {
    /// The offsets that count.
    fn counted(&self, header: &Header) -> &[Option<i64>] {
        let count = header.nchunks().filter(|count| self.growing && *count > 0);
        let count = count.and_then(|count| usize::try_from(count).ok());
        &self.offsets[..count.map_or(self.offsets.len(), |count| count.min(self.offsets.len()))]
    }
}

/// The index at a position.
fn index(image: &Image, contexts: &SuperChunk, pos: u64) -> Option<Index> {
    let chunk = image.chunk(pos)?;
    let header = ChunkHeader::parse(&chunk).ok()?;
    if !header.nbytes.is_multiple_of(WIDTH) || header.nbytes == 0 {
        return None;
    }
    let growing = header.is_memcpyed();
    match Offsets::decode(&chunk, None) {
        Ok(offsets) => {
            // Where all offsets are the same there may be very many; then there is nothing to find, either.
            let offsets = offsets.iter().take(MOST_CHUNKS).map(Some).collect();
            return Some(Index { offsets, growing });
        }
        Err(_) if header.special() != Special::None => return None,
        Err(_) => {}
    }
    let mut offsets = Vec::new();
    let mut data = crate::library::zeros(header.blocksize_field().min(WINDOW)).ok()?;
    for range in crate::check::blocks(&header)? {
        let count = range.len() / WIDTH;
        let typesize = usize::from(header.typesize);
        match crate::check::block(contexts, &chunk, typesize, range.clone(), &mut data) {
            Ok(()) => offsets.extend(data[..range.len()].chunks_exact(WIDTH).map(|bytes| {
                let mut offset = [0; WIDTH];
                offset.copy_from_slice(bytes);
                Some(i64::from_le_bytes(offset))
            })),
            Err(_) => offsets.extend(std::iter::repeat_n(None, count)),
        }
    }
    let some = offsets.iter().any(Option::is_some);
    some.then_some(Index { offsets, growing })
}

/// What a search found.
pub struct Scan {
    /// Chunks, in the order of the file.
    chunks: Vec<(u64, ChunkHeader)>,
    /// Before which of the chunks bytes lie that are none.
    gaps: Vec<usize>,
    /// The index, if it was found behind the chunks.
    index: Option<Index>,
}

/// Whether a header can be that of a chunk of this frame, `room` bytes before the end of the file.
fn plausible(bytes: &[u8], room: u64, frame: Option<&Header>) -> Option<ChunkHeader> {
    let known = (version::ALPHA..=version::VL_BLOCKS).contains(&bytes[0]);
    let header = known.then(|| ChunkHeader::parse(bytes).ok()).flatten()?;
    let sound = header.is_extended()
        && header.nbytes > 0
        && header.cbytes as u64 <= room
        && !header.is_lazy()
        && !matches!(header.special(), Special::Unknown(_));
    let fits = match header.special() {
        Special::None if header.is_memcpyed() => header.cbytes == header.nbytes + HEADER,
        Special::None => {
            let starts = header
                .nblocks
                .checked_mul(4)
                .and_then(|n| n.checked_add(HEADER));
            starts.is_some_and(|starts| starts < header.cbytes)
                && header.cbytes <= header.nbytes.saturating_add(HEADER)
        }
        Special::Value => true,
        _ => header.cbytes == HEADER,
    };
    let belongs = frame.is_none_or(|frame| {
        let typesize = u8::try_from(frame.typesize).unwrap_or(1);
        header.typesize == typesize
            && header.has_vlblocks() == frame.vlblocks
            && (frame.chunksize <= 0 || header.nbytes <= frame.chunksize as usize)
    });
    (sound && fits && belongs).then_some(header)
}

/// Looks for chunks from `start` on.
fn scan(image: &Image, start: u64, frame: Option<&Header>, contexts: &SuperChunk) -> Scan {
    let mut scan = Scan {
        chunks: Vec::new(),
        gaps: Vec::new(),
        index: None,
    };
    let mut pos = start;
    while let Some(front) = image.read(pos, HEADER) {
        if !scan.chunks.is_empty() && front[3] as usize == WIDTH {
            scan.index = scan.as_index(image, contexts, pos, start);
            if scan.index.is_some() {
                break;
            }
        }
        if let Some(header) = plausible(&front, image.size - pos, frame) {
            scan.chunks.push((pos, header));
            pos += header.cbytes as u64;
            continue;
        }
        // The file may have been cut within a chunk: its first blocks are there.
        let cut = plausible(&front, u64::MAX, frame);
        let cut = cut.filter(|header| starts_well(header, image, pos));
        // A chunk whose size is damaged hides those behind it, so the search begins within it.
        let from = match scan.chunks.last() {
            Some((last, _)) if frame.is_some_and(|frame| frame.chunksize > 0) => *last + 1,
            _ => pos + 1,
        };
        match search(image, from, frame) {
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

/// The next position from which on there is a chunk.
fn search(image: &Image, from: u64, frame: Option<&Header>) -> Option<u64> {
    let mut pos = from;
    loop {
        let len = image.size.checked_sub(pos)?.min(WINDOW as u64) as usize;
        if len < HEADER {
            return None;
        }
        let window = image.read(pos, len)?;
        let hit = window.windows(HEADER).enumerate().find(|(at, bytes)| {
            let room = image.size - pos - *at as u64;
            plausible(bytes, room, frame)
                .is_some_and(|header| starts_well(&header, image, pos + *at as u64))
        });
        if let Some((at, _)) = hit {
            return Some(pos + at as u64);
        }
        pos += (len - HEADER + 1) as u64;
    }
}

/// Whether every block of a chunk starts within it: what other bytes hardly ever look like.
fn starts_well(header: &ChunkHeader, image: &Image, pos: u64) -> bool {
    if header.special() != Special::None || header.is_memcpyed() {
        return header.filters.iter().all(|id| *id < 64);
    }
    let Some(starts) = image.read(pos + HEADER as u64, 4 * header.nblocks) else {
        return false;
    };
    let least = HEADER + 4 * header.nblocks;
    starts.chunks_exact(4).all(|bytes| {
        let start = u32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]) as usize;
        start >= least && start < header.cbytes
    })
}

impl Scan {
    /// The offsets, if what lies at a position is the index of the chunks found.
    fn as_index(
        &self,
        image: &Image,
        contexts: &SuperChunk,
        pos: u64,
        start: u64,
    ) -> Option<Index> {
        let front = ChunkHeader::parse(&image.read(pos, HEADER)?).ok()?;
        if front.cbytes as u64 > image.size - pos || front.nbytes / WIDTH < self.chunks.len() / 2 {
            return None;
        }
        let offsets = index(image, contexts, pos)?;
        let known: HashSet<u64> = self.chunks.iter().map(|(at, _)| at - start).collect();
        let places = offsets
            .offsets
            .iter()
            .flatten()
            .filter_map(|offset| u64::try_from(*offset).ok());
        let (mut hits, mut all) = (0, 0);
        for place in places {
            all += 1;
            hits += usize::from(known.contains(&place));
        }
        (all > 0 && hits * 2 > all).then_some(offsets)
    }
}

/// A header for chunks of which nothing is known but themselves.
fn header_from(scan: &Scan) -> Option<Header> {
    let (_, first) = scan.chunks.first()?;
    let codec = blosc2::codec::Codec::from_format(first.flags >> 5);
    Some(Header {
        kind: Kind::Contiguous,
        nbytes: scan
            .chunks
            .iter()
            .map(|(_, header)| header.nbytes as i64)
            .sum(),
        typesize: first.typesize.into(),
        blocksize: 0,
        chunksize: first.nbytes as i32,
        compcode: codec.map_or(first.udcompcode, |codec| codec.code() as u8),
        compcode_meta: first.compcode_meta,
        clevel: 5,
        splitmode: 4,
        use_dict: false,
        filters: first.filters,
        filters_meta: first.filters_meta,
        nthreads_c: 1,
        nthreads_d: 1,
        has_vlmetalayers: false,
        vlblocks: first.has_vlblocks(),
        metalayers: Vec::new(),
    })
}

/// Puts what was found in order.
fn arrange(
    header: &Header,
    index: Option<Index>,
    scan: Scan,
    start: u64,
    size: u64,
    notes: &mut Vec<String>,
) -> Vec<Slot> {
    let expected = header
        .nchunks()
        .filter(|count| *count > 0)
        .map(|n| n as usize);
    let found = scan.chunks.len();
    if let Some(index) = index.or(scan.index) {
        return complete(index.counted(header), &scan.chunks, start, notes);
    }
    notes.push(
        "the index is lost: chunks are taken in the order in which they lie in the file".into(),
    );
    let mut slots: Vec<Slot> = Vec::new();
    let missing = expected.map_or(0, |expected| expected.saturating_sub(found));
    let gaps = &scan.gaps;
    // Where bytes lie that are no chunk there was one; the others that are missing were in the last such place, or at
    // the end, where the file was cut.
    for (at, (pos, _)) in scan.chunks.iter().enumerate() {
        if let Some(nth) = gaps.iter().position(|gap| *gap == at)
            && nth < missing
        {
            let alone = gaps.len() == 1;
            slots.extend(std::iter::repeat_n(
                Slot::Lost,
                if alone { missing } else { 1 },
            ));
        }
        slots.push(Slot::At(*pos));
    }
    match expected {
        Some(expected) if slots.len() < expected => {
            let lost = expected - slots.len();
            // A header that is damaged may ask for very many, for each of which there were some bytes.
            let most = usize::try_from(size / 8).unwrap_or(MOST_CHUNKS).max(1024);
            if lost > most {
                notes.push(format!(
                    "the header asks for {expected} chunks, which cannot have been here"
                ));
            }
            let lost = lost.min(most).min(MOST_CHUNKS);
            slots.extend(std::iter::repeat_n(Slot::Lost, lost));
        }
        Some(expected) if slots.len() > expected => {
            notes.push(format!(
                "{} found, {expected} expected: some are older versions of others, and the order is a guess",
                plural(found, "chunk", "chunks")
            ));
            slots.truncate(expected);
        }
        _ => {}
    }
    if missing > 0 {
        notes.push(format!(
            "{} of {} found; where the others were is a guess, and chunks of special values cannot be found",
            found,
            found + missing
        ));
    }
    slots
}

/// Fills the holes of an index with chunks that it does not name.
fn complete(
    offsets: &[Option<i64>],
    chunks: &[(u64, ChunkHeader)],
    start: u64,
    notes: &mut Vec<String>,
) -> Vec<Slot> {
    let places: HashSet<u64> = chunks.iter().map(|(pos, _)| pos - start).collect();
    let all = offsets
        .iter()
        .flatten()
        .filter_map(|offset| u64::try_from(*offset).ok());
    let mut times: HashMap<u64, usize> = HashMap::new();
    all.for_each(|place| *times.entry(place).or_default() += 1);
    let trusted = |offset: i64| match u64::try_from(offset) {
        Ok(place) => places.contains(&place) && times.get(&place) == Some(&1),
        Err(_) => Place::from_offset(offset).is_ok(),
    };
    // What was decoded and leads nowhere shows that the rest is not to be trusted either.
    let wrong = offsets.iter().flatten().any(|offset| !trusted(*offset));
    let offsets: Vec<Option<i64>> = offsets
        .iter()
        .map(|offset| offset.filter(|offset| trusted(*offset)))
        .collect();
    if wrong && chunks.len() == offsets.len() {
        notes.push(
            "the index is damaged: chunks are taken in the order in which they lie in the file"
                .into(),
        );
        return chunks.iter().map(|(pos, _)| Slot::At(*pos)).collect();
    }
    let named: HashSet<u64> = offsets
        .iter()
        .flatten()
        .filter_map(|offset| u64::try_from(*offset).ok())
        .collect();
    let unnamed: Vec<u64> = chunks
        .iter()
        .map(|(pos, _)| *pos)
        .filter(|pos| !named.contains(&(pos - start)))
        .collect();
    let holes = offsets.iter().filter(|offset| offset.is_none()).count();
    if holes > 0 {
        let how = if unnamed.len() == holes {
            "all were found in the file"
        } else {
            "which chunks they were is a guess"
        };
        notes.push(format!(
            "the index is damaged: the places of {} are lost; {how}",
            plural(holes, "chunk", "chunks")
        ));
    }
    let mut unnamed = unnamed.into_iter();
    let slots = offsets.iter().map(|offset| match offset {
        Some(offset) => slot(*offset, start),
        None => unnamed.next().map_or(Slot::Lost, Slot::At),
    });
    slots.collect()
}

/// What to say of bytes of a file that is shorter than its header says.
pub fn shortfall(extent: &Extent, size: u64) -> Option<String> {
    let missing = extent
        .frame_len
        .checked_sub(size)
        .filter(|missing| *missing > 0)?;
    Some(format!(
        "the file is cut short: {} are missing",
        bytes(missing)
    ))
}

/// Finds what there is in a directory.
pub fn sparse(
    image: &Image,
    folder: &std::path::Path,
    contexts: &SuperChunk,
    mut notes: Vec<String>,
) -> Result<Salvage> {
    let found = header(image, &mut notes);
    let numbers = numbers(folder)?;
    let read = |number: u64| std::fs::read(folder.join(format!("{number:08X}.chunk"))).ok();
    let first = || {
        let chunks = numbers.iter().filter_map(|number| {
            let header = ChunkHeader::parse(&read(*number)?).ok()?;
            Some((*number, header))
        });
        let scan = Scan {
            chunks: chunks.collect(),
            gaps: Vec::new(),
            index: None,
        };
        header_from(&scan)
    };
    let (mut known, extent) = match found {
        Some(found) => found,
        None => {
            notes.push("the header is lost: what it says is taken from the chunks".into());
            let header = first()
                .ok_or_else(|| Failure::say("nothing that can be read: no header and no chunks"))?;
            (header, Extent::default())
        }
    };
    known.kind = Kind::Sparse;
    let vlmetalayers = trailer_of(image, &extent, Some(&known), &mut notes);
    let expected = known
        .nchunks()
        .filter(|count| *count > 0)
        .map(|n| n as usize);
    let offsets = index(image, contexts, extent.header_len.into());
    let slots = match offsets {
        Some(index) => {
            let offsets = index.counted(&known);
            if offsets.iter().any(Option::is_none) {
                notes.push("the index is damaged: the places of some chunks are lost".into());
            }
            let offsets = offsets.iter();
            offsets
                .map(|offset| offset.map_or(Slot::Lost, |offset| slot(offset, 0)))
                .collect()
        }
        None if expected.is_none() && numbers.is_empty() => Vec::new(),
        None => {
            notes.push("the index is lost: chunks are taken in the order of their numbers".into());
            numbered(&numbers, expected)
        }
    };
    Ok(Salvage {
        header: known,
        slots,
        vlmetalayers,
        notes,
    })
}

/// The numbers of the chunks' files.
fn numbers(folder: &std::path::Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| Failure::at(folder, &error))? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_suffix(".chunk"));
        numbers.extend(number.and_then(|digits| u64::from_str_radix(digits, 16).ok()));
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Chunks by their numbers, with a place for each that is missing between them.
fn numbered(numbers: &[u64], expected: Option<usize>) -> Vec<Slot> {
    let missing = expected
        .map_or(0, |expected| expected.saturating_sub(numbers.len()))
        .min(1024 + 8 * numbers.len());
    let mut slots = Vec::new();
    let mut next = 0;
    let mut lost = 0;
    for number in numbers {
        while next < *number && lost < missing {
            slots.push(Slot::Lost);
            (next, lost) = (next + 1, lost + 1);
        }
        slots.push(Slot::At(*number));
        next = number + 1;
    }
    slots
}
