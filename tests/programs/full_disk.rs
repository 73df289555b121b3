//! A function that cannot write says so, with the reference's code: every function that changes a
//! frame in a file, a directory and a map is called when nothing more can be written. None ends the
//! process by a signal that the system sends for such a write.
//!
//! The calls are in C (`calls.c`), compiled here against our headers; the reference is put in front
//! of our library.

use oxiblosc_testing::c_driver;
use oxiblosc_testing::folder::{Folder, without_syncs};
use oxiblosc_testing::library::program_with;
use oxiblosc_testing::needs::reference_path;
use std::path::Path;

/// The lines of `calls.c`: what was called, and what it returned.
fn results(
    driver: &Path,
    folder: &Path,
    signals: Option<&str>,
    preload: Option<&Path>,
) -> Vec<(String, String)> {
    std::fs::create_dir_all(folder).expect("a folder");
    let output = program_with(driver, preload)
        .arg(folder)
        .args(signals)
        .output()
        .expect("the driver runs");
    assert!(output.status.success(), "the driver: {}", output.status);
    let lines = String::from_utf8(output.stdout).expect("text");
    let results = lines.lines().map(|line| {
        let (call, result) = line.rsplit_once(' ').expect("a call and its result");
        (call.to_owned(), result.to_owned())
    });
    results.collect()
}

/// A trace says what was asked for, of which frame, what was being done, and what the system said.
fn are_explained(driver: &Path, folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    let output = program_with(driver, None)
        .arg(folder)
        .arg("ignored")
        .env("BLOSC_TRACE", "1")
        .output()
        .expect("the driver runs");
    let traced = String::from_utf8(output.stderr).expect("text");
    for function in [
        "blosc2_schunk_append_buffer",
        "blosc2_schunk_insert_chunk",
        "blosc2_schunk_delete_chunk",
        "blosc2_schunk_set_slice_buffer",
        "blosc2_vlmeta_add",
        "b2nd_set_slice_cbuffer",
    ] {
        let lines = traced.lines().filter(|line| line.contains(function));
        let whole = lines.filter(|line| {
            let is_of_frame = line.contains(&*folder.to_string_lossy());
            is_of_frame && line.contains("writing ") && line.contains("(os error")
        });
        // Of a file and of a directory.
        assert!(whole.count() >= 2, "{function}: {traced}");
    }
}

#[test]
fn writes_that_fail_are_reported() {
    let folder = Folder(without_syncs().join(format!("oxiblosc-disk-{}", std::process::id())));
    std::fs::create_dir_all(&folder.0).expect("a folder");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let driver = c_driver::compile(
        &folder.0,
        (&oxiblosc_testing::library::ours_path(), "libblosc2.so.9"),
        &root.join("include"),
        [root.join("tests/programs/full_disk/calls.c")],
    );
    let ours = results(&driver, &folder.join("ours"), None, None);
    let ignored = Some("ignored");
    let same = results(&driver, &folder.join("same"), ignored, None);
    assert_eq!(ours, same, "with signals, and without");
    for (call, result) in &ours {
        let code = result.parse::<i64>().expect("a code: no call dies");
        assert!(code < 0, "{call}: {code}");
    }
    are_explained(&driver, &folder.join("traced"));
    let Some(reference) = reference_path() else {
        return;
    };
    let theirs = results(&driver, &folder.join("theirs"), ignored, Some(&reference));
    assert_eq!(ours.len(), theirs.len());
    let mut alike = 0;
    for ((call, ours), (_, theirs)) in ours.iter().zip(&theirs) {
        // The reference dies where a map that is only read is changed, and does not look whether a
        // shape was written.
        let lost = theirs == "died" || (call.ends_with("shrink_within") && theirs == "0");
        assert!(
            lost || ours == theirs,
            "{call}: {ours}, the reference {theirs}"
        );
        alike += usize::from(!lost);
    }
    assert!(alike > ours.len() / 2, "{alike} calls could be compared");
}
