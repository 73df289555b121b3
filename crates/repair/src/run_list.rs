//! Lists in which equal items that follow each other take the memory of one.

use std::ops::Range;

/// A list of items. Those that are equal and follow each other are a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunList<T> {
    /// What the items of each run are, and where the run ends.
    runs: Vec<(T, usize)>,
}

impl<T: PartialEq> Default for RunList<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T: PartialEq> RunList<T> {
    /// An empty list.
    pub const fn new() -> Self {
        Self { runs: Vec::new() }
    }

    /// How many items there are.
    pub fn len(&self) -> usize {
        self.runs.last().map_or(0, |(_, end)| *end)
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Adds an item `count` times.
    pub fn push(&mut self, item: T, count: usize) {
        let end = self.len() + count;
        match self.runs.last_mut() {
            _ if count == 0 => {}
            Some((last, before)) if *last == item => *before = end,
            _ => self.runs.push((item, end)),
        }
    }

    /// Keeps the first `len` items.
    pub fn truncate(&mut self, len: usize) {
        let whole = self.runs.partition_point(|(_, end)| *end <= len);
        self.runs
            .truncate(whole + usize::from(len > self.runs[..whole].last().map_or(0, |run| run.1)));
        if let Some((_, end)) = self.runs.last_mut() {
            *end = len.min(*end);
        }
    }

    /// The runs, with the positions of their items.
    pub fn runs(&self) -> impl Iterator<Item = (Range<usize>, &T)> + Clone {
        let mut start = 0;
        self.runs.iter().map(move |(item, end)| {
            let range = start..*end;
            start = *end;
            (range, item)
        })
    }
}

impl<T: PartialEq> FromIterator<T> for RunList<T> {
    fn from_iter<I: IntoIterator<Item = T>>(items: I) -> Self {
        let mut list = Self::new();
        items.into_iter().for_each(|item| list.push(item, 1));
        list
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_was_put_in() {
        let mut list = RunList::from_iter("aabccc".chars());
        list.push('c', 1_000_000_000);
        list.push('d', 0);
        let runs = |list: &RunList<char>| list.runs().map(|(at, c)| (at, *c)).collect::<Vec<_>>();
        let all = [(0..2, 'a'), (2..3, 'b'), (3..1_000_000_006, 'c')];
        assert_eq!((runs(&list), list.len()), (all.to_vec(), 1_000_000_006));
        let cut = |len| {
            let mut list = list.clone();
            list.truncate(len);
            list
        };
        assert_eq!(cut(usize::MAX), list);
        assert_eq!(cut(5), RunList::from_iter("aabcc".chars()));
        assert_eq!(cut(3), RunList::from_iter("aab".chars()));
        assert_eq!(cut(1), RunList::from_iter("a".chars()));
        assert!(cut(0).is_empty() && cut(0) == RunList::new());
    }
}
