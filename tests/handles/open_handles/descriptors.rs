//! Handles whose descriptors the program closes, as a program does that becomes a daemon. The
//! numbers may be other files' then.

use super::place::{NAME, STORAGES, Storage};
use super::reads::{Desk, READS, copy_all};
use oxiblosc_testing::b2nd::Library;
use oxiblosc_testing::folder::{Folder, without_syncs};
use oxiblosc_testing::report::Report;
use oxiblosc_testing::sample::{is_whole, takes};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::read;
use oxiblosc_testing::workers::{Part, divided};
use std::fs::{self, File, OpenOptions};
use std::io::{Seek, SeekFrom};
use std::mem::ManuallyDrop;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, RawFd};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;

const CHUNKS: i64 = 3;

/// What has the number of a closed descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Taker {
    Nothing,
    /// A file that the program reads and writes.
    File,
    /// A file that the program only appends to.
    Log,
    Pipe,
    Null,
    /// Another frame, with the same header, that the program has opened itself.
    Twin,
    /// The handle's own file, which the program reads.
    Own,
    /// The same frame as for `Twin`, which another handle has open.
    Handle,
}

const TAKERS: [Taker; 8] = [
    Taker::Nothing,
    Taker::File,
    Taker::Log,
    Taker::Pipe,
    Taker::Null,
    Taker::Twin,
    Taker::Own,
    Taker::Handle,
];

/// What the handle has done before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Opened,
    Changed,
    /// It has changed the frame, and has it locked.
    Locked,
}

const BEFORE: [Before; 3] = [Before::Opened, Before::Changed, Before::Locked];

type Change = (&'static str, fn(&Desk) -> i64);

const CHANGES: [Change; 14] = [
    ("append", |d| d.schunk.append_buffer(&[5; 400], 400)),
    ("insert", |d| {
        let chunk = some_chunk(d);
        d.schunk.insert_chunk(1, &chunk, true)
    }),
    ("update", |d| {
        let chunk = some_chunk(d);
        d.schunk.update_chunk(1, &chunk, true)
    }),
    ("delete", |d| d.schunk.delete_chunk(0)),
    ("reorder", |d| d.schunk.reorder(&[1, 0, 2])),
    ("slice", |d| d.schunk.set_slice(3, 30, &[7; 108])),
    ("metalayer", |d| {
        d.schunk.vlmeta_update(NAME, b"another content")
    }),
    ("new metalayer", |d| d.schunk.vlmeta_add(c"new", b"content")),
    ("fixed metalayer", |d| {
        let layers = d.schunk.metalayers();
        d.schunk.meta_update(c"b2nd", &layers[0].1)
    }),
    ("several", |d| {
        let first = d.schunk.append_buffer(&[5; 400], 400);
        let second = d.schunk.set_slice(3, 30, &[7; 108]);
        first
            .min(second)
            .min(d.schunk.append_buffer(&[6; 400], 400))
    }),
    ("items of an array", |d| {
        d.array.set(&[10], &[210], &[200], &[9; 800]).into()
    }),
    ("append to an array", |d| {
        d.array.append(0, &[9; 800]).into()
    }),
    ("resize of an array", |d| {
        d.array.resize(&[150], None).into()
    }),
    ("chunk and items of an array", |d| {
        let first = d.schunk.append_buffer(&[5; 400], 400);
        first.min(d.array.set(&[10], &[210], &[200], &[9; 800]).into())
    }),
];

/// A chunk of the frame, from a handle that was not open before.
fn some_chunk(d: &Desk) -> Vec<u8> {
    let name = if d.folder.join("front").exists() {
        "front"
    } else {
        "twin"
    };
    let other = d.library.schunks.open_path(&d.folder.join(name));
    other.expect("opens").get_chunk(0).bytes
}

/// What is done with a handle.
#[derive(Clone, Copy)]
enum Deed {
    Read(usize),
    Change(usize),
    /// A transaction that was begun before, with changes.
    Commit,
}

impl Deed {
    fn all() -> impl Iterator<Item = Self> {
        let reads = (0..READS.len()).map(Self::Read);
        reads
            .chain((0..CHANGES.len()).map(Self::Change))
            .chain([Self::Commit])
    }

    fn name(self) -> &'static str {
        match self {
            Self::Read(at) => READS[at].name,
            Self::Change(at) => CHANGES[at].0,
            Self::Commit => "commit",
        }
    }

    fn begin(self, desk: &Desk) {
        if let Self::Commit = self {
            assert_eq!(desk.schunk.begin(), 0);
            assert_eq!(desk.schunk.append_buffer(&[8; 400], 400), CHUNKS + 1);
            assert_eq!(desk.schunk.vlmeta_update(NAME, b"another content"), 0);
        }
    }

    fn reported(self, desk: &Desk) -> String {
        match self {
            Self::Read(at) => (READS[at].tell)(desk),
            Self::Change(at) => format!("{} {:?}", CHANGES[at].1(desk), read(&desk.schunk)),
            Self::Commit => format!("{} {:?}", desk.schunk.commit(), read(&desk.schunk)),
        }
    }
}

/// Bytes that no codec makes smaller, so that all frames of as many have the same header.
fn noise(seed: u64, len: i64) -> Vec<u8> {
    let mut state = seed;
    let mut byte = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..4 * len).map(|_| byte()).collect()
}

/// The descriptors of files under a folder.
fn descriptors(folder: &Path) -> Vec<RawFd> {
    let all = fs::read_dir("/proc/self/fd").expect("the open files");
    let all = all.filter_map(|entry| {
        let path = entry.ok()?.path();
        let leads = fs::read_link(&path).ok()?;
        let number = path.file_name()?.to_str()?.parse().ok()?;
        leads.starts_with(folder).then_some(number)
    });
    all.collect()
}

/// An open file of the program.
struct Taken {
    number: RawFd,
    identity: (u64, u64),
    flags: i32,
    position: i64,
    /// Whether the program has locked it.
    locked: bool,
}

fn call(file: &File, command: i32, kind: i32, (start, len): (i64, i64)) -> (i32, libc::flock) {
    // SAFETY: every field of the struct is a number, for which zero is a value; the call fills it
    // in.
    unsafe {
        let mut lock: libc::flock = std::mem::zeroed();
        lock.l_type = kind as i16;
        (lock.l_start, lock.l_len) = (start, len);
        let rc = libc::fcntl(file.as_raw_fd(), command, &raw mut lock);
        (rc, lock)
    }
}

fn position(number: RawFd) -> i64 {
    // SAFETY: asks for a number.
    unsafe { libc::lseek(number, 0, libc::SEEK_CUR) }
}

fn flags(number: RawFd) -> i32 {
    // SAFETY: as above.
    unsafe { libc::fcntl(number, libc::F_GETFL) }
}

fn borrowed(number: RawFd) -> ManuallyDrop<File> {
    // SAFETY: it is not closed.
    ManuallyDrop::new(unsafe { File::from_raw_fd(number) })
}

impl Taken {
    /// Gives a number to a file.
    fn new(number: RawFd, mut file: File) -> Self {
        let is_file = file.metadata().is_ok_and(|there| there.is_file());
        if is_file {
            file.seek(SeekFrom::Start(7)).expect("a position");
        }
        // Of several open files of one, the first has the lock.
        let locked = is_file && call(&file, libc::F_OFD_SETLK, libc::F_WRLCK, (0, 0)).0 == 0;
        let from = file.into_raw_fd();
        // SAFETY: the number is nobody's.
        unsafe {
            if from != number {
                assert_eq!(libc::dup2(from, number), number);
                libc::close(from);
            }
        }
        let there = borrowed(number).metadata().expect("open");
        Self {
            number,
            identity: (there.dev(), there.ino()),
            flags: flags(number),
            position: position(number),
            locked,
        }
    }

    /// What has happened to it.
    fn wrong(&self) -> Option<&'static str> {
        let file = borrowed(self.number);
        let Ok(there) = file.metadata() else {
            return Some("it is closed");
        };
        if (there.dev(), there.ino()) != self.identity {
            return Some("it is another file");
        }
        if flags(self.number) != self.flags || position(self.number) != self.position {
            return Some("it was opened again");
        }
        if self.locked {
            let another = File::open(format!("/proc/self/fd/{}", self.number)).expect("opens");
            let is_free = |at| {
                let (_, found) = call(&another, libc::F_OFD_GETLK, libc::F_RDLCK, (at, 1));
                i32::from(found.l_type) == libc::F_UNLCK
            };
            if [0, 1 << 40, (1 << 62) - 1, 1 << 62, (1 << 62) + 1]
                .into_iter()
                .any(is_free)
            {
                return Some("its lock is gone");
            }
        }
        None
    }
}

/// A scene: a handle, and what happens to its descriptors.
#[derive(Clone, Copy, Debug)]
struct Case {
    storage: Storage,
    before: Before,
    durable: bool,
    /// None if they stay.
    taker: Option<Taker>,
}

impl Case {
    fn is_possible(self) -> bool {
        match self.storage {
            Storage::MapToRead | Storage::MapToCopy => self.before == Before::Opened,
            _ => true,
        }
    }

    fn has(self, deed: Deed) -> bool {
        if self.before == Before::Locked && deed.name().contains("array") {
            // The other handle would wait for the lock.
            return false;
        }
        match deed {
            Deed::Read(_) => true,
            Deed::Change(_) | Deed::Commit => {
                !matches!(self.storage, Storage::MapToRead | Storage::MapToCopy)
                    && (self.before == Before::Opened || !matches!(deed, Deed::Commit))
            }
        }
    }

    /// What the library does not know.
    fn is_undefined(self, deed: Deed) -> bool {
        match self.taker {
            // A read compares the header, and asks for nothing more of a descriptor if it is the
            // same. To take a lock is to ask.
            Some(Taker::Twin) => {
                let locks = self.storage == Storage::LockedFile && self.before != Before::Locked;
                matches!(deed, Deed::Read(_)) && !self.storage.is_directory() && !locks
            }
            // The descriptor of a map is known by the file that it leads to.
            Some(Taker::Own) => self.storage.is_map(),
            _ => false,
        }
    }

    /// Opens the files of the program.
    fn take(
        self,
        taker: Taker,
        library: Library,
        folder: &Path,
        numbers: &[RawFd],
    ) -> (Vec<Taken>, Vec<Schunk>) {
        let mut taken = Vec::new();
        let mut handles = Vec::new();
        let own = self.storage.file(&folder.join("frame"));
        let twin = self.storage.file(&folder.join("twin"));
        let text = folder.join("text");
        fs::write(&text, vec![b'x'; 10_000]).expect("a file");
        for &number in numbers {
            let opened =
                |options: &mut OpenOptions, path: &Path| options.open(path).expect("opens");
            let file = match taker {
                Taker::Nothing => continue,
                Taker::File => opened(File::options().read(true).write(true), &text),
                Taker::Log => opened(File::options().append(true), &text),
                Taker::Null => opened(
                    File::options().read(true).write(true),
                    Path::new("/dev/null"),
                ),
                Taker::Twin => opened(File::options().read(true).write(true), &twin),
                Taker::Own => opened(
                    File::options().read(true).custom_flags(libc::O_NOATIME),
                    &own,
                ),
                Taker::Pipe => {
                    let mut ends = [0; 2];
                    // SAFETY: two places for two descriptors, each owned once from here on.
                    unsafe {
                        assert_eq!(libc::pipe2(ends.as_mut_ptr(), libc::O_NONBLOCK), 0);
                        // The other end stays open.
                        File::from_raw_fd(ends[1])
                    }
                }
                Taker::Handle => {
                    handles.push(self.storage.open(library, folder, "twin").expect("opens"));
                    continue;
                }
            };
            taken.push(Taken::new(number, file));
        }
        (taken, handles)
    }

    /// What one deed tells, and what is wrong with the program's files after it.
    fn tell(self, library: Library, deed: Deed, created: &Path, folder: &Path) -> (String, String) {
        let durable = if self.durable { c"1" } else { c"0" };
        // SAFETY: C strings, and this process has one thread.
        unsafe { libc::setenv(c"BLOSC_DURABLE".as_ptr(), durable.as_ptr(), 1) };
        let _ = fs::remove_dir_all(folder);
        copy_all(created, folder);
        let desk = Desk::open(library, self.storage, folder, "frame", CHUNKS);
        if self.before != Before::Opened {
            assert_eq!(desk.array.set(&[0], &[10], &[10], &[3; 40]), 0);
            assert_eq!(desk.schunk.set_slice(20, 30, &[4; 40]), 0);
        }
        if self.before == Before::Locked {
            assert_eq!(desk.schunk.lock(), 0);
        }
        deed.begin(&desk);
        let (mut taken, mut handles) = (Vec::new(), Vec::new());
        let twin = self.storage.file(&folder.join("twin"));
        if let Some(taker) = self.taker {
            let numbers = descriptors(folder);
            assert!(!numbers.is_empty());
            for number in &numbers {
                // SAFETY: this is what the test is about.
                unsafe { libc::close(*number) };
            }
            (taken, handles) = self.take(taker, library, folder, &numbers);
        }
        let before = (
            fs::read(&twin).expect("a frame"),
            written(&twin),
            written(&folder.join("text")),
        );
        let reported = deed.reported(&desk);
        let mut wrong: Vec<String> = Vec::new();
        let mut look = |when: &str| {
            let found = taken.iter().filter_map(Taken::wrong);
            wrong.extend(found.map(|found| format!("{when} {found}")));
            if before
                != (
                    fs::read(&twin).expect("a frame"),
                    written(&twin),
                    written(&folder.join("text")),
                )
            {
                wrong.push(format!("{when} another file was written"));
            }
            for handle in &handles {
                let state = read(handle);
                if state.chunks.iter().any(|chunk| chunk.is_err())
                    || state.chunks[0] != Ok(noise(2, 100))
                {
                    wrong.push(format!("{when} the other handle tells something else"));
                }
            }
        };
        look("after it");
        if self.before == Before::Locked {
            assert_eq!(desk.schunk.unlock(), 0);
            look("after the unlock");
        }
        // SAFETY: the child only looks, and ends.
        let child = unsafe { libc::fork() };
        if child == 0 {
            let found = taken.iter().any(|taken| taken.wrong().is_some());
            // SAFETY: as above.
            unsafe { libc::_exit(i32::from(found)) };
        }
        let mut status = 0;
        // SAFETY: this process's child.
        unsafe { libc::waitpid(child, &mut status, 0) };
        drop(desk);
        look("after the end");
        drop(handles);
        if status != 0 {
            wrong.push("a child has another".into());
        }
        let frame = self.storage.file(&folder.join("frame"));
        if self.taker != Some(Taker::Own)
            && descriptors(folder).iter().any(|number| {
                fs::read_link(format!("/proc/self/fd/{number}")).is_ok_and(|leads| leads == frame)
            })
        {
            wrong.push("it is left open".into());
        }
        for taken in taken {
            // SAFETY: opened by this function.
            unsafe { libc::close(taken.number) };
        }
        for number in descriptors(folder) {
            // SAFETY: what should not be there does not disturb the next case.
            unsafe { libc::close(number) };
        }
        let now = if matches!(self.storage, Storage::Behind) {
            String::new()
        } else {
            library
                .schunks
                .open_path(&folder.join("frame"))
                .map_or("nothing".into(), |s| format!("{:?}", read(&s)))
        };
        (format!("{reported} and then {now}"), wrong.join(", "))
    }
}

/// When a file was written to.
fn written(path: &Path) -> Option<(i64, i64)> {
    let there = fs::metadata(path).ok()?;
    Some((there.mtime(), there.mtime_nsec()))
}

fn sweep(library: Library, part: Part, own: &Path) -> Report {
    let mut report = Report::default();
    let (mut number, mut trials) = (0, 0);
    for storage in STORAGES {
        let created = own.join(format!("made-{storage:?}"));
        fs::create_dir_all(&created).expect("a folder");
        for (name, seed) in [("frame", 1), ("twin", 2)] {
            storage.make_of(Library::ours(), &created, name, CHUNKS, |len| {
                noise(seed, len)
            });
        }
        for before in BEFORE {
            for durable in [false, true] {
                let case = |taker| Case {
                    storage,
                    before,
                    durable,
                    taker,
                };
                if !case(None).is_possible() {
                    continue;
                }
                for deed in Deed::all().filter(|deed| case(None).has(*deed)) {
                    number += 1;
                    if !part.has(number) {
                        continue;
                    }
                    let folder = own.join("work");
                    let expected = case(None).tell(library, deed, &created, &folder);
                    let known = |taker: &Taker| !case(Some(*taker)).is_undefined(deed);
                    for taker in TAKERS.into_iter().filter(known) {
                        trials += 1;
                        if !takes("OXIBLOSC_FAULTS", trials, 3) {
                            continue;
                        }
                        report.case();
                        let at = format!("{:?} {}", case(Some(taker)), deed.name());
                        fs::write(Part::at(own), &at).expect("a note");
                        let found = case(Some(taker)).tell(library, deed, &created, &folder);
                        let group = format!("{storage:?} {taker:?}");
                        report.check(found.0 == expected.0, &format!("{group}: told"), || {
                            format!("{at}: {:.100} for {:.100}", found.0, expected.0)
                        });
                        report.check(found.1.is_empty(), &format!("{group}: {}", found.1), || {
                            format!("{at}: {}", found.1)
                        });
                    }
                }
            }
        }
    }
    report
}

#[test]
fn handles_whose_descriptors_are_closed_go_on() {
    oxiblosc_testing::own_process!();
    let library = Library::ours();
    let folder = Folder(without_syncs().join(format!("oxiblosc-closed-{}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a folder");
    let report = divided(120, &folder.0, |part, own| sweep(library, part, own));
    let cases = report.cases;
    report.finish("closed descriptors");
    let least = if is_whole("OXIBLOSC_FAULTS") {
        12_000
    } else {
        4_000
    };
    assert!(cases > least, "{cases} cases");
}
