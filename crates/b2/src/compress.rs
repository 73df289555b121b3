//! `b2 compress`: makes a frame of a file, and an array of an .npy file.

use crate::args::{Coding, CompressArgs, Threads, lengths, size};
use crate::failure::{Failure, Outcome, Result};
use crate::input::{Input, PipedInput};
use crate::library::{ArrayLayout, Place, SuperChunk, new_array, zeros};
use crate::npy::{MAGIC, Npy, boxes};
use crate::output::Output;
use crate::print::print_line;
use crate::progress::ByteProgress;
use crate::settings::Settings;
use crate::summary::tuple;
use crate::text::{bytes, ratio};
use crate::typesize;
use crate::workers::{BufferPool, each_thread, in_order};
use oxiblosc::b2nd::MAX_DIM;
use oxiblosc::codec::Codec;
use oxiblosc::filter;
use oxiblosc::format::chunk::header::MAX_BUFFERSIZE;
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::system::files::read_exact_at;
use std::fs::File;
use std::io::{self, Read, Seek};
use std::path::{Path, PathBuf};

/// The default size of a chunk, in bytes.
pub const CHUNK: usize = 4 << 20;
/// The default size of a chunk in large files of single bytes, such as text: matches can be further
/// apart.
const CHUNK_OF_BYTES: usize = 8 << 20;
/// The file size from which on it is used, so that each of several threads still gets some chunks.
const MANY_BYTES: u64 = 128 << 20;
/// The default size of a block of an array, in bytes: at most this.
const BLOCK: usize = 256 << 10;

/// The parameters for options that are not given. `typesize` is in bytes.
pub fn defaults(typesize: i32, threads: i16) -> Settings {
    let mut filters = [filter::NONE; 6];
    if typesize > 1 {
        filters[5] = filter::SHUFFLE;
    }
    Settings {
        codec: Codec::Zstd.code() as u8,
        codec_meta: 0,
        level: 5,
        filters,
        filters_meta: [0; 6],
        typesize,
        blocksize: 0,
        splitmode: 4,
        dict: false,
        checksums: false,
        threads,
    }
}

/// Runs the command.
pub fn run(args: &CompressArgs) -> Result<Outcome> {
    let mut given = match PipedInput::at(&args.input)? {
        Some(stream) => InputKind::Pipe(stream),
        None => InputKind::File(Input::new(&args.input)?),
    };
    let (file, begins) = match &mut given {
        InputKind::Pipe(pipe) => (None, pipe.prefix(MAGIC.len())? == MAGIC),
        InputKind::File(input) => (Some(&*input), begins_as_npy(input)?),
    };
    let array = begins && !args.raw;
    let to = match &args.output {
        Some(path) => path.clone(),
        None if file.is_none() => PathBuf::from("-"),
        None => named(&args.input, array),
    };
    let output = Output::new(&to, args.force, file)?.keep_times();
    let output = match args.sparse {
        true => output,
        false => output.of_file()?,
    };
    if args.sparse && output.is_stream() {
        return Err(Failure::message("a directory does not go through a pipe"));
    }
    let done = match given {
        InputKind::File(input) if array => compress_array(args, &input, &output)?,
        InputKind::File(input) => compress_file(args, &input, &output)?,
        InputKind::Pipe(pipe) if array => compress_array(args, &pipe.spooled()?, &output)?,
        InputKind::Pipe(pipe) => compress_pipe(args, pipe, &output)?,
    };
    let (name, cbytes, silent) = (
        output.name().to_string(),
        output.size()?,
        output.is_stream(),
    );
    output.finish()?;
    if !silent {
        let (before, after) = (bytes(done.nbytes), bytes(cbytes));
        let (ratio, how) = (ratio(done.nbytes, cbytes), done.how);
        print_line(&format!(
            "{name}: {before} to {after}, ratio {ratio} ({how})"
        ));
    }
    Ok(Outcome::Fine)
}

/// The input, by how it can be read.
enum InputKind {
    File(Input),
    Pipe(PipedInput),
}

/// What the summary line says.
struct Totals {
    /// Bytes of uncompressed data.
    nbytes: u64,
    /// The parameters that were used, in words.
    how: String,
}

fn begins_as_npy(input: &Input) -> Result<bool> {
    if input.is_dir()? {
        return Err(Failure::message(format!(
            "{}: is a directory",
            input.name()
        )));
    }
    let mut prefix = Vec::new();
    let read = input
        .open()?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut prefix);
    read.map_err(|error| Failure::at(input.path(), &error))?;
    Ok(prefix == MAGIC)
}

/// The default name of the frame.
fn named(input: &Path, array: bool) -> PathBuf {
    if array && input.extension().is_some_and(|ending| ending == "npy") {
        return input.with_extension("b2nd");
    }
    let mut name = input.as_os_str().to_os_string();
    name.push(if array { ".b2nd" } else { ".b2frame" });
    PathBuf::from(name)
}

/// The sizes of a chunk and a block of plain bytes, in bytes. If none is given, a chunk has
/// `default` bytes, and the size of a block is 0: the library chooses it. The size of a chunk is
/// rounded down to whole items.
pub fn plain_sizes(
    chunks: Option<&str>,
    blocks: Option<&str>,
    typesize: usize,
    default: usize,
) -> Result<(usize, i32)> {
    let chunk = chunks.map_or(Ok(default), size)?;
    let chunk = (chunk / typesize).max(1) * typesize;
    let block = blocks.map_or(Ok(0), size)?;
    if chunk > MAX_BUFFERSIZE as usize || block > chunk {
        return Err(Failure::message(
            "a chunk has less than 2 GiB, and a block no more than its chunk",
        ));
    }
    Ok((chunk, block as i32))
}

/// The sizes of a chunk and a block of a file of `size` bytes (0 if its size is unknown). Zstd
/// finds matches anywhere in a block, so single bytes that no filter reorders get blocks as large
/// as chunks.
fn file_sizes(args: &CompressArgs, settings: &Settings, size: u64) -> Result<(usize, i32)> {
    let (chunks, blocks) = (args.chunks.as_deref(), args.blocks.as_deref());
    let far = settings.codec == Codec::Zstd.code() as u8
        && settings.typesize == 1
        && settings.filters == [filter::NONE; 6]
        && !settings.dict
        && blocks.is_none();
    let default = match far && size >= MANY_BYTES {
        true => CHUNK_OF_BYTES,
        false => CHUNK,
    };
    let (chunk, block) = plain_sizes(chunks, blocks, settings.typesize as usize, default)?;
    let whole = chunk.min(CHUNK_OF_BYTES) as i32;
    Ok((chunk, if far { whole } else { block }))
}

fn place<'a>(path: &'a Path, sparse: bool) -> Place<'a> {
    if sparse {
        Place::Directory(path)
    } else {
        Place::File(path)
    }
}

/// The size of items that `b2 compress` chooses for a file of `size` bytes with this name, if none
/// is given.
pub fn chosen_typesize(file: &File, size: u64, name: &str, threads: Threads) -> Result<i32> {
    let args = CompressArgs {
        input: PathBuf::from(name),
        output: None,
        coding: Coding::default(),
        typesize: None,
        chunks: None,
        blocks: None,
        sparse: false,
        raw: true,
        force: false,
        threads,
    };
    let chosen = plain_settings(&args, (size, name), |place, part| {
        let read = read_exact_at(file, part, place);
        read.map_err(|error| Failure::at(Path::new(name), &error))
    })?;
    Ok(chosen.typesize)
}

/// Compresses a file as plain bytes.
fn compress_file(args: &CompressArgs, input: &Input, output: &Output) -> Result<Totals> {
    let mut file = input.open()?;
    let unread = |error: io::Error| Failure::at(input.path(), &error);
    let size = file.metadata().map_err(unread)?.len();
    let settings = plain_settings(args, (size, input.name()), |place, part| {
        let read = read_exact_at(&file, part, place);
        read.map_err(|error| match error.kind() {
            io::ErrorKind::UnexpectedEof => shortened(input),
            _ => unread(error),
        })
    })?;
    // Reading at a place moves the position of a file on Windows.
    file.rewind().map_err(unread)?;
    let done = compress_bytes(args, settings, (&mut file, input.name()), size, output)?;
    match done.nbytes < size {
        true => Err(shortened(input)),
        false => Ok(done),
    }
}

fn shortened(input: &Input) -> Failure {
    Failure::message(format!(
        "{}: became shorter while it was read",
        input.name()
    ))
}

/// Compresses what comes through a pipe.
fn compress_pipe(args: &CompressArgs, mut pipe: PipedInput, output: &Output) -> Result<Totals> {
    let name = pipe.name().to_string();
    let prefix = pipe.prefix(CHUNK)?;
    let settings = plain_settings(args, (prefix.len() as u64, &name), |place, part| {
        part.copy_from_slice(&prefix[place as usize..][..part.len()]);
        Ok(())
    })?;
    compress_bytes(args, settings, (&mut pipe.bytes(), &name), 0, output)
}

/// The parameters for plain bytes. If no size of items is given it is chosen by samples: `read`
/// reads the bytes at a position among the first `size` of what has this name.
fn plain_settings(
    args: &CompressArgs,
    (size, name): (u64, &str),
    read: impl Fn(u64, &mut [u8]) -> Result<()>,
) -> Result<Settings> {
    let failed = |error| Failure::of(name, error);
    let settings = |typesize| {
        let settings = defaults(typesize, args.threads.count());
        args.coding.apply(settings)
    };
    if let Some(typesize) = args.typesize {
        let chosen = settings(typesize)?;
        return chosen.check_codec(None).map(|()| chosen);
    }
    let plain = settings(1)?;
    plain.check_codec(None)?;
    let parts = |len, most| -> Result<Vec<Buffer>> {
        let places = typesize::places(size, len, most).into_iter();
        let part = |place| {
            let mut part = zeros(len).map_err(failed)?;
            read(place, &mut part).map(|()| part)
        };
        places.map(part).collect()
    };
    let samples = parts(typesize::SAMPLE, typesize::SAMPLES)?;
    let chosen = settings(typesize::best(&samples, settings, failed)?)?;
    if chosen.typesize == 1 {
        return Ok(chosen);
    }
    let pieces = parts(typesize::PIECE, typesize::PIECES)?;
    let blocks = Settings {
        blocksize: file_sizes(args, &plain, size)?
            .1
            .min(typesize::PIECE as i32),
        ..plain
    };
    let is_better = typesize::is_better(&pieces, &chosen, &blocks);
    Ok(match is_better.map_err(failed)? {
        true => chosen,
        false => plain,
    })
}

fn compress_bytes(
    args: &CompressArgs,
    settings: Settings,
    (from, source): (&mut (dyn Read + Send), &str),
    size: u64,
    output: &Output,
) -> Result<Totals> {
    let (chunk, blocksize) = file_sizes(args, &settings, size)?;
    let settings = Settings {
        blocksize,
        ..settings
    };
    let (name, path) = (output.name(), output.path());
    let failed = |error| Failure::of(name, error);
    let mut frame = SuperChunk::new(place(&path, args.sparse), &settings).map_err(failed)?;
    let checksums = frame.has_checksums().map_err(failed)?;
    let nchunks = size.div_ceil(chunk as u64);
    let states = each_thread(settings.threads, nchunks, chunk as u64, |threads| {
        SuperChunk::new(Place::Memory, &settings.with_threads(threads)).map_err(failed)
    })?;
    let progress = ByteProgress::new("compressing", size);
    let (used, rooms) = (BufferPool::new(), BufferPool::new());
    let (mut total, mut ended) = (0, false);
    in_order(
        states,
        || {
            if ended {
                return Ok(None);
            }
            let mut data: Vec<u8> = used.take().unwrap_or_default();
            data.clear();
            let read = from.take(chunk as u64).read_to_end(&mut data);
            read.map_err(|error| Failure::at(Path::new(source), &error))?;
            ended = data.len() < chunk;
            Ok((!data.is_empty()).then_some(data))
        },
        |contexts, data| {
            let mut buffer = rooms.take().unwrap_or_else(Buffer::new);
            let cbytes = contexts.compress_into(&data, checksums, &mut buffer);
            let (cbytes, len) = (cbytes.map_err(failed)?, data.len());
            used.keep(data);
            Ok((buffer, cbytes, len))
        },
        |(buffer, cbytes, len)| {
            frame.append_chunk(&buffer[..cbytes]).map_err(failed)?;
            rooms.keep(buffer);
            total += len as u64;
            progress.add(len);
            Ok(())
        },
    )?;
    frame.close().map_err(failed)?;
    let mut how = format!("{settings}, chunks of {}", bytes(chunk as u64));
    if blocksize > 0 {
        how += &format!(", blocks of {}", bytes(blocksize as u64));
    }
    let nbytes = total;
    Ok(Totals { nbytes, how })
}

/// The shape of a box of at most `most` bytes in an array of this shape: its longest side is halved
/// until it is small enough. Each side has at least one item.
pub fn fitting(shape: &[i64], itemsize: usize, most: usize) -> Vec<i32> {
    let within = |length: i64| length.clamp(1, i32::MAX.into()) as i32;
    let mut lengths: Vec<i32> = shape.iter().map(|length| within(*length)).collect();
    let nbytes = |lengths: &[i32]| {
        let sizes = lengths.iter().map(|length| *length as u128);
        sizes.product::<u128>().saturating_mul(itemsize as u128)
    };
    while nbytes(&lengths) > most as u128 {
        // Of equal sides the first one is halved, so that rows stay contiguous.
        let longest = (0..lengths.len()).rev().max_by_key(|d| lengths[*d]);
        match longest {
            Some(d) if lengths[d] > 1 => lengths[d] -= lengths[d] / 2,
            _ => break,
        }
    }
    lengths
}

/// The layout of an array, with the lengths of chunks and blocks that are given, or default ones.
/// They are at most those of the array. Fails if there are too many dimensions, or lengths for
/// another number of dimensions.
pub fn array_shape(
    shape: &[i64],
    dtype: &str,
    itemsize: usize,
    chunks: Option<&str>,
    blocks: Option<&str>,
) -> Result<ArrayLayout> {
    let ndim = shape.len();
    if ndim > MAX_DIM {
        return Err(Failure::message(format!(
            "{ndim} dimensions; at most {MAX_DIM} are possible"
        )));
    }
    let chunks = match chunks {
        Some(text) => lengths(text, ndim)?,
        None => fitting(shape, itemsize, CHUNK),
    };
    let blocks = match blocks {
        Some(text) => lengths(text, ndim)?,
        None => {
            let chunk: Vec<i64> = chunks.iter().map(|length| i64::from(*length)).collect();
            fitting(&chunk, itemsize, BLOCK)
        }
    };
    let nothing = shape.contains(&0);
    let capped = |lengths: Vec<i32>, most: &dyn Fn(usize) -> i64| -> Vec<i32> {
        let each = lengths.iter().enumerate();
        each.map(|(d, length)| i64::from(*length).min(most(d).max(1)) as i32)
            .collect()
    };
    let chunks = if nothing {
        chunks
    } else {
        capped(chunks, &|d| shape[d])
    };
    let blocks = capped(blocks, &|d| i64::from(chunks[d]));
    Ok(ArrayLayout {
        shape: shape.to_vec(),
        chunks,
        blocks,
        dtype: dtype.to_string(),
    })
}

/// The size of the items from `start` to before `stop`, in bytes.
pub fn box_size(start: &[i64], stop: &[i64], itemsize: usize) -> usize {
    let lengths = start
        .iter()
        .zip(stop)
        .map(|(from, to)| (to - from) as usize);
    lengths.product::<usize>() * itemsize
}

/// Checks that the size of items that is given, if any, is that of an .npy file, which says it
/// itself.
pub fn check_typesize(given: Option<i32>, itemsize: i32, input: &Input) -> Result<()> {
    match given {
        Some(given) if given != itemsize => Err(Failure::message(format!(
            "{}: its items have {}, as the file says, and not {given} (compress --raw takes any file as plain bytes)",
            input.name(),
            bytes(itemsize as u64)
        ))),
        _ => Ok(()),
    }
}

fn compress_array(args: &CompressArgs, input: &Input, output: &Output) -> Result<Totals> {
    let file = input.open()?;
    let npy = Npy::parse(&file, input.name())?;
    let itemsize = i32::try_from(npy.itemsize)
        .map_err(|_| Failure::message(format!("{}: its items are too large", input.name())))?;
    check_typesize(args.typesize, itemsize, input)?;
    let shape = array_shape(
        &npy.shape,
        &npy.dtype,
        npy.itemsize,
        args.chunks.as_deref(),
        args.blocks.as_deref(),
    )?;
    let settings = args
        .coding
        .apply(defaults(itemsize, args.threads.count()))?;
    settings.check_codec(Some(npy.shape.len()))?;
    let failed = |error| Failure::of(output.name(), error);
    let path = output.path();
    let place = place(&path, args.sparse);
    let array = new_array(place, &settings, &shape, &[]).map_err(failed)?;
    let total = box_size(&vec![0; npy.shape.len()], &npy.shape, npy.itemsize) as u64;
    let progress = ByteProgress::new("compressing", total);
    if total > 0 {
        for (start, stop) in boxes(&shape.shape, &shape.chunks) {
            let mut items = zeros(box_size(&start, &stop, npy.itemsize)).map_err(failed)?;
            npy.read((&file, input.name()), &start, &stop, &mut items)?;
            array.write(&start, &stop, &items).map_err(failed)?;
            progress.add(items.len());
        }
    }
    array.schunk().close_frame().map_err(failed)?;
    let (chunks, blocks) = (tuple(&shape.chunks), tuple(&shape.blocks));
    Ok(Totals {
        nbytes: total,
        how: format!("{settings}, chunks {chunks}, blocks {blocks}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    #[test]
    fn blocks_of_bytes_are_as_large_as_chunks() {
        let sizes = |options: &str, typesize: i32, nbytes: u64| {
            let line = format!("b2 compress file {options}");
            let Command::Compress(args) = Cli::parse_from(line.split_whitespace()).command else {
                panic!("another command");
            };
            let settings = args.coding.apply(defaults(typesize, 1)).expect("known");
            file_sizes(&args, &settings, nbytes).expect("possible")
        };
        const M: usize = 1 << 20;
        assert_eq!(sizes("", 1, 5000), (4 * M, 4 << 20));
        assert_eq!(sizes("-l 1", 1, 1 << 30), (8 * M, 8 << 20));
        assert_eq!(sizes("--chunks 1M", 1, 1 << 30), (M, 1 << 20));
        assert_eq!(sizes("--chunks 1G", 1, 0), (1024 * M, 8 << 20));
        // Other sizes can be asked for. Other codecs, filters, dictionaries and larger items have
        // blocks as the library makes them.
        assert_eq!(sizes("--blocks 64K", 1, 1 << 30), (4 * M, 64 << 10));
        for other in ["-c lz4", "--filters bitshuffle", "--dict"] {
            assert_eq!(sizes(other, 1, 1 << 30), (4 * M, 0), "{other}");
        }
        assert_eq!(sizes("", 8, 1 << 30), (4 * M, 0));
    }

    #[test]
    fn boxes_fit() {
        assert_eq!(fitting(&[1000, 1000], 8, 4 << 20), [500, 1000]);
        assert_eq!(fitting(&[10], 8, 4 << 20), [10]);
        assert_eq!(fitting(&[], 8, 4), [0i32; 0]);
        assert_eq!(fitting(&[1 << 40], 1, 1 << 20), [1 << 20]);
        assert_eq!(fitting(&[5, 5], 1 << 20, 4), [1, 1]);
        let shape = array_shape(&[10, 10], "<f8", 8, Some("20,5"), Some("3,9")).expect("possible");
        assert_eq!((shape.chunks, shape.blocks), (vec![10, 5], vec![3, 5]));
    }
}
