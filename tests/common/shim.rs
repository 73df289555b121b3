//! A library that goes in front of the C library, to make calls fail or to log them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles the C file `source`, which is named from the folder of the tests, into `folder`.
pub fn compile(source: &str, folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests")
        .join(source);
    let library = folder.join("shim.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the shim compiles"
    );
    library
}
