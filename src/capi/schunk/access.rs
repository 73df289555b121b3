//! Who reads a super-chunk, and who changes it: threads through one handle, and other handles of its frame.

use super::handle::{Handle, Inner, Plan};
use oxiblosc_core::schunk::Store;
use oxiblosc_core::schunk::operation::{self, Access};
use oxiblosc_core::schunk::rules::Counts;
use oxiblosc_error::{Error, Result};

impl Handle {
    /// Runs something on the super-chunk as it is now: `exclusive`, a change, or reading. Of what `body` calls, nothing may call
    /// functions of the program's that work on blocks: see [`Self::read`] and [`Self::reserve`] for these.
    pub fn with<T>(
        &self,
        exclusive: bool,
        body: impl FnOnce(&mut Inner) -> Result<T>,
    ) -> Result<T> {
        if exclusive {
            let changing = self.reserve()?;
            let result = changing.commit(body);
            changing.finish()?;
            return result;
        }
        let _reading = self.read()?;
        body(&mut self.inner())
    }

    /// Runs something on the super-chunk as it is now, and keeps changes out until what is returned is dropped.
    pub fn reading<T>(
        &self,
        body: impl FnOnce(&mut Inner) -> Result<T>,
    ) -> Result<(T, Reading<'_>)> {
        let reading = self.read()?;
        let value = body(&mut self.inner())?;
        Ok((value, reading))
    }

    /// Keeps changes out, of this handle and, where the frame is locked, of others, until what is returned is dropped. What
    /// others changed before is known then.
    ///
    /// # Errors
    /// [`Error::Lock`] in a function of a back end that an operation on this super-chunk called; those of reading a frame.
    pub fn read(&self) -> Result<Reading<'_>> {
        if operation::access(self.id())?.is_some() {
            // An operation of this thread keeps changes out.
            return Ok(Reading(None));
        }
        let (shared, locked) = match self.read_current()? {
            Some(current) => current,
            None => self.read_anew()?,
        };
        let entered = operation::enter(self.id(), Access::Shared);
        let operation = entered.inspect_err(|_| {
            if locked {
                let _ = self.inner().unlock_shared();
            }
        })?;
        Ok(Reading(Some(SharedAccess {
            _operation: operation,
            locked: locked.then_some(self),
            _shared: shared,
        })))
    }

    /// Keeps changes by this handle out, without a look at what others did to the frame.
    pub fn share(&self) -> Result<Sharing<'_>> {
        if operation::access(self.id())?.is_some() {
            return Ok(Sharing(SharedState(None)));
        }
        self.state.lock_shared(!operation::is_idle());
        Ok(Sharing(SharedState(Some(self))))
    }

    /// Becomes a reader of what is known, if that is the super-chunk as it is now. Gives whether the frame is locked.
    fn read_current(&self) -> Result<Option<(SharedState<'_>, bool)>> {
        self.state.lock_shared(!operation::is_idle());
        let shared = SharedState(Some(self));
        let mut inner = self.inner();
        let Store::Disk(disk) = &mut inner.store else {
            return Ok(Some((shared, false)));
        };
        if disk.is_shared_for_long() {
            return Ok(None);
        }
        disk.lock_shared()?;
        if disk.is_current() {
            return Ok(Some((shared, disk.has_lock())));
        }
        disk.unlock_shared()?;
        Ok(None)
    }

    /// As [`Self::read_current`], for a frame on disk that is read again first.
    fn read_anew(&self) -> Result<(SharedState<'_>, bool)> {
        self.state.reserve();
        let reserved = Reserved(self);
        self.state.upgrade();
        let exclusive = Exclusive(self);
        let mut inner = self.inner();
        inner.lock_shared()?;
        if let Err(error) = self.refresh(&mut inner) {
            inner.unlock_shared()?;
            return Err(error);
        }
        let locked = matches!(&inner.store, Store::Disk(disk) if disk.has_lock());
        std::mem::forget(exclusive);
        self.state.downgrade_to_shared();
        drop(reserved);
        Ok((SharedState(Some(self)), locked))
    }

    /// Begins a change: keeps other changes out, of this handle and, as the file system's locks allow, of others. What others
    /// changed before is known then. Others may read until [`Changing::commit`].
    ///
    /// # Errors
    /// [`Error::Lock`] in a function of the program's that is called for this super-chunk, which may only read; those of locking
    /// and reading a frame.
    pub fn reserve(&self) -> Result<Changing<'_>> {
        match operation::access(self.id())? {
            Some(Access::Reserved) if !operation::in_callback_of(self.id()) => {
                return Ok(Changing {
                    handle: self,
                    begun: None,
                });
            }
            Some(_) => return Err(Error::Lock),
            None => {}
        }
        self.state.reserve();
        let reserved = Reserved(self);
        let operation = operation::enter(self.id(), Access::Reserved)?;
        let mut exclusive = None;
        let mut inner = self.inner();
        let has_lock = matches!(&inner.store, Store::Disk(disk) if disk.has_lock());
        if has_lock {
            // The lock of a writer is taken by a handle that reads no more.
            drop(inner);
            self.state.upgrade();
            exclusive = Some(Exclusive(self));
            inner = self.inner();
        }
        inner.lock()?;
        let changing = Changing {
            handle: self,
            begun: Some(Begun {
                _operation: operation,
                _reserved: reserved,
            }),
        };
        let mut refreshed = Ok(false);
        let current = match &mut inner.store {
            Store::Disk(disk) => disk.is_current(),
            Store::Separate(_) | Store::Memory(_) => true,
        };
        if !current {
            if exclusive.is_none() {
                drop(inner);
                self.state.upgrade();
                exclusive = Some(Exclusive(self));
                inner = self.inner();
            }
            refreshed = self.refresh(&mut inner);
        }
        drop(inner);
        drop(exclusive);
        refreshed?;
        Ok(changing)
    }

    /// Locks the frame for the program, until [`Self::unlock_for_program`].
    pub fn lock_for_program(&self) -> Result<()> {
        if operation::access(self.id())?.is_some() {
            // Within an operation on it, which has its own lock.
            return Err(Error::Lock);
        }
        self.state.reserve();
        let _reserved = Reserved(self);
        self.state.upgrade();
        let _exclusive = Exclusive(self);
        let mut inner = self.inner();
        inner.lock()?;
        inner.locked += 1;
        Ok(())
    }

    /// Ends what [`Self::lock_for_program`] began; without one it does nothing.
    pub fn unlock_for_program(&self) -> Result<()> {
        let mut inner = self.inner();
        if inner.locked == 0 {
            return Ok(());
        }
        inner.locked -= 1;
        inner.unlock()
    }

    /// Reads the frame again if another handle changed it. Gives whether one did.
    pub fn update(&self) -> Result<bool> {
        // SAFETY: one field, which is written by whoever has the state exclusively.
        let tick = || unsafe { self.fields().change_tick };
        let before = {
            let _shared = self.share()?;
            tick()
        };
        let _reading = self.read()?;
        Ok(tick() != before)
    }

    /// Runs something on the bytes of a frame in memory, all of them. None if the super-chunk is no such frame.
    pub fn with_frame<T>(&self, body: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<Option<T>> {
        {
            let _reading = self.read()?;
            match &mut self.inner().store {
                Store::Memory(memory) if memory.is_whole() => {
                    return body(memory.whole()?).map(Some);
                }
                Store::Memory(_) => {}
                Store::Separate(_) | Store::Disk(_) => return Ok(None),
            }
        }
        // The index and the trailer are put behind the chunks, which may move all of them.
        self.with(true, |inner| match &mut inner.store {
            Store::Memory(memory) => body(memory.whole()?).map(Some),
            Store::Separate(_) | Store::Disk(_) => Ok(None),
        })
    }

    /// Makes a change: `plan` says which, from the counters as they are.
    pub fn change<'a>(
        &self,
        plan: impl FnOnce(&mut Inner, &Counts) -> Result<Plan<'a>>,
    ) -> Result<i64> {
        self.with(true, |inner| {
            let counts = self.counts();
            let plan = plan(inner, &counts)?;
            inner.apply(self, &counts, plan)
        })
    }
}

/// See [`Handle::share`].
pub struct Sharing<'a>(#[allow(dead_code, reason = "dropped at the end")] SharedState<'a>);

/// A reader of the state.
struct SharedState<'a>(Option<&'a Handle>);

impl Drop for SharedState<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.0 {
            handle.state.unlock_shared();
        }
    }
}

/// The state is reserved.
struct Reserved<'a>(&'a Handle);

impl Drop for Reserved<'_> {
    fn drop(&mut self) {
        self.0.state.release();
    }
}

/// The state is this thread's alone.
struct Exclusive<'a>(&'a Handle);

impl Drop for Exclusive<'_> {
    fn drop(&mut self) {
        self.0.state.downgrade();
    }
}

/// See [`Handle::read`]: nothing, where an operation around this one keeps changes out.
pub struct Reading<'a>(#[allow(dead_code, reason = "dropped at the end")] Option<SharedAccess<'a>>);

struct SharedAccess<'a> {
    /// The handle, if its frame is locked.
    locked: Option<&'a Handle>,
    _operation: operation::Entered,
    _shared: SharedState<'a>,
}

impl Drop for SharedAccess<'_> {
    fn drop(&mut self) {
        if let Some(handle) = self.locked {
            // The lock goes with the file at the latest.
            let _ = handle.inner().unlock_shared();
        }
    }
}

/// See [`Handle::reserve`]. What was begun ends when this is dropped.
pub struct Changing<'a> {
    handle: &'a Handle,
    /// None within a change that began before.
    begun: Option<Begun<'a>>,
}

struct Begun<'a> {
    _operation: operation::Entered,
    _reserved: Reserved<'a>,
}

impl Changing<'_> {
    /// Makes the change, once those who read have left. Nothing in `body` may call functions of the program's that work on
    /// blocks.
    pub fn commit<T>(&self, body: impl FnOnce(&mut Inner) -> Result<T>) -> Result<T> {
        let handle = self.handle;
        handle.state.upgrade();
        let _exclusive = Exclusive(handle);
        let _access = ExclusiveAccess::of(handle);
        body(&mut handle.inner())
    }

    /// Ends what was begun, and says whether the frame could be unlocked.
    pub fn finish(mut self) -> Result<()> {
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        match self.begun.take() {
            Some(_begun) => self.handle.inner().unlock(),
            None => Ok(()),
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
    fn of(handle: &Handle) -> Self {
        operation::set_access(handle.id(), Access::Exclusive);
        Self(handle.id())
    }
}

impl Drop for ExclusiveAccess {
    fn drop(&mut self) {
        operation::set_access(self.0, Access::Reserved);
    }
}
