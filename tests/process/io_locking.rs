//! Who asks for frames to be locked: the parameters of files, or the environment.

use blosc2::capi::io::locking;
use blosc2::capi::types::{blosc2_io, blosc2_stdio_params};
use std::ptr::null_mut;

/// One test: the environment belongs to the whole process.
#[test]
fn who_asks_for_locks() {
    oxiblosc_testing::own_process!();
    let asked = |params: *mut blosc2_stdio_params, id: u8| {
        let io = blosc2_io {
            id,
            params: params.cast(),
            ..blosc2_io::defaults()
        };
        // SAFETY: the parameters are those of files, or not looked at.
        unsafe { locking(&io) }
    };
    let mut yes = blosc2_stdio_params { locking: true };
    let mut no = blosc2_stdio_params { locking: false };
    assert!(asked(&mut yes, 0) && !asked(&mut no, 0) && !asked(null_mut(), 0));
    assert!(!asked(&mut yes, 1) && !asked(&mut yes, 200));
    for (value, expected) in [("1", true), ("0", false), ("", false), ("no", true)] {
        // SAFETY: no other test of this process reads the environment.
        unsafe { std::env::set_var("BLOSC_LOCKING", value) };
        assert_eq!(asked(&mut no, 0), expected, "{value:?}");
        assert!(asked(&mut yes, 0) && !asked(&mut no, 1));
        // SAFETY: null means files.
        assert_eq!(unsafe { locking(std::ptr::null()) }, expected);
    }
    // SAFETY: as above.
    unsafe { std::env::remove_var("BLOSC_LOCKING") };
}
