//! Several threads that work on parts of something, with results in the order of the parts.

use crate::failure::{Failure, Result};
use oxiblosc_base::memory::lock;
use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, PoisonError};

/// The most unfinished parts for each thread: more than one, so that the others go on while one
/// thread is slow.
const AHEAD: usize = 3;
/// Roughly how many bytes of parts may be in memory at the same time.
const MEMORY: u64 = 1 << 30;

/// How far the work is.
struct Results<R> {
    /// The number of the part whose result is delivered next.
    next: usize,
    /// Results of later parts.
    done: BTreeMap<usize, Result<R>>,
    /// Whether a thread is delivering results.
    delivering: bool,
    /// The failure that ended the work.
    failure: Option<Failure>,
    /// Whether a thread has panicked.
    broken: bool,
}

impl<R> Results<R> {
    fn is_over(&self) -> bool {
        self.failure.is_some() || self.broken
    }
}

/// The results of the parts, and the function to which they are delivered in order. The threads
/// share it.
struct DeliveryQueue<R, D> {
    results: Mutex<Results<R>>,
    changed: Condvar,
    deliver: Mutex<D>,
}

/// Lets the other threads end if this one panics.
struct Guard<'a, R, D>(&'a DeliveryQueue<R, D>);

impl<R, D> Drop for Guard<'_, R, D> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            lock(&self.0.results).broken = true;
            self.0.changed.notify_all();
        }
    }
}

/// Makes a state for each worker thread. There are at most `threads` workers, no more than `parts`
/// (0 if their number is unknown), and fewer if the parts, of `nbytes` bytes each, would take too
/// much memory. `make` is told how many threads each state may use itself.
pub fn each_thread<S>(
    threads: i16,
    parts: u64,
    nbytes: u64,
    make: impl Fn(i16) -> Result<S>,
) -> Result<Vec<S>> {
    let threads = threads.max(1) as u64;
    let most = MEMORY / nbytes.max(1).saturating_mul(AHEAD as u64);
    let parts = if parts == 0 { u64::MAX } else { parts };
    let workers = threads.min(parts).min(most).max(1);
    (0..workers)
        .map(|_| make((threads / workers) as i16))
        .collect()
}

/// Calls `take` for one part after the other until there are no more, `work` on the parts in
/// parallel, with a thread for each of `states` (the caller is one of them), and `deliver` with the
/// results in the order of the parts. Returns the first failure in that order.
pub fn in_order<S: Send, P: Send, R: Send>(
    states: Vec<S>,
    take: impl FnMut() -> Result<Option<P>> + Send,
    work: impl Fn(&mut S, P) -> Result<R> + Sync,
    deliver: impl FnMut(R) -> Result<()> + Send,
) -> Result<()> {
    let ahead = states.len() * AHEAD;
    let source = Mutex::new((0, Some(take)));
    let shared = DeliveryQueue {
        results: Mutex::new(Results {
            next: 0,
            done: BTreeMap::new(),
            delivering: false,
            failure: None,
            broken: false,
        }),
        changed: Condvar::new(),
        deliver: Mutex::new(deliver),
    };
    let run = |mut state| {
        let _guard = Guard(&shared);
        while let Some((nth, part)) = shared.take(&source, ahead) {
            let result = part.and_then(|part| work(&mut state, part));
            shared.finish(nth, result);
        }
    };
    std::thread::scope(|scope| {
        let (run, mut states) = (&run, states.into_iter());
        let own = states.next();
        for state in states {
            // If the system starts no more threads, the others do the work.
            let _ = std::thread::Builder::new().spawn_scoped(scope, move || run(state));
        }
        own.map(run);
    });
    let results = shared.results.into_inner();
    let results = results.unwrap_or_else(PoisonError::into_inner);
    results.failure.map_or(Ok(()), Err)
}

impl<R, D: FnMut(R) -> Result<()>> DeliveryQueue<R, D> {
    /// The next part and its number; none at the end, and after an error.
    fn take<P>(
        &self,
        source: &Mutex<(usize, Option<impl FnMut() -> Result<Option<P>>>)>,
        ahead: usize,
    ) -> Option<(usize, Result<P>)> {
        let mut source = lock(source);
        let (nth, take) = &mut *source;
        let mut results = lock(&self.results);
        while !results.is_over() && *nth - results.next >= ahead {
            results = self
                .changed
                .wait(results)
                .unwrap_or_else(PoisonError::into_inner);
        }
        if results.is_over() {
            return None;
        }
        drop(results);
        let part = take.as_mut()?().transpose();
        if !matches!(part, Some(Ok(_))) {
            // From now on there are no more parts.
            source.1 = None;
        }
        let part = part?;
        let (nth, _) = &mut *source;
        *nth += 1;
        Some((*nth - 1, part))
    }

    /// Adds the result of a part. Delivers the results whose turn it is, unless another thread is
    /// delivering: that one delivers it, too.
    fn finish(&self, nth: usize, result: Result<R>) {
        let mut results = lock(&self.results);
        results.done.insert(nth, result);
        if results.delivering {
            return;
        }
        results.delivering = true;
        while !results.is_over() {
            let next = results.next;
            let Some(result) = results.done.remove(&next) else {
                break;
            };
            drop(results);
            let delivered = result.and_then(|result| lock(&self.deliver)(result));
            results = lock(&self.results);
            results.next += 1;
            results.failure = delivered.err();
            self.changed.notify_all();
        }
        results.delivering = false;
    }
}

/// Buffers that are kept for reuse.
pub struct BufferPool<T>(Mutex<Vec<T>>);

impl<T> BufferPool<T> {
    /// An empty pool.
    pub fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Takes a buffer out of the pool, if there is one.
    pub fn take(&self) -> Option<T> {
        lock(&self.0).pop()
    }

    /// Puts a buffer into the pool.
    pub fn keep(&self, buffer: T) {
        lock(&self.0).push(buffer);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn run(fails: Option<usize>) -> (Result<()>, Vec<usize>) {
        let mut parts = 0..100;
        let mut got = Vec::new();
        let ended = in_order(
            vec![(); 4],
            || Ok(parts.next()),
            |(), part| {
                // Later parts are often done earlier.
                std::thread::sleep(Duration::from_micros((part as u64 * 7919) % 500));
                match fails {
                    Some(from) if part >= from => Err(Failure::message(part.to_string())),
                    _ => Ok(part),
                }
            },
            |part| {
                got.push(part);
                Ok(())
            },
        );
        (ended, got)
    }

    #[test]
    fn threads_are_shared_out() {
        let created =
            |threads, parts, nbytes| each_thread(threads, parts, nbytes, Ok).expect("made");
        assert_eq!(created(2, 100, 4 << 20), [1, 1]);
        assert_eq!(created(2, 0, 4 << 20), [1, 1]);
        assert_eq!(created(8, 2, 4 << 20), [4, 4]);
        assert_eq!(created(8, 100, 128 << 20), [4, 4]);
        assert_eq!(created(8, 100, u64::MAX), [8]);
        assert_eq!(created(0, 100, 0), [1]);
    }

    #[test]
    fn results_come_in_order() {
        for _ in 0..5 {
            let (ended, got) = run(None);
            assert!(ended.is_ok() && got == Vec::from_iter(0..100));
        }
    }

    #[test]
    fn the_first_failure_ends_it() {
        let (ended, got) = run(Some(37));
        assert!(matches!(ended, Err(Failure::Message(text)) if text == "37"));
        assert_eq!(got, Vec::from_iter(0..37));
        let taken = in_order(
            vec![(); 3],
            || Err::<Option<()>, _>(Failure::message("no input")),
            |(), ()| Ok(()),
            |()| Ok(()),
        );
        assert!(matches!(taken, Err(Failure::Message(text)) if text == "no input"));
        let mut parts = 0..100;
        let delivered = in_order(
            vec![(); 3],
            || Ok(parts.next()),
            |(), part| Ok(part),
            |part| match part {
                5 => Err(Failure::BrokenPipe),
                _ => Ok(()),
            },
        );
        assert!(matches!(delivered, Err(Failure::BrokenPipe)));
    }

    #[test]
    fn a_panic_does_not_leave_the_others_waiting() {
        let mut parts = 0..100;
        let ended = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            in_order(
                vec![(); 2],
                || Ok(parts.next()),
                |(), part| {
                    assert_ne!(part, 3);
                    Ok(())
                },
                |()| Ok(()),
            )
        }));
        assert!(ended.is_err());
    }
}
