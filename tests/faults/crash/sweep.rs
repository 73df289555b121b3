//! Every change, every call of it, every way for it to fail.

use super::child::{Act, End, STORAGES, Storage, make_change, start, with_shim};
use crate::changes::{CHANGES, Change, make, prepare};
use oxiblosc_testing::isolated::isolated;
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks, reference_schunks};
use oxiblosc_testing::schunk_state::{State, read};
use oxiblosc_testing::test_name;
use std::path::{Path, PathBuf};

/// A copy of a file or of a folder of files.
fn copy(from: &Path, to: &Path) {
    let parent = to.parent().expect("a path in a folder");
    let _ = std::fs::remove_dir_all(parent);
    std::fs::create_dir_all(parent).expect("a folder");
    if from.is_file() {
        std::fs::copy(from, to).expect("a file that can be copied");
        return;
    }
    std::fs::create_dir(to).expect("a folder");
    for entry in from
        .read_dir()
        .expect("a folder that can be listed")
        .flatten()
    {
        std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a file that can be copied");
    }
}

/// Where a change is cut short, by turns, if not everywhere: in a file and in a directory.
const SAMPLE: [[Storage; 2]; 3] = [
    [Storage::File, Storage::CarefulDirectory],
    [Storage::Map, Storage::Directory],
    [Storage::CarefulFile, Storage::Directory],
];

struct Case<'a> {
    /// Whether every call is cut short in every way, or by turns in one of two.
    whole: bool,
    lib: &'static SchunkLib,
    reference: Option<&'static SchunkLib>,
    change: &'a Change,
    storage: Storage,
    base: PathBuf,
    work: PathBuf,
    before: State,
    after: State,
}

impl Case<'_> {
    fn which(&self, act: Act, at: usize) -> String {
        let (name, storage) = (self.change.name, self.storage);
        format!("{name} ({storage:?}), {act:?} at call {at}")
    }

    fn takes(&self, act: Act, at: usize) -> bool {
        let turn = at + act as usize + self.storage as usize;
        self.whole || turn.is_multiple_of(2)
    }

    fn start(&self, act: Act, at: usize) -> End {
        copy(&self.base, &self.work);
        start(|| make_change(self.change, self.storage, at, act, &self.work))
    }

    /// Opens what was left by a process that goes on, and looks at it through both libraries.
    fn look(&self, states: &[&State]) -> Result<(), String> {
        let state = self.look_ours(states)?;
        let Some(reference) = self.reference else {
            return Ok(());
        };
        let seen = self
            .read_by(reference, states)
            .map_err(|e| format!("the reference: {e}"))?;
        match seen == state {
            true => Ok(()),
            false => Err("the reference sees another state".into()),
        }
    }

    /// Opens what was left. The reference does not know the record of a change that was cut short,
    /// and a handle of ours that only reads leaves it there.
    fn look_ours(&self, states: &[&State]) -> Result<State, String> {
        self.read_by(self.lib, states)
    }

    fn read_by(&self, lib: &'static SchunkLib, states: &[&State]) -> Result<State, String> {
        let s = lib.open_path(&self.work).ok_or("it does not open")?;
        let state = read(&s);
        if !states.contains(&&state) {
            return Err(difference(&state, states));
        }
        Ok(state)
    }

    /// The frame goes on living: it takes the change, or another one.
    fn live_on(&self) -> Result<(), String> {
        let Some(s) = self.lib.open_path(&self.work) else {
            return Err("it does not open".into());
        };
        let before = read(&s);
        let rc = s.vlmeta_add(c"afterwards", b"alive");
        if rc < 0 {
            return Err(format!("it takes no metalayer any more: {rc}"));
        }
        // No longer than its chunks are.
        let data = vec![3; s.get().chunksize.clamp(8, 4000) as usize];
        let rc = s.append_buffer(&data, data.len() as i32);
        if rc < 0 {
            return Err(format!("it takes no chunk any more: {rc}"));
        }
        drop(s);
        for lib in [Some(self.lib), self.reference].into_iter().flatten() {
            let name = lib.lib.name;
            let s = lib
                .open_path(&self.work)
                .ok_or(format!("{name}: it does not open again"))?;
            let mut state = read(&s);
            if state.chunks.pop() != Some(Ok(data.clone())) || state.vlmeta.pop().is_none() {
                return Err(format!("{name}: what was added is not there"));
            }
            if state != before {
                return Err(format!("{name}: what was there before is not"));
            }
        }
        Ok(())
    }

    /// It dies at each call of the change, of which there are `calls`, and of closing, with which
    /// there are `all`.
    fn dies(&self, report: &mut Report, calls: usize, all: usize) {
        let both = [&self.before, &self.after];
        for at in 1..=all {
            let states = if at > calls { &both[1..] } else { &both };
            for act in [Act::Die, Act::DieHalf] {
                if !self.takes(act, at) {
                    continue;
                }
                report.case();
                let which = || self.which(act, at);
                match self.start(act, at) {
                    End::Died => {}
                    end => {
                        report.fail("a process that should die", format!("{}: {end:?}", which()));
                        continue;
                    }
                }
                let look = || {
                    let seen = self.look_ours(states);
                    seen.map_err(|wrong| format!("lost: {wrong}"))?;
                    self.live_on()
                };
                if let Err(wrong) = isolated(60, look) {
                    report.fail("after a death", format!("{}: {wrong}", which()));
                }
            }
        }
    }

    fn fails(&self, report: &mut Report, calls: usize) {
        for at in 1..=calls {
            for act in [Act::NoSpace, Act::IoError] {
                if !self.takes(act, at) {
                    continue;
                }
                report.case();
                let which = || self.which(act, at);
                match self.start(act, at) {
                    End::Made(..) => {}
                    end => {
                        report.fail("a failing write", format!("{}: {end:?}", which()));
                        continue;
                    }
                }
                if let Err(wrong) = isolated(60, || self.look(&[&self.after])) {
                    report.fail("after a failing write", format!("{}: {wrong}", which()));
                }
            }
        }
    }
}

/// How a state differs from those that it may be.
fn difference(state: &State, states: &[&State]) -> String {
    let unreadable = state.chunks.iter().filter(|chunk| chunk.is_err()).count();
    if unreadable > 0 {
        return format!(
            "{unreadable} of {} chunks cannot be read",
            state.chunks.len()
        );
    }
    let differs = |other: &&State| {
        let chunks = other
            .chunks
            .iter()
            .zip(&state.chunks)
            .filter(|(a, b)| a != b)
            .count();
        format!(
            "{} chunks for {}, {chunks} of them others, {} and {} metalayers for {} and {}",
            state.chunks.len(),
            other.chunks.len(),
            state.meta.len(),
            state.vlmeta.len(),
            other.meta.len(),
            other.vlmeta.len()
        )
    };
    states.iter().map(differs).collect::<Vec<_>>().join("; or ")
}

/// Sets variables that the libraries look at.
fn set(variables: &[(&str, &str)]) {
    for (name, value) in variables {
        // SAFETY: the other threads of this process, the test harness's, do not look at the
        // environment.
        unsafe { std::env::set_var(name, value) };
    }
}

#[test]
fn every_call_of_every_change() {
    with_shim(test_name!(), sweep);
}

fn sweep(folder: &Path) {
    let lib = our_schunks();
    let which = std::env::var("OXIBLOSC_CRASH");
    let only = which.as_deref().unwrap_or_default();
    let mut report = Report::default();
    for (index, change) in CHANGES.iter().enumerate() {
        if !change.name.contains(only) {
            continue;
        }
        for storage in STORAGES {
            if which.is_err() && !SAMPLE[index % SAMPLE.len()].contains(&storage) {
                continue;
            }
            set(&storage.variables());
            let (base, work) = (folder.join("base/frame"), folder.join("work/frame"));
            let _ = std::fs::remove_dir_all(folder.join("base"));
            std::fs::create_dir_all(folder.join("base")).expect("a folder");
            make(lib, storage.is_contiguous(), &base, change.start, None);
            copy(&base, &work);
            let s = storage
                .open(lib, &work)
                .expect("a frame that was just made");
            prepare(&s, change.start);
            let before = read(&s);
            let rc = (change.run)(&s);
            assert!(rc >= 0, "{}: {rc}", change.name);
            let after = read(&s);
            drop(s);
            let case = Case {
                whole: which.is_ok(),
                lib,
                reference: reference_schunks(),
                change,
                storage,
                base,
                work,
                before,
                after,
            };
            match case.start(Act::Count, 0) {
                End::Made(calls, all) => {
                    report.check(calls > 0, "no call", || case.which(Act::Count, 0));
                    case.dies(&mut report, calls, all);
                    case.fails(&mut report, calls);
                }
                end => report.fail(
                    "a change",
                    format!("{}: {end:?}", case.which(Act::Count, 0)),
                ),
            }
        }
    }
    report.finish("changes cut short");
}
