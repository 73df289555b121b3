//! The record that all chunks of a frame have checksums, and changes that fail.

use super::*;
use crate::fingerprint::ChecksumScope;

/// A chunk without checksums.
const CHUNK: usize = 2000;

#[test]
fn a_change_that_fails_does_not_change_which_checksums_a_frame_has() {
    let folder = Folder::new("scope");
    for kind in [FrameKind::Contiguous, FrameKind::Sparse] {
        for point in 0.. {
            let path = folder.0.join(format!("{kind:?} {point}"));
            let mut model = Model::default();
            let created = Disk::create(plain(), &c_path(&path), &header(&model, kind));
            let (mut disk, _) = created.unwrap();
            disk.note_checksums(true);
            let special = Step::Append(Err(Special::Zero));
            let append = |disk: &mut Disk, model: &mut Model, step: &Step| {
                let mut after = model.clone();
                step.apply(&mut after);
                disk.commit(&step.change(&step.items()), &[], step.next(&after, kind))?;
                *model = after;
                Ok::<(), Error>(())
            };
            append(&mut disk, &mut model, &special).unwrap();
            drop(disk);
            let left = Arc::new(AtomicI64::new(i64::MAX));
            let backend = unlucky(&left, Fate::Fails);
            let (mut disk, _) = Disk::open(backend, &c_path(&path), 0, kind).unwrap();
            left.store(point, Ordering::Relaxed);
            let without = Step::Append(Ok(chunk(CHUNK, 1)));
            let appended = append(&mut disk, &mut model, &without);
            left.store(i64::MAX, Ordering::Relaxed);
            disk.refresh().unwrap();
            append(&mut disk, &mut model, &special).unwrap();
            disk.close().unwrap();
            let bytes = std::fs::read(frame_file_of(&path, kind)).unwrap();
            let expected = match appended {
                Ok(()) => ChecksumScope::Some,
                Err(_) => ChecksumScope::All,
            };
            assert_eq!(ChecksumScope::of(&bytes), expected, "{kind:?} {point}");
            if appended.is_ok() {
                assert!(point > 2, "{kind:?}");
                break;
            }
        }
    }
}

#[test]
fn nor_in_memory() {
    let kind = FrameKind::Contiguous;
    let mut model = Model::default();
    let mut memory = Memory::new(&header(&model, kind)).unwrap();
    let mut commit = |memory: &mut Memory, step: Step| {
        step.apply(&mut model);
        let next = step.next(&model, kind);
        memory.commit(&step.change(&step.items()), &[], next.header, next.trailer)
    };
    assert_eq!(
        commit(&mut memory, Step::Append(Ok(chunk(CHUNK, 1)))),
        Ok(())
    );
    // Now the chunk is a damaged one.
    memory.note_checksums(true).unwrap();
    assert_eq!(memory.find(0).err(), Some(Error::DATA));
    let replaced = commit(&mut memory, Step::Update(vec![(0, Ok(chunk(CHUNK, 2)))]));
    assert_eq!(replaced, Err(Error::DATA));
    assert_eq!(memory.find(0).err(), Some(Error::DATA));
}

/// A change of metalayers leaves a compressed index as it is. If the index was damaged since the
/// frame was read, the next reader still finds that: the damaged bytes get no checksum of their
/// own.
#[test]
fn a_change_of_metalayers_does_not_hide_damage_of_the_index() {
    let folder = Folder::new("index-damage");
    let kind = FrameKind::Contiguous;
    let path = folder.0.join("frame");
    let mut model = Model::default();
    let commit = |disk: &mut Disk, model: &mut Model, step: Step| {
        step.apply(model);
        disk.commit(&step.change(&step.items()), &[], step.next(model, kind))
            .unwrap();
    };
    let created = Disk::create(plain(), &c_path(&path), &header(&model, kind));
    let (mut disk, _) = created.unwrap();
    disk.set_checksums(true);
    // In a smaller frame the index would be written again.
    for seed in 0..4 {
        commit(
            &mut disk,
            &mut model,
            Step::Append(Ok(chunk(400_000, seed))),
        );
    }
    drop(disk);
    let (mut disk, _) = Disk::open(plain(), &c_path(&path), 0, kind).unwrap();
    let mut bytes = std::fs::read(&path).unwrap();
    let second = disk.offsets().get(1).unwrap().to_le_bytes();
    let at = bytes.windows(8).rposition(|bytes| bytes == second);
    // The chunk seems to begin at another place.
    bytes[at.unwrap()] ^= 1;
    std::fs::write(&path, &bytes).unwrap();
    let layer = Metalayer {
        name: TryVec::of(*b"layer").unwrap(),
        content: TryVec::filled(7, 100).unwrap(),
    };
    commit(&mut disk, &mut model, Step::VlMeta(layer));
    let open = || Disk::open(plain(), &c_path(&path), 0, kind);
    assert_eq!(open().err(), Some(Error::DATA));
    // Closing the frame writes the index that was read.
    drop(disk);
    let (mut disk, loaded) = open().unwrap();
    assert!(whole(&mut disk, loaded).unwrap() == model);
}
