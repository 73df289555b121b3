//! The fingerprint at the end of a trailer: a number that tells the states of a frame apart, and
//! checksums of header, index and trailer.
//!
//! The format reserves these bytes, a type and 16 more. Other libraries ignore them when they read,
//! and set them to zero with every change of chunks or of variable-length metalayers. This library
//! writes one of three types with each change of a frame on disk:
//!
//! | type | bytes 0 to 3 | 4 to 7 | 8 to 11 | 12 to 15 |
//! |---|---|---|---|---|
//! | [`TYPE_OF_STAMP`] | origin | origin | origin | count of changes |
//! | [`TYPE`], [`TYPE_OF_ALL`] | CRC-32C of the header | of the index | of the trailer and this fingerprint, without these 4 bytes | count of changes |
//!
//! The checksum of no index is that of no bytes. The numbers are little-endian. A handle compares
//! the whole fingerprint to see whether another one has changed the frame ([`Stamp`]): times of
//! files tell less, as a clock may stand still, or go in steps of seconds.
//!
//! When a fixed-length metalayer changes, other writers rewrite only the header. So a header with a
//! valid checksum has a mark in a byte that they set to zero. Without the mark, the checksum of the
//! header is out of date, which is not damage. The chunks have [checksums of their
//! own](oxiblosc_chunk::checksum).

use crate::binding::Binding;
use crate::header::MARK;
use oxiblosc_base::system::random;
use oxiblosc_base::{Error, Result};
use oxiblosc_chunk::checksum::{crc32c, extended, shifted};
use oxiblosc_chunk::header::{ChunkHeader, EXTENDED_HEADER_LENGTH};

/// Bytes at the end of a trailer: a marker, the type, and the fingerprint.
pub const LEN: usize = 2 + 16;
/// Where the count of changes begins in these bytes, the last of them.
const COUNT: usize = LEN - 4;
/// Where the checksum of the trailer begins.
const TRAILER_SUM: usize = LEN - 8;
/// The marker of 16 bytes with a type.
const MARKER: u8 = 0xd8;
/// The type of a fingerprint with checksums. No change of one bit turns it, or [`TYPE_OF_ALL`],
/// into the other or into a type that other libraries know (0 to 3).
const TYPE: u8 = 0x5c;
/// The type in a frame in which all chunks have checksums, too.
const TYPE_OF_ALL: u8 = 0x63;
/// The type of a fingerprint without checksums. As far from the others as they are from each other.
const TYPE_OF_STAMP: u8 = 0x36;
/// The mark of a header with a valid checksum.
const MARKED: u8 = 0x5c;

/// Which checksums a frame has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ChecksumScope {
    /// None.
    #[default]
    None,
    /// Of header, index and trailer. Chunks may have some or not: other libraries write them
    /// without, and some cannot have any.
    Some,
    /// Of header, index, trailer and every stored chunk. A chunk without checksums is damaged.
    All,
}

impl ChecksumScope {
    /// Whether there are any.
    pub fn is_any(self) -> bool {
        self != Self::None
    }

    /// The checksums of a frame with this trailer.
    pub fn of(trailer: &[u8]) -> Self {
        match trailer.last_chunk::<LEN>() {
            Some([MARKER, TYPE, ..]) => Self::Some,
            Some([MARKER, TYPE_OF_ALL, ..]) => Self::All,
            _ => Self::None,
        }
    }

    /// The checksums of a frame after they are switched on or off.
    pub fn wanted(self, wanted: bool) -> Self {
        match (wanted, self) {
            (false, _) => Self::None,
            (true, Self::None) => Self::Some,
            (true, own) => own,
        }
    }

    /// The checksums of a frame after a chunk with or without checksums is added.
    pub fn with_chunk(self, has_checksums: bool) -> Self {
        match self {
            Self::All if !has_checksums => Self::Some,
            own => own,
        }
    }

    /// Checks that a chunk has checksums if every chunk of the frame must.
    ///
    /// # Errors
    /// [`Error::DATA`] if it has none.
    pub fn check_chunk(self, header: &ChunkHeader) -> Result<()> {
        match self == Self::All && !header.has_checksums() {
            true => Err(Error::DATA),
            false => Ok(()),
        }
    }
}

/// The parts of a frame whose checksums were compared, and are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coverage {
    /// None: the frame has no checksums, or another writer has changed it.
    None,
    /// Index and trailer. The header was changed by another writer.
    AllButHeader,
    /// Header, index and trailer.
    All,
}

impl Coverage {
    /// Whether any were compared.
    pub fn is_any(self) -> bool {
        self != Self::None
    }

    /// Which checksums the frame with this trailer has.
    pub fn scope(self, trailer: &[u8]) -> ChecksumScope {
        match self {
            Self::None => ChecksumScope::None,
            Self::AllButHeader | Self::All => ChecksumScope::of(trailer),
        }
    }
}

fn word(bytes: &[u8], i: usize) -> u32 {
    u32::from_le_bytes([
        bytes[4 * i],
        bytes[4 * i + 1],
        bytes[4 * i + 2],
        bytes[4 * i + 3],
    ])
}

/// Whether a trailer has a fingerprint with checksums.
pub fn is_in(trailer: &[u8]) -> bool {
    ChecksumScope::of(trailer).is_any()
}

/// The checksums of a fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sums {
    /// Of the header.
    pub header: u32,
    /// Of the index.
    pub index: u32,
    /// Of the trailer before the type.
    pub trailer: u32,
}

/// The checksums at the end of a frame or trailer, if there are any. [`trailer_sum`] tells whether
/// they are right themselves.
pub fn sums(end: &[u8]) -> Option<Sums> {
    let fingerprint = is_in(end).then(|| end.last_chunk::<LEN>()).flatten()?;
    let sums = &fingerprint[2..];
    Some(Sums {
        header: word(sums, 0),
        index: word(sums, 1),
        trailer: word(sums, 2),
    })
}

/// The checksum of a trailer and of all of its fingerprint but that checksum.
pub fn trailer_sum(trailer: &[u8]) -> u32 {
    let at = trailer.len().saturating_sub(LEN) + TRAILER_SUM;
    let (before, rest) = trailer.split_at(at.min(trailer.len()));
    extended(crc32c(before), rest.get(4..).unwrap_or_default())
}

/// A trailer without its fingerprint.
pub fn without(trailer: &[u8]) -> &[u8] {
    &trailer[..trailer.len().saturating_sub(LEN)]
}

/// What tells the states of a frame on disk apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stamp {
    /// Counts the changes.
    count: u32,
    /// Where counting began. Frames that this library created have zeros; others a random number,
    /// as another library removes the stamp, and a count that began again would show a state that a
    /// handle may know from before. Not kept where there are checksums instead.
    origin: [u8; 12],
}

impl Stamp {
    /// The stamp in a trailer. None if another library has written it.
    pub fn of(trailer: &[u8]) -> Option<Self> {
        let fingerprint = trailer.last_chunk::<LEN>()?;
        let mut origin = [0; 12];
        match *fingerprint {
            [MARKER, TYPE_OF_STAMP, ..] => origin.copy_from_slice(&fingerprint[2..COUNT]),
            [MARKER, TYPE | TYPE_OF_ALL, ..] => {}
            _ => return None,
        }
        let count = word(&fingerprint[COUNT..], 0);
        Some(Self { count, origin })
    }

    /// The first stamp of a frame that may have been changed without any.
    pub fn random() -> Self {
        let (a, b) = (random::number(), random::number());
        let mut origin = [0; 12];
        origin[..8].copy_from_slice(&a.to_le_bytes());
        origin[8..].copy_from_slice(&b.to_le_bytes()[..4]);
        let count = (b >> 32) as u32;
        Self { count, origin }
    }

    /// The stamp after another change.
    pub fn next(self) -> Self {
        Self {
            count: self.count.wrapping_add(1),
            ..self
        }
    }
}

/// Writes the fingerprint into a trailer, and the mark into the header. The rest of both must be
/// final. If `index_crc`, the checksum of the index, is none, there are no checksums; without a
/// stamp there is nothing then.
pub fn write(
    checksums: ChecksumScope,
    index_crc: Option<u32>,
    stamp: Option<Stamp>,
    header: &mut [u8],
    trailer: &mut [u8],
) {
    let end = trailer.len() - LEN;
    let fingerprint = &mut trailer[end..];
    fingerprint.fill(0);
    fingerprint[0] = MARKER;
    header[MARK] = 0;
    if let Some(stamp) = stamp {
        fingerprint[1] = TYPE_OF_STAMP;
        fingerprint[2..COUNT].copy_from_slice(&stamp.origin);
        fingerprint[COUNT..].copy_from_slice(&stamp.count.to_le_bytes());
    }
    let Some(index_crc) = index_crc else {
        return;
    };
    header[MARK] = MARKED;
    fingerprint[1] = match checksums {
        ChecksumScope::All => TYPE_OF_ALL,
        _ => TYPE,
    };
    fingerprint[2..6].copy_from_slice(&crc32c(header).to_le_bytes());
    fingerprint[6..TRAILER_SUM].copy_from_slice(&index_crc.to_le_bytes());
    let sum = trailer_sum(trailer).to_le_bytes();
    trailer[end + TRAILER_SUM..end + COUNT].copy_from_slice(&sum);
}

/// Compares header, index and trailer of a frame with its checksums. `index_crc` computes that of
/// the index; it is called only if it is needed.
///
/// # Errors
/// [`Error::DATA`] if one is wrong.
pub fn check(header: &[u8], index_crc: impl FnOnce() -> u32, trailer: &[u8]) -> Result<Coverage> {
    let Some(fingerprint) = trailer.last_chunk::<LEN>() else {
        return Ok(Coverage::None);
    };
    let mark = header.get(MARK).copied().unwrap_or(0);
    match fingerprint[1] {
        TYPE | TYPE_OF_ALL if fingerprint[0] == MARKER => {}
        0 if fingerprint[2..] == [0; 16] => return Ok(Coverage::None),
        // Another writer's fingerprint.
        _ if mark == 0 => return Ok(Coverage::None),
        _ => return Err(Error::DATA),
    }
    let right = |sums: &Sums| trailer_sum(trailer) == sums.trailer && index_crc() == sums.index;
    let sums = sums(fingerprint).filter(right).ok_or(Error::DATA)?;
    match (crc32c(header) == sums.header, mark) {
        (true, _) => Ok(Coverage::All),
        (false, 0) => Ok(Coverage::AllButHeader),
        _ => Err(Error::DATA),
    }
}

/// The checksum of an index, with zeros for its [`Binding`]. The bytes behind its header come
/// first, then the header: so when offsets are appended, it can be computed from the checksum of
/// the old offsets.
pub fn of_index(bytes: &[u8]) -> u32 {
    match bytes.split_first_chunk() {
        Some((header, behind)) => of_index_parts(header, crc32c(behind)),
        None => 0,
    }
}

/// As [`of_index`], from the header and the checksum of the bytes behind it.
pub fn of_index_parts(header: &[u8; EXTENDED_HEADER_LENGTH], behind_crc: u32) -> u32 {
    extended(behind_crc, &Binding::without(*header))
}

/// The checksum of bytes after eight of them were replaced, from the one before. `behind` is the
/// number of bytes behind these eight.
pub fn replace_eight(crc: u32, old: [u8; 8], new: [u8; 8], behind: usize) -> u32 {
    let difference = (u64::from_le_bytes(old) ^ u64::from_le_bytes(new)).to_le_bytes();
    crc ^ shifted(crc32c(&difference) ^ crc32c(&[0; 8]), behind)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trailer;

    #[test]
    fn eight_bytes_are_replaced() {
        let mut bytes: Vec<u8> = (0..200).collect();
        for at in [0, 8, 96, 184, 192] {
            let crc = crc32c(&bytes);
            let (mut old, new) = ([0; 8], [0xa5; 8]);
            old.copy_from_slice(&bytes[at..at + 8]);
            bytes[at..at + 8].copy_from_slice(&new);
            assert_eq!(replace_eight(crc, old, new, 200 - at - 8), crc32c(&bytes));
        }
    }

    #[test]
    fn every_flipped_bit_is_found() {
        let layers = vec![(&b"name"[..], &b"some content"[..])];
        let mut trailer = trailer::encode(&layers).unwrap();
        let mut header: Vec<u8> = (0..120).collect();
        let index = [7u8; 99];
        let crc = || crc32c(&index);
        let scope = ChecksumScope::All;
        let stamp = Some(Stamp::random().next());
        write(scope, Some(crc()), stamp, &mut header, &mut trailer);
        assert_eq!(ChecksumScope::of(&trailer), ChecksumScope::All);
        let all = |header: &[u8], trailer: &[u8]| check(header, crc, trailer);
        assert_eq!(all(&header, &trailer), Ok(Coverage::All));
        for at in 0..header.len() + trailer.len() {
            for bit in 0..8 {
                let (mut header, mut trailer) = (header.clone(), trailer.to_vec());
                match at.checked_sub(header.len()) {
                    Some(at) => trailer[at] ^= 1 << bit,
                    None => header[at] ^= 1 << bit,
                }
                assert_eq!(all(&header, &trailer), Err(Error::DATA), "{at} {bit}");
            }
        }
        assert_eq!(check(&header, || 1, &trailer), Err(Error::DATA));
        // What another writer leaves.
        let mut other = header.clone();
        other[MARK] = 0;
        other[40] ^= 1;
        assert_eq!(all(&other, &trailer), Ok(Coverage::AllButHeader));
        let mut unstamped = trailer.to_vec();
        write(ChecksumScope::None, None, None, &mut other, &mut unstamped);
        assert_eq!(all(&other, &unstamped), Ok(Coverage::None));
        assert_eq!(all(&header, &unstamped), Ok(Coverage::None));
        assert_eq!(unstamped[..], trailer::encode(&layers).unwrap()[..]);
    }

    #[test]
    fn each_change_has_another_fingerprint() {
        let mut header: Vec<u8> = vec![0; 120];
        let mut trailer = trailer::encode(&[]).unwrap();
        assert_eq!(Stamp::of(&trailer), None);
        for (scope, index_crc) in [(ChecksumScope::None, None), (ChecksumScope::Some, Some(1))] {
            let mut seen = Vec::new();
            let (mut stamp, more) = (Stamp::default(), Stamp::random());
            for _ in 0..300 {
                stamp = stamp.next();
                write(scope, index_crc, Some(stamp), &mut header, &mut trailer);
                assert_eq!(Stamp::of(&trailer), Some(stamp));
                assert_eq!(is_in(&trailer), index_crc.is_some());
                assert!(!seen.contains(&trailer.to_vec()));
                seen.push(trailer.to_vec());
            }
            write(scope, index_crc, Some(more), &mut header, &mut trailer);
            let kept = Stamp::of(&trailer).unwrap();
            assert_eq!(kept.count, more.count);
            assert_eq!(kept == more, index_crc.is_none());
        }
    }
}
