//! The lock on the state of a super-chunk: every interleaving of small scenes, found by the model
//! checker.
//!
//! `RUSTFLAGS="--cfg loom" cargo test --profile checked -p oxiblosc-base --test state_lock_model`
#![cfg(loom)]

use loom::sync::Arc;
use loom::thread;
use state_lock::StateLock;
use std::time::Duration;

// The file itself, so that it is built with loom's types: loom stops at the first pair of accesses
// to the value without an order.
#[allow(dead_code, reason = "the scenes do not need all of it")]
#[path = "../src/memory/state_lock.rs"]
mod state_lock;

/// Says whether the change was made: not where only nested readers were left.
fn change(lock: &StateLock<usize>) -> bool {
    let reserved = lock.reserve(None);
    let before = *lock.nested().expect("no exclusive lock");
    let exclusive = lock.upgrade(None);
    let is_made = exclusive.is_some();
    if let Some(mut exclusive) = exclusive {
        *exclusive = before + 1;
    }
    drop(reserved);
    is_made
}

fn read(lock: &StateLock<usize>, within: bool) -> usize {
    match within {
        true => *lock
            .shared_within(Duration::from_secs(3600))
            .expect("it waits"),
        false => *lock.shared(),
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
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let other = Arc::clone(&lock);
        let reader = thread::spawn(move || read(&other, false));
        assert!(change(&lock) && writer.join().unwrap());
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
        let outer = lock.shared();
        let first = read(&lock, true);
        let second = *lock.nested().expect("a reader keeps changes out");
        assert_eq!((*outer, first), (first, second));
        drop(outer);
        assert!(writer.join().unwrap());
    });
}

#[test]
fn a_nested_reader_that_stays_keeps_a_change_out() {
    explore(|| {
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let outer = lock.shared();
        let nested = lock.nested().expect("a reader keeps changes out");
        let before = *outer;
        drop(outer);
        assert_eq!(*nested, before);
        drop(nested);
        let is_made = writer.join().unwrap();
        assert_eq!(read(&lock, false), usize::from(is_made));
    });
}

#[test]
fn who_reads_again_what_changed_goes_on_as_a_reader() {
    explore(|| {
        let lock = Arc::new(StateLock::new(0));
        let other = Arc::clone(&lock);
        let writer = thread::spawn(move || change(&other));
        let reserved = lock.reserve(None);
        let mut exclusive = lock.upgrade(None).expect("no reader of this thread");
        *exclusive += 1;
        let shared = exclusive.into_shared();
        drop(reserved);
        let seen = *shared;
        drop(shared);
        writer.join().unwrap();
        assert!(seen == 1 || seen == 2);
    });
}
