//! Stores of python-blosc2: frames under keys such as `/group/matrix`.
//!
//! As python-blosc2 4.14 writes them:
//!
//! - an EmbedStore (`.b2e`) is a frame of bytes, which are other frames one behind the other. Its variable-length metalayer
//!   `estore_metadata` tells key, offset and length of each, in msgpack;
//! - a DictStore or TreeStore is a directory (`.b2d`) or a zip archive (`.b2z`) whose members are stored, not compressed. The frame of the key
//!   `/group/matrix` is `group/matrix.b2nd` in it, or `.b2f` or `.b2b`, or is in the EmbedStore `embed.b2e`;
//! - a CTable is a TreeStore, or the part of one below a key, with a frame `_meta` whose variable-length metalayer `kind` says `ctable`.
//!
//! Nothing is ever written to a path that a store names.

mod archive;
mod contents;
mod directory;
mod embedded;
pub(crate) mod window;

pub use contents::{Kind, kind_of};

use crate::failure::{Failure, Result};
use crate::input::Input;
use crate::source::{Frame, frame_file};
use archive::{Archive, Entry, Unreadable};
use embedded::Embedded;
use oxiblosc_error::Error;
use oxiblosc_frame::header::Header;
use oxiblosc_io::Storage;
use oxiblosc_memory::Shared;
use std::collections::HashMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The EmbedStore of a directory or an archive.
const EMBEDDED: &str = "embed.b2e";

/// What a store is in.
enum Form {
    Directory,
    Archive(Archive),
    File,
}

/// A store, and what is in it.
pub struct Store {
    form: Form,
    embedded: Option<Arc<Embedded>>,
    /// What it is: see [`Kind`].
    pub kind: Kind,
    /// The frames; those of a directory or archive in the order of their keys.
    pub members: Vec<Member>,
    /// What else is in an archive.
    pub others: Vec<Member>,
    /// What is to be known of the store, and is no damage.
    pub notes: Vec<String>,
    /// What is wrong with the store itself.
    pub problems: Vec<String>,
}

/// A frame of a store.
pub struct Member {
    /// What it is called by: `/group/matrix`; of what is no key, the name of the file.
    pub key: String,
    /// Its file in the store, if it has one of its own.
    pub file: Option<String>,
    place: MemberLocation,
}

impl Member {
    fn other(file: String, place: MemberLocation) -> Self {
        Self {
            key: file.clone(),
            file: Some(file),
            place,
        }
    }

    /// Why it cannot be read, if that is known already.
    pub fn unreadable(&self) -> Option<&'static str> {
        match self.place {
            MemberLocation::Nowhere(why) => Some(why),
            _ => None,
        }
    }
}

/// Where a member is.
enum MemberLocation {
    /// A file or a directory.
    Path(PathBuf),
    /// Bytes of the archive, and the archive's checksum of them.
    Archive(Range<u64>, u32),
    /// Bytes of the data of the EmbedStore.
    Embedded(Range<u64>),
    /// Somewhere else, by its address.
    Elsewhere(String),
    /// Nowhere, for this reason.
    Nowhere(&'static str),
}

/// Why a member cannot be opened.
pub enum Unopened {
    /// It is damaged, or something else than a frame.
    Damaged(String),
    /// It is somewhere else.
    Elsewhere(String),
}

impl Store {
    /// Opens the store that `input` is; `None` if it is something else.
    pub fn open(input: &Input) -> Result<Option<Self>> {
        let path = input.path();
        let has_ending = |ending: &str| path.extension().is_some_and(|known| known == ending);
        if path.is_dir() {
            let is_frame = frame_file(path).is_file();
            if is_frame || !(path.join(EMBEDDED).is_file() || has_ending("b2d")) {
                return Ok(None);
            }
            return Self::in_directory(path).map(Some);
        }
        let mut front = Vec::new();
        input.open()?.take(4).read_to_end(&mut front)?;
        if front.starts_with(b"PK") || has_ending("b2z") {
            return Self::in_archive(input).map(Some);
        }
        let frame = Frame::open(path).ok();
        let kind = frame.as_ref().map(kind_of);
        match (frame, kind) {
            (Some(frame), Some(kind)) if kind.is_store() => Ok(Some(Self::in_file(frame))),
            _ => Ok(None),
        }
    }

    fn in_directory(path: &Path) -> Result<Self> {
        let mut store = Self::empty(Form::Directory);
        for (name, path) in directory::files(path)? {
            if name == EMBEDDED {
                store.embed(Frame::open(&path));
            }
            store.add(name, MemberLocation::Path(path));
        }
        Ok(store.complete())
    }

    fn in_archive(input: &Input) -> Result<Self> {
        let (archive, entries, problem) = Archive::open(input)?;
        let mut store = Self::empty(Form::Archive(archive));
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
                store.embed(file.and_then(Frame::open_in));
            }
            store.add(entry.name, place);
        }
        Ok(store.complete())
    }

    /// Of several files of one name the last, as for python-blosc2.
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

    /// Whether what is at a place begins as a frame does.
    fn has_magic(&self, place: &MemberLocation) -> bool {
        let mut front = [0; 16];
        let read = self
            .storage(place)
            .is_some_and(|file| file.and_then(|file| file.read_at(0, &mut front)).is_ok());
        read && Header::has_magic(&front)
    }

    fn in_file(frame: Frame) -> Self {
        let mut store = Self::empty(Form::File);
        store.embed(Ok(frame));
        store
    }

    fn empty(form: Form) -> Self {
        Self {
            form,
            embedded: None,
            kind: Kind::EmbedStore,
            members: Vec::new(),
            others: Vec::new(),
            notes: Vec::new(),
            problems: Vec::new(),
        }
    }

    /// Lists what is in the EmbedStore. If it cannot be opened, it is found to be damaged like any other member.
    fn embed(&mut self, frame: std::result::Result<Frame, Error>) {
        let Ok(frame) = frame else { return };
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

    fn complete(mut self) -> Self {
        let has_file = |name| {
            let mut files = self.members.iter().map(|member| member.file.as_deref());
            files.any(|file| file == Some(name))
        };
        if !has_file(EMBEDDED) {
            self.problems.push(format!("{EMBEDDED} is missing"));
        }
        self.members.sort_by(|a, b| a.key.cmp(&b.key));
        self
    }

    /// What the store is in, in words.
    pub fn form(&self) -> &'static str {
        match self.form {
            Form::Directory => "directory",
            Form::Archive(_) => "zip archive",
            Form::File => "file",
        }
    }

    /// Whether it is a frame itself.
    pub fn is_file(&self) -> bool {
        matches!(self.form, Form::File)
    }

    /// Whether each byte of the members has a checksum that the store keeps.
    pub fn is_archive(&self) -> bool {
        matches!(self.form, Form::Archive(_))
    }

    /// The bytes of what is in an archive or in an EmbedStore.
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

    /// Opens a member.
    pub fn frame(&self, member: &Member) -> std::result::Result<Frame, Unopened> {
        let damaged = |error| Unopened::Damaged(crate::failure::describe(error));
        match &member.place {
            MemberLocation::Path(path) => Frame::open(path).map_err(damaged),
            MemberLocation::Elsewhere(address) => Err(Unopened::Elsewhere(address.clone())),
            MemberLocation::Nowhere(why) => Err(Unopened::Damaged((*why).to_string())),
            place => match self.storage(place) {
                Some(file) => file.and_then(Frame::open_in).map_err(damaged),
                None => Err(damaged(Error::FileOpen)),
            },
        }
    }

    /// Bytes that a member takes in the store, compressed as it is; none for what is not in a place of its own.
    pub fn size(&self, member: &Member) -> u64 {
        match &member.place {
            MemberLocation::Path(path) => crate::output::size_of(path),
            MemberLocation::Archive(range, _) | MemberLocation::Embedded(range) => {
                range.end - range.start
            }
            MemberLocation::Elsewhere(_) | MemberLocation::Nowhere(_) => 0,
        }
    }

    /// Whether a member matches its checksum in the archive; true if there is none.
    pub fn checksum_fits(&self, member: &Member) -> Result<bool> {
        match (&member.place, &self.form) {
            (MemberLocation::Archive(range, crc), Form::Archive(archive)) => {
                Ok(archive.checksum(range.clone())? == *crc)
            }
            _ => Ok(true),
        }
    }

    /// What the archive says of the bytes at a place. An EmbedStore has one checksum for all that is in it.
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

    /// The file that contains the members without a file of their own, of a store at `path`.
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

    /// What can be read of the member with this key as any other file: a path, or the bytes.
    pub fn extract(&self, key: &str, name: &str) -> Result<Extract> {
        let failed = |why: &str| Failure::say(format!("{name}: {key}: {why}"));
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
    /// The bytes of a frame, and what is known of them.
    Bytes(Shared<dyn Storage>, Checksum),
}

/// What an archive says of bytes in it.
pub struct Checksum {
    own: Option<u32>,
    /// Whether what they are in is right.
    around: bool,
}

impl Checksum {
    /// Whether bytes with this checksum are right, as far as is known.
    pub fn fits(&self, sum: u32) -> bool {
        self.around && self.own.is_none_or(|own| own == sum)
    }
}
