//! What a change does to the counters of a super-chunk, and whether it may be made: the reference's
//! rules, except where they lead it to frames that it cannot read.
//!
//! `chunksize` is -1 until there is a chunk. Then it is the size of the data of all chunks but the
//! last, which may be shorter. It becomes 0 as soon as that no longer holds.

use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checksum::{CHECKSUMS, check_header_only};
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH, Special};
use oxiblosc_frame::offsets::special_of;

const VL_BLOCKS: u8 = oxiblosc_chunk::header::flags2::VL_BLOCKS;

/// The counters of a super-chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Chunks.
    pub nchunks: usize,
    /// Bytes of all data.
    pub nbytes: i64,
    /// Bytes of all chunks, as the reference counts them.
    pub cbytes: i64,
    /// Bytes of a chunk's data; see the module.
    pub chunksize: i32,
    /// The second flags byte of the chunks.
    pub flags2: u8,
}

/// The kind of storage, which decides how the bytes of chunks are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StorageKind {
    /// Each on its own.
    Separate,
    /// In a contiguous frame.
    Contiguous,
    /// In a directory.
    Sparse,
}

/// A chunk that is added or removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChunkInfo {
    /// Bytes of its data.
    pub nbytes: i32,
    /// Bytes of the chunk.
    pub cbytes: i32,
    /// Its second flags byte, without the bit for checksums.
    pub flags2: u8,
    /// Whether it has checksums.
    pub checksums: bool,
    /// The kind of its values, if it needs no bytes in a frame.
    pub special: Option<Special>,
}

impl ChunkInfo {
    /// The properties of a chunk with this header.
    pub fn new(header: &ChunkHeader) -> Self {
        Self {
            nbytes: header.nbytes as i32,
            cbytes: header.cbytes as i32,
            flags2: header.blosc2_flags2 & !CHECKSUMS,
            checksums: header.has_checksums(),
            special: special_of(header),
        }
    }

    /// The properties of a chunk that is added to a frame. If its checksum is wrong, `special` is
    /// none even for a special chunk, so that its bytes are stored: readers then find the damage,
    /// which an offset for special values would hide.
    pub fn of(chunk: &EncodedChunk) -> Self {
        let mut info = Self::new(&chunk.header);
        if info.checksums && info.special.is_some() && check_header_only(chunk.bytes).is_err() {
            info.special = None;
        }
        info
    }

    /// The properties of a special chunk that is only an offset in the index.
    pub fn of_special(kind: Special, nbytes: i32) -> Self {
        Self {
            nbytes,
            cbytes: EXTENDED_HEADER_LENGTH as i32,
            flags2: 0,
            checksums: false,
            special: Some(kind),
        }
    }

    fn has_vlblocks(&self) -> bool {
        self.flags2 & VL_BLOCKS != 0
    }

    /// By how much the chunk increases `cbytes` when it is added.
    fn added_bytes(&self, storage: StorageKind) -> i64 {
        if storage != StorageKind::Separate && self.special.is_some() {
            0
        } else {
            i64::from(self.cbytes)
        }
    }

    /// By how much the chunk decreases `cbytes` when it is removed: 0 for a chunk that is only a
    /// header.
    fn removed_bytes(&self) -> i64 {
        if self.cbytes == EXTENDED_HEADER_LENGTH as i32 {
            0
        } else {
            i64::from(self.cbytes)
        }
    }
}

impl Counts {
    /// The counters of a super-chunk without chunks.
    pub const EMPTY: Self = Self {
        nchunks: 0,
        nbytes: 0,
        cbytes: 0,
        chunksize: -1,
        flags2: 0,
    };

    /// `cbytes`, or 0 if a damaged frame has a negative number.
    pub fn compressed_bytes(&self) -> u64 {
        self.cbytes.max(0) as u64
    }

    /// Bytes of the last chunk's data, if chunks have one size. For a damaged frame the number is
    /// arbitrary.
    fn last_nbytes(&self) -> i64 {
        let before = (self.nchunks as i64 - 1).saturating_mul(i64::from(self.chunksize));
        self.nbytes.saturating_sub(before)
    }

    fn mixes(&self, chunk: &ChunkInfo) -> bool {
        self.nchunks > 0 && (self.flags2 & VL_BLOCKS != 0) != chunk.has_vlblocks()
    }

    /// Whether a frame could not count this chunk: it computes the number of chunks from their
    /// sizes, so none may be empty.
    fn uncountable(chunk: &ChunkInfo, storage: StorageKind) -> bool {
        storage != StorageKind::Separate && chunk.nbytes == 0
    }

    /// With so many more bytes; none if they cannot be counted.
    fn plus(self, nbytes: i64, cbytes: i64) -> Option<Self> {
        Some(Self {
            nbytes: self.nbytes.checked_add(nbytes)?,
            cbytes: self.cbytes.checked_add(cbytes)?,
            ..self
        })
    }

    /// The counters after a chunk was added before chunk `nchunk`, or after the last one. `error`
    /// is given if that is not allowed.
    fn added(
        &self,
        nchunk: usize,
        chunk: &ChunkInfo,
        storage: StorageKind,
        error: Error,
    ) -> Result<Self> {
        if self.mixes(chunk) {
            return Err(error);
        }
        let mut counts = *self;
        if self.nchunks == 0 {
            counts.flags2 = chunk.flags2;
        }
        if counts.chunksize == -1 {
            counts.chunksize = chunk.nbytes;
        }
        if counts.chunksize > 0 {
            let differs = self.nchunks > 0
                && (self.last_nbytes() < i64::from(counts.chunksize)
                    || chunk.nbytes > counts.chunksize
                    || (nchunk != self.nchunks && chunk.nbytes != counts.chunksize));
            if differs || Self::uncountable(chunk, storage) {
                counts.chunksize = 0;
            } else if chunk.nbytes > counts.chunksize {
                return Err(error);
            }
        }
        counts.nchunks += 1;
        let (nbytes, cbytes) = (i64::from(chunk.nbytes), chunk.added_bytes(storage));
        counts.plus(nbytes, cbytes).ok_or(error)
    }

    /// The counters after a chunk was added after the last one.
    ///
    /// # Errors
    /// [`Error::CHUNK_APPEND`] if it may not be added.
    pub fn appended(&self, chunk: &ChunkInfo, storage: StorageKind) -> Result<Self> {
        self.added(self.nchunks, chunk, storage, Error::CHUNK_APPEND)
    }

    /// The counters after `count` special chunks, which need no bytes, were added after the last
    /// one.
    ///
    /// # Errors
    /// As for [`Self::appended`], and for more bytes than can be counted.
    pub fn appended_specials(
        &self,
        chunk: &ChunkInfo,
        count: usize,
        storage: StorageKind,
    ) -> Result<Self> {
        // After the first two, each further one changes nothing but the sums.
        let first = count.min(2);
        let mut counts = *self;
        for _ in 0..first {
            counts = counts.appended(chunk, storage)?;
        }
        let more = i64::try_from(count - first).map_err(|_| Error::CHUNK_APPEND)?;
        counts.nchunks += more as usize;
        let nbytes = more.checked_mul(chunk.nbytes.into());
        let counts = nbytes.and_then(|nbytes| counts.plus(nbytes, 0));
        counts.ok_or(Error::CHUNK_APPEND)
    }

    /// The counters after a chunk was added before chunk `nchunk`.
    ///
    /// # Errors
    /// [`Error::CHUNK_INSERT`] if it may not be added there.
    pub fn inserted(&self, nchunk: usize, chunk: &ChunkInfo, storage: StorageKind) -> Result<Self> {
        self.added(nchunk, chunk, storage, Error::CHUNK_INSERT)
    }

    /// The counters after `chunk` replaced `old`, which was chunk `nchunk`.
    ///
    /// # Errors
    /// [`Error::CHUNK_UPDATE`] if it may not be there.
    pub fn updated(
        &self,
        nchunk: usize,
        old: &ChunkInfo,
        chunk: &ChunkInfo,
        storage: StorageKind,
    ) -> Result<Self> {
        let mut counts = *self;
        if self.nchunks == 1 {
            counts.flags2 = chunk.flags2;
        } else if self.mixes(chunk) {
            return Err(Error::CHUNK_UPDATE);
        }
        if counts.chunksize == -1 {
            counts.chunksize = chunk.nbytes;
        }
        if chunk.nbytes > counts.chunksize
            || (nchunk + 1 != self.nchunks && chunk.nbytes != counts.chunksize)
            || Self::uncountable(chunk, storage)
        {
            counts.chunksize = 0;
        }
        let (nbytes, cbytes) = (
            i64::from(chunk.nbytes) - i64::from(old.nbytes),
            chunk.added_bytes(storage) - old.removed_bytes(),
        );
        counts.plus(nbytes, cbytes).ok_or(Error::CHUNK_UPDATE)
    }

    /// The counters after a chunk was removed.
    pub fn deleted(&self, old: &ChunkInfo, storage: StorageKind) -> Self {
        let mut counts = *self;
        counts.nchunks -= 1;
        if counts.nchunks == 0 {
            counts.flags2 = 0;
        }
        counts.nbytes = counts.nbytes.saturating_sub(i64::from(old.nbytes));
        if storage != StorageKind::Contiguous {
            counts.cbytes = counts.cbytes.saturating_sub(old.removed_bytes());
        }
        counts
    }

    /// The counters after chunks were put into another order. `last_moved` says that another chunk
    /// is the last one now.
    pub fn reordered(&self, last_moved: bool) -> Self {
        let mut counts = *self;
        if last_moved && self.chunksize > 0 && self.last_nbytes() < i64::from(self.chunksize) {
            counts.chunksize = 0;
        }
        counts
    }

    /// Bytes of chunk `nchunk`'s data. None if chunks differ in size or there are none.
    pub fn nbytes_of(&self, nchunk: usize) -> Option<i32> {
        if self.chunksize <= 0 {
            return None;
        }
        let start = i64::try_from(nchunk).ok()?;
        let start = start.checked_mul(i64::from(self.chunksize))?;
        let left = self.nbytes.checked_sub(start)?;
        Some(left.clamp(0, i64::from(self.chunksize)) as i32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW: Counts = Counts {
        nchunks: 0,
        nbytes: 0,
        cbytes: 0,
        chunksize: -1,
        flags2: 0,
    };

    fn chunk(nbytes: i32) -> ChunkInfo {
        ChunkInfo {
            nbytes,
            cbytes: 100,
            flags2: 0,
            checksums: false,
            special: None,
        }
    }

    fn with(sizes: &[i32]) -> Counts {
        sizes.iter().fold(NEW, |counts, size| {
            counts
                .appended(&chunk(*size), StorageKind::Contiguous)
                .unwrap()
        })
    }

    #[test]
    fn chunks_are_of_one_size_until_one_is_not() {
        assert_eq!(with(&[]).chunksize, -1);
        assert_eq!(with(&[10]).chunksize, 10);
        assert_eq!(with(&[10, 10, 4]).chunksize, 10);
        assert_eq!(with(&[10, 10, 4, 4]).chunksize, 0);
        assert_eq!(with(&[10, 11]).chunksize, 0);
        assert_eq!(with(&[10, 0]).chunksize, 0);
        assert_eq!(with(&[0]).chunksize, 0);
        let full = with(&[10, 10, 4]);
        let insert = |at, size| {
            full.inserted(at, &chunk(size), StorageKind::Contiguous)
                .unwrap()
        };
        assert_eq!((insert(0, 10).chunksize, insert(3, 4).chunksize), (0, 0));
        let update = |at, size| {
            let old = chunk(full.nbytes_of(at).unwrap());
            full.updated(at, &old, &chunk(size), StorageKind::Contiguous)
                .unwrap()
        };
        assert_eq!((update(2, 10).chunksize, update(2, 10).nbytes), (10, 30));
        assert_eq!((update(0, 9).chunksize, update(2, 11).chunksize), (0, 0));
        assert_eq!(full.reordered(false).chunksize, 10);
        assert_eq!(full.reordered(true).chunksize, 0);
        assert_eq!(with(&[10, 10]).reordered(true).chunksize, 10);
    }

    #[test]
    fn kinds_of_chunks_are_not_mixed() {
        let vl = ChunkInfo {
            flags2: VL_BLOCKS,
            ..chunk(10)
        };
        let one = with(&[10]);
        let storage = StorageKind::Separate;
        assert_eq!(one.appended(&vl, storage), Err(Error::CHUNK_APPEND));
        assert_eq!(one.inserted(0, &vl, storage), Err(Error::CHUNK_INSERT));
        assert_eq!(
            one.updated(0, &chunk(10), &vl, storage).unwrap().flags2,
            VL_BLOCKS
        );
        let two = with(&[10, 10]);
        assert_eq!(
            two.updated(0, &chunk(10), &vl, storage),
            Err(Error::CHUNK_UPDATE)
        );
        assert_eq!(one.deleted(&chunk(10), storage).flags2, 0);
    }

    #[test]
    fn counters_of_a_frame_that_lies_do_not_overflow() {
        let storage = StorageKind::Sparse;
        let lies = |nbytes, cbytes| Counts {
            nchunks: 3,
            nbytes,
            cbytes,
            chunksize: 10,
            flags2: 0,
        };
        let (old, new) = (chunk(5), chunk(10));
        for counts in [lies(i64::MAX - 4, 0), lies(0, i64::MAX - 99)] {
            assert_eq!(counts.appended(&new, storage), Err(Error::CHUNK_APPEND));
            assert_eq!(counts.inserted(1, &new, storage), Err(Error::CHUNK_INSERT));
        }
        let update = lies(i64::MAX - 4, 0).updated(0, &old, &new, storage);
        assert_eq!(update, Err(Error::CHUNK_UPDATE));
        let empty = ChunkInfo {
            cbytes: EXTENDED_HEADER_LENGTH as i32,
            ..old
        };
        let update = lies(0, i64::MAX - 99).updated(0, &empty, &new, storage);
        assert_eq!(update, Err(Error::CHUNK_UPDATE));
        let deleted = lies(i64::MIN, i64::MIN).deleted(&old, storage);
        assert_eq!((deleted.nbytes, deleted.cbytes), (i64::MIN, i64::MIN));
    }

    #[test]
    fn a_chunk_larger_than_those_that_were_there_is_refused() {
        let none = with(&[10]).deleted(&chunk(10), StorageKind::Sparse);
        assert_eq!((none.nchunks, none.nbytes, none.cbytes), (0, 0, 0));
        let larger = none.appended(&chunk(11), StorageKind::Sparse);
        assert_eq!(larger, Err(Error::CHUNK_APPEND));
    }
}
