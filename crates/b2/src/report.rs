//! The report of `b2 repair`.

use crate::json::Json;
use crate::print::print_line;
use crate::text::{clean, plural, ranges, ranges_of};
use oxiblosc_repair::{Integrity, RunList, Salvage, Verdict};
use std::ops::Range;
use std::path::Path;

/// The most chunks that the report for programs lists one by one. Of more, those that follow each
/// other and are alike are one entry.
const LISTED: usize = 1 << 20;

/// The most ranges of chunks or blocks in a line.
const RANGES: usize = 20;

/// Reasons for which the state of a chunk is unknown.
const UNPLACED: &str = "the checksums fit, but where they belong is not known for sure";
const DOUBTFUL: &str = "header, block starts or dictionary are wrong, so that the data may be";
const UNCHECKED: &str = "no checksums";
const ONE_BIT: &str = "the checksums fit since one bit was put right";

fn why_unknown(verdict: &Verdict) -> &'static str {
    match (verdict.fits, verdict.prefix_wrong) {
        _ if verdict.prefix_one_bit => ONE_BIT,
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
    pub verdicts: &'a RunList<Verdict>,
    /// The path of the new frame.
    pub output: &'a Path,
}

impl Report<'_> {
    /// Whether nothing is lost, and nothing is in doubt, except for lack of checksums.
    pub fn is_complete(&self) -> bool {
        let fine = |verdict: &Verdict| {
            verdict.state != Integrity::Damaged
                && verdict.is_uniform()
                && !verdict.prefix_wrong
                && !verdict.prefix_one_bit
                && verdict.corrected.is_none()
        };
        self.verdicts.runs().all(|(_, verdict)| fine(verdict))
            && self.salvage.notes.is_empty()
            && self.salvage.lost.is_empty()
    }

    /// The chunks whose verdicts are chosen, as ranges in order, and how many there are.
    fn chunks(&self, chosen: impl Fn(&Verdict) -> bool) -> (Vec<Range<usize>>, usize) {
        let runs = self.verdicts.runs().filter(|(_, verdict)| chosen(verdict));
        let ranges: Vec<Range<usize>> = runs.map(|(range, _)| range).collect();
        let count = ranges.iter().map(Range::len).sum();
        (ranges, count)
    }

    /// Each chunk of which blocks are in different states, or whose header was put right.
    fn each(&self) -> impl Iterator<Item = (usize, &Verdict)> + Clone {
        let named = |verdict: &Verdict| !verdict.is_uniform() || verdict.corrected.is_some();
        self.verdicts.runs().flat_map(move |(range, verdict)| {
            let count = if named(verdict) { range.len() } else { 0 };
            range.take(count).map(move |nchunk| (nchunk, verdict))
        })
    }

    /// Prints the report for a person.
    pub fn print(&self) {
        let is = |state| move |verdict: &Verdict| verdict.state == state && verdict.is_uniform();
        let (right, wrong) = (is(Integrity::Intact), is(Integrity::Damaged));
        let (right, wrong) = (self.chunks(right), self.chunks(wrong));
        let count = self.verdicts.len();
        self.salvage.lost.iter().for_each(|line| print_line(line));
        print_line(&format!(
            "{}: {} of {}",
            clean(self.output.display().to_string().as_bytes()),
            count - wrong.1,
            plural(count, "chunk", "chunks")
        ));
        let named = |(chunks, number): (Vec<Range<usize>>, usize)| match number {
            0 => None,
            number if number == count => Some("all chunks".to_string()),
            number => {
                let ranges = ranges_of(chunks.into_iter(), RANGES);
                Some(format!("{} {ranges}", word(number)))
            }
        };
        if let Some(right) = named(right) {
            print_line(&format!("right: {right}"));
        }
        let unknown = is(Integrity::Unknown);
        for why in [UNPLACED, ONE_BIT, DOUBTFUL, UNCHECKED] {
            let chunks = self.chunks(|verdict| unknown(verdict) && why_unknown(verdict) == why);
            if let Some(chunks) = named(chunks) {
                print_line(&format!("unknown: {chunks} ({why})"));
            }
        }
        if let Some(wrong) = named(wrong) {
            print_line(&format!("wrong, and lost: {wrong}"));
        }
        self.print_blocks();
        self.print_corrected();
        if let Some(missing) = named(self.chunks(|verdict| verdict.missing)) {
            print_line(&format!(
                "left out, since nothing tells their size: {missing}"
            ));
        }
    }

    /// Prints the chunks in which blocks are in different states.
    fn print_blocks(&self) {
        let partly = self.each().filter(|(_, verdict)| !verdict.is_uniform());
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
        let corrected = self
            .each()
            .filter_map(|(nchunk, verdict)| Some((nchunk, verdict.corrected.as_ref()?)));
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
        let count = |state| {
            let is = |verdict: &Verdict| verdict.state == state && verdict.is_uniform();
            Json::from(self.chunks(is).1)
        };
        // A list of each would be out of proportion where most are alike.
        let is_long = self.verdicts.len() > LISTED;
        let chunks = self.verdicts.runs().flat_map(|(range, verdict)| {
            let (times, count) = match is_long {
                true => (1, Some(("count", Json::from(range.len())))),
                false => (range.len(), None),
            };
            let fields = [
                ("state", Json::from(verdict.state.word())),
                ("blocks", Json::from(verdict.nblocks)),
                ("checksums_fit", Json::from(verdict.fits)),
                ("wrong_blocks", Json::list(verdict.wrong.iter().copied())),
                (
                    "one_bit_blocks",
                    Json::list(verdict.one_bit.iter().copied()),
                ),
                ("front_wrong", Json::from(verdict.prefix_wrong)),
                ("front_one_bit", Json::from(verdict.prefix_one_bit)),
                ("left_out", Json::from(verdict.missing)),
                (
                    "corrected",
                    verdict.corrected.as_deref().map_or(Json::Null, Json::from),
                ),
            ];
            let chunk = Json::object(fields.into_iter().chain(count));
            std::iter::repeat_n(chunk, times)
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
