//! Distributes pieces of memory among workers, with work stealing.

use super::workers::Workers;
use oxiblosc_base::Result;
use oxiblosc_base::memory::{Collect, TryVec, lock};
use std::ops::Range;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The indices of pieces that are adjacent in memory, divided into one range per worker.
///
/// A worker takes pieces from the front of its own range, then steals from the back of the others.
/// In repeated jobs over the same memory it thus gets the same pieces, which are still in its
/// processor's cache. This matters, since memory that another processor wrote last is much slower
/// to write: with pieces handed out in order, two workers fill a buffer of some megabytes no faster
/// than one.
struct Partition(TryVec<WorkerRange>);

/// The range of one worker. It has a cache line of its own, so that workers do not slow each other
/// down by false sharing.
#[repr(align(64))]
struct WorkerRange {
    pieces: Range<usize>,
    /// How many claims were made. It may exceed the number of pieces; the claims beyond it failed.
    claimed: AtomicUsize,
    /// How many were taken from the front and from the back. Together they are at most the number
    /// of pieces.
    from_front: AtomicUsize,
    from_back: AtomicUsize,
}

impl WorkerRange {
    fn new(pieces: Range<usize>) -> Self {
        Self {
            pieces,
            claimed: AtomicUsize::new(0),
            from_front: AtomicUsize::new(0),
            from_back: AtomicUsize::new(0),
        }
    }

    /// Claims a piece. Loading the counter first keeps failed claims from overflowing it.
    fn claim(&self) -> bool {
        self.claimed.load(Relaxed) < self.pieces.len()
            && self.claimed.fetch_add(1, Relaxed) < self.pieces.len()
    }

    fn next(&self) -> Option<usize> {
        self.claim()
            .then(|| self.pieces.start + self.from_front.fetch_add(1, Relaxed))
    }

    fn next_back(&self) -> Option<usize> {
        self.claim()
            .then(|| self.pieces.end - 1 - self.from_back.fetch_add(1, Relaxed))
    }
}

impl Partition {
    /// Divides the pieces `0..len` among `nworkers` workers.
    fn new(len: usize, nworkers: usize) -> Result<Self> {
        let (quotient, remainder) = (len / nworkers, len % nworkers);
        let bound = |nworker: usize| quotient * nworker + remainder.min(nworker);
        let range = |nworker| WorkerRange::new(bound(nworker)..bound(nworker + 1));
        Ok(Self((0..nworkers).map(range).collect_vec()?))
    }

    /// The next piece for a worker: from its own range, then stolen from the others.
    fn next(&self, nworker: usize) -> Option<usize> {
        let own = nworker % self.0.len();
        let (before, others) = self.0.split_at(own);
        others[0].next().or_else(|| {
            let mut others = others[1..].iter().chain(before);
            others.find_map(WorkerRange::next_back)
        })
    }

    /// Marks all remaining pieces as claimed.
    fn clear(&self) {
        for range in &self.0 {
            range.claimed.store(range.pieces.len(), Relaxed);
        }
    }
}

/// A queue of pieces for several workers.
pub struct StealingQueue<T> {
    partition: Partition,
    pieces: TryVec<Mutex<Option<T>>>,
}

impl<T: Send> StealingQueue<T> {
    /// Divides `pieces`, of which at most `len` are taken, among `nworkers` workers.
    ///
    /// # Errors
    /// `Error::MEMORY_ALLOC`.
    pub fn new(pieces: impl Iterator<Item = T>, len: usize, nworkers: usize) -> Result<Self> {
        let mut all = TryVec::new();
        all.reserve_exact(len)?;
        all.extend(pieces.take(len).map(|piece| Mutex::new(Some(piece))))?;
        Ok(Self {
            partition: Partition::new(all.len(), nworkers)?,
            pieces: all,
        })
    }

    /// The next piece for a worker: from its own range, then stolen from the others.
    pub fn next(&self, nworker: usize) -> Option<T> {
        lock(&self.pieces[self.partition.next(nworker)?]).take()
    }

    /// Runs `work` on several workers. It gets the worker's number and calls [`next`](Self::next)
    /// until there is no piece left. After an error no pieces are left for the other workers.
    ///
    /// # Errors
    /// The first error of `work`.
    pub fn work(&self, workers: Workers, work: impl Fn(usize) -> Result<()> + Sync) -> Result<()> {
        let failed = Mutex::new(None);
        workers
            .exec
            .run(workers.nthreads, self.partition.0.len(), &|nworker| {
                if let Err(error) = work(nworker) {
                    lock(&failed).get_or_insert(error);
                    self.partition.clear();
                }
            })?;
        lock(&failed).map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_base::Error;

    #[test]
    fn every_piece_is_handed_out_once_and_own_pieces_first() {
        for nworkers in 1..5 {
            for len in 0..20 {
                for nworker in 0..nworkers {
                    let queue = StealingQueue::new(0..len, len, nworkers).unwrap();
                    let mut got: Vec<_> = std::iter::from_fn(|| queue.next(nworker)).collect();
                    got.sort_unstable();
                    assert_eq!(got, (0..len).collect::<Vec<_>>());
                }
            }
        }
        let queue = StealingQueue::new(0..7, 7, 2).unwrap();
        let taken = [0, 1, 1, 1, 1, 0, 0].map(|nworker| queue.next(nworker));
        assert_eq!(taken, [0, 4, 5, 6, 3, 1, 2].map(Some));
        assert_eq!(queue.next(0), None);
    }

    #[test]
    fn workers_steal_at_the_same_time() {
        for _ in 0..200 {
            let queue = StealingQueue::new(0..300, 300, 3).unwrap();
            let taken = |nworker| std::iter::from_fn(|| queue.next(nworker)).sum::<usize>();
            let sums = std::thread::scope(|scope| {
                let workers = [0, 1, 2].map(|nworker| scope.spawn(move || taken(nworker)));
                workers.map(|worker| worker.join().unwrap())
            });
            assert_eq!(sums.iter().sum::<usize>(), 300 * 299 / 2);
        }
    }

    #[test]
    fn an_error_leaves_nothing_to_the_others() {
        let queue = StealingQueue::new(0..7, 7, 1).unwrap();
        let up_to = |last| {
            queue.work(Workers::ALONE, |nworker| {
                while let Some(piece) = queue.next(nworker) {
                    if piece == last {
                        return Err(Error::DATA);
                    }
                }
                Ok(())
            })
        };
        assert_eq!(up_to(2), Err(Error::DATA));
        assert_eq!(queue.next(0), None);
        assert_eq!(up_to(3), Ok(()));
    }
}
