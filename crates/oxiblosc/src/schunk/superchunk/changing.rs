//! Changes in progress, and the locks that they hold.

use super::{Peek, SuperChunk};
use crate::schunk::state::State;
use oxiblosc_base::memory::Reserved;
use oxiblosc_base::memory::env::trace;
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::disk::{Disk, FrameLockGuard, FrameWaiter, LockState};
use oxiblosc_io::operation::{self, LockLevel, Nesting};

impl SuperChunk {
    /// Begins a change. Changes by other threads wait until it ends, and, if the frame was opened
    /// with locking, so do changes through other handles. The state is up to date with the frame.
    /// Others may read until [`Changing::commit`].
    ///
    /// # Errors
    /// [`Error::LOCK`] in a callback of this super-chunk, which may only read; those of locking and
    /// reading a frame.
    pub fn reserve(&self) -> Result<Changing<'_>> {
        let mut changing = self.reserve_here()?;
        changing.lock()?;
        Ok(changing)
    }

    /// As [`Self::reserve`], but the frame is not locked before [`Changing::lock`].
    ///
    /// # Errors
    /// As for [`Self::reserve`].
    pub(crate) fn reserve_here(&self) -> Result<Changing<'_>> {
        let nesting = operation::nesting(self.id)?;
        match nesting {
            Nesting::Within(LockLevel::Reserved) if !operation::in_callback_of(self.id) => {
                return Ok(Changing {
                    schunk: self,
                    begun: None,
                });
            }
            Nesting::Within(_) => {
                trace(
                    "error",
                    "a callback may not change the super-chunk that it was called for, nor leave by longjmp: after that the super-chunk can only be \
                     read and freed",
                );
                return Err(Error::LOCK);
            }
            Nesting::Idle | Nesting::Elsewhere => {}
        }
        let reserved = self.reserve_with(&mut None, operation::timeout(0))?;
        let mut changing = Changing {
            schunk: self,
            begun: Some(Begun {
                locked: Locked::No,
                is_first: nesting == Nesting::Idle,
                _operation: operation::enter(self.id, LockLevel::Reserved)?,
                reserved: Some(reserved),
            }),
        };
        if let Some(number) = self.transactions.given_up() {
            changing.abandon_given_up(number)?;
        }
        Ok(changing)
    }

    /// Abandons the transaction that had to wait for an operation to end.
    #[cold]
    pub(super) fn abandon_given_up(&self) -> Result<()> {
        self.reserve_here().map(drop)
    }
}

/// A change in progress; see [`SuperChunk::reserve`]. It ends when this is dropped.
pub struct Changing<'a> {
    schunk: &'a SuperChunk,
    /// None within another change of this thread, whose locks are used.
    begun: Option<Begun<'a>>,
}

/// How a change has locked the frame.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    /// Not at all.
    No,
    /// An outer operation of this thread has locked it against other handles' changes.
    Around,
    /// Against other handles' changes.
    Shared,
    /// Exclusively.
    Alone,
}

struct Begun<'a> {
    locked: Locked,
    /// Whether the thread was in no operation before.
    is_first: bool,
    _operation: operation::OperationGuard,
    /// None while this waits for the lock of the frame, and after it failed to get it.
    reserved: Option<Reserved<'a, State>>,
}

impl Changing<'_> {
    /// Abandons the transaction with this number, which was given up.
    #[cold]
    fn abandon_given_up(&mut self, number: u64) -> Result<()> {
        let schunk = self.schunk;
        self.commit_unlocked(|state| match state.transaction() {
            Some(open) if open == number => state.abandon(schunk.host()),
            // Another thread has ended it.
            _ => Ok(()),
        })?;
        schunk.transactions.note_end(number);
        Ok(())
    }

    /// Locks the frame, unless it is locked already, and reads it again if others changed it.
    ///
    /// # Errors
    /// Those of locking and reading a frame.
    #[inline(never)]
    pub(crate) fn lock(&mut self) -> Result<()> {
        self.lock_as(None)
    }

    /// As [`Self::lock`], but in the way that `wanted` says.
    pub(crate) fn lock_as(&mut self, wanted: Option<Locked>) -> Result<()> {
        let mut guard = None;
        while let Some(waiter) = self.try_lock(wanted, guard)? {
            guard = self.wait(waiter)?;
        }
        Ok(())
    }

    /// Waits for the lock of the frame, without the reservation: the thread that has the lock may
    /// need it.
    fn wait(&mut self, waiter: FrameWaiter) -> Result<Option<FrameLockGuard>> {
        let begun = self.begun.as_mut().ok_or(Error::LOCK)?;
        begun.reserved = None;
        let timeout = operation::timeout(1);
        let mut guard = Some(waiter.wait(timeout)?);
        begun.reserved = Some(self.schunk.reserve_with(&mut guard, timeout)?);
        Ok(guard)
    }

    /// One attempt of [`Self::lock_as`]. If others have locked the frame, gives a waiter for its
    /// lock.
    fn try_lock(
        &mut self,
        wanted: Option<Locked>,
        guard: Option<FrameLockGuard>,
    ) -> Result<Option<FrameWaiter>> {
        let (schunk, timeout) = (self.schunk, operation::timeout(1));
        let Some(begun) = &mut self.begun else {
            return Ok(None);
        };
        let wanted = match wanted {
            Some(wanted) => wanted,
            // Changes in a transaction do not touch the frame before the commit.
            None if schunk.guard()?.in_transaction() => Locked::Shared,
            None => Locked::Alone,
        };
        if begun.locked != Locked::No || wanted == Locked::No {
            return Ok(None);
        }
        let mut exclusive = None;
        let has_lock = (schunk.guard()?.store).with_disk(false, |disk| disk.has_lock());
        if has_lock && wanted == Locked::Alone {
            schunk.guard()?.check_lock()?;
            // All readers of this handle have to leave before it takes the exclusive lock.
            exclusive = Some(schunk.exclusively(timeout)?);
        }
        let current = {
            let nested;
            let state: &State = match &exclusive {
                Some(exclusive) => exclusive,
                None => {
                    nested = schunk.guard()?;
                    &nested
                }
            };
            begun.locked = if wanted == Locked::Alone {
                match (state.store).with_disk(Ok(None), |disk| disk.try_lock(guard))? {
                    Some(waiter) => return Ok(Some(waiter)),
                    None => wanted,
                }
            } else {
                match state.store.lock_shared(begun.is_first && guard.is_none())? {
                    LockState::Busy(waiter) => return Ok(Some(waiter)),
                    LockState::Locked => wanted,
                    LockState::NotNeeded => Locked::Around,
                }
            };
            state.record_lock(schunk.id);
            state.is_current(&*schunk.host)
        };
        if !current {
            let mut exclusive = match exclusive {
                Some(exclusive) => exclusive,
                None => schunk.exclusively(timeout)?,
            };
            exclusive.refresh(&*schunk.host)?;
        }
        Ok(None)
    }

    /// The state before the change.
    ///
    /// # Errors
    /// As for [`SuperChunk::read`].
    pub fn state(&self) -> Result<Peek<'_>> {
        self.schunk.peek()
    }

    /// Makes the change, once all readers have left. `body` must not run callbacks that work on
    /// blocks.
    ///
    /// # Errors
    /// Those of `body`, and of locking and reading a frame.
    pub fn commit<T>(&mut self, body: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        self.lock()?;
        self.commit_unlocked(body)
    }

    /// As [`Self::commit`], but without locking the frame and without checking whether other
    /// handles have changed it.
    ///
    /// # Errors
    /// Those of `body`; [`Error::LOCK`] if readers do not leave in time.
    pub(crate) fn commit_unlocked<T>(
        &mut self,
        body: impl FnOnce(&mut State) -> Result<T>,
    ) -> Result<T> {
        let schunk = self.schunk;
        if self
            .begun
            .as_ref()
            .is_some_and(|begun| begun.reserved.is_none())
        {
            return Err(Error::LOCK);
        }
        let mut state = schunk.exclusively(operation::timeout(1))?;
        let _access = ExclusiveAccess::of(schunk);
        body(&mut state)
    }
}

impl Drop for Changing<'_> {
    /// Unlocks the frame. The reservation, a field of this, ends after that.
    fn drop(&mut self) {
        let unlock = match self.begun.as_ref().map_or(Locked::No, |begun| begun.locked) {
            Locked::Alone => Disk::unlock,
            Locked::Shared => Disk::unlock_shared,
            Locked::No | Locked::Around => return,
        };
        if let Ok(state) = self.schunk.guard() {
            state.store.with_disk((), unlock);
        }
    }
}

/// Records that the operation of this thread has locked the super-chunk exclusively, until this is
/// dropped.
struct ExclusiveAccess(usize);

impl ExclusiveAccess {
    fn of(schunk: &SuperChunk) -> Self {
        operation::set_lock_level(schunk.id, LockLevel::Exclusive);
        Self(schunk.id)
    }
}

impl Drop for ExclusiveAccess {
    fn drop(&mut self) {
        operation::set_lock_level(self.0, LockLevel::Reserved);
    }
}
