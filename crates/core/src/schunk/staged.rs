//! The chunks of a super-chunk in a transaction: those that it was begun with, where they are, and over them what was changed since.

use super::rules::Counts;
use super::store::{Location, Store};
use oxiblosc_error::{Error, Result};
use oxiblosc_frame::change::{Change, Item, Slot};
use oxiblosc_frame::header::Header;
use oxiblosc_frame::meta::{Borrowed, Metalayer};
use oxiblosc_frame::offsets::{Offsets, Place};
use oxiblosc_frame::runs::Runs;
use oxiblosc_memory::{Buffer, Collect, List};

/// What the numbers in [`Staged::order`] of new chunks begin with. There are fewer chunks than that.
const NEW: u64 = 1 << 32;

/// What of the state is as it was when the transaction began.
pub struct Before {
    /// The counters.
    pub counts: Counts,
    /// Bytes of a block of the chunks to come.
    pub blocksize: i32,
    /// Whether chunks got checksums.
    pub checksums: bool,
    /// The metalayers, of fixed and of variable length, if those of the state are others.
    pub metalayers: Option<(List<Metalayer>, List<Metalayer>)>,
}

/// Chunks with changes that are not committed.
pub struct Staged {
    /// The chunks as they were.
    base: Store,
    /// What the state was.
    pub before: Before,
    /// What each chunk is, in numbers that follow the rules of an index: one of the old chunks, a chunk of special values, or,
    /// from [`NEW`] on, one of those in `new`.
    order: Offsets,
    /// Chunks that came in; nothing of those that have left again.
    new: List<Buffer>,
    /// Whether anything was changed.
    changed: bool,
    /// Whether metalayers of variable length were.
    trailer_changed: bool,
}

/// What a chunk is.
enum Source {
    Old(usize),
    New(usize),
    Special(Place),
}

impl Source {
    fn of(number: i64) -> Result<Self> {
        Ok(match Place::from_offset(number)? {
            Place::At(at) if at >= NEW => Self::New((at - NEW) as usize),
            Place::At(at) => Self::Old(at as usize),
            special => Self::Special(special),
        })
    }
}

/// The number of a new chunk.
fn number_of(new: usize) -> i64 {
    (NEW + new as u64) as i64
}

impl Staged {
    /// No change yet of chunks that [`Self::over`] says; there are `count`.
    pub fn new(count: usize, before: Before) -> Result<Self> {
        Ok(Self {
            base: Store::EMPTY,
            before,
            order: Offsets::Runs(Runs::rising(count)?),
            new: List::new(),
            changed: false,
            trailer_changed: false,
        })
    }

    /// Says which chunks there are.
    pub fn over(self, base: Store) -> Self {
        Self { base, ..self }
    }

    /// The chunks as they were.
    pub fn base(&self) -> &Store {
        &self.base
    }

    /// As [`Self::base`].
    pub fn base_mut(&mut self) -> &mut Store {
        &mut self.base
    }

    /// Forgets the changes: gives the chunks as they were, and what the state was.
    pub fn into_base(self) -> (Store, Before) {
        (self.base, self.before)
    }

    /// How many chunks there are.
    pub fn nchunks(&self) -> usize {
        self.order.len()
    }

    fn source(&self, nchunk: usize) -> Result<Source> {
        Source::of(self.order.get(nchunk).ok_or(Error::InvalidParam)?)
    }

    /// Finds a chunk.
    ///
    /// # Errors
    /// As for [`Store::find`].
    pub fn find(&self, nchunk: usize) -> Result<Location<'_>> {
        match self.source(nchunk)? {
            Source::Old(old) => {
                let mut found = self.base.find_in(old, false)?;
                if let Location::File(stored) = &mut found {
                    // It cannot be changed in place.
                    stored.tail = None;
                }
                Ok(found)
            }
            Source::New(new) => Ok(Location::Memory(&self.new[new])),
            Source::Special(Place::Special(kind)) => Ok(Location::Special(kind)),
            Source::Special(Place::At(_)) => Err(Error::Failure),
        }
    }

    /// A chunk that is on its own.
    pub fn separate_chunk(&mut self, nchunk: usize) -> Option<&mut Buffer> {
        match (self.source(nchunk).ok()?, &mut self.base) {
            (Source::Old(old), Store::Separate(chunks)) => chunks.get_mut(old),
            (Source::New(new), _) => self.new.get_mut(new),
            _ => None,
        }
    }

    /// Makes a change; see [`Store::commit`]. The chunks that come in are those of `owned`, if it is there, and left in it where the
    /// change fails.
    ///
    /// # Errors
    /// Those of a change that cannot be; [`Error::MemoryAlloc`].
    pub fn stage(
        &mut self,
        change: &Change,
        specials: &[(usize, List<u8>)],
        owned: Option<&mut List<Buffer>>,
    ) -> Result<()> {
        if !matches!(change, Change::Nothing | Change::Fill(..)) {
            self.base.check_listable()?;
        }
        change.check(&self.order)?;
        let mut coming = List::new();
        let mut next = self.new.len();
        let mut number = || {
            next += 1;
            number_of(next - 1)
        };
        let mut placed = List::with_capacity(specials.len())?;
        for (nchunk, chunk) in specials {
            coming.push(Buffer::copy_of(chunk)?)?;
            placed.push((*nchunk, number()))?;
        }
        let mut numbers = List::new();
        for item in change.items() {
            numbers.push(match item {
                Item::Special(place) => place.to_offset(),
                Item::Stored(_) if owned.is_some() => number(),
                Item::Stored(chunk) => {
                    coming.push(Buffer::copy_of(chunk)?)?;
                    number()
                }
                Item::Edited(_) => return Err(Error::InvalidParam),
            })?;
        }
        let mut gone = List::new();
        for nchunk in change.leaves() {
            if let Source::New(new) = self.source(nchunk)? {
                gone.push(new)?;
            }
        }
        let delta = change.delta_with(&self.order, placed.iter().copied(), &numbers)?;
        self.new.reserve(next - self.new.len())?;
        delta.reserve(&mut self.order)?;
        delta.apply(&mut self.order)?;
        // Nothing fails from here on.
        let owned = owned.into_iter().flat_map(|owned| owned.drain(..));
        for chunk in coming.into_iter().chain(owned) {
            self.new.push_within_capacity(chunk);
        }
        for new in gone {
            self.new[new] = Buffer::new();
        }
        self.changed = true;
        Ok(())
    }

    /// As [`Self::stage`], for a frame that gets a header of so many bytes, and other metalayers of variable length if `has_trailer` is set:
    /// what they are, [`Self::commit`] is told.
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
        // Later changes bring back none of the chunks that have left.
        let is_first = matches!(change, Change::Nothing);
        if is_first && self.base.header_len() != header_len as u64 && self.keeps_stored()? {
            return Err(Error::InvalidParam);
        }
        self.stage(change, specials, None)?;
        self.trailer_changed |= has_trailer;
        Ok(())
    }

    /// Whether there is still one of the chunks that are stored in the frame.
    fn keeps_stored(&self) -> Result<bool> {
        for number in self.order.iter() {
            if let Source::Old(old) = Source::of(number)?
                && self.base.is_stored(old)
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
    pub fn commit(
        &mut self,
        header: &Header,
        metalayers: &[Borrowed],
        vlmetalayers: &[Borrowed],
        cbytes: u64,
        checksums: bool,
    ) -> Result<()> {
        if !self.changed {
            return Ok(());
        }
        if let Store::Separate(chunks) = &mut self.base {
            return commit_separate(chunks, &self.order, &mut self.new);
        }
        let variable = self.trailer_changed.then_some(vlmetalayers);
        self.base.set_checksums(checksums)?;
        let done = self.with_change(|base, change| {
            base.commit(change, &[], header, metalayers, variable, cbytes)
        });
        if done.is_err() {
            self.base.set_checksums(self.before.checksums)?;
        } else if let Store::Memory(memory) = &mut self.base {
            memory.loosen();
        }
        done
    }

    /// Runs something on the chunks as they were, and the change that makes of them what they are to be.
    fn with_change(&mut self, body: impl FnOnce(&mut Store, &Change) -> Result<()>) -> Result<()> {
        let count = self.base.nchunks();
        if let (0, Offsets::Repeated { offset, count }) = (count, &self.order) {
            let change = Change::Fill(Place::from_offset(*offset)?, *count);
            return body(&mut self.base, &change);
        }
        let mut stays = List::filled(false, count)?;
        let mut slots = List::with_capacity(self.order.len())?;
        // Whether each old chunk is where it was, and how many there are.
        let (mut same, mut old_ones) = (self.order.len() == count, 0);
        for (at, number) in self.order.iter().enumerate() {
            slots.push(match Source::of(number)? {
                Source::Old(old) => {
                    *stays.get_mut(old).ok_or(Error::Failure)? = true;
                    same &= old == at;
                    old_ones += 1;
                    Slot::Old(old)
                }
                Source::New(new) => Slot::New(Item::Stored(&self.new[new])),
                Source::Special(place) => Slot::New(Item::Special(place)),
            })?;
        }
        if same && old_ones == count {
            return body(&mut self.base, &Change::Nothing);
        }
        // In memory, what is behind a chunk that changes its size would have to be moved for each.
        if same && old_ones > 0 && self.base.disk().is_some() {
            let items = slots
                .iter()
                .enumerate()
                .filter_map(|(at, slot)| match slot {
                    Slot::New(item) => Some((at, *item)),
                    Slot::Old(_) => None,
                });
            let items = items.list()?;
            return body(&mut self.base, &Change::Update(&items));
        }
        let left = (0..count).filter(|old| !stays[*old]).list()?;
        let change = Change::Arrange {
            slots: &slots,
            left: &left,
        };
        body(&mut self.base, &change)
    }
}

/// Makes the changes of chunks that are each on their own.
fn commit_separate(
    chunks: &mut List<Buffer>,
    order: &Offsets,
    new: &mut List<Buffer>,
) -> Result<()> {
    let mut all = List::with_capacity(order.len())?;
    // Nothing fails from here on. No chunk is named twice, and each is there.
    for number in order.iter() {
        let chunk = match Source::of(number) {
            Ok(Source::Old(old)) => chunks.get_mut(old),
            Ok(Source::New(new_one)) => new.get_mut(new_one),
            Ok(Source::Special(_)) | Err(_) => None,
        };
        if let Some(chunk) = chunk {
            all.push_within_capacity(std::mem::take(chunk));
        }
    }
    *chunks = all;
    Ok(())
}
