//! What differs between operating systems, besides what `oxiblosc-base` has.

use oxiblosc_base::system::files::{NewFileAccess, OpenFlags};
use oxiblosc_base::system::folder::Folder;
use std::ffi::CStr;
use std::fs::{File, Metadata};
use std::io;

/// The mode, owner and access control list of a file, to be given to another one.
pub struct GivenRights {
    /// The file's metadata.
    pub source: Metadata,
    /// Its access control list, if it has one.
    #[cfg(unix)]
    list: Option<Vec<u8>>,
}

impl GivenRights {
    /// Those of what has a name in a directory; links are not followed.
    pub fn of(folder: &Folder, name: &CStr) -> io::Result<Self> {
        Self::by(|how| folder.file(name, how, NewFileAccess::All))
    }

    /// Those of an open file or directory.
    pub fn of_opened(file: &File) -> io::Result<Self> {
        Ok(Self {
            source: file.metadata()?,
            #[cfg(unix)]
            list: list_of(file)?,
        })
    }

    /// Those of what a function opens. What may not be read can be looked at all the same.
    pub fn by(open: impl Fn(OpenFlags) -> io::Result<File>) -> io::Result<Self> {
        match open(OpenFlags::READ) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                let source = open(OpenFlags::STAT)?.metadata()?;
                Ok(Self {
                    #[cfg(unix)]
                    list: source.is_file().then(Vec::new),
                    source,
                })
            }
            opened => Self::of_opened(&opened?),
        }
    }
}

/// The result of locking a folder.
#[cfg_attr(windows, allow(dead_code, reason = "folders cannot be locked there"))]
pub enum Lock {
    /// It is locked.
    Taken,
    /// Another program has it locked, or has removed it.
    Lost,
    /// Folders cannot be locked here.
    None,
}

#[cfg(unix)]
mod kind {
    use super::GivenRights;
    use super::Lock;
    use crate::place::Place;
    use crate::reserve;
    use oxiblosc::storage::attributes::acl;
    use oxiblosc_base::system::files::{give_acl, identity};
    use oxiblosc_base::system::folder::Folder;
    use oxiblosc_startup::{FAILED, aborts, exit_now, stdin_was_closed, stdout_was_closed};
    use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::fs::{File, Metadata, Permissions, TryLockError};
    use std::io::{self, Read, Write};
    use std::os::fd::{AsFd, AsRawFd};
    use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, fchown};
    use std::path::{Path, PathBuf};
    use std::sync::Once;

    /// Standard input. Fails if it is closed, or not open for reading.
    pub fn standard_input() -> io::Result<File> {
        let mut input = opened(stdin_was_closed(), io::stdin())?;
        // Fails if it is open for writing only.
        let _ = input.read(&mut [])?;
        Ok(input)
    }

    /// Standard output, without a buffer. Fails if it is closed.
    pub fn standard_output() -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(opened(stdout_was_closed(), io::stdout())?))
    }

    /// A standard stream that reports all errors. Those of `std` behave as empty, or discard what
    /// is written, if the stream is not open for reading or writing.
    fn opened(was_closed: bool, stream: impl AsFd) -> io::Result<File> {
        match was_closed {
            true => Err(io::Error::other("is closed")),
            false => stream.as_fd().try_clone_to_owned().map(File::from),
        }
    }

    /// A file that is kept open, so that closing it lets the process open another.
    pub type Reserve = Option<File>;

    /// Opens what is needed to remove a directory that is in another.
    pub fn reserve(folder: &Folder) -> io::Result<Reserve> {
        folder.opened().map(Some)
    }

    /// Locks a folder until it is closed. Another one, or none, may have its name meanwhile.
    pub fn lock(folder: &Folder, place: &Place) -> Lock {
        let Ok(opened) = folder.opened() else {
            return Lock::None;
        };
        match opened.try_lock() {
            Ok(()) => match (identity(&opened), place.stat()) {
                (Ok(locked), Ok(there)) if locked == there.identity => Lock::Taken,
                _ => Lock::Lost,
            },
            Err(TryLockError::WouldBlock) => Lock::Lost,
            Err(TryLockError::Error(_)) => Lock::None,
        }
    }

    /// Locks a folder that no other program has locked, until it is closed. False for others.
    pub fn is_abandoned(folder: &Folder) -> bool {
        folder
            .opened()
            .is_ok_and(|opened| opened.try_lock().is_ok())
    }

    /// An open file or directory.
    pub use std::os::fd::AsFd as Open;

    /// A path that leads to an open file or directory whatever becomes of its name; none where
    /// `/proc` is not there.
    pub fn lasting_path(opened: &impl Open) -> Option<PathBuf> {
        let number = opened.as_fd().as_raw_fd().to_string();
        let path = Path::new("/proc/self/fd").join(number);
        let is_there = cfg!(target_os = "linux") && path.symlink_metadata().is_ok();
        is_there.then_some(path)
    }

    /// Whether it is a block device, such as a disk.
    pub fn is_block_device(there: &Metadata) -> bool {
        there.file_type().is_block_device()
    }

    /// Whether it is a character device, such as `/dev/zero`.
    pub fn is_character_device(there: &Metadata) -> bool {
        there.file_type().is_char_device()
    }

    /// The access control list of an open file, if it has one; an empty one if this user may not
    /// see it. None of a directory.
    pub fn list_of(file: &File) -> io::Result<Option<Vec<u8>>> {
        if !file.metadata()?.is_file() {
            return Ok(None);
        }
        let list = acl(file).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(list.map(|list| list.to_vec()))
    }

    /// Gives an open file or directory the mode of a source, and its owner and group as far as this
    /// user may. Users who may read the files of a directory may also search it. A file gets the
    /// access control list of the source, too. A directory gets no list: if the source has one,
    /// only the owner has rights to the directory, since the mode alone could allow more than the
    /// list.
    pub fn give_rights(to: &File, GivenRights { source, list }: &GivenRights) -> io::Result<()> {
        // The bits that let users search a directory would let them execute a file.
        let mut mode = source.mode() & if source.is_dir() { 0o666 } else { 0o777 };
        let is_folder = to.metadata()?.is_dir();
        if is_folder {
            if list.is_some() {
                mode &= 0o700;
            }
            mode |= (mode & 0o444) >> 2;
        }
        // Often a user may only change the group. If neither can be changed the mode is set all the
        // same, as other compressors do.
        let _ = fchown(to, Some(source.uid()), Some(source.gid()))
            .or_else(|_| fchown(to, None, Some(source.gid())));
        if !is_folder {
            mode = give_acl(to, list.clone().as_deref_mut(), mode);
        }
        to.set_permissions(Permissions::from_mode(mode))
    }

    /// From now on a signal that ends the program calls `run` first. Writing more than the limit on
    /// file sizes is an error of the write, not a signal.
    pub fn before_end(run: fn()) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let ignored = ignored();
            let signals = [SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ];
            let watched = signals.iter().filter(|n| ignored >> (**n - 1) & 1 == 0);
            // If this fails a signal leaves the temporary folders behind.
            if let Ok(mut signals) = Signals::new(watched) {
                let wait = move || {
                    let ending = |signal: &i32| *signal != SIGXFSZ;
                    for signal in signals.forever().filter(ending) {
                        if signal == SIGABRT {
                            reserve::release();
                            run();
                            exit_now(FAILED);
                        }
                        run();
                        // Ends the program as the signal would have.
                        let _ = emulate_default_handler(signal);
                    }
                };
                if std::thread::Builder::new().spawn(wait).is_ok() {
                    let _ = aborts::wait_for_watcher();
                }
            }
        });
    }

    /// The signals that the program was started with as ignored, as a bit mask. `nohup` and shells
    /// without job control do that.
    fn ignored() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok())
            .unwrap_or(0)
    }
}

#[cfg(windows)]
mod kind {
    use super::{GivenRights, Lock};
    use crate::place::Place;
    use oxiblosc_base::system::folder::Folder;
    use std::fs::{File, Metadata};
    use std::io::{self, IsTerminal, Write};
    use std::os::windows::io::AsHandle;
    use std::path::PathBuf;

    /// Standard input. Fails if it is closed.
    pub fn standard_input() -> io::Result<File> {
        opened(io::stdin())
    }

    /// Standard output, without a buffer. For a terminal it is that of `std`, which translates the
    /// text to the terminal's encoding.
    pub fn standard_output() -> io::Result<Box<dyn Write + Send>> {
        Ok(match io::stdout().is_terminal() {
            true => Box::new(io::stdout()),
            false => Box::new(opened(io::stdout())?),
        })
    }

    /// A standard stream that reports all errors. Those of `std` behave as empty, or discard what
    /// is written, if the stream is closed.
    fn opened(stream: impl AsHandle) -> io::Result<File> {
        stream.as_handle().try_clone_to_owned().map(File::from)
    }

    /// Nothing: there is no limit on the files that a process may open.
    pub type Reserve = Option<File>;

    pub fn reserve(_folder: &Folder) -> io::Result<Reserve> {
        Ok(None)
    }

    /// Folders cannot be locked.
    pub fn lock(_folder: &Folder, _place: &Place) -> Lock {
        Lock::None
    }

    /// False: folders cannot be locked, so it is not known which are still used.
    pub fn is_abandoned(_folder: &Folder) -> bool {
        false
    }

    /// An open file or directory.
    pub trait Open {}
    impl<T> Open for T {}

    /// Nothing: this system has no paths for what is open.
    pub fn lasting_path(_opened: &impl Open) -> Option<PathBuf> {
        None
    }

    /// Whether it is a block device: never on this system.
    pub fn is_block_device(_there: &Metadata) -> bool {
        false
    }

    /// Whether it is a character device: never on this system.
    pub fn is_character_device(_there: &Metadata) -> bool {
        false
    }

    /// Makes a file read-only if the source is. Other rights are passed on by the directory around
    /// it.
    pub fn give_rights(to: &File, GivenRights { source, .. }: &GivenRights) -> io::Result<()> {
        match to.metadata()?.is_dir() {
            true => Ok(()),
            false => to.set_permissions(source.permissions()),
        }
    }

    pub use oxiblosc_base::system::process::before_end;
}

pub use kind::*;
