//! The report of `b2 repair`.

use crate::chunk_repair::Verdict;
use crate::integrity::Integrity;
use crate::json::Json;
use crate::output::print_line;
use crate::salvage::Salvage;
use crate::text::{clean, plural, ranges};
use std::path::Path;

/// The most ranges of chunks or blocks in a line.
const RANGES: usize = 20;

/// Reasons for which the state of a chunk is unknown.
const UNPLACED: &str = "the checksums fit, but where they belong is not known for sure";
const DOUBTFUL: &str = "header, block starts or dictionary are wrong, so that the data may be";
const UNCHECKED: &str = "no checksums";
const ONE_BIT: &str = "the checksums fit since one bit was put right";

fn why_unknown(verdict: &Verdict) -> &'static str {
    match (verdict.fits, verdict.front_wrong) {
        _ if verdict.front_one_bit => ONE_BIT,
        (true, _) => UNPLACED,
        (false, true) => DOUBTFUL,
        (false, false) => UNCHECKED,
    }
}

/// What became of a frame.
pub struct Report<'a> {
    /// The parts of it that were found.
    pub salvage: &'a Salvage,
    /// The state of each chunk.
    pub verdicts: &'a [Verdict],
    /// The path of the new frame.
    pub output: &'a Path,
}

impl Report<'_> {
    /// Whether nothing is lost, and nothing is in doubt, except for lack of checksums.
    pub fn is_complete(&self) -> bool {
        let fine = |verdict: &Verdict| {
            verdict.state != Integrity::Damaged
                && verdict.is_uniform()
                && !verdict.front_wrong
                && !verdict.front_one_bit
                && verdict.corrected.is_none()
        };
        self.verdicts.iter().all(fine)
            && self.salvage.notes.is_empty()
            && self.salvage.lost.is_empty()
    }

    /// The chunks in which all blocks are in this state.
    fn chunks(&self, state: Integrity) -> Vec<usize> {
        let all = self.verdicts.iter().enumerate();
        all.filter(|(_, verdict)| verdict.state == state && verdict.is_uniform())
            .map(|(nchunk, _)| nchunk)
            .collect()
    }

    /// Prints the report for a person.
    pub fn print(&self) {
        let (right, unknown) = (
            self.chunks(Integrity::Intact),
            self.chunks(Integrity::Unknown),
        );
        let wrong = self.chunks(Integrity::Damaged);
        let count = self.verdicts.len();
        self.salvage.lost.iter().for_each(|line| print_line(line));
        print_line(&format!(
            "{}: {} of {}",
            clean(self.output.display().to_string().as_bytes()),
            count - wrong.len(),
            plural(count, "chunk", "chunks")
        ));
        let named = |chunks: &[usize]| match chunks.len() == count {
            true => "all chunks".to_string(),
            false => format!("{} {}", word(chunks.len()), ranges(chunks, RANGES)),
        };
        if !right.is_empty() {
            print_line(&format!("right: {}", named(&right)));
        }
        for why in [UNPLACED, ONE_BIT, DOUBTFUL, UNCHECKED] {
            let chunks = unknown.iter().copied();
            let chunks: Vec<usize> = chunks
                .filter(|nchunk| why_unknown(&self.verdicts[*nchunk]) == why)
                .collect();
            if !chunks.is_empty() {
                print_line(&format!("unknown: {} ({why})", named(&chunks)));
            }
        }
        if !wrong.is_empty() {
            print_line(&format!("wrong, and lost: {}", named(&wrong)));
        }
        self.print_blocks();
        self.print_corrected();
        let all = self.verdicts.iter().enumerate();
        let missing: Vec<usize> = all
            .filter(|(_, verdict)| verdict.missing)
            .map(|(nchunk, _)| nchunk)
            .collect();
        if !missing.is_empty() {
            let missing = named(&missing);
            print_line(&format!(
                "left out, since nothing tells their size: {missing}"
            ));
        }
    }

    /// Prints the chunks in which blocks are in different states.
    fn print_blocks(&self) {
        let partly = self.verdicts.iter().enumerate();
        let partly = partly.filter(|(_, verdict)| !verdict.is_uniform());
        for (nchunk, verdict) in partly.clone().take(RANGES) {
            let list = |blocks: &[usize], what: &str| match blocks.is_empty() {
                true => String::new(),
                false => format!(
                    "{} {what}: {}; ",
                    plural(blocks.len(), "block", "blocks"),
                    ranges(blocks, RANGES)
                ),
            };
            print_line(&format!(
                "chunk {nchunk}: {}{}the others {}",
                list(&verdict.wrong, "wrong, and lost"),
                list(&verdict.one_bit, "unknown, with one bit put right"),
                verdict.state.word()
            ));
        }
        let partly = partly.count();
        if partly > RANGES {
            print_line(&format!(
                "blocks of {} lost or in doubt in all",
                plural(partly, "chunk", "chunks")
            ));
        }
    }

    /// Prints what was put right in the headers of chunks.
    fn print_corrected(&self) {
        let all = self.verdicts.iter().enumerate();
        let corrected =
            all.filter_map(|(nchunk, verdict)| Some((nchunk, verdict.corrected.as_ref()?)));
        for (nchunk, what) in corrected.clone().take(RANGES) {
            print_line(&format!("chunk {nchunk}: its header was put right: {what}"));
        }
        let count = corrected.count();
        if count > RANGES {
            print_line(&format!("headers of {count} chunks were put right in all"));
        }
    }

    /// The report for a program.
    pub fn json(&self) -> Json {
        let parts = &self.salvage.parts;
        let count = |state| Json::from(self.chunks(state).len());
        let chunks = self.verdicts.iter().map(|verdict| {
            Json::object([
                ("state", Json::from(verdict.state.word())),
                ("blocks", Json::from(verdict.nblocks)),
                ("checksums_fit", Json::from(verdict.fits)),
                ("wrong_blocks", Json::list(verdict.wrong.iter().copied())),
                (
                    "one_bit_blocks",
                    Json::list(verdict.one_bit.iter().copied()),
                ),
                ("front_wrong", Json::from(verdict.front_wrong)),
                ("front_one_bit", Json::from(verdict.front_one_bit)),
                ("left_out", Json::from(verdict.missing)),
                (
                    "corrected",
                    verdict.corrected.as_deref().map_or(Json::Null, Json::from),
                ),
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
            ("right", count(Integrity::Intact)),
            ("wrong", count(Integrity::Damaged)),
            ("unknown", count(Integrity::Unknown)),
            ("notes", Json::list(notes.map(|note| note.as_str()))),
            ("chunks", Json::List(chunks.collect())),
        ])
    }
}

fn word(count: usize) -> &'static str {
    if count == 1 { "chunk" } else { "chunks" }
}
