//! The library whose streams a codec writes. Both libraries can read all of them.

/// Whether streams of Blosc 1 can be written at all. It is constant, so that the compiler drops
/// what is only for them from the library of Blosc 2.
pub const HAS_BLOSC1: bool = cfg!(feature = "blosc1");

/// The library whose streams are written, where the two libraries write different streams with the
/// same codec.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Dialect {
    /// c-blosc2.
    #[default]
    Blosc2,
    /// c-blosc 1.21, with the feature `blosc1`.
    Blosc1 {
        /// Whether the blocks of the chunk are split into streams.
        split: bool,
    },
}
