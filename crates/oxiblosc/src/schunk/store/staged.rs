//! The chunks of a super-chunk in a transaction: the store as it was when the transaction began,
//! which is not changed, and the changes since then, in memory.

use super::{ChunkStore, Location};
use crate::schunk::layers::Metalayers;
use crate::schunk::rules::Counts;
use oxiblosc_base::memory::{Buffer, TryVec};
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::encoded::EncodedChunk;
use oxiblosc_chunk::header::Special;
use oxiblosc_frame::change::{ArrangedChunk, Change, ChangedChunk};
use oxiblosc_frame::disk::{EncodedMetadata, Metadata};
use oxiblosc_frame::offsets::{ChunkPosition, Offsets, special_offset};
use oxiblosc_frame::runs::Runs;

/// The number of the first new chunk in [`Staged::order`]: higher than the index of any old chunk,
/// as a super-chunk has fewer chunks.
const NEW: u64 = 1 << 32;

/// The state when the transaction began.
pub struct Before {
    /// The counters.
    pub counts: Counts,
    /// Bytes of a block of new chunks; 0 if the tuner chooses.
    pub blocksize: i32,
    /// Whether new chunks got checksums.
    pub checksums: bool,
    /// The metalayers, if those of the state have changed.
    pub(crate) metalayers: Option<Metalayers>,
}

/// Chunks with uncommitted changes.
pub struct Staged {
    /// The store when the transaction began.
    base: ChunkStore,
    /// The rest of the state when the transaction began.
    pub before: Before,
    /// Tells the transaction from others of the super-chunk.
    pub number: u64,
    /// Where each chunk is, encoded like the offsets of an index: a number below [`NEW`] is the
    /// index of a chunk in `base`, one from [`NEW`] on is that of a chunk in `new`, and a negative
    /// one stands for special values.
    order: Offsets,
    /// The new chunks. Those that were removed or replaced again are empty.
    new: TryVec<Buffer>,
    /// Whether anything was changed.
    changed: bool,
    /// Whether variable-length metalayers were changed.
    trailer_changed: bool,
}

/// Where a chunk of a transaction is.
#[derive(Clone, Copy)]
enum Origin {
    /// The chunk of the base with this index.
    Old(usize),
    /// The new chunk with this index.
    New(usize),
    Special(Special),
}

impl Origin {
    fn of(number: i64) -> Result<Self> {
        Ok(match ChunkPosition::from_offset(number)? {
            ChunkPosition::At(at) if at >= NEW => Self::New((at - NEW) as usize),
            ChunkPosition::At(at) => Self::Old(at as usize),
            ChunkPosition::Special(kind) => Self::Special(kind),
        })
    }
}

/// The number in [`Staged::order`] of a new chunk.
fn number_of(new: usize) -> i64 {
    (NEW + new as u64) as i64
}

impl Staged {
    /// A transaction without changes. The caller has to put the store, which has `count` chunks,
    /// into [`Self::base_mut`].
    ///
    /// # Errors
    /// [`Error::MEMORY_ALLOC`](oxiblosc_base::Error::MEMORY_ALLOC).
    pub fn new(count: usize, number: u64, before: Before) -> Result<Self> {
        Ok(Self {
            base: ChunkStore::EMPTY,
            before,
            number,
            order: Offsets::Runs(Runs::rising(count)?),
            new: TryVec::new(),
            changed: false,
            trailer_changed: false,
        })
    }

    /// The store when the transaction began.
    pub fn base(&self) -> &ChunkStore {
        &self.base
    }

    /// As [`Self::base`].
    pub fn base_mut(&mut self) -> &mut ChunkStore {
        &mut self.base
    }

    /// Takes the store out of this, and leaves an empty one.
    pub fn take_base(&mut self) -> ChunkStore {
        std::mem::replace(&mut self.base, ChunkStore::EMPTY)
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        self.order.len()
    }

    #[inline(never)]
    fn origin(&self, nchunk: usize) -> Result<Origin> {
        Origin::of(self.order.get(nchunk).ok_or(Error::INVALID_PARAM)?)
    }

    /// Finds a chunk.
    ///
    /// # Errors
    /// As for [`ChunkStore::find`].
    pub fn find(&self, nchunk: usize) -> Result<Location<'_>> {
        match self.origin(nchunk)? {
            Origin::Old(old) => {
                let mut found = self.base.find_in(old, false)?;
                if let Location::File(stored) = &mut found {
                    // Without a tail nothing patches the chunk in place, where it must not be
                    // changed before the commit.
                    stored.tail = None;
                }
                Ok(found)
            }
            Origin::New(new) => Ok(Location::Memory(&self.new[new], Checked::NEVER)),
            Origin::Special(kind) => Ok(Location::Special(kind)),
        }
    }

    /// A chunk with a buffer of its own.
    pub fn separate_chunk(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        match (self.origin(nchunk).ok()?, &mut self.base) {
            (Origin::Old(old), ChunkStore::Separate(chunks)) => chunks.get_mut(old),
            (Origin::New(new), _) => self.new.get_mut(new),
            _ => None,
        }
    }

    /// Records a change; see [`ChunkStore::commit`]. Of the metadata of a frame, only the sizes are
    /// noted: [`Self::commit`] gets its own.
    ///
    /// # Errors
    /// Those of an invalid change; [`Error::INVALID_PARAM`] if the header of a frame gets another
    /// length although chunks are stored behind it; [`Error::MEMORY_ALLOC`].
    pub fn stage(
        &mut self,
        change: &Change,
        specials: &[(usize, TryVec<u8>)],
        owned: Option<&mut TryVec<Buffer>>,
        metadata: &dyn Fn() -> Result<EncodedMetadata>,
    ) -> Result<()> {
        let mut has_trailer = false;
        if self.base.is_frame() {
            // If this header or trailer cannot be written, it fails now and not at the commit.
            let next = metadata()?;
            has_trailer = next.trailer.is_some();
            // Only a change of metalayers changes the length of the header, and removed chunks
            // never come back. So this needs no check after others.
            if matches!(change, Change::Nothing)
                && self.base.header_len() != next.header.len() as u64
                && self.keeps_stored()?
            {
                return Err(Error::INVALID_PARAM);
            }
        }
        let before = self.new.len();
        let staged = self.try_stage(change, specials, owned);
        match staged {
            Ok(()) => self.trailer_changed |= has_trailer,
            Err(_) => self.new.truncate(before),
        }
        staged
    }

    /// Appends a copy of a chunk to `new`. Gives its number in `order`.
    #[inline(never)]
    fn push_copy(&mut self, chunk: &[u8]) -> Result<i64> {
        self.new.push(Buffer::copy_of(chunk)?)?;
        Ok(number_of(self.new.len() - 1))
    }

    /// As [`Self::stage`], but a failure may leave copies of chunks at the end of `new`.
    fn try_stage(
        &mut self,
        change: &Change,
        specials: &[(usize, TryVec<u8>)],
        owned: Option<&mut TryVec<Buffer>>,
    ) -> Result<()> {
        if !matches!(change, Change::Nothing) {
            self.base.check_listable()?;
        }
        if !change.fits(self.nchunks()) {
            return Err(Error::INVALID_PARAM);
        }
        let mut placed = TryVec::new();
        for (nchunk, chunk) in specials {
            placed.push((*nchunk, self.push_copy(chunk)?))?;
        }
        let mut numbers = TryVec::new();
        let mut next = self.new.len();
        for item in change.items() {
            numbers.push(match item {
                ChangedChunk::Special(kind) => special_offset(kind),
                ChangedChunk::Stored(chunk) if owned.is_none() => self.push_copy(chunk.bytes)?,
                ChangedChunk::Stored(_) => {
                    next += 1;
                    number_of(next - 1)
                }
                ChangedChunk::Edited(_) => return Err(Error::INVALID_PARAM),
            })?;
        }
        self.new.reserve(next.saturating_sub(self.new.len()))?;
        let delta = change.delta_with(&self.order, placed.iter().copied(), &numbers)?;
        delta.reserve(&mut self.order)?;
        // Nothing fails from here on.
        for nchunk in change.leaves() {
            if let Ok(Origin::New(new)) = self.origin(nchunk) {
                self.new[new] = Buffer::new();
            }
        }
        if let Some(owned) = owned {
            self.new.append(owned)?;
        }
        self.changed = true;
        delta.apply(&mut self.order)
    }

    /// Whether the frame has bytes of any chunk that was not removed.
    fn keeps_stored(&self) -> Result<bool> {
        for nchunk in 0..self.nchunks() {
            if let Origin::Old(old) = self.origin(nchunk)?
                && !matches!(self.base.find_in(old, false)?, Location::Special(_))
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Applies all changes to the store, as one. If this fails, nothing has changed, and it can be
    /// tried again.
    ///
    /// # Errors
    /// Those of output; [`Error::MEMORY_ALLOC`].
    pub fn commit(&mut self, metadata: &Metadata, checksums: bool) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        if !self.base.is_frame() {
            return self.commit_separate();
        }
        let metadata = Metadata {
            vlmetalayers: metadata.vlmetalayers.filter(|_| self.trailer_changed),
            ..*metadata
        };
        self.base.set_checksums(checksums)?;
        let done = self.commit_frame(&|| metadata.encode());
        if done.is_err() {
            self.base.set_checksums(self.before.checksums)?;
        } else if let ChunkStore::Memory(memory) = &mut self.base {
            memory.loosen();
        }
        done
    }

    /// Applies the changes to chunks that each have their own buffer.
    fn commit_separate(&mut self) -> Result<()> {
        let count = self.nchunks();
        let mut all = TryVec::with_capacity(count)?;
        for nchunk in 0..count {
            // Taking a chunk leaves an empty one, but no chunk is in `order` twice.
            if let Some(chunk) = self.separate_chunk(nchunk) {
                all.push_within_capacity(std::mem::take(chunk));
            }
        }
        self.base = ChunkStore::Separate(all.into());
        Ok(())
    }

    /// Makes the staged chunks those of the frame, by one change.
    fn commit_frame(&mut self, metadata: &dyn Fn() -> Result<EncodedMetadata>) -> Result<()> {
        let count = self.base.nchunks();
        let mut stays = TryVec::filled(false, count)?;
        let (mut slots, mut items, mut left) = (TryVec::new(), TryVec::new(), TryVec::new());
        // Whether every old chunk that is left has its index, and how many are left.
        let (mut same, mut old_ones) = (self.nchunks() == count, 0);
        let filled = match self.order {
            Offsets::Repeated {
                offset,
                count: filled,
            } if count == 0 => Some((Origin::of(offset)?, filled)),
            _ => None,
        };
        let change = if let Some((Origin::Special(kind), filled)) = filled {
            slots.push(ArrangedChunk::Specials(kind, filled))?;
            Change::appended(0, &slots)
        } else {
            for at in 0..self.nchunks() {
                let item = match self.origin(at)? {
                    Origin::Old(old) => {
                        *stays.get_mut(old).ok_or(Error::FAILURE)? = true;
                        same &= old == at;
                        old_ones += 1;
                        slots.push(ArrangedChunk::Old(old))?;
                        continue;
                    }
                    Origin::New(new) => ChangedChunk::Stored(EncodedChunk::parse(&self.new[new])?),
                    Origin::Special(kind) => ChangedChunk::Special(kind),
                };
                slots.push(ArrangedChunk::New(item))?;
                items.push((at, item))?;
            }
            for (old, stays) in stays.iter().enumerate() {
                if !stays {
                    left.push(old)?;
                }
            }
            // A frame in memory moves all bytes behind a chunk for every update that changes the
            // chunk's size.
            let updates = old_ones > 0 && self.base.disk().is_some();
            match same {
                true if old_ones == count => Change::Nothing,
                true if updates => Change::Update(&items),
                _ => Change::Arrange {
                    kept: 0,
                    slots: &slots,
                    left: &left,
                },
            }
        };
        self.base.commit(&change, &[], None, metadata)
    }
}
