#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::{available, run, run_tasks, shutdown};
use oxiblosc_error::Error;

/// Held by every test, since some count threads or call `shutdown`, which would stop the threads of the others.
static SERIAL: Mutex<()> = Mutex::new(());

fn serial() -> MutexGuard<'static, ()> {
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job like those of the engine: `blocks` blocks are claimed from a counter, and each is filled depending on its number only.
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

/// Whether `workers` threads are in one job at the same time. Each waits for the others, up to a timeout.
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

/// The number of threads of this process that a pool started, by their names. (The name of the test program begins like theirs.)
#[cfg(target_os = "linux")]
fn worker_threads() -> usize {
    let program = std::fs::read_to_string("/proc/self/comm").unwrap();
    std::fs::read_dir("/proc/self/task")
        .unwrap()
        .filter_map(|task| std::fs::read_to_string(task.ok()?.path().join("comm")).ok())
        .filter(|name| name.starts_with("blosc2-") && *name != program)
        .count()
}

#[test]
fn the_result_does_not_depend_on_the_threads() {
    let _serial = serial();
    let expected = fill(1, 1000);
    for nthreads in [0, 2, 3, 4, 8, 16] {
        assert_eq!(fill(nthreads, 1000), expected, "{nthreads} threads");
    }
}

#[test]
fn every_worker_can_be_there_at_once() {
    let _serial = serial();
    for nthreads in [2, 4, 8] {
        assert!(meet(nthreads, nthreads), "{nthreads} threads");
        assert_eq!(available(nthreads), nthreads);
    }
}

#[test]
fn indices_are_unique_and_in_range() {
    let _serial = serial();
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
fn no_more_workers_than_tasks() {
    let _serial = serial();
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
    let _serial = serial();
    let expected = fill(1, 50);
    let start = Barrier::new(40);
    // More callers than there are job slots.
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
        // Join them explicitly: race detectors do not understand the implicit join of the scope.
        for caller in (0..40).map(call).collect::<Vec<_>>() {
            caller.join().unwrap();
        }
    });
}

#[test]
fn runs_within_runs() {
    let _serial = serial();
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
    let _serial = serial();
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
fn a_panic_is_an_error_and_the_threads_survive() {
    let _serial = serial();
    for nthreads in [1, 2, 4] {
        let on_caller = run(nthreads, &|worker| {
            assert!(worker != 0, "on purpose, on the caller")
        });
        assert_eq!(on_caller, Err(Error::Failure));
    }
    let inside = AtomicUsize::new(0);
    let on_workers = run(4, &|worker| {
        let deadline = Instant::now() + Duration::from_secs(20);
        inside.fetch_add(1, Ordering::Relaxed);
        while inside.load(Ordering::Relaxed) < 4 && Instant::now() < deadline {
            thread::yield_now();
        }
        assert!(worker == 0, "on purpose, on a worker thread");
    });
    assert_eq!(on_workers, Err(Error::Failure));
    assert!(meet(4, 4));
}

#[test]
#[cfg(target_os = "linux")]
fn shutdown_ends_all_threads_and_a_run_starts_them_again() {
    let _serial = serial();
    for _ in 0..20 {
        assert!(meet(3, 3) && meet(2, 2));
        assert!(worker_threads() >= 3);
        shutdown();
        // The kernel removes a thread's entry in /proc a moment after the thread can be joined.
        let deadline = Instant::now() + Duration::from_secs(5);
        while worker_threads() > 0 && Instant::now() < deadline {
            thread::yield_now();
        }
        assert_eq!(worker_threads(), 0);
        shutdown();
    }
    assert!(meet(3, 3));
}

#[test]
fn shutdown_while_others_run() {
    let _serial = serial();
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
    let _serial = serial();
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
    let _serial = serial();
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
fn the_caller_sleeps_until_slow_workers_have_left() {
    let _serial = serial();
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

/// Worker threads block signals, and the caller's own mask does not change.
#[test]
#[cfg(target_os = "linux")]
fn worker_threads_block_signals() {
    let _serial = serial();
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
