//! `b2 decompress`: a frame into a file, an array into an .npy file.

use crate::args::DecompressArgs;
use crate::compress::box_size;
use crate::failure::{Failure, Outcome, Result, describe};
use crate::input::Input;
use crate::library::{Array, SuperChunk, zeros};
use crate::npy::{Npy, boxes, runs};
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::source::{Frame, FrameOrChunk, StoredChunk, array_meta, plain_contexts, special_chunk};
use crate::store::kind_of;
use crate::text::bytes;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_core::b2nd::meta::Meta;
use oxiblosc_system::files::write_all_at;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};

/// Runs the command.
pub fn run(args: &DecompressArgs) -> Result<Outcome> {
    let input = args.input.open()?;
    let source = FrameOrChunk::open(&input)?;
    let array = match &source {
        FrameOrChunk::Frame(frame) => frame.array().is_some(),
        FrameOrChunk::Chunk(_) => false,
    };
    if let FrameOrChunk::Frame(frame) = &source
        && let Some(what) = frame.stands_for().filter(|_| !args.raw)
    {
        return Err(Failure::say(format!(
            "{}: {what} of python-blosc2, whose data are not in it: blosc2.open gives them (--raw writes what is in it)",
            input.name()
        )));
    }
    if let FrameOrChunk::Frame(frame) = &source
        && !args.raw
        && kind_of(frame).is_store()
    {
        return Err(Failure::say(format!(
            "{}: a store of python-blosc2 (b2 info lists what is in it, --key takes one; --raw writes all its bytes)",
            input.name()
        )));
    }
    let to = match &args.output {
        Some(path) => path.clone(),
        None => match input.origin() {
            None => PathBuf::from("-"),
            Some(path) if input.is_named() => named(path, array && !args.raw)?,
            Some(_) => return Err(Failure::say("say with --output where to write")),
        },
    };
    let mut output = Output::new(&to, args.force, Some(&input))?.keep_times();
    let threads = args.threads.count();
    let failed = |error| Failure::of(input.name(), error);
    match source {
        FrameOrChunk::Frame(frame) if array => decompress_array(args, &frame, &input, &output)?,
        FrameOrChunk::Frame(mut frame) => {
            let contexts = frame.contexts(threads).map_err(failed)?;
            let progress = Progress::new("decompressing", frame.header.nbytes.max(0) as u64);
            let mut write = output.writer()?;
            each_chunk(&mut frame, &contexts, &input, |data| {
                progress.add(data.len());
                Ok(write.write_all(data)?)
            })?;
            write.flush()?;
        }
        FrameOrChunk::Chunk(chunk) => {
            let contexts = plain_contexts(threads).map_err(failed)?;
            let size = ChunkHeader::parse(&chunk).map_err(failed)?.nbytes;
            let mut data = zeros(size).map_err(failed)?;
            let size = contexts.decompress(&chunk, &mut data).map_err(failed)?;
            let mut write = output.writer()?;
            write.write_all(&data[..size])?;
            write.flush()?;
        }
    }
    let (report, silent) = (
        format!("{}: {}", output.name(), bytes(output.size())),
        output.is_stream(),
    );
    output.finish()?;
    if !silent {
        say(&report)?;
    }
    Ok(Outcome::Fine)
}

/// The name of the file, where none is given.
fn named(input: &Path, npy: bool) -> Result<PathBuf> {
    let known = ["b2frame", "b2nd", "b2", "cdata"];
    let ending = input
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    match (npy, known.contains(&ending)) {
        (true, _) => Ok(input.with_extension("npy")),
        (false, true) => Ok(input.with_extension("")),
        (false, false) => Err(Failure::say(format!(
            "{}: no ending to take away; say with --output where to write",
            input.display()
        ))),
    }
}

/// Gives the data of each chunk of a frame.
pub fn each_chunk(
    frame: &mut Frame,
    contexts: &SuperChunk,
    input: &Input,
    each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let all = 0..frame.nchunks();
    each_chunk_of(frame, contexts, input, all, each)
}

/// Gives the data of some chunks of a frame.
pub fn each_chunk_of(
    frame: &mut Frame,
    contexts: &SuperChunk,
    input: &Input,
    chosen: impl Iterator<Item = usize>,
    mut each: impl FnMut(&[u8]) -> Result<()>,
) -> Result<()> {
    let uniform = frame.header.chunksize > 0;
    let mut data = zeros(0).map_err(|error| Failure::of(input.name(), error))?;
    for nchunk in chosen {
        let failed = |error| {
            let name = input.name();
            Failure::say(format!(
                "{name}: chunk {nchunk} is damaged: {} (b2 repair brings back the others)",
                describe(error)
            ))
        };
        let chunk = match frame.chunk(nchunk).map_err(failed)? {
            StoredChunk::Bytes(chunk) => chunk.to_vec(),
            StoredChunk::Special(kind, size) => special_chunk(kind, size, &frame.header),
        };
        let size = ChunkHeader::parse(&chunk).map_err(failed)?.nbytes;
        if uniform && size != frame.chunk_nbytes(nchunk) {
            return Err(failed(oxiblosc_error::Error::Data));
        }
        if data.len() < size {
            data = zeros(size).map_err(failed)?;
        }
        let size = contexts
            .decompress(&chunk, &mut data[..size])
            .map_err(failed)?;
        each(&data[..size])?;
    }
    Ok(())
}

/// The dtype of an array's file, and bytes of an item.
fn dtype_of(meta: &Meta, frame: &Frame) -> (String, usize) {
    let size = usize::try_from(frame.header.typesize).unwrap_or(1);
    let plain = |text: &&str| {
        let printable = text.chars().all(|c| !c.is_control() && c != '\\');
        printable && (text.starts_with('[') || crate::npy::itemsize_of(text) == Some(size))
    };
    let named = meta
        .dtype
        .filter(|_| meta.dtype_format == 0)
        .and_then(|dtype| std::str::from_utf8(dtype).ok())
        .filter(plain);
    let dtype = named.map_or_else(|| format!("|V{size}"), str::to_string);
    (dtype, size)
}

fn decompress_array(
    args: &DecompressArgs,
    frame: &Frame,
    input: &Input,
    output: &Output,
) -> Result<()> {
    let failed = |error| Failure::of(input.name(), error);
    let meta = frame.array().and_then(array_meta).ok_or_else(|| {
        Failure::say(format!(
            "{}: the array's metalayer is damaged",
            input.name()
        ))
    })?;
    let array = Array::open(input.path()).map_err(failed)?;
    let (dtype, itemsize) = dtype_of(&meta, frame);
    let shape = &meta.shape[..meta.ndim];
    let header = if args.raw {
        Vec::new()
    } else {
        Npy::header(shape, &dtype)
    };
    let file = output.create()?;
    write_all_at(&file, &header, 0)?;
    let total = shape.iter().try_fold(itemsize as u64, |n, length| {
        n.checked_mul((*length).max(0) as u64)
    });
    let total = total.ok_or_else(|| Failure::say(format!("{}: too large", input.name())))?;
    file.set_len(header.len() as u64 + total)?;
    if total == 0 {
        return Ok(());
    }
    let progress = Progress::new("decompressing", total);
    for (start, stop) in boxes(shape, &meta.chunkshape[..meta.ndim]) {
        let mut items = zeros(box_size(&start, &stop, itemsize)).map_err(failed)?;
        array.read(&start, &stop, &mut items).map_err(|error| {
            Failure::say(format!(
                "{}: the chunk at {} is damaged: {} (b2 repair brings back the others)",
                input.name(),
                crate::summary::tuple(&start),
                describe(error)
            ))
        })?;
        runs(shape, &start, &stop, |at, from, count| {
            let pos = header.len() as u64 + at * itemsize as u64;
            let run = &items[from * itemsize..(from + count) * itemsize];
            Ok(write_all_at(&file, run, pos)?)
        })?;
        progress.add(items.len());
    }
    Ok(())
}
