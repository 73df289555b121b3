//! Folders for what tests write.

use std::fs;
use std::path::PathBuf;

/// Where syncs cost nothing, if there is such a place, for tests that have many; else where
/// temporary files are.
pub fn without_syncs() -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    }
}

/// A folder of a test's own, empty when it is made and removed when this is dropped.
pub struct Folder(pub PathBuf);

impl Folder {
    /// `name` tells it from the folders of other tests.
    pub fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("oxiblosc-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("a folder for temporary files");
        Self(path)
    }

    /// A path in it.
    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}
