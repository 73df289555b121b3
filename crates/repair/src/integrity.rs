//! Whether a part of a frame is intact.

/// Whether a part of a frame is as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Integrity {
    /// Its checksum fits.
    Intact,
    /// Its checksum does not fit, or it cannot be read.
    Damaged,
    /// There is no checksum, or nothing else proves it.
    Unknown,
}

impl Integrity {
    /// [`Self::Intact`] if `proven`, else [`Self::Unknown`].
    pub fn proven_if(proven: bool) -> Self {
        match proven {
            true => Self::Intact,
            false => Self::Unknown,
        }
    }

    /// The word in reports.
    pub fn word(self) -> &'static str {
        match self {
            Self::Intact => "right",
            Self::Damaged => "wrong",
            Self::Unknown => "unknown",
        }
    }
}
