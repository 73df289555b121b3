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
            disk.set_all_checksums();
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
    memory.set_all_checksums().unwrap();
    assert_eq!(memory.find(0).err(), Some(Error::Data));
    let replaced = commit(&mut memory, Step::Update(vec![(0, Ok(chunk(CHUNK, 2)))]));
    assert_eq!(replaced, Err(Error::Data));
    assert_eq!(memory.find(0).err(), Some(Error::Data));
}
