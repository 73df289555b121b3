//! Damaged frames in directories, with a file for each chunk.

use crate::chunks::ChunkFinder;
use crate::contexts::Contexts;
use crate::end::End;
use crate::header::{NO_EXTENT, SalvagedHeader, header_or};
use crate::index::{SalvagedIndex, would_fit};
use crate::integrity::Integrity;
use crate::location::{ChunkLocation, MISPLACED, chunk_number};
use crate::order::numbered;
use crate::rolled_back::RolledBackFile;
use crate::run_list::RunList;
use crate::salvage::{PartStates, Result, Salvage, Unrepairable};
use crate::scan::{Scan, header_from};
use crate::specials;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_frame::header::{FrameKind, Header};
use std::collections::HashMap;
use std::path::Path;

/// Finds what is left of the frame in `folder`. `image` is the file with header, index and trailer.
///
/// # Errors
/// As for [`contiguous`](super::contiguous()).
pub fn sparse(
    image: &RolledBackFile,
    folder: &Path,
    contexts: &Contexts,
    mut notes: Vec<String>,
) -> Result<Salvage> {
    let prefix = SalvagedHeader::read(image, &mut notes);
    let extent = prefix.as_ref().map_or(NO_EXTENT, |prefix| prefix.extent);
    let end = End::find(
        image,
        &extent,
        prefix.as_ref().map(|prefix| &prefix.header),
        &mut notes,
    );
    let state = prefix
        .as_ref()
        .map(|prefix| prefix.state(end.sums.as_ref()));
    let state = state.unwrap_or(Integrity::Damaged);
    let chunks = ChunkFinder::new(image, Some(folder));
    let numbers = numbers(folder)?;
    let from_chunks = || header_of(&numbers, &chunks);
    let mut header = header_or(prefix, state, &mut notes, from_chunks)?;
    header.kind = FrameKind::Sparse;
    let sum = end.sums.as_ref().map(|sums| sums.index);
    let said = SalvagedIndex::at(image, contexts, extent.header_len.into(), sum);
    let index = said
        .filter(|index| index.state == Integrity::Intact || state != Integrity::Damaged)
        .or_else(|| SalvagedIndex::before(image, contexts, end.pos, sum))
        .filter(|index| index.belongs((state != Integrity::Damaged).then_some(&header)));
    let order = Order::find(
        index,
        (&header, state),
        sum,
        (&numbers, &chunks),
        &mut notes,
    );
    Ok(Salvage {
        header,
        parts: PartStates {
            header: state,
            index: order.index,
            trailer: end.state,
        },
        locations: order.locations,
        specials_proven: order.specials_proven && order.is_certain,
        in_order: order.is_certain,
        limit: 0,
        vlmetalayers: end.layers,
        notes,
        lost: Vec::new(),
    })
}

/// The chunks in their order.
struct Order {
    locations: RunList<ChunkLocation>,
    /// Whether the order is certain.
    is_certain: bool,
    /// Whether the places and kinds of chunks of special values, which have no files, are certain,
    /// provided that the order is.
    specials_proven: bool,
    /// The state of the index.
    index: Integrity,
}

impl Order {
    /// Finds the order: by the index if it is not damaged, by its checksum, by a damaged index, or
    /// else by the numbers of the files. `sum` is the checksum of the index.
    fn find(
        index: Option<SalvagedIndex>,
        (header, state): (&Header, Integrity),
        sum: Option<u32>,
        (numbers, chunks): (&[u64], &ChunkFinder),
        notes: &mut Vec<String>,
    ) -> Self {
        let believed = (state != Integrity::Damaged).then_some(header);
        let expected = believed.and_then(Header::nchunks);
        let index_state = index
            .as_ref()
            .map_or(Integrity::Damaged, |index| index.state);
        let mut order = Self {
            locations: RunList::new(),
            is_certain: false,
            specials_proven: index_state == Integrity::Intact,
            index: index_state,
        };
        let faults = chunks.faults();
        let by_sum = || {
            let count = usize::try_from(expected?).ok()?;
            specials::placed(numbers, count, 0, sum?, faults)
        };
        if index_state != Integrity::Intact
            && let Some(locations) = by_sum()
        {
            notes.push("the index is lost, but its checksum says which chunk is which".into());
            order.locations = locations;
            (order.is_certain, order.specials_proven) = (true, true);
        } else if let Some(index) = &index {
            (order.locations, order.is_certain) = by_index(index, believed, numbers, chunks, notes);
        } else if expected == Some(0) && numbers.is_empty() {
            order.index = state;
            order.is_certain = state == Integrity::Intact;
        } else {
            notes.push("the index is lost: chunks are taken in the order of their numbers".into());
            let expected = expected.filter(|count| *count > 0);
            order.locations = numbered(numbers, expected.map(|count| count as usize));
        }
        if index.is_some_and(|index| index.is_misleading(0, chunks)) {
            notes.push(MISPLACED.into());
            order.is_certain = false;
            return order;
        }
        if !order.is_certain && sum.is_some_and(|sum| would_fit(&order.locations, 0, sum, faults)) {
            notes.push("the checksum of the index says that this is their order".into());
            order.is_certain = true;
        }
        order
    }
}

/// A header made from those of the chunks.
fn header_of(numbers: &[u64], chunks: &ChunkFinder) -> Option<Header> {
    let read = |number: &u64| Some((*number, chunks.header(*number)?));
    let found: HashMap<u64, (ChunkHeader, bool)> = numbers.iter().filter_map(read).collect();
    let proven = |number| found.get(&number).is_some_and(|(_, proven)| *proven);
    let headers = numbers
        .iter()
        .filter_map(|number| Some((*number, found.get(number)?.0)));
    let scan = Scan {
        chunks: headers.collect(),
        gaps: Vec::new(),
        index: None,
    };
    header_from(&scan, proven)
}

/// The chunks that an index leads to, and whether that is certain.
fn by_index(
    index: &SalvagedIndex,
    header: Option<&Header>,
    numbers: &[u64],
    chunks: &ChunkFinder,
    notes: &mut Vec<String>,
) -> (RunList<ChunkLocation>, bool) {
    if !index.is_whole() {
        notes.push("the index is damaged: the places of some chunks are lost".into());
    } else if index.state == Integrity::Damaged {
        notes.push("the index is damaged: which chunk is which is a guess".into());
    }
    let mut positions = index.positions();
    positions.sort_unstable();
    // Without a checksum the index is right if each file is named once: a damaged offset would name
    // no file.
    let is_proven = |number: &u64| chunks.header(*number).is_some_and(|(_, proven)| proven);
    let is_sure = index.state == Integrity::Intact
        || (index.state == Integrity::Unknown
            && positions == numbers
            && numbers.iter().any(is_proven));
    (index.locations(header, 0), is_sure)
}

/// The numbers of the chunks' files, sorted.
fn numbers(folder: &Path) -> Result<Vec<u64>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(Unrepairable::Folder)? {
        let name = entry.map_err(Unrepairable::Folder)?.file_name();
        numbers.extend(name.to_str().and_then(chunk_number));
    }
    numbers.sort_unstable();
    Ok(numbers)
}
