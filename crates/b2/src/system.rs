//! What differs between kinds of systems, beside what `oxiblosc-system` has.

use std::fs::Metadata;
use std::io;
use std::path::Path;

/// The rights that a new file or directory gets: those of another one.
pub struct GivenRights {
    /// What is known of it.
    pub source: Metadata,
    /// Its access control list, if it has one.
    #[cfg(unix)]
    list: Option<Vec<u8>>,
}

impl GivenRights {
    /// Those of what is at a path.
    pub fn of(path: &Path) -> io::Result<Self> {
        Ok(Self {
            source: std::fs::metadata(path)?,
            #[cfg(unix)]
            list: list_of(path),
        })
    }
}

#[cfg(unix)]
mod kind {
    use super::GivenRights;
    use oxiblosc_io::attributes::acl;
    use oxiblosc_startup::{stdin_was_closed, stdout_was_closed};
    use oxiblosc_system::files::give_acl;
    use signal_hook::consts::{SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;
    use std::fs::{DirBuilder, File, Metadata, Permissions};
    use std::io::{self, Read, Write};
    use std::os::fd::AsFd;
    use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
    use std::path::Path;
    use std::sync::Once;

    /// What comes in at a standard stream.
    pub fn standard_input() -> io::Result<File> {
        let mut input = opened(stdin_was_closed(), io::stdin())?;
        // Fails where it can only be written to.
        let _ = input.read(&mut [])?;
        Ok(input)
    }

    /// What goes out at a standard stream, without a buffer.
    pub fn standard_output() -> io::Result<Box<dyn Write + Send>> {
        Ok(Box::new(opened(stdout_was_closed(), io::stdout())?))
    }

    /// A standard stream that tells all errors: those of `std` take it for empty, and what is written for written, if it is not open for
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

    /// Files that are held open so that others can be opened once they are closed.
    pub type Reserve = [File; 2];

    /// As many as removing a directory, and one in it, takes.
    pub fn reserve(path: &Path) -> io::Result<Reserve> {
        Ok([File::open(path)?, File::open(path)?])
    }

    /// Whether it is a disk.
    pub fn is_block_device(there: &Metadata) -> bool {
        there.file_type().is_block_device()
    }

    /// Whether it is a device that gives bytes one after the other.
    pub fn is_character_device(there: &Metadata) -> bool {
        there.file_type().is_char_device()
    }

    /// The access control list of a file, if it has one.
    pub fn list_of(path: &Path) -> Option<Vec<u8>> {
        let is_file = std::fs::metadata(path).is_ok_and(|there| there.is_file());
        let file = is_file.then(|| File::open(path).ok())??;
        acl(&file).ok()?.map(|list| list.to_vec())
    }

    /// Gives a file or directory the mode of a source, and its owner and group as far as this user may. Users that may read the
    /// files of a directory may also search it. A file gets the source's access control list, too, and of a directory then its owner alone
    /// has rights.
    pub fn give_rights(path: &Path, GivenRights { source, list }: &GivenRights) -> io::Result<()> {
        // The bits for searching a directory would be those for executing a file.
        let mut mode = source.mode() & if source.is_dir() { 0o666 } else { 0o777 };
        if path.is_dir() {
            if list.is_some() {
                mode &= 0o700;
            }
            mode |= (mode & 0o444) >> 2;
        }
        // The group alone may be possible. Without either the mode says the same of another owner, as with other compressors.
        let _ = chown(path, Some(source.uid()), Some(source.gid()))
            .or_else(|_| chown(path, None, Some(source.gid())));
        if !path.is_dir() {
            mode = give_acl(&File::open(path)?, list.clone().as_deref_mut(), mode);
        }
        std::fs::set_permissions(path, Permissions::from_mode(mode))
    }

    /// From now on a signal by which users and systems end a program calls `run` first; to write more than the system allows is an
    /// error of the write and no signal.
    pub fn before_end(run: fn()) {
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            let ignored = ignored();
            let signals = [SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGXCPU, SIGXFSZ];
            let watched = signals.iter().filter(|n| ignored >> (**n - 1) & 1 == 0);
            // Without it a signal leaves the folders where they are.
            if let Ok(mut signals) = Signals::new(watched) {
                std::thread::spawn(move || {
                    let ending = |signal: &i32| *signal != SIGXFSZ;
                    for signal in signals.forever().filter(ending) {
                        run();
                        // It ends the program as the signal would have.
                        let _ = emulate_default_handler(signal);
                    }
                });
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
}

#[cfg(windows)]
mod kind {
    use super::GivenRights;
    use std::fs::{File, Metadata};
    use std::io::{self, IsTerminal, Write};
    use std::os::windows::io::AsHandle;
    use std::path::Path;

    /// What comes in at a standard stream.
    pub fn standard_input() -> io::Result<File> {
        opened(io::stdin())
    }

    /// What goes out at a standard stream, without a buffer. A terminal takes what `std` translates for it.
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

    /// Makes a directory. Who can look into it is what the one around it says.
    pub fn create_private_dir(path: &Path) -> io::Result<()> {
        std::fs::create_dir(path)
    }

    /// There is no number of files that a process may open.
    pub struct Reserve;

    pub fn reserve(_path: &Path) -> io::Result<Reserve> {
        Ok(Reserve)
    }

    /// Whether it is a disk.
    pub fn is_block_device(_there: &Metadata) -> bool {
        false
    }

    /// Whether it is a device that gives bytes one after the other.
    pub fn is_character_device(_there: &Metadata) -> bool {
        false
    }

    /// Lets a file be written or not, as a source may be. All else is as the directory around it says.
    pub fn give_rights(path: &Path, GivenRights { source, .. }: &GivenRights) -> io::Result<()> {
        match path.is_dir() {
            true => Ok(()),
            false => std::fs::set_permissions(path, source.permissions()),
        }
    }

    pub use oxiblosc_system::process::before_end;
}

pub use kind::*;
