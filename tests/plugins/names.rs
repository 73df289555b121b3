//! Names and ids of the registered codecs, and what happens where a plugin is not installed.

use crate::{again, succeeds};
use core::ffi::{c_char, c_int};
use oxiblosc_testing::abi::*;
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::library::{Lib, both, ours};
use std::ffi::{CStr, CString};

fn name_of(lib: &Lib, compcode: c_int) -> (c_int, Option<CString>) {
    let mut name: *const c_char = std::ptr::null();
    // SAFETY: a place for the name, which is the library's.
    unsafe {
        let rc = (lib.f.blosc2_compcode_to_compname)(compcode, &raw mut name);
        (
            rc,
            (!name.is_null()).then(|| CStr::from_ptr(name).to_owned()),
        )
    }
}

#[test]
fn codecs_have_the_same_names_and_libraries() {
    let Some((ours, reference)) = both() else {
        return;
    };
    let mut named = 0;
    for compcode in 0..60 {
        let mine = name_of(ours, compcode);
        assert_eq!(mine, name_of(reference, compcode), "{compcode}");
        let Some(name) = mine.1 else {
            continue;
        };
        named += 1;
        let of = |lib: &Lib| {
            let mut places: [*mut c_char; 2] = [std::ptr::null_mut(); 2];
            let [library, version] = &mut places;
            // SAFETY: a C string and two places; what comes back is freed once.
            unsafe {
                let code = (lib.f.blosc2_compname_to_compcode)(name.as_ptr());
                let rc = (lib.f.blosc2_get_complib_info)(name.as_ptr(), library, version);
                let texts = places.map(|text| {
                    let copy = (!text.is_null()).then(|| CStr::from_ptr(text).to_owned());
                    libc::free(text.cast());
                    copy
                });
                (
                    code,
                    rc,
                    texts[0].clone(),
                    compcode > 5 && texts[1].is_some(),
                )
            }
        };
        assert_eq!(of(ours), of(reference), "{name:?}");
        assert_eq!(of(ours).0, compcode);
    }
    assert_eq!(named, 14);
}

/// Tries a plugin that is not there, in a process in which no Python is found.
#[test]
fn a_missing_plugin_is_an_error_and_says_what_to_install() {
    const CHILD: &str = "OXIBLOSC_TEST_MISSING_PLUGIN";
    if std::env::var_os(CHILD).is_none() {
        let mut child = again(
            "names::a_missing_plugin_is_an_error_and_says_what_to_install",
            CHILD,
            "1",
        );
        child.env("BLOSC_TRACE", "1").env("PATH", "/nowhere");
        let errors = succeeds(child);
        for name in ["openhtj2k", "grok", "openzl", "j2k", "htj2k", "btune"] {
            assert!(
                errors.contains(&format!("pip install blosc2-{name}")),
                "{name}: {errors}"
            );
        }
        return;
    }
    let ours = ours();
    let src = Kind::WalkInt32.bytes(10_000, 1);
    for compcode in 36..=40 {
        let cparams = CParams {
            compcode,
            typesize: 4,
            filters: [0; 6],
            ..CParams::default()
        };
        assert_eq!(ours.compress(&cparams, &src).0, -7, "{compcode}");
        // A chunk that says it is of that codec.
        let (rc, mut chunk) = ours.compress(
            &CParams {
                compcode: ZSTD,
                ..cparams
            },
            &src,
        );
        assert!(rc > 0);
        chunk[2] = chunk[2] & 0x1f | 6 << 5;
        chunk[22] = compcode;
        assert_eq!(ours.decompress(&chunk, src.len(), 2).0, -7, "{compcode}");
    }
    let tuned = CParams {
        tuner_id: 32,
        ..CParams::default()
    };
    assert!(ours.cctx(&tuned).is_none());
}
