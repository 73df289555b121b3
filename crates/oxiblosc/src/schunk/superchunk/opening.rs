//! Tests that open a frame, or read it again, while another handle changes it. The changes are made
//! before each of the calls that the opening makes to its files, and before each two of them. The
//! handle must show the frame before or after one of the changes, never a mixture.

mod interleaving;
mod scenarios;

use super::SuperChunk;
use crate::Result;
use crate::b2nd::array::{metalayer, read_metalayer};
use crate::schunk::open::Place;
use crate::schunk::rules::Counts;
use crate::schunk::store::ChunkStore;
use interleaving::{InterleavedFiles, Interleaving, Schedule};
use oxiblosc_frame::disk::Options;
use oxiblosc_io::shared;
use scenarios::{FrameChange, NBYTES, SCENARIOS, Scenario, ScenarioFrame};
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

/// The maximum number of calls between the first and the second change.
const MAX_DISTANCE: usize = 4;
/// The maximum number of changes of a frame. The two changes of a scenario alternate.
const MAX_CHANGES: usize = 4;
/// How many more calls are tested than an opening makes if nothing changes the frame: it makes more
/// if something does.
const MORE_CALLS: usize = 8;

/// What a handle shows of its frame.
#[derive(Clone, Debug, PartialEq)]
struct ShownState {
    counts: Counts,
    nchunks: usize,
    shape: Option<Vec<i64>>,
    names: Vec<Vec<u8>>,
}

/// The state that a handle shows, and the data of all chunks.
#[derive(Clone, Debug, PartialEq)]
struct FrameContent {
    seen: ShownState,
    chunks: Vec<Vec<u8>>,
}

/// The state that a C program sees. Changes by other handles are not looked for.
fn seen(schunk: &SuperChunk, is_array: bool) -> Result<ShownState> {
    let state = schunk.read_cached()?;
    let shape = |_| {
        let (meta, _) = read_metalayer(metalayer(state.metalayers())?, &state)?;
        Ok(meta.shape[..meta.ndim].to_vec())
    };
    Ok(ShownState {
        counts: state.counts(),
        nchunks: state.nchunks(),
        shape: is_array.then_some(()).map(shape).transpose()?,
        names: state
            .vlmetalayers()
            .iter()
            .map(|layer| layer.name.to_vec())
            .collect(),
    })
}

fn content(schunk: &SuperChunk, is_array: bool) -> Result<FrameContent> {
    schunk.refresh()?;
    let seen = seen(schunk, is_array)?;
    let chunk = |nchunk| {
        let mut data = vec![0; NBYTES];
        let len = schunk.decompress_chunk(nchunk, &mut data)?;
        data.truncate(len);
        Ok(data)
    };
    let chunks = (0..seen.nchunks).map(chunk).collect::<Result<_>>()?;
    Ok(FrameContent { seen, chunks })
}

/// How the frame is opened.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OpenedAs {
    File,
    LockedFile,
    Directory,
    LockedDirectory,
    /// A back end that can only read and write.
    BackEnd,
}

/// On Windows no directories are opened: in Wine 8 a removed file of a chunk keeps its name until
/// the opening has closed it.
const WAYS_TO_OPEN: &[OpenedAs] = if cfg!(windows) {
    &[OpenedAs::File, OpenedAs::LockedFile, OpenedAs::BackEnd]
} else {
    &[
        OpenedAs::File,
        OpenedAs::LockedFile,
        OpenedAs::Directory,
        OpenedAs::LockedDirectory,
        OpenedAs::BackEnd,
    ]
};

impl OpenedAs {
    fn is_directory(self) -> bool {
        matches!(self, Self::Directory | Self::LockedDirectory)
    }

    fn locks(self) -> bool {
        matches!(self, Self::LockedFile | Self::LockedDirectory)
    }

    fn place(self, path: &Path) -> Place<'_> {
        match self.is_directory() {
            true => Place::Directory(path),
            false => Place::File(path),
        }
    }

    fn lock_file(self, path: &Path) -> Option<PathBuf> {
        self.locks().then(|| match self.is_directory() {
            true => path.join(".b2lock"),
            false => path.with_extension("b2lock"),
        })
    }
}

pub(super) fn copy_all(from: &Path, to: &Path) {
    if from.is_file() {
        fs::copy(from, to).unwrap();
        return;
    }
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        copy_all(&entry.path(), &to.join(entry.file_name()));
    }
}

fn remove_all(path: &Path) {
    let _ = fs::remove_file(path);
    let _ = fs::remove_dir_all(path);
}

/// A scenario, and the files with which it is run.
struct ScenarioRun<'a> {
    scenario: &'a Scenario,
    through: OpenedAs,
    created: PathBuf,
    path: PathBuf,
    /// The frame before the changes, and after each of them.
    states: Vec<FrameContent>,
}

impl<'a> ScenarioRun<'a> {
    fn new(scenario: &'a Scenario, through: OpenedAs, folder: &Path) -> Self {
        let (created, path) = (folder.join("made"), folder.join("frame"));
        remove_all(&created);
        scenario.make(through.place(&created)).expect("a frame");
        remove_all(&path);
        copy_all(&created, &path);
        let is_array = scenario.is_array();
        let open = || ScenarioFrame::open(&path, is_array, false).expect("a frame");
        let look = || content(open().schunk(), is_array).expect("what is in it");
        let mut states = vec![look()];
        let changed = open();
        for nth in 0..MAX_CHANGES {
            if (scenario.changes[nth % 2])(&changed).is_err() {
                break;
            }
            states.push(look());
        }
        drop(changed);
        remove_all(&path);
        Self {
            scenario,
            through,
            created,
            path,
            states,
        }
    }

    /// Opens the frame, with changes before these calls. Gives the number of calls that the opening
    /// made. With `refreshes`, the calls are those of reading the frame again after the first
    /// change.
    fn open(&self, at: &[usize], refreshes: bool) -> std::result::Result<usize, String> {
        let path = &self.path;
        remove_all(path);
        copy_all(&self.created, path);
        let (ask, asked) = channel::<FrameChange>();
        let (tell, answers) = channel();
        let (is_array, locks) = (self.scenario.is_array(), self.through.locks());
        thread::scope(|scope| {
            scope.spawn(move || {
                let frame = ScenarioFrame::open(path, is_array, locks).expect("a frame");
                tell.send(Ok(())).expect("somebody listens");
                for change in asked {
                    tell.send(change(&frame)).expect("somebody listens");
                }
            });
            answers.recv().expect("a thread").expect("a frame");
            let schedule = Schedule {
                at: if refreshes { Vec::new() } else { at.to_vec() },
                calls: 0,
                asked: 0,
                done: 0,
                ask,
                answers,
                changes: self.scenario.changes,
            };
            let interleaving = Interleaving {
                lock_file: self.through.lock_file(path),
                is_locked: AtomicBool::new(false),
                schedule: Mutex::new(schedule),
            };
            let refreshes = refreshes.then_some(at);
            self.run(Arc::new(interleaving), refreshes)
        })
    }

    fn run(
        &self,
        interleaving: Arc<Interleaving>,
        refreshes: Option<&[usize]>,
    ) -> std::result::Result<usize, String> {
        let is_array = self.scenario.is_array();
        let files = InterleavedFiles {
            interleaving: interleaving.clone(),
            is_filesystem: self.through != OpenedAs::BackEnd,
        };
        let options = || {
            Ok(Options {
                backend: shared(files)?,
                locking: self.through.locks(),
                durable: false,
            })
        };
        let name = CString::new(self.path.to_str().expect("a text")).expect("no zero inside");
        let opened = ChunkStore::open(&name, 0, options)
            .and_then(|(store, loaded)| SuperChunk::of_loaded(store, loaded, 1));
        let shown = opened.and_then(|opened| {
            if let Some(at) = refreshes {
                interleaving
                    .schedule
                    .lock()
                    .unwrap()
                    .begin_with_a_change(at);
                opened.refresh()?;
            }
            Ok((seen(&opened, is_array)?, opened))
        });
        let (calls, asked) = {
            let mut schedule = interleaving.schedule.lock().unwrap();
            schedule.wait();
            schedule.at.clear();
            (schedule.calls, schedule.asked)
        };
        let (shown, opened) = shown.map_err(|error| format!("{error:?}"))?;
        let first = usize::from(refreshes.is_some());
        let states = &self.states[first..=asked];
        if states.iter().all(|state| state.seen != shown) {
            return Err(format!("{shown:?}"));
        }
        // Through such a back end the handle sees only the header, which may be the same as before
        // the changes.
        if self.through == OpenedAs::BackEnd && asked > 1 {
            return Ok(calls);
        }
        let now = content(&opened, is_array).map_err(|error| format!("{error:?} later"))?;
        match now == self.states[asked] {
            true => Ok(calls),
            false => Err(format!("later {:?}", now.seen)),
        }
    }
}

/// The folder for the frames of a test, in memory if possible, where syncs take no time.
pub(super) fn folder(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let all = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    all.join(format!("oxiblosc-{name}-{}", std::process::id()))
}

/// Runs scenarios with all ways of opening. `before` gives, for a number of calls, the calls before
/// which the changes are made.
fn sweep(
    name: &str,
    scenarios: &[Scenario],
    refreshes: bool,
    before: fn(usize) -> Vec<Vec<usize>>,
) {
    let folder = folder(name);
    fs::create_dir_all(&folder).unwrap();
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (scenario, through) in scenarios
        .iter()
        .flat_map(|scenario| WAYS_TO_OPEN.iter().map(move |&through| (scenario, through)))
    {
        let run = ScenarioRun::new(scenario, through, &folder);
        let calls = run.open(&[], refreshes).expect("a quiet frame");
        assert!(calls > 5, "{calls} calls");
        for at in before(calls + MORE_CALLS) {
            cases += 1;
            if let Err(error) = run.open(&at, refreshes) {
                wrong.push(format!("{}, {through:?}, {at:?}: {error}", scenario.name));
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    println!("{cases} cases");
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{} wrong: {shown:#?}", wrong.len());
}

/// Another handle changes the frame back and forth, so that chunks that are read late fit the
/// header that was read early.
#[test]
fn an_opening_beside_many_changes() {
    sweep("many", &SCENARIOS[1..3], false, |calls| {
        let gaps = (1..3).flat_map(|a| (8..12).flat_map(move |b| (1..3).map(move |c| [a, b, c])));
        let after = |first: usize, [a, b, c]: [usize; 3]| {
            vec![first, first + a, first + a + b, first + a + b + c]
        };
        let starts = 10..calls - MORE_CALLS;
        starts
            .flat_map(|first| gaps.clone().map(move |gap| after(first, gap)))
            .collect()
    });
}

#[test]
fn an_opening_gives_the_frame_before_or_after_each_change() {
    sweep("opening", &SCENARIOS, false, |calls| {
        let singles = (0..calls).map(|first| vec![first]);
        let pairs = (0..calls).flat_map(|first| {
            let second = first + 1..first + MAX_DISTANCE;
            second.map(move |second| vec![first, second])
        });
        singles.chain(pairs).collect()
    });
}

#[test]
fn a_frame_that_is_read_again_is_that_before_or_after_each_change() {
    sweep("again", &SCENARIOS, true, |calls| {
        (0..calls).map(|call| vec![call]).collect()
    });
}
