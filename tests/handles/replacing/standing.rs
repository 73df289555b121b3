//! What stands at a path, and what is seen of it.

use super::attributes::{self, DEFAULT_LIST, LIST};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::b2nd::{B2ndLib, c_path, our_arrays, reference_arrays};
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_state::read;
use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::{self, File, Permissions};
use std::io::Read;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt, PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};

/// What is at the path, or around it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nesting {
    Nothing,
    /// A file with this mode.
    Mode(u32),
    /// One of another user, and another group.
    Foreign(u32),
    /// One of another group alone.
    ForeignGroup(u32),
    RelativeLink,
    AbsoluteLink,
    /// A link to a link in another directory.
    Chain,
    Dangling,
    DanglingChain,
    /// A link into a directory that is not there.
    Astray,
    Loop,
    LinkToDirectory,
    LinkToFrame,
    /// The directory of the path is a link.
    ThroughLink,
    HardLink,
    Pipe,
    Socket,
    /// As `/dev/null` and `/dev/full`.
    Null,
    Full,
    LinkToNull,
    EmptyDirectory,
    /// One with a file that is no frame's.
    Directory,
    /// A frame in a directory.
    Frame,
    /// The path ends with a slash, and nothing or a file is there.
    Slash,
    SlashBehindFile,
    MissingFolder,
    BelowFile,
    /// A directory of another user's in which only that one may change names, with a file that all
    /// may write, and without.
    ForeignFolder,
    ForeignEmptyFolder,
    /// One in which all may make names, and change their own.
    Sticky,
    EmptySticky,
    /// An empty file, and one that is no frame.
    Empty,
    Garbage,
    /// A file to which users gave attributes.
    Attributes,
    /// One with an access control list.
    TryVec,
    /// One of another group, too.
    ForeignList,
    /// A folder that gives such a list to new files, with a file that has none, and without.
    GivingFolder,
    GivingEmptyFolder,
}

pub const STANDING: [Nesting; 56] = [
    Nesting::Nothing,
    Nesting::Mode(0o600),
    Nesting::Mode(0o640),
    Nesting::Mode(0o644),
    Nesting::Mode(0o444),
    Nesting::Mode(0o200),
    Nesting::Mode(0o000),
    Nesting::Mode(0o777),
    Nesting::Mode(0o4755),
    Nesting::Mode(0o2755),
    Nesting::Mode(0o2644),
    Nesting::Mode(0o6777),
    Nesting::Mode(0o1644),
    Nesting::Foreign(0o600),
    Nesting::Foreign(0o644),
    Nesting::Foreign(0o666),
    Nesting::Foreign(0o660),
    Nesting::Foreign(0o606),
    Nesting::Foreign(0o6777),
    Nesting::ForeignGroup(0o640),
    Nesting::ForeignGroup(0o664),
    Nesting::ForeignGroup(0o2775),
    Nesting::RelativeLink,
    Nesting::AbsoluteLink,
    Nesting::Chain,
    Nesting::Dangling,
    Nesting::DanglingChain,
    Nesting::Astray,
    Nesting::Loop,
    Nesting::LinkToDirectory,
    Nesting::LinkToFrame,
    Nesting::ThroughLink,
    Nesting::HardLink,
    Nesting::Pipe,
    Nesting::Socket,
    Nesting::Null,
    Nesting::Full,
    Nesting::LinkToNull,
    Nesting::EmptyDirectory,
    Nesting::Directory,
    Nesting::Frame,
    Nesting::Slash,
    Nesting::SlashBehindFile,
    Nesting::MissingFolder,
    Nesting::BelowFile,
    Nesting::ForeignFolder,
    Nesting::ForeignEmptyFolder,
    Nesting::Sticky,
    Nesting::EmptySticky,
    Nesting::Empty,
    Nesting::Garbage,
    Nesting::Attributes,
    Nesting::TryVec,
    Nesting::ForeignList,
    Nesting::GivingFolder,
    Nesting::GivingEmptyFolder,
];

const OTHER_USER: u32 = 1;
const OTHER_GROUP: u32 = 2;

/// What is in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    None,
    /// What was there before.
    Old,
    /// A frame, by what is in it.
    Frame(String),
    Other(usize),
}

/// What is seen of a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    kind: String,
    mode: u32,
    owner: (u32, u32),
    attributes: BTreeMap<CString, Vec<u8>>,
    pub content: Content,
}

/// All names in a folder.
pub type Listing = BTreeMap<String, Entry>;

impl Content {
    pub fn of_bytes(bytes: &[u8]) -> Self {
        match our_schunks().open_buffer(bytes, true) {
            _ if bytes == old() => Self::Old,
            Some(s) => Self::Frame(format!("{:?}", read(&s))),
            None => Self::Other(bytes.len()),
        }
    }
}

impl Entry {
    /// Whether it is a frame other than the old one.
    pub fn is_frame(&self) -> bool {
        matches!(self.content, Content::Frame(_))
    }

    fn has_list(&self) -> bool {
        self.attributes.contains_key(LIST)
    }

    /// Whether only the owner has rights that it lacks in `other`: not other users, not another
    /// group, and not the users from whom a list took them.
    pub fn has_no_more_rights_than(&self, other: &Self) -> bool {
        if other.has_list() && !self.has_list() {
            return self.mode & 0o077 == 0;
        }
        let others = other.mode & 0o007;
        let (group, bits) = match self.owner.1 == other.owner.1 {
            true => (other.mode & 0o070, 0o7000),
            false => (others << 3, 0o1000),
        };
        self.mode & !(other.mode & (0o700 | bits) | group | others) == 0
    }
}

/// The file that is there before.
fn old() -> Vec<u8> {
    let s = our_schunks()
        .create(true, None, &blosc2_cparams::defaults(), 1, None)
        .expect("a frame");
    assert!(s.append_buffer(&[7; 4000], 4000) > 0);
    s.to_buffer().1
}

/// Both interfaces of a library.
pub type Libraries = (&'static SchunkLib, &'static B2ndLib);

/// A library, and a folder for it.
pub struct All {
    pub schunks: &'static SchunkLib,
    pub arrays: &'static B2ndLib,
    base: PathBuf,
    /// Whose the files are; our own if none.
    owner: Option<u32>,
}

impl All {
    /// This library and the reference.
    pub fn libraries() -> Option<[Libraries; 2]> {
        let reference = (reference_schunks()?, reference_arrays()?);
        Some([(our_schunks(), our_arrays()), reference])
    }

    pub fn new((schunks, arrays): Libraries, folder: &Path, owner: Option<u32>) -> Self {
        let base = folder.join(schunks.lib.name);
        Self {
            schunks,
            arrays,
            base,
            owner,
        }
    }

    /// The folder of the path, and one beside it.
    fn folder(&self) -> PathBuf {
        self.base.join("shown/in")
    }

    fn beside(&self) -> PathBuf {
        self.base.join("shown/beside")
    }

    /// Where the call says what it returned.
    pub fn answer(&self) -> PathBuf {
        self.base.join("answer")
    }

    /// Where what is written is before.
    pub fn source(&self) -> PathBuf {
        self.base.join("source")
    }

    pub fn path(&self, standing: Nesting) -> PathBuf {
        match standing {
            Nesting::Slash | Nesting::SlashBehindFile => self.folder().join("path/"),
            Nesting::MissingFolder => self.folder().join("missing/path"),
            Nesting::BelowFile => self.folder().join("file/path"),
            Nesting::ThroughLink => self.beside().join("link/path"),
            _ => self.folder().join("path"),
        }
    }

    /// Where a new frame may be, as [`Self::seen`] names it.
    pub fn place(&self, standing: Nesting) -> &'static str {
        match standing {
            Nesting::Dangling => "beside/target",
            Nesting::DanglingChain => "beside/last",
            _ => "in/path",
        }
    }

    /// Makes a file as it was before, with this mode.
    fn file(&self, path: &Path, mode: u32) {
        fs::write(path, old()).expect("writes");
        chown(path, self.owner, self.owner).expect("an owner");
        fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
    }

    fn node(&self, path: &Path, kind: u32, minor: u32) -> bool {
        // SAFETY: a C string.
        let made =
            unsafe { libc::mknod(c_path(path).as_ptr(), kind | 0o666, libc::makedev(1, minor)) }
                == 0;
        // The file system may have no devices, or a process may not make them.
        made && fs::set_permissions(path, Permissions::from_mode(0o666)).is_ok()
            && (kind != libc::S_IFCHR || fs::OpenOptions::new().write(true).open(path).is_ok())
    }

    /// Makes what stands there; false if that cannot be made here.
    pub fn make(&self, standing: Nesting) -> Result<bool, String> {
        let _ = fs::remove_dir_all(&self.base);
        let (folder, beside) = (self.folder(), self.beside());
        for made in [&folder, &beside] {
            fs::create_dir_all(made).expect("a folder");
        }
        for made in [&self.base, &folder, &beside] {
            chown(made, self.owner, self.owner).expect("an owner");
        }
        let path = folder.join("path");
        let target = beside.join("target");
        let is_root = super::is_root();
        match standing {
            Nesting::Nothing | Nesting::Slash | Nesting::MissingFolder => {}
            Nesting::Mode(mode) => self.file(&path, mode),
            Nesting::SlashBehindFile => self.file(&path, 0o644),
            Nesting::Foreign(mode) | Nesting::ForeignGroup(mode) => {
                if !is_root {
                    return Ok(false);
                }
                self.file(&path, mode);
                let user = matches!(standing, Nesting::Foreign(_)).then_some(OTHER_USER);
                chown(&path, user, Some(OTHER_GROUP)).expect("another owner");
                fs::set_permissions(&path, Permissions::from_mode(mode)).expect("a mode");
            }
            Nesting::RelativeLink | Nesting::Dangling => link("../beside/target", &path),
            Nesting::AbsoluteLink => symlink(&target, &path).expect("a link"),
            Nesting::Chain | Nesting::DanglingChain => {
                link("../beside/target", &path);
                link("last", &target);
            }
            Nesting::Astray => link("../beside/missing/target", &path),
            Nesting::Loop => {
                link("other", &path);
                link("path", &folder.join("other"));
            }
            Nesting::LinkToDirectory => link("../beside", &path),
            Nesting::LinkToFrame => {
                self.frame(&target);
                link("../beside/target", &path);
            }
            Nesting::ThroughLink => {
                self.file(&path, 0o600);
                link("../in", &beside.join("link"));
            }
            Nesting::HardLink => {
                self.file(&path, 0o640);
                fs::hard_link(&path, &target).expect("a second name");
            }
            Nesting::Pipe => return Ok(self.node(&path, libc::S_IFIFO, 0)),
            Nesting::Socket => {
                let made = std::os::unix::net::UnixListener::bind(&path);
                return Ok(made.is_ok());
            }
            Nesting::Null => return Ok(self.node(&path, libc::S_IFCHR, 3)),
            Nesting::Full => return Ok(self.node(&path, libc::S_IFCHR, 7)),
            Nesting::LinkToNull => {
                link("../beside/target", &path);
                return Ok(self.node(&target, libc::S_IFCHR, 3));
            }
            Nesting::EmptyDirectory => self.directory(&path),
            Nesting::Directory => {
                self.directory(&path);
                self.file(&path.join("file"), 0o644);
            }
            Nesting::Frame => self.frame(&path),
            Nesting::BelowFile => self.file(&folder.join("file"), 0o644),
            Nesting::ForeignFolder
            | Nesting::ForeignEmptyFolder
            | Nesting::Sticky
            | Nesting::EmptySticky => {
                if !is_root {
                    return Ok(false);
                }
                if matches!(standing, Nesting::ForeignFolder | Nesting::Sticky) {
                    self.file(&path, 0o666);
                    chown(&path, Some(OTHER_USER), None).expect("another owner");
                }
                let is_sticky = matches!(standing, Nesting::Sticky | Nesting::EmptySticky);
                chown(&folder, Some(OTHER_USER), None).expect("another owner");
                let mode = if is_sticky { 0o1777 } else { 0o755 };
                fs::set_permissions(&folder, Permissions::from_mode(mode)).expect("a mode");
            }
            Nesting::Attributes => {
                self.file(&path, 0o640);
                for (name, value) in [(c"user.empty", &b""[..]), (c"user.long", &[5; 1000])] {
                    attributes::set(&path, name, value);
                }
            }
            Nesting::TryVec => {
                self.file(&path, 0o640);
                attributes::set(&path, LIST, &attributes::for_a_user());
            }
            Nesting::ForeignList => {
                if !is_root {
                    return Ok(false);
                }
                self.file(&path, 0o640);
                chown(&path, None, Some(OTHER_GROUP)).expect("another group");
                attributes::set(&path, LIST, &attributes::for_a_user());
            }
            Nesting::GivingFolder | Nesting::GivingEmptyFolder => {
                if standing == Nesting::GivingFolder {
                    self.file(&path, 0o640);
                }
                attributes::set(&folder, DEFAULT_LIST, &attributes::for_a_user());
            }
            Nesting::Empty => fs::write(&path, "").expect("writes"),
            Nesting::Garbage => fs::write(&path, [0xA5; 300]).expect("writes"),
        }
        match standing {
            Nesting::RelativeLink | Nesting::AbsoluteLink => self.file(&target, 0o600),
            Nesting::Chain => self.file(&beside.join("last"), 0o600),
            _ => {}
        }
        Ok(true)
    }

    fn directory(&self, path: &Path) {
        fs::create_dir(path).expect("a directory");
        chown(path, self.owner, self.owner).expect("an owner");
    }

    fn frame(&self, path: &Path) {
        let s = our_schunks().create(false, Some(path), &blosc2_cparams::defaults(), 1, None);
        let s = s.expect("a frame");
        assert!(s.append_buffer(&[7; 4000], 4000) > 0);
        drop(s);
        let entries = fs::read_dir(path).expect("a directory").flatten();
        for path in entries.map(|entry| entry.path()).chain([path.to_owned()]) {
            chown(path, self.owner, self.owner).expect("an owner");
        }
    }

    /// The end of the pipe at the path from which is read, if one is there.
    pub fn pipe(&self) -> Option<File> {
        let path = self.folder().join("path");
        let is_pipe = path
            .symlink_metadata()
            .is_ok_and(|there| there.file_type().is_fifo());
        let mut open = fs::OpenOptions::new();
        let open = open.read(true).custom_flags(libc::O_NONBLOCK);
        is_pipe.then(|| open.open(path).expect("a pipe"))
    }

    /// What has come through it, as its content.
    pub fn add_pipe(&self, pipe: &mut File, seen: &mut Listing) {
        let (mut all, mut part) = (Vec::new(), [0; 65536]);
        while let Ok(len @ 1..) = pipe.read(&mut part) {
            all.extend(&part[..len]);
        }
        if !all.is_empty() {
            seen.get_mut("in/path").expect("a pipe").content = Content::of_bytes(&all);
        }
    }

    /// All that is there.
    pub fn seen(&self) -> Listing {
        let mut seen = Listing::new();
        see(&self.base.join("shown"), "", &mut seen);
        seen
    }
}

fn link(to: &str, at: &Path) {
    symlink(to, at).expect("a link");
}

fn see(folder: &Path, name: &str, seen: &mut Listing) {
    let path = folder.join(name);
    let there = path.symlink_metadata().expect("what was listed");
    let kind = there.file_type();
    let mut content = Content::None;
    let mut what = format!("{kind:?}");
    if kind.is_symlink() {
        what = format!(
            "link to {:?}",
            path.read_link().expect("a link").strip_prefix(folder)
        );
    } else if kind.is_file() {
        content = Content::of_bytes(&fs::read(&path).expect("reads"));
    } else if kind.is_dir() {
        if let Some(s) = path
            .join("chunks.b2frame")
            .exists()
            .then(|| our_schunks().open_path(&path))
        {
            content = Content::Frame(s.map_or("broken".into(), |s| format!("{:?}", read(&s))));
        }
        for entry in fs::read_dir(&path).expect("lists").flatten() {
            let own = entry.file_name().into_string().expect("a plain name");
            let name = if name.is_empty() {
                own
            } else {
                format!("{name}/{own}")
            };
            see(folder, &name, seen);
        }
    }
    let owner = (there.uid(), there.gid());
    let mode = there.mode() & 0o7777;
    seen.insert(
        name.to_owned(),
        Entry {
            kind: what,
            mode,
            owner,
            attributes: attributes::all(&path),
            content,
        },
    );
}
