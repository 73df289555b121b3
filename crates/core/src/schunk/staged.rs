//! The chunks of a super-chunk in a transaction: those that it began with, which stay in place, and the changes since, in memory.

use super::rules::Counts;
use super::store::{ChunkStore, Location};
use oxiblosc_chunk::checked::Checked;
use oxiblosc_chunk::header::Special;
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{ArrangedChunk, Change, ChangedChunk};
use oxiblosc_frame::disk::Metadata;
use oxiblosc_frame::meta::Metalayer;
use oxiblosc_frame::offsets::{ChunkPlace, Offsets, special_offset};
use oxiblosc_frame::runs::Runs;
use oxiblosc_memory::{Buffer, List};

/// New chunks have numbers from here on in [`Staged::order`]. It is more than a super-chunk can have chunks.
const NEW: u64 = 1 << 32;

/// What the state was when the transaction began.
pub struct Before {
    /// The counters.
    pub counts: Counts,
    /// Bytes of a block of the chunks to come.
    pub blocksize: i32,
    /// Whether chunks got checksums.
    pub checksums: bool,
    /// Whether the metalayers below were saved, because those of the state have changed.
    pub has_metalayers: bool,
    /// Those of fixed length.
    pub metalayers: List<Metalayer>,
    /// Those of variable length.
    pub vlmetalayers: List<Metalayer>,
}

/// Chunks with changes that are not committed.
pub struct Staged {
    /// The chunks as they were.
    base: ChunkStore,
    /// What the state was.
    pub before: Before,
    /// What each chunk is, encoded like the offsets of an index: the number of an old chunk, special values, or, from [`NEW`] on, a chunk
    /// in `new`.
    order: Offsets,
    /// Chunks that came in; those that have left again are empty.
    new: List<Buffer>,
    /// Whether anything was changed.
    changed: bool,
    /// Whether metalayers of variable length were changed.
    trailer_changed: bool,
}

/// Where a chunk of a transaction comes from.
#[derive(Clone, Copy)]
enum Origin {
    Old(usize),
    New(usize),
    Special(Special),
}

impl Origin {
    fn of(number: i64) -> Result<Self> {
        Ok(match ChunkPlace::from_offset(number)? {
            ChunkPlace::At(at) if at >= NEW => Self::New((at - NEW) as usize),
            ChunkPlace::At(at) => Self::Old(at as usize),
            ChunkPlace::Special(kind) => Self::Special(kind),
        })
    }
}

/// The number of a new chunk.
fn number_of(new: usize) -> i64 {
    (NEW + new as u64) as i64
}

impl Staged {
    /// No changes yet. The caller then puts the `count` chunks into [`Self::base_mut`].
    pub fn new(count: usize, before: Before) -> Result<Self> {
        Ok(Self {
            base: ChunkStore::EMPTY,
            before,
            order: Offsets::Runs(Runs::rising(count)?),
            new: List::new(),
            changed: false,
            trailer_changed: false,
        })
    }

    /// The chunks as they were.
    pub fn base(&self) -> &ChunkStore {
        &self.base
    }

    /// As [`Self::base`].
    pub fn base_mut(&mut self) -> &mut ChunkStore {
        &mut self.base
    }

    /// Takes the chunks as they were out of this.
    pub fn take_base(&mut self) -> ChunkStore {
        std::mem::replace(&mut self.base, ChunkStore::EMPTY)
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        self.order.len()
    }

    #[inline(never)]
    fn origin(&self, nchunk: usize) -> Result<Origin> {
        Origin::of(self.order.get(nchunk).ok_or(Error::InvalidParam)?)
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
                    // It cannot be changed in place.
                    stored.tail = None;
                }
                Ok(found)
            }
            Origin::New(new) => Ok(Location::Memory(&self.new[new], Checked::NEVER)),
            Origin::Special(kind) => Ok(Location::Special(kind)),
        }
    }

    /// A chunk that is on its own.
    pub fn separate_chunk(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        match (self.origin(nchunk).ok()?, &mut self.base) {
            (Origin::Old(old), ChunkStore::Separate(chunks)) => chunks.get_mut(old),
            (Origin::New(new), _) => self.new.get_mut(new),
            _ => None,
        }
    }

    /// Makes a change; see [`ChunkStore::commit`]. If `owned` is given, the new chunks are taken from it, unless the change fails.
    ///
    /// # Errors
    /// Those of a change that cannot be; [`Error::MemoryAlloc`].
    pub fn stage(
        &mut self,
        change: &Change,
        specials: &[(usize, List<u8>)],
        owned: Option<&mut List<Buffer>>,
    ) -> Result<()> {
        let before = self.new.len();
        let staged = self.try_stage(change, specials, owned);
        if staged.is_err() {
            self.new.truncate(before);
        }
        staged
    }

    /// Puts a copy of a chunk behind the new ones; gives its number.
    #[inline(never)]
    fn push_copy(&mut self, chunk: &[u8]) -> Result<i64> {
        self.new.push(Buffer::copy_of(chunk)?)?;
        Ok(number_of(self.new.len() - 1))
    }

    /// As [`Self::stage`], but a failure may leave copies of chunks at the end of `new`.
    fn try_stage(
        &mut self,
        change: &Change,
        specials: &[(usize, List<u8>)],
        owned: Option<&mut List<Buffer>>,
    ) -> Result<()> {
        if !matches!(change, Change::Nothing | Change::Fill(..)) {
            self.base.check_listable()?;
        }
        change.check(&self.order)?;
        let mut placed = List::new();
        for (nchunk, chunk) in specials {
            placed.push((*nchunk, self.push_copy(chunk)?))?;
        }
        let mut numbers = List::new();
        let mut next = self.new.len();
        for item in change.items() {
            numbers.push(match item {
                ChangedChunk::Special(kind) => special_offset(kind),
                ChangedChunk::Stored(chunk) if owned.is_none() => self.push_copy(chunk)?,
                ChangedChunk::Stored(_) => {
                    next += 1;
                    number_of(next - 1)
                }
                ChangedChunk::Edited(_) => return Err(Error::InvalidParam),
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

    /// As [`Self::stage`], for a frame that gets a header of so many bytes and, if `has_trailer`, other metalayers of variable length. Their
    /// contents are only passed to [`Self::commit`].
    ///
    /// # Errors
    /// As for that; [`Error::InvalidParam`] for a header of another length than before where chunks lie behind that.
    pub fn stage_frame(
        &mut self,
        change: &Change,
        specials: &[(usize, List<u8>)],
        header_len: usize,
        has_trailer: bool,
    ) -> Result<()> {
        // Only a change of metalayers changes the length of the header, and after it no chunk comes back that has left.
        let may_be_longer = matches!(change, Change::Nothing);
        if may_be_longer && self.base.header_len() != header_len as u64 && self.keeps_stored()? {
            return Err(Error::InvalidParam);
        }
        self.stage(change, specials, None)?;
        self.trailer_changed |= has_trailer;
        Ok(())
    }

    /// Whether any chunk that is stored in the frame is still there.
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

    /// Makes all changes, as one. When this fails, nothing has changed, and it can be tried again.
    ///
    /// # Errors
    /// Those of output; [`Error::MemoryAlloc`].
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
        let done = self.with_change(|base, change| base.commit(change, &[], &metadata));
        if done.is_err() {
            self.base.set_checksums(self.before.checksums)?;
        } else if let ChunkStore::Memory(memory) = &mut self.base {
            memory.loosen();
        }
        done
    }

    /// Makes the changes of chunks that are each on their own.
    fn commit_separate(&mut self) -> Result<()> {
        let count = self.nchunks();
        let mut all = List::with_capacity(count)?;
        for nchunk in 0..count {
            // Every old chunk is there, and is named at most once.
            if let Some(chunk) = self.separate_chunk(nchunk) {
                all.push_within_capacity(std::mem::take(chunk));
            }
        }
        self.base = ChunkStore::Separate(all);
        Ok(())
    }

    /// Runs `body` with the chunks as they were, and the one change that leads from them to the staged chunks.
    fn with_change(
        &mut self,
        body: impl FnOnce(&mut ChunkStore, &Change) -> Result<()>,
    ) -> Result<()> {
        let count = self.base.nchunks();
        let mut stays = List::filled(false, count)?;
        let (mut slots, mut items, mut left) = (List::new(), List::new(), List::new());
        // Whether each old chunk is where it was, and how many there are.
        let (mut same, mut old_ones) = (self.nchunks() == count, 0);
        let filled = match self.order {
            Offsets::Repeated {
                offset,
                count: filled,
            } if count == 0 => Some((Origin::of(offset)?, filled)),
            _ => None,
        };
        let change = if let Some((Origin::Special(kind), filled)) = filled {
            Change::Fill(kind, filled)
        } else {
            for at in 0..self.nchunks() {
                let item = match self.origin(at)? {
                    Origin::Old(old) => {
                        *stays.get_mut(old).ok_or(Error::Failure)? = true;
                        same &= old == at;
                        old_ones += 1;
                        slots.push(ArrangedChunk::Old(old))?;
                        continue;
                    }
                    Origin::New(new) => ChangedChunk::Stored(&self.new[new]),
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
            // In memory, every single update of another size would move all bytes behind it.
            let updates = old_ones > 0 && self.base.disk().is_some();
            match same {
                true if old_ones == count => Change::Nothing,
                true if updates => Change::Update(&items),
                _ => Change::Arrange {
                    slots: &slots,
                    left: &left,
                },
            }
        };
        body(&mut self.base, &change)
    }
}
