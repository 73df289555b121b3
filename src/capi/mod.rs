//! The C border.

/// The constants of the C headers.
pub mod constants;
/// The types of the C headers.
#[allow(non_camel_case_types, reason = "a C type keeps its C name")]
pub mod types;
