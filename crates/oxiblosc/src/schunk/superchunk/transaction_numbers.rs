//! The numbers of the transactions of a super-chunk.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of the last transaction, and that of one which the next operation has to abandon.
#[derive(Default)]
pub(in crate::schunk) struct TransactionNumbers {
    last: AtomicU64,
    /// 0 if there is none.
    given_up: AtomicU64,
}

impl TransactionNumbers {
    /// The number of the next transaction. It is higher than all before it.
    pub fn next(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// The transaction to be abandoned.
    #[inline(always)]
    pub fn given_up(&self) -> Option<u64> {
        let number = self.given_up.load(Ordering::Relaxed);
        (number != 0).then_some(number)
    }

    /// Makes the next operation abandon the transaction with this number, if that has not ended by
    /// then.
    pub fn give_up(&self, number: u64) {
        // Transactions with lower numbers have ended.
        self.given_up.fetch_max(number, Ordering::Relaxed);
    }

    /// Notes that the transaction with this number has ended.
    pub fn note_end(&self, number: u64) {
        let (order, other) = (Ordering::Relaxed, Ordering::Relaxed);
        // Meanwhile a later one may have been given up.
        let _ = self.given_up.compare_exchange(number, 0, order, other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_transaction_that_was_given_up_is_left() {
        let numbers = TransactionNumbers::default();
        let (first, second) = (numbers.next(), numbers.next());
        assert!(first < second);
        assert_eq!(numbers.given_up(), None);
        numbers.give_up(second);
        numbers.give_up(first);
        numbers.note_end(first);
        assert_eq!(numbers.given_up(), Some(second));
        numbers.note_end(second);
        assert_eq!(numbers.given_up(), None);
    }
}
