//! Tells what is behind a frame: another frame, or leftovers of a process that died.
//!
//! While this library changes a frame, it writes nothing behind its end that looks like the magic
//! of a frame or a record, before the file has the complete record of the change. Chunks with such
//! a magic are held back until then, and records with one are masked. A frame that is appended to
//! others gets its magic last. So a magic behind a frame is that of another frame, and all other
//! bytes are leftovers.

use super::header::{Extent, Header, MAGIC_POS, MIN_LEN};
use oxiblosc_base::Result;
use oxiblosc_base::memory::TryVec;
use oxiblosc_base::memory::sort::sort_by_key;
use oxiblosc_io::Storage;
use std::ops::Range;

/// A write: position and bytes.
pub type FileWrite<'a> = (u64, &'a [u8]);

/// The first bytes of the magics of frames, committed or not, and of records. All contain [`PAIR`].
const STEMS: [&[u8]; 2] = [b"b2fram", b"oxb2jnl"];
const PAIR: [u8; 2] = *b"b2";
/// The length of the longest stem, less one.
const OVERLAP: usize = 6;
/// Bytes that are read at a time.
const PIECE: u64 = 1 << 20;

/// Whether there is a pair.
#[inline(always)]
fn has_pair(block: &[u8]) -> bool {
    // A loop without an early exit can be vectorised, so all pairs of a block are compared.
    let pairs = block.iter().zip(&block[1..]);
    let is = |(a, b): (&u8, &u8)| u8::from(*a == PAIR[0]) & u8::from(*b == PAIR[1]);
    pairs.fold(0, |any, pair| any | is(pair)) != 0
}

/// The position of the first pair at `from` or behind it.
fn pair_from(bytes: &[u8], from: usize) -> Option<usize> {
    const BLOCK: usize = 256;
    let mut at = from;
    while at + 1 < bytes.len() {
        let end = bytes.len().min(at + BLOCK + 1);
        let block = &bytes[at..end];
        // For a whole block, whose length the compiler knows, it unrolls the loop.
        let found = match block.first_chunk::<{ BLOCK + 1 }>() {
            Some(block) => has_pair(block),
            None => has_pair(block),
        };
        if found {
            let found = block.windows(2).position(|pair| pair == PAIR);
            return found.map(|i| at + i);
        }
        at = end - 1;
    }
    None
}

/// The position of the first stem whose pair is at `from` or behind it.
fn stem_from(bytes: &[u8], mut from: usize) -> Option<Range<usize>> {
    while let Some(pair) = pair_from(bytes, from) {
        for stem in STEMS {
            let at = stem.windows(2).position(|bytes| bytes == PAIR);
            let start = at.and_then(|at| pair.checked_sub(at));
            if let Some(start) = start.filter(|start| bytes[*start..].starts_with(stem)) {
                return Some(start..start + stem.len());
            }
        }
        from = pair + 1;
    }
    None
}

/// Whether bytes contain a stem.
pub fn has_magic(bytes: &[u8]) -> bool {
    stem_from(bytes, 0).is_some()
}

/// Whether parts contain a stem; see [`stems_in`].
pub fn has_magic_in(parts: &[FileWrite]) -> bool {
    stems_in(parts).is_some()
}

/// The range from the start of the first stem in bytes to the end of the last.
fn stems(bytes: &[u8]) -> Option<Range<usize>> {
    let mut all = stem_from(bytes, 0)?;
    while let Some(next) = stem_from(bytes, all.end) {
        all.end = next.end;
    }
    Some(all)
}

/// The range from the start of the first stem in parts to the end of the last. The parts are in
/// ascending order; a stem may lie in several that are adjacent.
fn stems_in(parts: &[FileWrite]) -> Option<Range<u64>> {
    let mut all: Option<Range<u64>> = None;
    let mut note = |pos: u64, found: Option<Range<usize>>| {
        let Some(found) = found else { return };
        let (start, end) = (pos + found.start as u64, pos + found.end as u64);
        let known = all.take().unwrap_or(start..end);
        all = Some(known.start.min(start)..known.end.max(end));
    };
    // The last bytes before a part, in which a stem may begin that ends in the part, and then the
    // first bytes of the part.
    let (mut before, mut have, mut end) = ([0; 2 * OVERLAP], 0, 0);
    for (pos, bytes) in parts {
        if *pos != end {
            have = 0;
        }
        end = pos + bytes.len() as u64;
        let first = bytes.len().min(OVERLAP);
        before[have..have + first].copy_from_slice(&bytes[..first]);
        note(pos - have as u64, stems(&before[..have + first]));
        note(*pos, stems(bytes));
        let last = match bytes.last_chunk::<OVERLAP>() {
            Some(last) => {
                before[..OVERLAP].copy_from_slice(last);
                OVERLAP
            }
            None => {
                let all = have + first;
                let keep = all.min(OVERLAP);
                before.copy_within(all - keep..all, 0);
                keep
            }
        };
        have = last;
    }
    all
}

/// Writes behind a frame that must not be made before the undo record is complete.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct DeferredWrites<'a> {
    /// The first byte of all, which is written last.
    pub first: Option<FileWrite<'a>>,
    /// The rest.
    pub rest: TryVec<FileWrite<'a>>,
}

/// Removes from `parts`, and returns, the bytes behind `end` that could be taken for the start of a
/// frame or a record.
///
/// # Errors
/// [`oxiblosc_base::Error::MEMORY_ALLOC`].
pub fn hold_back<'a>(parts: &mut TryVec<FileWrite<'a>>, end: u64) -> Result<DeferredWrites<'a>> {
    let mut held = DeferredWrites::default();
    sort_by_key(parts, |(pos, _)| *pos);
    let first = parts.partition_point(|(pos, _)| *pos < end);
    let Some(span) = stems_in(&parts[first..]) else {
        return Ok(held);
    };
    let mut kept = TryVec::with_capacity(parts.len() + 1)?;
    for (pos, bytes) in parts.drain(..) {
        let inside = |at: u64| (at.saturating_sub(pos)).min(bytes.len() as u64) as usize;
        let (from, to) = (inside(span.start), inside(span.end));
        let pieces = [(0, from), (from, to), (to, bytes.len())];
        for (i, (from, to)) in pieces.into_iter().enumerate().filter(|(_, (a, b))| a < b) {
            let piece = (pos + from as u64, &bytes[from..to]);
            match (i == 1, held.first) {
                (false, _) => kept.push(piece)?,
                (true, Some(_)) => held.rest.push(piece)?,
                (true, None) => {
                    let (first, rest) = piece.1.split_at(1);
                    held.first = Some((piece.0, first));
                    if !rest.is_empty() {
                        held.rest.push((piece.0 + 1, rest))?;
                    }
                }
            }
        }
    }
    *parts = kept;
    Ok(held)
}

/// Whether a frame begins in a file of `size` bytes at `start`, where another one ends, or behind
/// it. Everything is searched but the bytes of frames whose append was not committed.
///
/// # Errors
/// [`oxiblosc_base::Error::MEMORY_ALLOC`], and those of reading.
pub fn has_frame(file: &dyn Storage, start: u64, size: u64) -> Result<bool> {
    let mut at = start;
    let mut bytes = TryVec::new();
    while size - at >= MIN_LEN as u64 {
        let len = (size - at).min(PIECE);
        bytes.resize(len as usize, 0)?;
        file.read_at(at, &mut bytes)?;
        let mut next = at + len - (MIN_LEN as u64 - 1);
        let mut from = 0;
        while let Some(stem) = stem_from(&bytes, from) {
            from = stem.end;
            let Some(start) = stem.start.checked_sub(MAGIC_POS) else {
                continue;
            };
            if Header::has_magic(&bytes[start..]) {
                return Ok(true);
            }
            let pos = at + start as u64;
            if let Some(len) = uncommitted(&bytes[start..], size - pos) {
                next = next.max(pos + len);
                // The search goes on behind that frame in the same piece, so that no bytes are read
                // twice.
                let end = start as u64 + len;
                if end >= bytes.len() as u64 {
                    break;
                }
                from = end as usize;
            }
        }
        if next + MIN_LEN as u64 > size {
            break;
        }
        at = next;
    }
    Ok(false)
}

/// The length of the uncommitted frame that begins with these bytes, if one does. The file has
/// `size` bytes from there on.
fn uncommitted(prefix: &[u8], size: u64) -> Option<u64> {
    if !Header::is_uncommitted(prefix) {
        return None;
    }
    let extent = Extent::parse(prefix).ok()?;
    (extent.frame_len <= size).then_some(extent.frame_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every way to cut bytes into parts of these lengths, from position 100 on.
    fn parts<'a>(bytes: &'a [u8], lens: &[usize]) -> TryVec<FileWrite<'a>> {
        let mut parts = TryVec::new();
        let mut at = 0;
        for len in lens.iter().cycle() {
            let end = (at + len).min(bytes.len());
            parts.push((100 + at as u64, &bytes[at..end])).unwrap();
            at = end;
            if at == bytes.len() {
                return parts;
            }
        }
        parts
    }

    #[test]
    fn magics_are_found_wherever_they_are() {
        for at in 0..300 {
            for stem in STEMS {
                let mut bytes = vec![b'b'; 300];
                for (byte, new) in bytes[at..].iter_mut().zip(stem) {
                    *byte = *new;
                }
                let end = at + stem.len();
                let expected = (end <= 300).then_some(at..end);
                assert_eq!(stems(&bytes), expected, "{at}");
            }
        }
        assert!(!has_magic(b"b2fra") && !has_magic(b"b2jnl oxb2jn b2Frame") && !has_magic(b""));
        assert!(has_magic(b"b2b2frame\0") && has_magic(b"b2oxb2jnl"));
    }

    #[test]
    fn what_is_held_back_is_the_rest_of_the_parts() {
        let mut bytes = vec![9; 300];
        bytes[30..36].copy_from_slice(b"b2fram");
        bytes[200..207].copy_from_slice(b"oxb2jnl");
        for lens in [
            &[300][..],
            &[1],
            &[2, 3],
            &[33, 5],
            &[31, 1, 1],
            &[203, 97],
            &[6, 0, 7],
        ] {
            let mut kept = parts(&bytes, lens);
            let held = hold_back(&mut kept, 100).unwrap();
            assert_eq!(held.first, Some((130, &b"b"[..])), "{lens:?}");
            assert_eq!(stems_in(&kept), None);
            let mut all = vec![0; 300];
            for (pos, part) in kept.iter().chain(&held.rest).chain(&held.first) {
                all[*pos as usize - 100..][..part.len()].copy_from_slice(part);
            }
            assert_eq!(all, bytes);
            let inside = held
                .rest
                .iter()
                .all(|(pos, part)| (131..307).contains(pos) && pos + part.len() as u64 <= 307);
            assert!(inside, "{lens:?}");
        }
        // What is not behind the end, and what a gap cuts in two.
        let mut before = parts(&bytes, &[40]);
        before.truncate(1);
        assert_eq!(hold_back(&mut before, 140), Ok(DeferredWrites::default()));
        let mut apart: TryVec<FileWrite> =
            TryVec::of([(100, &b"b2f"[..]), (104, &b"ram"[..])]).unwrap();
        assert_eq!(hold_back(&mut apart, 100), Ok(DeferredWrites::default()));
        assert_eq!(apart.len(), 2);
    }
}
