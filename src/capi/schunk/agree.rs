//! Whether chunks are what the header of their frame says. A program makes its buffers as large as `schunk->nbytes` or
//! `schunk->chunksize` tell, so chunks that hold something else must not get that far.
//!
//! The first and the last chunk are looked at when a frame is opened, the others when something is read of them. Where
//! chunks differ in size the header knows only the sum, for which all of them must be looked at once.

use super::handle::{Handle, Inner};
use oxiblosc_core::schunk::Store;
use oxiblosc_core::schunk::rules::Counts;
use oxiblosc_error::{Error, Result};

/// Checks a frame that was just opened.
///
/// # Errors
/// [`Error::Data`] where header and chunks do not agree; those of reading a chunk.
pub fn opened(handle: &Handle, inner: &mut Inner) -> Result<()> {
    let counts = handle.counts();
    let count = inner.store.nchunks();
    let Some(last) = count.checked_sub(1) else {
        return if counts.nbytes == 0 {
            Ok(())
        } else {
            Err(Error::Data)
        };
    };
    inner.chunk(&counts, 0)?;
    if counts.nbytes == 0 {
        // The chunks have no data. Only where chunks may differ in size are there such.
        let differ = counts.chunksize <= 0;
        return if differ {
            inner.sum_up(&counts)
        } else {
            Err(Error::Data)
        };
    }
    if counts.chunksize <= 0 {
        return Ok(());
    }
    for nchunk in [0, last] {
        let found = inner.chunk(&counts, nchunk)?.nbytes;
        if counts.nbytes_of(nchunk as i64) != Some(found) {
            return moved_last(handle, inner, &counts);
        }
    }
    Ok(())
}

/// The reference leaves the header as it is when a short last chunk is moved between others. Such a frame is one whose
/// chunks differ in size.
fn moved_last(handle: &Handle, inner: &mut Inner, counts: &Counts) -> Result<()> {
    let differing = Counts {
        chunksize: 0,
        ..*counts
    };
    inner.sizes(&differing)?;
    handle.set_counts(&differing);
    Ok(())
}

impl Inner {
    /// Checks that chunk `nchunk`, of `nbytes` bytes of data, has as many as the counters say. Chunks that are each on their
    /// own are the program's, and may be anything.
    ///
    /// # Errors
    /// [`Error::Data`] if not.
    pub fn expect(&mut self, counts: &Counts, nchunk: usize, nbytes: usize) -> Result<()> {
        if matches!(self.store, Store::Separate(_)) {
            return Ok(());
        }
        match counts.nbytes_of(nchunk as i64) {
            Some(expected) if expected as usize == nbytes => Ok(()),
            Some(_) => Err(Error::Data),
            None => self.sum_up(counts),
        }
    }
}
