//! Openings while another handle changes the frame, before any of the calls that an opening makes to its files, and before any two of
//! them; and frames that are read again after a change, while another one is made. What a handle shows is the frame as it was before one of
//! the changes or after it, never a mixture.

mod meeting;
mod scenes;

use super::SuperChunk;
use crate::Result;
use crate::b2nd::array::{metalayer, read_metalayer};
use crate::schunk::open::Place;
use crate::schunk::rules::Counts;
use crate::schunk::store::ChunkStore;
use meeting::{Line, Meeting, Watched};
use oxiblosc_frame::disk::Options;
use oxiblosc_io::shared;
use scenes::{NBYTES, SCENES, Scene, SceneChange, SceneFrame};
use std::ffi::CString;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::thread;

/// How many calls behind the first change the second one is made, at most.
const APART: usize = 4;
/// How often a frame is changed, at most: the two changes of a scene in turns.
const MOST: usize = 4;
/// So many calls more than an opening of a quiet frame makes are looked at: it looks again where the frame has changed.
const MORE: usize = 8;

/// What a handle shows of its frame.
#[derive(Clone, Debug, PartialEq)]
struct ShownState {
    counts: Counts,
    nchunks: usize,
    shape: Option<Vec<i64>>,
    names: Vec<Vec<u8>>,
}

/// All of it, and the data.
#[derive(Clone, Debug, PartialEq)]
struct FrameContent {
    seen: ShownState,
    chunks: Vec<Vec<u8>>,
}

/// As C shows it, without looking for changes.
fn seen(schunk: &SuperChunk, is_array: bool) -> Result<ShownState> {
    let state = schunk.read_known()?;
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

/// How the opening sees the frame.
#[derive(Clone, Copy, Debug, PartialEq)]
enum OpenedAs {
    File,
    LockedFile,
    Directory,
    LockedDirectory,
    /// A back end of which nothing is known but that it reads and writes.
    BackEnd,
}

/// Not directories on Windows: wine 8 keeps the name of a chunk's file that was removed until the opening has closed it.
const WAYS: &[OpenedAs] = if cfg!(windows) {
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

fn copy_all(from: &Path, to: &Path) {
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

/// A scene on a disk.
struct Rehearsal<'a> {
    scene: &'a Scene,
    through: OpenedAs,
    made: PathBuf,
    path: PathBuf,
    /// The frame before the changes, and after each of them.
    states: Vec<FrameContent>,
}

impl<'a> Rehearsal<'a> {
    fn new(scene: &'a Scene, through: OpenedAs, folder: &Path) -> Self {
        let (made, path) = (folder.join("made"), folder.join("frame"));
        remove_all(&made);
        scene.make(through.place(&made)).expect("a frame");
        remove_all(&path);
        copy_all(&made, &path);
        let is_array = scene.is_array();
        let open = || SceneFrame::open(&path, is_array, false).expect("a frame");
        let look = || content(open().schunk(), is_array).expect("what is in it");
        let mut states = vec![look()];
        let changed = open();
        for nth in 0..MOST {
            if (scene.changes[nth % 2])(&changed).is_err() {
                break;
            }
            states.push(look());
        }
        drop(changed);
        remove_all(&path);
        Self {
            scene,
            through,
            made,
            path,
            states,
        }
    }

    /// Opens the frame, with changes before these calls. Gives how many calls that were. If it `refreshes`, the calls are those of reading
    /// the frame again after the first change.
    fn open(&self, at: &[usize], refreshes: bool) -> std::result::Result<usize, String> {
        let path = &self.path;
        remove_all(path);
        copy_all(&self.made, path);
        let (ask, asked) = channel::<SceneChange>();
        let (tell, answers) = channel();
        let (is_array, locks) = (self.scene.is_array(), self.through.locks());
        thread::scope(|scope| {
            scope.spawn(move || {
                let frame = SceneFrame::open(path, is_array, locks).expect("a frame");
                tell.send(Ok(())).expect("somebody listens");
                for change in asked {
                    tell.send(change(&frame)).expect("somebody listens");
                }
            });
            answers.recv().expect("a thread").expect("a frame");
            let line = Line {
                at: if refreshes { Vec::new() } else { at.to_vec() },
                calls: 0,
                asked: 0,
                made: 0,
                ask,
                answers,
                changes: self.scene.changes,
            };
            let meeting = Meeting {
                lock_file: self.through.lock_file(path),
                is_locked: AtomicBool::new(false),
                line: Mutex::new(line),
            };
            let refreshes = refreshes.then_some(at);
            self.meet(Arc::new(meeting), refreshes)
        })
    }

    fn meet(
        &self,
        meeting: Arc<Meeting>,
        refreshes: Option<&[usize]>,
    ) -> std::result::Result<usize, String> {
        let is_array = self.scene.is_array();
        let watched = Watched {
            meeting: meeting.clone(),
            is_filesystem: self.through != OpenedAs::BackEnd,
        };
        let options = || {
            Ok(Options {
                backend: shared(watched)?,
                locking: self.through.locks(),
                durable: false,
            })
        };
        let name = CString::new(self.path.to_str().expect("a text")).expect("no zero inside");
        let opened = ChunkStore::open(&name, 0, options)
            .and_then(|(store, loaded)| SuperChunk::of_loaded(store, loaded, 1));
        let shown = opened.and_then(|opened| {
            if let Some(at) = refreshes {
                meeting.line.lock().unwrap().begin_with_a_change(at);
                opened.refresh()?;
            }
            Ok((seen(&opened, is_array)?, opened))
        });
        let (calls, asked) = {
            let mut line = meeting.line.lock().unwrap();
            line.wait();
            line.at.clear();
            (line.calls, line.asked)
        };
        let (shown, opened) = shown.map_err(|error| format!("{error:?}"))?;
        let first = usize::from(refreshes.is_some());
        let states = &self.states[first..=asked];
        if states.iter().all(|state| state.seen != shown) {
            return Err(format!("{shown:?}"));
        }
        // Such a back end tells nothing but the header, which may be what it was.
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

/// Where this test puts its frames: syncs are none of its concern.
fn folder(name: &str) -> PathBuf {
    let memory = PathBuf::from("/dev/shm");
    let all = if memory.is_dir() {
        memory
    } else {
        std::env::temp_dir()
    };
    all.join(format!("oxiblosc-{name}-{}", std::process::id()))
}

/// Scenes in all ways, with changes `before` which calls of so many.
fn sweep(name: &str, scenes: &[Scene], refreshes: bool, before: fn(usize) -> Vec<Vec<usize>>) {
    let folder = folder(name);
    fs::create_dir_all(&folder).unwrap();
    let mut wrong = Vec::new();
    let mut cases = 0;
    for (scene, through) in scenes
        .iter()
        .flat_map(|scene| WAYS.iter().map(move |&through| (scene, through)))
    {
        let stage = Rehearsal::new(scene, through, &folder);
        let calls = stage.open(&[], refreshes).expect("a quiet frame");
        assert!(calls > 5, "{calls} calls");
        for at in before(calls + MORE) {
            cases += 1;
            if let Err(error) = stage.open(&at, refreshes) {
                wrong.push(format!("{}, {through:?}, {at:?}: {error}", scene.name));
            }
        }
    }
    fs::remove_dir_all(&folder).unwrap();
    println!("{cases} cases");
    let shown = wrong.iter().take(20).cloned().collect::<Vec<_>>();
    assert!(wrong.is_empty(), "{} wrong: {shown:#?}", wrong.len());
}

/// Another handle changes the frame back and forth, so that all its chunks seem to fit however late they are looked at.
#[test]
fn an_opening_beside_many_changes() {
    sweep("many", &SCENES[1..3], false, |calls| {
        let gaps = (1..3).flat_map(|a| (8..12).flat_map(move |b| (1..3).map(move |c| [a, b, c])));
        let after = |first: usize, [a, b, c]: [usize; 3]| {
            vec![first, first + a, first + a + b, first + a + b + c]
        };
        let starts = 10..calls - MORE;
        starts
            .flat_map(|first| gaps.clone().map(move |gap| after(first, gap)))
            .collect()
    });
}

#[test]
fn an_opening_gives_the_frame_before_or_after_each_change() {
    sweep("opening", &SCENES, false, |calls| {
        let singles = (0..calls).map(|first| vec![first]);
        let pairs = (0..calls).flat_map(|first| {
            let second = first + 1..first + APART;
            second.map(move |second| vec![first, second])
        });
        singles.chain(pairs).collect()
    });
}

#[test]
fn a_frame_that_is_read_again_is_that_before_or_after_each_change() {
    sweep("again", &SCENES, true, |calls| {
        (0..calls).map(|call| vec![call]).collect()
    });
}
