//! Calls on a handle that has to read its frame again, since another handle has changed it, while
//! calls to the system fail. Afterwards the handle and the frame are as the other handle left them,
//! or as the call was to make them.

use super::faults::{Class, Fault, shim};
use super::frames::make_base;
use super::place::{STORAGES, Storage, copy};
use super::sweep::{Sweep, Variant, Wrong, check};
use crate::changes::Start;
use oxiblosc_testing::b2nd::{Array, our_arrays};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use std::mem::ManuallyDrop;
use std::path::PathBuf;

/// Bytes of an item, and of a chunk of a frame that is no array.
const ITEM: usize = 8;
const CHUNK: usize = 4000;

/// A handle of a super-chunk or of an array.
struct Held {
    s: Opened,
    /// It is never dropped, as that would free the super-chunk.
    array: Option<ManuallyDrop<Array>>,
}

/// What a handle shows: chunks and metalayers, and the shape and the items of an array.
#[derive(PartialEq)]
struct Shown {
    state: State,
    array: Option<(Vec<i64>, Vec<u8>)>,
}

/// What is called: it gives what was asked for, or an error.
type Run = fn(&Held) -> Result<Vec<u8>, i64>;

struct Operation {
    name: &'static str,
    start: Start,
    run: Run,
}

const fn of_frame(name: &'static str, run: Run) -> Operation {
    let start = Start::Full;
    Operation { name, start, run }
}

const fn of_array(name: &'static str, run: Run) -> Operation {
    let start = Start::Array;
    Operation { name, start, run }
}

fn data(seed: u64, nbytes: usize) -> Vec<u8> {
    Kind::Random.bytes(nbytes, seed)
}

/// The result of a call that gives nothing but a code.
fn code(rc: impl Into<i64>) -> Result<Vec<u8>, i64> {
    match rc.into() {
        rc if rc < 0 => Err(rc),
        _ => Ok(Vec::new()),
    }
}

/// What a call has written into a buffer of this size.
fn filled(nbytes: usize, call: impl FnOnce(&mut [u8]) -> i64) -> Result<Vec<u8>, i64> {
    let mut bytes = vec![0; nbytes];
    code(call(&mut bytes)).map(|_| bytes)
}

const OPERATIONS: &[Operation] = &[
    of_frame("read a chunk", |h| {
        filled(CHUNK, |bytes| h.s.decompress_chunk(0, bytes))
    }),
    of_frame("read a slice", |h| {
        filled(1200 * ITEM, |bytes| h.s.get_slice(100, 1300, bytes))
    }),
    of_frame("read items", |h| {
        filled(3 * ITEM, |bytes| h.s.get_sparse(&[2100, 7, 1200], bytes))
    }),
    of_frame("read a metalayer", |h| match h.s.vlmeta_get(c"another") {
        (rc, _) if rc < 0 => Err(rc),
        (_, content) => Ok(content),
    }),
    of_frame("copy into a buffer", |h| match h.s.to_buffer() {
        (rc, _) if rc < 0 => Err(rc),
        (_, frame) => Ok(frame),
    }),
    of_frame("refresh", |h| code(h.s.refresh())),
    of_frame("append", |h| code(append(&h.s))),
    of_frame("write a slice", |h| {
        code(h.s.set_slice(300, 1200, &data(2, 900 * ITEM)))
    }),
    of_frame("delete a chunk", |h| code(h.s.delete_chunk(1))),
    of_frame("add a metalayer", |h| {
        code(h.s.vlmeta_add(c"third", &data(3, 500)))
    }),
    of_frame("update a metalayer", |h| {
        code(h.s.meta_update(c"fixed", b"TWENTY BYTES CONTENT"))
    }),
    of_array("read a slice of an array", |h| {
        let (start, stop, shape) = ([45, 20], [65, 55], [20, 35]);
        filled(20 * 35 * ITEM, |bytes| {
            h.array().get(&start, &stop, &shape, bytes).into()
        })
    }),
    of_array("read items of an array", |h| {
        filled(3 * ITEM, |bytes| {
            h.array()
                .get_sparse(&[69 * 60, 7, 50 * 60 + 1], bytes)
                .into()
        })
    }),
    of_array("read picked items of an array", |h| {
        let lists = [vec![69, 1], vec![59, 3, 26]];
        filled(6 * ITEM, |bytes| h.array().get_picked(&lists, bytes).into())
    }),
    of_array("refresh an array", |h| code(h.array().refresh())),
    of_array("write an item of an array", |h| {
        code(h.array().set(&[69, 26], &[70, 27], &[1, 1], &data(2, ITEM)))
    }),
    of_array("write a slice of an array", |h| {
        let (start, stop, shape) = ([3, 10], [65, 55], [62, 45]);
        code(
            h.array()
                .set(&start, &stop, &shape, &data(3, 62 * 45 * ITEM)),
        )
    }),
    of_array("write picked items of an array", |h| {
        let lists = [vec![1, 20, 69], vec![59, 3, 26, 27]];
        code(h.array().set_picked(&lists, &data(4, 12 * ITEM)))
    }),
    of_array("grow an array", |h| code(h.array().resize(&[90, 80], None))),
    of_array("shrink an array", |h| {
        code(h.array().resize(&[15, 60], None))
    }),
    of_array("append to an array", |h| {
        code(h.array().append(0, &data(6, 13 * 60 * ITEM)))
    }),
    of_array("insert into an array", |h| {
        code(h.array().insert(1, 25, &data(6, 70 * 25 * ITEM)))
    }),
    of_array("delete from an array", |h| {
        code(h.array().delete(0, 60, 10))
    }),
];

fn append(s: &Schunk) -> i64 {
    s.append_buffer(&data(10, CHUNK), CHUNK as i32)
}

impl Operation {
    fn title(&self) -> String {
        format!("following: {}", self.name)
    }
}

impl Held {
    fn open(sweep: &Sweep, storage: Storage, start: Start) -> Option<Self> {
        let s = storage.open(sweep.lib, &sweep.work())?;
        let array = match start {
            // SAFETY: a super-chunk of our library.
            Start::Array => Some(ManuallyDrop::new(
                unsafe { our_arrays().adopt(s.raw) }.ok()?,
            )),
            _ => None,
        };
        Some(Held { s, array })
    }

    fn array(&self) -> &Array {
        self.array.as_ref().expect("an array")
    }

    fn shown(&self) -> Result<Shown, i64> {
        code(self.s.refresh())?;
        let array = match &self.array {
            Some(array) => {
                code(array.refresh())?;
                Some((array.shape(), array.to_buffer()?))
            }
            None => None,
        };
        let state = read(&self.s);
        Ok(Shown { state, array })
    }

    /// The change of the other handle, after which all chunks and the index lie elsewhere.
    fn change(&self) -> Result<(), i64> {
        match &self.array {
            Some(array) => {
                code(array.resize(&[70, 60], None))?;
                let (start, stop, shape) = ([48, 0], [70, 60], [22, 60]);
                code(array.set(&start, &stop, &shape, &data(8, 22 * 60 * ITEM)))?;
            }
            None => drop(code(self.s.delete_chunk(0))?),
        }
        code(self.s.vlmeta_add(c"another", &data(9, 700))).map(drop)
    }
}

/// The names of all operations.
pub fn operations() -> impl Iterator<Item = String> {
    OPERATIONS.iter().map(Operation::title)
}

/// All operations in all storages.
pub fn sweep(sweep: &mut Sweep) {
    for operation in OPERATIONS {
        for (number, storage) in STORAGES.into_iter().enumerate() {
            let title = operation.title();
            let name = format!("{title}, {storage:?}");
            let variant = Variant {
                operation: &title,
                number,
                of: STORAGES.len(),
            };
            if !sweep.wants(&variant, &name) {
                continue;
            }
            match Case::new(sweep, operation, storage) {
                Ok(case) => case.sweep(sweep, &name),
                Err(wrong) => sweep.broken(&name, wrong),
            }
        }
    }
}

/// An operation in a storage.
struct Case {
    operation: &'static Operation,
    storage: Storage,
    base: PathBuf,
    /// What the call gives.
    answer: Vec<u8>,
    /// As the other handle has left it.
    before: Shown,
    after: Shown,
}

impl Case {
    fn new(sweep: &Sweep, operation: &'static Operation, storage: Storage) -> Result<Self, String> {
        let base = make_base(sweep, storage, operation.start);
        let own = open(sweep, &base, operation, storage)?;
        let said = |rc| format!("returns {rc}");
        let fresh = Held::open(sweep, storage, operation.start).ok_or("it does not open")?;
        let before = fresh.shown().map_err(said)?;
        drop(fresh);
        let answer = (operation.run)(&own).map_err(said)?;
        let after = own.shown().map_err(said)?;
        drop(own);
        let look = sweep.look(storage, &sweep.work(), &[&after.state]);
        look.map_err(|(kind, wrong)| format!("{kind}: {wrong}"))?;
        Ok(Self {
            operation,
            storage,
            base,
            answer,
            before,
            after,
        })
    }

    fn open(&self, sweep: &Sweep) -> Held {
        open(sweep, &self.base, self.operation, self.storage).expect("it opened before")
    }

    fn sweep(&self, sweep: &mut Sweep, name: &str) {
        let own = self.open(sweep);
        let (_, faults) = shim().faults(&sweep.root, || (self.operation.run)(&own));
        drop(own);
        sweep.run(name, &faults, |sweep, fault| self.trial(sweep, fault));
    }

    fn trial(&self, sweep: &mut Sweep, fault: &Fault) -> Result<(), Wrong> {
        let own = self.open(sweep);
        let run = self.operation.run;
        let done = shim().failing(&sweep.root, fault, || run(&own));
        let rc = done.as_ref().err().copied().unwrap_or(0);
        check(
            done.is_ok() || !fault.is_harmless(),
            "not gone on with",
            || format!("returns {rc}"),
        )?;
        if done.is_err() && fault.is_of_everything() {
            return self.outlives(sweep, own, fault);
        }
        let is = match &done {
            Ok(_) => &self.after,
            Err(_) => &self.before,
        };
        if let Ok(answer) = &done {
            check(*answer == self.answer, "wrong", || {
                "another answer".to_owned()
            })?;
        }
        let said = |(kind, wrong): Wrong| (kind, format!("returns {rc}; {wrong}"));
        let work = sweep.work();
        // A change that could not be undone is undone by the next call.
        self.shows(&own, &[is]).map_err(said)?;
        sweep
            .look(self.storage, &work, &[&is.state])
            .map_err(said)?;
        if done.is_err() {
            let again = run(&own);
            check(again.as_ref() == Ok(&self.answer), "bad handle", || {
                format!("returns {rc}; made again {:?}", again.err())
            })?;
            self.shows(&own, &[&self.after]).map_err(said)?;
        }
        drop(own);
        sweep
            .look(self.storage, &work, &[&self.after.state])
            .map_err(|(kind, wrong)| (kind, format!("returns {rc}; closed, {wrong}")))
    }

    /// The handle shows one of these.
    fn shows(&self, held: &Held, expected: &[&Shown]) -> Result<Shown, Wrong> {
        let shown = held.shown();
        let shown = shown.map_err(|rc| ("bad handle", format!("it shows nothing: {rc}")))?;
        check(expected.contains(&&shown), "bad handle", || {
            "it shows something else".to_owned()
        })?;
        Ok(shown)
    }

    /// As in `frames.rs`: the disk took nothing any more.
    fn outlives(&self, sweep: &Sweep, own: Held, fault: &Fault) -> Result<(), Wrong> {
        let (work, both) = (sweep.work(), [&self.before, &self.after]);
        let expected = &both[..if fault.class == Class::Sync { 2 } else { 1 }];
        let states: Vec<&State> = expected.iter().map(|shown| &shown.state).collect();
        sweep.look_ours(self.storage, &work, &states)?;
        let shown = self.shows(&own, expected)?;
        drop(own);
        sweep.look_ours(self.storage, &work, &[&shown.state])?;
        let next = self.storage.open(sweep.lib, &work);
        let next = next.ok_or(("corrupt", "it does not open".to_owned()))?;
        let rc = next.vlmeta_add(c"afterwards", b"alive");
        check(rc >= 0, "bad handle", || format!("changed again: {rc}"))?;
        let now = read(&next);
        drop(next);
        sweep.look(self.storage, &work, &[&now])
    }
}

/// A copy of the frame, open, and changed by another handle since it was read.
fn open(
    sweep: &Sweep,
    base: &std::path::Path,
    operation: &Operation,
    storage: Storage,
) -> Result<Held, String> {
    copy(base, &sweep.work());
    let open = || Held::open(sweep, storage, operation.start).ok_or("it does not open");
    let own = open()?;
    let said = |rc| format!("another handle: {rc}");
    own.shown().map_err(said)?;
    open()?.change().map_err(said)?;
    Ok(own)
}
