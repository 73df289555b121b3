//! What `b2 repair` says of what it did.

use crate::failure::Result;
use crate::json::Json;
use crate::mend::Verdict;
use crate::output::say;
use crate::salvage::Salvage;
use crate::state::State;
use crate::text::{clean, plural, ranges};
use std::path::Path;

/// Ranges of chunks that are named.
const RANGES: usize = 20;

/// What became of a frame.
pub struct Report<'a> {
    /// What was found of it.
    pub salvage: &'a Salvage,
    /// What is known of each chunk.
    pub verdicts: &'a [Verdict],
    /// The new frame.
    pub output: &'a Path,
}

impl Report<'_> {
    /// Whether nothing is lost, and nothing doubtful but for want of checksums.
    pub fn is_complete(&self) -> bool {
        let fine = |verdict: &Verdict| {
            verdict.state != State::Wrong && verdict.wrong.is_empty() && !verdict.front_wrong
        };
        self.verdicts.iter().all(fine)
            && self.salvage.notes.is_empty()
            && self.salvage.lost.is_empty()
    }

    /// The chunks of which all blocks are in this state.
    fn chunks(&self, state: State) -> Vec<usize> {
        let all = self.verdicts.iter().enumerate();
        all.filter(|(_, verdict)| verdict.state == state && verdict.wrong.is_empty())
            .map(|(nchunk, _)| nchunk)
            .collect()
    }

    /// For a person.
    pub fn print(&self) -> Result<()> {
        let (right, unknown) = (self.chunks(State::Right), self.chunks(State::Unknown));
        let wrong = self.chunks(State::Wrong);
        let count = self.verdicts.len();
        self.salvage.lost.iter().try_for_each(|line| say(line))?;
        say(&format!(
            "{}: {} of {}",
            clean(self.output.display().to_string().as_bytes()),
            count - wrong.len(),
            plural(count, "chunk", "chunks")
        ))?;
        let named = |chunks: &[usize]| match chunks.len() == count {
            true => "all chunks".to_string(),
            false => format!("{} {}", word(chunks.len()), ranges(chunks, RANGES)),
        };
        if !right.is_empty() {
            say(&format!("right: {}", named(&right)))?;
        }
        if !unknown.is_empty() {
            let why = match self.salvage.in_order {
                true => "no checksums tell",
                false => "no checksums tell, or not which chunk is which",
            };
            say(&format!("unknown: {} ({why})", named(&unknown)))?;
        }
        if !wrong.is_empty() {
            say(&format!("wrong, and lost: {}", named(&wrong)))?;
        }
        let partly = self.verdicts.iter().enumerate();
        let partly = partly.filter(|(_, verdict)| !verdict.wrong.is_empty());
        for (nchunk, verdict) in partly.clone().take(RANGES) {
            say(&format!(
                "chunk {nchunk}: {} wrong, and lost: {}; the others {}",
                plural(verdict.wrong.len(), "block", "blocks"),
                ranges(&verdict.wrong, RANGES),
                verdict.state.word()
            ))?;
        }
        let partly = partly.count();
        if partly > RANGES {
            say(&format!(
                "blocks of {} lost in all",
                plural(partly, "chunk", "chunks")
            ))?;
        }
        let list = |what: &str, has: fn(&Verdict) -> bool| {
            let all = self.verdicts.iter().enumerate();
            let some: Vec<usize> = all
                .filter(|(_, verdict)| has(verdict))
                .map(|(n, _)| n)
                .collect();
            match some.len() {
                0 => Ok(()),
                count => say(&format!(
                    "{what}: {} {}",
                    word(count),
                    ranges(&some, RANGES)
                )),
            }
        };
        list(
            "the header or block starts are wrong, so the data may be",
            |verdict| verdict.front_wrong,
        )?;
        list("left out, since nothing tells their size", |verdict| {
            verdict.missing
        })?;
        Ok(())
    }

    /// For a program.
    pub fn json(&self) -> Json {
        let parts = &self.salvage.parts;
        let count = |state| Json::from(self.chunks(state).len());
        let chunks = self.verdicts.iter().map(|verdict| {
            Json::object([
                ("state", Json::from(verdict.state.word())),
                ("blocks", Json::from(verdict.nblocks)),
                ("wrong_blocks", Json::list(verdict.wrong.iter().copied())),
                ("front_wrong", Json::from(verdict.front_wrong)),
                ("left_out", Json::from(verdict.missing)),
            ])
        });
        let notes = self.salvage.notes.iter().chain(&self.salvage.lost);
        Json::object([
            ("new", Json::from(self.output.display().to_string())),
            ("complete", Json::from(self.is_complete())),
            ("header", Json::from(parts.header.word())),
            ("index", Json::from(parts.index.word())),
            ("trailer", Json::from(parts.trailer.word())),
            ("in_order", Json::from(self.salvage.in_order)),
            ("right", count(State::Right)),
            ("wrong", count(State::Wrong)),
            ("unknown", count(State::Unknown)),
            ("notes", Json::list(notes.map(|note| note.as_str()))),
            ("chunks", Json::List(chunks.collect())),
        ])
    }
}

fn word(count: usize) -> &'static str {
    if count == 1 { "chunk" } else { "chunks" }
}
