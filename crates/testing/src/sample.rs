//! What of a sweep is run unless the environment asks for all of it.

use super::random::mix;

/// Whether all is run.
pub fn is_whole(variable: &str) -> bool {
    std::env::var(variable).is_ok_and(|value| value == "full")
}

/// Whether the case with this number is: one of `of`, without an order that the sweep has, too.
pub fn takes(variable: &str, number: usize, of: u64) -> bool {
    mix(number as u64).is_multiple_of(of) || is_whole(variable)
}
