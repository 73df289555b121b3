//! Moves a finished output to its path, and removes what existed there. If the system can exchange two names, one of both exists there at
//! any moment.

use crate::failure::describe;
use crate::library::{c_path, is_durable};
use crate::paths::{frame_file, is_dir, is_file};
use crate::scratch::ScratchFolder;
use oxiblosc_io::paths::sync_dir_with_files;
use oxiblosc_memory::CStrBuf;
use oxiblosc_system::files::{self, How, NewFileAccess, exchange};
use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

/// The message for a directory that is not replaced.
pub const OTHER_THINGS: &str = "is a directory with other things in it than a frame";
/// The name of the lock file in the directory of a frame.
const LOCK: &str = ".b2lock";

/// Whether a directory may be replaced: it is empty, or contains a frame and nothing else.
pub fn is_frame_or_empty(path: &Path) -> io::Result<bool> {
    let header = frame_file(path)?;
    let is_frame = is_file(&header)?;
    for entry in std::fs::read_dir(path)? {
        if !is_frame || !is_of_frame(&entry?, &header)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether nothing is in a directory but files of a frame, perhaps not all of them.
pub fn has_only_files_of_frame(path: &Path) -> io::Result<bool> {
    let header = frame_file(path)?;
    for entry in std::fs::read_dir(path)? {
        if !is_of_frame(&entry?, &header)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Whether a directory entry is one of the files of a frame. `header` is the path of the file with its header.
fn is_of_frame(entry: &DirEntry, header: &Path) -> io::Result<bool> {
    let name = entry.file_name();
    let is_known = header.file_name() == Some(&name)
        || name
            .to_str()
            .is_some_and(|name| name == LOCK || chunk_number(name).is_some());
    Ok(is_known && entry.file_type()?.is_file())
}

/// The number of the chunk in a file with this name, such as `0000000A.chunk`; none for other files.
pub fn chunk_number(name: &str) -> Option<u64> {
    let digits = name.strip_suffix(".chunk")?;
    let is_number = digits.len() == 8
        && digits
            .bytes()
            .all(|digit| digit.is_ascii_digit() || (b'A'..=b'F').contains(&digit));
    u64::from_str_radix(digits, 16).ok().filter(|_| is_number)
}

/// The directory that contains a path.
pub fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent != Path::new("") => parent.to_path_buf(),
        Some(_) => PathBuf::from("."),
        None => path.to_path_buf(),
    }
}

/// Moves the file or directory `from` out of the scratch folder to `to`. What is replaced goes into the scratch folder, or back to its path
/// if the move fails. With `BLOSC_DURABLE` the content is synced before the move, and the name after it, so that a loss of power never leaves
/// the name without its content.
pub fn place(scratch: &mut ScratchFolder, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
    let durable = is_durable();
    if durable {
        sync(from)?;
    }
    put(scratch, from, to, replace)?;
    match durable {
        true => files::sync_names(&as_c(&parent(to))?),
        false => Ok(()),
    }
}

/// Syncs a file, or a directory and the files in it.
fn sync(path: &Path) -> io::Result<()> {
    let name = as_c(path)?;
    match is_dir(path)? {
        true => sync_dir_with_files(&name).map_err(|error| io::Error::other(describe(error))),
        false => files::open(&name, How::SYNC, NewFileAccess::All)?.sync_all(),
    }
}

fn as_c(path: &Path) -> io::Result<CStrBuf> {
    c_path(path).map_err(|_| io::ErrorKind::InvalidInput.into())
}

fn put(scratch: &mut ScratchFolder, from: &Path, to: &Path, replace: bool) -> io::Result<()> {
    let is_new_file = is_file(from)?;
    if !replace && is_new_file {
        // Unlike a rename, this fails if something has been created there meanwhile.
        match std::fs::hard_link(from, to) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => {}
            done => return done,
        }
    }
    let there = match to.symlink_metadata() {
        Ok(_) if !replace => return Err(io::ErrorKind::AlreadyExists.into()),
        Ok(there) => there,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return std::fs::rename(from, to);
        }
        Err(error) => return Err(error),
    };
    if there.is_dir() && !is_frame_or_empty(to)? {
        // Something has been created there meanwhile.
        return Err(io::Error::other(OTHER_THINGS));
    }
    if is_new_file && !there.is_dir() {
        return std::fs::rename(from, to);
    }
    let swapped = exchange(&as_c(from)?, &as_c(to)?);
    swapped.or_else(|_| move_aside(scratch, from, to, |from, to| std::fs::rename(from, to)))
}

/// Replaces `to` by `from` if the system cannot exchange them: for a moment neither exists at `to`.
fn move_aside(
    scratch: &mut ScratchFolder,
    from: &Path,
    to: &Path,
    mut rename: impl FnMut(&Path, &Path) -> io::Result<()>,
) -> io::Result<()> {
    let old = scratch.path("old");
    scratch.guarded(|| {
        if let Err(error) = rename(to, &old) {
            return (Err(error), false);
        }
        let Err(error) = rename(from, to) else {
            return (Ok(()), false);
        };
        if rename(&old, to).is_ok() {
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
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A folder with a frame in it, and something to put in its place.
    fn folder(test: &str) -> (PathBuf, ScratchFolder) {
        let name = format!("oxiblosc-b2-{test}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("frame")).expect("made");
        fs::write(folder.join("frame/chunks.b2frame"), b"old").expect("written");
        let scratch = ScratchFolder::new(&folder).expect("made");
        fs::create_dir(scratch.path("new")).expect("made");
        fs::write(scratch.path("new").join("chunks.b2frame"), b"new").expect("written");
        (folder, scratch)
    }

    fn content(folder: &Path) -> Option<Vec<u8>> {
        fs::read(folder.join("frame/chunks.b2frame")).ok()
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn there_is_always_one_of_both() {
        let (folder, mut scratch) = folder("exchange");
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
            for _ in 0..2000 {
                let (from, to) = (scratch.path("new"), folder.join("frame"));
                place(&mut scratch, &from, &to, true).expect("placed");
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
            let (folder, mut scratch) = folder(&format!("aside-{failing}"));
            let (from, to) = (scratch.path("new"), folder.join("frame"));
            let mut calls = 0;
            let done = move_aside(&mut scratch, &from, &to, |from, to| {
                assert!(is_locked(), "a signal would remove what is in the folder");
                calls += 1;
                match calls >= 2 && failing > calls - 2 {
                    true => Err(io::ErrorKind::StorageFull.into()),
                    false => fs::rename(from, to),
                }
            });
            let old = scratch.path("old");
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

    #[test]
    fn only_frames_are_replaced() {
        let (folder, _scratch) = folder("only-frames");
        let frame = folder.join("frame");
        fs::write(frame.join("0000000A.chunk"), b"").expect("written");
        fs::write(frame.join(LOCK), b"").expect("written");
        assert!(is_frame_or_empty(&frame).expect("there"));
        for name in [
            "notes.txt",
            "0000000A.chunk~",
            "A.chunk",
            "0000000G.chunk",
            ".chunk",
        ] {
            let path = frame.join(name);
            fs::write(&path, b"").expect("written");
            assert!(!is_frame_or_empty(&frame).expect("there"), "{name}");
            fs::remove_file(&path).expect("removed");
        }
        fs::create_dir(frame.join("0000000B.chunk")).expect("made");
        assert!(!is_frame_or_empty(&frame).expect("there"));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
