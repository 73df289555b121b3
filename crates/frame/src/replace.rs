//! Replaces chunks in a buffer. If lengths change, the chunks behind them are moved, each only once
//! however many are replaced.

use super::offsets::Offsets;
use oxiblosc_base::Result;
use oxiblosc_base::memory::sort::sort_by_key;
use oxiblosc_base::memory::{Buffer, TryVec};

/// A chunk that is replaced by another.
#[derive(Debug)]
pub struct Replaced<'a> {
    /// Where it begins, in bytes from the end of the header.
    pub at: usize,
    /// Its length in bytes.
    pub len: usize,
    /// The bytes of the new chunk; none for a special one.
    pub new: &'a [u8],
}

impl Replaced<'_> {
    fn end(&self) -> usize {
        self.at + self.len
    }
}

/// All that a change replaces.
#[derive(Debug)]
pub struct Replacement<'a> {
    /// In ascending order; no two overlap.
    over: TryVec<Replaced<'a>>,
    /// For each, the bytes between it and the next: where they begin and end, and by how much they
    /// move.
    moves: TryVec<(usize, usize, isize)>,
}

impl<'a> Replacement<'a> {
    /// Allocates the memory that [`Self::apply`] needs. None if the chunks share bytes.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`].
    pub fn new(mut over: TryVec<Replaced<'a>>) -> Result<Option<Self>> {
        sort_by_key(&mut over, |chunk| chunk.at);
        let moves = TryVec::with_capacity(over.len())?;
        let apart = over.windows(2).all(|two| two[0].end() <= two[1].at);
        Ok(apart.then_some(Self { over, moves }))
    }

    /// Replaces the chunks in a buffer that has `data_len` bytes of chunks behind its header, and
    /// adjusts the offsets. Returns the new number of bytes of chunks.
    ///
    /// # Errors
    /// [`oxiblosc_base::Error::MEMORY_ALLOC`]; none if the buffer has memory for the new chunks,
    /// and `offsets` are a list already.
    pub fn apply(
        mut self,
        buffer: &mut Buffer,
        header_len: usize,
        data_len: usize,
        offsets: &mut Offsets,
    ) -> Result<usize> {
        let (over, moves) = (&self.over, &mut self.moves);
        let mut by = 0;
        for (i, chunk) in over.iter().enumerate() {
            by += chunk.new.len() as isize - chunk.len as isize;
            let end = over.get(i + 1).map_or(data_len, |next| next.at);
            moves.push_within_capacity((chunk.end(), end, by));
        }
        let new_len = data_len.strict_add_signed(by);
        buffer.resize(header_len + data_len.max(new_len))?;
        let data = &mut buffer[header_len..];
        // Parts that move down are moved first, in ascending order; then those that move up, in
        // descending order. So no part overwrites one that is not moved yet.
        let down = moves.iter().filter(|(.., by)| *by < 0);
        let up = moves.iter().rev().filter(|(.., by)| *by > 0);
        for (from, to, by) in down.chain(up) {
            data.copy_within(*from..*to, from.strict_add_signed(*by));
        }
        for (chunk, (.., by)) in over.iter().zip(moves.iter()) {
            let end = chunk.end().strict_add_signed(*by);
            data[end - chunk.new.len()..end].copy_from_slice(chunk.new);
        }
        buffer.resize(header_len + new_len)?;
        if moves.iter().all(|(.., by)| *by == 0) {
            return Ok(new_len);
        }
        for offset in offsets.list_mut()?.iter_mut().filter(|at| **at >= 0) {
            let before = over.partition_point(|chunk| chunk.end() as i64 <= *offset);
            *offset += before.checked_sub(1).map_or(0, |i| moves[i].2 as i64);
        }
        Ok(new_len)
    }
}
