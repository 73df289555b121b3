//! Loads, comparisons and copies of literals and matches, all bounds-checked, for several LZ77
//! codecs.

/// The largest step of the fixed-size copies, in bytes.
const STEP: usize = 32;
/// Up to this length a match is copied in fixed steps; a longer one with `copy_within`.
const MAX_STEPWISE: usize = 64;
/// The same limit for distances of 1, 2, 4 and 8. It is higher because their steps only store a
/// pattern, without a load.
const MAX_STEPWISE_PATTERN: usize = 512;

/// The `N` bytes at `at`; `None` if there are fewer. It compares `at` with `len - N` instead of
/// `at + N` with `len`, because the compiler moves that subtraction out of loops.
#[inline(always)]
pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    match bytes.len().checked_sub(N) {
        Some(last) if at <= last => bytes[at..].first_chunk(),
        _ => None,
    }
}

/// Like [`array_at`], but mutable.
#[inline(always)]
pub(super) fn array_at_mut<const N: usize>(bytes: &mut [u8], at: usize) -> Option<&mut [u8; N]> {
    match bytes.len().checked_sub(N) {
        Some(last) if at <= last => bytes[at..].first_chunk_mut(),
        _ => None,
    }
}

/// Copies the `N` bytes at `from` to `to`, or nothing if either is out of bounds.
#[inline(always)]
fn copy_step<const N: usize>(bytes: &mut [u8], from: usize, to: usize) {
    if let Some(&block) = array_at::<N>(bytes, from)
        && let Some(target) = array_at_mut::<N>(bytes, to)
    {
        *target = block;
    }
}

/// The four bytes at `at` as a little-endian integer; 0 if there are fewer.
#[inline(always)]
pub(super) fn read4(bytes: &[u8], at: usize) -> u32 {
    array_at(bytes, at).map_or(0, |four| u32::from_le_bytes(*four))
}

/// The eight bytes at `at` as a little-endian integer; 0 if there are fewer.
#[inline(always)]
pub(super) fn read8(bytes: &[u8], at: usize) -> u64 {
    array_at(bytes, at).map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// The length of the match between `src[at..limit]` and `src[from..]`, whose first `known` bytes
/// are known to match. Requires `from < at` and `at + known <= limit <= src.len()`.
#[inline(always)]
pub(super) fn match_len(src: &[u8], at: usize, from: usize, limit: usize, known: usize) -> usize {
    let now = &src[at..limit];
    let earlier = &src[from..from + now.len()];
    let mut n = known;
    while let (Some(x), Some(y)) = (array_at::<8>(now, n), array_at::<8>(earlier, n)) {
        let xor = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if xor != 0 {
            return n + (xor.trailing_zeros() / 8) as usize;
        }
        n += 8;
        // A match longer than the first step is probably much longer, so larger steps pay.
        while let (Some(x), Some(y)) = (array_at::<32>(now, n), array_at::<32>(earlier, n))
            && x == y
        {
            n += 32;
        }
    }
    while n < now.len() && now[n] == earlier[n] {
        n += 1;
    }
    n
}

/// Copies all of `from` to the start of `to`, which must be at least as long. Up to 16 bytes are
/// copied without a call of `memcpy`.
#[inline(always)]
pub(super) fn copy_all(from: &[u8], to: &mut [u8]) {
    let to = &mut to[..from.len()];
    if from.len() > 16 {
        to.copy_from_slice(from);
    } else if !copy_both_ends::<8>(from, to) && !copy_both_ends::<4>(from, to) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
    }
}

/// Copies the first `N` and the last `N` bytes of `from`: all of it if its length is `N` to `2 *
/// N`. Returns false and copies nothing if there are fewer than `N` bytes. Both slices must have
/// the same length.
#[inline(always)]
fn copy_both_ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    if let (Some(&first), Some(&last)) = (from.first_chunk::<N>(), from.last_chunk::<N>())
        && let Some(target) = to.first_chunk_mut()
    {
        *target = first;
        if let Some(target) = to.last_chunk_mut() {
            *target = last;
        }
        return true;
    }
    false
}

/// Copies a match: `len` bytes from `out - distance` to `out`, as if byte by byte, since the two
/// may overlap. Requires `1 <= distance <= out` and `out + len <= dst.len()`. Bytes past `out +
/// len` may be overwritten.
#[inline(always)]
pub(super) fn copy_match(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let head = len.min(MAX_STEPWISE);
    if head + STEP > dst.len() - out || (distance == 1 && len > MAX_STEPWISE_PATTERN) {
        return copy_match_exact(dst, out, distance, len, 0);
    }
    let from = out - distance;
    let mut done = 0;
    if distance >= 16 {
        // Most matches take no more than two steps, so there is no branch between them.
        while done < head {
            copy_step::<16>(dst, from + done, out + done);
            copy_step::<16>(dst, from + done + 16, out + done + 16);
            done += 32;
        }
    } else if distance == 1 {
        let block = [dst[from]; STEP];
        while done < len
            && let Some(target) = array_at_mut(dst, out + done)
        {
            *target = block;
            done += STEP;
        }
    } else if distance >= 8 {
        while done < head {
            copy_step::<8>(dst, from + done, out + done);
            done += 8;
        }
    } else {
        // The pattern is built once in a register and stored repeatedly, so that no step loads what
        // the step before stored.
        let (pattern, whole) = replicate(read8(dst, from), distance);
        if whole == 8 {
            let eight = pattern.to_le_bytes();
            let mut block = [0; STEP];
            for part in block.chunks_exact_mut(8) {
                part.copy_from_slice(&eight);
            }
            let most = len.min(MAX_STEPWISE_PATTERN);
            while done < most
                && let Some(target) = array_at_mut(dst, out + done)
            {
                *target = block;
                done += STEP;
            }
        } else {
            while done < head {
                if let Some(target) = array_at_mut(dst, out + done) {
                    *target = pattern.to_le_bytes();
                }
                done += whole;
            }
        }
    }
    if done < len {
        copy_match_exact(dst, out, distance, len, done);
    }
}

/// For each distance up to 8: the mask of a pattern of that many bytes, the multiplier that
/// replicates it over eight bytes, and how many of the eight hold whole repetitions.
const PATTERNS: [(u64, u64, usize); 9] = {
    let mut patterns = [(u64::MAX, 1, 8); 9];
    let mut distance = 1;
    while distance < 8 {
        let mut repeat = 0;
        let mut at = 0;
        while at < 8 {
            repeat |= 1 << (8 * at);
            at += distance;
        }
        patterns[distance] = ((1 << (8 * distance)) - 1, repeat, 8 - 8 % distance);
        distance += 1;
    }
    patterns
};

/// Replicates the lowest `distance` bytes (at most 8) of `eight` over eight bytes. Also returns how
/// many of the eight hold whole repetitions: that many bytes further the pattern begins again.
#[inline(always)]
pub(super) fn replicate(eight: u64, distance: usize) -> (u64, usize) {
    let (mask, repeat, whole) = PATTERNS[distance];
    ((eight & mask).wrapping_mul(repeat), whole)
}

/// Like [`copy_match`] for long matches and near the end of `dst`: writes nothing past the match.
/// Its first `done` bytes are copied already. Each round copies all that is there of the repeated
/// bytes, so the size of the copies doubles.
fn copy_match_exact(dst: &mut [u8], out: usize, distance: usize, len: usize, done: usize) {
    if len <= MAX_STEPWISE {
        return copy_match_near_end(dst, out, distance, len);
    }
    let from = out - distance;
    if distance == 1 {
        let byte = dst[from];
        dst[out..out + len].fill(byte);
        return;
    }
    let mut done = done - done % distance;
    while done < len {
        let n = (distance + done).min(len - done);
        dst.copy_within(from..from + n, out + done);
        done += n;
    }
}

/// Like [`copy_match_exact`] for short matches: steps of eight bytes as long as they fit, then
/// single bytes.
#[inline(always)]
fn copy_match_near_end(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let from = out - distance;
    let mut done = 0;
    if distance >= 8 {
        while done < len && dst.len() - out - done >= 8 {
            copy_step::<8>(dst, from + done, out + done);
            done += 8;
        }
    } else if let Some(&eight) = array_at::<8>(dst, from) {
        let (pattern, whole) = replicate(u64::from_le_bytes(eight), distance);
        while done < len
            && let Some(target) = array_at_mut(dst, out + done)
        {
            *target = pattern.to_le_bytes();
            done += whole;
        }
    }
    for i in done..len {
        dst[out + i] = dst[from + i];
    }
}
