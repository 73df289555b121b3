//! Temporary folders for unfinished outputs. They are removed when the value is dropped, and when a signal ends the program.

use crate::system::{self, Reserve};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often something is tried: names that may be taken, and removing a folder while another thread writes to it.
const TRIES: usize = 100;

/// All folders, each with descriptors that are closed to remove it if the process may open no more files. Locked while a folder is made,
/// so that a signal finds either no folder or its complete entry.
static FOLDERS: Mutex<Vec<(PathBuf, Reserve)>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<(PathBuf, Reserve)>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A temporary folder that only this user can look into.
pub struct ScratchFolder {
    path: PathBuf,
    /// Whether it is not removed, since it contains something that must not be lost.
    kept: bool,
}

impl ScratchFolder {
    /// A new folder in `parent`.
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
                    let reserve = system::reserve(&path).inspect_err(|_| {
                        let _ = std::fs::remove_dir(&path);
                    })?;
                    folders.push((path.clone(), reserve));
                    return Ok(Self { path, kept: false });
                }
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The path of a file in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Runs `change`, during which the folder contains something that must not be lost: no signal ends the program until it returns.
    /// `change` returns its result, and whether something was left in the folder, which is then never removed.
    pub fn guarded<T>(&mut self, change: impl FnOnce() -> (T, bool)) -> T {
        let mut folders = folders();
        let (result, keep) = change();
        if keep {
            self.kept = true;
            folders.retain(|(path, _)| *path != self.path);
        }
        result
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if self.kept {
            return;
        }
        let mut folders = folders();
        folders.retain(|(path, _)| *path != self.path);
        // `drop` cannot report that this failed.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Whether signals have to wait, because the folders are locked.
#[cfg(test)]
pub fn is_locked() -> bool {
    FOLDERS.try_lock().is_err()
}

/// Removes all folders, and keeps the lock, so that no more are made.
fn end() {
    let mut folders = folders();
    for (folder, reserve) in folders.drain(..) {
        drop(reserve);
        // The other threads are still running, and may create a file in the folder while it is being removed.
        for _ in 0..TRIES {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
    }
    std::mem::forget(folders);
}
