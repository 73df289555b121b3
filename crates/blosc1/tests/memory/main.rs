//! Lack of memory is an answer, not the end: calls with each allocation failing in turn, and with all failing from each on, return an
//! error or do without. `driver.c` makes them, with the allocator of `tests/memory` at the root.

#[path = "../library/common.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod common;
#[path = "../../../../tests/common/needs.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod needs;

use std::path::Path;
use std::process::Command;

#[test]
fn every_compressor_survives_every_failing_allocation() {
    let Some(library) = common::built("libblosc.so", "OXIBLOSC_BLOSC1_LIBRARY") else {
        panic!("cargo builds the library for its tests");
    };
    let folder = std::env::temp_dir().join(format!("oxiblosc1-memory-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let known = folder.join("libblosc.so.1");
    let _ = std::fs::remove_file(&known);
    std::os::unix::fs::symlink(library, &known).expect("a link");
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let root = here.join("../..");
    let program = folder.join("driver");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(root.join("include"))
        .arg(here.join("tests/memory/driver.c"))
        .arg(root.join("tests/memory/shim.c"))
        .arg(&known)
        .arg(format!("-Wl,-rpath,{}", folder.display()))
        .arg("-lpthread")
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the driver compiles"
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
