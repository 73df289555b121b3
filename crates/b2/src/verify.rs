//! `b2 verify`: decompresses everything there is and says what cannot be.

use crate::args::VerifyArgs;
use crate::check::{self, Damage};
use crate::failure::{Failure, Outcome, Result, describe};
use crate::input::Input;
use crate::output::{complain, say};
use crate::progress::Progress;
use crate::source::{Frame, FrameOrChunk, REPAIR, StoredChunk, plain_contexts, vlmeta_content};
use crate::text::{bytes, clean, plural, ranges};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_error::Error;
use oxiblosc_frame::header::Kind;
use oxiblosc_frame::offsets::Place as At;
use std::path::Path;

/// Damaged chunks that are named one by one.
const NAMED: usize = 100;
/// Ranges of blocks that are named.
const RANGES: usize = 8;

/// What was found.
#[derive(Default)]
struct Findings {
    damaged: usize,
    unknown: usize,
    /// Chunks with checksums, and without.
    checked: usize,
    unchecked: usize,
}

/// Runs the command. A file that cannot be looked at does not keep the others from it.
pub fn run(args: &VerifyArgs) -> Result<Outcome> {
    let mut outcome = Outcome::Fine;
    let mut failure = None;
    for path in &args.inputs {
        match verify_one(path, args) {
            Ok(Outcome::Fine) => {}
            Ok(Outcome::Damaged) => outcome = Outcome::Damaged,
            Err(Failure::Said(line)) if args.inputs.len() > 1 => {
                complain(&line);
                failure = Some(Failure::AlreadySaid);
            }
            Err(error) => return Err(error),
        }
    }
    failure.map_or(Ok(outcome), Err)
}

fn verify_one(path: &Path, args: &VerifyArgs) -> Result<Outcome> {
    let input = Input::new(path)?;
    let mut findings = Findings::default();
    let (what, nbytes, covered) = match FrameOrChunk::try_open(&input)? {
        Err(error) => {
            let why = describe(error);
            say(&format!("{}: damaged: {why} ({REPAIR})", input.name()))?;
            return Ok(Outcome::Damaged);
        }
        Ok(FrameOrChunk::Chunk(chunk)) => {
            let contexts = plain_contexts(args.threads.count());
            let contexts = contexts.map_err(|error| Failure::of(input.name(), error))?;
            match check::chunk(&contexts, &chunk, None) {
                Err(damage) => findings.note(&Progress::new("", 0), "the chunk", &damage)?,
                Ok(()) => findings.count(&chunk),
            }
            ("1 chunk".to_string(), chunk.len() as u64, "none")
        }
        Ok(FrameOrChunk::Frame(mut frame)) => {
            verify(&mut frame, &input, args.threads.count(), &mut findings)?;
            let nbytes = frame.header.nbytes.max(0) as u64;
            let chunks = plural(frame.nchunks(), "chunk", "chunks");
            (chunks, nbytes, frame.covered())
        }
    };
    if findings.damaged + findings.unknown == 0 {
        if !args.quiet {
            say(&format!(
                "{}: fine ({what}, {}; {})",
                input.name(),
                bytes(nbytes),
                findings.checks(covered)
            ))?;
        }
        return Ok(Outcome::Fine);
    }
    if findings.damaged > 0 {
        let parts = plural(findings.damaged, "part", "parts");
        say(&format!("{}: {parts} damaged, of {what}", input.name()))?;
    }
    if findings.unknown > 0 {
        let parts = plural(findings.unknown, "part", "parts");
        say(&format!(
            "{}: {parts} could not be checked, of {what}",
            input.name()
        ))?;
    }
    Ok(Outcome::Damaged)
}

fn verify(frame: &mut Frame, input: &Input, threads: i16, findings: &mut Findings) -> Result<()> {
    let contexts = frame
        .contexts(threads)
        .map_err(|error| Failure::of(input.name(), error))?;
    let nchunks = frame.nchunks();
    let progress = Progress::new("verifying", frame.header.nbytes.max(0) as u64);
    let uniform = frame.header.chunksize > 0;
    let mut places = Vec::new();
    for nchunk in repeated(frame, nchunks) {
        let expected = uniform.then(|| frame.chunk_nbytes(nchunk));
        let result = match frame.chunk(nchunk) {
            Ok(StoredChunk::Special(..)) => Ok(()),
            Ok(StoredChunk::Bytes(chunk)) => check::chunk(&contexts, &chunk, expected)
                .and_then(|()| check::item_size(&chunk, frame.header.typesize))
                .map(|()| findings.count(&chunk)),
            Err(error) => Err(Damage {
                error,
                blocks: Vec::new(),
            }),
        };
        if let Err(damage) = result {
            findings.note(&progress, &format!("chunk {nchunk}"), &damage)?;
        } else if let (Ok(At::At(pos)), Ok(Some(header))) =
            (frame.offsets().place(nchunk), frame.chunk_header(nchunk))
        {
            let cbytes = match frame.header.kind {
                Kind::Contiguous => header.cbytes as u64,
                // Each has a file of its own.
                Kind::Sparse => 1,
            };
            places.push((pos, pos + cbytes));
        }
        progress.add(expected.unwrap_or(0));
    }
    places.sort_unstable();
    if places.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        findings.damaged += 1;
        progress.say("the index leads to the same place for different chunks")?;
    }
    for layer in &frame.vlmetalayers {
        // As large as a metalayer can be: it is one chunk.
        if let Err(error) = vlmeta_content(&contexts, layer, i32::MAX as usize) {
            let what = format!("variable-length metalayer '{}'", clean(&layer.name));
            let blocks = Vec::new();
            findings.note(&progress, &what, &Damage { error, blocks })?;
        }
    }
    if let Some(content) = frame.array() {
        check_array(frame, content, findings, &progress)?;
    }
    Ok(())
}

/// The chunks to look at: of a frame that says the same of all its chunks, one will do.
fn repeated(frame: &Frame, nchunks: usize) -> std::ops::Range<usize> {
    match frame.offsets() {
        oxiblosc_frame::offsets::Offsets::Repeated { .. } => 0..nchunks.min(1),
        _ => 0..nchunks,
    }
}

/// An array must have the chunks that its shape says.
fn check_array(
    frame: &Frame,
    content: &[u8],
    findings: &mut Findings,
    progress: &Progress,
) -> Result<()> {
    use oxiblosc_core::b2nd::geometry::Geometry;
    let expected = crate::source::array_meta(content).and_then(|meta| {
        let geometry =
            Geometry::new(meta.ndim, &meta.shape, &meta.chunkshape, &meta.blockshape).ok()?;
        geometry.nchunks().ok()
    });
    let problem = match expected {
        None => "the array's metalayer makes no sense".to_string(),
        Some(expected) if expected != frame.nchunks() as i64 => {
            format!(
                "the array's shape asks for {expected} chunks, there are {}",
                frame.nchunks()
            )
        }
        Some(_) => return Ok(()),
    };
    findings.damaged += 1;
    progress.say(&problem)
}

impl Findings {
    /// Counts a chunk that is right.
    fn count(&mut self, chunk: &[u8]) {
        match ChunkHeader::parse(chunk).is_ok_and(|header| header.has_checksums()) {
            true => self.checked += 1,
            false => self.unchecked += 1,
        }
    }

    /// What kind of check each part had, where all are right; `covered` are those with checksums besides chunks.
    fn checks(&self, covered: &str) -> String {
        let chunks = match (self.checked, self.unchecked) {
            (0, _) if covered == "none" => return "no checksums, all can be decompressed".into(),
            (0, _) => String::new(),
            (_, 0) => ", all chunks".into(),
            (some, _) => format!(", {some} of the chunks"),
        };
        format!("checksums of {covered}{chunks} are right").replace("of none, ", "of ")
    }

    fn note(&mut self, progress: &Progress, what: &str, damage: &Damage) -> Result<()> {
        let unknown = matches!(damage.error, Error::CodecSupport | Error::FilterPipeline);
        let count = if unknown {
            &mut self.unknown
        } else {
            &mut self.damaged
        };
        *count += 1;
        if *count > NAMED {
            return Ok(());
        }
        let blocks = match damage.blocks.len() {
            0 => String::new(),
            1 => format!(", block {}", damage.blocks[0]),
            _ => format!(", blocks {}", ranges(&damage.blocks, RANGES)),
        };
        progress.say(&format!("{what}{blocks}: {}", describe(damage.error)))?;
        if *count == NAMED {
            progress.say("more are not named")?;
        }
        Ok(())
    }
}
