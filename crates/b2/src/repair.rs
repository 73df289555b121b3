//! `b2 repair`: copies all that is readable of a damaged frame into a new one. The damaged one is
//! only read.

use crate::args::{Fill, RepairArgs};
use crate::failure::{Failure, Outcome, Result, describe};
use crate::faults::Faults;
use crate::input::{ALTERED, Input};
use crate::library::{Place, SuperChunk, c_path, protection};
use crate::open::refuse_store;
use crate::output::Output;
use crate::print::{print_line, print_text};
use crate::progress::ByteProgress;
use crate::report::Report;
use crate::settings::Settings;
use crate::source::{settings_of, special_chunk, vlmeta_content};
use crate::text::clean;
use oxiblosc::format::chunk::header::Special;
use oxiblosc::format::frame::header::{FrameKind, Header};
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_repair::{
    self as repair, ChunkFinder, ChunkLocation, ChunkRepair, Contexts, Files, Integrity,
    RolledBackFile, RunList, Salvage, Sizes, Unrepairable, UsualFields, Verdict, cparams_of,
};

/// Runs the command.
pub fn run(args: &RepairArgs) -> Result<Outcome> {
    let input = args.input.open()?;
    refuse_store(&input)?;
    let output = Output::new(&args.output, args.force, Some(&input))?;
    let threads = args.threads.count();
    let plain = Contexts::plain(threads).map_err(|error| input.failure("", error))?;
    let sparse = input.is_dir()?;
    let output = match sparse {
        true => output,
        false => output.of_file()?,
    };
    let file_name = input.frame_file()?;
    let mut notes = Vec::new();
    if input.is_altered() {
        notes.push(format!("what was taken out {ALTERED}"));
    }
    let faults = input.faults();
    let file = match faults.open(&c_path(&file_name)?) {
        Ok(file) => Some(file),
        Err(error) => {
            let error = faults.damage(error)?;
            if !sparse {
                return Err(Failure::unread(input.name(), error));
            }
            notes.push("the file with header and index is missing".to_string());
            None
        }
    };
    let image = match &file {
        Some(file) => RolledBackFile::new(&**file, faults, &mut notes)
            .map_err(|why| unrepairable(why, &input))?,
        None => RolledBackFile::missing(faults),
    };
    let found = match sparse {
        true => repair::sparse(&image, input.path(), &plain, notes),
        false => repair::contiguous(&image, &plain, notes),
    };
    // An error that shows no damage comes before what follows from it, also that there is nothing.
    faults.check()?;
    let mut salvage = found.map_err(|why| unrepairable(why, &input))?;
    let mut chunks = ChunkFinder::new(&image, sparse.then(|| input.path()));
    chunks.set_bounds(&salvage.locations, salvage.limit);
    let sizes = repair::agree(
        &mut salvage.header,
        salvage.parts.header,
        &salvage.locations,
        &chunks,
        &mut salvage.notes,
    );
    faults.check()?;
    if !args.json {
        for note in &salvage.notes {
            print_line(note);
        }
    }
    let rebuilt = rebuild(args, &mut salvage, &chunks, &sizes, &output, faults)?;
    output.finish()?;
    let report = Report {
        salvage: &salvage,
        verdicts: &rebuilt,
        output: &args.output,
    };
    match args.json {
        true => print_text(format!("{}\n", report.json()).as_bytes()),
        false => report.print(),
    }
    Ok(match report.is_complete() {
        true => Outcome::Fine,
        false => Outcome::Damaged,
    })
}

/// The failure if nothing can be repaired.
fn unrepairable(why: Unrepairable, input: &Input) -> Failure {
    match why {
        Unrepairable::Folder(error) => Failure::at(input.path(), &error),
        why => match input.faults().check() {
            Err(failure) => failure,
            Ok(()) => Failure::message(why.to_string()),
        },
    }
}

/// Creates the new frame, with the fixed-length metalayers.
fn new_frame(
    header: &Header,
    output: &Output,
    settings: &Settings,
) -> std::result::Result<SuperChunk, Error> {
    let path = output.path();
    let place = match header.kind {
        FrameKind::Contiguous => Place::File(&path),
        FrameKind::Sparse => Place::Directory(&path),
    };
    let mut frame = SuperChunk::new(place, settings)?;
    for layer in &header.metalayers {
        frame.add_meta(&layer.name, &layer.content)?;
    }
    Ok(frame)
}

/// Writes the new frame, and returns the state of each chunk.
fn rebuild(
    args: &RepairArgs,
    salvage: &mut Salvage,
    chunks: &ChunkFinder,
    sizes: &Sizes,
    output: &Output,
    faults: &Faults,
) -> Result<RunList<Verdict>> {
    let header = &salvage.header;
    let failed = |error| Failure::of(output.name(), error);
    let threads = args.threads.count();
    let contexts = Contexts::of_frame(header, threads).map_err(failed)?;
    let templates = repair::templates(&salvage.locations, chunks);
    let usual = UsualFields::of(&salvage.locations, chunks);
    let settings = Settings {
        checksums: !templates.is_empty() || salvage.parts.has_checksums(),
        ..settings_of(header, threads)
    };
    let cparams = cparams_of(&header.parameters, threads);
    let mut frame = new_frame(header, output, &settings).map_err(failed)?;
    let progress = ByteProgress::new("repairing", header.nbytes.max(0) as u64);
    let mut verdicts = RunList::new();
    let last = salvage.locations.len().saturating_sub(1);
    let runs = salvage.locations.runs();
    // The last chunk may have another size.
    let runs = runs.flat_map(|(range, location)| {
        let at = last.clamp(range.start, range.end);
        let parts = [range.start..at, at..range.end];
        parts.map(|part| (part, *location))
    });
    for (range, location) in runs.filter(|(range, _)| !range.is_empty()) {
        let (nchunk, count) = (range.start, range.len());
        let expected = sizes.expected(nchunk);
        progress.add(expected.unwrap_or(0).saturating_mul(count));
        if let ChunkLocation::At(place) = location {
            for _ in range {
                let repair = ChunkRepair {
                    contexts: &contexts,
                    cparams: &cparams,
                    new_checksums: protection(settings.checksums).checksums,
                    checksums: settings.checksums,
                    parameters: &header.parameters,
                    templates: &templates,
                    usual: &usual,
                    faults,
                    in_order: salvage.in_order,
                    metalayers: salvage.parts.header == Integrity::Intact,
                    expected,
                };
                let (chunk, verdict) = repair.chunk_at(place, chunks);
                // An error that shows no damage would make good data appear lost.
                faults.check()?;
                let chunk = match chunk {
                    Some(chunk) => Some(chunk),
                    None => filler(args.fill, header, expected)
                        .map(|filler| Buffer::copy_of(&filler))
                        .transpose()
                        .map_err(failed)?,
                };
                let added = chunk.map(|chunk| frame.append_chunk(&chunk));
                verdicts.push(kept(added, verdict).map_err(failed)?, 1);
            }
            continue;
        }
        let (chunk, verdict) = match (location, expected) {
            (ChunkLocation::Special(kind), Some(size)) => {
                let known = salvage.specials_proven && sizes.is_known(nchunk);
                let verdict = Verdict::whole(Integrity::proven_if(known), 1);
                (Some(special_chunk(kind, size, header)), verdict)
            }
            _ => (filler(args.fill, header, expected), Verdict::lost()),
        };
        let added = chunk.map(|chunk| frame.append_specials(&chunk, count));
        verdicts.push(kept(added, verdict).map_err(failed)?, count);
    }
    copy_vlmetalayers(salvage, &contexts, (&mut frame, output.name()), faults)?;
    frame.close().map_err(failed)?;
    Ok(verdicts)
}

/// What became of chunks that were appended, or are left out, if that is their state in the damaged
/// frame.
fn kept(
    added: Option<std::result::Result<(), Error>>,
    verdict: Verdict,
) -> std::result::Result<Verdict, Error> {
    match added {
        Some(Ok(())) => Ok(verdict),
        Some(Err(error)) if error != Error::CHUNK_APPEND => Err(error),
        // The frame does not take a chunk of this size, so it was never one of its chunks.
        Some(Err(_)) | None => Ok(Verdict {
            missing: true,
            ..Verdict::lost()
        }),
    }
}

/// The chunk that replaces a lost one of `nbytes` bytes of data. None if the size is unknown, and
/// among chunks of variable-length blocks: then the lost chunk is left out.
fn filler(fill: Fill, header: &Header, nbytes: Option<usize>) -> Option<Vec<u8>> {
    let kind = match fill {
        Fill::Zeros => Special::Zero,
        Fill::Nan => Special::Nan,
        Fill::Uninit => Special::Uninit,
    };
    let nbytes = nbytes.filter(|_| !header.vlblocks)?;
    Some(special_chunk(kind, nbytes, header))
}

/// Copies the variable-length metalayers to the new frame, which has this name, and notes which of
/// them are lost.
fn copy_vlmetalayers(
    salvage: &mut Salvage,
    contexts: &Contexts,
    (frame, name): (&mut SuperChunk, &str),
    faults: &Faults,
) -> Result<()> {
    for layer in &salvage.vlmetalayers {
        match vlmeta_content(contexts, layer, i32::MAX as usize) {
            Ok(content) => {
                let added = frame.add_vlmeta(&layer.name, &content);
                added.map_err(|error| Failure::of(name, error))?;
            }
            Err(error) => salvage.lost.push(format!(
                "variable-length metalayer '{}' is lost: {}",
                clean(&layer.name),
                describe(faults.damage(error)?)
            )),
        }
    }
    Ok(())
}
