//! Children of a process that compresses on other threads use the pool as if it were new.
#![cfg(unix)]

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use oxiblosc_pool::{available, process, run, shutdown};

/// Seconds after which a child that hangs is killed, and with it the test.
const PATIENCE: u32 = 60;

/// A small job; true when each of its blocks was done once.
fn works(nthreads: usize) -> bool {
    let next = AtomicUsize::new(0);
    let done = AtomicUsize::new(0);
    let ended = run(nthreads, &|_| {
        while next.fetch_add(1, Ordering::Relaxed) < 50 {
            done.fetch_add(1, Ordering::Relaxed);
        }
    });
    ended.is_ok() && done.into_inner() == 50
}

/// True when the process can have all `nthreads` workers in one job.
fn meets(nthreads: usize) -> bool {
    let inside = AtomicUsize::new(0);
    let ended = run(nthreads, &|_| {
        let deadline = Instant::now() + Duration::from_secs(20);
        inside.fetch_add(1, Ordering::Relaxed);
        while inside.load(Ordering::Relaxed) < nthreads && Instant::now() < deadline {
            thread::yield_now();
        }
    });
    ended.is_ok() && inside.into_inner() == nthreads
}

/// Forks; the child's exit status is whether `task` held there.
fn fork(task: impl FnOnce() -> bool) -> libc::pid_t {
    // SAFETY: the child calls nothing but the library and `_exit`; the C library keeps its
    // allocator usable there.
    unsafe {
        let child = libc::fork();
        assert!(child >= 0, "fork failed");
        if child == 0 {
            libc::alarm(PATIENCE);
            libc::_exit(i32::from(!task()));
        }
        child
    }
}

/// True when the child ended by itself, with status 0.
fn succeeded(child: libc::pid_t) -> bool {
    let mut status = 0;
    // SAFETY: `status` outlives the call.
    let ended = unsafe { libc::waitpid(child, &mut status, 0) };
    ended == child && libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
}

#[test]
fn a_child_has_a_pool_of_its_own() {
    oxiblosc_testing::own_process!();
    assert!(meets(3));
    assert!(succeeded(fork(|| meets(3) && meets(2))));
    assert!(meets(3), "the parent's helpers are still there");
}

#[test]
fn a_child_can_shut_down_before_and_after_its_first_run() {
    oxiblosc_testing::own_process!();
    assert!(meets(2));
    let task = || {
        shutdown();
        let works = meets(2);
        shutdown();
        works && meets(2)
    };
    assert!(succeeded(fork(task)));
}

#[test]
fn a_grandchild_too() {
    oxiblosc_testing::own_process!();
    assert!(meets(2));
    assert!(succeeded(fork(|| meets(2) && succeeded(fork(|| meets(2))))));
}

#[test]
fn a_child_knows_that_it_is_another_process() {
    oxiblosc_testing::own_process!();
    let parent = process();
    let task = || {
        let child = process();
        child != parent && succeeded(fork(|| ![parent, child].contains(&process())))
    };
    assert!(succeeded(fork(task)));
    assert_eq!(process(), parent);
}

#[test]
fn forks_while_other_threads_run_jobs() {
    oxiblosc_testing::own_process!();
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for nthreads in [2, 3] {
            let stop = &stop;
            scope.spawn(move || {
                while !stop.load(Ordering::Relaxed) {
                    assert!(works(nthreads));
                }
            });
        }
        for _ in 0..200 {
            assert!(succeeded(fork(|| works(2) && works(3))));
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// In a child, because the limit is the whole process's.
#[test]
#[cfg(target_os = "linux")]
fn fewer_threads_than_wanted_do_the_work() {
    oxiblosc_testing::own_process!();
    let task = || {
        let pages: u64 = std::fs::read_to_string("/proc/self/statm")
            .unwrap()
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        // Room for small things, not for a stack. (A few stacks of the parent's threads can be used
        // again.)
        let tight = libc::rlimit {
            rlim_cur: pages * 4096 + (4 << 20),
            rlim_max: libc::RLIM_INFINITY,
        };
        let wide = libc::rlimit {
            rlim_cur: libc::RLIM_INFINITY,
            ..tight
        };
        // SAFETY: the limits outlive the calls.
        let limit = |limit: &libc::rlimit| unsafe { libc::setrlimit(libc::RLIMIT_AS, limit) } == 0;
        let short = limit(&tight) && works(64) && available(64) < 64 && works(64);
        shutdown();
        short && limit(&wide) && meets(64) && available(64) == 64
    };
    assert!(succeeded(fork(task)));
}

/// As a user's prefilter might: the child gives up on the job with an error instead of waiting for
/// helpers that are not there, and can then run jobs of its own.
#[test]
fn forks_inside_a_job_on_the_caller() {
    oxiblosc_testing::own_process!();
    let inside = AtomicUsize::new(0);
    let child = AtomicUsize::new(0);
    let ended = run(2, &|worker| {
        inside.fetch_add(1, Ordering::Relaxed);
        let deadline = Instant::now() + Duration::from_secs(20);
        if worker == 0 {
            while inside.load(Ordering::Relaxed) < 2 && Instant::now() < deadline {
                thread::yield_now();
            }
            // SAFETY: as in `fork`, except that the child leaves the job first.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0);
            if pid == 0 {
                // SAFETY: no pointers involved.
                unsafe { libc::alarm(PATIENCE) };
            }
            child.store(pid as usize, Ordering::Relaxed);
        } else {
            while child.load(Ordering::Relaxed) == 0 && Instant::now() < deadline {
                thread::yield_now();
            }
        }
    });
    let child = child.into_inner() as libc::pid_t;
    if child == 0 {
        let reported = ended.is_err();
        let works = meets(2);
        // SAFETY: ends the child, which must not go on with the test run.
        unsafe { libc::_exit(i32::from(!(reported && works))) };
    }
    assert!(ended.is_ok());
    assert!(succeeded(child));
}

/// The helper's thread is the only one of such a child; when it lets it return from the job, the
/// process ends.
#[test]
fn forks_inside_a_job_on_a_helper() {
    oxiblosc_testing::own_process!();
    let child = AtomicUsize::new(0);
    let ended = run(2, &|worker| {
        let deadline = Instant::now() + Duration::from_secs(20);
        if worker == 0 {
            while child.load(Ordering::Relaxed) == 0 && Instant::now() < deadline {
                thread::yield_now();
            }
        } else {
            // SAFETY: the child does nothing but leave the job.
            let pid = unsafe { libc::fork() };
            assert!(pid >= 0);
            if pid == 0 {
                // SAFETY: no pointers involved.
                unsafe { libc::alarm(PATIENCE) };
            }
            child.store(pid as usize, Ordering::Relaxed);
        }
    });
    assert!(ended.is_ok());
    assert!(succeeded(child.into_inner() as libc::pid_t));
}
