//! The tool `b2`, run as a person runs it.

mod arrays;
mod commands;
mod damage;
#[path = "../../../../tests/common/fixtures.rs"]
mod fixtures;
mod support;
