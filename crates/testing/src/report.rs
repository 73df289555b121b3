//! Collects disagreements instead of stopping at the first: a matrix is read as a whole.

use std::collections::BTreeMap;
use std::fmt::Display;

/// How many disagreements are printed in full.
const SHOWN: usize = 25;

/// What a run over many cases found.
#[derive(Default)]
pub struct Report {
    /// Cases looked at.
    pub cases: u64,
    failures: Vec<(String, String)>,
    failed: BTreeMap<String, u64>,
    notes: BTreeMap<String, u64>,
}

impl Report {
    /// One more case.
    pub fn case(&mut self) {
        self.cases += 1;
    }

    /// A disagreement: `what` groups them in the summary, `which` is enough to reproduce it.
    pub fn fail(&mut self, what: &str, which: impl Display) {
        *self.failed.entry(what.to_owned()).or_default() += 1;
        self.failures.push((what.to_owned(), which.to_string()));
    }

    /// A disagreement unless `ok`.
    pub fn check(&mut self, ok: bool, what: &str, which: impl FnOnce() -> String) {
        if !ok {
            self.fail(what, which());
        }
    }

    /// Something to count that is no disagreement.
    pub fn note(&mut self, what: &str) {
        self.note_many(what, 1);
    }

    /// So many of it.
    pub fn note_many(&mut self, what: &str, count: u64) {
        *self.notes.entry(what.to_owned()).or_default() += count;
    }

    /// Takes out what was noted under names that begin so; gives the rest of the names.
    pub fn take_notes(&mut self, prefix: &str) -> BTreeMap<String, u64> {
        let (taken, left): (BTreeMap<_, _>, _) = std::mem::take(&mut self.notes)
            .into_iter()
            .partition(|(what, _)| what.starts_with(prefix));
        self.notes = left;
        let rest = |(what, count): (String, u64)| (what[prefix.len()..].to_owned(), count);
        taken.into_iter().map(rest).collect()
    }

    /// All of it as text, for [`Self::add_text`] in another process.
    pub fn to_text(&self) -> String {
        let line = |text: &str| text.replace('\n', " ");
        let notes = self.notes.iter();
        let notes = notes.map(|(what, count)| format!("{count}|{}\n", line(what)));
        let failures = self.failures.iter();
        let failures = failures.map(|(what, which)| format!("|{}|{}\n", line(what), line(which)));
        let cases = format!("{}|\n", self.cases);
        std::iter::once(cases)
            .chain(notes)
            .chain(failures)
            .collect()
    }

    /// Adds what another process found.
    pub fn add_text(&mut self, text: &str) {
        for line in text.lines() {
            let (count, rest) = line.split_once('|').expect("a line of a report");
            match (count.parse::<u64>(), rest.split_once('|')) {
                (Ok(cases), _) if rest.is_empty() => self.cases += cases,
                (Ok(count), _) => self.note_many(rest, count),
                (Err(_), Some((what, which))) => self.fail(what, which),
                (Err(_), None) => panic!("a line of a report: {line}"),
            }
        }
    }

    /// Prints the summary and fails the test if anything disagreed.
    pub fn finish(self, title: &str) {
        println!("{title}: {} cases {:?}", self.cases, self.notes);
        let shown = self.failures.iter().take(SHOWN);
        let shown = shown.map(|(what, which)| format!("{what}: {which}"));
        assert!(
            self.failed.is_empty(),
            "{title}: {:#?}\n{}",
            self.failed,
            shown.collect::<Vec<_>>().join("\n")
        );
        assert!(self.cases > 0, "{title}: no case ran");
    }
}

/// What two calls returned and wrote, and where that differs.
pub fn differing_results(a: &(i32, Vec<u8>), b: &(i32, Vec<u8>)) -> String {
    format!("{} and {}, {}", a.0, b.0, difference(&a.1, &b.1))
}

/// The first place where two buffers differ, for a message.
pub fn difference(a: &[u8], b: &[u8]) -> String {
    match a.iter().zip(b).position(|(x, y)| x != y) {
        Some(at) => format!(
            "differ at {at} of {} and {}: {:#04x} and {:#04x}",
            a.len(),
            b.len(),
            a[at],
            b[at]
        ),
        None => format!("lengths {} and {}", a.len(), b.len()),
    }
}
