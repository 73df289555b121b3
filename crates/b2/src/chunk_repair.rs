//! What can be kept of a chunk of a damaged frame, and what is known of it.

use crate::check;
use crate::library::{Place, SuperChunk, zeros};
use crate::salvage::{Chunks, is_proven};
use crate::settings::Settings;
use crate::state::State;
use oxiblosc_chunk::decode::Chunk;
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::rebuild;
use oxiblosc_codecs::Codec;
use oxiblosc_error::Error;
use oxiblosc_memory::Buffer;

/// Where a chunk's header has the size of an item.
const TYPESIZE: usize = 3;
/// The first id of a filter that is registered.
const FIRST_REGISTERED: u8 = 32;

/// What is known of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// What is known of its blocks, but for those that are wrong.
    pub state: State,
    /// How many blocks it has, where that is known.
    pub nblocks: usize,
    /// The blocks that are wrong: others take their place.
    pub wrong: Vec<usize>,
    /// Whether the checksums of all blocks but the wrong ones fit, even if it is not known which chunk it is.
    pub fits: bool,
    /// Whether the checksum of its front does not fit, so that its blocks may decompress to anything.
    pub front_wrong: bool,
    /// Whether there is nothing in its place, since its size is unknown.
    pub missing: bool,
}

impl Verdict {
    /// Of a chunk of which all blocks are alike.
    pub fn whole(state: State, nblocks: usize) -> Self {
        Self {
            state,
            nblocks,
            wrong: Vec::new(),
            fits: state == State::Right,
            front_wrong: false,
            missing: false,
        }
    }

    /// Of a chunk of which nothing is left.
    pub fn lost() -> Self {
        Self::whole(State::Wrong, 0)
    }
}

/// Reads chunks and repairs them.
pub struct ChunkRepair<'a> {
    /// Contexts of the damaged frame.
    pub contexts: &'a mut SuperChunk,
    /// How the new frame's chunks are compressed.
    pub settings: &'a Settings,
    /// What the headers of its chunks look like.
    pub templates: &'a [ChunkHeader],
    /// Whether it is known which chunk is which.
    pub in_order: bool,
    /// Whether the header's metalayers are right, which some codecs and filters ask.
    pub metalayers: bool,
    /// Bytes of the chunk's data, where that is known.
    pub expected: Option<usize>,
}

/// A chunk that can be kept, or not, and what is known of it.
type Kept = (Option<Buffer>, Verdict);

fn lost() -> Kept {
    (None, Verdict::lost())
}

/// Whether a chunk has a codec or filter that is not the format's own: such may look at the shape of the array.
fn asks_metalayers(header: &ChunkHeader) -> bool {
    Codec::from_format(header.flags >> 5).is_none()
        || header.filters.iter().any(|id| *id >= FIRST_REGISTERED)
}

impl ChunkRepair<'_> {
    /// The chunk at a place.
    pub fn chunk_at(&mut self, place: u64, chunks: &Chunks) -> Kept {
        let read = chunks.read(place);
        if let Some(chunk) = read.as_ref().filter(|chunk| is_proven(chunk)) {
            return self.proven(chunk);
        }
        if !self.templates.is_empty()
            && let Some(room) = chunks.room(place)
            && let Some(chunk) = self.with_front_rebuilt(&room, read.as_deref())
        {
            return self.proven(&chunk);
        }
        let Some(chunk) = read else {
            return lost();
        };
        match ChunkHeader::parse(&chunk) {
            Ok(header) if header.has_checksums() => self.doubtful(&header, &chunk),
            Ok(header) => self.unchecked(&header, chunk),
            Err(_) => lost(),
        }
    }

    /// The chunk with the front that its checksum says it had.
    fn with_front_rebuilt(&self, room: &[u8], read: Option<&[u8]>) -> Option<Buffer> {
        let own = read.and_then(|chunk| ChunkHeader::parse(chunk).ok());
        let others = self.templates.iter().map(|template| {
            let nbytes = self.expected.unwrap_or(template.nbytes);
            let mut header = ChunkHeader {
                nbytes,
                cbytes: room.len(),
                ..*template
            };
            header.set_blocks(template.blocks);
            header
        });
        own.into_iter()
            .chain(others)
            .find_map(|header| rebuild::rebuild(&header, room).ok().flatten())
            .filter(|chunk| is_proven(chunk))
    }

    /// A chunk whose front is right, so that what it says of itself counts.
    fn proven(&mut self, chunk: &[u8]) -> Kept {
        let asks = ChunkHeader::parse(chunk).is_ok_and(|header| asks_metalayers(&header));
        let state = match self.in_order && (self.metalayers || !asks) {
            true => State::Right,
            false => State::Unknown,
        };
        let (chunk, verdict) = self.checked(chunk, None, state);
        let fits = verdict.state != State::Wrong;
        (chunk, Verdict { fits, ..verdict })
    }

    /// A chunk whose front is wrong: its blocks may decompress to anything.
    fn doubtful(&mut self, header: &ChunkHeader, chunk: &[u8]) -> Kept {
        if self
            .expected
            .is_some_and(|expected| expected != header.nbytes)
        {
            return lost();
        }
        match rebuild::doubtful(header, chunk) {
            Ok((chunk, wrong)) => {
                let (chunk, verdict) = self.without(&chunk, &wrong, State::Unknown);
                let front_wrong = verdict.state == State::Unknown;
                (
                    chunk,
                    Verdict {
                        front_wrong,
                        ..verdict
                    },
                )
            }
            Err(_) => lost(),
        }
    }

    /// A chunk without checksums.
    fn unchecked(&mut self, header: &ChunkHeader, mut chunk: Buffer) -> Kept {
        if check::item_size(&chunk, self.settings.typesize).is_err() {
            chunk[TYPESIZE] = self.settings.typesize as u8;
        }
        if self
            .expected
            .is_some_and(|expected| expected != header.nbytes)
        {
            return lost();
        }
        self.checked(&chunk, self.expected, State::Unknown)
    }

    /// The chunk as it is if all of it can be read; else one of those of its blocks that can; else none.
    fn checked(&mut self, chunk: &[u8], expected: Option<usize>, state: State) -> Kept {
        let Ok(header) = ChunkHeader::parse(chunk) else {
            return lost();
        };
        let damage = match check::chunk(self.contexts, chunk, expected) {
            Ok(()) => {
                return (
                    Buffer::copy_of(chunk).ok(),
                    Verdict::whole(state, header.nblocks),
                );
            }
            // The codec is none of ours: only checksums can say that the chunk is damaged.
            Err(damage) if matches!(damage.error, Error::CodecSupport | Error::FilterPipeline) => {
                let parsed = Chunk::parse(&header, chunk);
                return match parsed.and_then(|chunk| chunk.check_checksums()) {
                    Ok(_) => (
                        Buffer::copy_of(chunk).ok(),
                        Verdict::whole(state, header.nblocks),
                    ),
                    Err(_) => lost(),
                };
            }
            Err(damage) => damage,
        };
        match damage.blocks.is_empty() {
            true => lost(),
            false => self.without(chunk, &damage.blocks, state),
        }
    }

    /// The chunk without the blocks that are wrong, and those that cannot be decompressed.
    fn without(&mut self, chunk: &[u8], wrong: &[usize], state: State) -> Kept {
        self.try_without(chunk, wrong, state).unwrap_or_else(lost)
    }

    fn try_without(&mut self, chunk: &[u8], wrong: &[usize], state: State) -> Option<Kept> {
        let header = ChunkHeader::parse(chunk).ok()?;
        let mut wrong = wrong.to_vec();
        let mut data = zeros(header.nbytes).ok()?;
        let typesize = usize::from(header.typesize);
        for (nblock, range) in check::blocks(&header)?.enumerate() {
            let into = &mut data[range.clone()];
            if !wrong.contains(&nblock)
                && check::block(self.contexts, chunk, typesize, range, into).is_err()
            {
                into.fill(0);
                wrong.push(nblock);
            }
        }
        wrong.sort_unstable();
        if wrong.len() == header.nblocks {
            return None;
        }
        let settings = Settings {
            blocksize: header.blocksize_field() as i32,
            ..*self.settings
        };
        let mut compressor = SuperChunk::new(Place::Memory, &settings).ok()?;
        let chunk = compressor.compress(&data).ok()?;
        let verdict = Verdict {
            wrong,
            ..Verdict::whole(state, header.nblocks)
        };
        Some((Some(chunk), verdict))
    }
}
