//! The lock on the state of a super-chunk: every interleaving of small scenes, found by the model checker.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --release -p oxiblosc-memory --test state_lock_model`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use state_lock::StateLock;

// The file itself, so that it is built with loom's types: loom stops at the first pair of accesses to the value without an order.
#[allow(dead_code, reason = "the scenes do not need all of it")]
#[path = "../src/state_lock.rs"]
mod state_lock;

fn change(lock: &StateLock<usize>) {
    let reserved = lock.reserve();
    let before = *lock.nested().expect("nobody has it exclusively");
    *lock.upgrade() = before + 1;
    drop(reserved);
}

fn read(lock: &StateLock<usize>, within: bool) -> usize {
    *lock.shared(within)
}

fn explore(scene: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(3);
    model.check(scene);
}

#[test]
fn changes_wait_for_each_other_and_for_readers() {
    explore(|| {
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let other = Arc::clone(&lock);
        let reader = thread::spawn(move || read(&other, false));
        change(&lock);
        writer.join().unwrap();
        assert!(reader.join().unwrap() <= 2);
        assert_eq!(read(&lock, false), 2);
    });
}

#[test]
fn a_reader_within_a_reader_ends() {
    explore(|| {
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let outer = lock.shared(false);
        let first = read(&lock, true);
        let second = *lock.nested().expect("a reader keeps changes out");
        assert_eq!((*outer, first), (first, second));
        drop(outer);
        writer.join().unwrap();
    });
}

#[test]
fn a_nested_reader_that_stays_keeps_a_change_waiting() {
    explore(|| {
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let outer = lock.shared(false);
        let nested = lock.nested().expect("a reader keeps changes out");
        let before = *outer;
        drop(outer);
        assert_eq!(*nested, before);
        drop(nested);
        writer.join().unwrap();
        assert_eq!(read(&lock, false), 1);
    });
}

#[test]
fn who_reads_again_what_changed_goes_on_as_a_reader() {
    explore(|| {
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let reserved = lock.reserve();
        let mut exclusive = lock.upgrade();
        *exclusive += 1;
        let shared = exclusive.into_shared();
        drop(reserved);
        let seen = *shared;
        drop(shared);
        writer.join().unwrap();
        assert!(seen == 1 || seen == 2);
    });
}
