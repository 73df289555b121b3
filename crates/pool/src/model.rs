//! Tests of the job slots under the model checker, which runs every interleaving (up to the given
//! number of preemptions) of small scenarios.
//!
//! The jobs write through loom's cells, which report unsynchronised accesses. So the scenarios show
//! that blocks and scratch are never shared, that the caller sees what the workers wrote, and that
//! no worker touches the job after the caller has gone on.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::job_slots::JobSlots;

/// Interleavings with more preemptions are not explored; few are enough to show most bugs.
const PREEMPTIONS: usize = 3;

fn explore(preemptions: usize, scenario: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(scenario);
}

/// A cell whose accesses loom checks.
struct CheckedCell(UnsafeCell<usize>);

// SAFETY: whether accesses are synchronised is what the scenarios test; loom stops at the first
// pair that is not.
unsafe impl Sync for CheckedCell {}

impl CheckedCell {
    fn new() -> Self {
        Self(UnsafeCell::new(0))
    }

    fn add(&self, n: usize) {
        // SAFETY: loom checks that no other access happens at the same time.
        self.0.with_mut(|value| unsafe { *value += n });
    }

    fn get(&self) -> usize {
        // SAFETY: as in `add`.
        self.0.with(|value| unsafe { *value })
    }
}

/// Starts a worker. The starting thread reads the epoch, before any stop that is to reach the
/// worker.
fn start_worker(slots: &Arc<JobSlots>) -> thread::JoinHandle<()> {
    let (slots, epoch) = (Arc::clone(slots), slots.epoch());
    thread::spawn(move || slots.work(epoch))
}

/// Starts workers, runs a scenario, and stops them. If a worker misses the stop, loom reports a
/// deadlock.
fn with_workers(workers: usize, scenario: impl FnOnce(&Arc<JobSlots>)) {
    let slots = Arc::new(JobSlots::new(2));
    let workers: Vec<_> = (0..workers).map(|_| start_worker(&slots)).collect();
    scenario(&slots);
    slots.stop();
    for worker in workers {
        worker.join().unwrap();
    }
}

/// A job of `blocks` blocks: each is done exactly once, by workers that each have a scratch of
/// their own.
fn blocks_done_once(slots: &JobSlots, helpers: usize, blocks: usize) {
    let next = AtomicUsize::new(0);
    let done: Vec<_> = (0..blocks).map(|_| CheckedCell::new()).collect();
    let scratch: Vec<_> = (0..=helpers).map(|_| CheckedCell::new()).collect();
    // A worker that joins must see what the caller did before it posted the job.
    done.iter().chain(&scratch).for_each(|cell| cell.add(0));
    let complete = slots.run(helpers, &|worker| {
        scratch[worker].add(1);
        loop {
            let block = next.fetch_add(1, Ordering::Relaxed);
            let Some(cell) = done.get(block) else { break };
            cell.add(1);
        }
    });
    assert!(complete);
    assert!(done.iter().all(|cell| cell.get() == 1));
    assert_eq!(scratch[0].get(), 1);
    assert!(
        scratch.iter().all(|cell| cell.get() <= 1),
        "an index was given twice"
    );
    // The caller may now reuse its memory.
    done.iter().chain(&scratch).for_each(|cell| cell.add(1));
}

#[test]
fn one_caller_one_worker() {
    explore(PREEMPTIONS, || {
        with_workers(1, |slots| blocks_done_once(slots, 1, 2))
    });
}

#[test]
fn one_caller_two_workers() {
    explore(2, || with_workers(2, |slots| blocks_done_once(slots, 2, 2)));
}

#[test]
fn runs_follow_each_other_in_one_slot() {
    explore(2, || {
        with_workers(1, |slots| {
            blocks_done_once(slots, 1, 1);
            blocks_done_once(slots, 2, 1);
        });
    });
}

#[test]
fn two_callers_share_a_worker() {
    explore(1, || {
        with_workers(1, |slots| {
            let other = {
                let slots = Arc::clone(slots);
                thread::spawn(move || blocks_done_once(&slots, 1, 1))
            };
            blocks_done_once(slots, 1, 1);
            other.join().unwrap();
        });
    });
}

#[test]
fn runs_within_runs_until_no_slot_is_left() {
    explore(1, || {
        with_workers(1, |slots| {
            let complete = slots.run(1, &|_| {
                let complete = slots.run(1, &|_| {
                    assert!(slots.run(1, &|worker| assert!(worker <= 1)));
                });
                assert!(complete);
            });
            assert!(complete);
        });
    });
}

#[test]
fn stop_during_a_run() {
    explore(PREEMPTIONS, || {
        let slots = Arc::new(JobSlots::new(2));
        let worker = start_worker(&slots);
        let caller = {
            let slots = Arc::clone(&slots);
            thread::spawn(move || blocks_done_once(&slots, 1, 1))
        };
        slots.stop();
        worker.join().unwrap();
        caller.join().unwrap();
    });
}
