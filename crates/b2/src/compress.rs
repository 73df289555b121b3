//! `b2 compress`: a file into a frame, an .npy file into an array.

use crate::args::{CompressArgs, lengths, size};
use crate::failure::{Failure, Outcome, Result};
use crate::input::Input;
use crate::library::{Array, Place, Shape, SuperChunk, zeros};
use crate::npy::{MAGIC, Npy, boxes};
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::settings::Settings;
use crate::text::{bytes, ratio};
use oxiblosc_chunk::header::{MAX_BUFFERSIZE, filter_id};
use oxiblosc_codecs::Codec;
use oxiblosc_core::b2nd::MAX_DIM;
use std::io::{BufRead, Read, stdin};
use std::path::{Path, PathBuf};

/// Bytes of a chunk, unless something else is asked for.
const CHUNK: usize = 4 << 20;
/// Bytes of a block of an array, unless something else is asked for.
const BLOCK: usize = 256 << 10;

/// What is used where nothing is asked for.
pub fn defaults(typesize: i32, threads: i16) -> Settings {
    let mut filters = [filter_id::NONE; 6];
    if typesize > 1 {
        filters[5] = filter_id::SHUFFLE;
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
    let piped = args.input == Path::new("-");
    let file = match piped {
        true => None,
        false => Some(Input::new(&args.input)?),
    };
    let begins = match &file {
        None => stdin().lock().fill_buf()?.starts_with(MAGIC),
        Some(input) => begins_as_npy(input)?,
    };
    let array = begins && !args.raw;
    let to = match &args.output {
        Some(path) => path.clone(),
        None if piped => PathBuf::from("-"),
        None => named(&args.input, array),
    };
    let output = Output::new(&to, args.force, file.as_ref())?.keep_times();
    if args.sparse && output.is_stream() {
        return Err(Failure::say("a directory does not go through a pipe"));
    }
    let nbytes = match &file {
        Some(input) if array => compress_array(args, input, &output)?,
        None if array => compress_array(args, &Input::new(&args.input)?, &output)?,
        None => compress_bytes(args, &mut stdin().lock(), 0, &output)?,
        Some(input) => {
            let mut file = input.open()?;
            let size = file.metadata()?.len();
            compress_bytes(args, &mut file, size, &output)?
        }
    };
    let (name, cbytes, silent) = (output.name().to_string(), output.size(), output.is_stream());
    output.finish()?;
    if !silent {
        let (before, after) = (bytes(nbytes), bytes(cbytes));
        let ratio = ratio(nbytes, cbytes);
        say(&format!("{name}: {before} to {after}, ratio {ratio}"))?;
    }
    Ok(Outcome::Fine)
}

fn begins_as_npy(input: &Input) -> Result<bool> {
    if input.path().is_dir() {
        return Err(Failure::say(format!("{}: is a directory", input.name())));
    }
    let mut front = Vec::new();
    input
        .open()?
        .take(MAGIC.len() as u64)
        .read_to_end(&mut front)?;
    Ok(front == MAGIC)
}

/// The name of the frame, where none is given.
fn named(input: &Path, array: bool) -> PathBuf {
    if array && input.extension().is_some_and(|ending| ending == "npy") {
        return input.with_extension("b2nd");
    }
    let mut name = input.as_os_str().to_os_string();
    name.push(if array { ".b2nd" } else { ".b2frame" });
    PathBuf::from(name)
}

/// The sizes of chunks and blocks of plain bytes.
pub fn plain_sizes(
    chunks: Option<&str>,
    blocks: Option<&str>,
    typesize: usize,
) -> Result<(usize, i32)> {
    let chunk = chunks.map_or(Ok(CHUNK), size)?;
    let chunk = (chunk / typesize).max(1) * typesize;
    let block = blocks.map_or(Ok(0), size)?;
    if chunk > MAX_BUFFERSIZE as usize || block > chunk {
        return Err(Failure::say(
            "a chunk has less than 2 GiB, and a block no more than its chunk",
        ));
    }
    Ok((chunk, block as i32))
}

fn place<'a>(path: &'a Path, sparse: bool) -> Place<'a> {
    if sparse {
        Place::Directory(path)
    } else {
        Place::File(path)
    }
}

fn compress_bytes(
    args: &CompressArgs,
    from: &mut dyn Read,
    size: u64,
    output: &Output,
) -> Result<u64> {
    let typesize = args.typesize.unwrap_or(1);
    let (chunk, blocksize) = plain_sizes(
        args.chunks.as_deref(),
        args.blocks.as_deref(),
        typesize as usize,
    )?;
    let settings = Settings {
        blocksize,
        ..args
            .coding
            .apply(defaults(typesize, args.threads.count()))?
    };
    settings.check_codec(None)?;
    let failed = |error| Failure::of(output.name(), error);
    let path = output.path();
    let mut frame = SuperChunk::new(place(&path, args.sparse), &settings).map_err(failed)?;
    let progress = Progress::new("compressing", size);
    let mut data = Vec::new();
    let mut total = 0;
    loop {
        data.clear();
        from.take(chunk as u64).read_to_end(&mut data)?;
        if data.is_empty() {
            break;
        }
        frame.append_data(&data).map_err(failed)?;
        total += data.len() as u64;
        progress.add(data.len());
        if data.len() < chunk {
            break;
        }
    }
    frame.close().map_err(failed)?;
    Ok(total)
}

/// A box of no more than `most` bytes: a shape whose longest side is halved until it is small enough.
pub fn fitting(shape: &[i64], itemsize: usize, most: usize) -> Vec<i32> {
    let within = |length: i64| length.clamp(1, i32::MAX.into()) as i32;
    let mut lengths: Vec<i32> = shape.iter().map(|length| within(*length)).collect();
    let nbytes = |lengths: &[i32]| {
        let sizes = lengths.iter().map(|length| *length as u128);
        sizes.product::<u128>().saturating_mul(itemsize as u128)
    };
    while nbytes(&lengths) > most as u128 {
        // Of equal sides the first, so that what lies side by side stays together.
        let longest = (0..lengths.len()).rev().max_by_key(|d| lengths[*d]);
        match longest {
            Some(d) if lengths[d] > 1 => lengths[d] -= lengths[d] / 2,
            _ => break,
        }
    }
    lengths
}

/// How an array is to be cut.
pub fn array_shape(
    shape: &[i64],
    dtype: &str,
    itemsize: usize,
    chunks: Option<&str>,
    blocks: Option<&str>,
) -> Result<Shape> {
    let ndim = shape.len();
    if ndim > MAX_DIM {
        return Err(Failure::say(format!(
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
    Ok(Shape {
        shape: shape.to_vec(),
        chunks,
        blocks,
        dtype: dtype.to_string(),
    })
}

/// Items of a box, in bytes.
pub fn box_size(start: &[i64], stop: &[i64], itemsize: usize) -> usize {
    let lengths = start
        .iter()
        .zip(stop)
        .map(|(from, to)| (to - from) as usize);
    lengths.product::<usize>() * itemsize
}

fn compress_array(args: &CompressArgs, input: &Input, output: &Output) -> Result<u64> {
    let file = input.open()?;
    let npy = Npy::parse(&file, input.name())?;
    let itemsize = i32::try_from(npy.itemsize)
        .map_err(|_| Failure::say(format!("{}: its items are too large", input.name())))?;
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
    let mut array = Array::new(place, &settings, &shape, &[]).map_err(failed)?;
    let total = box_size(&vec![0; npy.shape.len()], &npy.shape, npy.itemsize) as u64;
    let progress = Progress::new("compressing", total);
    if total > 0 {
        for (start, stop) in boxes(&shape.shape, &shape.chunks) {
            let mut items = zeros(box_size(&start, &stop, npy.itemsize)).map_err(failed)?;
            npy.read(&file, &start, &stop, &mut items)?;
            array.write(&start, &stop, &items).map_err(failed)?;
            progress.add(items.len());
        }
    }
    array.close().map_err(failed)?;
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

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
