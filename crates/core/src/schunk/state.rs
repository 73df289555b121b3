//! The state of a super-chunk, and changes of it.

use super::rules::{ChunkInfo, Counts, StorageKind};
use super::slices::ChunkSizes;
use super::staged::Before;
use super::store::{ChunkUpdate, Location, Store, Update, keep, lock, unlocked};
use crate::coder::{Changed, Count, Host};
use oxiblosc_chunk::header::{
    ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_FILTERS, MAX_TYPESIZE, Special, flags2,
};
use oxiblosc_chunk::tune::BlocksizeRequest;
use oxiblosc_chunk::{checksum, special};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{Change, Item};
use oxiblosc_frame::disk::Loaded;
use oxiblosc_frame::header::{Header, Kind};
use oxiblosc_frame::meta::{self, Metalayer};
use oxiblosc_memory::sort::sort;
use oxiblosc_memory::{Buffer, Collect, Edit, List, Shared, ToList};
use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// More chunks of special values than this are not stored all at once.
const MOST_SPECIAL: usize = 1 << 20;

/// How the chunks to come are compressed, as the header of a frame records it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Bytes of an item.
    pub typesize: i32,
    /// Bytes of a block; 0 lets the tuner choose.
    pub blocksize: i32,
    /// The codec's id.
    pub compcode: u8,
    /// A parameter of the codec.
    pub compcode_meta: u8,
    /// 0 (store) to 9.
    pub clevel: u8,
    /// Whether blocks are cut into streams: 1 always, 2 never, 3 as the tuner says, 4 as older versions could read.
    pub splitmode: u8,
    /// Whether chunks get a dictionary.
    pub use_dict: bool,
    /// The filters, in the order in which they are applied.
    pub filters: [u8; MAX_FILTERS],
    /// A parameter of each filter.
    pub filters_meta: [u8; MAX_FILTERS],
}

impl Parameters {
    /// Those that a header records.
    pub fn of(header: &Header) -> Self {
        Self {
            typesize: header.typesize,
            blocksize: header.blocksize,
            compcode: header.compcode,
            compcode_meta: header.compcode_meta,
            clevel: header.clevel,
            splitmode: header.splitmode,
            use_dict: header.use_dict,
            filters: header.filters,
            filters_meta: header.filters_meta,
        }
    }

    /// Whether a copy for which these are asked can have chunks with the parameters `known` as they are: there is no reason to compress
    /// them again.
    pub fn keep(&self, known: &Self) -> bool {
        let blocksize = match self.blocksize {
            0 => known.blocksize,
            blocksize => blocksize,
        };
        let (compcode_meta, splitmode) = (known.compcode_meta, known.splitmode);
        *known
            == Self {
                blocksize,
                compcode_meta,
                splitmode,
                ..*self
            }
    }
}

/// The state of a super-chunk: its chunks, and what is known of them. Readers share it.
///
/// What is seldom read comes first. In front of the state are the words of the locks, which each reader writes, so that the others would
/// wait for what they read in the same cache line.
#[repr(C)]
pub struct State {
    /// How large the chunks are, where they differ, once asked for.
    sizes: Mutex<Option<ChunkSizes>>,
    /// Whether the chunks of a frame were seen to have as many bytes together as its header says, where they differ in size.
    sum_checked: AtomicBool,
    /// Whether chunks get checksums when they come into the frame.
    checksums: bool,
    /// The tick when shapes of arrays that were known last became others: one got another shape, or a transaction was abandoned.
    reshaped: i64,
    /// The tick when the frame was last read again.
    pub(super) loaded: i64,
    pub(crate) metalayers: List<Metalayer>,
    pub(crate) vlmetalayers: List<Metalayer>,
    pub(crate) store: Store,
    pub(crate) parameters: Parameters,
    pub(crate) counts: Counts,
    pub(crate) tick: i64,
}

/// A change, and the counters after it.
pub(crate) struct Plan<'a> {
    /// The counters after it.
    pub counts: Counts,
    /// The change.
    pub change: Change<'a>,
    /// The chunks that come in, if they are the library's and kept each on its own. They are left where the change fails.
    pub owned: Option<&'a mut List<Buffer>>,
}

impl State {
    /// The state of a super-chunk with these chunks.
    pub fn new(store: Store, parameters: Parameters) -> Self {
        Self {
            store,
            parameters,
            counts: Counts::EMPTY,
            metalayers: List::new(),
            vlmetalayers: List::new(),
            tick: 0,
            sizes: Mutex::new(None),
            sum_checked: AtomicBool::new(false),
            checksums: false,
            reshaped: 0,
            loaded: 0,
        }
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How the chunks to come are compressed.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fixed-length metalayers.
    pub fn metalayers(&self) -> &[Metalayer] {
        &self.metalayers
    }

    /// The variable-length metalayers, whose contents are chunks.
    pub fn vlmetalayers(&self) -> &[Metalayer] {
        &self.vlmetalayers
    }

    /// A number that grows whenever metalayers change, here or through another handle on the frame.
    pub fn tick(&self) -> i64 {
        self.tick
    }

    /// Whether the shapes of an array may be others than at this tick: another handle changed them, another thread did, which
    /// says so only afterwards, or a transaction was abandoned.
    pub fn may_differ_since(&self, tick: i64) -> bool {
        tick != self.tick && (self.is_frame() || tick < self.reshaped)
    }

    /// Makes the state what it was before a transaction, whose chunks are gone already.
    pub(crate) fn restore(&mut self, before: &mut Before) {
        self.counts = before.counts;
        self.parameters.blocksize = before.blocksize;
        self.checksums = before.checksums;
        if before.has_metalayers {
            std::mem::swap(&mut self.metalayers, &mut before.metalayers);
            std::mem::swap(&mut self.vlmetalayers, &mut before.vlmetalayers);
        }
        self.forget_sizes();
        *self.sum_checked.get_mut() = false;
        self.tick += 1;
        self.reshaped = self.tick;
    }

    /// Whether the chunks are in a frame.
    pub fn is_frame(&self) -> bool {
        self.store.is_frame()
    }

    /// Whether there is a contiguous frame in memory.
    pub fn is_frame_in_memory(&self) -> bool {
        matches!(self.store, Store::Memory(_))
    }

    /// Whether the chunks are of variable-length blocks.
    pub fn has_vlblocks(&self) -> bool {
        self.counts.flags2 & flags2::VL_BLOCKS != 0
    }

    /// A chunk that is on its own; none of a frame.
    pub fn separate_chunk(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        self.store.separate_chunk(nchunk)
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        self.store.nchunks()
    }

    /// How many there are of what a window shows one by one.
    pub fn count(&self) -> Count {
        let nchunks = self.store.nchunks();
        Count {
            separate: if self.is_frame() { 0 } else { nchunks },
            metalayers: self.metalayers.len(),
            vlmetalayers: self.vlmetalayers.len(),
        }
    }

    /// How the chunks are counted.
    pub(crate) fn keeping(&self) -> StorageKind {
        match (self.store.is_frame(), self.store.kind()) {
            (false, _) => StorageKind::Separate,
            (true, Kind::Contiguous) => StorageKind::Contiguous,
            (true, Kind::Sparse) => StorageKind::Sparse,
        }
    }

    /// How a chunk goes into the store when chunks will be of `chunksize`: as a special offset without any bytes, if that is enough.
    pub(crate) fn item<'a>(&self, chunksize: i32, chunk: &ChunkInfo, bytes: &'a [u8]) -> Item<'a> {
        match chunk.special {
            Some(place) if self.store.is_frame() && chunksize > 0 => Item::Special(place),
            _ => Item::Stored(bytes),
        }
    }

    /// Whether chunks get checksums when they come into the frame.
    pub fn has_checksums(&self) -> bool {
        self.checksums
    }

    /// Has chunks that come into the frame get checksums from now on, and the frame too; or none.
    pub(crate) fn set_checksums(&mut self, checksums: bool) -> Result<()> {
        self.store.set_checksums(checksums)?;
        self.checksums = checksums && self.store.is_frame();
        Ok(())
    }

    /// The chunk as the frame is to have it, if that is another: with checksums.
    pub(crate) fn with_checksums(&self, chunk: &[u8]) -> Result<Option<Buffer>> {
        if !self.checksums || !self.store.is_frame() {
            return Ok(None);
        }
        match checksum::add(chunk) {
            Err(Error::MemoryAlloc) => Err(Error::MemoryAlloc),
            // A damaged chunk is kept as it is.
            Err(_) => Ok(None),
            added => added,
        }
    }

    /// What counts of a chunk.
    pub(crate) fn chunk_info(&self, nchunk: usize) -> Result<ChunkInfo> {
        Ok(match self.store.find(nchunk)? {
            Location::Memory(bytes, _) => ChunkInfo::new(&ChunkHeader::parse(bytes)?),
            Location::File(stored) => ChunkInfo::new(&stored.header()?),
            Location::Special(kind) => {
                let nbytes = self.counts.nbytes_of(nchunk as i64).ok_or(Error::Data)?;
                ChunkInfo::of_special(kind, nbytes)
            }
        })
    }

    /// The chunk that stands for `nbytes` bytes of special values.
    pub(crate) fn special_chunk(&self, kind: Special, nbytes: i32) -> Result<List<u8>> {
        let Parameters {
            typesize,
            blocksize,
            ..
        } = self.parameters;
        special_chunk(kind, nbytes, typesize, blocksize)
    }

    /// The header of a frame that is made for this state.
    pub fn new_header(&self, host: &dyn Host, kind: Kind) -> Header {
        self.header(host, &self.counts, kind)
    }

    /// The header that a frame gets.
    pub(crate) fn header(&self, host: &dyn Host, counts: &Counts, kind: Kind) -> Header {
        let (nthreads_c, nthreads_d) = host.nthreads();
        let own = &self.parameters;
        Header {
            kind,
            nbytes: counts.nbytes,
            typesize: own.typesize,
            blocksize: own.blocksize,
            chunksize: counts.chunksize,
            compcode: own.compcode,
            compcode_meta: own.compcode_meta,
            clevel: own.clevel,
            splitmode: own.splitmode,
            use_dict: own.use_dict,
            filters: own.filters,
            filters_meta: own.filters_meta,
            nthreads_c,
            nthreads_d,
            has_vlmetalayers: !self.vlmetalayers.is_empty(),
            vlblocks: counts.flags2 & flags2::VL_BLOCKS != 0,
            metalayers: List::new(),
        }
    }

    /// Takes over what was found in a frame.
    pub(crate) fn load(&mut self, host: &dyn Host, loaded: Loaded) -> Result<()> {
        let header = loaded.header;
        host.prepare(
            self,
            Count {
                separate: 0,
                metalayers: header.metalayers.len(),
                vlmetalayers: loaded.vlmetalayers.len(),
            },
        )?;
        self.counts.nbytes = header.nbytes.max(0);
        self.counts.nchunks = self.store.nchunks() as i64;
        self.counts.chunksize = header.chunksize;
        self.parameters.blocksize = header.blocksize;
        self.counts.cbytes = match &mut self.store {
            Store::Disk(disk) => unlocked(disk).cbytes() as i64,
            Store::Memory(memory) => memory.cbytes() as i64,
            Store::Separate(_) | Store::Staged(_) => self.counts.cbytes,
        };
        self.forget_sizes();
        self.metalayers = header.metalayers;
        self.vlmetalayers = loaded.vlmetalayers;
        let first = self.chunk_info(0).ok();
        // Other writers leave nothing but those of chunks.
        let checksums = loaded.coverage.is_any() || first.is_some_and(|chunk| chunk.checksums);
        self.set_checksums(checksums)?;
        self.counts.flags2 = first.map_or(0, |chunk| chunk.flags2);
        host.show(self, Changed::Everything);
        Ok(())
    }

    /// Reads the frame again if another handle or process changed it.
    pub(crate) fn refresh(&mut self, host: &dyn Host) -> Result<()> {
        self.follow_settings(host)?;
        let is_staged = self.store.is_staged();
        let Some(disk) = self.store.disk_mut() else {
            return Ok(());
        };
        if is_staged {
            // What is staged belongs to the frame with which the transaction began.
            return if disk.is_current() {
                Ok(())
            } else {
                Err(Error::Lock)
            };
        }
        let Some(loaded) = disk.refresh()? else {
            return Ok(());
        };
        self.load(host, loaded)?;
        self.tick += 1;
        self.loaded = self.tick;
        host.show(self, Changed::Everything);
        Ok(())
    }

    /// Takes over what the program has set for the chunks to come. How large those are that are there it cannot set, nor that items have no
    /// bytes: a frame that says so cannot be opened.
    fn follow_settings(&mut self, host: &dyn Host) -> Result<()> {
        let Some(settings) = host.settings() else {
            return Ok(());
        };
        let is_empty = self.store.nchunks() == 0;
        if !is_empty && settings.parameters.typesize <= 0 {
            return Err(Error::InvalidParam);
        }
        self.parameters = settings.parameters;
        if settings.chunksize != self.counts.chunksize {
            if is_empty {
                self.counts.chunksize = settings.chunksize;
            }
            self.forget_sizes();
            host.show(self, Changed::Updated(0..0));
        }
        Ok(())
    }

    /// Whether the program's settings are those that are known.
    pub(crate) fn has_settings(&self, host: &dyn Host) -> bool {
        host.has_set(&self.parameters, self.counts.chunksize)
    }

    /// Makes a change. Gives the number of chunks after it.
    pub(crate) fn apply(&mut self, host: &dyn Host, plan: Plan) -> Result<i64> {
        self.apply_with(host, plan, None)
    }

    /// Makes a change, and gives the metalayer of an array other content of the same length.
    pub(crate) fn apply_with(
        &mut self,
        host: &dyn Host,
        plan: Plan,
        content: Option<(usize, &[u8])>,
    ) -> Result<i64> {
        let specials = self.special_chunks_to_store(&plan)?;
        if content.is_some() {
            self.keep_metalayers(host, self.count())?;
        }
        if !self.store.is_frame() {
            let count = self.count();
            let count = Count {
                separate: plan.change.count(count.separate),
                ..count
            };
            host.prepare(self, count)?;
        }
        let header = self.header(host, &plan.counts, self.store.kind());
        match (&mut self.store, plan.owned) {
            (Store::Separate(chunks), Some(owned)) => keep(chunks, &plan.change, owned)?,
            (Store::Staged(staged), Some(owned)) => {
                staged.stage(&plan.change, &specials, Some(owned))?;
            }
            (store, _) => {
                let mut layers = meta::borrow(&self.metalayers)?;
                if let Some((at, content)) = content {
                    layers[at].1 = content;
                }
                let cbytes = plan.counts.cbytes.max(0) as u64;
                store.commit(&plan.change, &specials, &header, &layers, None, cbytes)?;
            }
        }
        if let Some((at, content)) = content {
            self.metalayers[at].content.copy_from_slice(content);
            self.tick += 1;
            self.reshaped = self.tick;
        }
        self.forget_sizes();
        self.counts = plan.counts;
        let changed = match plan.change {
            Change::Append(_) => Changed::ChunksFrom(self.nchunks() - 1),
            Change::Insert(at, _) | Change::Delete(at) => Changed::ChunksFrom(at),
            Change::Update(items) => Changed::Updated(span(items.iter().map(|item| item.0))),
            _ => Changed::ChunksFrom(0),
        };
        host.show(self, changed);
        Ok(plan.counts.nchunks)
    }

    /// Special chunks that are only an offset in the index must be stored as soon as chunk sizes differ, since the header then no
    /// longer has their size. A small index may have more of them than memory can hold.
    fn special_chunks_to_store(&self, plan: &Plan) -> Result<List<(usize, List<u8>)>> {
        let mut specials = List::new();
        if !self.store.is_frame() || self.counts.chunksize <= 0 || plan.counts.chunksize != 0 {
            return Ok(specials);
        }
        let mut gone = plan.change.leaves().list()?;
        sort(&mut gone);
        for nchunk in 0..self.store.nchunks() {
            if let Location::Special(kind) = self.store.find(nchunk)?
                && gone.binary_search(&nchunk).is_err()
            {
                if specials.len() == MOST_SPECIAL {
                    return Err(Error::MaxBufsizeExceeded);
                }
                let nbytes = self.counts.nbytes_of(nchunk as i64).ok_or(Error::Data)?;
                let chunk = self.special_chunk(kind, nbytes)?;
                let chunk = match self.with_checksums(&chunk)? {
                    Some(chunk) => chunk.to_list()?,
                    None => chunk,
                };
                specials.push((nchunk, chunk))?;
            }
        }
        Ok(specials)
    }

    /// Changes chunks, all at once.
    pub(crate) fn update(&mut self, host: &dyn Host, updates: List<Update>) -> Result<()> {
        let keeping = self.keeping();
        let mut after = self.counts;
        let (mut wholes, mut edits) = (List::new(), List::new());
        for (nchunk, update) in updates {
            let old = self.chunk_info(nchunk)?;
            let info = match update {
                ChunkUpdate::Edits(list) if list.is_empty() => continue,
                ChunkUpdate::Edits(list) if self.store.takes(nchunk, &list) => {
                    let info = info_after(&old, &list)?;
                    edits.push((nchunk, list))?;
                    info
                }
                ChunkUpdate::Edits(list) => {
                    let mut chunk = match self.store.find(nchunk)? {
                        Location::Memory(bytes, _) => Buffer::copy_of(bytes)?,
                        Location::File(stored) => stored.whole()?,
                        Location::Special(_) => return Err(Error::Failure),
                    };
                    chunk.edit(&list)?;
                    let chunk = self.with_checksums(&chunk)?.unwrap_or(chunk);
                    let info = ChunkInfo::of(&chunk)?;
                    wholes.push((nchunk, chunk, info))?;
                    info
                }
                ChunkUpdate::Whole(chunk) => {
                    let chunk = self.with_checksums(&chunk)?.unwrap_or(chunk);
                    let info = ChunkInfo::of(&chunk)?;
                    wholes.push((nchunk, chunk, info))?;
                    info
                }
            };
            after = after.updated(nchunk as i64, &old, &info, keeping)?;
        }
        let in_memory = if self.store.commits_edits() {
            List::new()
        } else {
            std::mem::take(&mut edits)
        };
        self.store.ready(&in_memory)?;
        if !wholes.is_empty() || !edits.is_empty() {
            let take = |whole: &mut (usize, Buffer, ChunkInfo)| std::mem::take(&mut whole.1);
            let mut owned = None;
            if !self.store.is_frame() {
                owned = Some(wholes.iter_mut().map(take).list()?);
            }
            let mut items: List<(usize, Item)> = wholes
                .iter()
                .map(|(nchunk, chunk, info)| (*nchunk, self.item(after.chunksize, info, chunk)))
                .list()?;
            let edited = edits
                .iter()
                .map(|(nchunk, edits)| (*nchunk, Item::Edited(edits)));
            items.extend(edited)?;
            let plan = Plan {
                counts: after,
                change: Change::Update(&items),
                owned: owned.as_mut(),
            };
            self.apply(host, plan)?;
        }
        if !in_memory.is_empty() {
            self.store.edit(&in_memory)?;
            self.counts = after;
            let edited = span(in_memory.iter().map(|edited| edited.0));
            host.show(self, Changed::Updated(edited));
        }
        Ok(())
    }

    /// Says how large the chunks to come will be.
    pub(crate) fn set_chunksize(&mut self, host: &dyn Host, chunksize: i32) {
        self.counts.chunksize = chunksize;
        self.forget_sizes();
        host.show(self, Changed::Updated(0..0));
    }

    fn forget_sizes(&mut self) {
        *self.sizes.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// How large the chunks are.
    ///
    /// # Errors
    /// [`Error::Data`] where the chunks of a frame are not what its header says; those of reading them.
    pub fn sizes(&self) -> Result<ChunkSizes> {
        self.sizes_of(&self.counts)
    }

    pub(crate) fn sizes_of(&self, counts: &Counts) -> Result<ChunkSizes> {
        if counts.chunksize > 0 {
            return Ok(ChunkSizes::Equal {
                chunksize: counts.chunksize as u64,
                nbytes: counts.nbytes.max(0) as u64,
            });
        }
        // One thread reads the sizes; others that need them wait for it.
        let mut known = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(sizes) = &*known {
            return Ok(sizes.clone());
        }
        // Memory grows with the chunks that are found, not with the number that an index claims.
        let mut starts: List<u64> = List::new();
        let mut end = 0;
        for nchunk in 0..self.store.nchunks() {
            starts.reserve(1)?;
            starts.push(end)?;
            end += self.chunk_info(nchunk)?.nbytes as u64;
        }
        starts.reserve(1)?;
        starts.push(end)?;
        if self.store.is_frame() && end != counts.nbytes.max(0) as u64 {
            return Err(Error::Data);
        }
        self.sum_checked.store(true, Ordering::Relaxed);
        let sizes = ChunkSizes::Starts(Shared::new(starts)?);
        *known = Some(sizes.clone());
        Ok(sizes)
    }

    /// Makes sure that the chunks of a frame, which differ in size, have as many bytes together as the counters say. Done once:
    /// after that they change together.
    fn check_sum(&self) -> Result<()> {
        if self.sum_checked.load(Ordering::Relaxed) {
            Ok(())
        } else {
            self.sizes().map(drop)
        }
    }

    /// Checks that chunk `nchunk`, of `nbytes` bytes of data, has as many as the counters say. Programs size
    /// their buffers by the counters. Separate chunks come from the program, and may have any size.
    ///
    /// # Errors
    /// [`Error::Data`] if not.
    pub(crate) fn check_size(&self, nchunk: usize, nbytes: usize) -> Result<()> {
        if !self.store.is_frame() {
            return Ok(());
        }
        match self.counts.nbytes_of(nchunk as i64) {
            Some(expected) if expected as usize == nbytes => Ok(()),
            Some(_) => Err(Error::Data),
            None => self.check_sum(),
        }
    }

    /// Checks the first and the last chunk of a frame that was just opened against its header. The
    /// others are checked when they are read. If chunks differ in size, the header has only the sum, which needs the headers of all
    /// chunks. Returns the corrected counters if the chunks have other sizes than the header says.
    ///
    /// # Errors
    /// [`Error::Data`] where header and chunks do not agree; those of reading a chunk.
    pub(crate) fn check_opened(&self) -> Result<Option<Counts>> {
        let counts = self.counts;
        let Some(last) = self.store.nchunks().checked_sub(1) else {
            return if counts.nbytes == 0 {
                Ok(None)
            } else {
                Err(Error::Data)
            };
        };
        let first = self.chunk_info(0)?;
        if counts.nbytes == 0 {
            // The chunks have no data. Only where chunks may differ in size are there such.
            let differ = counts.chunksize <= 0;
            return if differ {
                self.check_sum().map(|()| None)
            } else {
                Err(Error::Data)
            };
        }
        if counts.chunksize <= 0 {
            return Ok(None);
        }
        for nchunk in [0, last] {
            let found = match nchunk {
                0 => first.nbytes,
                _ => self.chunk_info(nchunk)?.nbytes,
            };
            if counts.nbytes_of(nchunk as i64) != Some(found) {
                // The reference leaves the header as it is when a short last chunk is moved between others. Such a frame is
                // one whose chunks differ in size.
                let differing = Counts {
                    chunksize: 0,
                    ..counts
                };
                self.sizes_of(&differing)?;
                return Ok(Some(differing));
            }
        }
        Ok(None)
    }

    /// Whether another process may be kept out of the frame, or keep this one out.
    pub(crate) fn has_lock(&self) -> bool {
        self.store.disk().is_some_and(|disk| lock(disk).has_lock())
    }
}

/// What counts of a chunk after edits; of these, one of the header comes first.
fn info_after(old: &ChunkInfo, edits: &[Edit]) -> Result<ChunkInfo> {
    match edits.first() {
        Some(first) if first.at == 0 => Ok(ChunkInfo::new(&ChunkHeader::parse(&first.new)?)),
        _ => Ok(*old),
    }
}

/// The range in which all these numbers are.
fn span(numbers: impl Iterator<Item = usize>) -> Range<usize> {
    numbers.fold(0..0, |span, n| match span.is_empty() {
        true => n..n + 1,
        false => span.start.min(n)..span.end.max(n + 1),
    })
}

/// A chunk of special values, `nbytes` of them.
///
/// # Errors
/// [`Error::Data`] for NaNs of items that are no floats.
pub fn special_chunk(
    kind: Special,
    nbytes: i32,
    typesize: i32,
    blocksize: i32,
) -> Result<List<u8>> {
    // Where the data are not whole items, as a last chunk's may not be, they are bytes.
    let whole = typesize > 0 && nbytes % typesize == 0;
    let fits = whole && typesize as usize <= MAX_TYPESIZE;
    let request = BlocksizeRequest {
        typesize: if whole { typesize } else { 1 },
        nbytes,
        ..BlocksizeRequest::DEFAULT
    };
    let typesize = if fits { typesize as usize } else { 1 };
    if kind == Special::Nan && !matches!(typesize, 4 | 8) {
        return Err(Error::Data);
    }
    let mut chunk = List::filled(0, EXTENDED_HEADER_LENGTH)?;
    let blocksize = request.blocksize(blocksize.max(0)).max(1);
    special::write(
        kind,
        nbytes as usize,
        blocksize as usize,
        typesize,
        &[],
        &mut chunk,
    );
    Ok(chunk)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_are_kept_unless_what_decides_their_bytes_is_another() {
        let known = crate::params::CParams {
            blocksize: 4096,
            ..Default::default()
        };
        let known = known.recorded();
        let asked = |change: fn(&mut Parameters)| {
            let mut asked = known;
            change(&mut asked);
            asked.keep(&known)
        };
        assert!(asked(|_| ()));
        assert!(asked(|asked| asked.blocksize = 0), "any size will do");
        assert!(asked(
            |asked| (asked.splitmode, asked.compcode_meta) = (1, 7)
        ));
        assert!(!asked(|asked| asked.blocksize = 2048));
        assert!(!asked(|asked| asked.clevel = 9));
        assert!(!asked(|asked| asked.filters[0] = 3));
    }
}
