//! The state of a super-chunk.

mod changes;
mod sizes;

use super::Parameters;
use super::rules::{ChunkInfo, Counts, StorageKind};
use super::slices::ChunkSizes;
use super::staged::Before;
use super::store::{ChunkStore, Location, lock, unlocked};
use crate::coder::{Changed, Host, WindowCounts};
use oxiblosc_chunk::checksum;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_TYPESIZE, Special, flags2};
use oxiblosc_chunk::special::SpecialChunk;
use oxiblosc_chunk::tune::BlocksizeRequest;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::ChangedChunk;
use oxiblosc_frame::disk::Loaded;
use oxiblosc_frame::header::{FrameKind, Header};
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_memory::{Buffer, List};
use std::sync::Mutex;
use std::sync::atomic::AtomicBool;

pub(crate) use changes::PlannedChange;

/// The state of a super-chunk: its chunks, and what is known of them. Readers share it.
///
/// Fields that are seldom read come first, beside the words of the lock. Each reader writes these, so that other readers would wait for
/// whatever they read in the same cache line.
#[repr(C)]
pub struct State {
    /// The sizes of the chunks, if they differ and were asked for.
    sizes: Mutex<Option<ChunkSizes>>,
    /// Whether it was checked that chunks of different sizes have as many bytes in sum as the header of the frame says.
    sum_checked: AtomicBool,
    /// Whether chunks get checksums when they come into the frame.
    checksums: bool,
    /// The tick of the last change after which an array may have another shape: it was reshaped, or a transaction was abandoned.
    reshaped: i64,
    /// The tick when the frame was last read again.
    pub(super) loaded: i64,
    pub(crate) metalayers: List<Metalayer>,
    pub(crate) vlmetalayers: List<Metalayer>,
    pub(crate) store: ChunkStore,
    pub(crate) parameters: Parameters,
    pub(crate) counts: Counts,
    pub(crate) tick: i64,
}

impl State {
    /// The state of a super-chunk with these chunks.
    pub fn new(store: ChunkStore, parameters: Parameters) -> Self {
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

    /// Whether an array may have another shape than at this tick: another handle or thread may have reshaped it, or a transaction was
    /// abandoned.
    pub fn may_differ_since(&self, tick: i64) -> bool {
        tick != self.tick && (self.is_frame() || tick < self.reshaped)
    }

    /// Makes the state what it was before a transaction. The chunks are those before it already.
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
        matches!(self.store, ChunkStore::Memory(_))
    }

    /// Whether the chunks are of variable-length blocks.
    pub fn has_vlblocks(&self) -> bool {
        self.counts.flags2 & flags2::VL_BLOCKS != 0
    }

    /// A chunk with a buffer of its own; none in a frame.
    pub fn separate_chunk(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        self.store.separate_chunk(nchunk)
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        self.store.nchunks()
    }

    /// How many chunks and metalayers a window shows one by one.
    pub fn window_counts(&self) -> WindowCounts {
        let nchunks = self.store.nchunks();
        WindowCounts {
            separate: if self.is_frame() { 0 } else { nchunks },
            metalayers: self.metalayers.len(),
            vlmetalayers: self.vlmetalayers.len(),
        }
    }

    /// How the chunks are counted.
    pub(crate) fn keeping(&self) -> StorageKind {
        match (self.store.is_frame(), self.store.kind()) {
            (false, _) => StorageKind::Separate,
            (true, FrameKind::Contiguous) => StorageKind::Contiguous,
            (true, FrameKind::Sparse) => StorageKind::Sparse,
        }
    }

    /// How a chunk is stored when chunks are of `chunksize`: as a special offset without any bytes, if that is enough.
    pub(crate) fn item<'a>(
        &self,
        chunksize: i32,
        chunk: &ChunkInfo,
        bytes: &'a [u8],
    ) -> ChangedChunk<'a> {
        match chunk.special {
            Some(kind) if self.store.is_frame() && chunksize > 0 => ChangedChunk::Special(kind),
            _ => ChangedChunk::Stored(bytes),
        }
    }

    /// Whether chunks get checksums when they come into the frame.
    pub fn has_checksums(&self) -> bool {
        self.checksums
    }

    /// Sets whether the frame and chunks that come into it get checksums from now on.
    pub(crate) fn set_checksums(&mut self, checksums: bool) -> Result<()> {
        self.store.set_checksums(checksums)?;
        self.checksums = checksums && self.store.is_frame();
        Ok(())
    }

    /// The chunk with checksums, if the frame is to have it so and it has none.
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

    /// What the counters need to know of a chunk.
    pub(crate) fn chunk_info(&self, nchunk: usize) -> Result<ChunkInfo> {
        self.chunk_info_in(nchunk, true)
    }

    /// As [`Self::chunk_info`]; for `rereads` see [`ChunkStore::find_in`].
    fn chunk_info_in(&self, nchunk: usize, rereads: bool) -> Result<ChunkInfo> {
        Ok(match self.store.find_in(nchunk, rereads)? {
            Location::Memory(bytes, _) => ChunkInfo::new(&ChunkHeader::parse(bytes)?),
            Location::File(stored) => ChunkInfo::new(&stored.header()?),
            Location::Special(kind) => {
                let nbytes = self.counts.nbytes_of(nchunk).ok_or(Error::Data)?;
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
    pub fn new_header(&self, host: &dyn Host, kind: FrameKind) -> Header {
        self.header(host, &self.counts, kind)
    }

    /// The header that a frame gets.
    pub(crate) fn header(&self, host: &dyn Host, counts: &Counts, kind: FrameKind) -> Header {
        let (nthreads_c, nthreads_d) = host.nthreads();
        Header {
            kind,
            nbytes: counts.nbytes,
            chunksize: counts.chunksize,
            parameters: self.parameters,
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
            WindowCounts {
                separate: 0,
                metalayers: header.metalayers.len(),
                vlmetalayers: loaded.vlmetalayers.len(),
            },
        )?;
        self.counts.nbytes = header.nbytes.max(0);
        self.counts.nchunks = self.store.nchunks();
        self.counts.chunksize = header.chunksize;
        self.parameters.blocksize = header.parameters.blocksize;
        self.counts.cbytes = match &mut self.store {
            ChunkStore::Disk(disk) => unlocked(disk).cbytes() as i64,
            ChunkStore::Memory(memory) => memory.cbytes() as i64,
            ChunkStore::Separate(_) | ChunkStore::Staged(_) => self.counts.cbytes,
        };
        self.forget_sizes();
        self.metalayers = header.metalayers;
        self.vlmetalayers = loaded.vlmetalayers;
        // If it is not found, the frame is not read again here, as the counters are those of this header.
        let first = self.chunk_info_in(0, false).ok();
        // After a change by another writer only chunks have checksums.
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
            // The staged changes apply to the frame as it was when the transaction began.
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

    /// Takes over what the program has set for the chunks to come. It cannot set the size of chunks that are there, nor items without bytes: a
    /// frame that says so could not be opened.
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

    /// Whether another process may be kept out of the frame, or keep this one out.
    pub(crate) fn has_lock(&self) -> bool {
        self.store.disk().is_some_and(|disk| lock(disk).has_lock())
    }
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
    let chunk = SpecialChunk {
        special: kind,
        nbytes: nbytes as usize,
        blocksize: request.blocksize(blocksize.max(0)).max(1) as usize,
        typesize,
        value: &[],
    };
    let mut bytes = List::filled(0, EXTENDED_HEADER_LENGTH)?;
    chunk.write(&mut bytes);
    Ok(bytes)
}
