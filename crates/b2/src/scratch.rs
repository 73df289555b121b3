//! Folders for what is not finished. They go away with the value, and when a signal ends the program.

use crate::system;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a name that is taken is replaced by another.
const TRIES: usize = 100;

/// The folders there are. Locked while one is made, so that a signal finds either none or the whole entry.
static FOLDERS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<PathBuf>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that only this user can look into.
pub struct Scratch(PathBuf);

impl Scratch {
    /// A new one in `parent`. Its name is short, whatever is to be made in it.
    pub fn new(parent: &Path) -> io::Result<Self> {
        system::before_end(end);
        let mut folders = folders();
        for _ in 0..TRIES {
            let path = parent.join(format!(
                ".b2-{:016x}",
                RandomState::new().build_hasher().finish()
            ));
            match system::create_private_dir(&path) {
                Ok(()) => {
                    folders.push(path.clone());
                    return Ok(Self(path));
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let mut folders = folders();
        // What cannot be removed stays; there is nobody to tell.
        let _ = std::fs::remove_dir_all(&self.0);
        folders.retain(|path| *path != self.0);
    }
}

/// Removes all folders. They stay locked, so that no more are made.
fn end() {
    let folders = folders();
    for folder in folders.iter() {
        // The other threads go on, and may put a file into a folder that is being removed.
        for _ in 0..TRIES {
            match std::fs::remove_dir_all(folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
    }
    std::mem::forget(folders);
}
