//! Others use a frame while a change of it is written, or was left half written: readers, which
//! write nothing and see one state, and a second writer, which is refused as long as it cannot know
//! that the first one is gone. With the system's locks, and where there are none.

use super::*;
use std::collections::BTreeMap;
use std::sync::Mutex;

/// What is done before each call that changes a file.
type Visit = Box<dyn FnMut() + Send>;

/// Files with the system's locks (`LOCKED`) or none.
#[derive(Clone, Default)]
struct Visited<const LOCKED: bool> {
    visit: Arc<Mutex<Option<Visit>>>,
    /// How many more of these calls are made; negative when the process is dead.
    left: Arc<AtomicI64>,
}

impl<const LOCKED: bool> Hook for Visited<LOCKED> {
    const LOCKS: Locks = match LOCKED {
        true => Locks::System,
        false => Locks::Unavailable,
    };

    fn before(&self, call: Call, _: &dyn Storage) -> Result<()> {
        if matches!(call, Call::Size | Call::Read(_)) {
            return Ok(());
        }
        let visit = self.visit.lock().unwrap().take();
        if let Some(mut visit) = visit {
            visit();
            *self.visit.lock().unwrap() = Some(visit);
        }
        match self.left.fetch_sub(1, Ordering::Relaxed) > 0 {
            true => Ok(()),
            false => Err(Error::FILE_WRITE),
        }
    }
}

/// The bytes of all files of a frame.
fn bytes_of(path: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let entries: Vec<_> = match path.read_dir() {
        Ok(entries) => entries.map(|entry| entry.unwrap().path()).collect(),
        Err(_) => vec![path.to_owned()],
    };
    let read = |path: PathBuf| {
        let bytes = std::fs::read(&path).unwrap();
        (path, bytes)
    };
    entries.into_iter().map(read).collect()
}

/// The frame as another handle finds it, and what becomes of a change by it.
fn others<const LOCKED: bool>(path: &Path, kind: FrameKind) -> (Model, Result<()>) {
    let visited = Visited::<LOCKED>::default();
    visited.left.store(i64::MAX, Ordering::Relaxed);
    let bytes = bytes_of(path);
    let opened = Disk::open(options(Hooked(visited).shared()), &c_path(path), 0, kind);
    let (mut disk, loaded) = opened.expect("it opens");
    let found = whole(&mut disk, loaded).expect("it can be read");
    assert!(bytes_of(path) == bytes, "a reader has written");
    let mut after = found.clone();
    let changed = commit(&mut disk, &mut after, &Step::Append(Ok(chunk(77, 7))));
    drop(disk);
    assert_eq!(changed.is_err(), bytes_of(path) == bytes, "{changed:?}");
    (found, changed)
}

/// Makes a frame and a random change of it, of which `left` calls succeed. `visit` is called before
/// each. Returns the states before and after, and the result.
fn change<const LOCKED: bool>(
    (seed, kind): (u64, FrameKind),
    path: &Path,
    left: i64,
    visit: impl Fn(&Model, &Model) + Send + 'static,
) -> (Model, Model, Result<()>) {
    remove(path);
    let visited = Visited::<LOCKED>::default();
    visited.left.store(i64::MAX, Ordering::Relaxed);
    let backend = options(Hooked(visited.clone()).shared());
    let mut random = Random(seed + 1);
    let mut before = Model::default();
    let (mut disk, _) = Disk::create(backend, &c_path(path), &header(&before, kind)).unwrap();
    for _ in 0..1 + random.next(8) {
        let step = random_step(&mut random, &before);
        commit(&mut disk, &mut before, &step).unwrap();
    }
    let step = random_step(&mut random, &before);
    let mut after = before.clone();
    step.apply(&mut after);
    let (first, last) = (before.clone(), after.clone());
    *visited.visit.lock().unwrap() = Some(Box::new(move || visit(&first, &last)));
    visited.left.store(left, Ordering::Relaxed);
    let done = commit(&mut disk, &mut before.clone(), &step);
    *visited.visit.lock().unwrap() = None;
    match done {
        Ok(()) => drop(disk),
        // The process is dead: it neither undoes the change nor holds a lock.
        Err(_) => visited.left.store(i64::MIN, Ordering::Relaxed),
    }
    (before, after, done)
}

fn kinds() -> impl Iterator<Item = (u64, FrameKind)> {
    (0..40).map(|seed| {
        (
            seed,
            [FrameKind::Contiguous, FrameKind::Sparse][seed as usize % 2],
        )
    })
}

fn beside_a_living_writer<const LOCKED: bool>(name: &str) {
    let folder = Folder::new(name);
    let path = folder.0.join("frame");
    for case in kinds() {
        let at = path.clone();
        let look = move |before: &Model, after: &Model| {
            let (found, changed) = others::<LOCKED>(&at, case.1);
            assert!(found == *before || found == *after, "{case:?}");
            assert_eq!(changed, Err(Error::LOCK), "{case:?}");
        };
        let (_, after, done) = change::<LOCKED>(case, &path, i64::MAX, look);
        assert_eq!(done, Ok(()), "{case:?}");
        assert!(others::<LOCKED>(&path, case.1).0 == after, "{case:?}");
    }
}

#[test]
fn nothing_is_lost_beside_a_writer() {
    beside_a_living_writer::<true>("beside-locked");
}

#[test]
fn nothing_is_lost_beside_a_writer_without_locks() {
    beside_a_living_writer::<false>("beside-unlocked");
}

/// What a dead process has left: without locks it is read, and stays; with them the next change
/// undoes it, but not while another has one kind of lock. Not on Windows, where a lock keeps others
/// from reading.
#[cfg(unix)]
#[test]
fn what_a_dead_writer_has_left_is_undone_only_with_all_locks() {
    let folder = Folder::new("beside-dead");
    let path = folder.0.join("frame");
    let mut records = 0;
    for case in kinds() {
        for left in 0.. {
            let (before, after, done) = change::<false>(case, &path, left, |_, _| {});
            let (found, changed) = others::<false>(&path, case.1);
            assert!(found == before || found == after, "{case:?} {left}");
            assert_eq!(changed, Err(Error::LOCK), "{case:?} {left}");
            let stranger = std::fs::File::open(frame_file_of(&path, case.1)).unwrap();
            stranger.lock().unwrap();
            let beside = others::<true>(&path, case.1);
            assert!(beside.0 == found, "{case:?} {left}");
            drop(stranger);
            if beside.1.is_err() {
                records += 1;
                assert_eq!(beside.1, Err(Error::LOCK), "{case:?} {left}");
                assert_eq!(others::<true>(&path, case.1), (found, Ok(())));
            }
            if done.is_ok() {
                break;
            }
        }
    }
    assert!(records > 50, "{records}");
}
