//! What a function returns that changes a frame, where that cannot be written.

use crate::capi::prelude::*;
use oxiblosc_memory::env::trace;

/// Gives `failed` in place of the error of a write, as the reference says which change failed, not why; that is traced. Other errors stay.
pub fn unwritten(failed: Error) -> impl FnOnce(Error) -> Error {
    move |cause| match cause {
        Error::FileWrite | Error::FileTruncate => {
            trace("error", cause);
            failed
        }
        cause => cause,
    }
}
