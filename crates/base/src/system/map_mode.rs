//! What maps are for.

/// What a map is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MapMode {
    /// Reading the file.
    Read,
    /// Reading and writing it.
    Write,
    /// Reading it, and writing to memory alone.
    Copy,
}
