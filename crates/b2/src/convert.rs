//! `b2 convert`: copies a frame to a file or directory, as it is or compressed with other
//! parameters.

use crate::args::ConvertArgs;
use crate::array_walk::ArrayWalk;
use crate::check::unread;
use crate::chunks::{ChunkReader, Part};
use crate::compress::{CHUNK, array_shape, box_size, plain_sizes};
use crate::decompress::slab_size;
use crate::failure::{Failure, Outcome, Result};
use crate::input::Input;
use crate::library::{ArrayLayout, Place, SuperChunk, add_vlmeta, new_array, zeros};
use crate::open::{FrameOrChunk, parsed_array};
use crate::output::Output;
use crate::print::print_line;
use crate::progress::ByteProgress;
use crate::settings::Settings;
use crate::source::{Frame, StoredChunk, special_chunk, vlmeta_content};
use crate::text::{bytes, clean};
use crate::workers::{BufferPool, each_thread, in_order};
use oxiblosc::b2nd::meta::{NAME, OLD_NAME};
use oxiblosc::format::chunk::header::Special;
use oxiblosc::format::frame::header::FrameKind;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_repair::{Contexts, array_meta};

/// Runs the command.
pub fn run(args: &ConvertArgs) -> Result<Outcome> {
    let input = args.input.open()?;
    input.refuse_altered()?;
    let FrameOrChunk::Frame(mut frame) = FrameOrChunk::open(&input)? else {
        return Err(Failure::message(format!(
            "{}: a chunk alone; b2 decompress can read it",
            input.name()
        )));
    };
    frame.refuse_misplaced(input.name())?;
    let output = Output::new(&args.output, args.force, Some(&input))?;
    let kind = match (args.sparse, args.contiguous) {
        (true, _) => FrameKind::Sparse,
        (_, true) => FrameKind::Contiguous,
        _ => frame.header.kind,
    };
    if kind == FrameKind::Sparse && output.is_stream() {
        return Err(Failure::message(
            "a directory does not go through a pipe (--contiguous makes a file)",
        ));
    }
    let output = match kind {
        FrameKind::Sparse => output,
        FrameKind::Contiguous => output.of_file()?,
    };
    let path = output.path();
    let place = match kind {
        FrameKind::Contiguous => Place::File(&path),
        FrameKind::Sparse => Place::Directory(&path),
    };
    let settings = args.coding.apply(frame.settings(args.threads.count()))?;
    if args.coding.codec.is_some() || args.coding.filters.is_some() {
        let meta = frame.array().and_then(array_meta);
        settings.check_codec(meta.map(|meta| meta.ndim))?;
    }
    let shapes = args.chunks.is_some() || args.blocks.is_some();
    let again = args.coding.is_given() || shapes;
    if again && frame.header.vlblocks {
        return Err(Failure::message(format!(
            "{}: chunks of variable-length blocks can be copied, but not compressed again",
            input.name()
        )));
    }
    if frame.array().is_some() && shapes {
        reshape(args, &mut frame, (&input, output.name()), place, &settings)?;
    } else if again {
        recompress(args, &mut frame, (&input, output.name()), place, settings)?;
    } else {
        copy(&mut frame, (&input, output.name()), place, &settings)?;
    }
    let (name, silent) = (output.name().to_string(), output.is_stream());
    let before = input.faults().size_of(input.path());
    let (before, after) = (bytes(before), bytes(output.size()?));
    input.faults().check()?;
    output.finish()?;
    if !silent {
        print_line(&format!("{name}: {after}, from {before}"));
    }
    Ok(Outcome::Fine)
}

/// A new frame with the fixed-length metalayers of `frame`.
fn with_metalayers(
    frame: &Frame,
    place: Place,
    settings: &Settings,
) -> std::result::Result<SuperChunk, Error> {
    let mut new = SuperChunk::new(place, settings)?;
    for layer in &frame.header.metalayers {
        new.add_meta(&layer.name, &layer.content)?;
    }
    Ok(new)
}

/// Calls `add` with name and decompressed content of each variable-length metalayer.
fn copy_vlmetalayers(
    frame: &Frame,
    contexts: &Contexts,
    (input, to): (&Input, &str),
    mut add: impl FnMut(&[u8], &[u8]) -> std::result::Result<(), Error>,
) -> Result<()> {
    for layer in &frame.vlmetalayers {
        let what = format!("variable-length metalayer '{}': ", clean(&layer.name));
        let content = vlmeta_content(contexts, layer, i32::MAX as usize);
        let content = content.map_err(|error| input.failure(&what, error))?;
        add(&layer.name, &content).map_err(|error| Failure::of(to, error))?;
    }
    Ok(())
}

/// Copies the chunks without decompressing them.
fn copy(
    frame: &mut Frame,
    (input, to): (&Input, &str),
    place: Place,
    settings: &Settings,
) -> Result<()> {
    let unwritten = |error| Failure::of(to, error);
    let mut new = with_metalayers(frame, place, settings).map_err(unwritten)?;
    let progress = ByteProgress::new("copying", frame.header.nbytes.max(0) as u64);
    let failed = |nchunk, error| input.failure(&format!("chunk {nchunk}: "), error);
    let (nchunks, size) = (frame.nchunks(), frame.header.chunksize.max(0) as u64);
    let states = each_thread(settings.threads, nchunks as u64, size, |_| Ok(()))?;
    let header = frame.header.clone();
    let mut walk = frame.walk(|_| u64::MAX);
    in_order(
        states,
        || {
            let found = walk
                .next()
                .map(|(nchunk, found)| found.map_err(|error| failed(nchunk, error)));
            found.transpose()
        },
        |(), run| {
            let read = run.read().map_err(|error| failed(run.first, error))?;
            Ok((read, run.count, run.nbytes))
        },
        |(read, count, nbytes)| {
            let added = match read {
                StoredChunk::Bytes(chunk) => new.append_chunk(&chunk),
                StoredChunk::Special(kind) => {
                    new.append_specials(&special_chunk(kind, nbytes, &header), count)
                }
            };
            added.map_err(unwritten)?;
            progress.add(nbytes * count);
            Ok(())
        },
    )?;
    finish(frame, (input, to), settings.threads, new)
}

/// The size of a chunk in bytes, and the settings with the size of a block.
fn sizes_of(args: &ConvertArgs, frame: &Frame, settings: Settings) -> Result<(usize, Settings)> {
    let typesize = usize::try_from(settings.typesize).unwrap_or(1);
    let (chunks, blocks) = (args.chunks.as_deref(), args.blocks.as_deref());
    let default = match usize::try_from(frame.header.chunksize) {
        Ok(size) if size > 0 => size,
        _ => CHUNK,
    };
    let (chunk, blocksize) = plain_sizes(chunks, blocks, typesize, default)?;
    // The size of an array's blocks follows from their shape. Others can have another size for the
    // new codec.
    let blocksize = match frame.array() {
        Some(_) => block_of(frame),
        None => blocksize,
    };
    Ok((
        chunk,
        Settings {
            blocksize,
            ..settings
        },
    ))
}

/// A part of the data, compressed anew.
enum Made {
    /// A chunk at the front of a buffer, its bytes, and those of its data.
    Chunk(Buffer, usize, usize),
    /// Special values: their kind, the number of chunks, and bytes of data of each.
    Specials(Special, usize, usize),
}

/// Decompresses the data and compresses them again, in the same order.
fn recompress(
    args: &ConvertArgs,
    frame: &mut Frame,
    (input, to): (&Input, &str),
    place: Place,
    settings: Settings,
) -> Result<()> {
    let failed = |error| input.failure("", error);
    let unwritten = |error| Failure::of(to, error);
    let (chunk, settings) = sizes_of(args, frame, settings)?;
    let mut new = with_metalayers(frame, place, &settings).map_err(unwritten)?;
    let progress = ByteProgress::new("converting", frame.header.nbytes.max(0) as u64);
    let checksums = new.has_checksums().map_err(unwritten)?;
    let chunks = ChunkReader::of(frame, input);
    let rooms = BufferPool::new();
    let header = frame.header.clone();
    let compress = |to: &SuperChunk, data: &[u8]| {
        let mut buffer = rooms.take().unwrap_or_else(Buffer::new);
        let cbytes = to.compress_into(data, checksums, &mut buffer);
        Ok(Made::Chunk(buffer, cbytes.map_err(failed)?, data.len()))
    };
    let append = |created| {
        match created {
            Made::Chunk(buffer, cbytes, size) => {
                new.append_chunk(&buffer[..cbytes]).map_err(unwritten)?;
                rooms.keep(buffer);
                progress.add(size);
            }
            Made::Specials(kind, count, size) => {
                let chunk = special_chunk(kind, size, &header);
                new.append_specials(&chunk, count).map_err(unwritten)?;
                progress.add(size * count);
            }
        }
        Ok(())
    };
    // Some codecs need the metalayers.
    let make = |threads| with_metalayers(frame, Place::Memory, &settings.with_threads(threads));
    if args.chunks.is_some() {
        let states = each_thread(settings.threads, 0, chunk as u64, |threads| {
            make(threads).map_err(failed)
        })?;
        let from = frame.contexts(settings.threads).map_err(failed)?;
        let parts = chunks.cut(frame, from, chunk);
        let created = |to: &mut SuperChunk, part| match part {
            Part::Data(data) => compress(to, &data),
            Part::Specials(kind, count) => Ok(Made::Specials(kind, count, chunk)),
        };
        in_order(states, parts, created, append)?;
    } else {
        let states = chunks.each_thread(settings.threads, |threads| {
            Ok((frame.contexts(threads)?, make(threads)?))
        })?;
        in_order(
            states,
            chunks.take_from(frame, |_| u64::MAX),
            |(from, to), run| {
                if let Some(kind) = run.special() {
                    return Ok(Made::Specials(kind, run.count, run.nbytes));
                }
                let (data, size) = chunks.decompress(from, &run)?;
                let created = compress(to, &data[..size]);
                chunks.keep(data);
                created
            },
            append,
        )?;
    }
    finish(frame, (input, to), settings.threads, new)
}

/// The size of a block of an array, in bytes.
fn block_of(frame: &Frame) -> i32 {
    let meta = frame.array().and_then(array_meta);
    let items = meta.and_then(|meta| {
        let lengths = meta.blockshape[..meta.ndim].iter();
        lengths.copied().try_fold(1i32, i32::checked_mul)
    });
    items
        .and_then(|items| items.checked_mul(frame.header.parameters.typesize))
        .unwrap_or(frame.header.parameters.blocksize)
}

/// Adds the variable-length metalayers to the new frame and closes it.
fn finish(
    frame: &Frame,
    (input, to): (&Input, &str),
    threads: i16,
    mut new: SuperChunk,
) -> Result<()> {
    let contexts = frame.contexts(threads);
    let contexts = contexts.map_err(|error| input.failure("", error))?;
    copy_vlmetalayers(frame, &contexts, (input, to), |name, content| {
        new.add_vlmeta(name, content)
    })?;
    new.close().map_err(|error| Failure::of(to, error))
}

/// The layout of the array, with the lengths of chunks and blocks that are given.
fn new_shape(args: &ConvertArgs, frame: &Frame, input: &Input) -> Result<ArrayLayout> {
    let meta = parsed_array(frame, input)?;
    let itemsize = usize::try_from(frame.header.parameters.typesize).unwrap_or(1);
    let dtype = String::from_utf8(meta.dtype.unwrap_or(b"|u1").to_vec())
        .map_err(|_| Failure::message(format!("{}: the array's dtype is no text", input.name())))?;
    let chunks = args
        .chunks
        .clone()
        .unwrap_or_else(|| joined(&meta.chunkshape[..meta.ndim]));
    let shape = &meta.shape[..meta.ndim];
    array_shape(
        shape,
        &dtype,
        itemsize,
        Some(&chunks),
        args.blocks.as_deref(),
    )
}

/// Copies an array to one with other chunks or blocks.
fn reshape(
    args: &ConvertArgs,
    frame: &mut Frame,
    (input, to): (&Input, &str),
    place: Place,
    settings: &Settings,
) -> Result<()> {
    let failed = |error| input.failure("", error);
    let unwritten = |error| Failure::of(to, error);
    let itemsize = usize::try_from(frame.header.parameters.typesize).unwrap_or(1);
    let shape = new_shape(args, frame, input)?;
    let (header, parameters) = (frame.header.clone(), frame.header.parameters);
    let others: Vec<(&[u8], &[u8])> = frame
        .header
        .metalayers
        .iter()
        .filter(|layer| layer.name != NAME && layer.name != OLD_NAME)
        .map(|layer| (&layer.name[..], &layer.content[..]))
        .collect();
    let settings = Settings {
        blocksize: 0,
        ..*settings
    };
    let new = new_array(place, &settings, &shape, &others).map_err(unwritten)?;
    let progress = ByteProgress::new("converting", frame.header.nbytes.max(0) as u64);
    let size = slab_size(&shape.chunks, itemsize);
    let states = each_thread(settings.threads, 0, size, |threads| {
        input
            .open_array(threads)
            .map_err(|error| unread(input, &parameters, None, error))
    })?;
    let meta = parsed_array(frame, input)?;
    let mut parts = ArrayWalk::new(frame, &meta, &shape.chunks);
    in_order(
        states,
        || Ok(parts.next()),
        |old, part| {
            let size = box_size(&part.start, &part.stop, itemsize);
            let mut items = zeros(size).map_err(failed)?;
            part.read(old, &header, &mut items)
                .map_err(|error| unread(input, &parameters, Some(&part.start), error))?;
            Ok((part, items))
        },
        |(part, items)| {
            let written = new.write(&part.start, &part.stop, &items);
            written.map_err(unwritten)?;
            progress.add(items.len());
            Ok(())
        },
    )?;
    let contexts = frame.contexts(settings.threads).map_err(failed)?;
    copy_vlmetalayers(frame, &contexts, (input, to), |name, content| {
        add_vlmeta(new.schunk(), name, content)
    })?;
    new.schunk().close_frame().map(drop).map_err(unwritten)
}

fn joined(lengths: &[i32]) -> String {
    let lengths: Vec<String> = lengths.iter().map(ToString::to_string).collect();
    lengths.join(",")
}
