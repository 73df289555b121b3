//! Chunks, frames and arrays that releases 1.3.0 to 3.0.0 of the reference wrote.

use super::needs::skip;
use std::path::{Path, PathBuf};

/// The folder of the fixtures: the one that `OXIBLOSC_FIXTURES` names, or `shared/fixtures` beside
/// the repository or above it. `None`, and the test is skipped, where there is none.
///
/// # Panics
/// In CI, instead of `None`.
#[track_caller]
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
        skip(
            "no fixtures in shared/fixtures beside the repository, or where OXIBLOSC_FIXTURES says",
        );
        return None;
    }
    Some(folder)
}
