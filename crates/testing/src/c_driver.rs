//! Programs in C that a test compiles, linked to one of our libraries by the name that programs
//! know it by.

use std::path::{Path, PathBuf};
use std::process::Command;

/// Compiles these sources with our headers in `include` into `folder`, where the library gets the
/// name `known`. Gives the program.
pub fn compile(
    folder: &Path,
    (library, known): (&Path, &str),
    include: &Path,
    sources: impl IntoIterator<Item = PathBuf>,
) -> PathBuf {
    let program = folder.join("driver");
    let known = folder.join(known);
    let _ = std::fs::remove_file(&known);
    std::os::unix::fs::symlink(library, &known).expect("a link");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let status = Command::new(compiler)
        .args(["-O1", "-Wall", "-Wextra", "-Werror", "-o"])
        .arg(&program)
        .arg("-I")
        .arg(include)
        .args(sources)
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
