//! What is known of a part of a frame.

/// Whether a part is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Its checksum fits.
    Right,
    /// Its checksum does not fit, or it cannot be read.
    Wrong,
    /// There is no checksum, or it could not be told.
    Unknown,
}

impl State {
    /// What to call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Right => "right",
            Self::Wrong => "wrong",
            Self::Unknown => "unknown",
        }
    }
}
