//! A frame on disk that the threads of a super-chunk share.

use oxiblosc_frame::disk::Disk;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The frame. Readers share it, and lock the mutex only for short times.
pub struct SharedDisk(Mutex<Box<Disk>>);

impl SharedDisk {
    /// This frame.
    pub fn new(disk: Box<Disk>) -> Self {
        Self(Mutex::new(disk))
    }

    /// The frame, while the mutex is locked.
    #[inline(never)]
    pub fn lock(&self) -> MutexGuard<'_, Box<Disk>> {
        // A panic leaves no frame half changed, as changes are atomic.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The frame, without locking the mutex.
    pub fn get_mut(&mut self) -> &mut Disk {
        self.0.get_mut().unwrap_or_else(PoisonError::into_inner)
    }
}
