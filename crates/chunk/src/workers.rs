//! The threads that work on chunks.

use super::hooks::{Executor, Serial};
use super::work_stealing::StealingQueue;
use oxiblosc_base::Result;

/// Fewer bytes than this are worked on sooner by one thread than it takes to wake another.
pub const PARALLEL_MIN: usize = 64 << 10;

/// The threads that work on chunks.
#[derive(Clone, Copy)]
pub struct Workers<'a> {
    /// How many may be used.
    pub nthreads: usize,
    /// What runs them.
    pub exec: &'a dyn Executor,
}

impl Workers<'static> {
    /// The calling thread alone.
    pub const ALONE: Self = Self {
        nthreads: 1,
        exec: &Serial,
    };
}

impl Workers<'_> {
    /// How many can work at once.
    pub fn at_once(&self) -> usize {
        self.exec.workers(self.nthreads, usize::MAX)
    }

    /// How many are useful for a job of `nblocks` blocks and `nbytes` bytes. If a callback runs for
    /// each block (`calls`), that is as many as were asked for, even beyond the number of
    /// processors, since callbacks may wait for something.
    pub fn for_job(&self, nblocks: usize, nbytes: usize, calls: bool) -> usize {
        if nbytes < PARALLEL_MIN {
            1
        } else if calls {
            self.nthreads.min(nblocks).max(1)
        } else {
            self.exec.workers(self.nthreads, nblocks)
        }
    }

    /// Runs a task for each part of the work, which is `nbytes` bytes in total. The first error
    /// ends it. A task gets its part and the worker's number.
    ///
    /// # Errors
    /// That of a task.
    pub fn run<T: Send>(
        &self,
        mut pieces: impl ExactSizeIterator<Item = T>,
        nbytes: usize,
        task: &(dyn Fn(T, usize) -> Result<()> + Sync),
    ) -> Result<()> {
        let tasks = pieces.len();
        let nworkers = self.for_job(tasks, nbytes, false);
        if nworkers <= 1 {
            return pieces.try_for_each(|piece| task(piece, 0));
        }
        let queue = StealingQueue::new(pieces, tasks, nworkers)?;
        queue.work(*self, |tid| {
            while let Some(piece) = queue.next(tid) {
                task(piece, tid)?;
            }
            Ok(())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with so many processors.
    struct Machine(usize);

    impl Executor for Machine {
        fn run(&self, _: usize, _: usize, job: &(dyn Fn(usize) + Sync)) -> Result<()> {
            job(0);
            Ok(())
        }

        fn processors(&self) -> usize {
            self.0
        }
    }

    #[test]
    fn no_more_workers_than_processors_and_work() {
        const LARGE: usize = 1 << 20;
        let of = |processors, nthreads, nblocks, calls| {
            let exec = &Machine(processors);
            Workers { nthreads, exec }.for_job(nblocks, LARGE, calls)
        };
        for nthreads in [2, 4, 8, 16, 64] {
            assert_eq!(of(2, nthreads, 100, false), 2);
            assert_eq!(of(64, nthreads, 100, false), nthreads);
            assert_eq!(of(64, nthreads, 3, false), nthreads.min(3));
            // A function of the program's may wait for something.
            assert_eq!(of(2, nthreads, 100, true), nthreads);
        }
        assert_eq!(of(1, 2, 100, false), 2, "not asked for so few");
        assert_eq!(of(8, 4, 0, false), 1);
        let (nthreads, exec) = (4, &Machine(8));
        assert_eq!(Workers { nthreads, exec }.for_job(100, 1000, false), 1);
    }
}
