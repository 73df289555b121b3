//! What is done to paths rather than to open files. Links are removed and renamed, not followed.

use super::file::path;
use crate::error::{Error, Result};
use std::ffi::{CStr, CString};
use std::fs;
use std::io::ErrorKind;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How many links lead from one to the next at most, as many as Linux follows.
const MOST_LINKS: usize = 40;

/// What lies at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A directory, or a link to one.
    Directory,
    /// Anything else, or a link to it.
    File,
}

/// What lies at `name`: nothing if there is no such path, `Error::Failure` if that cannot be told.
pub fn kind(name: &CStr) -> Result<Option<Kind>> {
    match fs::metadata(path(name)) {
        Ok(there) if there.is_dir() => Ok(Some(Kind::Directory)),
        Ok(_) => Ok(Some(Kind::File)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(_) => Err(Error::Failure),
    }
}

/// The path that a link at `name` leads to in the end, whether something is there or not; `name` itself if no link is
/// there. `Error::FileOpen` if links lead in a circle.
pub fn followed(name: &CStr) -> Result<CString> {
    let mut at = path(name).to_path_buf();
    for _ in 0..=MOST_LINKS {
        match fs::read_link(&at) {
            // A relative link starts where it lies.
            Ok(to) => {
                at = at
                    .parent()
                    .map_or_else(|| to.clone(), |from| from.join(&to))
            }
            Err(_) => {
                return CString::new(at.into_os_string().into_vec()).map_err(|_| Error::FileOpen);
            }
        }
    }
    Err(Error::FileOpen)
}

/// A file or a directory that was just made, so that it can be removed if what it was made for fails.
#[derive(Debug)]
pub struct Made {
    path: PathBuf,
    /// Device and inode of what was made: nothing else that has the path by then is removed.
    identity: Option<(u64, u64)>,
    directory: bool,
    /// The lock file beside it, if there was none.
    lock: Option<PathBuf>,
}

impl Made {
    /// What was just made at `name`: a directory, or a file and perhaps, from now on, a lock file at `lock`.
    pub fn at(name: &CStr, directory: bool, lock: Option<&CStr>) -> Self {
        let lock = lock.map(path).filter(|lock| !lock.exists());
        Self {
            path: path(name).to_path_buf(),
            identity: identity(path(name)),
            directory,
            lock: lock.map(Path::to_path_buf),
        }
    }

    /// Removes it, with all that is in it, as far as that can be done.
    pub fn remove(&self) {
        // What cannot be looked at is taken for what was made a moment ago.
        if let (Some(made), Some(now)) = (self.identity, identity(&self.path))
            && made != now
        {
            return;
        }
        // Nothing more can be done about what stays.
        let _ = match self.directory {
            true => CString::new(self.path.as_os_str().as_bytes())
                .map_err(|_| Error::FileRemove)
                .and_then(|name| remove_dir_with_files(&name)),
            false => fs::remove_file(&self.path).map_err(|_| Error::FileRemove),
        };
        if let Some(lock) = &self.lock {
            let _ = fs::remove_file(lock);
        }
    }
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    let there = fs::symlink_metadata(path).ok()?;
    Some((there.dev(), there.ino()))
}

/// Removes a file or a link, else `Error::FileRemove`.
pub fn remove_file(name: &CStr) -> Result<()> {
    fs::remove_file(path(name)).map_err(|_| Error::FileRemove)
}

/// Renames a file or directory, replacing a file that has the new name, else `Error::Failure`.
pub fn rename(from: &CStr, to: &CStr) -> Result<()> {
    fs::rename(path(from), path(to)).map_err(|_| Error::Failure)
}

/// Makes a directory, else `Error::FileOpen`; one that is there already is an error too.
pub fn create_dir(name: &CStr) -> Result<()> {
    fs::create_dir(path(name)).map_err(|_| Error::FileOpen)
}

/// Returns once the names in the directory would survive a loss of power, else `Error::FileWrite`: what makes a new
/// file, a removal or a renaming in it durable.
pub fn sync_dir(name: &CStr) -> Result<()> {
    sync(path(name))
}

/// As [`sync_dir`], for the directory that holds `name`.
pub fn sync_parent(name: &CStr) -> Result<()> {
    sync(folder(path(name)).ok_or(Error::FileWrite)?)
}

/// The directory that holds `path`; none holds the root.
pub fn folder(path: &Path) -> Option<&Path> {
    let parent = path.parent()?;
    match parent.as_os_str().is_empty() {
        true => Some(Path::new(".")),
        false => Some(parent),
    }
}

/// As [`sync_dir`], for a path.
pub fn sync(directory: &Path) -> Result<()> {
    fs::File::open(directory)
        .and_then(|directory| directory.sync_all())
        .map_err(|_| Error::FileWrite)
}

/// Removes a directory that holds files only, with them. `Error::NotFound` if it cannot be read; `Error::Failure` if
/// it holds a directory, with nothing removed, or if something could not be removed.
///
/// A link to a directory keeps its target, emptied.
pub fn remove_dir_with_files(name: &CStr) -> Result<()> {
    let directory = path(name);
    let mut files: Vec<PathBuf> = Vec::new();
    for entry in fs::read_dir(directory).map_err(|_| Error::NotFound)? {
        let entry = entry.map_err(|_| Error::Failure)?;
        if entry.file_type().map_err(|_| Error::Failure)?.is_dir() {
            return Err(Error::Failure);
        }
        files.push(entry.path());
    }
    for file in files {
        match fs::remove_file(file) {
            Ok(()) => {}
            // Somebody else was faster.
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(_) => return Err(Error::Failure),
        }
    }
    match fs::remove_dir(directory) {
        Ok(()) => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        Err(error) if error.kind() == ErrorKind::NotADirectory => Ok(()),
        Err(_) => Err(Error::Failure),
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;
    use std::os::unix::fs::symlink;

    fn touch(name: &CStr) {
        fs::write(path(name), b"x").expect("writes");
    }

    #[test]
    fn files_come_and_go() {
        let folder = Folder::new("paths");
        let (a, b) = (folder.path("a"), folder.path("b"));
        assert_eq!(kind(&a), Ok(None));
        touch(&a);
        assert_eq!(kind(&a), Ok(Some(Kind::File)));
        assert_eq!(kind(&folder.path("a/b")), Err(Error::Failure));
        assert_eq!(rename(&a, &b), Ok(()));
        assert_eq!(rename(&a, &b), Err(Error::Failure));
        assert_eq!(remove_file(&b), Ok(()));
        assert_eq!(remove_file(&b), Err(Error::FileRemove));
        assert_eq!(create_dir(&a), Ok(()));
        assert_eq!(create_dir(&a), Err(Error::FileOpen));
        assert_eq!(kind(&a), Ok(Some(Kind::Directory)));
        assert_eq!(sync_dir(&a), Ok(()));
        assert_eq!(sync_parent(&a), Ok(()));
        assert_eq!(sync_dir(&b), Err(Error::FileWrite));
        assert_eq!(sync_parent(c"name"), Ok(()));
        assert_eq!(sync_parent(c"/"), Err(Error::FileWrite));
    }

    #[test]
    fn links_are_followed_to_their_end() {
        let folder = Folder::new("followed");
        let (file, link, last) = (folder.path("file"), folder.path("a"), folder.path("b"));
        assert_eq!(followed(&file), Ok(file.clone()));
        symlink("b", path(&link)).expect("linked");
        symlink(path(&file), path(&last)).expect("linked");
        assert_eq!(followed(&link), Ok(file.clone()));
        touch(&file);
        assert_eq!(followed(&link), Ok(file));
        symlink("circle", path(&folder.path("circle"))).expect("linked");
        assert_eq!(followed(&folder.path("circle")), Err(Error::FileOpen));
    }

    #[test]
    fn only_what_was_made_is_removed() {
        let folder = Folder::new("made");
        let (a, b, lock) = (folder.path("a"), folder.path("b"), folder.path("lock"));
        touch(&a);
        let made = Made::at(&a, false, Some(&lock));
        touch(&lock);
        touch(&b);
        rename(&b, &a).expect("renamed");
        made.remove();
        assert_eq!(kind(&a), Ok(Some(Kind::File)), "another file by then");
        Made::at(&a, false, Some(&lock)).remove();
        assert_eq!(kind(&a), Ok(None));
        assert_eq!(kind(&lock), Ok(Some(Kind::File)), "it was there before");
        create_dir(&a).expect("made");
        let made = Made::at(&a, true, None);
        touch(&folder.path("a/file"));
        made.remove();
        assert_eq!(kind(&a), Ok(None));
    }

    #[test]
    fn directories_go_with_their_files_and_nothing_else() {
        let folder = Folder::new("remove");
        let (inside, outside) = (folder.path("inside"), folder.path("outside"));
        create_dir(&inside).expect("made");
        create_dir(&outside).expect("made");
        touch(&folder.path("outside/kept"));
        touch(&folder.path("inside/a"));
        symlink(path(&outside), path(&folder.path("inside/link"))).expect("linked");
        symlink("nowhere", path(&folder.path("inside/dangling"))).expect("linked");
        assert_eq!(remove_dir_with_files(&inside), Ok(()));
        assert_eq!(kind(&inside), Ok(None));
        assert_eq!(kind(&folder.path("outside/kept")), Ok(Some(Kind::File)));
        assert_eq!(remove_dir_with_files(&inside), Err(Error::NotFound));
        assert_eq!(
            remove_dir_with_files(&folder.path("outside/kept")),
            Err(Error::NotFound)
        );

        create_dir(&inside).expect("made");
        touch(&folder.path("inside/a"));
        create_dir(&folder.path("inside/b")).expect("made");
        assert_eq!(remove_dir_with_files(&inside), Err(Error::Failure));
        assert_eq!(kind(&folder.path("inside/a")), Ok(Some(Kind::File)));

        let link = folder.path("link");
        symlink(path(&outside), path(&link)).expect("linked");
        assert_eq!(remove_dir_with_files(&link), Ok(()));
        assert_eq!(kind(&outside), Ok(Some(Kind::Directory)));
        assert_eq!(kind(&folder.path("outside/kept")), Ok(None));
    }
}
