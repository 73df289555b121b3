//! Lack of memory is an answer, not the end: every public function, with each allocation failing in turn and with all
//! failing from each on, returns `BLOSC2_ERROR_MEMORY_ALLOC` or NULL and leaves everything as it was, or does without.
//!
//! The cases are in C, compiled here against our headers together with an allocator that fails where it is told to; each
//! runs in a process of its own. Here a few allocations of each case fail; `OXIBLOSC_OOM=full` has all of them fail, and
//! `OXIBLOSC_OOM_CASE=name` runs the cases whose names contain `name` alone.

#[path = "../common/mod.rs"]
mod common;

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the driver, and links it to our library by the name that programs know it by.
fn driver(folder: &Path) -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let program = folder.join("driver");
    let known = folder.join("libblosc2.so.9");
    let _ = std::fs::remove_file(&known);
    std::os::unix::fs::symlink(common::library::ours_path(), &known).expect("a link");
    let sources = ["shim", "harness", "chunks", "schunks", "arrays", "others"];
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(root.join("include"))
        .args(sources.map(|name| root.join(format!("tests/memory/{name}.c"))))
        .arg(&known)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .arg("-lpthread")
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the driver compiles"
    );
    program
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
