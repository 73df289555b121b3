//! Data behind a dictionary.

/// Data to compress, preceded by the dictionary that matches may refer to. (The LZ4 library calls a
/// dictionary in this place a prefix.)
#[derive(Clone, Copy)]
pub(super) struct PrefixedSrc<'a> {
    /// The dictionary and the data.
    pub(super) bytes: &'a [u8],
    /// The length of the dictionary: the data begin here.
    pub(super) start: usize,
}

impl<'a> PrefixedSrc<'a> {
    /// Data without a dictionary.
    pub(super) fn without_dict(bytes: &'a [u8]) -> Self {
        PrefixedSrc { bytes, start: 0 }
    }
}
