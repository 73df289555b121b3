//! Repeating what was just written: the one thing every LZ77 decoder does all day.

/// What fixed-size copies move at once, at most.
pub(super) const STEP: usize = 32;
/// Matches longer than this are not copied in steps ...
const LONG: usize = 64;
/// ... but those of one, two, four or eight bytes up to this: their steps load nothing.
const LONG_REPEATED: usize = 512;

/// The `N` bytes at `at`, where there are so many. Asked this way round, the one comparison is with a number that does
/// not change in a loop.
#[inline(always)]
pub(super) fn chunk<const N: usize>(bytes: &[u8], at: usize) -> Option<&[u8; N]> {
    match bytes.len().checked_sub(N) {
        Some(last) if at <= last => bytes[at..].first_chunk(),
        _ => None,
    }
}

/// The same, to write to.
#[inline(always)]
pub(super) fn chunk_mut<const N: usize>(bytes: &mut [u8], at: usize) -> Option<&mut [u8; N]> {
    match bytes.len().checked_sub(N) {
        Some(last) if at <= last => bytes[at..].first_chunk_mut(),
        _ => None,
    }
}

/// Copies `N` bytes that lie before `to` there; nothing where there is no room.
#[inline(always)]
fn step<const N: usize>(bytes: &mut [u8], from: usize, to: usize) {
    if let Some(&block) = chunk::<N>(bytes, from)
        && let Some(room) = chunk_mut::<N>(bytes, to)
    {
        *room = block;
    }
}

/// The four bytes at `at`, as a number whose lowest byte is the first; 0 where there are less.
#[inline(always)]
pub(super) fn read4(bytes: &[u8], at: usize) -> u32 {
    chunk(bytes, at).map_or(0, |four| u32::from_le_bytes(*four))
}

/// The eight bytes at `at`, as a number whose lowest byte is the first; 0 where there are less.
#[inline(always)]
pub(super) fn read8(bytes: &[u8], at: usize) -> u64 {
    chunk(bytes, at).map_or(0, |eight| u64::from_le_bytes(*eight))
}

/// How many bytes of `src[ahead..limit]` agree with those from `behind` on, given that the first `known` do. `behind`
/// is less than `ahead`, and `ahead + known` at most `limit`, which is at most `src.len()`.
#[inline(always)]
pub(super) fn match_len(
    src: &[u8],
    ahead: usize,
    behind: usize,
    limit: usize,
    known: usize,
) -> usize {
    let ahead = &src[ahead..limit];
    let behind = &src[behind..behind + ahead.len()];
    let mut n = known;
    while let (Some(x), Some(y)) = (chunk::<8>(ahead, n), chunk::<8>(behind, n)) {
        let diff = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if diff != 0 {
            return n + (diff.trailing_zeros() / 8) as usize;
        }
        n += 8;
        // Past a first step, the match is likely a long one.
        while let (Some(x), Some(y)) = (chunk::<32>(ahead, n), chunk::<32>(behind, n))
            && x == y
        {
            n += 32;
        }
    }
    while n < ahead.len() && ahead[n] == behind[n] {
        n += 1;
    }
    n
}

/// Copies all of `from` to the start of `to`, which is as long at least; what is short in one or two steps.
#[inline(always)]
pub(super) fn copy_all(from: &[u8], to: &mut [u8]) {
    let to = &mut to[..from.len()];
    if from.len() > 16 {
        to.copy_from_slice(from);
    } else if !ends::<8>(from, to) && !ends::<4>(from, to) {
        for (to, from) in to.iter_mut().zip(from) {
            *to = *from;
        }
    }
}

/// Copies the first and the last `N` bytes of `from`; says whether there are so many.
#[inline(always)]
fn ends<const N: usize>(from: &[u8], to: &mut [u8]) -> bool {
    if let (Some(&first), Some(&last)) = (from.first_chunk::<N>(), from.last_chunk::<N>())
        && let Some(room) = to.first_chunk_mut()
    {
        *room = first;
        if let Some(room) = to.last_chunk_mut() {
            *room = last;
        }
        return true;
    }
    false
}

/// Repeats at `out` the bytes from `distance` before it, `len` of them. `distance` is 1..=`out`, and `out + len` at
/// most `dst.len()`; bytes behind `out + len` may be overwritten too.
#[inline(always)]
pub(super) fn copy_match(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let head = len.min(LONG);
    if head + STEP > dst.len() - out || (distance == 1 && len > LONG_REPEATED) {
        return repeat_exactly(dst, out, distance, len, 0);
    }
    let from = out - distance;
    let mut done = 0;
    if distance >= 16 {
        // Two steps at once: most matches need no more, and no branch is spent on it.
        while done < head {
            step::<16>(dst, from + done, out + done);
            step::<16>(dst, from + done + 16, out + done + 16);
            done += 32;
        }
    } else if distance == 1 {
        let block = [dst[from]; STEP];
        while done < len
            && let Some(room) = chunk_mut(dst, out + done)
        {
            *room = block;
            done += STEP;
        }
    } else if distance >= 8 {
        while done < head {
            step::<8>(dst, from + done, out + done);
            done += 8;
        }
    } else {
        // The pattern is made once and written over and over, so that no step waits for the one before.
        let (pattern, whole) = repeated(read8(dst, from), distance);
        if whole == 8 {
            let eight = pattern.to_le_bytes();
            let mut block = [0; STEP];
            for part in block.chunks_exact_mut(8) {
                part.copy_from_slice(&eight);
            }
            let most = len.min(LONG_REPEATED);
            while done < most
                && let Some(room) = chunk_mut(dst, out + done)
            {
                *room = block;
                done += STEP;
            }
        } else {
            while done < head {
                if let Some(room) = chunk_mut(dst, out + done) {
                    *room = pattern.to_le_bytes();
                }
                done += whole;
            }
        }
    }
    if done < len {
        repeat_exactly(dst, out, distance, len, done);
    }
}

/// For distances up to 8: which bits of eight bytes are the pattern, what they are multiplied by to fill all eight, and
/// how many of these are whole repetitions.
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

/// Eight bytes that repeat the first `distance` of `eight`, at most 8, the first byte lowest; and how many of them are
/// whole repetitions.
#[inline(always)]
pub(super) fn repeated(eight: u64, distance: usize) -> (u64, usize) {
    let (mask, repeat, whole) = PATTERNS[distance];
    ((eight & mask).wrapping_mul(repeat), whole)
}

/// What [`copy_match`] does, from `done` bytes on and without a byte too much, for long matches, or near the end: what is there already is
/// copied as a whole, so that there is twice as much to copy each time.
fn repeat_exactly(dst: &mut [u8], out: usize, distance: usize, len: usize, done: usize) {
    if len <= LONG {
        return repeat_near_end(dst, out, distance, len);
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

/// The same for short matches, in steps of eight bytes as long as there is room for them.
#[inline(always)]
fn repeat_near_end(dst: &mut [u8], out: usize, distance: usize, len: usize) {
    let from = out - distance;
    let mut done = 0;
    if distance >= 8 {
        while done < len && dst.len() - out - done >= 8 {
            step::<8>(dst, from + done, out + done);
            done += 8;
        }
    } else if let Some(&eight) = chunk::<8>(dst, from) {
        let (pattern, whole) = repeated(u64::from_le_bytes(eight), distance);
        while done < len
            && let Some(room) = chunk_mut(dst, out + done)
        {
            *room = pattern.to_le_bytes();
            done += whole;
        }
    }
    for i in done..len {
        dst[out + i] = dst[from + i];
    }
}
