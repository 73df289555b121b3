//! The cost of operations: how time, calls and bytes grow with the number of chunks.

use super::*;
use crate::disk::MAX_COMPACT_CHUNKS;
use crate::header::MIN_LEN;
use crate::index::ENCODED;
use crate::leftovers::has_frame;
use oxiblosc_base::memory::Edit;
#[cfg(target_os = "linux")]
use oxiblosc_testing::processor_time;
use std::sync::atomic::AtomicU64;
#[cfg(target_os = "linux")]
use std::time::Duration;

/// Counts calls that read or change a file, and the bytes that they read or write.
#[derive(Clone, Default)]
struct Counting(Arc<[AtomicU64; 2]>);

impl Hook for Counting {
    fn before(&self, call: Call, _: &dyn Storage) -> Result<()> {
        let bytes = match call {
            Call::Size | Call::Truncate => 0,
            Call::Read(len) => len,
            Call::Write(_, bytes) => bytes.len(),
            Call::Sync => return Ok(()),
        };
        self.0[0].fetch_add(1, Ordering::Relaxed);
        self.0[1].fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(())
    }
}

impl Counting {
    /// Calls and bytes since the last call of this.
    fn take(&self) -> [u64; 2] {
        [0, 1].map(|i| self.0[i].swap(0, Ordering::Relaxed))
    }

    fn backend(&self) -> Hooked<Self> {
        Hooked(self.clone())
    }

    fn options(&self) -> Options {
        options(self.backend().shared())
    }
}

/// A frame of `count` chunks in memory; chunk `i` stores `len(i)` bytes.
fn in_memory(count: usize, len: impl Fn(usize) -> usize) -> (Memory, Model) {
    let kind = FrameKind::Contiguous;
    let model = Model {
        chunks: (0..count).map(|i| Ok(chunk(len(i), i as u8))).collect(),
        ..Model::default()
    };
    let slots = model
        .chunks
        .iter()
        .map(|chunk| ArrangedChunk::New(item(chunk)));
    let slots: Vec<ArrangedChunk> = slots.collect();
    let change = Change::Arrange {
        kept: 0,
        slots: &slots,
        left: &[],
    };
    let mut memory = Memory::new(&header(&Model::default(), kind)).unwrap();
    let next = Step::Reorder(Vec::new()).next(&model, kind);
    memory
        .commit(&change, &[], next.header, next.trailer)
        .unwrap();
    (memory, model)
}

/// As [`in_memory`], in a file.
fn in_file(path: &Path, count: usize, len: impl Fn(usize) -> usize) -> Model {
    let (mut memory, model) = in_memory(count, len);
    std::fs::write(path, memory.whole().unwrap()).unwrap();
    model
}

/// Checks that with 16 times as many chunks, each takes less than four times as long. If the work
/// grew with the square, it would be 16 times.
#[cfg(target_os = "linux")]
fn grows_as_the_chunks(what: &str, mut work: impl FnMut(usize) -> Duration) {
    let mut least = |count| (0..3).map(|_| work(count)).min().unwrap();
    let (few, many) = (least(2_000), least(32_000));
    let most = 64 * few + Duration::from_millis(40);
    assert!(many < most, "{what}: {few:?} and {many:?}");
}

/// Arrays of one repeated item are made by replacing all of their chunks, which had no bytes.
#[test]
fn closing_reads_no_chunks_that_have_no_gaps() {
    const COUNT: usize = 20_000;
    let folder = Folder::new("no-gaps");
    let name = c_path(&folder.0.join("frame"));
    let (kind, counting) = (FrameKind::Contiguous, Counting::default());
    let model = |chunk| Model {
        chunks: vec![chunk; COUNT],
        ..Model::default()
    };
    // Stored as it is.
    let mut stored = chunk(CHUNKSIZE as usize, 1);
    stored[2] |= 2;
    let (zeros, full) = (model(Err(Special::Zero)), model(Ok(stored)));
    let kept = Step::Reorder(Vec::new());
    let empty = header(&Model::default(), kind);
    let (mut disk, _) = Disk::create(counting.options(), &name, &empty).unwrap();
    let slots = [ArrangedChunk::Specials(Special::Zero, COUNT)];
    let fill = Change::appended(0, &slots);
    disk.commit(&fill, &[], kept.next(&zeros, kind)).unwrap();
    let replaced: Vec<_> = full.chunks.iter().map(item).enumerate().collect();
    let update = Change::Update(&replaced);
    disk.commit(&update, &[], kept.next(&full, kind)).unwrap();
    counting.take();
    disk.close().unwrap();
    let [calls, _] = counting.take();
    assert!(calls < 100, "{calls}");
}

#[cfg(target_os = "linux")]
#[test]
fn changes_of_all_chunks_grow_as_the_chunks() {
    let folder = Folder::new("costs");
    let path = folder.0.join("frame");
    let name = c_path(&path);
    let edits = [Edit {
        at: 40,
        len: 1,
        new: oxiblosc_base::memory::Buffer::copy_of(&[9]).unwrap(),
    }];
    grows_as_the_chunks("chunks replaced, edited, and the frame closed", |count| {
        // The fewer the chunks, the longer they are, so that the frame is always a large one.
        let model = in_file(&path, count, |_| (2 << 20) / count);
        let (mut disk, _) = Disk::open(plain(), &name, 0, FrameKind::Contiguous).unwrap();
        let kept = Step::Reorder(Vec::new());
        let next = || kept.next(&model, FrameKind::Contiguous);
        let replaced: Vec<_> = model.chunks.iter().map(item).enumerate().collect();
        let edited: Vec<_> = (0..count)
            .map(|i| (i, ChangedChunk::Edited(&edits)))
            .collect();
        let start = processor_time();
        assert!((0..count).all(|nchunk| disk.is_alone(nchunk)));
        disk.commit(&Change::Update(&replaced), &[], next())
            .unwrap();
        disk.commit(&Change::Update(&edited), &[], next()).unwrap();
        disk.close().unwrap();
        processor_time() - start
    });
    grows_as_the_chunks("chunks replaced in memory", |count| {
        let (mut memory, model) = in_memory(count, |i| i % 90 + 20);
        let next = Step::Reorder(Vec::new()).next(&model, FrameKind::Contiguous);
        let new = model.chunks.iter().rev().map(item).enumerate();
        let new: Vec<_> = new.collect();
        let start = processor_time();
        memory
            .commit(&Change::Update(&new), &[], next.header, None)
            .unwrap();
        processor_time() - start
    });
}

/// The time of 1,000 changes of one chunk in a frame of `count` chunks, whose bytes in a directory
/// are `cbytes`: the least of three times.
#[cfg(target_os = "linux")]
fn many_changes(
    disk: &mut Disk,
    count: usize,
    cbytes: u64,
    mut change: impl FnMut(&mut Disk, EncodedMetadata),
) -> Duration {
    let model = Model {
        chunks: vec![Err(Special::Zero); count],
        ..Model::default()
    };
    let header = Step::Delete(0).next(&model, disk.kind()).header;
    let mut once = || {
        let start = processor_time();
        for _ in 0..1000 {
            let next = EncodedMetadata {
                header: header.try_clone().unwrap(),
                trailer: None,
                cbytes,
            };
            change(disk, next);
        }
        processor_time() - start
    };
    (0..3).map(|_| once()).min().unwrap()
}

/// Checks that the second of two times is about the same as the first.
#[cfg(target_os = "linux")]
fn same(what: &str, [few, many]: [Duration; 2]) {
    let most = 2 * few + Duration::from_millis(20);
    assert!(many < most, "{what}: {few:?} and {many:?}");
}

/// Each change may look at few chunks only, however many there are, and however many were changed
/// before.
#[cfg(target_os = "linux")]
#[test]
fn a_change_of_one_chunk_costs_the_same_in_large_frames() {
    let folder = Folder::new("one");
    let path = folder.0.join("frame");
    let (name, mut random) = (c_path(&path), Random(3));
    let edits = [Edit {
        at: 40,
        len: 1,
        new: oxiblosc_base::memory::Buffer::copy_of(&[9]).unwrap(),
    }];
    let edited = [2_000, 60_000].map(|count| {
        in_file(&path, count, |_| 10);
        let (mut disk, _) = Disk::open(plain(), &name, 0, FrameKind::Contiguous).unwrap();
        many_changes(&mut disk, count, 0, |disk, next| {
            let item = (random.next(count), ChangedChunk::Edited(&edits));
            disk.commit(&Change::Update(&[item]), &[], next).unwrap();
        })
    });
    same("chunks edited", edited);

    let count = 40_000;
    in_file(&path, count, |_| 100);
    let (mut disk, _) = Disk::open(plain(), &name, 0, FrameKind::Contiguous).unwrap();
    let replaced = [0, 30_000].map(|before| {
        let mut replace = |disk: &mut Disk, next| {
            let new = chunk(random.next(100) + 50, 1);
            let item = (random.next(count), stored(&new));
            disk.commit(&Change::Update(&[item]), &[], next).unwrap();
        };
        for _ in 0..before / 3000 {
            many_changes(&mut disk, count, 0, &mut replace);
        }
        many_changes(&mut disk, count, 0, replace)
    });
    same("chunks replaced", replaced);
    drop(disk);

    let deleted = [2_000, 1_000_000].map(|count| {
        let path = folder.0.join(format!("directory{count}"));
        let (kind, model) = (FrameKind::Sparse, Model::default());
        let (mut disk, _) = Disk::create(plain(), &c_path(&path), &header(&model, kind)).unwrap();
        let next = || Step::Delete(0).next(&model, kind);
        let slots = [ArrangedChunk::Specials(Special::Zero, count)];
        let special = Change::appended(0, &slots);
        disk.commit(&special, &[], next()).unwrap();
        let new = chunk(10, 1);
        let append = Change::Append(stored(&new));
        disk.commit(&append, &[], next()).unwrap();
        many_changes(&mut disk, count, 1 << 20, |disk, next| {
            disk.commit(&append, &[], next).unwrap();
            let last = Change::Delete(disk.offsets().len() - 1);
            disk.commit(&last, &[], Step::Delete(0).next(&model, kind))
                .unwrap();
        })
    });
    same("chunks appended and deleted", deleted);
}

/// Commits the replacement of a chunk.
fn replace(disk: &mut Disk, model: &mut Model, nchunk: usize, new: Vec<u8>) {
    let step = Step::Update(vec![(nchunk, Ok(new))]);
    step.apply(model);
    let next = step.next(model, FrameKind::Contiguous);
    disk.commit(&step.change(&step.items()), &[], next).unwrap();
}

/// Nor does the first change of a handle read the headers of all chunks. But the space that
/// replaced chunks have left is found again.
#[test]
fn the_first_change_of_a_large_frame_reads_few_chunks() {
    let folder = Folder::new("first");
    let path = folder.0.join("frame");
    let (name, kind) = (c_path(&path), FrameKind::Contiguous);
    let calls = [5_000, 100_000].map(|count| {
        let mut model = in_file(&path, count, |_| 300);
        let counting = Counting::default();
        let (mut disk, _) = Disk::open(counting.options(), &name, 0, kind).unwrap();
        counting.take();
        replace(&mut disk, &mut model, count / 3, chunk(200, 1));
        counting.take()[0]
    });
    assert!(calls[1] <= calls[0] && calls[0] < 600, "{calls:?}");

    let (count, mut random) = (3_000, Random(9));
    let mut model = in_file(&path, count, |_| 400);
    let (mut few, mut many) = (0, 0);
    for turn in 0..if cfg!(miri) { 2 } else { 500 } {
        let counting = Counting::default();
        let (mut disk, _) = Disk::open(counting.options(), &name, 0, kind).unwrap();
        counting.take();
        let new = chunk(350 + random.next(100), turn as u8);
        replace(&mut disk, &mut model, random.next(count), new);
        match counting.take()[0] {
            ..700 => few += 1,
            _ => many += 1,
        }
        disk.close().unwrap();
        let used = cbytes(&model);
        let len = disk.frame_len();
        assert!(len < used + used / 64 + 5_000, "{turn}: {len} for {used}");
    }
    assert!(few > 10 * many, "{few} and {many}");
    let (mut disk, loaded) = Disk::open(plain(), &name, 0, kind).unwrap();
    assert!(whole(&mut disk, loaded).unwrap() == model);
}

/// Chunks that are damaged, and say that they are longer or shorter than they are.
#[test]
fn space_is_reused_around_chunks_that_lie_and_changes_no_other() {
    let folder = Folder::new("lying");
    let path = folder.0.join("frame");
    let (name, kind) = (c_path(&path), FrameKind::Contiguous);
    // The longer chunks make a frame that is large, the last ones one with free space between
    // chunks.
    for (count, len, free) in [(3_000, 400, 0), (200, 6_000, 0), (3_000, 400, 300)] {
        let mut random = Random(count as u64);
        let mut model = in_file(&path, count, |_| len);
        let (mut disk, _) = Disk::open(plain(), &name, 0, kind).unwrap();
        for nchunk in 0..free {
            replace(&mut disk, &mut model, 7 * nchunk, chunk(len, 1));
        }
        let data = disk.header_len();
        let position = |disk: &Disk, nchunk| match disk.offsets().position(nchunk) {
            Ok(super::super::offsets::ChunkPosition::At(position)) => (data + position) as usize,
            _ => panic!("it has bytes"),
        };
        let positions: Vec<usize> = (0..count).map(|nchunk| position(&disk, nchunk)).collect();
        std::mem::forget(disk);
        let mut bytes = std::fs::read(&path).unwrap();
        let lying: Vec<usize> = (0..20).map(|i| (i * count / 20) + i % 3 + 1).collect();
        for (i, nchunk) in lying.iter().enumerate() {
            let says = [50, len + 60, 3 * len][i % 3] as i32;
            let at = positions[*nchunk] + 12;
            bytes[at..at + 4].copy_from_slice(&says.to_le_bytes());
        }
        std::fs::write(&path, &bytes).unwrap();
        let (mut disk, _) = Disk::open(plain(), &name, 0, kind).unwrap();
        for turn in 0..count / 4 {
            let near = lying[random.next(20)] + random.next(5) - 1;
            let nchunk = [near, random.next(count)][turn % 2].min(count - 1);
            if !lying.contains(&nchunk) {
                let new = chunk(len - 20 + random.next(40), turn as u8);
                replace(&mut disk, &mut model, nchunk, new);
            }
        }
        let now = std::fs::read(&path).unwrap();
        for (nchunk, chunk) in model.chunks.iter().enumerate() {
            let (at, chunk) = (position(&disk, nchunk), chunk.as_ref().unwrap());
            // The length in the header of a lying chunk is wrong.
            let is_same = now[at + 16..at + chunk.len()] == chunk[16..];
            assert!(is_same, "{nchunk} of {count}");
        }
    }
}

/// A damaged chunk may say that it is longer than it is, and chunks need not lie in their order.
#[test]
fn an_edit_of_a_chunk_that_lies_changes_no_other() {
    let folder = Folder::new("reaching");
    let path = folder.0.join("frame");
    let kind = FrameKind::Contiguous;
    for count in [20, if cfg!(miri) { 30 } else { 70_000 }] {
        let (mut memory, mut model) = in_memory(count, |_| 20);
        let step = Step::Reorder((0..count).rev().collect());
        step.apply(&mut model);
        let next = step.next(&model, kind);
        memory
            .commit(&step.change(&step.items()), &[], next.header, None)
            .unwrap();
        std::fs::write(&path, memory.whole().unwrap()).unwrap();
        let (mut disk, _) = Disk::open(plain(), &c_path(&path), 0, kind).unwrap();
        for (nchunk, at, fits) in [(1, 51, true), (count - 1, 52, false), (2, 52, false)] {
            let new = oxiblosc_base::memory::Buffer::copy_of(&[7]).unwrap();
            let edits = [Edit { at, len: 1, new }];
            let item = [(nchunk, ChangedChunk::Edited(&edits))];
            let next = Step::Reorder(Vec::new()).next(&model, kind);
            let created = disk.commit(&Change::Update(&item), &[], next);
            assert_eq!(created.is_ok(), fits, "{nchunk} of {count}");
            if fits {
                model.chunks[nchunk].as_mut().unwrap()[at] = 7;
            }
        }
        assert_same(&content(&mut disk).unwrap(), &model.chunks, "edited");
    }
}

/// A frame of many chunks is a large one even if they have no bytes, or few: an append must not
/// compress all offsets.
#[test]
fn an_append_compresses_few_offsets() {
    let folder = Folder::new("appends");
    let count = if cfg!(miri) {
        20
    } else {
        MAX_COMPACT_CHUNKS + 100
    };
    for (kind, len) in [
        (FrameKind::Contiguous, None),
        (FrameKind::Contiguous, Some(1)),
        (FrameKind::Sparse, None),
    ] {
        let path = folder.0.join(format!("{kind:?}{len:?}"));
        let name = c_path(&path);
        let mut model = Model::default();
        let (mut disk, _) = Disk::create(plain(), &name, &header(&model, kind)).unwrap();
        let mut most = 0;
        for i in 0..count {
            let special = Err(Special::Zero);
            let step = Step::Append(len.map_or(special, |len| Ok(chunk(len, i as u8))));
            step.apply(&mut model);
            let next = step.next(&model, kind);
            ENCODED.set(0);
            disk.commit(&step.change(&step.items()), &[], next).unwrap();
            most = most.max(ENCODED.get());
        }
        assert!(
            most <= MAX_COMPACT_CHUNKS,
            "{kind:?}, {len:?}: {most} at once"
        );
        disk.close().unwrap();
        let (mut disk, _) = Disk::open(plain(), &name, 0, kind).unwrap();
        assert_same(&content(&mut disk).unwrap(), &model.chunks, "appended");
    }
}

#[test]
fn many_chunks_are_replaced_in_memory() {
    let mut random = Random(5);
    for round in 0..if cfg!(miri) { 2 } else { 200 } {
        let count = random.next(40) + 1;
        let (mut memory, mut model) = in_memory(count, |i| i * 7 % 90);
        for _ in 0..3 {
            let mut items = Vec::new();
            for at in 0..count {
                match random.next(4) {
                    0 => items.push((at, Err(Special::Zero))),
                    1 => items.push((at, Ok(chunk(random.next(150), round as u8)))),
                    _ => {}
                }
            }
            for i in (1..items.len()).rev() {
                items.swap(i, random.next(i + 1));
            }
            let step = Step::Update(items);
            step.apply(&mut model);
            let next = step.next(&model, FrameKind::Contiguous);
            memory
                .commit(&step.change(&step.items()), &[], next.header, next.trailer)
                .unwrap();
            if round % 2 == 0 {
                let bytes = memory.whole().unwrap().to_vec().leak();
                memory = Memory::over(CowBuffer::borrow(bytes)).unwrap().0;
            }
            for (nchunk, chunk) in model.chunks.iter().enumerate() {
                assert!(&chunk_of(&memory, nchunk) == chunk, "{step:?}");
            }
        }
    }
}

#[test]
fn an_update_before_a_long_trailer_moves_few_chunks() {
    let folder = Folder::new("long-trailer");
    let path = folder.0.join("frame");
    let name = c_path(&path);
    let mut cost = Vec::new();
    for count in [80, 320] {
        let mut model = in_file(&path, count, |_| 50_000);
        let counting = Counting::default();
        let (mut disk, _) =
            Disk::open(counting.options(), &name, 0, FrameKind::Contiguous).unwrap();
        let commit = |disk: &mut Disk, model: &mut Model, step: Step| {
            step.apply(model);
            let next = step.next(model, FrameKind::Contiguous);
            disk.commit(&step.change(&step.items()), &[], next).unwrap();
        };
        let layer = Metalayer {
            name: b"long".to_vec().into(),
            content: vec![3; 1 << 20].into(),
        };
        commit(&mut disk, &mut model, Step::VlMeta(layer));
        commit(
            &mut disk,
            &mut model,
            Step::Update(vec![(0, Ok(chunk(40_000, 1)))]),
        );
        counting.take();
        commit(
            &mut disk,
            &mut model,
            Step::Update(vec![(1, Ok(chunk(30_000, 1)))]),
        );
        let [_, bytes] = counting.take();
        cost.push(bytes);
        // There are so many that holes are closed more than once.
        for i in 0..count {
            let shorter = Ok(chunk(20_000 + i % 7, 2));
            commit(
                &mut disk,
                &mut model,
                Step::Update(vec![(i * 3 % count, shorter)]),
            );
            let used = cbytes(&model) + (1 << 20);
            assert!(disk.frame_len() < used / 8 * 9 + (128 << 10), "{i}");
            if i % 40 == 0 {
                let found = content(&mut disk).unwrap();
                assert_same(&found, &model.chunks, "a long trailer");
            }
        }
        disk.close().unwrap();
        let used = cbytes(&model) + (1 << 20);
        assert!(disk.frame_len() < used + used / 100);
        let (mut disk, loaded) = Disk::open(plain(), &name, 0, FrameKind::Contiguous).unwrap();
        assert!(whole(&mut disk, loaded).unwrap() == model);
    }
    assert!(cost[1] < 2 * cost[0], "{cost:?}");
}

/// Not on Windows, where no file is kept open for the check.
#[cfg(unix)]
#[test]
fn a_frame_with_a_record_is_read_as_others_are() {
    let folder = Folder::new("record");
    let (path, copy) = (folder.0.join("frame"), folder.0.join("copy"));
    let mut costs = Vec::new();
    for count in [10_000, 40_000] {
        let before = in_file(&path, count, |_| 100);
        let mut after = before.clone();
        let step = Step::Delete(count / 2);
        step.apply(&mut after);
        // The last call of all is the truncation, which is the commit.
        for point in 0.. {
            let left = Arc::new(AtomicI64::new(point));
            std::fs::copy(&path, &copy).unwrap();
            let backend = unlucky(&left, Fate::Dies);
            let mut disk = Disk::open(backend, &c_path(&copy), 0, FrameKind::Contiguous)
                .unwrap()
                .0;
            let next = step.next(&after, FrameKind::Contiguous);
            let created = disk.commit(&step.change(&step.items()), &[], next);
            std::mem::forget(disk);
            if created.is_ok() {
                assert!(point > 1);
                break;
            }
            // In the end, `other` is the file before that last call.
            std::fs::copy(&copy, folder.0.join("other")).unwrap();
        }
        let other = folder.0.join("other");
        let counting = Counting::default();
        let bytes = std::fs::read(&other).unwrap();
        let opened = Disk::open(
            counting.options(),
            &c_path(&other),
            0,
            FrameKind::Contiguous,
        );
        let (mut disk, loaded) = opened.unwrap();
        assert!(whole(&mut disk, loaded).unwrap() == before);
        assert!(bytes.len() as u64 > disk.frame_len(), "a record");
        counting.take();
        for _ in 0..10 {
            assert!(disk.refresh().unwrap().is_none() && disk.is_current());
            assert_eq!(
                disk.currency_check().unwrap().run(),
                super::super::disk::currency::Currency::Current
            );
        }
        costs.push(counting.take());
        assert_eq!(std::fs::read(&other).unwrap(), bytes);
        // The record is removed, as if the change had been committed.
        let file = std::fs::File::options().write(true).open(&other).unwrap();
        file.set_len(disk.frame_len()).unwrap();
        assert!(!disk.is_current());
    }
    assert_eq!(costs[0], costs[1]);
    assert!(costs[0][0] < 200, "{costs:?}");
}

/// The file of a chunk in a directory may be longer than the chunk, and cost no space on the disk.
#[test]
fn a_file_that_is_longer_than_its_chunk_is_not_read_whole() {
    let folder = Folder::new("longer");
    let path = folder.0.join("frame");
    let name = c_path(&path);
    let mut model = Model::default();
    let (mut disk, _) = Disk::create(plain(), &name, &header(&model, FrameKind::Sparse)).unwrap();
    let step = Step::Append(Ok(chunk(100_000, 1)));
    step.apply(&mut model);
    let next = step.next(&model, FrameKind::Sparse);
    disk.commit(&step.change(&step.items()), &[], next).unwrap();
    drop(disk);
    let file = path.join("00000000.chunk");
    let file = std::fs::File::options().write(true).open(file).unwrap();
    file.set_len(200 << 20).unwrap();
    let counting = Counting::default();
    let (mut disk, _) = Disk::open(counting.options(), &name, 0, FrameKind::Sparse).unwrap();
    counting.take();
    let Found::Stored(stored) = disk.find(0).unwrap() else {
        panic!("it is no special chunk");
    };
    assert!(Ok(stored.whole().unwrap().to_vec()) == model.chunks[0]);
    assert!(counting.take()[1] < 1 << 20);
}

/// Uncommitted frames of the shortest length that a header can have: a search behind a frame skips
/// them, and reads each byte about once.
#[test]
fn what_is_behind_a_frame_is_read_once() {
    let mut prefix = [0; MIN_LEN];
    prefix[..10].copy_from_slice(b"\x9e\xa8b2framE\0");
    prefix[11..15].copy_from_slice(&(MIN_LEN as u32).to_be_bytes());
    prefix[16..24].copy_from_slice(&(MIN_LEN as u64).to_be_bytes());
    let folder = Folder::new("uncommitted");
    let path = folder.0.join("file");
    std::fs::write(&path, prefix.repeat(40_000)).unwrap();
    let counting = Counting::default();
    let file = counting.backend().open(&c_path(&path), Mode::Read).unwrap();
    let size = file.size().unwrap();
    counting.take();
    assert_eq!(has_frame(&*file, 0, size), Ok(false));
    assert!(counting.take()[1] < 2 * size);
}
