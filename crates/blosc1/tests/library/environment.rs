//! Environment variables: each value has the effect that it has on c-blosc.

use super::common::{Alone, Lib, both, set_variable};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::isolated;
use std::ffi::{CStr, c_int};
use std::io::Read;
use std::os::fd::FromRawFd;

const VARIABLES: [(&CStr, &[&str]); 8] = [
    (
        c"BLOSC_CLEVEL",
        &["0", "1", "9", " 7x", "-1", "", "abc", "10", "22"],
    ),
    (
        c"BLOSC_SHUFFLE",
        &["NOSHUFFLE", "SHUFFLE", "BITSHUFFLE", "shuffle", "2", ""],
    ),
    (
        c"BLOSC_TYPESIZE",
        &["1", "2", "22", "0", "-4", "255", "256", "8 "],
    ),
    (c"BLOSC_COMPRESSOR", &["lz4", "lz4hc", "LZ4", "", "none"]),
    (
        c"BLOSC_BLOCKSIZE",
        &["4096", "1", "22", "0", "-1", "200000", "x"],
    ),
    (c"BLOSC_NTHREADS", &["1", "2", "4", "0", "-2", "22", "257"]),
    (
        c"BLOSC_SPLITMODE",
        &["ALWAYS", "NEVER", "AUTO", "FORWARD_COMPAT", "auto", ""],
    ),
    (c"BLOSC_NOLOCK", &["", "0", "1"]),
];

/// The results of the calls while a variable is set, and the settings afterwards.
fn with_variable(lib: &Lib, data: &[u8], compressor: &CStr) -> (Vec<(c_int, Vec<u8>)>, [c_int; 2]) {
    lib.set_compressor(compressor);
    // Enough room for everything, so that the result does not depend on threads.
    let compressed = lib.compress_global((5, 1, 4), data, 2 * data.len());
    let mut results = vec![compressed.clone()];
    if compressed.0 > 0 {
        results.push(lib.decompress_global(&compressed.1, data.len()));
    }
    // SAFETY: plain settings.
    let left = unsafe { [(lib.f.blosc_get_nthreads)(), (lib.f.blosc_get_blocksize)()] };
    (results, left)
}

fn check(
    both: (&Lib, &Lib, Alone),
    (name, value): (&CStr, &str),
    also: Option<(&CStr, &str)>,
    data: &[u8],
) -> Alone {
    let (ours, reference, alone) = both;
    set_variable(name, Some(value));
    if let Some((other, value)) = also {
        set_variable(other, Some(value));
    }
    let [(results, left), (expected, theirs)] =
        [ours, reference].map(|lib| with_variable(lib, data, c"lz4"));
    set_variable(name, None);
    if let Some((other, _)) = also {
        set_variable(other, None);
    }
    let codes =
        |results: &[(c_int, Vec<u8>)]| results.iter().map(|result| result.0).collect::<Vec<_>>();
    assert_eq!(codes(&results), codes(&expected), "{name:?}={value}");
    assert!(results == expected, "{name:?}={value} {also:?}");
    assert_eq!(left, theirs, "{name:?}={value}");
    alone
}

#[test]
fn each_variable_does_what_it_does_to_c_blosc() {
    let data = Kind::WalkInt32.bytes(700_000, 4);
    for (name, values) in VARIABLES {
        for value in values {
            let Some(libs) = both() else { return };
            drop(check(libs, (name, value), None, &data));
            // Without its lock c-blosc takes another path.
            let Some(libs) = both() else { return };
            drop(check(
                libs,
                (name, value),
                Some((c"BLOSC_NOLOCK", "1")),
                &data,
            ));
        }
    }
}

/// What a call writes to stderr, in a process of its own.
fn complaint(lib: &'static Lib, capacity: usize, level: &str) -> String {
    let mut ends = [0; 2];
    // SAFETY: two places for two descriptors.
    assert_eq!(unsafe { libc::pipe(ends.as_mut_ptr()) }, 0);
    let child = isolated::start(60, || {
        set_variable(c"BLOSC_WARN", Some(level));
        // SAFETY: both are open.
        unsafe { libc::dup2(ends[1], libc::STDERR_FILENO) };
        lib.compress_global((5, 1, 4), &[1; 1000], capacity);
        Ok(())
    });
    // SAFETY: only the child needs this end now. The other end is read until the child closes its
    // own.
    let mut from = unsafe {
        libc::close(ends[1]);
        std::fs::File::from_raw_fd(ends[0])
    };
    child.join().expect("the child compresses");
    let mut said = String::new();
    from.read_to_string(&mut said).expect("text");
    said
}

#[test]
fn warnings_come_when_they_are_asked_for() {
    let Some((ours, reference, _alone)) = both() else {
        return;
    };
    for lib in [ours, reference] {
        for (capacity, level, expected) in [
            (10, "1", true),
            (10, "10", true),
            (10, "0", false),
            (10, "x", false),
            (2000, "1", false),
        ] {
            let said = complaint(lib, capacity, level);
            assert_eq!(
                !said.is_empty(),
                expected,
                "{}: BLOSC_WARN={level}, {capacity} bytes: {said}",
                lib.name
            );
        }
    }
}
