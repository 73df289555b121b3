//! A disk that loses its power: what is on it for good, what may be on it, and every disk that a
//! cut may leave.
//!
//! A file's bytes and its length are there for good from the sync of the file on, a name from the
//! sync of its directory on. Of what came since, anything may be there: of each sector any state
//! that it passed through, of each file any length, of the names any.

use oxiblosc_testing::data::Rng;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

/// What a disk writes whole or not at all.
const SECTOR: usize = 512;

/// What a call did.
#[derive(Clone, Debug)]
pub enum Event {
    Write(u64, usize, Vec<u8>),
    Length(u64, usize),
    Sync(u64),
    SyncDir(String),
    SyncAll,
    Create(u64, String),
    MakeDir(String),
    Unlink(String),
    Rename(String, String),
    Link(String, String),
    Mark,
}

impl Event {
    /// Whether it changes what a program sees, and not only what is on the disk.
    pub fn is_change(&self) -> bool {
        let syncs = matches!(self, Event::Sync(_) | Event::SyncDir(_) | Event::SyncAll);
        !syncs && !matches!(self, Event::Mark)
    }
}

/// The log of the shim.
pub fn parse(log: &[u8]) -> Vec<Event> {
    let (mut events, mut rest) = (Vec::new(), log);
    while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
        let line = std::str::from_utf8(&rest[..end]).expect("a line of text");
        rest = &rest[end + 1..];
        let mut words = line.splitn(4, ' ');
        let kind = words.next();
        let mut text = || {
            words
                .next()
                .map(str::to_owned)
                .expect("all words of a line")
        };
        let number = |text: String| text.parse::<u64>().expect("a number");
        events.push(match kind {
            Some("write") => {
                let (file, pos, len) = (number(text()), number(text()), number(text()));
                let (bytes, behind) = rest.split_at(len as usize);
                rest = behind;
                Event::Write(file, pos as usize, bytes.to_vec())
            }
            Some("length") => Event::Length(number(text()), number(text()) as usize),
            Some("sync") => Event::Sync(number(text())),
            Some("syncdir") => Event::SyncDir(text()),
            Some("syncfs") => Event::SyncAll,
            Some("create") => Event::Create(number(text()), text()),
            Some("mkdir") => Event::MakeDir(text()),
            Some("unlink") => Event::Unlink(text()),
            Some("rename") => Event::Rename(text(), text()),
            Some("link") => Event::Link(text(), text()),
            Some("mark") => Event::Mark,
            other => panic!("a line of the log: {other:?}"),
        });
    }
    events
}

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Node {
    Directory,
    File(usize),
}

/// Files and directories of a folder, by their path in it. A directory has no bytes.
pub type Tree = BTreeMap<String, Option<Vec<u8>>>;

type Names = BTreeMap<String, Node>;

#[derive(Clone, Debug)]
enum Change {
    /// Bytes from a position on.
    Write(usize, Vec<u8>),
    Length(usize),
}

#[derive(Clone, Debug, Default)]
struct File {
    /// What is there for good.
    bytes: Vec<u8>,
    since: Vec<Change>,
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Change::Write(pos, new) => {
                bytes.resize(bytes.len().max(pos + new.len()), 0);
                bytes[*pos..pos + new.len()].copy_from_slice(new);
            }
            Change::Length(len) => bytes.resize(*len, 0),
        }
    }
}

impl File {
    fn sync(&mut self) {
        self.bytes = self.seen();
        self.since.clear();
    }

    /// As a program sees it.
    fn seen(&self) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for change in &self.since {
            change.apply(&mut bytes);
        }
        bytes
    }
}

#[derive(Clone, Debug)]
enum Renaming {
    Set(String, Node),
    Remove(String),
    Move(String, String, Node),
}

impl Renaming {
    fn apply(&self, names: &mut Names) {
        match self {
            Renaming::Set(name, node) => {
                names.insert(name.clone(), *node);
            }
            Renaming::Remove(name) => {
                names.remove(name);
            }
            Renaming::Move(from, to, node) => {
                let inside = format!("{from}/");
                let moved: Vec<String> = names.keys().cloned().collect();
                for name in moved.iter().filter(|name| name.starts_with(&inside)) {
                    if let Some(node) = names.remove(name) {
                        names.insert(format!("{to}/{}", &name[inside.len()..]), node);
                    }
                }
                names.remove(from);
                names.insert(to.clone(), *node);
            }
        }
    }

    fn is_in(&self, directory: &str) -> bool {
        let there = |name: &str| parent(name) == directory;
        match self {
            Renaming::Set(name, _) | Renaming::Remove(name) => there(name),
            Renaming::Move(from, to, _) => there(from) || there(to),
        }
    }
}

fn parent(name: &str) -> &str {
    name.rsplit_once('/').map_or("", |(parent, _)| parent)
}

/// A disk while a program works on it.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    files: Vec<File>,
    /// Which file has an inode, as long as it has it.
    inodes: HashMap<u64, usize>,
    /// Names that are there for good.
    names: Names,
    names_since: Vec<Renaming>,
}

/// What may be on the disk or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Part {
    Bytes(usize, usize),
    Length(usize, usize),
    Name(usize),
}

/// Which sectors of a write are on the disk.
#[derive(Clone, Copy, Debug)]
enum Torn {
    Front(usize),
    Back(usize),
    Any(u64),
}

impl Torn {
    fn has(self, sector: usize) -> bool {
        match self {
            Torn::Front(count) => sector < count,
            Torn::Back(count) => sector >= count,
            Torn::Any(seed) => Rng(seed ^ (sector as u64) << 20).next() & 1 == 1,
        }
    }
}

/// How many disks are made of one moment.
#[derive(Clone, Copy, Debug)]
pub struct SampleSize {
    /// Every subset of so many parts; of more, as many subsets as there are of these.
    pub parts: u32,
    /// Disks with writes that are torn.
    pub torn: usize,
}

impl Disk {
    /// A disk with all of a folder's files on it for good.
    pub fn of(folder: &Path) -> Disk {
        let mut disk = Disk::default();
        disk.take(folder, "");
        disk
    }

    fn take(&mut self, folder: &Path, name: &str) {
        for (name, inode, bytes) in listed(folder, name) {
            let node = match bytes {
                None => {
                    self.take(folder, &name);
                    Node::Directory
                }
                Some(bytes) => {
                    self.inodes.insert(inode, self.files.len());
                    self.files.push(File {
                        bytes,
                        since: Vec::new(),
                    });
                    Node::File(self.files.len() - 1)
                }
            };
            self.names.insert(name, node);
        }
    }

    /// The files now have the inodes that they have in `folder`, which shows what programs see.
    pub fn meet(&mut self, folder: &Path) {
        self.inodes.clear();
        self.meet_in(folder, "", &self.names_seen());
    }

    fn meet_in(&mut self, folder: &Path, name: &str, seen: &Names) {
        for (name, inode, bytes) in listed(folder, name) {
            match (bytes, seen.get(&name)) {
                (None, _) => self.meet_in(folder, &name, seen),
                (_, Some(Node::File(file))) => {
                    self.inodes.insert(inode, *file);
                }
                (_, other) => panic!("{name} is {other:?}"),
            }
        }
    }

    fn names_seen(&self) -> Names {
        let mut names = self.names.clone();
        for renaming in &self.names_since {
            renaming.apply(&mut names);
        }
        names
    }

    /// What programs see.
    pub fn seen(&self) -> Tree {
        let bytes = |file: usize| self.files[file].seen();
        tree(&self.names_seen(), bytes)
    }

    fn file(&mut self, inode: u64) -> &mut File {
        let file = self.inodes.get(&inode).expect("a file that was opened");
        &mut self.files[*file]
    }

    /// Does what the call did.
    pub fn apply(&mut self, event: &Event) {
        match event {
            Event::Write(inode, pos, bytes) => {
                let change = Change::Write(*pos, bytes.clone());
                self.file(*inode).since.push(change);
            }
            Event::Length(inode, len) => self.file(*inode).since.push(Change::Length(*len)),
            Event::Sync(inode) => self.file(*inode).sync(),
            Event::SyncAll => {
                self.files.iter_mut().for_each(File::sync);
                self.names = self.names_seen();
                self.names_since.clear();
            }
            Event::SyncDir(directory) => {
                let (done, since) = std::mem::take(&mut self.names_since)
                    .into_iter()
                    .partition(|renaming| renaming.is_in(directory));
                self.names_since = since;
                let done: Vec<Renaming> = done;
                for renaming in done {
                    renaming.apply(&mut self.names);
                }
            }
            Event::Create(inode, name) => {
                self.inodes.insert(*inode, self.files.len());
                let node = Node::File(self.files.len());
                self.files.push(File::default());
                self.names_since.push(Renaming::Set(name.clone(), node));
            }
            Event::MakeDir(name) => {
                let created = Renaming::Set(name.clone(), Node::Directory);
                self.names_since.push(created);
            }
            Event::Unlink(name) => self.names_since.push(Renaming::Remove(name.clone())),
            Event::Rename(from, to) => {
                let node = self.names_seen()[from];
                let moved = Renaming::Move(from.clone(), to.clone(), node);
                self.names_since.push(moved);
            }
            Event::Link(from, to) => {
                let node = self.names_seen()[from];
                self.names_since.push(Renaming::Set(to.clone(), node));
            }
            Event::Mark => {}
        }
    }

    /// What may be there or not.
    fn parts(&self) -> Vec<Part> {
        let mut parts = Vec::new();
        for (number, file) in self.files.iter().enumerate() {
            let mut len = file.bytes.len();
            for (at, change) in file.since.iter().enumerate() {
                let end = match change {
                    Change::Write(pos, bytes) => {
                        parts.push(Part::Bytes(number, at));
                        len.max(pos + bytes.len())
                    }
                    Change::Length(len) => *len,
                };
                if end != len {
                    parts.push(Part::Length(number, at));
                }
                len = end;
            }
        }
        parts.extend((0..self.names_since.len()).map(Part::Name));
        parts
    }

    /// The disk on which these parts are, those writes torn.
    fn cut(&self, there: &HashSet<Part>, torn: &HashMap<Part, Torn>) -> Tree {
        let mut names = self.names.clone();
        for (at, renaming) in self.names_since.iter().enumerate() {
            if there.contains(&Part::Name(at)) {
                renaming.apply(&mut names);
            }
        }
        tree(&names, |file| self.cut_file(file, there, torn))
    }

    fn cut_file(
        &self,
        number: usize,
        there: &HashSet<Part>,
        torn: &HashMap<Part, Torn>,
    ) -> Vec<u8> {
        let file = &self.files[number];
        let (mut seen, mut bytes, mut len) =
            (file.bytes.clone(), file.bytes.clone(), file.bytes.len());
        for (at, change) in file.since.iter().enumerate() {
            let old_len = seen.len();
            change.apply(&mut seen);
            bytes.resize(bytes.len().max(seen.len()), 0);
            let (part, from, to) = match change {
                Change::Write(pos, new) => (Part::Bytes(number, at), *pos, pos + new.len()),
                Change::Length(len) => (Part::Length(number, at), *len, old_len),
            };
            let first = from / SECTOR;
            for sector in first..to.div_ceil(SECTOR) {
                let on_disk = match torn.get(&part) {
                    Some(torn) => torn.has(sector - first),
                    None => there.contains(&part),
                };
                if on_disk {
                    let from = sector * SECTOR;
                    let to = (from + SECTOR).min(bytes.len());
                    bytes[from..to].fill(0);
                    let (now, from) = (to.min(seen.len()), from.min(seen.len()));
                    bytes[from..now].copy_from_slice(&seen[from..now]);
                }
            }
            let part = Part::Length(number, at);
            if there.contains(&part) {
                len = match torn.get(&part) {
                    // Written out in parts, a file grows in parts.
                    Some(Torn::Front(count)) => (len + count * SECTOR).min(seen.len()),
                    _ => seen.len(),
                };
            }
        }
        bytes.resize(len, 0);
        bytes
    }

    /// Disks that a cut at this moment may leave, each once.
    pub fn cuts(&self, recompress: SampleSize, seed: u64, give: &mut dyn FnMut(Tree)) {
        let parts = self.parts();
        let mut random = Rng(seed);
        let mut subsets: Vec<HashSet<Part>> = Vec::new();
        let chosen = |keep: &mut dyn FnMut(usize) -> bool| -> HashSet<Part> {
            let at = parts.iter().enumerate();
            at.filter(|(i, _)| keep(*i))
                .map(|(_, part)| *part)
                .collect()
        };
        if parts.len() <= recompress.parts as usize {
            for bits in 0..1u64 << parts.len() {
                subsets.push(chosen(&mut |i| bits >> i & 1 == 1));
            }
        } else {
            // None, all, all up to one, one alone, all but one; then at random.
            for end in 0..=parts.len() {
                subsets.push(chosen(&mut |i| i < end));
                subsets.push(chosen(&mut |i| i == end));
                subsets.push(chosen(&mut |i| i != end));
            }
            while subsets.len() < 1 << recompress.parts {
                let bits = random.next();
                subsets.push(chosen(&mut |i| bits >> (i % 64) & 1 == 1));
            }
        }
        let mut given = HashSet::new();
        let mut once = |tree: Tree| {
            let mut hasher = DefaultHasher::new();
            tree.hash(&mut hasher);
            if given.insert(hasher.finish()) {
                give(tree);
            }
        };
        for there in &subsets {
            once(self.cut(there, &HashMap::new()));
        }
        let writes: Vec<(Part, usize)> = parts
            .iter()
            .filter_map(|part| Some((*part, self.sectors(*part)?)))
            .collect();
        for _ in 0..if writes.is_empty() {
            0
        } else {
            recompress.torn
        } {
            // Mostly lengths are there, since nothing is seen of what lies behind them.
            let bits = random.next() | random.next();
            let there = chosen(&mut |i| bits >> (i % 64) & 1 == 1);
            let mut torn = HashMap::new();
            for (part, sectors) in &writes {
                let count = random.below(sectors + 1);
                match random.below(6) {
                    0 => torn.insert(*part, Torn::Front(count)),
                    1 => torn.insert(*part, Torn::Back(count)),
                    2 => torn.insert(*part, Torn::Any(random.next())),
                    _ => None,
                };
                let Part::Bytes(file, at) = *part else {
                    continue;
                };
                if random.below(4) == 0 {
                    torn.insert(Part::Length(file, at), Torn::Front(count));
                }
            }
            once(self.cut(&there, &torn));
        }
    }

    /// How many sectors a write touches, if it is one of several.
    fn sectors(&self, part: Part) -> Option<usize> {
        let Part::Bytes(file, at) = part else {
            return None;
        };
        match &self.files[file].since[at] {
            Change::Write(pos, bytes) => {
                let sectors = (pos + bytes.len()).div_ceil(SECTOR) - pos / SECTOR;
                (sectors > 1).then_some(sectors)
            }
            Change::Length(_) => None,
        }
    }
}

/// What is in a directory of a folder: paths in the folder, inodes, and bytes of files.
fn listed(folder: &Path, name: &str) -> Vec<(String, u64, Option<Vec<u8>>)> {
    use std::os::unix::fs::MetadataExt;
    let directory = folder.join(name);
    let entries = directory.read_dir().expect("a folder that can be listed");
    entries
        .flatten()
        .map(|entry| {
            let own = entry.file_name().into_string().expect("a plain name");
            let path = if name.is_empty() {
                own
            } else {
                format!("{name}/{own}")
            };
            let about = entry.metadata().expect("a file that is there");
            let bytes = about
                .is_file()
                .then(|| std::fs::read(entry.path()).expect("a file that can be read"));
            (path, about.ino(), bytes)
        })
        .collect()
}

/// The names whose directories are there too.
fn tree(names: &Names, bytes: impl Fn(usize) -> Vec<u8>) -> Tree {
    let mut tree = Tree::new();
    for (name, node) in names {
        let above = parent(name);
        if above.is_empty() || tree.contains_key(above) {
            let bytes = match node {
                Node::Directory => None,
                Node::File(file) => Some(bytes(*file)),
            };
            tree.insert(name.clone(), bytes);
        }
    }
    tree
}

/// Makes a folder what a disk says. A file that is there already keeps its inode, of which records
/// know.
pub fn restore(tree: &Tree, folder: &Path) {
    std::fs::create_dir_all(folder).expect("a folder");
    remove_others(tree, folder, "");
    for (name, bytes) in tree {
        let path = folder.join(name);
        match bytes {
            None if path.is_dir() => {}
            None => std::fs::create_dir(path).expect("a folder"),
            Some(bytes) if std::fs::read(&path).is_ok_and(|there| there == *bytes) => {}
            Some(bytes) => std::fs::write(path, bytes).expect("a file"),
        }
    }
}

fn remove_others(tree: &Tree, folder: &Path, name: &str) {
    for entry in folder.join(name).read_dir().expect("a folder").flatten() {
        let own = entry.file_name().into_string().expect("a plain name");
        let path = match name {
            "" => own,
            _ => format!("{name}/{own}"),
        };
        let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
        match tree.get(&path) {
            Some(bytes) if bytes.is_none() == is_dir => {
                if is_dir {
                    remove_others(tree, folder, &path);
                }
            }
            _ if is_dir => std::fs::remove_dir_all(entry.path()).expect("a folder"),
            _ => std::fs::remove_file(entry.path()).expect("a file"),
        }
    }
}
