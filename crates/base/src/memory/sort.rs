//! Sorting with little code: the standard library's `sort_unstable` takes four kilobytes for each
//! type, which pays only for long unsorted lists.

/// Sorts in place, in O(n log n) time, or O(n) if the items are sorted already. Not stable.
pub fn sort_by_key<T, K: Ord>(items: &mut [T], key: impl Fn(&T) -> K) {
    if items.is_sorted_by_key(&key) {
        return;
    }
    // Heapsort: an item is not less than its children, at twice its index plus one and plus two.
    let sift = |items: &mut [T], mut at: usize| {
        while 2 * at + 1 < items.len() {
            let mut child = 2 * at + 1;
            if child + 1 < items.len() && key(&items[child]) < key(&items[child + 1]) {
                child += 1;
            }
            if key(&items[at]) >= key(&items[child]) {
                return;
            }
            items.swap(at, child);
            at = child;
        }
    };
    for at in (0..items.len() / 2).rev() {
        sift(items, at);
    }
    for end in (1..items.len()).rev() {
        items.swap(0, end);
        sift(&mut items[..end], 0);
    }
}

/// Sorts items by their own order, as [`sort_by_key`] does.
pub fn sort<T: Ord + Copy>(items: &mut [T]) {
    sort_by_key(items, |item| *item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_every_length_are_sorted() {
        let mut seed = 1u32;
        for len in 0..200 {
            let mut items: Vec<(u32, usize)> = (0..len)
                .map(|i| {
                    seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    (seed >> 27, i)
                })
                .collect();
            let mut sorted = items.clone();
            sorted.sort();
            sort_by_key(&mut items, |item| item.0);
            assert!(items.is_sorted_by_key(|item| item.0));
            sort(&mut items);
            assert_eq!(items, sorted);
        }
    }
}
