//! The lock on the state of a super-chunk: every interleaving of small scenes, found by the model checker.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p oxiblosc-core --test state_lock_model`
#![cfg(loom)]

use loom::cell::UnsafeCell;
use loom::sync::Arc;
use loom::thread;
use state_lock::StateLock;

// The file itself, so that it is built with loom's types.
#[path = "../src/schunk/state_lock.rs"]
mod state_lock;

/// A lock, and what it guards: loom stops at the first pair of accesses without an order.
#[derive(Default)]
struct Guarded {
    lock: StateLock,
    value: UnsafeCell<usize>,
}

// SAFETY: this is what the scenes are to find out.
unsafe impl Sync for Guarded {}
// SAFETY: as above.
unsafe impl Send for Guarded {}

impl Guarded {
    fn change(&self) {
        self.lock.reserve();
        // SAFETY: loom checks that no other thread writes meanwhile.
        let before = self.value.with(|value| unsafe { *value });
        self.lock.upgrade();
        // SAFETY: loom checks that no other thread uses it meanwhile.
        self.value.with_mut(|value| unsafe { *value = before + 1 });
        self.lock.downgrade();
        self.lock.release();
    }

    fn read(&self, nested: bool) -> usize {
        self.lock.lock_shared(nested);
        // SAFETY: loom checks that no other thread writes meanwhile.
        let value = self.value.with(|value| unsafe { *value });
        self.lock.unlock_shared();
        value
    }
}

fn explore(scene: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(scene);
}

#[test]
fn changes_wait_for_each_other_and_for_readers() {
    explore(|| {
        let guarded = Arc::new(Guarded::default());
        let other = Arc::clone(&guarded);
        let writer = thread::spawn(move || other.change());
        let other = Arc::clone(&guarded);
        let reader = thread::spawn(move || other.read(false));
        guarded.change();
        writer.join().unwrap();
        assert!(reader.join().unwrap() <= 2);
        assert_eq!(guarded.read(false), 2);
    });
}

#[test]
fn a_reader_within_a_reader_ends() {
    explore(|| {
        let guarded = Arc::new(Guarded::default());
        let other = Arc::clone(&guarded);
        let writer = thread::spawn(move || other.change());
        guarded.lock.lock_shared(false);
        let first = guarded.read(true);
        let second = guarded.read(true);
        guarded.lock.unlock_shared();
        assert_eq!(first, second);
        writer.join().unwrap();
    });
}

#[test]
fn who_reads_again_what_changed_goes_on_as_a_reader() {
    explore(|| {
        let guarded = Arc::new(Guarded::default());
        let other = Arc::clone(&guarded);
        let writer = thread::spawn(move || other.change());
        guarded.lock.reserve();
        guarded.lock.upgrade();
        // SAFETY: as in `change`.
        guarded.value.with_mut(|value| unsafe { *value += 1 });
        guarded.lock.downgrade_to_shared();
        guarded.lock.release();
        // SAFETY: as in `read`.
        let seen = guarded.value.with(|value| unsafe { *value });
        guarded.lock.unlock_shared();
        writer.join().unwrap();
        assert!(seen == 1 || seen == 2);
    });
}
