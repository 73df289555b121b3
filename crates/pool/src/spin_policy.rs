//! Decides whether a worker without work spins before it sleeps.
//!
//! When jobs follow each other within microseconds, several threads are faster than one only if
//! they spin. Otherwise, or if there are more threads than processors, spinning takes time from
//! threads that could work. So a worker spins as long as every other attempt finds a job; if fewer
//! do, it tries less and less often.

/// This many misses in a row have no effect. Workers leave a shared job at different times, and the
/// first may wait for the next job longer than it spins; if it then stopped spinning, it would come
/// late to every job.
const FREE_MISSES: u32 = 3;
/// The largest number of misses that is counted. A worker then spins at one idle time in 2^6.
const MAX_MISSES: u32 = FREE_MISSES + 6;

/// What a worker has learned from its attempts.
#[derive(Default)]
pub struct SpinPolicy {
    /// Attempts that found no job. One that finds a job halves the number.
    misses: u32,
    /// How many times the worker sleeps without spinning before the next attempt.
    skips: u32,
}

impl SpinPolicy {
    /// Whether to spin this time.
    pub fn should_spin(&mut self) -> bool {
        let spins = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        spins
    }

    /// Records whether spinning found a job.
    pub fn record(&mut self, found: bool) {
        if found {
            // Not reset to 0: if jobs are rarely found, one that is found does not mean that the
            // next will be.
            self.misses /= 2;
            self.skips = 0;
        } else {
            self.misses = MAX_MISSES.min(self.misses + 1);
            self.skips = (1 << self.misses.saturating_sub(FREE_MISSES)) - 1;
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// How many of `times` times a worker spins if every attempt finds a job, or none does.
    fn attempts(found: bool, times: usize) -> usize {
        let mut policy = SpinPolicy::default();
        let mut spins = |_: &usize| {
            let spins = policy.should_spin();
            if spins {
                policy.record(found);
            }
            spins
        };
        (0..times).filter(&mut spins).count()
    }

    /// The policy after ten attempts that found no job, when it is about to spin again.
    fn after_misses() -> SpinPolicy {
        let mut policy = SpinPolicy::default();
        (0..10).for_each(|_| policy.record(false));
        assert!(!policy.should_spin());
        policy.skips = 0;
        policy
    }

    #[test]
    fn it_spins_while_that_finds_jobs() {
        assert_eq!(attempts(true, 1000), 1000);
        assert_eq!(attempts(false, 64 * 100), 3 + 6 + 98);
    }

    #[test]
    fn a_job_that_is_found_makes_it_spin_again() {
        let mut policy = after_misses();
        assert!(policy.should_spin());
        policy.record(true);
        assert!(policy.should_spin());
    }

    #[test]
    fn one_job_in_two_is_enough() {
        let mut policy = SpinPolicy::default();
        for turn in 0..100 {
            assert!(policy.should_spin());
            policy.record(turn % 2 == 1);
        }
    }

    #[test]
    fn a_lucky_find_is_soon_forgotten() {
        let mut policy = after_misses();
        policy.record(true);
        assert!(policy.should_spin());
        policy.record(false);
        assert!((0..3).all(|_| !policy.should_spin()) && policy.should_spin());
    }
}
