//! Readers: how they come to the state, and what they keep out.

use super::SuperChunk;
use crate::schunk::state::State;
use crate::schunk::store::lock;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::disk::Kept;
use oxiblosc_frame::disk::look::Seen;
use oxiblosc_io::operation::{self, Access, Standing};
use oxiblosc_memory::Reader;
use std::ops::Deref;

impl SuperChunk {
    /// The state as it is now. Until what is returned is dropped it stays so: changes are kept out, of this handle and, where
    /// the frame is locked, of others. What others changed before is known then.
    ///
    /// # Errors
    /// [`Error::Lock`] in a function of a back end that an operation on this super-chunk called; those of reading a frame.
    pub fn read(&self) -> Result<Reading<'_>> {
        self.read_for(-1)
    }

    /// As [`Self::read`], to work on the chunk `nchunk` if that is not negative. Where there is such a chunk, [`Self::show_current`] is next.
    #[inline(always)]
    pub(in crate::schunk) fn read_for(&self, nchunk: i64) -> Result<Reading<'_>> {
        let standing = operation::standing(self.id)?;
        if let Standing::Within(_) = standing {
            // An operation of this thread keeps changes out.
            let state = self.guard()?;
            if state.check_index(nchunk).is_ok() {
                operation::set_chunk(self.id, nchunk);
            }
            return Ok(Reading {
                _access: None,
                state,
            });
        }
        let (state, locked) = match self.read_current(standing, standing == Standing::Idle)? {
            Some(current) => current,
            None => self.read_later(standing)?,
        };
        let entered = operation::enter_for(self.id, Access::Shared, nchunk);
        let operation = entered.inspect_err(|_| {
            if locked {
                self.unlock_shared();
            }
        })?;
        if locked {
            state.note_lock(self.id);
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

    /// As [`Self::read`], but the state as this handle knows it: it does not wait until the frame is unlocked. The
    /// thread that has locked it may be waiting for something that the caller holds, such as the lock of an interpreter.
    ///
    /// # Errors
    /// [`Error::Lock`] as for that.
    pub fn read_known(&self) -> Result<Reading<'_>> {
        let (state, access) = match operation::standing(self.id)? {
            Standing::Within(_) => (self.guard()?, None),
            standing => {
                let state = self.shared(standing)?;
                let access = SharedAccess {
                    locked: None,
                    _operation: operation::enter(self.id, Access::Shared)?,
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
        match operation::standing(self.id)? {
            Standing::Within(_) => self.guard(),
            standing => self.shared(standing),
        }
    }

    /// Becomes a reader of what is known.
    ///
    /// # Errors
    /// [`Error::Lock`] within another operation, after a while.
    #[inline(always)]
    fn shared(&self, standing: Standing) -> Result<Reader<'_, State>> {
        match standing {
            Standing::Idle => Ok(self.lock.shared()),
            _ => self
                .lock
                .shared_within(operation::PATIENCE)
                .ok_or(Error::Lock),
        }
    }

    pub(super) fn unlock_shared(&self) {
        if let Ok(state) = self.guard()
            && let Some(disk) = state.store.disk()
        {
            // The lock goes with the file at the latest.
            let _ = lock(disk).unlock_shared();
        }
    }

    /// Becomes a reader of what is known, if that is the super-chunk as it is now, and, with `after_writers`, no writer waits for
    /// the frame. Gives whether the frame is locked.
    #[inline(always)]
    fn read_current(&self, standing: Standing, after_writers: bool) -> Result<Option<Current<'_>>> {
        let is_first = standing == Standing::Idle;
        let state = self.shared(standing)?;
        if !state.has_settings(&*self.host) {
            return Ok(None);
        }
        if state.store.is_in_memory() {
            return Ok(Some((state, false)));
        }
        Self::read_current_frame(state, is_first, after_writers)
    }

    /// The rest of it, where the chunks may be in a frame on disk. `is_first`: the thread is in no operation.
    #[inline(never)]
    fn read_current_frame(
        state: Reader<'_, State>,
        is_first: bool,
        after_writers: bool,
    ) -> Result<Option<Current<'_>>> {
        let Some(disk) = state.store.disk() else {
            return Ok(Some((state, false)));
        };
        let (locked, look) = {
            let mut disk = lock(disk);
            if is_first && disk.is_shared_for_long() {
                return Ok(None);
            }
            let locked = match disk.lock_shared(after_writers)? {
                Kept::Locked => true,
                Kept::Open => false,
                Kept::Busy(_) => return Ok(None),
            };
            (locked, disk.look())
        };
        // Without the mutex, so that several threads can check the file at the same time.
        let current = match look.map(|look| look.take()) {
            Some(Seen::Current) => true,
            Some(Seen::Moved(missing)) => {
                lock(disk).set_missing(missing);
                true
            }
            Some(Seen::Other) => false,
            None => lock(disk).is_current(),
        };
        if current {
            return Ok(Some((state, locked)));
        }
        if locked {
            lock(disk).unlock_shared()?;
        }
        Ok(None)
    }

    /// As [`Self::read_current`], where a writer comes first, or something is read again.
    #[cold]
    fn read_later(&self, standing: Standing) -> Result<Current<'_>> {
        let patience = operation::patience(0);
        let mut waited = None;
        loop {
            let waiter = {
                let _reserved = self.reserve_with(&mut waited, patience)?;
                let mut state = self.exclusively(patience)?;
                let after_writers = standing == Standing::Idle && waited.is_none();
                let locked = match state.lock_shared(after_writers)? {
                    Kept::Busy(waiter) => Err(waiter),
                    Kept::Locked => Ok(true),
                    Kept::Open => Ok(false),
                };
                match locked {
                    Ok(locked) => {
                        state.refresh_shared(&*self.host, locked)?;
                        return Ok((state.into_shared(), locked));
                    }
                    Err(waiter) => waiter,
                }
            };
            // Nothing is held meanwhile: who has the frame may want this handle, too.
            waited = Some(waiter.wait(patience)?);
            if let Some(current) = self.read_current(standing, false)? {
                return Ok(current);
            }
        }
    }
}

/// The state, and whether the frame is locked.
type Current<'a> = (Reader<'a, State>, bool);

/// The state of a super-chunk, which is not changed until this is dropped; see [`SuperChunk::read`].
pub struct Reading<'a> {
    // Goes first: what it does at its end needs the state.
    /// None where an operation around this one keeps changes out.
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
    _operation: operation::Entered,
}

impl Drop for SharedAccess<'_> {
    fn drop(&mut self) {
        if let Some(schunk) = self.locked {
            schunk.unlock_shared();
        }
    }
}
