//! The library as programs call it, beside c-blosc's.

mod calls;
mod chunks;
mod common;
#[path = "../../../../tests/common/data.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod data;
mod environment;
mod hostile;
#[path = "../../../../tests/common/isolated.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod isolated;
#[path = "../../../../tests/common/needs.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod needs;
#[path = "../../../../tests/common/panics.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod panics;
#[path = "../../../../tests/common/random.rs"]
#[allow(dead_code, unused_imports, reason = "other tests use the rest")]
mod random;
mod threads;
