//! Changing, reading, opening and closing frames that are there.

use super::faults::{Class, Fault, Lasts, shim};
use super::place::{BEFORE, STORAGES, Storage, clear, copy, tree};
use super::sweep::{Sweep, Variant, Wrong, check};
use crate::changes::{CHANGES, Change, Start, make, prepare};
use oxiblosc_testing::data::Kind;
use oxiblosc_testing::maps::Opened;
use oxiblosc_testing::schunk_calls::Schunk;
use oxiblosc_testing::schunk_state::{State, read};
use std::path::PathBuf;

/// A change of a frame in a storage.
struct Case {
    change: &'static Change,
    storage: Storage,
    /// Whether another handle changes the frame first, while ours is open.
    second: bool,
    base: PathBuf,
    before: State,
    after: State,
}

/// The names of all operations.
pub fn operations() -> impl Iterator<Item = String> {
    let changes = CHANGES.iter().map(|change| change.name);
    let queries = QUERIES.iter().map(|(name, _)| *name);
    changes.chain(queries).map(str::to_owned)
}

/// All changes in all storages.
pub fn sweep(sweep: &mut Sweep) {
    let mut places = STORAGES.map(|storage| (storage, false, "")).to_vec();
    // A map is made for as long a file as it was then.
    places.push((Storage::Map, true, ", after another handle's"));
    for change in CHANGES {
        for (number, (storage, second, after)) in places.iter().copied().enumerate() {
            let name = format!("{}, {storage:?}{after}", change.name);
            let variant = Variant {
                operation: change.name,
                number,
                of: places.len(),
            };
            if !sweep.wants(&variant, &name) {
                continue;
            }
            match start(sweep, change, storage, second) {
                Ok(case) => case.sweep(sweep, &name),
                Err(wrong) => sweep.broken(&name, wrong),
            }
        }
    }
    let starts = [Start::Full, Start::Short];
    let places: Vec<_> = STORAGES
        .into_iter()
        .flat_map(|storage| starts.map(|start| (storage, start)))
        .collect();
    for (operation, query) in QUERIES {
        for (number, (storage, start)) in places.iter().copied().enumerate() {
            let name = format!("{operation} of {start:?}, {storage:?}");
            let variant = Variant {
                operation,
                number,
                of: places.len(),
            };
            if sweep.wants(&variant, &name) {
                query_sweep(sweep, &name, storage, start, *query);
            }
        }
    }
}

/// Makes the frame that trials start from.
pub fn make_base(sweep: &Sweep, storage: Storage, start: Start) -> PathBuf {
    let base = sweep.root.join("base/frame");
    clear(base.parent().expect("a folder"));
    make(sweep.lib, storage.is_contiguous(), &base, start, None);
    // Whoever locked it is gone.
    let _ = std::fs::remove_file(sweep.root.join("base/frame.b2lock"));
    if storage == Storage::Offset {
        let frame = std::fs::read(&base).expect("a file");
        std::fs::write(&base, [BEFORE, &frame].concat()).expect("a file");
    }
    base
}

fn start(
    sweep: &Sweep,
    change: &'static Change,
    storage: Storage,
    second: bool,
) -> Result<Case, String> {
    let base = make_base(sweep, storage, change.start);
    let work = sweep.work();
    copy(&base, &work);
    let s = open(sweep, change, storage, second).ok_or("it does not open")?;
    let before = read(&s);
    let rc = (change.run)(&s);
    if rc < 0 {
        return Err(format!("returns {rc}"));
    }
    let after = read(&s);
    drop(s);
    let look = sweep.look(storage, &work, &[&after]);
    look.map_err(|(kind, wrong)| format!("{kind}: {wrong}"))?;
    Ok(Case {
        change,
        storage,
        second,
        base,
        before,
        after,
    })
}

/// Opens what is in the work folder, prepared for the change; with `second`, another handle then
/// makes the frame longer.
fn open(sweep: &Sweep, change: &Change, storage: Storage, second: bool) -> Option<Opened> {
    let s = storage.open(sweep.lib, &sweep.work())?;
    prepare(&s, change.start);
    // What a handle reads once, it reads before the call that counts.
    let _ = read(&s);
    if second {
        let other = storage.open(sweep.lib, &sweep.work())?;
        let rc = other.vlmeta_add(c"of another", &Kind::Random.bytes(3000, 11));
        assert!(rc >= 0, "another handle: {rc}");
        drop(other);
        // Fields are as of the last call.
        let rc = s.refresh();
        assert!(rc >= 0, "refreshing: {rc}");
    }
    Some(s)
}

impl Case {
    /// A copy of the frame, opened and prepared.
    fn open(&self, sweep: &Sweep) -> Opened {
        copy(&self.base, &sweep.work());
        open(sweep, self.change, self.storage, self.second).expect("it opened before")
    }

    fn sweep(&self, sweep: &mut Sweep, name: &str) {
        let s = self.open(sweep);
        let (_, making) = shim().faults(&sweep.root, || (self.change.run)(&s));
        let ((), closing) = shim().faults(&sweep.root, || drop(s));
        sweep.run(name, &making, |sweep, fault| self.changes(sweep, fault));
        let name = format!("closing after {name}");
        sweep.run(&name, &closing, |sweep, fault| self.closes(sweep, fault));
    }

    fn changes(&self, sweep: &mut Sweep, fault: &Fault) -> Result<(), Wrong> {
        let (before, after) = (&self.before, &self.after);
        let s = self.open(sweep);
        let fields = s.fields();
        let rc = shim().failing(&sweep.root, fault, || (self.change.run)(&s));
        check(rc >= 0 || !fault.is_harmless(), "not gone on with", || {
            format!("returns {rc}")
        })?;
        if rc < 0 && fault.is_of_everything() {
            return self.outlives(sweep, s, fault);
        }
        let (is, is_not) = if rc < 0 {
            (before, after)
        } else {
            (after, before)
        };
        let said = |(kind, wrong): Wrong| (kind, format!("returns {rc}; {wrong}"));
        // A change that could not be undone is undone by the next call.
        let _ = s.refresh();
        let shown = read(&s);
        check(shown == *is, "bad handle", || {
            format!("returns {rc}; the handle shows something else")
        })?;
        self.look(sweep, is, is_not).map_err(said)?;
        if rc < 0 {
            let mut now = s.fields();
            now.current_nchunk = fields.current_nchunk;
            let differences = now.differences(&fields);
            // Whoever read the frame again has noted that.
            let only_the_tick = differences
                .iter()
                .all(|field| field.starts_with("change_tick"));
            check(only_the_tick, "bad handle", || {
                format!("returns {rc}; {}", differences.join(", "))
            })?;
            let again = (self.change.run)(&s);
            check(again >= 0, "bad handle", || {
                format!("returns {rc}, and {again} when made again")
            })?;
            check(read(&s) == *after, "bad handle", || {
                format!("returns {rc}; made again the handle shows something else")
            })?;
        }
        drop(s);
        self.look(sweep, after, before)
            .map_err(|(kind, wrong)| (kind, format!("returns {rc}; closed, {wrong}")))
    }

    /// A change met a disk that took nothing any more, and said so: the frame is as before once
    /// that is over. Only where the sync of the commit was the first call that failed it may be as
    /// after: to take back what others can see already is a change, too.
    fn outlives(&self, sweep: &mut Sweep, s: Opened, fault: &Fault) -> Result<(), Wrong> {
        let (work, both) = (sweep.work(), [&self.before, &self.after]);
        let states = &both[..if fault.class == Class::Sync { 2 } else { 1 }];
        sweep.look_ours(self.storage, &work, states)?;
        // What the program sees of the number of chunks is as of the last call.
        let rc = s.refresh();
        check(rc >= 0, "bad handle", || format!("refreshing: {rc}"))?;
        let shown = read(&s);
        check(states.contains(&&shown), "bad handle", || {
            "the handle shows neither what was nor what was to be".to_owned()
        })?;
        if shown == self.after {
            sweep
                .report
                .note("the last sync failed, and nothing could be taken back");
        }
        drop(s);
        self.lives_on(sweep, &shown)
    }

    /// Our library finds this state, and whoever changes the frame next puts it in order for all.
    fn lives_on(&self, sweep: &Sweep, is: &State) -> Result<(), Wrong> {
        let work = sweep.work();
        sweep.look_ours(self.storage, &work, &[is])?;
        let s = self.storage.open(sweep.lib, &work);
        let s = s.ok_or(("corrupt", "it does not open".to_owned()))?;
        let rc = s.vlmeta_add(c"afterwards", b"alive");
        check(rc >= 0, "bad handle", || format!("changed again: {rc}"))?;
        let now = read(&s);
        drop(s);
        sweep.look(self.storage, &work, &[&now])
    }

    fn look(&self, sweep: &Sweep, is: &State, is_not: &State) -> Result<(), Wrong> {
        let work = sweep.work();
        match sweep.look(self.storage, &work, &[is]) {
            Err(("wrong", wrong)) => {
                let kind = match sweep.look(self.storage, &work, &[is_not]) {
                    Ok(()) => "wrong code",
                    Err(_) => "corrupt",
                };
                Err((kind, wrong))
            }
            looked => looked,
        }
    }

    fn closes(&self, sweep: &Sweep, fault: &Fault) -> Result<(), Wrong> {
        let s = self.open(sweep);
        let rc = (self.change.run)(&s);
        check(rc >= 0, "without a fault", || format!("returns {rc}"))?;
        shim().failing(&sweep.root, fault, || drop(s));
        match fault.lasts {
            Lasts::Once => self.look(sweep, &self.after, &self.before),
            // What was begun could not be undone, and nobody is left who would.
            Lasts::Class | Lasts::All => self.lives_on(sweep, &self.after),
        }
    }
}

/// What can be asked for; an error where it cannot be had.
type Query = fn(&Schunk) -> Result<Vec<u8>, i64>;

const QUERIES: &[(&str, Query)] = &[
    ("chunks", |s| {
        let mut all = Vec::new();
        for (at, chunk) in read(s).chunks.into_iter().enumerate() {
            all.extend(chunk?);
            let given = s.get_chunk(at as i64);
            if given.rc < 0 {
                return Err(given.rc);
            }
            all.extend(given.bytes);
        }
        Ok(all)
    }),
    ("metalayers", |s| {
        let (rc, names) = s.vlmeta_names();
        if rc < 0 {
            return Err(rc);
        }
        let mut all = names.concat();
        for layer in read(s).vlmeta {
            all.extend(layer.1?);
        }
        Ok(all)
    }),
    ("slice", |s| {
        let items = (s.get().nbytes / 8).min(1200);
        let mut bytes = vec![0; items as usize * 8];
        match s.get_slice(0, items, &mut bytes) {
            rc if rc < 0 => Err(rc),
            _ => Ok(bytes),
        }
    }),
    ("buffer", |s| match s.to_buffer() {
        (rc, _) if rc < 0 => Err(rc),
        (_, frame) => Ok(frame),
    }),
    ("copy in memory", |s| {
        let copy = s.copy(false, None, None).ok_or(-1)?;
        let chunks = read(&copy).chunks.into_iter();
        chunks
            .collect::<Result<Vec<_>, _>>()
            .map(|all| all.concat())
    }),
    ("refreshing", |s| match s.refresh() {
        rc if rc < 0 => Err(rc),
        _ => Ok(Vec::new()),
    }),
];

/// Opening a frame and asking for something, while calls fail: either that is had, or an error.
fn query_sweep(sweep: &mut Sweep, name: &str, storage: Storage, start: Start, query: Query) {
    let base = make_base(sweep, storage, start);
    let work = sweep.work();
    copy(&base, &work);
    let lib = sweep.lib;
    let opened = || storage.open(lib, &work);
    let Some(s) = opened() else {
        return sweep.broken(name, "it does not open");
    };
    let state = read(&s);
    let expected = match query(&s) {
        Ok(expected) => expected,
        Err(rc) => return sweep.broken(name, rc),
    };
    drop(s);
    let ask = || {
        opened()
            .ok_or(None)
            .and_then(|s| query(&s).map_err(|_| Some(s)))
    };
    let (_, faults) = shim().faults(&sweep.root, ask);
    let before = tree(&sweep.root.join("work"));
    sweep.run(name, &faults, |sweep, fault| {
        let s = match shim().failing(&sweep.root, fault, ask) {
            Ok(found) => {
                check(found == expected, "wrong", || "another answer".to_owned())?;
                opened()
            }
            Err(_) if fault.is_harmless() => {
                return Err(("not gone on with", "an error".to_owned()));
            }
            Err(Some(s)) => Some(s),
            Err(None) => opened(),
        };
        let s = s.ok_or(("corrupt", "it does not open any more".to_owned()))?;
        check(read(&s) == state, "bad handle", || {
            "the handle shows something else".to_owned()
        })?;
        check(query(&s) == Ok(expected.clone()), "bad handle", || {
            "another answer of the same handle".to_owned()
        })?;
        drop(s);
        let changed = super::place::changed(&before, &tree(&sweep.root.join("work")));
        check(changed.is_empty(), "a reader writes", || changed.join(", "))
    });
}
