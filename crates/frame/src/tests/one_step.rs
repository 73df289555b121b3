//! An append whose one write over old bytes is cut off in the middle, which no file system of Linux
//! does, and cannot be undone.

use super::*;
use std::sync::Mutex;

/// Which writes fail after that.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Fails {
    /// Those over the same bytes.
    Here,
    /// All.
    All,
}

/// Where a write is cut off: its position, how many of its bytes are written, and what fails from
/// then on.
#[derive(Clone, Copy)]
struct Cut {
    pos: u64,
    part: usize,
    fails: Fails,
    done: bool,
}

/// A back end with such a write.
#[derive(Clone, Default)]
struct CutFiles {
    cut: Arc<Mutex<Option<Cut>>>,
    /// Position and length of the last write.
    last: Arc<Mutex<(u64, usize)>>,
}

impl Hook for CutFiles {
    fn before(&self, call: Call, file: &dyn Storage) -> Result<()> {
        let (pos, bytes) = match call {
            Call::Write(pos, bytes) => (pos, bytes),
            Call::Truncate | Call::Sync => (0, &[][..]),
            Call::Size | Call::Read(_) => return Ok(()),
        };
        if !bytes.is_empty() {
            *self.last.lock().unwrap() = (pos, bytes.len());
        }
        let mut cut = self.cut.lock().unwrap();
        let Some(cut) = &mut *cut else { return Ok(()) };
        let is_here = pos == cut.pos && !bytes.is_empty();
        if is_here && !std::mem::replace(&mut cut.done, true) {
            file.write_at(pos, &bytes[..cut.part])?;
            return Err(Error::FILE_WRITE);
        }
        match cut.done && (is_here || cut.fails == Fails::All) {
            true => Err(Error::FILE_WRITE),
            false => Ok(()),
        }
    }
}

#[test]
fn an_append_that_is_cut_off_and_cannot_be_undone() {
    let folder = Folder::new("one-step");
    let path = folder.0.join("frame");
    let (name, kind) = (c_path(&path), FrameKind::Sparse);
    let files = CutFiles::default();
    let hooked = || options(Hooked(files.clone()).shared());
    let mut before = Model::default();
    let append = |disk: &mut Disk, model: &mut Model| {
        let step = Step::Append(Ok(chunk(20_000, model.chunks.len() as u8)));
        step.apply(model);
        disk.commit(&step.change(&step.items()), &[], step.next(model, kind))
    };
    // In a large frame, an append needs no record.
    let (mut disk, _) = Disk::create(hooked(), &name, &header(&before, kind)).unwrap();
    for _ in 0..80 {
        append(&mut disk, &mut before).unwrap();
    }
    let index = frame_file_of(&path, kind);
    let bytes = std::fs::read(&index).unwrap();
    let mut after = before.clone();
    append(&mut disk, &mut after).unwrap();
    let (pos, len) = *files.last.lock().unwrap();
    // Nothing is written any more when a handle is closed, as if its process were killed.
    let kill = |disk: Disk| {
        let (fails, part, done) = (Fails::All, 0, true);
        *files.cut.lock().unwrap() = Some(Cut {
            pos,
            part,
            fails,
            done,
        });
        drop(disk);
        *files.cut.lock().unwrap() = None;
    };
    kill(disk);
    assert!(pos < 87 && len > 40, "{pos} {len}");
    let mut lost = 0;
    for fails in [Fails::Here, Fails::All] {
        for part in 0..=len {
            std::fs::write(&index, &bytes).unwrap();
            let (mut disk, _) = Disk::open(hooked(), &name, 0, kind).unwrap();
            let done = false;
            *files.cut.lock().unwrap() = Some(Cut {
                pos,
                part,
                fails,
                done,
            });
            let appended = append(&mut disk, &mut before.clone());
            assert_eq!(appended, Err(Error::FILE_WRITE));
            let _ = disk.refresh().unwrap();
            let context = format!("{fails:?}, {part} bytes");
            let shown = content(&mut disk).expect(&context);
            kill(disk);
            let opened = Disk::open(plain(), &name, 0, kind);
            let found = opened.map(|(mut disk, loaded)| whole(&mut disk, loaded).unwrap());
            match (fails, found) {
                (Fails::Here, found) => {
                    assert!(shown == before.chunks, "{context}");
                    assert!(found.expect(&context) == before, "{context}");
                }
                (Fails::All, Ok(found)) => {
                    assert!(found == before || found == after, "{context}");
                    assert!(found.chunks == shown, "{context}");
                }
                // The header is neither the old nor the new one. All chunks are there.
                (Fails::All, Err(_)) => {
                    assert!(shown == before.chunks, "{context}");
                    lost += 1;
                }
            }
        }
    }
    assert!(lost > 0);
}
