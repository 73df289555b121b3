//! The thread pools of this process: one per thread count, in a linked list that only grows.
//!
//! A pool is never freed. So every parallel run finds its pool by a short walk without a lock or a
//! reference count, and there is no lock that a `fork` could leave locked. The price is some
//! kilobytes per thread count that was ever used; the threads themselves end at `shutdown`.

use std::iter;
use std::sync::atomic::{AtomicBool, AtomicPtr, Ordering};

use super::fork;
use super::thread_pool::ThreadPool;
use oxiblosc_base::memory::boxed;
use oxiblosc_base::system::process::on_fork;

/// Whether `in_child` is registered with the C library. A child inherits the registration.
static REGISTERED: AtomicBool = AtomicBool::new(false);

/// The head of the list: the pool that was added last.
static HEAD: AtomicPtr<ThreadPool> = AtomicPtr::new(std::ptr::null_mut());

/// The pool for runs of `nthreads` workers, made at the first call. `None` if there is no memory
/// for it, or if the handler that makes child processes forget it could not be registered.
pub fn pool(nthreads: usize) -> Option<&'static ThreadPool> {
    let mut head = head();
    if let Some(pool) = find(head, nthreads) {
        return Some(pool);
    }
    if !register() {
        return None;
    }
    let mut new = boxed(ThreadPool::new(nthreads)).ok()?;
    loop {
        new.set_next(head);
        let expected = head.map_or(std::ptr::null_mut(), |pool| {
            std::ptr::from_ref(pool).cast_mut()
        });
        let raw = Box::into_raw(new);
        if HEAD
            .compare_exchange(expected, raw, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
        {
            // SAFETY: `raw` came from a box, which nothing frees from here on.
            return Some(unsafe { &*raw });
        }
        // SAFETY: the exchange failed, so the pointer was not published, and this function still
        // owns the box.
        new = unsafe { Box::from_raw(raw) };
        head = self::head();
        if let Some(pool) = find(head, nthreads) {
            return Some(pool);
        }
    }
}

/// All pools of this process.
pub fn pools() -> impl Iterator<Item = &'static ThreadPool> {
    iter::successors(head(), |pool| pool.next())
}

/// Registers the handler that makes a child forget the pools. Returns false if the C library
/// refuses (no memory); no thread may be started then. If two threads do this at once, both may
/// register, which does no harm.
pub fn register() -> bool {
    if REGISTERED.load(Ordering::Acquire) {
        return true;
    }
    let done = on_fork(in_child);
    if done {
        REGISTERED.store(true, Ordering::Release);
    }
    done
}

/// Runs in the child before `fork` returns there. It may only use atomics: nothing else is safe at
/// this point.
extern "C" fn in_child() {
    fork::count();
    HEAD.store(std::ptr::null_mut(), Ordering::Relaxed);
}

fn head() -> Option<&'static ThreadPool> {
    // SAFETY: the pointer is null, or that of a pool that `pool` published after it was initialised
    // (release, acquired here), and nothing frees pools.
    unsafe { HEAD.load(Ordering::Acquire).as_ref() }
}

fn find(head: Option<&'static ThreadPool>, nthreads: usize) -> Option<&'static ThreadPool> {
    iter::successors(head, |pool| pool.next()).find(|pool| pool.nthreads() == nthreads)
}
