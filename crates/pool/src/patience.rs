//! Whether a worker without work spins before it sleeps.
//!
//! Where jobs follow each other within microseconds, spinning is what makes several threads faster than one. Where they do not, or where
//! there are more threads than processors, it takes time from threads that could work. So a worker spins as long as that finds a job every other
//! time; otherwise it tries less and less often.

use super::sync::Spun;

/// So many vain attempts in a row change nothing. Workers that share a job end it at different times, and the first may wait for the next one
/// longer than it spins; if it slept then, it would come late to each of them.
const FREE_MISSES: u32 = 3;
/// After how many more a worker tries it least often, once in 2 to the power of their number.
const MISSES: u32 = FREE_MISSES + 6;
/// The same where another thread wanted the processor, which is seen in few of the attempts alone.
const MISSES_PREEMPTED: u32 = FREE_MISSES + 10;

/// What a worker remembers of its attempts.
#[derive(Default)]
pub struct Patience {
    /// Vain attempts; one that found a job halves their number, and one that was preempted counts more.
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
        if spun == Spun::Done {
            // Where jobs are seldom found, one that is does not mean that the next will be.
            self.misses /= 2;
            self.skips = 0;
            return true;
        }
        self.misses = match spun {
            Spun::Preempted => MISSES_PREEMPTED,
            _ => self.misses.max(MISSES.min(self.misses + 1)),
        };
        self.skips = (1 << self.misses.saturating_sub(FREE_MISSES)) - 1;
        false
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
        assert_eq!(attempts(Spun::GaveUp, 64 * 100), 3 + 6 + 98);
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

    #[test]
    fn one_job_in_two_is_enough() {
        let mut patience = Patience::default();
        for turn in 0..100 {
            assert!(patience.spins());
            patience.after(if turn % 2 == 0 {
                Spun::GaveUp
            } else {
                Spun::Done
            });
        }
    }

    #[test]
    fn a_lucky_find_is_soon_forgotten() {
        let mut patience = Patience::default();
        for _ in 0..10 {
            patience.after(Spun::GaveUp);
        }
        assert!(patience.after(Spun::Done) && patience.spins());
        patience.after(Spun::GaveUp);
        assert!((0..3).all(|_| !patience.spins()) && patience.spins());
    }
}
