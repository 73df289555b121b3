//! The teams of this process: one per thread count, in a list that only grows.
//!
//! A team is never freed. That makes finding one a short walk without a lock or a reference count, on the way into
//! every parallel run, and leaves no lock that a `fork` could freeze. The price is some kilobytes per thread count
//! that was ever used; the threads themselves end at `shutdown`.

use std::iter;
use std::sync::atomic::{AtomicPtr, Ordering};

use super::fork;
use super::team::Team;
use oxiblosc_memory::boxed;

/// The team that was added last; each team leads to the one before it.
static NEWEST: AtomicPtr<Team> = AtomicPtr::new(std::ptr::null_mut());

/// The team for runs of `nthreads` workers, made at the first call. `None` when no team may be made because children
/// could not be told to forget it.
pub fn team(nthreads: usize) -> Option<&'static Team> {
    let mut newest = newest();
    if let Some(team) = find(newest, nthreads) {
        return Some(team);
    }
    if !fork::watch() {
        return None;
    }
    let mut fresh = boxed(Team::new(nthreads)).ok()?;
    loop {
        fresh.set_older(newest);
        let expected = newest.map_or(std::ptr::null_mut(), |team| {
            std::ptr::from_ref(team).cast_mut()
        });
        let raw = Box::into_raw(fresh);
        if NEWEST
            .compare_exchange(expected, raw, Ordering::AcqRel, Ordering::Acquire)
            .is_ok()
        {
            // SAFETY: `raw` came from a box that nothing frees from here on.
            return Some(unsafe { &*raw });
        }
        // SAFETY: the exchange failed, so the pointer was not published and is still ours alone.
        fresh = unsafe { Box::from_raw(raw) };
        newest = self::newest();
        if let Some(team) = find(newest, nthreads) {
            return Some(team);
        }
    }
}

/// Every team of this process.
pub fn teams() -> impl Iterator<Item = &'static Team> {
    iter::successors(newest(), |team| team.older())
}

/// Starts the list anew, in a child process.
pub fn forget() {
    NEWEST.store(std::ptr::null_mut(), Ordering::Relaxed);
}

fn newest() -> Option<&'static Team> {
    // SAFETY: what is stored here is null or points to a team, published complete (release, acquire) and never freed.
    unsafe { NEWEST.load(Ordering::Acquire).as_ref() }
}

fn find(newest: Option<&'static Team>, nthreads: usize) -> Option<&'static Team> {
    iter::successors(newest, |team| team.older()).find(|team| team.nthreads() == nthreads)
}
