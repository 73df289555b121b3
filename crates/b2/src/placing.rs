//! Moves a finished output to its path, and removes what existed there. If the system can exchange
//! two names, one of both exists there at any moment.

use crate::failure::describe;
use crate::frame_files::{is_frame, is_frame_or_empty};
use crate::paths::is_dir;
use crate::place::{Place, as_c};
use crate::scratch::{NEW, OLD, ScratchFolder};
use oxiblosc::storage::paths::sync_dir_with_files;
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags};
use oxiblosc_base::system::folder::Folder;
use std::ffi::CStr;
use std::io;
use std::path::Path;

/// The message for a directory that is not replaced.
pub const OTHER_THINGS: &str =
    "is a directory, and those are replaced that hold a frame and no other things";
/// Moves the new file or directory out of the scratch folder to `to`. What is replaced goes into
/// the scratch folder, or back to its place if the move fails. With `BLOSC_DURABLE` the content is
/// synced before the move, and the name after it, so that a loss of power never leaves the name
/// without its content.
pub fn place(scratch: &ScratchFolder, to: &Place, replace: bool) -> io::Result<()> {
    let durable = oxiblosc::environment::durable();
    if durable {
        sync(&scratch.path(NEW))?;
    }
    put(scratch, to, replace)?;
    match durable {
        true => to.folder.sync(),
        false => Ok(()),
    }
}

/// Syncs a file, or a directory and the files in it.
fn sync(path: &Path) -> io::Result<()> {
    let name = as_c(path)?;
    match is_dir(path)? {
        true => sync_dir_with_files(&name).map_err(|error| io::Error::other(describe(error))),
        false => files::open(&name, OpenFlags::SYNC, NewFileAccess::All)?.sync_all(),
    }
}

fn put(scratch: &ScratchFolder, to: &Place, replace: bool) -> io::Result<()> {
    let from = scratch.folder();
    let is_new_file = from.stat(NEW)?.is_file();
    if !replace && is_new_file {
        // Unlike a rename, this fails if something has been created there meanwhile.
        match from.link(NEW, &to.folder, &to.name) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    let move_there = || from.rename(NEW, &to.folder, &to.name);
    let there = match to.stat() {
        Ok(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return move_there(),
        Err(error) => return Err(error),
    };
    if is_new_file && !there.is_dir() {
        return move_there();
    }
    let exchange = || from.exchange(NEW, &to.folder, &to.name);
    let may_go = match is_new_file {
        true => is_frame,
        false => is_frame_or_empty,
    };
    if there.is_dir() && !may_go(&to.open_folder()?)? {
        // Something has been created there meanwhile.
        return Err(io::Error::other(OTHER_THINGS));
    }
    if exchange().is_err() {
        return move_aside(scratch, to, |old, from, to, new| from.rename(old, to, new));
    }
    // What came out is removed with the scratch folder: it must not be anything that came there
    // since.
    if from.stat(NEW)?.is_dir() && !may_go(&from.folder(NEW)?)? {
        exchange()?;
        return Err(io::Error::other(OTHER_THINGS));
    }
    Ok(())
}

/// Replaces `to` by what is new if the system cannot exchange them: for a moment neither exists at
/// `to`. `rename` gives a name in a directory another one in another.
fn move_aside(
    scratch: &ScratchFolder,
    to: &Place,
    mut rename: impl FnMut(&CStr, &Folder, &Folder, &CStr) -> io::Result<()>,
) -> io::Result<()> {
    let (from, old) = (scratch.folder(), scratch.shown(OLD));
    scratch.guarded(|| {
        if let Err(error) = rename(&to.name, &to.folder, from, OLD) {
            return (Err(error), false);
        }
        let Err(error) = rename(NEW, from, &to.folder, &to.name) else {
            return (Ok(()), false);
        };
        if rename(OLD, from, &to.folder, &to.name).is_ok() {
            return (Err(error), false);
        }
        let kept = format!("{error}; what was there is now {}", old.display());
        (Err(io::Error::other(kept)), true)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scratch::is_locked;
    use std::fs;
    use std::path::PathBuf;
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A folder with a frame in it, and something to put in its place.
    fn folder(test: &str) -> (PathBuf, ScratchFolder) {
        let name = format!("oxiblosc-b2-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("frame")).expect("made");
        fs::write(folder.join("frame/chunks.b2frame"), b"old").expect("written");
        let scratch = ScratchFolder::within(&folder).expect("made");
        fs::create_dir(scratch.path(NEW)).expect("made");
        fs::write(scratch.path(NEW).join("chunks.b2frame"), b"new").expect("written");
        (folder, scratch)
    }

    fn content(folder: &Path) -> Option<Vec<u8>> {
        fs::read(folder.join("frame/chunks.b2frame")).ok()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn there_is_always_one_of_both() {
        let (folder, scratch) = folder("exchange");
        let over = AtomicBool::new(false);
        let looks = std::thread::scope(|scope| {
            let looking = scope.spawn(|| {
                let mut looks = 0;
                while !over.load(Ordering::Relaxed) {
                    assert!(folder.join("frame").is_dir(), "there is nothing");
                    looks += 1;
                }
                looks
            });
            let to = Place::at(&folder.join("frame")).expect("there");
            for _ in 0..2000 {
                place(&scratch, &to, true).expect("placed");
            }
            over.store(true, Ordering::Relaxed);
            looking.join().expect("always there")
        });
        assert!(looks > 0);
        drop(scratch);
        assert_eq!(content(&folder).as_deref(), Some(&b"old"[..]));
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn what_is_moved_aside_is_not_lost() {
        for failing in 0..3 {
            let (folder, scratch) = folder(&format!("aside-{failing}"));
            let to = Place::at(&folder.join("frame")).expect("there");
            let mut calls = 0;
            let done = move_aside(&scratch, &to, |old, from, to, new| {
                assert!(is_locked(), "a signal would remove what is in the folder");
                calls += 1;
                match calls >= 2 && failing > calls - 2 {
                    true => Err(io::ErrorKind::StorageFull.into()),
                    false => from.rename(old, to, new),
                }
            });
            let old = scratch.shown(OLD);
            drop(scratch);
            match failing {
                0 => {
                    done.expect("placed");
                    assert_eq!(content(&folder).as_deref(), Some(&b"new"[..]));
                }
                1 => {
                    done.expect_err("the second one failed");
                    assert_eq!(content(&folder).as_deref(), Some(&b"old"[..]));
                }
                _ => {
                    let said = done.expect_err("the way back failed, too").to_string();
                    assert!(said.contains(&old.display().to_string()), "{said}");
                    let kept = fs::read(old.join("chunks.b2frame")).expect("kept");
                    assert_eq!(kept, b"old");
                }
            }
            fs::remove_dir_all(&folder).expect("removed");
        }
    }
}
