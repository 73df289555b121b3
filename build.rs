//! Links the shared library under the reference's SONAME, so that it takes its place at run time, and without what it has no
//! use for: names in the backtraces of panics, a search of Zstd's.

use std::path::PathBuf;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let is = |name: &str, value: &str| std::env::var(name).as_deref() == Ok(value);
    if !is("CARGO_CFG_TARGET_OS", "linux") {
        return;
    }
    println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libblosc2.so.9");
    // Worker threads may be parked in the library when a program calls dlclose: it stays mapped.
    println!("cargo::rustc-cdylib-link-arg=-Wl,-z,nodelete");
    if is("CARGO_CFG_TARGET_ARCH", "x86_64") {
        if let Some(printer) = printer_of_backtraces() {
            replace(&printer, "oxiblosc_prints_nothing");
        }
        spare_dedicated_dictionaries();
    }
}

/// Has the linker take one function for another, and leave out what only that one calls.
fn replace(function: &str, other: &str) {
    println!("cargo::rustc-cdylib-link-arg=-Wl,--defsym={function}={other}");
}

/// Leaves out what Zstd does with dictionaries that were prepared for a dedicated search, which has to be asked for
/// (`ZSTD_c_enableDedicatedDictSearch`) and never is: 54 KB that its tables of functions refer to. The functions in their
/// stead take the same arguments.
fn spare_dedicated_dictionaries() {
    for strategy in ["greedy", "lazy", "lazy2"] {
        for rows in ["", "_row"] {
            let function = format!("ZSTD_compressBlock_{strategy}_dedicatedDictSearch{rows}");
            replace(
                &function,
                &format!("ZSTD_compressBlock_{strategy}_dictMatchState{rows}"),
            );
        }
    }
}

/// The symbol of the standard library's function that prints a backtrace, `fmt` of a type that nothing else uses.
///
/// It brings with it readers of ELF, of DWARF, of compressed sections and of mangled names: 200 KB, a twelfth of the library,
/// for the names of functions that an installed library, being stripped, does not have. No option of a stable compiler leaves
/// that out, so the linker is told that the function is `oxiblosc_prints_nothing` (`src/panics.rs`), and drops the rest for want
/// of a caller. Where there is no such symbol, the library is larger and nothing else.
fn printer_of_backtraces() -> Option<String> {
    let output = Command::new(std::env::var_os("RUSTC")?)
        .args(["--print", "target-libdir", "--target"])
        .arg(std::env::var_os("TARGET")?)
        .output()
        .ok()?;
    let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end());
    let name_of = |path: &PathBuf| path.file_name()?.to_str().map(str::to_owned);
    let path = std::fs::read_dir(folder)
        .ok()?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .find(|path| {
            name_of(path).is_some_and(|name| name.starts_with("libstd-") && name.ends_with(".rlib"))
        })?;
    let library = std::fs::read(path).ok()?;
    let needle = b"13BacktraceLock5printNtB2_16DisplayBacktraceNt";
    let at = library
        .windows(needle.len())
        .position(|window| window == needle)?;
    let of_a_name = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
    let before = library[..at].iter().rev().take_while(|b| of_a_name(b));
    let behind = library[at..].iter().take_while(|b| of_a_name(b));
    let name = &library[at - before.count()..at + behind.count()];
    let name = std::str::from_utf8(name).ok()?;
    (name.starts_with("_RNvX") && name.ends_with("3fmt7Display3fmt")).then(|| name.to_owned())
}
