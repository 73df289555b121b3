//! Corrects a header that is in doubt by the headers of the chunks.

use crate::array::{array_layer, array_meta};
use crate::chunks::ChunkFinder;
use crate::integrity::Integrity;
use crate::location::ChunkLocation;
use crate::run_list::RunList;
use crate::words::bytes;
use oxiblosc::b2nd::meta::{NAME, OLD_NAME};
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_frame::header::Header;
use std::collections::HashMap;

/// The sizes of the chunks' data, in bytes.
pub struct Sizes {
    /// That of all chunks but the last; 0 if they differ.
    pub chunksize: usize,
    /// That of all chunks together.
    nbytes: usize,
    /// The number of chunks.
    count: usize,
    /// Whether `chunksize` is certain, and whether the size of the last chunk is.
    known: (bool, bool),
}

impl Sizes {
    /// Bytes of data of a chunk; none if the chunks differ in size.
    pub fn expected(&self, nchunk: usize) -> Option<usize> {
        if self.chunksize == 0 {
            None
        } else if nchunk + 1 < self.count {
            Some(self.chunksize)
        } else {
            Some(self.nbytes - self.chunksize * nchunk)
        }
    }

    /// Whether [`Self::expected`] is certain for a chunk.
    pub fn is_known(&self, nchunk: usize) -> bool {
        match nchunk + 1 < self.count {
            true => self.known.0,
            false => self.known.1,
        }
    }
}

/// The headers of the chunks with bytes, their numbers, and whether each is proven by its checksum.
type Fronts = Vec<(usize, ChunkHeader, bool)>;

/// Takes the sizes of items, chunks and data from the chunks, unless the header is intact. Removes
/// the metalayer of an array that cannot have such chunks. Adds notes about what was changed.
pub fn agree(
    header: &mut Header,
    state: Integrity,
    locations: &RunList<ChunkLocation>,
    chunks: &ChunkFinder,
    notes: &mut Vec<String>,
) -> Sizes {
    let fronts: Fronts = match state {
        Integrity::Intact => Vec::new(),
        _ => {
            let runs = locations.runs();
            let stored = runs.filter_map(|(range, location)| match location {
                ChunkLocation::At(position) => Some(range.map(|nchunk| (nchunk, *position))),
                _ => None,
            });
            let header = |(nchunk, position)| {
                let (header, proven) = chunks.header(position)?;
                Some((nchunk, header, proven))
            };
            stored.flatten().filter_map(header).collect()
        }
    };
    let sizes = sizes(header, state, locations.len(), &fronts);
    if state == Integrity::Intact {
        return sizes;
    }
    let any_proven = fronts.iter().any(|(_, _, proven)| *proven);
    let counts = |prefix: &&(usize, ChunkHeader, bool)| !any_proven || prefix.2;
    let mut said = fronts.iter().filter(counts).take(16);
    if let Some((_, first, _)) = said.next() {
        let size = i32::from(first.typesize);
        // The header of a chunk says 1 for items of more than 255 bytes.
        let wrong =
            header.parameters.typesize != size && (size > 1 || header.parameters.typesize <= 255);
        if wrong && said.all(|(_, chunk, _)| i32::from(chunk.typesize) == size) {
            notes.push(format!(
                "the header says that items have {}, the chunks say {size}",
                bytes(header.parameters.typesize as u64)
            ));
            header.parameters.typesize = size;
        }
    }
    let mut counted = fronts.iter().filter(counts).map(|(_, chunk, _)| chunk);
    let first = counted.find(|chunk| chunk.special() == Special::None);
    let blocksize = first.map(ChunkHeader::blocksize_field);
    if !locations.is_empty() && !is_array_of(header, locations.len(), sizes.chunksize, blocksize) {
        notes.push(
            "the array's shape does not fit the chunks: they come back as a frame that is no array"
                .into(),
        );
        let is_array = |name: &[u8]| name == NAME || name == OLD_NAME;
        header.metalayers.retain(|layer| !is_array(&layer.name));
    }
    sizes
}

/// The sizes of the chunks' data, by the chunks and the header of the frame.
fn sizes(header: &Header, state: Integrity, count: usize, fronts: &Fronts) -> Sizes {
    let said = header.chunksize.max(0) as usize;
    let is_last = |nchunk: usize| nchunk + 1 == count;
    let inner = fronts.iter().filter(|(nchunk, ..)| !is_last(*nchunk));
    let mut seen: HashMap<usize, (usize, usize)> = HashMap::new();
    for (_, chunk, proven) in inner {
        let (all, sure) = seen.entry(chunk.nbytes).or_default();
        *all += 1;
        *sure += usize::from(*proven);
    }
    let sure: Vec<usize> = seen
        .iter()
        .filter(|(_, (_, sure))| *sure > 0)
        .map(|(size, _)| *size)
        .collect();
    let all: usize = seen.values().map(|(all, _)| *all).sum();
    let most = seen.iter().max_by_key(|(_, (all, _))| *all);
    let mut chunksize = match (&sure[..], most) {
        ([size], _) => *size,
        ([_, _, ..], _) => 0,
        (_, Some((size, (count, _)))) if said != 0 && *count * 2 > all => *size,
        (_, Some(_)) if state == Integrity::Damaged => 0,
        _ => said,
    };
    let last = fronts.last().filter(|(nchunk, ..)| is_last(*nchunk));
    let last_sure = last.is_some_and(|(_, _, proven)| *proven);
    if let Some((_, chunk, true)) = last
        && chunk.nbytes > chunksize
    {
        chunksize = if count > 1 { 0 } else { chunk.nbytes };
    }
    let capacity = chunksize.saturating_mul(count);
    let before = capacity.saturating_sub(chunksize);
    let nbytes = usize::try_from(header.nbytes).unwrap_or(0);
    let own = last.map(|(_, chunk, _)| chunk.nbytes);
    let own = own
        .filter(|own| (1..=chunksize).contains(own) && (last_sure || state == Integrity::Damaged));
    let nbytes = match own {
        Some(own) => before + own,
        None if nbytes > capacity || nbytes <= before => capacity,
        None => nbytes,
    };
    Sizes {
        chunksize,
        nbytes,
        count,
        known: match state {
            Integrity::Intact => (true, true),
            _ => (sure.len() == 1 && chunksize > 0, false),
        },
    }
}

/// Whether a frame with this header is no array, or one with `count` chunks and these sizes of a
/// chunk and a block, in bytes.
fn is_array_of(header: &Header, count: usize, chunksize: usize, blocksize: Option<usize>) -> bool {
    let Some(content) = array_layer(&header.metalayers) else {
        return true;
    };
    let fits = || {
        let meta = array_meta(content)?;
        let array = meta.geometry().ok()?;
        let bytes = |items: i64| {
            let bytes = items.checked_mul(i64::from(header.parameters.typesize))?;
            usize::try_from(bytes).ok()
        };
        let chunk = bytes(array.extchunknitems)?;
        let block = bytes(array.blocknitems.into())?;
        let right = array.nchunks().ok()? == count
            && chunk == chunksize
            && blocksize.is_none_or(|blocksize| blocksize == block.min(chunk));
        right.then_some(())
    };
    fits().is_some()
}
