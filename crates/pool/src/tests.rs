#[cfg(target_os = "linux")]
use std::sync::atomic::AtomicU64;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::job_slots::{self, JobSlots};
use super::{available, callback, registry, run, run_tasks, shutdown};
use oxiblosc_base::Error;

/// Held by every test, since some count threads or call `shutdown`, which would stop the threads of
/// the others.
static SERIAL: Mutex<()> = Mutex::new(());

fn serial() -> MutexGuard<'static, ()> {
    SERIAL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A job like those of the engine: `blocks` blocks are claimed from a counter, and each is filled
/// depending on its number only.
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

/// Whether `workers` threads are in one job at the same time. Each waits for the others, up to a
/// timeout.
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

/// The number of threads of this process that a pool started, by their names. (The name of the test
/// program begins like theirs.)
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

/// Jobs of no more tasks than processors get the same threads, however many were asked for.
#[cfg(target_os = "linux")]
#[test]
fn jobs_within_the_processors_share_threads() {
    let _serial = serial();
    let processors = super::processors();
    let meet = |nthreads, tasks| {
        let inside = Barrier::new(tasks);
        let wait = |_| {
            inside.wait();
        };
        callback::run_tasks(nthreads, tasks, &wait).unwrap();
    };
    shutdown();
    for nthreads in [processors, processors + 1, 64 * processors] {
        meet(nthreads, processors);
    }
    assert_eq!(worker_threads(), processors - 1);
    // Workers that may wait for something are as many as were asked for.
    meet(processors + 1, processors + 1);
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
        assert_eq!(on_caller, Err(Error::FAILURE));
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
    assert_eq!(on_workers, Err(Error::FAILURE));
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

/// Waits until the worker threads sleep, and says how often threads were woken so far.
fn settled(nthreads: usize) -> usize {
    thread::sleep(Duration::from_millis(5));
    registry::pool(nthreads).unwrap().wakeups()
}

/// A job wakes no more threads than it has work for, whatever number was asked for.
#[test]
fn wakeups_follow_the_work() {
    let _serial = serial();
    for nthreads in [2, 4, 8, 16, 64] {
        assert!(meet(nthreads, nthreads), "all threads are started");
        for tasks in [1, 2, 3, 8, 40] {
            for _ in 0..5 {
                let before = settled(nthreads);
                let inside = AtomicUsize::new(0);
                let most = tasks.min(nthreads);
                // No worker leaves before all have joined, so as many are woken as can be.
                let deadline = Instant::now() + Duration::from_secs(20);
                run_tasks(nthreads, tasks, &|_| {
                    inside.fetch_add(1, Ordering::Relaxed);
                    while inside.load(Ordering::Relaxed) < most && Instant::now() < deadline {
                        thread::yield_now();
                    }
                })
                .unwrap();
                let woken = settled(nthreads) - before;
                assert!(woken < most, "{woken} for {tasks} tasks of {nthreads}");
            }
        }
    }
}

/// The caller wakes a few threads and begins. What is done before these are there wakes no others.
#[test]
fn short_jobs_wake_few() {
    let _serial = serial();
    assert!(meet(64, 64), "all threads are started");
    let mut woken = Vec::new();
    for _ in 0..20 {
        let before = settled(64);
        run(64, &|_| {}).unwrap();
        woken.push(settled(64) - before);
    }
    let least = woken.iter().min().unwrap();
    assert!(*least <= job_slots::FANOUT as usize, "{woken:?}");
}

/// Some microseconds of work, the same code for any number of workers.
#[cfg(unix)]
#[inline(never)]
fn block() {
    for at in 0..20_000_u64 {
        std::hint::black_box(at);
    }
}

/// What one of many processes does: jobs of 16 blocks, some close upon each other and some not, by
/// `workers` workers on a machine that has a processor for each, as far as they know. Returns the
/// time of processors that it took.
#[cfg(unix)]
fn work_of_a_process(workers: usize) -> Duration {
    let slots = JobSlots::new(workers);
    let epoch = slots.epoch();
    thread::scope(|scope| {
        for _ in 1..workers {
            scope.spawn(|| slots.work(epoch));
        }
        for nth in 0..150 {
            let next = AtomicUsize::new(0);
            let job = |_| {
                while next.fetch_add(1, Ordering::Relaxed) < 16 {
                    block();
                }
            };
            match workers {
                1 => job(0),
                _ => assert!(slots.run(workers - 1, &job)),
            }
            if nth % 4 == 0 {
                thread::sleep(Duration::from_micros(200));
            }
        }
        slots.stop();
    });
    let mut used = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: `used` lives across the call.
    let rc = unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut used) };
    assert_eq!(rc, 0);
    Duration::new(used.tv_sec as u64, used.tv_nsec as u32)
}

/// Many processes with many threads each do not spend the processors on waiting.
#[cfg(unix)]
#[test]
fn many_processes_with_many_threads_do_not_spin() {
    const CHILD: &str = "OXIBLOSC_POOL_WORKERS";
    const NAME: &str = "tests::many_processes_with_many_threads_do_not_spin";
    if let Ok(workers) = std::env::var(CHILD) {
        let used = work_of_a_process(workers.parse().unwrap());
        println!("\nused {}", used.as_micros());
        return;
    }
    let _serial = serial();
    let processes = |workers: usize| -> u64 {
        let children: Vec<_> = (0..24)
            .map(|_| {
                std::process::Command::new(std::env::current_exe().unwrap())
                    .args(["--exact", NAME, "--nocapture"])
                    .env(CHILD, workers.to_string())
                    .stdout(std::process::Stdio::piped())
                    .spawn()
                    .unwrap()
            })
            .collect();
        let used = children.into_iter().map(|child| {
            let output = child.wait_with_output().unwrap();
            let text = String::from_utf8(output.stdout).unwrap();
            let line = text.lines().find_map(|line| line.strip_prefix("used "));
            line.unwrap().parse::<u64>().unwrap()
        });
        used.sum()
    };
    // A machine that is shared with others gives other times now and then, so a bad one is measured
    // again.
    let good = (0..4).any(|_| {
        let (one, many) = (processes(1), processes(16));
        println!("24 processes: {one} us with one thread each, {many} us with 16");
        10 * many < 16 * one
    });
    assert!(good, "threads that wait take processor time");
}
