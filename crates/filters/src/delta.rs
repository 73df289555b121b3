//! Delta: XORs every block with the first block of its chunk. In the first block each unit is XORed
//! with the previous one.
//!
//! A unit is an element if that has 1, 2, 4 or 8 bytes. For other type sizes a unit has 8 bytes if
//! the size is a multiple of 8, else one byte. Bytes after the last whole unit are copied.

/// The size of the unit for `typesize`.
fn unit(typesize: usize) -> usize {
    match typesize {
        2 | 4 | 8 => typesize,
        _ if typesize != 0 && typesize.is_multiple_of(8) => 8,
        _ => 1,
    }
}

/// The total size of the whole units in `len` bytes.
fn whole_units(typesize: usize, len: usize) -> usize {
    len / unit(typesize) * unit(typesize)
}

/// Encodes the first block of a chunk, `src`, into the first `src.len()` bytes of `dst`: each unit
/// is XORed with the previous one.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn encode_first(typesize: usize, src: &[u8], dst: &mut [u8]) {
    let whole = whole_units(typesize, src.len());
    let unit = unit(typesize).min(whole);
    let dst = &mut dst[..src.len()];
    dst[..unit].copy_from_slice(&src[..unit]);
    xor(&src[unit..whole], src, &mut dst[unit..whole]);
    dst[whole..].copy_from_slice(&src[whole..]);
}

/// Encodes a block other than the first, `src`, into the first `src.len()` bytes of `dst`: each
/// byte is XORed with the one at the same position of `reference`, the unfiltered first block.
/// Bytes past the end of `reference` are copied.
///
/// # Panics
/// If `dst` is shorter than `src`.
pub fn encode(typesize: usize, reference: &[u8], src: &[u8], dst: &mut [u8]) {
    let whole = whole_units(typesize, src.len()).min(reference.len());
    let dst = &mut dst[..src.len()];
    xor(&src[..whole], reference, &mut dst[..whole]);
    dst[whole..].copy_from_slice(&src[whole..]);
}

/// Decodes the first block of a chunk in place.
pub fn decode_first(typesize: usize, block: &mut [u8]) {
    let whole = whole_units(typesize, block.len());
    let whole = &mut block[..whole];
    match unit(typesize) {
        1 => decode_units::<1>(whole),
        2 => decode_units::<2>(whole),
        4 => decode_units::<4>(whole),
        _ => decode_units::<8>(whole),
    }
}

/// Decodes a block other than the first in place. `reference` is the decoded first block.
pub fn decode(typesize: usize, reference: &[u8], block: &mut [u8]) {
    let whole = whole_units(typesize, block.len());
    xor_with(&mut block[..whole], reference);
}

/// `to[i] = a[i] ^ b[i]`, up to the end of the shortest slice.
fn xor(a: &[u8], b: &[u8], to: &mut [u8]) {
    for (to, (a, b)) in to.iter_mut().zip(a.iter().zip(b)) {
        *to = a ^ b;
    }
}

/// `to[i] ^= from[i]`, up to the end of the shorter slice.
fn xor_with(to: &mut [u8], from: &[u8]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to ^= from;
    }
}

/// Undoes the XOR of each unit of `U` bytes with the previous one: a prefix XOR, computed 8 bytes
/// at a time.
fn decode_units<const U: usize>(block: &mut [u8]) {
    let mut last = 0_u64;
    let (words, rest) = block.as_chunks_mut::<8>();
    for word in words {
        let mut x = u64::from_le_bytes(*word);
        let mut shift = 8 * U as u32;
        while shift < 64 {
            x ^= x << shift;
            shift *= 2;
        }
        x ^= last;
        *word = x.to_le_bytes();
        last = repeat_top::<U>(x);
    }
    let mut previous = [0; U];
    previous.copy_from_slice(&last.to_le_bytes()[..U]);
    for unit in rest.as_chunks_mut::<U>().0 {
        xor_with(unit, &previous);
        previous = *unit;
    }
}

/// A word filled with the topmost unit of `x`.
fn repeat_top<const U: usize>(x: u64) -> u64 {
    match U {
        1 => (x >> 56) * 0x0101_0101_0101_0101,
        2 => (x >> 48) * 0x0001_0001_0001_0001,
        4 => (x >> 32) * 0x0000_0001_0000_0001,
        _ => x,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The definition, unit by unit: `reference` is `None` for the first block.
    fn expected(typesize: usize, reference: Option<&[u8]>, src: &[u8]) -> Vec<u8> {
        let unit = match typesize {
            2 | 4 | 8 => typesize,
            16 | 24 | 40 => 8,
            _ => 1,
        };
        let whole = src.len() - src.len() % unit;
        (0..src.len())
            .map(|i| match reference {
                _ if i >= whole => src[i],
                Some(reference) => src[i] ^ reference[i],
                None if i < unit => src[i],
                None => src[i] ^ src[i - unit],
            })
            .collect()
    }

    #[test]
    fn encodes_as_defined_and_decodes_back() {
        let bytes: Vec<u8> = (0..700_u32).map(|i| (i * i * 7 + i / 3) as u8).collect();
        for typesize in [0, 1, 2, 3, 4, 5, 7, 8, 12, 16, 24, 40, 255] {
            for len in (0..80).chain([255, 256, 257, 300]) {
                let (reference, src) = (&bytes[..300], &bytes[333..333 + len]);
                let mut out = vec![0xee; len + 3];

                encode_first(typesize, src, &mut out);
                assert_eq!(
                    out[..len],
                    expected(typesize, None, src),
                    "{typesize} {len}"
                );
                decode_first(typesize, &mut out[..len]);
                assert_eq!(out[..len], *src, "{typesize} {len}");

                encode(typesize, reference, src, &mut out);
                assert_eq!(out[..len], expected(typesize, Some(reference), src));
                decode(typesize, reference, &mut out[..len]);
                assert_eq!(out[..len], *src, "{typesize} {len}");
                assert_eq!(out[len..], [0xee; 3]);
            }
        }
    }

    #[test]
    fn a_short_reference_leaves_the_rest_as_it_is() {
        let mut block = [1, 2, 3, 4];
        decode(1, &[1, 1], &mut block);
        assert_eq!(block, [0, 3, 3, 4]);
        let mut out = [0; 4];
        encode(1, &[1, 1], &[1, 2, 3, 4], &mut out);
        assert_eq!(out, block);
    }
}
