//! The decompressor. It copies in fixed steps, without a check for each, where it may read and
//! write past the end of a packet. Near the ends of the buffers it copies exactly.

use core::hint::cold_path;

use super::{FAR, MAX_LITERALS};
use crate::copy::{array_at, copy_match, replicate};
use crate::unaligned::{Bytes16, load};
use crate::unchecked::{MATCH_OVERRUN, UncheckedDst};
use oxiblosc_base::{Error, Result};

/// The most bytes that the fast loop reads for a match behind its control byte: an extra byte of
/// the length, the low byte of the distance, a far distance, and the next control byte.
const MATCH_MARGIN: usize = 5;
/// The most bytes that a round of the fast loop reads: the longest run of literals, the control
/// byte behind it, and a match.
const SRC_MARGIN: usize = MAX_LITERALS + 1 + MATCH_MARGIN;
/// The most bytes that a round of the fast loop writes without another check: literals, and a match
/// of up to eight bytes.
const DST_MARGIN: usize = MAX_LITERALS + 8;
/// The length code that is followed by extra length bytes.
const MAX_LENGTH_CODE: u8 = 7;

/// Decodes the stream `src` into `dst`. Returns the number of bytes written.
pub(crate) fn decompress(src: &[u8], dst: &mut [u8]) -> Result<usize> {
    let Some(&first) = src.first() else {
        return Ok(0);
    };
    let mut control = first & 31;
    let mut at = 1;
    let mut out = 0;
    loop {
        (control, at, out) = decode_fast(src, dst, (control, at, out));
        // Decode one packet with every check: the fast loop stops at unusual packets and near both
        // ends.
        if control < 32 {
            let n = usize::from(control) + 1;
            let from = src.get(at..at + n).ok_or(Error::DATA)?;
            dst.get_mut(out..out + n)
                .ok_or(Error::DATA)?
                .copy_from_slice(from);
            at += n;
            out += n;
        } else {
            let mut len = usize::from(control >> 5) + 2;
            if control >> 5 == MAX_LENGTH_CODE {
                loop {
                    let more = *src.get(at).ok_or(Error::DATA)?;
                    at += 1;
                    len += usize::from(more);
                    if more != 255 {
                        break;
                    }
                }
            }
            let low = *src.get(at).ok_or(Error::DATA)?;
            at += 1;
            let mut distance = near_distance(control, low);
            if distance > FAR {
                let far = array_at::<2>(src, at).ok_or(Error::DATA)?;
                distance += usize::from(u16::from_be_bytes(*far));
                at += 2;
            }
            if distance > out || len > dst.len() - out {
                return Err(Error::DATA);
            }
            copy_match(dst, out, distance, len);
            out += len;
        }
        match src.get(at) {
            Some(&next) => control = next,
            None => return Ok(out),
        }
        at += 1;
    }
}

/// The distance in a control byte and the byte after it, counted from 1. `FAR + 1` means that two
/// more bytes follow.
#[inline(always)]
fn near_distance(control: u8, low: u8) -> usize {
    (usize::from(control & 31) << 8 | usize::from(low)) + 1
}

/// Where a packet begins: its control byte, the position behind that, and the length of the output.
type PacketStart = (u8, usize, usize);

/// Decodes packets until one is unusual (a length with several extra bytes, a distance that is too
/// far) or near the end of `src` or `dst`. Takes and returns where the next packet begins.
///
/// # Why no input makes the unchecked accesses go out of bounds
/// A round of the loop begins with `SRC_MARGIN` bytes of `src` at `at`, and `DST_MARGIN` bytes of
/// `dst` at `out`. It decodes at most one run of literals, which takes up to `MAX_LITERALS + 1`
/// bytes of `src` and `MAX_LITERALS` of `dst`, and then one match. `MATCH_MARGIN` bytes of `src`
/// are left for the match, which is what it reads at most, and 8 bytes of `dst`, which is what a
/// match without an extra length byte writes. A match with a length byte is checked with
/// `MATCH_OVERRUN`. For every match the loop checks that its source lies in the data (`distance <=
/// out`). Debug builds (the tests and the fuzz targets) assert every access, in [`load`] and
/// [`UncheckedDst`].
#[inline(always)]
fn decode_fast(
    src: &[u8],
    dst: &mut [u8],
    (mut control, mut at, mut out): PacketStart,
) -> PacketStart {
    let (Some(last_at), Some(last_out)) = (
        src.len().checked_sub(SRC_MARGIN),
        dst.len().checked_sub(DST_MARGIN),
    ) else {
        return (control, at, out);
    };
    let mut dst = UncheckedDst::new(dst);
    while at <= last_at && out <= last_out {
        if control < 32 {
            // SAFETY: `SRC_MARGIN` bytes lie at `at` and `DST_MARGIN` at `out`.
            (control, at, out) = unsafe { literals(src, &mut dst, (control, at, out)) };
            if control < 32 {
                continue;
            }
        }
        // Literals took at most 33 bytes of `src` and 32 of `dst`.
        let next = if control >> 5 != MAX_LENGTH_CODE {
            // SAFETY: at `at` lie `SRC_MARGIN - 33` (`MATCH_MARGIN`) bytes, at `out` `DST_MARGIN -
            // 32` (8).
            unsafe { short_match(src, &mut dst, (control, at, out)) }
        } else {
            // SAFETY: as above.
            unsafe { long_match(src, &mut dst, (control, at, out)) }
        };
        let Some(next) = next else { break };
        (control, at, out) = next;
    }
    (control, at, out)
}

/// Copies the literals of a packet. Returns where the next packet begins.
///
/// # Safety
/// `control < 32`, `SRC_MARGIN` bytes of `src` lie at `at`, and `DST_MARGIN` bytes of `dst` at
/// `out`.
#[inline(always)]
unsafe fn literals(
    src: &[u8],
    dst: &mut UncheckedDst,
    (control, at, out): PacketStart,
) -> PacketStart {
    // SAFETY: both margins are more than 32 (# Safety).
    unsafe {
        let (first, last) = (load::<Bytes16>(src, at), load::<Bytes16>(src, at + 16));
        dst.store(out, first);
        dst.store(out + 16, last);
    }
    let n = usize::from(control) + 1;
    // SAFETY: `n` is at most 32, which is less than `SRC_MARGIN`.
    (unsafe { load(src, at + n) }, at + n + 1, out + n)
}

/// Copies a match of at most eight bytes. Returns where the next packet begins, or none if the
/// match begins before the data.
///
/// # Safety
/// `control` is that of such a match, `MATCH_MARGIN` bytes of `src` lie at `at`, and eight bytes of
/// `dst` at `out`.
#[inline(always)]
unsafe fn short_match(
    src: &[u8],
    dst: &mut UncheckedDst,
    (control, at, out): PacketStart,
) -> Option<PacketStart> {
    // SAFETY: the first two of the `MATCH_MARGIN` bytes.
    let [first, second] = unsafe { load::<[u8; 2]>(src, at) };
    // SAFETY: `MATCH_MARGIN` is 5, so two bytes lie at `at + 2`.
    let (distance, next, at) =
        unsafe { whole_distance(src, near_distance(control, first), second, at + 2) };
    if distance > out {
        return None;
    }
    // SAFETY: `distance <= out`, and eight bytes lie at `out` (# Safety).
    unsafe {
        // One store writes the match. For a distance below eight the bytes are replicated.
        let (eight, _) = replicate(u64::from_le(dst.load(out - distance)), distance.min(8));
        dst.store(out, eight.to_le());
    }
    Some((next, at, out + usize::from(control >> 5) + 2))
}

/// Copies a match with one extra length byte. Returns where the next packet begins, or none if the
/// match is unusual or near the end of `dst`.
///
/// # Safety
/// `control` is that of such a match, and `MATCH_MARGIN` bytes of `src` lie at `at`.
#[inline(always)]
unsafe fn long_match(
    src: &[u8],
    dst: &mut UncheckedDst,
    (control, at, out): PacketStart,
) -> Option<PacketStart> {
    // SAFETY: the first three of the `MATCH_MARGIN` bytes.
    let [extra, first] = unsafe { load::<[u8; 2]>(src, at) };
    // SAFETY: as above.
    let second = unsafe { load::<u8>(src, at + 2) };
    // SAFETY: `MATCH_MARGIN` is 5, so two bytes lie at `at + 3`.
    let (distance, next, at) =
        unsafe { whole_distance(src, near_distance(control, first), second, at + 3) };
    let len = usize::from(MAX_LENGTH_CODE) + 2 + usize::from(extra);
    if extra == 255 || distance > out || out + len + MATCH_OVERRUN > dst.len() {
        return None;
    }
    // SAFETY: the check above says that `distance <= out`, and that `MATCH_OVERRUN` bytes lie
    // behind the match. `near_distance` is at least 1.
    unsafe { dst.repeat(out, distance, out + len) };
    Some((next, at, out + len))
}

/// Reads the rest of a far distance. `near` is the distance of the first byte, `second` the byte
/// behind that, and `at` the position behind `second`. Returns the distance, and the next packet's
/// control byte and the position behind it.
///
/// # Safety
/// Two bytes of `src` lie at `at`.
#[inline(always)]
unsafe fn whole_distance(src: &[u8], near: usize, second: u8, at: usize) -> (usize, u8, usize) {
    if near <= FAR {
        return (near, second, at);
    }
    cold_path();
    // SAFETY: two bytes lie there (# Safety).
    let [low, next] = unsafe { load::<[u8; 2]>(src, at) };
    let far = usize::from(u16::from_be_bytes([second, low]));
    (near + far, next, at + 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::blosclz::WINDOW;
    use crate::tests::Numbers;

    /// The format byte by byte.
    fn model(src: &[u8], capacity: usize) -> Result<Vec<u8>> {
        let mut src = src.iter().copied();
        let mut out = Vec::new();
        let mut control = src.next().map(|first| first & 31);
        while let Some(byte) = control {
            let mut next = || src.next().map(usize::from).ok_or(Error::DATA);
            if byte < 32 {
                for _ in 0..=byte {
                    out.push(next()? as u8);
                }
            } else {
                let mut len = usize::from(byte >> 5) + 2;
                let mut more = if byte >> 5 == 7 { 255 } else { 0 };
                while more == 255 {
                    more = next()?;
                    len += more;
                }
                let mut distance = (usize::from(byte & 31) << 8) + next()? + 1;
                if distance > FAR {
                    distance += next()? << 8;
                    distance += next()?;
                }
                if len > capacity.saturating_sub(out.len()) {
                    return Err(Error::DATA);
                }
                for _ in 0..len {
                    let from = out.len().checked_sub(distance).ok_or(Error::DATA)?;
                    out.push(out[from]);
                }
            }
            if out.len() > capacity {
                return Err(Error::DATA);
            }
            control = src.next();
        }
        Ok(out)
    }

    /// Packets of all kinds, and the length of their data.
    fn packets(rng: &mut Numbers) -> (Vec<u8>, usize) {
        let (mut stream, mut len) = (Vec::new(), 0);
        for _ in 0..1 + rng.below(2000) {
            let farthest = len.min(WINDOW - 1);
            if farthest == 0 || rng.below(2) == 0 {
                let n = 1 + rng.below(MAX_LITERALS);
                stream.push(n as u8 - 1);
                stream.extend((0..n).map(|_| rng.next() as u8));
                len += n;
                continue;
            }
            let distance = 1 + match rng.below(4) {
                0 => rng.below(farthest.min(16)),
                1 => rng.below(farthest.min(300)),
                _ => rng.below(farthest),
            };
            let near = (distance - 1).min(FAR);
            let code = if rng.below(2) == 0 {
                7
            } else {
                1 + rng.below(6)
            };
            stream.push((code << 5 | near >> 8) as u8);
            len += code + 2;
            if code == 7 {
                let most = [30, 700][rng.below(2)];
                let mut more = rng.below(most);
                len += more;
                while more >= 255 {
                    stream.push(255);
                    more -= 255;
                }
                stream.push(more as u8);
            }
            stream.push(near as u8);
            if near == FAR {
                stream.extend(((distance - 1 - FAR) as u16).to_be_bytes());
            }
        }
        (stream, len)
    }

    #[test]
    fn streams_are_decoded_and_refused_as_the_format_says() {
        let mut rng = Numbers(31);
        let (mut good, mut bad) = (0, 0);
        for round in 0..1500 {
            let (mut stream, len) = packets(&mut rng);
            let mut capacity = len;
            match round % 4 {
                0 => {}
                1 => stream.truncate(rng.below(stream.len())),
                2 => capacity = rng.below(len + 100),
                _ => {
                    for _ in 0..1 + rng.below(5) {
                        let at = rng.below(stream.len());
                        stream[at] = rng.next() as u8;
                    }
                }
            }
            let mut dst = vec![0; capacity];
            let result = decompress(&stream, &mut dst).map(|n| dst[..n].to_vec());
            good += usize::from(result.is_ok());
            bad += usize::from(result.is_err());
            assert!(result == model(&stream, capacity), "round {round}");
        }
        assert!(good > 400 && bad > 400, "{good} {bad}");
    }
}
