//! Reading the state, and the locks that a reader holds meanwhile.

use super::SuperChunk;
use crate::schunk::state::State;
use oxiblosc_base::memory::Reader;
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::disk::currency::Currency;
use oxiblosc_frame::disk::{Disk, LockState};
use oxiblosc_io::operation::{self, LockLevel, Nesting};
use std::ops::Deref;

impl SuperChunk {
    /// The state, up to date with what other handles have changed. It does not change until the
    /// guard is dropped: changes through this handle wait, and, if the frame was opened with
    /// locking, changes through others wait, too.
    ///
    /// # Errors
    /// [`Error::LOCK`] in a function of a back end that an operation on this super-chunk called;
    /// those of reading a frame.
    pub fn read(&self) -> Result<Reading<'_>> {
        self.read_for(None)
    }

    /// As [`Self::read`], to work on the chunk `nchunk`, which is recorded for callbacks. If there
    /// is such a chunk, the caller has to call [`Self::show_current`].
    #[inline(always)]
    pub(in crate::schunk) fn read_for(&self, nchunk: Option<usize>) -> Result<Reading<'_>> {
        let nesting = operation::nesting(self.id)?;
        if let Nesting::Within(_) = nesting {
            // An outer operation of this thread has the state locked.
            let state = self.guard()?;
            if let Some(nchunk) = nchunk
                && state.check_index(nchunk).is_ok()
            {
                operation::set_chunk(self.id, nchunk);
            }
            return Ok(Reading {
                _access: None,
                state,
            });
        }
        let (state, locked) = match self.read_current(nesting, nesting == Nesting::Idle)? {
            Some(current) => current,
            None => self.read_later(nesting)?,
        };
        let entered = operation::enter_for(self.id, LockLevel::Shared, nchunk);
        let operation = entered.inspect_err(|_| {
            if locked {
                self.unlock_shared();
            }
        })?;
        if locked {
            state.record_lock(self.id);
        }
        let access = SharedAccess {
            locked: locked.then_some(self),
            _operation: operation,
        };
        Ok(Reading {
            _access: Some(access),
            state,
        })
    }

    /// As [`Self::read`], but gives the state as this handle knows it, and takes no lock of the
    /// frame. To wait for that lock might be a deadlock: the thread that has it may be waiting for
    /// something that the caller holds, such as the lock of an interpreter.
    ///
    /// # Errors
    /// [`Error::LOCK`] as for [`Self::read`].
    pub fn read_cached(&self) -> Result<Reading<'_>> {
        let (state, access) = match operation::nesting(self.id)? {
            Nesting::Within(_) => (self.guard()?, None),
            nesting => {
                let state = self.shared(nesting)?;
                let access = SharedAccess {
                    locked: None,
                    _operation: operation::enter(self.id, LockLevel::Shared)?,
                };
                (state, Some(access))
            }
        };
        Ok(Reading {
            _access: access,
            state,
        })
    }

    /// The state as this handle knows it, without checking whether other handles changed the frame.
    ///
    /// # Errors
    /// As for [`Self::read`].
    pub fn peek(&self) -> Result<Peek<'_>> {
        match operation::nesting(self.id)? {
            Nesting::Within(_) => self.guard(),
            nesting => self.shared(nesting),
        }
    }

    /// Takes the reader's lock of the state, as this handle knows it.
    ///
    /// # Errors
    /// [`Error::LOCK`] within another operation, after a while.
    #[inline(always)]
    fn shared(&self, nesting: Nesting) -> Result<Reader<'_, State>> {
        if self.transactions.given_up().is_some() {
            self.abandon_given_up()?;
        }
        match nesting {
            Nesting::Idle => Ok(self.lock.shared()),
            _ => self
                .lock
                .shared_within(operation::TIMEOUT)
                .ok_or(Error::LOCK),
        }
    }

    pub(super) fn unlock_shared(&self) {
        if let Ok(state) = self.guard() {
            state.store.with_disk((), Disk::unlock_shared);
        }
    }

    /// Takes the reader's lock if the state is up to date and, with `after_writers`, no writer
    /// waits for the frame. Gives whether the frame is locked.
    #[inline(always)]
    fn read_current(&self, nesting: Nesting, after_writers: bool) -> Result<Option<Current<'_>>> {
        let is_first = nesting == Nesting::Idle;
        let state = self.shared(nesting)?;
        if !state.has_settings(&*self.host) {
            return Ok(None);
        }
        if state.store.is_in_memory() {
            return Ok(Some((state, false)));
        }
        Self::read_current_frame(state, is_first, after_writers)
    }

    /// The part of [`Self::read_current`] for frames on disk and transactions. `is_first` says that
    /// the thread is in no operation.
    #[inline(never)]
    fn read_current_frame(
        state: Reader<'_, State>,
        is_first: bool,
        after_writers: bool,
    ) -> Result<Option<Current<'_>>> {
        let Some(disk) = state.store.disk() else {
            return Ok(Some((state, false)));
        };
        let (locked, check) = {
            let mut disk = disk.lock();
            if is_first && disk.is_shared_for_long() {
                return Ok(None);
            }
            let locked = match disk.lock_shared(after_writers)? {
                LockState::Locked => true,
                LockState::NotNeeded => false,
                LockState::Busy(_) => return Ok(None),
            };
            (locked, disk.currency_check())
        };
        // The mutex is not held here, so that several threads can check the file at the same time.
        let current = match check.map(|check| check.run()) {
            Some(Currency::Current) => true,
            Some(Currency::Moved(missing)) => {
                disk.lock().set_missing(missing);
                true
            }
            Some(Currency::Other) => false,
            None => disk.lock().is_current(),
        };
        if current {
            return Ok(Some((state, locked)));
        }
        if locked {
            disk.lock().unlock_shared();
        }
        Ok(None)
    }

    /// As [`Self::read_current`], if a writer goes first or the frame has to be read again.
    #[cold]
    fn read_later(&self, nesting: Nesting) -> Result<Current<'_>> {
        let timeout = operation::timeout(0);
        let mut guard = None;
        loop {
            let waiter = {
                let _reserved = self.reserve_with(&mut guard, timeout)?;
                let mut state = self.exclusively(timeout)?;
                let after_writers = nesting == Nesting::Idle && guard.is_none();
                match state.store.lock_shared(after_writers)? {
                    LockState::Busy(waiter) => waiter,
                    lock => {
                        let locked = matches!(lock, LockState::Locked);
                        let refreshed = state.refresh(&*self.host);
                        refreshed.inspect_err(|_| {
                            if locked {
                                state.store.with_disk((), Disk::unlock_shared);
                            }
                        })?;
                        return Ok((state.into_shared(), locked));
                    }
                }
            };
            // The thread that has locked the frame may need this handle, so the state is not locked
            // while this thread waits.
            guard = Some(waiter.wait(timeout)?);
            if let Some(current) = self.read_current(nesting, false)? {
                return Ok(current);
            }
        }
    }
}

/// The state, and whether the frame is locked.
type Current<'a> = (Reader<'a, State>, bool);

/// The state of a super-chunk, which is not changed until this is dropped; see
/// [`SuperChunk::read`].
pub struct Reading<'a> {
    // Dropped first, since its `drop` needs the state.
    /// None if an outer operation has the state locked.
    _access: Option<SharedAccess<'a>>,
    state: Reader<'a, State>,
}

impl Deref for Reading<'_> {
    type Target = State;
    fn deref(&self) -> &State {
        &self.state
    }
}

/// As [`Reading`], but the state may be out of date; see [`SuperChunk::peek`].
pub type Peek<'a> = Reader<'a, State>;

struct SharedAccess<'a> {
    /// The super-chunk, if its frame is locked.
    locked: Option<&'a SuperChunk>,
    _operation: operation::OperationGuard,
}

impl Drop for SharedAccess<'_> {
    fn drop(&mut self) {
        if let Some(schunk) = self.locked {
            schunk.unlock_shared();
        }
    }
}
