//! The super-chunk behind the pointer that C holds: the public struct, and behind it what is the library's own.
//!
//! Programs read the public fields, and some write the parameters among them, so those are what counts: every function
//! takes them from there, and puts the counters back when it is done.

use super::parts::{borrow, free_metalayers, to_c};
use super::storage::{self, free_storage};
use crate::capi::constants::*;
use crate::capi::context::{Context, blosc2_free_ctx};
use crate::capi::io;
use crate::capi::types::*;
use oxiblosc_core::schunk::operation;
use oxiblosc_core::schunk::rules::{Chunk, Counts, Keeping};
use oxiblosc_core::schunk::slices::Sizes;
use oxiblosc_core::schunk::state_lock::StateLock;
use oxiblosc_core::schunk::{Store, Where};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{Change, Item};
use oxiblosc_frame::disk::Loaded;
use oxiblosc_frame::header::{Header, Kind};
use oxiblosc_frame::meta::Borrowed;
use oxiblosc_memory::{Buffer, Collect, Edit, List, Shared, boxed_uninit};
use std::cell::UnsafeCell;
use std::ptr::null_mut;
use std::sync::atomic::{AtomicI64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// More chunks of special values than this are not stored all at once.
const MOST_PARTED: usize = 1 << 20;

/// A super-chunk.
#[repr(C)]
pub struct Handle {
    /// First, so that a pointer to it is a pointer to the handle.
    c: UnsafeCell<blosc2_schunk>,
    /// Who reads the super-chunk, and who changes it. The public fields are written by whoever has it exclusively.
    pub(super) state: StateLock,
    /// Held for moments, and never while a function of the program's runs.
    inner: Mutex<Inner>,
    /// The super-chunk whose chunks a view shows; null for all others.
    base: *mut Handle,
    /// How many want this to be there: the program, and views.
    owners: AtomicUsize,
}

// SAFETY: fields are written by the thread that has `state` exclusively, and read by those that share it; `inner` is locked.
unsafe impl Sync for Handle {}

/// What C does not see.
pub struct Inner {
    /// The chunks.
    pub store: Store,
    /// Where those chunks are that each are on their own: the array that `data` points to.
    pointers: List<*mut u8>,
    /// How large the chunks are, where they differ, once somebody asked.
    sizes: Option<Sizes>,
    /// Whether the chunks of a frame were seen to have as many bytes together as its header says, where they differ in size.
    summed_up: bool,
    /// Whether C keeps the frame's buffer when the super-chunk is freed.
    pub avoid_free: bool,
    /// How often the program locked the frame itself.
    pub locked: usize,
}

/// A change, and the counters after it.
pub struct Plan<'a> {
    /// The counters after it.
    pub counts: Counts,
    /// The change.
    pub change: Change<'a>,
    /// The chunks that come in, if they are the library's and kept each on its own. They are left where the change fails.
    pub owned: Option<&'a mut List<Buffer>>,
}

impl Handle {
    /// The handle behind a super-chunk; of a view, that of the super-chunk whose chunks it shows.
    ///
    /// # Safety
    /// `schunk` is null or came from this library and was not freed.
    pub unsafe fn from_c<'a>(schunk: *mut blosc2_schunk) -> Result<&'a Self> {
        // SAFETY: by the caller's word; a view keeps its base alive.
        unsafe {
            let handle = Self::shown(schunk)?;
            Ok(handle.base.as_ref().unwrap_or(handle))
        }
    }

    /// The handle behind a super-chunk, also of a view.
    ///
    /// # Safety
    /// As for [`Self::from_c`].
    pub unsafe fn shown<'a>(schunk: *mut blosc2_schunk) -> Result<&'a Self> {
        // SAFETY: every super-chunk is the first field of a handle.
        unsafe { schunk.cast::<Self>().as_ref() }.ok_or(Error::NullPointer)
    }

    /// Whether this shows the chunks of another super-chunk.
    pub fn is_view(&self) -> bool {
        !self.base.is_null()
    }

    /// Makes a view of `base`, with the storage that is given. It keeps `base` alive.
    pub fn view_of(base: &Self, storage: *mut blosc2_storage) -> Result<*mut blosc2_schunk> {
        let view = Self::make(Store::Separate(List::new()), storage)?;
        base.owners.fetch_add(1, Ordering::Relaxed);
        // SAFETY: just made, and nobody else's; handles are only ever used through shared references.
        unsafe {
            (*view.cast::<Self>()).base = base.as_c().cast();
            (*view).view = true;
        }
        Ok(view)
    }

    /// Brings the public fields of a view that tell of its base's chunks up to date.
    pub fn follow(&self) {
        // SAFETY: a view's base is alive; the caller of the C function uses the fields no more until it returns.
        unsafe {
            let Some(base) = self.base.as_ref() else {
                return;
            };
            let (c, of) = (self.fields(), base.fields());
            // Threads that read through the same view do this at once: the fields are written where they change.
            let _one = base.inner();
            if self.counts() != base.counts() {
                self.set_counts(&base.counts());
            }
            if (c.data, c.data_len, c.frame) != (of.data, of.data_len, of.frame) {
                (c.data, c.data_len, c.frame) = (of.data, of.data_len, of.frame);
            }
            if c.nvlmetalayers != of.nvlmetalayers || c.vlmetalayers != of.vlmetalayers {
                (c.vlmetalayers, c.nvlmetalayers) = (of.vlmetalayers, of.nvlmetalayers);
            }
        }
    }

    /// Makes a handle with empty fields, no contexts and the storage that is given, which stays the caller's on an error.
    pub fn make(store: Store, storage: *mut blosc2_storage) -> Result<*mut blosc2_schunk> {
        let inner = Inner {
            store,
            pointers: List::new(),
            sizes: None,
            summed_up: false,
            avoid_free: false,
            locked: 0,
        };
        let handle = Box::into_raw(boxed_uninit::<Self>()?).cast::<Self>();
        // SAFETY: the memory is there for every field, and each is written. Those of C's struct, 66 KB, are written where they
        // are: each is an integer, a bool or a pointer, for which zero is a value.
        unsafe {
            (&raw mut (*handle).c).write_bytes(0, 1);
            (&raw mut (*handle).state).write(StateLock::default());
            (&raw mut (*handle).inner).write(Mutex::new(inner));
            (&raw mut (*handle).base).write(null_mut());
            (&raw mut (*handle).owners).write(AtomicUsize::new(1));
            let c = handle.cast::<blosc2_schunk>();
            (*c).storage = storage;
            Ok(c)
        }
    }

    /// The pointer that C holds.
    pub fn as_c(&self) -> *mut blosc2_schunk {
        self.c.get()
    }

    /// The public fields.
    ///
    /// # Safety
    /// Nobody else uses them meanwhile, as the C API asks of its callers; the reference is not kept.
    #[allow(clippy::mut_from_ref, reason = "the fields are in a cell")]
    pub unsafe fn fields(&self) -> &mut blosc2_schunk {
        // SAFETY: by the caller's word.
        unsafe { &mut *self.c.get() }
    }

    /// What C does not see, for this thread alone.
    pub fn inner(&self) -> MutexGuard<'_, Inner> {
        // A panic under the lock leaves nothing half done that counts: commits are all or nothing.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The context that compresses.
    pub fn cctx(&self) -> Result<&Context> {
        // SAFETY: the field holds a context of this library, or null.
        unsafe { Context::from_c(self.fields().cctx) }
    }

    /// The context that decompresses.
    pub fn dctx(&self) -> Result<&Context> {
        // SAFETY: the field holds a context of this library, or null.
        unsafe { Context::from_c(self.fields().dctx) }
    }

    /// What the operations of a thread know this super-chunk by.
    pub fn id(&self) -> usize {
        self.c.get() as usize
    }

    /// Says which chunk is being worked on: to functions that are called for it, and in the public field, where the last of
    /// several threads is seen.
    pub fn set_current(&self, nchunk: i64) {
        operation::set_chunk(self.id(), nchunk);
        // SAFETY: the field is there, aligned, and written atomically by all.
        let current = unsafe { AtomicI64::from_ptr(&raw mut (*self.c.get()).current_nchunk) };
        current.store(nchunk, Ordering::Relaxed);
    }

    /// The counters.
    pub fn counts(&self) -> Counts {
        // SAFETY: only read, and copied.
        let c = unsafe { self.fields() };
        Counts {
            nchunks: c.nchunks,
            nbytes: c.nbytes,
            cbytes: c.cbytes,
            chunksize: c.chunksize,
            flags2: c.flags2,
        }
    }

    /// How many chunks there are, read while a change may be made.
    pub fn nchunks(&self) -> i64 {
        // SAFETY: the field is there, aligned, and written atomically.
        let nchunks = unsafe { AtomicI64::from_ptr(&raw mut (*self.c.get()).nchunks) };
        nchunks.load(Ordering::Relaxed)
    }

    /// Sets the counters.
    pub fn set_counts(&self, counts: &Counts) {
        // SAFETY: written in one go.
        let c = unsafe { self.fields() };
        publish(&mut c.nchunks, counts.nchunks);
        publish(&mut c.nbytes, counts.nbytes);
        publish(&mut c.cbytes, counts.cbytes);
        c.chunksize = counts.chunksize;
        c.flags2 = counts.flags2;
    }

    /// The header that a frame gets.
    pub fn header(&self, counts: &Counts, kind: Kind) -> Header {
        // SAFETY: only read, and copied.
        let c = unsafe { self.fields() };
        let nthreads = |ctx: Result<&Context>| ctx.map_or(1, |ctx| ctx.nthreads.get());
        Header {
            kind,
            nbytes: counts.nbytes,
            typesize: c.typesize,
            blocksize: c.blocksize,
            chunksize: counts.chunksize,
            compcode: c.compcode,
            compcode_meta: c.compcode_meta,
            clevel: c.clevel,
            splitmode: c.splitmode,
            use_dict: c.use_dict != 0,
            filters: c.filters,
            filters_meta: c.filters_meta,
            nthreads_c: nthreads(self.cctx()),
            nthreads_d: nthreads(self.dctx()),
            has_vlmetalayers: c.nvlmetalayers > 0,
            vlblocks: counts.flags2 & BLOSC2_VL_BLOCKS as u8 != 0,
            metalayers: List::new(),
        }
    }

    /// The fixed-length metalayers, as they are in the public struct.
    pub fn metalayers(&self) -> Result<List<Borrowed<'_>>> {
        // SAFETY: the pointers are the library's, and valid until the metalayers change.
        unsafe {
            let c = self.fields();
            let count = usize::from(c.nmetalayers).min(c.metalayers.len());
            c.metalayers[..count]
                .iter()
                .filter_map(|layer| borrow(*layer))
                .list()
        }
    }

    /// The variable-length metalayers, as they are in the public struct.
    pub fn vlmetalayers(&self) -> Result<List<Borrowed<'_>>> {
        // SAFETY: the pointers are the library's, and valid until the metalayers change.
        unsafe {
            let c = self.fields();
            let count = usize::try_from(c.nvlmetalayers)
                .unwrap_or(0)
                .min(c.vlmetalayers.len());
            c.vlmetalayers[..count]
                .iter()
                .filter_map(|layer| borrow(*layer))
                .list()
        }
    }

    /// Brings the public fields up to date with what was found in a frame.
    pub fn take_over(&self, inner: &mut Inner, loaded: Loaded) -> Result<()> {
        let header = loaded.header;
        // SAFETY: the caller of the C function uses the fields no more until it returns.
        let c = unsafe { self.fields() };
        publish(&mut c.nbytes, header.nbytes.max(0));
        publish(&mut c.nchunks, inner.store.nchunks() as i64);
        c.chunksize = header.chunksize;
        c.blocksize = header.blocksize;
        let cbytes = match &mut inner.store {
            Store::Disk(disk) => disk.cbytes() as i64,
            Store::Memory(memory) => memory.cbytes() as i64,
            Store::Separate(_) => c.cbytes,
        };
        publish(&mut c.cbytes, cbytes);
        inner.sizes = None;
        // SAFETY: as above; the old ones are the library's.
        unsafe {
            free_metalayers(self.fields());
            for layer in header.metalayers.iter().take(BLOSC2_MAX_METALAYERS) {
                c.metalayers[usize::from(c.nmetalayers)] = to_c((&layer.name, &layer.content))?;
                c.nmetalayers += 1;
            }
            for layer in loaded.vlmetalayers.iter().take(BLOSC2_MAX_VLMETALAYERS) {
                c.vlmetalayers[c.nvlmetalayers as usize] = to_c((&layer.name, &layer.content))?;
                c.nvlmetalayers += 1;
            }
        }
        let counts = self.counts();
        let first = inner.chunk(&counts, 0).ok();
        c.flags2 = first.map_or(0, |chunk| chunk.flags2);
        Ok(())
    }

    /// Reads the frame again if somebody else changed it. Gives whether it was.
    pub fn refresh(&self, inner: &mut Inner) -> Result<bool> {
        let Store::Disk(disk) = &mut inner.store else {
            return Ok(false);
        };
        let Some(loaded) = disk.refresh()? else {
            return Ok(false);
        };
        self.take_over(inner, loaded)?;
        // SAFETY: one field.
        unsafe { self.fields().change_tick += 1 };
        Ok(true)
    }
}

/// Writes a field that the program may read meanwhile.
fn publish(field: &mut i64, value: i64) {
    // SAFETY: the field is there, aligned, and this thread's to write.
    unsafe { AtomicI64::from_ptr(field) }.store(value, Ordering::Relaxed);
}

impl Inner {
    /// Keeps other handles out, for a change.
    pub fn lock(&mut self) -> Result<()> {
        match &mut self.store {
            Store::Disk(disk) => disk.lock(),
            _ => Ok(()),
        }
    }

    /// Ends what [`Self::lock`] began.
    pub fn unlock(&mut self) -> Result<()> {
        match &mut self.store {
            Store::Disk(disk) => disk.unlock(),
            _ => Ok(()),
        }
    }

    /// Keeps changes by other handles out.
    pub(super) fn lock_shared(&mut self) -> Result<()> {
        match &mut self.store {
            Store::Disk(disk) => disk.lock_shared(),
            _ => Ok(()),
        }
    }

    /// Ends what [`Self::lock_shared`] began.
    pub(super) fn unlock_shared(&mut self) -> Result<()> {
        match &mut self.store {
            Store::Disk(disk) => disk.unlock_shared(),
            _ => Ok(()),
        }
    }

    /// How the chunks are counted.
    pub fn keeping(&self) -> Keeping {
        match (&self.store, self.store.kind()) {
            (Store::Separate(_), _) => Keeping::Separate,
            (_, Kind::Contiguous) => Keeping::Contiguous,
            (_, Kind::Sparse) => Keeping::Sparse,
        }
    }

    /// How a chunk goes into the store when chunks will be of `chunksize`: by its offset alone, if that tells all there is.
    pub fn item<'a>(&self, chunksize: i32, chunk: &Chunk, bytes: &'a [u8]) -> Item<'a> {
        match chunk.special {
            Some(place) if self.store.is_frame() && chunksize > 0 => Item::Special(place),
            _ => Item::Stored(bytes),
        }
    }

    /// What counts of a chunk.
    pub fn chunk(&mut self, counts: &Counts, nchunk: usize) -> Result<Chunk> {
        Ok(match self.store.find(nchunk)? {
            Where::Bytes(bytes) => Chunk::new(&oxiblosc_chunk::header::ChunkHeader::parse(bytes)?),
            Where::Stored(stored) => Chunk::new(&stored.header()?),
            Where::Special(place) => {
                let nbytes = counts.nbytes_of(nchunk as i64).ok_or(Error::Data)?;
                Chunk {
                    special: Some(place),
                    ..Chunk::of_place(oxiblosc_chunk::header::Special::Zero, nbytes)
                }
            }
        })
    }

    /// Makes a change.
    pub fn apply(&mut self, handle: &Handle, before: &Counts, plan: Plan) -> Result<i64> {
        let metalayers = handle.metalayers()?;
        self.apply_with(handle, before, plan, &metalayers)
    }

    /// Makes a change, after which the frame has these fixed-length metalayers.
    pub fn apply_with(
        &mut self,
        handle: &Handle,
        before: &Counts,
        plan: Plan,
        metalayers: &[Borrowed],
    ) -> Result<i64> {
        let specials = self.parted(handle, before, &plan)?;
        if let Store::Separate(chunks) = &self.store {
            let count = plan.change.count(chunks.len());
            self.reserve_pointers(handle, count)?;
        }
        match (&mut self.store, plan.owned) {
            (Store::Separate(chunks), Some(owned)) => {
                oxiblosc_core::schunk::keep(chunks, &plan.change, owned)?;
            }
            (store, _) => {
                let header = handle.header(&plan.counts, store.kind());
                store.commit(
                    &plan.change,
                    &specials,
                    &header,
                    metalayers,
                    None,
                    plan.counts.cbytes.max(0) as u64,
                )?;
            }
        }
        self.sizes = None;
        handle.set_counts(&plan.counts);
        self.show_data(handle, &plan.change);
        Ok(plan.counts.nchunks)
    }

    /// Changes bytes of chunks in memory for which [`Store::ready`] was called; `after` are the counters then.
    pub fn edit(
        &mut self,
        handle: &Handle,
        after: &Counts,
        edits: &[(usize, List<Edit>)],
    ) -> Result<()> {
        if edits.is_empty() {
            return Ok(());
        }
        self.store.edit(edits)?;
        handle.set_counts(after);
        self.show_data(handle, &Change::Nothing);
        Ok(())
    }

    /// Chunks that were told by their offsets alone need places from the moment on when sizes differ, since then the
    /// header no longer tells how large they are. A few bytes may tell of so many that there is no memory for them.
    fn parted(
        &mut self,
        handle: &Handle,
        before: &Counts,
        plan: &Plan,
    ) -> Result<List<(usize, List<u8>)>> {
        let mut specials = List::new();
        if !self.store.is_frame() || before.chunksize <= 0 || plan.counts.chunksize != 0 {
            return Ok(specials);
        }
        for nchunk in 0..self.store.nchunks() {
            if let Where::Special(place) = self.store.find(nchunk)?
                && !plan.change.leaves().any(|gone| gone == nchunk)
            {
                if specials.len() == MOST_PARTED {
                    return Err(Error::MaxBufsizeExceeded);
                }
                let nbytes = before.nbytes_of(nchunk as i64).ok_or(Error::Data)?;
                let special = storage::special_chunk(handle, place, nbytes)?;
                specials.push((nchunk, special))?;
            }
        }
        Ok(specials)
    }

    /// Shows C where the chunks are that each are on their own.
    pub fn show_data(&mut self, handle: &Handle, change: &Change) {
        let Store::Separate(chunks) = &mut self.store else {
            return;
        };
        match (change, chunks.last_mut()) {
            (Change::Append(_), Some(last)) if chunks_len_is(self.pointers.len() + 1, handle) => {
                self.pointers.push_within_capacity(last.as_mut_ptr());
            }
            _ => {
                self.pointers.clear();
                for chunk in chunks.iter_mut() {
                    self.pointers.push_within_capacity(chunk.as_mut_ptr());
                }
            }
        }
        self.tell_data(handle);
    }

    /// Makes room to show so many chunks, so that nothing can fail when they are there.
    pub fn reserve_pointers(&mut self, handle: &Handle, count: usize) -> Result<()> {
        self.pointers
            .reserve(count.saturating_sub(self.pointers.len()))?;
        if matches!(self.store, Store::Separate(_)) {
            // They may have moved, whatever becomes of the change.
            self.tell_data(handle);
        }
        Ok(())
    }

    fn tell_data(&mut self, handle: &Handle) {
        // SAFETY: two fields; the array lives as long as the handle, or until the next change.
        unsafe {
            let c = handle.fields();
            c.data = self.pointers.as_mut_ptr();
            c.data_len = self.pointers.capacity() * size_of::<*mut u8>();
        }
    }

    /// How large the chunks are.
    pub fn sizes(&mut self, counts: &Counts) -> Result<Sizes> {
        if counts.chunksize > 0 {
            return Ok(Sizes::Equal {
                chunksize: counts.chunksize as u64,
                nbytes: counts.nbytes.max(0) as u64,
            });
        }
        if let Some(sizes) = &self.sizes {
            return Ok(sizes.clone());
        }
        // Memory follows the chunks that are there, not those that an index tells of.
        let mut starts: List<u64> = List::new();
        let mut end = 0;
        for nchunk in 0..self.store.nchunks() {
            starts.reserve(1)?;
            starts.push(end)?;
            end += self.chunk(counts, nchunk)?.nbytes as u64;
        }
        starts.reserve(1)?;
        starts.push(end)?;
        if self.store.is_frame() && end != counts.nbytes.max(0) as u64 {
            return Err(Error::Data);
        }
        self.summed_up = true;
        let sizes = Sizes::Starts(Shared::new(starts)?);
        self.sizes = Some(sizes.clone());
        Ok(sizes)
    }
}

impl Inner {
    /// Makes sure that the chunks of a frame, which differ in size, have as many bytes together as the counters say. Done once:
    /// after that they change together.
    pub fn sum_up(&mut self, counts: &Counts) -> Result<()> {
        if self.summed_up {
            Ok(())
        } else {
            self.sizes(counts).map(drop)
        }
    }
}

fn chunks_len_is(len: usize, handle: &Handle) -> bool {
    handle.counts().nchunks == len as i64
}

// SAFETY: the pointers are into memory that the store owns; they are handed to C, never followed here.
unsafe impl Send for Inner {}

/// Frees a super-chunk and all that is its own. Gives what the back end returned.
///
/// # Safety
/// `schunk` is a handle that nobody uses.
pub unsafe fn free(schunk: *mut blosc2_schunk) -> i32 {
    // SAFETY: by the caller's word; every part is the handle's own.
    unsafe {
        let handle = &*schunk.cast::<Handle>();
        if handle.owners.fetch_sub(1, Ordering::AcqRel) > 1 {
            // A view still shows the chunks.
            return 0;
        }
        let base = handle.base;
        if !base.is_null() {
            handle.fields().nvlmetalayers = 0;
        }
        let freed = free_parts(schunk);
        if base.is_null() {
            freed
        } else {
            free(base.cast())
        }
    }
}

/// Frees what [`free`] is about.
///
/// # Safety
/// As for [`free`]; no view is left.
unsafe fn free_parts(schunk: *mut blosc2_schunk) -> i32 {
    // SAFETY: by the caller's word.
    unsafe {
        let handle = Box::from_raw(schunk.cast::<Handle>());
        // Where they are: a copy has 64 KB, which small stacks have no room for.
        let c = &mut *handle.c.get();
        let inner = handle
            .inner
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        match inner.store {
            Store::Memory(memory) if inner.avoid_free => memory.release(),
            store => drop(store),
        }
        blosc2_free_ctx(c.cctx);
        blosc2_free_ctx(c.dctx);
        libc::free(c.blockshape.cast());
        free_metalayers(c);
        let Some(storage) = c.storage.as_ref() else {
            return 0;
        };
        let destroyed = io::destroy(storage.io);
        free_storage(c.storage);
        i32::from(destroyed < 0)
    }
}
