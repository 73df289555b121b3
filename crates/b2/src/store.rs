//! Stores of python-blosc2: frames under keys such as `/group/matrix`.
//!
//! As python-blosc2 4.14 writes them:
//!
//! - an EmbedStore (`.b2e`) is a frame of bytes, which are other frames one behind the other. Its
//!   variable-length metalayer `estore_metadata` tells key, offset and length of each, in msgpack;
//! - a DictStore or TreeStore is a directory (`.b2d`) or a zip archive (`.b2z`) whose members are
//!   stored, not compressed. The frame of the key `/group/matrix` is `group/matrix.b2nd` in it, or
//!   `.b2f` or `.b2b`, or is in the EmbedStore `embed.b2e`;
//! - a CTable is a TreeStore, or the part of one below a key, with a frame `_meta` whose
//!   variable-length metalayer `kind` says `ctable`.
//!
//! Nothing is ever written to a path that a store names.

mod archive;
mod contents;
mod directory;
mod embedded;
mod member;
mod window;

pub use contents::{Kind, kind_of};
pub use member::Member;

use crate::failure::{Failure, Result};
use crate::faults::Faults;
use crate::input::Input;
use crate::paths::{is_file, shown};
use crate::source::Frame;
use archive::{Archive, Entry, Unreadable};
use embedded::Embedded;
use member::MemberLocation;
use oxiblosc::format::frame::header::Header;
use oxiblosc::storage::Storage;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Shared;
use oxiblosc_repair::Files;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The EmbedStore of a directory or an archive.
const EMBEDDED: &str = "embed.b2e";

/// Where the members of a store are.
enum Form {
    Directory,
    Archive(Archive),
    File,
}

/// An open store.
pub struct Store {
    form: Form,
    embedded: Option<Arc<Embedded>>,
    /// Which kind of store it is.
    pub kind: Kind,
    /// The frames; those of a directory or archive are sorted by key.
    pub members: Vec<Member>,
    /// The files in an archive that are no frames.
    pub others: Vec<Member>,
    /// Remarks that are not about damage.
    pub notes: Vec<String>,
    /// What is wrong with the store itself.
    pub problems: Vec<String>,
    /// Errors of reading it that show no damage.
    faults: Faults,
}

/// Why a member cannot be opened.
pub enum Unopened {
    /// It is damaged or no frame. The message says what is wrong.
    Damaged(String),
    /// It is outside of the store, at this address.
    Elsewhere(String),
}

impl Store {
    /// Opens `input` if it is a store; `None` if it is something else.
    pub fn open(input: &Input) -> Result<Option<Self>> {
        let path = input.path();
        let has_ending =
            |ending: &str| shown(path).extension().is_some_and(|known| known == ending);
        if input.is_dir()? {
            let is_there = |file: &Path| is_file(file).map_err(|error| Failure::at(file, &error));
            let is_frame = is_there(&input.frame_file()?)?;
            if is_frame || !(is_there(&path.join(EMBEDDED))? || has_ending("b2d")) {
                return Ok(None);
            }
            return Self::in_directory(input).map(Some);
        }
        let mut prefix = Vec::new();
        let read = input.open()?.take(4).read_to_end(&mut prefix);
        read.map_err(|error| Failure::at(path, &error))?;
        if prefix.starts_with(b"PK") || has_ending("b2z") {
            return Self::in_archive(input, has_ending("b2z")).map(Some);
        }
        let faults = input.faults();
        let frame = faults.readable(Frame::open(path, faults));
        faults.check()?;
        let kind = frame.as_ref().map(kind_of);
        faults.check()?;
        match (frame, kind) {
            (Some(frame), Some(kind)) if kind.is_store() => {
                let store = Self::in_file(frame, faults);
                faults.check().map(|()| Some(store))
            }
            _ => Ok(None),
        }
    }

    fn in_directory(input: &Input) -> Result<Self> {
        let faults = input.faults();
        let mut store = Self::empty(Form::Directory, faults);
        for (name, path) in directory::files(input.path())? {
            if name == EMBEDDED {
                store.embed(Frame::open(&path, faults));
            }
            store.add(name, MemberLocation::Path(path));
        }
        faults.check()?;
        Ok(store.complete(true))
    }

    /// The store in an archive, which `is_named` one by its ending. Any other archive has to have a
    /// frame in it.
    fn in_archive(input: &Input, is_named: bool) -> Result<Self> {
        let (archive, entries, problem) = Archive::open(input)?;
        let faults = input.faults();
        let mut store = Self::empty(Form::Archive(archive), faults);
        store.problems.extend(problem);
        for entry in store.latest(entries) {
            let is_packed = matches!(entry.place, Err(Unreadable::Packed(_)));
            let place = match entry.place {
                Ok(range) => MemberLocation::Archive(range, entry.crc),
                Err(Unreadable::Packed(why) | Unreadable::Damaged(why)) => {
                    MemberLocation::Nowhere(why)
                }
            };
            if !directory::has_ending(Path::new(&entry.name)) && !store.has_magic(&place) {
                match is_packed {
                    true => store.notes.push(format!("{}: not looked at", entry.name)),
                    false => store.others.push(Member::other(entry.name, place)),
                }
                continue;
            }
            if entry.name == EMBEDDED
                && let Some(file) = store.storage(&place)
            {
                store.embed(file.and_then(|file| Frame::open_in(file, faults)));
            }
            store.add(entry.name, place);
        }
        faults.check()?;
        if !is_named && store.members.is_empty() && store.problems.is_empty() {
            return Err(Failure::message(format!(
                "{}: a zip archive without any Blosc2 frame, and no store of python-blosc2 (unzip takes files out of it)",
                input.name()
            )));
        }
        Ok(store.complete(is_named))
    }

    /// The last of several files with the same name, which python-blosc2 reads, too.
    fn latest(&mut self, entries: Vec<Entry>) -> Vec<Entry> {
        let mut counts: HashMap<String, usize> = HashMap::new();
        for entry in &entries {
            *counts.entry(entry.name.clone()).or_default() += 1;
        }
        let mut left = counts.clone();
        let mut is_last = |entry: &Entry| {
            let left = left.entry(entry.name.clone()).or_default();
            *left = left.saturating_sub(1);
            *left == 0
        };
        let latest: Vec<Entry> = entries.into_iter().filter(&mut is_last).collect();
        for entry in &latest {
            if let Some(count) = counts.get(&entry.name).filter(|count| **count > 1) {
                self.notes.push(format!(
                    "{}: is in the archive {count} times, of which the last counts",
                    entry.name
                ));
            }
        }
        latest
    }

    /// Whether the bytes at a place begin with the magic of a frame.
    fn has_magic(&self, place: &MemberLocation) -> bool {
        let mut prefix = [0; 16];
        let read = self
            .storage(place)
            .map(|file| file.and_then(|file| file.read_at(0, &mut prefix)));
        let read = read.and_then(|read| self.faults.readable(read));
        read.is_some() && Header::has_magic(&prefix)
    }

    fn in_file(frame: Frame, faults: &Faults) -> Self {
        let mut store = Self::empty(Form::File, faults);
        store.embed(Ok(frame));
        store.refuse_overlaps();
        store
    }

    /// Marks members as unreadable whose bytes overlap those of another one. No writer makes them,
    /// and a small file could have any number of members that each take all of it.
    fn refuse_overlaps(&mut self) {
        let all = self.members.iter_mut().chain(&mut self.others);
        let mut stored: Vec<(bool, Range<u64>, &mut Member)> = all
            .filter_map(|member| match &member.place {
                MemberLocation::Archive(range, _) => Some((false, range.clone(), member)),
                MemberLocation::Embedded(range) => Some((true, range.clone(), member)),
                _ => None,
            })
            .collect();
        stored.sort_by_key(|(is_embedded, range, _)| (*is_embedded, range.start, range.end));
        let mut ends = [0; 2];
        for (is_embedded, range, member) in stored {
            let end = &mut ends[usize::from(is_embedded)];
            if range.start < *end && !range.is_empty() {
                member.place = MemberLocation::Nowhere("overlaps another one");
            }
            *end = range.end.max(*end);
        }
    }

    fn empty(form: Form, faults: &Faults) -> Self {
        Self {
            faults: faults.clone(),
            form,
            embedded: None,
            kind: Kind::EmbedStore,
            members: Vec::new(),
            others: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Lists what is in the EmbedStore. If it cannot be opened, it is reported as damaged later,
    /// like any other member.
    fn embed(&mut self, frame: std::result::Result<Frame, Error>) {
        let Some(frame) = self.faults.readable(frame) else {
            return;
        };
        self.kind = kind_of(&frame);
        match Embedded::open(frame) {
            Ok((embedded, members)) => {
                self.embedded = Some(Arc::new(embedded));
                self.members.extend(members);
            }
            Err(problem) => self.problems.push(problem),
        }
    }

    fn add(&mut self, file: String, place: MemberLocation) {
        let key = match file.rsplit_once('.') {
            _ if file == EMBEDDED => file.clone(),
            Some((stem, ending)) if !ending.contains('/') => format!("/{stem}"),
            _ => format!("/{file}"),
        };
        let file = Some(file);
        self.members.push(Member { key, file, place });
    }

    /// Sorts what was found. A store that `is_named` one has to have the file with what is
    /// embedded.
    fn complete(mut self, is_named: bool) -> Self {
        let has_file = |name| {
            let mut files = self.members.iter().map(|member| member.file.as_deref());
            files.any(|file| file == Some(name))
        };
        if !has_file(EMBEDDED) {
            match is_named {
                true => self.problems.push(format!("{EMBEDDED} is missing")),
                false => self.notes.push(format!(
                    "there is no {EMBEDDED}: no store of python-blosc2, but frames"
                )),
            }
        }
        self.members.sort_by(|a, b| a.key.cmp(&b.key));
        self.refuse_overlaps();
        self
    }

    /// Whether the store is a directory, an archive or a file, in words.
    pub fn form(&self) -> &'static str {
        match self.form {
            Form::Directory => "directory",
            Form::Archive(_) => "zip archive",
            Form::File => "file",
        }
    }

    /// Whether the store is a single frame.
    pub fn is_file(&self) -> bool {
        matches!(self.form, Form::File)
    }

    /// Whether it is an archive, which has checksums of all members.
    pub fn is_archive(&self) -> bool {
        matches!(self.form, Form::Archive(_))
    }

    /// The bytes of a member of an archive or an EmbedStore as a file; none for other members.
    fn storage(
        &self,
        place: &MemberLocation,
    ) -> Option<std::result::Result<Shared<dyn Storage>, Error>> {
        match (place, &self.form, &self.embedded) {
            (MemberLocation::Archive(range, _), Form::Archive(archive), _) => {
                Some(archive.window(range.clone()))
            }
            (MemberLocation::Embedded(range), _, Some(embedded)) => {
                Some(embedded::window(embedded, range.clone()))
            }
            _ => None,
        }
    }

    /// Opens a member. The inner error says why it has no data that can be read.
    pub fn frame(&self, member: &Member) -> Result<std::result::Result<Frame, Unopened>> {
        let opened = self.open_frame(member);
        self.faults.check().map(|()| opened)
    }

    fn open_frame(&self, member: &Member) -> std::result::Result<Frame, Unopened> {
        let faults = &self.faults;
        let damaged = |error| {
            faults.note(error);
            Unopened::Damaged(crate::failure::describe(error))
        };
        match &member.place {
            MemberLocation::Path(path) => Frame::open(path, faults).map_err(damaged),
            MemberLocation::Elsewhere(address) => Err(Unopened::Elsewhere(address.clone())),
            MemberLocation::Nowhere(why) => Err(Unopened::Damaged((*why).to_string())),
            place => match self.storage(place) {
                Some(file) => file
                    .and_then(|file| Frame::open_in(file, faults))
                    .map_err(damaged),
                None => Err(damaged(Error::FILE_OPEN)),
            },
        }
    }

    /// Compressed bytes of a member in the store; 0 if it is not in the store.
    pub fn size(&self, member: &Member) -> u64 {
        match &member.place {
            MemberLocation::Path(path) => self.faults.size_of(path),
            MemberLocation::Archive(range, _) | MemberLocation::Embedded(range) => {
                range.end - range.start
            }
            MemberLocation::Elsewhere(_) | MemberLocation::Nowhere(_) => 0,
        }
    }

    /// Whether a member matches its checksum in the archive; true if it has none.
    pub fn checksum_fits(&self, member: &Member) -> Result<bool> {
        match (&member.place, &self.form) {
            (MemberLocation::Archive(range, crc), Form::Archive(archive)) => {
                Ok(archive.checksum(range.clone())? == *crc)
            }
            _ => Ok(true),
        }
    }

    /// The checksum of the bytes at a place. An EmbedStore in an archive has one checksum for all
    /// its members.
    fn checksum(&self, place: &MemberLocation) -> Result<Checksum> {
        let is_embedded = |member: &&Member| member.file.as_deref() == Some(EMBEDDED);
        let around = match place {
            MemberLocation::Embedded(_) => self.members.iter().find(is_embedded),
            _ => None,
        };
        Ok(Checksum {
            own: match place {
                MemberLocation::Archive(_, crc) => Some(*crc),
                _ => None,
            },
            around: around.map_or(Ok(true), |member| self.checksum_fits(member))?,
        })
    }

    /// The file that contains the members that have no file of their own, if the store is at
    /// `path`.
    pub fn file_of_embedded(&self, path: &Path) -> PathBuf {
        match self.form {
            Form::Directory => path.join(EMBEDDED),
            Form::Archive(_) | Form::File => path.to_path_buf(),
        }
    }

    /// The member with this key, or in this file of the store.
    pub fn member(&self, key: &str) -> Option<&Member> {
        let by_key = |member: &&Member| member.key == key;
        // A file of its own comes before what is embedded, as for python-blosc2.
        let files = self.members.iter().filter(|member| member.file.is_some());
        let mut found = files.clone().filter(by_key);
        found
            .next()
            .or_else(|| self.members.iter().find(by_key))
            .or_else(|| {
                let mut files = files;
                files.find(|member| member.file.as_deref() == Some(key))
            })
    }

    /// The member with this key as something to read. `name` is that of the store, for messages.
    pub fn extract(&self, key: &str, name: &str) -> Result<Extract> {
        let failed = |why: &str| Failure::message(format!("{name}: {key}: {why}"));
        let member = self
            .member(key)
            .ok_or_else(|| failed("no such key (b2 info lists them)"))?;
        match &member.place {
            MemberLocation::Path(path) => Ok(Extract::Path(path.clone())),
            MemberLocation::Elsewhere(address) => {
                Err(failed(&format!("is not here, but at {address}")))
            }
            MemberLocation::Nowhere(why) => Err(failed(why)),
            place => match self.storage(place) {
                Some(Ok(file)) => Ok(Extract::Bytes(file, self.checksum(place)?)),
                Some(Err(error)) => Err(failed(&crate::failure::describe(error))),
                None => Err(failed("cannot be read")),
            },
        }
    }
}

/// A member as something to read.
pub enum Extract {
    /// A file or a directory.
    Path(PathBuf),
    /// The bytes of a frame, and their checksum.
    Bytes(Shared<dyn Storage>, Checksum),
}

/// The checksum of a member of an archive.
pub struct Checksum {
    /// That of the member itself, if it has one.
    own: Option<u32>,
    /// Whether the EmbedStore that contains the member matches its checksum.
    around: bool,
}

impl Checksum {
    /// Whether a member whose bytes have the CRC-32 `sum` is unchanged, as far as is known.
    pub fn fits(&self, sum: u32) -> bool {
        self.around && self.own.is_none_or(|own| own == sum)
    }
}
