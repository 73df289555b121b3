//! Whose streams a codec writes. All can be read by both.

/// The library whose streams are written, where those of the same codec differ.
///
/// Without the feature `blosc1` there is only one, and nothing is left of the choice.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Release {
    /// c-blosc2.
    #[default]
    Blosc2,
    /// c-blosc 1.21.
    #[cfg(feature = "blosc1")]
    Blosc1 {
        /// Whether the blocks of the chunk are split into streams.
        split: bool,
    },
}
