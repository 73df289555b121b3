//! Folders for what is not finished. They go away with the value, and when a signal ends the program.

use crate::system::{self, Reserve};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How often a name that is taken is replaced by another.
const TRIES: usize = 100;

/// The folders there are, each with what removing it takes where the process may open no more files. Locked while one is made, so that a
/// signal finds either none or the whole entry.
static FOLDERS: Mutex<Vec<(PathBuf, Reserve)>> = Mutex::new(Vec::new());

fn folders() -> MutexGuard<'static, Vec<(PathBuf, Reserve)>> {
    FOLDERS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A folder that only this user can look into.
pub struct ScratchFolder {
    path: PathBuf,
    /// Whether it stays, since it holds what must not be lost.
    kept: bool,
}

impl ScratchFolder {
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

    /// A path in it.
    pub fn path(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Runs `change`, during which what is in the folder must not be lost: no signal ends the program before it has returned. Where it
    /// fails in a way that leaves something in the folder, which it says, the folder stays for good.
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
        // What cannot be removed stays; `drop` has no way to report it.
        let _ = std::fs::remove_dir_all(&self.path);
    }
}

/// Whether signals wait.
#[cfg(test)]
pub fn is_locked() -> bool {
    FOLDERS.try_lock().is_err()
}

/// Removes all folders. They stay locked, so that no more are made.
fn end() {
    let mut folders = folders();
    for (folder, reserve) in folders.drain(..) {
        drop(reserve);
        // The other threads go on, and may put a file into a folder that is being removed.
        for _ in 0..TRIES {
            match std::fs::remove_dir_all(&folder) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {}
                _ => break,
            }
        }
    }
    std::mem::forget(folders);
}
