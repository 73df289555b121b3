//! Opens what a command reads: a frame or a chunk.

use crate::failure::{Failure, REPAIR, Result, describe, is_damage};
use crate::input::Input;
use crate::source::Frame;
use crate::store::Store;
use oxiblosc::b2nd::meta::Meta;
use oxiblosc::format::chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MIN_HEADER_LENGTH};
use oxiblosc::format::frame::header::{Extent, Header, MIN_LEN};
use oxiblosc_base::Error;
use oxiblosc_base::system::files::OpenFlags;
use oxiblosc_repair::array_meta;
use std::io::{self, Read};

/// The input of a command.
pub enum FrameOrChunk {
    /// A frame.
    Frame(Box<Frame>),
    /// The bytes of a single chunk.
    Chunk(Vec<u8>),
}

/// Parses the metalayer of a frame that is an array. Fails if it makes no sense.
pub fn parsed_array<'a>(frame: &'a Frame, input: &Input) -> Result<Meta<'a>> {
    let meta = frame.array().and_then(array_meta);
    meta.ok_or_else(|| {
        Failure::damaged(format!(
            "{}: the array's metalayer is damaged",
            input.name()
        ))
    })
}

/// The chunk in a file, if the file contains a chunk and nothing else.
fn lone_chunk(input: &Input) -> Result<Option<Vec<u8>>> {
    let mut file = input.open()?;
    let failed = |error| Failure::at(input.path(), &error);
    let size = file.metadata().map_err(failed)?.len();
    let mut prefix = Vec::new();
    (&mut file)
        .take(EXTENDED_HEADER_LENGTH as u64)
        .read_to_end(&mut prefix)
        .map_err(failed)?;
    let header = match ChunkHeader::parse(&prefix) {
        Ok(header) => header,
        Err(_) => return Ok(None),
    };
    let plausible = (1..=6).contains(&header.version) && header.cbytes >= MIN_HEADER_LENGTH;
    if !plausible || header.cbytes as u64 != size {
        return Ok(None);
    }
    let mut chunk = prefix;
    file.read_to_end(&mut chunk).map_err(failed)?;
    Ok((chunk.len() == header.cbytes).then_some(chunk))
}

/// Fails for a store that is not a frame itself: the user has to choose one of its frames.
pub fn refuse_store(input: &Input) -> Result<()> {
    match Store::open(input)? {
        Some(store) if !store.is_file() => Err(Failure::message(format!(
            "{}: a {} of python-blosc2, which has several frames (b2 info lists them, --key takes one)",
            input.name(),
            store.kind.name()
        ))),
        _ => Ok(()),
    }
}

/// Why a frame cannot be read.
pub struct Unreadable {
    /// In words.
    pub why: String,
    /// Whether it is damaged.
    pub is_damage: bool,
}

impl Unreadable {
    /// From the error of opening a frame whose file has `size` bytes and begins with `prefix`.
    fn of(error: Error, prefix: &[u8], size: u64) -> Self {
        let cut = Extent::parse(prefix)
            .ok()
            .filter(|extent| extent.frame_len > size);
        let why = match cut {
            Some(extent) => format!(
                "is cut short: {size} bytes are left of {}",
                extent.frame_len
            ),
            None if prefix.len() < MIN_LEN => format!("is cut short: {size} bytes are left"),
            None => describe(error),
        };
        Self {
            is_damage: is_damage(error),
            why,
        }
    }
}

impl FrameOrChunk {
    /// Opens a frame or a chunk.
    pub fn open(input: &Input) -> Result<Self> {
        match Self::try_open(input)? {
            Ok(source) => Ok(source),
            Err(Unreadable { why, is_damage }) => {
                let line = format!("{}: {why}", input.name());
                Err(match is_damage {
                    true => Failure::Damaged(format!("{line} ({REPAIR})")),
                    false => Failure::Message(line),
                })
            }
        }
    }

    /// Opens a frame or a chunk. The inner error is that of a frame that cannot be read, the outer
    /// one that of a file that is neither, or of this run.
    pub fn try_open(input: &Input) -> Result<std::result::Result<Self, Unreadable>> {
        let path = input.path();
        refuse_store(input)?;
        let (file, is_dir) = (input.frame_file()?, input.is_dir()?);
        let mut prefix = Vec::new();
        let mut size = 0;
        input
            .faults()
            .file(&file, OpenFlags::READ)
            .and_then(|file| {
                size = file.metadata()?.len();
                file.take(MIN_LEN as u64).read_to_end(&mut prefix)
            })
            .map_err(|error| match Failure::at(&file, &error) {
                Failure::Message(line) if is_dir && error.kind() == io::ErrorKind::NotFound => {
                    Failure::Message(format!("{line} ({REPAIR})"))
                }
                other => other,
            })?;
        if Header::has_magic(&prefix) {
            return Ok(match Frame::open(path, input.faults()) {
                Ok(frame) => Ok(Self::Frame(Box::new(frame))),
                Err(error) => Err(Unreadable::of(input.faults().damage(error)?, &prefix, size)),
            });
        }
        if !is_dir && let Some(chunk) = lone_chunk(input)? {
            return Ok(Ok(Self::Chunk(chunk)));
        }
        Err(Failure::message(format!(
            "{}: no Blosc2 frame or chunk (if it was one, {REPAIR})",
            input.name()
        )))
    }
}
