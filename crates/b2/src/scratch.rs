//! Folders for what is not finished. They go away with the value, and when a signal ends the program.

use std::fs::DirBuilder;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

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
        signals::watch();
        let mut folders = folders();
        for _ in 0..TRIES {
            let path = parent.join(format!(
                ".b2-{:016x}",
                RandomState::new().build_hasher().finish()
            ));
            match DirBuilder::new().mode(0o700).create(&path) {
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

/// The signals by which users and systems end a program.
mod signals {
    use super::*;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    /// From now on they remove the folders before they end the program.
    pub(super) fn watch() {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let ignored = ignored();
            let signals = [SIGHUP, SIGINT, SIGTERM];
            let watched = signals.iter().filter(|n| ignored >> (**n - 1) & 1 == 0);
            // Without it a signal leaves the folders where they are.
            if let Ok(mut signals) = Signals::new(watched) {
                std::thread::spawn(move || signals.forever().for_each(end));
            }
        });
    }

    /// The signals that this program was started to ignore, as a mask: `nohup` and shells in scripts do that.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0)
    }

    fn end(signal: i32) {
        // Kept locked, so that no more folders are made.
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
        // It ends the program as the signal would have.
        let _ = emulate_default_handler(signal);
    }
}
