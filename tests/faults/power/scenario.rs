//! What the power is cut in: calls on a frame in a file, in a map of one, in a directory, or behind
//! another frame in a file.

use crate::changes::{CHANGES, Start, make, prepare};
use blosc2::capi::types::blosc2_cparams;
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk::SchunkLib;
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use std::ffi::CStr;
use std::path::{Path, PathBuf};

/// Where a frame is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    File,
    /// In a file that is opened as a memory map.
    Map,
    Directory,
    /// Behind another frame in the same file.
    Container,
    /// In a file to which a link elsewhere leads.
    Link,
}

/// What is done with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Work {
    /// The change with this number, a metalayer, and closing.
    Change(usize),
    /// A new frame, a chunk, a metalayer, and closing.
    Create,
    /// A frame in memory is written over another one, or a frame in a file to where there is none.
    ToFile { over: bool },
    /// A copy of a frame in memory.
    Copy,
    /// Two frames are written behind others.
    AppendFile,
    /// Opened after a process was killed, given a metalayer, and closed.
    Recover,
}

/// What the next process does after one was killed.
pub const AFTER_KILL: [Work; 3] = [Work::Recover, Work::ToFile { over: true }, Work::AppendFile];

#[derive(Clone, Copy, Debug)]
pub struct Scenario {
    pub storage: Storage,
    pub work: Work,
}

/// What is seen of a folder: what is in the frames that may be there.
pub type Seen = Vec<Option<State>>;

/// Every scenario.
pub fn scenarios() -> Vec<Scenario> {
    let storages = [
        Storage::File,
        Storage::Map,
        Storage::Directory,
        Storage::Container,
    ];
    let changes = (0..CHANGES.len()).map(Work::Change);
    let mut all: Vec<Scenario> = changes
        .flat_map(|work| storages.map(|storage| Scenario { storage, work }))
        .collect();
    let (file, directory) = (Storage::File, Storage::Directory);
    for storage in [file, directory] {
        for work in [Work::Create, Work::Copy] {
            all.push(Scenario { storage, work });
        }
    }
    for storage in [Storage::Map, Storage::Link] {
        let work = Work::Create;
        all.push(Scenario { storage, work });
    }
    for (storage, over) in [(file, false), (file, true), (Storage::Link, true)] {
        let work = Work::ToFile { over };
        all.push(Scenario { storage, work });
    }
    for storage in [file, Storage::Container] {
        let work = Work::AppendFile;
        all.push(Scenario { storage, work });
    }
    all
}

fn parameters() -> blosc2_cparams {
    blosc2_cparams {
        typesize: 8,
        ..blosc2_cparams::defaults()
    }
}

/// Bytes of a chunk that do not compress away.
fn data(seed: u64) -> Vec<u8> {
    oxiblosc_testing::data::Kind::Random.bytes(4000, seed)
}

/// A frame of two chunks.
fn small(lib: &'static SchunkLib, contiguous: bool, path: Option<&Path>, seed: u64) -> Schunk {
    let created = lib.create(contiguous, path, &parameters(), 1, None);
    let s = created.expect("a new frame");
    for seed in [seed, seed + 1] {
        fine(s.append_buffer(&data(seed), 4000));
    }
    fine(s.vlmeta_add(c"which", &seed.to_le_bytes()));
    s
}

/// What is no frame.
fn broken() -> State {
    State {
        chunks: vec![Err(i64::MIN)],
        meta: Vec::new(),
        vlmeta: Vec::new(),
    }
}

fn returned(what: &str, rc: i64) -> Result<(), String> {
    match rc {
        0.. => Ok(()),
        rc => Err(format!("{what} returns {rc}")),
    }
}

/// Appends two frames to a file, and tells where each went.
fn append_two(
    lib: &'static SchunkLib,
    path: &Path,
    appended: &mut dyn FnMut(i64),
) -> Result<(), String> {
    for seed in [400, 402] {
        let rc = small(lib, true, None, seed).append_file(path);
        returned("append_file", rc)?;
        appended(rc);
    }
    Ok(())
}

fn fine(rc: i64) {
    assert!(rc >= 0, "{rc}");
}

impl Scenario {
    pub fn name(&self) -> String {
        let work = match self.work {
            Work::Change(index) => CHANGES[index].name.to_owned(),
            other => format!("{other:?}"),
        };
        format!("{work} ({:?})", self.storage)
    }

    /// The path that is given to the library.
    pub fn path(&self, folder: &Path) -> PathBuf {
        let frame = folder.join("frame");
        if self.storage != Storage::Link {
            return frame;
        }
        let link = folder.with_extension("link");
        if !link.is_symlink() {
            std::os::unix::fs::symlink(frame, &link).expect("a link");
        }
        link
    }

    /// Whether the first call makes a frame where none is, so that there is nothing to be lost
    /// before it has returned.
    pub fn makes(&self) -> bool {
        match self.work {
            Work::Create | Work::Copy => true,
            Work::ToFile { over } => !over,
            _ => false,
        }
    }

    /// The same frame, with what the next process does after one was killed, if it can be done
    /// there.
    pub fn after_kill(self, work: Work) -> Option<Self> {
        let is_file = self.storage != Storage::Directory;
        (is_file || work == Work::Recover).then_some(Self { work, ..self })
    }

    /// Opens the frame at this place; a map in this mode. Maps begin at the front of their file.
    fn open(
        &self,
        lib: &'static SchunkLib,
        path: &Path,
        place: i64,
        mode: &'static CStr,
    ) -> Option<Opened> {
        match self.storage {
            Storage::Map if place == 0 => Opened::map(lib, path, mode),
            _ => lib.open_at(path, place).map(Opened::from),
        }
    }

    fn start(&self) -> Option<Start> {
        match self.work {
            Work::Change(index) => Some(CHANGES[index].start),
            _ => None,
        }
    }

    /// Makes what is there before.
    pub fn make(&self, lib: &'static SchunkLib, folder: &Path) {
        let path = self.path(folder);
        let contiguous = self.storage != Storage::Directory;
        if let Some(start) = self.start() {
            make(lib, contiguous, &path, start, None);
        } else if self.work == (Work::ToFile { over: true }) {
            drop(small(lib, contiguous, Some(&path), 100));
        } else if self.work == Work::AppendFile && self.storage == Storage::File {
            drop(small(lib, true, Some(&path), 200));
        }
        if self.storage == Storage::Container {
            let behind = std::fs::read(&path).unwrap_or_default();
            let _ = std::fs::remove_file(&path);
            drop(small(lib, true, Some(&path), 300));
            let mut whole = std::fs::read(&path).expect("a frame");
            whole.extend(behind);
            std::fs::write(&path, whole).expect("a container");
        }
    }

    /// Where frames may begin in the file, from what is in the folder before.
    pub fn places(&self, lib: &'static SchunkLib, folder: &Path) -> Vec<i64> {
        let path = self.path(folder);
        let first = || lib.open_path(&path).map_or(0, |s| s.frame_len());
        match (self.work, self.storage) {
            (Work::AppendFile, _) => {
                let end = path.metadata().map_or(0, |about| about.len() as i64);
                // Both appended frames are as long.
                let len = small(lib, true, None, 400).to_buffer().0;
                vec![0, end, end + len]
            }
            (_, Storage::Container) => vec![0, first()],
            _ => vec![0],
        }
    }

    /// Where frames may begin once this is done to what a killed process left; `places` are those
    /// from before. Does it, to see where frames go. None where there is nothing to do it to.
    pub fn places_after_kill(
        &self,
        lib: &'static SchunkLib,
        folder: &Path,
        places: &[i64],
        killed: Work,
    ) -> Result<Option<Vec<i64>>, String> {
        let path = self.path(folder);
        let is_whole = || self.open(lib, &path, 0, c"r").is_some();
        let mut places = places.to_vec();
        match self.work {
            Work::ToFile { .. } => {}
            Work::AppendFile if is_whole() || !path.exists() => {
                append_two(lib, &path, &mut |place| places.push(place))?;
                places.sort_unstable();
                places.dedup();
            }
            // The last frame that the killed process had finished.
            Work::Recover if killed == Work::AppendFile => {
                let seen = self.look(lib, folder, &places);
                let whole = |seen: &Option<State>| seen.as_ref().is_some_and(|s| *s != broken());
                places.truncate(seen.iter().rposition(whole).map_or(0, |last| last + 1));
            }
            _ if is_whole() => {}
            _ => places.clear(),
        }
        Ok((!places.is_empty()).then_some(places))
    }

    /// The place of the frame that is worked on.
    fn place(places: &[i64]) -> i64 {
        *places.last().unwrap_or(&0)
    }

    /// What is in the frames.
    pub fn look(&self, lib: &'static SchunkLib, folder: &Path, places: &[i64]) -> Seen {
        let path = self.path(folder);
        let open = |place: &i64| match self.open(lib, &path, *place, c"r") {
            Some(s) => Some(read(&s)),
            // Nothing can be behind the first frame, but the first frame is whole or not there.
            None => (*place == 0 && path.exists()).then(broken),
        };
        places.iter().map(open).collect()
    }

    /// All calls, with a mark after each that has returned, and one before the first.
    pub fn run(
        &self,
        lib: &'static SchunkLib,
        folder: &Path,
        places: &[i64],
        mark: &mut dyn FnMut(),
    ) -> Result<(), String> {
        let path = self.path(folder);
        let contiguous = self.storage != Storage::Directory;
        let place = Self::place(places);
        let open = || {
            let s = self.open(lib, &path, place, c"r+");
            s.ok_or("it does not open")
        };
        match self.work {
            Work::Change(index) => {
                let s = open()?;
                prepare(&s, CHANGES[index].start);
                mark();
                returned("the change", (CHANGES[index].run)(&s))?;
                mark();
                self.finish(s, mark)
            }
            Work::Recover => {
                mark();
                self.finish(open()?, mark)
            }
            Work::Create => {
                mark();
                let s = match self.storage {
                    Storage::Map => Opened::new_map(lib, &path, &parameters()),
                    _ => lib
                        .create(contiguous, Some(&path), &parameters(), 1, None)
                        .map(Opened::from),
                };
                let s = s.ok_or("no new frame")?;
                mark();
                returned("an append", s.append_buffer(&data(1), 4000))?;
                mark();
                self.finish(s, mark)
            }
            Work::Copy => {
                let from = small(lib, true, None, 500);
                mark();
                let s = from.copy(contiguous, Some(&path), None).ok_or("no copy")?;
                mark();
                self.finish(s.into(), mark)
            }
            Work::ToFile { over } => {
                let source = folder.with_extension("source");
                let _ = std::fs::remove_file(&source);
                let from = small(lib, true, (!over).then_some(&*source), 600);
                mark();
                returned("to_file", from.to_file(&path))?;
                mark();
                Ok(())
            }
            Work::AppendFile => {
                mark();
                append_two(lib, &path, &mut |_| mark())
            }
        }
    }

    /// A metalayer, and closing.
    fn finish(&self, s: Opened, mark: &mut dyn FnMut()) -> Result<(), String> {
        // A process that was killed may have added the other one.
        let name = match self.work {
            Work::Recover => c"after a kill",
            _ => c"another one",
        };
        returned("a metalayer", s.vlmeta_add(name, &data(9)[..700]))?;
        mark();
        drop(s);
        mark();
        Ok(())
    }

    /// The frame goes on living: it takes other changes, and is read by both libraries.
    pub fn live_on(
        &self,
        lib: &'static SchunkLib,
        reference: Option<&'static SchunkLib>,
        folder: &Path,
        places: &[i64],
    ) -> Result<(), String> {
        let path = self.path(folder);
        let seen = self.look(lib, folder, places);
        let libraries: Vec<_> = [Some(lib), reference].into_iter().flatten().collect();
        if self.work == Work::AppendFile {
            let rc = small(lib, true, None, 700).append_file(&path);
            if rc < 0 {
                return Err(format!("it takes no frame any more: {rc}"));
            }
            let expected = read(&small(lib, true, None, 700));
            for lib in &libraries {
                let name = lib.lib.name;
                let found = lib.open_at(&path, rc).map(|s| read(&s));
                if found.as_ref() != Some(&expected) {
                    return Err(format!("{name}: the frame that was appended is not there"));
                }
                let now = self.look(lib, folder, places);
                let mut both = seen.iter().zip(&now);
                if both.any(|(before, now)| before.is_some() && before != now) {
                    return Err(format!("{name}: a frame before it is another"));
                }
            }
            return Ok(());
        }
        // A frame is changed that has none behind it.
        let Some(last) = seen.iter().rposition(Option::is_some) else {
            return Ok(());
        };
        let (place, before) = (places[last], seen[last].clone());
        let s = self.open(lib, &path, place, c"r+");
        let s = s.ok_or("it does not open")?;
        let rc = s.vlmeta_add(c"afterwards", b"alive");
        if rc < 0 {
            return Err(format!("it takes no metalayer any more: {rc}"));
        }
        // As long as its chunks are.
        let chunk = vec![3; (s.get().chunksize.max(8)) as usize];
        let rc = s.append_buffer(&chunk, chunk.len() as i32);
        if rc < 0 {
            return Err(format!("it takes no chunk any more: {rc}"));
        }
        drop(s);
        for lib in libraries {
            let name = lib.lib.name;
            let s = lib.open_at(&path, place);
            let mut state = read(&s.ok_or(format!("{name}: it does not open again"))?);
            if state.chunks.pop() != Some(Ok(chunk.clone())) || state.vlmeta.pop().is_none() {
                return Err(format!("{name}: what was added is not there"));
            }
            if Some(state) != before {
                return Err(format!("{name}: what was there before is not"));
            }
            if self.look(lib, folder, &places[..last]) != seen[..last] {
                return Err(format!("{name}: the frame before it is another"));
            }
        }
        Ok(())
    }
}
