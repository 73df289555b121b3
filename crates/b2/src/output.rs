//! Where a command puts what it makes: nothing appears under the name that was asked for before it is whole.

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::placing::{OTHER_THINGS, is_frame_or_empty, parent, place};
use crate::scratch::ScratchFolder;
use crate::source::frame_file;
use crate::system::{self, GivenRights};
use oxiblosc_system::files::identity_at;
use std::fs::{File, FileTimes, Metadata};
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, OnceLock, PoisonError};

/// Links that are followed, one to the next.
const MAX_LINKS: usize = 40;

/// What to call standard output.
const STANDARD: &str = "standard output";

/// Where lines for its reader go. It takes a descriptor, of which there may be none left later: see [`prepare`].
static LINES: LazyLock<Mutex<io::Result<Box<dyn Write + Send>>>> =
    LazyLock::new(|| Mutex::new(system::standard_output()));

/// Why the reader of the output was not told something.
static UNSAID: OnceLock<io::Error> = OnceLock::new();

/// Something to be written.
pub struct Output {
    /// Where it is made.
    scratch: ScratchFolder,
    target: Target,
    /// Whose mode and owner it gets: what it is made of, or else what it replaces.
    source: Option<GivenRights>,
    replaced: Option<GivenRights>,
    keep_times: bool,
    name: String,
}

/// Where it goes.
enum Target {
    /// Bytes one after the other: standard output, a device, a pipe with a name.
    Stream(Box<dyn Write + Send>),
    /// A file or directory.
    Path { to: PathBuf, replace: bool },
}

impl Output {
    /// A file or directory at `path`, made of `input`; `-` is standard output. One that is there already is replaced only if
    /// `replace`. Links are followed. What is neither file nor directory is written to as it is.
    pub fn new(path: &Path, replace: bool, input: Option<&Input>) -> Result<Self> {
        let failed = |error: io::Error| Failure::at(path, &error);
        let refused = |why: &str| Err(Failure::say(format!("{}: {why}", path.display())));
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
            // What a link such as `/dev/stdout` says may be no path.
            let to = File::options().write(true).open(path).map_err(failed)?;
            let is_terminal = to.is_terminal();
            stream(Box::new(to), is_terminal)?
        } else {
            let to = followed(path).map_err(failed)?;
            match std::fs::symlink_metadata(&to) {
                Ok(there) => {
                    if !replace {
                        return refused("is there already (--force replaces it)");
                    }
                    if origin.is_some_and(|origin| are_nested(origin, &to)) {
                        return refused("is what is read: write to another place");
                    }
                    if there.is_dir() && !is_frame_or_empty(&to) {
                        return refused(OTHER_THINGS);
                    }
                    beside = parent(&to);
                    let header = GivenRights::of(&frame_file(&to));
                    replaced = Some(header.or_else(|_| GivenRights::of(&to)).map_err(failed)?);
                    Target::Path { to, replace }
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    beside = parent(&to);
                    if origin.is_some_and(|origin| is_within(&beside, origin)) {
                        return refused("is within what is read: write to another place");
                    }
                    Target::Path { to, replace }
                }
                Err(error) => return Err(failed(error)),
            }
        };
        Ok(Self {
            scratch: ScratchFolder::new(&beside).map_err(failed)?,
            source: input.and_then(Input::rights),
            replaced,
            keep_times: false,
            name: match &target {
                Target::Stream(_) if path == Path::new("-") => STANDARD.into(),
                _ => path.display().to_string(),
            },
            target,
        })
    }

    /// It gets the times of what it is made of, as it holds the same data.
    pub fn keep_times(mut self) -> Self {
        self.keep_times = true;
        self
    }

    /// It does not get the mode of what is read, as it does not tell the data.
    pub fn public(mut self) -> Self {
        self.source = None;
        self
    }

    /// Where to make it.
    pub fn path(&self) -> PathBuf {
        self.scratch.path("new")
    }

    /// Whether it goes to where bytes come one after the other.
    pub fn is_stream(&self) -> bool {
        matches!(self.target, Target::Stream(_))
    }

    /// Makes a file, or gives the stream.
    pub fn writer(&mut self) -> Result<Box<dyn Write + Send + '_>> {
        let path = self.path();
        match &mut self.target {
            Target::Stream(stream) => Ok(Box::new(stream)),
            Target::Path { .. } => Ok(Box::new(create(&path, &self.name)?)),
        }
    }

    /// Makes a file.
    pub fn create(&self) -> Result<File> {
        create(&self.path(), &self.name)
    }

    /// What to call it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Bytes that were made.
    pub fn size(&self) -> u64 {
        size_of(&self.path())
    }

    /// Puts it where it was asked for.
    pub fn finish(mut self) -> Result<()> {
        let from = self.path();
        let name = self.name.clone();
        let failed = |error: io::Error| Failure::at(Path::new(&name), &error);
        match &mut self.target {
            Target::Stream(stream) => {
                // What came through `writer` is there already.
                if from.exists() {
                    let mut from = File::open(&from).map_err(|error| Failure::at(&from, &error))?;
                    io::copy(&mut from, stream).map_err(failed)?;
                }
                stream.flush().map_err(failed)
            }
            Target::Path { to, replace } => {
                let times = self.keep_times && self.source.is_some();
                if let Some(source) = self.source.as_ref().or(self.replaced.as_ref()) {
                    give_attributes(&from, source, times)
                        .map_err(|error| Failure::at(to, &error))?;
                }
                place(&mut self.scratch, &from, to, *replace).map_err(|error| match error.kind() {
                    io::ErrorKind::AlreadyExists => Failure::say(format!(
                        "{}: is there already (--force replaces it)",
                        self.name
                    )),
                    _ => Failure::at(to, &error),
                })
            }
        }
    }
}

/// A new file for what is called `name`.
fn create(path: &Path, name: &str) -> Result<File> {
    let mut options = File::options();
    options.read(true).write(true).create_new(true);
    options
        .open(path)
        .map_err(|error| Failure::at(Path::new(name), &error))
}

fn stream(to: Box<dyn Write + Send>, is_terminal: bool) -> Result<Target> {
    if is_terminal {
        return Err(Failure::say(
            "will not write compressed or binary data to a terminal: name a file or use a pipe",
        ));
    }
    Ok(Target::Stream(to))
}

/// What is at the end of a path, if bytes go there one after the other: a pipe, a device.
fn stream_at(path: &Path) -> Option<Metadata> {
    let there = std::fs::metadata(path).ok()?;
    (!there.is_file() && !there.is_dir()).then_some(there)
}

/// Where the links at `path` lead to, whether anything is there or not.
fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..MAX_LINKS {
        match std::fs::read_link(&path) {
            Ok(to) => path = parent(&path).join(to),
            // No link, or nothing there.
            Err(_) => return Ok(path),
        }
    }
    Err(io::Error::other("too many links, one to the next"))
}

/// Whether a folder is another one, or within it.
fn is_within(folder: &Path, other: &Path) -> bool {
    match (folder.canonicalize(), other.canonicalize()) {
        (Ok(folder), Ok(other)) => folder.starts_with(&other),
        _ => false,
    }
}

/// Whether two paths lead to the same thing, or one to something within the other.
fn are_nested(a: &Path, b: &Path) -> bool {
    match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => {
            let same_file = |a: &Path, b: &Path| matches!((identity_at(a), identity_at(b)), (Ok(a), Ok(b)) if a == b);
            a.starts_with(&b) || b.starts_with(&a) || same_file(&a, &b)
        }
        _ => false,
    }
}

/// Gives a file, or a directory and the files in it, the mode of `source`, and its owner and group as far as this user may.
fn give_attributes(path: &Path, rights: &GivenRights, times: bool) -> io::Result<()> {
    if path.is_dir() {
        for file in std::fs::read_dir(path)? {
            system::give_rights(&file?.path(), rights)?;
        }
        return system::give_rights(path, rights);
    }
    if times && let Ok(modified) = rights.source.modified() {
        let times = FileTimes::new().set_modified(modified);
        File::options().write(true).open(path)?.set_times(times)?;
    }
    system::give_rights(path, rights)
}

/// Bytes of a file, or of the files in a directory.
pub fn size_of(path: &Path) -> u64 {
    let Ok(there) = std::fs::metadata(path) else {
        return 0;
    };
    if !there.is_dir() {
        return there.len();
    }
    let files = std::fs::read_dir(path).into_iter().flatten().flatten();
    files
        .filter_map(|file| file.metadata().ok())
        .map(|file| file.len())
        .sum()
}

/// Before anything else is opened: makes sure that lines can be said.
pub fn prepare() {
    LazyLock::force(&LINES);
}

/// A line for the reader of the output. Where it cannot be written the command goes on, and [`is_unsaid`] tells.
pub fn say(line: &str) {
    tell(format!("{line}\n").as_bytes());
}

/// As [`say`], for text that has its ends of lines.
pub fn tell(text: &[u8]) {
    if UNSAID.get().is_some() {
        return;
    }
    let written = match &mut *LINES.lock().unwrap_or_else(PoisonError::into_inner) {
        Ok(lines) => lines.write_all(text),
        Err(error) => Err(io::Error::new(error.kind(), error.to_string())),
    };
    if let Err(error) = written {
        UNSAID.get_or_init(|| error);
    }
}

/// Whether something could not be said. The person is told why, unless the reader has just gone away, as `head` does.
pub fn is_unsaid() -> bool {
    let error = UNSAID.get();
    if let Some(error) = error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe) {
        complain(&format!("{STANDARD}: {error}"));
    }
    error.is_some()
}

/// A line for the person who gave the command.
pub fn complain(text: &str) {
    // Names from files may hold what a terminal would take as a command, or several lines.
    let line: String = text
        .chars()
        .map(|c| if c.is_control() { ' ' } else { c })
        .collect();
    // If this cannot be written either, only the exit code is left.
    let _ = writeln!(io::stderr(), "b2: {line}");
}
