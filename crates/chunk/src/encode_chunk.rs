//! Encodes the blocks of a chunk with one or several workers, and completes the header.

use super::add_checksums;
use super::checksum::TableLayout;
use super::dictionary::write_dict;
use super::encode_block::{BlockEncoder, Encoded};
use super::header::{ChunkHeader, Special, filter_flags, flags, flags2};
use super::hooks::{BlockPos, Executor, Hooks};
use super::input::BlockInput;
use super::input::{ChunkInput, EncodeParams};
use super::ordered_writer::OrderedWriter;
use super::pipeline::Pipeline;
use super::scratch::{self, Bufs, Scratch};
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;
use oxiblosc_codecs::{Codec, Dict};
use oxiblosc_filters as filters;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// Encodes one chunk.
pub struct ChunkEncoder<'a> {
    pub(super) params: &'a EncodeParams,
    pub(super) source: ChunkInput<'a>,
    hooks: &'a dyn Hooks,
    pub(super) nblocks: usize,
    pipeline: &'a Pipeline,
    pub(super) split: bool,
    /// The reference for the blocks after the first, if there is a delta stage.
    reference: Option<TryVec<u8>>,
}

/// The state that the workers of a chunk share.
struct EncodeState<'a> {
    /// The next block that no worker has taken yet.
    next: AtomicUsize,
    /// Whether no block has compressed so far. Until one does, none is written, since the chunk
    /// will probably be stored instead.
    all_raw: AtomicBool,
    writer: Mutex<OrderedWriter<'a>>,
}

impl<'a> ChunkEncoder<'a> {
    /// `pipeline` is the caller's variable, which gets the filters, as for
    /// [`Chunk::decoder`](crate::Chunk::decoder).
    pub fn new(
        params: &'a EncodeParams,
        source: ChunkInput<'a>,
        hooks: &'a dyn Hooks,
        nblocks: usize,
        pipeline: &'a mut Pipeline,
    ) -> Result<Self> {
        let rules = params.rules;
        pipeline.set_typesize(params.typesize as u8, rules.version(), rules);
        pipeline.resolve(&params.filters, &params.filters_meta, false)?;
        let pipeline = &*pipeline;
        let variable = matches!(source, ChunkInput::Variable(_));
        // If the block size is no multiple of the typesize, equal streams would not cover the whole
        // block.
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

    /// The first block as a decoder sees it before it undoes delta.
    fn delta_reference(&self) -> Result<TryVec<u8>> {
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
            Some(self.pipeline),
        )?;
        let mut copy = TryVec::new();
        copy.reserve_exact(data.len())?;
        copy.extend_from_slice(data)?;
        Ok(copy)
    }

    /// Writes the chunk into `dest`, which is long enough for the header and the block starts, and
    /// completes `header`. Returns false if it does not fit, or would be larger than the stored
    /// data; `header` may have changed nevertheless.
    pub fn write(
        &self,
        header: &mut ChunkHeader,
        dest: &mut [u8],
        exec: &dyn Executor,
    ) -> Result<bool> {
        let overhead = self.params.overhead();
        let starts = overhead..overhead + 4 * self.nblocks;
        let mut body = starts.end;
        let dict = match self.params.use_dict {
            true => self.build_dict()?,
            false => None,
        };
        if let Some((raw, _)) = &dict {
            let Some(size) = write_dict(raw, &mut dest[body..]) else {
                return Ok(false);
            };
            header.blosc2_flags |= flags2::USE_DICT;
            body += size;
        }
        let table_start = body;
        let table = TableLayout::plain(self.nblocks).table_len();
        let checksums = self.params.has_checksums();
        body += if checksums { table } else { 0 };
        let max_cbytes = match checksums {
            true => dest
                .len()
                .min(self.max_cbytes(usize::MAX).saturating_add(table)),
            false => self.max_cbytes(dest.len()),
        };
        if body > max_cbytes {
            return Ok(false);
        }
        let (prefix, rest) = dest[..max_cbytes].split_at_mut(body);
        let encoder = self.encoder(dict.as_ref().map(|(_, dict)| dict));
        let Some(used) = self.encode_all(&encoder, &mut prefix[starts], body, rest, exec)? else {
            return Ok(false);
        };
        header.cbytes = body + used;
        if self.params.instrumented {
            encoder.describe_instrumented(header, self.nblocks);
        } else if !encoder.variable
            && used == 4 * encoder.total_streams(header.nbytes)
            && dict.is_none()
        {
            // Every stream is a run of zeros.
            header.blosc2_flags |= Special::Zero.to_flags();
            header.cbytes = overhead;
        }
        let chunk = &mut dest[..header.cbytes];
        if !checksums {
            header.write(chunk);
        } else if header.special() != Special::None {
            add_checksums::write_header_only(header, chunk);
        } else if !add_checksums::write(*header, table_start, chunk) {
            return Ok(false);
        }
        Ok(true)
    }

    /// How large the chunk may become in a destination of `size` bytes: no larger than with stored
    /// data. This does not hold with a prefilter, which would have to run again, and for Blosc 1,
    /// as c-blosc keeps such a chunk.
    fn max_cbytes(&self, size: usize) -> usize {
        match self.source {
            ChunkInput::Buffer(data)
                if !self.params.instrumented
                    && !self.hooks.has_prefilter()
                    && !self.params.rules.is_blosc1() =>
            {
                size.min(self.params.overhead() + data.len())
            }
            _ => size,
        }
    }

    pub(super) fn encoder<'b>(&'b self, dict: Option<&'b Dict>) -> BlockEncoder<'b> {
        BlockEncoder {
            params: self.params,
            hooks: self.hooks,
            pipeline: self.pipeline,
            reference: self.reference.as_deref(),
            split: self.split,
            variable: matches!(self.source, ChunkInput::Variable(_)),
            dict,
        }
    }

    /// The bits of the header's `flags` byte that depend on codec and filters.
    pub fn format_flags(&self) -> u8 {
        let codec = Codec::from_code(self.params.compcode.into());
        let format = codec.map_or(self.params.rules.other_codec(), Codec::format);
        let mut bits = format << 5;
        if !self.split {
            bits |= flags::DONT_SPLIT;
        }
        bits | filter_flags(&self.params.filters)
    }

    /// Block `nblock`, and its position for the worker `tid`.
    pub(super) fn block(&self, nblock: usize, tid: usize) -> (BlockPos, BlockInput<'a>) {
        let block = self.source.block(nblock, self.params.blocksize);
        let pos = BlockPos {
            nblock,
            offset: block.offset,
            tid,
        };
        (pos, block)
    }

    /// Encodes all blocks into `rest`, which begins at `body` in the chunk, and writes where each
    /// one starts. Returns the number of bytes written, or none if they do not fit.
    fn encode_all(
        &self,
        encoder: &BlockEncoder,
        starts: &mut [u8],
        body: usize,
        rest: &mut [u8],
        exec: &dyn Executor,
    ) -> Result<Option<usize>> {
        let nworkers = self.params.workers(exec).for_job(
            self.nblocks,
            self.source.nbytes(),
            self.hooks.has_prefilter(),
        );
        if nworkers <= 1 {
            return self.encode_serial(encoder, starts, body, rest);
        }
        let shared = EncodeState {
            next: AtomicUsize::new(0),
            all_raw: AtomicBool::new(true),
            writer: Mutex::new(OrderedWriter::new(starts, rest, body)),
        };
        exec.run(self.params.nthreads, nworkers, &|tid| {
            if let Err(error) = self.encode_as_worker(encoder, tid, &shared) {
                OrderedWriter::fail(&shared.writer, error);
                shared.next.store(self.nblocks, Ordering::Relaxed);
            }
        })?;
        shared
            .writer
            .into_inner()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
            .finish(|block, place| {
                encoder.write_raw_block(block, &mut scratch::borrow()?.bufs, place)
            })
    }

    /// Takes blocks and encodes them until all are taken or the chunk is known not to fit.
    fn encode_as_worker(
        &self,
        encoder: &BlockEncoder,
        tid: usize,
        shared: &EncodeState<'a>,
    ) -> Result<()> {
        let mut scratch = scratch::borrow()?;
        let Scratch {
            bufs, out, codec, ..
        } = &mut *scratch;
        loop {
            let nblock = shared.next.fetch_add(1, Ordering::Relaxed);
            if nblock >= self.nblocks {
                return Ok(());
            }
            let (pos, block) = self.block(nblock, tid);
            let all_raw = shared.all_raw.load(Ordering::Relaxed);
            let block = out.ensure(encoder.bound(block.bsize)).and_then(|out| {
                encoder.encode_unless_raw(pos, block, all_raw, (&mut *bufs, codec), out)
            });
            if let Ok(Encoded::Bytes(_)) = block {
                shared.all_raw.store(false, Ordering::Relaxed);
            }
            let goes_on =
                OrderedWriter::deliver(&shared.writer, nblock, block, out, |block, place| {
                    encoder.write_raw_block(block, bufs, place)
                });
            if !goes_on {
                // Tells the other workers to take no more blocks.
                shared.next.store(self.nblocks, Ordering::Relaxed);
                return Ok(());
            }
        }
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
        // How many raw blocks at the front are not written. None once a block has compressed; until
        // then the chunk will probably be stored.
        let mut deferred = Some(0);
        for (nblock, start) in starts.chunks_exact_mut(4).enumerate() {
            let (pos, block) = self.block(nblock, 0);
            start.copy_from_slice(&((body + used) as i32).to_le_bytes());
            let bound = encoder.bound(block.bsize);
            let Scratch {
                bufs, out, codec, ..
            } = &mut *scratch;
            // Near the end of `rest` the block is encoded elsewhere, as the encoder needs space for
            // the largest block, then copied if it fits.
            let direct = rest.len() - used >= bound;
            let place = match direct {
                true => &mut rest[used..used + bound],
                false => out.ensure(bound)?,
            };
            let encoded = encoder.encode_unless_raw(
                pos,
                block,
                deferred.is_some(),
                (&mut *bufs, codec),
                place,
            )?;
            let size = encoded.size();
            if size > rest.len() - used {
                return Ok(None);
            }
            match (encoded, &mut deferred) {
                (Encoded::Raw(_), Some(deferred)) => *deferred += 1,
                (Encoded::Raw(block), None) => {
                    encoder.write_raw_block(block, bufs, &mut rest[used..])?;
                }
                (Encoded::Bytes(_), _) => {
                    self.write_raw_blocks(encoder, deferred.take().unwrap_or(0), bufs, rest)?;
                    if !direct {
                        filters::copy(&out[..size], &mut rest[used..used + size]);
                    }
                }
            }
            used += size;
        }
        self.write_raw_blocks(encoder, deferred.unwrap_or(0), &mut scratch.bufs, rest)?;
        Ok(Some(used))
    }

    /// Writes the first `n` blocks, which are raw.
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
