//! A library that goes in front of the C library, to make calls fail or to log them.

use std::path::{Path, PathBuf};
use std::process::Command;

/// The shim that puts a link in the place of a directory.
pub const EXCHANGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/c/exchange.c");

/// Compiles the C file `source`, which may include `shim.h`, into `folder`.
pub fn compile(source: impl AsRef<Path>, folder: &Path) -> PathBuf {
    let library = folder.join("shim.so");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-shared", "-fPIC", "-O1", "-I"])
        .arg(concat!(env!("CARGO_MANIFEST_DIR"), "/c"))
        .arg("-o")
        .args([&library, source.as_ref()])
        .arg("-ldl")
        .status();
    assert!(
        status.is_ok_and(|status| status.success()),
        "the shim compiles"
    );
    library
}
