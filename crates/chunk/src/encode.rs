//! Compressing a chunk: the header, the block starts, and the blocks, each a pure function of its own data.
//!
//! Blocks are compressed by any number of workers and placed in the order of their index, so the bytes do not
//! depend on how many workers there were.

use super::decode_block::UDCODEC_FORMAT;
use super::encode_block::{BlockEncoder, BlockInput, Encoded};
use super::header::{
    Blocks, ChunkHeader, EXTENDED_HEADER_LENGTH, MAX_FILTERS, MIN_BUFFERSIZE, MIN_HEADER_LENGTH,
    Special, flags, flags2, version,
};
use super::hooks::{BlockPos, Executor, Hooks};
use super::ordered_writer::OrderedWriter;
use super::pipeline::Pipeline;
use super::scratch::{self, Bufs, Scratch};
use super::store::store;
use oxiblosc_codecs::{Codec, Dict, MAX_DICT_SIZE, MIN_USEFUL_DICT};
use oxiblosc_error::{Error, Result};
use oxiblosc_filters as filters;
use oxiblosc_memory::List;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Below this many bytes a job is not worth the hand-off to another thread.
pub const PARALLEL_MIN: usize = 64 << 10;

/// Everything that decides the bytes of a chunk, apart from its data.
#[derive(Clone, Debug)]
pub struct EncodeParams {
    /// The codec's id.
    pub compcode: u8,
    /// A parameter of a registered codec.
    pub compcode_meta: u8,
    /// Version of the codec's format, for the header.
    pub versionlz: u8,
    /// 0 (store) to 9.
    pub clevel: u8,
    /// Bytes of an item, 1 to 255.
    pub typesize: usize,
    /// Bytes of a block, at least 1; for variable-length blocks the largest one.
    pub blocksize: usize,
    /// The pipeline.
    pub filters: [u8; MAX_FILTERS],
    /// Its parameters.
    pub filters_meta: [u8; MAX_FILTERS],
    /// Whether a block is cut into as many streams as an item has bytes.
    pub split: bool,
    /// Whether a dictionary is built from the data.
    pub use_dict: bool,
    /// Whether measurements are stored instead of data.
    pub instrumented: bool,
    /// Header of 32 bytes; else a Blosc 1 header.
    pub extended: bool,
    /// The most workers.
    pub nthreads: usize,
}

/// The data to compress.
#[derive(Clone, Copy)]
pub enum Source<'a> {
    /// A buffer, cut into blocks of `blocksize`.
    Buffer(&'a [u8]),
    /// No data: the prefilter makes this many bytes.
    Generated(usize),
    /// One slice a block.
    Variable(&'a [&'a [u8]]),
}

impl<'a> Source<'a> {
    /// How many bytes they are.
    pub fn nbytes(&self) -> usize {
        match self {
            Self::Buffer(data) => data.len(),
            Self::Generated(nbytes) => *nbytes,
            Self::Variable(blocks) => blocks.iter().map(|block| block.len()).sum(),
        }
    }

    fn nblocks(&self, blocksize: usize) -> usize {
        match self {
            Self::Variable(blocks) => blocks.len(),
            other => other.nbytes().div_ceil(blocksize),
        }
    }

    /// The block of index `nblock`, and where it begins.
    pub fn block(&self, nblock: usize, blocksize: usize) -> BlockInput<'a> {
        match *self {
            Self::Buffer(data) => {
                let start = nblock * blocksize;
                let data = &data[start..data.len().min(start + blocksize)];
                BlockInput {
                    data: Some(data),
                    bsize: data.len(),
                    offset: start,
                }
            }
            Self::Generated(nbytes) => {
                let start = nblock * blocksize;
                BlockInput {
                    data: None,
                    bsize: blocksize.min(nbytes - start),
                    offset: start,
                }
            }
            Self::Variable(blocks) => BlockInput {
                data: Some(blocks[nblock]),
                bsize: blocks[nblock].len(),
                offset: 0,
            },
        }
    }
}

/// Compresses `source` into `dest`. Gives the chunk's size, or 0 if it does not fit.
pub fn compress(
    params: &EncodeParams,
    source: Source,
    dest: &mut [u8],
    hooks: &dyn Hooks,
    exec: &dyn Executor,
) -> Result<usize> {
    let nbytes = source.nbytes();
    let nblocks = source.nblocks(params.blocksize);
    let variable = matches!(source, Source::Variable(_));
    let within;
    let params = if !variable && nbytes > 0 && params.blocksize > nbytes {
        // The header can only say that a block is as large as the data, which decides whether it is split.
        within = EncodeParams {
            blocksize: nbytes,
            ..params.clone()
        };
        &within
    } else {
        params
    };
    let overhead = if params.extended {
        EXTENDED_HEADER_LENGTH
    } else {
        MIN_HEADER_LENGTH
    };
    if dest.len() < overhead {
        return Ok(0);
    }
    let mut header = header_for(params, nbytes, nblocks, variable);
    let starts_end = overhead + 4 * nblocks;
    let stored = !variable && (params.clevel == 0 || nbytes < MIN_BUFFERSIZE);
    if stored || starts_end > dest.len() {
        return if variable {
            Ok(0)
        } else {
            store(params, header, source, dest, hooks, exec)
        };
    }
    let chunk = Chunk::new(params, source, hooks, nblocks)?;
    header.flags |= chunk.format_flags();

    let dict = if params.use_dict {
        chunk.build_dict()?
    } else {
        None
    };
    let mut body = starts_end;
    if let Some((raw, _)) = &dict {
        if dest.len() - body < 4 + raw.len() {
            return if variable {
                Ok(0)
            } else {
                store(params, header, source, dest, hooks, exec)
            };
        }
        header.blosc2_flags |= flags2::USE_DICT;
        dest[body..body + 4].copy_from_slice(&(raw.len() as i32).to_le_bytes());
        dest[body + 4..body + 4 + raw.len()].copy_from_slice(raw);
        body += 4 + raw.len();
    }
    // A chunk that would be larger than the stored data is not worth having, unless making the data again costs.
    let room = match source {
        Source::Buffer(_) if !params.instrumented && !hooks.has_prefilter() => {
            dest.len().min(nbytes + overhead)
        }
        _ => dest.len(),
    };
    let (front, rest) = dest.split_at_mut(body.min(room));
    let rest = &mut rest[..room.saturating_sub(body)];
    let starts = &mut front[overhead..starts_end.min(room)];
    let encoder = chunk.encoder(dict.as_ref().map(|(_, dict)| dict));
    let blocks = if body <= room {
        chunk.encode_all(&encoder, starts, body, rest, exec)?
    } else {
        None
    };
    let Some(total) = blocks else {
        header.blosc2_flags &= !flags2::USE_DICT;
        return if variable {
            Ok(0)
        } else {
            store(params, header, source, dest, hooks, exec)
        };
    };
    header.cbytes = body + total;
    if params.instrumented {
        encoder.describe_instrumented(&mut header, nblocks);
    } else if !variable && total == 4 * encoder.total_streams(nbytes) && dict.is_none() {
        header.blosc2_flags |= Special::Zero.to_flags();
        header.cbytes = overhead;
    }
    header.write(dest);
    Ok(header.cbytes)
}

fn header_for(params: &EncodeParams, nbytes: usize, nblocks: usize, variable: bool) -> ChunkHeader {
    let mut header = ChunkHeader {
        version: if variable {
            version::VL_BLOCKS
        } else {
            version::STABLE
        },
        versionlz: params.versionlz,
        flags: if params.extended { flags::EXTENDED } else { 0 },
        typesize: params.typesize as u8,
        nbytes,
        filters: params.filters,
        filters_meta: params.filters_meta,
        udcompcode: params.compcode,
        compcode_meta: params.compcode_meta,
        blosc2_flags: if params.instrumented {
            flags2::INSTRUMENTED
        } else {
            0
        },
        blosc2_flags2: if variable { flags2::VL_BLOCKS } else { 0 },
        ..ChunkHeader::EMPTY
    };
    let most = if nbytes > 0 { nbytes } else { params.blocksize };
    header.set_blocks(match variable {
        true => Blocks::Variable { nblocks },
        false => Blocks::Regular {
            blocksize: params.blocksize.min(most),
        },
    });
    header
}

/// How many workers a job of `nblocks` blocks and `nbytes` bytes gets.
pub fn workers(nthreads: usize, nblocks: usize, nbytes: usize) -> usize {
    if nbytes < PARALLEL_MIN {
        1
    } else {
        nthreads.min(nblocks).max(1)
    }
}

/// Size of the memory that a prefilter or postfilter may use.
pub fn ttmp_size(blocksize: usize, typesize: usize) -> usize {
    4 * (blocksize + 4 * typesize)
}

/// A lock whose holder never panics while the data are inconsistent.
pub fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The number that stands for a codec in a chunk's flags.
fn format_of(compcode: u8) -> u8 {
    Codec::from_code(compcode.into()).map_or(UDCODEC_FORMAT, Codec::format)
}

/// A chunk in the making.
struct Chunk<'a> {
    params: &'a EncodeParams,
    source: Source<'a>,
    hooks: &'a dyn Hooks,
    nblocks: usize,
    pipeline: Pipeline,
    split: bool,
    /// What the blocks after the first are compared with, where a delta stage is there.
    reference: Option<List<u8>>,
}

impl<'a> Chunk<'a> {
    fn new(
        params: &'a EncodeParams,
        source: Source<'a>,
        hooks: &'a dyn Hooks,
        nblocks: usize,
    ) -> Result<Self> {
        let mut pipeline = Pipeline::EMPTY;
        pipeline.set_typesize(params.typesize as u8, version::STABLE);
        pipeline.resolve(&params.filters, &params.filters_meta, false)?;
        let variable = matches!(source, Source::Variable(_));
        // A block that does not divide into streams would lose its tail.
        let divides =
            params.blocksize >= params.typesize && params.blocksize.is_multiple_of(params.typesize);
        let split = params.split && !variable && divides;
        let mut chunk = Self {
            params,
            source,
            hooks,
            nblocks,
            pipeline,
            split,
            reference: None,
        };
        if chunk.pipeline.has_delta() && !variable && nblocks > 1 {
            chunk.reference = Some(chunk.delta_reference()?);
        }
        Ok(chunk)
    }

    /// The first block as a decoder will see it.
    fn delta_reference(&self) -> Result<List<u8>> {
        let block = self.source.block(0, self.params.blocksize);
        let mut scratch = scratch::borrow()?;
        let encoder = self.encoder(None);
        let data = encoder.filtered(
            BlockPos {
                nblock: 0,
                offset: 0,
                tid: 0,
            },
            block,
            &mut scratch.bufs,
            Some(&self.pipeline),
        )?;
        let mut copy = List::new();
        copy.reserve_exact(data.len())?;
        copy.extend_from_slice(data)?;
        Ok(copy)
    }

    fn encoder<'b>(&'b self, dict: Option<&'b Dict>) -> BlockEncoder<'b> {
        BlockEncoder {
            params: self.params,
            hooks: self.hooks,
            pipeline: &self.pipeline,
            reference: self.reference.as_deref(),
            split: self.split,
            variable: matches!(self.source, Source::Variable(_)),
            dict,
        }
    }

    fn format_flags(&self) -> u8 {
        let mut bits = format_of(self.params.compcode) << 5;
        if !self.split {
            bits |= flags::DONT_SPLIT;
        }
        for &id in &self.params.filters {
            bits |= match id {
                super::header::filter_id::SHUFFLE => flags::SHUFFLE,
                super::header::filter_id::BITSHUFFLE => flags::BITSHUFFLE,
                super::header::filter_id::DELTA => flags::DELTA,
                _ => 0,
            };
        }
        bits
    }

    /// Makes a dictionary from the front of the filtered data, or none where that does not pay.
    fn build_dict(&self) -> Result<Option<(List<u8>, Dict)>> {
        let Some(codec) = Codec::from_code(self.params.compcode.into()) else {
            return Ok(None);
        };
        let nbytes = self.source.nbytes();
        let max_size = MAX_DICT_SIZE.min(nbytes / 20);
        let variable = matches!(self.source, Source::Variable(_));
        let nsamples = match (variable, self.split) {
            (true, _) => self.nblocks,
            (false, true) => (self.nblocks * self.params.typesize).max(8),
            (false, false) => self.nblocks.max(8),
        };
        let sample = nbytes / nsamples / 16;
        if max_size < MIN_USEFUL_DICT || nsamples < 8 || sample == 0 {
            return Ok(None);
        }
        // Regular chunks are sampled from their first sixteenth, variable-length ones block by block.
        let wanted = if variable { nbytes } else { nsamples * sample };
        let mut samples = List::new();
        samples.reserve_exact(wanted)?;
        let mut sizes = List::new();
        let mut scratch = scratch::borrow()?;
        let encoder = self.encoder(None);
        for nblock in 0..self.nblocks {
            if samples.len() >= wanted {
                break;
            }
            let block = self.source.block(nblock, self.params.blocksize);
            let pos = BlockPos {
                nblock,
                offset: block.offset,
                tid: 0,
            };
            let data = encoder.filtered(pos, block, &mut scratch.bufs, None)?;
            samples.extend_from_slice(&data[..data.len().min(wanted - samples.len())])?;
            sizes.push(data.len())?;
        }
        if !variable {
            sizes = List::filled(sample, nsamples)?;
        }
        let Some(raw) = Dict::train(codec, &samples, &sizes, max_size)? else {
            return Ok(None);
        };
        // Zstd may not take what it made of odd samples itself: then there is none, for writers and for readers.
        let usable = Dict::for_decompression(codec, &raw)
            .and_then(|_| Dict::for_compression(codec, self.params.clevel, &raw));
        match usable {
            Ok(dict) => Ok(Some((raw, dict))),
            Err(Error::CodecDict) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Encodes all blocks into `rest`, which begins at `body` in the chunk, and writes where each one starts.
    /// Gives the bytes used, or none if they do not fit.
    fn encode_all(
        &self,
        encoder: &BlockEncoder,
        starts: &mut [u8],
        body: usize,
        rest: &mut [u8],
        exec: &dyn Executor,
    ) -> Result<Option<usize>> {
        let nworkers = workers(self.params.nthreads, self.nblocks, self.source.nbytes());
        if nworkers <= 1 {
            return self.encode_serial(encoder, starts, body, rest);
        }
        let next = AtomicUsize::new(0);
        let writer = Mutex::new(OrderedWriter::new(starts, rest, body));
        // As long as no block compresses, none is written: the chunk is likely to be stored.
        let later = AtomicBool::new(true);
        exec.run(self.params.nthreads, nworkers, &|tid| {
            let mut scratch = match scratch::borrow() {
                Ok(scratch) => scratch,
                Err(error) => {
                    OrderedWriter::fail(&writer, error);
                    next.store(self.nblocks, Ordering::Relaxed);
                    return;
                }
            };
            loop {
                let nblock = next.fetch_add(1, Ordering::Relaxed);
                if nblock >= self.nblocks {
                    return;
                }
                let block = self.source.block(nblock, self.params.blocksize);
                let pos = BlockPos {
                    nblock,
                    offset: block.offset,
                    tid,
                };
                let Scratch {
                    bufs, out, codec, ..
                } = &mut *scratch;
                let is_later = later.load(Ordering::Relaxed);
                let block = out.ensure(encoder.bound(block.bsize)).and_then(|out| {
                    encoder.encode_unless_raw(pos, block, is_later, (&mut *bufs, codec), out)
                });
                if let Ok(Encoded::Bytes(_)) = block {
                    later.store(false, Ordering::Relaxed);
                }
                let goes_on =
                    OrderedWriter::deliver(&writer, nblock, block, out, |block, place| {
                        encoder.write_raw_block(block, bufs, place)
                    });
                if !goes_on {
                    // No more blocks need to be claimed.
                    next.store(self.nblocks, Ordering::Relaxed);
                    return;
                }
            }
        })?;
        writer
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .finish(|block, place| {
                encoder.write_raw_block(block, &mut scratch::borrow()?.bufs, place)
            })
    }

    fn encode_serial(
        &self,
        encoder: &BlockEncoder,
        starts: &mut [u8],
        body: usize,
        rest: &mut [u8],
    ) -> Result<Option<usize>> {
        let mut scratch = scratch::borrow()?;
        let mut used = 0;
        // As long as no block compresses, none is written: the chunk is likely to be stored.
        let mut late = Some(0);
        for (nblock, start) in starts.chunks_exact_mut(4).enumerate() {
            let block = self.source.block(nblock, self.params.blocksize);
            let pos = BlockPos {
                nblock,
                offset: block.offset,
                tid: 0,
            };
            start.copy_from_slice(&((body + used) as i32).to_le_bytes());
            let bound = encoder.bound(block.bsize);
            let Scratch {
                bufs, out, codec, ..
            } = &mut *scratch;
            // Near the end of `dest` the block is encoded with all the room it may want, then placed if it fits.
            let direct = rest.len() - used >= bound;
            let place = match direct {
                true => &mut rest[used..used + bound],
                false => out.ensure(bound)?,
            };
            let encoded = encoder.encode_unless_raw(
                pos,
                block,
                late.is_some(),
                (&mut *bufs, codec),
                place,
            )?;
            let size = encoded.size();
            if size > rest.len() - used {
                return Ok(None);
            }
            match (encoded, &mut late) {
                (Encoded::Raw(_), Some(late)) => *late += 1,
                (Encoded::Raw(block), None) => {
                    encoder.write_raw_block(block, bufs, &mut rest[used..])?;
                }
                (Encoded::Bytes(_), _) => {
                    self.write_raw_blocks(encoder, late.take().unwrap_or(0), bufs, rest)?;
                    if !direct {
                        filters::copy(&out[..size], &mut rest[used..used + size]);
                    }
                }
            }
            used += size;
        }
        self.write_raw_blocks(encoder, late.unwrap_or(0), &mut scratch.bufs, rest)?;
        Ok(Some(used))
    }

    /// Writes the first `n` blocks, of which no stream compresses.
    fn write_raw_blocks(
        &self,
        encoder: &BlockEncoder,
        n: usize,
        bufs: &mut Bufs,
        mut out: &mut [u8],
    ) -> Result<()> {
        for nblock in 0..n {
            let block = self.source.block(nblock, self.params.blocksize);
            if let Some(block) = encoder.raw(&block) {
                encoder.write_raw_block(block, bufs, out)?;
                out = &mut out[Encoded::Raw(block).size()..];
            }
        }
        Ok(())
    }
}
