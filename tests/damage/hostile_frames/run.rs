//! Runs damaged frames in children, each for as many as it survives.

use super::damage::damage;
use super::exercise::{Fate, exercise};
use super::seeds::{self, Seed};
use oxiblosc_testing::data::{Rng, mix};
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::panics::assert_fatal;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Instant;

/// The most memory that a child may hold at any time.
const RESIDENT: u64 = 768 << 20;
/// Address space that a child may take; beyond it every allocation fails.
const ADDRESSES: u64 = 6 << 30;
/// Seconds that one frame may take, even on a busy machine.
const PATIENCE: u32 = 60;

fn number(name: &str, default: u64) -> u64 {
    match std::env::var(name) {
        Ok(value) => value.replace('_', "").parse().expect(name),
        Err(_) => default,
    }
}

/// Whether the sanitizer is there, whose shadow takes more addresses than any limit would leave it.
fn under_address_sanitizer() -> bool {
    // SAFETY: a C string; the address is only looked at.
    !unsafe { libc::dlsym(libc::RTLD_DEFAULT, c"__asan_init".as_ptr()) }.is_null()
}

/// What parent and children see both.
#[repr(C)]
struct SharedMemory {
    current: AtomicU64,
    fates: [AtomicU64; 3],
    resident: AtomicU64,
    slowest: AtomicU64,
}

fn shared() -> &'static SharedMemory {
    let (read_write, anonymous) = (
        libc::PROT_READ | libc::PROT_WRITE,
        libc::MAP_SHARED | libc::MAP_ANONYMOUS,
    );
    // SAFETY: a fresh mapping of zeros, large enough, never unmapped; zeros are valid atomics.
    unsafe {
        let place = libc::mmap(
            std::ptr::null_mut(),
            size_of::<SharedMemory>(),
            read_write,
            anonymous,
            -1,
            0,
        );
        assert_ne!(place, libc::MAP_FAILED, "shared memory");
        &*place.cast::<SharedMemory>()
    }
}

/// The damaged frame that is number `number`, and what it is done with.
fn one(lib: &'static SchunkLib, seeds: &[Seed], number: u64, path: &Path) -> Fate {
    let mut rng = Rng(mix(number ^ 0xF4A3E));
    let mut seed = seeds[rng.below(seeds.len())].clone();
    damage(&mut seed, lib, &mut rng);
    exercise(lib, &seed, path, &mut rng)
}

/// Works from `shared.current` on, up to `end`.
fn work(
    lib: &'static SchunkLib,
    seeds: &[Seed],
    end: u64,
    shared: &SharedMemory,
    path: &Path,
) -> Result<(), String> {
    let limit = libc::rlimit {
        rlim_cur: ADDRESSES,
        rlim_max: ADDRESSES,
    };
    if !under_address_sanitizer() {
        // SAFETY: this child's own limit.
        unsafe { libc::setrlimit(libc::RLIMIT_AS, &limit) };
    }
    while shared.current.load(Relaxed) < end {
        // SAFETY: this child's own clock.
        unsafe { libc::alarm(PATIENCE) };
        let begun = Instant::now();
        let fate = one(lib, seeds, shared.current.load(Relaxed), path);
        shared.fates[fate as usize].fetch_add(1, Relaxed);
        shared
            .slowest
            .fetch_max(begun.elapsed().as_millis() as u64, Relaxed);
        shared.current.fetch_add(1, Relaxed);
        // SAFETY: a struct of numbers, filled in by the call.
        let resident = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            libc::getrusage(libc::RUSAGE_SELF, &mut usage);
            1024 * usage.ru_maxrss as u64
        };
        if shared.resident.fetch_max(resident, Relaxed) < RESIDENT && resident >= RESIDENT {
            return Err(format!("{resident} bytes are resident"));
        }
    }
    Ok(())
}

#[test]
fn damaged_frames() {
    oxiblosc_testing::own_process!();
    assert_fatal();
    let lib = our_schunks();
    let folder = std::env::temp_dir().join(format!("oxiblosc-hostile-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let seeds = seeds::all(lib, &folder, true);
    let (first, count) = (
        number("OXIBLOSC_HOSTILE_FRAMES_FIRST", 0),
        number("OXIBLOSC_HOSTILE_FRAMES", 1000),
    );
    let shared = shared();
    shared.current.store(first, Relaxed);
    let mut report = Report::default();
    let begun = Instant::now();
    let path = folder.join("frame");
    while shared.current.load(Relaxed) < first + count {
        let end = isolated(PATIENCE, || work(lib, &seeds, first + count, shared, &path));
        if let Err(died) = end {
            let which = shared.current.load(Relaxed);
            report.fail(&died, format!("damaged frame {which}"));
            // One that died was not counted.
            shared.current.store(which + 1, Relaxed);
        }
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    let fates = shared.fates.each_ref().map(|fate| fate.load(Relaxed));
    let [refused, damaged, read] = fates;
    report.cases = count;
    println!(
        "{count} damaged frames of {} kinds in {:.1?}: {refused} refused, {damaged} opened and cannot all be read, {read} \
         can; the slowest took {} ms; {} MiB resident at most",
        seeds.len(),
        begun.elapsed(),
        shared.slowest.load(Relaxed),
        shared.resident.load(Relaxed) >> 20
    );
    report.finish("damaged frames");
    // Neither harmless nor all turned away at the door.
    assert!(
        count < 1000 || fates.iter().all(|&fate| fate > count / 50),
        "{fates:?}"
    );
}
