//! Chunks, frames and arrays that releases 1.3.0 to 3.0.0 of the reference wrote.

use std::path::{Path, PathBuf};

/// The folder of the fixtures: the one that `OXIBLOSC_FIXTURES` names, or `shared/fixtures` beside the repository. `None`, with a line that says so,
/// where there is none: they belong to no package that CI could get them from, so there too their tests may do nothing.
pub fn fixtures() -> Option<PathBuf> {
    let folder = match std::env::var_os("OXIBLOSC_FIXTURES") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR"))
            .ancestors()
            .map(|folder| folder.join("shared/fixtures"))
            .find(|folder| folder.is_dir())
            .unwrap_or_default(),
    };
    if !folder.is_dir() {
        println!("skipped: no fixtures in shared/fixtures beside the repository");
        return None;
    }
    Some(folder)
}
