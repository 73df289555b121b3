//! The C headers in `include/`: that they are what the Rust sources say, that every dialect of C
//! and C++ takes them, and that what the hand-written fragments do is what the reference's headers
//! do.

mod abi;
mod builders;
mod compile;
mod exports;
mod generate;
mod granted;

use std::fs;
use std::path::PathBuf;

/// `OXIBLOSC_UPDATE_HEADERS=1` writes the headers in place of comparing them.
#[test]
fn committed_headers_are_current() {
    let update = std::env::var_os("OXIBLOSC_UPDATE_HEADERS").is_some();
    let mut stale = Vec::new();
    for (path, text) in generate::all() {
        let file = generate::root().join("include").join(path);
        if fs::read_to_string(&file).is_ok_and(|committed| committed == text) {
            continue;
        }
        if update {
            fs::create_dir_all(file.parent().expect("a header lies in a folder"))
                .expect("include/ can be made");
            fs::write(&file, text).expect("include/ can be written");
            println!("wrote include/{path}");
        } else {
            stale.push(path);
        }
    }
    let mut found: Vec<PathBuf> = Vec::new();
    for folder in ["include", "include/blosc2"] {
        let entries =
            fs::read_dir(generate::root().join(folder)).expect("the headers are committed");
        found.extend(
            entries
                .map(|entry| entry.expect("a readable folder").path())
                .filter(|path| path.is_file()),
        );
    }
    assert_eq!(
        found.len(),
        generate::paths().count(),
        "a header is left over: {found:?}"
    );
    assert!(
        stale.is_empty(),
        "{stale:?} differ from what src/capi says: run OXIBLOSC_UPDATE_HEADERS=1 cargo test --test headers"
    );
}
