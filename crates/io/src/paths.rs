//! Operations on paths rather than on open files. Symbolic links are removed and renamed
//! themselves, not followed.

use oxiblosc_base::memory::{CStrBuf, TryVec};
pub use oxiblosc_base::system::files::path_bytes;
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags, is_separator};
use oxiblosc_base::system::folder::Folder;
use oxiblosc_base::{Context, Doing, Error, OrError, Result};
use std::ffi::CStr;
use std::io::ErrorKind;

/// The largest number of links in a row, as in Linux.
const MAX_LINKS: usize = 40;
/// How often a directory is read to remove what is in it.
const ROUNDS: usize = 8;

/// The kind of thing at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileType {
    /// A directory, or a link to one.
    Directory,
    /// Anything else, or a link to it.
    File,
}

/// A path without a leading `file:///`. As in the reference, the rest is a relative path.
pub fn local(path: &CStr) -> &CStr {
    let rest = path.to_bytes_with_nul().strip_prefix(b"file:///");
    let rest = rest.and_then(|rest| CStr::from_bytes_with_nul(rest).ok());
    rest.unwrap_or(path)
}

/// What is at `name`; none if there is no such path.
///
/// # Errors
/// `Error::FAILURE` if that cannot be checked.
pub fn kind(name: &CStr) -> Result<Option<FileType>> {
    match files::stat(name, true) {
        Ok(there) if there.is_dir() => Ok(Some(FileType::Directory)),
        Ok(_) => Ok(Some(FileType::File)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(_) => Err(Error::FAILURE),
    }
}

/// Whether a regular file, or a link to one, is at `name`.
pub fn is_regular(name: &CStr) -> bool {
    files::stat(name, true).is_ok_and(files::Stat::is_file)
}

/// The path to which links at `name` lead in the end, whether something is there or not; `name`
/// itself if it is no link.
///
/// # Errors
/// `Error::FILE_OPEN` if links form a loop; [`Error::MEMORY_ALLOC`].
pub fn followed(name: &CStr) -> Result<CStrBuf> {
    let mut at = CStrBuf::copy_of(name)?;
    let mut buffer = TryVec::filled(0, files::MAX_PATH)?;
    for _ in 0..=MAX_LINKS {
        let Ok(len) = files::read_link(&at, &mut buffer) else {
            return Ok(at);
        };
        // A relative link starts from the directory that it is in.
        let from = match buffer[..len].first() {
            Some(byte) if is_separator(*byte) => &[],
            _ => up_to_name(&at),
        };
        at = CStrBuf::concat(&[from, &buffer[..len]])?;
    }
    Err(Error::FILE_OPEN)
}

/// The part of a path before its last name: empty, or up to and including a slash.
fn up_to_name(path: &CStr) -> &[u8] {
    let bytes = path.to_bytes();
    let slash = bytes.iter().rposition(|byte| is_separator(*byte));
    &bytes[..slash.map_or(0, |at| at + 1)]
}

/// A file or directory that is created, so that it can be removed if the operation that needs it
/// fails.
#[derive(Debug)]
pub struct NewPath {
    path: CStrBuf,
    /// Its device and inode, so that nothing else is removed that gets the path later.
    identity: Option<(u64, u64)>,
    directory: bool,
    /// The path of the lock file, if there was none before.
    lock: Option<CStrBuf>,
}

impl NewPath {
    /// For a directory, or a file and perhaps a lock file at `lock`, that is about to be created at
    /// `name`.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`].
    pub fn planned(name: &CStr, directory: bool, lock: Option<&CStr>) -> Result<Self> {
        let is_new = |lock: &&CStr| !matches!(kind(lock), Ok(Some(_)));
        Ok(Self {
            path: CStrBuf::copy_of(name)?,
            identity: None,
            directory,
            lock: lock.filter(is_new).map(CStrBuf::copy_of).transpose()?,
        })
    }

    /// Records the identity of what was just created.
    pub fn created(mut self) -> Self {
        self.identity = identity(&self.path);
        self
    }

    /// Whether the path still leads to what was created; true if that cannot be checked.
    pub fn is_there(&self) -> bool {
        match (self.identity, identity(&self.path)) {
            (Some(made), Some(now)) => made == now,
            _ => true,
        }
    }

    /// Removes what was created, with everything in it, as far as possible.
    pub fn remove(&self) {
        if !self.is_there() {
            return;
        }
        // What cannot be removed stays; there is no better way to handle that error.
        let _ = match self.directory {
            true => remove_dir_with_files(&self.path),
            false => remove_file(&self.path),
        };
        if let Some(lock) = &self.lock {
            let _ = remove_file(lock);
        }
    }
}

fn identity(path: &CStr) -> Option<(u64, u64)> {
    let there = files::stat(path, false).ok()?;
    Some(there.identity)
}

/// Removes a file or a link.
///
/// # Errors
/// `Error::FILE_REMOVE` if that fails.
pub fn remove_file(name: &CStr) -> Result<()> {
    files::unlink(name)
        .or_error(Error::FILE_REMOVE)
        .doing(Doing::RemoveFile)
}

/// Renames a file or directory, replacing a file that has the new name.
///
/// # Errors
/// `Error::FAILURE` if that fails, or [`kind`] tells that there is nothing.
pub fn rename(from: &CStr, to: &CStr) -> Result<()> {
    kind(from)?.ok_or(Error::FAILURE)?;
    files::rename(from, to)
        .or_error(Error::FAILURE)
        .doing(Doing::RenameFile)
}

/// Whether anything is at a path, perhaps a link, or that cannot be told.
pub fn is_taken(name: &CStr) -> bool {
    !files::stat(name, false).is_err_and(|error| error.kind() == ErrorKind::NotFound)
}

/// Renames a file or directory to a name that nothing has.
///
/// # Errors
/// `Error::FILE_OPEN` if something has it, or that fails.
pub fn rename_new(from: &CStr, to: &CStr) -> Result<()> {
    files::rename_new(from, to)
        .or_error(Error::FILE_OPEN)
        .doing(Doing::RenameFile)
}

/// Creates a directory.
///
/// # Errors
/// `Error::FILE_OPEN` if that fails, also if it exists already.
pub fn create_dir(name: &CStr) -> Result<()> {
    files::make_dir(name)
        .or_error(Error::FILE_OPEN)
        .doing(Doing::CreateFolder)
}

/// Syncs a directory: when it returns, new, removed and renamed files in it would survive a loss of
/// power.
///
/// # Errors
/// `Error::FILE_WRITE` if that fails.
pub fn sync_dir(name: &CStr) -> Result<()> {
    files::sync_names(name)
        .or_error(Error::FILE_WRITE)
        .doing(Doing::SyncFile)
}

/// Syncs a directory and the files in it: when it returns, they and their names would survive a
/// loss of power, and so would the name of the directory. On Linux it is one system call, which
/// syncs the whole file system.
///
/// # Errors
/// `Error::FILE_WRITE` if that fails.
#[cfg(target_os = "linux")]
pub fn sync_dir_with_files(name: &CStr) -> Result<()> {
    files::open(name, OpenFlags::READ, NewFileAccess::All)
        .and_then(|directory| files::sync_file_system(&directory))
        .or_error(Error::FILE_WRITE)
        .doing(Doing::SyncFile)
}

/// Syncs a directory and the files in it: when it returns, they and their names would survive a
/// loss of power, and so would the name of the directory.
///
/// # Errors
/// `Error::FILE_WRITE` if that fails; that of reading the directory.
#[cfg(not(target_os = "linux"))]
pub fn sync_dir_with_files(name: &CStr) -> Result<()> {
    sync_each_file(name)
}

/// [`sync_dir_with_files`] for systems without a call for it.
#[cfg(any(test, not(target_os = "linux")))]
fn sync_each_file(name: &CStr) -> Result<()> {
    let opened = opened(name)?;
    opened.each_entry(|entry| {
        match opened.file(entry, OpenFlags::SYNC, NewFileAccess::All) {
            Ok(file) => file
                .sync_all()
                .or_error(Error::FILE_WRITE)
                .doing(Doing::SyncFile),
            // Another process has removed the file.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            // A link, which has no content of its own.
            Err(_) if !opened.stat(entry).is_ok_and(files::Stat::is_file) => Ok(()),
            Err(error) => Err(Error::FILE_WRITE.because(&error)),
        }
    })?;
    opened
        .sync()
        .or_error(Error::FILE_WRITE)
        .doing(Doing::SyncFile)?;
    sync_parent(&followed(name)?)
}

/// As [`sync_dir`], for the directory that holds `name`.
///
/// # Errors
/// As for [`sync_dir`], and `Error::FILE_WRITE` for the root; [`Error::MEMORY_ALLOC`].
pub fn sync_parent(name: &CStr) -> Result<()> {
    sync_dir(&folder(name)?.ok_or(Error::FILE_WRITE)?)
}

/// The directory that contains `path`; none for the root.
///
/// # Errors
/// [`Error::MEMORY_ALLOC`].
pub fn folder(path: &CStr) -> Result<Option<CStrBuf>> {
    let drive = files::drive(path.to_bytes());
    let (drive, bytes) = path.to_bytes().split_at(drive);
    let trimmed = |bytes: &[u8]| {
        bytes
            .iter()
            .rposition(|byte| !is_separator(*byte))
            .map_or(0, |at| at + 1)
    };
    let bytes = &bytes[..trimmed(bytes)];
    let folder = match bytes.iter().rposition(|byte| is_separator(*byte)) {
        _ if bytes.is_empty() => return Ok(None),
        None => b".",
        Some(slash) => match trimmed(&bytes[..slash]) {
            0 => b"/",
            end => &bytes[..end],
        },
    };
    CStrBuf::concat(&[drive, folder]).map(Some)
}

/// Opens a directory, to be read. `Error::NOT_FOUND` if that fails, or [`Error::MEMORY_ALLOC`].
fn opened(name: &CStr) -> Result<Folder> {
    Folder::open(name).map_err(|error| match error.kind() {
        ErrorKind::OutOfMemory => Error::MEMORY_ALLOC,
        _ => Error::NOT_FOUND,
    })
}

/// Removes a directory and the files in it.
///
/// Of a link to a directory, the files in the target are removed and the target stays. The path is
/// looked up once: if another user puts a link in the place of the directory, nothing is removed
/// where that leads.
///
/// # Errors
/// `Error::NOT_FOUND` if it cannot be read; `Error::FAILURE` if it contains a directory (nothing is
/// removed then), or if something could not be removed.
pub fn remove_dir_with_files(name: &CStr) -> Result<()> {
    // An empty directory is removed without reading it, as there may be no free file descriptor.
    if files::remove_dir(name).is_ok() {
        return Ok(());
    }
    let opened = opened(name)?;
    opened.each_entry(
        |entry| match opened.stat(entry).is_ok_and(files::Stat::is_dir) {
            true => Err(Error::FAILURE),
            false => Ok(()),
        },
    )?;
    // Some file systems skip entries while others are removed, so one pass may not be enough.
    for _ in 0..ROUNDS {
        opened.each_entry(|entry| match opened.unlink(entry) {
            Ok(()) => Ok(()),
            // Another process has removed it.
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(_) => Err(Error::FAILURE),
        })?;
        // By its path, which a link to it has, too. It removes nothing but an empty directory.
        match files::remove_dir(name) {
            Ok(()) => return Ok(()),
            Err(error) => match error.kind() {
                ErrorKind::NotFound | ErrorKind::NotADirectory => return Ok(()),
                ErrorKind::DirectoryNotEmpty => {}
                _ => return Err(Error::FAILURE),
            },
        }
    }
    Err(Error::FAILURE)
}

/// Removes the frame at a path: a file with the lock file beside it, or a directory with the files
/// in it. Does nothing if there is nothing at the path.
///
/// # Errors
/// Those of [`kind`], [`remove_file`] and [`remove_dir_with_files`].
pub fn remove_frame(path: &CStr) -> Result<()> {
    match kind(path)? {
        None => Ok(()),
        Some(FileType::Directory) => remove_dir_with_files(path),
        Some(FileType::File) => {
            let lock = CStrBuf::concat(&[path.to_bytes(), b".b2lock"])?;
            remove_file(path)?;
            // It exists only with locking.
            let _ = remove_file(&lock);
            Ok(())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::Folder;
    use super::*;
    use crate::file::path;
    use std::fs;
    #[cfg(unix)]
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
        assert_eq!(kind(&a), Ok(Some(FileType::File)));
        // Windows says of this that nothing is there.
        let in_a_file = if cfg!(windows) {
            Ok(None)
        } else {
            Err(Error::FAILURE)
        };
        assert_eq!(kind(&folder.path("a/b")), in_a_file);
        assert_eq!(rename(&a, &b), Ok(()));
        assert_eq!(rename(&a, &b), Err(Error::FAILURE));
        assert_eq!(remove_file(&b), Ok(()));
        assert_eq!(remove_file(&b), Err(Error::FILE_REMOVE));
        assert_eq!(create_dir(&a), Ok(()));
        assert_eq!(create_dir(&a), Err(Error::FILE_OPEN));
        assert_eq!(kind(&a), Ok(Some(FileType::Directory)));
        assert_eq!(sync_dir(&a), Ok(()));
        assert_eq!(sync_parent(&a), Ok(()));
        assert_eq!(sync_dir(&b), Err(Error::FILE_WRITE));
        touch(&folder.path("a/file"));
        for sync in [sync_dir_with_files, sync_each_file] {
            assert_eq!(sync(&a), Ok(()));
            assert!(sync(&b).is_err());
        }
        assert_eq!(remove_file(&folder.path("a/file")), Ok(()));
        for (of, holds) in [
            (c"a", c"."),
            (c"a/", c"."),
            (c"/a", c"/"),
            (c"//a//", c"/"),
            (c"a/b", c"a"),
            (c"/a//b/c", c"/a//b"),
            (c"a//b", c"a"),
        ] {
            assert_eq!(
                &*super::folder(of).expect("memory").expect("no root"),
                holds
            );
        }
        assert_eq!(sync_parent(c"name"), Ok(()));
        assert_eq!(sync_parent(c"/"), Err(Error::FILE_WRITE));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_to_their_end() {
        let folder = Folder::new("followed");
        let (file, link, last) = (folder.path("file"), folder.path("a"), folder.path("b"));
        let leads = |from: &CStr, to: &CStr| followed(from).is_ok_and(|end| *end == *to);
        assert!(leads(&file, &file));
        symlink("b", path(&link)).expect("linked");
        symlink(path(&file), path(&last)).expect("linked");
        assert!(leads(&link, &file));
        touch(&file);
        assert!(leads(&link, &file));
        symlink("circle", path(&folder.path("circle"))).expect("linked");
        assert_eq!(
            followed(&folder.path("circle")).err(),
            Some(Error::FILE_OPEN)
        );
    }

    #[test]
    fn only_what_was_made_is_removed() {
        let folder = Folder::new("made");
        let (a, b, lock) = (folder.path("a"), folder.path("b"), folder.path("lock"));
        touch(&a);
        let made = NewPath::planned(&a, false, Some(&lock))
            .expect("memory")
            .created();
        touch(&lock);
        touch(&b);
        rename(&b, &a).expect("renamed");
        made.remove();
        assert_eq!(kind(&a), Ok(Some(FileType::File)), "another file by then");
        NewPath::planned(&a, false, Some(&lock))
            .expect("memory")
            .created()
            .remove();
        assert_eq!(kind(&a), Ok(None));
        assert_eq!(kind(&lock), Ok(Some(FileType::File)), "it was there before");
        create_dir(&a).expect("made");
        let made = NewPath::planned(&a, true, None).expect("memory").created();
        touch(&folder.path("a/file"));
        made.remove();
        assert_eq!(kind(&a), Ok(None));
    }

    /// The directory that the environment names is removed: run by the next test, in a process of
    /// its own.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn the_named_directory_goes() {
        if let Some(named) = std::env::var_os("OXIBLOSC_REMOVED") {
            let named = CStrBuf::new(path_bytes(named.as_ref()).expect("plain")).expect("memory");
            let _ = remove_dir_with_files(&named);
        }
    }

    /// Another user puts a link in the place of the directory, or of the one that holds it, between
    /// any two calls.
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    #[test]
    fn nothing_goes_where_a_link_leads() {
        use oxiblosc_testing::shim;
        let folder = Folder::new("exchanged");
        let at = |name: &str| path(&folder.path(name)).to_path_buf();
        let shim = shim::compile(shim::EXCHANGE, &at(""));
        let mut swept = 0;
        // A link that is there when the path is looked up is followed, so that the first call
        // counts as before it.
        for (old, decoy) in [("theirs/frame", "kept/frame"), ("theirs", "kept")] {
            for call in 0.. {
                let _ = fs::remove_dir_all(at("theirs"));
                let _ = fs::remove_dir_all(at("theirs~"));
                let _ = fs::remove_file(at("theirs"));
                let _ = fs::remove_dir_all(at("kept"));
                for home in ["theirs", "kept"] {
                    fs::create_dir_all(at(home).join("frame")).expect("made");
                    for name in ["chunks.b2frame", "00000000.chunk", "00000001.chunk"] {
                        fs::write(at(home).join("frame").join(name), b"x").expect("written");
                    }
                }
                let mut removing = std::process::Command::new(std::env::current_exe().expect("it"));
                removing.args(["--exact", "paths::tests::the_named_directory_goes"]);
                removing.env("OXIBLOSC_REMOVED", at("theirs/frame"));
                removing
                    .env("LD_PRELOAD", &shim)
                    .env("EXCHANGE_FOLDER", at("theirs"));
                removing
                    .env("EXCHANGE_OLD", at(old))
                    .env("EXCHANGE_DECOY", at(decoy));
                removing.env("EXCHANGE_AT", call.to_string());
                removing.env("EXCHANGE_COUNT", at("count"));
                assert!(removing.output().expect("runs").status.success());
                let calls = fs::read_to_string(at("count")).expect("written");
                let calls: usize = calls.trim().parse().expect("a number");
                let left = |home: &str| fs::read_dir(at(home)).map_or(0, Iterator::count);
                let (kept, theirs) = (left("kept/frame"), left("theirs/frame"));
                let aside = left("theirs~/frame") + left("theirs/frame~");
                match call {
                    0 => assert_eq!((kept, theirs), (3, 0), "nothing was exchanged"),
                    // Before or after the directory was opened, all of one of both went.
                    _ => assert!(
                        kept == 3 || aside == 3,
                        "{old}, call {call}: {kept}, {aside}"
                    ),
                }
                swept += 1;
                if call >= calls {
                    break;
                }
            }
        }
        assert!(swept > 12, "only {swept} calls");
    }

    #[cfg(unix)]
    #[test]
    fn directories_go_with_their_files_and_nothing_else() {
        let folder = Folder::new("remove");
        let (inside, outside) = (folder.path("inside"), folder.path("outside"));
        create_dir(&inside).expect("made");
        create_dir(&outside).expect("made");
        touch(&folder.path("outside/kept"));
        // More than are listed at once.
        for number in 0..500 {
            touch(&folder.path(&format!("inside/{number:08X}.chunk")));
        }
        symlink(path(&outside), path(&folder.path("inside/link"))).expect("linked");
        symlink("nowhere", path(&folder.path("inside/dangling"))).expect("linked");
        assert_eq!(remove_dir_with_files(&inside), Ok(()));
        assert_eq!(kind(&inside), Ok(None));
        assert_eq!(kind(&folder.path("outside/kept")), Ok(Some(FileType::File)));
        assert_eq!(remove_dir_with_files(&inside), Err(Error::NOT_FOUND));
        assert_eq!(
            remove_dir_with_files(&folder.path("outside/kept")),
            Err(Error::NOT_FOUND)
        );

        create_dir(&inside).expect("made");
        touch(&folder.path("inside/a"));
        create_dir(&folder.path("inside/b")).expect("made");
        assert_eq!(remove_dir_with_files(&inside), Err(Error::FAILURE));
        assert_eq!(kind(&folder.path("inside/a")), Ok(Some(FileType::File)));

        let link = folder.path("link");
        symlink(path(&outside), path(&link)).expect("linked");
        assert_eq!(remove_dir_with_files(&link), Ok(()));
        assert_eq!(kind(&outside), Ok(Some(FileType::Directory)));
        assert_eq!(kind(&folder.path("outside/kept")), Ok(None));
    }

    #[test]
    fn paths_may_be_urls_of_files() {
        assert_eq!(local(c"file:///a/b"), c"a/b");
        assert_eq!(local(c"/a/file:///"), c"/a/file:///");
        assert_eq!(local(c"file:///"), c"");
    }
}
