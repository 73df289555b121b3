//! The file or directory that a command makes: it appears under its name only when it is complete.

use crate::failure::{Failure, Result, cause};
use crate::frame_files::{HEADER, is_frame, is_frame_or_empty};
use crate::input::Input;
use crate::paths::size_of;
use crate::place::{Place, parent};
use crate::placing::{OTHER_THINGS, place};
use crate::print::STANDARD;
use crate::scratch::{NEW, ScratchFolder};
use crate::system::{self, GivenRights};
use oxiblosc_base::Error;
use oxiblosc_base::system::files::{NewFileAccess, OpenFlags, identity_at};
use oxiblosc_base::system::folder::Folder;
use std::ffi::CStr;
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// Links that are followed at most, one to the next.
const MAX_LINKS: usize = 40;

/// What a command makes.
pub struct Output {
    /// The folder in which it is made.
    scratch: ScratchFolder,
    target: Target,
    /// The mode and owner of what is read, which it gets; if there are none, those of what it
    /// replaces.
    source: Option<GivenRights>,
    replaced: Option<GivenRights>,
    keep_times: bool,
    name: String,
}

/// Where the output goes.
enum Target {
    /// A sequence of bytes: standard output, a device, a named pipe.
    Stream(Box<dyn Write + Send>),
    /// A file or directory, and its path in messages.
    Path {
        to: Place,
        shown: PathBuf,
        replace: bool,
    },
}

impl Output {
    /// A file or directory at `path`, made of `input`; `-` is standard output. What exists at the
    /// path is replaced only if `replace`. Links are followed. Pipes and devices are written to.
    ///
    /// Fails if something exists and may not be replaced, if the output would overwrite the input
    /// or lie in it, and if it is a terminal.
    pub fn new(path: &Path, replace: bool, input: Option<&Input>) -> Result<Self> {
        let failed = |error: io::Error| Failure::at(path, &error);
        let refused = |why: &str| Err(Failure::message(format!("{}: {why}", path.display())));
        let origin = input.and_then(Input::origin);
        let mut beside = std::env::temp_dir();
        let mut replaced = None;
        let target = if path == Path::new("-") {
            let named = |error| Failure::at(Path::new(STANDARD), &error);
            let to = system::standard_output().map_err(named)?;
            stream(to, io::stdout().is_terminal())?
        } else if let Some(there) = stream_at(path) {
            if system::is_block_device(&there) && !replace {
                return refused("is a block device (--force overwrites it)");
            }
            // The target of a link such as `/dev/stdout` may be no path, so the link itself is
            // opened.
            let to = File::options().write(true).open(path).map_err(failed)?;
            let is_terminal = to.is_terminal();
            stream(Box::new(to), is_terminal)?
        } else {
            let shown = followed(path).map_err(failed)?;
            let to = Place::at(&shown).map_err(failed)?;
            beside = parent(&shown);
            match to.stat() {
                Ok(there) => {
                    if !replace {
                        return refused("is there already (--force replaces it)");
                    }
                    if let Some(origin) = origin
                        && are_nested(origin, &shown).map_err(failed)?
                    {
                        return refused("is what is read: write to another place");
                    }
                    if there.is_dir() {
                        let folder = to.open_folder().map_err(failed)?;
                        if !is_frame_or_empty(&folder).map_err(failed)? {
                            return refused(OTHER_THINGS);
                        }
                        replaced = GivenRights::of(&folder, HEADER).ok();
                    }
                    if replaced.is_none() {
                        replaced = Some(GivenRights::of(&to.folder, &to.name).map_err(failed)?);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    if let Some(origin) = origin
                        && is_within(&beside, origin).map_err(failed)?
                    {
                        return refused("is within what is read: write to another place");
                    }
                }
                Err(error) => return Err(failed(error)),
            }
            Target::Path { to, shown, replace }
        };
        let scratch = match &target {
            Target::Stream(_) => {
                ScratchFolder::within(&beside).map_err(|error| Failure::at(&beside, &error))?
            }
            Target::Path { to, .. } => ScratchFolder::new(&to.folder, &beside).map_err(failed)?,
        };
        Ok(Self {
            scratch,
            source: input.map(Input::rights).transpose()?.flatten(),
            replaced,
            keep_times: false,
            name: match &target {
                Target::Stream(_) if path == Path::new("-") => STANDARD.into(),
                _ => path.display().to_string(),
            },
            target,
        })
    }

    /// Gives the output the modification time of the input, since it holds the same data.
    pub fn keep_times(mut self) -> Self {
        self.keep_times = true;
        self
    }

    /// Fails if a file would replace an empty directory, which only a directory does.
    pub fn of_file(self) -> Result<Self> {
        // What is no directory is what it was when this was made, or is looked at again when the
        // output is done.
        if let Target::Path { to, shown, .. } = &self.target
            && let Ok(folder) = to.open_folder()
            && !is_frame(&folder).map_err(|error| Failure::at(shown, &error))?
        {
            let name = &self.name;
            return Err(Failure::message(format!("{name}: {OTHER_THINGS}")));
        }
        Ok(self)
    }

    /// The path in the scratch folder at which to make it.
    pub fn path(&self) -> PathBuf {
        self.scratch.path(NEW)
    }

    /// Whether the output goes to standard output, a pipe or a device.
    pub fn is_stream(&self) -> bool {
        matches!(self.target, Target::Stream(_))
    }

    /// Returns the stream, or creates the file and returns it.
    pub fn writer(&mut self) -> Result<Box<dyn Write + Send + '_>> {
        let path = self.path();
        match &mut self.target {
            Target::Stream(stream) => Ok(Box::new(stream)),
            Target::Path { .. } => Ok(Box::new(create(&path, &self.name)?)),
        }
    }

    /// Creates the file.
    pub fn create(&self) -> Result<File> {
        create(&self.path(), &self.name)
    }

    /// Its name in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The size of what was made, in bytes; 0 if it went to a stream.
    pub fn size(&self) -> Result<u64> {
        match size_of(&self.path()) {
            Err(error) if self.is_stream() && error.kind() == io::ErrorKind::NotFound => Ok(0),
            size => size.map_err(|error| Failure::at(Path::new(&self.name), &error)),
        }
    }

    /// Moves the output to its path, or copies it to the stream.
    pub fn finish(mut self) -> Result<()> {
        let from = self.path();
        let name = self.name.clone();
        let failed = |error: io::Error| Failure::at(Path::new(&name), &error);
        match &mut self.target {
            Target::Stream(stream) => {
                // What was written by `writer` has gone to the stream already, and there is no
                // file.
                if from.try_exists().map_err(failed)? {
                    let mut from = File::open(&from).map_err(|error| Failure::at(&from, &error))?;
                    io::copy(&mut from, stream).map_err(failed)?;
                }
                stream.flush().map_err(failed)
            }
            Target::Path { to, shown, replace } => {
                let times = self.keep_times && self.source.is_some();
                if let Some(source) = self.source.as_ref().or(self.replaced.as_ref()) {
                    give_attributes(self.scratch.folder(), NEW, source, times)
                        .map_err(|error| Failure::at(shown, &error))?;
                }
                place(&self.scratch, to, *replace).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Failure::message(format!(
                        "{}: is there already (--force replaces it)",
                        self.name
                    )),
                    _ => Failure::at(shown, &error),
                })
            }
        }
    }
}

/// Creates a file. `name` stands in the message of an error.
fn create(path: &Path, name: &str) -> Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options
        .open(path)
        .map_err(|error| Failure::at(Path::new(name), &error))
}

fn stream(to: Box<dyn Write + Send>, is_terminal: bool) -> Result<Target> {
    if is_terminal {
        return Err(Failure::message(
            "will not write compressed or binary data to a terminal: name a file or use a pipe",
        ));
    }
    Ok(Target::Stream(to))
}

/// The metadata of the pipe or device that a path leads to; none if it leads to a file, a directory
/// or nothing.
fn stream_at(path: &Path) -> Option<Metadata> {
    let there = std::fs::metadata(path).ok()?;
    (!there.is_file() && !there.is_dir()).then_some(there)
}

/// Follows the links at `path` to the end, even if nothing exists there.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(to) => path = parent(&path).join(to),
            Err(error) if is_no_link(&error) => return Ok(path),
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other("too many links, one to the next"))
}

/// Whether a link could not be read since there is none: something else is there, or nothing.
fn is_no_link(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::InvalidInput | io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// Whether `folder` is `other`, or lies in it. False if there is no such folder.
fn is_within(folder: &Path, other: &Path) -> io::Result<bool> {
    match folder.canonicalize() {
        Ok(folder) => Ok(folder.starts_with(other.canonicalize()?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

/// Whether two paths lead to the same file or directory, or one of them into the other.
fn are_nested(a: &Path, b: &Path) -> io::Result<bool> {
    let (a, b) = (a.canonicalize()?, b.canonicalize()?);
    Ok(a.starts_with(&b) || b.starts_with(&a) || identity_at(&a)? == identity_at(&b)?)
}

/// Gives a file in a folder, or a directory there and the files in it, these rights as far as this
/// user may; a file also gets the time if `times`.
fn give_attributes(
    folder: &Folder,
    name: &CStr,
    rights: &GivenRights,
    times: bool,
) -> io::Result<()> {
    if folder.stat(name)?.is_dir() {
        let created = folder.folder(name)?;
        let mut failed = None;
        let listed = created.each_entry(|name| {
            let given = created
                .file(name, OpenFlags::READ, NewFileAccess::All)
                .and_then(|file| system::give_rights(&file, rights));
            given.map_err(|error| {
                failed = Some(error);
                Error::FAILURE
            })
        });
        if let Err(error) = listed {
            let failed = failed.or(cause(error));
            return Err(failed.unwrap_or(io::ErrorKind::Other.into()));
        }
        return system::give_rights(&created.opened()?, rights);
    }
    let file = folder.file(name, OpenFlags::READ_WRITE, NewFileAccess::All)?;
    if times && let Ok(modified) = rights.source.modified() {
        file.set_times(FileTimes::new().set_modified(modified))?;
    }
    system::give_rights(&file, rights)
}
