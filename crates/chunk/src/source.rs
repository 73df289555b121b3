//! Lazy chunks, whose blocks are not in memory but read one by one when they are needed.

use super::header::i32_at;
use oxiblosc_base::Result;
use oxiblosc_base::memory::sort::sort;
use oxiblosc_base::memory::{AlignedBuffer, TryVec, lock};
use std::sync::{Mutex, OnceLock};

/// Reads bytes of a chunk that is not in memory, for example from a file. Several workers may read
/// at the same time.
pub trait BlockSource: Sync {
    /// Fills `buf` with the bytes of the chunk from `pos` on; position 0 is the first byte of its
    /// header.
    ///
    /// # Errors
    /// Any error if not all of them can be read; the content of `buf` is then ignored.
    fn read_at(&self, pos: usize, buf: &mut [u8]) -> Result<()>;
}

/// No more than this is allocated for a chunk before some of its bytes were read, as its header may
/// claim a size that it does not have.
const FIRST_PIECE: usize = 1 << 20;

/// Reads `len` bytes from the front of a chunk. Memory is allocated in proportion to what can
/// really be read, not to what a header claims.
///
/// # Errors
/// Those of `source`; [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
pub fn read_prefix(source: &dyn BlockSource, len: usize) -> Result<TryVec<u8>> {
    let mut bytes = TryVec::new();
    while bytes.len() < len {
        let have = bytes.len();
        let more = have.max(FIRST_PIECE).min(len - have);
        bytes.reserve_exact(more)?;
        bytes.resize(have + more, 0)?;
        source.read_at(have, &mut bytes[have..])?;
    }
    Ok(bytes)
}

/// The blocks of a lazy chunk: where their bytes are read from, and where they end, which the table
/// of block starts does not say.
pub struct LazyBlocks<'a> {
    /// The bytes of the chunk.
    pub source: &'a dyn BlockSource,
    /// The block starts, sorted and without repetitions. Empty if the table itself is so; writers
    /// with several threads may leave the blocks in any order.
    sorted: TryVec<i32>,
    /// Size of the chunk.
    cbytes: usize,
    /// The whole chunk; read when a block is found to share bytes with others.
    whole: OnceLock<TryVec<u8>>,
    /// Held while the whole chunk is read.
    reading: Mutex<()>,
}

impl<'a> LazyBlocks<'a> {
    /// `starts` is the table of block starts, 4 bytes each.
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn new(source: &'a dyn BlockSource, starts: &[u8], cbytes: usize) -> Result<Self> {
        let starts = || starts.chunks_exact(4).map(|start| i32_at(start, 0));
        let mut sorted = TryVec::new();
        if !starts().is_sorted_by(|a, b| a < b) {
            sorted.reserve_exact(starts().len())?;
            sorted.extend(starts())?;
            sort(&mut sorted);
            sorted.dedup();
        }
        Ok(Self {
            source,
            sorted,
            cbytes,
            whole: OnceLock::new(),
            reading: Mutex::new(()),
        })
    }

    /// Reads `len` bytes from `pos` on into `buf`.
    ///
    /// # Errors
    /// As for [`read_prefix`].
    #[cold]
    pub fn read<'b>(&self, pos: usize, len: usize, buf: &'b mut AlignedBuffer) -> Result<&'b [u8]> {
        let bytes = buf.ensure(len)?;
        self.source.read_at(pos, bytes)?;
        Ok(bytes)
    }

    /// The whole chunk. It is read once and kept, since very many blocks may need it.
    ///
    /// # Errors
    /// As for [`read_prefix`].
    #[cold]
    pub fn whole(&self) -> Result<&[u8]> {
        let _alone = lock(&self.reading);
        if let Some(whole) = self.whole.get() {
            return Ok(whole);
        }
        let whole = read_prefix(self.source, self.cbytes)?;
        Ok(self.whole.get_or_init(|| whole))
    }

    /// An upper limit for the end of block `nblock`, if it shares no bytes with another: the next
    /// start. `starts` is the table that was given to [`Self::new`].
    pub fn end(&self, starts: &[u8], nblock: usize) -> usize {
        let start = i32_at(starts, 4 * nblock);
        let next = if self.sorted.is_empty() {
            starts
                .get(4 * nblock + 4..4 * nblock + 8)
                .map(|next| i32_at(next, 0))
        } else {
            let after = self.sorted.partition_point(|other| *other <= start);
            self.sorted.get(after).copied()
        };
        let next = next.and_then(|next| usize::try_from(next).ok());
        next.map_or(self.cbytes, |next| next.min(self.cbytes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oxiblosc_base::Error;

    /// A chunk in memory, that pretends not to be.
    struct ChunkFile<'a>(&'a [u8]);

    impl BlockSource for ChunkFile<'_> {
        fn read_at(&self, pos: usize, buf: &mut [u8]) -> Result<()> {
            let bytes = self.0.get(pos..pos + buf.len()).ok_or(Error::FILE_READ)?;
            buf.copy_from_slice(bytes);
            Ok(())
        }
    }

    #[test]
    fn a_block_ends_where_the_next_one_in_the_file_starts() {
        let ends = |starts: &[i32]| {
            let table: Vec<u8> = starts
                .iter()
                .flat_map(|start| start.to_le_bytes())
                .collect();
            let lazy = LazyBlocks::new(&ChunkFile(&[]), &table, 100).unwrap();
            (0..starts.len())
                .map(|nblock| lazy.end(&table, nblock))
                .collect::<Vec<_>>()
        };
        assert_eq!(ends(&[40, 50, 70]), [50, 70, 100]);
        assert_eq!(ends(&[70, 40, 50]), [100, 50, 70]);
        // Two blocks may be the same bytes.
        assert_eq!(ends(&[40, 40, 70]), [70, 70, 100]);
        assert_eq!(ends(&[70, 40, 70, 40]), [100, 70, 100, 70]);
        // Nonsense stays within the chunk.
        assert_eq!(ends(&[-5, 500, 60]), [60, 100, 100]);
        assert_eq!(ends(&[i32::MAX, i32::MIN]), [100, 100]);
    }

    #[test]
    fn a_front_that_is_not_there_costs_no_memory() {
        let bytes = (0..=255).collect::<Vec<u8>>().repeat(11_719);
        assert!(read_prefix(&ChunkFile(&bytes), bytes.len()) == Ok(bytes.clone().into()));
        assert_eq!(read_prefix(&ChunkFile(&bytes), 0), Ok(TryVec::new()));
        assert_eq!(
            read_prefix(&ChunkFile(&bytes), i32::MAX as usize),
            Err(Error::FILE_READ)
        );
    }
}
