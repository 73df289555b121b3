//! Temporary folders for unfinished outputs. They are removed when the value is dropped, and when a
//! signal, or lack of memory, ends the program. What is left of a program that was killed is
//! removed when another one makes a folder beside it, if its lock is free. Where there are no locks
//! it stays: the number of a process would not tell whether it is in use, since that may be on
//! another machine or in a container.

use crate::frame_files::{every_entry, has_only_files_of_frame};
use crate::paths::lasting;
use crate::place::{Place, as_c};
use crate::reserve;
use crate::system::{self, Lock, Reserve};
use oxiblosc_base::Error;
use oxiblosc_base::memory::lock;
use oxiblosc_base::system::files::Stat;
use oxiblosc_base::system::folder::Folder;
use std::ffi::CStr;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, TryLockError};
use std::time::Duration;

/// How often something is tried: names that may be taken, and removing a folder while another
/// thread writes to it.
const TRIES: usize = 100;
/// How long is waited between two tries.
const WAIT: Duration = Duration::from_millis(10);
/// How many entries of a directory are looked at in search of folders that were left behind. More
/// would take too long where there are very many files.
const LOOKED_AT: usize = 4096;
/// What the names of folders begin with,
const FRONT: &str = ".b2-";
/// and end with, if they are locked while they are used.
const LOCKED: &str = ".tmp";
/// The digits between.
const DIGITS: usize = 16;
/// The names of what is in a folder: an unfinished output,
pub const NEW: &CStr = c"new";
/// a copy of what is read,
pub const COPY: &CStr = c"copy";
/// and what an output replaces, which must not be lost.
pub const OLD: &CStr = c"old";

/// All folders. Locked while a folder is made, so that a signal finds either no folder or its
/// complete entry.
static FOLDERS: Mutex<Vec<Made>> = Mutex::new(Vec::new());

/// A folder that is opened when memory for this was taken already.
type Opened = Arc<OnceLock<Folder>>;

/// A folder, as it is removed.
struct Made {
    place: Place,
    folder: Opened,
    /// Closed before, if the process may open no more files.
    reserve: Reserve,
}

fn folders() -> MutexGuard<'static, Vec<Made>> {
    lock(&FOLDERS)
}

/// A temporary folder that only this user can look into. What is done in it goes by its descriptor
/// where the system can do that, as its parent may belong to another user.
pub struct ScratchFolder {
    opened: Opened,
    /// A path that leads to it.
    path: PathBuf,
    /// The path that people know.
    shown: PathBuf,
    /// Whether it is not removed, since it contains something that must not be lost.
    kept: AtomicBool,
}

impl ScratchFolder {
    /// A new folder in the one at a path.
    pub fn within(parent: &Path) -> io::Result<Self> {
        let opened = Folder::open_to_search(&as_c(parent)?)?;
        Self::new(&Arc::new(opened), parent)
    }

    /// A new folder in `parent`, whose path is `shown`. Removes folders there that were left
    /// behind.
    pub fn new(parent: &Arc<Folder>, shown: &Path) -> io::Result<Self> {
        system::before_end(end);
        let mut ending = LOCKED;
        for _ in 0..TRIES {
            let number = RandomState::new().build_hasher().finish();
            let shown = shown.join(format!("{FRONT}{number:0DIGITS$x}{ending}"));
            let place = Place {
                folder: parent.clone(),
                name: Arc::from(&*as_c(Path::new(shown.file_name().unwrap_or_default()))?),
            };
            let (listed, opened) = (place.clone(), Opened::default());
            let mut folders = folders();
            // From here to the entry in the list nothing is allocated: the program could end there
            // for lack of memory.
            folders.reserve(1);
            match parent.make_private_folder(&place.name) {
                Ok(()) => {}
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => continue,
                Err(error) => return Err(error),
            }
            let reserve = place.open_folder().and_then(|folder| {
                let folder = opened.get_or_init(|| folder);
                system::reserve(folder).map(|reserve| (folder, reserve))
            });
            let (folder, reserve) = match reserve {
                Ok(opened) => opened,
                // Another program took it for one that was left behind, as it was not locked yet.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                Err(error) => {
                    let _ = parent.remove_folder(&place.name);
                    return Err(error);
                }
            };
            match system::lock(folder, &place) {
                Lock::Taken => {}
                // The same, but it is not removed yet.
                Lock::Lost if ending == LOCKED => {
                    let _ = parent.remove_folder(&place.name);
                    continue;
                }
                // Folders with the other name are never taken for that.
                Lock::None if ending == LOCKED => {
                    let _ = parent.remove_folder(&place.name);
                    ending = "";
                    continue;
                }
                Lock::Lost | Lock::None => {}
            }
            folders.push(Made {
                place: listed,
                folder: opened.clone(),
                reserve,
            });
            drop(folders);
            remove_abandoned(parent);
            return Ok(Self {
                path: lasting(folder, &shown),
                opened,
                shown,
                kept: AtomicBool::new(false),
            });
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    /// The folder itself.
    pub fn folder(&self) -> &Folder {
        self.opened.get().expect("it is opened when it is made")
    }

    /// A path that leads to a name in it.
    pub fn path(&self, name: &CStr) -> PathBuf {
        self.path.join(name.to_str().unwrap_or_default())
    }

    /// The path of a name in it, as people know it.
    pub fn shown(&self, name: &CStr) -> PathBuf {
        self.shown.join(name.to_str().unwrap_or_default())
    }

    /// Runs `change`, during which the folder contains something that must not be lost: no signal
    /// ends the program until it returns. `change` returns its result, and whether something was
    /// left in the folder, which is then never removed.
    pub fn guarded<T>(&self, change: impl FnOnce() -> (T, bool)) -> T {
        let mut folders = folders();
        let (result, keep) = change();
        if keep {
            self.kept.store(true, Ordering::Relaxed);
            folders.retain(|created| !Arc::ptr_eq(&created.folder, &self.opened));
        }
        result
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        if self.kept.load(Ordering::Relaxed) {
            return;
        }
        // It stays in the list until it is removed, so that a signal, or lack of memory, finds what
        // is left of it.
        let listed = folders().iter_mut().find_map(|created| {
            Arc::ptr_eq(&created.folder, &self.opened)
                .then(|| (created.reserve.take(), created.place.clone()))
        });
        if let Some((reserve, place)) = listed {
            drop(reserve);
            remove(&place, self.folder());
        }
        folders().retain(|created| !Arc::ptr_eq(&created.folder, &self.opened));
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

/// As for a signal, but waits for the lock only for some time: this thread may hold it. Then
/// nothing is there that can be removed, or it must not be lost.
pub fn try_end() {
    for _ in 0..TRIES {
        match FOLDERS.try_lock() {
            Ok(folders) => return remove_all(folders),
            Err(TryLockError::Poisoned(folders)) => return remove_all(folders.into_inner()),
            Err(TryLockError::WouldBlock) => std::thread::sleep(WAIT),
        }
    }
}

fn remove_all(mut folders: MutexGuard<Vec<Made>>) {
    for created in folders.drain(..) {
        drop(created.reserve);
        if let Some(folder) = created.folder.get() {
            remove(&created.place, folder);
        }
    }
    std::mem::forget(folders);
}

/// Removes a folder. That this fails cannot be reported, so it is tried several times: other
/// threads may still be running, and create a file in the folder. What another user has put in its
/// place stays.
fn remove(place: &Place, folder: &Folder) {
    for _ in 0..TRIES {
        empty(folder);
        match place.folder.remove_folder(&place.name) {
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => reserve::release(),
            Err(error) if error.kind() == io::ErrorKind::OutOfMemory => reserve::release(),
            _ => break,
        }
    }
}

/// Removes what is in a folder, as far as possible.
fn empty(folder: &Folder) {
    let _ = folder.each_entry(|name| {
        if folder.stat(name).is_ok_and(Stat::is_dir) {
            if let Ok(inner) = folder.folder(name) {
                empty(&inner);
            }
            let _ = folder.remove_folder(name);
        } else {
            let _ = folder.unlink(name);
        }
        Ok(())
    });
}

/// Removes folders in `parent` of programs that were killed. Nothing depends on it, so errors are
/// ignored.
fn remove_abandoned(parent: &Arc<Folder>) {
    let mut looked_at = 0;
    let _ = parent.each_entry(|name| {
        looked_at += 1;
        if name.to_str().is_ok_and(is_locked_name)
            && let Ok(folder) = parent.folder(name)
            && system::is_abandoned(&folder)
            && has_only_unfinished(&folder)
        {
            empty(&folder);
            let _ = parent.remove_folder(name);
        }
        match looked_at < LOOKED_AT {
            true => Ok(()),
            false => Err(Error::NOT_FOUND),
        }
    });
}

/// Whether this is the name of a folder that is locked while it is used.
fn is_locked_name(name: &str) -> bool {
    let digits = name.strip_prefix(FRONT);
    let digits = digits.and_then(|name| name.strip_suffix(LOCKED));
    digits.is_some_and(|digits| {
        digits.len() == DIGITS && digits.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

/// Whether a folder holds nothing but an unfinished output. What an output was about to replace
/// must not be lost.
fn has_only_unfinished(folder: &Folder) -> bool {
    let is_unfinished = |name: &CStr| {
        let is_known = [NEW, COPY].contains(&name);
        let of_frame = |there: Stat| match there.is_dir() {
            true => folder
                .folder(name)
                .and_then(|inner| has_only_files_of_frame(&inner)),
            false => Ok(true),
        };
        is_known && folder.stat(name).and_then(of_frame).unwrap_or(false)
    };
    every_entry(folder, is_unfinished).unwrap_or(false)
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
        let created = |name: &str, file: &str| {
            let folder = parent.join(name);
            fs::create_dir_all(folder.join(file).parent().expect("a folder")).expect("made");
            fs::write(folder.join(file), b"x").expect("written");
            folder
        };
        let gone = [
            created(".b2-0123456789abcdef.tmp", "new"),
            created(".b2-0123456789abcde0.tmp", "copy"),
            created(".b2-0123456789abcde1.tmp", "new/chunks.b2frame"),
            created(".b2-0123456789abcde2.tmp", "new/0000000A.chunk"),
        ];
        let kept = [
            // What is about to be replaced, and what the tool does not make.
            created(".b2-0123456789abcde3.tmp", "old"),
            created(".b2-0123456789abcde4.tmp", "new/notes.txt"),
            created(".b2-0123456789abcdef", "new"),
            created(".b2-0123.tmp", "new"),
            created("b2-0123456789abcdef.tmp", "new"),
        ];
        let first = ScratchFolder::within(&parent).expect("made");
        fs::write(first.path(NEW), b"x").expect("written");
        let second = ScratchFolder::within(&parent).expect("made");
        assert!(first.path(NEW).exists(), "it is in use");
        assert!(gone.iter().all(|folder| !folder.exists()), "{gone:?}");
        assert!(kept.iter().all(|folder| folder.exists()), "{kept:?}");
        drop((first, second));
        assert_eq!(fs::read_dir(&parent).expect("there").count(), kept.len());
        fs::remove_dir_all(&parent).expect("removed");
    }
}
