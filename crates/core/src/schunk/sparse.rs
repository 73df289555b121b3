//! Single items, in any order.

use super::parsed::Wanted;
use super::ranges::{RangeReader, is_plain};
use super::slices::ChunkPart;
use super::superchunk::SuperChunk;
use oxiblosc_chunk::encode::lock;
use oxiblosc_chunk::getitem::{self, ItemRange};
use oxiblosc_chunk::hooks::NoHooks;
use oxiblosc_error::{Error, Result};
use oxiblosc_memory::List;
use std::sync::{Mutex, PoisonError};

/// A coordinate, and where its item goes.
type SparseItem<'a> = (u64, &'a mut [u8]);

/// Items of one chunk, which are sorted.
struct Group<'g, 'a> {
    nchunk: usize,
    /// The first item of the chunk.
    first: u64,
    entries: &'g mut [SparseItem<'a>],
}

impl RangeReader<'_> {
    /// Reads items of one chunk, unless that needs the program's functions. Gives whether it did.
    fn read_items(&self, group: &mut Group, typesize: usize) -> Result<bool> {
        let nbytes = self.state.counts.nbytes_of(group.nchunk);
        let nbytes = nbytes.ok_or(Error::Data)? as usize;
        let (nchunk, first) = (group.nchunk, group.first);
        self.state.with_chunk(nchunk, Wanted::Some, |chunk, _| {
            let header = chunk.header();
            if header.nbytes != nbytes {
                return Err(Error::Data);
            }
            if !is_plain(header) {
                return Ok(false);
            }
            let blocksize = header.blocksize_field().max(1);
            let at = |entry: &SparseItem| (entry.0 - first) as usize * typesize;
            // Items that are in one block alone are read together, since it is decompressed anyway.
            let block = |entry: &SparseItem| {
                let (from, to) = (
                    at(entry) / blocksize,
                    (at(entry) + typesize - 1) / blocksize,
                );
                (from == to).then_some(from)
            };
            let mut data = List::new();
            let together =
                |a: &SparseItem, b: &SparseItem| block(a).is_some() && block(a) == block(b);
            for run in group.entries.chunk_by_mut(together) {
                let (start, stop) = (at(&run[0]), at(&run[run.len() - 1]) + typesize);
                data.resize(stop - start, 0)?;
                let range = ItemRange {
                    start,
                    len: stop - start,
                };
                getitem::read(chunk, range, &mut data, &NoHooks)?;
                for entry in run {
                    let from = at(entry) - start;
                    entry.1.copy_from_slice(&data[from..from + typesize]);
                }
            }
            Ok(true)
        })
    }

    /// Reads items one by one, through the decoder.
    fn read_items_with_functions(&self, group: &mut Group, typesize: usize) -> Result<()> {
        let nbytes = self.state.counts.nbytes_of(group.nchunk);
        let nbytes = nbytes.ok_or(Error::Data)? as usize;
        for (coord, dest) in &mut *group.entries {
            let from = (*coord - group.first) as usize * typesize;
            let part = ChunkPart {
                nchunk: group.nchunk,
                from,
                to: from + typesize,
                nbytes,
            };
            self.read_with_functions(&part, dest)?;
        }
        Ok(())
    }

    fn read_sparse(
        &self,
        entries: &mut [SparseItem],
        chunkitems: u64,
        typesize: usize,
    ) -> Result<()> {
        let mut groups = entries
            .chunk_by_mut(|a, b| a.0 / chunkitems == b.0 / chunkitems)
            .map(|entries| {
                let nchunk = entries[0].0 / chunkitems;
                Group {
                    nchunk: nchunk as usize,
                    first: nchunk * chunkitems,
                    entries,
                }
            });
        if self.decoder.has_postfilter() {
            return groups
                .try_for_each(|mut group| self.read_items_with_functions(&mut group, typesize))
                .map_err(Error::or_failure);
        }
        let groups = Mutex::new(groups);
        // What needs the program's functions is left for this thread.
        let (left, failed) = (Mutex::new(List::new()), Mutex::new(None));
        let nthreads = self.decoder.nthreads();
        self.decoder.executor().run(nthreads, nthreads, &|_| {
            while lock(&failed).is_none() {
                let next = lock(&groups).next();
                let Some(mut group) = next else { return };
                let done = self.read_items(&mut group, typesize);
                let done = done.and_then(|done| match done {
                    true => Ok(()),
                    false => lock(&left).push(group),
                });
                if let Err(error) = done {
                    *lock(&failed) = Some(error);
                }
            }
        })?;
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        (left.into_inner().unwrap_or_else(PoisonError::into_inner))
            .into_iter()
            .try_for_each(|mut group| self.read_items_with_functions(&mut group, typesize))
    }
}

impl SuperChunk {
    /// Reads the items at `coords`, in any order, into `dest`, one behind the other.
    ///
    /// # Errors
    /// [`Error::InvalidParam`] for an item out of range, if chunks are of different sizes, and if `dest` is too small;
    /// those of damaged chunks, and of input.
    pub fn read_sparse(&self, coords: &[u64], dest: &mut [u8]) -> Result<()> {
        let Some(last) = coords.iter().max() else {
            return Ok(());
        };
        let state = self.read()?;
        let (counts, typesize) = (state.counts, state.parameters.typesize);
        let whole = typesize > 0 && counts.chunksize > 0 && counts.chunksize % typesize == 0;
        if !whole || state.has_vlblocks() {
            return Err(Error::InvalidParam);
        }
        let chunkitems = (counts.chunksize / typesize) as u64;
        let typesize = typesize as usize;
        if *last >= counts.nbytes.max(0) as u64 / typesize as u64 {
            return Err(Error::InvalidParam);
        }
        if coords.len().checked_mul(typesize) != Some(dest.len()) {
            return Err(Error::InvalidParam);
        }
        let mut entries: List<SparseItem> = List::new();
        entries.reserve_exact(coords.len())?;
        entries.extend(coords.iter().copied().zip(dest.chunks_exact_mut(typesize)))?;
        entries.sort_unstable_by_key(|(coord, _)| *coord);
        RangeReader::new(self, &state)?.read_sparse(&mut entries, chunkitems, typesize)?;
        self.set_current((last / chunkitems) as usize);
        Ok(())
    }
}
