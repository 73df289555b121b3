//! Whether a worker without work spins before it sleeps.
//!
//! Where jobs follow each other within microseconds, spinning is what makes several threads faster than one. Where they do not, or where
//! there are more threads than processors, it takes time from who could work. So a worker spins while that finds jobs, and else tries it
//! less and less often.

use super::sync::Spun;

/// After how many vain attempts in a row a worker tries it least often, once in 2 to that power.
const MISSES: u32 = 6;
/// The same where another thread wanted the processor, which is seen in few of the attempts alone.
const MISSES_PREEMPTED: u32 = 10;

/// What a worker remembers of its attempts.
#[derive(Default)]
pub struct Patience {
    /// Vain attempts in a row, or more for one that was preempted.
    misses: u32,
    /// How many times it sleeps at once before it spins again.
    skips: u32,
}

impl Patience {
    /// Whether to spin this time.
    pub fn spins(&mut self) -> bool {
        let spins = self.skips == 0;
        self.skips = self.skips.saturating_sub(1);
        spins
    }

    /// Learns how spinning ended. Returns whether there is a job.
    pub fn after(&mut self, spun: Spun) -> bool {
        self.misses = match spun {
            Spun::Done => 0,
            Spun::GaveUp => self.misses.max(MISSES.min(self.misses + 1)),
            Spun::Preempted => MISSES_PREEMPTED,
        };
        self.skips = (1 << self.misses) - 1;
        spun == Spun::Done
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    /// How many of `times` a worker spins that always sees the same.
    fn attempts(spun: Spun, times: usize) -> usize {
        let mut patience = Patience::default();
        let mut spins = |_: &usize| {
            let spins = patience.spins();
            if spins {
                patience.after(spun);
            }
            spins
        };
        (0..times).filter(&mut spins).count()
    }

    #[test]
    fn it_spins_while_that_finds_jobs() {
        assert_eq!(attempts(Spun::Done, 1000), 1000);
        assert_eq!(attempts(Spun::GaveUp, 64 * 100), 6 + 99);
        assert_eq!(attempts(Spun::Preempted, 1024 * 10), 10);
    }

    #[test]
    fn a_job_that_is_found_makes_it_patient_again() {
        let mut patience = Patience::default();
        for _ in 0..10 {
            patience.skips = 0;
            assert!(!patience.after(Spun::GaveUp));
        }
        assert!(!patience.spins());
        patience.skips = 0;
        assert!(patience.spins() && patience.after(Spun::Done) && patience.spins());
    }
}
