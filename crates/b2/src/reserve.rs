//! Memory that is kept for the end of the tool.

use oxiblosc_base::memory::lock;
use std::sync::Mutex;

/// Bytes that are kept for the end: for removing directories. The C library returns so many to the
/// system when they are freed.
const KEPT: usize = 512 << 10;

/// The memory that is kept.
static RESERVE: Mutex<Vec<u8>> = Mutex::new(Vec::new());

/// Keeps the memory. Returns false if there is less.
pub fn keep() -> bool {
    let mut reserve = lock(&RESERVE);
    reserve.try_reserve_exact(KEPT).is_ok()
}

/// Frees the memory that is kept.
pub fn release() {
    if let Ok(mut reserve) = RESERVE.try_lock() {
        *reserve = Vec::new();
    }
}
