//! Records the operations that this thread is in, with the super-chunks that they have locked, and
//! whether the thread is in a callback, a function of the program that an operation has called.
//!
//! A callback (a pre- or postfilter, a codec, a filter) may read the super-chunk for which it is
//! called. Such a read must not wait for threads that wait for the operation. Changes by a callback
//! are refused. Worker threads inherit the operations of the thread for which they work.

use oxiblosc_base::memory::per_thread::PerThread;
use oxiblosc_base::{Error, Result};
use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::MutexGuard;
use std::time::Duration;

/// How long a thread waits for a lock while an operation of its own has locked something else.
pub const TIMEOUT: Duration = Duration::from_secs(5);
/// How deep operations can be nested.
const MAX_NESTING: usize = 8;

/// How an operation has locked a super-chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockLevel {
    /// It reads.
    Shared,
    /// It prepares a change, while others read.
    Reserved,
    /// It makes a change.
    Exclusive,
}

/// The kind of callback that this thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Callback {
    /// None.
    No,
    /// A callback that works on blocks.
    Blocks,
    /// A callback of a back end, which may be called while the library's own state is locked.
    Backend,
}

/// An operation of this thread.
#[derive(Clone, Copy)]
struct Operation {
    /// The super-chunk that it has locked.
    id: usize,
    level: LockLevel,
    /// The chunk that it works on, if that was recorded.
    nchunk: Option<usize>,
    /// Device and inode of the lock file that it has locked.
    lock_file: Option<FileId>,
    /// The kind of callback in which it began.
    within: Callback,
}

/// Device and inode.
type FileId = (u64, u64);

/// The operations of one thread, the outermost first.
struct Operations {
    all: [Cell<Operation>; MAX_NESTING],
    len: Cell<usize>,
    /// The kind of callback that the innermost of them has called.
    callback: Cell<Callback>,
}

impl Default for Operations {
    fn default() -> Self {
        let none = Operation {
            id: 0,
            level: LockLevel::Shared,
            nchunk: None,
            lock_file: None,
            within: Callback::No,
        };
        Self {
            all: [none; MAX_NESTING].map(Cell::new),
            len: Cell::new(0),
            callback: Cell::new(Callback::No),
        }
    }
}

static CURRENT: PerThread<Operations> = PerThread::empty();

impl Operations {
    #[inline]
    fn nested(&self) -> &[Cell<Operation>] {
        &self.all[..self.len.get()]
    }

    /// The innermost operation on the super-chunk `id`.
    #[inline]
    fn position(&self, id: usize) -> Option<usize> {
        self.nested()
            .iter()
            .rposition(|operation| operation.get().id == id)
    }

    /// The kind of callback that the operation at `at`, or one within it, has called.
    #[inline]
    fn callback_of(&self, at: usize) -> Callback {
        let within = self.nested()[at + 1..]
            .iter()
            .map(|operation| operation.get().within);
        within.fold(self.callback.get(), Callback::max)
    }

    #[inline]
    fn get(&self, id: usize) -> Option<Operation> {
        self.position(id).map(|at| self.all[at].get())
    }

    #[inline]
    fn change(&self, id: usize, change: impl FnOnce(&mut Operation)) {
        if let Some(at) = self.position(id) {
            let mut operation = self.all[at].get();
            change(&mut operation);
            self.all[at].set(operation);
        }
    }

    fn copy(&self) -> Inherited {
        Inherited {
            all: std::array::from_fn(|at| self.all[at].get()),
            len: self.len.get(),
            callback: self.callback.get(),
        }
    }

    fn take_over(&self, other: &Inherited) {
        for (mine, operation) in self.all.iter().zip(other.all) {
            mine.set(operation);
        }
        self.len.set(other.len);
        self.callback.set(other.callback);
    }
}

/// How an operation of this thread has locked the super-chunk `id`, if one has.
///
/// # Errors
/// [`Error::LOCK`] if the super-chunk cannot even be read: in a callback of its back end.
#[inline]
pub fn lock_level(id: usize) -> Result<Option<LockLevel>> {
    Ok(match nesting(id)? {
        Nesting::Within(level) => Some(level),
        Nesting::Idle | Nesting::Elsewhere => None,
    })
}

/// The operations that this thread is in, as seen by a super-chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    /// No operation.
    Idle,
    /// Operations on other super-chunks.
    Elsewhere,
    /// An operation that has locked the super-chunk at this level.
    Within(LockLevel),
}

/// The operations that this thread is in, as seen by the super-chunk `id`.
///
/// # Errors
/// As for [`lock_level`].
#[inline]
pub fn nesting(id: usize) -> Result<Nesting> {
    let nesting = CURRENT.with(|operations| {
        if operations.len.get() == 0 {
            return Ok(Nesting::Idle);
        }
        let Some(at) = operations.position(id) else {
            return Ok(Nesting::Elsewhere);
        };
        match (operations.all[at].get().level, operations.callback_of(at)) {
            (_, Callback::Backend) | (LockLevel::Exclusive, Callback::Blocks) => Err(Error::LOCK),
            (level, _) => Ok(Nesting::Within(level)),
        }
    });
    nesting.unwrap_or(Ok(Nesting::Idle))
}

/// How long this thread may wait for a lock: without a limit (none), unless an operation of this
/// thread has locked something else. The `own` innermost operations are the ones that need the
/// lock, so they do not count.
#[inline]
pub fn timeout(own: usize) -> Option<Duration> {
    let others = CURRENT
        .with(|operations| operations.len.get() > own || operations.callback.get() != Callback::No);
    others.unwrap_or(false).then_some(TIMEOUT)
}

/// Records which lock file the operation on the super-chunk `id` has locked.
#[inline]
pub fn set_lock_file(id: usize, lock_file: Option<FileId>) {
    CURRENT.with(|operations| operations.change(id, |operation| operation.lock_file = lock_file));
}

/// Whether an operation of this thread has locked this lock file.
pub fn has_locked(lock_file: FileId) -> bool {
    let locked = |operation: &Cell<Operation>| operation.get().lock_file == Some(lock_file);
    let locked = CURRENT.with(|operations| operations.nested().iter().any(locked));
    locked.unwrap_or(false)
}

/// Whether this thread is in no operation.
#[cfg(test)]
fn is_idle() -> bool {
    CURRENT
        .with(|operations| operations.len.get() == 0)
        .unwrap_or(true)
}

/// Whether this thread is in a callback that an operation on the super-chunk `id` called.
pub fn in_callback_of(id: usize) -> bool {
    let callback = CURRENT.with(|operations| {
        let at = operations.position(id);
        at.map(|at| operations.callback_of(at))
    });
    callback
        .flatten()
        .is_some_and(|callback| callback != Callback::No)
}

/// An operation that has locked a super-chunk. It ends when this is dropped, on the thread that
/// began it, so this is not `Send`.
pub struct OperationGuard(usize, PhantomData<MutexGuard<'static, ()>>);

/// Records that an operation of this thread has locked the super-chunk `id`.
///
/// # Errors
/// [`Error::LOCK`] if operations are nested too deeply, [`Error::MEMORY_ALLOC`].
#[inline]
pub fn enter(id: usize, level: LockLevel) -> Result<OperationGuard> {
    enter_for(id, level, None)
}

/// As [`enter`], for the chunk `nchunk`, if it is known; see [`set_chunk`].
///
/// # Errors
/// As for that.
#[inline]
pub fn enter_for(id: usize, level: LockLevel, nchunk: Option<usize>) -> Result<OperationGuard> {
    CURRENT.with_new(|operations| {
        let len = operations.len.get();
        let slot = operations.all.get(len).ok_or(Error::LOCK)?;
        slot.set(Operation {
            id,
            level,
            nchunk,
            lock_file: None,
            within: operations.callback.replace(Callback::No),
        });
        operations.len.set(len + 1);
        Ok(OperationGuard(id, PhantomData))
    })?
}

/// Records how the operation of this thread has locked the super-chunk `id` now.
#[inline]
pub fn set_lock_level(id: usize, level: LockLevel) {
    CURRENT.with(|operations| operations.change(id, |operation| operation.level = level));
}

impl Drop for OperationGuard {
    #[inline]
    fn drop(&mut self) {
        CURRENT.with(|operations| {
            if let [.., last] = operations.nested()
                && last.get().id == self.0
            {
                // It is nearly always the innermost operation.
                operations.callback.set(last.get().within);
                operations.len.set(operations.len.get() - 1);
            } else if let Some(at) = operations.position(self.0) {
                let nested = operations.nested();
                let within = nested[at].get().within;
                match nested.get(at + 1) {
                    Some(next) => {
                        let mut inner = next.get();
                        inner.within = inner.within.max(within);
                        next.set(inner);
                    }
                    None => operations.callback.set(within),
                }
                for (to, from) in nested[at..].iter().zip(&nested[at + 1..]) {
                    to.set(from.get());
                }
                operations.len.set(nested.len() - 1);
            }
        });
    }
}

/// Where operations on a super-chunk are recorded. When it is dropped, with the super-chunk, those
/// are forgotten that this thread has left by a `longjmp` out of a callback: another super-chunk
/// may get the id.
#[derive(Debug)]
pub struct Records(usize);

impl Records {
    /// Those of the super-chunk `id`.
    pub fn of(id: usize) -> Self {
        Self(id)
    }
}

impl Drop for Records {
    fn drop(&mut self) {
        let is_recorded = |operations: &Operations| operations.position(self.0).is_some();
        while CURRENT.with(is_recorded) == Some(true) {
            drop(OperationGuard(self.0, PhantomData));
        }
    }
}

/// Records which chunk of the super-chunk `id` the operation of this thread works on, if there is
/// one.
#[inline]
pub fn set_chunk(id: usize, nchunk: usize) {
    CURRENT.with(|operations| operations.change(id, |operation| operation.nchunk = Some(nchunk)));
}

/// Which chunk of the super-chunk `id` the operation of this thread works on, if it was recorded.
pub fn chunk(id: usize) -> Option<usize> {
    CURRENT.with(|operations| operations.get(id))??.nchunk
}

/// The operations of this thread, to be inherited by its workers; none if there are none.
pub fn shared() -> Option<Inherited> {
    CURRENT.with(|operations| (operations.len.get() > 0).then(|| operations.copy()))?
}

/// The operations of a thread, for its workers.
#[derive(Clone, Copy)]
pub struct Inherited {
    all: [Operation; MAX_NESTING],
    len: usize,
    callback: Callback,
}

/// Restores the thread's own operations when it is dropped.
pub struct Restore(Inherited);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with(|current| current.take_over(&self.0));
    }
}

/// Makes this thread inherit the operations of the one for which it works, until the result is
/// dropped.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn help(inherited: &Inherited) -> Result<Restore> {
    CURRENT.with_new(|current| {
        let before = current.copy();
        current.take_over(inherited);
        Restore(before)
    })
}

/// Frees the memory that this module keeps for this thread.
pub fn forget_thread() {
    CURRENT.discard_if(|operations| operations.len.get() == 0);
}

/// A callback that is running, until this is dropped. It holds the one that the thread was in
/// before.
pub struct CallbackGuard(Callback);

impl Drop for CallbackGuard {
    fn drop(&mut self) {
        CURRENT.with(|operations| operations.callback.set(self.0));
    }
}

/// Records that a callback runs. Without an operation nothing is recorded, as the thread has locked
/// nothing and its callbacks may do anything.
fn call(callback: Callback) -> CallbackGuard {
    let before = CURRENT.with(|operations| {
        let before = operations.callback.get();
        if operations.len.get() > 0 {
            operations.callback.set(before.max(callback));
        }
        before
    });
    CallbackGuard(before.unwrap_or(Callback::No))
}

/// Records that a callback that works on blocks runs, until the result is dropped.
pub fn call_on_blocks() -> CallbackGuard {
    call(Callback::Blocks)
}

/// Records that a callback of a back end runs, until the result is dropped.
pub fn call_backend() -> CallbackGuard {
    call(Callback::Backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_nest() {
        assert!(is_idle());
        let first = enter(1, LockLevel::Shared).unwrap();
        let second = enter(2, LockLevel::Reserved).unwrap();
        set_chunk(1, 7);
        assert_eq!((chunk(1), chunk(2), chunk(3)), (Some(7), None, None));
        set_lock_level(2, LockLevel::Exclusive);
        assert_eq!(lock_level(2), Ok(Some(LockLevel::Exclusive)));
        {
            let _call = call_on_blocks();
            assert_eq!(lock_level(1), Ok(Some(LockLevel::Shared)));
            assert_eq!(lock_level(2), Err(Error::LOCK));
            {
                // What another super-chunk's operation does there is no callback of its own.
                let _third = enter(3, LockLevel::Reserved).unwrap();
                assert!(in_callback_of(1) && in_callback_of(2) && !in_callback_of(3));
            }
            let _backend = call_backend();
            assert_eq!(lock_level(1), Err(Error::LOCK));
            assert_eq!(lock_level(3), Ok(None));
        }
        assert!(!in_callback_of(1));
        // In any order.
        drop(first);
        assert_eq!(
            (lock_level(1), lock_level(2)),
            (Ok(None), Ok(Some(LockLevel::Exclusive)))
        );
        drop(second);
        assert!(is_idle());
    }

    #[test]
    fn helpers_take_operations_over() {
        let _entered = enter(5, LockLevel::Shared).unwrap();
        set_chunk(5, 3);
        let operations = shared().unwrap();
        std::thread::spawn(move || {
            assert!(is_idle());
            {
                let _help = help(&operations).unwrap();
                assert_eq!(chunk(5), Some(3));
            }
            assert!(is_idle());
        })
        .join()
        .unwrap();
    }

    #[test]
    fn there_is_an_end() {
        let all: Vec<_> = (1..=MAX_NESTING)
            .map(|id| enter(id, LockLevel::Shared))
            .collect();
        assert!(all.iter().all(|entered| entered.is_ok()));
        assert_eq!(enter(99, LockLevel::Shared).err(), Some(Error::LOCK));
        drop(all);
        assert!(is_idle());
    }
}
