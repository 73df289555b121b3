//! Several handles of one file: their changes wait for each other, and are made in the file to
//! which the path leads.

use super::*;
use oxiblosc_io::readers::{READERS, WRITERS};
use std::io::Write;
use std::time::{Duration, Instant};

/// Creates a frame with one chunk. Returns its content.
fn frame(path: &Path, kind: FrameKind) -> Model {
    let mut model = Model::default();
    let (mut disk, _) = Disk::create(plain(), &c_path(path), &header(&model, kind)).unwrap();
    append(&mut disk, &mut model, kind).unwrap();
    model
}

fn open(path: &Path, kind: FrameKind) -> Disk {
    Disk::open(plain(), &c_path(path), 0, kind).unwrap().0
}

/// Appends a chunk as the core does it: locks the frame and reads it again first.
fn append(disk: &mut Disk, model: &mut Model, kind: FrameKind) -> Result<()> {
    disk.lock()?;
    let appended = append_locked(disk, model, kind);
    disk.unlock();
    appended
}

fn append_locked(disk: &mut Disk, model: &mut Model, kind: FrameKind) -> Result<()> {
    refresh(disk, model)?;
    append_known(disk, model, kind)
}

fn refresh(disk: &mut Disk, model: &mut Model) -> Result<()> {
    if let Some(loaded) = disk.refresh()? {
        *model = whole(disk, loaded)?;
    }
    Ok(())
}

fn append_known(disk: &mut Disk, model: &mut Model, kind: FrameKind) -> Result<()> {
    append_chunk(disk, model, kind, 2000)
}

fn append_chunk(disk: &mut Disk, model: &mut Model, kind: FrameKind, len: usize) -> Result<()> {
    let step = Step::Append(Ok(chunk(len, model.chunks.len() as u8)));
    let mut after = model.clone();
    step.apply(&mut after);
    disk.commit(&step.change(&step.items()), &[], step.next(&after, kind))?;
    *model = after;
    Ok(())
}

fn count(path: &Path, kind: FrameKind) -> usize {
    let (mut disk, loaded) = Disk::open(plain(), &c_path(path), 0, kind).unwrap();
    whole(&mut disk, loaded).unwrap().chunks.len()
}

const KINDS: [FrameKind; 2] = [FrameKind::Contiguous, FrameKind::Sparse];

#[test]
fn a_change_that_takes_long_is_waited_for() {
    let folder = Folder::new("long");
    let work = KINDS.map(|kind| {
        let path = folder.0.join(format!("{kind:?}"));
        std::thread::spawn(move || {
            let mut model = frame(&path, kind);
            let mut one = open(&path, kind);
            one.lock().unwrap();
            refresh(&mut one, &mut model).unwrap();
            let beside = std::thread::spawn({
                let (path, mut model) = (path.clone(), model.clone());
                move || append(&mut open(&path, kind), &mut model, kind)
            });
            // This is longer than the wait for another program's lock.
            std::thread::sleep(Duration::from_millis(2400));
            append_known(&mut one, &mut model, kind).unwrap();
            one.unlock();
            beside.join().unwrap().unwrap();
            assert_eq!(count(&path, kind), 3);
        })
    });
    for work in work {
        work.join().unwrap();
    }
}

/// To close a handle means to make its frame compact, for which the frame is read again. The handle
/// can be used after that, and shows what was read.
#[test]
fn a_handle_that_was_closed_follows_another() {
    let folder = Folder::new("closed");
    for kind in KINDS {
        let path = folder.0.join(format!("{kind:?}"));
        let mut model = frame(&path, kind);
        let mut one = open(&path, kind);
        for _ in 0..4 {
            append_chunk(&mut one, &mut model, kind, 400_000).unwrap();
        }
        let mut changed = model.clone();
        append(&mut open(&path, kind), &mut changed, kind).unwrap();
        one.close().unwrap();
        refresh(&mut one, &mut model).unwrap();
        assert!(model == changed, "{kind:?}");
        append(&mut one, &mut model, kind).unwrap();
        drop(one);
        assert_eq!(count(&path, kind), 7, "{kind:?}");
    }
}

/// A writer dies, and another handle rolls back its change and makes one of its own. A handle that
/// has read the dead writer's record must not take the new bytes for leftovers.
#[test]
fn a_record_that_is_gone_is_not_taken_back() {
    let folder = Folder::new("gone");
    for kind in KINDS {
        for point in 0.. {
            let path = folder.0.join(format!("{kind:?} {point}"));
            let mut model = frame(&path, kind);
            let mut one = open(&path, kind);
            let left = Arc::new(AtomicI64::new(i64::MAX));
            let dying = unlucky(&left, Fate::Dies);
            let (mut dying, _) = Disk::open(dying, &c_path(&path), 0, kind).unwrap();
            left.store(point, Ordering::Relaxed);
            if append(&mut dying, &mut model.clone(), kind).is_ok() {
                assert!(point > 2, "{kind:?}");
                break;
            }
            drop(dying);
            one.lock().unwrap();
            // It can only read, as another handle holds the lock.
            let mut two = open(&path, kind);
            append_locked(&mut one, &mut model, kind).unwrap();
            one.unlock();
            two.roll_back_pending().unwrap();
            assert_eq!(count(&path, kind), 2, "{kind:?} {point}");
            append(&mut two, &mut model, kind).unwrap();
            assert_eq!(count(&path, kind), 3, "{kind:?} {point}");
        }
    }
}

/// Also if the modification time does not show them. The frame is a large one: a change appends to
/// it without truncating the file.
#[test]
fn what_is_left_behind_an_open_frame_is_cut_off() {
    let folder = Folder::new("cut");
    for kind in KINDS {
        let path = folder.0.join(format!("{kind:?}"));
        let mut model = frame(&path, kind);
        let mut disk = open(&path, kind);
        disk.lock().unwrap();
        refresh(&mut disk, &mut model).unwrap();
        append_chunk(&mut disk, &mut model, kind, 2 << 20).unwrap();
        disk.unlock();
        append(&mut disk, &mut model, kind).unwrap();
        let file = frame_file_of(&path, kind);
        let file = std::fs::File::options().append(true).open(file).unwrap();
        let before = file.metadata().unwrap();
        (&file).write_all(&[7; 5000]).unwrap();
        file.set_modified(before.modified().unwrap()).unwrap();
        append(&mut disk, &mut model, kind).unwrap();
        assert_eq!(file.metadata().unwrap().len(), disk.frame_len(), "{kind:?}");
        assert_eq!(count(&path, kind), 4);
    }
}

#[test]
fn a_thread_does_not_wait_for_itself() {
    let folder = Folder::new("itself");
    for kind in KINDS {
        let path = folder.0.join(format!("{kind:?}"));
        let mut model = frame(&path, kind);
        let (mut one, mut two) = (open(&path, kind), open(&path, kind));
        one.lock().unwrap();
        let since = Instant::now();
        assert_eq!(append(&mut two, &mut model, kind), Err(Error::LOCK));
        assert!(since.elapsed() < Duration::from_secs(1));
        one.unlock();
        append(&mut two, &mut model, kind).unwrap();
        append(&mut one, &mut model, kind).unwrap();
        assert_eq!(count(&path, kind), 3);
    }
}

#[test]
fn a_change_goes_into_the_file_that_the_path_names() {
    let folder = Folder::new("replaced");
    for keeps_files in [true, false] {
        let mut slots = Vec::new();
        while !keeps_files && let Some(slot) = READERS.take().or_else(|| WRITERS.take()) {
            slots.push(slot);
        }
        for kind in KINDS {
            let path = folder.0.join(format!("{kind:?} {keeps_files}"));
            let mut model = frame(&path, kind);
            let mut disk = open(&path, kind);
            let file = frame_file_of(&path, kind);
            let (other, before) = (folder.0.join("other"), folder.0.join("before"));
            append(&mut disk, &mut model, kind).unwrap();
            // A copy takes its place, in the first round before the file is opened for a change.
            for round in 0..3 {
                std::fs::copy(&file, &other).unwrap();
                std::fs::rename(&file, &before).unwrap();
                std::fs::rename(&other, &file).unwrap();
                append(&mut disk, &mut model, kind).unwrap();
                assert_eq!(count(&path, kind), 3 + round, "{kind:?} {keeps_files}");
            }
            let chunks = content(&mut disk).unwrap();
            assert_same(&chunks, &model.chunks, "what the handle reads");
        }
    }
}

#[test]
fn what_was_appended_to_a_file_is_not_overwritten_by_a_new_frame() {
    let folder = Folder::new("made");
    let path = folder.0.join("frame");
    for _ in 0..200 {
        remove(&path);
        let name = c_path(&path);
        let appended = std::thread::spawn({
            let name = name.clone();
            move || crate::container::append(&Filesystem, &name, &[7; 100], false)
        });
        let model = Model::default();
        let header = header(&model, FrameKind::Contiguous);
        let created = Disk::create(plain(), &name, &header).is_ok();
        let at = appended.join().unwrap().unwrap() as usize;
        let bytes = std::fs::read(&path).unwrap();
        assert_eq!(bytes[at..], [7; 100]);
        assert_eq!(created, at > 0);
    }
}
