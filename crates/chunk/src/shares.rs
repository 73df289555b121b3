//! Pieces of memory to be written, shared out among workers.

use super::encode::lock;
use super::hooks::Executor;
use oxiblosc_error::Result;
use oxiblosc_memory::{Collect, List};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The indices of pieces that follow each other in memory, in as many shares as there are workers.
///
/// A worker takes its own share from the front, then helps others from the back. So it comes to the same pieces in job after
/// job over the same memory, and finds in the cache nearest to it what it wrote there. Memory that another processor wrote
/// last is much slower to write to: with pieces handed out as they come, two workers fill a buffer of some megabytes no
/// faster than one.
struct Turns(List<Share>);

/// One worker's share. A line of its own, so that workers do not slow each other down.
#[repr(align(64))]
struct Share {
    pieces: Range<usize>,
    /// How many were asked for; who asks when all are taken gets none. Of those taken, how many from the front, and from the
    /// back: never more than there are.
    asked: AtomicUsize,
    from_front: AtomicUsize,
    from_back: AtomicUsize,
}

impl Share {
    fn new(pieces: Range<usize>) -> Self {
        Self {
            pieces,
            asked: AtomicUsize::new(0),
            from_front: AtomicUsize::new(0),
            from_back: AtomicUsize::new(0),
        }
    }

    fn is_left(&self) -> bool {
        self.asked.load(Relaxed) < self.pieces.len()
            && self.asked.fetch_add(1, Relaxed) < self.pieces.len()
    }

    fn next(&self) -> Option<usize> {
        self.is_left()
            .then(|| self.pieces.start + self.from_front.fetch_add(1, Relaxed))
    }

    fn next_back(&self) -> Option<usize> {
        self.is_left()
            .then(|| self.pieces.end - 1 - self.from_back.fetch_add(1, Relaxed))
    }
}

impl Turns {
    /// Shares the pieces from 0 to before `len` out among `nworkers` workers.
    fn new(len: usize, nworkers: usize) -> Result<Self> {
        let (least, more) = (len / nworkers, len % nworkers);
        let bound = |nworker: usize| least * nworker + more.min(nworker);
        let share = |nworker| Share::new(bound(nworker)..bound(nworker + 1));
        Ok(Self((0..nworkers).map(share).list()?))
    }

    /// The next piece for a worker, from its own share as long as there are any.
    fn next(&self, nworker: usize) -> Option<usize> {
        let own = nworker % self.0.len();
        let (before, others) = self.0.split_at(own);
        others[0].next().or_else(|| {
            let mut others = others[1..].iter().chain(before);
            others.find_map(Share::next_back)
        })
    }

    /// Takes all pieces away that nobody has taken yet.
    fn clear(&self) {
        for share in &self.0 {
            share.asked.store(share.pieces.len(), Relaxed);
        }
    }
}

/// Pieces of memory, and whose turn each of them is.
pub struct Shares<T> {
    turns: Turns,
    pieces: List<Mutex<Option<T>>>,
}

impl<T: Send> Shares<T> {
    /// Shares `pieces`, at most `len`, out among `nworkers` workers.
    ///
    /// # Errors
    /// [`Error::MemoryAlloc`].
    pub fn new(pieces: impl Iterator<Item = T>, len: usize, nworkers: usize) -> Result<Self> {
        let mut all = List::new();
        all.reserve_exact(len)?;
        all.extend(pieces.take(len).map(|piece| Mutex::new(Some(piece))))?;
        Ok(Self {
            turns: Turns::new(all.len(), nworkers)?,
            pieces: all,
        })
    }

    /// The next piece for a worker, from its own share as long as there are any.
    pub fn next(&self, nworker: usize) -> Option<T> {
        lock(&self.pieces[self.turns.next(nworker)?]).take()
    }

    /// Has workers do `work`, which takes pieces as long as there are any for the worker whose number it gets. Who fails
    /// leaves nothing to take to the others.
    ///
    /// # Errors
    /// The first of `work`.
    pub fn work(
        &self,
        nthreads: usize,
        exec: &dyn Executor,
        work: impl Fn(usize) -> Result<()> + Sync,
    ) -> Result<()> {
        let failed = Mutex::new(None);
        exec.run(nthreads, self.turns.0.len(), &|nworker| {
            if let Err(error) = work(nworker) {
                lock(&failed).get_or_insert(error);
                self.turns.clear();
            }
        })?;
        lock(&failed).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hooks::Serial;
    use oxiblosc_error::Error;

    #[test]
    fn every_piece_is_handed_out_once_and_the_own_ones_first() {
        for nworkers in 1..5 {
            for len in 0..20 {
                for nworker in 0..nworkers {
                    let shares = Shares::new(0..len, len, nworkers).unwrap();
                    let mut got: Vec<_> = std::iter::from_fn(|| shares.next(nworker)).collect();
                    got.sort_unstable();
                    assert_eq!(got, (0..len).collect::<Vec<_>>());
                }
            }
        }
        let shares = Shares::new(0..7, 7, 2).unwrap();
        let taken = [0, 1, 1, 1, 1, 0, 0].map(|nworker| shares.next(nworker));
        assert_eq!(taken, [0, 4, 5, 6, 3, 1, 2].map(Some));
        assert_eq!(shares.next(0), None);
    }

    #[test]
    fn workers_help_each_other_at_once() {
        for _ in 0..200 {
            let shares = Shares::new(0..300, 300, 3).unwrap();
            let taken = |nworker| std::iter::from_fn(|| shares.next(nworker)).sum::<usize>();
            let sums = std::thread::scope(|scope| {
                let workers = [0, 1, 2].map(|nworker| scope.spawn(move || taken(nworker)));
                workers.map(|worker| worker.join().unwrap())
            });
            assert_eq!(sums.iter().sum::<usize>(), 300 * 299 / 2);
        }
    }

    #[test]
    fn who_fails_leaves_nothing_to_the_others() {
        let shares = Shares::new(0..7, 7, 1).unwrap();
        let up_to = |last| {
            shares.work(1, &Serial, |nworker| {
                while let Some(piece) = shares.next(nworker) {
                    if piece == last {
                        return Err(Error::Data);
                    }
                }
                Ok(())
            })
        };
        assert_eq!(up_to(2), Err(Error::Data));
        assert_eq!(shares.next(0), None);
        assert_eq!(up_to(3), Ok(()));
    }
}
