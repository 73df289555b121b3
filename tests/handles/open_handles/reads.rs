//! Every call that reads, beside the reference's.

use super::place::{LOSSES, Loss, NAME, STORAGES, Storage, With};
use oxiblosc_testing::b2nd::{Array, Library, Spec};
use oxiblosc_testing::folder::{Folder, without_syncs};
use oxiblosc_testing::isolated::start;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::sample::{is_whole, takes};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::read;
use oxiblosc_testing::workers::{Part, divided};
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// Seconds for all reads of one case.
const PATIENCE: u32 = 100;
const DIED: &str = "died";

/// A call that reads, and what it tells.
pub struct Read {
    pub name: &'static str,
    pub tell: fn(&Desk) -> String,
}

const fn read_of(name: &'static str, tell: fn(&Desk) -> String) -> Read {
    Read { name, tell }
}

/// What the call is made with.
pub struct Desk {
    pub library: Library,
    pub schunk: Schunk,
    /// An array of another handle.
    pub array: Array,
    pub folder: PathBuf,
    /// As many chunks as the frame had, and items. The calls ask for what was there.
    pub chunks: i64,
}

impl Desk {
    /// Two handles of the frame `name`, which has so many chunks.
    pub fn open(
        library: Library,
        storage: Storage,
        folder: &Path,
        name: &str,
        chunks: i64,
    ) -> Self {
        let open = || storage.open(library, folder, name).expect("opens");
        // SAFETY: both are of one library.
        let adopted = unsafe { library.arrays.adopt(open().into_raw()) };
        Self {
            library,
            schunk: open(),
            array: adopted.expect("an array"),
            folder: folder.to_owned(),
            chunks,
        }
    }

    fn s(&self) -> &Schunk {
        &self.schunk
    }

    fn items(&self) -> i64 {
        100 * self.chunks
    }

    /// What is in a frame that was written elsewhere.
    fn state(&self, frame: &[u8]) -> String {
        match self.library.schunks.open_buffer(frame, true) {
            Some(s) => state(&s),
            None => "no frame".into(),
        }
    }

    fn file(&self, path: &Path, at: i64) -> String {
        match self.library.schunks.open_at(path, at) {
            Some(s) => state(&s),
            None => "no frame".into(),
        }
    }
}

fn state(s: &Schunk) -> String {
    format!("{:?}", read(s))
}

/// A code, and where it is none for an error, what was filled in.
fn reported(rc: i64, bytes: impl std::fmt::Debug) -> String {
    match rc {
        0.. => format!("{bytes:?}"),
        rc => error(rc),
    }
}

fn error(rc: i64) -> String {
    format!("error {rc}")
}

fn array<T: std::fmt::Debug>(result: Result<T, i32>) -> String {
    result.map_or_else(|rc| error(rc.into()), |value| format!("{value:?}"))
}

pub const READS: [Read; 35] = [
    read_of("nothing", |d| format!("{:?}", d.s().get().nchunks)),
    read_of("metalayers", |d| format!("{:?}", d.s().metalayers())),
    read_of("vlmeta_exists", |d| d.s().vlmeta_exists(NAME).to_string()),
    read_of("vlmeta_get", |d| {
        let (rc, content) = d.s().vlmeta_get(NAME);
        reported(rc, content)
    }),
    read_of("vlmeta_names", |d| {
        let (rc, names) = d.s().vlmeta_names();
        reported(rc, names)
    }),
    read_of("cparams", |d| format!("{:?}", d.s().cparams().0)),
    read_of("dparams", |d| format!("{:?}", d.s().dparams_nthreads())),
    read_of("frame_len", |d| d.s().frame_len().to_string()),
    read_of("offsets", |d| match d.s().offsets() {
        Some(offsets) => format!("{offsets:?}"),
        None => error(-1),
    }),
    read_of("slice_nchunks", |d| {
        let (rc, chunks) = d.s().slice_nchunks(0, 150.min(d.items()));
        reported(rc, chunks)
    }),
    read_of("the first chunk", |d| chunk(d, 0)),
    read_of("the second chunk", |d| chunk(d, 1)),
    read_of("the last chunk", |d| chunk(d, d.chunks - 1)),
    read_of("get_chunk", |d| {
        let given = d.s().get_chunk(0);
        reported(given.rc, given.bytes)
    }),
    read_of("get_chunk, the last", |d| {
        let given = d.s().get_chunk(d.chunks - 1);
        reported(given.rc, given.bytes)
    }),
    read_of("get_lazychunk", |d| {
        let given = d.s().get_lazychunk(0);
        let mut items = [0; 400];
        // Where it lies may be another place.
        match given.rc {
            0.. => reported(d.s().decompress_given(&given.bytes, &mut items), items),
            rc => error(rc),
        }
    }),
    read_of("get_slice", |d| slice(d, 0, d.items())),
    read_of("get_slice of one chunk", |d| {
        slice(d, 20.min(d.items()), 60.min(d.items()))
    }),
    read_of("get_sparse", |d| {
        let coords: Vec<i64> = (0..d.items()).step_by(70).collect();
        let mut items = vec![0; 4 * coords.len()];
        reported(d.s().get_sparse(&coords, &mut items), &items)
    }),
    read_of("to_buffer", |d| match d.s().to_buffer() {
        (0.., frame) => d.state(&frame),
        (rc, _) => error(rc),
    }),
    read_of("to_file", |d| {
        let path = d.folder.join("copy");
        let _ = fs::remove_file(&path);
        match d.s().to_file(&path) {
            0.. => d.file(&path, 0),
            rc => error(rc),
        }
    }),
    read_of("append_file", |d| {
        let path = d.folder.join("copies");
        let _ = fs::remove_file(&path);
        match d.s().append_file(&path) {
            at @ 0.. => d.file(&path, if at > 0 { 0 } else { at }),
            rc => error(rc),
        }
    }),
    read_of("copy", |d| match d.s().copy(true, None, None) {
        Some(copy) => state(&copy),
        None => error(-1),
    }),
    read_of("copy to chunks", |d| match d.s().copy(false, None, None) {
        Some(copy) => state(&copy),
        None => error(-1),
    }),
    read_of("refresh", |d| {
        let rc = d.s().refresh();
        format!("{} {}", rc.min(0), d.s().get().nchunks)
    }),
    read_of("lock", |d| {
        let locked = d.s().lock();
        format!("{locked} {}", d.s().unlock())
    }),
    read_of("shape", |d| format!("{:?}", d.array.shape())),
    read_of("items of an array", |d| {
        let (to, mut items) = (d.items(), vec![0; 4 * d.items() as usize]);
        reported(d.array.get(&[0], &[to], &[to], &mut items).into(), items)
    }),
    read_of("slice of an array", |d| {
        let (to, mut items) = (d.items().min(30), vec![0; 4 * 30]);
        reported(d.array.get(&[0], &[to], &[to], &mut items).into(), items)
    }),
    read_of("picked items of an array", |d| {
        let coords: Vec<i64> = (0..d.items()).step_by(90).collect();
        let mut items = vec![0; 4 * coords.len()];
        reported(d.array.get_picked(&[coords], &mut items).into(), items)
    }),
    read_of("single items of an array", |d| {
        let coords: Vec<i64> = (0..d.items()).step_by(90).collect();
        let mut items = vec![0; 4 * coords.len()];
        reported(d.array.get_sparse(&coords, &mut items).into(), items)
    }),
    read_of("array as a frame", |d| match d.array.to_frame() {
        Ok(frame) => d.state(&frame),
        Err(rc) => error(rc.into()),
    }),
    read_of("copy of an array", |d| {
        let copy = d.array.copy(&Spec::of_int32(d.items()));
        array(copy.and_then(|copy| copy.to_buffer()))
    }),
    read_of("slice as an array", |d| {
        let to = d.items().min(150);
        let part = d.array.slice(&Spec::of_int32(to), &[0], &[to]);
        array(part.and_then(|part| part.to_buffer()))
    }),
    read_of("refresh of an array", |d| {
        let rc = d.array.refresh();
        format!("{} {:?}", rc.min(0), d.array.shape())
    }),
];

fn chunk(d: &Desk, nchunk: i64) -> String {
    let mut items = vec![0; 400];
    reported(d.s().decompress_chunk(nchunk, &mut items), items)
}

fn slice(d: &Desk, from: i64, to: i64) -> String {
    let mut items = vec![0; 4 * (to - from) as usize];
    reported(d.s().get_slice(from, to, &mut items), items)
}

/// What one library tells of a frame: each read twice, with a handle that was opened before the
/// loss, and that has read before it or not.
#[derive(Clone, Copy)]
struct Case {
    storage: Storage,
    chunks: i64,
    loss: Option<Loss>,
    /// Whether the handle is one of the other frame.
    other: bool,
    primed: bool,
}

impl Case {
    /// Makes one read. None if there is no such loss.
    fn read(
        self,
        library: Library,
        folder: &Path,
        created: &Path,
        read: &Read,
    ) -> Option<[String; 2]> {
        let _ = fs::remove_dir_all(folder);
        copy_all(created, folder);
        let name = if self.other { "other" } else { "frame" };
        let desk = Desk::open(library, self.storage, folder, name, self.chunks);
        if self.primed {
            let _ = chunk(&desk, 0);
            let _ = desk.array.to_buffer();
        }
        if let Some(loss) = self.loss
            && !self
                .storage
                .lose(loss, &folder.join("frame"), &folder.join("other"))
        {
            return None;
        }
        let reported = [(read.tell)(&desk), (read.tell)(&desk)];
        // What freeing does is told elsewhere.
        std::mem::forget(desk);
        Some(reported)
    }

    /// All reads, in processes that may die.
    fn tell(self, library: Library, own: &Path, created: &Path) -> Vec<[String; 2]> {
        let (log, folder) = (own.join("log"), own.join("work"));
        let mut reported: Vec<[String; 2]> = Vec::new();
        while reported.len() < READS.len() {
            fs::write(&log, "").expect("a log");
            let first = reported.len();
            let child = start(PATIENCE, || {
                // A process keeps few files open, and here no handle is freed.
                // SAFETY: C strings, and this process has one thread.
                unsafe { libc::setenv(c"BLOSC_MAX_CACHED_READERS".as_ptr(), c"500".as_ptr(), 1) };
                let file = OpenOptions::new().append(true).open(&log);
                let mut file = file.map_err(|error| error.to_string())?;
                for read in &READS[first..] {
                    let Some([one, two]) = self.read(library, &folder, created, read) else {
                        return Ok(());
                    };
                    writeln!(file, "{one}|{two}").map_err(|error| error.to_string())?;
                }
                Ok(())
            });
            let ended = child.join();
            let lines = fs::read_to_string(&log).expect("a log");
            let pair = |line: &str| {
                let (one, two) = line.split_once('|').unwrap_or((line, ""));
                [one.to_owned(), two.to_owned()]
            };
            reported.extend(lines.lines().map(pair));
            match ended {
                Ok(()) if reported.is_empty() => return reported,
                Ok(()) => {}
                Err(how) if how.contains("signal 14") => {
                    reported.push(["hangs", "hangs"].map(str::to_owned))
                }
                Err(_) => reported.push([DIED, DIED].map(str::to_owned)),
            }
        }
        reported
    }
}

pub fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a folder");
    for entry in fs::read_dir(from).expect("a folder") {
        let entry = entry.expect("an entry");
        let to = to.join(entry.file_name());
        match entry.path().is_dir() {
            true => copy_all(&entry.path(), &to),
            false => _ = fs::copy(entry.path(), to).expect("copies"),
        }
    }
}

fn is_error(reported: &str) -> bool {
    reported.starts_with("error") || reported == "no frame"
}

/// Whether what is told is what the reference tells, or better: what was there before, or is there
/// now, or, where the reference dies or tells what never was, an error. Errors are alike: the
/// reference's codes for bytes that are no chunk depend on these. Where the loss `leaves_all`, the
/// reference, which opens the file for each read, may tell an error, and this library may not.
fn is_fine(ours: &str, reference: &str, [before, now]: [&str; 2], leaves_all: bool) -> bool {
    let is_true = |reported: &str| reported == before || reported == now;
    if leaves_all {
        return is_true(ours);
    }
    let astray = reference == DIED || (!is_error(reference) && !is_true(reference));
    ours == reference || is_true(ours) || (is_error(ours) && (astray || is_error(reference)))
}

fn sweep(ours: Library, reference: Library, part: Part, own: &Path) -> Report {
    let mut report = Report::default();
    let mut number = 0;
    for storage in STORAGES {
        for chunks in [0, 3] {
            let created = own.join(format!("made-{storage:?}-{chunks}"));
            fs::create_dir_all(&created).expect("a folder");
            storage.make(reference, &created, "frame", chunks);
            storage.make(reference, &created, "other", chunks + 1);
            let case = |loss, other, primed| Case {
                storage,
                chunks,
                loss,
                other,
                primed,
            };
            let before = case(None, false, false).tell(reference, own, &created);
            let now = case(None, true, false).tell(reference, own, &created);
            for (loss, primed) in LOSSES
                .into_iter()
                .flat_map(|loss| [(loss, false), (loss, true)])
            {
                number += 1;
                // What a private map shows of a file that is written meanwhile the system does not
                // define.
                let undefined =
                    storage == Storage::MapToCopy && loss == Loss::Overwritten(With::Frame);
                if !part.has(number) || undefined || !takes("OXIBLOSC_FAULTS", number, 2) {
                    continue;
                }
                let case = case(Some(loss), false, primed);
                let (mine, theirs) = (
                    case.tell(ours, own, &created),
                    case.tell(reference, own, &created),
                );
                for (at, (mine, theirs)) in mine.iter().zip(&theirs).enumerate() {
                    report.case();
                    for nth in 0..2 {
                        let (mine, theirs) = (&mine[nth], &theirs[nth]);
                        let there = [&*before[at][nth], &*now[at][nth]];
                        let fine = is_fine(mine, theirs, there, loss.leaves_all());
                        report.check(fine, READS[at].name, || {
                            format!("{storage:?}, {chunks} chunks, {loss:?}, primed {primed}, read {nth}: {mine:.150} for {theirs:.150}")
                        });
                    }
                }
            }
        }
    }
    report
}

#[test]
fn every_read_of_a_file_that_is_lost() {
    oxiblosc_testing::own_process!();
    let (ours, Some(reference)) = (Library::ours(), Library::reference()) else {
        return;
    };
    let folder = Folder(without_syncs().join(format!("oxiblosc-reads-{}", std::process::id())));
    fs::create_dir_all(&folder.0).expect("a folder");
    let report = divided(600, &folder.0, |part, own| {
        sweep(ours, reference, part, own)
    });
    let least = if is_whole("OXIBLOSC_FAULTS") {
        5_000
    } else {
        2_500
    };
    assert!(report.cases > least, "{} cases", report.cases);
    report.finish("reads of lost files");
}
