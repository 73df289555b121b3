//! The locks of those who change a file, in every interleaving of the system's calls: writers, one
//! that undoes what a dead one has left, and strangers. At most one process changes the file, and
//! nobody undoes the change of one that lives.

use super::*;
use loom::sync::{Arc, Mutex};
use loom::thread;

/// The locks of a file as the system knows them, and what goes on in it.
#[derive(Default)]
struct Kernel {
    /// Who has locked the byte, and whether exclusively.
    byte: Vec<(usize, bool)>,
    /// Who has locked the whole file.
    whole: Option<usize>,
    /// How many processes are changing the file.
    changing: usize,
    /// Whether the undo record of a change is in the file.
    has_record: bool,
    /// How many changes were made.
    changes: usize,
}

/// The file as a process has it open.
struct OpenFile {
    kernel: Arc<Mutex<Kernel>>,
    process: usize,
}

impl OpenFile {
    fn kernel<T>(&self, work: impl FnOnce(&mut Kernel) -> T) -> T {
        work(&mut self.kernel.lock().unwrap())
    }
}

impl LockCalls for OpenFile {
    fn try_take(&self, alone: bool) -> std::result::Result<(), Blocked> {
        self.kernel(|kernel| {
            let mut others = kernel.byte.iter().filter(|(who, _)| *who != self.process);
            let has_writer = others.clone().any(|(_, exclusive)| *exclusive);
            if has_writer {
                return Err(Blocked::Writer);
            }
            if alone && others.next().is_some() {
                return Err(Blocked::Sharers);
            }
            kernel.byte.retain(|(who, _)| *who != self.process);
            kernel.byte.push((self.process, alone));
            Ok(())
        })
    }

    fn try_take_whole(&self) -> std::result::Result<(), Blocked> {
        self.kernel(|kernel| match kernel.whole {
            Some(who) if who != self.process => Err(Blocked::Writer),
            _ => {
                kernel.whole = Some(self.process);
                Ok(())
            }
        })
    }

    fn leave(&self) {
        self.kernel(|kernel| kernel.byte.retain(|(who, _)| *who != self.process));
    }

    fn leave_whole(&self) {
        self.kernel(|kernel| kernel.whole = kernel.whole.filter(|who| *who != self.process));
    }
}

/// Changes the file, if it gets the lock, at first or after two seconds: undoes what a dead process
/// has left, writes a record, and removes it.
fn change(file: &OpenFile) {
    let lock = ChangeLock::new();
    let taken = lock
        .try_now(file, true)
        .or_else(|_| lock.try_now(file, false));
    if taken.is_err() {
        return;
    }
    if file.kernel(|kernel| kernel.has_record) {
        if !lock.complete(file) {
            return lock.release(file);
        }
        file.kernel(|kernel| {
            assert_eq!(kernel.changing, 0, "a living change is undone");
            kernel.has_record = false;
        });
    }
    file.kernel(|kernel| {
        kernel.changing += 1;
        assert_eq!(kernel.changing, 1, "two change the file at once");
        kernel.has_record = true;
    });
    file.kernel(|kernel| {
        assert!(kernel.has_record, "somebody has undone the change");
        (kernel.changing, kernel.has_record) = (0, false);
        kernel.changes += 1;
    });
    lock.release(file);
}

/// Changes the file by the other kind of lock alone, as a process does that has got no more.
fn change_by_the_whole(file: &OpenFile) {
    if file.try_take_whole().is_ok() {
        file.kernel(|kernel| (kernel.changing, kernel.has_record) = (1, true));
        file.kernel(|kernel| {
            assert!(kernel.has_record, "somebody has undone the change");
            (kernel.changing, kernel.has_record) = (0, false);
        });
        file.leave_whole();
    }
}

/// Undoes what a dead process has left, if it gets all locks.
fn undo(file: &OpenFile) {
    let lock = ChangeLock::new();
    if lock.try_now(file, true).is_err() {
        return;
    }
    if file.kernel(|kernel| kernel.has_record) && lock.complete(file) {
        file.kernel(|kernel| {
            assert_eq!(kernel.changing, 0, "a living change is undone");
            kernel.has_record = false;
        });
    }
    lock.release(file);
}

/// Shares the lock of the byte for a while, as who may read the file can.
fn share(file: &OpenFile) {
    if file.try_take(false).is_ok() {
        file.leave();
    }
}

/// Locks the whole file for a while.
fn lock_whole(file: &OpenFile) {
    if file.try_take_whole().is_ok() {
        file.leave_whole();
    }
}

/// Two of these at the same time, and a change after them.
fn explore(has_record: bool, (first, second): (fn(&OpenFile), fn(&OpenFile))) {
    let mut model = loom::model::Builder::new();
    model.preemption_bound = Some(5);
    model.check(move || {
        let kernel = Arc::new(Mutex::new(Kernel {
            has_record,
            ..Kernel::default()
        }));
        let open = |process| OpenFile {
            kernel: Arc::clone(&kernel),
            process,
        };
        let (one, two, three) = (open(1), open(2), open(3));
        let first = thread::spawn(move || first(&one));
        let other = thread::spawn(move || share(&two));
        second(&three);
        first.join().unwrap();
        other.join().unwrap();
        let last = open(4);
        let before = last.kernel(|kernel| kernel.changes);
        change(&last);
        last.kernel(|kernel| assert_eq!(kernel.changes, before + 1, "a lock was left behind"));
    });
}

#[test]
fn writers_beside_one_who_shares() {
    explore(false, (change, change));
    explore(true, (change, change));
}

#[test]
fn writers_beside_one_who_locks_the_whole_file() {
    explore(false, (lock_whole, change));
    explore(true, (lock_whole, change));
}

#[test]
fn one_who_undoes_beside_a_writer_with_one_kind_of_lock() {
    explore(false, (change_by_the_whole, undo));
}
