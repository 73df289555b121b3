//! Changing some blocks of a chunk: only these are decompressed and compressed again, the others are copied as they are.

use super::decode::Chunk;
use super::decode_block::{BlockDecoder, UDCODEC_FORMAT};
use super::encode::{EncodeParams, lock, workers};
use super::encode_block::{Before, BlockEncoder, BlockInput};
use super::header::{Blocks, ChunkHeader, Special, flags, flags2, version};
use super::hooks::{BlockPos, Executor, Hooks};
use super::pipeline::Pipeline;
use super::scratch::{self, Scratch};
use crate::codec::Codec;
use crate::error::{Error, Result};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A block to be changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Touched {
    /// Its index.
    pub nblock: usize,
    /// Every byte of it will be overwritten, so what it held is of no interest.
    pub whole: bool,
}

/// How a chunk is read and written again.
#[derive(Clone, Copy)]
pub struct Patcher<'a> {
    /// The chunk, in memory.
    pub chunk: &'a Chunk<'a>,
    /// The level, the number of threads, and which of the codecs of the chunk's format; all else is as the chunk's
    /// header says.
    pub params: &'a EncodeParams,
    /// The caller's functions for decompression.
    pub decoding: &'a dyn Hooks,
    /// The caller's functions for compression.
    pub encoding: &'a dyn Hooks,
    /// Where workers come from.
    pub exec: &'a dyn Executor,
}

impl Patcher<'_> {
    /// Overwrites the data from byte `start` on with `new`. Gives the new chunk, or none where it has to be made from all
    /// its data (see [`Self::blocks`]).
    ///
    /// # Errors
    /// [`Error::InvalidParam`] when the range is not within the data; those of a damaged chunk.
    pub fn range(&self, start: usize, new: &[u8]) -> Result<Option<Vec<u8>>> {
        let header = self.chunk.header();
        let stop = start.checked_add(new.len()).ok_or(Error::InvalidParam)?;
        if stop > header.nbytes {
            return Err(Error::InvalidParam);
        }
        let Blocks::Regular { blocksize } = header.blocks else {
            return Ok(None);
        };
        let bounds = |nblock: usize| {
            let offset = nblock * blocksize;
            (offset, header.nbytes.min(offset + blocksize))
        };
        let touched: Vec<Touched> = (start / blocksize..stop.div_ceil(blocksize))
            .map(|nblock| {
                let (from, to) = bounds(nblock);
                let whole = start <= from && to <= stop;
                Touched { nblock, whole }
            })
            .collect();
        self.blocks(&touched, &|nblock, data| {
            let (from, to) = bounds(nblock);
            let (first, last) = (from.max(start), to.min(stop));
            data[first - from..last - from].copy_from_slice(&new[first - start..last - start]);
        })
    }

    /// Changes the blocks in `touched`, which ascend: `change` gets the index and the data of each, from any worker and in
    /// any order. Of a block that is wholly touched the data may be anything, and `change` overwrites all.
    ///
    /// Gives the new chunk, or none where it has to be made from all its data: with special values, a Blosc 1 header,
    /// blocks of variable length, a dictionary, a delta, a prefilter or postfilter, when the data are all new, and when the
    /// result would be larger than the data as they are. The bytes do not depend on the number of workers.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] when `touched` does not ascend or names blocks that are not there, and for a chunk that is
    /// elsewhere; those of a damaged chunk.
    pub fn blocks(
        &self,
        touched: &[Touched],
        change: &(dyn Fn(usize, &mut [u8]) + Sync),
    ) -> Result<Option<Vec<u8>>> {
        let header = self.chunk.header();
        let ascend = touched.is_sorted_by(|a, b| a.nblock < b.nblock);
        let inside = touched.last().is_none_or(|t| t.nblock < header.nblocks);
        if !ascend || !inside || self.chunk.is_elsewhere() {
            return Err(Error::InvalidParam);
        }
        let all_new = touched.len() == header.nblocks && touched.iter().all(|t| t.whole);
        let Blocks::Regular { blocksize } = header.blocks else {
            return Ok(None);
        };
        if all_new || !self.possible() {
            return Ok(None);
        }
        if header.is_memcpyed() {
            let mut bytes = self.copy_of_all()?;
            for t in touched {
                let from = header.overhead() + t.nblock * blocksize;
                let to = header.cbytes.min(from + blocksize);
                change(t.nblock, &mut bytes[from..to]);
            }
            return Ok(Some(bytes));
        }
        let Some(params) = self.own_params(blocksize) else {
            return Ok(None);
        };
        let mut backward = Pipeline::EMPTY;
        let decoder = self.chunk.decoder(&mut backward, self.decoding)?;
        let mut forward = Pipeline::EMPTY;
        forward.set_typesize(header.typesize, version::STABLE);
        forward.resolve(&params.filters, &params.filters_meta, false)?;
        if forward.has_delta() {
            return Ok(None);
        }
        let encoder = BlockEncoder {
            params: &params,
            hooks: self.encoding,
            pipeline: &forward,
            reference: None,
            split: params.split,
            variable: false,
            dict: None,
        };
        let changed = self.recompress(&decoder, &encoder, touched, change)?;
        self.assemble(&encoder, touched, &changed)
    }

    /// Whether the chunk is one whose blocks have nothing to do with each other.
    fn possible(&self) -> bool {
        let header = self.chunk.header();
        let bits = flags2::USE_DICT | flags2::INSTRUMENTED | flags2::LAZY;
        header.special() == Special::None
            && header.nbytes > 0
            && header.is_extended()
            && header.version == version::STABLE
            && header.blosc2_flags & bits == 0
            && !self.decoding.has_postfilter()
            && !self.encoding.has_prefilter()
            && !self.encoding.output_is_disposable()
    }

    /// What blocks of this chunk are compressed with; none where they cannot be.
    fn own_params(&self, blocksize: usize) -> Option<EncodeParams> {
        let header = self.chunk.header();
        let format = header.flags >> 5;
        let compcode = if format == UDCODEC_FORMAT {
            header.udcompcode
        } else {
            let wanted = Codec::from_code(self.params.compcode.into());
            let same = wanted.filter(|codec| codec.format() == format);
            same.or_else(|| Codec::from_format(format))?.code() as u8
        };
        let typesize = usize::from(header.typesize);
        let split = header.flags & flags::DONT_SPLIT == 0;
        if self.params.clevel == 0 || (split && !blocksize.is_multiple_of(typesize)) {
            return None;
        }
        Some(EncodeParams {
            compcode,
            compcode_meta: header.compcode_meta,
            versionlz: header.versionlz,
            clevel: self.params.clevel,
            typesize,
            blocksize,
            filters: header.filters,
            filters_meta: header.filters_meta,
            split,
            use_dict: false,
            instrumented: false,
            extended: true,
            nthreads: self.params.nthreads,
        })
    }

    fn copy_of_all(&self) -> Result<Vec<u8>> {
        let all = self.chunk.bytes();
        let mut bytes = with_room(all.len())?;
        bytes.extend_from_slice(all);
        Ok(bytes)
    }

    /// The compressed bytes of each touched block.
    fn recompress(
        &self,
        decoder: &BlockDecoder,
        encoder: &BlockEncoder,
        touched: &[Touched],
        change: &(dyn Fn(usize, &mut [u8]) + Sync),
    ) -> Result<Vec<Vec<u8>>> {
        let one = |t: Touched, tid: usize, scratch: &mut Scratch| {
            let bsize = self.chunk.block_nbytes(t.nblock)?;
            let pos = BlockPos {
                nblock: t.nblock,
                offset: decoder.offset(t.nblock),
                tid,
            };
            let Scratch {
                bufs,
                out,
                data,
                old,
                codec,
            } = scratch;
            let data = data.ensure(bsize)?;
            let mut before = None;
            if !t.whole {
                decoder.decode(pos, None, data, (bufs, codec))?;
                if let [_] = decoder.pipeline.stages() {
                    // What the streams held is still where the one filter took it from.
                    std::mem::swap(&mut bufs.ping, old);
                    let mut streams = Vec::new();
                    self.chunk
                        .compressed(t.nblock, |stream| streams.push(stream))?;
                    before = Some(Before {
                        data: &old[..bsize],
                        streams,
                    });
                }
            }
            change(t.nblock, data);
            let block = BlockInput {
                data: Some(data),
                bsize,
                offset: pos.offset,
            };
            let out = out.ensure(encoder.bound(bsize))?;
            let size = match before {
                Some(before) => encoder.encode_again(pos, block, &before, (bufs, codec), out)?,
                None => encoder.encode(pos, block, (bufs, codec), out)?,
            };
            let mut bytes = with_room(size)?;
            bytes.extend_from_slice(&out[..size]);
            Ok(bytes)
        };
        let nbytes = touched.len() * encoder.params.blocksize;
        let nworkers = workers(self.params.nthreads, touched.len(), nbytes);
        if nworkers <= 1 {
            let mut scratch = scratch::borrow();
            return touched.iter().map(|t| one(*t, 0, &mut scratch)).collect();
        }
        let mut results = Vec::new();
        results.resize_with(touched.len(), || Err(Error::Failure));
        let results = Mutex::new(results);
        let next = AtomicUsize::new(0);
        self.exec.run(self.params.nthreads, nworkers, &|tid| {
            let mut scratch = scratch::borrow();
            loop {
                let i = next.fetch_add(1, Ordering::Relaxed);
                let Some(t) = touched.get(i) else {
                    return;
                };
                let result = one(*t, tid, &mut scratch);
                lock(&results)[i] = result;
            }
        })?;
        let results = std::mem::take(&mut *lock(&results));
        results.into_iter().collect()
    }

    /// Puts the chunk together: the changed blocks, and the others as they are.
    fn assemble(
        &self,
        encoder: &BlockEncoder,
        touched: &[Touched],
        changed: &[Vec<u8>],
    ) -> Result<Option<Vec<u8>>> {
        let header = self.chunk.header();
        let most = header.nbytes + header.overhead();
        let body = header.overhead() + 4 * header.nblocks;
        let new: usize = changed.iter().map(Vec::len).sum();
        let mut bytes = with_room(most.min(header.cbytes + new))?;
        bytes.resize(body, 0);
        let mut changed = touched.iter().zip(changed).peekable();
        for nblock in 0..header.nblocks {
            let start = (bytes.len() as i32).to_le_bytes();
            let block = match changed.next_if(|(t, _)| t.nblock == nblock) {
                Some((_, block)) => block,
                None => self.chunk.compressed(nblock, |_| ())?,
            };
            if block.len() > most.saturating_sub(bytes.len()) {
                return Ok(None);
            }
            bytes.extend_from_slice(block);
            bytes[header.overhead() + 4 * nblock..][..4].copy_from_slice(&start);
        }
        let mut header = ChunkHeader {
            cbytes: bytes.len(),
            ..*header
        };
        if bytes.len() - body == 4 * encoder.total_streams(header.nbytes) {
            // Every stream is a run of zeros.
            header.blosc2_flags |= Special::Zero.to_flags();
            header.cbytes = header.overhead();
            bytes.truncate(header.cbytes);
        }
        header.write(&mut bytes);
        Ok(Some(bytes))
    }
}

/// An empty vector with room for `len` bytes.
fn with_room(len: usize) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes
        .try_reserve_exact(len)
        .map_err(|_| Error::MemoryAlloc)?;
    Ok(bytes)
}
