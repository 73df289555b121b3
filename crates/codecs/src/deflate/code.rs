//! Canonical Huffman codes of limited length (RFC 1951, 3.2.2).

/// The size of the largest alphabet: bytes, the end of a block, lengths, and two symbols that do
/// not occur.
pub(super) const ALPHABET: usize = 288;
/// The length of the longest code in bits.
pub(super) const MAX_BITS: usize = 15;

/// Computes the length of each symbol's code, as [`HuffmanCode::lengths`] does. The alphabet has at
/// most `N` symbols.
pub(super) fn lengths<const N: usize>(frequencies: &[u32], limit: usize, lengths: &mut [u8]) {
    HuffmanCode::<N>::new(frequencies).lengths(limit, lengths);
}

/// Frequencies below this one are sorted by counting.
const MAX_COUNTED: usize = 64;

/// A Huffman code of an alphabet of at most `N` symbols, whose lengths are not limited yet.
pub(super) struct HuffmanCode<const N: usize> {
    /// The symbols that occur, each with its frequency in the upper bits, sorted by frequency.
    leaves: [u32; N],
    /// The number of `leaves`.
    len: usize,
    /// How many codes of each length there are. All 0 if there are fewer than two `leaves`.
    counts: [u32; N],
}

impl<const N: usize> HuffmanCode<N> {
    pub(super) fn new(frequencies: &[u32]) -> Self {
        let mut code = HuffmanCode {
            leaves: [0; N],
            len: 0,
            counts: [0; N],
        };
        code.sort(frequencies);
        if code.len >= 2 {
            code.counts = length_counts(&code.leaves[..code.len]);
        }
        code
    }

    /// Fills `leaves`. Most frequencies are low, so counting them is faster than comparing.
    fn sort(&mut self, frequencies: &[u32]) {
        let class = |frequency: u32| (frequency as usize).min(MAX_COUNTED);
        // How many symbols each class has, and from the loop below on where its next leaf belongs.
        let mut places = [0u16; MAX_COUNTED + 1];
        for frequency in frequencies {
            places[class(*frequency)] += 1;
        }
        places[0] = 0;
        let mut end = 0;
        for place in &mut places {
            (*place, end) = (end, end + *place);
        }
        self.len = end.into();
        let high = places[MAX_COUNTED].into();
        for (symbol, &frequency) in frequencies.iter().enumerate() {
            if frequency > 0 {
                let place = &mut places[class(frequency)];
                self.leaves[usize::from(*place)] = frequency << 9 | symbol as u32;
                *place += 1;
            }
        }
        self.leaves[high..self.len].sort_unstable();
    }

    /// The number of symbols that occur.
    pub(super) fn symbols(&self) -> usize {
        self.len
    }

    /// The length of each symbol's code: 0 if it does not occur, else at most `limit` bits, which
    /// must be enough for all symbols. At least two symbols get a code, since some decoders reject
    /// an incomplete code.
    pub(super) fn lengths(&self, limit: usize, lengths: &mut [u8]) {
        lengths.fill(0);
        if self.len < 2 {
            let only = (self.leaves[0] & 511) as usize;
            lengths[only] = 1;
            lengths[usize::from(only == 0)] = 1;
            return;
        }
        let mut counts = self.counts;
        limit_lengths(&mut counts, limit);
        // The rarest symbols get the longest codes.
        let mut rarest = self.leaves[..self.len].iter();
        for len in (1..=limit).rev() {
            for leaf in rarest.by_ref().take(counts[len] as usize) {
                lengths[(leaf & 511) as usize] = len as u8;
            }
        }
    }
}

/// How many codes of each length the Huffman code has. There must be at least two `leaves`, sorted
/// by frequency.
///
/// This is van Leeuwen's method: since the leaves are sorted, inner nodes are created in the order
/// of their frequency, so two queues replace the heap.
fn length_counts<const N: usize>(leaves: &[u32]) -> [u32; N] {
    let n = leaves.len();
    let mut frequency = [0u32; N];
    let mut parent = [0u16; N];
    let mut leaf_parent = [0u16; N];
    // The first leaf and the first inner node without a parent.
    let (mut leaf, mut node) = (0, 0);
    for new in 0..n - 1 {
        for _ in 0..2 {
            let take_leaf = leaf < n && (node == new || leaves[leaf] >> 9 <= frequency[node]);
            if take_leaf {
                frequency[new] += leaves[leaf] >> 9;
                leaf_parent[leaf] = new as u16;
                leaf += 1;
            } else {
                frequency[new] += frequency[node];
                parent[node] = new as u16;
                node += 1;
            }
        }
    }
    // The last node is the root. A parent's index is higher than those of its children, so in
    // descending order its depth is known first.
    let mut depth = [0u16; N];
    for node in (0..n - 2).rev() {
        depth[node] = depth[usize::from(parent[node])] + 1;
    }
    let mut counts = [0; N];
    for node in &leaf_parent[..n] {
        counts[usize::from(depth[usize::from(*node)]) + 1] += 1;
    }
    counts
}

/// Cuts codes to `limit` bits, and lengthens shorter ones until the Kraft sum is 1 again.
fn limit_lengths(counts: &mut [u32], limit: usize) {
    let (kept, longer) = counts.split_at_mut(limit + 1);
    kept[limit] += longer.iter().sum::<u32>();
    longer.fill(0);
    // The Kraft sum is counted in units of the share of a code of `limit` bits.
    let whole = 1u32 << limit;
    let share = |len: usize| 1u32 << (limit - len);
    let mut taken: u32 = (1..=limit).map(|len| kept[len] * share(len)).sum();
    while taken > whole {
        // Lengthen the longest code that is shorter than the limit, which costs least.
        let len = (1..limit)
            .rev()
            .find(|len| kept[*len] > 0)
            .expect("codes of `limit` bits alone do not exceed the Kraft sum");
        kept[len] -= 1;
        kept[len + 1] += 1;
        taken -= share(len + 1);
    }
    // If that left too much unused, shorten the shortest code for which the rest is enough.
    while taken < whole {
        let len = (2..=limit)
            .find(|len| kept[*len] > 0 && share(*len) <= whole - taken)
            .expect("what is left is at least the share of a code of `limit` bits");
        kept[len] -= 1;
        kept[len - 1] += 1;
        taken += share(len);
    }
}

/// The canonical codes of these lengths. The first bit of each code is its lowest, which is written
/// first.
pub(super) fn codes(lengths: &[u8]) -> [u16; ALPHABET] {
    let mut counts = [0u16; MAX_BITS + 1];
    for &len in lengths {
        counts[usize::from(len)] += 1;
    }
    counts[0] = 0;
    let mut next = [0u16; MAX_BITS + 1];
    for len in 1..=MAX_BITS {
        next[len] = (next[len - 1] + counts[len - 1]) << 1;
    }
    let mut codes = [0; ALPHABET];
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

    /// The size of the optimal code, by Huffman's algorithm: join the two lightest until one is
    /// left.
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
        lengths::<ALPHABET>(frequencies, limit, &mut lens);
        let mut capacity = 1u64 << limit;
        for (len, n) in lens.iter().zip(frequencies) {
            assert!(usize::from(*len) <= limit && (*len > 0 || *n == 0));
            if *len > 0 {
                capacity -= 1 << (limit - usize::from(*len));
            }
        }
        assert_eq!(capacity, 0, "every string of bits is defined, once");
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
    fn codes_are_optimal_or_nearly_so() {
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
                // A code of limited length may be a little larger than the optimal one.
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
    fn fibonacci_frequencies_are_kept_within_the_limit() {
        let mut frequencies = [1u32; 22];
        for i in 2..22 {
            frequencies[i] = frequencies[i - 1] + frequencies[i - 2];
        }
        check(&frequencies, 15);
        check(&frequencies[..19], 7);
        check(&frequencies[..19], 5);
    }

    #[test]
    fn a_code_has_at_least_two_symbols() {
        for frequencies in [[0, 0, 0], [3, 0, 0], [0, 0, 9]] {
            let mut lens = [9; 3];
            lengths::<ALPHABET>(&frequencies, 15, &mut lens);
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
