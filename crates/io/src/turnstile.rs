//! Keeps readers whose locks overlap from starving a writer.
//!
//! `flock` grants a shared lock while others hold one, even if a writer waits for the exclusive
//! lock. So a waiting writer takes a second lock, on one byte far behind the file's contents. A new
//! reader first waits until that lock is free, unless the writer may be waiting for an operation of
//! this reader. The lock belongs to the open file, so the system releases it when the process ends.
//! The reference library does not use it: its readers do not wait for our writers, and its writers
//! may starve.

use oxiblosc_base::system::locks::turn;
use std::fs::File;

/// A writer's turn: new readers wait until this is dropped.
pub struct WriterTurn<'a>(&'a File);

impl<'a> WriterTurn<'a> {
    /// Waits until no other writer has the turn.
    pub fn new(file: &'a File) -> Self {
        turn::take(file);
        Self(file)
    }
}

impl Drop for WriterTurn<'_> {
    fn drop(&mut self) {
        turn::leave(self.0);
    }
}

/// Whether a writer has the turn, and so new readers have to wait.
pub fn is_closed(file: &File) -> bool {
    turn::is_taken(file)
}

/// Waits until no writer has the turn.
pub fn pass(file: &File) {
    turn::pass(file);
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;
    use crate::file;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::time::Duration;

    #[test]
    fn readers_wait_for_a_writer_that_waits() {
        let folder = Folder::new("turnstile");
        let path = folder.path("lock");
        let open = || {
            let mut options = File::options();
            let options = options.read(true).write(true).create(true);
            options
                .truncate(false)
                .open(file::path(&path))
                .expect("a file")
        };
        let (one, two) = (open(), open());
        pass(&two);
        assert!(!is_closed(&two));
        let closed = WriterTurn::new(&one);
        assert!(is_closed(&two));
        let open_again = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let reader = scope.spawn(|| {
                pass(&two);
                open_again.load(Ordering::SeqCst)
            });
            std::thread::sleep(Duration::from_millis(30));
            open_again.store(true, Ordering::SeqCst);
            drop(closed);
            assert!(reader.join().expect("joins"));
        });
        pass(&two);
    }
}
