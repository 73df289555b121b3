//! All kinds of damage to all kinds of frames: whether `verify` finds it, and whether `repair`
//! brings data back and reports truly on them.
//!
//! With `OXIBLOSC_DAMAGE=full` each is done five times, instead of a sample once.

use crate::damage_files::{Content, Damage, Files, KINDS, Original, content, write_files};
use crate::support::{Folder, b2, is_full};
use oxiblosc_testing::random::{Rng, mix};
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The report of `repair` on a chunk.
struct Verdict {
    state: String,
    wrong: Vec<usize>,
    one_bit: Vec<usize>,
    left_out: bool,
}

/// The report of `repair`.
struct Report {
    complete: bool,
    header: String,
    trailer: String,
    chunks: Vec<Verdict>,
}

fn after<'a>(text: &'a str, name: &str) -> &'a str {
    let field = format!("\"{name}\": ");
    let (_, rest) = text.split_once(&field).expect("the field");
    rest
}

fn word(text: &str, name: &str) -> String {
    let end = [',', '\n'];
    let rest = after(text, name).split(end).next().expect("a value");
    rest.trim_matches('"').to_string()
}

fn numbers(text: &str, name: &str) -> Vec<usize> {
    let list = after(text, name)[1..].split_once(']');
    let (list, _) = list.expect("a list");
    let numbers = list.split(", ").filter(|number| !number.is_empty());
    let numbers = numbers.map(|number| number.parse().expect("a number"));
    numbers.collect()
}

fn parse(json: &str) -> Report {
    let chunks = json.split("\"state\": ").skip(1).map(|rest| {
        let rest = format!("\"state\": {rest}");
        Verdict {
            state: word(&rest, "state"),
            wrong: numbers(&rest, "wrong_blocks"),
            one_bit: numbers(&rest, "one_bit_blocks"),
            left_out: word(&rest, "left_out") == "true",
        }
    });
    Report {
        complete: word(json, "complete") == "true",
        header: word(json, "header"),
        trailer: word(json, "trailer"),
        chunks: chunks.collect(),
    }
}

/// The result of one or more cases of damage.
#[derive(Clone, Copy, Debug, Default)]
struct Outcome {
    cases: usize,
    /// Cases that `verify` found.
    flagged: usize,
    /// Wrong bytes that are called right.
    silent: usize,
    /// Wrong bytes that are called unknown.
    doubtful: usize,
    /// Right bytes, whatever they are called.
    right: usize,
    /// Right bytes that are called right.
    called_right: usize,
    /// All bytes.
    all: usize,
    /// Frames that are called complete.
    complete: usize,
}

impl Outcome {
    fn add(&mut self, other: &Self) {
        self.cases += other.cases;
        self.flagged += other.flagged;
        self.silent += other.silent;
        self.doubtful += other.doubtful;
        self.right += other.right;
        self.called_right += other.called_right;
        self.all += other.all;
        self.complete += other.complete;
    }

    fn share(part: usize, all: usize) -> String {
        match part == all {
            true => "100".into(),
            // Rounded down, so that it never says 100 if something is missing.
            false => format!("{:.1}", (1000 * part / all.max(1)) as f64 / 10.0),
        }
    }
}

/// Cuts data into blocks of these sizes. The rest is one more block.
fn cut<'a>(data: &'a [u8], sizes: &[usize]) -> Vec<&'a [u8]> {
    let mut rest = data;
    let mut blocks = Vec::new();
    for size in sizes {
        let (block, behind) = rest.split_at((*size).min(rest.len()));
        blocks.push(block);
        rest = behind;
    }
    blocks.extend((!rest.is_empty()).then_some(rest));
    blocks
}

/// Compares the content of the new frame with the original.
fn compare(before: &Content, back: &Content, report: &Report, outcome: &mut Outcome) {
    let mut now = back.chunks.iter();
    for (nchunk, verdict) in report.chunks.iter().enumerate() {
        let Some(data) = (!verdict.left_out).then(|| now.next()).flatten() else {
            continue;
        };
        let (then, blocks) = match before.chunks.get(nchunk) {
            Some(then) => (&then[..], before.blocks[nchunk].clone()),
            None => (&[][..], vec![data.len()]),
        };
        let own = &back.blocks[back.chunks.len() - now.len() - 1];
        let same_blocks = own.len() == blocks.len();
        let own = cut(data, if same_blocks { own } else { &blocks });
        let then_blocks = cut(then, &blocks);
        for (nblock, block) in own.into_iter().enumerate() {
            let then = then_blocks.get(nblock).copied().unwrap_or_default();
            let same_size = block.len() == then.len();
            let same = block.iter().zip(then).filter(|(now, then)| now == then);
            let same = same.count();
            let differ = match same_size {
                true => block.len() - same,
                false => block.len(),
            };
            outcome.right += same;
            if verdict.wrong.contains(&nblock) || verdict.state == "wrong" {
                continue;
            }
            match verdict.state == "right" && !verdict.one_bit.contains(&nblock) {
                true => {
                    outcome.silent += differ;
                    outcome.called_right += same;
                }
                false => outcome.doubtful += differ,
            }
        }
    }
    if report.header == "right" && back.metalayers != before.metalayers {
        outcome.silent += 1;
    }
    if report.trailer == "right" && back.vlmetalayers != before.vlmetalayers {
        outcome.silent += 1;
    }
}

fn tried(folder: &Folder, name: &str, original: &Original, files: &Files) -> Outcome {
    let (broken, rebuilt) = (
        folder.path(&format!("{name}-broken")),
        folder.path(&format!("{name}-rebuilt")),
    );
    write_files(Path::new(&broken), files);
    let verified = b2(&["verify", &broken, "-t", "1"]);
    assert!(matches!(verified.code, Some(0..=2)), "{name}: {verified:?}");
    let mut outcome = Outcome {
        cases: 1,
        flagged: usize::from(verified.code != Some(0)),
        all: original.content.chunks.iter().map(Vec::len).sum(),
        ..Outcome::default()
    };
    let repaired = b2(&["repair", &broken, &rebuilt, "--json", "-f", "-t", "1"]);
    match repaired.code {
        Some(0 | 1) => {
            let report = parse(&repaired.text());
            let back = content(Path::new(&rebuilt)).unwrap_or_else(|| panic!("{name}: unreadable"));
            compare(&original.content, &back, &report, &mut outcome);
            outcome.complete = usize::from(report.complete);
            assert_eq!(report.complete, repaired.code == Some(0), "{name}");
        }
        code => assert!(
            code == Some(2) && repaired.err.contains("nothing"),
            "{name}: {repaired:?}"
        ),
    }
    if verified.code == Some(2) {
        assert!(
            verified.err.contains("b2 repair may"),
            "{name}: {verified:?}"
        );
    }
    outcome
}

/// Variants of a frame: without checksums, with them, and with those of chunks only.
const WITHOUT: usize = 0;
const WITH: usize = 1;
const OF_CHUNKS: usize = 2;
const VARIANTS: usize = 3;
/// The results of one kind of damage to each variant.
type Row = [Outcome; VARIANTS];
/// The results of each kind of damage to frames in files, and to those in directories.
type Table = [[Row; 2]; Damage::ALL.len()];

/// One case: which frame, and which damage.
#[derive(Clone, Copy)]
struct Case {
    number: usize,
    /// Which of the originals.
    original: usize,
    kind: usize,
    sparse: usize,
    damage: usize,
}

impl Case {
    fn new(number: usize, originals: usize) -> Self {
        let original = number % originals;
        Self {
            number,
            original,
            kind: original / VARIANTS / 2,
            sparse: original / VARIANTS % 2,
            damage: number / originals % Damage::ALL.len(),
        }
    }

    /// Whether the case is in the sample: each damage, in files and in directories, is done to some
    /// kinds of frames, in all variants.
    fn is_in_sample(self) -> bool {
        let first = mix((2 * self.damage + self.sparse) as u64) as usize % 4;
        (first + self.kind).is_multiple_of(4)
    }
}

fn originals(folder: &Folder) -> Vec<(Original, usize)> {
    let mut all = Vec::new();
    for kind in 0..KINDS {
        for sparse in [false, true] {
            let new = |checksums| Original::new(folder, kind, sparse, checksums);
            all.push((new(false), WITHOUT));
            all.push((new(true), WITH));
            all.push((new(true).changed_by_another(), OF_CHUNKS));
        }
    }
    all
}

#[test]
fn what_repair_calls_right_is_right() {
    let full = is_full("OXIBLOSC_DAMAGE");
    let folder = Folder::new("table");
    let all = originals(&folder);
    let rounds = if full { 5 } else { 1 };
    let total = all.len() * Damage::ALL.len() * rounds;
    let next = AtomicUsize::new(0);
    let table = Mutex::new(Table::default());
    let failures = Mutex::new(Vec::new());
    let try_case = |case: Case| {
        let (original, sums) = &all[case.original];
        let (damage, what) = Damage::ALL[case.damage];
        // The same damage for all variants.
        let seed = case.number / VARIANTS + 1;
        let Some(files) = damage.done(original, &mut Rng(seed as u64)) else {
            return;
        };
        let name = format!("{}-{}-{}", original.name, case.damage, case.number);
        let outcome = tried(&folder, &name, original, &files);
        let less = outcome.called_right < outcome.all;
        let early = less && (outcome.complete > 0 || damage.spares());
        let missed = *sums == WITH && (outcome.flagged == 0 || early);
        if missed || outcome.silent > 0 {
            let mut failures = failures.lock().expect("no panic");
            failures.push(format!("{name}, {what}: {outcome:?}"));
        }
        table.lock().expect("no panic")[case.damage][case.sparse][*sums].add(&outcome);
    };
    // More threads than processors: most of the time is spent waiting, since a frame that does not
    // open might be under change.
    std::thread::scope(|scope| {
        for _ in 0..16 {
            scope.spawn(|| {
                while let number = next.fetch_add(1, Ordering::Relaxed)
                    && number < total
                {
                    let case = Case::new(number, all.len());
                    if full || case.is_in_sample() {
                        try_case(case);
                    }
                }
            });
        }
    });
    let table = table.into_inner().expect("no panic");
    show(&table);
    nothing_is_missing(&table);
    let failures = failures.into_inner().expect("no panic");
    assert!(failures.is_empty(), "{failures:#?}");
}

/// Checks that every kind of damage was done, in each storage, to all variants.
fn nothing_is_missing(table: &Table) {
    for (damage, (which, what)) in table.iter().zip(Damage::ALL) {
        for (storage, row) in ["files", "directories"].iter().zip(damage) {
            if which == Damage::MissingFile && *storage == "files" {
                continue;
            }
            let cases = row.map(|outcome| outcome.cases);
            assert!(!cases.contains(&0), "{what}, {storage}: {cases:?}");
        }
    }
}

fn add(sum: &mut Row, row: &Row) {
    sum.iter_mut().zip(row).for_each(|(sum, row)| sum.add(row));
}

fn show(table: &Table) {
    println!(
        "with checksums: found by verify, wrong but called right, called right, right; with those of chunks: wrong but called right, called \
         right, right; without: found, right"
    );
    let mut sum = Row::default();
    let rows = table.iter().zip(Damage::ALL.map(|(_, what)| what));
    for (storages, what) in rows {
        let mut row = Row::default();
        storages.iter().for_each(|part| add(&mut row, part));
        show_row(&row, what);
        add(&mut sum, &row);
    }
    show_row(&sum, "all");
}

fn show_row(row: &Row, what: &str) {
    let share = |part, of: &Outcome| Outcome::share(part, of.all);
    let (without, with, of_chunks) = (&row[WITHOUT], &row[WITH], &row[OF_CHUNKS]);
    println!(
        "| {what} | {} % | {} | {} % | {} % | {} | {} % | {} % | {} % | {} % | {} cases, {} / {} / {} wrong but called unknown",
        Outcome::share(with.flagged, with.cases),
        with.silent,
        share(with.called_right, with),
        share(with.right, with),
        of_chunks.silent,
        share(of_chunks.called_right, of_chunks),
        share(of_chunks.right, of_chunks),
        Outcome::share(without.flagged, without.cases),
        share(without.right, without),
        with.cases + without.cases + of_chunks.cases,
        share(with.doubtful, with),
        share(of_chunks.doubtful, of_chunks),
        share(without.doubtful, without),
    );
}
