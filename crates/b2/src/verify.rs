//! `b2 verify`: decompresses everything, and reports what is damaged.

use crate::args::VerifyArgs;
use crate::check;
use crate::failure::{Failure, Outcome, REPAIR, Result, describe};
use crate::faults::Faults;
use crate::input::{ALTERED, Input};
use crate::open::{FrameOrChunk, Unreadable};
use crate::print::{print_error, print_line};
use crate::progress::ByteProgress;
use crate::source::{ChunkRun, ChunkWalk, Frame, StoredChunk};
use crate::store::{Store, Unopened};
use crate::text::{bytes, clean, plural, ranges};
use crate::workers::{each_thread, in_order};
use oxiblosc::format::chunk::header::{ChunkHeader, Special};
use oxiblosc::format::frame::header::{FrameKind, Header};
use oxiblosc::format::frame::offsets::ChunkPosition as At;
use oxiblosc_base::Error;
use oxiblosc_repair::check::{Damage, chunk as check_chunk, item_size};
use oxiblosc_repair::{Contexts, MISPLACED};
use std::path::Path;

/// The most damaged parts that are named one by one.
const NAMED: usize = 100;
/// The most ranges of damaged blocks in a line.
const RANGES: usize = 8;

/// What was found.
#[derive(Default)]
struct Findings {
    /// How many parts are damaged.
    damaged: usize,
    /// How many parts cannot be checked, since this build lacks the codec or filter.
    unknown: usize,
    /// How many intact chunks have checksums.
    checked: usize,
    /// How many intact chunks have none.
    unchecked: usize,
    /// What lines begin with: the key of a frame in a store.
    prefix: String,
}

/// Runs the command. If a file cannot be read the others are verified all the same.
pub fn run(args: &VerifyArgs) -> Result<Outcome> {
    let mut outcome = Outcome::Fine;
    let mut failure = None;
    for path in &args.inputs {
        match verify_one(path, args) {
            Ok(Outcome::Fine) => {}
            Ok(Outcome::Damaged) => outcome = Outcome::Damaged,
            Err(Failure::Message(line)) if args.inputs.len() > 1 => {
                print_error(&line);
                failure = Some(Failure::Reported);
            }
            Err(Failure::Damaged(line)) if args.inputs.len() > 1 => {
                print_error(&line);
                outcome = Outcome::Damaged;
            }
            Err(Failure::Reported) => failure = Some(Failure::Reported),
            Err(error) => return Err(error),
        }
    }
    failure.map_or(Ok(outcome), Err)
}

fn verify_one(path: &Path, args: &VerifyArgs) -> Result<Outcome> {
    let input = Input::new(path)?;
    if let Some(store) = Store::open(&input)? {
        return verify_store(&store, &input, args);
    }
    let mut findings = Findings::default();
    let (what, nbytes, covered) = match FrameOrChunk::try_open(&input)? {
        Err(Unreadable { why, is_damage }) => {
            if !is_damage {
                return Err(Failure::message(format!("{}: {why}", input.name())));
            }
            print_line(&format!("{}: damaged: {why} ({REPAIR})", input.name()));
            return Ok(Outcome::Damaged);
        }
        Ok(FrameOrChunk::Chunk(chunk)) => {
            let contexts = Contexts::plain(args.threads.count());
            let contexts = contexts.map_err(|error| Failure::of(input.name(), error))?;
            match check_chunk(&contexts, &chunk, None) {
                Err(damage) => {
                    let progress = ByteProgress::new("", 0);
                    findings.note(&progress, "the chunk", &damage, input.faults())?;
                }
                Ok(()) => {
                    let header = ChunkHeader::parse(&chunk);
                    findings.count(header.is_ok_and(|header| header.has_checksums()));
                }
            }
            let nbytes = ChunkHeader::parse(&chunk).map_or(0, |header| header.nbytes);
            ("1 chunk".to_string(), nbytes as u64, "none")
        }
        Ok(FrameOrChunk::Frame(mut frame)) => {
            verify(
                &mut frame,
                input.name(),
                args.threads.count(),
                &mut findings,
            )?;
            let nbytes = frame.header.nbytes.max(0) as u64;
            let chunks = plural(frame.nchunks(), "chunk", "chunks");
            (chunks, nbytes, frame.covered())
        }
    };
    findings.conclude(&input, &what, nbytes, covered, args.quiet)
}

/// Verifies everything in a store.
fn verify_store(store: &Store, input: &Input, args: &VerifyArgs) -> Result<Outcome> {
    let mut findings = Findings::default();
    let (mut nbytes, mut covered) = (0, None);
    if store.is_file() {
        let frame = Frame::open(input.path(), input.faults());
        let mut frame = frame.map_err(|error| input.failure("", error))?;
        verify(
            &mut frame,
            input.name(),
            args.threads.count(),
            &mut findings,
        )?;
    }
    beside_frames(store, args.quiet, &mut findings)?;
    for member in &store.members {
        let key = clean(member.key.as_bytes());
        let opened = store.frame(member)?;
        findings.prefix = format!("{key}: ");
        match opened {
            Ok(mut frame) => {
                verify(&mut frame, &key, args.threads.count(), &mut findings)?;
                nbytes += frame.header.nbytes.max(0) as u64;
                // The summary says "none" unless all members are covered in the same way.
                let same = covered.is_none_or(|known| known == frame.covered());
                covered = Some(if same { frame.covered() } else { "none" });
            }
            Err(Unopened::Elsewhere(address)) if !args.quiet => {
                let address = clean(address.as_bytes());
                print_line(&format!(
                    "{key}: is at {address}, where nothing was looked at"
                ));
            }
            Err(Unopened::Elsewhere(_)) => {}
            Err(Unopened::Damaged(why)) => {
                findings.damaged += 1;
                print_line(&format!("{key}: {why}"));
            }
        }
        if !store.checksum_fits(member)? {
            findings.damaged += 1;
            print_line(&format!("{key}: {ALTERED}"));
        }
    }
    let covered = match store.is_archive() {
        true => "the archive",
        false => covered.unwrap_or("none"),
    };
    let what = plural(store.members.len(), "frame", "frames");
    findings.conclude(input, &what, nbytes, covered, args.quiet)
}

/// Reports on a store itself, and on files in an archive that are no frames.
fn beside_frames(store: &Store, quiet: bool, findings: &mut Findings) -> Result<()> {
    if !quiet {
        store
            .notes
            .iter()
            .for_each(|note| print_line(&clean(note.as_bytes())));
    }
    for problem in &store.problems {
        print_line(problem);
        findings.damaged += 1;
    }
    for other in &store.others {
        let name = clean(other.key.as_bytes());
        let wrong = match other.unreadable() {
            Some(why) => Some(why),
            None => (!store.checksum_fits(other)?).then_some(ALTERED),
        };
        if let Some(why) = wrong {
            findings.damaged += 1;
            print_line(&format!("{name}: {why}"));
        }
    }
    Ok(())
}

/// A chunk of a frame that is to be checked, or chunks of special values.
struct ChunkToCheck {
    nchunk: usize,
    /// Bytes of its data, if that is known.
    expected: Option<usize>,
    found: std::result::Result<ChunkRun, Error>,
    /// Its position, or the number of its file; none for a chunk of special values.
    at: Option<u64>,
}

/// An intact chunk.
struct Sound {
    has_checksums: bool,
    /// Bytes of its data.
    nbytes: usize,
    /// Bytes of a block; none for a chunk of special values.
    blocksize: Option<usize>,
    /// The positions of its first byte and behind its last; in a directory the number of its file
    /// and the next one.
    place: Option<(u64, u64)>,
}

/// All intact chunks together.
#[derive(Default)]
struct Sum {
    /// Bytes of their data; none if the size of a chunk is unknown.
    nbytes: Option<u64>,
    /// Bytes of a block of the first chunk that is not of special values.
    blocksize: Option<usize>,
    /// The places of the chunks: see [`Sound::place`].
    places: Vec<(u64, u64)>,
}

impl Sum {
    fn add(&mut self, sound: &Sound) {
        let nbytes = self.nbytes;
        self.nbytes = nbytes.and_then(|nbytes| nbytes.checked_add(sound.nbytes as u64));
        self.blocksize = self.blocksize.or(sound.blocksize);
        self.places.extend(sound.place);
    }

    /// Whether two of the chunks overlap.
    fn is_shared(&mut self) -> bool {
        self.places.sort_unstable();
        self.places.windows(2).any(|pair| pair[0].1 > pair[1].0)
    }
}

impl ChunkToCheck {
    /// The next one of a frame.
    fn next(walk: &mut ChunkWalk) -> Option<Self> {
        let (nchunk, found) = walk.next()?;
        let frame = walk.frame();
        Some(Self {
            nchunk,
            expected: (frame.header.chunksize > 0).then(|| frame.chunk_nbytes(nchunk)),
            found,
            at: match frame.offsets().position(nchunk) {
                Ok(At::At(pos)) => Some(pos),
                _ => None,
            },
        })
    }

    /// Checks the chunk. None for a chunk of special values, which is only an offset in the index.
    fn check(
        &self,
        contexts: &Contexts,
        header: &Header,
    ) -> std::result::Result<Option<Sound>, Damage> {
        let whole = |error| Damage {
            error,
            blocks: Vec::new(),
        };
        let found = self.found.as_ref().map_err(|error| whole(*error))?;
        let chunk = match found.read().map_err(whole)? {
            StoredChunk::Special(_) => return Ok(None),
            StoredChunk::Bytes(chunk) => chunk,
        };
        check_chunk(contexts, &chunk, self.expected)?;
        item_size(&chunk, header.parameters.typesize)?;
        let parsed = ChunkHeader::parse(&chunk).map_err(whole)?;
        let length = match header.kind {
            FrameKind::Contiguous => parsed.cbytes as u64,
            // Each chunk has a file of its own: places are numbers of files.
            FrameKind::Sparse => 1,
        };
        Ok(Some(Sound {
            has_checksums: parsed.has_checksums(),
            nbytes: parsed.nbytes,
            blocksize: (parsed.special() == Special::None).then(|| parsed.blocksize_field()),
            place: self.at.map(|at| (at, at + length)),
        }))
    }
}

/// Checks the chunks of a frame, its metalayers, and whether they agree with the header.
fn verify(frame: &mut Frame, name: &str, threads: i16, findings: &mut Findings) -> Result<()> {
    let failed = |error| Failure::of(name, error);
    let before = findings.damaged + findings.unknown;
    let progress = ByteProgress::new("verifying", frame.header.nbytes.max(0) as u64);
    let (header, faults) = (frame.header.clone(), frame.faults.clone());
    // An unknown size may be large.
    let size = match u64::try_from(header.chunksize) {
        Ok(size) if size > 0 => size,
        _ => u64::MAX,
    };
    let states = each_thread(threads, frame.nchunks() as u64, size, |threads| {
        frame.contexts(threads).map_err(failed)
    })?;
    let mut sum = Sum {
        nbytes: Some(0),
        ..Sum::default()
    };
    let mut walk = frame.walk(|_| u64::MAX);
    in_order(
        states,
        || Ok(ChunkToCheck::next(&mut walk)),
        |contexts, part| {
            let result = part.check(contexts, &header);
            let count = part.found.map_or(1, |run| run.count);
            Ok((part.nchunk, part.expected.unwrap_or(0) * count, result))
        },
        |(nchunk, nbytes, result)| {
            match result {
                Ok(Some(sound)) => {
                    findings.count(sound.has_checksums);
                    sum.add(&sound);
                }
                // Only the header of the frame says how many bytes of data this is.
                Ok(None) => sum.nbytes = None,
                Err(damage) => {
                    sum.nbytes = None;
                    findings.note(&progress, &format!("chunk {nchunk}"), &damage, &faults)?;
                }
            }
            progress.add(nbytes);
            Ok(())
        },
    )?;
    let shared = "the index leads to the same place for different chunks";
    if sum.is_shared() {
        findings.add(&progress, shared);
    }
    // What is damaged could not be told from what is elsewhere.
    let is_sound = findings.damaged + findings.unknown == before;
    if is_sound && frame.has_misplaced() {
        findings.add(&progress, MISPLACED);
    }
    faults.check()?;
    let contexts = frame.contexts(threads).map_err(failed)?;
    verify_vlmetalayers(frame, &contexts, &progress, findings)?;
    let problems = [
        check::data_size(frame, sum.nbytes),
        check::array(frame, sum.blocksize),
    ];
    for problem in problems.into_iter().flatten() {
        findings.add(&progress, &problem);
    }
    Ok(())
}

/// Decompresses the metalayers of variable length.
fn verify_vlmetalayers(
    frame: &Frame,
    contexts: &Contexts,
    progress: &ByteProgress,
    findings: &mut Findings,
) -> Result<()> {
    for layer in &frame.vlmetalayers {
        if let Err(damage) = check_chunk(contexts, &layer.content, None) {
            let what = format!("variable-length metalayer '{}'", clean(&layer.name));
            findings.note(progress, &what, &damage, &frame.faults)?;
        }
    }
    Ok(())
}

impl Findings {
    /// Prints the last line. Fails if nothing is damaged, but not all could be checked.
    fn conclude(
        &self,
        input: &Input,
        what: &str,
        nbytes: u64,
        covered: &str,
        quiet: bool,
    ) -> Result<Outcome> {
        if self.damaged + self.unknown == 0 {
            if !quiet {
                print_line(&format!(
                    "{}: fine ({what}, {}; {})",
                    input.name(),
                    bytes(nbytes),
                    self.checks(covered)
                ));
            }
            return Ok(Outcome::Fine);
        }
        if self.damaged > 0 {
            let parts = plural(self.damaged, "part", "parts");
            print_line(&format!("{}: {parts} damaged, of {what}", input.name()));
        }
        if self.unknown > 0 {
            let parts = plural(self.unknown, "part", "parts");
            print_line(&format!(
                "{}: {parts} could not be checked, of {what}",
                input.name()
            ));
        }
        // Parts for which something is missing here are not damaged, nor are they fine.
        match self.damaged {
            0 => Err(Failure::Reported),
            _ => Ok(Outcome::Damaged),
        }
    }

    /// Counts and prints a damaged part that is not a chunk.
    fn add(&mut self, progress: &ByteProgress, line: &str) {
        self.damaged += 1;
        self.print_line(progress, line);
    }

    /// Prints a line about the frame that is being checked.
    fn print_line(&self, progress: &ByteProgress, line: &str) {
        progress.print_line(&format!("{}{line}", self.prefix));
    }

    /// Counts an intact chunk.
    fn count(&mut self, has_checksums: bool) {
        match has_checksums {
            true => self.checked += 1,
            false => self.unchecked += 1,
        }
    }

    /// How an intact frame was checked, in words. `covered` are the parts besides chunks that have
    /// checksums.
    fn checks(&self, covered: &str) -> String {
        let chunks = match (self.checked, self.unchecked) {
            (0, _) if covered == "none" => return "no checksums, all can be decompressed".into(),
            (0, _) => String::new(),
            (_, 0) => ", all chunks".into(),
            (some, _) => format!(", {some} of the chunks"),
        };
        format!("checksums of {covered}{chunks} are right").replace("of none, ", "of ")
    }

    /// Counts and prints a part that cannot be decompressed. Fails if that is no damage.
    fn note(
        &mut self,
        progress: &ByteProgress,
        what: &str,
        damage: &Damage,
        faults: &Faults,
    ) -> Result<()> {
        faults.damage(damage.error)?;
        let unknown = [Error::CODEC_SUPPORT, Error::FILTER_PIPELINE].contains(&damage.error);
        let count = if unknown {
            &mut self.unknown
        } else {
            &mut self.damaged
        };
        *count += 1;
        if *count > NAMED {
            return Ok(());
        }
        let last = *count == NAMED;
        let blocks = match damage.blocks.len() {
            0 => String::new(),
            1 => format!(", block {}", damage.blocks[0]),
            _ => format!(", blocks {}", ranges(&damage.blocks, RANGES)),
        };
        let line = format!("{what}{blocks}: {}", describe(damage.error));
        self.print_line(progress, &line);
        if last {
            progress.print_line("more are not named");
        }
        Ok(())
    }
}
