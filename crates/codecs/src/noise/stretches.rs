//! Stretches of a stream that are compressed alike, and how short ones adapt to their neighbours.

use super::pieces::PIECE;
use oxiblosc_base::memory::TryVec;

/// How to compress a stretch, from the most effort to the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(in super::super) enum Method {
    /// Search for matches.
    Search,
    /// Huffman codes without a search for matches, since nothing is repeated.
    HuffmanOnly,
    /// Store the bytes, since they are random.
    Store,
}

/// A stretch of a stream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in super::super) struct Stretch {
    /// The length in bytes.
    pub len: usize,
    pub method: Method,
    /// Judging by the samples, no match in this stretch or a later one refers to bytes before this
    /// position of the stream.
    pub repeats_from: usize,
}

/// Gives short stretches the method of the neighbour that deserves more effort. A stretch at an end
/// of the stream has one neighbour. If it is stored, only that counts; otherwise the end counts as
/// a neighbour that deserves a search.
pub(super) fn adapt_short(stretches: &mut [Stretch]) {
    for i in 0..stretches.len() {
        let end = match stretches[i].method {
            Method::Store => Method::Store,
            _ => Method::Search,
        };
        let neighbour = |j: usize| stretches.get(j).map_or(end, |stretch| stretch.method);
        let most_effort = neighbour(i.wrapping_sub(1)).min(neighbour(i + 1));
        let stretch = &mut stretches[i];
        let min_len = match stretch.method {
            Method::Store => 2 * PIECE,
            _ => 4 * PIECE,
        };
        if stretch.len < min_len {
            stretch.method = stretch.method.min(most_effort);
        }
    }
}

/// Joins adjacent stretches with the same method.
pub(super) fn merge(stretches: &mut TryVec<Stretch>) {
    stretches.dedup_by(|next, stretch| {
        let same = next.method == stretch.method;
        if same {
            stretch.len += next.len;
            stretch.repeats_from = stretch.repeats_from.min(next.repeats_from);
        }
        same
    });
}
