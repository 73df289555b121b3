//! What differs between operating systems, besides what `oxiblosc-system` has.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// The mode, owner and access control list of a file, to be given to another one.
pub struct GivenRights {
    /// The file's metadata.
    pub source: Metadata,
    /// Its access control list, if it has one.
    #[cfg(unix)]
    list: Option<Vec<u8>>,
}

impl GivenRights {
    /// Those of the file or directory at a path.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            source: std::fs::metadata(path)?,
            #[cfg(unix)]
            list: list_of(path)?,
        })
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
    use crate::memory;
    use crate::paths::is_dir;
    use oxiblosc_io::attributes::acl;
    use oxiblosc_startup::{FAILED, aborts, exit_now, stdin_was_closed, stdout_was_closed};
    use oxiblosc_system::files::{give_acl, identity, identity_at};
    use signal_hook::consts::{SIGABRT, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::fs::{DirBuilder, File, Metadata, Permissions, TryLockError};
    use std::io::{self, Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
    use std::path::Path;
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

    /// A standard stream that reports all errors. Those of `std` behave as empty, or discard what is written, if the stream is not open for
    /// reading or writing.
    fn opened(was_closed: bool, stream: impl AsFd) -> io::Result<File> {
        match was_closed {
            true => Err(io::Error::other("is closed")),
            false => stream.as_fd().try_clone_to_owned().map(File::from),
        }
    }

    /// Makes a directory that only this user can look into.
    pub fn create_private_dir(path: &Path) -> io::Result<()> {
        DirBuilder::new().mode(0o700).create(path)
    }

    /// Files that are kept open, so that closing them lets the process open others. The first one holds the lock of a folder.
    pub type Reserve = Option<[File; 2]>;

    /// Opens as many files as are needed to remove a directory and one in it.
    pub fn reserve(path: &Path) -> io::Result<Reserve> {
        Ok(Some([File::open(path)?, File::open(path)?]))
    }

    /// No files.
    pub fn no_reserve() -> Reserve {
        None
    }

    /// Locks the folder at a path, which `reserve` has opened, until that is closed.
    pub fn lock(path: &Path, reserve: &Reserve) -> Lock {
        let Some([folder, _]) = reserve else {
            return Lock::None;
        };
        match folder.try_lock() {
            Ok(()) => match (identity(folder), identity_at(path)) {
                (Ok(locked), Ok(there)) if locked == there => Lock::Taken,
                _ => Lock::Lost,
            },
            Err(TryLockError::WouldBlock) => Lock::Lost,
            Err(TryLockError::Error(_)) => Lock::None,
        }
    }

    /// Locks a folder that no other program has locked. None for others.
    pub fn abandoned(path: &Path) -> Option<File> {
        let folder = File::open(path).ok()?;
        folder.try_lock().ok().map(|()| folder)
    }

    /// Whether it is a block device, such as a disk.
    pub fn is_block_device(there: &Metadata) -> bool {
        there.file_type().is_block_device()
    }

    /// Whether it is a character device, such as `/dev/zero`.
    pub fn is_character_device(there: &Metadata) -> bool {
        there.file_type().is_char_device()
    }

    /// The access control list of a file, if it has one; an empty one if this user may not see it.
    pub fn list_of(path: &Path) -> io::Result<Option<Vec<u8>>> {
        if !std::fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {
                return Ok(Some(Vec::new()));
            }
            file => file?,
        };
        let list = acl(&file).map_err(|_| io::ErrorKind::OutOfMemory)?;
        Ok(list.map(|list| list.to_vec()))
    }

    /// Gives a file or directory the mode of a source, and its owner and group as far as this user may. Users who may read the files of a
    /// directory may also search it. A file gets the access control list of the source, too. A directory gets no list: if the source has
    /// one, only the owner has rights to the directory, since the mode alone could allow more than the list.
    pub fn give_rights(path: &Path, GivenRights { source, list }: &GivenRights) -> io::Result<()> {
        // The bits that let users search a directory would let them execute a file.
        let mut mode = source.mode() & if source.is_dir() { 0o666 } else { 0o777 };
        let is_folder = is_dir(path)?;
        if is_folder {
            if list.is_some() {
                mode &= 0o700;
            }
            mode |= (mode & 0o444) >> 2;
        }
        // Often a user may only change the group. If neither can be changed the mode is set all the same, as other compressors do.
        let _ = chown(path, Some(source.uid()), Some(source.gid()))
            .or_else(|_| chown(path, None, Some(source.gid())));
        if !is_folder {
            mode = give_acl(&File::open(path)?, list.clone().as_deref_mut(), mode);
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }

    /// From now on a signal that ends the program calls `run` first. Writing more than the limit on file sizes is an error of the write, not
    /// a signal.
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
                            memory::release();
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

    /// The signals that the program was started with as ignored, as a bit mask. `nohup` and shells without job control do that.
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
    use crate::paths::is_dir;
    use std::fs::{File, Metadata};
    use std::io::{self, IsTerminal, Write};
    use std::os::windows::io::AsHandle;
    use std::path::Path;

    /// Standard input. Fails if it is closed.
    pub fn standard_input() -> io::Result<File> {
        opened(io::stdin())
    }

    /// Standard output, without a buffer. For a terminal it is that of `std`, which translates the text to the terminal's encoding.
    pub fn standard_output() -> io::Result<Box<dyn Write + Send>> {
        Ok(match io::stdout().is_terminal() {
            true => Box::new(io::stdout()),
            false => Box::new(opened(io::stdout())?),
        })
    }

    /// A standard stream that reports all errors. Those of `std` behave as empty, or discard what is written, if the stream is closed.
    fn opened(stream: impl AsHandle) -> io::Result<File> {
        stream.as_handle().try_clone_to_owned().map(File::from)
    }

    /// Makes a directory, with the rights that the directory around it passes on.
    pub fn create_private_dir(path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    /// Nothing: there is no limit on the files that a process may open.
    pub struct Reserve;

    pub fn reserve(_path: &Path) -> io::Result<Reserve> {
        Ok(Reserve)
    }

    pub fn no_reserve() -> Reserve {
        Reserve
    }

    /// Folders cannot be locked.
    pub fn lock(_path: &Path, _reserve: &Reserve) -> Lock {
        Lock::None
    }

    /// Nothing: folders cannot be locked, so it is not known which are still used.
    pub fn abandoned(_path: &Path) -> Option<File> {
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

    /// Makes a file read-only if the source is. Other rights are passed on by the directory around it.
    pub fn give_rights(path: &Path, GivenRights { source, .. }: &GivenRights) -> io::Result<()> {
        match is_dir(path)? {
            true => Ok(()),
            false => std::fs::set_permissions(path, source.permissions()),
        }
    }

    pub use oxiblosc_system::process::before_end;
}

pub use kind::*;
