//! A process was killed in the middle of a change, and a reader and a writer open the file that it
//! left at the same time, in two processes or in two threads, with the lock beside the frame and
//! without. Whoever of them takes the change back, the file opens afterwards and has what the
//! writer was told is in it.

use super::child::log;
use super::disk::{Disk, Event, Tree, restore};
use super::scenario::{Scenario, Seen, Storage, Work, scenarios};
use crate::changes::{CHANGES, Start};
use oxiblosc_testing::data::Rng;
use oxiblosc_testing::folder::without_syncs;
use oxiblosc_testing::isolated::{isolated, start};
use oxiblosc_testing::report::Report;
use oxiblosc_testing::schunk::{SchunkLib, our_schunks};
use oxiblosc_testing::schunk_state::{State, read};
use oxiblosc_testing::shim;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Rounds with each file that was left.
fn rounds() -> usize {
    match std::env::var("OXIBLOSC_POWER").as_deref() {
        Ok("full") => 250,
        _ => 6,
    }
}

/// The changes of which the files are: some that overwrite much, and some that overwrite little.
const WITH: [&str; 5] = [
    "append a buffer",
    "update with a smaller chunk",
    "delete the first chunk",
    "write a slice of one block",
    "write a block of the same size",
];

/// A file that a process left with a record in it, and the states that it may stand for.
struct Left {
    tree: Tree,
    may: Vec<State>,
}

#[derive(Clone, Copy, Debug)]
struct Round {
    locking: bool,
    threads: bool,
    /// Microseconds by which the reader comes later; the writer, if less than none.
    later: i64,
}

/// Whether a file ends with a record.
fn has_record(tree: &Tree) -> bool {
    let ends = |bytes: &Vec<u8>| bytes.ends_with(b"jnl");
    tree.values().flatten().any(ends)
}

/// The files that a process may leave which is killed in the change.
fn lefts(scenario: &Scenario, number: usize, work: &Path, shim: &Path) -> Vec<Left> {
    let lib = our_schunks();
    restore(&Tree::new(), work);
    scenario.make(lib, work);
    let places = scenario.places(lib, work);
    let mut disk = Disk::of(work);
    let before = disk.seen();
    let mut seen: Vec<Seen> = Vec::new();
    let look = &mut || seen.push(scenario.look(lib, work, &places));
    scenario.run(lib, work, &places, look).expect("the change");
    restore(&before, work);
    let events = log(number, None, false, work, &places, shim).expect("the change");
    let (mut found, mut marks) = (Vec::new(), 0);
    for event in events {
        disk.apply(&event);
        marks += usize::from(matches!(event, Event::Mark));
        let tree = disk.seen();
        if marks == 1 && has_record(&tree) {
            let may = seen[..2].iter().filter_map(|seen| seen[0].clone());
            let may = may.collect();
            found.push(Left { tree, may });
        }
    }
    found
}

const CHUNK: [u8; 4000] = [7; 4000];

fn wait(micros: i64) {
    let (since, time) = (Instant::now(), Duration::from_micros(micros.max(0) as u64));
    while since.elapsed() < time {
        std::hint::spin_loop();
    }
}

/// What a writer adds, in the state.
fn with_chunk(state: &State) -> State {
    let mut state = state.clone();
    state.chunks.push(Ok(CHUNK.to_vec()));
    state
}

fn write(lib: &'static SchunkLib, path: &Path, round: Round) -> Result<(), String> {
    wait(-round.later);
    let s = lib.open_path(path).ok_or("the writer cannot open it")?;
    match s.append_buffer(&CHUNK, CHUNK.len() as i32) {
        rc if rc < 0 => Err(format!("the append returns {rc}")),
        _ => Ok(()),
    }
}

fn look(lib: &'static SchunkLib, path: &Path, round: Round, left: &Left) -> Result<(), String> {
    wait(round.later);
    let s = lib.open_path(path).ok_or("the reader cannot open it")?;
    let state = read(&s);
    let reported = |may: &State| state == *may || state == with_chunk(may);
    // Without the lock a reader may meet the frame in the middle of a change.
    match !round.locking || left.may.iter().any(reported) {
        true => Ok(()),
        false => Err("the reader sees something else".into()),
    }
}

fn one(lib: &'static SchunkLib, work: &Path, left: &Left, round: Round) -> Result<(), String> {
    restore(&left.tree, work);
    let path = work.join("frame");
    isolated(60, || {
        let locking = if round.locking { c"1" } else { c"0" };
        // SAFETY: this process has no other thread. The standard library's lock on the environment
        // may have been held by a thread of its parent, so it is not asked for.
        unsafe { libc::setenv(c"BLOSC_LOCKING".as_ptr(), locking.as_ptr(), 1) };
        let (writing, looking) = (
            || write(lib, &path, round),
            || look(lib, &path, round, left),
        );
        if round.threads {
            return std::thread::scope(|scope| {
                let writer = scope.spawn(writing);
                let looked = looking();
                let wrote = writer.join().unwrap_or(Err("a panic".into()));
                wrote.and(looked)
            });
        }
        let writer = start(60, writing);
        let looked = looking();
        writer.join().and(looked)
    })?;
    isolated(60, || {
        let s = lib.open_path(&path).ok_or("it does not open any more")?;
        let state = read(&s);
        match left.may.iter().any(|may| state == with_chunk(may)) {
            true => Ok(()),
            false => Err("what was committed is lost".into()),
        }
    })
}

#[test]
fn a_reader_and_a_writer_beside_what_a_killed_process_left() {
    let lib = our_schunks();
    let name = format!("oxiblosc-race-{}", std::process::id());
    let folder: PathBuf = without_syncs().join(name);
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let shim = shim::compile(
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/faults/power/shim.c"),
        &folder,
    );
    let work = folder.join("work");
    let (mut report, mut random) = (Report::default(), Rng(26));
    for (number, scenario) in scenarios().iter().enumerate() {
        let Work::Change(index) = scenario.work else {
            continue;
        };
        let change = &CHANGES[index];
        let chosen = WITH.contains(&change.name) && change.start != Start::Array;
        if scenario.storage == Storage::Container || !chosen {
            continue;
        }
        let lefts = lefts(scenario, number, &work, &shim);
        let some = scenario.storage == Storage::Directory || !lefts.is_empty();
        report.check(some, "no record", || scenario.name());
        for i in 0..if lefts.is_empty() { 0 } else { rounds() * 4 } {
            let round = Round {
                locking: i % 2 == 0,
                threads: i / 2 % 2 == 0,
                later: (random.next() % 400) as i64 - 200,
            };
            report.case();
            let left = &lefts[i / 4 % lefts.len()];
            if let Err(wrong) = one(lib, &work, left, round) {
                report.fail(&wrong, format!("{}, {round:?}", scenario.name()));
            }
        }
    }
    std::fs::remove_dir_all(&folder).expect("the test's own folder");
    report.finish("races for a file with a record");
}
