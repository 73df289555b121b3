//! Simulates a job with more workers than the machine has processors, to find out where it stops
//! scaling, and why.
//!
//! It has the same schedule as the pool: sleeping workers are woken in rounds (`job_slots`), blocks
//! are claimed from an atomic counter, and each finished block takes a lock, under which its
//! destination is found (the `OrderedWriter` of the engine), twice. `tests.rs` shows that the pool
//! keeps to this schedule. The rest are costs in nanoseconds, measured on two processors of a
//! virtual machine. Every worker has a processor of its own, and memory is as fast for all as for
//! one, so this is the most that can be had.
//!
//! `cargo test -p oxiblosc-pool simulation -- --nocapture` prints the table.

use super::job_slots::FANOUT;

/// Costs in nanoseconds.
#[derive(Clone, Copy)]
struct Costs {
    /// Waking one thread, for the one that wakes it.
    wake: u64,
    /// The time until the woken thread runs.
    latency: u64,
    /// Getting a cache line that another processor wrote last.
    line: u64,
    /// Holding the lock of the writer.
    locked: u64,
}

/// A sleeping processor wakes up within 5 microseconds; on a virtual machine, within 50.
const METAL: Costs = Costs {
    wake: 1_000,
    latency: 5_000,
    line: 60,
    locked: 40,
};
const VIRTUAL: Costs = Costs {
    wake: 2_000,
    latency: 50_000,
    ..METAL
};

/// The next step of a worker.
#[derive(Clone, Copy)]
enum Step {
    Join,
    Claim,
    Reserve,
    Write,
}

/// A job of `blocks` blocks of `block` nanoseconds each. Of the `workers` workers all but the
/// caller sleep at the start.
struct SimulatedJob {
    costs: Costs,
    fanout: u64,
    workers: u64,
    blocks: u64,
    block: u64,
}

impl SimulatedJob {
    /// Nanoseconds until the job is done.
    fn time(&self) -> u64 {
        // The time of each worker's next step, and the step.
        let mut ready = vec![(0, Step::Join)];
        let (mut to_wake, mut claimed, mut end) = (self.workers.min(self.blocks) - 1, 0, 0);
        // The times at which the counter and the lock are free again.
        let (mut counter, mut lock) = (0, 0);
        let take = |free: &mut u64, now: u64, held: u64| {
            *free = now.max(*free) + self.costs.line + held;
            *free
        };
        while let Some(first) = (0..ready.len()).min_by_key(|&at| ready[at].0) {
            let (now, step) = ready.swap_remove(first);
            let next = match step {
                // The permits are revoked.
                Step::Join if claimed >= self.blocks => continue,
                Step::Join => {
                    let woken = self.fanout.min(to_wake);
                    to_wake -= woken;
                    let up = |nth| now + nth * self.costs.wake + self.costs.latency;
                    ready.extend((1..=woken).map(|nth| (up(nth), Step::Join)));
                    (now + woken * self.costs.wake, Step::Claim)
                }
                Step::Claim => {
                    let now = take(&mut counter, now, 0);
                    claimed += 1;
                    if claimed > self.blocks {
                        end = end.max(now);
                        continue;
                    }
                    (now + self.block, Step::Reserve)
                }
                // The copy in between is part of the block's time.
                Step::Reserve => (take(&mut lock, now, self.costs.locked), Step::Write),
                Step::Write => (take(&mut lock, now, self.costs.locked), Step::Claim),
            };
            ready.push(next);
        }
        end
    }

    /// The speedup over one worker.
    fn speedup(&self) -> f64 {
        (self.blocks * self.block) as f64 / self.time() as f64
    }
}

/// Typical chunks: a name, nanoseconds for a block, and the number of blocks.
const CHUNKS: [(&str, u64, u64); 6] = [
    ("LZ4, 256 KB in blocks of 16 KB", 5_000, 16),
    ("LZ4, 1 MB in blocks of 32 KB", 10_000, 32),
    ("LZ4, 8 MB in blocks of 8 KB", 2_500, 1024),
    ("LZ4, 8 MB in blocks of 64 KB", 20_000, 128),
    ("Zstd, 1 MB in blocks of 64 KB", 500_000, 16),
    ("Zstd, 8 MB in blocks of 64 KB", 500_000, 128),
];
const WORKERS: [u64; 6] = [2, 4, 8, 16, 32, 64];

fn job(costs: Costs, chunk: (&str, u64, u64), workers: u64) -> SimulatedJob {
    SimulatedJob {
        costs,
        fanout: FANOUT.into(),
        workers,
        blocks: chunk.2,
        block: chunk.1,
    }
}

#[test]
fn where_it_stops_to_scale() {
    for (machine, costs) in [("metal", METAL), ("virtual", VIRTUAL)] {
        println!("{machine}: speed with {WORKERS:?} workers");
        for chunk in CHUNKS {
            let speedups = WORKERS.map(|workers| job(costs, chunk, workers).speedup());
            println!("{speedups:6.1?}  {}", chunk.0);
            // More workers do not slow a job down much: those that come too late find it done.
            let best = speedups.iter().copied().fold(1.0, f64::max);
            assert!(speedups[5] > 0.9 * best, "{machine}, {}", chunk.0);
        }
    }
    // Long blocks scale up to their number.
    assert!(job(METAL, CHUNKS[4], 16).speedup() > 15.0);
    assert!(job(METAL, CHUNKS[5], 64).speedup() > 60.0);
    assert!(job(VIRTUAL, CHUNKS[5], 64).speedup() > 50.0);
    // Small blocks are limited by the lock, which each takes twice.
    let small = job(METAL, CHUNKS[2], 64).speedup();
    assert!((8.0..14.0).contains(&small), "{small}");
}

/// How much longer jobs take with each fan-out than with the best one for the job: the geometric
/// mean, and the worst case.
#[test]
fn rounds_of_waking() {
    for fanout in [1, 2, 4, 8, 16, 64] {
        let (mut sum, mut count, mut worst) = (0.0, 0, 1.0_f64);
        for costs in [METAL, VIRTUAL] {
            for chunk in CHUNKS {
                for workers in WORKERS {
                    let time = |fanout| {
                        SimulatedJob {
                            fanout,
                            ..job(costs, chunk, workers)
                        }
                        .time()
                    };
                    let best = [1, 2, 4, 8, 16, 64].map(time).into_iter().min();
                    let ratio = time(fanout) as f64 / best.expect("several") as f64;
                    (sum, count, worst) = (sum + ratio.ln(), count + 1, worst.max(ratio));
                }
            }
        }
        let mean = (sum / f64::from(count)).exp();
        println!("fan-out {fanout:2}: {mean:.3}, at most {worst:.2}");
        assert!(fanout != u64::from(FANOUT) || (mean < 1.05 && worst < 1.3));
    }
}
