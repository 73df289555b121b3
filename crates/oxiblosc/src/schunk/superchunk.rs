//! The super-chunk, and the locks that protect it from other threads and from other handles of its
//! frame.

mod changing;
#[cfg(test)]
mod damaged_chunks;
#[cfg(test)]
mod failing_files;
#[cfg(test)]
mod opening;
mod program_locks;
mod reading;
#[cfg(test)]
mod shared_bytes;
#[cfg(test)]
mod tests;
mod transaction_numbers;

pub use changing::Changing;
pub(crate) use changing::Locked;
pub use reading::{Peek, Reading};

use super::Parameters;
use super::rules::Counts;
use super::state::{PlannedChange, State, is_loss};
use super::store::ChunkStore;
use crate::decoding::DecodeContext;
use crate::encoding::EncodeContext;
use crate::schunk::host::{Changed, Host};
use oxiblosc_base::memory::{Buffer, Exclusive, Reader, Reserved, StateLock};
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::disk::{Disk, FrameLockGuard, FrameWaiter, Loaded, NewFrame};
use oxiblosc_frame::memory::Memory;
use oxiblosc_io::operation;
use program_locks::ProgramLocks;
use std::fmt;
use std::time::Duration;
use transaction_numbers::TransactionNumbers;

/// How often a frame that others change is checked when it is opened.
const MAX_CHECKS: usize = 50;

/// Chunks in order, with parameters and metalayers, in memory or in a frame.
///
/// Threads may share one: readers see the state before or after each change, and changes wait for
/// each other.
///
/// The lock is the first field, so that the fields of [`State`] that are seldom read share its
/// cache line.
#[repr(C)]
pub struct SuperChunk {
    /// The state, and the lock of the threads that read and change it.
    lock: StateLock<State>,
    /// The contexts, and the program's window.
    host: Box<dyn Host>,
    /// Identifies this super-chunk in the list of a thread's operations.
    id: usize,
    _records: operation::Records,
    program_locks: ProgramLocks,
    pub(super) transactions: TransactionNumbers,
}

/// Leaves out the state, which may be locked.
impl fmt::Debug for SuperChunk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SuperChunk").finish_non_exhaustive()
    }
}

impl SuperChunk {
    /// A super-chunk with these chunks, whose contexts and window are those of `host`. `id`
    /// identifies it in the list of a thread's operations, so no other super-chunk may have this id
    /// at the same time.
    pub fn new(store: ChunkStore, parameters: Parameters, host: Box<dyn Host>, id: usize) -> Self {
        let mut state = State::new(store, parameters);
        host.show(&mut state, Changed::Everything);
        Self::with_state(state, host, id)
    }

    fn with_state(state: State, host: Box<dyn Host>, id: usize) -> Self {
        Self {
            lock: StateLock::new(state),
            host,
            id,
            _records: operation::Records::of(id),
            program_locks: ProgramLocks::default(),
            transactions: TransactionNumbers::default(),
        }
    }

    /// As [`Self::new`], for a frame that was just read.
    ///
    /// # Errors
    /// [`Error::DATA`] if the header of the frame contradicts the number of chunks; those of
    /// reading a chunk that may be sound.
    pub fn of_frame(
        store: ChunkStore,
        loaded: Loaded,
        host: Box<dyn Host>,
        id: usize,
    ) -> Result<Self> {
        let mut state = State::new(store, loaded.header.parameters);
        state.prepare_load(&*host, &loaded)?;
        let is_known = state.load(&*host, loaded)?;
        let checked = state.check_opened();
        let mut opened = Self::with_state(state, host, id);
        // If the first chunk cannot be read, or the chunks contradict the header, the frame is
        // refused, or its chunks differ in size, or some are damaged. But another process may have
        // changed the frame since the header was read, so this is checked again.
        let checked = match checked {
            Ok(None) if is_known => return Ok(opened),
            Ok(None) => None,
            _ => opened.check_again()?,
        };
        let state = opened.lock.get_mut();
        if let Some(counts) = checked {
            state.counts = counts;
        }
        state.follow_first_chunk()?;
        opened.host.show(state, Changed::Everything);
        Ok(opened)
    }

    /// Works like [`State::check_opened`], but locks the frame. If the frame was opened without
    /// locking, the check is repeated until the frame has not changed in the meantime. Chunks that
    /// contradict the header are damaged, and so are those that cannot be read: reading them is an
    /// error, but all others and the metalayers are there.
    fn check_again(&self) -> Result<Option<Counts>> {
        for _ in 0..MAX_CHECKS {
            let state = self.read()?;
            let checked = state.check_opened();
            if state.is_current(&*self.host) {
                return match checked {
                    Err(error) if is_loss(error) && state.can_be_read() => Ok(None),
                    other => other,
                };
            }
        }
        Err(Error::FILE_READ)
    }

    /// The files that were created for this super-chunk, so that the caller can remove them. None
    /// if there are none, and for every call after the first.
    pub fn take_new_frame(&self) -> Option<NewFrame> {
        let state = self.peek().ok()?;
        state.store.with_disk(None, Disk::take_new_files)
    }

    /// This super-chunk, which was just created, if `done` is a success. Otherwise its files are
    /// removed.
    ///
    /// # Errors
    /// The one in `done`.
    pub fn or_discard<T>(self, done: Result<T>) -> Result<Self> {
        if let Err(error) = done {
            let created = self.take_new_frame();
            drop(self);
            if let Some(mut created) = created {
                created.remove();
            }
            return Err(error);
        }
        Ok(self)
    }

    /// Gives the frame on disk of a super-chunk that was created hidden its name. Does nothing to
    /// others.
    ///
    /// # Errors
    /// [`Error::FILE_OPEN`] if something is at the path by now; those of output.
    pub fn publish(&self) -> Result<()> {
        self.peek()?.store.with_disk(Ok(()), Disk::publish)
    }

    /// This super-chunk, which was just created, once it is published, if `done` is a success.
    /// Otherwise its files are removed.
    ///
    /// # Errors
    /// The one in `done`; those of [`Self::publish`].
    pub fn publish_if<T>(self, done: Result<T>) -> Result<Self> {
        let published = done.and_then(|_| self.publish());
        self.or_discard(published)
    }

    /// The bytes of a contiguous frame in memory.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if the super-chunk is not such a frame; those of writing its index and
    /// trailer.
    pub fn into_frame(self) -> Result<Buffer> {
        let ChunkStore::Memory(memory) = self.lock.into_inner().store.into_base() else {
            return Err(Error::FAILURE);
        };
        memory.into_frame()
    }

    /// Writes the index and trailer of a frame on disk to their final places and closes its files.
    /// Gives the size of the frame in bytes.
    ///
    /// # Errors
    /// [`Error::FAILURE`] if the super-chunk is not a frame on disk; those of output.
    pub fn close_frame(&self) -> Result<u64> {
        self.peek()?.store.with_disk(Err(Error::FAILURE), |disk| {
            disk.close()?;
            Ok(disk.frame_len())
        })
    }

    /// The contexts, and the program's window.
    pub fn host(&self) -> &dyn Host {
        &*self.host
    }

    /// The compressor of the chunks.
    ///
    /// # Errors
    /// Those of [`Host::encoder`].
    pub fn encoder(&self) -> Result<&dyn EncodeContext> {
        self.host.encoder()
    }

    /// The decompressor of the chunks.
    ///
    /// # Errors
    /// Those of [`Host::decoder`].
    pub fn decoder(&self) -> Result<&dyn DecodeContext> {
        self.host.decoder()
    }

    /// Identifies this super-chunk in the list of a thread's operations.
    pub fn id(&self) -> usize {
        self.id
    }

    /// Records which chunk is being read or written, for callbacks and for the program. If several
    /// threads read, the program sees the chunk of one of them.
    pub fn set_current(&self, nchunk: usize) {
        operation::set_chunk(self.id, nchunk);
        self.show_current(nchunk);
    }

    /// As [`Self::set_current`], if the chunk was already recorded for callbacks.
    pub(super) fn show_current(&self, nchunk: usize) {
        // Several readers would contend for the cache line of the program's field.
        if !self.lock.has_several_readers() {
            self.host.at_chunk(nchunk);
        }
    }

    /// The state, for a thread whose operation has it locked.
    #[inline]
    fn guard(&self) -> Result<Reader<'_, State>> {
        self.lock.nested().ok_or(Error::LOCK)
    }

    /// The state, for writing. Only the thread that reserved it may call this, which waits until
    /// all readers have left.
    ///
    /// # Errors
    /// [`Error::LOCK`] after `timeout`, and if an outer operation of this thread is one of the
    /// readers.
    fn exclusively(&self, timeout: Option<Duration>) -> Result<Exclusive<'_, State>> {
        self.lock.upgrade(timeout).ok_or(Error::LOCK)
    }

    /// Reserves the state. If another thread has reserved it, `guard` is released first, as that
    /// thread may be waiting for the frame's lock.
    ///
    /// # Errors
    /// [`Error::LOCK`] after `timeout`.
    fn reserve_with(
        &self,
        guard: &mut Option<FrameLockGuard>,
        timeout: Option<Duration>,
    ) -> Result<Reserved<'_, State>> {
        if guard.is_some() {
            if let Some(reserved) = self.lock.reserve(Some(Duration::ZERO)) {
                return Ok(reserved);
            }
            *guard = None;
        }
        self.lock.reserve(timeout).ok_or(Error::LOCK)
    }

    /// The state, without locking: the caller owns the super-chunk.
    pub fn state_mut(&mut self) -> &mut State {
        self.lock.get_mut()
    }

    /// Locks the frame against other handles and processes until [`Self::unlock`], so that they see
    /// all changes in between at once. Calls may nest. Does nothing if the frame was not opened
    /// with locking.
    ///
    /// # Errors
    /// [`Error::LOCK`] in a callback that an operation on the super-chunk called; those of locking.
    pub fn lock(&self) -> Result<()> {
        if operation::lock_level(self.id)?.is_some() {
            return Err(Error::LOCK);
        }
        let timeout = operation::timeout(0);
        let mut guard = None;
        while let Some(waiter) = self.try_lock(&mut guard, timeout)? {
            guard = Some(waiter.wait(timeout)?);
        }
        Ok(())
    }

    /// As [`Self::lock`], but without waiting: if others have locked the frame, gives a waiter for
    /// its lock.
    fn try_lock(
        &self,
        guard: &mut Option<FrameLockGuard>,
        timeout: Option<Duration>,
    ) -> Result<Option<FrameWaiter>> {
        let _reserved = self.reserve_with(guard, timeout)?;
        self.guard()?.check_lock()?;
        let state = self.exclusively(timeout)?;
        state.store.with_disk(Ok(None), |disk| {
            if !disk.has_lock() {
                return Ok(None);
            }
            let waiter = disk.try_lock(guard.take())?;
            if waiter.is_none() {
                self.program_locks.add();
                disk.hold();
            }
            Ok(waiter)
        })
    }

    /// Releases the lock that [`Self::lock`] took. Does nothing if it has not been called.
    ///
    /// # Errors
    /// As for [`Self::peek`].
    pub fn unlock(&self) -> Result<()> {
        if self.program_locks.is_empty() {
            return Ok(());
        }
        // This may fail, and must not have counted the call then.
        let state = self.peek()?;
        if self.program_locks.take() {
            state.store.with_disk((), Disk::release);
        }
        Ok(())
    }

    /// Reads the frame again if another handle changed it. Gives whether it was changed.
    ///
    /// # Errors
    /// Those of reading it.
    pub fn refresh(&self) -> Result<bool> {
        let before = self.peek()?.last_reload();
        Ok(self.read()?.last_reload() != before)
    }

    /// Runs `body` on the bytes of a contiguous frame in memory. None if the super-chunk is no such
    /// frame.
    ///
    /// # Errors
    /// Those of `body`, and of writing the frame's index and trailer.
    pub fn with_frame<T>(&self, body: impl FnOnce(&[u8]) -> Result<T>) -> Result<Option<T>> {
        if !matches!(self.peek()?.store, ChunkStore::Memory(_)) {
            // `read` below would wait for the lock of a frame on disk.
            return Ok(None);
        }
        {
            let state = self.read()?;
            let ChunkStore::Memory(memory) = &state.store else {
                return Ok(None);
            };
            if let Some(bytes) = memory.as_whole() {
                return body(bytes).map(Some);
            }
        }
        // This writes the index and trailer behind the chunks, which may move the buffer.
        self.change(|state| {
            let ChunkStore::Memory(memory) = &mut state.store else {
                return Ok(None);
            };
            body(memory.whole()?).map(Some)
        })
    }

    /// Runs `body`, which must not change the bytes, on a contiguous frame in memory. None if the
    /// super-chunk is no such frame.
    ///
    /// # Errors
    /// As for [`Self::reserve`].
    pub fn with_memory<T>(&self, body: impl FnOnce(&mut Memory) -> T) -> Result<Option<T>> {
        self.change(|state| {
            let ChunkStore::Memory(memory) = state.store.base_mut() else {
                return Ok(None);
            };
            Ok(Some(body(memory)))
        })
    }

    /// Changes the state, which is up to date with the frame.
    pub(crate) fn change<T>(&self, body: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        self.reserve()?.commit(body)
    }

    /// Changes the chunks as `plan` says. Gives the number of chunks after that.
    pub(crate) fn change_chunks<'p>(
        &self,
        plan: impl FnOnce(&mut State) -> Result<PlannedChange<'p>>,
    ) -> Result<usize> {
        self.change(|state| {
            let plan = plan(state)?;
            state.apply(&*self.host, plan)
        })
    }
}

impl State {
    /// Checks that a change of the frame would not wait for an operation of this thread.
    ///
    /// # Errors
    /// [`Error::LOCK`] if an operation of this thread has locked the frame through another handle.
    fn check_lock(&self) -> Result<()> {
        match self.store.with_disk(false, |disk| disk.is_locked_around()) {
            true => Err(Error::LOCK),
            false => Ok(()),
        }
    }

    /// Records that the operation on the super-chunk `id` has the lock of the frame.
    fn record_lock(&self, id: usize) {
        let record = |disk: &mut Disk| operation::set_lock_file(id, disk.locked_file());
        self.store.with_disk((), record);
    }

    /// Whether this state is up to date with the frame, and with the parameters that the program
    /// has set.
    fn is_current(&self, host: &dyn Host) -> bool {
        self.has_settings(host) && self.store.with_disk(true, Disk::is_current)
    }
}
