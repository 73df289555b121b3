//! Changes that are committed together.
//!
//! Between begin and commit the chunks are `Staged`: changes are kept in memory, and the frame
//! stays as it is. The commit applies them as one change, which is atomic like every other change:
//! after a crash the frame has all of it or nothing.

use super::state::State;
use super::store::ChunkStore;
use super::store::staged::{Before, Staged};
use super::superchunk::{Locked, SuperChunk};
use crate::schunk::host::{Changed, Host, WindowCounts};
use crate::schunk::layers::MetalayerKind;
use oxiblosc_base::memory::boxed;
use oxiblosc_base::{Error, Result};
use oxiblosc_frame::disk::Metadata;
use oxiblosc_frame::meta;

impl State {
    /// Whether a transaction has been begun.
    pub fn in_transaction(&self) -> bool {
        self.store.is_staged()
    }

    /// The number of the transaction that has been begun. It is higher than those of all
    /// transactions before it.
    pub(crate) fn transaction(&self) -> Option<u64> {
        match &self.store {
            ChunkStore::Staged(staged) => Some(staged.number),
            _ => None,
        }
    }

    /// Begins a transaction with this number.
    fn begin(&mut self, number: u64) -> Result<u64> {
        if self.in_transaction() {
            return Err(Error::INVALID_PARAM);
        }
        if let Some(disk) = self.store.disk_mut() {
            disk.roll_back_pending()?;
        }
        let before = Before {
            counts: self.counts,
            blocksize: self.parameters.blocksize,
            checksums: self.has_checksums(),
            metalayers: None,
        };
        let staged = boxed(Staged::new(self.store.nchunks(), number, before)?)?;
        let base = std::mem::replace(&mut self.store, ChunkStore::Staged(staged));
        if let ChunkStore::Staged(staged) = &mut self.store {
            *staged.base_mut() = base;
        }
        Ok(number)
    }

    /// In a transaction, saves the metalayers before their first change. `count` says how many
    /// there are after the change. Also reserves entries in the window for the old and the new
    /// ones, so that neither the change nor a rollback can fail.
    pub(crate) fn save_metalayers(
        &mut self,
        host: &dyn Host,
        mut count: WindowCounts,
    ) -> Result<()> {
        let ChunkStore::Staged(staged) = &mut self.store else {
            return Ok(());
        };
        let saved = match &mut staged.before.metalayers {
            Some(saved) => saved,
            none => none.insert(self.metalayers.copied()?),
        };
        for (count, more) in count.layers.iter_mut().zip(saved.counts()) {
            *count += more;
        }
        host.prepare(self, count)
    }

    /// Ends a transaction: the store is again the one with which it began. Gives the rest of the
    /// state from before.
    #[inline(never)]
    fn unstage(&mut self) -> Result<Box<Staged>> {
        let base = match &mut self.store {
            ChunkStore::Staged(staged) => staged.take_base(),
            _ => return Err(Error::INVALID_PARAM),
        };
        match std::mem::replace(&mut self.store, base) {
            ChunkStore::Staged(staged) => Ok(staged),
            _ => Err(Error::FAILURE),
        }
    }

    /// Applies the changes of a transaction to the store.
    fn commit_staged(&mut self, host: &dyn Host) -> Result<()> {
        let header = self.header(host, &self.counts, self.store.kind());
        let checksums = self.has_checksums();
        let ChunkStore::Staged(staged) = &mut self.store else {
            return Err(Error::INVALID_PARAM);
        };
        let layers = |kind| meta::borrow(self.metalayers.list(kind));
        let fixed = layers(MetalayerKind::Fixed)?;
        let variable = layers(MetalayerKind::Variable)?;
        let metadata = Metadata {
            header: &header,
            metalayers: &fixed,
            vlmetalayers: Some(&variable),
            cbytes: self.counts.compressed_bytes(),
        };
        staged.commit(&metadata, checksums)?;
        drop(self.unstage()?);
        host.show(self, Changed::Everything);
        Ok(())
    }

    /// Discards the changes of a transaction.
    pub(crate) fn abandon(&mut self, host: &dyn Host) -> Result<()> {
        let mut staged = self.unstage()?;
        self.restore(&mut staged.before);
        host.show(self, Changed::Everything);
        Ok(())
    }
}

impl SuperChunk {
    /// Begins a transaction: from now on all changes of this super-chunk are kept in memory, until
    /// [`Self::commit`] applies them, all at once, or [`Self::abandon`] discards them.
    /// [`Self::transaction`] does the same with a guard that abandons the transaction when it is
    /// dropped.
    ///
    /// Reads through this handle, on any thread, see the changes. Other handles and processes see
    /// them after the commit. Changes of chunks, of metalayers, and of the shape of an array can be
    /// part of a transaction; a change that fails is not. A transaction needs memory for its new
    /// chunks, and about 40 bytes for each chunk of the super-chunk.
    ///
    /// No lock is held until the commit. If another handle or process changes the frame before
    /// that, closes it after changes, or takes its exclusive lock, then reads, changes and the
    /// commit return [`Error::LOCK`] until the transaction is abandoned, since the staged changes
    /// apply to the frame as it was. To prevent that, call [`Self::lock`] before.
    ///
    /// Super-chunks without a frame, and frames in memory, have transactions, too.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] if one has been begun; as for [`Self::reserve`].
    pub fn begin(&self) -> Result<()> {
        self.begin_numbered().map(drop)
    }

    /// As [`Self::begin`]. Gives the number of the transaction.
    fn begin_numbered(&self) -> Result<u64> {
        self.transact(Locked::Shared, |state, _| {
            state.begin(self.transactions.next())
        })
    }

    /// Begins, commits or rolls back a transaction, with the frame locked as `locked` says.
    fn transact<T>(
        &self,
        locked: Locked,
        step: impl FnOnce(&mut State, &dyn Host) -> Result<T>,
    ) -> Result<T> {
        let mut changing = self.reserve_here()?;
        changing.lock_as(Some(locked))?;
        changing.commit_unlocked(|state| step(state, self.host()))
    }

    /// Applies all changes of a transaction as one change of the frame: after a crash it has all of
    /// them or none, and with [`durable`](super::open::Protection::durable) also after a loss of
    /// power.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] without a transaction; [`Error::LOCK`] if another handle has
    /// changed the frame; those of output. After an error nothing has changed, and the transaction
    /// continues: the commit can be tried again.
    pub fn commit(&self) -> Result<()> {
        self.transact(Locked::Alone, State::commit_staged)
    }

    /// Discards the changes of a transaction: the super-chunk is again as it was before, or as
    /// other handles have changed its frame since. Dropping a super-chunk also discards them.
    ///
    /// # Errors
    /// [`Error::INVALID_PARAM`] without a transaction; [`Error::LOCK`] in a callback that is called
    /// for this super-chunk.
    pub fn abandon(&self) -> Result<()> {
        self.transact(Locked::No, State::abandon)
    }

    /// Whether a transaction has been begun.
    ///
    /// # Errors
    /// [`Error::LOCK`] in a function of a back end that an operation on this super-chunk called.
    pub fn in_transaction(&self) -> Result<bool> {
        let state = self.peek()?;
        let open = state.transaction();
        Ok(open.is_some() && open != self.transactions.given_up())
    }

    /// Begins a transaction, which is abandoned when the result is dropped without
    /// [`Transaction::commit`]. Changes are made through the super-chunk itself; see
    /// [`Self::begin`].
    ///
    /// # Errors
    /// As for [`Self::begin`].
    ///
    /// # Examples
    /// ```
    /// use oxiblosc::{Place, StorageParams, SuperChunk};
    ///
    /// # fn main() -> Result<(), oxiblosc::Error> {
    /// let schunk = SuperChunk::create(StorageParams { place: Place::Frame, ..StorageParams::default() })?;
    /// schunk.append_data(&[7; 1000])?;
    ///
    /// let transaction = schunk.transaction()?;
    /// schunk.append_data(&[8; 1000])?;
    /// schunk.delete_chunk(0)?;
    /// transaction.commit()?;
    /// assert_eq!(schunk.nchunks()?, 1);
    ///
    /// let transaction = schunk.transaction()?;
    /// schunk.delete_chunk(0)?;
    /// assert_eq!(schunk.nchunks()?, 0);
    /// drop(transaction);
    /// assert_eq!(schunk.nchunks()?, 1);
    /// # Ok(())
    /// # }
    /// ```
    pub fn transaction(&self) -> Result<Transaction<'_>> {
        let number = self.begin_numbered()?;
        Ok(Transaction {
            schunk: self,
            number,
        })
    }
}

/// A transaction; see [`SuperChunk::transaction`].
#[derive(Debug)]
#[must_use = "a transaction is abandoned when it is dropped"]
pub struct Transaction<'a> {
    schunk: &'a SuperChunk,
    /// Tells it from the others of the super-chunk: another thread may have ended this one and
    /// begun the next.
    number: u64,
}

impl Transaction<'_> {
    /// Applies the changes, all at once.
    ///
    /// # Errors
    /// As for [`SuperChunk::commit`], but after an error the transaction is abandoned.
    /// [`Error::INVALID_PARAM`] if another thread has ended it.
    pub fn commit(self) -> Result<()> {
        let committed = self.end(Locked::Alone, State::commit_staged);
        if committed.is_ok() {
            std::mem::forget(self);
        }
        committed
    }

    /// Discards the changes.
    ///
    /// # Errors
    /// As for [`SuperChunk::abandon`]. The transaction ends nevertheless: if an operation on the
    /// super-chunk is in the way, for example that which called this callback, the changes are
    /// discarded before the next operation.
    pub fn abandon(self) -> Result<()> {
        let abandoned = self.give_up();
        std::mem::forget(self);
        abandoned
    }

    /// Ends the transaction with `step`.
    fn end(&self, locked: Locked, step: fn(&mut State, &dyn Host) -> Result<()>) -> Result<()> {
        self.schunk
            .transact(locked, |state, host| match state.transaction() {
                Some(number) if number == self.number => step(state, host),
                _ => Err(Error::INVALID_PARAM),
            })
    }

    /// Abandons the transaction, now or before the next operation.
    fn give_up(&self) -> Result<()> {
        let abandoned = self.end(Locked::No, State::abandon);
        if abandoned.is_err() {
            self.schunk.transactions.give_up(self.number);
        }
        abandoned
    }
}

impl Drop for Transaction<'_> {
    fn drop(&mut self) {
        // If this fails, the transaction is abandoned later, or another thread has ended it.
        let _ = self.give_up();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Place, StorageParams};
    use oxiblosc_io::operation;

    fn make(place: Place) -> SuperChunk {
        let storage = StorageParams {
            place,
            ..StorageParams::default()
        };
        let schunk = SuperChunk::create(storage).expect("a super-chunk");
        schunk.append_data(&[1; 400]).expect("appends");
        schunk
    }

    /// How a guard ends its transaction in a callback, and with which error.
    type End = fn(Transaction) -> Result<()>;

    const ENDS: [End; 3] = [
        |transaction| transaction.abandon(),
        |transaction| transaction.commit(),
        |transaction| {
            drop(transaction);
            // The error is lost.
            Err(Error::LOCK)
        },
    ];

    /// What comes after that, and must find the super-chunk as it was before the transaction. Gives
    /// the number of chunks.
    type Next = fn(&SuperChunk) -> Result<usize>;

    const NEXT: [Next; 7] = [
        SuperChunk::nchunks,
        |schunk| schunk.append_data(&[3; 400]).map(|nchunks| nchunks - 1),
        |schunk| {
            assert!(!schunk.in_transaction()?);
            schunk.nchunks()
        },
        |schunk| {
            schunk.transaction()?.commit()?;
            schunk.nchunks()
        },
        |schunk| Ok(schunk.read_cached()?.nchunks()),
        |schunk| {
            assert_eq!(schunk.abandon(), Err(Error::INVALID_PARAM));
            schunk.nchunks()
        },
        |schunk| {
            schunk.lock()?;
            schunk.unlock()?;
            schunk.nchunks()
        },
    ];

    /// A callback cannot change the super-chunk for which it is called. A guard that it drops ends
    /// the transaction nevertheless, as nothing else could end it.
    #[test]
    fn a_transaction_that_ends_in_a_callback_does_not_stay_open() {
        for place in [Place::Memory, Place::Frame] {
            for end in ENDS {
                for next in NEXT {
                    let schunk = make(place);
                    let transaction = schunk.transaction().expect("begins");
                    schunk.append_data(&[2; 400]).expect("appends");
                    {
                        let _reading = schunk.read().expect("the state");
                        let _callback = operation::call_on_blocks();
                        assert_eq!(end(transaction), Err(Error::LOCK));
                        assert_eq!(schunk.in_transaction(), Ok(false));
                    }
                    assert_eq!(next(&schunk), Ok(1));
                    assert_eq!(schunk.in_transaction(), Ok(false));
                }
            }
        }
    }

    /// A guard ends its own transaction, not the next one that another thread has begun.
    #[test]
    fn a_guard_leaves_the_next_transaction_alone() {
        let schunk = make(Place::Memory);
        for end in ENDS {
            let first = schunk.transaction().expect("begins");
            schunk.abandon().expect("ends");
            let second = schunk.transaction().expect("begins");
            schunk.append_data(&[2; 400]).expect("appends");
            assert!(end(first).is_err());
            assert_eq!(schunk.in_transaction(), Ok(true));
            second.abandon().expect("ends");
        }
    }
}
