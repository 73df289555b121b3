//! Chunks and metalayers that contain bytes of frames and of records. A process that dies leaves
//! such bytes behind a frame.

use super::*;
use crate::container;
use crate::journal::Overlay;
use crate::leftovers::has_magic;

/// The bytes of a frame with a chunk that stores these bytes.
fn frame(stored: &[u8]) -> Vec<u8> {
    let mut model = Model::default();
    let mut inner = chunk(stored.len(), 0);
    inner[32..].copy_from_slice(stored);
    let step = Step::Append(Ok(inner));
    step.apply(&mut model);
    let mut memory = Memory::new(&header(&model, FrameKind::Contiguous)).unwrap();
    let next = step.next(&model, FrameKind::Contiguous);
    memory
        .commit(&step.change(&step.items()), &[], next.header, next.trailer)
        .unwrap();
    memory.whole().unwrap().to_vec()
}

/// `len` bytes that contain frames and the first bytes of records, with a frame at `at`.
fn nested(len: usize, at: usize) -> Vec<u8> {
    let frame = frame(&[7; 20]);
    let mut bytes = Vec::new();
    while bytes.len() < len {
        bytes.extend(&frame);
        bytes.extend(b"oxb2jnl\x02 and b2framE\0 and so on");
        bytes.extend(vec![bytes.len() as u8; bytes.len() % 1000]);
    }
    bytes.truncate(len);
    if let Some(position) = bytes.get_mut(at..at + frame.len()) {
        position.copy_from_slice(&frame);
    }
    bytes
}

/// A chunk of [`nested`] bytes, with a frame at `at` from its start.
fn nesting(len: usize, at: usize) -> Vec<u8> {
    let mut bytes = chunk(len, 0);
    bytes[32..].copy_from_slice(&nested(len, at.saturating_sub(32)));
    bytes
}

/// Creates a frame whose chunks and metalayer contain other frames; one chunk stores `len` bytes.
fn created(path: &Path, kind: FrameKind, len: usize) -> (Disk, Model) {
    remove(path);
    let name = c_path(path);
    let mut model = Model::default();
    let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind)).unwrap();
    let steps = [
        Step::Append(Ok(nesting(3000, 0))),
        Step::Append(Ok(nesting(len, 0))),
        Step::VlMeta(Metalayer {
            name: b"vlmeta".to_vec().into(),
            content: nested(600, 0).into(),
        }),
        Step::Append(Ok(nesting(5000, 0))),
    ];
    for step in steps {
        commit(&mut disk, &mut model, &step).unwrap();
    }
    drop(disk);
    (Disk::open(plain(), &name, 0, kind).unwrap().0, model)
}

/// Replaces a frame by a copy of another.
fn copy(from: &Path, to: &Path) {
    remove(to);
    if from.is_file() {
        std::fs::copy(from, to).unwrap();
        return;
    }
    std::fs::create_dir(to).unwrap();
    for entry in from.read_dir().unwrap().flatten() {
        std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// Changes after which nested frames lie behind the old end, one of them exactly there, or in the
/// record.
fn steps(disk: &mut Disk) -> Vec<Step> {
    let before = disk.header_len() + disk.cbytes();
    let at = disk.frame_len().saturating_sub(before) as usize;
    let layer = |len: usize| Metalayer {
        name: format!("vlmeta{len}").into_bytes().into(),
        content: nested(len, 0).into(),
    };
    vec![
        Step::Append(Ok(nesting(40_000, at))),
        Step::Insert(1, Ok(nesting(at + 9, at))),
        Step::Update(vec![(0, Ok(nesting(1000, 0))), (2, Ok(nesting(9000, 0)))]),
        Step::Delete(0),
        Step::VlMeta(layer(300)),
        Step::VlMeta(layer(9000)),
    ]
}

/// Checks that the frame has one of these states, that it can be changed, and that nothing behind
/// it could be taken for a frame or a record.
fn lives_on(path: &Path, kind: FrameKind, states: &[&Model], context: &str) {
    let (mut disk, loaded) = Disk::open(plain(), &c_path(path), 0, kind).expect(context);
    let mut found = whole(&mut disk, loaded).expect(context);
    assert!(states.contains(&&found), "{context}");
    let file = frame_file_of(path, kind);
    let behind = std::fs::read(file)
        .unwrap()
        .split_off(disk.frame_len() as usize);
    // There may be the record of the change itself, which the next change undoes if it is valid, or
    // a frame whose append was not committed.
    let own = behind
        .windows(7)
        .filter(|bytes| bytes == b"oxb2jnl")
        .count();
    let named = Filesystem.open(&c_path(&frame_file_of(path, kind)), Mode::Read);
    let named = named.expect(context);
    let record = Overlay::find(&*named, named.size().unwrap(), 0).unwrap();
    let uncommitted = behind.get(2..9) == Some(b"b2framE");
    assert!(
        !has_magic(&behind) || record.is_some() || own == 1 || uncommitted,
        "{context}"
    );
    let last = Step::Append(Ok(chunk(77, 7)));
    commit(&mut disk, &mut found, &last).expect(context);
    disk.close().unwrap();
    let (mut disk, loaded) = Disk::open(plain(), &c_path(path), 0, kind).expect(context);
    assert!(whole(&mut disk, loaded).unwrap() == found, "{context}");
}

#[test]
fn what_chunks_hold_keeps_no_change_from_a_frame() {
    let folder = Folder::new("nested");
    let base = folder.0.join("base");
    let mut tried = 0;
    let sizes = [
        (FrameKind::Contiguous, 2000),
        (FrameKind::Contiguous, 1 << 20),
        (FrameKind::Sparse, 2000),
    ];
    for (kind, len) in sizes {
        let (mut disk, before) = created(&base, kind, len);
        let steps = steps(&mut disk);
        drop(disk);
        for (which, fate) in (0..6).flat_map(|step| {
            [Fate::Fails, Fate::Torn, Fate::Dies, Fate::DiesTorn].map(|fate| (step, fate))
        }) {
            for point in 0.. {
                let left = Arc::new(AtomicI64::new(i64::MAX));
                let backend = Options {
                    durable: which % 2 == 1,
                    ..unlucky(&left, fate)
                };
                // A handle that "died" still has its file open, and Windows does not replace an
                // open file.
                let path = folder.0.join(format!("frame{tried}"));
                copy(&base, &path);
                let (mut disk, _) = Disk::open(backend, &c_path(&path), 0, kind).unwrap();
                let step = &steps[which];
                let context = format!("{kind:?} {len} {fate:?} {point} {step:?}");
                let mut after = before.clone();
                left.store(point, Ordering::Relaxed);
                let result = commit(&mut disk, &mut after, step);
                let happened = left.load(Ordering::Relaxed) < 0;
                left.store(i64::MAX, Ordering::Relaxed);
                match (fate, result) {
                    (Fate::Fails | Fate::Torn, _) => {
                        disk.refresh().expect(&context);
                        assert_same(&content(&mut disk).unwrap(), &after.chunks, &context);
                        commit(&mut disk, &mut after, step).expect(&context);
                        drop(disk);
                        lives_on(&path, kind, &[&after], &context);
                    }
                    (_, Ok(())) => {
                        drop(disk);
                        lives_on(&path, kind, &[&after], &context);
                    }
                    (_, Err(_)) => {
                        std::mem::forget(disk);
                        step.apply(&mut after);
                        lives_on(&path, kind, &[&before, &after], &context);
                    }
                }
                remove(&path);
                tried += 1;
                if !happened {
                    break;
                }
            }
        }
    }
    assert!(tried > 300, "{tried}");
}

/// One call that reads fails.
#[derive(Clone)]
struct FailingRead(Arc<AtomicI64>);

impl Hook for FailingRead {
    fn before(&self, call: Call, _: &dyn Storage) -> Result<()> {
        let reads = matches!(call, Call::Size | Call::Read(_));
        match reads && self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
            true => Err(Error::FILE_READ),
            false => Ok(()),
        }
    }
}

/// A process has died in each of its writes, and another one cannot read what it left: it gets an
/// error, and nothing is lost.
#[test]
fn a_read_that_fails_is_an_error() {
    let folder = Folder::new("reads");
    let base = folder.0.join("base");
    let kind = FrameKind::Contiguous;
    let (mut disk, before) = created(&base, kind, 2000);
    let step = &steps(&mut disk)[0];
    drop(disk);
    let mut after = before.clone();
    step.apply(&mut after);
    let mut failed = 0;
    let (mut created, mut point) = (false, 0);
    while !created {
        for call in 0.. {
            let path = folder.0.join(format!("frame {point} {call}"));
            copy(&base, &path);
            let left = Arc::new(AtomicI64::new(point));
            let backend = unlucky(&left, Fate::Dies);
            let (mut disk, _) = Disk::open(backend, &c_path(&path), 0, kind).unwrap();
            created = commit(&mut disk, &mut before.clone(), step).is_ok();
            std::mem::forget(disk);
            let reads = FailingRead(Arc::new(AtomicI64::new(call)));
            let options = options(Hooked(reads.clone()).shared());
            let opened = Disk::open(options, &c_path(&path), 0, kind);
            let found = opened.and_then(|(mut disk, loaded)| whole(&mut disk, loaded));
            let context = format!("{point} {call}");
            match found {
                Ok(found) => assert!(found == before || found == after, "{context}"),
                Err(error) => assert_eq!(error, Error::FILE_READ, "{context}"),
            }
            lives_on(&path, kind, &[&before, &after], &context);
            if reads.0.load(Ordering::Relaxed) >= 0 {
                break;
            }
            failed += 1;
        }
        point += 1;
    }
    assert!(failed > 100, "{failed}");
}

/// Checks that a change of the frame at 0 is refused, and that the frame at `pos` is still there.
fn is_kept(path: &Path, pos: u64, inner: &[u8]) {
    let name = c_path(path);
    let (mut first, loaded) = Disk::open(plain(), &name, 0, FrameKind::Contiguous).unwrap();
    let mut model = whole(&mut first, loaded).unwrap();
    let step = Step::Append(Ok(chunk(77, 7)));
    let result = commit(&mut first, &mut model, &step);
    assert_eq!(result, Err(Error::FILE_WRITE));
    drop(first);
    let bytes = std::fs::read(path).unwrap();
    assert_eq!(&bytes[pos as usize..][..inner.len()], inner);
    Disk::open(plain(), &name, pos, FrameKind::Contiguous).unwrap();
}

#[test]
fn a_frame_behind_what_was_left_over_is_kept() {
    let folder = Folder::new("behind");
    let path = folder.0.join("frame");
    let inner = frame(&[1; 100]);
    for left in [0, 1, 300, (1 << 20) - 3, (1 << 20) + 5, 3 << 20] {
        drop(created(&path, FrameKind::Contiguous, 2000));
        let mut bytes = std::fs::read(&path).unwrap();
        bytes.resize(bytes.len() + left, 3);
        std::fs::write(&path, &bytes).unwrap();
        let pos = container::append(&Filesystem, &c_path(&path), &inner, false).unwrap();
        is_kept(&path, pos, &inner);
        // Another library has appended the frame.
        bytes.extend(&inner);
        std::fs::write(&path, &bytes).unwrap();
        is_kept(&path, (bytes.len() - inner.len()) as u64, &inner);
    }
}

#[test]
fn half_a_frame_behind_another_is_none() {
    let folder = Folder::new("half");
    let path = folder.0.join("frame");
    for (inner, durable) in [
        (frame(&[1; 3000]), false),
        (frame(&nested(30_000, 0)), false),
        (frame(&nested(30_000, 0)), true),
    ] {
        for (fate, point) in [Fate::Dies, Fate::DiesTorn]
            .into_iter()
            .flat_map(|fate| (0..10).map(move |point| (fate, point)))
        {
            drop(created(&path, FrameKind::Contiguous, 2000));
            let left = Arc::new(AtomicI64::new(point));
            let unlucky = Hooked(Unlucky {
                left: Arc::clone(&left),
                fate,
            });
            let appended = container::append(&unlucky, &c_path(&path), &inner, durable);
            if let Ok(pos) = appended {
                is_kept(&path, pos, &inner);
                continue;
            }
            let bytes = std::fs::read(&path).unwrap();
            let pos = frame_len_of(&bytes);
            if bytes.get(pos + 2..pos + 10) == Some(b"b2frame\0") {
                // All but the last sync was done.
                is_kept(&path, pos as u64, &inner);
                continue;
            }
            // A frame that another library appends behind the part is not taken for the rest of it.
            let other = frame(&[5; 50]);
            let end = bytes.len() as u64;
            std::fs::write(&path, [&bytes[..], &other].concat()).unwrap();
            is_kept(&path, end, &other);
            std::fs::write(&path, bytes).unwrap();
            let (mut disk, loaded) =
                Disk::open(plain(), &c_path(&path), 0, FrameKind::Contiguous).unwrap();
            let model = whole(&mut disk, loaded).unwrap();
            drop(disk);
            lives_on(
                &path,
                FrameKind::Contiguous,
                &[&model],
                &format!("{fate:?} {point}"),
            );
        }
    }
}

/// Bytes of the frame at the front of a file.
fn frame_len_of(bytes: &[u8]) -> usize {
    u64::from_be_bytes(bytes[16..24].try_into().unwrap()) as usize
}
