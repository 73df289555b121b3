//! Codes of as few bits as can be for symbols of known frequencies (RFC 1951, 3.2.2).

/// The symbols of the largest alphabet: bytes, the end of a block, lengths, and two that are never used.
pub(super) const MOST_SYMBOLS: usize = 288;
/// The bits of the longest code.
const LONGEST: usize = 15;

/// Chooses for each symbol the length of its code, 0 for those that do not occur, at most `limit` bits. A code with
/// fewer than two symbols gets others, since not every decoder takes one that leaves something undefined.
pub(super) fn lengths(frequencies: &[u32], limit: usize, lengths: &mut [u8]) {
    lengths.fill(0);
    // Those that occur, with their frequency above, so that they can be put into order.
    let mut leaves = [0u32; MOST_SYMBOLS];
    let mut n = 0;
    for (symbol, &frequency) in frequencies.iter().enumerate() {
        if frequency > 0 {
            leaves[n] = frequency << 9 | symbol as u32;
            n += 1;
        }
    }
    if n < 2 {
        let only = (leaves[0] & 511) as usize;
        lengths[only] = 1;
        lengths[usize::from(only == 0)] = 1;
        return;
    }
    let leaves = &mut leaves[..n];
    leaves.sort_unstable();
    let mut counts = counts(leaves);
    shorten(&mut counts, limit);
    // The rarest have the longest codes.
    let mut rarest = leaves.iter();
    for len in (1..=limit).rev() {
        for leaf in rarest.by_ref().take(counts[len] as usize) {
            lengths[(leaf & 511) as usize] = len as u8;
        }
    }
}

/// How many codes of each length the best code has, for two symbols at least, in order of their frequency.
fn counts(leaves: &[u32]) -> [u32; MOST_SYMBOLS] {
    let n = leaves.len();
    // The pairs, in the order in which they are made, which is that of their frequency; then of each the pair it is in.
    let mut frequency = [0u32; MOST_SYMBOLS];
    let mut inside = [0u16; MOST_SYMBOLS];
    let mut of_leaf = [0u16; MOST_SYMBOLS];
    let (mut leaf, mut pair) = (0, 0);
    for made in 0..n - 1 {
        for _ in 0..2 {
            let lighter_leaf = leaf < n && (pair == made || leaves[leaf] >> 9 <= frequency[pair]);
            if lighter_leaf {
                frequency[made] += leaves[leaf] >> 9;
                of_leaf[leaf] = made as u16;
                leaf += 1;
            } else {
                frequency[made] += frequency[pair];
                inside[pair] = made as u16;
                pair += 1;
            }
        }
    }
    // From the last pair, which has all of them, down.
    let mut depth = [0u16; MOST_SYMBOLS];
    for pair in (0..n - 2).rev() {
        depth[pair] = depth[usize::from(inside[pair])] + 1;
    }
    let mut counts = [0; MOST_SYMBOLS];
    for pair in &of_leaf[..n] {
        counts[usize::from(depth[usize::from(*pair)]) + 1] += 1;
    }
    counts
}

/// Makes codes longer than `limit` as long as that, and shorter ones longer for it, until there is room for all of them.
fn shorten(counts: &mut [u32; MOST_SYMBOLS], limit: usize) {
    let (kept, longer) = counts.split_at_mut(limit + 1);
    kept[limit] += longer.iter().sum::<u32>();
    longer.fill(0);
    let whole = 1u32 << limit;
    let share = |len: usize| 1u32 << (limit - len);
    let mut taken: u32 = (1..=limit).map(|len| kept[len] * share(len)).sum();
    while taken > whole {
        // The longest of the others loses the least.
        let len = (1..limit)
            .rev()
            .find(|len| kept[*len] > 0)
            .expect("codes of the greatest length alone have room");
        kept[len] -= 1;
        kept[len + 1] += 1;
        taken -= share(len + 1);
    }
    // What is left over goes to the longest.
    while taken < whole {
        let len = (2..=limit)
            .find(|len| kept[*len] > 0 && share(*len) <= whole - taken)
            .expect("a code of the greatest length takes what is left");
        kept[len] -= 1;
        kept[len - 1] += 1;
        taken += share(len);
    }
}

/// The codes of these lengths, each with its first bit lowest.
pub(super) fn codes(lengths: &[u8]) -> [u16; MOST_SYMBOLS] {
    let mut counts = [0u16; LONGEST + 1];
    for &len in lengths {
        counts[usize::from(len)] += 1;
    }
    counts[0] = 0;
    let mut next = [0u16; LONGEST + 1];
    for len in 1..=LONGEST {
        next[len] = (next[len - 1] + counts[len - 1]) << 1;
    }
    let mut codes = [0; MOST_SYMBOLS];
    for (code, &len) in codes.iter_mut().zip(lengths) {
        if len > 0 {
            let next = &mut next[usize::from(len)];
            *code = next.reverse_bits() >> (16 - len);
            *next = next.wrapping_add(1);
        }
    }
    codes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the best code takes: two of the lightest are put together until all are.
    fn least_bits(frequencies: &[u32]) -> u64 {
        let mut weights: Vec<u64> = frequencies.iter().map(|n| u64::from(*n)).collect();
        weights.retain(|n| *n > 0);
        let mut bits = 0;
        while weights.len() > 1 {
            weights.sort_unstable_by(|a, b| b.cmp(a));
            let pair = weights.pop().unwrap() + weights.pop().unwrap();
            bits += pair;
            weights.push(pair);
        }
        bits
    }

    fn check(frequencies: &[u32], limit: usize) -> u64 {
        let mut lens = vec![7; frequencies.len()];
        lengths(frequencies, limit, &mut lens);
        let mut room = 1u64 << limit;
        for (len, n) in lens.iter().zip(frequencies) {
            assert!(usize::from(*len) <= limit && (*len > 0 || *n == 0));
            if *len > 0 {
                room -= 1 << (limit - usize::from(*len));
            }
        }
        assert_eq!(room, 0, "every string of bits is defined, once");
        let codes = codes(&lens);
        for (i, a) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
            for (j, b) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
                let begin = (1u16 << a) - 1;
                assert!(i == j || a > b || codes[i] & begin != codes[j] & begin);
            }
        }
        let bits = lens.iter().zip(frequencies);
        bits.map(|(len, n)| u64::from(*len) * u64::from(*n)).sum()
    }

    #[test]
    fn codes_are_as_short_as_can_be() {
        let mut number = 1u64;
        for n in [2, 3, 5, 19, 30, 286] {
            for shape in 0..8 {
                let frequencies: Vec<u32> = (0..n)
                    .map(|i| {
                        number = number
                            .wrapping_mul(6_364_136_223_846_793_005)
                            .wrapping_add(1);
                        let any = (number >> 40) as u32;
                        match shape {
                            0 => 1,
                            1 => i as u32 % 3,
                            2 => any % 100,
                            3 => any % 10 / 8 * (any >> 12),
                            _ => any >> (any % 24),
                        }
                    })
                    .map(|n| n.min(16_384))
                    .collect();
                if frequencies.iter().filter(|n| **n > 0).count() < 2 {
                    continue;
                }
                let bits = check(&frequencies, 15);
                let least = least_bits(&frequencies);
                // A code that must be shortened is nearly the best.
                assert!(
                    bits * 100 <= least * 101,
                    "{bits}, not {least}: {frequencies:?}"
                );
                if n <= 19 {
                    check(&frequencies, 7);
                }
            }
        }
    }

    #[test]
    fn what_grows_like_rabbits_is_kept_within_the_limit() {
        let mut frequencies = [1u32; 22];
        for i in 2..22 {
            frequencies[i] = frequencies[i - 1] + frequencies[i - 2];
        }
        check(&frequencies, 15);
        check(&frequencies[..19], 7);
        check(&frequencies[..19], 5);
    }

    #[test]
    fn a_code_has_two_symbols_at_least() {
        for frequencies in [[0, 0, 0], [3, 0, 0], [0, 0, 9]] {
            let mut lens = [9; 3];
            lengths(&frequencies, 15, &mut lens);
            assert_eq!(lens.iter().sum::<u8>(), 2, "{frequencies:?}");
            assert!(
                frequencies
                    .iter()
                    .zip(lens)
                    .all(|(n, len)| *n == 0 || len == 1)
            );
        }
    }
}
