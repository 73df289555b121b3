//! `b2 repair`: brings back all that is readable into a new frame. The damaged one is only read.

use crate::args::{Fill, RepairArgs};
use crate::check;
use crate::failure::{Failure, Outcome, Result, describe};
use crate::input::Input;
use crate::library::{Place, SuperChunk, c_path, zeros};
use crate::output::{Output, say};
use crate::progress::Progress;
use crate::salvage::{self, Image, Salvage, Slot};
use crate::settings::Settings;
use crate::source::{
    contexts, frame_file, plain_contexts, settings_of, special_chunk, vlmeta_content,
};
use crate::text::{clean, plural, ranges};
use oxiblosc_chunk::header::{ChunkHeader, Special};
use oxiblosc_error::Error;
use oxiblosc_frame::header::Kind;
use oxiblosc_io::file::Filesystem;
use oxiblosc_io::{Backend, Mode};
use oxiblosc_memory::Buffer;
use std::collections::HashMap;
use std::path::Path;

/// Ranges of chunks that are named.
const RANGES: usize = 20;

/// Where a chunk's header has the size of an item.
const TYPESIZE: usize = 3;

/// What became of the chunks.
#[derive(Default)]
struct Tally {
    whole: usize,
    special: usize,
    lost: Vec<usize>,
    /// Chunks of which some blocks are lost, and how many blocks.
    partly: Vec<(usize, usize)>,
}

/// Runs the command.
pub fn run(args: &RepairArgs) -> Result<Outcome> {
    let input = Input::new(&args.input)?;
    let output = Output::new(&args.output, args.force)?;
    let threads = args.threads.count();
    let plain = plain_contexts(threads).map_err(|error| Failure::of(input.name(), error))?;
    let file_name = frame_file(input.path());
    let file = Filesystem
        .open(&c_path(&file_name)?, Mode::Read)
        .map_err(|error| Failure::of(file_name.display(), error))?;
    let mut notes = Vec::new();
    let image = Image::new(&*file, &mut notes)?;
    if let Some(note) = cut_short(&image, &*file) {
        notes.push(note);
    }
    let sparse = input.path().is_dir();
    let salvage = if sparse {
        salvage::sparse(&image, input.path(), &plain, notes)?
    } else {
        salvage::contiguous(&image, &plain, notes)?
    };
    for note in &salvage.notes {
        say(note)?;
    }
    let chunks = Chunks {
        image: &image,
        folder: sparse.then(|| input.path()),
    };
    let tally = rebuild(args, &salvage, &chunks, &output, threads)?;
    output.finish()?;
    tally.report(salvage.slots.len(), &args.output)?;
    let fine = tally.lost.is_empty() && tally.partly.is_empty() && salvage.notes.is_empty();
    Ok(if fine {
        Outcome::Fine
    } else {
        Outcome::Damaged
    })
}

fn cut_short(image: &Image, file: &dyn oxiblosc_io::Storage) -> Option<String> {
    let (header, extent) = salvage::header(image, &mut Vec::new())?;
    let size = file.size().ok()?;
    match header.kind {
        Kind::Contiguous => salvage::shortfall(&extent, size),
        Kind::Sparse => None,
    }
}

/// Where the chunks of the damaged frame are.
struct Chunks<'a> {
    image: &'a Image<'a>,
    folder: Option<&'a Path>,
}

impl Chunks<'_> {
    fn read(&self, place: u64) -> Option<Buffer> {
        let Some(folder) = self.folder else {
            return self.image.chunk(place);
        };
        let path = folder.join(format!("{place:08X}.chunk"));
        let file = Filesystem.open(&c_path(&path).ok()?, Mode::Read).ok()?;
        Image::new(&*file, &mut Vec::new()).ok()?.chunk(0)
    }
}

/// Makes the new frame.
fn rebuild(
    args: &RepairArgs,
    salvage: &Salvage,
    chunks: &Chunks,
    output: &Output,
    threads: i16,
) -> Result<Tally> {
    let header = &salvage.header;
    let failed = |error| Failure::of(output.name(), error);
    let path = output.path();
    let place = match header.kind {
        Kind::Contiguous => Place::File(path),
        Kind::Sparse => Place::Directory(path),
    };
    let settings = settings_of(header, threads);
    let mut frame = SuperChunk::new(place, &settings).map_err(failed)?;
    for layer in &header.metalayers {
        frame
            .add_meta(&layer.name, &layer.content)
            .map_err(failed)?;
    }
    let mut contexts = contexts(header, threads).map_err(failed)?;
    let sizes = Sizes::of(salvage, chunks);
    let progress = Progress::new("repairing", header.nbytes.max(0) as u64);
    let mut tally = Tally::default();
    for (nchunk, slot) in salvage.slots.iter().enumerate() {
        let expected = sizes.expected(nchunk);
        let chunk = match *slot {
            Slot::At(place) => chunks.read(place).and_then(|chunk| {
                mended(
                    &mut contexts,
                    &settings,
                    chunk,
                    expected,
                    nchunk,
                    &mut tally,
                )
            }),
            Slot::Special(kind) => {
                tally.special += 1;
                copied(&special_chunk(kind, expected.unwrap_or(0), header))
            }
            Slot::Lost => None,
        };
        let chunk = chunk.or_else(|| {
            tally.lost.push(nchunk);
            let kind = match args.fill {
                Fill::Zeros => Special::Zero,
                Fill::Nan => Special::Nan,
                Fill::Uninit => Special::Uninit,
            };
            // Where chunks differ in size that of a lost one is unknown: it is left out.
            expected.and_then(|nbytes| copied(&special_chunk(kind, nbytes, header)))
        });
        if let Some(chunk) = chunk {
            frame.append_chunk(&chunk).map_err(failed)?;
        }
        progress.add(expected.unwrap_or(0));
    }
    for layer in &salvage.vlmetalayers {
        match vlmeta_content(&contexts, layer, i32::MAX as usize) {
            Ok(content) => frame.add_vlmeta(&layer.name, &content).map_err(failed)?,
            Err(error) => progress.say(&format!(
                "variable-length metalayer '{}' is lost: {}",
                clean(&layer.name),
                describe(error)
            ))?,
        }
    }
    frame.close().map_err(failed)?;
    Ok(tally)
}

fn copied(chunk: &[u8]) -> Option<Buffer> {
    Buffer::copy_of(chunk).ok()
}

/// How large the chunks' data are.
struct Sizes {
    chunksize: usize,
    nbytes: usize,
    count: usize,
}

impl Sizes {
    /// What the header says, unless the chunks agree on something else.
    fn of(salvage: &Salvage, chunks: &Chunks) -> Self {
        let header = &salvage.header;
        let said = header.chunksize.max(0) as usize;
        let count = salvage.slots.len();
        let mut seen: HashMap<usize, usize> = HashMap::new();
        let stored = salvage.slots.iter().take(count.saturating_sub(1)).take(64);
        for slot in stored {
            if let Slot::At(place) = slot
                && let Some(chunk) = chunks.read(*place)
                && let Ok(header) = ChunkHeader::parse(&chunk)
            {
                *seen.entry(header.nbytes).or_default() += 1;
            }
        }
        let all: usize = seen.values().sum();
        let most = seen.iter().max_by_key(|(_, count)| **count);
        let chunksize = match most {
            Some((size, count)) if header.chunksize != 0 && *count * 2 > all => *size,
            _ => said,
        };
        let capacity = chunksize.saturating_mul(count);
        let nbytes = usize::try_from(header.nbytes).unwrap_or(0);
        Self {
            chunksize,
            nbytes: if nbytes > capacity || nbytes + chunksize <= capacity {
                capacity
            } else {
                nbytes
            },
            count,
        }
    }

    /// Bytes of the data of a chunk, if all but the last have the same.
    fn expected(&self, nchunk: usize) -> Option<usize> {
        if self.chunksize == 0 {
            None
        } else if nchunk + 1 < self.count {
            Some(self.chunksize)
        } else {
            Some(self.nbytes - self.chunksize * nchunk)
        }
    }
}

/// The chunk as it is if it is whole; else one of those of its blocks that are; else none.
fn mended(
    contexts: &mut SuperChunk,
    settings: &Settings,
    chunk: Buffer,
    expected: Option<usize>,
    nchunk: usize,
    tally: &mut Tally,
) -> Option<Buffer> {
    let mut chunk = chunk;
    if check::item_size(&chunk, settings.typesize).is_err() {
        chunk[TYPESIZE] = settings.typesize as u8;
    }
    let damage = match check::chunk(contexts, &chunk, expected) {
        Ok(()) => {
            tally.whole += 1;
            return Some(chunk);
        }
        // The codec is none of ours: nothing says that the chunk is damaged.
        Err(damage) if matches!(damage.error, Error::CodecSupport | Error::FilterPipeline) => {
            tally.whole += 1;
            return Some(chunk);
        }
        Err(damage) => damage,
    };
    let header = ChunkHeader::parse(&chunk).ok()?;
    if expected.is_some_and(|expected| expected != header.nbytes)
        || damage.blocks.is_empty()
        || damage.blocks.len() == header.nblocks
    {
        return None;
    }
    let mut data = zeros(header.nbytes).ok()?;
    let typesize = usize::from(header.typesize);
    for (nblock, range) in check::blocks(&header)?.enumerate() {
        if damage.blocks.binary_search(&nblock).is_err() {
            check::block(contexts, &chunk, typesize, range.clone(), &mut data[range]).ok()?;
        }
    }
    let settings = Settings {
        blocksize: header.blocksize_field() as i32,
        ..*settings
    };
    let mut compressor = SuperChunk::new(Place::Memory, &settings).ok()?;
    let chunk = compressor.compress(&data).ok()?;
    tally.partly.push((nchunk, damage.blocks.len()));
    Some(chunk)
}

impl Tally {
    fn report(&self, count: usize, output: &Path) -> Result<()> {
        let kept = self.whole + self.special + self.partly.len();
        say(&format!(
            "{}: {} of {}",
            output.display(),
            kept,
            plural(count, "chunk", "chunks")
        ))?;
        if !self.lost.is_empty() {
            say(&format!(
                "lost: {} {}",
                word(self.lost.len()),
                ranges(&self.lost, RANGES)
            ))?;
        }
        for (nchunk, blocks) in self.partly.iter().take(RANGES) {
            say(&format!(
                "chunk {nchunk}: {} lost",
                plural(*blocks, "block", "blocks")
            ))?;
        }
        if self.partly.len() > RANGES {
            say(&format!(
                "blocks of {} lost in all",
                plural(self.partly.len(), "chunk", "chunks")
            ))?;
        }
        Ok(())
    }
}

fn word(count: usize) -> &'static str {
    if count == 1 { "chunk" } else { "chunks" }
}
