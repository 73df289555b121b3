//! How a frame on disk is to be treated.

use oxiblosc_base::memory::Shared;
use oxiblosc_io::Backend;

/// How a frame on disk is to be treated.
#[derive(Clone)]
pub struct Options {
    /// Where the files are.
    pub backend: Shared<dyn Backend>,
    /// Whether to exclude other handles and processes with a lock file.
    pub locking: bool,
    /// Whether a change returns only when it would survive a loss of power.
    pub durable: bool,
}
