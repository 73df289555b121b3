//! Replaces a file atomically: the path leads to the old bytes or to the new ones, whatever call
//! fails and whenever the process is killed.
//!
//! The bytes are written to a new file in the same directory, which is then renamed. It gets the
//! mode, owner, group, access control list and user attributes of the old file, as far as the
//! process is permitted to set them. Links are followed. What is not a regular file, such as a
//! device, cannot be replaced and is written directly.

use super::file::write_all;
use super::{Backend, Mode, StorageLock, attributes, paths};
use oxiblosc_base::memory::{CStrBuf, Text};
use oxiblosc_base::system::files::{self, NewFileAccess, OpenFlags, Rights};
use oxiblosc_base::system::random;
use oxiblosc_base::{Context, Doing, Error, OrError, Result};
use std::ffi::CStr;
use std::fs::File;
use std::io::{self, ErrorKind};

/// How many names are tried for a new file.
const NAMES: usize = 64;

/// Makes `bytes` the content of the file at `name`, which need not exist. With `durable`, it
/// returns when that would survive a loss of power.
///
/// # Errors
/// `Error::FILE_OPEN` if the file or its directory cannot be written to, `Error::FILE_WRITE` if the
/// bytes cannot be written. Nothing has changed then.
pub fn write(name: &CStr, bytes: &[u8], durable: bool) -> Result<()> {
    let followed = paths::followed(name)?;
    let target: &CStr = &followed;
    let old = match files::stat(target, false) {
        Ok(there) if there.is_file() => Some(writable(target)?),
        Ok(_) => return write_in_place(target, bytes),
        // A path that ends in a slash names a directory.
        Err(error) if error.kind() == ErrorKind::NotFound && !ends_in_separator(target) => None,
        Err(_) => return Err(Error::FILE_OPEN),
    };
    // A replacement is private until it has the mode of the old file, so that the bytes are never
    // readable to more users. Otherwise the file gets the default mode.
    let is_there = old.is_some();
    let access = if is_there {
        NewFileAccess::Owner
    } else {
        NewFileAccess::All
    };
    let (new, file) = Temporary::beside(target, access)?;
    fill(file, bytes, old, durable)?;
    if durable {
        new.replace_durably(target, is_there)
    } else {
        new.replace(target)
    }
}

/// As [`write()`], through a back end. This is atomic only on the file system.
///
/// # Errors
/// Those of the back end.
pub fn write_through(
    backend: &dyn Backend,
    path: &CStr,
    bytes: &[u8],
    durable: bool,
) -> Result<()> {
    if backend.is_filesystem() {
        return write(path, bytes, durable);
    }
    let is_new = backend.is_mmap() && paths::kind(path)?.is_none();
    let written = backend.open(path, Mode::Create).and_then(|file| {
        {
            let _lock = StorageLock::exclusive(&*file, is_new)?;
            file.write_at(0, bytes)?;
            if durable {
                file.sync()?;
            }
        }
        match durable && backend.is_mmap() {
            true => paths::sync_parent(&paths::followed(path)?),
            false => Ok(()),
        }
    });
    written.inspect_err(|_| {
        if is_new {
            // There may be no file to remove.
            let _ = paths::remove_file(path);
        }
    })
}

/// A random path in the directory of `target`, which nothing has.
///
/// # Errors
/// [`Error::FILE_OPEN`] for the root; [`Error::MEMORY_ALLOC`].
pub fn temporary_name(target: &CStr) -> Result<CStrBuf> {
    let folder = paths::folder(target)?.ok_or(Error::FILE_OPEN)?;
    let number = random::number();
    let name = Text::<32>::of(format_args!("/.b2-{number:016x}.tmp"));
    CStrBuf::concat(&[folder.to_bytes(), name.as_bytes()])
}

/// Whether a path names a directory by its last byte.
pub fn ends_in_separator(path: &CStr) -> bool {
    let last = path.to_bytes().last();
    last.is_some_and(|last| files::is_separator(*last))
}

/// A file that is to be replaced, with its owner, group and mode.
struct Old {
    file: File,
    rights: Rights,
}

/// A regular file that this process may write.
fn writable(target: &CStr) -> Result<Old> {
    let open = || -> io::Result<Old> {
        let file = files::open(target, OpenFlags::WRITE_FILE, NewFileAccess::All)?;
        let rights = files::rights(&file)?;
        Ok(Old { file, rights })
    };
    open().or_error(Error::FILE_OPEN).doing(Doing::OpenFile)
}

fn write_in_place(target: &CStr, bytes: &[u8]) -> Result<()> {
    let file = files::open(target, OpenFlags::WRITE, NewFileAccess::All)
        .or_error(Error::FILE_OPEN)
        .doing(Doing::CreateFile)?;
    files::write_all(&file, bytes).or_error(Error::FILE_WRITE)
}

/// Makes a new file like the old one, and closes both: Windows does not replace an open file. The
/// bytes are written last, so that the system clears set-user-ID bits which this user could not
/// have set.
fn fill(file: File, bytes: &[u8], old: Option<Old>, durable: bool) -> Result<()> {
    if let Some(old) = old {
        attributes::copy(&old.file, &file)?;
        let mut acl = attributes::acl(&old.file)?;
        files::give_rights(&file, &old.rights, acl.as_deref_mut())
            .or_error(Error::FILE_WRITE)
            .doing(Doing::CreateFile)?;
    }
    write_all(&file, 0, bytes, &Default::default())?;
    let synced = if durable { file.sync_all() } else { Ok(()) };
    synced
        .and_then(|()| files::close(file))
        .or_error(Error::FILE_WRITE)
        .doing(Doing::SyncFile)
}

/// A file with a temporary name. It is removed when this is dropped, unless it was renamed.
struct Temporary(Option<CStrBuf>);

impl Temporary {
    /// Creates an empty file in the directory of `target`. Its name is random, so that another user
    /// cannot prepare it; if anything has that name, even a link, the next one is tried. The length
    /// of the name does not depend on that of `target`, which may be the longest possible.
    fn beside(target: &CStr, access: NewFileAccess) -> Result<(Self, File)> {
        for _ in 0..NAMES {
            let name = temporary_name(target)?;
            match files::open(&name, OpenFlags::TEMPORARY, access) {
                Ok(file) => return Ok((Self(Some(name)), file)),
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Error::FILE_OPEN.because(&error).at(Doing::CreateFile));
                }
            }
        }
        Err(Error::FILE_OPEN)
    }

    /// Renames the file to `target`.
    fn replace(mut self, target: &CStr) -> Result<()> {
        if let Some(name) = &self.0 {
            files::rename(name, target)
                .or_error(Error::FILE_WRITE)
                .doing(Doing::RenameFile)?;
        }
        // There is no temporary file left to remove.
        self.0 = None;
        Ok(())
    }

    /// As [`Self::replace`], and syncs the directory. If that fails, the old file gets its name
    /// back.
    fn replace_durably(self, target: &CStr, is_there: bool) -> Result<()> {
        let folder = paths::folder(target)?.ok_or(Error::FILE_WRITE)?;
        let old = if is_there {
            Self::second_name(target)
        } else {
            None
        };
        self.replace(target)?;
        let synced = paths::sync_dir(&folder);
        if synced.is_err() {
            // Restores the old file, or removes the new one if there was none. If that fails, the
            // new file stays.
            let _ = match old {
                Some(old) => old.replace(target),
                None if is_there => Ok(()),
                None => paths::remove_file(target),
            };
        }
        synced
    }

    /// Gives a file a second name (a hard link), if the file system supports it.
    fn second_name(target: &CStr) -> Option<Self> {
        let name = temporary_name(target).ok()?;
        files::link(target, &name).ok()?;
        Some(Self(Some(name)))
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(name) = &self.0 {
            // The file may be gone already; there is no better way to handle that error.
            let _ = files::unlink(name);
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
    use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
    use std::path::Path;

    /// The names in the folder of a file.
    fn names(of: &Path) -> Vec<String> {
        let entries = fs::read_dir(of.parent().expect("a folder")).expect("lists");
        let name = |entry: std::io::Result<fs::DirEntry>| {
            let name = entry.expect("an entry").file_name();
            name.to_string_lossy().into_owned()
        };
        let mut names: Vec<String> = entries.map(name).collect();
        names.sort();
        names
    }

    #[cfg(unix)]
    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("there").mode() & 0o7777
    }

    #[cfg(unix)]
    #[test]
    fn mode_and_link_stay() {
        for durable in [false, true] {
            let folder = Folder::new(&format!("whole-{durable}"));
            let (name, link) = (folder.path("file"), folder.path("link"));
            write(&name, b"first", durable).expect("a new file");
            assert_eq!(fs::read(path(&name)).expect("reads"), b"first");
            for bits in [0o600, 0o640, 0o444, 0o4755] {
                fs::set_permissions(path(&name), fs::Permissions::from_mode(bits)).expect("a mode");
                let content = bits.to_string();
                // What the system makes of the mode of a file that is written where it is.
                let twin = folder.path("twin");
                fs::write(path(&twin), b"first").expect("writes");
                fs::set_permissions(path(&twin), fs::Permissions::from_mode(bits)).expect("a mode");
                let _ = fs::write(path(&twin), b"again");
                match write(&name, content.as_bytes(), durable) {
                    // A process that may write everything is not asked for the mode.
                    Err(error) => assert_eq!((error, bits), (Error::FILE_OPEN, 0o444)),
                    Ok(()) => assert_eq!(fs::read(path(&name)).expect("reads"), content.as_bytes()),
                }
                assert_eq!(mode(path(&name)), mode(path(&twin)));
                fs::remove_file(path(&twin)).expect("removes");
            }
            symlink("file", path(&link)).expect("a link");
            write(&link, b"through the link", durable).expect("writes");
            assert!(path(&link).is_symlink());
            assert_eq!(fs::read(path(&name)).expect("reads"), b"through the link");
            fs::remove_file(path(&name)).expect("removes");
            write(&link, b"through a link to nothing", durable).expect("writes");
            assert_eq!(
                fs::read(path(&name)).expect("reads"),
                b"through a link to nothing"
            );
            assert_eq!(names(path(&name)), ["file", "link"]);
        }
    }

    #[test]
    fn names_may_be_as_long_as_any() {
        let folder = Folder::new("whole-long");
        let longest = "n".repeat(255);
        let name = folder.path(&longest);
        for content in [b"first", b"again"] {
            write(&name, content, false).expect("writes");
            assert_eq!(fs::read(path(&name)).expect("reads"), content);
        }
        assert_eq!(names(path(&name)), [longest]);
        let name = folder.path(&"n".repeat(256));
        assert!(write(&name, b"no", false).is_err());
    }

    #[cfg(unix)]
    #[test]
    fn devices_stay_devices() {
        let folder = Folder::new("whole-device");
        let link = folder.path("null");
        symlink("/dev/null", path(&link)).expect("a link");
        write(&link, b"bytes", false).expect("writes");
        assert!(!fs::metadata("/dev/null").expect("there").is_file());
        assert_eq!(
            write(&folder.path("."), b"no", false),
            Err(Error::FILE_OPEN)
        );
    }

    #[test]
    fn a_failure_leaves_what_was() {
        let folder = Folder::new("whole-failure");
        let directory = folder.path("directory");
        paths::create_dir(&directory).expect("made");
        assert_eq!(write(&directory, b"no", false), Err(Error::FILE_OPEN));
        let inside = folder.path("missing/file");
        assert_eq!(write(&inside, b"no", false), Err(Error::FILE_OPEN));
        assert_eq!(names(path(&directory)), ["directory"]);
        let file = folder.path("file");
        let (_, other) = Temporary::beside(&file, NewFileAccess::Owner).expect("a new file");
        assert_eq!(fill(other, b"bytes", None, true), Ok(()));
        assert_eq!(
            names(path(&directory)),
            ["directory"],
            "removed when dropped"
        );
    }
}
