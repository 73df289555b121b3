//! Reads ranges of bytes of a super-chunk.

use super::parsed::ReadExtent;
use super::slices::{ChunkPart, ChunkParts, ChunkSizes};
use super::state::State;
use super::superchunk::SuperChunk;
use crate::decoding::DecodeContext;
use oxiblosc_base::memory::{TryVec, lock};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::Chunk;
use oxiblosc_chunk::decode::decompress;
use oxiblosc_chunk::fast_path;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::header::ChunkHeader;
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_chunk::work_stealing::StealingQueue;
use oxiblosc_chunk::workers::Workers;
use std::sync::{Mutex, PoisonError};

impl ChunkPart {
    fn items(&self) -> ItemRange {
        ItemRange {
            start: self.from,
            len: self.len(),
        }
    }

    fn wanted(&self) -> ReadExtent {
        if self.is_whole() {
            ReadExtent::WholeChunk
        } else {
            ReadExtent::FewBlocks
        }
    }
}

/// Reads ranges of a super-chunk.
#[derive(Clone, Copy)]
pub(super) struct RangeReader<'a> {
    pub schunk: &'a SuperChunk,
    pub state: &'a State,
    pub decoder: &'a dyn DecodeContext,
}

impl<'a> RangeReader<'a> {
    pub fn new(schunk: &'a SuperChunk, state: &'a State) -> Result<Self> {
        Ok(Self {
            schunk,
            state,
            decoder: schunk.decoder()?,
        })
    }

    /// Reads a part of a chunk. False, and nothing is read, if that needs functions of the program.
    fn read_plain(&self, part: &ChunkPart, dest: &mut [u8], nthreads: usize) -> Result<bool> {
        let mut header = ChunkHeader::EMPTY;
        let found = self.state.store.in_memory(part.nchunk, &mut header);
        if let Some((bytes, checked)) = found {
            // The fast path would check checksums again that have been checked.
            if header.nbytes == part.nbytes
                && !checked.is_kept()
                && fast_path::read(&header, bytes, part.from, dest).is_some()
            {
                return Ok(true);
            }
            let mut slot = None;
            let chunk = Chunk::parse_checked_into(&mut slot, &header, bytes, checked)?;
            return self.decode_plain(chunk, part, dest, nthreads);
        }
        self.state
            .with_chunk(part.nchunk, part.wanted(), |chunk, _| {
                self.decode_plain(chunk, part, dest, nthreads)
            })
    }

    /// Decompresses a part of a chunk. False, and nothing is decompressed, if that needs functions
    /// of the program.
    fn decode_plain(
        &self,
        chunk: &Chunk,
        part: &ChunkPart,
        dest: &mut [u8],
        nthreads: usize,
    ) -> Result<bool> {
        let header = chunk.header();
        if !header.is_plain() {
            return Ok(false);
        }
        if header.nbytes != part.nbytes {
            return Err(Error::DATA);
        }
        if part.is_whole() {
            let workers = match nthreads {
                0 | 1 => Workers::ALONE,
                _ => self.decoder.workers(),
            };
            decompress(chunk, dest, None, &NoHooks, workers)?;
        } else {
            getitem::read(chunk, part.items(), dest, &NoHooks)?;
        }
        Ok(true)
    }

    /// Reads a part of a chunk through the decoder, which calls functions of the program.
    pub fn read_with_functions(&self, part: &ChunkPart, dest: &mut [u8]) -> Result<()> {
        self.schunk.set_current(part.nchunk);
        self.state
            .with_chunk(part.nchunk, part.wanted(), |chunk, prefix| {
                self.state.check_size(part.nchunk, chunk.header().nbytes)?;
                if !part.is_whole() {
                    let range = part.items();
                    return self.decoder.decompress_items(chunk, prefix, range, dest);
                }
                let nbytes = self.decoder.decompress_chunk(chunk, prefix, dest)?;
                if nbytes == dest.len() {
                    Ok(())
                } else {
                    Err(Error::FAILURE)
                }
            })
    }

    /// Reads `parts` of chunks, at most `len`, by several threads if `nworkers` is more than one.
    /// `plain` reads a part, or gives false where that needs functions of the program: then this
    /// thread reads it with `functions`.
    pub fn read_each<T: Send>(
        &self,
        mut parts: impl Iterator<Item = T>,
        (len, nworkers): (usize, usize),
        plain: impl Fn(&mut T) -> Result<bool> + Sync,
        functions: impl Fn(&mut T) -> Result<()>,
    ) -> Result<()> {
        if self.decoder.has_postfilter() {
            return parts.try_for_each(|mut part| functions(&mut part));
        }
        if nworkers <= 1 {
            return parts.try_for_each(|mut part| match plain(&mut part)? {
                true => Ok(()),
                false => functions(&mut part),
            });
        }
        let queue = StealingQueue::new(parts, len, nworkers)?;
        let left = Mutex::new(TryVec::new());
        queue.work(self.decoder.workers(), |tid| {
            while let Some(mut part) = queue.next(tid) {
                if !plain(&mut part)? {
                    lock(&left).push(part)?;
                }
            }
            Ok(())
        })?;
        (left.into_inner().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .try_for_each(|mut part| functions(&mut part))
    }

    /// Reads the bytes from `start` on into `dest`. If they are in several chunks, several threads
    /// read.
    pub fn read(&self, sizes: &ChunkSizes, start: u64, dest: &mut [u8]) -> Result<()> {
        let stop = start + dest.len() as u64;
        let parts = PendingParts {
            parts: sizes.parts(start, stop)?,
            dest,
        };
        let (first, last) = match start < stop {
            true => (sizes.chunk_of(start), sizes.chunk_of(stop - 1)),
            false => (0, 0),
        };
        let (len, nthreads) = (last - first + 1, self.decoder.nthreads());
        let nworkers = nthreads.min(len);
        // The threads share either the chunks or the blocks of the only one.
        let within = if nworkers > 1 { 1 } else { nthreads };
        self.read_each(
            parts,
            (len, nworkers),
            |(part, dest)| {
                if nworkers <= 1 && part.nchunk < last {
                    // The next chunk is loaded into the cache while this one is decompressed.
                    self.state.store.prefetch(part.nchunk + 1);
                }
                self.read_plain(part, dest, within)
            },
            |(part, dest)| self.read_with_functions(part, dest),
        )
    }
}

/// The parts of chunks that have not been read yet, and the rest of the destination.
struct PendingParts<'a> {
    parts: ChunkParts<'a>,
    dest: &'a mut [u8],
}

impl<'a> Iterator for PendingParts<'a> {
    type Item = (ChunkPart, &'a mut [u8]);

    fn next(&mut self) -> Option<Self::Item> {
        let part = self.parts.next()?;
        let (dest, rest) = std::mem::take(&mut self.dest).split_at_mut(part.len());
        self.dest = rest;
        Some((part, dest))
    }
}
