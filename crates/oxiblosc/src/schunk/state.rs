//! The state of a super-chunk.

mod changes;
/// What belongs to the program of a super-chunk.
pub mod host;
mod size_cache;
mod sizes;
mod ticks;

use super::Parameters;
use super::layers::{MetalayerKind, Metalayers};
use super::rules::{ChunkInfo, Counts, StorageKind};
use super::store::ChunkStore;
use super::store::staged::Before;
use crate::schunk::host::{Changed, Host, WindowCounts};
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::add_checksums;
use oxiblosc_chunk::encoded::{EncodedChunk, OwnedChunk};
use oxiblosc_chunk::header::{EXTENDED_HEADER_LENGTH, MAX_TYPESIZE, Special, flags2};
use oxiblosc_chunk::special::SpecialChunk;
use oxiblosc_frame::change::ChangedChunk;
use oxiblosc_frame::disk::Loaded;
use oxiblosc_frame::header::{FrameKind, Header};
use oxiblosc_frame::meta::Metalayer;
use size_cache::SizeCache;
use ticks::ChangeTicks;

pub(crate) use changes::PlannedChange;
pub(crate) use sizes::is_loss;

/// The state of a super-chunk: its chunks, counters, parameters and metalayers. Readers share it.
///
/// Fields that are seldom read come first, next to the words of the lock in memory. Every reader
/// writes the lock, so reading a field in the same cache line is slow when there are several
/// readers.
#[repr(C)]
pub struct State {
    size_cache: SizeCache,
    /// Whether new chunks of the frame get checksums.
    checksums: bool,
    pub(super) metalayers: Metalayers,
    pub(crate) store: ChunkStore,
    pub(crate) parameters: Parameters,
    pub(crate) counts: Counts,
    pub(super) ticks: ChangeTicks,
}

impl State {
    /// The state of a super-chunk with these chunks.
    pub fn new(store: ChunkStore, parameters: Parameters) -> Self {
        Self {
            store,
            parameters,
            counts: Counts::EMPTY,
            metalayers: Metalayers::default(),
            ticks: ChangeTicks::default(),
            size_cache: SizeCache::default(),
            checksums: false,
        }
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// How new chunks are compressed.
    pub fn parameters(&self) -> &Parameters {
        &self.parameters
    }

    /// The fixed-length metalayers.
    pub fn metalayers(&self) -> &[Metalayer] {
        self.metalayers.list(MetalayerKind::Fixed)
    }

    /// The variable-length metalayers, whose contents are chunks.
    pub fn vlmetalayers(&self) -> &[Metalayer] {
        self.metalayers.list(MetalayerKind::Variable)
    }

    /// A number that grows whenever metalayers change, here or through another handle on the frame.
    pub fn tick(&self) -> i64 {
        self.ticks.now()
    }

    /// The tick when the frame was last read again.
    pub(super) fn last_reload(&self) -> i64 {
        self.ticks.reloaded()
    }

    /// Whether an array may have another shape than at this tick: another handle or thread may have
    /// resized it, or a transaction was rolled back.
    pub fn may_differ_since(&self, tick: i64) -> bool {
        self.ticks.may_be_reshaped_since(tick, self.is_frame())
    }

    /// Restores the state before a transaction. The chunks have been restored already.
    pub(super) fn restore(&mut self, before: &mut Before) {
        self.counts = before.counts;
        self.parameters.blocksize = before.blocksize;
        self.checksums = before.checksums;
        if let Some(metalayers) = &mut before.metalayers {
            std::mem::swap(&mut self.metalayers, metalayers);
        }
        self.size_cache.forget();
        self.ticks.note_reshape();
    }

    /// Whether the chunks are in a frame.
    pub fn is_frame(&self) -> bool {
        self.store.is_frame()
    }

    /// Whether the chunks have variable-length blocks.
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

    /// How many entries the lists in a window need.
    pub fn window_counts(&self) -> WindowCounts {
        let nchunks = self.store.nchunks();
        WindowCounts {
            separate: if self.is_frame() { 0 } else { nchunks },
            layers: self.metalayers.counts(),
        }
    }

    /// The kind of storage, by which the bytes of chunks are counted.
    pub(crate) fn storage_kind(&self) -> StorageKind {
        self.store.storage_kind()
    }

    /// How a chunk is stored if the counters have this `chunksize` after the change: as a special
    /// offset without any bytes, if possible. That needs chunks of one size, as such an offset does
    /// not say how many bytes of data the chunk has.
    pub(crate) fn changed_chunk<'a>(
        &self,
        chunksize: i32,
        info: &ChunkInfo,
        chunk: EncodedChunk<'a>,
    ) -> ChangedChunk<'a> {
        match info.special {
            Some(kind) if self.store.is_frame() && chunksize > 0 => ChangedChunk::Special(kind),
            _ => ChangedChunk::Stored(chunk),
        }
    }

    /// Whether new chunks of the frame get checksums.
    pub fn has_checksums(&self) -> bool {
        self.checksums
    }

    /// Sets whether the frame and new chunks of it get checksums from now on.
    pub(crate) fn set_checksums(&mut self, checksums: bool) -> Result<()> {
        self.store.set_checksums(checksums)?;
        self.checksums = checksums && self.store.is_frame();
        Ok(())
    }

    /// The chunk with checksums. None if it has them already, or the frame's chunks get none.
    pub(crate) fn with_checksums(&self, chunk: &[u8]) -> Result<Option<OwnedChunk>> {
        if !self.checksums || !self.store.is_frame() {
            return Ok(None);
        }
        match add_checksums::add(chunk) {
            Err(error) if error == Error::MEMORY_ALLOC => Err(error),
            // A damaged chunk is kept as it is.
            Err(_) => Ok(None),
            Ok(added) => added.map(OwnedChunk::parse).transpose(),
        }
    }

    /// A new chunk, with checksums if the frame's chunks get them.
    pub(crate) fn owned_chunk(&self, chunk: Buffer) -> Result<OwnedChunk> {
        match self.with_checksums(&chunk)? {
            Some(chunk) => Ok(chunk),
            None => OwnedChunk::parse(chunk),
        }
    }

    /// The properties with which a chunk is counted. In a frame whose chunks have one size, that is
    /// its size: the header of a damaged chunk may say another, and without that chunk the counters
    /// would contradict all others.
    pub(crate) fn chunk_info(&self, nchunk: usize) -> Result<ChunkInfo> {
        let mut info = self.chunk_info_in(nchunk, true)?;
        if self.is_frame()
            && let Some(counted) = self.counts.nbytes_of(nchunk)
        {
            info.nbytes = counted;
        }
        Ok(info)
    }

    /// The properties of a chunk that its header tells. For `rereads` see [`ChunkStore::find_in`].
    fn chunk_info_in(&self, nchunk: usize, rereads: bool) -> Result<ChunkInfo> {
        Ok(match self.store.find_in(nchunk, rereads)?.header()? {
            Ok(header) => ChunkInfo::new(&header),
            Err(kind) => {
                let nbytes = self.counts.nbytes_of(nchunk).ok_or(Error::DATA)?;
                ChunkInfo::of_special(kind, nbytes)
            }
        })
    }

    /// The block size in the header of the first chunk, if that has bytes that can be read.
    pub(crate) fn first_blocksize(&self) -> Option<usize> {
        let header = self.store.find_in(0, false).ok()?.header().ok()?;
        header.ok().map(|header| header.blocksize_field())
    }

    /// A chunk of special values, with `nbytes` bytes of data.
    pub(crate) fn special_chunk(&self, kind: Special, nbytes: i32) -> Result<TryVec<u8>> {
        let new = &self.parameters;
        special_chunk(kind, nbytes, new.typesize, new.blocksize)
    }

    /// The header of a new frame with this state, without its metalayers.
    pub fn new_header(&self, host: &dyn Host, kind: FrameKind) -> Header {
        self.header(host, &self.counts, kind)
    }

    /// The header of a frame with these counters, without its metalayers.
    pub(crate) fn header(&self, host: &dyn Host, counts: &Counts, kind: FrameKind) -> Header {
        let (nthreads_c, nthreads_d) = host.nthreads();
        Header {
            kind,
            nbytes: counts.nbytes,
            chunksize: counts.chunksize,
            parameters: self.parameters,
            nthreads_c,
            nthreads_d,
            has_vlmetalayers: !self.vlmetalayers().is_empty(),
            vlblocks: counts.flags2 & flags2::VL_BLOCKS != 0,
            metalayers: TryVec::new(),
        }
    }

    /// Allocates what the window needs to show what was read from a frame.
    pub(crate) fn prepare_load(&mut self, host: &dyn Host, loaded: &Loaded) -> Result<()> {
        let count = WindowCounts {
            separate: 0,
            layers: [loaded.header.metalayers.len(), loaded.vlmetalayers.len()],
        };
        host.prepare(self, count)
    }

    /// Sets the state to what was read from a frame, after [`Self::prepare_load`]. False if the
    /// first chunk could not be read.
    pub(crate) fn load(&mut self, host: &dyn Host, loaded: Loaded) -> Result<bool> {
        let header = loaded.header;
        self.counts.nbytes = header.nbytes.max(0);
        self.counts.nchunks = self.store.nchunks();
        self.counts.chunksize = header.chunksize;
        self.parameters.blocksize = header.parameters.blocksize;
        self.counts.cbytes = match &mut self.store {
            ChunkStore::Disk(disk) => disk.get_mut().cbytes() as i64,
            ChunkStore::Memory(memory) => memory.cbytes() as i64,
            ChunkStore::Separate(_) | ChunkStore::Staged(_) => self.counts.cbytes,
        };
        self.size_cache.forget_sizes();
        self.metalayers = Metalayers::new(header.metalayers, loaded.vlmetalayers);
        // The counters are those of this header, so the frame is not read again if the chunk is not
        // found.
        let first = self.chunk_info_in(0, false);
        let is_known = first.is_ok() || self.counts.nchunks == 0;
        let (flags2, checksums) = match first {
            // After a change by the reference, chunks may have checksums although header, index and
            // trailer have none.
            Ok(first) => (first.flags2, first.checksums),
            Err(_) if is_known => (0, false),
            // Another process may have replaced it, or the disk failed. The header says which kind
            // of chunks there are.
            Err(_) if header.vlblocks => (flags2::VL_BLOCKS, self.checksums),
            Err(_) => (0, self.checksums),
        };
        self.set_checksums(loaded.coverage.is_any() || checksums)?;
        self.counts.flags2 = flags2;
        host.show(self, Changed::Everything);
        Ok(is_known)
    }

    /// Takes over what the first chunk says, if it could not be read when the frame was loaded.
    pub(crate) fn follow_first_chunk(&mut self) -> Result<()> {
        if let Ok(first) = self.chunk_info_in(0, false) {
            self.counts.flags2 = first.flags2;
            self.set_checksums(self.checksums || first.checksums)?;
        }
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
            return match disk.check_current()? {
                true => Ok(()),
                false => Err(Error::LOCK),
            };
        }
        let Some(loaded) = disk.refresh()? else {
            return Ok(());
        };
        if let Err(error) = self.prepare_load(host, &loaded) {
            if let Some(disk) = self.store.disk_mut() {
                disk.put_back(loaded);
            }
            return Err(error);
        }
        self.ticks.note_reload();
        self.load(host, loaded).map(drop)
    }

    /// Takes over the parameters that the program has set for new chunks. If there are chunks, it
    /// cannot set `chunksize`, which must be their size, nor a typesize below 1, as a frame with
    /// that could not be opened.
    fn follow_settings(&mut self, host: &dyn Host) -> Result<()> {
        let Some(settings) = host.settings() else {
            return Ok(());
        };
        let is_empty = self.store.nchunks() == 0;
        if !is_empty && settings.parameters.typesize <= 0 {
            return Err(Error::INVALID_PARAM);
        }
        self.parameters = settings.parameters;
        if settings.chunksize != self.counts.chunksize {
            if is_empty {
                self.counts.chunksize = settings.chunksize;
            }
            self.size_cache.forget_sizes();
            host.show(self, Changed::Updated(0..0));
        }
        Ok(())
    }

    /// Whether the program has changed no setting since the state took them over.
    pub(crate) fn has_settings(&self, host: &dyn Host) -> bool {
        host.has_set(&self.parameters, self.counts.chunksize)
    }
}

/// A chunk of special values, with `nbytes` bytes of data. `typesize` and `blocksize` are in bytes,
/// too; 0 lets the built-in tuner choose the block size.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn special_chunk(
    kind: Special,
    nbytes: i32,
    typesize: i32,
    blocksize: i32,
) -> Result<TryVec<u8>> {
    // The data of a last chunk may not be whole items. Then its items are bytes.
    let whole = typesize > 0 && nbytes % typesize == 0;
    let fits = whole && typesize as usize <= MAX_TYPESIZE;
    let parameters = Parameters {
        typesize: if whole { typesize } else { 1 },
        blocksize,
        ..Parameters::DEFAULT
    };
    let typesize = if fits { typesize as usize } else { 1 };
    let chunk = SpecialChunk {
        special: kind,
        nbytes: nbytes as usize,
        blocksize: parameters.tuned_blocksize(nbytes).max(1) as usize,
        typesize,
        value: &[],
    };
    let mut bytes = TryVec::filled(0, EXTENDED_HEADER_LENGTH)?;
    chunk.write(&mut bytes);
    Ok(bytes)
}
