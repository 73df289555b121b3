//! What is done to paths rather than to open files. Links are removed and renamed, not followed.

use super::file::path;
use crate::error::{Error, Result};
use std::ffi::CStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

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
    let parent = path(name).parent().ok_or(Error::FileWrite)?;
    sync(if parent.as_os_str().is_empty() {
        Path::new(".")
    } else {
        parent
    })
}

fn sync(directory: &Path) -> Result<()> {
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
