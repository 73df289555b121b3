//! What is known of a part of a frame.

/// Whether a part is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Its checksum fits.
    Intact,
    /// Its checksum does not fit, or it cannot be read.
    Damaged,
    /// There is no checksum, or it could not be told.
    Unknown,
}

impl Integrity {
    /// That of a part which is certainly as it was written if `proven` says so.
    pub fn proven_if(proven: bool) -> Self {
        match proven {
            true => Self::Intact,
            false => Self::Unknown,
        }
    }

    /// What to call it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Intact => "right",
            Self::Damaged => "wrong",
            Self::Unknown => "unknown",
        }
    }
}
