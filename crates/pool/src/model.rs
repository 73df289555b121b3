//! The board under the model checker: every interleaving (up to the given number of preemptions) of small scenes.
//!
//! The jobs write through loom's cells, which report two threads that touch one without an order between them. So the
//! scenes show at once that blocks and scratch are never shared, that the caller sees what the helpers wrote, and that
//! no helper touches the job once the caller went on.

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::sync::atomic::{AtomicUsize, Ordering};
use loom::thread;

use super::board::Board;

/// Interleavings with more preemptions than this are left out; the interesting ones have few.
const PREEMPTIONS: usize = 3;

fn explore(preemptions: usize, scene: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(preemptions);
    model.check(scene);
}

/// A cell whose accesses loom checks.
struct Checked(UnsafeCell<usize>);

// SAFETY: this is what the scenes are to find out; loom stops at the first pair of accesses without an order.
unsafe impl Sync for Checked {}

impl Checked {
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

/// Hires a helper. The term is read by who hires, before any dismissal that is to reach the helper.
fn hire(board: &Arc<Board>) -> thread::JoinHandle<()> {
    let (board, term) = (Arc::clone(board), board.term());
    thread::spawn(move || board.serve(term))
}

/// Hires `helpers` helpers, plays `scene`, and dismisses them: an end that a helper misses shows as a deadlock.
fn with_helpers(helpers: usize, scene: impl FnOnce(&Arc<Board>)) {
    let board = Arc::new(Board::new(2));
    let helpers: Vec<_> = (0..helpers).map(|_| hire(&board)).collect();
    scene(&board);
    board.dismiss();
    for helper in helpers {
        helper.join().unwrap();
    }
}

/// A job of `blocks` blocks: each is done exactly once, by workers that each have a scratch of their own.
fn blocks_done_once(board: &Board, seats: usize, blocks: usize) {
    let next = AtomicUsize::new(0);
    let done: Vec<_> = (0..blocks).map(|_| Checked::new()).collect();
    let scratch: Vec<_> = (0..=seats).map(|_| Checked::new()).collect();
    // Who joins must see what the caller did before it posted the job.
    done.iter().chain(&scratch).for_each(|cell| cell.add(0));
    let complete = board.run(seats, &|worker| {
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
    // The caller may now do what it likes with its memory.
    done.iter().chain(&scratch).for_each(|cell| cell.add(1));
}

#[test]
fn one_caller_one_helper() {
    explore(PREEMPTIONS, || {
        with_helpers(1, |board| blocks_done_once(board, 1, 2))
    });
}

#[test]
fn one_caller_two_helpers() {
    explore(2, || with_helpers(2, |board| blocks_done_once(board, 2, 2)));
}

#[test]
fn runs_follow_each_other_in_one_slot() {
    explore(2, || {
        with_helpers(1, |board| {
            blocks_done_once(board, 1, 1);
            blocks_done_once(board, 2, 1);
        });
    });
}

#[test]
fn two_callers_share_a_helper() {
    explore(1, || {
        with_helpers(1, |board| {
            let other = {
                let board = Arc::clone(board);
                thread::spawn(move || blocks_done_once(&board, 1, 1))
            };
            blocks_done_once(board, 1, 1);
            other.join().unwrap();
        });
    });
}

#[test]
fn runs_within_runs_until_no_slot_is_left() {
    explore(1, || {
        with_helpers(1, |board| {
            let complete = board.run(1, &|_| {
                let complete = board.run(1, &|_| {
                    assert!(board.run(1, &|worker| assert!(worker <= 1)));
                });
                assert!(complete);
            });
            assert!(complete);
        });
    });
}

#[test]
fn dismissed_during_a_run() {
    explore(PREEMPTIONS, || {
        let board = Arc::new(Board::new(2));
        let helper = hire(&board);
        let caller = {
            let board = Arc::clone(&board);
            thread::spawn(move || blocks_done_once(&board, 1, 1))
        };
        board.dismiss();
        helper.join().unwrap();
        caller.join().unwrap();
    });
}
