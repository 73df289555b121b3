//! What the owner of a frame gets when it is read.

use crate::fingerprint::Coverage;
use crate::header::Header;
use crate::meta::Metalayer;
use oxiblosc_base::memory::TryVec;

/// The parts of a frame that its owner needs, as they were read.
#[derive(Debug)]
pub struct Loaded {
    /// The header.
    pub header: Header,
    /// The variable-length metalayers.
    pub vlmetalayers: TryVec<Metalayer>,
    /// The parts whose checksums were compared and are right.
    pub coverage: Coverage,
}
