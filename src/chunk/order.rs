//! Blocks that workers finish in any order, placed in the order of their index.

use super::encode::lock;
use super::scratch::Buf;
use crate::error::{Error, Result};
use crate::filter;
use std::sync::Mutex;

/// Puts blocks into the chunk in the order of their index, whatever order they come in.
pub struct Order<'a> {
    starts: &'a mut [u8],
    /// What is left of `dest`.
    rest: &'a mut [u8],
    /// Index of the next block to be placed.
    next: usize,
    /// Where the first one starts in the chunk.
    body: usize,
    /// Where the next one will.
    position: usize,
    /// Blocks that came before their turn: index, size, bytes.
    waiting: Vec<(usize, usize, Buf)>,
    /// Buffers to hand out in exchange for one that waits.
    spare: Vec<Buf>,
    /// `Ok(false)`: a block did not fit.
    outcome: Result<bool>,
}

impl<'a> Order<'a> {
    /// Blocks go to `rest`, which begins at `body` in the chunk; where each one starts goes to `starts`, 4 bytes each.
    pub fn new(starts: &'a mut [u8], rest: &'a mut [u8], body: usize) -> Self {
        Self {
            starts,
            rest,
            next: 0,
            body,
            position: body,
            waiting: Vec::new(),
            spare: Vec::new(),
            outcome: Ok(true),
        }
    }

    /// The bytes that all blocks took, none if they did not fit, or the error of one of them.
    pub fn finish(self) -> Result<Option<usize>> {
        match self.outcome? {
            true if 4 * self.next == self.starts.len() => Ok(Some(self.position - self.body)),
            // A worker went away without its block.
            true => Err(Error::Failure),
            false => Ok(None),
        }
    }

    /// Takes in block `nblock`, `size` bytes at the front of `bytes`. Says whether to go on.
    pub fn deliver(
        order: &Mutex<Self>,
        nblock: usize,
        size: Result<usize>,
        bytes: &mut Buf,
    ) -> bool {
        let mut this = lock(order);
        let size = match size {
            Ok(size) => size,
            Err(error) => {
                if this.outcome == Ok(true) {
                    this.outcome = Err(error);
                }
                return false;
            }
        };
        if this.outcome != Ok(true) {
            return false;
        }
        if nblock != this.next {
            let other = this.spare.pop().unwrap_or_default();
            this.waiting
                .push((nblock, size, std::mem::replace(bytes, other)));
            return true;
        }
        let Some(place) = this.reserve(size) else {
            return false;
        };
        drop(this);
        // Only the reservation needs the lock; the copies of several workers overlap in time.
        filter::copy(&bytes[..size], place);
        loop {
            let mut this = lock(order);
            let turn = this.next;
            let Some(found) = this.waiting.iter().position(|(nblock, ..)| *nblock == turn) else {
                return true;
            };
            let (_, size, bytes) = this.waiting.swap_remove(found);
            let Some(place) = this.reserve(size) else {
                return false;
            };
            drop(this);
            filter::copy(&bytes[..size], place);
            lock(order).spare.push(bytes);
        }
    }

    /// The place of the next block, `size` bytes, or none if they do not fit.
    fn reserve(&mut self, size: usize) -> Option<&'a mut [u8]> {
        if size > self.rest.len() {
            self.outcome = Ok(false);
            return None;
        }
        self.starts[4 * self.next..][..4].copy_from_slice(&(self.position as i32).to_le_bytes());
        let (place, rest) = std::mem::take(&mut self.rest).split_at_mut(size);
        self.rest = rest;
        self.position += size;
        self.next += 1;
        Some(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Delivers blocks of the sizes given in the order given, into `room` bytes; gives what `finish` says, the starts
    /// and the bytes.
    fn deliver(
        sizes: &[usize],
        order: &[usize],
        room: usize,
    ) -> (Result<Option<usize>>, Vec<u8>, Vec<u8>) {
        let (mut starts, mut rest) = (vec![0; 4 * sizes.len()], vec![0; room]);
        let all = Mutex::new(Order::new(&mut starts, &mut rest, 100));
        for &nblock in order {
            let mut bytes = Buf::default();
            bytes
                .ensure(sizes[nblock] + 3)
                .unwrap()
                .fill(nblock as u8 + 1);
            Order::deliver(&all, nblock, Ok(sizes[nblock]), &mut bytes);
        }
        let finished = all.into_inner().unwrap().finish();
        (finished, starts, rest)
    }

    #[test]
    fn any_order_gives_the_same_chunk() {
        let sizes = [5, 1, 7, 3];
        let expected = deliver(&sizes, &[0, 1, 2, 3], 16);
        assert_eq!(expected.0, Ok(Some(16)));
        assert_eq!(
            expected.1,
            [100i32, 105, 106, 113].map(i32::to_le_bytes).concat()
        );
        assert_eq!(
            expected.2,
            [&[1; 5][..], &[2; 1], &[3; 7], &[4; 3]].concat()
        );
        for order in [
            [3, 2, 1, 0],
            [1, 0, 3, 2],
            [2, 0, 1, 3],
            [0, 3, 2, 1],
            [1, 3, 0, 2],
        ] {
            assert_eq!(deliver(&sizes, &order, 16), expected, "{order:?}");
            assert_eq!(deliver(&sizes, &order, 15).0, Ok(None), "{order:?}");
            assert_eq!(
                deliver(&sizes, &order[..3], 16).0,
                Err(Error::Failure),
                "{order:?}"
            );
        }
    }

    #[test]
    fn an_error_is_what_all_end_with() {
        let (mut starts, mut rest) = ([0; 8], [0; 100]);
        let all = Mutex::new(Order::new(&mut starts, &mut rest, 0));
        let mut bytes = Buf::default();
        bytes.ensure(10).unwrap();
        assert!(!Order::deliver(&all, 1, Err(Error::Data), &mut bytes));
        assert!(!Order::deliver(&all, 0, Ok(10), &mut bytes));
        assert_eq!(all.into_inner().unwrap().finish(), Err(Error::Data));
    }
}
