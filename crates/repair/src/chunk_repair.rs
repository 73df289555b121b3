//! Repairs a chunk of a damaged frame, and says which of its blocks are intact.

use crate::check;
use crate::chunks::{ChunkFinder, Front, is_proven};
use crate::contexts::Contexts;
use crate::fields::{ChunkHints, UsualFields};
use crate::files::Files;
use crate::integrity::Integrity;
use crate::plausible::is_sound;
use oxiblosc::CParams;
use oxiblosc_base::Error;
use oxiblosc_base::memory::Buffer;
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::encode::ChunkInput;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_TYPESIZE, Special};
use oxiblosc_chunk::parameters::Parameters;
use oxiblosc_chunk::rebuild::{self, Rebuilt};
use oxiblosc_codecs::Codec;

/// The position of the size of an item in a chunk's header.
const TYPESIZE: usize = 3;
/// The first id of registered filters.
const FIRST_REGISTERED: u8 = 32;

/// The state of a repaired chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The state of its blocks, except the wrong ones.
    pub state: Integrity,
    /// The number of its blocks; 0 if it is unknown.
    pub nblocks: usize,
    /// The blocks that are lost, in order. Blocks of zeros replace them.
    pub wrong: Vec<usize>,
    /// The blocks in which one bit was corrected, in order. Their checksums fit now. More damage is
    /// unlikely, but possible.
    pub one_bit: Vec<usize>,
    /// Whether one bit of its front was corrected: of header, block starts or dictionary, which all
    /// blocks depend on.
    pub prefix_one_bit: bool,
    /// Whether the checksums of all blocks but the wrong ones fit, even if it is not known which
    /// chunk it is.
    pub fits: bool,
    /// Whether the checksum of its front does not fit, so that the data of its blocks may be wrong.
    pub prefix_wrong: bool,
    /// Whether the chunk was left out, since its size is unknown.
    pub missing: bool,
    /// What was put right in its header, in words.
    pub corrected: Option<String>,
}

impl Verdict {
    /// That of a chunk in which all blocks are in the same state.
    pub fn whole(state: Integrity, nblocks: usize) -> Self {
        Self {
            state,
            nblocks,
            wrong: Vec::new(),
            one_bit: Vec::new(),
            prefix_one_bit: false,
            fits: state == Integrity::Intact,
            prefix_wrong: false,
            missing: false,
            corrected: None,
        }
    }

    /// Whether all blocks are in the same state.
    pub fn is_uniform(&self) -> bool {
        self.wrong.is_empty() && self.one_bit.is_empty()
    }

    /// That of a chunk that is lost entirely.
    pub fn lost() -> Self {
        Self::whole(Integrity::Damaged, 0)
    }
}

/// Reads a chunk and repairs it.
pub struct ChunkRepair<'a> {
    /// Contexts of the damaged frame.
    pub contexts: &'a Contexts,
    /// How the new frame's chunks are compressed.
    pub cparams: &'a CParams,
    /// Whether the new frame's chunks get checksums.
    pub new_checksums: bool,
    /// Whether those of the damaged frame may have some.
    pub checksums: bool,
    /// The parameters of the frame.
    pub parameters: &'a Parameters,
    /// Headers of intact chunks of the frame, one of each kind.
    pub templates: &'a [ChunkHeader],
    /// What the headers of most of its chunks say.
    pub usual: &'a UsualFields,
    /// Where errors are noted that show no damage.
    pub faults: &'a dyn Files,
    /// Whether the order of the chunks is certain.
    pub in_order: bool,
    /// Whether the header with the fixed-length metalayers, which some codecs and filters need, is
    /// intact.
    pub metalayers: bool,
    /// Bytes of the chunk's data, if that is known.
    pub expected: Option<usize>,
}

/// The chunk for the new frame, if it can be kept, and its state.
type Kept = (Option<Buffer>, Verdict);

fn lost() -> Kept {
    (None, Verdict::lost())
}

/// Whether a chunk has a registered codec or filter: these may need the array's metalayer.
fn asks_metalayers(header: &ChunkHeader) -> bool {
    Codec::from_format(header.flags >> 5).is_none()
        || header.filters.iter().any(|id| *id >= FIRST_REGISTERED)
}

/// The blocks of a chunk that do not end within its first `available` bytes, in order; none if its
/// block starts do not.
fn blocks_behind(header: &ChunkHeader, chunk: &[u8], available: usize) -> Option<Vec<usize>> {
    let nblocks = header.nblocks;
    let ends: Vec<usize> = if header.is_memcpyed() {
        let end = |nblock: usize| header.nbytes.min((nblock + 1) * header.blocksize_field());
        (0..nblocks)
            .map(|nblock| header.overhead() + end(nblock))
            .collect()
    } else {
        let table = chunk.get(..available)?.get(header.overhead()..)?;
        let table = table.get(..nblocks.checked_mul(4)?)?;
        let starts: Vec<usize> = table
            .chunks_exact(4)
            .map(|start| u32::from_le_bytes([start[0], start[1], start[2], start[3]]) as usize)
            .collect();
        let mut sorted = starts.clone();
        sorted.sort_unstable();
        let end = |start: &usize| {
            let next = sorted.partition_point(|other| other <= start);
            sorted.get(next).copied().unwrap_or(header.cbytes)
        };
        starts.iter().map(end).collect()
    };
    Some(
        (0..nblocks)
            .filter(|nblock| ends[*nblock] > available)
            .collect(),
    )
}

/// The chunk at the front of `bytes`, if correcting one bit of the header, or of the value that
/// it repeats, makes its checksum fit.
fn with_header_bit(bytes: &[u8], faults: &dyn Files) -> Option<Rebuilt> {
    let mut bytes = faults.readable(Buffer::copy_of(bytes))?;
    let bits = 8 * bytes.len().min(EXTENDED_HEADER_LENGTH + MAX_TYPESIZE);
    for bit in 0..bits {
        bytes[bit / 8] ^= 1 << (bit % 8);
        let header = ChunkHeader::parse(&bytes).ok();
        let in_reach =
            |header: &ChunkHeader| bit < 8 * header.overhead() || header.special() != Special::None;
        if let Some(header) = header.filter(in_reach)
            && is_proven(&bytes)
        {
            faults.readable(bytes.resize(header.cbytes))?;
            let (chunk, proven) = (bytes, false);
            return Some(Rebuilt { chunk, proven });
        }
        bytes[bit / 8] ^= 1 << (bit % 8);
    }
    None
}

impl ChunkRepair<'_> {
    /// Reads and repairs the chunk at a place.
    pub fn chunk_at(&self, position: u64, chunks: &ChunkFinder) -> Kept {
        let read = chunks.read(position);
        if let Some(chunk) = read.as_ref().filter(|chunk| is_proven(chunk)) {
            return self.proven(chunk, true);
        }
        if self.checksums
            && let Some(bytes) = chunks.bytes_to_next(position)
            && let Some(Rebuilt { chunk, proven }) =
                self.with_prefix_rebuilt(&bytes, read.as_deref())
        {
            return self.proven(&chunk, proven);
        }
        let available = chunks.bytes_available(position);
        if let Some(chunk) = read.as_deref().filter(|chunk| chunk.len() > available) {
            // Its size may be what is damaged.
            let corrected = self.with_field_corrected(position, chunks);
            return corrected.unwrap_or_else(|| self.cut(chunk, available));
        }
        let header = read.as_ref().map(|chunk| ChunkHeader::parse(chunk));
        match (read, header) {
            (Some(chunk), Some(Ok(header))) if header.has_checksums() => {
                self.doubtful(&header, &chunk)
            }
            (read, _) => self.unchecked(read, position, chunks),
        }
    }

    /// The chunk with a front that makes its checksum fit: rebuilt from its own header or those of
    /// other chunks, or with one bit corrected.
    fn with_prefix_rebuilt(&self, bytes: &[u8], read: Option<&[u8]>) -> Option<Rebuilt> {
        let own = read.and_then(|chunk| ChunkHeader::parse(chunk).ok());
        let others = self.templates.iter().map(|template| {
            let nbytes = self.expected.unwrap_or(template.nbytes);
            let mut header = ChunkHeader {
                nbytes,
                cbytes: bytes.len(),
                ..*template
            };
            header.set_blocks(template.blocks);
            header
        });
        let rebuilt = own.into_iter().chain(others).filter_map(|header| {
            let rebuilt = self.faults.readable(rebuild::rebuild(&header, bytes));
            let rebuilt = rebuilt.flatten();
            rebuilt.filter(|rebuilt| is_proven(&rebuilt.chunk))
        });
        // A chunk that a writer without checksums made: its checksum is not damaged, it has none.
        let is_other = own.is_some_and(|own| {
            !own.has_checksums() && read.is_some_and(|chunk| Chunk::parse(&own, chunk).is_ok())
        });
        let rebuilt = rebuilt.filter(|rebuilt| rebuilt.proven || !is_other);
        // Prefer a front that is proven to one with a corrected bit.
        rebuilt
            .reduce(|best, other| {
                if other.proven && !best.proven {
                    other
                } else {
                    best
                }
            })
            .or_else(|| {
                (!is_other)
                    .then(|| with_header_bit(bytes, self.faults))
                    .flatten()
            })
    }

    /// A chunk whose front is intact, so that its own header decides; if not `is_sure`, after one
    /// bit was corrected.
    fn proven(&self, chunk: &[u8], is_sure: bool) -> Kept {
        let header = ChunkHeader::parse(chunk);
        let asks = header.as_ref().is_ok_and(asks_metalayers);
        let proven = is_sure && self.in_order && (self.metalayers || !asks);
        let state = Integrity::proven_if(proven);
        let right = header.and_then(|header| rebuild::correct_blocks(&header, chunk));
        let (chunk, verdict) = match self.faults.readable(right) {
            Some((chunk, one_bit)) => {
                let (kept, verdict) = self.checked(&chunk, None, state);
                let one_bit = one_bit.iter().copied();
                let one_bit = one_bit
                    .filter(|nblock| verdict.wrong.binary_search(nblock).is_err())
                    .collect();
                (kept, Verdict { one_bit, ..verdict })
            }
            None => self.checked(chunk, None, state),
        };
        let fits = is_sure && verdict.state != Integrity::Damaged;
        let prefix_one_bit = !is_sure && verdict.state != Integrity::Damaged;
        let verdict = Verdict {
            fits,
            prefix_one_bit,
            ..verdict
        };
        (chunk, verdict)
    }

    /// A chunk of which the file has only the bytes in front of `available`, padded, and whose
    /// checksums do not prove its front.
    fn cut(&self, chunk: &[u8], available: usize) -> Kept {
        let header = match ChunkHeader::parse(chunk) {
            Ok(header) if self.expected.is_none_or(|nbytes| nbytes == header.nbytes) => header,
            _ => return lost(),
        };
        if check::item_size(chunk, self.parameters.typesize).is_err() {
            return lost();
        }
        // What is stored as it is would be read from the padding without an error.
        match blocks_behind(&header, chunk, available) {
            Some(wrong) => self.without(chunk, &wrong, Integrity::Unknown),
            None => lost(),
        }
    }

    /// A chunk whose front is damaged: its blocks may decompress to wrong data.
    fn doubtful(&self, header: &ChunkHeader, chunk: &[u8]) -> Kept {
        if self
            .expected
            .is_some_and(|expected| expected != header.nbytes)
        {
            return lost();
        }
        match self
            .faults
            .readable(rebuild::without_checksums(header, chunk))
        {
            Some((chunk, wrong)) => {
                let (chunk, verdict) = self.without(&chunk, &wrong, Integrity::Unknown);
                let prefix_wrong = verdict.state == Integrity::Unknown;
                (
                    chunk,
                    Verdict {
                        prefix_wrong,
                        ..verdict
                    },
                )
            }
            None => lost(),
        }
    }

    /// A chunk without checksums, or bytes that are no chunk since its header is damaged.
    fn unchecked(&self, read: Option<Buffer>, position: u64, chunks: &ChunkFinder) -> Kept {
        if let Some(chunk) = read.as_deref()
            && self.is_right(chunk)
        {
            let (kept, blocks) = (self.copied(chunk), ChunkHeader::parse(chunk));
            let nblocks = blocks.map_or(0, |header| header.nblocks);
            return (kept, Verdict::whole(Integrity::Unknown, nblocks));
        }
        if let Some(corrected) = self.with_field_corrected(position, chunks) {
            return corrected;
        }
        let Some(mut chunk) = read else {
            return lost();
        };
        let mut what = None;
        if check::item_size(&chunk, self.parameters.typesize).is_err() {
            let (before, size) = (chunk[TYPESIZE], self.parameters.typesize as u8);
            chunk[TYPESIZE] = size;
            what = Some(format!("size of items {size} in place of {before}"));
        }
        let nbytes = ChunkHeader::parse(&chunk).map(|header| header.nbytes).ok();
        if self
            .expected
            .is_some_and(|expected| Some(expected) != nbytes)
        {
            return lost();
        }
        let (chunk, verdict) = self.checked(&chunk, self.expected, Integrity::Unknown);
        let corrected = what.filter(|_| chunk.is_some());
        (
            chunk,
            Verdict {
                corrected,
                ..verdict
            },
        )
    }

    /// Whether a chunk can be decompressed, and belongs to the frame as far as its header and the
    /// size of its data tell.
    fn is_right(&self, chunk: &[u8]) -> bool {
        if !is_sound(chunk) || check::item_size(chunk, self.parameters.typesize).is_err() {
            return false;
        }
        match check::chunk(self.contexts, chunk, self.expected) {
            Ok(()) => true,
            Err(damage) => {
                self.faults.note(damage.error);
                false
            }
        }
    }

    /// The chunk at a place with one field of its header put right, for which the frame or its
    /// other chunks tell another value.
    fn with_field_corrected(&self, position: u64, chunks: &ChunkFinder) -> Option<Kept> {
        let mut bytes = chunks.bytes_to_next(position)?;
        let prefix: Front = bytes.first_chunk().copied()?;
        let hints = ChunkHints {
            parameters: self.parameters,
            usual: self.usual,
            nbytes: self.expected,
            cbytes: Some(bytes.len()),
        };
        hints
            .corrections(&prefix)
            .into_iter()
            .find_map(|correction| {
                bytes[..prefix.len()].copy_from_slice(&correction.prefix);
                let header = ChunkHeader::parse(&bytes).ok()?;
                let chunk = bytes.get(..header.cbytes)?;
                if header.has_checksums() || !self.is_right(chunk) {
                    return None;
                }
                let verdict = Verdict {
                    corrected: Some(correction.what),
                    ..Verdict::whole(Integrity::Unknown, header.nblocks)
                };
                Some((self.copied(chunk), verdict))
            })
    }

    /// A copy of a chunk.
    fn copied(&self, chunk: &[u8]) -> Option<Buffer> {
        self.faults.readable(Buffer::copy_of(chunk))
    }

    /// The chunk as it is if it can be decompressed; else one with the blocks that can be; none if
    /// there are no such blocks.
    fn checked(&self, chunk: &[u8], expected: Option<usize>, state: Integrity) -> Kept {
        let Ok(header) = ChunkHeader::parse(chunk) else {
            return lost();
        };
        let damage = match check::chunk(self.contexts, chunk, expected) {
            Ok(()) => {
                let whole = Verdict::whole(state, header.nblocks);
                return (self.copied(chunk), whole);
            }
            // This build lacks the codec or filter, so only checksums can show damage.
            Err(damage)
                if [Error::CODEC_SUPPORT, Error::FILTER_PIPELINE].contains(&damage.error) =>
            {
                let parsed = Chunk::parse(&header, chunk);
                let fits = parsed.and_then(|chunk| chunk.check_checksums());
                return match self.faults.readable(fits) {
                    Some(_) => (self.copied(chunk), Verdict::whole(state, header.nblocks)),
                    None => lost(),
                };
            }
            Err(damage) => damage,
        };
        self.faults.note(damage.error);
        match header.has_vlblocks() || !damage.blocks.is_empty() {
            true => self.without(chunk, &damage.blocks, state),
            false => lost(),
        }
    }

    /// The chunk with zeros in place of the blocks in `wrong`, which are sorted, and of those that
    /// cannot be decompressed.
    fn without(&self, chunk: &[u8], wrong: &[usize], state: Integrity) -> Kept {
        self.try_without(chunk, wrong, state).unwrap_or_else(lost)
    }

    fn try_without(&self, chunk: &[u8], wrong: &[usize], state: Integrity) -> Option<Kept> {
        let header = ChunkHeader::parse(chunk).ok()?;
        if header.has_vlblocks() {
            return self.without_variable(&header, chunk, wrong, state);
        }
        let mut all_wrong = Vec::new();
        let faults = self.faults;
        let mut data = faults.readable(Buffer::zeroed(header.nbytes))?;
        let parsed = faults.readable(Chunk::parse(&header, chunk))?;
        for (nblock, range) in check::blocks(&header)?.enumerate() {
            let into = &mut data[range.clone()];
            if wrong.binary_search(&nblock).is_ok() {
                all_wrong.push(nblock);
                continue;
            }
            let read = check::block(self.contexts, (&parsed, chunk), range, into);
            if faults.readable(read).is_none() {
                into.fill(0);
                all_wrong.push(nblock);
            }
        }
        if all_wrong.len() == header.nblocks {
            return None;
        }
        let cparams = CParams {
            blocksize: header.blocksize_field() as i32,
            ..self.cparams.clone()
        };
        let compressor = faults.readable(Contexts::new(cparams, self.new_checksums))?;
        let chunk = faults.readable(compressor.compress(ChunkInput::Buffer(&data)))?;
        let verdict = Verdict {
            wrong: all_wrong,
            ..Verdict::whole(state, header.nblocks)
        };
        Some((Some(chunk), verdict))
    }

    /// The same for blocks of variable length. Each lost block is as long as it says itself, if
    /// these lengths add up to the size of the chunk. Otherwise each has one byte, and the last one
    /// the rest.
    fn without_variable(
        &self,
        header: &ChunkHeader,
        chunk: &[u8],
        wrong: &[usize],
        state: Integrity,
    ) -> Option<Kept> {
        let faults = self.faults;
        let bad = faults.readable(rebuild::damaged_blocks(header, chunk))?;
        let is_in = |blocks: &[usize], nblock| blocks.binary_search(&nblock).is_ok();
        let is_wrong = |nblock| is_in(wrong, nblock) || is_in(&bad, nblock);
        let (mut blocks, mut lost, mut left) = (Vec::new(), Vec::new(), header.nbytes);
        for nblock in 0..header.nblocks {
            let single = faults.readable(rebuild::single_block(header, chunk, nblock));
            let said = single.as_ref().map_or(0, |(_, nbytes)| *nbytes);
            let single = single.filter(|_| !is_wrong(nblock) && said <= left);
            let data = single.and_then(|(single, nbytes)| {
                let mut data = faults.readable(Buffer::zeroed(nbytes))?;
                let size = self.contexts.decompress(&single, &mut data);
                let size = faults.readable(size)?;
                (size == nbytes).then_some(data)
            });
            match data {
                Some(data) => {
                    left -= said;
                    blocks.push(data);
                }
                None => {
                    lost.push((nblock, said));
                    blocks.push(Buffer::new());
                }
            }
        }
        if lost.is_empty() || lost.len() == header.nblocks {
            return None;
        }
        let fits = lost.iter().map(|(_, said)| said).sum::<usize>() == left;
        let fits = fits && lost.iter().all(|(_, said)| *said > 0);
        let last = left.checked_sub(lost.len() - 1).filter(|size| *size > 0);
        for (i, (nblock, said)) in lost.iter().enumerate() {
            let size = match (fits, i + 1 == lost.len()) {
                (true, _) => *said,
                (false, true) => last?,
                (false, false) => 1,
            };
            blocks[*nblock] = faults.readable(Buffer::zeroed(size))?;
        }
        let parts: Vec<&[u8]> = blocks.iter().map(|block| &block[..]).collect();
        let compressor =
            faults.readable(Contexts::new(self.cparams.clone(), self.new_checksums))?;
        let chunk = faults.readable(compressor.compress(ChunkInput::Variable(&parts)))?;
        let verdict = Verdict {
            wrong: lost.into_iter().map(|(nblock, _)| nblock).collect(),
            ..Verdict::whole(state, header.nblocks)
        };
        Some((Some(chunk), verdict))
    }
}
