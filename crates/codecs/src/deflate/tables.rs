//! The tables of the match finder: how they are cleared, or not, for a stream.

use super::finder::MatchFinder;
use super::match3::Buckets;
use super::skips::Skips;
use super::window::{MAX_HASH_BITS, MAX_POSITION, WINDOW_SIZE};
use crate::hash_table::zeros;
use oxiblosc_base::Result;

/// The number of bits of the hash for the shortest streams.
const MIN_HASH_BITS: u32 = 9;
/// The number of bits of the hash at [`QUICK_LEVEL`](super::levels::QUICK_LEVEL), as in zlib-ng.
/// With fewer bits, more positions would overwrite each other, and repeats from far back would be
/// missed.
const QUICK_HASH_BITS: u32 = 16;
/// The tables of the match finder, reused from stream to stream. All positions are relative to
/// `base`. 0 means empty, so position 0 never matches. At
/// [`QUICK_LEVEL`](super::levels::QUICK_LEVEL) `base` lies before the stream, so that no position
/// is 0.
pub(super) struct HashTables {
    /// For each hash, the last position that has it.
    head: Box<[u16; 1 << MAX_HASH_BITS]>,
    /// For each position modulo `WINDOW_SIZE`, the previous position with the same hash.
    prev: Box<[u16; WINDOW_SIZE]>,
    skips: Skips,
    buckets: Buckets,
    hash_bits: u32,
    /// A position of the stream. It wraps around if it lies before the stream.
    base: usize,
    /// If the tables were last used at [`QUICK_LEVEL`](super::levels::QUICK_LEVEL), all entries of
    /// `head` are less than this.
    unused_from: Option<usize>,
}

impl HashTables {
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub(super) fn new() -> Result<Self> {
        Ok(HashTables {
            head: zeros()?,
            prev: zeros()?,
            skips: Skips::default(),
            buckets: Buckets::new()?,
            hash_bits: MIN_HASH_BITS,
            base: 0,
            unused_from: None,
        })
    }

    /// Clears the tables for a stream of `len` bytes. A short stream uses fewer slots, so that
    /// there is less to clear and more of them stay in the cache.
    pub(super) fn start(&mut self, len: usize, quick: bool, buckets_shift: Option<u32>) {
        self.buckets.start(len, buckets_shift);
        if quick {
            return self.start_quickly(len);
        }
        let bits = usize::BITS - len.leading_zeros() + 1;
        self.hash_bits = bits.clamp(MIN_HASH_BITS, MAX_HASH_BITS);
        self.head[..1 << self.hash_bits].fill(0);
        (self.base, self.unused_from) = (0, None);
    }

    /// Like [`start`](Self::start) at [`QUICK_LEVEL`](super::levels::QUICK_LEVEL), where clearing
    /// the table would take longer than searching a short stream. Its positions follow those of the
    /// stream before. Those lie before its beginning, so they never match.
    fn start_quickly(&mut self, len: usize) {
        self.hash_bits = QUICK_HASH_BITS;
        let ends_at = |begin: usize| begin.checked_add(len).filter(|end| *end <= MAX_POSITION);
        let begin = match self.unused_from.filter(|begin| ends_at(*begin).is_some()) {
            Some(begin) => begin,
            None => {
                self.head[..1 << QUICK_HASH_BITS].fill(0);
                1
            }
        };
        (self.base, self.unused_from) = (0usize.wrapping_sub(begin), ends_at(begin));
    }

    /// A match finder for `src`. When it is done, its `base` must be given to
    /// [`close`](Self::close).
    #[inline(always)]
    pub(super) fn open<'a>(&'a mut self, src: &'a [u8]) -> MatchFinder<'a> {
        MatchFinder {
            src,
            head: &mut self.head,
            prev: &mut self.prev,
            skips: &mut self.skips,
            table3: self.buckets.open(),
            shift: 32 - self.hash_bits,
            base: self.base,
            tried: 0,
        }
    }

    pub(super) fn close(&mut self, base: usize) {
        self.base = base;
    }
}
