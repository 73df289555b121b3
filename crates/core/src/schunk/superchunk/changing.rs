//! Changes in progress: what they keep out, and when they are made.

use super::{Peek, SuperChunk};
use crate::schunk::state::State;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::disk::{Kept, Waited, Waiter};
use oxiblosc_io::operation::{self, Access, Standing};
use oxiblosc_memory::Reserved;

impl SuperChunk {
    /// Begins a change: keeps other changes out, of this handle and, as the file system's locks allow, of others. What others
    /// changed before is known then. Others may read until [`Changing::commit`].
    ///
    /// # Errors
    /// [`Error::Lock`] in a function of the program's that is called for this super-chunk, which may only read; those of locking
    /// and reading a frame.
    pub fn reserve(&self) -> Result<Changing<'_>> {
        let mut changing = self.reserve_here()?;
        changing.lock()?;
        Ok(changing)
    }

    /// As [`Self::reserve`], but keeps out changes of this handle alone, until [`Changing::lock`].
    ///
    /// # Errors
    /// As for that.
    pub(crate) fn reserve_here(&self) -> Result<Changing<'_>> {
        let standing = operation::standing(self.id)?;
        match standing {
            Standing::Within(Access::Reserved) if !operation::in_callback_of(self.id) => {
                return Ok(Changing {
                    schunk: self,
                    begun: None,
                });
            }
            Standing::Within(_) => return Err(Error::Lock),
            Standing::Idle | Standing::Elsewhere => {}
        }
        let reserved = self.reserve_with(&mut None, operation::patience(0))?;
        Ok(Changing {
            schunk: self,
            begun: Some(Begun {
                locked: Locked::No,
                is_first: standing == Standing::Idle,
                _operation: operation::enter(self.id, Access::Reserved)?,
                reserved: Some(reserved),
            }),
        })
    }
}

/// A change in progress; see [`SuperChunk::reserve`]. It ends when this is dropped.
pub struct Changing<'a> {
    schunk: &'a SuperChunk,
    /// None within a change that began before.
    begun: Option<Begun<'a>>,
}

/// Which accesses to the frame are kept out.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Locked {
    /// None.
    No,
    /// Other handles' changes, by an operation around this one.
    Around,
    /// Other handles' changes.
    Shared,
    /// All of other handles.
    Alone,
}

struct Begun<'a> {
    locked: Locked,
    /// Whether the thread was in no operation before.
    is_first: bool,
    _operation: operation::Entered,
    /// None while the frame is waited for, and where it was not got.
    reserved: Option<Reserved<'a, State>>,
}

impl Changing<'_> {
    /// Keeps other handles out of the frame, if that was not done, and reads it again where others changed it.
    ///
    /// # Errors
    /// Those of locking and reading a frame.
    #[inline(never)]
    pub(crate) fn lock(&mut self) -> Result<()> {
        self.lock_for(None)
    }

    /// As [`Self::lock`], but keeps out what `wanted` says.
    pub(crate) fn lock_as(&mut self, wanted: Locked) -> Result<()> {
        self.lock_for(Some(wanted))
    }

    fn lock_for(&mut self, wanted: Option<Locked>) -> Result<()> {
        let mut waited = None;
        while let Some(waiter) = self.try_lock(wanted, waited)? {
            waited = self.wait(waiter)?;
        }
        Ok(())
    }

    /// Waits for the frame with nothing locked that those may need who have it: the reservation is given up meanwhile.
    fn wait(&mut self, waiter: Waiter) -> Result<Option<Waited>> {
        let begun = self.begun.as_mut().ok_or(Error::Lock)?;
        begun.reserved = None;
        let patience = operation::patience(1);
        let mut waited = Some(waiter.wait(patience)?);
        begun.reserved = Some(self.schunk.reserve_with(&mut waited, patience)?);
        Ok(waited)
    }

    /// One attempt at it; gives who waits where others have the frame.
    fn try_lock(
        &mut self,
        wanted: Option<Locked>,
        waited: Option<Waited>,
    ) -> Result<Option<Waiter>> {
        let (schunk, patience) = (self.schunk, operation::patience(1));
        let Some(begun) = &mut self.begun else {
            return Ok(None);
        };
        let wanted = match wanted {
            Some(wanted) => wanted,
            // What is staged for a transaction changes nothing yet.
            None if schunk.guard()?.in_transaction() => Locked::Shared,
            None => Locked::Alone,
        };
        if begun.locked != Locked::No || wanted == Locked::No {
            return Ok(None);
        }
        let mut exclusive = None;
        let has_lock = schunk.guard()?.has_lock();
        if has_lock && wanted == Locked::Alone {
            schunk.guard()?.check_lock()?;
            // The lock of a writer is taken by a handle that reads no more.
            exclusive = Some(schunk.exclusively(patience)?);
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
                match state.lock_frame(waited)? {
                    Some(waiter) => return Ok(Some(waiter)),
                    None => wanted,
                }
            } else {
                match state.lock_shared(begun.is_first && waited.is_none())? {
                    Kept::Busy(waiter) => return Ok(Some(waiter)),
                    Kept::Locked => wanted,
                    Kept::Open => Locked::Around,
                }
            };
            state.note_lock(schunk.id);
            state.is_current(&*schunk.host)
        };
        if !current {
            let mut exclusive = match exclusive {
                Some(exclusive) => exclusive,
                None => schunk.exclusively(patience)?,
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

    /// Makes the change, once all readers have left. Nothing in `body` may call functions of the program's that work on
    /// blocks.
    ///
    /// # Errors
    /// Those of `body`.
    pub fn commit<T>(&mut self, body: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        self.lock()?;
        self.apart(body)
    }

    /// As [`Self::commit`], whatever other handles have made of the frame.
    ///
    /// # Errors
    /// Those of `body`.
    pub(crate) fn apart<T>(&mut self, body: impl FnOnce(&mut State) -> Result<T>) -> Result<T> {
        let schunk = self.schunk;
        if self
            .begun
            .as_ref()
            .is_some_and(|begun| begun.reserved.is_none())
        {
            return Err(Error::Lock);
        }
        let mut state = schunk.exclusively(operation::patience(1))?;
        let _access = ExclusiveAccess::of(schunk);
        body(&mut state)
    }

    /// Ends what was begun, and says whether the frame could be unlocked.
    ///
    /// # Errors
    /// Those of unlocking.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        // The reservation ends after that.
        let begun = self.begun.take();
        match begun.as_ref().map_or(Locked::No, |begun| begun.locked) {
            Locked::Alone => self.schunk.unlock_frame(),
            Locked::Shared => {
                self.schunk.unlock_shared();
                Ok(())
            }
            Locked::No | Locked::Around => Ok(()),
        }
    }
}

impl Drop for Changing<'_> {
    fn drop(&mut self) {
        // The lock goes with the file at the latest.
        let _ = self.end();
    }
}

/// The operation of this thread has the super-chunk exclusively.
struct ExclusiveAccess(usize);

impl ExclusiveAccess {
    fn of(schunk: &SuperChunk) -> Self {
        operation::set_access(schunk.id, Access::Exclusive);
        Self(schunk.id)
    }
}

impl Drop for ExclusiveAccess {
    fn drop(&mut self) {
        operation::set_access(self.0, Access::Reserved);
    }
}
