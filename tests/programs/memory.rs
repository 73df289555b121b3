//! Lack of memory is an answer, not the end: every public function, with each allocation failing in
//! turn and with all failing from each on, returns `BLOSC2_ERROR_MEMORY_ALLOC` or NULL and leaves
//! everything as it was, or does without.
//!
//! The cases are in C, compiled here against our headers together with an allocator that fails
//! where it is told to; each runs in a process of its own. Here a few allocations of each case
//! fail; `OXIBLOSC_OOM=full` has all of them fail, and `OXIBLOSC_OOM_CASE=name` runs the cases
//! whose names contain `name` alone.

use oxiblosc_testing::c_driver;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the driver.
fn driver(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = ["shim", "harness", "chunks", "schunks", "arrays", "others"];
    c_driver::compile(
        folder,
        (&oxiblosc_testing::library::ours_path(), "libblosc2.so.9"),
        &root.join("include"),
        sources.map(|name| root.join(format!("tests/programs/memory/{name}.c"))),
    )
}

#[test]
fn every_function_survives_every_failing_allocation() {
    let folder = std::env::temp_dir().join(format!("oxiblosc-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let set = |name: &str| std::env::var(name).unwrap_or_default();
    let output = Command::new(driver(&folder))
        .arg(&folder)
        .arg(if set("OXIBLOSC_OOM") == "full" {
            "full"
        } else {
            "sample"
        })
        .arg(set("OXIBLOSC_OOM_CASE"))
        .env_remove("LD_PRELOAD")
        .output()
        .expect("the driver runs");
    let said = String::from_utf8_lossy(&output.stdout);
    println!("{said}");
    let _ = std::fs::remove_dir_all(&folder);
    assert!(output.status.success(), "{said}");
}
