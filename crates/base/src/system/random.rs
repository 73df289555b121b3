use std::hash::{BuildHasher, RandomState};
use std::time::SystemTime;

/// A random number, which another process or another call does not get.
pub fn number() -> u64 {
    // A `RandomState` has random keys from the system. A forked child would continue its parent's
    // sequence, so process and time are hashed, too.
    let seed = (std::process::id(), SystemTime::now());
    RandomState::new().hash_one(seed)
}
