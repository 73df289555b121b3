use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{available, run, run_tasks, shutdown};
use oxiblosc_error::Error;

/// For the tests that need the helpers for themselves; the others hold it too, so that no `shutdown` takes theirs away.
static ALONE: Mutex<()> = Mutex::new(());

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job as the engine's: `blocks` blocks claimed from a counter, each filled with what depends on its number only.
fn fill(nthreads: usize, blocks: usize) -> Vec<u64> {
    let next = AtomicUsize::new(0);
    let out: Vec<Mutex<u64>> = (0..blocks).map(|_| Mutex::new(0)).collect();
    run(nthreads, &|_| {
        while let Some(cell) = out.get(next.fetch_add(1, Ordering::Relaxed)) {
            let block = std::ptr::from_ref(cell).addr() - out.as_ptr().addr();
            *cell.try_lock().unwrap() += (block as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        }
    })
    .unwrap();
    out.into_iter()
        .map(|cell| cell.into_inner().unwrap())
        .collect()
}

/// Waits until `workers` threads are in one job, or gives up: proof that so many really take part.
fn meet(nthreads: usize, workers: usize) -> bool {
    let inside = AtomicUsize::new(0);
    let met = AtomicBool::new(false);
    run(nthreads, &|_| {
        let deadline = Instant::now() + Duration::from_secs(20);
        inside.fetch_add(1, Ordering::Relaxed);
        while inside.load(Ordering::Relaxed) < workers && Instant::now() < deadline {
            thread::yield_now();
        }
        if inside.load(Ordering::Relaxed) >= workers {
            met.store(true, Ordering::Relaxed);
        }
    })
    .unwrap();
    met.into_inner()
}

/// Threads of this process that the pool started, by their names. (The test program's own name begins like theirs.)
#[cfg(target_os = "linux")]
fn helpers_alive() -> usize {
    let program = std::fs::read_to_string("/proc/self/comm").unwrap();
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.starts_with("blosc2-") && *name != program)
        .count()
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let _alone = alone();
    let expected = fill(1, 1000);
    for nthreads in [0, 2, 3, 4, 8, 16] {
        assert_eq!(fill(nthreads, 1000), expected, "{nthreads} threads");
    }
}

#[test]
fn every_worker_can_be_there_at_once() {
    let _alone = alone();
    for nthreads in [2, 4, 8] {
        assert!(meet(nthreads, nthreads), "{nthreads} threads");
        assert_eq!(available(nthreads), nthreads);
    }
}

#[test]
fn indices_are_unique_and_in_range() {
    let _alone = alone();
    for _ in 0..2000 {
        let given: [AtomicUsize; 4] = Default::default();
        let next = AtomicUsize::new(0);
        run(4, &|worker| {
            given[worker].fetch_add(1, Ordering::Relaxed);
            while next.fetch_add(1, Ordering::Relaxed) < 8 {}
        })
        .unwrap();
        let given = given.map(AtomicUsize::into_inner);
        assert_eq!(given[0], 1);
        assert!(given.iter().all(|&times| times <= 1), "{given:?}");
    }
}

#[test]
fn no_more_helpers_than_tasks() {
    let _alone = alone();
    for tasks in 0..4 {
        for _ in 0..200 {
            let calls = AtomicUsize::new(0);
            run_tasks(8, tasks, &|_| {
                calls.fetch_add(1, Ordering::Relaxed);
            })
            .unwrap();
            assert!((1..=tasks.max(1)).contains(&calls.into_inner()));
        }
    }
}

#[test]
fn many_callers_at_once() {
    let _alone = alone();
    let expected = fill(1, 50);
    let start = Barrier::new(40);
    // More callers than the board has slots.
    thread::scope(|scope| {
        let (start, expected) = (&start, &expected);
        let call = |caller: usize| {
            scope.spawn(move || {
                start.wait();
                for _ in 0..100 {
                    assert_eq!(&fill(2 + caller % 3, 50), expected);
                }
            })
        };
        // Joined one by one: race detectors see the end of a thread that way, and not through the scope.
        for caller in (0..40).map(call).collect::<Vec<_>>() {
            caller.join().unwrap();
        }
    });
}

#[test]
fn runs_within_runs() {
    let _alone = alone();
    let leaves = AtomicUsize::new(0);
    let (outer, inner) = (AtomicUsize::new(0), AtomicUsize::new(0));
    run(4, &|_| {
        while outer.fetch_add(1, Ordering::Relaxed) < 100 {
            let next = AtomicUsize::new(0);
            run(4, &|_| {
                while next.fetch_add(1, Ordering::Relaxed) < 10 {
                    run(3, &|worker| {
                        if worker == 0 {
                            inner.fetch_add(1, Ordering::Relaxed);
                        }
                    })
                    .unwrap();
                    leaves.fetch_add(1, Ordering::Relaxed);
                }
            })
            .unwrap();
        }
    })
    .unwrap();
    assert_eq!(leaves.into_inner(), 1000);
    assert_eq!(inner.into_inner(), 1000);
}

#[test]
fn runs_nested_deeper_than_the_slots() {
    let _alone = alone();
    fn descend(depth: usize, reached: &AtomicUsize) {
        run(2, &|worker| {
            if worker == 0 {
                reached.fetch_max(depth, Ordering::Relaxed);
                if depth < 100 {
                    descend(depth + 1, reached);
                }
            }
        })
        .unwrap();
    }
    let reached = AtomicUsize::new(0);
    descend(1, &reached);
    assert_eq!(reached.into_inner(), 100);
}

#[test]
fn a_panic_is_an_error_and_the_helpers_live_on() {
    let _alone = alone();
    for nthreads in [1, 2, 4] {
        let on_caller = run(nthreads, &|worker| {
            assert!(worker != 0, "on purpose, on the caller")
        });
        assert_eq!(on_caller, Err(Error::Failure));
    }
    let inside = AtomicUsize::new(0);
    let on_helpers = run(4, &|worker| {
        let deadline = Instant::now() + Duration::from_secs(20);
        inside.fetch_add(1, Ordering::Relaxed);
        while inside.load(Ordering::Relaxed) < 4 && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(worker == 0, "on purpose, on a helper");
    });
    assert_eq!(on_helpers, Err(Error::Failure));
    assert!(meet(4, 4));
}

#[test]
#[cfg(target_os = "linux")]
fn shutdown_ends_all_helpers_and_a_run_starts_them_again() {
    let _alone = alone();
    for _ in 0..20 {
        assert!(meet(3, 3) && meet(2, 2));
        assert!(helpers_alive() >= 3);
        shutdown();
        // The kernel lets go of a thread's entry a moment after it can be joined.
        let deadline = Instant::now() + Duration::from_secs(5);
        while helpers_alive() > 0 && Instant::now() < deadline {
            thread::yield_now();
        }
        assert_eq!(helpers_alive(), 0);
        shutdown();
    }
    assert!(meet(3, 3));
}

#[test]
fn shutdown_while_others_run() {
    let _alone = alone();
    let expected = fill(1, 20);
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        let (stop, expected) = (&stop, &expected);
        let callers = [2, 2, 3].map(|nthreads| {
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    assert_eq!(&fill(nthreads, 20), expected);
                }
            })
        });
        for _ in 0..100 {
            shutdown();
            thread::sleep(Duration::from_micros(300));
        }
        stop.store(true, Ordering::Relaxed);
        for caller in callers {
            caller.join().unwrap();
        }
    });
    shutdown();
    assert!(meet(3, 3));
}

#[test]
fn shutdown_from_inside_a_job() {
    let _alone = alone();
    for shutting in [0, 1] {
        let inside = AtomicUsize::new(0);
        run(3, &|worker| {
            let deadline = Instant::now() + Duration::from_secs(20);
            inside.fetch_add(1, Ordering::Relaxed);
            while inside.load(Ordering::Relaxed) < 3 && Instant::now() < deadline {
                thread::yield_now();
            }
            if worker == shutting {
                shutdown();
            }
        })
        .unwrap();
        assert!(meet(3, 3));
    }
}

#[test]
fn thousands_of_tiny_jobs() {
    let _alone = alone();
    let calls = AtomicUsize::new(0);
    for _ in 0..20_000 {
        run(2, &|worker| {
            if worker == 0 {
                calls.fetch_add(1, Ordering::Relaxed);
            }
        })
        .unwrap();
    }
    assert_eq!(calls.into_inner(), 20_000);
}

#[test]
fn the_caller_sleeps_until_slow_helpers_are_out() {
    let _alone = alone();
    let slow = AtomicUsize::new(0);
    let inside = AtomicUsize::new(0);
    run(3, &|worker| {
        let deadline = Instant::now() + Duration::from_secs(20);
        inside.fetch_add(1, Ordering::Relaxed);
        while inside.load(Ordering::Relaxed) < 3 && Instant::now() < deadline {
            thread::yield_now();
        }
        if worker != 0 {
            thread::sleep(Duration::from_millis(20));
            slow.fetch_add(1, Ordering::Relaxed);
        }
    })
    .unwrap();
    assert_eq!(slow.into_inner(), 2);
}

/// A signal sent to the process is never taken by a helper, and the caller's own mask is as before.
#[test]
#[cfg(target_os = "linux")]
fn helpers_take_no_signals() {
    let _alone = alone();
    let mask = |thread: &str| {
        let status = std::fs::read_to_string(format!("/proc/{thread}/status")).unwrap();
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("SigBlk:"))
            .unwrap();
        u64::from_str_radix(line.trim(), 16).unwrap()
    };
    let before = mask("thread-self");
    shutdown();
    let blocked = AtomicU64::new(0);
    let inside = AtomicUsize::new(0);
    run(2, &|worker| {
        let deadline = Instant::now() + Duration::from_secs(20);
        inside.fetch_add(1, Ordering::Relaxed);
        while inside.load(Ordering::Relaxed) < 2 && Instant::now() < deadline {
            thread::yield_now();
        }
        if worker != 0 {
            blocked.store(mask("thread-self"), Ordering::Relaxed);
        }
    })
    .unwrap();
    assert_eq!(mask("thread-self"), before);
    let bit = |signal: i32| 1u64 << (signal - 1);
    let blocked = blocked.into_inner();
    for signal in [
        libc::SIGINT,
        libc::SIGTERM,
        libc::SIGALRM,
        libc::SIGCHLD,
        libc::SIGUSR1,
        libc::SIGPROF,
    ] {
        assert_ne!(blocked & bit(signal), 0, "signal {signal}");
    }
    assert_eq!(blocked & bit(libc::SIGSEGV), 0);
}
