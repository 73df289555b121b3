//! Transactions.

use crate::capi::prelude::*;

/// Begins a transaction: from now on all changes of a super-chunk are kept in memory (chunks,
/// metalayers of both kinds, the shape of an array: give `array->sc`), until
/// `oxiblosc_schunk_commit` makes them, all at once, or `oxiblosc_schunk_abandon` forgets them. The
/// handle shows what was changed, on every thread; other handles and processes see nothing of it
/// before the commit.
///
/// No lock is held meanwhile. Where another handle or process changes the frame before the commit,
/// or closes it after changes, or takes its lock alone, the functions of this handle return
/// `BLOSC2_ERROR_LOCK` until the transaction is abandoned. Who cannot have that calls
/// `blosc2_schunk_lock` before, on a frame that was opened with locking, and `blosc2_schunk_unlock`
/// at the end.
///
/// `blosc2_schunk_free` abandons a transaction. Super-chunks without a frame, and frames in memory,
/// have transactions, too. `blosc2_schunk_to_buffer` gives a copy meanwhile, and
/// `blosc2_schunk_get_lazychunk` whole chunks.
///
/// Returns 0, or a negative error code: `BLOSC2_ERROR_INVALID_PARAM` if a transaction has been
/// begun.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_begin(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.begin()
}

/// Makes the changes of a transaction, all of them, as one: after a crash, and, where
/// `BLOSC_DURABLE` is set, after a loss of power, the frame has all of them or none.
///
/// Returns 0, or a negative error code: `BLOSC2_ERROR_INVALID_PARAM` if none has been begun,
/// `BLOSC2_ERROR_LOCK` where the frame was changed by others. After an error nothing has changed,
/// and the transaction goes on: the commit can be tried again.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_commit(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.commit()
}

/// Forgets the changes of a transaction. The structure of the super-chunk shows at once what it was
/// before; that of an array gets its shape back at the next call with it, `b2nd_refresh` for one.
///
/// Returns 0, or a negative error code: `BLOSC2_ERROR_INVALID_PARAM` if none has been begun.
///
/// # Safety
/// `schunk` is NULL or valid.
#[export]
pub unsafe extern "C" fn oxiblosc_schunk_abandon(schunk: *mut blosc2_schunk) -> c_int {
    ViewedSchunk::from_c(schunk)?.abandon()
}
