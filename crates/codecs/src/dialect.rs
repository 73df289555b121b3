//! The library whose streams a codec writes. Both libraries can read all of them.

/// The library whose streams are written, where the two libraries write different streams with the
/// same codec.
///
/// Without the feature `blosc1` there is only one variant, and the choice costs nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
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
