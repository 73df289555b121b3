//! The sizes of the chunks, and whether they agree with the counters.

use super::State;
use super::changes::MAX_STORED_SPECIALS;
use crate::schunk::host::{Changed, Host};
use crate::schunk::rules::Counts;
use crate::schunk::slices::ChunkSizes;
use oxiblosc_base::memory::{Shared, TryVec};
use oxiblosc_base::{Error, Result};

/// How many files are looked for that are missing where chunks differ in size: a small index may
/// tell of many more.
const MAX_MISSING: usize = 64;

/// Whether an error says that a chunk is lost: that it is damaged, or that its file is missing or
/// cannot be read.
pub(crate) fn is_loss(error: Error) -> bool {
    [
        Error::DATA,
        Error::INVALID_HEADER,
        Error::VERSION_SUPPORT,
        Error::READ_BUFFER,
        Error::FILE_OPEN,
        Error::FILE_READ,
    ]
    .contains(&error)
}

impl State {
    /// Sets the size of the data of new chunks, in bytes.
    pub(crate) fn set_chunksize(&mut self, host: &dyn Host, chunksize: i32) {
        self.counts.chunksize = chunksize;
        self.size_cache.forget_sizes();
        host.show(self, Changed::Updated(0..0));
    }

    /// The sizes of the chunks.
    ///
    /// # Errors
    /// [`Error::DATA`] if the chunks of a frame contradict its header; those of reading them.
    pub fn sizes(&self) -> Result<ChunkSizes> {
        self.sizes_of(&self.counts, true)
    }

    /// As [`Self::sizes`], but with these counters. For `rereads` see
    /// [`ChunkStore::find_in`](crate::schunk::ChunkStore).
    pub(crate) fn sizes_of(&self, counts: &Counts, rereads: bool) -> Result<ChunkSizes> {
        if counts.chunksize > 0 {
            return Ok(ChunkSizes::Equal {
                chunksize: counts.chunksize as u64,
                nbytes: counts.nbytes.max(0) as u64,
            });
        }
        let nbytes = counts.nbytes.max(0) as u64;
        let read = || self.read_sizes(nbytes, rereads);
        self.size_cache.get_or_read(read)
    }

    /// The sizes as the headers of all chunks have them. In a frame, `nbytes` has to be their sum.
    fn read_sizes(&self, nbytes: u64, rereads: bool) -> Result<ChunkSizes> {
        // Memory grows with the chunks that are found, not with the number that an index claims.
        let mut starts: TryVec<u64> = TryVec::new();
        let mut end = 0;
        for nchunk in 0..self.store.nchunks() {
            starts.reserve(1)?;
            starts.push(end)?;
            end += self.chunk_info_in(nchunk, rereads)?.nbytes as u64;
        }
        starts.reserve(1)?;
        starts.push(end)?;
        if self.store.is_frame() && end != nbytes {
            return Err(Error::DATA);
        }
        self.size_cache.note_sum_checked();
        Ok(ChunkSizes::Starts(Shared::new(starts)?))
    }

    /// Checks that the sizes of the chunks of a frame, which differ, add up to `nbytes` of the
    /// counters; or if some are lost, that the others have no more data than that. This is done
    /// once, since every change after that updates both.
    fn check_sum(&self, rereads: bool) -> Result<()> {
        if self.size_cache.is_sum_checked() {
            return Ok(());
        }
        match self.sizes_of(&self.counts, rereads) {
            Err(error) if is_loss(error) => {}
            other => return other.map(drop),
        }
        let (mut sum, mut is_lost, mut missing) = (0, false, 0);
        for nchunk in 0..self.store.nchunks() {
            // The frame was read again, if it was another one, when the sizes were asked for.
            let found = self.store.find_in(nchunk, false);
            match found.and_then(|found| found.header()) {
                // The index is wrong: it does not tell the size of such a chunk.
                Ok(Err(_)) => return Err(Error::DATA),
                Ok(Ok(header)) => sum += header.nbytes as u64,
                Err(error) if error == Error::FILE_OPEN && missing == MAX_MISSING => {
                    return Err(error);
                }
                Err(error) if is_loss(error) => {
                    is_lost = true;
                    missing += usize::from(error == Error::FILE_OPEN);
                }
                Err(error) => return Err(error),
            }
        }
        // If all headers can be read, nothing tells which of them is wrong.
        if !is_lost || sum > self.counts.nbytes.max(0) as u64 {
            return Err(Error::DATA);
        }
        self.size_cache.note_sum_checked();
        Ok(())
    }

    /// Checks that `nbytes`, the size of the data of chunk `nchunk`, agrees with the counters:
    /// programs size their buffers by these. Chunks that are not in a frame come from the program,
    /// and may have any size.
    ///
    /// # Errors
    /// [`Error::DATA`] if it does not.
    pub(crate) fn check_size(&self, nchunk: usize, nbytes: usize) -> Result<()> {
        if !self.store.is_frame() {
            return Ok(());
        }
        match self.counts.nbytes_of(nchunk) {
            Some(expected) if expected as usize == nbytes => Ok(()),
            Some(_) => Err(Error::DATA),
            None => self.check_sum(true),
        }
    }

    /// Whether a frame that has lost a chunk can be read: its header may be right. If chunks differ
    /// in size, those that can be read must not have more data than it tells.
    pub(crate) fn can_be_read(&self) -> bool {
        let counts = self.counts;
        let Ok(chunksize @ 1..) = u64::try_from(counts.chunksize) else {
            return self.check_sum(false).is_ok();
        };
        let nbytes = u64::try_from(counts.nbytes).unwrap_or(0);
        // If chunks of which only the kind is known are too many to be listed, it is not known
        // whether chunks differ in size.
        nbytes.div_ceil(chunksize) == self.store.nchunks() as u64
            && self.store.specials() <= MAX_STORED_SPECIALS
    }

    /// Checks the first and the last chunk of a frame that was just opened against its header. The
    /// others are checked when they are read, and so is the sum of their sizes if they differ.
    /// Gives corrected counters if chunks differ in size although the header says that they do not.
    ///
    /// # Errors
    /// [`Error::DATA`] if the chunks contradict the header; those of reading a chunk.
    pub(crate) fn check_opened(&self) -> Result<Option<Counts>> {
        let counts = self.counts;
        let Some(last) = self.store.nchunks().checked_sub(1) else {
            return if counts.nbytes == 0 {
                Ok(None)
            } else {
                Err(Error::DATA)
            };
        };
        // If a chunk is not found, the frame is not read again: chunks of the new frame would be
        // compared with the old header.
        let rereads = false;
        let first = self.chunk_info_in(0, rereads)?;
        if counts.nbytes == 0 {
            // The chunks have no data, which is possible only if chunks may differ in size.
            let differ = counts.chunksize <= 0;
            return if differ {
                self.check_sum(rereads).map(|()| None)
            } else {
                Err(Error::DATA)
            };
        }
        if counts.chunksize <= 0 {
            return Ok(None);
        }
        for nchunk in [0, last] {
            let found = match nchunk {
                0 => first.nbytes,
                _ => self.chunk_info_in(nchunk, rereads)?.nbytes,
            };
            if counts.nbytes_of(nchunk) != Some(found) {
                // The reference leaves the header as it is when a short last chunk is moved between
                // others. Such a frame is one whose chunks differ in size.
                if self.store.specials() > MAX_STORED_SPECIALS {
                    // A small index may claim more of them than fit into a list of sizes.
                    return Err(Error::DATA);
                }
                let differing = Counts {
                    chunksize: 0,
                    ..counts
                };
                let (found, said) = (self.sizes_of(&differing, rereads)?, self.sizes()?);
                // Another process may have changed the frame and changed it back since the first
                // chunk was read.
                let differ = |nchunk| found.span(nchunk) != said.span(nchunk);
                return Ok((0..=last).any(differ).then_some(differing));
            }
        }
        Ok(None)
    }
}
