//! Without memory, calls return an error or succeed all the same: each allocation fails in turn,
//! and all fail from each one on. `driver.c` makes the calls, with the allocator of
//! `tests/programs/memory` at the root.

#[path = "../library/common.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod common;

use oxiblosc_testing::c_driver;
use std::path::Path;
use std::process::Command;

#[test]
fn every_compressor_survives_every_failing_allocation() {
    let Some(library) = common::built("libblosc.so", "OXIBLOSC_BLOSC1_LIBRARY") else {
        panic!("cargo builds the library for its tests");
    };
    let folder = std::env::temp_dir().join(format!("oxiblosc1-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let program = c_driver::compile(
        &folder,
        (&library, "libblosc.so.1"),
        &root.join("include"),
        [
            here.join("tests/memory/driver.c"),
            root.join("tests/programs/memory/shim.c"),
        ],
    );
    let output = Command::new(program)
        .env_remove("LD_PRELOAD")
        .output()
        .expect("the driver runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(output.status.success(), "{said}");
}
