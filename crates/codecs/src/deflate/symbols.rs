//! The symbols of a block, packed into integers, and the codes for lengths and distances (RFC
//! 1951, 3.2.5).

/// The length of the shortest match.
pub(super) const MIN_MATCH: usize = 3;
/// The length of the longest match.
pub(super) const MAX_MATCH: usize = 258;
/// The code for the end of a block.
pub(super) const END_BLOCK: usize = 256;
/// The first code for lengths.
pub(super) const FIRST_LENGTH: usize = 257;
/// The number of codes for literals and lengths.
pub(super) const LITERAL_CODES: usize = 286;
/// The number of codes for distances.
pub(super) const DISTANCE_CODES: usize = 30;

// A symbol is packed into 32 bits. The lowest `DISTANCE_SHIFT` bits are a literal, or `END_BLOCK`
// plus the length of a match less `MIN_MATCH`. Above them is the distance less one, and from
// `DISTANCE_CODE_SHIFT` on the code for the distance; `NO_DISTANCE` for a literal.
pub(super) const DISTANCE_SHIFT: u32 = 9;
pub(super) const LITERAL_MASK: u32 = (1 << DISTANCE_SHIFT) - 1;
pub(super) const DISTANCE_CODE_SHIFT: u32 = 25;
pub(super) const NO_DISTANCE: usize = 31;

/// The code for a length, counted from `FIRST_LENGTH`, and the number of its extra bits. `len` is
/// the length less `MIN_MATCH`.
pub(super) const fn length_code(len: u32) -> (usize, u32) {
    match len {
        0..8 => (len as usize, 0),
        255 => (28, 0),
        _ => {
            let bits = len.ilog2() - 2;
            ((4 * (bits + 1) + (len >> bits & 3)) as usize, bits)
        }
    }
}

/// The code for a distance. `distance` is the distance less one.
#[inline(always)]
pub(super) const fn distance_code(distance: u32) -> usize {
    if distance < 4 {
        distance as usize
    } else {
        let top = 31 - distance.leading_zeros();
        (2 * top + (distance >> (top - 1) & 1)) as usize
    }
}

/// The number of extra bits of a distance code.
pub(super) const fn distance_extra_bits(code: usize) -> u32 {
    if code < 4 { 0 } else { code as u32 / 2 - 1 }
}

/// The packed symbol of a match of `MIN_MATCH..=MAX_MATCH` bytes, and its distance code.
#[inline(always)]
pub(super) fn match_symbol(len: usize, distance: usize) -> (u32, usize) {
    let distance = distance as u32 - 1;
    let code = distance_code(distance) % (DISTANCE_CODES + 2);
    let low = (END_BLOCK + len - MIN_MATCH) as u32;
    (
        (code as u32) << DISTANCE_CODE_SHIFT | distance << DISTANCE_SHIFT | low,
        code,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_those_of_the_format() {
        // The first length and the first distance of each code (RFC 1951, 3.2.5).
        let first_lengths = [
            3, 4, 5, 6, 7, 8, 9, 10, 11, 13, 15, 17, 19, 23, 27, 31, 35, 43, 51, 59, 67, 83, 99,
            115, 131, 163, 195, 227, 258,
        ];
        let first_distances = [
            1, 2, 3, 4, 5, 7, 9, 13, 17, 25, 33, 49, 65, 97, 129, 193, 257, 385, 513, 769, 1025,
            1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385, 24577,
        ];
        for len in MIN_MATCH..=MAX_MATCH {
            let (code, bits) = length_code((len - MIN_MATCH) as u32);
            let begin = first_lengths.iter().rposition(|first| *first <= len);
            assert_eq!(Some(code), begin, "{len}");
            let low = (len - MIN_MATCH) & ((1 << bits) - 1);
            assert_eq!(first_lengths[code] + low, len);
        }
        for distance in 1..=1 << 15 {
            let code = distance_code(distance - 1);
            let begin = first_distances.iter().rposition(|first| *first <= distance);
            assert_eq!(Some(code), begin, "{distance}");
            let low = (distance - 1) & ((1 << distance_extra_bits(code)) - 1);
            assert_eq!(first_distances[code] + low, distance);
        }
    }
}
