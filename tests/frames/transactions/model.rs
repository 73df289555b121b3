//! Random changes in a transaction, beside the same changes without one.

use crate::transactions::place::{Storage, TYPESIZE, create, create_array, data, len_on_disk, lib};
use oxiblosc_testing::abi::CParams;
use oxiblosc_testing::b2nd::Array;
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::folder::Folder;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, reference_schunks};
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use std::ffi::CString;
use std::mem::ManuallyDrop;
use std::path::{Path, PathBuf};

/// Bytes of a chunk's data: frames of such chunks are small, or grow large.
const SIZES: [usize; 2] = [4000, 160_000];

/// A change, with what it needs.
#[derive(Clone, Debug)]
enum Op {
    AppendBuffer(Vec<u8>),
    AppendChunk(Vec<u8>),
    Insert(i64, Vec<u8>),
    Update(i64, Vec<u8>),
    Delete(i64),
    Reorder(Vec<i64>),
    SetSlice(i64, Vec<u8>),
    Fill(i64, i32),
    MetaAdd(CString, Vec<u8>),
    MetaUpdate(CString, Vec<u8>),
    VlAdd(CString, Vec<u8>),
    VlUpdate(CString, Vec<u8>),
    VlDelete(CString),
    Checksums,
    Resize(Vec<i64>, Option<Vec<i64>>),
    ArraySet([i64; 2], [i64; 2], Vec<u8>),
    ArrayAppend(i8, Vec<u8>),
    ArrayInsert(i8, i64, Vec<u8>),
    ArrayDelete(i8, i64, i64),
}

fn name(rng: &mut Rng) -> CString {
    let names = ["one", "two", "three", "b", "with a longer name"];
    CString::new(rng.pick(&names)).expect("no NUL")
}

fn chunk(rng: &mut Rng, nbytes: usize) -> Vec<u8> {
    let cparams = CParams {
        typesize: TYPESIZE as i32,
        blocksize: 1000,
        ..Default::default()
    };
    let bytes = data(rng, nbytes);
    let (rc, chunk) = lib().lib.compress(&cparams, &bytes);
    assert!(rc > 0, "{rc}");
    chunk
}

/// Any change of a super-chunk that is like this one now; some of them cannot be made.
fn any(rng: &mut Rng, s: &Schunk, size: usize) -> Op {
    let (nchunks, nbytes) = (s.get().nchunks, s.get().nbytes);
    let place = |rng: &mut Rng| rng.below(nchunks as usize + 1) as i64;
    // Mostly as long as the others.
    let len = match rng.below(12) {
        0 => size / 2,
        1 => size * 2,
        _ => size,
    };
    match rng.below(20) {
        0..=2 => Op::AppendBuffer(data(rng, len)),
        3 => Op::AppendChunk(chunk(rng, len)),
        4 | 5 => Op::Insert(place(rng), chunk(rng, len)),
        6..=8 => Op::Update(place(rng), chunk(rng, len)),
        9 => Op::Delete(place(rng)),
        10 => {
            let mut order: Vec<i64> = (0..nchunks).collect();
            for i in 1..order.len() {
                order.swap(i, rng.below(i + 1));
            }
            Op::Reorder(order)
        }
        11..=13 => {
            let items = nbytes as usize / TYPESIZE;
            let start = rng.below(items + 1);
            let len = rng.pick(&[1, 100, 2 * size / TYPESIZE]).min(items - start);
            Op::SetSlice(start as i64, data(rng, len * TYPESIZE))
        }
        14 => Op::MetaUpdate(name(rng), data(rng, 20)),
        15 => Op::MetaAdd(name(rng), data(rng, 20)),
        16 => Op::VlAdd(name(rng), data(rng, 500)),
        17 => Op::VlUpdate(name(rng), data(rng, 900)),
        18 => Op::VlDelete(name(rng)),
        _ if rng.below(8) == 0 => Op::Checksums,
        _ => Op::Fill(10 * size as i64 / TYPESIZE as i64, size as i32),
    }
}

/// Any change of an array.
fn any_of_array(rng: &mut Rng, a: &Array) -> Op {
    let shape = a.shape();
    let axis = rng.below(2);
    let len = rng.pick(&[1, 13, 20, 25, 50]);
    let other = shape[1 - axis];
    let items = |rng: &mut Rng, n: i64| data(rng, n as usize * TYPESIZE);
    match rng.below(8) {
        0 => Op::Resize(vec![1 + rng.below(90) as i64, rng.below(100) as i64], None),
        1 => {
            let mut longer = shape.clone();
            longer[axis] += [20, 25][axis];
            let mut start = vec![0, 0];
            start[axis] = [20, 25][axis] * rng.below(3) as i64;
            Op::Resize(longer, Some(start))
        }
        2 => Op::ArrayAppend(axis as i8, items(rng, len * other)),
        3 => Op::ArrayInsert(axis as i8, rng.below(60) as i64, items(rng, len * other)),
        4 => Op::ArrayDelete(axis as i8, rng.below(60) as i64, len),
        5 => Op::VlAdd(name(rng), data(rng, 500)),
        _ => {
            let start = [0, 1].map(|d| rng.below(shape[d] as usize) as i64);
            let stop =
                [0, 1].map(|d| start[d] + rng.below((shape[d] - start[d]) as usize + 1) as i64);
            let nitems = (stop[0] - start[0]).max(0) * (stop[1] - start[1]).max(0);
            Op::ArraySet(start, stop, items(rng, nitems))
        }
    }
}

/// A super-chunk, which an array may be.
struct Subject {
    s: ManuallyDrop<Schunk>,
    array: Option<Array>,
    path: PathBuf,
    storage: Storage,
}

impl Drop for Subject {
    fn drop(&mut self) {
        if self.array.take().is_none() {
            // SAFETY: not used any more.
            unsafe { ManuallyDrop::drop(&mut self.s) };
        }
    }
}

impl Subject {
    fn new(storage: Storage, path: &Path, is_array: bool) -> Self {
        let (s, array) = if is_array {
            let array = create_array(storage, path);
            let raw = array.fields().sc;
            (Schunk { lib: lib(), raw }, Some(array))
        } else {
            (create(storage, path), None)
        };
        Self {
            s: ManuallyDrop::new(s),
            array,
            path: path.to_owned(),
            storage,
        }
    }

    fn make(&self, op: &Op) -> i64 {
        let s = &self.s;
        let array = || self.array.as_ref().expect("an array");
        match op {
            Op::AppendBuffer(data) => s.append_buffer(data, data.len() as i32),
            Op::AppendChunk(chunk) => s.append_chunk(chunk, true),
            Op::Insert(at, chunk) => s.insert_chunk(*at, chunk, true),
            Op::Update(at, chunk) => s.update_chunk(*at, chunk, true),
            Op::Delete(at) => s.delete_chunk(*at),
            Op::Reorder(order) => s.reorder(order),
            Op::SetSlice(at, data) => s.set_slice(*at, at + (data.len() / TYPESIZE) as i64, data),
            Op::Fill(items, size) => s.fill_special(*items, 1, *size),
            Op::MetaAdd(name, content) => s.meta_add(name, content),
            Op::MetaUpdate(name, content) => s.meta_update(name, content),
            Op::VlAdd(name, content) => s.vlmeta_add(name, content),
            Op::VlUpdate(name, content) => s.vlmeta_update(name, content),
            Op::VlDelete(name) => s.vlmeta_delete(name),
            Op::Checksums => s.add_checksums(),
            Op::Resize(shape, start) => array().resize(shape, start.as_deref()).into(),
            Op::ArraySet(start, stop, items) => {
                let shape = [stop[0] - start[0], stop[1] - start[1]];
                array().set(start, stop, &shape, items).into()
            }
            Op::ArrayAppend(axis, items) => array().append(*axis, items).into(),
            Op::ArrayInsert(axis, at, items) => array().insert(*axis, *at, items).into(),
            Op::ArrayDelete(axis, at, len) => array().delete(*axis, *at, *len).into(),
        }
    }

    fn any(&self, rng: &mut Rng, size: usize) -> Op {
        match &self.array {
            Some(array) => any_of_array(rng, array),
            None => any(rng, &self.s, size),
        }
    }

    /// What the handle shows.
    fn look(&self) -> Snapshot {
        let items = self.array.as_ref().map(|array| {
            // The shape follows at the next call.
            assert!(array.refresh() >= 0);
            (array.shape(), array.to_buffer())
        });
        let fields = self.s.fields();
        Snapshot {
            state: read(&self.s),
            numbers: (fields.nchunks, fields.nbytes, fields.chunksize),
            layers: (fields.nmetalayers, fields.nvlmetalayers),
            items,
        }
    }

    /// What others find at the path. There are frames that the reference does not open.
    fn others_find(&self) -> Vec<Option<State>> {
        let libraries = [Some(lib()), reference_schunks()].into_iter().flatten();
        let libraries = libraries.filter(|_| self.storage.is_on_disk());
        libraries
            .map(|lib: &'static SchunkLib| lib.open_path(&self.path).map(|s| read(&s)))
            .collect()
    }
}

/// The shape of an array, and its items.
type Items = (Vec<i64>, Result<Vec<u8>, i32>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Snapshot {
    state: State,
    numbers: (i64, i64, i32),
    layers: (u16, i16),
    items: Option<Items>,
}

/// One sequence: transactions in one super-chunk, each committed or abandoned, and the same changes
/// in another.
fn sequence(report: &mut Report, storage: Storage, is_array: bool, seed: u64, folder: &Path) {
    let rng = &mut Rng(seed);
    let size = SIZES[usize::from(rng.below(6) == 0)];
    let which = format!("{storage:?}, array: {is_array}, seed {seed}");
    let (one, two) = (folder.join("one"), folder.join("two"));
    let ours = Subject::new(storage, &one, is_array);
    let twin = Subject::new(storage, &two, is_array);
    for step in 0..rng.below(30) {
        let op = twin.any(rng, size);
        report.check(ours.make(&op) == twin.make(&op), "before", || {
            format!("{which}, {step}")
        });
    }
    for round in 0..3 {
        report.case();
        let which = |what: &str| format!("{which}, round {round}: {what}");
        let before = ours.look();
        let found = ours.others_find();
        assert_eq!(ours.s.begin(), 0, "{}", which("begin"));
        let abandons = rng.below(3) == 0;
        // What is abandoned is not made in the other one, so its results are not known.
        for _ in 0..rng.below(12) {
            let op = ours.any(rng, size);
            let rc = ours.make(&op);
            if !abandons {
                let expected = twin.make(&op);
                report.check(rc == expected, "another code", || {
                    which(
                        &format!("{rc} for {expected}: {op:?}")
                            .chars()
                            .take(200)
                            .collect::<String>(),
                    )
                });
            }
        }
        report.check(ours.others_find() == found, "seen too early", || which(""));
        if abandons {
            report.check(ours.s.abandon() == 0, "abandon", || which(""));
            report.check(ours.look() == before, "not abandoned", || which(""));
        } else {
            let expected = twin.look();
            report.check(ours.look() == expected, "not staged", || which(""));
            let rc = ours.s.commit();
            report.check(rc == 0, "commit", || which(&format!("returns {rc}")));
            report.check(ours.look() == expected, "not committed", || which(""));
        }
        let expected = twin.others_find();
        report.check(ours.others_find() == expected, "others see", || which(""));
    }
    let (len, twin_len) = (ours.s.to_buffer().0, twin.s.to_buffer().0);
    // Chunks may lie in another order, which makes the index a bit longer.
    let most = twin_len + twin_len / 100 + 32;
    report.check(0 < len && len <= most, "longer as a buffer", || {
        format!("{which}: {len} for {twin_len}")
    });
    let expected = twin.look().state;
    drop((ours, twin));
    if storage.is_on_disk() {
        let (len, twin_len) = (len_on_disk(&one), len_on_disk(&two));
        report.check(len <= twin_len + twin_len / 100, "longer", || {
            format!("{which}: {len} for {twin_len}")
        });
        report.check(
            lib().open_path(&one).map(|s| read(&s)) == Some(expected),
            "closed",
            || which,
        );
    }
}

#[test]
fn a_transaction_is_its_changes_or_none() {
    let rounds: u64 = match std::env::var("OXIBLOSC_ROUNDS") {
        Ok(rounds) => rounds.parse().expect("a number"),
        Err(_) => 60,
    };
    let folder = Folder::new("transactions");
    let mut report = Report::default();
    for seed in 0..rounds {
        for storage in Storage::ALL {
            for is_array in [false, true] {
                let place = folder.join("sequence");
                let _ = std::fs::remove_dir_all(&place);
                std::fs::create_dir(&place).expect("a folder");
                sequence(&mut report, storage, is_array, seed, &place);
            }
        }
    }
    report.finish("transactions");
}
