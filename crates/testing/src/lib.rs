//! What the tests of several crates need; no part of the library.
#![forbid(unsafe_code)]

#[path = "../../../tests/common/needs.rs"]
pub mod needs;
#[path = "../../../tests/common/random.rs"]
pub mod random;

/// `len` bytes that look random, the same in every run.
pub fn noise(len: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64;
    std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state >> 32) as u8
    })
    .take(len)
    .collect()
}
