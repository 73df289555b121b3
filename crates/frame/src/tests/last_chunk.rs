//! Frames whose last chunk says that it is shorter than it is, because its header is damaged. What
//! is appended must not overwrite the rest of it, which `b2 repair` can bring back.

use super::*;

#[test]
fn the_rest_of_a_damaged_last_chunk_is_not_overwritten() {
    let folder = Folder::new("last-chunk");
    let path = folder.0.join("frame");
    let (name, kind) = (c_path(&path), FrameKind::Contiguous);
    let append = |disk: &mut Disk, model: &mut Model, len: usize| {
        let step = Step::Append(Ok(chunk(len, model.chunks.len() as u8 + 1)));
        step.apply(model);
        disk.commit(&step.change(&step.items()), &[], step.next(model, kind))
            .unwrap();
    };
    // A small frame, and a large one.
    for len in [3000, 60_000] {
        let mut model = Model::default();
        remove(&path);
        let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind)).unwrap();
        for _ in 0..20 {
            append(&mut disk, &mut model, len);
        }
        drop(disk);
        let bytes = std::fs::read(&path).unwrap();
        let last = model.chunks.last().unwrap().as_ref().unwrap();
        let position =
            |bytes: &[u8], chunk: &[u8]| bytes.windows(chunk.len()).position(|b| b == chunk);
        let at = position(&bytes, last).unwrap();
        for says in [32, len / 2, len + 31] {
            let mut damaged = bytes.clone();
            damaged[at + 12..at + 16].copy_from_slice(&(says as i32).to_le_bytes());
            std::fs::write(&path, &damaged).unwrap();
            let (mut disk, _) = Disk::open(plain(), &name, 0, kind).unwrap();
            let mut model = model.clone();
            for _ in 0..3 {
                append(&mut disk, &mut model, len);
                let now = std::fs::read(&path).unwrap();
                let is_there = now[at..at + last.len()] == damaged[at..at + last.len()];
                assert!(is_there, "{len} {says}");
            }
            disk.close().unwrap();
            let now = std::fs::read(&path).unwrap();
            assert!(
                position(&now, &last[16..]).is_some(),
                "{len} {says}, closed"
            );
            let (mut disk, loaded) = Disk::open(plain(), &name, 0, kind).unwrap();
            let found = whole(&mut disk, loaded).unwrap();
            assert!(found.chunks[20..] == model.chunks[20..], "{len} {says}");
        }
    }
}
