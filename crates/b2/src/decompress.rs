//! `b2 decompress`: writes the data of a frame to a file, and an array to an .npy file.

use crate::args::DecompressArgs;
use crate::array_walk::ArrayWalk;
use crate::check::unread;
use crate::chunks::{ChunkReader, PIECE};
use crate::compress::box_size;
use crate::failure::{Failure, Outcome, Result};
use crate::input::Input;
use crate::library::zeros;
use crate::npy::{Npy, item_size, runs};
use crate::open::{FrameOrChunk, parsed_array};
use crate::output::Output;
use crate::print::print_line;
use crate::progress::ByteProgress;
use crate::source::Frame;
use crate::store::kind_of;
use crate::text::bytes;
use crate::workers::{BufferPool, each_thread, in_order};
use oxiblosc::b2nd::meta::Meta;
use oxiblosc::format::chunk::header::{ChunkHeader, Special};
use oxiblosc_base::memory::Buffer;
use oxiblosc_base::system::files::write_all_at;
use oxiblosc_repair::Contexts;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The most bytes of an array that a thread decompresses at a time, unless a single chunk has more.
const SLAB: u64 = 32 << 20;

/// Runs the command.
pub fn run(args: &DecompressArgs) -> Result<Outcome> {
    let input = args.input.open()?;
    input.refuse_altered()?;
    let mut source = FrameOrChunk::open(&input)?;
    if let FrameOrChunk::Frame(frame) = &mut source {
        frame.refuse_misplaced(input.name())?;
    }
    let array = match &source {
        FrameOrChunk::Frame(frame) => frame.array().is_some(),
        FrameOrChunk::Chunk(_) => false,
    };
    if let FrameOrChunk::Frame(frame) = &source
        && !args.raw
    {
        refuse_without_data(frame, &input)?;
    }
    let to = match &args.output {
        Some(path) => path.clone(),
        None => match input.origin() {
            None => PathBuf::from("-"),
            Some(path) if input.is_named() => named(path, array && !args.raw)?,
            Some(_) => return Err(Failure::message("say with --output where to write")),
        },
    };
    let mut output = Output::new(&to, args.force, Some(&input))?
        .of_file()?
        .keep_times();
    let threads = args.threads.count();
    let failed = |error| input.failure("", error);
    match source {
        FrameOrChunk::Frame(frame) if array => {
            decompress_array(args, &frame, &input, &output, threads)?
        }
        FrameOrChunk::Frame(frame) => decompress_frame(*frame, &input, &mut output, threads)?,
        FrameOrChunk::Chunk(chunk) => {
            let contexts = Contexts::plain(threads).map_err(failed)?;
            let size = ChunkHeader::parse(&chunk).map_err(failed)?.nbytes;
            let mut data = zeros(size).map_err(failed)?;
            let size = contexts.decompress(&chunk, &mut data).map_err(failed)?;
            let to = PathBuf::from(output.name());
            let mut write = output.writer()?;
            write
                .write_all(&data[..size])
                .and_then(|()| write.flush())
                .map_err(|error| Failure::at(&to, &error))?;
        }
    }
    let (report, silent) = (
        format!("{}: {}", output.name(), bytes(output.size()?)),
        output.is_stream(),
    );
    output.finish()?;
    if !silent {
        print_line(&report);
    }
    Ok(Outcome::Fine)
}

/// Fails for frames of python-blosc2 whose bytes are not the user's data.
pub fn refuse_without_data(frame: &Frame, input: &Input) -> Result<()> {
    if let Some(what) = frame.stands_for() {
        return Err(Failure::message(format!(
            "{}: {what} of python-blosc2, whose data are not in it: blosc2.open gives them (decompress --raw writes what is in it)",
            input.name()
        )));
    }
    if kind_of(frame).is_store() {
        return Err(Failure::message(format!(
            "{}: a store of python-blosc2 (b2 info lists what is in it, --key takes one; decompress --raw writes all its bytes)",
            input.name()
        )));
    }
    Ok(())
}

/// The default name of the file.
fn named(input: &Path, npy: bool) -> Result<PathBuf> {
    let known = ["b2frame", "b2nd", "b2", "cdata"];
    let ending = input
        .extension()
        .and_then(OsStr::to_str)
        .unwrap_or_default();
    match (npy, known.contains(&ending)) {
        (true, _) => Ok(input.with_extension("npy")),
        (false, true) => Ok(input.with_extension("")),
        (false, false) => Err(Failure::message(format!(
            "{}: no ending to take away; say with --output where to write",
            input.display()
        ))),
    }
}

/// Decompresses the chunks by several threads. In a file each is written at its position; to a pipe
/// they are written in order.
fn decompress_frame(frame: Frame, input: &Input, output: &mut Output, threads: i16) -> Result<()> {
    let mut frame = frame;
    let chunks = ChunkReader::of(&frame, input);
    let states = chunks.each_thread(threads, |threads| frame.contexts(threads))?;
    let progress = ByteProgress::new("decompressing", frame.header.nbytes.max(0) as u64);
    let to = PathBuf::from(output.name());
    let unwritten = |error| Failure::at(&to, &error);
    if output.is_stream() || chunks.start(0).is_none() {
        let mut write = output.writer()?;
        in_order(
            states,
            chunks.take_from(&mut frame, |_| PIECE),
            |contexts, run| chunks.decompress(contexts, &run),
            |(data, size)| {
                let written = write.write_all(&data[..size]);
                written.map_err(unwritten)?;
                chunks.keep(data);
                progress.add(size);
                Ok(())
            },
        )?;
        return write.flush().map_err(unwritten);
    }
    let file = output.create()?;
    // Where nothing is written there are zeros.
    file.set_len(frame.header.nbytes.max(0) as u64)
        .map_err(unwritten)?;
    let is_zeros = |kind| matches!(kind, Special::Zero | Special::Uninit);
    in_order(
        states,
        chunks.take_from(&mut frame, |kind| match kind {
            Special::Zero | Special::Uninit => u64::MAX,
            _ => PIECE,
        }),
        |contexts, run| {
            if run.special().is_some_and(is_zeros) {
                return Ok(run.all_nbytes() as usize);
            }
            let (data, size) = chunks.decompress(contexts, &run)?;
            let start = chunks.start(run.first).unwrap_or_default();
            write_all_at(&file, &data[..size], start).map_err(unwritten)?;
            chunks.keep(data);
            Ok(size)
        },
        |size| {
            progress.add(size);
            Ok(())
        },
    )
}

/// The dtype for an .npy file, and the bytes of an item. A dtype that NumPy would not read becomes
/// raw bytes of the same size.
fn dtype_of(meta: &Meta, frame: &Frame) -> (String, usize) {
    let size = usize::try_from(frame.header.parameters.typesize).unwrap_or(1);
    let plain = |text: &&str| {
        let printable = text.chars().all(|c| !c.is_control() && c != '\\');
        printable && item_size(text) == Ok(size)
    };
    let named = meta
        .dtype
        .filter(|_| meta.dtype_format == 0)
        .and_then(|dtype| std::str::from_utf8(dtype).ok())
        .filter(plain);
    let dtype = named.map_or_else(|| format!("|V{size}"), str::to_string);
    (dtype, size)
}

/// The items of an array in a file, behind a header.
struct ItemFile<'a> {
    file: File,
    path: &'a Path,
    header_len: u64,
    shape: &'a [i64],
    itemsize: usize,
}

impl<'a> ItemFile<'a> {
    /// Creates the file with its header, and sets its length for `nbytes` bytes of items.
    fn create(
        output: &'a Output,
        header: &[u8],
        (shape, itemsize): (&'a [i64], usize),
        nbytes: u64,
    ) -> Result<Self> {
        let (file, path) = (output.create()?, Path::new(output.name()));
        let header_len = header.len() as u64;
        write_all_at(&file, header, 0)
            .and_then(|()| file.set_len(header_len.saturating_add(nbytes)))
            .map_err(|error| Failure::at(path, &error))?;
        Ok(Self {
            file,
            path,
            header_len,
            shape,
            itemsize,
        })
    }

    /// Writes the items of the box from `start` to before `stop`.
    fn write(&self, start: &[i64], stop: &[i64], items: &[u8]) -> Result<()> {
        let size = self.itemsize;
        runs(self.shape, start, stop, |at, from, count| {
            let pos = self.header_len + at * size as u64;
            write_all_at(&self.file, &items[from * size..(from + count) * size], pos)
                .map_err(|error| Failure::at(self.path, &error))
        })
    }
}

/// Decompresses an array box by box, and writes the items of each to their positions in the file.
fn decompress_array(
    args: &DecompressArgs,
    frame: &Frame,
    input: &Input,
    output: &Output,
    threads: i16,
) -> Result<()> {
    let failed = |error| Failure::of(input.name(), error);
    let parameters = &frame.header.parameters;
    let meta = parsed_array(frame, input)?;
    let (dtype, itemsize) = dtype_of(&meta, frame);
    let shape = &meta.shape[..meta.ndim];
    let header = if args.raw {
        Vec::new()
    } else {
        Npy::header(shape, &dtype)
    };
    let total = nbytes_of(shape, itemsize)
        .ok_or_else(|| Failure::message(format!("{}: too large", input.name())))?;
    let file = ItemFile::create(output, &header, (shape, itemsize), total)?;
    if total == 0 {
        return Ok(());
    }
    let lengths = slabs(shape, &meta.chunkshape[..meta.ndim], itemsize);
    let size = slab_size(&lengths, itemsize);
    let states = each_thread(threads, frame.nchunks() as u64, size, |threads| {
        input
            .open_array(threads)
            .map_err(|error| unread(input, parameters, None, error))
    })?;
    let mut parts = ArrayWalk::new(frame, &meta, &lengths);
    let progress = ByteProgress::new("decompressing", total);
    let used = BufferPool::new();
    in_order(
        states,
        || Ok(parts.next()),
        |array, part| {
            let size = box_size(&part.start, &part.stop, itemsize);
            let mut items: Buffer = used.take().unwrap_or_else(Buffer::new);
            if items.len() < size {
                items = zeros(size).map_err(failed)?;
            }
            part.read(array, &frame.header, &mut items[..size])
                .map_err(|error| unread(input, parameters, Some(&part.start), error))?;
            file.write(&part.start, &part.stop, &items[..size])?;
            used.keep(items);
            Ok(size)
        },
        |size| {
            progress.add(size);
            Ok(())
        },
    )
}

/// The size of an array, in bytes; none if it is more than a `u64`.
fn nbytes_of(shape: &[i64], itemsize: usize) -> Option<u64> {
    let mut lengths = shape.iter();
    lengths.try_fold(itemsize as u64, |nbytes, length| {
        nbytes.checked_mul((*length).max(0) as u64)
    })
}

/// The shape of the boxes in which an array is decompressed: whole chunks, joined along the last
/// dimensions as long as a box has no more than [`SLAB`] bytes. The items of a box that is as wide
/// as the array are contiguous in the file.
fn slabs(shape: &[i64], chunks: &[i32], itemsize: usize) -> Vec<i32> {
    let mut lengths = chunks.to_vec();
    for d in (1..shape.len()).rev() {
        let wider = i32::try_from(shape[d]).unwrap_or(i32::MAX).max(lengths[d]);
        let before = std::mem::replace(&mut lengths[d], wider);
        if slab_size(&lengths, itemsize) > SLAB {
            lengths[d] = before;
            break;
        }
    }
    lengths
}

/// The size of a box, in bytes; at most `u64::MAX`.
pub fn slab_size(lengths: &[i32], itemsize: usize) -> u64 {
    let sizes = lengths.iter().map(|length| (*length).max(0) as u64);
    sizes.fold(itemsize as u64, u64::saturating_mul)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slabs_are_as_wide_as_they_may() {
        assert_eq!(slabs(&[1000, 1000], &[10, 100], 8), [10, 1000]);
        assert_eq!(slabs(&[1000, 1 << 30], &[10, 100], 8), [10, 100]);
        assert_eq!(slabs(&[9, 1 << 20, 8], &[3, 4, 5], 8), [3, 4, 8]);
        assert_eq!(slabs(&[5], &[2], 8), [2]);
        assert_eq!(slabs(&[], &[], 8), [0i32; 0]);
    }
}
