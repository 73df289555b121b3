//! Temporary folders for unfinished outputs. They are removed when the value is dropped, and when a signal, or lack of memory, ends the
//! program. What is left of a program that was killed is removed when another one makes a folder beside it, if its lock is free. Where there are no
//! locks it stays: the number of a process would not tell whether it is in use, since that may be on another machine or in a container.

use crate::memory;
use crate::placing::has_only_files_of_frame;
use crate::system::{self, Lock, Reserve};
use std::fs::FileType;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::Duration;

/// How often something is tried: names that may be taken, and removing a folder while another thread writes to it.
const TRIES: usize = 100;
/// How long is waited between two tries.
const WAIT: Duration = Duration::from_millis(10);
/// How many entries of a directory are looked at in search of folders that were left behind. More would take too long where there are
/// very many files.
const LOOKED_AT: usize = 4096;
/// What the names of folders begin with,
const FRONT: &str = ".b2-";
/// and end with, if they are locked while they are used.
const LOCKED: &str = ".tmp";
/// The digits between.
const DIGITS: usize = 16;
/// What is in a folder, besides what must not be lost.
const UNFINISHED: [&str; 2] = ["new", "copy"];

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
    /// A new folder in `parent`. Removes folders there that were left behind.
    pub fn new(parent: &Path) -> io::Result<Self> {
        system::before_end(end);
        let mut ending = LOCKED;
        for _ in 0..TRIES {
            let number = RandomState::new().build_hasher().finish();
            let path = parent.join(format!("{FRONT}{number:0DIGITS$x}{ending}"));
            let entry = path.clone();
            let mut folders = folders();
            // From here to the entry in the list nothing is allocated: the program could end there for lack of memory.
            folders.reserve(1);
            match system::create_private_dir(&path) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let reserve = match system::reserve(&path) {
                Ok(reserve) => reserve,
                // Another program took it for one that was left behind, as it was not locked yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let _ = std::fs::remove_dir(&path);
                    return Err(error);
                }
            };
            match system::lock(&path, &reserve) {
                Lock::Taken => {}
                // The same, but it is not removed yet.
                Lock::Lost if ending == LOCKED => {
                    let _ = std::fs::remove_dir(&path);
                    continue;
                }
                // Folders with the other name are never taken for that.
                Lock::None if ending == LOCKED => {
                    let _ = std::fs::remove_dir(&path);
                    ending = "";
                    continue;
                }
                Lock::Lost | Lock::None => {}
            }
            folders.push((entry, reserve));
            drop(folders);
            remove_abandoned(parent);
            return Ok(Self { path, kept: false });
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
        // It stays in the list until it is removed, so that a signal, or lack of memory, finds what is left of it.
        let listed = folders().iter_mut().find_map(|(path, reserve)| {
            (*path == self.path).then(|| std::mem::replace(reserve, system::no_reserve()))
        });
        drop(listed);
        remove(&self.path);
        folders().retain(|(path, _)| *path != self.path);
    }
}

/// Whether signals have to wait, because the folders are locked.
#[cfg(test)]
pub fn is_locked() -> bool {
    FOLDERS.try_lock().is_err()
}

/// Removes all folders, and keeps the lock, so that no more are made.
fn end() {
    remove_all(folders());
}

/// As for a signal, but waits for the lock only for some time: this thread may hold it. Then nothing is there that can be removed, or it
/// must not be lost.
pub fn try_end() {
    for _ in 0..TRIES {
        match FOLDERS.try_lock() {
            Ok(folders) => return remove_all(folders),
            Err(TryLockError::Poisoned(folders)) => return remove_all(folders.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(WAIT),
        }
    }
}

fn remove_all(mut folders: MutexGuard<Vec<(PathBuf, Reserve)>>) {
    for (folder, reserve) in folders.drain(..) {
        drop(reserve);
        remove(&folder);
    }
    std::mem::forget(folders);
}

/// Removes a folder. That this fails cannot be reported, so it is tried several times: other threads may still be running, and create a file
/// in the folder, and there may be no memory to list what is in it.
fn remove(folder: &Path) {
    for _ in 0..TRIES {
        match std::fs::remove_dir_all(folder) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => memory::release(),
            _ => break,
        }
    }
}

/// Removes folders in `parent` of programs that were killed. Nothing depends on it, so errors are ignored.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = std::fs::read_dir(parent) else {
        return;
    };
    for entry in entries.take(LOOKED_AT).flatten() {
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        let name = entry.file_name();
        if is_folder && name.to_str().is_some_and(is_locked_name) {
            let path = entry.path();
            if let Some(lock) = system::abandoned(&path)
                && has_only_unfinished(&path)
            {
                let _ = std::fs::remove_dir_all(&path);
                drop(lock);
            }
        }
    }
}

/// Whether this is the name of a folder that is locked while it is used.
fn is_locked_name(name: &str) -> bool {
    let digits = name.strip_prefix(FRONT);
    let digits = digits.and_then(|name| name.strip_suffix(LOCKED));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether a folder holds nothing but an unfinished output. What an output was about to replace must not be lost.
fn has_only_unfinished(folder: &Path) -> bool {
    let Ok(mut entries) = std::fs::read_dir(folder) else {
        return false;
    };
    entries.all(|entry| {
        entry.is_ok_and(|entry| {
            let is_known = UNFINISHED.iter().any(|name| entry.file_name() == *name);
            let of_frame = |kind: FileType| match kind.is_dir() {
                true => has_only_files_of_frame(&entry.path()),
                false => Ok(true),
            };
            is_known && entry.file_type().and_then(of_frame).unwrap_or(false)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    #[test]
    #[cfg(unix)]
    fn what_was_left_behind_is_removed() {
        let parent = std::env::temp_dir().join(format!("oxiblosc-b2-left-{}", std::process::id()));
        let _ = fs::remove_dir_all(&parent);
        fs::create_dir(&parent).expect("made");
        let made = |name: &str, file: &str| {
            let folder = parent.join(name);
            fs::create_dir_all(folder.join(file).parent().expect("a folder")).expect("made");
            fs::write(folder.join(file), b"x").expect("written");
            folder
        };
        let gone = [
            made(".b2-0123456789abcdef.tmp", "new"),
            made(".b2-0123456789abcde0.tmp", "copy"),
            made(".b2-0123456789abcde1.tmp", "new/chunks.b2frame"),
            made(".b2-0123456789abcde2.tmp", "new/0000000A.chunk"),
        ];
        let kept = [
            // What is about to be replaced, and what the tool does not make.
            made(".b2-0123456789abcde3.tmp", "old"),
            made(".b2-0123456789abcde4.tmp", "new/notes.txt"),
            made(".b2-0123456789abcdef", "new"),
            made(".b2-0123.tmp", "new"),
            made("b2-0123456789abcdef.tmp", "new"),
        ];
        let first = ScratchFolder::new(&parent).expect("made");
        fs::write(first.path("new"), b"x").expect("written");
        let second = ScratchFolder::new(&parent).expect("made");
        assert!(first.path("new").exists(), "it is in use");
        assert!(gone.iter().all(|folder| !folder.exists()), "{gone:?}");
        assert!(kept.iter().all(|folder| folder.exists()), "{kept:?}");
        drop((first, second));
        assert_eq!(fs::read_dir(&parent).expect("there").count(), kept.len());
        fs::remove_dir_all(&parent).expect("removed");
    }
}
