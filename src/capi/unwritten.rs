//! What a function returns that changes a frame, where that cannot be written.

use crate::capi::prelude::*;

/// Gives `failed` in place of the error of a write, as the reference says which change failed, not
/// why; the cause stays with it. Other errors stay.
pub fn unwritten(failed: Error) -> impl FnOnce(Error) -> Error {
    move |cause| match [Error::FILE_WRITE, Error::FILE_TRUNCATE].contains(&cause) {
        true => cause.or(failed),
        false => cause,
    }
}
